"""What may come after the outcome: by the names of columns, by their levels, or by what they go with."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass
from itertools import chain

import numpy as np
from scipy.stats import rankdata

from ..inputs.kinds import MOST_LEVELS
from ..method.table import Index
from ..name_hints.columns import (
    are_years,
    counterparts,
    ends_beside,
    level_says_end,
    near,
    of_another_event,
    of_series,
    says_accrued,
    says_diagnosis,
    says_during,
    says_end,
    says_whether,
    says_year,
    time_of,
)
from ..name_hints.visits import measured_later, visits_from
from ..screening.auc import auc_of
from ..screening.duplicates import ROWS_A_LEVEL, is_cut, outcome_again, parts_of_sum, renames, unit
from ..screening.leakage import (
    FEWEST_OF_A_CLASS,
    IMMORTAL,
    LIMITS,
    begins_within,
    by_absence,
    by_absence_of_number,
    by_levels,
    by_unknown,
    by_values,
    share_equal,
)
from ..wording import one_line, plural, quoted
from .column_types import FITTED, Counted, Shape, as_text
from .duplicates import says_missing_of
from .findings import Finding, about
from .missing_codes import not_known

ROWS_TO_CORRELATE = 20
# Ranks of more rows would not say more.
ROWS_RANKED = 2000
# A level that follows from a number may be known where that is not, but hardly ever.
MOST_NOT_KNOWN = 0.05
# Of a measurement: as it is, below what can be seen, or above.
MOST_STATES = 3
TIME_OF_DAY = re.compile(r"\d{1,2}[:.h]\d\d(:\d\d(\.\d+)?)?( ?[AaPp]\.?[Mm]\.?)?")
WHY_NOT_LATER = (
    " Who had the event early, or was lost, has none of it; if patients are followed from a later visit, "
    "keep what was known by then."
)


def find_itself(
    columns: Sequence[Counted], kinds: dict[str, Shape], outcome: Counted, *, linear: bool
) -> list[Finding]:
    """Columns that are the ``outcome``, a number or stages, again: a fit refuses them, or calls them causes.

    With ``linear`` a fit refuses linear images only.
    """
    asked = [c for c in columns if kinds[c.name] in FITTED]
    again, cut, parts = {c.name for c in asked if _has_its_levels(c, outcome)}, set(), set()
    if outcome.numbers is not None:
        numbers = [(c.name, c.numbers) for c in asked if c.numbers is not None]
        values = [of for _, of in numbers]
        ways = (True, False) if linear else (False,)
        again |= {numbers[c][0] for way in ways for c in outcome_again(outcome.numbers, values, linear=way)}
        cut = {
            c.name
            for c in asked
            if linear and c.name not in again and c.codes is not None
            if c.n_observed >= ROWS_TO_CORRELATE and is_cut(c.codes, outcome.numbers)
        }
        left = [(name, values) for name, values in numbers if linear and name not in again]
        sums = parts_of_sum(outcome.numbers, np.array([of for _, of in left]).T) if left else []
        parts = {left[place][0] for place in sums}
    text = "{columns} {names:is|are} {outcome} itself, {how}. The outcome is no cause of itself."
    return [
        finding
        for some, how in (
            (again, "as it is, in another unit or on another scale"),
            (cut, "cut into levels: its ranges do not overlap"),
            (parts, "or a part of it: together they make it up exactly, as a sum or a score"),
        )
        for finding in about(
            "the outcome itself",
            [c.name for c in asked if c.name in some],
            text,
            "--after",
            outcome=quoted(outcome.name),
            how=how,
        )
    ]


def _has_its_levels(cells: Counted, outcome: Counted) -> bool:
    """Whether the levels of a column are the stages of the outcome under other names, one for one."""
    if cells.codes is None or outcome.codes is None or outcome.n_different <= 2:
        return False
    both = (cells.codes >= 0) & (outcome.codes >= 0)
    # Values that are seen once pair up with any others.
    enough = int(both.sum()) >= max(ROWS_TO_CORRELATE, ROWS_A_LEVEL * outcome.n_different)
    return enough and renames(cells.codes[both], outcome.codes[both])


def find_after(
    columns: Sequence[Counted],
    kinds: dict[str, Shape],
    target: str,
    sample: Index,
    time: Counted | None = None,
    told: Set[str] = frozenset(),
    whole: bool = True,
) -> list[Finding]:
    """Columns that may come after the outcome, or be another form of it; numbers are ranked in ``sample``.

    ``time`` is how long patients were followed, where that is part of the outcome, of ``whole`` patients or
    in rows from start to stop; of what is ``told`` so already nothing more is said.
    """
    asked = [c for c in columns if kinds[c.name] in FITTED and c.name != target]
    names = [cells.name for cells in asked]
    beside = ends_beside([*names, target])
    diagnoses = [name for name in names if says_diagnosis(name) and name not in beside]
    beside |= {c.name for c in asked if c.n_different <= MOST_STATES and says_whether(target, c.name)}
    beside |= of_another_event("" if time is None else time.name, target, names)
    ends = [c.name for c in asked if c.name in beside or (_is_after(c) and c.name not in diagnoses)]
    before = _before_follow_up([c for c in asked if c.name in ends and c.name not in beside], asked, time)
    ends = [name for name in ends if name not in before]
    like_ends = counterparts(ends, [name for name in names if name not in ends])
    after = [name for name in names if name in (*ends, *like_ends)]
    visits = visits_from(names, target) if time is None else {}
    later = (
        measured_later([*names, target]) if time is not None else [n for n in names if visits.get(n, 0) > 0]
    )
    later = tuple(name for name in later if name not in (*after, target))
    with_it = _with_follow_up(asked, (*after, *later), sample, time, whole)
    gone = {*after, *later, *diagnoses, *(name for one in with_it for name in one.columns)}
    course = [name for name in names if says_during(name) and name not in gone]
    with_target = [name for name in names if visits.get(name) == 0 and name not in gone]
    before = dict.fromkeys(course, "") | dict.fromkeys(with_target, "at the target's visit") | before
    found = [
        *_by_name([name for name in after if name not in told], later, target, timed=time is not None),
        *_to_decide(before, diagnoses, target, timed=time is not None),
        *with_it,
    ]
    alike = about(
        "named like the target",
        [name for name in names if name not in {*gone, *visits} and near(name, target)],
        "{columns} {names:is|are} named like the target {target}: the same thing in another form? Then leave "
        "{names:it|them} out.",
        in_line=False,
        target=quoted(target),
    )
    said = {name for one in found for name in one.columns}
    years = _years([one for one in asked if one.name not in said], time is not None)
    return [*found, *alike, *years]


def _by_name(after: Sequence[str], later: Sequence[str], target: str, timed: bool) -> list[Finding]:
    why = "" if not timed else WHY_NOT_LATER
    return [
        *about(
            "after the outcome",
            after,
            "{columns} by name or levels may come after the outcome, or be it: what is known only then is no "
            "cause. Keep what was known before.",
            "--after",
        ),
        *about(
            "measured later",
            later,
            "{columns} by {names:its name was|their names were} measured {than}: what comes later is no "
            f"cause.{why}",
            "--after",
            than="after the first visit, where follow-up begins" if timed else f"after {quoted(target)}",
        ),
    ]


def _to_decide(before: dict[str, str], diagnoses: Sequence[str], target: str, timed: bool) -> list[Finding]:
    zero = "follow-up began" if timed else f"{quoted(target)} was"
    then = f": {IMMORTAL}. Rows from start to stop (--start) let it change." if timed else "."
    return [
        *about(
            "before or after",
            before,
            "{columns} by {names:its name|their names} may say what happened, or was counted, as time went "
            f"on: was all of it known before {zero}? Else leave {{names:it|them}} out{then}",
            "--after",
            in_line=False,
        ),
        *about(
            "diagnosis",
            diagnoses,
            "{columns} {names:is|are} named as a diagnosis: why patients came, or what they turned out to "
            "have? In the second case leave {names:it|them} out.",
            "--after",
            in_line=False,
        ),
    ]


def _before_follow_up(
    ends: Sequence[Counted], columns: Sequence[Counted], time: Counted | None
) -> dict[str, str]:
    """Times that are longer than follow-up, and whose event no column says: past, perhaps."""
    if time is None or time.numbers is None:
        return {}
    found = {}
    for cells in ends:
        whether = any(says_whether(cells.name, other.name) for other in columns)
        if cells.numbers is None or not time_of(cells.name) or whether:
            continue
        both = ~np.isnan(cells.numbers) & ~np.isnan(time.numbers)
        longer = float((cells.numbers[both] > time.numbers[both]).mean()) if both.any() else 0.0
        if longer >= LIMITS["past"].doubtful:
            found[cells.name] = f"longer than {quoted(time.name)} in {longer:.0%} of patients"
    return found


def _is_after(cells: Counted) -> bool:
    levels = (
        [str(value) for value in cells.different] if cells.form == "text" and cells.codes is not None else []
    )
    if levels and all(map(TIME_OF_DAY.fullmatch, levels)):
        return False
    return says_end(cells.name) or any(map(level_says_end, levels))


def _with_follow_up(
    columns: Sequence[Counted], after: tuple[str, ...], sample: Index, time: Counted | None, whole: bool
) -> list[Finding]:
    """Numbers that nearly have the ranks of a time that is known only in the end, or often are that time.

    What says whether such a time ended with an event goes with it, and so does, with a ``time`` of follow-up,
    what passes within it, as a wait for a transplant does.
    """
    sample = sample[:: -(-max(sample.size, 1) // ROWS_RANKED)]
    numbers = {c.name: c.numbers for c in columns if c.numbers is not None and c.n_different > MOST_LEVELS}
    times = {name: values[sample] for name, values in numbers.items() if name in after}
    if time is not None and time.numbers is not None:
        times[time.name] = time.numbers[sample]
    found: dict[str, str] = {}
    within: dict[str, str] = {}
    for name, values in numbers.items() if times else ():
        if name in after:
            continue
        r, with_time = max((abs(_rank_correlation(values[sample], t)), one) for one, t in times.items())
        equal, to_time = max((share_equal(values[sample], t), one) for one, t in times.items())
        if r >= LIMITS["follow-up"].doubtful:
            found[name] = f"rank correlation {r:.2f} with {quoted(with_time)}"
        elif equal:
            found[name] = f"exactly {quoted(to_time)} in {equal:.0%} of rows"
        elif time is not None and whole and begins_within(values[sample], times[time.name]):
            within[name] = f"never longer than {quoted(time.name)}"
    for cells in columns:
        of_times = (one for one in (*times, *found) if says_whether(one, cells.name))
        its_time = None if cells.n_different > MOST_LEVELS or cells.name in after else next(of_times, None)
        if its_time is not None:
            found[cells.name] = f"says whether {quoted(its_time)} ended with an event"
    found |= within
    found |= _made_of([c for c in columns if c.name in (*after, *found)], columns, {*after, *found}, within)
    accrued = _accrued({n: v for n, v in numbers.items() if n not in (*after, *found)}, times, sample)
    text = "{columns} {names:goes|go} with what may come after the outcome, so {names:it|they} may too."
    if time is not None and whole:
        text += (
            f" {IMMORTAL[0].upper()}{IMMORTAL[1:]}: leave {{names:it|them}} out, or give rows from start to "
            "stop, in which it changes (--start, also for when patients came in)."
        )
    return [*about("goes with follow-up", found, text, "--after"), *accrued]


def _made_of(
    late: Sequence[Counted], columns: Sequence[Counted], said: Set[str], within: Collection[str]
) -> dict[str, str]:
    """Columns known in just the rows in which a ``late`` one is known, or that are one cut into levels.

    Of what passes ``within`` follow-up also those that say whether it does, or are known in some of its rows.
    """
    least = {
        c.name: max(ROWS_A_LEVEL, MOST_NOT_KNOWN * c.n_rows) for c in late
    }  # a page may be lost of a few
    holed = [c for c in late if min(c.n_missing, c.n_observed) >= least[c.name]]
    begun, two = [c for c in holed if c.name in within], [c for c in late if c.n_different == 2]
    numbers = {c.name: c.numbers for c in late if c.numbers is not None and c.n_different > 2}
    found: dict[str, str] = {}
    for cells in columns:
        if cells.name in said:
            continue
        ways = chain(
            (
                f"follows from {quoted(name)}"
                for name, of in numbers.items()
                if _is_cut_where_known(cells, of)
            ),
            (f"says whether {quoted(one.name)} is known" for one in begun if says_missing_of(cells, one)),
            (f"{quoted(one.name)} says whether it is known" for one in two if says_missing_of(one, cells)),
            (
                f"known only where {quoted(one.name)} is"
                for one in holed
                if _known_only_where(cells, one, some=one in begun)
            ),
        )
        way = next(ways, None)
        found |= {} if way is None else {cells.name: way}
    return found


def _known_only_where(cells: Counted, other: Counted, some: bool) -> bool:
    """Whether a column is known in just the rows in which another is or, by far from chance, in ``some``."""
    by_chance = cells.n_observed * other.n_missing / max(cells.n_rows, 1)
    if some and by_chance >= ROWS_A_LEVEL and bool(cells.missing[other.missing].all()):
        return True
    return np.array_equal(cells.missing, other.missing)


def _is_cut_where_known(cells: Counted, values: np.ndarray) -> bool:
    if cells.codes is None:
        return False
    known = ~np.isnan(values)
    nearly_all = (cells.codes[~known] >= 0).sum() <= MOST_NOT_KNOWN * cells.n_observed
    return bool(nearly_all) and is_cut(cells.codes[known], values[known])


def _accrued(numbers: dict[str, np.ndarray], times: dict[str, np.ndarray], sample: Index) -> list[Finding]:
    """Numbers that go closely with what grew until the end, as an average over a stay does with its cost."""
    grown = [name for name in times if says_accrued(name)]
    found: dict[str, str] = {}
    for name, values in numbers.items() if grown else ():
        r, of = max((abs(_rank_correlation(values[sample], times[one])), one) for one in grown)
        if r >= LIMITS["accrued"].doubtful:
            found[name] = f"rank correlation {r:.2f} with {quoted(of)}"
    text = (
        "{columns}: recorded at the start, or over the whole stay? In the second case leave {names:it|them} "
        "out."
    )
    return about("goes with the stay", found, text, "--after", in_line=False)


def _rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's, in the rows that have both; 0 where they are few or one of them is the same in all."""
    both = ~np.isnan(first) & ~np.isnan(second)
    if int(both.sum()) < ROWS_TO_CORRELATE:
        return 0.0
    return float(unit(rankdata(first[both])) @ unit(rankdata(second[both])))


