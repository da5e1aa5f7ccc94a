"""What comes in: any dataframe or array, turned into numbers, or one clear error that says what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.utils.validation import validate_data

from ..core.moments import Columns
from ..core.table import F64, LARGEST, Index
from ..errors import InputError
from ..wording import listed
from .annotated import variables
from .text_cells import first_strange

# Columns this close to |r| = 1 are the same measurement twice.
COPY = 1e-10
NAMED_AT_MOST = 8
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

    def label(self, column: int | np.integer) -> str:
        return self.names[column] if self.names is not None else f"x{column}"


def matrix_for_fit(estimator: Any, X: Any) -> Matrix:
    """Validated cohort; sets n_features_in_ and feature_names_in_ as scikit-learn does."""
    matrix = _matrix(estimator, X, names=None)
    check_finite(matrix)
    return matrix


def matrix_for_scoring(estimator: Any, X: Any, needed: Index, reach: F64) -> Matrix:
    """Validated new data: columns of a dataframe are matched by name, those of an array by place.

    Parameters
    ----------
    needed : columns that a dataframe must have, whole; what it lacks of others is NaN.
    reach : (p,) the largest values that the model can score.
    """
    known = getattr(estimator, "feature_names_in_", None)
    names = None if known is None else tuple(known)
    matrix = _matrix(estimator, X, names, fitting=False, needed=needed)
    if names is None or matrix.names is None:
        check_finite(matrix, reach)
        return matrix
    may_miss = np.ones(len(names), dtype=bool)
    may_miss[needed] = False
    if matrix.names == names:
        check_finite(matrix, reach, None if matrix.library is None else may_miss)
        return matrix
    found = set(matrix.names)
    present = [name in found for name in names]
    check_finite(matrix, reach[present], may_miss[present])
    values = np.full((len(matrix.values), len(names)), np.nan, order="F")
    values[:, present] = matrix.values
    return Matrix(values, names, matrix.library)


def _matrix(
    estimator: Any,
    X: Any,
    names: tuple[str, ...] | None,
    fitting: bool = True,
    needed: Index | None = None,
) -> Matrix:
    X = variables(X)
    frame = as_frame(X)
    if frame is None:
        # scikit-learn's own checks of arrays; missing values are left to check_finite, which names them.
        values = validate_data(
            estimator,
            X,
            reset=fitting,
            dtype=np.float64,
            ensure_all_finite=False,
            ensure_min_samples=2 if fitting else 1,
        )
        return Matrix(values, names, None, borrowed=values is X or not values.flags.owndata)
    columns = column_names(X)
    if fitting:
        if len(frame) < 2:
            raise InputError(
                f"the table has {len(frame)} row(s) (n_samples={len(frame)}): at least two are needed"
            )
        estimator.n_features_in_ = len(columns)
        vars(estimator).pop("feature_names_in_", None)
        if all(isinstance(name, str) for name in columns):
            estimator.feature_names_in_ = np.array(columns, dtype=object)
            names = tuple(columns)
    elif names is not None:
        present = set(columns)
        found = tuple(name for name in names if name in present)
        # A table with none of the columns is another one, even where the model needs none.
        wanted = names if not found or needed is None else [names[column] for column in np.sort(needed)]
        missing = [name for name in wanted if name not in present]
        if missing:
            raise InputError(f"{_plural(missing, 'column')} missing from the new data; the model needs it")
        names = found
    elif len(columns) != estimator.n_features_in_:
        raise InputError(
            f"X has {len(columns)} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input"
        )
    return Matrix(_numbers(frame, columns if names is None else list(names)), names, frame.implementation)


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


def refuse_duplicates(columns: Sequence[Any]) -> None:
    twice = [name for name, count in Counter(columns).items() if count > 1]
    if twice:
        raise InputError(f"{_plural(twice, 'column name')} used more than once: rename or drop the copies")


def _numbers(frame: Any, columns: list[Any]) -> F64:
    # The schema and whole blocks of columns: asking for columns one by one takes seconds where they are many.
    schema = frame.schema
    text = [name for name in columns if not _is_number(schema[name])]
    refuse_text(columns, text, _example(frame.get_column(text[0])) if text else None)
    place = {name: number for number, name in enumerate(schema)}
    by_type: dict[nw.dtypes.DType, list[int]] = {}
    for number, name in enumerate(columns):
        by_type.setdefault(schema[name], []).append(number)
    values = np.empty((len(frame), len(columns)), order="F")
    width = max(1, VALUES_A_BLOCK // max(1, len(frame)))
    for numbers in by_type.values():
        for start in range(0, len(numbers), width):
            some = numbers[start : start + width]
            values[:, some] = _of_one_type(frame[:, [place[columns[number]] for number in some]])
    return values


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


def refuse_text(columns: Sequence[Any], text: Sequence[Any], example: str | None = None) -> None:
    """Refuse a table without columns, and columns ``text`` that hold no numbers."""
    if not columns:
        raise InputError("the table has no columns (0 feature(s)): at least one is needed")
    if text:
        shown = "" if example is None else f" (for instance {example[:40]!r} in {text[0]!r})"
        raise InputError(
            f"{_plural(text, 'column')} not numeric{shown}: drop them, or encode them as numbers before "
            "fitting"
        )


def _is_number(dtype: nw.dtypes.DType) -> bool:
    return dtype.is_numeric() or dtype == nw.Boolean


def check_finite(matrix: Matrix, largest: F64 | float = LARGEST, may_miss: np.ndarray | None = None) -> None:
    """Refuse missing and infinite values, naming each column with its count, and values above ``largest``.

    Columns of the mask ``may_miss`` (p,) may have missing values.
    """
    X = matrix.values
    # One sum over everything tells in nearly all cases, and costs a fraction of a mask.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.einsum("ij,ij->", X, X) <= np.min(largest) ** 2:
            return
    missing = np.isnan(X).sum(axis=0)
    if may_miss is not None:
        missing[may_miss] = 0
    refuse_not_finite(missing, np.isinf(X).sum(axis=0), matrix.label)
    too_large = np.abs(X) > largest
    first = {c: int(too_large[:, c].argmax()) for c in np.flatnonzero(too_large.any(axis=0))}
    refuse_too_large([f"{X[r, c]:g} in {matrix.label(c)!r}, row {r + 1}" for c, r in first.items()])


def refuse_too_large(found: Sequence[str]) -> None:
    """Refuse values, given in words, with which float64 cannot compute."""
    if found:
        raise InputError(
            f"X holds numbers too large to compute with: {listed(found)}; correct them, or give the "
            "column in another unit"
        )


def refuse_not_finite(missing: Index, infinite: Index, label: Callable[[int], str]) -> None:
    """Refuse columns (p,) with such values, whose counts are given."""
    parts = [
        f"{kind} in "
        + listed([f"{label(int(c))!r} ({counts[c]})" for c in np.flatnonzero(counts)], NAMED_AT_MOST)
        for kind, counts in (("missing values (NaN)", missing), ("infinite values (inf)", infinite))
        if counts.any()
    ]
    if parts:
        raise InputError(
            f"X contains {' and '.join(parts)}, rows counted in brackets: drop these rows or columns, or "
            "impute them"
        )


def check_columns(matrix: Matrix, columns: Columns) -> None:
    """Refuse flat columns, and columns that are exact linear images of each other."""
    X = matrix.values
    refuse_flat(columns, matrix.label, lambda flat: (X[:, flat].min(axis=0), X[:, flat].max(axis=0)))
    weights: F64 = np.random.default_rng(0).standard_normal((X.shape[0],))
    projection: F64 = weights @ X
    for a, b in suspected_copies(projection, float(weights.sum()), X.shape[0], columns):
        refuse_copies(a, b, _correlation(X, columns, a, b), matrix.label)


def refuse_flat(
    columns: Columns, label: Callable[[int], str], extremes: Callable[[Index], tuple[F64, F64]]
) -> None:
    """Refuse columns that do not vary, or too little; ``extremes`` gives the least and largest of some."""
    if not columns.flat.size:
        return
    lowest, highest = extremes(columns.flat)
    constant = [label(c) for c in columns.flat[lowest == highest]]
    if constant:
        raise InputError(f"{_plural(constant, 'column')} constant: drop what does not vary between patients")
    spans = [
        f"{label(c)!r} (from {float(low)!r} to {float(high)!r})"
        for c, low, high in zip(columns.flat, lowest, highest, strict=True)
    ]
    raise InputError(
        f"too little variation for 64-bit numbers to hold in {listed(spans, NAMED_AT_MOST)}: subtract a "
        "fixed number from the column, give it in another unit, or drop it"
    )


def refuse_copies(a: int, b: int, correlation: float, label: Callable[[int], str]) -> None:
    """Refuse two columns whose correlation is ±1."""
    if 1.0 - abs(correlation) < COPY:
        raise InputError(
            f"columns {label(a)!r} and {label(b)!r} are copies or exact linear images of each "
            "other, so no method can tell their shocks apart: drop one of them"
        )


def suspected_copies(projection: F64, weight: float, n: int, columns: Columns) -> list[tuple[int, int]]:
    """Pairs of columns that may have |r| = 1, without a p × p matrix.

    A random projection Σ w x (p,), over rows with weights w that sum to ``weight``, is the same for
    standardized linear images, up to sign; neighbours in the sorted projections are to be compared in full.
    """
    projection = np.abs((projection - weight * columns.mean) / columns.sd) / np.sqrt(n)
    ranked = np.argsort(projection, kind="stable")
    # Far from zero, a column keeps few digits of its variation; so does its projection.
    resolution = 1e-7 + 1e-15 * np.abs(columns.mean) / columns.sd * np.sqrt(n)
    near = np.diff(projection[ranked]) <= resolution[ranked[1:]] + resolution[ranked[:-1]]
    return [
        (int(min(a, b)), int(max(a, b))) for a, b in zip(ranked[:-1][near], ranked[1:][near], strict=True)
    ]


def _correlation(X: F64, columns: Columns, a: int, b: int) -> float:
    z_a, z_b = ((X[:, c] - columns.mean[c]) / columns.sd[c] for c in (a, b))
    # Far from zero the mean itself is rounded.
    return float((z_a - z_a.mean()) @ (z_b - z_b.mean())) / (X.shape[0] - 1)


def plain(value: Any) -> Any:
    """The value of a numpy scalar as Python's own number, truth value or text; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _plural(names: Sequence[Any], noun: str) -> str:
    """``column 'a' is`` or ``columns 'a', 'b' are``, when followed by a participle; names are quoted."""
    quoted = listed([repr(name) for name in names], NAMED_AT_MOST)
    return f"{noun} {quoted} is" if len(names) == 1 else f"{noun}s {quoted} are"
