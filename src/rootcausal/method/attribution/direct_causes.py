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
from scipy.special import expit, ndtri

from ..outcome import Loss
from ..table import F64, LossSums
from .regression import WEAK_PENALTY, by_baseline
from .spike_slab import MAX_SWEEPS, Posterior, Prior

# How probably each column acts on D directly, once the regression is done.
#
# The prior of :mod:`rootcausal.method.attribution.spike_slab` is learned so that risks are right: a spike
# with a width keeps weak effects that no single test would see, and takes none of them for a cause. How
# probably a column acts is another question: whether its effect is zero. It is answered given all other
# effects, with a spike at zero, and averaged over models (Hoeting et al. 1999): over the share of columns
# that act, from next to none to next to all, and over two laws of their sizes. By one, causes have effects
# of a size with each other (the moment prior, zero at zero); by the other, weak ones are as many as strong
# ones (a normal distribution). The more causes there are, the more probably some of them are weak: the
# second law is as probable as the share itself.

# Shares of columns that act, as log-odds.
SHARES = expit(np.linspace(-7.0, 6.0, 40))
# How probable each law is beforehand, by share: effects of a size, and effects of any size.
LAWS = np.stack([1.0 - SHARES, SHARES])
# Columns that act, and columns that do not, which are taken for seen before any is: a beta distribution of
# the share, most of it on few.
SEEN_ACTING, SEEN_IDLE = 0.4, 2.5
# The logarithm of how much better an effect fits than none, at most: more is certainty all the same.
MOST_EVIDENCE = 600.0


def acting(covariance: F64, slope: F64, found: Posterior, prior: Prior) -> F64:
    """(k,): probability that each column acts on D directly.

    Parameters
    ----------
    slope, prior : as :func:`~rootcausal.method.attribution.spike_slab.infer` was asked.
    found, covariance : what it answered, and (k, k) the covariance of the coefficients.
    """
    own, mean = np.diagonal(covariance), covariance @ (slope + found.shift)
    free = ~(prior.certain | prior.barred)
    # What the data and all other effects say of each column, as a normal factor.
    cavity = np.maximum(1.0 / own - found.precision, 0.0)[free]
    pull = (mean / own - found.shift)[free]
    factors = bayes_factors(cavity, pull, found.scale)
    left_out = max(prior.n_columns - int(free.sum()), 0)
    probability = prior.certain.astype(float)
    probability[free] = averaged(factors, LAWS, SEEN_ACTING, SEEN_IDLE + left_out)
    return probability


def bayes_factors(cavity: F64, pull: F64, scale: float) -> F64:
    """(2, m): how much better than zero an effect of either law fits a factor exp(pull w − cavity w² / 2)."""
    variance = np.array([[scale], [3.0 * scale]])
    spread = 1.0 / (cavity + 1.0 / variance)
    at = spread * pull
    evidence = 0.5 * (np.log(spread / variance) + at * pull)
    evidence[0] += np.log((at[0] * at[0] + spread[0]) / scale)
    factors: F64 = np.exp(np.minimum(evidence, MOST_EVIDENCE))
    return factors


def averaged(factors: F64, laws: F64, some: float, none: float) -> F64:
    """(m,): probabilities that what was measured of each is no chance, averaged over shares and laws.

    Parameters
    ----------
    factors : (l, m) how much better each law explains it than chance does.
    laws : (l, s) how probable each law is beforehand, given each of the shares.
    some, none : how many others are known to be no chance, and to be chance.
    """
    by_law = SHARES[:, None, None] * factors
    total = by_law + (1.0 - SHARES)[:, None, None]
    others = some * np.log(SHARES) + none * np.log1p(-SHARES)
    evidence = np.log(total).sum(axis=2) + others[:, None] + np.log(laws.T)
    weight = np.exp(evidence - evidence.max())
    weight /= weight.sum()
    probability: F64 = np.minimum(np.einsum("sl,slm->m", weight, by_law / total), 1.0)
    return probability


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
        sums = averaged_over_doubt(self.loss, np.concatenate((beside, coef @ self.mixing, baseline)), doubt)
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


def averaged_over_doubt(loss: Loss, beta: F64, doubt: float) -> LossSums:
    """Sums of a log-likelihood averaged over a doubt of this variance about each predictor."""
    if not doubt:
        return loss.sums(beta)
    less = steepness(doubt)
    sums = loss.sums(less * beta)
    return LossSums(sums.loglik / less, sums.gradient, less * sums.hessian)


def _of_sites(effects: Posterior, there: F64, here: F64) -> float:
    """By how much the logarithm of the sites is higher there."""
    return float((there - here) @ (effects.shift - 0.5 * effects.precision * (there + here)))


# How probably a column that a test left out is an ancestor of D all the same.
#
# A weak ancestor may fail a test. By what the test said of all columns, statistics of ancestors spread more
# widely than those of the rest, normal with variance 1 + g, against 1: how much more is learned from the
# columns that stayed. How many ancestors there are among all columns is averaged over, by what both those
# that stayed and those that did not say of it.

# Ancestors, and columns that are none, which are taken for seen before any is.
SEEN_BEFORE = 1.0
# A p-value is taken for no less than this: its statistic would be infinite.
LEAST_P = 1e-300


def ancestors_left_out(p_out: F64, p_in: F64, probability: F64) -> F64:
    """(m,) probabilities of the columns that were left out.

    Parameters
    ----------
    p_out : (m,) of the test that left each out; NaN where none could be made.
    p_in, probability : (k,) of the same test for the columns that stayed, and how probably each is an
        ancestor.
    """
    square_out, square_in = (ndtri(np.fmax(0.5 * np.fmin(p, 1.0), LEAST_P)) ** 2 for p in (p_out, p_in))
    found = float(probability.sum())
    if not p_out.size or not found:
        return np.zeros(p_out.size)
    wider = max(float(probability @ square_in) / found - 1.0, 0.0)
    evidence = 0.5 * (square_out * wider / (1.0 + wider) - np.log1p(wider))
    factors = np.exp(np.minimum(evidence, MOST_EVIDENCE))
    none = p_in.size - found + SEEN_BEFORE
    return averaged(factors[None, :], np.ones((1, SHARES.size)), found + SEEN_BEFORE, none)
