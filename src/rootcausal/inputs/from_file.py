"""Cohorts in files: which column is what, and every value a number.

Reading turns every bad table into one :class:`~rootcausal.errors.InputError` that names the column or
line and says what to do.
"""

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.table import LARGEST
from ..errors import InputError
from ..files.tables import column_names, read_columns, stream_columns
from ..wording import listed, plural, quoted, shown
from .target import one_spelling
from .text_cells import text_example


@dataclass(frozen=True, eq=False)
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


def read_cohort(
    path: str | PathLike[str],
    target: str,
    *,
    id_column: str | None = None,
    drop: Sequence[str] = (),
    drop_missing: bool = False,
) -> Patients:
    """Read a cohort to fit on: every column is a variable but the target, the ids and the dropped ones."""
    features = choose_features(path, column_names(path), target, id_column, drop)
    tables = [read_columns(path, [*features, target, *_listed(id_column)], id_column)]
    advice = "leave the column out with --drop COLUMN"
    (patients,) = _patients(path, tables, features, target, id_column, drop_missing, advice)
    return patients


def choose_features(
    path: str | PathLike[str], names: list[str], target: str, id_column: str | None, drop: Sequence[str]
) -> list[str]:
    """Return the columns that are variables; an option that names no column is an error."""
    asked = [("--target", target), *(("--drop", column) for column in drop)]
    if id_column is not None:
        asked.append(("--id", id_column))
    for option, column in asked:
        _require_column(path, names, option, column)
    for option, column in asked[1:]:
        if column == target:
            raise InputError(f"{quoted(column)} is both --target and {option}: choose one.")
    other_roles = {column for _, column in asked}
    features = [name for name in names if name not in other_roles]
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
    return features


def read_new_patients(
    path: str | PathLike[str],
    features: Sequence[str],
    *,
    needed: Sequence[str] | None = None,
    id_column: str | None = None,
    drop_missing: bool = False,
) -> Patients:
    """Read the columns that a model knows, in its order, and the ids; all other columns stay unread.

    The file may lack columns that are not `needed` (None: all are), or values of them.
    """
    found = _columns_found(path, features, needed, id_column)
    tables = [read_columns(path, [*found, *_listed(id_column)], id_column)]
    (patients,) = _patients(path, tables, found, None, id_column, drop_missing, "fill the column in", needed)
    return patients


def stream_new_patients(
    path: str | PathLike[str],
    features: Sequence[str],
    *,
    needed: Sequence[str] | None = None,
    id_column: str | None = None,
    drop_missing: bool = False,
) -> Iterator[Patients]:
    """The same in pieces of rows where the file is Parquet, so that it may be larger than memory.

    What is wrong with any row is an error after the last piece: nothing that was made of the pieces may be
    kept then.
    """
    found = _columns_found(path, features, needed, id_column)
    tables = stream_columns(path, [*found, *_listed(id_column)], id_column)
    yield from _patients(path, tables, found, None, id_column, drop_missing, "fill the column in", needed)


def _listed(id_column: str | None) -> list[str]:
    return [] if id_column is None else [id_column]


def _columns_found(
    path: str | PathLike[str], features: Sequence[str], needed: Sequence[str] | None, id_column: str | None
) -> list[str]:
    """Return the model's columns that the file has; that it lacks one that is needed is an error."""
    names = column_names(path)
    if id_column is not None:
        _require_column(path, names, "--id", id_column)
        if id_column in features:
            raise InputError(
                f"--id {quoted(id_column)} is one of the model's variables: choose a column that is not."
            )
    present = set(names)
    found = [name for name in features if name in present]
    # A file with none of the columns is another one, even where the model needs none.
    lacking = [name for name in (features if needed is None or not found else needed) if name not in present]
    if lacking:
        hints = [
            quoted(name)
            + "".join(f" (is it {quoted(match)}?)" for match in _similar(name, present - set(features))[:1])
            for name in lacking[:5]
        ]
        more = f" and {len(lacking) - 5} more" if len(lacking) > 5 else ""
        raise InputError(
            f"{shown(path)} lacks {plural(len(lacking), 'column')} that the model needs: "
            f"{', '.join(hints)}{more}. Name the columns as in the table the model was fitted on."
        )
    return found


def _require_column(path: str | PathLike[str], names: list[str], option: str, column: str) -> None:
    if column in names:
        return
    close = _similar(column, names)
    hint = (
        f"did you mean {' or '.join(quoted(name) for name in close)}?"
        if close
        else f"its columns are {listed([quoted(name) for name in names], 10)}."
    )
    raise InputError(f"{shown(path)} has no column {quoted(column)} ({option}); {hint}")


