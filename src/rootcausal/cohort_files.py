"""Cohorts in files: which column is what, and every value a number.

Reading turns every bad table into one :class:`~rootcausal.errors.InputError` that names the column or
line and says what to do.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import InputError
from .table_files import column_names, read_columns
from .target_labels import KNOWN_LABELS
from .wording import listed, plural, quoted, shown


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


def read_cohort(
    path: str | PathLike[str],
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
    return _read_patients(
        path, features, target, id_column, drop_missing, "leave the column out with --drop COLUMN"
    )


def read_new_patients(
    path: str | PathLike[str],
    features: Sequence[str],
    *,
    id_column: str | None = None,
    drop_missing: bool = False,
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
            f"{shown(path)} lacks {plural(len(lacking), 'column')} that the model needs: "
            f"{', '.join(hints)}{more}. Name the columns as in the table the model was fitted on."
        )
    return _read_patients(path, features, None, id_column, drop_missing, "fill the column in")


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


def _read_patients(
    path: str | PathLike[str],
    features: Sequence[str],
    target: str | None,
    id_column: str | None,
    drop_missing: bool,
    advice: str,
) -> Patients:
    import pyarrow as pa

    extra = [name for name in (target, id_column) if name is not None]
    table = read_columns(path, [*features, *extra], id_column)
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
    path: str | PathLike[str], table: Any, features: Sequence[str], advice: str
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


def _labels(
    path: str | PathLike[str], column: Any, name: str
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
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
    if any(folded <= set(pair) for pair in KNOWN_LABELS):
        texts = [text if text in words_for_missing else text.casefold() for text in texts]
    return np.array(texts, dtype=np.str_), np.array([text in words_for_missing for text in texts])


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


def _complete_rows(
    path: str | PathLike[str],
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


def _similar(name: str, names: Iterable[str]) -> list[str]:
    """Return the names that look like `name`, whatever their case and surrounding blanks."""
    by_key: dict[str, str] = {}
    for candidate in names:
        by_key.setdefault(candidate.strip().casefold(), candidate)
    return [by_key[key] for key in difflib.get_close_matches(name.strip().casefold(), by_key, n=3)]
