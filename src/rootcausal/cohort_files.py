"""Cohort tables in files: CSV and Parquet in, results out, each file written whole or not at all.

Reading turns every bad table into one :class:`~rootcausal.errors.InputError` that names the column or
line and says what to do. Writing goes through a temporary file in the same folder, so that a full disk or
Ctrl-C leaves the folder as it was.
"""

import csv
import difflib
import errno
import json
import os
import re
import secrets
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from rootcausal.errors import InputError

PathLike: TypeAlias = str | os.PathLike[str]

# A spreadsheet runs a cell that starts with one of these. The full-width forms count in some locales.
_FORMULA_STARTS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
_PLAIN_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")

# Rows wider than a block cannot be read, and a block holds few rows of a table with 20,000 columns.
_CSV_BLOCK_BYTES = 1 << 25
_ROWS_PER_WRITE = 1 << 16

# Pairs of labels, (healthy, disease), that mean the same to everybody.
_KNOWN_LABELS = (("0", "1"), ("false", "true"), ("no", "yes"))


@dataclass(frozen=True)
class Patients:
    """The rows of a cohort file.

    Attributes
    ----------
    X : pyarrow.Table
        The variables, float64, neither missing nor infinite.
    target : ndarray of shape (n,) or None
        The diagnosis labels as int64, float64, bool or str; None where no target was asked for.
    ids : list of str or None
        The id column as text; None where no id column was asked for.
    row_numbers : ndarray of shape (n,)
        Where each row stands in the file, counted from 1, the header left out.
    n_removed : int
        How many rows were left out because a value was missing.
    """

    X: Any
    target: npt.NDArray[Any] | None
    ids: list[str] | None
    row_numbers: npt.NDArray[np.int64]
    n_removed: int


@dataclass(frozen=True)
class Disease:
    """Which label is the disease: the label itself, its text, and how many rows carry it."""

    label: Any
    text: str
    n_cases: int


# --- words ------------------------------------------------------------------------------------------


