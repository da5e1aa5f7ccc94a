"""How figures look: the colours of the page, minus signs, whiskers with caps, bars that explain colours."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, MissingExtraError
from ..inputs.kinds import Variable
from ..method.model_parts import Attribution
from ..method.table import F64
from ..outcomes import OUTCOMES, Words, words_of
from ..wording import LONGEST, one_line, short_names, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

    from ..explaining.explanation import Explanation
    from ..explaining.shown import MergedSet


# Those of the page, in the light (report/templates/page.css); one meaning each.
HARMFUL, HARMFUL_LIGHT, PROTECTIVE, ADJUSTED = "#c2500a", "#f3c6a0", "#2a6fb0", "#8a8a8a"
NEUTRAL, INK = "#eceef1", "#1b2430"
# From low to high measured values: neither of the colours that say what raises and what lowers.
LOW_VALUE, HIGH_VALUE = "#cfc3e8", "#4a2a86"
CAP_POINTS = 7
NUMBER_AFTER_HYPHEN = re.compile(r"(?<![\w.])-(?=[\d.])")
ALL_ZERO = re.compile(r"[+−]?0(\.0+)?")


def new_axes(ax: Axes | None, height: float, width: float = 7.0) -> Axes:
    """The axes given, or those of a new figure of this height and width, in inches."""
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("figures need matplotlib: pip install 'rootcausal[plots]'") from error
    # Not by pyplot: a figure that pyplot knows would never be freed by a script that draws thousands.
    return Figure(figsize=(width, height), layout="constrained").subplots()


def colour_of(value: float) -> str:
    """The colour of a shock that adds this."""
    return HARMFUL if value > 0 else PROTECTIVE


def diverging() -> Colormap:
    """Lowers, nothing, raises."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("shock", [PROTECTIVE, NEUTRAL, HARMFUL])


def low_to_high() -> Colormap:
    """From low to high values; its lightness only falls."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("value", [LOW_VALUE, HIGH_VALUE])


def minus(text: str) -> str:
    """The text with minus signs before its numbers in place of hyphens; nothing has no sign."""
    signed = NUMBER_AFTER_HYPHEN.sub("−", text)
    return signed.lstrip("+−") if ALL_ZERO.fullmatch(signed) else signed


def whisker(ax: Axes, xs: Any, ys: Any, flat: bool = True) -> None:
    """An interval: a line with a cap at both ends, level or upright."""
    marker = "|" if flat else "_"
    ax.plot(xs, ys, color=INK, linewidth=1.2, marker=marker, markersize=CAP_POINTS, markeredgewidth=1.2)


def value_bar(ax: Axes) -> None:
    """Explain the colours of measured values: low, high."""
    from matplotlib.cm import ScalarMappable

    bar = ax.figure.colorbar(ScalarMappable(cmap=low_to_high()), ax=ax, aspect=30, pad=0.02)
    bar.set_ticks([0.0, 1.0], labels=["low", "high"])
    bar.ax.tick_params(length=0)
    bar.set_label("measured value, by rank", labelpad=-12)
    bar.outline.set_visible(False)


def strongest(values: F64) -> float:
    """Where the colours of a heat map end: few values beyond it must not make all others pale."""
    import numpy as np

    return float(np.quantile(np.abs(values), 0.98)) or float(np.abs(values).max()) or 1.0


# What figures call variables, values and the outcome: labels and units, short, and no two alike.

NAME_LIMIT, VALUE_LIMIT = 30, 30


@dataclass(frozen=True)
class Names:
    """What a figure calls things.

    Attributes
    ----------
    variables : (p + s,) texts that matplotlib shows as they are, no two alike; after variables come sets of
        them that are read as one, where there are any.
    units : (p + s,) what stands behind values; empty where there is none.
    words : of the outcome.
    """

    variables: tuple[str, ...]
    units: tuple[str, ...]
    words: Words

    @classmethod
    def of(
        cls,
        columns: Sequence[str],
        attribution: Attribution,
        provenance: Mapping[str, Any],
        labels: Mapping[str, str] | None,
        units: Mapping[str, str] | None,
        target: str | None,
    ) -> Names:
        """Names of these columns, and of the outcome that the model's ``attribution`` is about.

        ``provenance`` says what a file called it, and its unit: so it is called where nobody says more.
        """
        reading, units = provenance.get("reading", {}), _texts(units, "units")
        target = reading.get("called") if target is None else target
        of_outcome = units.get(OUTCOMES[attribution.outcome].unit_name(target) or "")
        return cls(
            tuple(names_shown(columns, labels)),
            tuple(one_line(units.get(str(column), "")) for column in columns),
            words_of(attribution, target, reading.get("unit", "") if of_outcome is None else of_outcome),
        )

    def value(self, explanation: Explanation, row: int, column: int) -> str:
        """One patient's value: ``12.6 mg/dl``, ``male``; of a set, all; expected ones are said to be so."""
        if column >= len(explanation.variables):
            places = explanation.sets[column - len(explanation.variables)].places
            return ", ".join(self.value(explanation, row, place) for place in places)
        text = one_line(explanation.text(row, column), LONGEST)
        if not explanation.variables[column].levels:
            text = f"{minus(text)} {self.units[column]}".rstrip()
        text = as_shown(shortened([text], VALUE_LIMIT)[0])
        if not explanation.imputed[row, column]:
            return text
        return f"{text} (expected, {explanation.limit(row, column) or 'not'} measured)"


def names_shown(columns: Sequence[str], labels: Mapping[str, str] | None) -> list[str]:
    """What columns are called; those whose labels are the same keep their own names beside them."""
    known = _texts(labels, "labels")
    called = [one_line(known.get(str(column)) or column, LONGEST) for column in columns]
    times = Counter(called)
    different = [
        text if times[text] == 1 else f"{text} ({one_line(column, LONGEST)})"
        for text, column in zip(called, columns, strict=True)
    ]
    return list(map(as_shown, shortened(different, NAME_LIMIT)))


def with_labels(
    variables: Sequence[Variable], labels: Mapping[str, str] | None, sets: Sequence[MergedSet] = ()
) -> Mapping[str, str] | None:
    """What a figure is told to call columns, and else what the model calls them; sets by their members."""
    known = {one.name: one.label for one in variables if one.label} | _texts(labels, "labels")
    joint = {one.name: " + ".join(known.get(member, member) for member in one.members) for one in sets}
    return joint | known


def with_units(variables: Sequence[Variable], units: Mapping[str, str] | None) -> Mapping[str, str] | None:
    """The units that a figure is told, and else those that the model knows."""
    known = {one.name: one.unit for one in variables if one.unit}
    return {**known, **_texts(units, "units")}


def as_shown(text: str) -> str:
    """The text as matplotlib is to be told it: a dollar sign would start a formula."""
    return text.replace("$", r"\$")


def _texts(given: Mapping[str, str] | None, option: str) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        kind = type(given).__name__
        raise InputError(f"{option} must be a dict from variables to their {option}, not {kind}")
    return {str(name): str(text) for name, text in given.items() if text is not None}


# What axes of figures say: the outcome's scale, patients, and the names of rows.

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
