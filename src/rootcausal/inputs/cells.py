"""The cells of a column, whatever library holds them: numbers, or a few different texts.

Texts stay as they are written. Whether they are numbers or truth values is decided once, by the whole column
of a cohort (:func:`typed`); cells of new patients are then read one by one, as the model's variables are
(:mod:`.encoding`), so that a patient's numbers never depend on who comes along.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from ..files.arrow import is_numeric, is_text, pa
from ..files.cells import WORDS_FOR_MISSING, Written, is_missing, one_by_one
from ..method.table import F64, Index
from .kinds import NO_LIMITS, DatesError, Limits, Said, StrangeCellError
from .labels import text_of

# A sign and a number; of 38+ the sign comes last.
_FIGURES = r"([+-]?[\d.,]*\d(?:e[+-]?\d+)?)"
_BELOW = re.compile(rf"(?:<=?|=<|≤)\s*{_FIGURES}", re.ASCII | re.IGNORECASE)
_ABOVE = re.compile(rf"(?:>=?|=>|≥)\s*{_FIGURES}|{_FIGURES}\s*\+", re.ASCII | re.IGNORECASE)


def beside_sign(text: str) -> str:
    """The number of a cell such as "<3"; empty where it is no such cell."""
    found = _BELOW.fullmatch(text.strip()) or _ABOVE.fullmatch(text.strip())
    return "" if found is None else next(filter(None, found.groups()))


def limit_in(text: str) -> Limits:
    """The limit of detection that a text such as "<3", ">100" or "38+" says; none where it says none."""
    number = float(one_by_one((beside_sign(text),), decimal_comma=True)[0])
    if not math.isfinite(number):
        return NO_LIMITS
    return Limits(lowest=number) if _BELOW.fullmatch(text.strip()) else Limits(highest=number)


@dataclass(frozen=True, eq=False)
class Texts:
    """A column of texts.

    Attributes
    ----------
    codes : (n,) which of the levels each row holds; -1 where it is missing.
    levels : the different texts, without blanks around them.
    ordered : whether the levels are in an order that means something.
    """

    codes: Index
    levels: tuple[str, ...]
    ordered: bool = False

    @property
    def written(self) -> Written:
        """How they are written."""
        return Written.of(self.levels)

    def numbers(self, decimal_comma: bool = False) -> F64:
        """(levels,) the number that each level is by itself, and NaN where it is none: see ``one_by_one``."""
        return one_by_one(self.levels, decimal_comma)

    def only_seen(self) -> Texts:
        """The same without levels that no row has."""
        seen, codes = np.unique(self.codes, return_inverse=True)
        levels = tuple(self.levels[code] for code in seen.tolist() if code >= 0)
        return replace(self, codes=codes - (seen.size - len(levels)), levels=levels)

    def counts(self) -> dict[str, int]:
        """How many rows have each level, of those that some row has."""
        counts = np.bincount(self.codes[self.codes >= 0], minlength=len(self.levels))
        return {level: int(n) for level, n in zip(self.levels, counts, strict=True) if n}


@dataclass(frozen=True, eq=False)
class Cells:
    """One column: ``numbers`` (n,), NaN where missing, or ``texts``; and what its type says of its kind."""

    numbers: F64 | None
    texts: Texts | None = None
    said: Said | None = None

    def __len__(self) -> int:
        return self.missing.size

    @property
    def missing(self) -> np.ndarray:
        """(n,) where there is no value."""
        if self.texts is not None:
            return self.texts.codes < 0
        assert self.numbers is not None
        return np.isnan(self.numbers)

    def take(self, rows: np.ndarray) -> Cells:
        """The cells of some rows."""
        if self.texts is not None:
            return replace(self, texts=replace(self.texts, codes=self.texts.codes[rows]))
        assert self.numbers is not None
        return replace(self, numbers=self.numbers[rows])

    def without(self, gone: np.ndarray) -> Cells:
        """The same, and missing in the rows of the mask (n,) too."""
        if self.texts is not None:
            return replace(self, texts=replace(self.texts, codes=np.where(gone, -1, self.texts.codes)))
        assert self.numbers is not None
        return replace(self, numbers=np.where(gone, np.nan, self.numbers))

    def to_arrow(self) -> Any:
        """The same as an array of pyarrow: float64 or a dictionary, which :func:`of_arrow` takes back."""
        texts = self.texts
        if texts is None:
            return pa.array(self.numbers)
        codes = pa.array(texts.codes, pa.int32(), mask=texts.codes < 0)
        levels = pa.array(texts.levels, pa.string())
        return pa.DictionaryArray.from_arrays(codes, levels, ordered=texts.ordered)


@dataclass(frozen=True, eq=False)
class Found:
    """The columns of a user's table, as they were found.

    Attributes
    ----------
    values : (n, p) numbers, NaN where missing; of a column of texts, zero where there is one.
    texts : columns that hold texts, by their places.
    said : what the types of columns say of their kinds, by their places.
    borrowed : the numbers may be the user's own.
    """

    values: F64
    texts: Mapping[int, Texts] = field(default_factory=dict)
    said: Mapping[int, Said] = field(default_factory=dict)
    borrowed: bool = False

    @classmethod
    def of(cls, cells: Mapping[int, Cells], values: F64, said: Mapping[int, Said] | None = None) -> Found:
        """Columns by their places, put among the numbers (n, p) of the others."""
        for place, column in cells.items():
            values[:, place] = (
                column.numbers if column.texts is None else np.where(column.missing, np.nan, 0.0)
            )
        texts = {place: one.texts for place, one in cells.items() if one.texts is not None}
        types = {place: one.said for place, one in cells.items() if one.said is not None}
        return cls(values, texts, types | dict(said or {}))

    def among(self, present: np.ndarray) -> Found:
        """The same columns in a table where they are those of the mask (p,); the others are missing."""
        if present.all():
            return self
        places = np.flatnonzero(present).tolist()
        values = np.full((len(self.values), present.size), np.nan, order="F")
        values[:, present] = self.values
        return Found(
            values,
            {places[place]: texts for place, texts in self.texts.items()},
            {places[place]: said for place, said in self.said.items()},
        )


def of_arrow(column: Any) -> Cells:
    """The cells of a pyarrow column; DatesError or StrangeCellError where they cannot be used."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _of_dictionary(column)
    if pa.types.is_boolean(kind):
        return Cells(_floats(column.cast(pa.int8())), said=(False, True))
    if is_numeric(kind):
        return Cells(_floats(column))
    if pa.types.is_temporal(kind):
        raise DatesError(_first(column))
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        try:
            column = column.cast(pa.string())
        except pa.ArrowInvalid:
            raise StrangeCellError("bytes that are not UTF-8 text") from None
    elif not _is_any_text(kind):
        raise StrangeCellError(_first(column))
    return _of_dictionary(column.cast(pa.large_string()).dictionary_encode())


