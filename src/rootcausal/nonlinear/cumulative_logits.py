"""Cumulative logits of many effects with levels at once: Newton's method, for coefficients and thresholds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..method.table import F64, Index
from .rows import RIDGE, Designs, LevelledSums, NonlinearRows

# Added for each threshold, so little that only the matrix of a step feels it.
STEADY = 1e-3
# Steps, and what a last one may still promise, in nats: what it promises is counted.
MOST_STEPS = 100
PROMISES = 0.02
# No fit rises by more than so many times what its next step promises: one that is not worth having even then
# is left where it is.
MOST_OF_PROMISE = 3.0
# Coefficients of standardized terms stay within ± this: levels may be told apart for certain.
MOST_LOGIT = 8.0
# Thresholds move at most so far in one step, and two never come closer than this share of their distance.
FARTHEST = 2.0
CLOSER = 0.9


@dataclass(frozen=True, eq=False)
class CumulativeLogits:
    """What was fitted to m designs.

    Attributes
    ----------
    beta : (m, width); that of the constant is zero, which the thresholds tell.
    thresholds : (m, t), +∞ beyond the levels of an effect.
    loglik : (m,).
    converged : (m,) whether it came to rest before its limit.
    """

    beta: F64
    thresholds: F64
    loglik: F64
    converged: np.ndarray


def fit_logits(
    rows: NonlinearRows, designs: Designs, beta: F64, thresholds: F64, least: F64
) -> CumulativeLogits:
    """Maximum likelihood, but for the ridge, from these coefficients (m, width) and thresholds (m, t) on.

    What will not come near a log-likelihood of ``least`` (m,) is not followed to its end.
    """
    m = len(designs)
    beta, thresholds = beta.copy(), thresholds.copy()
    accepted = (beta.copy(), thresholds.copy())
    loglik, before = np.empty(m), np.full(m, -np.inf)
    moving, converged = np.arange(m), np.zeros(m, dtype=bool)
    for _ in range(MOST_STEPS):
        sums = rows.level_sums(designs.take(moving), beta[moving], thresholds[moving])
        reached = sums.loglik - 0.5 * RIDGE * (beta[moving] ** 2).sum(axis=1)
        too_far = reached < before[moving] - PROMISES
        back, ahead = moving[too_far], moving[~too_far]
        for now, then in zip((beta, thresholds), accepted, strict=True):
            now[back] = _halfway(now[back], then[back])
            then[ahead] = now[ahead]
        before[ahead] = reached[~too_far]
        step, promised = _steps(designs.size[moving], sums, beta[moving], thresholds[moving])
        step, promised = step[~too_far], promised[~too_far]
        width = beta.shape[1]
        beta[ahead] += step[:, :width]
        thresholds[ahead] += step[:, width:]
        loglik[ahead] = sums.loglik[~too_far] + promised
        hopeless = sums.loglik[~too_far] + MOST_OF_PROMISE * promised < least[ahead]
        converged[ahead] = (promised < PROMISES) | hopeless
        moving = moving[~converged[moving]]
        if not moving.size:
            break
    return CumulativeLogits(beta, thresholds, loglik, converged)


def _halfway(now: F64, then: F64) -> F64:
    """Between both; infinite thresholds stay where they are."""
    return np.where(np.isfinite(now), 0.5 * (now + np.where(np.isfinite(then), then, 0.0)), now)


def _steps(size: Index, sums: LevelledSums, beta: F64, thresholds: F64) -> tuple[F64, F64]:
    """(m, width + t) of coefficients and thresholds, and what (m,) they promise, in nats."""
    width = beta.shape[1]
    gradient = np.concatenate([sums.gradient - RIDGE * beta, sums.threshold_gradient], axis=1)
    top = np.concatenate([sums.hessian, sums.cross], axis=2)
    low = np.concatenate([sums.cross.transpose(0, 2, 1), sums.threshold_hessian], axis=2)
    hessian = np.concatenate([top, low], axis=1)
    places = np.arange(hessian.shape[1])
    hessian[:, places, places] += np.where(places < width, RIDGE, STEADY)
    # What is not there stays, as does a coefficient at its limit that would go beyond.
    stays = np.concatenate([places[:width] > size[:, None], ~np.isfinite(thresholds)], axis=1)
    stays[:, 0] = True
    stays[:, :width] |= (np.abs(beta) >= MOST_LOGIT) & (gradient[:, :width] * beta > 0.0)
    hessian *= ~(stays[:, :, None] | stays[:, None, :])
    hessian[:, places, places] += stays
    gradient = np.where(stays, 0.0, gradient)
    step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
    share = _share(thresholds, step[:, width:])
    step *= share[:, None]
    step[:, :width] = np.clip(beta + step[:, :width], -MOST_LOGIT, MOST_LOGIT) - beta
    curved = np.einsum("mi,mij,mj->m", step, hessian, step)
    promised = (gradient * step).sum(axis=1) - 0.5 * curved
    return step, promised


def _share(thresholds: F64, step: F64) -> F64:
    """(m,) how much of a step thresholds can take without coming too close, or going too far.

    A level that few have lies between two that nearly meet; where they do, no next step could be told.
    """
    share = np.minimum(1.0, FARTHEST / np.maximum(np.abs(step).max(axis=1), FARTHEST))
    with np.errstate(invalid="ignore"):  # beyond the levels of an effect, infinity less infinity
        apart = np.nan_to_num(np.diff(thresholds, axis=1), nan=np.inf, posinf=np.inf)
    closer = np.maximum(-np.diff(step, axis=1), 0.0)
    there = np.isfinite(apart) & (closer > 0.0)
    room = np.where(there, CLOSER * np.where(there, apart, 1.0) / np.where(there, closer, 1.0), 1.0)
    return np.minimum(share, room.min(axis=1, initial=1.0))
