"""Plain regressions of an outcome on the errors, which score tests need: shrinkage would bias them.

One for each outcome: :class:`PlainLogit`, :class:`PlainHazard`, :class:`PlainLine`, :class:`PlainStages`,
:class:`PlainCounts`; matched sets have none. All are asked the same:
does something else, beside the errors, go with what they leave, and by how much does one patient move a
coefficient?
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from ..backends.choose import choose_table
from ..method.attribution.regression import Coefficients, regress
from ..method.missing.sums import IncompleteRaw
from ..method.outcome import Outcome
from ..method.table import EVENT, F64, FIRST, INTERVAL, LARGEST_LOG_HAZARD, OVER, PART, Index
from ..outcomes.binary import fit_logit
from ..outcomes.count import Count
from ..outcomes.follow_up import Clock, Spans
from ..outcomes.ordinal import Ordinal
from ..outcomes.survival import HazardLoss
from .dependence import in_blocks

# Steps after which patients who can be told apart are, how long they are, and what keeps them finite.
APART_STEPS, LONGEST_STEP, APART_RIDGE = 25, 5.0, 1e-6
LARGEST_LOG_ODDS = 30.0
# Of what extra regressors vary by, below which the model already holds them.
NOTHING_NEW = 1e-6
# Groups that are tested at once: products of matrices then pay, and those between groups cost little.
GROUPS_AT_ONCE = 8


def joint_tests(score: F64, left: F64, whole: F64) -> tuple[F64, Index]:
    """Chi-square statistics (m,) of m groups of w regressors, and their degrees of freedom (m,).

    There are fewer than w where the model already holds some of them, as with a column of two values.

    Parameters
    ----------
    score : (m, w).
    left, whole : (m, w, w) information on them that is not the model's, and all of it.
    """
    size, direction = np.linalg.eigh(left)
    new = size > NOTHING_NEW * np.maximum(np.trace(whole, axis1=1, axis2=2), 1e-300)[:, None]
    along = np.einsum("mij,mi->mj", direction, score)
    return np.where(new, along**2 / np.where(new, size, 1.0), 0.0).sum(axis=1), new.sum(axis=1)


def blocks_of(matrix: F64, width: int) -> F64:
    """(m, w, w): those on the diagonal of a matrix (m w, m w)."""
    m = len(matrix) // width
    each = np.arange(m)
    return matrix.reshape(m, width, m, width)[each, :, each]


def in_groups(work: Callable[[slice], None], n_groups: int, n_rows: int) -> None:
    """Call work(groups) for all of them, a few at a time, on all cores."""
    in_blocks(work, n_groups, n_rows, GROUPS_AT_ONCE * n_rows)


class PlainFit(ABC):
    """Maximum likelihood of an outcome in the errors (n, k).

    Attributes
    ----------
    errors : (n, k).
    coef : (k,).
    separated : whether there is no maximum, so that no test means anything.
    """

    errors: F64
    coef: F64
    separated: bool

    @property
    @abstractmethod
    def residual(self) -> F64:
        """(n,) what is left of each patient's outcome, as the score has it."""

    @abstractmethod
    def information(self, one: F64, other: F64) -> F64:
        """(a, b): of regressors (n, a) and (n, b), the baseline regressed out."""

    @abstractmethod
    def influence(self) -> F64:
        """(n, k): standard errors by which each coefficient would move without each patient (one step)."""

    @cached_property
    def covariance(self) -> F64:
        """(k, k) of the coefficients."""
        return np.asarray(np.linalg.pinv(self.information(self.errors, self.errors), hermitian=True))

    @cached_property
    def standard_errors(self) -> F64:
        """(k,) of the coefficients."""
        return np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0))

    def beside(self, extra: F64) -> tuple[F64, F64, F64]:
        """Of m groups of extra regressors (m, w, n): score (m, w), and what the errors do not hold.

        That is information (m, w, w); then all of it: what :func:`joint_tests` takes.
        """
        m, width, n = extra.shape
        columns = extra.reshape(m * width, n).T
        cross, whole = self.information(self.errors, columns), self.information(columns, columns)
        left = whole - cross.T @ self.covariance @ cross
        score = (columns.T @ self.residual).reshape(m, width)
        return score, blocks_of(left, width), blocks_of(whole, width)


def joint_score_tests(fit: PlainFit, extra: F64) -> tuple[F64, Index]:
    """Chi-square statistics (m,) of m groups of extra regressors (m, w, n), and their degrees of freedom."""
    m, _, n = extra.shape
    statistic, freedom = np.zeros(m), np.zeros(m, dtype=np.intp)

    def work(some: slice) -> None:
        statistic[some], freedom[some] = joint_tests(*fit.beside(extra[some]))

    in_groups(work, m, n)
    return statistic, freedom