def _years(columns: Sequence[Counted], timed: bool) -> list[Finding]:
    names = [
        cells.name
        for cells in columns
        if cells.whole
        and says_year(cells.name)
        and cells.n_different > 1
        and are_years(cells.different[0], cells.different[-1], named=True)
    ]
    text = "{columns} {names:is a calendar year|are calendar years}: "
    if timed:
        # Who came early was watched for longer, which does not matter where the outcome says how long.
        text += (
            "what changed over the years, such as care, is no shock of a patient. As {names:a covariate, it "
            "is|covariates, they are} in the risk, and never a root cause."
        )
    else:
        text += (
            "a calendar year goes with follow-up time, since who came early was watched for longer. With an "
            "outcome at a fixed time it may stay."
        )
    return about("calendar year", names, text, "--covariate" if timed else "--drop", in_line=False)


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
    levels = np.array([kinds[cells.name] != "number" for cells in asked], dtype=bool)
    leaks = by_values(found, counts, levels, fitted=False)
    sure, perhaps = (
        {asked[leak.column].name: f"AUC {leak.size:.3f}" for leak in leaks if leak.grade == grade}
        for grade in ("broken", "doubtful")
    )
    text = (
        "{columns} {names:tells|tell} {who.ill} from {who.well} nearly alone: part of the definition of "
        "{who.outcome}, or an effect of it? "
    )
    if_so = "Then leave {names:it|them} out; a good measurement may stay."
    return [
        *about("decides", sure, text + "What decides it is no cause of it.", who=who),
        *about("nearly decides", perhaps, text + if_so, in_line=False, who=who),
    ]


