"""Any dataframe, array or AnnData as numbers, with the names of its columns."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.utils.validation import validate_data

from ..core.table import F64, LARGEST, Index
from ..errors import InputError
from .cohort import column_name, set_names
from .rules import (
    Findings,
    are,
    first_strange,
    it_or_them,
    refuse_duplicates,
    refuse_empty,
    refuse_few_rows,
    refuse_no_columns,
    refuse_not_finite,
    refuse_text,
    refuse_too_large,
)

# Numbers taken out of a dataframe at once.
VALUES_A_BLOCK = 1 << 20


@dataclass(frozen=True)
class Matrix:
    """Numbers (n, p), with the names of the columns and the dataframe library they came in, if any.

    ``borrowed``: the numbers may be the user's own, who can change them.
    """

    values: F64
    names: tuple[str, ...] | None
    library: nw.Implementation | None
    borrowed: bool = False


def matrix_for_fit(estimator: Any, X: Any, findings: Findings) -> tuple[Matrix, np.ndarray]:
    """The numbers of a cohort, and a mask (p,) of the columns that hold numbers; what is wrong is noted.

    Sets n_features_in_ and feature_names_in_ as scikit-learn does.
    """
    X = variables(X)
    frame = as_frame(X)
    if frame is None:
        # scikit-learn's own checks of arrays; missing values are left to our rules, which name them.
        values = _validated(estimator, X, reset=True, ensure_min_samples=2)
        matrix = Matrix(values, None, None, borrowed=_may_be_of(X, values))
        is_number = np.ones(values.shape[1], dtype=bool)
    else:
        columns = column_names(X)
        refuse_few_rows(len(frame))
        refuse_no_columns(columns)
        set_names(estimator, columns)
        matrix, is_number = _of_frame(frame, columns, findings)
    note_not_finite(matrix, LARGEST, findings)
    return matrix, is_number


def matrix_for_scoring(estimator: Any, X: Any, needed: Index, reach: F64) -> Matrix:
    """Validated new data: columns of a dataframe are matched by name, those of an array by place.

    Parameters
    ----------
    needed : columns that a dataframe must have, whole; what it lacks of others is NaN.
    reach : (p,) the largest values that the model can score.
    """
    findings = Findings()
    known = getattr(estimator, "feature_names_in_", None)
    names = None if known is None else tuple(known)
    X = variables(X)
    frame = as_frame(X)
    if frame is None:
        values = _validated(estimator, X, reset=False)
        matrix = Matrix(values, names, None, borrowed=_may_be_of(X, values))
        note_not_finite(matrix, reach, findings)
        findings.refuse()
        return matrix
    columns = column_names(X)
    if names is None:
        if len(columns) != estimator.n_features_in_:
            raise InputError(
                f"X has {len(columns)} features, but {type(estimator).__name__} is expecting "
                f"{estimator.n_features_in_} features as input"
            )
        matrix, _ = _of_frame(frame, columns, findings)
        note_not_finite(matrix, reach, findings)
        findings.refuse()
        return matrix
    found = set(columns)
    present = np.array([name in found for name in names], dtype=bool)
    # A table with none of the columns is another one, even where the model needs none.
    wanted = np.sort(needed) if present.any() else np.arange(len(names))
    with findings.noting():
        _refuse_lacking([names[column] for column in wanted if not present[column]])
    may_miss = np.ones(len(names), dtype=bool)
    may_miss[needed] = False
    matrix, _ = _of_frame(frame, [name for name in names if name in found], findings)
    note_not_finite(matrix, reach[present], findings, may_miss[present])
    findings.refuse()
    if present.all():
        return matrix
    values = np.full((len(frame), len(names)), np.nan, order="F")
    values[:, present] = matrix.values
    return Matrix(values, names, matrix.library)


def _refuse_lacking(names: list[str]) -> None:
    if names:
        raise InputError(
            f"{are('column', names)} missing from the new data; the model needs {it_or_them(names)}"
        )


def _validated(estimator: Any, X: Any, **options: Any) -> F64:
    """An array by scikit-learn's own checks; text in an array of objects is said to be in its columns."""
    try:
        return validate_data(estimator, X, dtype=np.float64, ensure_all_finite=False, **options)
    except ValueError:
        cells = np.asarray(X)
        if cells.dtype != object or cells.ndim != 2:
            raise
        strange = {
            c: cell for c in range(cells.shape[1]) for cell in cells[::-1, c] if not _can_be_number(cell)
        }
        if not strange:
            raise
        names = getattr(estimator, "feature_names_in_", None)
        refuse_text([column_name(names, c) for c in strange], str(next(iter(strange.values()))))
        raise


