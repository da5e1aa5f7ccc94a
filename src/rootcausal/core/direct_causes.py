"""Direct causes of the outcome D, the first step of the sharp attribution: a sparse regression.

Newton's method, damped against a variational bound. In each pass a quadratic stands for the log-likelihood,
and the posterior of a sum of single effects for the least squares step. What a pass has to raise is the
evidence lower bound (ELBO), with the log-likelihood taken at the expected coefficients and its curvature
(minus the Hessian: observed information) for their spread. Where the whole step does not raise it (few cases,
heavy tails), the posterior goes only part of the way. The curvature is that of the pass, so from pass to pass
the bound is another one; late passes share a mean curvature, which settles what that leaves open.

The baseline, and the effects of covariates, are no part of the question, and at their best in each pass
(profiled out); covariates have a weak penalty, so that those which separate the classes have effects at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag

from .outcome import Loss
from .regression import WEAK_PENALTY
from .susie import SingleEffects, Sparsity, prior_effects
from .table import F64, LossSums

MAX_PASSES = 100
# Two places can each send the search to the other one, since the curvature there favours it. From this pass
# on the curvature is the mean of those since, which favours one of the two.
FIRST_AVERAGED_PASS = 12
MAX_DAMPINGS = 30
# Log-odds, or what the outcome has, for a unit of error by which a pass may still move a coefficient.
TOLERANCE = 1e-4
# A late pass that raises the bound by fewer nats than this creeps along a ridge that the data leave level.
LEVEL = 1e-5
# A bound that falls by less than this share of the log-likelihood, a sum of rounded terms, has not fallen.
ROUNDING = 1e-10


@dataclass(frozen=True)
class DirectCauses:
    """Posterior of the direct effects of standardized columns, and whether the search settled.

    ``fixed`` (c + b,) are the effects of the covariates' errors, and the baseline.
    """

    effects: SingleEffects
    fixed: F64
    settled: bool


def find_direct_causes(
    loss: Loss, mixing: F64, prior: Sparsity, fixed: F64, n_covariates: int = 0
) -> DirectCauses:
    """Which of the columns act on D directly, and how strongly.

    Parameters
    ----------
    loss : in the errors of the covariates, and then of the columns in causal order.
    mixing : (k, k), standardized columns from errors.
    prior : how many direct causes there may be, and of what size.
    fixed : (c + b,) where to begin with covariates and baseline.
    n_covariates : c, how many errors are those of covariates.
    """
    search = _Search(loss, n_covariates, mixing, prior)
    here = search.stand(prior_effects(len(mixing), prior), fixed)
    curvature: F64 = np.empty(0)
    damping = 0.0
    for number in range(MAX_PASSES):
        quadratic = search.quadratic(here)
        n_averaged = number - FIRST_AVERAGED_PASS + 2
        if n_averaged > 1:
            curvature = curvature + (quadratic.curvature - curvature) / n_averaged
        else:
            curvature = quadratic.curvature
        there, damping = search.climb(here, quadratic, curvature, damping)
        if there is None:
            break
        moved = float(np.abs((there.effects.coef - here.effects.coef) @ mixing).max()) * (1.0 + damping)
        late = number > FIRST_AVERAGED_PASS and damping == 0.0
        level = late and search.gain(here, there, curvature) < LEVEL
        here = there
        if (moved < TOLERANCE or level) and here.effects.settled:
            return DirectCauses(here.effects, here.fixed, settled=True)
        damping = damping / 4.0 if damping > 1.0 else 0.0
    return DirectCauses(here.effects, here.fixed, settled=False)


@dataclass(frozen=True)
class _Stand:
    """Where the search stands, and what the rows say there."""

    effects: SingleEffects
    fixed: F64  # (c + b,) effects of covariates, and the baseline
    sums: LossSums
    objective: float  # the log-likelihood, less the penalty of the covariates


@dataclass(frozen=True)
class _Quadratic:
    """The log-likelihood around a stand to second order, with covariates and baseline profiled out.

    Attributes
    ----------
    slope, curvature : (k,) gradient and (k, k) information, in the coefficients of standardized columns.
    shift : (c + b,) what covariates and baseline have to move by themselves.
    tilt : (c + b, k) what they move for each unit of a coefficient.
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
    prior: Sparsity

    def stand(self, effects: SingleEffects, fixed: F64) -> _Stand:
        # column = mixing @ error, so coefficients w of columns act on the errors as mixing.T @ w.
        beside, baseline = fixed[: self.n_covariates], fixed[self.n_covariates :]
        sums = self.loss.sums(np.concatenate((beside, effects.coef @ self.mixing, baseline)))
        return _Stand(effects, fixed, sums, sums.loglik - 0.5 * WEAK_PENALTY * float(beside @ beside))

    @cached_property
    def _mix(self) -> F64:
        """(c + k, c + k): covariates as they are, and columns from errors."""
        c = self.n_covariates
        return block_diag(np.eye(c), self.mixing) if c else self.mixing

    def quadratic(self, here: _Stand) -> _Quadratic:
        # The baseline first, whose parameters have no curvature together, and after it the covariates, if
        # there are any.
        c, mix = self.n_covariates, self._mix
        m = len(mix)
        gradient, hessian = here.sums.gradient, here.sums.hessian
        mixed, own = mix @ hessian[:m], hessian.diagonal()[m:]
        cross = mixed[:, m:]
        share, shift = cross / own, gradient[m:] / own
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

    def climb(
        self, here: _Stand, quadratic: _Quadratic, curvature: F64, damping: float
    ) -> tuple[_Stand | None, float]:
        """The next stand, and the damping that it took for the bound not to fall; None if none was enough."""
        target = quadratic.slope + curvature @ here.effects.coef
        for _ in range(MAX_DAMPINGS):
            effects = self.loss.loops.fit_effects(curvature, target, self.prior, here.effects, damping)
            move = effects.coef - here.effects.coef
            shift = quadratic.shift / (1.0 + damping) + quadratic.tilt @ move
            there = self.stand(effects, here.fixed + shift)
            if self.gain(here, there, curvature) >= -ROUNDING * abs(here.sums.loglik):
                return there, damping
            damping = 2.0 * damping + 1.0
        return None, damping

    def gain(self, here: _Stand, there: _Stand, curvature: F64) -> float:
        """By how much the bound is higher there."""
        n_effects = len(there.effects.weight)
        before = here.effects if len(here.effects.weight) == n_effects else here.effects.with_room(n_effects)
        spared = self.loss.loops.spared(before, there.effects, curvature, self.prior)
        return there.objective - here.objective + spared
