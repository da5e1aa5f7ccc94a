"""What tells the outcome: columns that decide it, levels that only cases have, and absence that tells it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from ..core.table import Index
from ..screening.auc import auc_of
from ..screening.leakage import LIMITS, by_absence, by_absence_of_number, by_levels, by_values
from ..wording import one_line, plural, quoted
from .codes import not_known
from .counted import Counted, as_text
from .findings import Finding, by_number, columns_in_words, dropping, measured_after
from .shape import FITTED, Shape

# Chance of a word on a table in which no column has to do with the target.
FALSE_ALARM = 0.01
# Where "not known" is a word or a number in the cells: by so much more of them, or less, have the outcome.
UNKNOWN_TELLS = 0.1
LEAST_OF_A_CLASS = 5


@dataclass(frozen=True)
class Who:
    """What to call those with the outcome and those without, all of them and one, and the outcome itself."""

    ill: str
    well: str
    one_ill: str
    outcome: str


CASES = Who("cases", "controls", "a case", "the disease")
EVENTS = Who("patients with the event", "others", "one with the event", "the event")


def find_deciding(
    columns: Sequence[Counted],
    kinds: dict[str, Shape],
    ill: Index,
    sample: np.ndarray,
    who: Who = CASES,
) -> list[Finding]:
    """Columns that all by themselves nearly decide the outcome ``ill`` (n,), in the rows ``sample``."""
    asked = [cells for cells in columns if kinds[cells.name] in FITTED]
    sample = sample[ill[sample] >= 0]
    y = ill[sample]
    found, counts = np.full(len(asked), 0.5), np.zeros((2, len(asked)), dtype=np.intp)
    for place, cells in enumerate(asked):
        cells_of = cells.codes if cells.form == "text" else cells.numbers
        assert cells_of is not None
        values = cells_of[sample]
        there = values >= 0 if cells.form == "text" else ~np.isnan(values)
        kind = kinds[cells.name]
        if cells.form == "text" and kind != "binary":
            kind = "nominal"  # the codes of texts are in no order
        counts[:, place] = np.bincount(y[there], minlength=2)
        found[place] = auc_of(values[there].astype(float), y[there], kind)
    leaks = by_values(found, counts, np.array([kinds[cells.name] != "number" for cells in asked], dtype=bool))
    by_grade = {
        grade: {asked[leak.column].name: leak.size for leak in leaks if leak.grade == grade}
        for grade in ("broken", "doubtful")
    }
    return [*_deciding(by_grade["broken"], True, who), *_deciding(by_grade["doubtful"], False, who)]


def _deciding(found: dict[str, float], sure: bool, who: Who) -> list[Finding]:
    if not found:
        return []
    names = tuple(found)
    last = (
        "What decides it is no cause of it."
        if sure
        else f"Then leave {by_number(names, 'it', 'them')} out; a good measurement may stay."
    )
    return [
        Finding(
            "decides" if sure else "nearly decides",
            names,
            f"{columns_in_words(names, lambda name: f'AUC {found[name]:.3f}')} "
            f"{by_number(names, 'tells', 'tell')} {who.ill} from {who.well} nearly alone: part of the "
            f"definition of {who.outcome}, or an effect of it? {last}",
            dropping(names),
            sure,
        )
    ]


def auc_z(auc: float, n_cases: int, n_controls: int) -> float:
    """How far an area is from 0.5, in the standard errors that it has by chance."""
    if not n_cases or not n_controls:
        return 0.0
    return (auc - 0.5) / float(np.sqrt((n_cases + n_controls + 1) / (12.0 * n_cases * n_controls)))


def _least_z(n_columns: int) -> float:
    """How far an area must be from 0.5, in standard errors, to be no chance finding among so many columns."""
    return float(norm.isf(FALSE_ALARM / (2 * max(n_columns, 1))))


def find_telling_absence(
    columns: Sequence[Counted], kinds: dict[str, Shape], ill: Index, who: Who = CASES
) -> list[Finding]:
    """Columns of which it tells the outcome ``ill`` (n,) that they are missing, or that they are there."""
    labelled = ill >= 0
    y = ill[labelled]
    n_cases = int(y.sum())
    n_controls = y.size - n_cases
    if min(n_cases, n_controls) < LEAST_OF_A_CLASS:
        return []
    asked = [cells for cells in columns if kinds[cells.name] in (*FITTED, "constant")]
    coded = {cells.name: not_known(cells) for cells in asked}
    asked = [cells for cells in asked if cells.n_missing or cells.strange or coded[cells.name].any()]
    gone = [(cells.missing | coded[cells.name])[labelled] for cells in asked]
    sizes = np.array([n_controls, n_cases])
    absent = np.array([[of[y == label].sum() for of in gone] for label in (0, 1)]).reshape(2, len(asked))
    found: dict[bool, dict[str, str]] = {True: {}, False: {}}
    for leak in by_absence(absent, sizes):
        of_controls, of_cases = (absent[:, leak.column] / sizes).tolist()
        found[leak.grade == "broken"][asked[leak.column].name] = (
            f"missing in {of_cases:.0%} of {who.ill} and {of_controls:.0%} of {who.well}"
        )
    partly: dict[str, str] = {}
    for cells in asked:
        if coded[cells.name].any() and not any(cells.name in some for some in found.values()):
            partly |= _partly_told(cells, coded[cells.name][labelled], y, _least_z(len(asked)), who)
    return [*_absence_tells(found[True], True), *_absence_tells(found[False], False), *_unknown_tells(partly)]


def find_absence_with(
    columns: Sequence[Counted], kinds: dict[str, Shape], amount: Counted, limit: str
) -> list[Finding]:
    """Columns of which it goes with a number, such as the time of follow-up, that they are missing."""
    asked = [c for c in columns if kinds[c.name] in FITTED and c.n_missing]
    if amount.numbers is None or not asked:
        return []
    there = ~np.isnan(amount.numbers)
    missing = np.stack([cells.missing | not_known(cells) for cells in asked], axis=1)[there]
    found: dict[str, str] = {}
    for leak in by_absence_of_number(amount.numbers[there], missing, LIMITS[limit]):
        less = leak.size < 0.5
        pairs = f"{max(leak.size, 1.0 - leak.size):.0%} of pairs"
        found[asked[leak.column].name] = (
            f"who lacks it has the {'lower' if less else 'higher'} {quoted(amount.name)} in {pairs}"
        )
    if not found:
        return []
    names = tuple(found)
    sentence = (
        f"{columns_in_words(names, found.__getitem__)}: whether a value is there goes with "
        f"{quoted(amount.name)}, as of what was measured only in those who were still there. No filling in "
        f"mends that: leave {by_number(names, 'it', 'them')} out, if so."
    )
    return [Finding("absence goes with", names, sentence, measured_after(names))]


def _partly_told(cells: Counted, coded: np.ndarray, y: Index, least_z: float, who: Who) -> dict[str, str]:
    """What to say of a column in which "not known" goes with the outcome ``y``, if it does."""
    n_coded = int(coded.sum())
    if min(n_coded, y.size - n_coded) < LEAST_OF_A_CLASS:
        return {}
    here, elsewhere, overall = (float(some.mean()) for some in (y[coded], y[~coded], y))
    error = float(np.sqrt(overall * (1 - overall) * (1 / n_coded + 1 / (y.size - n_coded))))
    if abs(here - elsewhere) < max(UNKNOWN_TELLS, least_z * error):
        return {}
    rows = plural(n_coded, "row")
    return {cells.name: f"not known in {rows}, {here:.0%} of them {who.ill}; of others {elsewhere:.0%}"}


def _unknown_tells(found: dict[str, str]) -> list[Finding]:
    if not found:
        return []
    names = tuple(found)
    sentence = (
        f"{columns_in_words(names, found.__getitem__)}: that it is not known goes with the outcome, as "
        "where the very ill cannot be asked. As a level it would be named as a cause, and taken for missing "
        f"it is not missing at random: leave {by_number(names, 'it', 'them')} out, or read "
        f"{by_number(names, 'it', 'them')} with this in mind."
    )
    return [Finding("not known tells", names, sentence, dropping(names))]


def _absence_tells(found: dict[str, str], sure: bool) -> list[Finding]:
    if not found:
        return []
    names = tuple(found)
    return [
        Finding(
            "absence tells",
            names,
            f"{columns_in_words(names, found.__getitem__)}: whether a value is there tells the outcome, so "
            f"it was recorded because of it. Leave {by_number(names, 'it', 'them')} out.",
            dropping(names),
            sure,
        )
    ]


def find_parts(
    columns: Sequence[Counted], kinds: dict[str, Shape], ill: Index, who: Who = CASES
) -> list[Finding]:
    """Columns with a level in which everybody is a case, of ``ill`` (n,): a kind of the disease, perhaps."""
    asked = [c for c in columns if kinds[c.name] in ("binary", "nominal") and c.codes is not None]
    share = float((ill == 1).sum()) / max(int((ill >= 0).sum()), 1)
    if not 0 < share < 1:
        return []
    counts = []
    for cells in asked:
        assert cells.codes is not None
        there = (cells.codes >= 0) & (ill >= 0)
        codes, n_levels = cells.codes, len(cells.different)
        rows, cases = (np.bincount(codes[of], minlength=n_levels) for of in (there, there & (ill == 1)))
        counts.append((rows, cases))
    found: dict[str, str] = {}
    for leak in by_levels(counts, share):
        n_rows, n_cases = (int(of[leak.level]) for of in counts[leak.column])
        of_level = plural(n_rows, "row") if n_cases == n_rows else f"{n_cases:,} of {plural(n_rows, 'row')}"
        cells = asked[leak.column]
        found[cells.name] = f"= {one_line(as_text(cells.different[leak.level]), 30)}, {of_level}"
    if not found:
        return []
    names = tuple(found)
    return [
        Finding(
            "part of the outcome",
            names,
            f"{columns_in_words(names, found.__getitem__)}: next to everybody with that level is "
            f"{who.one_ill}. A part of the outcome, or {who.outcome} before the study? "
            "Neither is a cause of it.",
            dropping(names),
            True,
        )
    ]
