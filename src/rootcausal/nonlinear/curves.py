"""Piecewise cubic curves: splines of columns, and what a cause does to an effect.

A curve of a column is one cubic between each two of its knots, and a line beyond the outermost: so
every sum of its splines is, and an arrow is kept as one curve however many splines it was learned with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..method.table import F64, Index
from .rows import TERMS_A_CAUSE, PlainRows
from .scales import SCORES, SHARES, marks_of

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
    marks : (q, SCORES) values between which another scale of a column is a line; NaN where it has none.
    """

    knots: F64
    curves: F64
    width: Index
    marks: F64

    @classmethod
    def of(cls, rows: PlainRows, linear: np.ndarray) -> Splines:
        """The splines of the columns of some rows; ``linear`` (q,) says which are to have a line only."""
        q = linear.size
        knots, width = np.full((q, KNOTS.size), np.inf), np.ones(q, dtype=np.intp)
        # A constant, a line, and what curves.
        curves = np.zeros((q, 1 + TERMS_A_CAUSE, PIECES, 4))
        curves[:, 0, :, 0] = curves[:, 1, :, 1] = 1.0
        marks, quantiles = np.full((q, SCORES.size), np.nan), rows.quantiles(np.append(KNOTS, SHARES))
        for column in np.flatnonzero(~linear).tolist():
            apart = _apart(quantiles[column, : KNOTS.size])
            marks[column] = marks_of(quantiles[column, KNOTS.size :])
            raw = _curved(apart)
            knots[column, : apart.size], width[column] = apart, 1 + len(raw)
            curves[column, 2 : 2 + len(raw)] = np.array(raw).reshape(-1, PIECES, 4)
        for _ in range(2):  # once more, for what rounding left
            grams = rows.curve_grams(knots, curves) / rows.weight
            for column in np.flatnonzero(width > 1).tolist():
                before = curves[column, : width[column] + 1]
                new = _new(grams[column, : len(before), : len(before)])
                bent = np.tensordot(new, before, 1)
                width[column] = len(bent) + 1
                curves[column, 2:] = 0.0
                curves[column, 2 : len(bent) + 2] = bent
        return cls(knots, curves[:, 1:], width, marks)

    def of_columns(self, columns: Index) -> Splines:
        """The same of some columns."""
        return Splines(self.knots[columns], self.curves[columns], self.width[columns], self.marks[columns])

    def rows_of(self, Z: F64) -> F64:
        """(q · TERMS_A_CAUSE, m): the rows of other patients Z (q, m), standardized by the same numbers."""
        rows = np.zeros((len(Z) * TERMS_A_CAUSE, Z.shape[1]))
        for column, z in enumerate(Z):
            piece = pieces_at(self.knots[column], z)
            for term in range(int(self.width[column])):
                rows[column * TERMS_A_CAUSE + term] = curve_at(self.curves[column, term], piece, z)
        return rows


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


def _new(gram: F64) -> F64:
    """(c, r): what of each of r curves, by their products, those before do not say, of unit variance.

    Curves of which nothing is left are left out, and so are the first two, a constant and a line.
    """
    r = len(gram)
    before = list(np.eye(2, r))
    for curve in range(2, r):
        left = np.eye(r)[curve]
        for other in before:
            left = left - (other @ gram @ left) / max(other @ gram @ other, 1e-300) * other
        variance = left @ gram @ left
        if variance > NEW * gram[curve, curve]:
            before.append(left / np.sqrt(variance))
    return np.array(before[2:]).reshape(-1, r)