def _patients(
    path: str | PathLike[str],
    tables: Iterable[Any],
    features: Sequence[str],
    target: str | None,
    id_column: str | None,
    drop_missing: bool,
    advice: str,
    needed: Sequence[str] | None = None,
) -> Iterator[Patients]:
    """Yield the patients of each piece; missing values are counted to the end of the file, then refused.

    Columns that are not `needed` (None: all are) may have missing values, and are left out if they hold text.
    """
    n_rows = n_kept = 0
    counts: Counter[str] = Counter()
    must = set(features if needed is None else needed)
    for table in tables:
        columns = _numbers(path, table, [name for name in features if name in must], advice)
        missing = {name: np.isnan(values) for name, values in columns.items()}
        columns = _with_others(columns, table, features)
        labels = None
        if target is not None:
            labels, missing[target] = _labels(path, table[target], target)
        counts.update({name: int(where.sum()) for name, where in missing.items()})
        keep = np.ones(table.num_rows, dtype=bool)
        for where in missing.values():
            keep &= ~where
        row_numbers = np.flatnonzero(keep) + n_rows + 1
        n_rows += keep.size
        n_kept += row_numbers.size
        if counts.total() and not drop_missing:
            continue
        ids = None if id_column is None else _texts(path, table[id_column], id_column, "--id")
        if row_numbers.size < keep.size:  # free of copies in the usual case, where no row is left out
            columns = {name: values[keep] for name, values in columns.items()}
            ids = None if ids is None else [text for text, kept in zip(ids, keep, strict=True) if kept]
        yield Patients(
            X=_as_table(columns),
            target=None if labels is None else _whole_numbers(labels[keep]),
            ids=ids,
            row_numbers=row_numbers,
            n_removed=keep.size - row_numbers.size,
        )
    if n_rows == 0:
        raise InputError(f"{shown(path)} has column names but no rows.")
    _refuse_missing(path, counts, target, drop_missing, n_kept, advice)


def _with_others(
    columns: dict[str, npt.NDArray[np.float64]], table: Any, features: Sequence[str]
) -> dict[str, npt.NDArray[np.float64]]:
    """The columns and, of the other features, those that hold numbers; in the order of the features."""
    if len(columns) == len(features):
        return columns
    for name in features:
        if name not in columns and (values := _as_float64(table[name])) is not None:
            columns[name] = np.where(np.isinf(values), np.nan, values)
    return {name: columns[name] for name in features if name in columns}


def _as_table(columns: Mapping[str, npt.NDArray[np.float64]]) -> Any:
    import pyarrow as pa

    return pa.table(dict(columns))


def _numbers(
    path: str | PathLike[str], table: Any, features: Sequence[str], advice: str
) -> dict[str, npt.NDArray[np.float64]]:
    """Return each variable as float64, missing as NaN; text and numbers too large are errors."""
    columns: dict[str, npt.NDArray[np.float64]] = {}
    texts: list[str] = []
    for name in features:
        values = _as_float64(table[name])
        if values is None:
            texts.append(text_example(table[name], name))
        else:
            columns[name] = values
    if texts:
        raise InputError(
            f"{shown(path)} has columns that are not numbers: {listed(texts)}. "
            f"Encode them as numbers, or {advice}."
        )
    too_large = {name: int((np.abs(values) > LARGEST).sum()) for name, values in columns.items()}
    found = [f"{quoted(name)} ({count})" for name, count in too_large.items() if count]
    if found:
        raise InputError(
            f"{shown(path)} has values that are infinite or above {LARGEST:g}, here with their counts: "
            f"{listed(found)}. "
            f"Correct them, or {advice}."
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


def _labels(
    path: str | PathLike[str], column: Any, name: str
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Return the target's labels and where they are missing."""
    import pyarrow as pa

    if pa.types.is_boolean(column.type):
        return column.fill_null(False).to_numpy(), column.is_null().to_numpy()
    numbers = _as_float64(column)
    if numbers is not None:
        return numbers, np.isnan(numbers)
    texts = _texts(path, column, name, "--target")
    spelling = one_spelling(texts)
    labels = [spelling[text] for text in texts]
    return (
        np.array([label or "" for label in labels], dtype=np.str_),
        np.array([label is None for label in labels], dtype=bool),
    )


def _whole_numbers(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Turn float labels into integers where nothing is lost, so that 1.0 reads as 1."""
    if labels.dtype.kind == "f" and np.isfinite(labels).all() and (labels == np.floor(labels)).all():
        return labels.astype(np.int64)
    return labels


def _texts(path: str | PathLike[str], column: Any, name: str, option: str) -> list[str]:
    import pyarrow as pa

    try:
        return ["" if text is None else text for text in column.cast(pa.string()).to_pylist()]
    except (pa.ArrowException, UnicodeDecodeError):
        raise InputError(
            f"column {quoted(name)} ({option}) of {shown(path)} is not text: correct it or choose another."
        ) from None


def _refuse_missing(
    path: str | PathLike[str],
    counts: Mapping[str, int],
    target: str | None,
    drop_missing: bool,
    n_kept: int,
    advice: str,
) -> None:
    """Refuse missing values unless the user asked to leave such rows out, and then that no row is left."""
    found = [
        f"{quoted(name)}{' (the target)' if name == target else ''} ({count})"
        for name, count in counts.items()
        if count
    ]
    if found and not drop_missing:
        only_target = target is not None and sum(counts.values()) == counts[target]
        raise InputError(
            f"{shown(path)} has missing values, here with their counts: {listed(found)}. "
            "Leave out the rows concerned with --drop-missing" + ("." if only_target else f", or {advice}.")
        )
    if not n_kept:
        raise InputError(
            f"--drop-missing leaves no row of {shown(path)}: every row has a missing value "
            f"({listed(found)}). {advice[0].upper()}{advice[1:]}."
        )


def _similar(name: str, names: Iterable[str]) -> list[str]:
    """Return the names that look like `name`, whatever their case and surrounding blanks."""
    by_key: dict[str, str] = {}
    for candidate in names:
        by_key.setdefault(candidate.strip().casefold(), candidate)
    return [by_key[key] for key in difflib.get_close_matches(name.strip().casefold(), by_key, n=3)]
