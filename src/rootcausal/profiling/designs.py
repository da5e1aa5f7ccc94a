"""Designs that a table shows: follow-up that ends with an event or not, and matched sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import rankdata

from ..files.cells import says_missing
from ..inputs.labels import place_of_disease, says_ill
from ..method.set_effects import SAME, same_in_every_set
from ..method.table import F64, Index
from ..name_hints.columns import belong_together, intervals_in, says_end, time_of
from ..outcomes.follow_up import without_a_start
from ..outcomes.survival import FEWEST_EVENTS
from ..screening.auc import FEWEST_TO_RANK, chance_of, rank_auc
from ..screening.duplicates import is_copy, unit
from ..screening.leakage import LIMITS
from ..wording import amount, listed, plural, quoted
from .column_types import Counted, Shape
from .duplicates import COLUMNS_IN_PAIRS
from .findings import Finding, about
from .target import LABEL, MOST_LABELS, TargetFacts, candidates, in_doubt

# Follow-up: one column says how long patients were followed, another whether the event ended that.

# A time that more patients lack is known of the dead only, say: no time of follow-up of all.
MOST_MISSING = 0.2
FOLLOW_UP, NO_START = "follow-up", "no start"
DEATH = ("death", "dead", "died", "os", "mortality", "vital")


def times_of(columns: Sequence[Counted], kinds: dict[str, Shape]) -> list[Counted]:
    """Columns that by name and values may be times of follow-up."""
    return [
        cells
        for cells in columns
        if time_of(cells.name) is not None
        and kinds[cells.name] in ("number", "ordinal", "id")
        and cells.form == "number"
        and cells.n_different > MOST_LABELS
        and cells.different[0] >= 0
        and cells.n_missing <= MOST_MISSING * cells.n_rows
    ]


def time_beside(event: str, times: Sequence[Counted], columns: Sequence[Counted]) -> tuple[str, bool] | None:
    """Which of some times goes with an event, and whether names say so; None where there is none."""
    times = [cells for cells in times if cells.name != event]
    named = [cells.name for cells in times if belong_together(cells.name, event)]
    if named:
        return named[0], True
    # That of another event is not that of this one.
    own = {
        one.name for one in times if any(belong_together(one.name, c.name) for c in columns if c is not one)
    }
    free = [cells.name for cells in times if says_end(cells.name) and cells.name not in own]
    free.sort(key=lambda name: "time" not in name.casefold())
    return (free[0], says_end(event)) if free else None


def pairs_of(columns: Sequence[Counted], kinds: dict[str, Shape]) -> list[tuple[str, str]]:
    """(time, event) of the table, by their names; death comes first, since it is what most ask about."""
    found, times = [], times_of(columns, kinds)
    for event in candidates(columns, kinds):
        beside = time_beside(event, times, columns)
        if beside is not None and beside[1]:
            found.append((beside[0], event))
    return sorted(found, key=lambda pair: not any(word in pair[1].casefold() for word in DEATH))


def event_codes(ill: Index, cells: Counted) -> Index:
    """(n,) 1 for who had the event, 0 for everybody else with a label, -1 for who has none."""
    return ill if cells.codes is None else np.where(cells.codes < 0, -1, (ill == 1).astype(np.intp))


def find_pair(time: str, event: str, sure: bool) -> list[Finding]:
    """That a table asked about a yes/no target holds the time to an event."""
    options: tuple[tuple[str, ...], ...] = (("--time", time), ("--event", event))
    if sure:
        sentence = (
            f"Column {quoted(time)} says how long patients were followed, and {quoted(event)} whether the "
            f"event ended that. Both together are the outcome: with {quoted(event)} alone, who was followed "
            "for a month counts as healthy as who was followed for ten years."
        )
        return [Finding(FOLLOW_UP, (time,), sentence, options, True)]
    sentence = (
        f"Column {quoted(time)} may be how long patients were followed. If {quoted(event)} says whether that "
        f"ended with the event, both together are the outcome: --time {quoted(time)} --event "
        f"{quoted(event)}. Else it is known only with the outcome, and is left out."
    )
    return [Finding(FOLLOW_UP, (time,), sentence, (("--after", time),), True)]


def ends_of_intervals(columns: Sequence[Counted]) -> tuple[str, str] | None:
    """The columns that say from when on and until when each row was at risk, where rows are intervals."""
    ends = intervals_in(cells.name for cells in columns)
    numbers = {cells.name: cells.numbers for cells in columns if cells.numbers is not None}
    if ends is None or not set(ends) <= set(numbers):
        return None
    start, stop = (numbers[name] for name in ends)
    return ends if bool((start > 0).any()) and not bool((start >= stop).any()) else None


def find_intervals(ends: tuple[str, str]) -> list[Finding]:
    """That rows are intervals of follow-up, from one of these columns to the other."""
    names = " to ".join(map(quoted, ends))
    sentence = (
        f"Rows are intervals of follow-up (counting process), from {names}: each is at risk from its start "
        "on only. Several rows of a patient belong together by --id, and patients who came late count from "
        "then on."
    )
    return [Finding("intervals", ends, sentence, (("--start", ends[0]),), True)]


def find_late_events(facts: TargetFacts, ill: Index, time: Counted) -> tuple[TargetFacts, list[Finding]]:
    """The facts, doubted where those with the event ``ill`` (n,) were mostly followed for longer."""
    if facts.guessed or facts.disease is None or time.numbers is None:
        return facts, []
    there = (ill >= 0) & ~np.isnan(time.numbers)
    times, had = time.numbers[there], ill[there]
    n_events = int(had.sum())
    if min(n_events, had.size - n_events) < FEWEST_TO_RANK:
        return facts, []
    longer = rank_auc(rankdata(times), had)
    chance = chance_of(longer, n_events, had.size - n_events)
    # The event ends follow-up, so who had it was mostly followed for a shorter time.
    if LIMITS["late events"].grade(longer, chance) is None:
        return facts, []
    with_it, without = (amount(float(np.median(times[had == label]))) for label in (1, 0))
    sentence = (
        f"The times in {quoted(time.name)} contradict {quoted(facts.name)}: where that is "
        f"{quoted(facts.disease, 30)}, patients were followed for a median of {with_it}, and else for "
        f"{without}. The event ends follow-up, so its times are mostly the shorter ones. Which label is it?"
    )
    said = Finding("contradiction", (facts.name, time.name), sentence)
    return replace(facts, guessed=True, contradicted=time.name), [said]


def find_event(facts: TargetFacts, time: Counted, n_gone: int) -> list[Finding]:
    """What there is to say about the labels of an event, and about times; ``n_gone`` rows lack one."""
    name, shown = quoted(facts.name), listed([f"{quoted(t, 30)} ({c})" for t, c in facts.labels], 10)
    found = []
    if facts.disease is None:
        held = f"holds {shown}" if facts.labels else "holds many values"
        sentence = f"The event column {name} {held}: it has to say whether the event came, 1 or 0."
        return [Finding("target", (facts.name,), sentence)]
    if facts.too_few(of_all=False):
        sentence = f"The event column {name} holds {shown}: at least {FEWEST_EVENTS} events are needed."
        return [Finding("target", (facts.name,), sentence)]
    others = "All other labels are the end of follow-up."
    if facts.guessed:
        sentence = (
            f"The labels of {name}, {shown}, do not say which is the event{in_doubt(facts)}: put it in the "
            f"place of LABEL. {others}"
        )
        found.append(Finding("target", (facts.name,), sentence, (("--positive", LABEL),), True))
    elif facts.others:
        sentence = f"{quoted(facts.disease, 30)} is the event of {name} by its words, among {shown}. {others}"
        found.append(Finding("target", (facts.name,), sentence, (("--positive", facts.disease),), True))
    found += _competing(facts)
    unknown = tuple(label for label, _ in facts.labels if says_missing(label))
    if unknown and len(facts.labels) - len(unknown) > 1:
        shown = listed([quoted(label, 30) for label in unknown])
        sentence = f"{name} holds {shown}: not known is not the end of follow-up without the event."
        options = tuple(("--na", f"{facts.name}={label}") for label in unknown)
        found.append(Finding("code for missing", (facts.name,), sentence, options, True))
    if n_gone:
        has = "has" if n_gone == 1 else "have"
        sentence = f"{plural(n_gone, 'row')} {has} no time or no event, and would be left out."
        found.append(Finding("target missing", (facts.name, time.name), sentence))
    assert time.numbers is not None
    zero, below = int((time.numbers == 0).sum()), int((time.numbers < 0).sum())
    if below:
        sentence = f"{plural(below, 'time')} in {quoted(time.name)} below 0: correct them in the file."
        found.append(Finding("time", (time.name,), sentence))
    elif zero:
        sentence = (
            f"{plural(zero, 'time')} of 0 in {quoted(time.name)}: such patients count as the first to leave "
            "follow-up."
        )
        found.append(Finding("time", (time.name,), sentence))
    return found


def find_no_start(time: Counted, dated: bool) -> list[Finding]:
    """That times are those of a calendar, or are ``dated`` by other columns, and count from no start."""
    if time.numbers is None or not time.n_observed:
        return []
    shortest, longest = float(np.nanmin(time.numbers)), float(np.nanmax(time.numbers))
    if not (dated or without_a_start(shortest, longest, time.n_observed)):
        return []
    sentence = (
        f"The times in {quoted(time.name)} are from {amount(shortest)} to {amount(longest)}: dates, or ages, "
        "rather than how long each patient was followed? A fit takes 0 for the start of all. Subtract in the "
        "file when each patient came in, or name the column that says so with --start."
    )
    return [Finding(NO_START, (time.name,), sentence)]


def _competing(facts: TargetFacts) -> list[Finding]:
    """Labels that are neither the event nor the mere end of follow-up, as a transplant is before death."""
    others = [
        (label, count)
        for label, count in facts.labels
        if label != facts.disease and says_ill(label) is not False and not says_missing(label)
    ]
    if facts.guessed or not others or len(facts.labels) < 3:
        return []
    named = listed([f"{quoted(label, 30)} ({count})" for label, count in others])
    counts = "counts" if len(others) == 1 else "count"
    sentence = (
        f"{named} in {quoted(facts.name)} {counts} as the end of follow-up without the event. Name "
        "competing events, which keep it from coming or take away those who are the worst, with --competing: "
        f"risks are else those of patients in whom nothing but {quoted(facts.disease or '', 30)} happens."
    )
    # What is by its words an end as bad as the event: after a death nothing else comes.
    sure = all(says_ill(label) for label, _ in others)
    options = tuple(("--competing", label) for label, _ in others)
    return [Finding("competing event", (facts.name,), sentence, options, sure)]


def in_words(time: Counted) -> str:
    """How long patients were followed."""
    assert time.numbers is not None
    known = time.numbers[~np.isnan(time.numbers)]
    return f"up to {amount(float(known.max()))}, median {amount(float(np.median(known)))}"


def as_event(facts: TargetFacts) -> TargetFacts:
    """The same, where all labels but that of the event count as one."""
    n_labelled = sum(count for _, count in facts.labels)
    guessed = place_of_disease([label for label, _ in facts.labels], facts.name) is None
    return replace(facts, guessed=guessed, n_controls=n_labelled - facts.n_cases)


# Matched sets: a column that says which cases and controls belong together, and on what they match.

# Sets there have to be, and rows of one at most.
LEAST_SETS, MOST_ROWS = 10, 50
# Share of the sets that have exactly one case, or exactly one control: of groups that formed by themselves
# about half have.
ONE_EACH = 0.95
# Or else all have a case and a control, and their numbers of cases vary by less than this share of what
# chance would make them vary.
OF_CHANCE = 0.05
# What is said of sets.
OF_SETS = MATCHED_SETS, MATCHED_ON, COPY_IN_SETS = ("matched sets", "matched on", "copy within sets")


@dataclass(frozen=True, eq=False)
class SetsSeen:
    """A column that says the matched set of each row.

    Attributes
    ----------
    name : of the column.
    sets : (n,) the number of each row's set, -1 where it has none.
    n_sets : how many there are.
    fewest, most : rows of a set, at least and at most.
    """

    name: str
    sets: Index
    n_sets: int
    fewest: int
    most: int

    def enough_of(self, ill: Index, rows: np.ndarray) -> bool:
        """Whether enough sets have a case and a control among some rows (n,)."""
        with_control, with_case = (
            np.unique(self.sets[rows & (ill == label) & (self.sets >= 0)]) for label in (0, 1)
        )
        return np.intersect1d(with_control, with_case).size >= LEAST_SETS


def sets_among(columns: Sequence[Counted], ill: Index, table: Any) -> SetsSeen | None:
    """The column by which cases and controls (n,), 1 and 0, -1 for neither, are matched.

    The finest, where there are several. The ``table`` is a pyarrow one, of these columns.
    """
    could = [cells for cells in columns if LEAST_SETS <= cells.n_different <= cells.n_rows / 2]
    found = [one for cells in could if (one := _as_sets(cells, ill, table)) is not None]
    return max(found, key=lambda one: one.n_sets, default=None)


def _sets_of(cells: Counted, table: Any) -> Index | None:
    """(n,) the number of each row's value, -1 where there is none; None where it can be no set."""
    if cells.codes is not None:
        return cells.codes
    if cells.numbers is not None:
        if not cells.whole:
            return None
        _, found = np.unique(cells.numbers, return_inverse=True)
        return np.where(np.isnan(cells.numbers), -1, found)
    if cells.form != "text":
        return None
    codes = table[cells.name].combine_chunks().dictionary_encode().indices
    return np.asarray(codes.fill_null(-1)).astype(np.intp)


