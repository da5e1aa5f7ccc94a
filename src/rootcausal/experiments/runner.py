"""Runs tasks in parallel, keeps each row as soon as it is there, and goes on where it was stopped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from joblib import Parallel, delayed

from ..progress import share_progress
from .rows import Row, RowFile
from .tasks import Task


def run(tasks: Sequence[Task], folder: Path, *, seed: int, jobs: int, progress: bool) -> None:
    """Run what has no row yet. What is timed runs by itself, at the end.

    Parameters
    ----------
    tasks : what is wanted; tasks whose rows are all there cost nothing.
    folder : where the row files are.
    seed : of the rows; a folder holds rows of one seed.
    jobs : how many tasks at once, as joblib counts them.
    progress : show a bar with the time left on standard error.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: RowFile(folder / f"{name}.parquet", seed) for name in {task.file for task in tasks}}
    todo = [task for task in tasks if any(files[task.file].lacks(task.number, name) for name in task.methods)]
    with share_progress(progress, "experiments", sum(task.size for task in todo)) as advance:
        for alone in (False, True):
            chosen = [task for task in todo if task.alone == alone]
            parallel = Parallel(n_jobs=1 if alone else jobs, return_as="generator_unordered", batch_size=1)
            for task, rows in parallel(delayed(_run)(task) for task in chosen):
                files[task.file].add(rows)
                advance(task.size)


def _run(task: Task) -> tuple[Task, list[Row]]:
    return task, task.run()
