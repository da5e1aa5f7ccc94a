"""Runs tasks in parallel, keeps each row as soon as it is there, and goes on where it was stopped."""

from __future__ import annotations

import math
import os
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from joblib import delayed
from threadpoolctl import ThreadpoolController

from ..backends.blas import one_blas_thread
from ..backends.choose import choose_table, one_thread
from ..comparators import AdaptiveLogistic
from ..comparators.graph_comparators import DiseaseGraph, GraphComparator, learn_disease_graph
from ..data import simulate
from ..errors import InputError
from ..method.missing.sums import IncompleteRaw
from ..method.moments import describe_columns
from ..method.ordering.ordering import VARIANTS, order_columns
from ..method.table import F64, Index
from ..metrics import rank_biased_overlap, shapley_mse
from ..outcomes.binary import Binary
from ..progress.bars import share_progress
from ..progress.workers import in_workers
from ..version import __version__
from ..wording import printable, shown
from . import paper
from .methods import find_method
from .rows import Row, RowFile
from .sources import CohortSource, Sample

# What several methods learn from the same data set, learned once.


class SharedFits:
    """Fits methods to one data set, all from one seed.

    The logistic regression of LR also finds D's parents in the graph of CO and MS. Each is learned when it is
    first asked for, and its seconds count for every method that uses it.
    """

    def __init__(self, X: F64, y: Index, seed: int) -> None:
        self.X = X
        self.y = y
        self.seed = seed

    def fit(self, name: str) -> tuple[Any, float]:
        """The fitted method, and the seconds that fitting takes."""
        model = find_method(name).make(self.seed)
        if isinstance(model, AdaptiveLogistic):
            return self._logistic
        if isinstance(model, GraphComparator):
            graph, spent = self._graph
            began = time.perf_counter()
            model.fit(self.X, self.y, graph=graph)
            return model, spent + time.perf_counter() - began
        began = time.perf_counter()
        model.fit(self.X, self.y)
        return model, time.perf_counter() - began

    @cached_property
    def _logistic(self) -> tuple[AdaptiveLogistic, float]:
        began = time.perf_counter()
        model = AdaptiveLogistic(random_state=self.seed).fit(self.X, self.y)
        return model, time.perf_counter() - began

    @cached_property
    def _graph(self) -> tuple[DiseaseGraph, float]:
        logistic, spent = self._logistic
        began = time.perf_counter()
        standardised = (self.X - logistic.mean_) / logistic.sd_
        graph = learn_disease_graph(standardised, self.y, self.seed, logistic)
        return graph, spent + time.perf_counter() - began


# One piece of work: some methods on one data set, all from one seed, ending in rows whatever happens.

LOCAL_ALPHA = 0.2
ERROR_LIMIT = 300
# Short runs are repeated, since a scheduler can double them; the shortest counts.
RUNS, LONG_ENOUGH_SECONDS = 3, 1.0


class Task(Protocol):
    """What the runner runs."""

    @property
    def file(self) -> str:
        """Name of the file that keeps the rows, without its ending."""
        ...

    @property
    def number(self) -> int: ...

    @property
    def methods(self) -> tuple[str, ...]: ...

    @property
    def size(self) -> float:
        """How much work it is, compared with others: for the time that is left."""
        ...

    @property
    def alone(self) -> bool:
        """Whether nothing else may run beside it, because it is timed."""
        ...

    def run(self) -> list[Row]: ...


@dataclass(frozen=True)
class Accuracy:
    """Score methods of one family on one data set."""

    source: CohortSource
    number: int
    methods: tuple[str, ...]
    seed: int
    alone = False

    @property
    def file(self) -> str:
        return self.source.name

    @property
    def size(self) -> float:
        n, p = self.source.shape
        return len(self.methods) * n * p

    def run(self) -> list[Row]:
        seed = data_seed(self.source, self.number, self.seed)

        @cache
        def drawn() -> tuple[Sample, SharedFits]:
            sample = self.source.draw(seed)
            return sample, SharedFits(sample.X, sample.y, int(seed.generate_state(1)[0]))

        def evaluate(name: str) -> dict[str, Any]:
            sample, shared = drawn()
            model, spent = shared.fit(name)
            began = time.perf_counter()
            scores = model.scores(sample.X[sample.scored])
            seconds = spent + time.perf_counter() - began
            truth = sample.truth[sample.scored]
            overlap = rank_biased_overlap(truth, scores, weighted=sample.weighted)
            mse = shapley_mse(truth, scores) if sample.weighted else None
            return {"overlap": overlap, "mse": mse, "seconds": seconds, "mechanism": _taken(model)}

        with _one_thread():
            return [_row(self.source, self.number, name, evaluate) for name in self.methods]


