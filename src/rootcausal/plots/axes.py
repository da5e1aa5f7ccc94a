"""What axes of figures say: the outcome's scale, patients, and the names of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..outcomes import Words
from ..wording import short_names, shortened
from .names import Names, as_shown
from .style import minus

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..explaining.explanation import Explanation

AXIS_LIMIT, PATIENT_LIMIT = 60, 30
# Axes of ratios have a tick for each doubling: for some of them where these are many, and halves where few.
MOST_TICKS, FEWEST_DOUBLINGS = 9, 2


def average_of(explanation: Explanation) -> str:
    """What is average in a patient of the base value."""
    return "shocks and covariates" if explanation.covariates else "shocks"


def name_steps(axis: Any, words: Words) -> None:
    """Say an axis of the outcome's scale in ratios, ×0.5, ×1, ×2, where steps on it multiply."""
    if not words.is_ratio:
        return
    low, high = sorted(axis.get_view_interval())
    doublings = (high - low) / np.log(2.0)
    step = np.log(2.0) * max(np.ceil(doublings / MOST_TICKS), 1.0 if doublings > FEWEST_DOUBLINGS else 0.5)
    axis.set_ticks(np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step)
    axis.set_major_formatter(lambda value, _: f"×{np.exp(value):{',.0f' if value > np.log(10.0) else '.2g'}}")


def reached(words: Words, predictor: float, predicted: float) -> str:
    """Where a patient stands on the axis, and the risk that this is, where the axis does not say it."""
    place = minus(words.reached(predictor, predicted))
    risk = words.predicted(predicted)
    return f"{place} ({words.prediction} {risk})" if words.is_chance and place != risk else place


def axis_words(text: str) -> str:
    """What an axis is called, not too long."""
    return as_shown(shortened([text], AXIS_LIMIT)[0])


def patient_called(patient: Any) -> str:
    """What a patient is called: ``patient 10``, or an id that says so itself."""
    text = short_names([patient], PATIENT_LIMIT)[0]
    return as_shown(f"patient {text}" if text.isdigit() else text)


def name_rows(ax: Axes, names: Names, shown: Sequence[int], turned: bool = True) -> None:
    """Name the rows of a figure by variables, the first on top where it is ``turned``."""
    ax.set_yticks(range(len(shown)), [names.variables[column] for column in shown])
    if turned:
        ax.set_ylim(max(len(shown), 1) - 0.5, -0.5)