def find_telling_absence(
    columns: Sequence[Counted], kinds: dict[str, Shape], ill: Index, who: Who = CASES
) -> list[Finding]:
    """Columns of which it tells the outcome ``ill`` (n,) that they are missing, or that they are there."""
    labelled = ill >= 0
    y = ill[labelled]
    sizes = np.bincount(y, minlength=2)
    if sizes.min() < FEWEST_OF_A_CLASS:
        return []
    asked = [cells for cells in columns if kinds[cells.name] in (*FITTED, "constant")]
    coded = {cells.name: not_known(cells) for cells in asked}
    asked = [cells for cells in asked if cells.n_missing or cells.strange or coded[cells.name].any()]
    gone = [(cells.missing | coded[cells.name])[labelled] for cells in asked]
    absent = np.array([[of[y == label].sum() for of in gone] for label in (0, 1)]).reshape(2, len(asked))
    found: dict[bool, dict[str, str]] = {True: {}, False: {}}
    for leak in by_absence(absent, sizes):
        of_controls, of_cases = (absent[:, leak.column] / sizes).tolist()
        found[leak.grade == "broken"][asked[leak.column].name] = (
            f"missing in {of_cases:.0%} of {who.ill} and {of_controls:.0%} of {who.well}"
        )
    partly: dict[str, str] = {}
    for leak in by_unknown([coded[cells.name][labelled] for cells in asked], y):
        name = asked[leak.column].name
        here = coded[name][labelled]
        partly[name] = (
            f"not known in {plural(int(here.sum()), 'row')}, {y[here].mean():.0%} of them {who.ill}; of "
            f"others {y[~here].mean():.0%}"
        )
    text = (
        "{columns}: whether a value is there tells the outcome, so it was recorded because of it. Leave "
        "{names:it|them} out."
    )
    return [
        *about("absence tells", found[True], text),
        *about("absence tells", found[False], text, in_line=False),
        *about(
            "not known tells",
            {name: said for name, said in partly.items() if not any(name in some for some in found.values())},
            "{columns}: that it is not known goes with the outcome, as where the very ill cannot be asked. "
            "As a level it would be named as a cause, and taken for missing it is not missing at random: "
            "leave {names:it|them} out, or read {names:it|them} with this in mind.",
            in_line=False,
        ),
    ]


