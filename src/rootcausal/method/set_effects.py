"""What the rows of a matched set share, beside what each has of its own.

Rows that were matched are alike in what they were matched on, and so in what that does to other columns. To
the mechanisms this is a hidden cause of all of these: errors of different columns, and of different rows,
depend on each other by it. So what each set shares is estimated and taken out of its rows, by the best linear
unbiased prediction of a random effect of the set (BLUP; Robinson 1991). How large such effects are, and in
which directions, is learned: where the means of sets differ by no more than chance would have them differ,
nothing is taken out. What rows of their own have is thus not lost to noise in means of two or three rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .table import F64, Index

# Of columns for each set, and for each row beside one a set: with more, each column is looked at by itself.
MOST_COLUMNS = 0.5
# Of a column's variance, below which it is the same in all rows of a set.
SAME = 1e-12


@dataclass(frozen=True, eq=False)
class SetEffects:
    """How much of the columns is shared by the rows of a set.

    Attributes
    ----------
    columns : (d,) which columns; others share nothing.
    mean : (d,) of all rows.
    within : (d, d) covariance of rows about the means of their sets.
    between : (d, d) of what sets share.
    """

    columns: Index
    mean: F64
    within: F64
    between: F64

    @classmethod
    def of(cls, X: F64, sets: Index, numbers: np.ndarray) -> SetEffects:
        """Of rows X (n, q) of these sets (n,); ``numbers`` (q,) are the columns that may share something."""
        columns = np.flatnonzero(numbers)
        Z = X[:, columns]
        mean, size = Z.mean(axis=0), np.bincount(sets).astype(np.float64)
        means = _means(Z - mean, sets, size)
        left = Z - mean - means[sets]
        n, s, d = len(Z), size.size, columns.size
        # Rows of an average set, as in the analysis of variance.
        rows = (n - float(size @ size) / n) / max(s - 1, 1)
        if s < 2 or n - s < 2 or rows <= 1.0:
            return cls(columns[:0], mean[:0], np.zeros((0, 0)), np.zeros((0, 0)))
        within = left.T @ left / (n - s)
        total = (means * size[:, None]).T @ means / (s - 1)
        if d > MOST_COLUMNS * min(s - 1, n - s):
            within, total = np.diag(np.diagonal(within)), np.diag(np.diagonal(total))
            width = 1
        else:
            width = d
        between = _beyond_chance(within, total, width / (s - 1), width / (n - s)) / rows
        kept = np.diagonal(between) > 0.0
        block = np.ix_(kept, kept)
        return cls(columns[kept], mean[kept], within[block], between[block])

    def shared(self, X: F64, sets: Index) -> F64:
        """(n, q) what the rows of each set share, of rows X (n, q); zero in other columns."""
        found = np.zeros(X.shape)
        if not self.columns.size:
            return found
        size = np.bincount(sets).astype(np.float64)
        means = _means(X[:, self.columns] - self.mean, sets, size)
        of_sets = np.zeros(means.shape)
        for rows in np.unique(size[size > 0.0]):
            some = size == rows
            together = self.between + self.within / rows
            scale = np.outer(*2 * [np.sqrt(np.diagonal(together))])
            # A column that others make up has no direction of its own.
            inverse = np.linalg.pinv(together / scale, rcond=SAME, hermitian=True) / scale
            of_sets[some] = means[some] @ (inverse @ self.between)
        found[:, self.columns] = of_sets[sets]
        return found


def _means(Z: F64, sets: Index, size: F64) -> F64:
    """(s, d) of the rows of each set."""
    total = np.zeros((size.size, Z.shape[1]))
    np.add.at(total, sets, Z)
    found: F64 = total / np.maximum(size, 1.0)[:, None]
    return found


def _beyond_chance(within: F64, total: F64, columns_a_set: float, columns_a_row: float) -> F64:
    """(d, d) by how much sets differ more than rows do, in the directions in which chance would not.

    Where nothing is shared, the variance between sets over that within them is at most so much in any
    direction (Wachter 1980), for so many columns for each degree of freedom.
    """
    scale = np.sqrt(np.maximum(np.diagonal(within), np.finfo(float).tiny))
    root = np.linalg.cholesky(within / np.outer(scale, scale) + SAME * np.eye(len(scale)))
    whiten = np.linalg.inv(root)
    ratio, directions = np.linalg.eigh(whiten @ (total / np.outer(scale, scale)) @ whiten.T)
    a, b = columns_a_set, columns_a_row
    edge = ((1.0 + np.sqrt(a + b - a * b)) / (1.0 - b)) ** 2
    more = np.where(ratio > edge, ratio - 1.0, 0.0)
    axes = root @ directions * scale[:, None]
    found: F64 = (axes * more) @ axes.T
    return found


def same_in_every_set(X: F64, sets: Index) -> list[int]:
    """Columns of X (n, q), where NaN is missing, that do not vary within any set (n,)."""
    order = np.argsort(sets, kind="stable")
    start = np.flatnonzero(np.append(True, np.diff(sets[order]) > 0))
    low, high = (one.reduceat(X[order], start, axis=0) for one in (np.fmin, np.fmax))
    varies = (low < high).any(axis=0)
    return np.flatnonzero(~varies).tolist()
