"""What each column does to the outcome, all others held fixed, without a prior on effects.

The outcome is regressed on all columns of the cohort at once, covariates included: log-odds and log-hazards
with Firth's penalty, numbers by least squares; matched sets, stages and counts by maximum likelihood. That
cases and controls were sampled apart changes nothing but
the intercept of log-odds (Prentice & Pyke 1979).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.linalg import qr
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from ..backends.blas import one_blas_thread
from ..backends.choose import choose_table, without_gpu
from ..method.model import CausalModel
from ..method.moments import Columns, describe_columns
from ..method.table import F64, Index
from ..outcomes.continuous import Continuous
from ..outcomes.count import Count
from ..outcomes.matched import IS_CASE, Matched, of_sets, told_apart
from ..outcomes.ordinal import Ordinal
from ..outcomes.survival import Survival
from ..resampling.training_rows import TrainingRows
from .likelihoods import (
    HazardLikelihood,
    Likelihood,
    LogitLikelihood,
    LossLikelihood,
    copies,
    maximum,
    n_copies,
)
from .traces import by_patient, traces

FIRTH, LEAST_SQUARES, UNPENALIZED = "Firth", "least squares", "maximum likelihood"
# Of these outcomes there is no Firth's penalty.
WITHOUT_PENALTY = (Matched, Ordinal, Count)
# Patients of the rarer kind, or with the event, for each column: with fewer, intervals cover too little.
FEWEST_A_COLUMN = 2
# Patients that a number needs beside one for each column.
FEWEST_BESIDE = 10
# Rows × columns², times the copies of rows with missing values: about ten seconds on one core.
MOST_WORK = 4e9
# Of a column's variance, what is left beside all others: less is rounding.
EXPLAINED = 1e-10
INVOLVED = 1e-4
# Of standardized columns, the length below which one is constant.
FLAT = 1e-9
# Of a number's variance, likewise.
CERTAIN = 1e-10

TOTALS = ("total", "total_error", "bend", "negentropy")
LISTS = ("sd", "estimate", "error", "freedom", *TOTALS)

# Why a column has no effect of its own.
IS_EXPLAINED, DECIDES, UNSETTLED = "explained", "decides", "unsettled"
WHY = {
    "": "",
    UNSETTLED: "not estimable: the search for it did not settle",
    IS_EXPLAINED: "not estimable: in the rows compared other columns explain it wholly, or it does not vary",
    DECIDES: "not estimable: it helps to tell some patients' outcome for certain",
}


@dataclass(frozen=True, eq=False)
class Effects:
    """Effects of q columns, each for one unit of its own, all others held fixed.

    Attributes
    ----------
    method : :data:`FIRTH`, :data:`LEAST_SQUARES` or :data:`UNPENALIZED`.
    rows, copies : how many patients there were, and how often missing values were filled in.
    clustered : whether standard errors allow for patients with several rows.
    none : why there are no effects at all, in words; empty where there are.
    sd : (q,) standard deviation of each column in the population.
    estimate, error : (q,) the effects and their standard errors; NaN where a column has none.
    freedom : (q,) degrees of freedom of t; infinite for a normal distribution.
    why : (q,) a key of :data:`WHY`.
    total, total_error : (q,) what one standard deviation of the column's shock does by all ways, without a
        prior, and its standard error; NaN where the model has no shock of it.
    bend, negentropy : (q,) what a hidden cause in the shock may leave (:mod:`.traces`); NaN likewise, of
        levels, and in matched sets.
    """

    method: str
    rows: int
    copies: int
    clustered: bool
    none: str
    sd: F64
    estimate: F64
    error: F64
    freedom: F64
    why: tuple[str, ...]
    total: F64
    total_error: F64
    bend: F64
    negentropy: F64

    @classmethod
    def nothing(cls, n_columns: int, rows: int, why: str, method: str = FIRTH, sd: F64 | None = None) -> Self:
        """None of any column."""
        nothing, freedom = np.full(n_columns, np.nan), np.full(n_columns, np.inf)
        spread = nothing if sd is None else sd
        reasons = ("",) * n_columns
        own = (spread, nothing, nothing, freedom, reasons)
        return cls(method, rows, 1, False, why, *own, *(nothing for _ in TOTALS))

    @property
    def p_values(self) -> F64:
        """(q,) that there is no effect, two-sided."""
        size = -np.abs(self.estimate / self.error)
        return 2.0 * np.where(np.isinf(self.freedom), ndtr(size), stdtr(self.freedom, size))

    @property
    def ends(self) -> F64:
        """(2, q) of the 95 % intervals."""
        reach = np.where(np.isinf(self.freedom), ndtri(0.975), stdtrit(self.freedom, 0.975)) * self.error
        return np.stack([self.estimate - reach, self.estimate + reach])

    def to_dict(self) -> dict[str, Any]:
        """As a model file remembers them; infinite and missing numbers are None."""
        plain = {name: getattr(self, name) for name in ("method", "rows", "copies", "clustered", "none")}
        if self.none:
            return {**plain, "sd": _plain(self.sd)}
        lists = {name: _plain(getattr(self, name)) for name in LISTS}
        return {**plain, **lists, "why": list(self.why)}

    @classmethod
    def of_dict(cls, found: Mapping[str, Any], n_columns: int) -> Self:
        """The same; ValueError, or what wrong types raise, where these cannot be effects."""
        if found["none"]:
            found = {**dict.fromkeys(LISTS, [None] * n_columns), "why": [""] * n_columns, **found}
        types = {"method": str, "rows": int, "copies": int, "clustered": bool, "none": str, "why": list}
        for name, kind in types.items():
            if type(found[name]) is not kind:
                raise ValueError(f"{name!r} of its effects is of another type")
        nothing = [None] * n_columns  # files of before have no totals
        lists: dict[str, Any] = {
            name: _numbers(found.get(name, nothing) if name in TOTALS else found[name]) for name in LISTS
        }
        if {len(found["why"]), *(some.size for some in lists.values())} != {n_columns}:
            raise ValueError("its effects and its columns differ in number")
        if not {*found["why"]} <= WHY.keys() or found["method"] not in (FIRTH, LEAST_SQUARES, UNPENALIZED):
            raise ValueError("its effects are of a kind that is not known here")
        if (
            (lists["error"] < 0).any()
            or (lists["total_error"] < 0).any()
            or (lists["freedom"] <= 0).any()
            or not (lists["sd"] >= 0).all()
        ):
            raise ValueError("a standard error or deviation of its effects is none")
        lists["freedom"] = np.where(np.isnan(lists["freedom"]), np.inf, lists["freedom"])
        plain: dict[str, Any] = {name: found[name] for name in types if name != "why"}
        return cls(**plain, **lists, why=tuple(found["why"]))


def _plain(values: F64) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]


def _numbers(values: Any) -> F64:
    if not all(value is None or type(value) in (int, float) for value in values):
        raise ValueError("a number of its effects is none")
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Joint:
    """Effects of k standardized columns in complete rows.

    Attributes
    ----------
    estimate : (k,).
    covariance : (k, k) of them.
    unbounded : (k,) which have none.
    freedom : degrees of freedom of t.
    settled : whether the maximum was reached.
    beta : all coefficients, from which those of other copies are looked for.
    left : (n,) by how much the likelihood of each row rises with its predictor; None in matched sets.
    traces : (2, m) of the shocks of the m columns in causal order, as :func:`.traces.traces` has them.
    """

    estimate: F64
    covariance: F64
    unbounded: np.ndarray
    freedom: float
    settled: bool = True
    beta: F64 | None = None
    left: F64 | None = None
    traces: F64 | None = None

    def combined(self, shocks: F64) -> Joint:
        """Of m sums of these columns' effects; ``shocks`` (m, k) says how much of each."""
        return replace(
            self,
            estimate=shocks @ self.estimate,
            covariance=shocks @ self.covariance @ shocks.T,
            unbounded=(np.abs(shocks) > 0.0) @ self.unbounded > 0,
        )