def _as_sets(cells: Counted, ill: Index, table: Any) -> SetsSeen | None:
    sets = _sets_of(cells, table)
    if sets is None:
        return None
    there = (ill >= 0) & (sets >= 0)
    if not there.any():
        return None
    sizes = np.bincount(sets[there])
    cases = np.bincount(sets[there], weights=ill[there])[sizes > 0]
    sizes = sizes[sizes > 0]
    if sizes.size < LEAST_SETS or sizes.max() > MOST_ROWS or 2 * sizes.size > sizes.sum():
        return None
    both = (cases > 0) & (cases < sizes)
    one_each = ((cases == 1) | (sizes - cases == 1)) & both
    share = float(cases.sum() / sizes.sum())
    spread = float(((cases - sizes * share) ** 2 / np.maximum(sizes * share * (1.0 - share), 1e-12)).mean())
    of_one = one_each.mean() >= ONE_EACH and sizes.mean() > 1.9
    if not (of_one or (both.all() and spread < OF_CHANCE)):
        return None
    return SetsSeen(cells.name, sets, int(sizes.size), int(sizes.min()), int(sizes.max()))


def seen_as_sets(cells: Counted, table: Any) -> SetsSeen:
    """The same of a column that the user says holds sets."""
    sets = _sets_of(cells, table)
    sets = np.arange(cells.n_rows) if sets is None else sets
    sizes = np.bincount(sets[sets >= 0], minlength=1)
    sizes = sizes[sizes > 0]
    return SetsSeen(cells.name, sets, int(sizes.size), int(sizes.min(initial=1)), int(sizes.max(initial=1)))


