"""Direct causes of the outcome D, the first step of the sharp attribution: a regression with a learned prior.

Newton's method. In each pass a quadratic stands for the log-likelihood, and expectation propagation
(:mod:`rootcausal.method.attribution.spike_slab`) makes of it a posterior: a normal factor, the site, for the
prior of each coefficient. With these sites, the log-likelihood and they together are a concave function,
whose Newton step leads to the posterior's expectation. Where the whole step does not raise it (few cases,
heavy tails), half of it is taken, and so on. Late passes learn nothing more of the prior, and each moves the
quadratic a part of the way only, so that two answers that each lead to the other come to rest.

The baseline, and the effects of covariates, are no part of the question, and at their best in each pass
(profiled out); covariates have a weak penalty, so that those which separate the classes have effects at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag

from ..outcome import Loss
from ..table import F64, LossSums
from .acting import acting
from .regression import WEAK_PENALTY, by_baseline
from .spike_slab import MAX_SWEEPS, Posterior, Prior

MAX_PASSES = 60
# Two places can each send the search to the other one, since the quadratic there favours it: of a finding
# that few have, what a unit more would add depends on what is thought that it adds. From this pass on the
# quadratic goes half of the way, after so many more passes a third of it, and so on.
FIRST_DAMPED_PASS = 12
PASSES_A_STEP = 8
# Sweeps of a pass that learns nothing more of the prior: while it is learned, its spike takes long.
LATE_SWEEPS = 120
MAX_HALVINGS = 30
# Log-odds, or what the outcome has, for a unit of error by which a pass may still move a coefficient.
TOLERANCE = 1e-4
# What falls by less than this share of the log-likelihood, a sum of rounded terms, has not fallen.
ROUNDING = 1e-10
# The doubt about predictors may still change by this share.
DOUBT_TOLERANCE = 0.01


@dataclass(frozen=True)
class DirectCauses:
    """Posterior of the direct effects of standardized columns, and whether the search settled.

    ``covariance`` (m, m) is that of the effects, ``probability`` (m,) that a column acts at all; ``fixed``
    (c + b,) are the effects of the covariates' errors, and the baseline. ``doubt`` is the variance that all
    of it leaves a patient's predictor, on average; 0 where no effect depends on it.
    """

    effects: Posterior
    covariance: F64
    probability: F64
    fixed: F64
    settled: bool
    doubt: float

    @property
    def predicting(self) -> F64:
        """(m,): effects that tell the risk, averaged over the doubt about them: less than what is expected
        of each, as a risk is never as sure as its log-odds.
        """
        return steepness(self.doubt) * self.effects.coef

    def drawn(self, rng: np.random.Generator) -> F64:
        """(m,): effects as they may be, for a resample of the patients.

        Expectations of resamples spread by V H V, where V is the posterior covariance and H what the rows
        say (information): less than V, since what the prior pulls to zero hardly moves with the rows. What
        is drawn in addition makes up for it, V − V H V = V P V with the precisions P of the sites. So
        effects that the rows decide have the spread of resamples, and what they leave to the prior has the
        prior's own doubt.
        """
        noise = np.sqrt(self.effects.precision) * rng.standard_normal(self.effects.coef.size)
        drawn: F64 = self.effects.coef + self.covariance @ noise
        return drawn


def find_direct_causes(
    loss: Loss, mixing: F64, prior: Prior, fixed: F64, n_covariates: int = 0
) -> DirectCauses:
    """Which of the columns act on D directly, and how strongly.

    Parameters
    ----------
    loss : in the errors of the covariates, and then of the columns in causal order.
    mixing : (m, k), from errors to those standardized columns that may act on D directly.
    prior : how many direct causes there may be, and of what size.
    fixed : (c + b,) where to begin with covariates and baseline.
    n_covariates : c, how many errors are those of covariates.
    """
    search = _Search(loss, n_covariates, mixing)
    effects = Posterior.before(prior)
    here = search.stand(np.zeros(len(mixing)), fixed)
    curvature, target, share, settled = np.empty(0), np.empty(0), 1.0, False
    asked: tuple[F64, F64] = np.zeros((len(mixing), len(mixing))), np.zeros(len(mixing))
    for number in range(MAX_PASSES):
        quadratic = search.quadratic(here)
        late = number - FIRST_DAMPED_PASS
        here_curvature, here_target = quadratic.curvature, quadratic.slope + quadratic.curvature @ here.coef
        if late < 0:
            curvature, target = here_curvature, here_target
        else:
            share = 1.0 / (2 + late // PASSES_A_STEP)
            curvature = curvature + share * (here_curvature - curvature)
            target = target + share * (here_target - target)
        try:
            most = MAX_SWEEPS if late < 0 else LATE_SWEEPS
            found = loss.loops.infer(curvature, target, prior, effects, late < 0, most)
        except ZeroDivisionError:  # where columns tell all patients apart, no digit of a variance may be left
            break
        if not np.isfinite(found.coef).all():
            break
        effects, asked = found, (curvature, target)
        there = search.climb(here, quadratic, effects)
        if there is None:
            break
        moved = float(np.abs((effects.coef - here.coef) @ mixing).max())
        here = there
        doubt = 0.0 if loss.collapsible else search.doubt(here, curvature, effects)
        doubted = abs(doubt - here.doubt)
        if doubted > DOUBT_TOLERANCE * (1.0 + doubt):
            here = search.stand(here.coef, here.fixed, doubt)
        # Where pass after pass ends at the same effects, it does not matter that its sweeps still go round.
        elif moved < share * TOLERANCE and (effects.settled or late >= PASSES_A_STEP):
            settled = True
            break
    covariance = np.asarray(np.linalg.inv(asked[0] + np.diag(effects.precision)), dtype=np.float64)
    probability = acting(covariance, asked[1], effects, prior)
    return DirectCauses(effects, covariance, probability, here.fixed, settled, here.doubt)


@dataclass(frozen=True)
class _Stand:
    """Where the search stands, and what the rows say there."""

    coef: F64  # (m,) of the columns
    fixed: F64  # (c + b,) effects of covariates, and the baseline
    sums: LossSums
    objective: float  # the log-likelihood, less the penalty of the covariates
    doubt: float  # variance of the predictor over which the log-likelihood is averaged


@dataclass(frozen=True)
class _Quadratic:
    """The log-likelihood around a stand to second order, with covariates and baseline profiled out.

    Attributes
    ----------
    slope, curvature : (m,) gradient and (m, m) information, in the coefficients of standardized columns.
    shift : (c + b,) what covariates and baseline have to move by themselves.
    tilt : (c + b, m) what they move for each unit of a coefficient.
    """

    slope: F64
    curvature: F64
    shift: F64
    tilt: F64


@dataclass(frozen=True)
class _Search:
    """What stays the same from pass to pass; the first c errors of the loss are those of covariates."""

    loss: Loss
    n_covariates: int
    mixing: F64

    def stand(self, coef: F64, fixed: F64, doubt: float = 0.0) -> _Stand:
        # column = mixing @ error, so coefficients w of columns act on the errors as mixing.T @ w.
        beside, baseline = fixed[: self.n_covariates], fixed[self.n_covariates :]
        sums = averaged(self.loss, np.concatenate((beside, coef @ self.mixing, baseline)), doubt)
        return _Stand(coef, fixed, sums, sums.loglik - 0.5 * WEAK_PENALTY * float(beside @ beside), doubt)

    def doubt(self, here: _Stand, curvature: F64, effects: Posterior) -> float:
        """Variance of a patient's predictor that the posterior leaves, on average."""
        covariance = np.linalg.inv(curvature + np.diag(effects.precision))
        m = here.coef.size + self.n_covariates
        return float((covariance * curvature).sum() / here.sums.hessian[m:, m:].sum())

    @cached_property
    def _mix(self) -> F64:
        """(c + m, c + k): covariates as they are, and columns from errors."""
        c = self.n_covariates
        return block_diag(np.eye(c), self.mixing) if c else self.mixing

    def quadratic(self, here: _Stand) -> _Quadratic:
        # The baseline first, and after it the covariates, if there are any.
        c, mix = self.n_covariates, self._mix
        m = mix.shape[1]
        gradient, hessian = here.sums.gradient, here.sums.hessian
        mixed, own = mix @ hessian[:m], hessian[m:, m:]
        cross = mixed[:, m:]
        share, shift = by_baseline(own, cross), by_baseline(own, gradient[m:])
        slope = mix @ gradient[:m] - cross @ shift
        curvature = mixed[:, :m] @ mix.T - share @ cross.T
        tilt = -share[c:].T
        if c:
            inside = np.linalg.inv(curvature[:c, :c] + WEAK_PENALTY * np.eye(c))
            step = inside @ (slope[:c] - WEAK_PENALTY * here.fixed[:c])
            along = -inside @ curvature[:c, c:]
            slope = slope[c:] - curvature[c:, :c] @ step
            curvature = curvature[c:, c:] + curvature[c:, :c] @ along
            with_covariates = share[:c].T
            shift = np.append(step, shift - with_covariates @ step)
            tilt = np.vstack([along, tilt - with_covariates @ along])
        return _Quadratic(slope, curvature, shift, tilt)

    def climb(self, here: _Stand, quadratic: _Quadratic, effects: Posterior) -> _Stand | None:
        """The next stand, on the way to what is expected; None where no step leads up."""
        move = effects.coef - here.coef
        step = np.concatenate((move, quadratic.shift + quadratic.tilt @ move))
        m, size = move.size, 1.0
        for _ in range(MAX_HALVINGS):
            there = self.stand(here.coef + size * step[:m], here.fixed + size * step[m:], here.doubt)
            gain = there.objective - here.objective + _of_sites(effects, there.coef, here.coef)
            if gain >= -ROUNDING * abs(here.sums.loglik):
                return there
            size *= 0.5
        return None


def steepness(doubt: float) -> float:
    """Of a logistic function averaged over a normal doubt of this variance: nearly one (MacKay 1992)."""
    return (1.0 + math.pi * doubt / 8.0) ** -0.5


def averaged(loss: Loss, beta: F64, doubt: float) -> LossSums:
    """Sums of a log-likelihood averaged over a doubt of this variance about each predictor."""
    if not doubt:
        return loss.sums(beta)
    less = steepness(doubt)
    sums = loss.sums(less * beta)
    return LossSums(sums.loglik / less, sums.gradient, less * sums.hessian)


def _of_sites(effects: Posterior, there: F64, here: F64) -> float:
    """By how much the logarithm of the sites is higher there."""
    return float((there - here) @ (effects.shift - 0.5 * effects.precision * (there + here)))