def unshrunk_effects(rows: TrainingRows, model: CausalModel, penalized: bool = True) -> Effects:
    """The effects of all columns of a cohort, with Firth's penalty or by maximum likelihood alone.

    What a shock does by all ways follows from them and from the ``model``'s mechanism.
    """
    outcome, (n, q) = rows.outcome_of_all, rows.X.shape
    known = outcome.rows(rows.y)
    raw = choose_table(without_gpu(rows.backend), rows.X, known, rows.inexact, rows.weights)
    columns = describe_columns(raw, rows.settings.prevalence)
    method = FIRTH if penalized and not isinstance(outcome, WITHOUT_PENALTY) else UNPENALIZED
    if isinstance(outcome, Continuous):
        method = LEAST_SQUARES
    sd = columns.sd
    if rows.layout is not None and rows.layout.noise is not None:  # of true values
        sd = np.sqrt(np.maximum(sd**2 - rows.layout.noise**2, FLAT * sd**2))
    found = Effects.nothing(q, n, _why_none(rows), method, sd)
    if found.none:
        return found
    found = replace(found, copies=n_copies(rows), clustered=_groups_of(rows) is not None)
    with one_blas_thread():
        return _estimated(found, rows, known, columns, model)


def _shocks(model: CausalModel, sd: F64) -> F64:
    """(k, q): by how many of these standard deviations each column moves for a shock, in causal order."""
    mechanism = model.mechanism
    moved = np.zeros((mechanism.order.size, sd.size))
    moved[:, mechanism.order] = mechanism.total_effects().T * mechanism.scale
    return moved / sd


