"""Any dataframe, array or AnnData: the names of its columns, and the numbers and texts that they hold."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.utils.validation import validate_data

from ..errors import InputError
from ..files.arrow import pa
from ..files.cells import is_number
from ..method.table import F64, Index
from ..wording import listed
from .cells import Cells, Found, of_arrow, of_objects, typed
from .infer_types import read_cells
from .kinds import StrangeCellError
from .rules import IN_PYTHON, Findings, column_name, first_strange, refuse_duplicates, refuse_text

# Numbers taken out of a dataframe at once.
VALUES_A_BLOCK = 1 << 20


def of_array(estimator: Any, X: Any, takes_texts: bool, *, reset: bool, min_rows: int = 1) -> Found:
    """An array by scikit-learn's own checks; missing values are left to our rules, which name them.

    ``reset`` says that it is a cohort, whose texts are numbers where all of a column are.
    """
    if reset and _is_plain(X, min_rows):
        set_names(estimator, list(range(X.shape[1])))
        return Found(X, borrowed=True)
    options = {"reset": reset, "ensure_min_samples": min_rows}
    columns = _columns_of_objects(X)
    if columns and takes_texts:
        validate_data(estimator, X, dtype=None, ensure_all_finite=False, **options)
        if reset:
            findings, names = Findings(), [column_name(None, c) for c in columns]
            columns = read_cells(columns, names, typed, IN_PYTHON, findings)
            findings.refuse()
        return Found.of(columns, np.empty((len(columns[0]), len(columns)), order="F"))
    try:
        values = validate_data(estimator, X, dtype=np.float64, ensure_all_finite=False, **options)
    except ValueError:
        text = {c: column.texts.levels for c, column in columns.items() if column.texts is not None}
        strange = next((level for level in next(iter(text.values()), ()) if not is_number(level)), None)
        refuse_text([column_name(getattr(estimator, "feature_names_in_", None), c) for c in text], strange)
        raise
    return Found(values, borrowed=_may_be_of(X, values))


def _columns_of_objects(X: Any) -> dict[int, Cells]:
    """The columns of an array of texts or objects; none of any other, and of one with other things in it."""
    try:
        cells = np.asarray(X)
        if cells.dtype.kind not in "OU" or cells.ndim != 2:
            return {}
        return {c: of_objects(cells[:, c].tolist()) for c in range(cells.shape[1])}
    except ValueError:
        return {}


def _is_plain(X: Any, min_rows: int) -> bool:
    """Whether scikit-learn's checks, which take longer than a small fit may, would pass an array as it is."""
    plain = type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2
    return plain and X.shape[0] >= min_rows and X.shape[1] > 0


def _may_be_of(X: Any, values: F64) -> bool:
    return values is X or not values.flags.owndata


def as_frame(X: Any) -> Any:
    """A narwhals dataframe, or None for anything that is not a dataframe."""
    if isinstance(X, np.ndarray):
        return None  # without asking each library whether it is one of its own
    if nw.dependencies.is_dask_dataframe(X):
        raise InputError(
            "this needs the rows in memory, and X is a dask dataframe: use X.compute(), or give the method "
            "to X.map_partitions; fit and shapley_values take X as it is"
        )
    if nw.dependencies.is_into_dataframe(X):
        refuse_duplicates(column_names(X))
        return nw.from_native(X, eager_only=True)
    if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
        raise InputError(
            f"this needs rows, and a {type(X).__name__} is a query that has none yet: use what its "
            "collect() returns"
        )
    return None


def column_names(X: Any) -> list[Any]:
    """The names of a dataframe of any library."""
    return list(X.column_names if hasattr(X, "column_names") else X.columns)


def own_name(y: Any) -> str:
    """What a Series, or the one column of a dataframe, is called; empty where nobody gave it a name."""
    if isinstance(y, np.ndarray):
        return ""
    name = getattr(y, "name", None) if as_frame(y) is None else column_names(y)[0]
    return name if isinstance(name, str) else ""