@dataclass(frozen=True)
class Timing:
    """Time the variants of Direct LiNGAM on one data set, with the same kernel on one thread."""

    source: CohortSource
    number: int
    methods: tuple[str, ...]
    seed: int
    alone = True

    @property
    def file(self) -> str:
        return f"times-{self.source.name}"

    @property
    def size(self) -> float:
        n, p = self.source.shape
        return n * p**3 / 100 if "original" in self.methods else n * p

    def run(self) -> list[Row]:
        @cache
        def timed() -> dict[str, dict[str, Any]]:
            sample = self.source.draw(data_seed(self.source, self.number, self.seed))
            return _time(self.methods, sample)

        with _one_thread():
            _compile()
            return [
                _row(self.source, self.number, variant, lambda name: timed()[name])
                for variant in self.methods
            ]


def data_seed(source: CohortSource, number: int, seed: int) -> np.random.SeedSequence:
    """Seed of one data set; neither the order of the work nor the number of jobs changes it."""
    return np.random.SeedSequence((seed, zlib.crc32(source.name.encode()), number))


def _time(variants: Sequence[str], sample: Sample) -> dict[str, dict[str, Any]]:
    """Shortest time and pairs of each variant; they take turns, so that all have the same number of runs."""
    raw = choose_table("numba", sample.X, sample.y)
    assert not isinstance(raw, IncompleteRaw)
    found: dict[str, dict[str, Any]] = {variant: {"seconds": math.inf} for variant in variants}
    first = time.perf_counter()
    for _ in range(RUNS):
        for variant in variants:
            began = time.perf_counter()
            columns = describe_columns(raw)
            outcome = Binary.of_moments(columns.moments)
            ordering = order_columns(raw, columns, VARIANTS[variant], LOCAL_ALPHA, outcome=outcome)
            seconds = min(found[variant]["seconds"], time.perf_counter() - began)
            found[variant] = {"seconds": seconds, "pairs": ordering.n_pairs}
        if time.perf_counter() - first > LONG_ENOUGH_SECONDS:
            break
    return found


@cache
def _compile() -> None:
    """Have the kernels compiled before anything is timed."""
    cohort = simulate(50, 5, random_state=0)
    _time(paper.VARIANTS, Sample(cohort.X, cohort.y, cohort.true_shapley, weighted=True))


def _row(source: CohortSource, number: int, method: str, evaluate: Callable[[str], dict[str, Any]]) -> Row:
    n, p = source.shape
    found: dict[str, Any] = dict.fromkeys(("overlap", "mse", "seconds", "pairs", "error", "mechanism"))
    try:
        found |= _finite(evaluate(method))
    except Exception as error:  # whatever a method does wrong becomes a row that says so
        found["error"] = f"{type(error).__name__}: {printable(' '.join(str(error).split()))}"[:ERROR_LIMIT]
    return Row(source.name, n, p, number, method, version=__version__, **found)


def _finite(found: dict[str, Any]) -> dict[str, Any]:
    """Refuse the score of a fit that diverged beyond the largest number."""
    endless = [name for name, value in found.items() if isinstance(value, float) and not math.isfinite(value)]
    if endless:
        raise OverflowError(f"{' and '.join(endless)} not finite")
    return found


def _taken(model: Any) -> str | None:
    """The mechanism that a model chose by itself, where it says so."""
    chosen = getattr(model, "provenance_", {}).get("mechanism", {})
    return chosen["taken"] if chosen.get("asked") == "auto" else None


@contextmanager
def _one_thread() -> Iterator[None]:
    """One thread and no warnings: more threads would add numbers in another order, and rows would differ."""
    # OpenMP counts its threads for each calling thread.
    openmp = ThreadpoolController().select(user_api="openmp").limit(limits=1)
    with one_blas_thread(), openmp, one_thread("auto"), warnings.catch_warnings():
        # Separated classes, or no variable that passes the test: both happen at n = 100, and count.
        warnings.simplefilter("ignore")
        yield


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