def _groups_of(rows: TrainingRows) -> Index | None:
    """(n,) the patient of each row, where some have several, or where they count differently.

    A matched set is told as a whole anyway.
    """
    if rows.weights is not None and rows.groups is None:
        return np.arange(len(rows.X))
    return None if isinstance(rows.outcome_of_all, Matched) else rows.groups


def _telling(rows: TrainingRows) -> tuple[int, str]:
    """How many of what tell something of the outcome."""
    outcome = rows.outcome_of_all
    if isinstance(outcome, Matched):
        cases, sizes = of_sets(rows.y[:, IS_CASE], told_apart(rows.y))
        # Of a set with several cases and controls, each of the rarer kind tells something.
        return int(np.minimum(cases, sizes - cases).sum()), "cases, or controls, of matched sets"
    if isinstance(outcome, Ordinal):
        return int(outcome.counts.sum() - outcome.counts.max()), "patients beside the commonest stage"
    if isinstance(outcome, Count):
        return int(rows.y[:, 0].sum()), "events"
    if isinstance(outcome, Survival):
        return int(rows.y[:, 1].sum()), "events"
    return int(np.bincount(rows.y, minlength=2).min()), "patients of the rarer kind"


def _why_none(rows: TrainingRows) -> str:
    """Why the outcome cannot be regressed on all columns at once; empty where it can."""
    n, q = rows.X.shape
    outcome = rows.outcome_of_all
    if isinstance(outcome, Continuous):
        if n < q + FEWEST_BESIDE:
            return f"{n:,} patients are too few to tell the effects of {q:,} columns apart"
    else:
        telling, what = _telling(rows)
        if telling < FEWEST_A_COLUMN * q:
            return (
                f"{telling:,} {what} are too few to tell the effects of {q:,} columns apart "
                f"(at least {FEWEST_A_COLUMN} a column)"
            )
    if n * q * q * n_copies(rows) > MOST_WORK:
        return f"{n:,} rows of {q:,} columns take too long: fit a sample of them"
    return ""


