"""Labels of the diagnosis: which of the two means disease."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import InputError
from .wording import listed, plural, quoted

# Pairs of labels, (healthy, disease), that mean the same to everybody.
KNOWN_LABELS = (("0", "1"), ("false", "true"), ("no", "yes"))


@dataclass(frozen=True)
class Disease:
    """Which label is the disease: the label itself, its text, and how many rows carry it."""

    label: Any
    text: str
    n_cases: int


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
    texts = [str(label).lower() if unique.dtype.kind == "b" else str(label) for label in unique]
    named = [
        f"{quoted(text, 30)} ({plural(int(count), 'row')})" for text, count in zip(texts, counts, strict=True)
    ]
    if len(unique) != 2:
        found = (
            f"only one label, {named[0]}" if len(unique) == 1 else f"{len(unique)} labels: {listed(named)}"
        )
        raise InputError(f"the target {quoted(target)} must hold two labels, but it holds {found}.")
    if positive is None:
        known = [pair for pair in KNOWN_LABELS if set(pair) == set(texts)]
        if not known:
            raise InputError(
                f"the target {quoted(target)} holds {named[0]} and {named[1]}: "
                "say which one is the disease with --positive LABEL."
            )
        wanted = known[0][1]
    else:
        wanted = positive if positive in texts else positive.strip().casefold()
    matches = [k for k in range(2) if texts[k] == wanted]
    if not matches:
        raise InputError(
            f"--positive {quoted(positive)} is not a label of {quoted(target)}, "
            f"which holds {named[0]} and {named[1]}."
        )
    return Disease(label=unique[matches[0]].item(), text=texts[matches[0]], n_cases=int(counts[matches[0]]))
