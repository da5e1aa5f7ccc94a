"""Labels of the diagnosis: which of the two means disease.

One rule for all doors: what the user says; else what the labels say themselves. Where neither does, the
command line asks, and Python takes the second in order and warns.
"""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import InputError
from .wording import listed, plural, quoted

# Pairs of labels, (healthy, disease), that mean the same to everybody.
KNOWN_LABELS = (
    ("0", "1"),
    ("-1", "1"),
    ("false", "true"),
    ("no", "yes"),
    ("negative", "positive"),
    ("control", "case"),
    ("healthy", "sick"),
    ("healthy", "diseased"),
    ("unaffected", "affected"),
)


@dataclass(frozen=True)
class Disease:
    """Which label is the disease: the label itself, its text, and how many rows carry it."""

    label: Any
    text: str
    n_cases: int


def place_of_disease(labels: Iterable[Any]) -> int | None:
    """Which of two labels says itself that it is the disease: its place, or None where neither does."""
    folded = [_text(label).strip().casefold() for label in labels]
    return next(
        (folded.index(disease) for healthy, disease in KNOWN_LABELS if {healthy, disease} == set(folded)),
        None,
    )


def warn_of_choice(classes: Iterable[Any], how_to_choose: str, stacklevel: int) -> None:
    """Name the choice that was made for labels, the disease second, that do not say it themselves.

    In ``how_to_choose``, {0} and {1} stand for the labels.
    """
    if place_of_disease(classes) is None:
        first, second = (repr(label.item() if isinstance(label, np.generic) else label) for label in classes)
        warnings.warn(
            f"the labels {first} and {second} do not say which of them is the disease: {second} is taken for "
            f"it, since it comes second in order; {how_to_choose.format(first, second)}",
            UserWarning,
            stacklevel=stacklevel + 1,
        )


def _text(label: Any) -> str:
    """A label as it is written in a file: true, 1, yes."""
    if isinstance(label, bool | np.bool_):
        return str(label).lower()
    return (
        f"{label:.0f}" if isinstance(label, float | np.floating) and float(label).is_integer() else str(label)
    )


def one_spelling(labels: Iterable[str]) -> dict[str, str | None]:
    """What each label counts as: without blanks around it, "Yes" as "yes", and words for missing as None."""
    from pyarrow import csv as arrow_csv

    words_for_missing = set(arrow_csv.ConvertOptions().null_values)
    stripped = {label: label.strip() for label in set(labels)}
    folded = {text.casefold() for text in stripped.values() if text not in words_for_missing}
    known = any(folded <= set(pair) for pair in KNOWN_LABELS)
    return {
        label: None if text in words_for_missing else text.casefold() if known else text
        for label, text in stripped.items()
    }


def choose_disease(labels: npt.NDArray[Any], target: str, positive: str | None) -> Disease:
    """Decide which of the two labels is the disease; labels that do not say so themselves need `positive`."""
    unique, counts = np.unique(labels, return_counts=True)
    return choose_counted(unique, counts, target, positive)


def choose_counted(
    unique: npt.NDArray[Any], counts: npt.NDArray[Any], target: str, positive: str | None
) -> Disease:
    """The same, given each label once, with its rows counted."""
    texts = [_text(label) for label in unique]
    named = [
        f"{quoted(text, 30)} ({plural(int(count), 'row')})" for text, count in zip(texts, counts, strict=True)
    ]
    if len(unique) != 2:
        found = (
            f"only one label, {named[0]}" if len(unique) == 1 else f"{len(unique)} labels: {listed(named)}"
        )
        raise InputError(f"the target {quoted(target)} must hold two labels, but it holds {found}.")
    if positive is None:
        place = place_of_disease(unique)
        if place is None:
            raise InputError(
                f"the target {quoted(target)} holds {named[0]} and {named[1]}: "
                "say which one is the disease with --positive LABEL."
            )
        wanted = texts[place]
    else:
        wanted = positive if positive in texts else positive.strip().casefold()
    matches = [k for k in range(2) if texts[k] == wanted]
    if not matches:
        raise InputError(
            f"--positive {quoted(positive)} is not a label of {quoted(target)}, "
            f"which holds {named[0]} and {named[1]}."
        )
    return Disease(label=unique[matches[0]].item(), text=texts[matches[0]], n_cases=int(counts[matches[0]]))
