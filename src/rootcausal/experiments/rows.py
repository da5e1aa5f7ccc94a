"""Result rows: what one method gave on one data set.

Rows are appended to a journal as they come, so that a process that is killed loses none, and frozen into one
Parquet file when the run ends, however it ends.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files.array_archive import check_inflation
from ..files.writing import atomic_write, cannot_write
from ..wording import one_line, shown

SEED_KEY = b"rootcausal_seed"
TEXTS = ("source", "method", "error", "version", "mechanism")
COUNTS = {"n": 2**31, "p": 2**31, "number": 2**31, "pairs": 2**63}  # what their Parquet columns can hold
MEASURES = ("overlap", "mse", "seconds")
MAY_BE_MISSING = (*MEASURES, "pairs", "error", "mechanism")
# Files of older versions have no such column.
LATER = ("mechanism",)
# Rows are a few hundred bytes each, and hardly shrink in Parquet: a file that grows more is a bomb.
LONGEST_LINE, LONGEST_TEXT = 1 << 16, 1000
FREE_ROWS = 100_000


@dataclass(frozen=True)
class Row:
    """One method on one data set.

    Attributes
    ----------
    source, number : which data set; n rows, and p variables with the diagnosis among them.
    method : its name; for timings the variant of Direct LiNGAM.
    overlap, mse : rank-biased overlap and mean squared error, where they apply.
    seconds : time to fit and score; for timings, to order the columns.
    pairs : pairs of columns that were compared; timings only.
    error : why there is no result, or None.
    version : of rootcausal.
    mechanism : "linear" or "nonlinear", where the method chose between them; otherwise None.
    """

    source: str
    n: int
    p: int
    number: int
    method: str
    overlap: float | None
    mse: float | None
    seconds: float | None
    pairs: int | None
    error: str | None
    version: str
    mechanism: str | None = None


class RowFile:
    """The rows of one source: a Parquet file, and a journal of those that are not in it yet."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path = path
        self.journal = path.with_suffix(".journal")
        self.seed = seed
        self.rows: dict[tuple[int, str], Row] = {}
        if path.exists():
            self._keep(read_rows(path, seed))
        if self.journal.exists():
            self._keep(_read_journal(self.journal, seed))
            # A torn last line would swallow the next one.
            self.freeze()

    def add(self, rows: Iterable[Row]) -> None:
        rows = list(rows)
        self._keep(rows)
        try:
            with open(self.journal, "a", encoding="utf-8") as handle:
                handle.writelines(_line({"seed": self.seed, **asdict(row)}) for row in rows)
        except OSError as error:
            raise cannot_write(self.journal, error) from error

    def lacks(self, number: int, method: str) -> bool:
        """Whether a row is missing, or holds no more than an error: such a cell is run again."""
        row = self.rows.get((number, method))
        return row is None or row.error is not None

    def _keep(self, rows: Iterable[Row]) -> None:
        self.rows |= {(row.number, row.method): row for row in rows}

    def freeze(self) -> None:
        """Write all rows to the Parquet file, in an order that does not depend on when they came."""
        if not self.journal.exists():
            return
        import pyarrow as pa
        from pyarrow import parquet

        ordered = [asdict(self.rows[key]) for key in sorted(self.rows)]
        table = pa.Table.from_pylist(ordered, schema=_schema(self.seed))
        with atomic_write(self.path) as handle:
            parquet.write_table(table, handle, compression="zstd", write_page_checksum=True)
        self.journal.unlink()


def read_rows(path: Path, seed: int | None = None) -> list[Row]:
    """Read rows, and refuse files that hold something else, or were made from another seed."""
    import pyarrow as pa

    try:
        columns, made_from = _read_columns(path)
        by_row = zip(*columns.values(), strict=True)
        rows = [_row(dict(zip(columns, values, strict=True))) for values in by_row]
    except (OSError, pa.ArrowException, LookupError, ValueError, TypeError, MemoryError) as error:
        raise _no_rows(path, error) from error
    if seed is not None:
        _check_seed(path, made_from, seed)
    return rows


