"""Log-likelihoods of an outcome in all columns of a table, by rows in memory; most with Firth's penalty.

Firth's penalty (Firth 1993; Heinze & Schemper 2002) is half the logarithm of the determinant of the
information, Jeffreys' prior. It takes the first order of the bias away that maximum likelihood has where
columns are many for the events, and fades as patients become many.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse import csr_array
from scipy.special import expit

from ..backends.choose import choose_table, incomplete_part, whole_rows, without_gpu
from ..backends.missing_rows import ImputedCopies
from ..method.layout import Layout
from ..method.missing.imputation import expectation_maximization, imputer, true_values, view_of
from ..method.missing.sums import DRAWS, IncompleteRaw
from ..method.moments import Columns
from ..method.outcome import Loss, Outcome
from ..method.table import COUNT, EXPOSURE, F64, LARGEST_LOG_HAZARD, STAGE, Index
from ..method.weighted import RowWeights
from ..outcomes.count import CountLoss
from ..outcomes.follow_up import Spans, moments
from ..outcomes.ordinal import StageLoss
from ..resampling.training_rows import TrainingRows

# The rows of a fit, complete: as they are, or imputed at random many times (multiple imputation).

# Each seed gives as many draws as a fit makes: those of one would do for effects, and leave their standard
# errors to chance.
SEEDS = 4


def n_copies(rows: TrainingRows) -> int:
    """How many there are."""
    return 1 if rows.whole else SEEDS * DRAWS


def copies(
    rows: TrainingRows, known: np.ndarray, columns: Columns
) -> Iterator[tuple[F64, np.ndarray, Index]]:
    """Values (n, q), what tables know of the outcome, and the numbers (n,) of the rows in the cohort.

    Missing values are drawn given all other columns of the row, and its outcome: without it effects would be
    diluted (see :mod:`rootcausal.method.missing.imputation`).
    """
    n, q = rows.X.shape
    if rows.whole:
        yield rows.X, known, np.arange(n)
        return
    everything = np.arange(q)
    outcome = rows.outcome_of_all
    layout = (Layout.numbers(q) if rows.layout is None else rows.layout).take(everything)
    view = view_of(columns, layout, everything, outcome)
    raw = incomplete_part("numba" if rows.backend == "cupy" else without_gpu(rows.backend), rows.X, known)
    whole_cohort: IncompleteRaw = raw
    if rows.weights is not None:
        of_parts = choose_table(without_gpu(rows.backend), rows.X, known, rows.inexact, rows.weights)
        assert isinstance(of_parts, IncompleteRaw)
        whole_cohort = of_parts
    measured, *_ = expectation_maximization(whole_cohort, view, whole_cohort.shape[0])
    joint = true_values(measured, view)
    lacking = view.lacking(rows.X).any(axis=1) | (layout.noise is not None)
    whole, incomplete = np.flatnonzero(~lacking), np.flatnonzero(lacking)
    order = np.concatenate([whole, incomplete])
    for seed in range(SEEDS):
        _, drawn = raw.filled(imputer(view, joint, seed, everything, layout))
        assert isinstance(drawn, ImputedCopies)
        values = drawn.standardized(everything, np.zeros(q), np.ones(q))[0].T
        for draw in range(DRAWS):
            yield np.concatenate([rows.X[whole], values[draw::DRAWS]]), known[order], order


# The maximum of a penalized likelihood, and which coefficients have none without the penalty.

MAX_STEPS = 200
# In standard deviations of a column: no step is longer, and a last one is shorter.
LONGEST_STEP = 2.0
SHORTEST_STEP = 1e-9
# Newton steps without the penalty: where there is no maximum, each adds about one to the predictor of the
# patients who are told for certain, and standard errors grow with every one of them.
STEPS_WITHOUT = 20
SETTLED = 1e-4
GROWN = 20.0
# Where the search itself had no penalty, by so much.
RUN_AWAY = 50.0


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where a penalized likelihood is highest.

    Attributes
    ----------
    beta : (m,) coefficients.
    covariance : (m, m) of them.
    settled : whether it was reached.
    unbounded : (m,) which would run away without the penalty: columns tell some patients apart for certain.
    """

    beta: F64
    covariance: F64
    settled: bool
    unbounded: np.ndarray


