"""Values that were filled in by a Gaussian, brought to the levels that a discrete column takes."""

from __future__ import annotations

import numpy as np

from ..layout import Layout
from ..table import F64


def to_levels(X: F64, was_missing: np.ndarray, layout: Layout) -> None:
    """Overwrite the missing cells of X (n, q): each gets the nearest level of its column.

    The dummies of one variable become those of the level with the highest value; that of the reference, which
    has no column, is what the others leave of one.
    """
    if not layout.discrete.any():
        return
    for variable in np.unique(layout.variable[layout.discrete]):
        columns = layout.columns_of(int(variable))
        rows = np.flatnonzero(was_missing[:, columns].any(axis=1))
        if not rows.size:
            continue
        cells = np.ix_(rows, columns)
        X[cells] = _nearest(X[cells], layout.levels[columns[0]]) if columns.size == 1 else _dummies(X[cells])


def _nearest(values: F64, levels: F64) -> F64:
    return levels[np.searchsorted(0.5 * (levels[1:] + levels[:-1]), values)]


def _dummies(values: F64) -> F64:
    with_reference = np.column_stack([values, 1.0 - values.sum(axis=1)])
    return np.eye(with_reference.shape[1])[with_reference.argmax(axis=1)][:, :-1]
