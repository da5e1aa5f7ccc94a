"""Where the Dask backend gets its rows: a dask dataframe, summed partition by partition.

Every pass reads the partitions anew and keeps only sums, so that raw rows never have to fit in memory;
a user whose rows do fit calls ``persist()`` on the frame. The last pass asks for the columns that
survived the first test only: from Parquet, no other column is read.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd
from dask import delayed
from distributed import Client, Future

from ..core.table import F64, LARGEST, ColumnMoments, Index
from ..errors import InputError
from .choose import has_holes, holed_rows
from .dask_holes import Work
from .dask_joining import joined
from .dask_rows import add_up
from .holed import measured_moments
from .numba_cpu import NumbaRaw
from .threads import use_threads

# The names of this many labels are kept: enough to show a user that a target has too many.
LABELS_AT_MOST = 20
CORRECT = "correct the partition, or the metadata of the dask dataframe"


@dataclass(frozen=True)
class FirstLook:
    """What one pass over the rows tells before anything is known about them.

    Attributes
    ----------
    rows : number of rows.
    missing, infinite, too_large : (p,) such values in each column.
    labels_missing : rows without a label.
    moments : sums about zero by label; a table without labels has the one label None.
    too_many_labels : some labels are not in ``moments``.
    weight : Σ w over the rows, w standard normal.
    projection : (p,) Σ w x: a random projection, by which copies of a column are found.
    rows_by_partition : how the rows are spread.
    rows_with_holes : rows that lack some value.
    rows_without_values : rows that lack all of them.
    """

    rows: int
    missing: Index
    infinite: Index
    too_large: Index
    labels_missing: int
    moments: dict[Hashable, ColumnMoments]
    too_many_labels: bool
    weight: float
    projection: F64
    rows_by_partition: tuple[int, ...]
    rows_with_holes: int
    rows_without_values: int

    def __add__(self, other: FirstLook) -> FirstLook:
        moments = dict(self.moments)
        for label, more in other.moments.items():
            moments[label] = moments[label] + more if label in moments else more
        kept = sorted(moments, key=repr)[:LABELS_AT_MOST] if len(moments) > LABELS_AT_MOST else moments
        return FirstLook(
            self.rows + other.rows,
            self.missing + other.missing,
            self.infinite + other.infinite,
            self.too_large + other.too_large,
            self.labels_missing + other.labels_missing,
            {label: moments[label] for label in kept},
            self.too_many_labels or other.too_many_labels or len(kept) < len(moments),
            self.weight + other.weight,
            self.projection + other.projection,
            self.rows_by_partition + other.rows_by_partition,
            self.rows_with_holes + other.rows_with_holes,
            self.rows_without_values + other.rows_without_values,
        )


class FrameRows:
    """A dask dataframe as a source of rows.

    Parameters
    ----------
    client : the cluster that reads.
    frame : dask dataframe.
    columns : the variables, by their names in the frame.
    target : name of the column of labels, or None.
    """

    def __init__(self, client: Client, frame: Any, columns: Sequence[Hashable], target: Hashable) -> None:
        self._client = client
        self._frame = frame
        self._columns = list(columns)
        self._target = target
        self._classes: list[Any] | None = None
        try:
            self.first_look: FirstLook = self._sums(
                _first_look(partition, self._columns, target, place)
                for place, partition in enumerate(self._partitions(self._columns))
            )
        except (KeyError, IndexError, AttributeError, TypeError):
            # Dask chooses the columns before a partition can be looked at.
            self._refuse_lacking_columns()
            raise

    def set_classes(self, classes: Sequence[Any]) -> None:
        """Say which label is class 0 and which is class 1."""
        self._classes = list(classes)

    @property
    def shape(self) -> tuple[int, int]:
        return self.first_look.rows, len(self._columns)

    def column_moments(self, shift: F64) -> ColumnMoments:
        if not shift.any():
            # The first look summed about zero already.
            by_class = [self.first_look.moments[label] for label in self._classes or [None]]
            measured = None
            if self.first_look.rows_with_holes:
                measured = np.concatenate([np.broadcast_to(m.values, m.total.shape) for m in by_class])
            return ColumnMoments(
                np.concatenate([m.count for m in by_class]),
                np.concatenate([m.total for m in by_class]),
                np.concatenate([m.square for m in by_class]),
                measured,
            )
        return self._sums(
            _moments(partition, self._columns, self._target, self._classes, shift)
            for partition in self._partitions(self._columns)
        )

    @property
    def rows_with_holes(self) -> int:
        return self.first_look.rows_with_holes

    def gram(self, cols: Index, mean: F64, sd: F64) -> F64:
        columns = [self._columns[c] for c in cols]
        args = columns, self._target, self._classes, mean, sd
        return self._sums(_gram(partition, *args) for partition in self._partitions(columns))

    def sums_of_holed(self, cols: Index, work: Work) -> Any:
        return self._sums(self._of_holed(cols, work))

    def parts_of_holed(self, cols: Index, work: Work, n_parts: int) -> list[Future]:
        pieces = self._client.compute(self._of_holed(cols, work))
        return joined(self._client, pieces, self.first_look.rows_by_partition, n_parts)

    def _of_holed(self, cols: Index, work: Work) -> list[Any]:
        """What work makes of each partition, to be computed."""
        assert self._classes is not None, "rows without labels have no holes"
        columns = [self._columns[c] for c in cols]
        partitions = self._partitions(columns)
        rows = self.first_look.rows_by_partition
        if len(rows) != len(partitions):
            # Dask merges partitions when only few of their columns are read.
            rows = self._sums(_length(partition) for partition in partitions)
        starts = np.cumsum((0, *rows[:-1])).tolist()
        # One for all partitions: the matrices in it are sent once.
        shared = self._client.submit(_same, work, key=f"work-{uuid4().hex}")
        return [
            _of_holed(partition, columns, self._target, self._classes, start, shared)
            for partition, start in zip(partitions, starts, strict=True)
        ]

    def extremes(self, cols: Index) -> tuple[F64, F64]:
        """The least and the largest value of some columns."""
        chosen = self._frame[[self._columns[c] for c in cols]]
        lowest, highest = (future.result() for future in self._client.compute([chosen.min(), chosen.max()]))
        return lowest.to_numpy(dtype=np.float64), highest.to_numpy(dtype=np.float64)

    def parts(self, n_parts: int, cols: Index, mean: F64, sd: F64, only: int | None = None) -> list[Future]:
        """Standardized parts of about equal numbers of rows, joined where Dask happened to read them.

        ``only`` the rows of class 0 or 1, or with None all of them.

        No task names a worker, not even as a preference: when no worker is left, Dask forgets that it was
        only a preference, and a worker that joins later would never be given the task.
        """
        columns = [self._columns[c] for c in cols]
        args = columns, self._target, self._classes, mean, sd, only
        pieces = self._client.compute([_standardize(part, *args) for part in self._partitions(columns)])
        return joined(self._client, pieces, self.first_look.rows_by_partition, n_parts)

    def _partitions(self, columns: list[Hashable]) -> list[Any]:
        wanted = columns if self._target is None else [*columns, self._target]
        return self._frame[wanted].to_delayed()

    def _refuse_lacking_columns(self) -> None:
        wanted = self._columns if self._target is None else [*self._columns, self._target]
        whole = self._client.compute([_columns_of(partition) for partition in self._frame.to_delayed()])
        for place, found in enumerate(self._client.gather(whole)):
            lacking = [column for column in wanted if column not in found]
            if lacking:
                raise InputError(
                    f"partitions[{place}] of X lacks the promised column {lacking[0]!r}: {CORRECT}"
                )

    def _sums(self, looks: Iterable[Any]) -> Any:
        return add_up(self._client, self._client.compute(list(looks)))


def _same(work: Work) -> Work:
    return work


def _values(partition: pd.DataFrame, columns: list[Hashable]) -> F64:
    # Whoever reads goes on to sum, and a worker runs as many such tasks at a time as it has threads.
    use_threads(1)
    return partition[columns].to_numpy(dtype=np.float64, na_value=np.nan)


def _codes(partition: pd.DataFrame, target: Hashable, classes: list[Any] | None) -> np.ndarray | None:
    if classes is None:
        return None
    return (partition[target] == classes[1]).to_numpy(dtype=bool).astype(np.intp)


@delayed
def _columns_of(partition: Any) -> set[Hashable]:
    return set(partition.columns) if isinstance(partition, pd.DataFrame) else set()


def holds_numbers(kind: Any) -> bool:
    """Whether a column of this pandas type holds real numbers."""
    return pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_complex_dtype(kind)


def _refuse_what_is_no_number(partition: pd.DataFrame, columns: list[Hashable], place: int) -> None:
    """Refuse a partition that holds something else than its metadata says: nothing before here has looked."""
    where = f"partitions[{place}] of X"
    names = partition[columns].columns
    if names.size > len(columns):
        raise InputError(f"{where} has the column {names[names.duplicated()][0]!r} twice: {CORRECT}")
    for column, kind in partition[columns].dtypes.items():
        if holds_numbers(kind):
            continue
        # A column without any value comes as objects; so may numbers.
        strange = [cell for cell in partition[column].dropna() if not isinstance(cell, Real | Decimal)]
        if strange:
            raise InputError(
                f"column {column!r} in {where} holds {str(strange[0])[:40]!r}, where numbers are promised: "
                f"{CORRECT}"
            )


@delayed
def _first_look(partition: pd.DataFrame, columns: list[Hashable], target: Hashable, place: int) -> FirstLook:
    _refuse_what_is_no_number(partition, columns, place)
    X = _values(partition, columns)
    missing = np.isnan(X)
    # Seeded by place: the answer is the same when a lost partition is summed again.
    weights = np.random.default_rng(place).standard_normal(len(X))
    # Infinite values are refused later, with the names of their columns; one with holes has no projection.
    with np.errstate(over="ignore", invalid="ignore"):
        moments, labels_missing, too_many = _moments_by_label(X, partition, target)
        projection = weights @ X
    return FirstLook(
        rows=len(X),
        missing=missing.sum(axis=0),
        infinite=np.isinf(X).sum(axis=0),
        too_large=(np.abs(X) > LARGEST).sum(axis=0),
        labels_missing=labels_missing,
        moments=moments,
        too_many_labels=too_many,
        weight=float(weights.sum()),
        projection=projection,
        rows_by_partition=(len(X),),
        rows_with_holes=int(missing.any(axis=1).sum()),
        rows_without_values=int(missing.all(axis=1).sum()),
    )


def _moments_by_label(
    X: F64, partition: pd.DataFrame, target: Hashable
) -> tuple[dict[Hashable, ColumnMoments], int, bool]:
    """Sums about zero by label, rows without a label, and whether there were too many labels to keep."""
    zero = np.zeros(X.shape[1])
    if target is None:
        return {None: _column_moments(X, None, zero)}, 0, False
    codes, labels = pd.factorize(partition[target])
    names = labels.tolist()
    if len(names) <= 2:
        both = _column_moments(X, codes, zero)
        sums = {
            name: ColumnMoments(
                both.count[[c]],
                both.total[[c]],
                both.square[[c]],
                None if both.measured is None else both.measured[[c]],
            )
            for c, name in enumerate(names)
        }
    else:
        # Such a target is refused; what the user is told are the labels and their counts.
        empty = np.zeros((1, X.shape[1]))
        sums = {
            name: ColumnMoments(np.array([float((codes == c).sum())]), empty, empty)
            for c, name in enumerate(names[:LABELS_AT_MOST])
        }
    return sums, int((codes < 0).sum()), len(names) > LABELS_AT_MOST


@delayed
def _moments(
    partition: pd.DataFrame,
    columns: list[Hashable],
    target: Hashable,
    classes: list[Any] | None,
    shift: F64,
) -> ColumnMoments:
    return _column_moments(_values(partition, columns), _codes(partition, target, classes), shift)


def _column_moments(X: F64, y: np.ndarray | None, shift: F64) -> ColumnMoments:
    """Moments by class; where values are missing, of those that are not."""
    return measured_moments(X, y, shift) if has_holes(X) else NumbaRaw(X, y).column_moments(shift)


@delayed
def _gram(
    partition: pd.DataFrame,
    columns: list[Hashable],
    target: Hashable,
    classes: list[Any] | None,
    mean: F64,
    sd: F64,
) -> F64:
    raw = NumbaRaw(_values(partition, columns), _codes(partition, target, classes))
    return raw.gram(np.arange(len(columns)), mean, sd)


@delayed
def _of_holed(
    partition: pd.DataFrame,
    columns: list[Hashable],
    target: Hashable,
    classes: list[Any],
    first_row: int,
    work: Work,
) -> Any:
    labels = _codes(partition, target, classes)
    assert labels is not None
    return work(holed_rows("numba", _values(partition, columns), labels, first_row))


@delayed
def _length(partition: pd.DataFrame) -> tuple[int, ...]:
    return (len(partition),)


@delayed
def _standardize(
    partition: pd.DataFrame,
    columns: list[Hashable],
    target: Hashable,
    classes: list[Any] | None,
    mean: F64,
    sd: F64,
    only: int | None,
) -> tuple[F64, np.ndarray | None]:
    """(k, n) standardized columns, and labels; of one class ``only``, if there is one."""
    labels = _codes(partition, target, classes)
    if only is not None and labels is not None:
        partition, labels = partition[labels == only], labels[labels == only]
    everything = np.arange(len(columns))
    return NumbaRaw(_values(partition, columns), labels).standardize(everything, mean, sd).columns, labels
