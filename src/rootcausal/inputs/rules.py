"""What is refused of a table, and in which words: one set for arrays, frames, files and clusters.

A rule raises an InputError of one sentence, which names columns or rows and says what to do: to those who
call from Python in its words, to those who give a file in those of the command line. Whoever validates runs
the rules inside :meth:`Findings.noting`, so that one error in the end says all that is wrong, not the first
thing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..backends.reference import ReferenceRaw
from ..errors import InputError
from ..files.arrow import is_text, pa, pc
from ..files.cells import WORDS_FOR_MISSING, is_number
from ..method.moments import Columns, describe_columns, score_correlations
from ..method.table import F64, LARGEST, Index
from ..screening.duplicates import is_copy, outcome_again, unit
from ..wording import listed, pasted, plural, quoted

NAMED_AT_MOST = 8
# Most of a column that lacks this share of its values would be made up by whatever fills it in.
MOSTLY_MISSING = 0.6
HALF_THE_LIMIT = "where 0 means less than can be measured, put half of that limit"
BOOLEANS = ("true", "True", "TRUE", "false", "False", "FALSE")


class Findings:
    """What the rules refused so far."""

    def __init__(self) -> None:
        self._sentences: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._sentences)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Keep what a rule refuses for later, and go on."""
        try:
            yield
        except InputError as error:
            self.note(error)

    def note(self, error: InputError) -> None:
        """Keep what an error says for later."""
        self._sentences.extend(error.args or [str(error)])

    def refuse(self) -> None:
        """Raise one InputError with all that was noted, if anything was."""
        if self._sentences:
            raise InputError(*self._sentences)


@dataclass(frozen=True)
class FileWords:
    """What to call a file in messages, what to do about a column, what to do instead of leaving out rows with
    missing values, and which values are too large.
    """

    name: str
    advice: str
    instead: str
    too_large: str = f"above {LARGEST:g}"


@dataclass(frozen=True)
class Advice:
    """What to do about a column that looks like an id, and about others, in words of Python or of a shell.

    ``logs`` is what names the columns on a log scale.
    """

    id: str
    other: str
    logs: str
    in_a_shell: bool = False

    def as_number(self, name: str) -> str:
        """What says that a column holds numbers."""
        return f"--kind {pasted(f'{name}=number')}" if self.in_a_shell else f"kinds={{{name!r}: 'number'}}"

    def limit(self, name: str, said: str) -> str:
        """What says that nothing is measured beyond a limit."""
        return f"--limit {pasted(f'{name}={said}')}" if self.in_a_shell else f"limits={{{name!r}: {said!r}}}"

    def not_measured(self, name: str) -> str:
        """What to do about a 0 that stands for no measurement."""
        return f"say so with --na {pasted(f'{name}=0')}" if self.in_a_shell else "put NaN"


IN_PYTHON = Advice("drop it, or give it as ids=", "drop the column", "log")
ON_COMMAND_LINE = Advice(
    "name it with --id COLUMN, or leave it out with --drop COLUMN",
    "leave the column out with --drop COLUMN",
    "--log",
    in_a_shell=True,
)


# --- the table as a whole ---------------------------------------------------------------------------------


def refuse_duplicates(columns: Sequence[Any]) -> None:
    twice = [name for name, count in Counter(columns).items() if count > 1]
    if twice:
        raise InputError(f"{are('column name', twice)} used more than once: rename or drop the copies")


def refuse_no_columns(columns: Sequence[Any]) -> None:
    if not columns:
        raise InputError("the table has no columns (0 feature(s)): at least one is needed")


def refuse_few_rows(n_rows: int) -> None:
    if n_rows < 2:
        raise InputError(f"the table has {n_rows} row(s) (n_samples={n_rows}): at least two are needed")


# --- cells ------------------------------------------------------------------------------------------------


