"""Piecewise cubic curves: splines of columns, and what a cause does to an effect.

A curve of a column is one cubic between each two of its knots, and a line beyond the outermost: so
every sum of its splines is, and an arrow is kept as one curve however many splines it was learned with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..method.table import F64, Index
from .rows import TERMS_A_CAUSE

# Quantiles of a column at which its splines may curve (Harrell 2015).
KNOTS = np.array([0.05, 0.275, 0.5, 0.725, 0.95])
PIECES = KNOTS.size + 1
# Knots that are closer than this part of the distance between the outermost are one: what curves between them
# is rounding. Where all lie within so many standard deviations, which outliers then make, there are none.
CLOSEST = 5e-3
LEAST_SPAN = 0.03
# A spline that others explain but for this share of its variance adds nothing.
NEW = 1e-6


def pieces_at(knots: F64, z: F64) -> Index:
    """(n,) which piece of a curve with these knots, padded with infinity, each value lies in."""
    return np.searchsorted(knots, z, side="right")


def curve_at(curve: F64, piece: Index, z: F64) -> F64:
    """(n,) values of a curve (PIECES, 4), by rising powers of z."""
    c = curve[piece]
    return ((c[:, 3] * z + c[:, 2]) * z + c[:, 1]) * z + c[:, 0]


@dataclass(frozen=True, eq=False)
class Splines:
    """Restricted cubic splines of q columns: a line, then curves, uncorrelated and of unit variance.

    Attributes
    ----------
    knots : (q, KNOTS) in standard deviations, padded with infinity.
    curves : (q, TERMS_A_CAUSE, PIECES, 4); zero beyond ``width``.
    width : (q,) how many each column has: one where it takes two values.
    """

    knots: F64
    curves: F64
    width: Index

    @classmethod
    def of(cls, Z: F64, weights: F64, linear: np.ndarray) -> tuple[Splines, F64]:
        """The splines of standardized columns Z (q, n), and their rows (q · TERMS_A_CAUSE, n).

        ``linear`` (q,) says which columns are to have a line only.
        """
        q, n = Z.shape
        found = cls(
            np.full((q, KNOTS.size), np.inf),
            np.zeros((q, TERMS_A_CAUSE, PIECES, 4)),
            np.ones(q, dtype=np.intp),
        )
        rows = np.zeros((q * TERMS_A_CAUSE, n))
        for column, z in enumerate(Z):
            at = column * TERMS_A_CAUSE
            rows[at], found.curves[column, 0, :, 1] = z, 1.0
            if linear[column]:
                continue
            knots = _apart(_quantiles(z, weights))
            found.knots[column, : knots.size] = knots
            piece = pieces_at(found.knots[column], z)
            raw = _curved(knots)
            known = np.stack([np.ones(n), z, *(curve_at(curve, piece, z) for curve in raw)])
            curves = np.stack([np.broadcast_to(np.eye(4)[0], (PIECES, 4)), found.curves[column, 0], *raw])
            for _ in range(2):  # once more, for what rounding left
                new = _new(known, weights)
                known, curves = (np.concatenate([of[:2], np.tensordot(new, of, 1)]) for of in (known, curves))
            width = len(known) - 1
            rows[at + 1 : at + width], found.curves[column, 1:width] = known[2:], curves[2:]
            found.width[column] = width
        return found, rows

    def rows_of(self, Z: F64) -> F64:
        """(q · TERMS_A_CAUSE, m): the rows of other patients Z (q, m), standardized by the same numbers."""
        rows = np.zeros((len(Z) * TERMS_A_CAUSE, Z.shape[1]))
        for column, z in enumerate(Z):
            piece = pieces_at(self.knots[column], z)
            for term in range(int(self.width[column])):
                rows[column * TERMS_A_CAUSE + term] = curve_at(self.curves[column, term], piece, z)
        return rows


def _quantiles(z: F64, weights: F64) -> F64:
    if (weights == weights[0]).all():
        return np.quantile(z, KNOTS)
    ranked = np.argsort(z, kind="stable")
    below = np.cumsum(weights[ranked])
    return np.interp(KNOTS * below[-1], below - 0.5 * weights[ranked], z[ranked])


def _apart(quantiles: F64) -> F64:
    """Rising quantiles without those that are next to the same as others; the outermost stay."""
    first, *inner, last = quantiles
    if last - first < LEAST_SPAN:
        return np.empty(0)
    least, kept = CLOSEST * (last - first), [first]
    for knot in inner:
        if min(knot - kept[-1], last - knot) >= least:
            kept.append(knot)
    return np.array([*kept, last])


def _curved(knots: F64) -> list[F64]:
    """Curves (PIECES, 4) that, with a line, span the restricted cubic splines of some knots."""
    k = knots.size
    if k < 3:
        return []
    curved = []
    size = (knots[-1] - knots[0]) ** 2
    for first in range(k - 2):
        curve = np.zeros((PIECES, 4))
        over = knots[-1] - knots[-2]
        parts = (
            (first, 1.0),
            (k - 2, -(knots[-1] - knots[first]) / over),
            (k - 1, (knots[-2] - knots[first]) / over),
        )
        for at, weight in parts:
            t = knots[at]
            curve[at + 1 :] += weight / size * np.array([-(t**3), 3.0 * t * t, -3.0 * t, 1.0])
        curve[k:, 2:] = 0.0  # a line: what is left of the powers there is rounding
        curved.append(curve)
    return curved


def _new(rows: F64, weights: F64) -> F64:
    """(c, r): what of each of the rows (r, n) beyond the first two those before do not say, of unit variance.

    Rows of which nothing is left are left out. The first two are a constant and a line.
    """
    gram = (rows * weights) @ rows.T / weights.sum()
    before = list(np.eye(2, len(rows)))
    for row in range(2, len(rows)):
        left = np.eye(len(rows))[row]
        for other in before:
            left = left - (other @ gram @ left) / max(other @ gram @ other, 1e-300) * other
        variance = left @ gram @ left
        if variance > NEW * gram[row, row]:
            before.append(left / np.sqrt(variance))
    return np.array(before[2:]).reshape(-1, len(rows))