def maximum(likelihood: Likelihood, start: F64 | None = None, penalized: bool = True) -> Maximum:
    """By Fisher scoring with step halving; ``start`` is where to begin, if that can be.

    Without the penalty it is still what tells which coefficients have no maximum, and where to begin; of a
    likelihood that has none, standard errors tell that run away.
    """
    if not likelihood.has_penalty:
        beta, here, settled = _climbed(likelihood, likelihood.start if start is None else start, False)
        first = likelihood.at(likelihood.start, False).covariance
        spread, at_first = (np.sqrt(np.diagonal(one)) for one in (here.covariance, first))
        return Maximum(beta, here.covariance, settled, spread > RUN_AWAY * at_first)
    beta, here, settled = _climbed(likelihood, likelihood.start if start is None else start, True)
    unbounded = _unbounded(likelihood, beta, here.covariance)
    if not penalized and not unbounded.any():
        beta, here, settled = _climbed(likelihood, beta, False)
    return Maximum(beta, here.covariance, settled, unbounded)


def _climbed(likelihood: Likelihood, beta: F64, penalized: bool) -> tuple[F64, Local, bool]:
    begun = _at(likelihood, beta, penalized)
    if begun is None:  # where one imputed copy ended, another may be told for certain
        beta = likelihood.start
        begun = likelihood.at(beta, penalized)
    here, settled = begun, False
    for _ in range(MAX_STEPS):
        step = here.covariance @ here.score
        length = float(np.abs(step).max(initial=0.0))
        if length < SHORTEST_STEP:
            settled = True
            break
        step *= min(1.0, LONGEST_STEP / length)
        there = _at(likelihood, beta + step, penalized)
        while (there is None or there.loglik < here.loglik) and length > SHORTEST_STEP:
            step, length = 0.5 * step, 0.5 * length
            there = _at(likelihood, beta + step, penalized)
        if there is None or there.loglik < here.loglik:
            settled = True  # rounding is all that is left to gain
            break
        beta, here = beta + step, there
    return beta, here, settled


def _at(likelihood: Likelihood, beta: F64, penalized: bool) -> Local | None:
    try:
        found = likelihood.at(beta, penalized)
    except np.linalg.LinAlgError:
        return None
    return found if np.isfinite(found.loglik) else None


def _unbounded(likelihood: Likelihood, beta: F64, covariance: F64) -> np.ndarray:
    """(m,) which coefficients have no finite value of maximum likelihood, which is called separation.

    As Lesaffre & Albert (1989) have it: their standard errors grow without end while it is looked for.
    """
    first = np.sqrt(np.diagonal(covariance))
    last = first
    for _ in range(STEPS_WITHOUT):
        try:
            here = likelihood.at(beta, False)
        except np.linalg.LinAlgError:
            break
        last = np.sqrt(np.diagonal(here.covariance))
        step = here.covariance @ here.score
        if np.abs(step).max(initial=0.0) < SETTLED:
            return np.zeros(beta.size, dtype=bool)
        beta = beta + step
    grown: np.ndarray = ~(last < GROWN * first)
    return grown


# Beyond it, exp is out of reach.
FAR_APART = 700.0
# Values that are worked on at once.
VALUES_A_BLOCK = 1 << 21


@dataclass(frozen=True, eq=False)
class Local:
    """A log-likelihood at some coefficients (m,).

    Attributes
    ----------
    loglik : with the penalty, if there is one.
    score : (m,) its first derivatives.
    covariance : (m, m) inverse of the information, which has no penalty.
    """

    loglik: float
    score: F64
    covariance: F64