def _can_be_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def _may_be_of(X: Any, values: F64) -> bool:
    return values is X or not values.flags.owndata


def as_frame(X: Any) -> Any:
    """A narwhals dataframe, or None for anything that is not a dataframe."""
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


def _of_frame(frame: Any, columns: list[Any], findings: Findings) -> tuple[Matrix, np.ndarray]:
    """Some columns, and a mask of those that hold numbers; of the others, which are noted, only the holes."""
    # The schema and whole blocks of columns: asking for columns one by one takes seconds where they are many.
    schema = frame.schema
    is_number = np.array([_is_number(schema[name]) for name in columns], dtype=bool)
    text = [name for name, fine in zip(columns, is_number, strict=True) if not fine]
    with findings.noting():
        refuse_text(text, _example(frame.get_column(text[0])) if text else None)
    place = {name: number for number, name in enumerate(schema)}
    by_type: dict[nw.dtypes.DType, list[int]] = {}
    for number in np.flatnonzero(is_number).tolist():
        by_type.setdefault(schema[columns[number]], []).append(number)
    values = np.empty((len(frame), len(columns)), order="F")
    for number in np.flatnonzero(~is_number).tolist():
        values[:, number] = np.where(frame.get_column(columns[number]).is_null().to_numpy(), np.nan, 0.0)
    width = max(1, VALUES_A_BLOCK // max(1, len(frame)))
    for numbers in by_type.values():
        for start in range(0, len(numbers), width):
            some = numbers[start : start + width]
            values[:, some] = _of_one_type(frame[:, [place[columns[number]] for number in some]])
    names = tuple(columns) if all(isinstance(name, str) for name in columns) else None
    return Matrix(values, names, frame.implementation), is_number


def _of_one_type(block: Any) -> np.ndarray:
    numbers = block.to_numpy()
    if numbers.dtype.kind in "fiub":
        return numbers
    # Decimals, and truth values with gaps between them, arrive as objects.
    return np.column_stack([column.cast(nw.Float64).to_numpy() for column in block.iter_columns()])


def _example(column: Any) -> str | None:
    """The first cell that is no number."""
    import pyarrow as pa

    cells = pa.array([str(cell) for cell in column.drop_nulls().to_list()], pa.string())
    found = first_strange(cells)
    return None if found is None else found[1]


def _is_number(dtype: nw.dtypes.DType) -> bool:
    return dtype.is_numeric() or dtype == nw.Boolean


def note_not_finite(
    matrix: Matrix, largest: F64 | float, findings: Findings, may_miss: np.ndarray | None = None
) -> None:
    """Note missing and infinite values, and values above ``largest``.

    Columns of the mask ``may_miss`` (p,) may have missing values.
    """
    X = matrix.values
    # One sum over everything tells in nearly all cases, and costs a fraction of a mask.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.einsum("ij,ij->", X, X) <= np.min(largest, initial=LARGEST) ** 2:
            return
    missing, infinite = np.isnan(X).sum(axis=0), np.isinf(X).sum(axis=0)
    if may_miss is not None:
        missing[may_miss] = 0
    empty = missing == len(X)
    with findings.noting():
        refuse_empty([column_name(matrix.names, c) for c in np.flatnonzero(empty)])
    missing[empty] = 0
    with findings.noting():
        refuse_not_finite(missing, infinite, matrix.names)
    too_large = (np.abs(X) > largest) & np.isfinite(X)
    first = {c: int(too_large[:, c].argmax()) for c in np.flatnonzero(too_large.any(axis=0))}
    with findings.noting():
        refuse_too_large(
            [f"{X[r, c]:g} in {column_name(matrix.names, c)!r}, row {r + 1}" for c, r in first.items()]
        )


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


def diagnosis(X: Any, y: Any) -> Any:
    """The column of ``obs`` that y names, where X is an AnnData; any other y as it is."""
    if not (_is_anndata(X) and isinstance(y, str)):
        return y
    return _column_of_obs(X, y, "diagnosis")


def ids_of(X: Any, ids: Any) -> Any:
    """The ids of an AnnData: ``obs_names``, or the column of ``obs`` that is named."""
    if not _is_anndata(X):
        return ids
    if ids is None:
        return list(X.obs_names)
    return _column_of_obs(X, ids, "id").to_list() if isinstance(ids, str) else ids


def _column_of_obs(X: Any, key: str, what: str) -> Any:
    if key not in X.obs:
        raise InputError(f"no {what} column {key!r} in obs, which has {', '.join(map(repr, X.obs.columns))}")
    return X.obs[key]
