"""Result rows: what one method gave on one data set.

Rows are appended to a journal as they come, so that a process that is killed loses none, and frozen into one
Parquet file when the run ends, however it ends.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from ..atomic_write import atomic_write
from ..errors import InputError
from ..wording import shown

SEED_KEY = b"rootcausal_seed"


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
        with open(self.journal, "a", encoding="utf-8") as handle:
            handle.writelines(json.dumps({"seed": self.seed, **asdict(row)}) + "\n" for row in rows)

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
            parquet.write_table(table, handle, compression="zstd")
        self.journal.unlink()


def read_rows(path: Path, seed: int | None = None) -> list[Row]:
    """Read rows, and refuse files that hold something else, or were made from another seed."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.read_table(path)
        made_from = int((table.schema.metadata or {})[SEED_KEY])
        rows = [Row(**row) for row in table.select([field.name for field in fields(Row)]).to_pylist()]
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        raise InputError(
            f"{shown(path)} does not hold result rows ({error}): delete it, or choose another folder"
        ) from error
    if seed is not None:
        _check_seed(path, made_from, seed)
    return rows


def _read_journal(path: Path, seed: int) -> list[Row]:
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = []
    for place, line in enumerate(lines):
        try:
            found = json.loads(line)
            made_from = found.pop("seed")
            row = Row(**found)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if place == len(lines) - 1:
                break  # a process was killed while it wrote this line
            raise InputError(f"{shown(path)} does not hold result rows ({error}): delete it") from error
        _check_seed(path, made_from, seed)
        rows.append(row)
    return rows


def _check_seed(path: Path, made_from: int, seed: int) -> None:
    if made_from != seed:
        raise InputError(f"{shown(path)} was made from seed {made_from}, not {seed}: choose another folder")


def _schema(seed: int) -> object:
    import pyarrow as pa

    text = pa.dictionary(pa.int32(), pa.string())
    kinds = {"source": text, "method": text, "error": pa.string(), "version": text}
    kinds |= dict.fromkeys(("n", "p", "number"), pa.int32())
    kinds |= dict.fromkeys(("overlap", "mse", "seconds"), pa.float64())
    kinds |= {"pairs": pa.int64()}
    return pa.schema(
        [(field.name, kinds[field.name]) for field in fields(Row)], {SEED_KEY: str(seed).encode()}
    )