class PlainRows(PlainFit):
    """With an intercept, and a weight for each row."""

    @property
    @abstractmethod
    def weight(self) -> F64:
        """(n,) information of each row on its predictor."""

    @cached_property
    def centred(self) -> F64:
        """(n, k) errors about their weighted means: the intercept regressed out."""
        return self._about_mean(self.errors)

    def _about_mean(self, values: F64) -> F64:
        found: F64 = values - self.weight @ values / self.weight.sum()
        return found

    def information(self, one: F64, other: F64) -> F64:
        # One of the two about its mean will do: the narrower.
        few = one.shape[1] < other.shape[1]
        about = one if few else other
        about = (self.centred if about is self.errors else self._about_mean(about)) * self.weight[:, None]
        found: F64 = about.T @ other if few else one.T @ about
        return found

    @cached_property
    def leverage(self) -> F64:
        """(n,) at most all but a millionth."""
        of_errors = ((self.centred @ self.covariance) * self.centred).sum(axis=1)
        return np.minimum((of_errors + 1.0 / self.weight.sum()) * self.weight, 1.0 - 1e-6)

    def influence(self) -> F64:
        moved = self.centred @ self.covariance * (self.residual / (1.0 - self.leverage))[:, None]
        return moved / np.maximum(self.standard_errors, 1e-300)


@dataclass(frozen=True)
class PlainLogit(PlainRows):
    """Of a diagnosis: logistic regression, with an intercept.

    Where the errors tell all patients apart, only a weak prior keeps the coefficients finite.

    Attributes
    ----------
    y : (n,) labels.
    baseline : log-odds where all errors are zero.
    """

    errors: F64
    coef: F64
    separated: bool
    y: np.ndarray
    baseline: float

    @classmethod
    def of(cls, errors: F64, y: np.ndarray) -> PlainLogit:
        n, k = errors.shape
        raw = choose_table("auto", errors, y)
        assert not isinstance(raw, IncompleteRaw)
        table = raw.standardize(np.arange(k), np.zeros(k), np.ones(k))
        found = fit_logit(table, np.arange(k), float(y.mean()))
        design = np.vstack([errors.T, np.ones(n)]).T
        apart = found.separated and _tell_all_apart(design, y, np.append(found.coef, found.baseline))
        return cls(errors, found.coef, apart, y, float(found.baseline[0]))

    @cached_property
    def log_odds(self) -> F64:
        """(n,)."""
        return self.errors @ self.coef + self.baseline

    @cached_property
    def risk(self) -> F64:
        """(n,)."""
        return expit(self.log_odds)

    @cached_property
    def weight(self) -> F64:
        return self.risk * (1.0 - self.risk)

    @property
    def residual(self) -> F64:
        return self.y - self.risk


def _tell_all_apart(design: F64, y: np.ndarray, coef: F64) -> bool:
    """Whether some coefficients leave not a single exception, rather than decide for a few patients.

    Where there are such, each step of Newton's method cuts what the likelihood lacks to about a third.
    """
    for _ in range(APART_STEPS):
        log_odds = design @ coef
        if log_odds[y == 1].min() > log_odds[y == 0].max():
            return True
        risk = expit(np.clip(log_odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS))
        information = (design * (risk * (1.0 - risk))[:, None]).T @ design
        step = np.linalg.solve(information + APART_RIDGE * np.eye(coef.size), design.T @ (y - risk))
        longest = max(LONGEST_STEP, float(np.abs(coef).max()))
        coef = coef + step / max(1.0, float(np.abs(step).max()) / longest)
    return False


def fitted(errors: F64, known: np.ndarray, outcome: Outcome) -> Coefficients:
    """The outcome, of which these (n, c) are known, regressed on the errors (n, k) by its own loss."""
    k = errors.shape[1]
    raw = choose_table("numba", errors, outcome.rows(known))
    assert not isinstance(raw, IncompleteRaw)
    table = raw.standardize(np.arange(k), np.zeros(k), np.ones(k))
    return regress(outcome.loss(table, np.arange(k)), k)


