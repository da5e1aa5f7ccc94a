"""What figures and the page draw alike: like patients side by side."""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage

from ..method.table import F64, Index


def similarity_order(values: F64) -> Index:
    """Rows ordered so that neighbours are alike: the leaves of a Ward tree, turned to fit best."""
    if len(values) < 3:
        return np.argsort(-values.sum(axis=1), kind="stable")
    return leaves_list(linkage(values, "ward", optimal_ordering=True)).astype(np.intp)
