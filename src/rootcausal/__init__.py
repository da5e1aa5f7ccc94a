"""Root Causal Inference: for each patient, the variables whose shocks led to the disease."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import InputError, MissingExtraError, UnlikeCohortWarning
from .version import __version__

if TYPE_CHECKING:
    from .explanation import Explanation
    from .inputs.knowledge import Knowledge
    from .lingam import DirectLiNGAM
    from .loading import load
    from .rci import RCI
    from .regressor import RCIRegressor
    from .survival import RCISurvival

__all__ = [
    "RCI",
    "DirectLiNGAM",
    "Explanation",
    "InputError",
    "Knowledge",
    "MissingExtraError",
    "RCIRegressor",
    "RCISurvival",
    "UnlikeCohortWarning",
    "__version__",
    "load",
]

# The estimators bring scikit-learn, which imports pandas where that is installed: only when asked for.
_HOMES = {
    "RCI": "rci",
    "RCIRegressor": "regressor",
    "RCISurvival": "survival",
    "Explanation": "explanation",
    "DirectLiNGAM": "lingam",
    "Knowledge": "inputs.knowledge",
    "load": "loading",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
