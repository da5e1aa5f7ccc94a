"""What resamples say about patients: intervals, frequencies and the stability of ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from ..backends.blas import one_blas_thread
from ..method.confounded_sets import Merged
from ..method.model import ROWS_PER_BLOCK, CausalModel
from ..method.table import F64, Index

LEVEL = 0.95
# Shares of draws below either end.
SHARES = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
# Standard deviations to either side that hold as much of a normal distribution.
STANDARD_NORMAL = 1.96
# Values of all resamples held at once.
VALUES_A_BLOCK = 8_000_000
Asked = TypeVar("Asked")


@dataclass(frozen=True)
class Spread:
    """How Shapley values (n, p) vary over resamples.

    Attributes
    ----------
    lower, upper : (n, p) ends of the 95 % percentile interval, which need not hold the stated value.
    frequency : (n, p) share of resamples in which the variable is a root cause of this patient.
    rank_stability : (n, p) share of resamples in which it is a root cause of this patient, and ranks as high
        as stated or higher. It is never above ``frequency``: a resample that dropped the variable gives it
        no rank.
    """

    lower: F64
    upper: F64
    frequency: F64
    rank_stability: F64


def spread_of_values(
    models: Sequence[CausalModel | Merged],
    X: F64,
    values: F64,
    doubt: F64 | None = None,
    covariates: Index | None = None,
) -> Spread:
    """Spread of the Shapley values of patients X whose stated ones are ``values`` (n, p).

    ``doubt`` (n, p) is the standard deviation that values which were not measured leave. Where there is one,
    a resample counts for the chance that its value is above zero. ``covariates`` have no rank.
    """
    from ..backends.cpu.compiler import in_threads
    from ..backends.cpu.interval_kernels import settle_patients

    n, p = values.shape
    cols = np.union1d(np.concatenate([m.order for m in models]), np.flatnonzero(values.any(axis=0)))
    # Where they are all, nothing has to be gathered.
    chosen = slice(None) if cols.size == p else cols
    ends, counted = np.zeros((2, n, p)), np.zeros((2, n, p))
    resamples = _Resamples(models, lambda m, some: (m.shapley(some)[:, chosen],), [(cols.size,)])
    for rows in resamples.blocks(n):
        (draws,) = resamples.answers(X[rows])
        rank = np.ascontiguousarray(ranks(values[rows], covariates)[:, chosen])
        unsure = None if doubt is None else np.ascontiguousarray(doubt[rows, chosen])
        found = np.empty((4, *rank.shape))
        settle = partial(settle_patients, draws, rank, unsure, SHARES, found[:2], found[2:])
        in_threads(settle, len(rank), draws.size)
        ends[:, rows, chosen], counted[:, rows, chosen] = found[:2], found[2:]
    lower, upper = ends if doubt is None else with_doubt(values, (ends[0], ends[1]), doubt)
    return Spread(lower, upper, counted[0], counted[1])


def spread_of_adjustment(
    models: Sequence[CausalModel], X: F64, effect: F64, doubt: F64 | None = None
) -> F64 | None:
    """Interval (2, n) of the stated ``effect`` (n,) of the covariates of patients X together.

    ``doubt`` (n,) is the standard deviation that covariates which were not measured leave. None where there
    are neither models nor a doubt.
    """
    if not models and doubt is None:
        return None
    ends = np.stack([effect, effect])
    if models:
        ends = _spread_of_numbers(models, X, lambda model, some: model.adjustment(some))
    return ends if doubt is None else np.stack(with_doubt(effect, (ends[0], ends[1]), doubt))


def spread_of_prediction(models: Sequence[CausalModel], X: F64) -> F64:
    """Interval (2, n) of what is predicted of patients X; each model by its own baseline."""
    return _spread_of_numbers(models, X, lambda model, some: model.predicted(some))


def _spread_of_numbers(models: Sequence[CausalModel], X: F64, ask: Callable[[CausalModel, F64], F64]) -> F64:
    """(2, n): intervals of one number of each patient; ``ask`` gives a model's own."""
    ends = np.empty((2, len(X)))
    resamples = _Resamples(models, lambda model, some: (ask(model, some),), [()])
    for rows in resamples.blocks(len(X)):
        (draws,) = resamples.answers(X[rows])
        ends[:, rows] = _intervals(draws)
    return ends


class WhatIfSpread(NamedTuple):
    """Ends of intervals around predictor (2, n), prediction (2, n) and data (2, n, q) of patients."""

    predictor: F64
    predicted: F64
    data: F64


