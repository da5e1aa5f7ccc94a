"""What resamples say about patients: intervals, frequencies and the stability of ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from ..core.model import CausalModel
from ..core.table import F64, Index

LEVEL = 0.95
# Standard deviations to either side that hold as much of a normal distribution.
STANDARD_NORMAL = 1.96
# Values of all resamples held at once.
VALUES_A_BLOCK = 10_000_000


@dataclass(frozen=True)
class Spread:
    """How Shapley values (n, p) vary over resamples.

    Attributes
    ----------
    lower, upper : (n, p) ends of the 95 % percentile interval.
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
    models: Sequence[CausalModel],
    X: F64,
    values: F64,
    doubt: F64 | None = None,
    covariates: Index | None = None,
) -> Spread:
    """Spread of the Shapley values of patients X around the stated ``values`` (n, p).

    ``doubt`` (n, p) is the standard deviation that values which were not measured leave. Where there is one,
    a resample counts for the chance that its value is above zero. ``covariates`` have no rank.
    """
    n, p = values.shape
    cols = np.union1d(np.concatenate([m.order for m in models]), np.flatnonzero(values.any(axis=0)))
    ends = np.zeros((2, n, p))
    frequency = np.zeros((n, p))
    stability = np.zeros((n, p))
    for rows in _blocks(n, len(models) * max(1, cols.size)):
        draws = np.stack([m.shapley(X[rows])[:, cols] for m in models])
        ends[:, rows, cols] = interval(draws, values[rows, cols])
        above_zero = _chance_above_zero(draws, None if doubt is None else doubt[rows, cols])
        frequency[rows, cols] = above_zero.mean(axis=0)
        stated = ranks(values[rows], covariates)[:, cols]
        as_high = np.stack([ranks(draw) <= stated for draw in draws])
        stability[rows, cols] = (above_zero * as_high).mean(axis=0)
    if doubt is None:
        return Spread(ends[0], ends[1], frequency, stability)
    return Spread(*with_doubt(values, (ends[0], ends[1]), doubt), frequency, stability)


def spread_of_adjustment(
    models: Sequence[CausalModel], X: F64, effect: F64, doubt: F64 | None = None
) -> F64 | None:
    """Interval (2, n) around the stated ``effect`` (n,) of the covariates of patients X together.

    ``doubt`` (n,) is the standard deviation that covariates which were not measured leave. None where there
    are neither models nor a doubt.
    """
    if not models and doubt is None:
        return None
    ends = np.stack([effect, effect])
    for rows in _blocks(len(effect), len(models)) if models else ():
        ends[:, rows] = interval(np.stack([model.adjustment(X[rows]) for model in models]), effect[rows])
    return ends if doubt is None else np.stack(with_doubt(effect, (ends[0], ends[1]), doubt))


def _chance_above_zero(draws: F64, doubt: F64 | None) -> F64:
    """(b, n, m): of values (b, n, m), each with a doubt of its standard deviation (n, m)."""
    certain = (draws > 0).astype(np.float64)
    if doubt is None:
        return certain
    return np.where(doubt > 0, ndtr(draws / np.where(doubt > 0, doubt, 1.0)), certain)


def spread_of_prediction(models: Sequence[CausalModel], X: F64, predicted: F64) -> F64:
    """Interval (2, n) around what is ``predicted`` (n,) of patients X; each model by its own baseline."""
    ends = np.empty((2, len(predicted)))
    for rows in _blocks(len(predicted), len(models)):
        ends[:, rows] = interval(np.stack([model.predicted(X[rows]) for model in models]), predicted[rows])
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
    stated: tuple[F64, F64, F64],
) -> WhatIfSpread:
    """Intervals around the ``stated`` predictor (n,), prediction (n,) and data (n, q) of patients X.

    ``ask`` gives a model's own answer, predictor and data, about some of the patients.
    """
    predictor, predicted, data = stated
    n, q = data.shape
    ends = WhatIfSpread(np.empty((2, n)), np.empty((2, n)), np.empty((2, n, q)))
    for rows in _blocks(n, len(models) * q):
        answers = [ask(model, X[rows]) for model in models]
        # By its own baseline, so that the doubt about that counts too.
        means = [model.attribution.predicted(now) for model, (now, _) in zip(models, answers, strict=True)]
        ends.predictor[:, rows] = interval(np.stack([now for now, _ in answers]), predictor[rows])
        ends.predicted[:, rows] = interval(np.stack(means), predicted[rows])
        ends.data[:, rows] = interval(np.stack([then for _, then in answers]), data[rows])
    return ends


def interval(draws: F64, stated: F64) -> F64:
    """(2, ...): percentile interval over the first axis of draws, widened to hold the stated value.

    Percentiles need no correction for the shrinkage of the sharp attribution: each resample is shrunk
    anew, by chance more or less, and the measured coverage is 91 to 97 % (results/intervals).
    """
    lower, upper = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return np.stack([np.minimum(lower, stated), np.maximum(upper, stated)])


def with_doubt(values: F64, ends: tuple[F64, F64] | None, sd: F64) -> tuple[F64, F64]:
    """Ends of 95 % intervals of ``values`` that also hold a doubt of this standard deviation, entry by entry.

    ``ends`` are those of the intervals so far, if any. Doubts of different origin add by their squares, on
    each side; where there is none, the ends stay as they are.
    """
    lower, upper = (values, values) if ends is None else ends
    half = STANDARD_NORMAL * sd
    return (
        np.where(sd > 0, values - np.hypot(values - lower, half), lower),
        np.where(sd > 0, values + np.hypot(upper - values, half), upper),
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


def _blocks(n_rows: int, values_a_row: int) -> Iterator[slice]:
    height = max(1, VALUES_A_BLOCK // values_a_row)
    for start in range(0, n_rows, height):
        yield slice(start, min(start + height, n_rows))
