"""Words in cells that everybody reads alike: yes and no."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

# Pairs of labels, (healthy, disease), that mean the same to everybody; some tables name the code beside it.
KNOWN_LABELS = (
    ("0", "1"),
    ("-1", "1"),
    ("false", "true"),
    ("no", "yes"),
    ("n", "y"),
    ("negative", "positive"),
    ("neg", "pos"),
    ("absent", "present"),
    ("benign", "malignant"),
    ("alive", "dead"),
    ("alive", "died"),
    ("alive", "deceased"),
    ("living", "deceased"),
    ("0:living", "1:deceased"),
    ("censored", "dead"),
    ("censored", "died"),
    ("censored", "deceased"),
    ("censored", "event"),
    ("control", "case"),
    ("healthy", "sick"),
    ("healthy", "diseased"),
    ("unaffected", "affected"),
)


def place_of_disease(labels: Iterable[Any]) -> int | None:
    """Which of two labels says itself that it is the disease: its place, or None where neither does."""
    folded = [text_of(label).strip().casefold() for label in labels]
    return next(
        (folded.index(disease) for healthy, disease in KNOWN_LABELS if {healthy, disease} == set(folded)),
        None,
    )


def text_of(label: Any) -> str:
    """A label or level as it is written in a file: true, 1, yes."""
    if isinstance(label, bool | np.bool_):
        return str(label).lower()
    return (
        f"{label:.0f}" if isinstance(label, float | np.floating) and float(label).is_integer() else str(label)
    )