def refuse_text(text: Sequence[Any], example: str | None = None) -> None:
    """Refuse columns that hold no numbers; ``example`` is such a cell of the first of them."""
    if text:
        shown = "" if example is None else f" (for instance {example[:40]!r} in {text[0]!r})"
        raise InputError(
            f"{are('column', text)} not numeric{shown}: encode {it_or_them(text)} as numbers, or drop "
            f"{it_or_them(text)}"
        )


def refuse_text_in_file(file: FileWords, columns: Mapping[str, tuple[Any, int]]) -> None:
    """Refuse pyarrow columns that hold no numbers, given with how many rows come before them."""
    if columns:
        found = [with_example(column, name, before) for name, (column, before) in columns.items()]
        raise InputError(
            f"{file.name} has columns that are not numbers: {listed(found)}. "
            f"Encode them as numbers, or {file.advice}."
        )


def refuse_not_finite(missing: Index, infinite: Index, names: Sequence[str]) -> None:
    """Refuse columns (p,) with such values, whose counts are given."""
    found = (("missing values (NaN)", missing), ("infinite values (inf)", infinite))
    parts = []
    for kind, counts in found:
        columns = [f"{names[c]!r} ({counts[c]})" for c in np.flatnonzero(counts).tolist()]
        parts += [f"{kind} in {listed(columns, NAMED_AT_MOST)}"] if columns else []
    if parts:
        raise InputError(
            f"X contains {' and '.join(parts)}, rows counted in brackets: drop these rows or columns, or "
            "impute them"
        )


def refuse_too_large(found: Sequence[str]) -> None:
    """Refuse values, given in words, with which float64 cannot compute."""
    if found:
        raise InputError(
            f"X holds numbers too large to compute with: {listed(found)}; correct them, or give the "
            "column in another unit"
        )


def refuse_too_large_in_file(file: FileWords, counts: Mapping[str, int]) -> None:
    """Refuse such values of a file, infinite ones among them, counted by column."""
    found = [f"{quoted(name)} ({count})" for name, count in counts.items() if count]
    if found:
        raise InputError(
            f"{file.name} has values that are infinite or {file.too_large}, here with their counts: "
            f"{listed(found)}. Correct them, or {file.advice}."
        )


@dataclass(frozen=True)
class Rows:
    """Rows of a file with an outcome: all, those kept, and those in which nothing is missing."""

    n: int
    n_kept: int
    n_whole: int


def refuse_missing_in_file(
    file: FileWords,
    counts: Mapping[str, int],
    drop_missing: bool,
    rows: Rows,
) -> None:
    """Refuse missing values unless the user asked to leave such rows out, and then that no row is left."""
    found = [
        f"{quoted(name)} ({count})"
        for name, count in (
            counts.items() if rows.n_kept else sorted(counts.items(), key=lambda one: -one[1])
        )
        if count
    ]
    if found and not drop_missing:
        empty = [quoted(name) for name, count in counts.items() if count == rows.n]
        says = f"{file.name} has missing values, here with their counts: {listed(found)}. "
        if rows.n_whole or empty:
            says += f"Leave out the rows concerned with --drop-missing, or {file.advice}."
        else:
            says += f"--drop-missing would leave no row: {file.instead}."
        raise InputError(
            says + (f" Without {listed(empty)}, that is: no row has a value there." if empty else "")
        )
    if not rows.n_kept:
        raise InputError(
            f"--drop-missing leaves no row of {file.name}, since each misses a value; most are missing in "
            f"{listed(found)}. Instead of --drop-missing, {file.instead}."
        )


