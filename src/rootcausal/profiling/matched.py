"""Matched sets: a column that says which cases and controls belong together, and on what they match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..method.set_effects import SAME, same_in_every_set
from ..method.table import F64, Index
from ..screening.duplicates import is_copy, unit
from ..wording import listed, plural, quoted
from .column_types import Shape
from .counts import Counted
from .duplicates import COLUMNS_IN_PAIRS
from .findings import Finding, about

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
