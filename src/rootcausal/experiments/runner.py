"""Runs tasks in parallel, keeps each row as soon as it is there, and goes on where it was stopped."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import closing, contextmanager
from pathlib import Path

from joblib import delayed

from ..errors import InputError
from ..progress.bars import share_progress
from ..progress.workers import in_workers
from ..wording import shown
from .rows import Row, RowFile
from .tasks import Task


def run(tasks: Sequence[Task], folder: Path, *, seed: int, jobs: int, progress: bool) -> int:
    """Run what has no row yet, and return how many rows were there. What is timed runs alone, at the end.

    Parameters
    ----------
    tasks : what is wanted; tasks whose rows are all there cost nothing.
    folder : where the row files are.
    seed : of the rows; a folder holds rows of one seed.
    jobs : how many tasks at once, as joblib counts them.
    progress : show a bar with the time left on standard error.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _sole_writer(folder):
        files = {name: RowFile(folder / f"{name}.parquet", seed) for name in {task.file for task in tasks}}
        wanted = {(task.file, task.number, name) for task in tasks for name in task.methods}
        kept = sum(not files[file].lacks(number, name) for file, number, name in wanted)
        try:
            _work(_missing(tasks, files), files, jobs, progress)
        except BrokenExecutor as error:
            raise InputError(
                "the system ended a worker process, most likely for lack of memory. Rows so far are kept: "
                "give the same command with fewer jobs"
            ) from error
        finally:
            for file in files.values():
                file.freeze()
    return kept


def _work(todo: Sequence[Task], files: Mapping[str, RowFile], jobs: int, progress: bool) -> None:
    with share_progress(progress, "experiments", sum(task.size for task in todo)) as advance:
        for alone in (False, True):
            chosen = [task for task in todo if task.alone == alone]
            work = (delayed(_run)(task) for task in chosen)
            n_jobs = 1 if alone else jobs
            with closing(in_workers(work, n_jobs, "generator_unordered", batch_size=1)) as coming:
                for task, rows in coming:
                    files[task.file].add(rows)
                    advance(task.size)


@contextmanager
def _sole_writer(folder: Path) -> Iterator[None]:
    """Two commands at once would overwrite each other's rows: the second one is refused."""
    try:
        import fcntl
    except ImportError:  # on Windows there is none, and the user has to take care
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise InputError(
            f"another command is at work in {shown(folder)}: wait for it, or choose another folder"
        ) from error
    finally:
        os.close(handle)


def _missing(tasks: Sequence[Task], files: Mapping[str, RowFile]) -> list[Task]:
    """Tasks with a row that is not there and that no earlier task gives: experiments share rows."""
    todo: list[Task] = []
    promised: set[tuple[str, int, str]] = set()
    for task in tasks:
        cells = {(task.file, task.number, name) for name in task.methods}
        if any(files[file].lacks(number, name) for file, number, name in cells - promised):
            promised |= cells
            todo.append(task)
    return todo


def _run(task: Task) -> tuple[Task, list[Row]]:
    return task, task.run()