class Likelihood(ABC):
    """Of n patients in their columns Z (n, k), standardized.

    Attributes
    ----------
    Z : (n, k).
    start : (m,) coefficients where no column has an effect; those of the columns are the last k.
    has_penalty : whether it knows Firth's penalty.
    """

    has_penalty: ClassVar[bool] = True
    Z: F64

    @property
    @abstractmethod
    def start(self) -> F64: ...

    @abstractmethod
    def at(self, beta: F64, penalized: bool) -> Local:
        """:class:`numpy.linalg.LinAlgError` where the information is singular."""

    @abstractmethod
    def scores(self, beta: F64) -> F64:
        """(n, m) what each patient adds to the derivatives, without a penalty."""

    @abstractmethod
    def left(self, beta: F64) -> F64 | None:
        """(n,) by how much the likelihood of each row rises with its predictor; None where rows share one."""

    @abstractmethod
    def of_columns(self) -> F64:
        """(k, k) the information of the columns at the start, beside the baseline: what they tell apart.

        Where it is singular, columns explain each other in all that the outcome compares: in a stratum, in a
        matched set, among those at risk.
        """


@dataclass(frozen=True, eq=False)
class LogitLikelihood(Likelihood):
    """Of labels ``y`` (n,), 0 or 1, and what each counts (n,), or None; the first coefficient is the
    intercept.
    """

    Z: F64
    y: F64
    weights: F64 | None = None

    def _weights(self, rows: slice) -> F64:
        return np.ones(len(self.y[rows])) if self.weights is None else self.weights[rows]

    @property
    def start(self) -> F64:
        share = float(self.y.mean() if self.weights is None else np.average(self.y, weights=self.weights))
        return np.append(np.log(share / (1.0 - share)), np.zeros(self.Z.shape[1]))

    def _blocks(self) -> list[slice]:
        n, k = self.Z.shape
        height = max(1, VALUES_A_BLOCK // (k + 1))
        return [slice(start, start + height) for start in range(0, n, height)]

    def _design(self, rows: slice) -> F64:
        some = self.Z[rows]
        return np.concatenate([np.ones((len(some), 1)), some], axis=1)

    def at(self, beta: F64, penalized: bool) -> Local:
        information, score, loglik = np.zeros((beta.size, beta.size)), np.zeros(beta.size), 0.0
        for rows in self._blocks():
            A, y = self._design(rows), self.y[rows]
            eta = A @ beta
            risk, weight = expit(eta), self._weights(rows)
            information += (A * (risk * (1.0 - risk) * weight)[:, None]).T @ A
            score += A.T @ (weight * (y - risk))
            loglik -= float((weight * np.logaddexp(0.0, np.where(y > 0, -eta, eta))).sum())
        root = cholesky(information, lower=True)
        inverse = solve_triangular(root, np.eye(beta.size), lower=True)
        if penalized:
            loglik += float(np.log(np.diagonal(root)).sum())
            for rows in self._blocks():
                A = self._design(rows)
                risk = expit(A @ beta)
                leverage = risk * (1.0 - risk) * self._weights(rows) * ((A @ inverse.T) ** 2).sum(axis=1)
                score += A.T @ (leverage * (0.5 - risk))
        return Local(loglik, score, inverse.T @ inverse)

    def scores(self, beta: F64) -> F64:
        return self._design(slice(None)) * self.left(beta)[:, None]

    def left(self, beta: F64) -> F64:
        every = slice(None)
        return self._weights(every) * (self.y - expit(self._design(every) @ beta))

    def of_columns(self) -> F64:
        weights = self._weights(slice(None))
        centred = self.Z - np.average(self.Z, axis=0, weights=weights)
        share = float(np.average(self.y, weights=weights))
        return share * (1.0 - share) * (centred.T @ (weights[:, None] * centred))


@dataclass(frozen=True, eq=False)
class HazardLikelihood(Likelihood):
    """Of the time to an event: Cox's partial likelihood, ties as Efron (1977) has them.

    At each event a row is drawn from those at risk. Of d events at one time the l-th finds the others of them
    gone by the share l / d, and counts as they do on average. Rows are at risk until some time, from a start
    on, within a stratum.

    Attributes
    ----------
    event : (n,) whether the event came, 1 or 0.
    first, last : (n,) the places, among all times of events, of the first one at which each row is at risk,
        and of the first at which it is no more.
    n_times : how many such times there are; those of one stratum come after those of another.
    weights : (n,) what each row counts; None where all count the same.
    """

    Z: F64
    event: F64
    first: Index
    last: Index
    n_times: int
    weights: F64 | None = None

    @classmethod
    def of(cls, Z: F64, known: np.ndarray, weights: F64 | None = None) -> HazardLikelihood:
        """``known`` is what :class:`rootcausal.outcomes.survival.Survival` knows of the rows."""
        spans = Spans.of(known)
        stop, start = (moments(of, spans.stratum) for of in (spans.until, spans.from_start))
        times = np.unique(stop[spans.event > 0])
        first, last = (np.searchsorted(times, of, side="right") for of in (start, stop))
        return cls(Z, spans.event, first, last, times.size, weights)

    @property
    def start(self) -> F64:
        return np.zeros(self.Z.shape[1])

    @cached_property
    def _had(self) -> Index:
        """Rows with the event."""
        return np.flatnonzero(self.event > 0)

    @cached_property
    def _draws(self) -> tuple[Index, F64]:
        """(e,) each: the time of every event, and which share of those who have it then is gone."""
        d = np.bincount(self.last[self._had] - 1, minlength=self.n_times)
        of = np.repeat(np.arange(self.n_times), d)
        return of, (np.arange(of.size) - np.repeat(np.cumsum(d) - d, d)) / d[of]

    @cached_property
    def _counts(self) -> F64:
        """(n,) what the event of each row counts, zero without one."""
        return self.event if self.weights is None else self.event * self.weights

    @cached_property
    def _draw_counts(self) -> F64:
        """(e,) what each event counts, as those at its time do on average."""
        of, place = self._draws[0], self.last[self._had] - 1
        d = np.bincount(place, minlength=self.n_times)
        whole = np.bincount(place, weights=self._counts[self._had], minlength=self.n_times)
        found: F64 = (whole / np.maximum(d, 1))[of]
        return found

    def _summed(self, place: Index, values: F64) -> F64:
        """(n_times, m): sums of values (n, m) over the rows whose place is later."""
        shape = (self.n_times + 1, place.size)
        at = csr_array((np.ones(place.size), (place, np.arange(place.size))), shape=shape) @ values
        after: F64 = np.cumsum(at[::-1], axis=0)[::-1][1:]
        return after

    def _of_draws(self, values: F64) -> F64:
        """(e, m): sums of values (n, m) over those at risk at each event."""
        (of, gone), had = self._draws, self._had
        late = np.flatnonzero(self.first > 0)
        sums = self._summed(self.last, values)
        if late.size:
            sums = sums - self._summed(self.first[late], values[late])
        shape = (self.n_times, had.size)
        of_had = csr_array((np.ones(had.size), (self.last[had] - 1, np.arange(had.size))), shape=shape)
        found: F64 = sums[of] - gone[:, None] * (of_had @ values[had])[of]
        return found

    def _of_rows(self, values: F64) -> F64:
        """(n, m): sums of values (e, m) over the events at which each row is at risk, by how much it is."""
        of, gone = self._draws
        own, less = np.zeros((2, self.n_times, values.shape[1]))
        np.add.at(own, of, values)
        np.add.at(less, of, gone[:, None] * values)
        reached = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(own, axis=0)])
        found: F64 = reached[self.last] - reached[self.first]
        found[self._had] -= less[self.last[self._had] - 1]
        return found

    def _at(self, beta: F64) -> _Drawn:
        """Ratios, and sums over those at risk; singular where these are lost in rounding."""
        eta = np.minimum(self.Z @ beta, LARGEST_LOG_HAZARD)
        ratio = np.exp(eta) if self.weights is None else self.weights * np.exp(eta)
        sums = self._of_draws(np.concatenate([ratio[:, None], ratio[:, None] * self.Z], axis=1))
        if not (sums[:, 0] > 0.0).all():
            raise np.linalg.LinAlgError("the hazards of those at risk are lost in rounding")
        total, mean = sums[:, 0], sums[:, 1:] / sums[:, :1]
        of_draws = np.concatenate([np.ones((total.size, 1)), mean], axis=1) / total[:, None]
        pulled = self._of_rows(self._draw_counts[:, None] * of_draws)
        return _Drawn(eta, ratio, total, mean, np.maximum(pulled[:, 0], 0.0), pulled[:, 1:])

    def at(self, beta: F64, penalized: bool) -> Local:
        drawn = self._at(beta)
        mean, met = drawn.mean, drawn.ratio * drawn.met
        root = cholesky(self._information(drawn), lower=True)
        inverse = solve_triangular(root, np.eye(beta.size), lower=True)
        covariance = inverse.T @ inverse
        counts = self._draw_counts
        weighted = self._counted(mean)
        loglik = float(self._counts @ drawn.eta - (counts * np.log(drawn.total)).sum())
        score = self._counts @ self.Z - weighted.sum(axis=0)
        if penalized:
            loglik += float(np.log(np.diagonal(root)).sum())
            # Half the third cumulants of those at risk, twice contracted with the covariance.
            size = ((self.Z @ inverse.T) ** 2).sum(axis=1)
            sizes = self._of_draws((size * drawn.ratio)[:, None])[:, 0] / drawn.total
            score += 0.5 * ((met * size) @ self.Z - sizes @ weighted)
            score -= (drawn.ratio * ((self.Z @ covariance) * drawn.pulled).sum(axis=1)) @ self.Z
            score += ((mean @ covariance) * mean).sum(axis=1) @ weighted
        return Local(loglik, score, covariance)

    def scores(self, beta: F64) -> F64:
        drawn = self._at(beta)
        d = np.bincount(self._draws[0], minlength=self.n_times)
        own = np.zeros((self.n_times, beta.size))
        np.add.at(own, self._draws[0], drawn.mean)
        last = np.maximum(self.last - 1, 0)
        own = (own / np.maximum(d, 1)[:, None])[last]
        found: F64 = self._counts[:, None] * (self.Z - own)
        return found - drawn.ratio[:, None] * (self.Z * drawn.met[:, None] - drawn.pulled)

    def left(self, beta: F64) -> F64:
        """Martingale residuals (Therneau, Grambsch & Fleming 1990)."""
        drawn = self._at(beta)
        return self._counts - drawn.ratio * drawn.met

    def of_columns(self) -> F64:
        return self._information(self._at(self.start))

    def _information(self, drawn: _Drawn) -> F64:
        pairs = self._counted(drawn.mean).T @ drawn.mean
        return (self.Z * (drawn.ratio * drawn.met)[:, None]).T @ self.Z - pairs

    def _counted(self, of_draws: F64) -> F64:
        """Rows (e, q) of events, each as often as it counts."""
        return of_draws if self.weights is None else of_draws * self._draw_counts[:, None]


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Those at risk, at some coefficients.

    Attributes
    ----------
    eta, ratio : (n,) log-hazards and hazard ratios.
    total, mean : (e,) and (e, k) of each event: the ratios of those at risk, and their mean columns.
    met, pulled : (n,) and (n, k) of each row: its share in the events while it is at risk, for a ratio of
        one, and the same of their mean columns.
    """

    eta: F64
    ratio: F64
    total: F64
    mean: F64
    met: F64
    pulled: F64


@dataclass(frozen=True, eq=False)
class LossLikelihood(Likelihood):
    """Of any outcome, by the loss that its models are learned by: maximum likelihood, without a penalty.

    Attributes
    ----------
    known : (n, c) what tables keep of the outcome.
    loss : in the columns.
    weights : (n,) what each row counts; None where all count the same.
    """

    has_penalty: ClassVar[bool] = False

    Z: F64
    known: F64
    loss: Loss
    weights: F64 | None = None

    @classmethod
    def of(cls, Z: F64, known: F64, outcome: Outcome, weights: F64 | None = None) -> LossLikelihood:
        k, counting = Z.shape[1], None if weights is None else RowWeights(weights)
        raw = whole_rows("numba", Z, known, weights=counting)
        table = raw.standardize(np.arange(k), np.zeros(k), np.ones(k))
        return cls(Z, known, outcome.loss(table, np.arange(k)), weights)

    @property
    def start(self) -> F64:
        return np.append(self.loss.start, np.zeros(self.Z.shape[1]))

    def at(self, beta: F64, penalized: bool) -> Local:
        k = self.Z.shape[1]
        b = beta.size - k
        sums = self.loss.sums(np.roll(beta, -b))
        if not np.isfinite(sums.loglik):
            raise np.linalg.LinAlgError("nothing is known where thresholds do not ascend")
        information = np.roll(sums.hessian, (b, b), axis=(0, 1))
        inverse = solve_triangular(cholesky(information, lower=True), np.eye(beta.size), lower=True)
        return Local(sums.loglik, np.roll(sums.gradient, b), inverse.T @ inverse)

    def of_columns(self) -> F64:
        k = self.Z.shape[1]
        found = self.loss.sums(np.roll(self.start, k)).hessian
        between = found[:k, k:]
        # Of matched sets there is no baseline.
        return found[:k, :k] - (between @ np.linalg.solve(found[k:, k:], between.T) if between.size else 0.0)

    def left(self, beta: F64) -> F64 | None:
        baseline, eta = self._parts(beta)
        if isinstance(self.loss, CountLoss):
            expected = self.known[:, EXPOSURE] * np.exp(np.minimum(eta + baseline[0], LARGEST_LOG_HAZARD))
            found: F64 = (self.known[:, COUNT] - expected) / (1.0 + self.loss.dispersion * expected)
        elif isinstance(self.loss, StageLoss):
            above, below = self._around(baseline, eta)
            found = expit(above) + expit(below) - 1.0
        else:
            return None
        return found if self.weights is None else found * self.weights

    def scores(self, beta: F64) -> F64:
        left = self.left(beta)
        assert left is not None, "rows of a matched set have no scores of their own"
        of_baseline = left[:, None]
        if isinstance(self.loss, StageLoss):
            of_baseline = self._of_cuts(*self._parts(beta))
        return np.concatenate([of_baseline, self.Z * left[:, None]], axis=1)

    def _parts(self, beta: F64) -> tuple[F64, F64]:
        """The baseline, and the predictor (n,) of each row without it."""
        k = self.Z.shape[1]
        return beta[: beta.size - k], self.Z @ beta[beta.size - k :]

    def _around(self, baseline: F64, eta: F64) -> tuple[F64, F64]:
        """(n,) the thresholds above and below the stage of each row, less its predictor."""
        stage = self.known[:, STAGE].astype(np.intp)
        ends = np.concatenate([[-np.inf], baseline, [np.inf]])
        return ends[stage + 1] - eta, ends[stage] - eta

    def _of_cuts(self, baseline: F64, eta: F64) -> F64:
        """(n, c) what each row adds to the derivatives of the thresholds."""
        above, below = self._around(baseline, eta)
        gap = 1.0 / np.expm1(np.minimum(above - below, FAR_APART))
        place, cuts = self.known[:, [STAGE]].astype(np.intp), np.arange(baseline.size)
        found: F64 = (place == cuts) * (expit(-above) + gap)[:, None]
        found -= (place == cuts + 1) * (expit(below) + gap)[:, None]
        return found if self.weights is None else found * self.weights[:, None]
