"""One piece of work: some methods on one data set, all from one seed, ending in rows whatever happens."""

from __future__ import annotations

import math
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
from threadpoolctl import ThreadpoolController

from ..backends.blas import one_blas_thread
from ..backends.choose import choose_table, one_thread
from ..data import simulate
from ..method.missing.sums import IncompleteRaw
from ..method.moments import describe_columns
from ..method.ordering.ordering import VARIANTS, order_columns
from ..metrics import rank_biased_overlap, shapley_mse
from ..outcomes.binary import Binary
from ..version import __version__
from ..wording import printable
from . import paper
from .rows import Row
from .shared_fits import SharedFits
from .sources import CohortSource, Sample

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
