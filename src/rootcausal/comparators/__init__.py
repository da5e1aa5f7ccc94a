"""The six methods that the paper compares RCI with (Section 8), each from its own paper.

All share one face: ``fit(X, y)``, then ``scores(X)`` of shape (n, p).
"""

from .adaptive_logistic import AdaptiveLogistic
from .graph_comparators import ConditionalOutliers, ModelSubstitution
from .hiton_pc import HitonPC
from .ica import ICAPrediction
from .t_test import TTest

__all__ = [
    "AdaptiveLogistic",
    "ConditionalOutliers",
    "HitonPC",
    "ICAPrediction",
    "ModelSubstitution",
    "TTest",
]