def printable(text: str) -> str:
    """Return `text` with control and direction characters spelled out: a terminal must not obey them."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def one_line(name: object, limit: int = 60) -> str:
    """Return a column name or cell for the screen: printable, on one line, not too long."""
    text = printable(str(name)).replace("\n", "\\n")
    return text if len(text) <= limit else f"{text[:limit]}..."


def quoted(name: object, limit: int = 60) -> str:
    """Return a column name or cell for a message, in quotes."""
    return f"'{one_line(name, limit)}'"


def shown(path: PathLike) -> str:
    """Return a path for a message."""
    return quoted(path, limit=200)


def listed(items: Sequence[str], limit: int = 5) -> str:
    """Join the first items with commas and say how many are left out."""
    rest = len(items) - limit
    return ", ".join(items[:limit]) + (f" and {rest} more" if rest > 0 else "")


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _similar(name: str, names: Iterable[str]) -> list[str]:
    """Return the names that look like `name`, whatever their case and surrounding blanks."""
    by_key: dict[str, str] = {}
    for candidate in names:
        by_key.setdefault(candidate.strip().casefold(), candidate)
    return [by_key[key] for key in difflib.get_close_matches(name.strip().casefold(), by_key, n=3)]


# --- reading ----------------------------------------------------------------------------------------


def table_format(path: PathLike) -> Literal["csv", "parquet"]:
    """Return the format that the extension of `path` stands for."""
    extension = Path(path).suffix.lower()
    if extension == ".csv":
        return "csv"
    if extension == ".parquet":
        return "parquet"
    raise InputError(f"{shown(path)} is neither .csv nor .parquet: give the file one of these two endings.")


def column_names(path: PathLike) -> list[str]:
    """Return the column names of a CSV or Parquet file; a name that occurs twice is an error."""
    with _reading(path):
        names = _csv_header(path) if table_format(path) == "csv" else _open_parquet(path).schema_arrow.names
    repeated = [quoted(name) for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InputError(
            f"{shown(path)} has more than one column named {listed(repeated)}: rename or remove the copies."
        )
    return list(names)


def read_cohort(
    path: PathLike,
    target: str,
    *,
    id_column: str | None = None,
    drop: Sequence[str] = (),
    drop_missing: bool = False,
) -> Patients:
    """Read a cohort to fit on: every column is a variable but the target, the ids and the dropped ones."""
    names = column_names(path)
    asked = [("--target", target), *(("--drop", column) for column in drop)]
    if id_column is not None:
        asked.append(("--id", id_column))
    for option, column in asked:
        _require_column(path, names, option, column)
    for option, column in asked[1:]:
        if column == target:
            raise InputError(f"{quoted(column)} is both --target and {option}: choose one.")
    features = [name for name in names if name not in {column for _, column in asked}]
    if not features:
        raise InputError(
            f"{shown(path)} has no variables left besides the target, the ids and the dropped columns."
        )
    if "" in features:
        # Tables exported with their row index have such a column; as a variable it would be nonsense.
        raise InputError(
            f"column {names.index('') + 1} of {shown(path)} has no name (often an exported row index): "
            "name it in the file, or leave it out with --drop ''."
        )
    return _read_patients(
        path, features, target, id_column, drop_missing, "leave the column out with --drop COLUMN"
    )


def read_new_patients(
    path: PathLike, features: Sequence[str], *, id_column: str | None = None, drop_missing: bool = False
) -> Patients:
    """Read the columns that a model needs, in its order, and the ids; all other columns stay unread."""
    names = column_names(path)
    if id_column is not None:
        _require_column(path, names, "--id", id_column)
        if id_column in features:
            raise InputError(
                f"--id {quoted(id_column)} is one of the model's variables: choose a column that is not."
            )
    present = set(names)
    lacking = [name for name in features if name not in present]
    if lacking:
        hints = [
            quoted(name)
            + "".join(f" (is it {quoted(match)}?)" for match in _similar(name, present - set(features))[:1])
            for name in lacking[:5]
        ]
        more = f" and {len(lacking) - 5} more" if len(lacking) > 5 else ""
        raise InputError(
            f"{shown(path)} lacks {_plural(len(lacking), 'column')} that the model needs: "
            f"{', '.join(hints)}{more}. Name the columns as in the table the model was fitted on."
        )
    return _read_patients(path, features, None, id_column, drop_missing, "fill the column in")


def _require_column(path: PathLike, names: list[str], option: str, column: str) -> None:
    if column in names:
        return
    close = _similar(column, names)
    hint = (
        f"did you mean {' or '.join(quoted(name) for name in close)}?"
        if close
        else f"its columns are {listed([quoted(name) for name in names], 10)}."
    )
    raise InputError(f"{shown(path)} has no column {quoted(column)} ({option}); {hint}")


@contextmanager
def _reading(path: PathLike) -> Iterator[None]:
    """Turn whatever goes wrong while a file is read into one InputError."""
    import pyarrow as pa

    name = shown(path)
    try:
        yield
    except (InputError, MemoryError):
        raise
    except FileNotFoundError:
        raise InputError(f"cannot read {name}: there is no such file.") from None
    except UnicodeDecodeError:
        raise InputError(f"{name} is not UTF-8 text: save it as CSV in UTF-8, or as Parquet.") from None
    except (pa.ArrowException, OSError, KeyError, csv.Error) as error:
        if isinstance(error, OSError) and error.strerror:
            raise InputError(f"cannot read {name}: {error.strerror}.") from None
        if "UTF8" in str(error):
            raise InputError(f"{name} is not UTF-8 text: save it as CSV in UTF-8, or as Parquet.") from None
        reason = str(error).splitlines()[0][:200]
        raise InputError(
            f"{name} is not a readable {table_format(path)} file; it may be damaged or cut short "
            f"({printable(reason)}): export it again."
        ) from None


def _csv_header(path: PathLike) -> list[str]:
    with open(path, encoding="utf-8-sig", newline="") as lines:
        names = next((row for row in csv.reader(lines) if row), None)
    if names is None:
        raise InputError(f"{shown(path)} is empty: it needs a header line and one line per patient.")
    if len(names) == 1 and (separator := next((c for c in ";\t|" if c in names[0]), None)):
        raise InputError(f"{shown(path)} is separated by {quoted(separator)}: save it separated by commas.")
    return names


def _open_parquet(path: PathLike) -> Any:
    import pyarrow.parquet as pq

    if os.path.isfile(path) and os.path.getsize(path) == 0:
        raise InputError(f"{shown(path)} is empty.")
    return pq.ParquetFile(path)


def _read_columns(path: PathLike, columns: list[str], text_column: str | None) -> Any:
    """Read some columns as a pyarrow.Table; `text_column` keeps the text of a CSV as it is ("007")."""
    with _reading(path):
        if table_format(path) == "parquet":
            # A name such as "a" also selects "a.b" inside a Parquet file, hence the second selection.
            return _open_parquet(path).read(columns=columns).select(columns)
        return _read_csv(path, columns, text_column)


def _read_csv(path: PathLike, columns: list[str], text_column: str | None) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    def read(on_ragged_row: Any, use_threads: bool) -> Any:
        return arrow_csv.read_csv(
            path,
            arrow_csv.ReadOptions(block_size=_CSV_BLOCK_BYTES, use_threads=use_threads),
            arrow_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=on_ragged_row),
            arrow_csv.ConvertOptions(
                include_columns=columns,
                column_types={text_column: pa.string()} if text_column is not None else None,
            ),
        )

    ragged: list[Any] = []

    def note(row: Any) -> str:
        ragged.append(row)
        return "skip"

    table = read(note, use_threads=True)
    if ragged:
        # Only a reader with a single thread knows the number of a row.
        ragged.clear()
        read(note, use_threads=False)
        first = ragged[0]
        others = f" (so do {len(ragged) - 1} more rows)" if len(ragged) > 1 else ""
        raise InputError(
            f"data row {first.number - 1} of {shown(path)} has {_plural(first.actual_columns, 'value')}, "
            f"but the header names {_plural(first.expected_columns, 'column')}{others}: correct the file; "
            "a comma inside a text needs quotes around it."
        )
    return table


def _read_patients(
    path: PathLike,
    features: Sequence[str],
    target: str | None,
    id_column: str | None,
    drop_missing: bool,
    advice: str,
) -> Patients:
    import pyarrow as pa

    extra = [name for name in (target, id_column) if name is not None]
    table = _read_columns(path, [*features, *extra], id_column)
    if table.num_rows == 0:
        raise InputError(f"{shown(path)} has column names but no rows.")
    columns = _numbers(path, table, features, advice)
    missing = {name: np.isnan(values) for name, values in columns.items()}
    labels = None
    if target is not None:
        labels, missing[target] = _labels(path, table[target], target)
    keep = _complete_rows(path, missing, target, drop_missing, advice)
    # Free of copies in the usual case, where no row is left out.
    everything = bool(keep.all())
    if not everything:
        columns = {name: values[keep] for name, values in columns.items()}
    ids = None if id_column is None else _texts(path, table[id_column], id_column, "--id")
    return Patients(
        X=pa.table(columns),
        target=None if labels is None else _whole_numbers(labels[keep]),
        ids=ids
        if ids is None or everything
        else [text for text, kept in zip(ids, keep, strict=True) if kept],
        row_numbers=np.flatnonzero(keep) + 1,
        n_removed=int((~keep).sum()),
    )


def _numbers(
    path: PathLike, table: Any, features: Sequence[str], advice: str
) -> dict[str, npt.NDArray[np.float64]]:
    """Return each variable as float64, missing as NaN; text and infinite values are errors."""
    columns: dict[str, npt.NDArray[np.float64]] = {}
    texts: list[str] = []
    for name in features:
        values = _as_float64(table[name])
        if values is None:
            texts.append(_text_example(table[name], name))
        else:
            columns[name] = values
    if texts:
        raise InputError(
            f"{shown(path)} has columns that are not numbers: {listed(texts)}. "
            f"Encode them as numbers, or {advice}."
        )
    infinite = {name: int(np.isinf(values).sum()) for name, values in columns.items()}
    found = [f"{quoted(name)} ({count})" for name, count in infinite.items() if count]
    if found:
        raise InputError(
            f"{shown(path)} has infinite values, here with their counts: {listed(found)}. "
            f"Replace them by numbers, or {advice}."
        )
    return columns


def _as_float64(column: Any) -> npt.NDArray[np.float64] | None:
    """Return a pyarrow column as float64 with NaN for missing, or None where it does not hold numbers."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif not (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_null(kind)
    ):
        return None
    values: npt.NDArray[np.float64] = column.cast(pa.float64(), safe=False).to_numpy()
    return values