def find_absence_with(
    columns: Sequence[Counted], kinds: dict[str, Shape], amount: Counted, limit: str
) -> list[Finding]:
    """Columns of which it goes with a number, such as the time of follow-up, that they are missing."""
    asked = [c for c in columns if kinds[c.name] in FITTED and c.n_missing]
    if amount.numbers is None or not asked:
        return []
    there = ~np.isnan(amount.numbers)
    missing = np.stack([cells.missing | not_known(cells) for cells in asked], axis=1)[there]
    found: dict[bool, dict[str, str]] = {True: {}, False: {}}
    for leak in by_absence_of_number(amount.numbers[there], missing, LIMITS[limit]):
        less = leak.size < 0.5
        pairs = f"{max(leak.size, 1.0 - leak.size):.0%} of pairs"
        found[leak.grade == "broken"][asked[leak.column].name] = (
            f"who lacks it has the {'lower' if less else 'higher'} {quoted(amount.name)} in {pairs}"
        )
    others = [c.name for c in columns if kinds[c.name] in FITTED and c.name not in found[True]]
    series = of_series(found[True], others) if len(found[True]) > 1 else {}
    found[True] |= {name: f"one of a series with {quoted(one)}" for name, one in series.items()}
    some = {name: said for name, said in found[False].items() if name not in found[True]}
    text = (
        "{columns}: whether a value is there goes with {amount}, as of what was measured only in those who "
        "were still there. No filling in mends that: leave {names:it|them} out"
    )
    name, of = "absence goes with", quoted(amount.name)
    return [
        *about(name, found[True], text + ".", "--after", amount=of),
        *about(name, some, text + ", if so.", "--after", in_line=False, amount=of),
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
    text = (
        "{columns}: nearly everybody with that level is {who.one_ill}. A part of the outcome, or "
        "{who.outcome} before the study? Neither is a cause of it."
    )
    # In follow-up all of an arm may have had the event, early or late.
    return about("part of the outcome", found, text, in_line=who is CASES, who=who)