def of_objects(cells: Sequence[Any]) -> Cells:
    """The cells of a column of Python objects."""
    there = [cell for cell in cells if not is_missing(cell)]
    kinds = set(map(type, there))
    truths = [issubclass(kind, bool | np.bool_) for kind in kinds]
    if kinds and all(truths):
        return Cells(_as_floats(cells), said=(False, True))
    if not any(truths) and all(issubclass(kind, Real | Decimal) for kind in kinds):
        return Cells(_as_floats(cells))
    for cell in there:
        if not isinstance(cell, str | Real | Decimal | np.bool_):
            if hasattr(cell, "isoformat") or isinstance(cell, np.datetime64 | np.timedelta64):
                raise DatesError(str(cell))
            raise StrangeCellError(str(cell))
    places: dict[str, int] = {}
    codes = [-1 if is_missing(cell) else places.setdefault(text_of(cell), len(places)) for cell in cells]
    return _tidied(np.array(codes, dtype=np.intp), list(places), ordered=False)


def _of_dictionary(column: Any) -> Cells:
    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # pyarrow keeps the chunks of an empty column
            column = pa.array([], column.type) if not column.num_chunks else column.chunk(0)
    levels = column.dictionary
    codes = column.indices.cast(pa.int64()).fill_null(-1).to_numpy().astype(np.intp)
    ordered = bool(column.type.ordered)
    if _is_any_text(levels.type):
        return _tidied(codes, levels.to_pylist(), ordered)
    inside = of_arrow(levels)
    numbers = inside.numbers
    if numbers is None:  # bytes that are text
        return _tidied(codes, levels.cast(pa.string()).to_pylist(), ordered)
    values = np.append(numbers, np.nan)[codes]
    if inside.said is not None:
        return Cells(values, said=inside.said)
    if not ordered:
        return Cells(values, said="nominal")
    if (np.diff(numbers) > 0).all():
        return Cells(values, said=tuple(numbers.tolist()))
    return Cells(None, Texts(codes, tuple(map(text_of, numbers.tolist())), ordered=True))


def _tidied(codes: Index, texts: Sequence[str | None], ordered: bool) -> Cells:
    """Texts without blanks around them, and without words for missing."""
    places: dict[str, int] = {}
    new = np.empty(len(texts) + 1, dtype=np.intp)
    new[-1] = -1  # which is where the code -1 points to
    for code, text in enumerate(texts):
        stripped = "" if text is None else text.strip()
        gone = stripped in WORDS_FOR_MISSING
        new[code] = -1 if gone else places.setdefault(stripped, len(places))
    return Cells(None, Texts(new[codes], tuple(places), ordered))


def typed(cells: Cells) -> Cells:
    """The column of a cohort as numbers or truth values where all of its texts are such.

    Times of day are a DatesError, whatever holds them. Commas are left to who sees all columns.
    """
    texts = cells.texts
    if texts is None:
        return cells
    form = texts.written.form
    if form == "empty":
        return Cells(np.full(texts.codes.size, np.nan))
    if form == "time":
        raise DatesError(texts.levels[0])
    if form not in ("number", "truth"):
        return cells
    numbers = texts.numbers()
    values = np.append(numbers, np.nan)[texts.codes]
    if form == "truth":
        return Cells(values, said=(False, True))
    if not texts.ordered:
        return Cells(values)
    if (np.diff(numbers) > 0).all():
        return Cells(values, said=tuple(numbers.tolist()))
    return cells


def _floats(column: Any) -> F64:
    values: F64 = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return values


def _as_floats(cells: Sequence[Any]) -> F64:
    return np.array([np.nan if is_missing(cell) else float(cell) for cell in cells])


def _is_any_text(kind: Any) -> bool:
    return is_text(kind) or pa.types.is_string_view(kind)


def _first(column: Any) -> str:
    """The first cell that is there, in words."""
    return next((str(cell) for cell in column.to_pylist() if cell is not None), str(column.type))
