"""Learn what a reference group is like: graphs of resampled rows, calibrated by the rows left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np

from ..backends.blas import one_blas_thread
from ..backends.choose import incomplete_part, whole_rows
from ..method.layout import Layout
from ..method.missing.completion import Completion
from ..method.missing.imputation import Imputation, impute
from ..method.missing.sums import IncompleteRaw
from ..method.moments import Columns, describe_columns
from ..method.table import F64, Index
from ..nonlinear.fitting import Fitter
from ..nonlinear.learning import GraphCohort
from ..nonlinear.mechanism import LARGEST_COEFFICIENT, LEAST_SPREAD, NonlinearMechanism, build
from ..nonlinear.memory_rows import HeldRows, codes_of
from .case_rows import CaseFitter, CaseRows
from .reference import Reference, effective_tests, spread_of_filled
from .tails import Tails, autocorrelation_time

# Rows follow each other in time where so many tell as much as one; then they are resampled in blocks.
FOLLOW_EACH_OTHER = 1.5
# However long a series remembers, so many rows count as independent ones.
LEAST_ROWS = 20.0
# A column in which all rows but so many are the same keeps these in each resample.
HARDLY_VARIES = 5

#: Told after each graph.
OnGraph = Callable[[], None]


@dataclass(frozen=True, eq=False)
class Learned:
    """A model of a reference group and how it came about.

    Attributes
    ----------
    reference : the model.
    completion : what is expected of values that new rows lack.
    imputation : what was filled in; None where nothing was missing.
    exhausted : columns that others explain wholly: they are in no graph.
    time : how many rows tell as much as one, in the middle of all columns.
    converged : whether every search came to rest before its limit.
    """

    reference: Reference
    completion: Completion
    imputation: Imputation | None
    exhausted: Index
    time: float
    converged: bool


class NoOutcome:
    """To imputation: nothing is known of what happened to anybody."""

    def scores(self, columns: Columns) -> F64:
        return np.zeros(2)


@dataclass(frozen=True, eq=False)
class _Resampled(GraphCohort):
    """A resample of the reference group, with cases beside it."""

    cases: CaseRows | None = None
    effective_rows: float = 0.0

    @property
    def n_rows(self) -> float:
        return self.effective_rows

    def fitter(self, nonlinear: bool) -> Fitter:
        plain = super().fitter(nonlinear)
        assert isinstance(plain, Fitter)  # its rows lie in this process
        given = {one.name: getattr(plain, one.name) for one in fields(plain) if one.init}
        return CaseFitter(**given, cases=self.cases)

    def mechanism(self, nonlinear: bool, n_columns: int) -> tuple[NonlinearMechanism, bool]:
        """The mechanism of its graph, of all columns, and whether the search came to rest."""
        graph = self.graph(nonlinear)
        order = self.causal_order(graph)
        found = build(self.columns, order, graph.fitted, self.rows, self.n_columns)
        size = np.clip(found.error_sd, LEAST_SPREAD, LARGEST_COEFFICIENT)
        return replace(found, error_sd=size).on_columns(self.columns.column, n_columns), graph.converged


@one_blas_thread()
def learn_reference(
    values: F64,
    cases: F64,
    layout: Layout,
    n_graphs: int,
    seed: int,
    nonlinear: bool = False,
    on_graph: OnGraph = lambda: None,
) -> Learned:
    """Learn from rows (n, q) of the reference group, and cases (m, q) beside it, NaN where missing."""
    columns, completion, imputation = _described(values, layout, seed)
    whole = completion.draw(values, seed, layout)
    cohort = _cohort(whole, np.ones(len(whole)), columns, np.arange(layout.n_columns), layout)
    exhausted = cohort.combinations()
    kept = cohort.without(exhausted).columns.column
    series = autocorrelation_time(whole[:, kept])
    time = float(np.median(series))
    n_telling = max(len(whole) / time, min(LEAST_ROWS, len(whole)))
    beside = completion.fill(cases) if len(cases) else cases
    among, converged, mechanisms, left_out = layout.take(kept), True, [], []
    for weights, case_rows in _resamples(whole[:, kept], len(beside), time, n_graphs, seed):
        part = _cohort(whole, weights, columns, kept, among)
        some = _case_rows(part, whole, beside[case_rows], kept) if len(beside) else None
        part = replace(part, cases=some, effective_rows=n_telling)
        mechanism, rested = part.mechanism(nonlinear, layout.n_columns)
        mechanisms.append(mechanism)
        left_out.append(weights == 0)
        converged &= rested
        on_graph()
    reference = _calibrated(mechanisms, left_out, values, whole, layout, completion)
    return Learned(reference, completion, imputation, exhausted, time, converged)


def _described(values: F64, layout: Layout, seed: int) -> tuple[Columns, Completion, Imputation | None]:
    """The columns, and how to fill in what is missing."""
    every = np.arange(layout.n_columns)
    if not np.isnan(values).any():
        raw = whole_rows("numba", values, None)
        columns = describe_columns(raw)
        gram = columns.weights.total(raw.gram(every, columns.mean, columns.sd))
        return columns, Completion.of_gram(columns, every, gram, len(values)), None
    holed: IncompleteRaw = incomplete_part("numba", values, np.zeros(len(values), dtype=np.intp))
    found = impute(holed, describe_columns(holed), layout, (every, 1.0), seed, NoOutcome())
    return found.columns, found.completion, found.imputation


def _cohort(whole: F64, weights: F64, columns: Columns, kept: Index, layout: Layout) -> _Resampled:
    """Some columns of the rows that count for something."""
    rows = np.flatnonzero(weights)
    Z = ((whole[np.ix_(rows, kept)] - columns.mean[kept]) / columns.sd[kept]).T
    held = HeldRows(np.ascontiguousarray(Z), weights[rows], ())
    return _Resampled.of(held, columns, kept, layout)


def _case_rows(part: _Resampled, whole: F64, cases: F64, kept: Index) -> CaseRows:
    """Cases as the mechanisms of a resample see them."""
    mean, sd, levels = part.columns.mean, part.columns.sd, part.columns.level_values
    Z = np.ascontiguousarray(((cases[:, kept] - mean) / sd).T)
    low, high = ((end(whole[:, kept], axis=0) - mean) / sd for end in (np.min, np.max))
    codes = np.stack([codes_of(z, values) for z, values in zip(Z, levels, strict=True)])
    return CaseRows.of(Z, low, high, part.columns.splines, codes, levels)


def _resamples(whole: F64, n_cases: int, time: float, n_graphs: int, seed: int) -> list[tuple[F64, Index]]:
    """How often each row is drawn, in blocks where rows follow each other, and which cases are.

    A resample in which a column does not vary tells nothing of it.
    """
    generator, n = np.random.default_rng(seed), len(whole)
    length = max(1, min(round(time), n // 10)) if time > FOLLOW_EACH_OTHER else 1
    always = np.zeros(n, dtype=bool)
    for column in whole.T:
        _, place, count = np.unique(column, return_inverse=True, return_counts=True)
        if n - count.max() < HARDLY_VARIES:
            always |= place != count.argmax()
    found = []
    for _ in range(n_graphs):
        starts = generator.integers(0, n, -(-n // length))
        drawn = ((starts[:, None] + np.arange(length)) % n).ravel()[:n]
        weights = np.bincount(drawn, minlength=n).astype(np.float64)
        weights[always] = np.maximum(weights[always], 1.0)
        found.append((weights, generator.integers(0, n_cases, n_cases) if n_cases else np.empty(0, int)))
    return found


def _calibrated(
    mechanisms: list[NonlinearMechanism],
    left_out: list[np.ndarray],
    values: F64,
    whole: F64,
    layout: Layout,
    completion: Completion,
) -> Reference:
    """Scores of the reference group by graphs that they had no part in, and what they are distributed as."""
    v = layout.n_variables
    holes = np.isnan(values)
    measured = values if holes.any() else None
    X = completion.fill(values)
    bare = Reference(
        tuple(mechanisms),
        layout,
        whole.min(axis=0),
        whole.max(axis=0),
        Tails.of(np.zeros((1, v)), np.ones(v)),
        np.ones(v),
        1.0,
    )
    scaled, size, signed, graphs = [], np.zeros((len(X), v)), np.zeros((len(X), v)), np.zeros(len(X))
    for mechanism, rows in zip(mechanisms, left_out, strict=True):
        spread = None if measured is None else spread_of_filled(mechanism, measured[rows], completion)
        scaled.append(_of_unit_size(bare, mechanism, X[rows], holes[rows], spread))
        found, _ = bare.errors_by(scaled[-1], X[rows], spread)
        size[rows] += np.abs(found)
        signed[rows] += found
        graphs[rows] += 1.0
    # Rows that every resample kept, since a column hardly varies without them, are scored by all graphs.
    always = np.flatnonzero(graphs == 0)
    for mechanism in scaled if always.size else []:
        spread = None if measured is None else spread_of_filled(mechanism, measured[always], completion)
        found, _ = bare.errors_by(mechanism, X[always], spread)
        size[always] += np.abs(found)
        signed[always] += found
        graphs[always] += 1.0
    told = graphs > 0
    scores = np.where(signed < 0.0, -size, size)[told] / graphs[told, None]
    scores[holes[told][:, layout.first_columns]] = np.nan
    scores[:, ~bare.judged] = np.nan
    times = np.ones(v)
    times[bare.judged] = autocorrelation_time(scores[:, bare.judged])
    tails = Tails.of(scores, times)
    reference = replace(bare, mechanisms=tuple(scaled), tails=tails, times=times)
    logs, _ = reference.log_probabilities(scores)
    judged = logs[:, bare.judged]
    return replace(reference, n_tests=effective_tests(judged) if judged.size else 1.0)


def _of_unit_size(
    bare: Reference, mechanism: NonlinearMechanism, X: F64, holes: np.ndarray, spread: F64 | None
) -> NonlinearMechanism:
    """The same mechanism, its errors in units of those of rows X that it was not learned from."""
    order = mechanism.order
    z = (X[:, order] - mechanism.mean) / mechanism.sd
    expected, sd = mechanism.conditionals(z)
    error = (z - expected) / sd
    if spread is not None:
        error /= np.sqrt(1.0 + spread * spread)
    error[holes[:, order]] = np.nan
    seen = (~np.isnan(error)).sum(axis=0)
    size = np.sqrt(np.nansum(error * error, axis=0) / np.maximum(seen, 1))
    size = np.where(size > 0.0, size, 1.0)
    return replace(mechanism, error_sd=np.clip(mechanism.error_sd * size, LEAST_SPREAD, LARGEST_COEFFICIENT))
