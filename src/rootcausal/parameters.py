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


def chosen_settings(variant: str, alpha: float, attribution: str, prevalence: float | None) -> Settings:
    """The settings of these parameters of :class:`rootcausal.RCI`."""
    known = chosen_variant(variant)
    if attribution not in list(ATTRIBUTIONS):
        raise InputError(f"unknown attribution {attribution!r}: choose one of {', '.join(ATTRIBUTIONS)}")
    if not (isinstance(alpha, Real) and 0.0 < alpha <= 1.0):
        raise InputError(f"alpha must be above 0 and at most 1, not {alpha!r}")
    if prevalence is not None:
        prevalence = _share_of_population(prevalence)
    return Settings(known, float(alpha), ATTRIBUTIONS[attribution], prevalence)


def _share_of_population(prevalence: float) -> float:
    if not isinstance(prevalence, Real) or isinstance(prevalence, bool) or not 0.0 < prevalence < 1.0:
        raise InputError(
            "prevalence must be between 0 and 1, the share of the population that has the disease, "
            f"not {prevalence!r}: 2 % is the number 0.02"
        )
    return float(prevalence)
