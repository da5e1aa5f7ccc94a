"""How probably a column that a test left out is an ancestor of D all the same.

A weak ancestor may fail a test. By what the test said of all columns, statistics of ancestors spread more
widely than those of the rest, normal with variance 1 + g, against 1: how much more is learned from the
columns that stayed. How many ancestors there are among all columns is averaged over, by what both those that
stayed and those that did not say of it.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from ..table import F64
from .acting import MOST_EVIDENCE, SHARES, averaged

# Ancestors, and columns that are none, which are taken for seen before any is.
SEEN_BEFORE = 1.0
# A p-value is taken for no less than this: its statistic would be infinite.
LEAST_P = 1e-300


def ancestors_left_out(p_out: F64, p_in: F64, probability: F64) -> F64:
    """(m,) probabilities of the columns that were left out.

    Parameters
    ----------
    p_out : (m,) of the test that left each out; NaN where none could be made.
    p_in, probability : (k,) of the same test for the columns that stayed, and how probably each is an
        ancestor.
    """
    square_out, square_in = (ndtri(np.fmax(0.5 * np.fmin(p, 1.0), LEAST_P)) ** 2 for p in (p_out, p_in))
    found = float(probability.sum())
    if not p_out.size or not found:
        return np.zeros(p_out.size)
    wider = max(float(probability @ square_in) / found - 1.0, 0.0)
    evidence = 0.5 * (square_out * wider / (1.0 + wider) - np.log1p(wider))
    factors = np.exp(np.minimum(evidence, MOST_EVIDENCE))
    none = p_in.size - found + SEEN_BEFORE
    return averaged(factors[None, :], np.ones((1, SHARES.size)), found + SEEN_BEFORE, none)