def _estimated(
    found: Effects, rows: TrainingRows, known: np.ndarray, columns: Columns, model: CausalModel
) -> Effects:
    q, of_copies = rows.X.shape[1], list[Joint]()
    kept, explained = np.arange(q), np.zeros(q, dtype=bool)
    while not of_copies:  # again with fewer columns, where some are explained in one of the copies
        of_copies, apart, involved = _of_copies(rows, known, columns, kept, found.method, model)
        explained[kept[involved]] = True
        kept = kept[apart]
    pooled = _pooled(of_copies)
    estimate, error, freedom = np.full(q, np.nan), np.full(q, np.nan), np.full(q, np.inf)
    decides = np.zeros(q, dtype=bool)
    settled = all(one.settled for one in of_copies) and bool((pooled.variance >= 0).all())
    estimate[kept], error[kept] = pooled.estimate, np.sqrt(np.maximum(pooled.variance, 0.0))
    freedom[kept], decides[kept] = pooled.freedom, pooled.unbounded
    unsettled = np.full(q, not settled)
    without = explained | decides | unsettled
    estimate[without] = error[without] = np.nan
    why = np.select([explained, decides, unsettled], [IS_EXPLAINED, DECIDES, UNSETTLED], "")
    total, total_error, bend, negentropy = np.full((4, q), np.nan)
    if not unsettled.any():
        order, shocks = model.column_order, _shocks(model, columns.sd)[:, kept]
        in_all = _pooled([one.combined(shocks) for one in of_copies])
        total[order] = np.where(in_all.unbounded, np.nan, in_all.estimate)
        total_error[order] = np.where(in_all.unbounded, np.nan, np.sqrt(np.maximum(in_all.variance, 0.0)))
        of_shocks = [one.traces for one in of_copies if one.traces is not None]
        bend[order], negentropy[order] = np.mean(of_shocks, axis=0)
    return replace(
        found,
        estimate=estimate / columns.sd,
        error=error / columns.sd,
        freedom=freedom,
        why=tuple(why.tolist()),
        total=total,
        total_error=total_error,
        bend=bend,
        negentropy=negentropy,
    )


def _of_copies(
    rows: TrainingRows, known: np.ndarray, columns: Columns, kept: Index, method: str, model: CausalModel
) -> tuple[list[Joint], Index, np.ndarray]:
    """Effects of the columns ``kept``, copy by copy; none where columns of one copy explain each other.

    Where values are imputed, a rare level may be in some copies only. And what :func:`_told_apart` says.
    """
    found = list[Joint]()
    for X, of_tables, numbers in copies(rows, known, columns):
        Z = ((X - columns.mean) / columns.sd)[:, kept]
        centred = Z - Z.mean(axis=0)  # a level that no row of this copy has is explained by the intercept
        of_number = isinstance(rows.outcome_of_all, Continuous)
        likelihood = None if of_number else _likelihood(rows, Z, of_tables, numbers)
        apart, involved = _told_apart(centred.T @ centred if likelihood is None else likelihood.of_columns())
        if apart.size < kept.size:
            return [], apart, involved
        groups = _groups_of(rows)
        groups = None if groups is None else groups[numbers]
        start = found[0].beta if found else None
        if likelihood is not None:
            joint = _joint(likelihood, groups, start, method == FIRTH)
        elif isinstance(rows.outcome_of_all, Continuous):
            values = of_tables[:, 0] * rows.outcome_of_all.sd
            joint = _line(Z, values, groups, _weights_of(rows, numbers))
        found.append(replace(joint, traces=_traces(rows, X, Z, joint.left, groups, model)))
    return found, np.arange(kept.size), np.zeros(kept.size, dtype=bool)


def _traces(
    rows: TrainingRows, X: F64, Z: F64, left: F64 | None, groups: Index | None, model: CausalModel
) -> F64:
    """(2, m) of the shocks of numbers in causal order; NaN of levels, and where nothing is left of rows."""
    order = model.column_order
    found = np.full((2, order.size), np.nan)
    if left is not None:
        numbers = np.ones(order.size, dtype=bool) if rows.layout is None else ~rows.layout.discrete[order]
        errors = model.mechanism.errors(X, np.flatnonzero(numbers))
        found[:, numbers] = traces(errors, Z, left, groups)
    return found


def _told_apart(information: F64) -> tuple[Index, np.ndarray]:
    """Columns (k,) that explain all others, and (q,) which of all explain each other wholly.

    ``information`` (q, q) is what the outcome learns by them, the baseline and the strata taken out.
    """
    size = np.maximum(np.diagonal(information), 0.0)
    # What does not vary where rows are compared tells nothing.
    size = np.where(size > EXPLAINED * size.max(initial=0.0), size, np.inf)
    correlation = information / np.sqrt(np.outer(size, size))
    sizes, directions = np.linalg.eigh(correlation)
    nothing = sizes < EXPLAINED * len(sizes)
    involved: np.ndarray = (np.abs(directions[:, nothing]) > INVOLVED).any(axis=1)
    if not nothing.any():
        return np.arange(len(sizes)), involved
    _, pivots = qr(correlation, mode="r", pivoting=True)
    return np.sort(pivots[: int((~nothing).sum())]), involved