def _read_columns(path: Path) -> tuple[dict[str, list[Any]], int]:
    """The columns of a Parquet file and its seed, once its footer says that it is no larger than it looks."""
    from pyarrow import parquet

    size = path.stat().st_size
    held = parquet.read_schema(path).names
    texts = [name for name in TEXTS if name in held or name not in LATER]
    with parquet.ParquetFile(path, read_dictionary=texts, page_checksum_verification=True) as file:
        groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
        check_inflation(sum(group.total_byte_size for group in groups), size)
        if file.metadata.num_rows > max(FREE_ROWS, size):
            raise ValueError("it declares far more rows than a file of its size can hold")
        seed = int((file.schema_arrow.metadata or {})[SEED_KEY])
        expected = _schema(seed)
        table = file.read(columns=expected.names)
    table.validate(full=True)
    columns: dict[str, list[Any]] = {}
    for field in expected:
        if field.name in LATER and field.name not in held:
            columns[field.name] = [None] * table.num_rows
            continue
        column = table.column(field.name)
        if field.name in TEXTS:
            column = column.combine_chunks()
            # Each text once, however many rows hold it.
            words = column.dictionary.to_pylist()
            columns[field.name] = [
                None if place is None else words[place] for place in column.indices.to_pylist()
            ]
        elif column.type != field.type:
            raise ValueError(f"its column {field.name!r} is of another type")
        else:
            columns[field.name] = column.to_pylist()
    return columns, seed


def _read_journal(path: Path, seed: int) -> list[Row]:
    rows = []
    try:
        if not path.is_file():
            raise ValueError("it is not a regular file")
        with open(path, "rb") as handle:
            while line := handle.readline(LONGEST_LINE):
                try:
                    made_from, row = _parse(line)
                except (ValueError, LookupError, TypeError, RecursionError):
                    if not line.endswith(b"\n") and len(line) < LONGEST_LINE:
                        break  # a process was killed while it wrote this line
                    raise
                _check_seed(path, made_from, seed)
                rows.append(row)
    except InputError:
        raise
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise _no_rows(path, error) from error
    return rows


def _line(values: Mapping[str, Any]) -> str:
    text = json.dumps(values, allow_nan=False)
    return json.dumps({**values, "crc32": zlib.crc32(text.encode())}) + "\n"


def _parse(line: bytes) -> tuple[int, Row]:
    """The seed and the row of one line; a ValueError, or what wrong types raise, says that it holds none."""
    found = json.loads(line)
    if not isinstance(found, dict):
        raise ValueError("a line is not a row")
    # Journals of older versions have no checksum.
    checksum = found.pop("crc32", None)
    if checksum is not None and checksum != zlib.crc32(json.dumps(found).encode()):
        raise ValueError("the checksum of a line differs")
    seed = found.pop("seed")
    if type(seed) is not int:
        raise ValueError("a seed is not a whole number")
    return seed, _row(found)


def _row(values: Mapping[str, Any]) -> Row:
    """A row of values from a file; a ValueError says which of them it cannot have."""
    row = Row(**values)
    for name, value in values.items():
        if value is None:
            fits = name in MAY_BE_MISSING
        elif name in TEXTS:
            # Half a character, which JSON can hold, cannot be encoded.
            fits = isinstance(value, str) and 0 < len(value) <= LONGEST_TEXT and bool(value.encode())
        elif name in MEASURES:
            fits = isinstance(value, float) and math.isfinite(value)
        else:
            fits = type(value) is int and 0 <= value < COUNTS[name]
        if not fits:
            raise ValueError(f"{name} cannot be {one_line(repr(value))}")
    return row


def _no_rows(path: Path, error: BaseException) -> InputError:
    why = one_line(error, 200)
    return InputError(f"{shown(path)} does not hold result rows ({why}): delete it, or choose another folder")


def _check_seed(path: Path, made_from: int, seed: int) -> None:
    if made_from != seed:
        raise InputError(f"{shown(path)} was made from seed {made_from}, not {seed}: choose another folder")


def _schema(seed: int) -> Any:
    import pyarrow as pa

    kinds = dict.fromkeys(
        ("source", "method", "version", "mechanism"), pa.dictionary(pa.int32(), pa.string())
    )
    kinds |= {"error": pa.string(), "pairs": pa.int64()}
    kinds |= dict.fromkeys(("n", "p", "number"), pa.int32()) | dict.fromkeys(MEASURES, pa.float64())
    return pa.schema(
        [(field.name, kinds[field.name]) for field in fields(Row)], {SEED_KEY: str(seed).encode()}
    )
