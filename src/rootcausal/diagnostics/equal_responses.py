"""Does a variable respond to another in the same way in cases and controls?

The paper's first limitation: it considers changes of the errors, not of the functions. If the slope between
two variables differs between cases and controls, the log-odds of D contain their product, by Bayes' theorem;
with equal slopes they are a sum. So products of errors are tested in the logistic model, where conditioning
on D, which distorts slopes within the classes, does no harm.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from ..core.table import F64, Index
from .diagnosis import Check, Scale, in_words
from .evidence import Evidence, PlainLogit, score_tests
from .rank_scores import smallest_of_many

SCALE = Scale(0.20, 0.50)
# A few extreme patients must not make a product.
CLIP = 3.0


def product_tests(errors: F64, y: np.ndarray, fit: PlainLogit) -> tuple[F64, F64, Index]:
    """P-values (m,), |log-odds for a standard deviation of the product| (m,), and pairs (m, 2)."""
    clipped = np.clip(errors, -CLIP, CLIP)
    k = errors.shape[1]
    pairs = np.column_stack(np.triu_indices(k, 1))
    z, effect = np.zeros(len(pairs)), np.zeros(len(pairs))
    for first in range(k - 1):
        of_first = pairs[:, 0] == first
        products = clipped[:, [first]] * clipped[:, first + 1 :]
        z[of_first], effect[of_first] = score_tests(fit, y, products - products.mean(axis=0))
    return 2.0 * norm.sf(np.abs(z)), np.abs(effect), pairs


def check_mechanism(evidence: Evidence, fit: PlainLogit) -> Check:
    p_values, effect, pairs = product_tests(evidence.errors, evidence.y, fit)
    p_value = smallest_of_many(p_values)
    worst = int(p_values.argmin()) if p_values.size else -1
    size = float(effect[worst]) if p_values.size else 0.0
    verdict = SCALE.judge(p_value, size)
    return Check(
        "same_mechanism",
        "Do variables respond to each other in the same way in cases and controls?",
        verdict,
        size,
        p_value,
        f"The product of two errors adds at most {size:.2f} log-odds for a standard deviation "
        f"({in_words(p_value)} after correction for {len(pairs)} pairs).",
        ""
        if verdict == "fine"
        else "the response between these two may itself be what is ill: compare their scatter plots in cases "
        "and controls. Shapley values describe shocks only and cannot show a changed response.",
        evidence.named(pairs[worst]) if verdict != "fine" else (),
    )
