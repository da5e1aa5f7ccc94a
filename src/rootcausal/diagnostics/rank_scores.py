"""Dependence of many pairs at once: cosine scores of ranks, and the distance covariance that they make up.

For uniform ranks u, v the distance covariance of Székely et al. (2007) expands into cosines,

    dCov²(u, v) ∝ Σ_ab λ_a λ_b E[φ_a(u) φ_b(v)]²,   φ_a(u) = √2 cos(π a u),   λ_a = 1 / (π a)²,

so all pairs of k variables come out of one Gram matrix of scores, in time linear in rows, and the law under
independence is the same for any continuous distribution: Σ λ_a λ_b χ²₁ (Blum, Kiefer & Rosenblatt 1961).
"""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2, ncx2, rankdata

from ..core.table import F64

# Terms of the expansion; the next one would weigh less than 2 % of the first.
TERMS = 8
WEIGHTS = 1.0 / (np.pi * np.arange(1.0, TERMS + 1)) ** 2


def rank_scores(values: F64) -> F64:
    """(n, k, TERMS): √2 cos(π a u) of the ranks u of each column, standardized."""
    n = values.shape[0]
    uniform = (rankdata(values, axis=0) - 0.5) / n
    scores = np.cos(np.pi * uniform[:, :, None] * np.arange(1, TERMS + 1))
    scores -= scores.mean(axis=0)
    # Ties leave a column of few values without its finer scores.
    return scores / np.maximum(scores.std(axis=0), 1e-3)


def score_correlations(scores: F64) -> F64:
    """(k, k, TERMS, TERMS): [i, j, a, b] correlates score a of column i with score b of column j."""
    n, k, terms = scores.shape
    flat = scores.reshape(n, k * terms)
    return (flat.T @ flat / n).reshape(k, terms, k, terms).transpose(0, 2, 1, 3)


def distance_correlation(correlations: F64) -> F64:
    """Distance correlation of ranks, in [0, 1], from score correlations (..., TERMS, TERMS)."""
    covariance = np.einsum("a,b,...ab->...", WEIGHTS, WEIGHTS, correlations**2)
    return np.sqrt(covariance / (WEIGHTS**2).sum())


def independence_p_values(correlations: F64, n_rows: int) -> F64:
    """P-values of independence, from score correlations (..., TERMS, TERMS).

    The weighted sum of chi-squares is matched to a noncentral one by its first four cumulants (Liu, Tang &
    Zhang 2009).
    """
    statistic = n_rows * np.einsum("a,b,...ab->...", WEIGHTS, WEIGHTS, correlations**2)
    c1, c2, c3, c4 = ((WEIGHTS**power).sum() ** 2 for power in (1, 2, 3, 4))
    skew, kurtosis = c3 / c2**1.5, c4 / c2**2
    if skew**2 > kurtosis:
        a = 1.0 / (skew - np.sqrt(skew**2 - kurtosis))
        shift = skew * a**3 - a**2
    else:
        a, shift = 1.0 / skew, 0.0
    freedom = a**2 - 2.0 * shift
    standard = (statistic - c1) / np.sqrt(2.0 * c2)
    matched = standard * np.sqrt(2.0) * a + freedom + shift
    p = ncx2.sf(matched, freedom, shift) if shift > 0 else chi2.sf(matched, freedom)
    return np.clip(p, 0.0, 1.0)


def corrected(p_value: float, n_tests: int) -> float:
    """A p-value that was the smallest of many tests (Šidák)."""
    return float(-np.expm1(n_tests * np.log1p(-min(p_value, 1.0 - 1e-16))))


def smallest_of_many(p_values: F64) -> float:
    """The smallest p-value, corrected for looking at all of them."""
    return corrected(float(p_values.min()), p_values.size) if p_values.size else 1.0
