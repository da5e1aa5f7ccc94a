"""What figures call variables, values and the outcome: labels and units, short, and no two alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..inputs.kinds import Variable
from ..method.model_parts import Attribution
from ..outcomes import OUTCOMES, Words, words_of
from ..wording import LONGEST, one_line, shortened
from .style import minus

if TYPE_CHECKING:
    from ..explaining.explanation import Explanation
    from ..explaining.reported_values import MergedSet

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
