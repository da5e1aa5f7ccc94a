"""Which kinds the columns of a dask dataframe are, and its texts as numbers; rows stay where they are.

A first look at one partition says which columns of numbers may have levels; one pass over these and the
columns of text then counts their different values, and gives up on a column once they are too many.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from dask import delayed
from distributed import Client

from ..backends.dask_frame import CORRECT, holds_numbers
from ..backends.dask_rows import add_up
from ..core.table import F64, Index
from ..errors import InputError
from ..files.cells import Written, decimal_commas, is_number, refuse_unclear
from .cells import Cells, Found, Texts, typed
from .encoding import Encoding, logarithms
from .from_frame import cells_of_series
from .guess import by_place, of_texts, put_on_log_scale, read_cells, settle
from .kinds import (
    MOST_LEVELS,
    MOST_ORDINAL_NUMBERS,
    DatesError,
    Level,
    MixedError,
    Said,
    StrangeCellError,
    TooManyLevelsError,
    Variable,
    Wishes,
    columns_with_few_values,
    few_values,
    variable_of_few,
)
from .labels import text_of
from .rules import IN_PYTHON, Findings, refuse_not_positive

Count = dict[str | float, int]
NOTHING_WRITTEN = Written()


@dataclass(frozen=True)
class Seen:
    """What some rows hold in one column.

    Attributes
    ----------
    counts : rows with each different value, numbers or texts; None where these are too many.
    text : whether some are texts, or truth values.
    written : how the texts are written; numbers count as texts of themselves.
    strange : a text that is no number, if there is one.
    said : what the type of the column says of its kind.
    dates, unusable : a date, or a cell that is neither number nor text, if there is one.
    """

    counts: Count | None
    text: bool = False
    written: Written = NOTHING_WRITTEN
    strange: str | None = None
    said: Said | None = None
    dates: str | None = None
    unusable: str | None = None

    def __add__(self, other: Seen) -> Seen:
        text = self.text or other.text
        counts: Count | None = None
        if self.counts is not None and other.counts is not None:
            counts = {}
            for value, n in (*self.counts.items(), *other.counts.items()):
                key = text_of(value) if text else value
                counts[key] = counts.get(key, 0) + n
            if len(counts) > MOST_LEVELS:
                counts = None
        return Seen(
            counts,
            text,
            self.written + other.written,
            self.strange or other.strange,
            self.said if self.said is not None else other.said,
            self.dates or other.dates,
            self.unusable or other.unusable,
        )


class SeenColumns(dict[int, Seen]):
    """The same of several columns, by their places."""

    def __add__(self, other: SeenColumns) -> SeenColumns:
        both = [place for place in self if place in other]
        return SeenColumns({**self, **other, **{place: self[place] + other[place] for place in both}})


def kinds_on_cluster(
    client: Client,
    frame: Any,
    columns: Sequence[Hashable],
    names: Sequence[str],
    wishes: Wishes,
    findings: Findings,
) -> Encoding:
    """The variables of a dask dataframe; one error says all that is wrong with their kinds, or was found."""
    said = by_place(wishes.kinds, names, findings)
    numeric = [holds_numbers(frame.dtypes[column]) for column in columns]
    look = [place for place, fine in enumerate(numeric) if not fine or place in said]
    look = sorted({*look, *_with_few_values(client, frame, columns, numeric)})
    seen = _seen(client, frame, {place: columns[place] for place in look})
    orders = {place: _order(frame.dtypes[columns[place]]) for place in look}
    unusable = {p: one for p, one in seen.items() if one.dates or one.unusable or one.written.form == "time"}
    read_cells(unusable, names, _refused, IN_PYTHON, findings)

    commas, unclear = decimal_commas(
        {names[p]: one.written for p, one in seen.items() if one.text and said.get(p, "number") == "number"}
    )

    def variable(place: int) -> Variable:
        what, one, name = said.get(place, seen[place].said), seen[place], names[place]
        refuse_unclear(name, unclear.get(name), IN_PYTHON.other)
        return _variable(name, one, what, orders[place], name in commas)

    encoding, _ = settle(names, seen.keys() - unusable.keys(), variable, IN_PYTHON, findings)
    encoding = replace(encoding, decimal_comma=bool(commas))
    encoding = put_on_log_scale(encoding, wishes.logs, IN_PYTHON, findings)
    findings.refuse()
    with findings.noting():
        refuse_not_positive(_not_positive(client, frame, columns, encoding), names, IN_PYTHON)
    findings.refuse()
    return encoding


def _not_positive(client: Client, frame: Any, columns: Sequence[Hashable], encoding: Encoding) -> Index:
    """(p,) how many values of each variable on a log scale have no logarithm, over all partitions."""
    counts, logs = np.zeros(len(columns), dtype=np.intp), encoding.on_log_scale
    if logs:
        some = [columns[place] for place in logs]
        variables = [encoding.variables[place] for place in logs]
        known = replace(encoding, variables=tuple(variables), precedence=None)
        looks = [_not_positive_in(one, some, known) for one in frame[some].to_delayed()]
        with suppress(KeyError, IndexError, AttributeError, TypeError, ValueError):  # as above
            counts[logs] = add_up(client, client.compute(looks))
    return counts


@delayed
def _not_positive_in(partition: pd.DataFrame, columns: list[Hashable], encoding: Encoding) -> Index:
    found = {place: _cells(partition[column]) for place, column in enumerate(columns)}
    table, _ = encoding.table(Found.of(found, np.empty((len(partition), len(columns)))))
    return encoding.not_positive(table)


def encoded_frame(frame: Any, columns: Sequence[Hashable], encoding: Encoding) -> tuple[Any, list[Hashable]]:
    """The frame with its texts, nominal variables and logarithms as numbers, and the columns for a method.

    Columns are added one by one, each from its own, so that a pass over some of them reads no others.
    """
    taken, wanted = set(frame.columns), list[Hashable]()
    for variable, column in zip(encoding.variables, columns, strict=True):
        as_it_is = variable.kind != "nominal" and not variable.log
        if as_it_is and holds_numbers(frame.dtypes[column]):
            wanted.append(column)
            continue
        levels = range(1, len(variable.levels)) if variable.kind == "nominal" else [None]
        for level in levels:
            name = variable.name if level is None else f"{variable.name} = {text_of(variable.levels[level])}"
            while name in taken:
                name += "_"
            taken.add(name)
            wanted.append(name)
            known = Encoding((variable,), decimal_comma=encoding.decimal_comma)
            coded = frame[column].map_partitions(_coded, known, level, meta=(name, "f8"))
            frame = frame.assign(**{name: coded})
    return frame, wanted


def _with_few_values(
    client: Client, frame: Any, columns: Sequence[Hashable], numeric: Sequence[bool]
) -> list[int]:
    places = [place for place, fine in enumerate(numeric) if fine]
    if not places:
        return []
    first = frame[[columns[place] for place in places]].partitions[0].to_delayed()[0]
    try:
        few: list[int] = add_up(client, [client.compute(_few(first))])
    except (KeyError, IndexError, AttributeError, TypeError, ValueError):
        return []  # a partition that is not as promised: whoever sums over it says what is wrong
    return [places[place] for place in few]


@delayed
def _few(partition: pd.DataFrame) -> list[int]:
    values = partition.head(1 << 12).to_numpy(dtype=np.float64, na_value=np.nan)
    if not len(values):
        return list(range(values.shape[1]))
    return [c for c in columns_with_few_values(values) if few_values(values[:, c], MOST_ORDINAL_NUMBERS)]


def _seen(client: Client, frame: Any, columns: Mapping[int, Hashable]) -> SeenColumns:
    if not columns:
        return SeenColumns()
    partitions = frame[list(columns.values())].to_delayed()
    try:
        found = add_up(client, client.compute([_look(part, dict(columns)) for part in partitions]))
    except (KeyError, IndexError, AttributeError, TypeError):
        found = SeenColumns()  # as above
    assert isinstance(found, SeenColumns)
    return found


@delayed
def _look(partition: pd.DataFrame, columns: dict[int, Hashable]) -> SeenColumns:
    return SeenColumns({place: _of_cells(partition[column]) for place, column in columns.items()})


def _of_cells(series: pd.Series) -> Seen:
    try:
        cells = _cells(series)
    except DatesError as error:
        return Seen({}, dates=str(error))
    except StrangeCellError as error:
        return Seen({}, unusable=str(error))
    texts, numbers = cells.texts, cells.numbers
    if numbers is not None and cells.said == (False, True):
        # As they would be written, in case that other partitions hold texts.
        codes = np.where(np.isnan(numbers), -1, numbers).astype(np.intp)
        texts = Texts(codes, ("false", "true"))
    if texts is not None:
        there = texts.only_seen()
        counted = there.counts()
        strange = next((text for text in there.levels if not is_number(text)), None)
        kept: Count | None = None if len(counted) > MOST_LEVELS else dict(counted.items())
        return Seen(kept, True, there.written, strange)
    assert numbers is not None
    few = few_values(numbers, MOST_LEVELS)
    counts: Count | None = None
    if few is not None:
        counts = dict(zip(few[0].tolist(), few[1].tolist(), strict=True))
    return Seen(counts, written=_of_numbers(numbers[~np.isnan(numbers)]), said=cells.said)


def _of_numbers(numbers: F64) -> Written:
    """How numbers would be written."""
    if not numbers.size:
        return Written()
    whole = bool((numbers == np.rint(numbers)).all())
    codes = bool(np.isin(numbers, (0.0, 1.0)).all())
    return Written(some=True, truths=codes, times=False, decimals=whole)


def _variable(name: str, seen: Seen, said: Said | None, order: Sequence[str] | None, comma: bool) -> Variable:
    counts, as_typed = seen.counts, _as_typed(seen, order, comma)
    if seen.text and as_typed is None:
        if said == "number" and seen.strange is not None:
            raise MixedError(seen.strange)
        if counts is None:
            # That some cells are numbers is not known any more; that the first strange one is none, is.
            raise TooManyLevelsError
        return of_texts(name, {str(text): n for text, n in counts.items()}, said, order)
    said = said or as_typed or None
    if counts is None:
        return variable_of_few(name, None, said)
    numbers = _of_numbers_in(counts, comma) if seen.text else counts
    different = np.array(sorted(map(float, numbers)))
    sizes = np.array([numbers[value] for value in different.tolist()], dtype=np.intp)
    return variable_of_few(name, (different, sizes), said)


def _as_typed(seen: Seen, order: Sequence[str] | None, comma: bool) -> tuple[Level, ...] | None:
    """What texts that are all numbers or truth values say of their levels, if anything; None for others.

    It is what :func:`.cells.typed` makes of a column in memory.
    """
    form = seen.written.form
    if form == "truth":
        return (False, True)
    if order is not None:
        cells = typed(Cells(None, Texts(np.arange(len(order)), tuple(order), ordered=True)))
        return cells.said if isinstance(cells.said, tuple) else None
    return () if comma or form in ("number", "empty") else None


def _of_numbers_in(counts: Count, comma: bool) -> Count:
    """The same counts by the numbers that the texts are."""
    texts = tuple(map(text_of, counts))
    found: Count = {}
    for number, n in zip(Texts(np.arange(len(texts)), texts).numbers(comma), counts.values(), strict=True):
        found[float(number)] = found.get(float(number), 0) + n
    return found


def _order(kind: Any) -> list[str] | None:
    """The levels of an ordered pandas category of texts, where they are known."""
    ordered = isinstance(kind, pd.CategoricalDtype) and kind.ordered and kind.categories is not None
    return [text_of(level).strip() for level in kind.categories] if ordered else None


def _refused(seen: Seen) -> Cells:
    raise StrangeCellError(seen.unusable) if seen.unusable else DatesError(seen.dates or seen.strange)


def _cells(series: pd.Series) -> Cells:
    if holds_numbers(series.dtype):
        said: Said | None = (False, True) if pd.api.types.is_bool_dtype(series.dtype) else None
        return Cells(series.to_numpy(dtype=np.float64, na_value=np.nan), said=said)
    return cells_of_series(nw.from_native(series, series_only=True))


def _coded(series: pd.Series, encoding: Encoding, level: int | None) -> pd.Series:
    """The numbers of the one variable, or the dummy of one of its levels."""
    cells, (variable,) = _cells(series), encoding.variables
    if cells.texts is not None and not variable.levels:
        texts = cells.texts.only_seen()
        if np.isnan(texts.numbers(encoding.decimal_comma)).any() and len(texts.levels) > 1:
            raise InputError(f"column {variable.name!r} holds text in some partitions only: {CORRECT}")
    table, _ = encoding.table(Found.of({0: cells}, np.empty((len(cells), 1))))
    values: F64 = table[:, 0]
    if variable.log:
        values = logarithms(values)
    elif level is not None:
        values = np.where(np.isnan(values), np.nan, values == level)
    return pd.Series(values, index=series.index)
