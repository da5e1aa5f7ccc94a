"""Columns that come first: nothing in the table causes them, so neither do they cause each other.

Taking one out of the next, as the search does with all others, would make age a cause of sex. Their shocks
are what was measured, and may go together; what lies behind them is no part of the model. Nothing else
changes: the errors of all other columns, and the log-odds, are the same.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.linalg import block_diag, solve_triangular

from ..table import F64, Index


def set_apart(mixing: F64, start: int, variable: Index) -> tuple[F64, F64]:
    """A mixing matrix in which some columns do not act on each other, and how its errors make the old ones.

    Parameters
    ----------
    mixing : (k, k) lower triangular; standardized columns are ``errors @ mixing.T``.
    start : the place of the first of these columns.
    variable : (m,) whose each of them is: the dummies of one variable stay as they are to each other.

    Returns
    -------
    mixing : (k, k), for errors of unit variance that may correlate among these columns.
    turn : (m, m); the old errors of these columns are ``new @ turn.T``, and so the effect of a new one is
        ``turn.T @ effects``.
    """
    inside = slice(start, start + variable.size)
    together = mixing[inside, inside]
    covariance = together @ together.T
    _, first = np.unique(variable, return_index=True)
    edges = [*np.sort(first), variable.size]
    blocks = [slice(a, b) for a, b in pairwise(edges)]
    alone = block_diag(*(np.linalg.cholesky(covariance[block, block]) for block in blocks))
    turn = solve_triangular(together, alone, lower=True)
    found = mixing.copy()
    found[start:, inside] = mixing[start:, inside] @ turn
    found[inside, inside] = alone
    return found, turn
