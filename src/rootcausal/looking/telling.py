"""What tells the outcome: columns that decide it, levels that only cases have, and absence that tells it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from ..asking.leaks import LEVEL_TELLS, NUMBER_TELLS
from ..core.table import Index
from ..inputs.kinds import MOST_LEVELS
from ..wording import one_line, plural
from .codes import not_known
from .counted import Counted, as_text
from .findings import Finding, by_number, columns_in_words, dropping
from .shape import FITTED, Shape

# One measurement that tells cases from controls so well (area under the ROC curve) is seldom a cause of the
# disease: mostly the disease is defined by it, or it was measured after. Below this the user decides: good
# measurements of a disease come near that.
DECIDES = 0.98
# Its absence alone: sensitivity and specificity of 90 % on average.
ABSENCE_TELLS = 0.9
# Chance of a word on a table in which no column has to do with the target.
FALSE_ALARM = 0.01
# Where "not known" is a word or a number in the cells: by so much more of them, or less, have the outcome.
UNKNOWN_TELLS = 0.1
LEAST_OF_A_CLASS = 5
# Of a level with fewer rows, all may be cases by chance, or because it is a strong cause.
LEAST_OF_A_LEVEL = 20


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
    least_z = _least_z(len(asked))
    found: dict[str, float] = {}
    for cells in asked:
        auc, n_cases, n_controls = _auc_of(cells, ill[sample], sample)
        least = NUMBER_TELLS if kinds[cells.name] == "number" else LEVEL_TELLS
        if auc >= least and auc_z(auc, n_cases, n_controls) >= least_z:
            found[cells.name] = auc
    return [
        *_deciding({name: auc for name, auc in found.items() if auc >= DECIDES}, True, who),
        *_deciding({name: auc for name, auc in found.items() if auc < DECIDES}, False, who),
    ]


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


def _auc_of(cells: Counted, ill: Index, sample: np.ndarray) -> tuple[float, int, int]:
    """Area under the ROC curve, whichever way round, of one column; and the rows that it is of."""
    if cells.form == "text":
        assert cells.codes is not None
        codes = cells.codes[sample]
        there = (codes >= 0) & (ill >= 0)
        scores = _rates(codes[there], ill[there])
    else:
        assert cells.numbers is not None
        values = cells.numbers[sample]
        there = ~np.isnan(values) & (ill >= 0)
        scores = values[there]
    auc = rank_auc(scores, ill[there])
    return max(auc, 1.0 - auc), int((ill[there] == 1).sum()), int((ill[there] == 0).sum())


def rank_auc(scores: np.ndarray, ill: Index) -> float:
    """How often a case (1) has the higher score than a control (0), ties half; 0.5 where a class is small."""
    n_cases = int(ill.sum())
    n_controls = ill.size - n_cases
    if min(n_cases, n_controls) < LEAST_OF_A_CLASS:
        return 0.5
    cases, controls = scores[ill == 1], np.sort(scores[ill == 0])
    below = np.searchsorted(controls, cases, "left") + np.searchsorted(controls, cases, "right")
    return float(below.sum()) / (2.0 * n_cases * n_controls)


def _rates(codes: Index, ill: Index) -> np.ndarray:
    """(n,) the share of cases among the rows of the other half with the same level: a level of one row tells
    nothing about itself. Halves are every second case and every second control.
    """
    half = np.empty(ill.size, dtype=np.intp)
    for label in (0, 1):
        rows = np.flatnonzero(ill == label)
        half[rows] = np.arange(rows.size) % 2
    base = float(ill.mean()) if ill.size else 0.5
    scores = np.empty(ill.size)
    for side in (0, 1):
        learned = half != side
        cases = np.bincount(codes[learned], ill[learned], minlength=MOST_LEVELS)
        rows = np.bincount(codes[learned], minlength=MOST_LEVELS)
        scores[~learned] = ((cases + base) / (rows + 1.0))[codes[~learned]]
    return scores


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
    least_z = _least_z(len(asked))
    found: dict[str, str] = {}
    partly: dict[str, str] = {}
    for cells in asked:
        gone = (cells.missing | coded[cells.name])[labelled]
        of_cases, of_controls = float(gone[y == 1].mean()), float(gone[y == 0].mean())
        auc = 0.5 + abs(of_cases - of_controls) / 2
        known = ~gone
        one_class = known.any() and y[known].min() == y[known].max()
        # All rows with a value are of one class: how likely is that by chance?
        share = max(n_cases, n_controls) / y.size if one_class else 1.0
        by_chance = int(known.sum()) * np.log(share) + np.log(2 * len(asked))
        if (auc >= ABSENCE_TELLS and auc_z(auc, n_cases, n_controls) >= least_z) or (
            one_class and by_chance < np.log(FALSE_ALARM)
        ):
            found[cells.name] = f"missing in {of_cases:.0%} of {who.ill} and {of_controls:.0%} of {who.well}"
        elif coded[cells.name].any():
            partly |= _partly_told(cells, coded[cells.name][labelled], y, least_z, who)
    return [*_absence_tells(found), *_unknown_tells(partly)]


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


def _absence_tells(found: dict[str, str]) -> list[Finding]:
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
            True,
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
    n_levels = sum(cells.n_different for cells in asked)
    # So many rows of a level are all cases by chance in one of all tables out of 1 / FALSE_ALARM.
    least = max(LEAST_OF_A_LEVEL, np.log(FALSE_ALARM / max(n_levels, 1)) / np.log(share))
    found: dict[str, str] = {}
    for cells in asked:
        assert cells.codes is not None
        there = (cells.codes >= 0) & (ill >= 0)
        rows = np.bincount(cells.codes[there], minlength=len(cells.different))
        cases = np.bincount(cells.codes[there & (ill == 1)], minlength=len(cells.different))
        only_cases = np.flatnonzero((rows == cases) & (rows >= least))
        if only_cases.size:
            level = int(only_cases[np.argmax(rows[only_cases])])
            found[cells.name] = (
                f"= {one_line(as_text(cells.different[level]), 30)}, {plural(int(rows[level]), 'row')}"
            )
    if not found:
        return []
    names = tuple(found)
    return [
        Finding(
            "part of the outcome",
            names,
            f"{columns_in_words(names, found.__getitem__)}: everybody with that level is {who.one_ill}. A "
            f"part of the outcome, or {who.outcome} before the study? Neither is a cause of it.",
            dropping(names),
            True,
        )
    ]
