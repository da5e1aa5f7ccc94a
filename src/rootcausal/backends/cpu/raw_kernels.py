"""Compiled passes over raw rows, a strip of them at a time (rows of the array, contiguous).

The plain twin of both is :class:`rootcausal.backends.reference.ReferenceRaw`.
"""

from __future__ import annotations

from ...method.table import F64, Index
from .compiler import compiled


@compiled(nogil=True)
def add_moments(strip: F64, shift: F64, labels: Index, score: F64, sums: F64, product: F64) -> None:
    """Add Σ z and Σ z² of z = x − shift, by class, to sums (2, c, p), and Σ s z to product (p,).

    ``labels`` is empty where there is one class, and ``score`` where rows have none.
    """
    for row in range(strip.shape[0]):
        x = strip[row]
        c = labels[row] if labels.size else 0
        total, square = sums[0, c], sums[1, c]
        for column in range(x.size):
            z = x[column] - shift[column]
            total[column] += z
            square[column] += z * z
        if score.size:
            s = score[row]
            for column in range(x.size):
                product[column] += s * (x[column] - shift[column])


@compiled(nogil=True)
def standardize_strip(strip: F64, cols: Index, mean: F64, sd: F64, out: F64) -> None:
    """Write columns ``cols`` of the strip to out (k, rows), less their mean and divided by their sd."""
    for place in range(cols.size):
        z = out[place]
        column, centre, unit = cols[place], mean[place], sd[place]
        for row in range(strip.shape[0]):
            z[row] = (strip[row, column] - centre) / unit