@dataclass(frozen=True)
class PlainStages(PlainRows):
    """Of stages: proportional odds; all thresholds move together, as an intercept does.

    Attributes
    ----------
    above, below : (n,) the threshold above each patient's stage, and that below it, less what the errors add.
    """

    errors: F64
    coef: F64
    separated: bool
    above: F64
    below: F64

    @classmethod
    def of(cls, errors: F64, known: np.ndarray) -> PlainStages:
        stages = Ordinal.of(known)
        found = fitted(errors, known, stages)
        ends = np.concatenate([[-np.inf], found.baseline, [np.inf]])
        place = np.searchsorted(stages.there, known[:, 0].astype(np.intp))
        eta = errors @ found.coef
        return cls(errors, found.coef, found.separated, ends[place + 1] - eta, ends[place] - eta)

    @property
    def residual(self) -> F64:
        return expit(self.above) + expit(self.below) - 1.0

    @cached_property
    def weight(self) -> F64:
        of = expit(self.above) * expit(-self.above) + expit(self.below) * expit(-self.below)
        return np.asarray(of)


@dataclass(frozen=True)
class PlainCounts(PlainRows):
    """Of counts: negative binomial, with an intercept.

    Attributes
    ----------
    count, expected : (n,) of each patient.
    dispersion : by which counts vary more than by chance.
    """

    errors: F64
    coef: F64
    separated: bool
    count: F64
    expected: F64
    dispersion: float

    @classmethod
    def of(cls, errors: F64, known: np.ndarray) -> PlainCounts:
        counts = Count.of(known)
        found = fitted(errors, known, counts)
        rate = np.exp(np.minimum(errors @ found.coef + found.baseline[0], LARGEST_LOG_HAZARD))
        expected = known[:, 1] * rate
        return cls(errors, found.coef, found.separated, known[:, 0], expected, counts.dispersion)

    @property
    def residual(self) -> F64:
        return (self.count - self.expected) / (1.0 + self.dispersion * self.expected)

    @cached_property
    def weight(self) -> F64:
        return self.expected / (1.0 + self.dispersion * self.expected)