def find_sets(seen: SetsSeen, columns: Sequence[Counted], said: bool) -> list[Finding]:
    """What there is to say of sets, ``said`` by the user or not, and of columns that are the same in each."""
    name = quoted(seen.name)
    rows = f"{seen.fewest}" if seen.fewest == seen.most else f"{seen.fewest} to {seen.most}"
    sentence = (
        f"Column {name} holds {plural(seen.n_sets, 'set')} of {rows} rows, each with its cases and controls: "
        "if they were matched, effects are those within the sets, and cases and controls are no sample of "
        "the population."
    )
    found = [Finding(MATCHED_SETS, (seen.name,), sentence, (("--strata", seen.name),), True)]
    if said:
        found = []
    known = seen.sets >= 0
    others = [one for one in columns if one.name != seen.name]
    same = [one.name for one in others if known.any() and _is_same(one, seen.sets, known)]
    if same:
        are = "is" if len(same) == 1 else "are"
        sentence = (
            f"{listed([quoted(one) for one in same], 10)} {are} the same within every set: rows were "
            f"matched on {'it' if len(same) == 1 else 'them'}, and sets tell nothing of "
            f"{'its' if len(same) == 1 else 'their'} effect."
        )
        options = tuple(("--drop", one) for one in same)
        found.append(Finding(MATCHED_ON, tuple(same), sentence, options, True))
    return found