def _text_example(column: Any, name: str) -> str:
    """Describe a column that is not numeric by its first value that is not a number."""
    import pyarrow as pa

    if pa.types.is_binary(column.type):
        return f"{quoted(name)} (not UTF-8 text)"
    first = None
    for row, value in enumerate(column, start=1):
        if value.is_valid and value.as_py() != "":
            first = first or (row, value.as_py())
            try:
                float(value.as_py())
            except (TypeError, ValueError):
                first = (row, value.as_py())
                break
    if first is None:
        return quoted(name)
    return f"{quoted(name)} (for example {quoted(first[1], 30)} in data row {first[0]})"


def _labels(path: PathLike, column: Any, name: str) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Return the target's labels and where they are missing."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    if pa.types.is_boolean(column.type):
        return column.fill_null(False).to_numpy(), column.is_null().to_numpy()
    numbers = _as_float64(column)
    if numbers is not None:
        return numbers, np.isnan(numbers)
    texts = [text.strip() for text in _texts(path, column, name, "--target")]
    words_for_missing = set(arrow_csv.ConvertOptions().null_values)
    folded = {text.casefold() for text in texts if text not in words_for_missing}
    if any(folded <= set(pair) for pair in _KNOWN_LABELS):
        texts = [text if text in words_for_missing else text.casefold() for text in texts]
    return np.array(texts, dtype=np.str_), np.array([text in words_for_missing for text in texts])