@dataclass(frozen=True)
class PlainHazard(PlainFit):
    """Of the time to an event: proportional hazards on a clock's intervals (:mod:`..outcomes.follow_up`).

    Attributes
    ----------
    event : (n,) whether it came, 1 or 0.
    interval, part : (n,) where follow-up ended, and how much of that interval each patient saw.
    first, over : (n,) where it started, and how much of that interval was over then.
    hazard : (G,) of each interval, where all errors are zero.
    edges : (G + 1,) times at which intervals end; the first starts at zero.
    """

    errors: F64
    coef: F64
    separated: bool
    event: F64
    interval: Index
    part: F64
    first: Index
    over: F64
    hazard: F64
    edges: F64

    @classmethod
    def of(cls, errors: F64, known: np.ndarray) -> PlainHazard:
        """Of what is known of the outcome, as :class:`rootcausal.outcomes.survival.Survival` has it.

        At least one patient has the event.
        """
        spans = Spans.of(known)
        clock = Clock.of_spans(spans)
        rows = clock.rows_of(spans)
        ends = rows[:, INTERVAL].astype(np.intp), rows[:, PART]
        starts = np.zeros(len(rows), dtype=np.intp), np.zeros(len(rows))
        if rows.shape[1] > FIRST:
            starts = rows[:, FIRST].astype(np.intp), rows[:, OVER]
        of_rows = (rows[:, EVENT], *ends, *starts)
        k = errors.shape[1]
        if not k:
            return cls(errors, np.zeros(0), False, *of_rows, clock.null_hazards, clock.edges)
        raw = choose_table("auto", errors, rows)
        assert not isinstance(raw, IncompleteRaw)
        table = raw.standardize(np.arange(k), np.zeros(k), np.ones(k))
        found = regress(HazardLoss(table, np.arange(k), np.log(clock.null_hazards)), k)
        hazard = np.exp(np.minimum(found.baseline, LARGEST_LOG_HAZARD))
        return cls(errors, found.coef, found.separated, *of_rows, hazard, clock.edges)

    @cached_property
    def ratio(self) -> F64:
        """(n,) each patient's hazard, relative to one whose errors are zero."""
        return np.exp(np.minimum(self.errors @ self.coef, LARGEST_LOG_HAZARD))

    @cached_property
    def expected(self) -> F64:
        """(n,) events until each patient's follow-up ended."""
        return self.expected_until(self.hazard.size)

    def expected_until(self, split: int) -> F64:
        """(n,) the same of the first intervals only, so many."""
        start = np.append(0.0, np.cumsum(self.hazard))

        def until(interval: Index, part: F64) -> F64:
            seen = np.where(interval < split, part * self.hazard[interval], 0.0)
            met: F64 = start[np.minimum(interval, split)] + seen
            return met

        met = until(self.interval, self.part) - until(self.first, self.over)
        return self.ratio * np.maximum(met, 0.0)

    @property
    def residual(self) -> F64:
        return self.event - self.expected

    def information(self, one: F64, other: F64) -> F64:
        return self.information_until(self.hazard.size, one, other)

    def information_until(self, split: int, one: F64, other: F64) -> F64:
        """The same of the first intervals only, so many."""
        # The narrower of the two is weighted.
        weight = self.expected_until(split)[:, None]
        few = one.shape[1] < other.shape[1]
        total = (one * weight).T @ other if few else one.T @ (other * weight)
        of_one, of_other = (self._in_intervals(some)[:split] for some in (one, other))
        return total - (of_one / self._events[:split]).T @ of_other

    @cached_property
    def _at_risk(self) -> tuple[csr_array, csr_array]:
        """(G, n) each: hazard ratios of who leaves in each interval, and of the parts of it that they saw."""
        shape, every = (self.hazard.size, self.event.size), np.arange(self.event.size)

        def member(weight: F64, of: Index) -> csr_array:
            return csr_array((weight, (of, every)), shape=shape)

        whole, seen = member(self.ratio, self.interval), member(self.ratio * self.part, self.interval)
        if not (self.first.any() or self.over.any()):
            return whole, seen
        # Who starts later is not at risk before.
        return whole - member(self.ratio, self.first), seen - member(self.ratio * self.over, self.first)

    def _in_intervals(self, values: F64) -> F64:
        """(G, m): sums of values (n, m) over those at risk in each interval, by what they expect there."""
        if values is self.errors:
            return self._errors_in_intervals
        return self._summed(values)

    def _summed(self, values: F64) -> F64:
        whole, seen = (member @ values for member in self._at_risk)
        after = np.cumsum(whole[::-1], axis=0)[::-1] - whole
        return np.asarray(self.hazard[:, None] * (after + seen))

    @cached_property
    def _errors_in_intervals(self) -> F64:
        return self._summed(self.errors)

    @cached_property
    def _events(self) -> F64:
        """(G, 1) that are expected in each interval."""
        return np.maximum(self._summed(np.ones((self.event.size, 1))), 1e-300)

    def influence(self) -> F64:
        mean = self._errors_in_intervals / self._events
        # What the baseline takes of each patient's score: the mean error of those at risk, while at risk.
        taken = self.hazard[:, None] * mean
        start = np.cumsum(taken, axis=0) - taken
        met = start[self.interval] + self.part[:, None] * taken[self.interval]
        met -= start[self.first] + self.over[:, None] * taken[self.first]
        reached = self.ratio[:, None] * met
        score = self.errors * self.residual[:, None] - self.event[:, None] * mean[self.interval] + reached
        centred = self.errors - mean[self.interval]
        leverage = self.expected * ((centred @ self.covariance) * centred).sum(axis=1)
        moved = score @ self.covariance / np.maximum(1.0 - leverage, 0.1)[:, None]
        return moved / np.maximum(self.standard_errors, 1e-300)


@dataclass(frozen=True)
class PlainLine(PlainRows):
    """Of a number: least squares, with an intercept.

    Attributes
    ----------
    left : (n,) what the line leaves.
    variance : of that.
    """

    errors: F64
    coef: F64
    separated: bool
    left: F64
    variance: float

    @classmethod
    def of(cls, errors: F64, y: F64) -> PlainLine:
        centred = errors - errors.mean(axis=0)
        coef = np.linalg.lstsq(centred, y - y.mean(), rcond=1e-10)[0]
        left = y - y.mean() - centred @ coef
        freedom = max(y.size - errors.shape[1] - 1, 1)
        variance = float(left @ left) / freedom
        certain = variance <= 1e-12 * float(y.var())
        return cls(errors, coef, certain, left, max(variance, 1e-300))

    @property
    def residual(self) -> F64:
        return self.left / self.variance

    @cached_property
    def weight(self) -> F64:
        return np.full(self.left.size, 1.0 / self.variance)

    def influence(self) -> F64:
        # The spread that the others have: one patient far off would else hide behind their own.
        freedom = max(self.left.size - self.coef.size - 1, 2)
        others = (freedom * self.variance - self.left**2 / (1.0 - self.leverage)) / (freedom - 1)
        shrink = np.sqrt(np.maximum(others, 1e-12 * self.variance) / self.variance)
        return super().influence() / shrink[:, None]