def of_frame(
    frame: Any, columns: list[Any], takes_texts: bool, findings: Findings, *, cohort: bool
) -> tuple[Found, np.ndarray]:
    """Some columns, and a mask (p,) of those that hold what cannot be used, which is noted.

    Texts of a ``cohort`` are numbers where all of a column are.
    """
    whole = _all_of_floats(frame, columns)
    if whole is not None:
        return Found.of({}, whole), np.zeros(len(columns), dtype=bool)
    # The schema and whole blocks of columns: asking for columns one by one takes seconds where they are many.
    schema = frame.schema
    is_number = np.array([_is_number(schema[name]) for name in columns], dtype=bool)
    others = np.flatnonzero(~is_number).tolist()
    if takes_texts:
        asked = {place: frame.get_column(columns[place]) for place in others}
        read = (lambda column: typed(cells_of_series(column))) if cohort else cells_of_series
        cells = read_cells(asked, columns, read, IN_PYTHON, findings)
    else:
        cells = {}
        text = [columns[place] for place in others]
        with findings.noting():
            refuse_text(text, _example(frame.get_column(text[0])) if text else None)
    values = np.empty((len(frame), len(columns)), order="F")
    strange = np.zeros(len(columns), dtype=bool)
    for number in others:
        if number not in cells:
            strange[number] = True
            values[:, number] = np.where(frame.get_column(columns[number]).is_null().to_numpy(), np.nan, 0.0)
    place = {name: number for number, name in enumerate(schema)}
    by_type: dict[nw.dtypes.DType, list[int]] = {}
    for number in np.flatnonzero(is_number).tolist():
        by_type.setdefault(schema[columns[number]], []).append(number)
    width = max(1, VALUES_A_BLOCK // max(1, len(frame)))
    for numbers in by_type.values():
        for start in range(0, len(numbers), width):
            some = numbers[start : start + width]
            values[:, some] = _of_one_type(frame[:, [place[columns[number]] for number in some]])
    truths = dict.fromkeys(by_type.get(nw.Boolean(), []), (False, True))
    return Found.of(cells, values, truths), strange


def _all_of_floats(frame: Any, columns: list[Any]) -> F64 | None:
    """A copy of a pandas dataframe that has just these columns, all of 64-bit numbers; None for any other.

    It is what most frames are, and asking each column what it is takes longer than a small fit.
    """
    native = frame.to_native()
    if not nw.dependencies.is_pandas_dataframe(native) or list(native.columns) != columns:
        return None
    if any(dtype != np.float64 for dtype in native.dtypes.tolist()):
        return None
    return np.array(native.to_numpy(), order="F")


def cells_of_series(column: Any) -> Cells:
    """The cells of a narwhals series that is not of numbers."""
    if column.dtype == nw.Object:
        return of_objects(column.to_list())
    try:
        found = column.to_arrow()
        if column.dtype == nw.Enum and not found.type.ordered:
            # That an Enum is in order, polars 1 does not tell Arrow.
            found = found.cast(pa.dictionary(found.type.index_type, found.type.value_type, ordered=True))
        return of_arrow(found)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise StrangeCellError(str(next(iter(column.drop_nulls().to_list()), column.dtype))) from None


def _of_one_type(block: Any) -> np.ndarray:
    numbers = block.to_numpy()
    if numbers.dtype.kind in "fiub":
        return numbers
    # Decimals, and truth values with gaps between them, arrive as objects.
    return np.column_stack([column.cast(nw.Float64).to_numpy() for column in block.iter_columns()])


def _example(column: Any) -> str | None:
    """The first cell that is no number."""
    cells = pa.array([str(cell) for cell in column.drop_nulls().to_list()], pa.string())
    found = first_strange(cells)
    return None if found is None else found[1]


def _is_number(dtype: nw.dtypes.DType) -> bool:
    return dtype.is_numeric() or dtype == nw.Boolean


# --- names of the columns of an estimator -------------------------------------------------------------------


def names_of(estimator: Any) -> list[str]:
    """What to call the columns that an estimator was fitted on."""
    names = getattr(estimator, "feature_names_in_", None)
    return [column_name(names, column) for column in range(estimator.n_features_in_)]


def names_out(estimator: Any, columns: Index, given: Any = None) -> np.ndarray:
    """What to call some columns, as scikit-learn's ``get_feature_names_out`` does; ``given`` names all."""
    names = names_of(estimator)
    if given is not None:
        if hasattr(estimator, "feature_names_in_") and list(given) != names:
            raise InputError("input_features is not equal to feature_names_in_")
        if len(given) != estimator.n_features_in_:
            raise InputError("input_features should have length equal to number of features")
        names = list(given)
    return np.array([names[column] for column in columns], dtype=object)


def set_names(estimator: Any, columns: list[Any]) -> None:
    """Set n_features_in_ and, where all columns have names, feature_names_in_.

    Numbers are no names to scikit-learn; others than 0, 1, 2 are kept, so that no other order goes unnoticed.
    """
    estimator.n_features_in_ = len(columns)
    for name in ("feature_names_in_", "_column_numbers"):
        vars(estimator).pop(name, None)
    if all(isinstance(name, int | np.integer) for name in columns) and columns != list(range(len(columns))):
        estimator._column_numbers = columns
    if all(isinstance(name, str) for name in columns):
        estimator.feature_names_in_ = np.array(columns, dtype=object)


# --- AnnData: variables from ``X`` and ``var_names``, ids from ``obs_names``, the diagnosis from ``obs`` ---


def _is_anndata(X: Any) -> bool:
    """Whether X is an AnnData; anndata itself is never imported for the question."""
    anndata = sys.modules.get("anndata")
    return anndata is not None and isinstance(X, anndata.AnnData)


def variables(X: Any) -> Any:
    """The table of an AnnData as a dataframe; anything else as it is."""
    return X.to_df() if _is_anndata(X) else X


def row_index(X: Any) -> Any:
    """The pandas index of the rows, or None where they have none."""
    if _is_anndata(X):
        return X.obs_names
    return X.index if nw.dependencies.is_pandas_like_dataframe(X) else None


def refuse_other_order(X: Any, beside: Any, name: str, what: str) -> None:
    """Refuse a Series or DataFrame beside X that has its index in another order: is it matched by place?

    ``what`` it holds, such as labels; a dask Series is matched by its index, and both have to mean the same.
    """
    rows, beside = row_index(X), nw.to_native(beside, pass_through=True)
    indexed = nw.dependencies.is_pandas_like_series(beside) or nw.dependencies.is_pandas_like_dataframe(
        beside
    )
    if rows is None or not indexed or rows.equals(beside.index):
        return
    if len(rows) == len(beside) and rows.isin(beside.index).all() and beside.index.isin(rows).all():
        raise InputError(
            f"{name} has the index of X in another order: use {name}.loc[X.index] to match {what} by index, "
            f"or {name}.to_numpy() to match them by place"
        )


def diagnosis(X: Any, y: Any) -> Any:
    """The column of ``obs`` that y names, where X is an AnnData; any other y as it is."""
    if not (_is_anndata(X) and isinstance(y, str)):
        return y
    return _column_of_obs(X, y, "diagnosis")


def with_ids(X: Any, ids: Any, name: str = "ids") -> tuple[Any, Any]:
    """The variables of X, and one id a row, or None.

    A text names a column of X, which is then no variable, or of the ``obs`` of an AnnData; without any, the
    ids of an AnnData are its ``obs_names``. ``name`` is what the caller calls them.
    """
    if _is_anndata(X):
        if isinstance(ids, str):
            return X, _column_of_obs(X, ids, "id").to_list()
        return X, list(X.obs_names) if ids is None else ids
    if isinstance(ids, str):
        frame = as_frame(X)
        names = [] if frame is None else column_names(X)
        if ids not in names:
            known = f", which has {listed(list(map(repr, names)), 8)}" if names else ": X has no column names"
            raise InputError(f"no column {ids!r} for {name} in the table{known}")
        return frame.drop(ids).to_native(), frame.get_column(ids).to_list()
    refuse_other_order(X, ids, name, "ids")
    return X, ids


def patient_ids(ids: Any, n_rows: int) -> tuple[Any, ...]:
    """What to call so many patients: as given by :func:`with_ids`, or by their numbers."""
    if ids is None:
        return tuple(range(n_rows))
    if nw.dependencies.is_into_series(ids):
        ids = nw.from_native(ids, series_only=True).to_list()
    if not isinstance(ids, Iterable):
        raise InputError(f"ids must be the name of a column or one id a patient, not {ids!r}")
    found = tuple(ids)
    if len(found) != n_rows:
        raise InputError(f"{len(found)} ids were given for {n_rows} patients")
    return found


def _column_of_obs(X: Any, key: str, what: str) -> Any:
    if key not in X.obs:
        raise InputError(f"no {what} column {key!r} in obs, which has {', '.join(map(repr, X.obs.columns))}")
    return X.obs[key]