def with_example(column: Any, name: str, before: int = 0) -> str:
    """Name a pyarrow column that is not numeric, with its first value that is not a number.

    So many rows of the file come ``before`` it.
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        if pa.types.is_binary(column.type):
            column = column.cast(pa.string())
        found = first_strange(column)
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return f"{quoted(name)} (not UTF-8 text)"
    if found is None:
        return quoted(name)
    place, value = found
    return f"{quoted(name)} (for example {quoted(value, 30)} in data row {before + place + 1})"


def first_strange(column: Any) -> tuple[int, Any] | None:
    """Return the place and value of the first cell that is no number; of numbers as text, the first one."""
    if not is_text(column.type):
        place = pc.index(column.is_valid(), True).as_py()
        return None if place < 0 else (place, column[place].as_py())
    # As in a CSV file, where pyarrow trims numbers and reads these texts as missing.
    cells = [(place, (text or "").strip(" \t")) for place, text in enumerate(column.to_pylist())]
    cells = [(place, text) for place, text in cells if text not in WORDS_FOR_MISSING]
    strange = [(place, text) for place, text in cells if not is_number(text)]
    # A column of booleans would do, so they are to blame only where there is nothing else.
    found = [(place, text) for place, text in strange if text not in BOOLEANS] or strange or cells
    return next(iter(found), None)


def note_not_finite(
    X: F64,
    names: Sequence[str],
    largest: F64 | float,
    findings: Findings,
    may_miss: np.ndarray | bool = False,
) -> bool:
    """Note missing and infinite values of (n, p), and values above ``largest``; whether none is missing.

    Columns of the mask ``may_miss`` (p,) may have missing values.
    """
    # One sum over everything tells in nearly all cases, and costs a fraction of a mask.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.einsum("ij,ij->", X, X) <= np.min(largest, initial=LARGEST) ** 2:
            return True
    missing, infinite = np.isnan(X).sum(axis=0), np.isinf(X).sum(axis=0)
    whole = not missing.any()
    missing[np.broadcast_to(may_miss, missing.shape)] = 0
    empty = missing == len(X)
    with findings.noting():
        refuse_empty([names[c] for c in np.flatnonzero(empty).tolist()])
    missing[empty] = 0
    with findings.noting():
        refuse_not_finite(missing, infinite, names)
    too_large = (np.abs(X) > largest) & np.isfinite(X)
    first = {c: int(too_large[:, c].argmax()) for c in np.flatnonzero(too_large.any(axis=0)).tolist()}
    with findings.noting():
        refuse_too_large([f"{X[r, c]:g} in {names[c]!r}, row {r + 1}" for c, r in first.items()])
    return whole


def note_empty(table: F64, names: Sequence[str], findings: Findings) -> None:
    """Note columns of (n, p) without any value, and rows without any."""
    missing = np.isnan(table)
    with findings.noting():
        refuse_empty([names[c] for c in np.flatnonzero(missing.all(axis=0)).tolist()])
    with findings.noting():
        empty = np.flatnonzero(missing.all(axis=1)) + 1
        refuse_empty_rows(empty.size, empty)


def refuse_empty_rows(count: int, numbers: Index | None = None) -> None:
    """Refuse rows in which nothing was measured, by their numbers where these are known."""
    if count:
        named = plural(count, "row")
        if numbers is not None:
            named = f"{'row' if count == 1 else 'rows'} {listed([str(n) for n in numbers], NAMED_AT_MOST)}"
        have = "has" if count == 1 else "have"
        raise InputError(f"{named} {have} no value in any column: leave out who was not measured")


@dataclass(frozen=True)
class NotPositive:
    """Values of 0 or less in a column of new patients: how many, and the first with its row, from 1."""

    count: int
    value: float
    row: int

    @classmethod
    def among(cls, values: F64, rows_before: int = 0) -> NotPositive | None:
        """Of the values (n,) of a column; None where there are none."""
        found = np.flatnonzero(values <= 0)
        if not found.size:
            return None
        return cls(found.size, float(values[found[0]]), rows_before + int(found[0]) + 1)

    def __add__(self, later: NotPositive) -> NotPositive:
        return replace(self, count=self.count + later.count)


def refuse_not_positive(counts: Index, names: Sequence[str], advice: Advice) -> None:
    """Refuse columns (p,) of a cohort with such values."""
    found = np.flatnonzero(counts).tolist()
    if found:
        shown = listed(
            [f"{quoted(names[c])} ({plural(int(counts[c]), 'row')})" for c in found], NAMED_AT_MOST
        )
        raise InputError(
            f"values of 0 or less have no logarithm, and there are some in {shown}: leave "
            f"{'it' if len(found) == 1 else 'them'} off {advice.logs}; or, where 0 means less than can be "
            f"measured, say below what with {advice.limit(names[found[0]], '<LIMIT')}; or, where it means "
            f"not measured, {advice.not_measured(names[found[0]])}"
        )


def refuse_not_positive_patients(
    found: Mapping[str, NotPositive], advice: Advice = IN_PYTHON, where: str = "X"
) -> None:
    """Refuse such values of new patients, by the names of their columns."""
    if found:
        cells = [
            f"{one.value:g} in {quoted(name)}, row {one.row}"
            + (f" and {plural(one.count - 1, 'more row')}" if one.count > 1 else "")
            for name, one in found.items()
        ]
        raise InputError(
            f"the model takes the logarithm of these columns, and {where} has values of 0 or less in them: "
            f"{listed(cells, NAMED_AT_MOST)}. Correct them; {HALF_THE_LIMIT}; where it means not measured, "
            f"{advice.not_measured(next(iter(found)))}"
        )


# --- columns ----------------------------------------------------------------------------------------------


def refuse_empty(columns: Sequence[Any]) -> None:
    if columns:
        raise InputError(f"{are('column', columns)} empty, in every row: drop {it_or_them(columns)}")


def refuse_constant(columns: Sequence[str]) -> None:
    if columns:
        raise InputError(f"{are('column', columns)} constant: drop what does not vary between patients")


def refuse_little_variation(spans: Sequence[str]) -> None:
    """Refuse columns, given with their spans in words, whose variation float64 does not hold."""
    if spans:
        raise InputError(
            f"too little variation for 64-bit numbers to hold in {listed(spans, NAMED_AT_MOST)}: subtract a "
            "fixed number from the column, give it in another unit, or drop it"
        )


def refuse_copies(pairs: Sequence[tuple[int, int]], names: Sequence[str]) -> None:
    """Refuse columns whose correlation is ±1; pairs with a column in common are of one group."""
    groups: list[set[int]] = []
    for pair in pairs:
        joined = [group for group in groups if group & set(pair)]
        groups = [group for group in groups if group not in joined] + [set(pair).union(*joined)]
    found = [
        listed([repr(names[c]) for c in ordered[:-1]], NAMED_AT_MOST) + f" and {names[ordered[-1]]!r}"
        for ordered in sorted(map(sorted, groups))
    ]
    if found:
        raise InputError(
            f"columns {listed(found, NAMED_AT_MOST)} are copies or exact linear images of each other, so no "
            f"method can tell their shocks apart: keep one of {'them' if len(found) == 1 else 'each group'}"
        )


def note_flat(
    columns: Columns,
    names: Sequence[str],
    extremes: Callable[[Index], tuple[F64, F64]],
    findings: Findings,
) -> None:
    """Note columns that do not vary, or too little; ``extremes`` gives the least and largest of some."""
    if not columns.flat.size:
        return
    lowest, highest = extremes(columns.flat)
    same = lowest == highest
    with findings.noting():
        refuse_constant([names[c] for c in columns.flat[same]])
    with findings.noting():
        refuse_little_variation(
            [
                f"{names[c]!r} (from {float(low)!r} to {float(high)!r})"
                for c, low, high in zip(columns.flat[~same], lowest[~same], highest[~same], strict=True)
            ]
        )


def note_columns(
    X: F64, names: Sequence[str], columns: Columns, findings: Findings, dummy: np.ndarray
) -> None:
    """Note which of the columns X (n, q) do not vary, and which are exact linear images of each other.

    Not of each ``dummy`` (q,): one level may well be what another variable says, and the rest differ. What an
    earlier column explains then leaves the search by itself.
    """
    note_flat(columns, names, lambda flat: (X[:, flat].min(axis=0), X[:, flat].max(axis=0)), findings)
    weights: F64 = np.random.default_rng(0).standard_normal((X.shape[0],))
    suspected = suspected_copies(weights @ X, float(weights.sum()), X.shape[0], columns, dummy)
    with findings.noting():
        alike = [(a, b) for a, b in suspected if is_copy(float(unit(X[:, a]) @ unit(X[:, b])))]
        refuse_copies(alike, names)


def note_usable_columns(X: F64, names: Sequence[str], findings: Findings, dummy: np.ndarray) -> None:
    """The same for the numbers of a table that is refused anyway, so that all is said at once.

    Missing values are filled with the first value of their column, which leaves a constant column constant,
    and a copy where the same values are missing a copy.
    """
    there = np.abs(X) <= LARGEST
    seen = np.asarray(there.any(axis=0))
    if len(X) > 1 and seen.any():
        X, there = X[:, seen], there[:, seen]
        first = X[there.argmax(axis=0), np.arange(X.shape[1])]
        filled = np.where(there, X, first)
        named = [name for name, kept in zip(names, seen, strict=True) if kept]
        columns = describe_columns(ReferenceRaw(filled, None))
        note_columns(filled, named, columns, findings, dummy[seen])


def suspected_copies(
    projection: F64, weight: float, n: int, columns: Columns, dummy: np.ndarray
) -> list[tuple[int, int]]:
    """Pairs of columns that may have |r| = 1, without a p × p matrix.

    A random projection Σ w x (p,), over rows with weights w that sum to ``weight``, is the same for
    standardized linear images, up to sign; neighbours in the sorted projections are to be compared in full.
    Columns that do not vary and each ``dummy`` are left out; of two rows, any two columns would be images of
    each other.
    """
    if n < 3:
        return []
    varies = ~dummy
    varies[columns.flat] = False
    varying = np.flatnonzero(varies)
    mean, sd = columns.mean[varying], columns.sd[varying]
    projection = np.abs((projection[varying] - weight * mean) / sd) / np.sqrt(n)
    ranked = np.argsort(projection, kind="stable")
    # Far from zero, a column keeps few digits of its variation; so does its projection.
    resolution = 1e-7 + 1e-15 * np.abs(mean) / sd * np.sqrt(n)
    near = np.diff(projection[ranked]) <= resolution[ranked[1:]] + resolution[ranked[:-1]]
    pairs = np.sort(varying[np.stack([ranked[:-1][near], ranked[1:][near]], axis=1)], axis=1)
    return [(int(a), int(b)) for a, b in pairs]


def refuse_itself(values: F64, table: F64, names: Sequence[str], what: str, *, linear: bool) -> None:
    """Refuse columns of a table (n, p) that hold nothing but the outcome (n,), which is called ``what``.

    ``linear`` as in :func:`~..screening.duplicates.outcome_again`.
    """
    if len(table) != values.size:
        return  # some have no outcome, which is refused anyway
    found = [str(names[c]) for c in outcome_again(values, table.T, linear=linear)]
    if found:
        how = "up to a linear map" if linear else "as it is or in another unit"
        raise InputError(f"{are('column', found)} {what} itself, {how}: leave {it_or_them(found)} out")


def refuse_outcome_again(columns: Columns, names: Sequence[str]) -> None:
    """Refuse columns that are, by their moments, the null score of the outcome: it again, in another unit."""
    if columns.moments.score is None:
        return
    correlations = score_correlations(columns.moments).tolist()
    again = [name for name, r in zip(names, correlations, strict=True) if is_copy(r)]
    if again:
        raise InputError(f"{are('column', again)} the outcome itself: leave {it_or_them(again)} out of X")


def column_name(names: Any, column: int | np.integer) -> str:
    """The name of a column or, where columns have none, one made of its place."""
    return f"x{column}" if names is None else str(names[column])


def it_or_them(names: Sequence[Any]) -> str:
    return "it" if len(names) == 1 else "them"


def are(noun: str, names: Sequence[Any]) -> str:
    """``column 'a' is`` or ``columns 'a', 'b' are``, to be followed by a participle; names are quoted."""
    quoted_names = listed([repr(name) for name in names], NAMED_AT_MOST)
    return f"{noun} {quoted_names} is" if len(names) == 1 else f"{noun}s {quoted_names} are"
