"""Another scale of a column: what is seen may be a monotone function of what its causes add up to.

Concentrations, times and scores are read on scales that biology does not add up on: where x = h(f(causes) +
error), f and the error add up on the scale of h's inverse (post-nonlinear; Zhang & Hyvärinen 2009). One
such scale is offered of each column, that on which it is normal: normal scores, with a line between each
two marks. A column has it whatever its causes, so that what remains of it there can be compared between
causes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr

from ..method.table import F64

# Normal scores between which a column's scale is a line, and the shares of patients below them.
STEP = 0.09
SCORES = STEP * np.arange(-32, 33)
SHARES = ndtr(SCORES)
# Beyond the outermost a scale goes on as steeply as it was over so many steps: two values decide no slope.
STEPS_OF_TAILS = 9
# Columns with fewer values among their marks have no other scale.
FEWEST_VALUES = 10
# Scales that hardly differ from the column's own, by their correlation, are not tried.
SAME_SCALE = 0.995


def marks_of(quantiles: F64) -> F64:
    """(SCORES,) rising values of a column at all scores, from its quantiles; NaN where it has no such scale.

    A value that several scores share is spread over the room between its neighbours.
    """
    values, place, count = np.unique(quantiles, return_inverse=True, return_counts=True)
    if values.size < FEWEST_VALUES:
        return np.full(SCORES.size, np.nan)
    between = 0.5 * (values[1:] + values[:-1])
    below, above = np.append(values[0], between), np.append(between, values[-1])
    rank = np.arange(quantiles.size) - (np.cumsum(count) - count)[place]
    inside = below[place] + (above - below)[place] * (rank + 0.5) / count[place]
    marks: F64 = np.where(count[place] > 1, inside, quantiles)
    rises = (np.diff(marks) > 0.0).all()
    differs = np.corrcoef(marks, SCORES)[0, 1] < SAME_SCALE
    return marks if rises and differs else np.full(SCORES.size, np.nan)


def to_scores(marks: F64, z: Any, xp: Any = np) -> Any:
    """(n,) values of a column on its other scale; ``xp`` is the module that computes, NumPy or CuPy."""
    low, high = _tails(marks)
    scores = xp.interp(z, xp.asarray(marks), xp.asarray(SCORES))
    scores = xp.where(z < marks[0], SCORES[0] + (z - marks[0]) / low, scores)
    return xp.where(z > marks[-1], SCORES[-1] + (z - marks[-1]) / high, scores)


def with_scales(effects: Any, marks: F64, xp: Any = np) -> Any:
    """(2 q, n) columns as they are, and on their other scales; those without one once more as they are."""
    found = xp.concatenate([effects, effects])
    for column in np.flatnonzero(~np.isnan(marks[:, 0])).tolist():
        found[len(marks) + column] = to_scores(marks[column], effects[column], xp)
    return found


def from_scores(marks: F64, scores: F64) -> F64:
    """(n,) the values that lie there on it."""
    low, high = _tails(marks)
    z = np.interp(scores, SCORES, marks)
    z = np.where(scores < SCORES[0], marks[0] + low * (scores - SCORES[0]), z)
    return np.where(scores > SCORES[-1], marks[-1] + high * (scores - SCORES[-1]), z)


def _tails(marks: F64) -> tuple[float, float]:
    """By how much a value rises with a score below the first of the marks, and above the last."""
    over = STEP * STEPS_OF_TAILS
    low, high = marks[STEPS_OF_TAILS] - marks[0], marks[-1] - marks[-1 - STEPS_OF_TAILS]
    return float(low) / over, float(high) / over