def find_copies_in_sets(
    seen: SetsSeen, columns: Sequence[Counted], kinds: Mapping[str, Shape]
) -> list[Finding]:
    """Numbers that within sets are another one again, as age and year of birth in sets of one year."""
    some = [one for one in columns if kinds[one.name] == "number" and one.numbers is not None]
    some = some if len(some) <= COLUMNS_IN_PAIRS else []
    own = [_of_its_own(one, seen) for one in some]
    found: dict[str, str] = {}
    for place, column in enumerate(some):
        again = [first for first in range(place) if is_copy(float(own[first] @ own[place]))]
        if again and some[again[0]].name not in found:
            found[column.name] = some[again[0]].name
    return about(
        COPY_IN_SETS,
        [*found],
        "Within every set {names:one column is a copy|columns are copies} of another: {shown}. No method can "
        "tell their shocks apart there.",
        shown=listed([f"{quoted(name)} of {quoted(of)}" for name, of in found.items()]),
    )


def _of_its_own(cells: Counted, seen: SetsSeen) -> F64:
    """(n,) what each row has beside what its set shares, of length 1; zeros where that is nothing."""
    assert cells.numbers is not None
    known, values = (seen.sets >= 0) & ~cells.missing, unit(cells.numbers)
    size = np.maximum(np.bincount(seen.sets[known], minlength=seen.sets.max() + 1), 1)
    shared = np.bincount(seen.sets[known], weights=values[known], minlength=size.size) / size
    own = np.where(known, values - shared[seen.sets], 0.0)
    length = float(np.sqrt(own @ own))
    return own / length if length > SAME else np.zeros(own.size)


def find_lacking(names: Sequence[str], whole: np.ndarray) -> Finding:
    """That rows of sets in which these columns lack a value are left out."""
    n = int((~whole).sum())
    sentence = (
        f"Rows of matched sets have to be whole: {plural(n, 'row')} without a value of "
        f"{listed([quoted(one) for one in names], 5)} {'is' if n == 1 else 'are'} left out. Or leave out "
        f"{'that column' if len(names) == 1 else 'the columns that lack most'}."
    )
    return Finding("sets not whole", tuple(names), sentence, (("--drop-missing",),), True)


def _is_same(cells: Counted, sets: Index, known: np.ndarray) -> bool:
    values = cells.numbers
    if values is None:
        if cells.codes is None:
            return False
        values = np.where(cells.codes >= 0, cells.codes, np.nan).astype(np.float64)
    return bool(same_in_every_set(values[known, None], sets[known]))
