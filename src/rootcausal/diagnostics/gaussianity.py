"""Are the errors non-Gaussian? The causal direction between two Gaussian ones cannot be told."""

from __future__ import annotations

import numpy as np
from scipy.stats import normaltest

from ..core.table import F64
from .diagnosis import Check, Verdict
from .evidence import Evidence

LEVEL = 0.05
# With fewer rows, an error that looks Gaussian may just be too few values.
ROWS_TO_BE_SURE = 500


def gaussian_p_values(errors: F64) -> F64:
    """(k,): D'Agostino and Pearson's test by skewness and kurtosis; large where an error looks Gaussian."""
    return normaltest(errors, axis=0).pvalue


def check_gaussianity(evidence: Evidence) -> Check:
    n, k = evidence.errors.shape
    p_values = gaussian_p_values(evidence.errors) if n >= 20 else np.ones(k)
    suspects = np.flatnonzero(p_values >= LEVEL)
    verdict: Verdict = "fine"
    if suspects.size > 1:
        verdict = "broken" if n >= ROWS_TO_BE_SURE and 2 * suspects.size >= k else "doubtful"
    return Check(
        "non_gaussian",
        "Are the errors non-Gaussian, so that causes can be told from effects?",
        verdict,
        float(suspects.size),
        None,
        f"{suspects.size} of {k} errors cannot be told from a Gaussian one; at most one may be.",
        ""
        if verdict == "fine"
        else "the order among these variables is not to be trusted: look at the margins and the bootstrap, "
        "and prefer variables on their original scale, since logarithms and normal scores make "
        "errors Gaussian.",
        evidence.named(suspects[np.argsort(-p_values[suspects])]) if verdict != "fine" else (),
    )
