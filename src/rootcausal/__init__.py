"""Root Causal Inference: for each patient, the variables whose shocks led to the disease."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import InputError, MissingExtraError, UnlikeCohortWarning
from .version import __version__

if TYPE_CHECKING:
    from .estimators.classifier import RCI
    from .estimators.lingam import DirectLiNGAM
    from .estimators.loading import load
    from .estimators.outliers import RootCauseOutliers
    from .estimators.regressor import RCIRegressor
    from .estimators.survival import RCISurvival
    from .explaining.departures import Departures
    from .explaining.explanation import Explanation
    from .files.tables import read_table
    from .inputs.knowledge import Knowledge

__all__ = [
    "RCI",
    "Departures",
    "DirectLiNGAM",
    "Explanation",
    "InputError",
    "Knowledge",
    "MissingExtraError",
    "RCIRegressor",
    "RCISurvival",
    "RootCauseOutliers",
    "UnlikeCohortWarning",
    "__version__",
    "load",
    "read_table",
]

# The estimators bring scikit-learn, which imports pandas where that is installed: only when asked for.
_HOMES = {
    "RCI": "estimators.classifier",
    "RCIRegressor": "estimators.regressor",
    "RCISurvival": "estimators.survival",
    "Departures": "explaining.departures",
    "Explanation": "explaining.explanation",
    "RootCauseOutliers": "estimators.outliers",
    "DirectLiNGAM": "estimators.lingam",
    "Knowledge": "inputs.knowledge",
    "load": "estimators.loading",
    "read_table": "files.tables",
}


# Rooms that are of use by themselves, as attributes too.
_ROOMS = ("comparators", "data", "federated", "metrics", "plots", "warnings")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
