"""What this package warns of, by class, so that each can be silenced or made an error by itself.

``warnings.filterwarnings("ignore", category=rootcausal.warnings.LabelWarning)``
"""

from sklearn.exceptions import ConvergenceWarning

from .errors import (
    LabelWarning,
    ReadingWarning,
    RootCausalWarning,
    SeparationWarning,
    UnlikeCohortWarning,
)

__all__ = [
    "ConvergenceWarning",
    "LabelWarning",
    "ReadingWarning",
    "RootCausalWarning",
    "SeparationWarning",
    "UnlikeCohortWarning",
]
