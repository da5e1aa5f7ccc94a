"""The entropy approximation and the pair score C_ij (paper, Section 5.1; Hyvärinen & Smith 2013).

Entropy is that of a Gaussian less the negentropy, which two sums over rows approximate. The score is the
pairwise likelihood ratio: the mean log-likelihood of i → j less that of j → i.
"""

from __future__ import annotations

import math

import numpy as np

from ..table import F64, KnownEntropies

K1 = 79.047
K2 = 7.4129
GAMMA = 0.37457
# Entropy of the standard normal distribution.
GAUSSIAN = 0.5 * (1.0 + math.log(2.0 * math.pi))


def entropy(log_cosh_sum: F64, gauss_sum: F64, n_rows: int) -> F64:
    """H of unit-variance columns from Σ log cosh z and Σ z·exp(−z²/2)."""
    log_cosh = log_cosh_sum / n_rows - GAMMA
    gauss = gauss_sum / n_rows
    return GAUSSIAN - K1 * log_cosh * log_cosh - K2 * gauss * gauss


def pair_score(h_i: F64, h_j: F64, h_i_given_j: F64, h_j_given_i: F64) -> F64:
    """C_ij: above zero when i looks like a cause of j; C_ji = −C_ij."""
    # Grouped so that swapping i and j flips the sign exactly.
    return (h_j - h_i) + (h_i_given_j - h_j_given_i)


def block_penalties(
    sums: F64, own: F64, n_rows: int, known: KnownEntropies | None = None
) -> tuple[F64, F64, F64]:
    """What the pairs of a block cost their members.

    Parameters
    ----------
    sums : (2, 2, q, m) as :meth:`Table.leading_pair_sums` gives them.
    own : (m,) entropies of the columns.
    known : entropies that are not to be taken from sums.

    Returns
    -------
    row_penalty : (q,) Σ_b min(0, C_ab)².
    column_penalty : (m,) Σ_a min(0, C_ba)² over the rows.
    given : (2, q, m) entropies of rows given columns, and of columns given rows.
    """
    given = entropy(sums[:, 0], sums[:, 1], n_rows)
    if known is not None:
        q = given.shape[1]
        leading = known.places < q
        given[0, known.places[leading]] = known.given[leading]
        given[1][:, known.places] = known.given[:, :q].T
    score = pair_score(own[: len(given[0]), None], own[None, :], given[0], given[1])
    return (np.minimum(score, 0.0) ** 2).sum(axis=1), (np.maximum(score, 0.0) ** 2).sum(axis=0), given