def spread_of_what_if(
    models: Sequence[CausalModel],
    X: F64,
    ask: Callable[[CausalModel, F64], tuple[F64, F64]],
) -> WhatIfSpread:
    """Intervals of predictor (n,), prediction (n,) and data (n, q) of patients X (n, q).

    ``ask`` gives a model's own answer, predictor and data, about some of the patients.
    """
    n, q = X.shape
    ends = WhatIfSpread(np.empty((2, n)), np.empty((2, n)), np.empty((2, n, q)))

    def told(model: CausalModel, some: F64) -> tuple[F64, F64, F64]:
        predictor, data = ask(model, some)
        # By its own baseline, so that the doubt about that counts too.
        return predictor, model.attribution.predicted(predictor), data

    resamples = _Resamples(models, told, [(), (), (q,)])
    for rows in resamples.blocks(n):
        for around, draws in zip(ends, resamples.answers(X[rows]), strict=True):
            around[:, rows] = _intervals(draws)
    return ends


def interval(draws: F64) -> F64:
    """(2, ...): percentile interval over the first axis of draws.

    It is that of the resamples, whether or not it holds what the model itself says: where these disagree,
    nothing is stretched. With 100 resamples of a cohort that is as the model assumes, hardly any value lies
    outside (at most 1 in 20,000), and as many intervals hold the truth as if they were stretched. Percentiles
    need no correction for the shrinkage of the sharp attribution: each resample is shrunk anew, by chance
    more or less, and the measured coverage is 91 to 97 % (results/intervals).
    """
    return np.quantile(draws, SHARES, axis=0)


def _intervals(draws: F64) -> F64:
    """What :func:`interval` says of many patients, by compiled loops."""
    from ..backends.cpu.compiler import in_threads
    from ..backends.cpu.interval_kernels import edges_of

    cells = prod(draws.shape[1:])
    ends = np.empty((2, cells))
    in_threads(partial(edges_of, draws.reshape(len(draws), -1), SHARES, ends), cells, draws.size)
    return ends.reshape(2, *draws.shape[1:])


def with_doubt(values: F64, ends: tuple[F64, F64] | None, sd: F64) -> tuple[F64, F64]:
    """Ends of 95 % intervals of ``values`` that also hold a doubt of this standard deviation, entry by entry.

    ``ends`` are those of the intervals so far, if any. Doubts of different origin add by their squares, on
    each side of the value, or of what in the interval is nearest to it; where there is none, the ends stay as
    they are.
    """
    lower, upper = (values, values) if ends is None else ends
    half, middle = STANDARD_NORMAL * sd, np.clip(values, lower, upper)
    return (
        np.where(sd > 0, middle - np.hypot(middle - lower, half), lower),
        np.where(sd > 0, middle + np.hypot(upper - middle, half), upper),
    )


def ranks(values: F64, last: Index | None = None) -> Index:
    """Rank of each column in each row, 1 for the largest; ties go to the first column.

    ``last`` are columns that come after all others, whatever their values.
    """
    rank = np.empty(values.shape, dtype=np.intp)
    falling = -values
    if last is not None:
        falling[:, last] = np.inf
    order = np.argsort(falling, axis=1, kind="stable")
    np.put_along_axis(rank, order, np.arange(1, values.shape[1] + 1)[None, :], axis=1)
    return rank


class _Resamples(Generic[Asked]):
    """Models that answer about patients block by block, several models at a time.

    ``ask`` hears of a model, about patients (n, q), an array (n, ...) for each of the ``shapes``. Those of
    all models stand in the same room for every block: to be given a new one each time costs as much as
    filling it.
    """

    def __init__(
        self,
        models: Sequence[Asked],
        ask: Callable[[Asked, F64], tuple[F64, ...]],
        shapes: Sequence[tuple[int, ...]],
    ) -> None:
        self._models, self._ask, self._shapes = models, ask, shapes
        self._values_a_row = max(1, len(models) * sum(map(prod, shapes)))
        self._room = np.empty(0)

    def blocks(self, n_rows: int) -> Iterator[slice]:
        """So many rows, as many at a time as there is room for."""
        # No more rows than a model scores at once: what it says of columns that nobody asked for is held too.
        height = max(1, min(n_rows, ROWS_PER_BLOCK, VALUES_A_BLOCK // self._values_a_row))
        self._room = np.empty(height * self._values_a_row)
        for start in range(0, n_rows, height):
            yield slice(start, min(start + height, n_rows))

    def answers(self, X: F64) -> list[F64]:
        """(b, n, ...) for each of the shapes, about patients X (n, q) of a block, until the next block.

        Linear algebra keeps to one thread, so that the number of threads changes no digit.
        """
        from ..backends.cpu.compiler import in_threads

        answers, used = [], 0
        for shape in self._shapes:
            size = len(self._models) * len(X) * prod(shape)
            answers.append(self._room[used : used + size].reshape(len(self._models), len(X), *shape))
            used += size

        def ask_some(first: int, last: int) -> None:
            for place in range(first, last):
                for array, answer in zip(answers, self._ask(self._models[place], X), strict=True):
                    array[place] = answer

        with one_blas_thread():
            in_threads(ask_some, len(self._models), len(self._models) * X.size)
        return answers
