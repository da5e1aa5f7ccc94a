"""Rao's score tests of a few extra regressors together, for many such groups at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..core.table import F64, Index
from .blocks import in_blocks

# Of what extra regressors vary by, below which the model already holds them.
NOTHING_NEW = 1e-6
# Groups that are tested at once: products of matrices then pay, and those between groups cost little.
GROUPS_AT_ONCE = 8


def joint_tests(score: F64, left: F64, whole: F64) -> tuple[F64, Index]:
    """Chi-square statistics (m,) of m groups of w regressors, and their degrees of freedom (m,).

    There are fewer than w where the model already holds some of them, as with a column of two values.

    Parameters
    ----------
    score : (m, w).
    left, whole : (m, w, w) information on them that is not the model's, and all of it.
    """
    size, direction = np.linalg.eigh(left)
    new = size > NOTHING_NEW * np.maximum(np.trace(whole, axis1=1, axis2=2), 1e-300)[:, None]
    along = np.einsum("mij,mi->mj", direction, score)
    return np.where(new, along**2 / np.where(new, size, 1.0), 0.0).sum(axis=1), new.sum(axis=1)


def blocks_of(matrix: F64, width: int) -> F64:
    """(m, w, w): those on the diagonal of a matrix (m w, m w)."""
    m = len(matrix) // width
    each = np.arange(m)
    return matrix.reshape(m, width, m, width)[each, :, each]


def in_groups(work: Callable[[slice], None], n_groups: int, n_rows: int) -> None:
    """Call work(groups) for all of them, a few at a time, on all cores."""
    in_blocks(work, n_groups, n_rows, GROUPS_AT_ONCE * n_rows)
