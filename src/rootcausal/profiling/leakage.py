"""What may come after the outcome: by the names of columns, by their levels, or by what they go with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, rankdata

from ..core.table import Index
from ..inputs.itself import outcome_again
from ..inputs.kinds import MOST_LEVELS
from ..name_hints.columns import near, says_year
from ..name_hints.endpoints import (
    counterparts,
    ends_beside,
    level_says_end,
    says_accrued,
    says_diagnosis,
    says_end,
    says_whether,
    time_of,
)
from ..name_hints.visits import measured_later
from ..screening.auc import auc_of
from ..screening.leakage import LIMITS, by_absence, by_absence_of_number, by_levels, by_values, share_equal
from ..wording import one_line, plural, quoted
from .column_types import FITTED, Shape
from .counts import Counted, as_text
from .duplicates import is_cut
from .findings import Finding, by_number, columns_in_words, dropping, measured_after
from .missing_codes import not_known

ROWS_TO_CORRELATE = 20
# Ranks of more rows would not say more.
ROWS_RANKED = 2000
CALENDAR = (1900, 2100)
# A time within follow-up is longer than that in hardly anybody.
OFTEN_LONGER = 0.2
TIME_OF_DAY = re.compile(r"\d{1,2}[:.h]\d\d(:\d\d(\.\d+)?)?( ?[AaPp]\.?[Mm]\.?)?")
# Chance of a word on a table in which no column has to do with the target.
FALSE_ALARM = 0.01
# Where "not known" is a word or a number in the cells: by so much more of them, or less, have the outcome.
UNKNOWN_TELLS = 0.1
LEAST_OF_A_CLASS = 5


def find_itself(
    columns: Sequence[Counted], kinds: dict[str, Shape], outcome: Counted, *, linear: bool
) -> list[Finding]:
    """Columns that are the ``outcome``, a number, again: a fit refuses them, or would call them its causes.

    With ``linear`` a fit refuses linear images only.
    """
    if outcome.numbers is None:
        return []
    asked = [c for c in columns if kinds[c.name] in FITTED]
    numbers = [(c.name, c.numbers) for c in asked if c.numbers is not None]
    values = [of for _, of in numbers]
    ways = (True, False) if linear else (False,)
    again = {numbers[c][0] for way in ways for c in outcome_again(outcome.numbers, values, linear=way)}
    cut = {
        c.name
        for c in asked
        if linear and c.name not in again and c.codes is not None
        if c.n_observed >= ROWS_TO_CORRELATE and is_cut(c.codes, outcome.numbers)
    }
    found = []
    for some, how in (
        (again, "as it is, in another unit or on another scale"),
        (cut, "cut into levels: its ranges do not overlap"),
    ):
        names = tuple(c.name for c in asked if c.name in some)
        if names:
            sentence = (
                f"{columns_in_words(names)} {by_number(names, 'is', 'are')} {quoted(outcome.name)} itself, "
                f"{how}. The outcome is no cause of itself."
            )
            found.append(Finding("the outcome itself", names, sentence, measured_after(names), True))
    return found


def find_after(
    columns: Sequence[Counted],
    kinds: dict[str, Shape],
    target: str,
    sample: Index,
    time: Counted | None = None,
) -> list[Finding]:
    """Columns that may come after the outcome, or be another form of it; numbers are ranked in ``sample``.

    ``time`` is how long patients were followed, where that is part of the outcome.
    """
    asked = [c for c in columns if kinds[c.name] in FITTED and c.name != target]
    names = [cells.name for cells in asked]
    beside = ends_beside([*names, target])
    diagnoses = tuple(name for name in names if says_diagnosis(name) and name not in beside)
    ends = [c.name for c in asked if c.name in beside or (_is_after(c) and c.name not in diagnoses)]
    before = _before_follow_up([c for c in asked if c.name in ends and c.name not in beside], asked, time)
    ends = [name for name in ends if name not in before]
    like_ends = counterparts(ends, [name for name in names if name not in ends])
    after = tuple(name for name in names if name in (*ends, *like_ends))
    later = measured_later([*names, target], target if time is None else None)
    later = tuple(name for name in later if name not in (*after, target))
    alike = tuple(name for name in names if name not in (*after, *later, *diagnoses) and near(name, target))
    found = [
        *_after(after),
        *_later(later, target, time),
        *_longer(before, time),
        *_diagnoses(diagnoses),
        *_with_follow_up(asked, (*after, *later), sample, time),
    ]
    said = {name for one in found for name in one.columns}
    if alike:
        found.append(
            Finding(
                "named like the target",
                alike,
                f"{columns_in_words(alike)} {by_number(alike, 'is', 'are')} named like the target "
                f"{quoted(target)}: the same thing in another form? Then leave "
                f"{by_number(alike, 'it', 'them')} out.",
                dropping(alike),
            )
        )
    return found + _years([one for one in asked if one.name not in said], time is not None)


def _after(names: tuple[str, ...]) -> list[Finding]:
    if not names:
        return []
    sentence = (
        f"{columns_in_words(names)} by name or levels may come after the outcome, or be it: what is known "
        "only then is no cause. Keep what was known before."
    )
    return [Finding("after the outcome", names, sentence, measured_after(names), True)]


def _later(names: tuple[str, ...], target: str, time: Counted | None) -> list[Finding]:
    """Columns of later visits: than that of the target, or than the start of follow-up."""
    if not names:
        return []
    than = f"after {quoted(target)}" if time is None else "after the first visit, where follow-up begins"
    why = (
        ""
        if time is None
        else " Who had the event early, or was lost, has none of it; if patients are "
        "followed from a later visit, keep what was known by then."
    )
    sentence = (
        f"{columns_in_words(names)} by {by_number(names, 'its name was', 'their names were')} measured "
        f"{than}: what comes later is no cause.{why}"
    )
    return [Finding("measured later", names, sentence, measured_after(names), True)]


def _before_follow_up(
    ends: Sequence[Counted], columns: Sequence[Counted], time: Counted | None
) -> dict[str, float]:
    """Times whose event no column says, longer than follow-up in this share of patients: past, perhaps."""
    if time is None or time.numbers is None:
        return {}
    found = {}
    for cells in ends:
        whether = any(says_whether(cells.name, other.name) for other in columns)
        if cells.numbers is None or not time_of(cells.name) or whether:
            continue
        both = ~np.isnan(cells.numbers) & ~np.isnan(time.numbers)
        longer = float((cells.numbers[both] > time.numbers[both]).mean()) if both.any() else 0.0
        if longer >= OFTEN_LONGER:
            found[cells.name] = longer
    return found


def _longer(before: dict[str, float], time: Counted | None) -> list[Finding]:
    if not before or time is None:
        return []
    names = tuple(before)
    shown = columns_in_words(
        names, lambda name: f"longer than {quoted(time.name)} in {before[name]:.0%} of patients"
    )
    sentence = (
        f"{shown} {by_number(names, 'is', 'are')} named like a time to an end, and no column says whether it "
        "ended with one: was it over before follow-up began, or did it come after? In the second case leave "
        f"{by_number(names, 'it', 'them')} out."
    )
    return [Finding("before or after", names, sentence, measured_after(names))]


def _diagnoses(names: tuple[str, ...]) -> list[Finding]:
    if not names:
        return []
    sentence = (
        f"{columns_in_words(names)} {by_number(names, 'is', 'are')} named as a diagnosis: why patients came, "
        f"or what they turned out to have? In the second case leave {by_number(names, 'it', 'them')} out."
    )
    return [Finding("diagnosis", names, sentence, measured_after(names))]


def _is_after(cells: Counted) -> bool:
    levels = (
        [str(value) for value in cells.different] if cells.form == "text" and cells.codes is not None else []
    )
    if levels and all(map(TIME_OF_DAY.fullmatch, levels)):
        return False
    return says_end(cells.name) or any(map(level_says_end, levels))


def _with_follow_up(
    columns: Sequence[Counted], after: tuple[str, ...], sample: Index, time: Counted | None
) -> list[Finding]:
    """Numbers that nearly have the ranks of a time that is known only in the end, or often are that time.

    What says whether such a time ended with an event goes with it.
    """
    sample = sample[:: -(-max(sample.size, 1) // ROWS_RANKED)]
    numbers = {c.name: c.numbers for c in columns if c.numbers is not None and c.n_different > MOST_LEVELS}
    times = {name: values[sample] for name, values in numbers.items() if name in after}
    if time is not None and time.numbers is not None:
        times[time.name] = time.numbers[sample]
    found: dict[str, str] = {}
    for name, values in numbers.items() if times else ():
        if name in after:
            continue
        r, with_time = max((abs(_rank_correlation(values[sample], t)), time) for time, t in times.items())
        equal, to_time = max((share_equal(values[sample], t), time) for time, t in times.items())
        if r >= LIMITS["follow-up"].doubtful:
            found[name] = f"rank correlation {r:.2f} with {quoted(with_time)}"
        elif equal:
            found[name] = f"exactly {quoted(to_time)} in {equal:.0%} of rows"
    for cells in columns:
        of_times = (one for one in (*times, *found) if says_whether(one, cells.name))
        its_time = None if cells.n_different > MOST_LEVELS or cells.name in after else next(of_times, None)
        if its_time is not None:
            found[cells.name] = f"says whether {quoted(its_time)} ended with an event"
    accrued = _accrued({n: v for n, v in numbers.items() if n not in (*after, *found)}, times, sample)
    if not found:
        return accrued
    names = tuple(found)
    sentence = (
        f"{columns_in_words(names, found.__getitem__)} {by_number(names, 'goes', 'go')} with what may come "
        f"after the outcome, so {by_number(names, 'it', 'they')} may too."
    )
    return [Finding("goes with follow-up", names, sentence, measured_after(names), True), *accrued]


def _accrued(numbers: dict[str, np.ndarray], times: dict[str, np.ndarray], sample: Index) -> list[Finding]:
    """Numbers that go closely with what grew until the end, as an average over a stay does with its cost."""
    grown = [name for name in times if says_accrued(name)]
    found: dict[str, str] = {}
    for name, values in numbers.items() if grown else ():
        r, of = max((abs(_rank_correlation(values[sample], times[one])), one) for one in grown)
        if r >= LIMITS["accrued"].doubtful:
            found[name] = f"rank correlation {r:.2f} with {quoted(of)}"
    if not found:
        return []
    names = tuple(found)
    sentence = (
        f"{columns_in_words(names, found.__getitem__)}: recorded at the start, or over the whole stay? In "
        f"the second case leave {by_number(names, 'it', 'them')} out."
    )
    return [Finding("goes with the stay", names, sentence, measured_after(names))]


def _rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's, in the rows that have both; 0 where they are few or one of them is the same in all."""
    both = ~np.isnan(first) & ~np.isnan(second)
    if int(both.sum()) < ROWS_TO_CORRELATE:
        return 0.0
    a, b = (ranks - ranks.mean() for ranks in (rankdata(first[both]), rankdata(second[both])))
    length = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / length if length else 0.0


def _years(columns: Sequence[Counted], timed: bool) -> list[Finding]:
    low, high = CALENDAR
    names = tuple(
        cells.name
        for cells in columns
        if cells.whole
        and says_year(cells.name)
        and cells.n_different > 1
        and low <= cells.different[0]
        and cells.different[-1] <= high
    )
    if not names:
        return []
    said = f"{columns_in_words(names)} {by_number(names, 'is a calendar year', 'are calendar years')}: "
    if timed:
        # Who came early was watched for longer, which does not matter where the outcome says how long.
        sentence = (
            f"{said}what changed over the years, such as care, is no shock of a patient. As "
            f"{by_number(names, 'a covariate, it is', 'covariates, they are')} in the risk, and never a root "
            "cause."
        )
        return [Finding("calendar year", names, sentence, tuple(("--covariate", name) for name in names))]
    sentence = (
        f"{said}a calendar year goes with follow-up time, since who came early was watched for longer. With "
        "an outcome at a fixed time it may stay."
    )
    return [Finding("calendar year", names, sentence, dropping(names))]


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
