"""Values that no patient can have, by names that mean one thing only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..asking.words import tokens, words
from ..wording import amount, plural
from .counted import Counted
from .findings import Finding, by_number, columns_in_words

# A whole name, without what may stand beside it, and the range in which living patients are.
_RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("age", "ageyears", "ageyrs", "patientage"), (0, 125)),
    **dict.fromkeys(
        ("sbp", "sysbp", "systolic", "systolicbp", "systolicbloodpressure", "bpsys", "aphi"), (30, 330)
    ),
    **dict.fromkeys(
        ("dbp", "diabp", "diastolic", "diastolicbp", "diastolicbloodpressure", "bpdia", "aplo"), (10, 220)
    ),
    **dict.fromkeys(("bp", "bloodpressure", "trestbps", "restbp", "map"), (10, 330)),
    **dict.fromkeys(("heartrate", "pulse", "hr", "heartrte", "pulserate"), (10, 350)),
    **dict.fromkeys(("bmi", "bodymassindex"), (7, 130)),
    **dict.fromkeys(("spo2", "sao2", "oxygensaturation", "lvef", "ejectionfraction"), (0, 100)),
}
_BESIDE = words(
    "at baseline bl admission entry visit exam diagnosis dx patient in years yrs mmhg rest resting"
)
# Where more are outside, the column is in another unit, such as an age in days.
_MOST_OUTSIDE = 0.05


def find_implausible(columns: Sequence[Counted]) -> list[Finding]:
    """Columns with a few values that nobody can have."""
    found = {cells.name: said for cells in columns if (said := _outside(cells))}
    if not found:
        return []
    names = tuple(found)
    sentence = (
        f"{columns_in_words(names, found.__getitem__)} {by_number(names, 'holds', 'hold')} values that no "
        "patient can have in the usual unit: correct them in the file, or take them out. A single one can "
        "bend what is learned."
    )
    return [Finding("implausible", names, sentence)]


def _outside(cells: Counted) -> str:
    """What is outside, in words; empty where nothing is."""
    if cells.numbers is None or cells.n_observed == 0:
        return ""
    name = "".join(word for word in tokens(cells.name) if word not in _BESIDE)
    if name not in _RANGES:
        return ""
    low, high = _RANGES[name]
    known = cells.numbers[~np.isnan(cells.numbers)]
    outside = known[(known < low) | (known > high)]
    if not outside.size or outside.size > _MOST_OUTSIDE * known.size:
        return ""
    some = " and ".join(dict.fromkeys(amount(float(x)) for x in (outside.min(), outside.max())))
    return f"{plural(outside.size, 'cell')} such as {some}, outside {amount(low)} to {amount(high)}"