def _weights_of(rows: TrainingRows, numbers: Index) -> F64 | None:
    """(n,) what the rows of these numbers count; None where all count the same."""
    return None if rows.weights is None else rows.weights.weights[numbers]


def _likelihood(rows: TrainingRows, Z: F64, of_tables: np.ndarray, numbers: Index) -> Likelihood:
    """Of the outcome, in columns Z (n, k) of the rows of these numbers."""
    outcome, known, weights = rows.outcome_of_all, rows.y[numbers], _weights_of(rows, numbers)
    if isinstance(outcome, Survival):
        return HazardLikelihood.of(Z, known, weights)
    if isinstance(outcome, WITHOUT_PENALTY):
        return LossLikelihood.of(Z, of_tables, outcome, weights)
    return LogitLikelihood(Z, known.astype(np.float64), weights)


def _joint(likelihood: Likelihood, groups: Index | None, start: F64 | None, penalized: bool) -> Joint:
    found, k = maximum(likelihood, start, penalized), likelihood.Z.shape[1]
    covariance = found.covariance
    if groups is not None:
        covariance = _sandwich(covariance, likelihood.scores(found.beta), groups)
    own, unbounded = covariance[-k:, -k:], found.unbounded[-k:]
    left = likelihood.left(found.beta)
    return Joint(found.beta[-k:], own, unbounded, np.inf, found.settled, found.beta, left)


def _line(Z: F64, y: F64, groups: Index | None, weights: F64 | None = None) -> Joint:
    """Least squares, with an intercept; of rows that count differently, weighted."""
    n, k = Z.shape
    if weights is None:
        centred, left = Z - Z.mean(axis=0), y - y.mean()
    else:
        n, root = float(weights.sum()), np.sqrt(weights)
        centred, left = root[:, None] * (Z - weights @ Z / n), root * (y - weights @ y / n)
    bread = np.linalg.inv(centred.T @ centred)
    coef = bread @ (centred.T @ left)
    left = left - centred @ coef
    of_rows = left if weights is None else root * left
    freedom = n - k - 1.0
    variance = float(left @ left) / freedom
    certain = variance <= CERTAIN * float(y.var())
    covariance = variance * bread
    if groups is not None:
        covariance = _sandwich(bread, centred * left[:, None], groups)
        freedom = min(freedom, float(groups.max()))
    return Joint(coef, covariance, np.full(k, certain), freedom, left=of_rows)


def _sandwich(bread: F64, scores: F64, groups: Index) -> F64:
    """The covariance where rows of one patient depend on each other (Liang & Zeger 1986)."""
    of_patients = by_patient(scores, groups)
    m = len(of_patients)
    found: F64 = bread @ (of_patients.T @ of_patients) @ bread * (m / (m - 1.0))
    return found


def _pooled(found: list[Joint]) -> _Pooled:
    """Of the copies of a cohort together, by Rubin's rules, with the freedom of Barnard & Rubin (1999)."""
    unbounded = np.any([one.unbounded for one in found], axis=0)
    estimate = np.mean([one.estimate for one in found], axis=0)
    within = np.mean([np.diagonal(one.covariance) for one in found], axis=0)
    if len(found) == 1:
        return _Pooled(estimate, within, unbounded, np.full(estimate.size, found[0].freedom))
    m = len(found)
    between = (1.0 + 1.0 / m) * np.var([one.estimate for one in found], axis=0, ddof=1)
    variance = within + between
    share = between / variance
    with np.errstate(divide="ignore"):
        of_draws = (m - 1.0) / share**2
    complete = found[0].freedom
    if np.isfinite(complete):
        observed = (complete + 1.0) / (complete + 3.0) * complete * (1.0 - share)
        of_draws = 1.0 / (1.0 / of_draws + 1.0 / observed)
    return _Pooled(estimate, variance, unbounded, of_draws)


@dataclass(frozen=True, eq=False)
class _Pooled:
    """As :class:`Joint`, with a variance (k,) and degrees of freedom (k,) for each."""

    estimate: F64
    variance: F64
    unbounded: np.ndarray
    freedom: F64