def _whole_numbers(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Turn float labels into integers where nothing is lost, so that 1.0 reads as 1."""
    if labels.dtype.kind == "f" and np.isfinite(labels).all() and (labels == np.floor(labels)).all():
        return labels.astype(np.int64)
    return labels


def _texts(path: PathLike, column: Any, name: str, option: str) -> list[str]:
    import pyarrow as pa

    try:
        return ["" if text is None else text for text in column.cast(pa.string()).to_pylist()]
    except (pa.ArrowException, UnicodeDecodeError):
        raise InputError(
            f"column {quoted(name)} ({option}) of {shown(path)} is not text: correct it or choose another."
        ) from None


def _complete_rows(
    path: PathLike,
    missing: Mapping[str, npt.NDArray[np.bool_]],
    target: str | None,
    drop_missing: bool,
    advice: str,
) -> npt.NDArray[np.bool_]:
    """Return which rows to keep; missing values are an error unless the user asked to leave such rows out."""
    counts = {name: int(where.sum()) for name, where in missing.items()}
    found = [
        f"{quoted(name)}{' (the target)' if name == target else ''} ({count})"
        for name, count in counts.items()
        if count
    ]
    keep: npt.NDArray[np.bool_] = ~np.logical_or.reduce(list(missing.values()))
    if found and not drop_missing:
        only_target = target is not None and sum(counts.values()) == counts[target]
        raise InputError(
            f"{shown(path)} has missing values, here with their counts: {listed(found)}. "
            "Leave out the rows concerned with --drop-missing" + ("." if only_target else f", or {advice}.")
        )
    if not keep.any():
        raise InputError(
            f"--drop-missing leaves no row of {shown(path)}: every row has a missing value "
            f"({listed(found)}). {advice[0].upper()}{advice[1:]}."
        )
    return keep


def choose_disease(labels: npt.NDArray[Any], target: str, positive: str | None) -> Disease:
    """Decide which of the two labels is the disease; labels that do not say so themselves need `positive`."""
    unique, counts = np.unique(labels, return_counts=True)
    texts = [str(label).lower() if labels.dtype.kind == "b" else str(label) for label in unique]
    named = [
        f"{quoted(text, 30)} ({_plural(int(count), 'row')})"
        for text, count in zip(texts, counts, strict=True)
    ]
    if len(unique) != 2:
        found = (
            f"only one label, {named[0]}" if len(unique) == 1 else f"{len(unique)} labels: {listed(named)}"
        )
        raise InputError(f"the target {quoted(target)} must hold two labels, but it holds {found}.")
    if positive is None:
        known = [pair for pair in _KNOWN_LABELS if set(pair) == set(texts)]
        if not known:
            raise InputError(
                f"the target {quoted(target)} holds {named[0]} and {named[1]}: "
                "say which one is the disease with --positive LABEL."
            )
        wanted = known[0][1]
    else:
        wanted = positive if positive in texts else positive.strip().casefold()
    matches = [k for k in range(2) if texts[k] == wanted]
    if not matches:
        raise InputError(
            f"--positive {quoted(positive)} is not a label of {quoted(target)}, "
            f"which holds {named[0]} and {named[1]}."
        )
    return Disease(label=unique[matches[0]].item(), text=texts[matches[0]], n_cases=int(counts[matches[0]]))


# --- writing ----------------------------------------------------------------------------------------


def check_can_write(path: PathLike) -> None:
    """Raise OSError, before any long work, where :func:`atomic_write` could not write `path`."""
    final = _destination(path)
    probe = final.with_name(f".rootcausal-{secrets.token_hex(8)}.tmp")
    try:
        with open(probe, "xb"):
            pass
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        probe.unlink(missing_ok=True)


@contextmanager
def atomic_write(path: PathLike) -> Iterator[BinaryIO]:
    """Open `path` for binary writing so that it is replaced whole at the end, or left as it was.

    The bytes go to a temporary file in the same folder. Any exception, Ctrl-C included, removes that file.

    Raises
    ------
    OSError
        Where the file cannot be written; `strerror` is a sentence for the user.
    """
    final = _destination(path)
    temporary = final.with_name(f".rootcausal-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as handle:
            if final.exists():
                # Before the first byte: a private file must not become readable while it is rewritten.
                shutil.copymode(final, temporary)
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, final)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _cannot_write(path, error) from error
        raise


def _destination(path: PathLike) -> Path:
    """Follow links to the file that will be replaced, and refuse what must not be replaced."""
    final = Path(os.path.realpath(path))
    reason = None
    if not final.parent.is_dir():
        reason = f"the folder {shown(final.parent)} does not exist"
    elif final.is_dir():
        reason = "it is a folder"
    elif final.exists() and not final.is_file():
        reason = "it is not a regular file"
    elif final.exists() and not os.access(final, os.W_OK):
        reason = "the file is write-protected"
    if reason:
        raise OSError(errno.EACCES, f"cannot write {shown(path)}: {reason}.")
    return final


def _cannot_write(path: PathLike, error: OSError) -> OSError:
    if error.strerror and error.strerror.startswith("cannot write "):
        return error
    return OSError(error.errno or errno.EIO, f"cannot write {shown(path)}: {error.strerror or error}.")


def write_tables(tables: Mapping[Path, Any], made_by: Mapping[str, Any]) -> None:
    """Write pyarrow tables, each to its path and in the format of its extension: all of them or none.

    Parquet files carry `made_by` as JSON under the schema metadata key ``rootcausal``. CSV files stay plain;
    in them, a header or text cell that a spreadsheet would run as a formula gets a leading apostrophe.
    """
    formats = {path: table_format(path) for path in tables}
    with ExitStack() as files:
        for path, table in tables.items():
            handle = files.enter_context(atomic_write(path))
            if formats[path] == "csv":
                _write_csv(table, handle)
            else:
                _write_parquet(table, handle, made_by)


def _write_csv(table: Any, handle: BinaryIO) -> None:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    names = [_without_formula(name) for name in table.column_names]
    columns = [
        pa.array([_without_formula(text) for text in column.to_pylist()], pa.string())
        if pa.types.is_string(column.type)
        else column
        for column in table.columns
    ]
    safe = pa.Table.from_arrays(columns, names=names)
    # pyarrow writes the shortest decimal that reads back as the same float64.
    with arrow_csv.CSVWriter(handle, safe.schema) as writer:
        # In pieces, because Ctrl-C is only heard between two calls.
        for batch in safe.to_batches(max_chunksize=_ROWS_PER_WRITE):
            writer.write_batch(batch)


def _write_parquet(table: Any, handle: BinaryIO, made_by: Mapping[str, Any]) -> None:
    import pyarrow.parquet as pq

    described = table.replace_schema_metadata({b"rootcausal": json.dumps(made_by, default=str).encode()})
    with pq.ParquetWriter(handle, described.schema) as writer:
        for batch in described.to_batches(max_chunksize=_ROWS_PER_WRITE):
            writer.write_batch(batch)


def _without_formula(text: str) -> str:
    if text.startswith(_FORMULA_STARTS) and not _PLAIN_NUMBER.fullmatch(text):
        return "'" + text
    return text
