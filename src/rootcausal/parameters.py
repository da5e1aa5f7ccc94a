"""What users choose by name, checked, and as the values that the core takes."""

from __future__ import annotations

from numbers import Real

from .core.ordering import VARIANTS, Variant
from .core.pipeline import ATTRIBUTIONS, Settings
from .errors import InputError


def chosen_variant(name: str) -> Variant:
    """The variant of this name."""
    if name not in list(VARIANTS):  # a list can also be asked for what has no hash
        raise InputError(f"unknown variant {name!r}: choose one of {', '.join(VARIANTS)}")
    return VARIANTS[name]


def chosen_settings(variant: str, alpha: float, attribution: str) -> Settings:
    """The settings of these parameters of :class:`rootcausal.RCI`."""
    known = chosen_variant(variant)
    if attribution not in list(ATTRIBUTIONS):
        raise InputError(f"unknown attribution {attribution!r}: choose one of {', '.join(ATTRIBUTIONS)}")
    if not (isinstance(alpha, Real) and 0.0 < alpha <= 1.0):
        raise InputError(f"alpha must be above 0 and at most 1, not {alpha!r}")
    return Settings(known, float(alpha), ATTRIBUTIONS[attribution])
