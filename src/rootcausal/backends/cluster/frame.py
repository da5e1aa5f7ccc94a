"""Where the Dask backend gets its rows: a dask dataframe, summed partition by partition.

Every pass reads the partitions anew and keeps only sums, so that raw rows never have to fit in memory;
a user whose rows do fit calls ``persist()`` on the frame. The last pass asks for the columns that
survived the first test only: from Parquet, no other column is read.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import Any, Protocol
from uuid import uuid4

import numpy as np
import pandas as pd
from dask import delayed
from distributed import Client, Future

from ...errors import InputError
from ...method.table import F64, LARGEST, ColumnMoments, Index
from ..blas import one_blas_thread
from ..choose import has_missing, incomplete_part
from ..cpu.compiler import use_threads
from ..cpu.rows import NumbaRaw
from ..missing_rows import measured_moments
from .missing import Work
from .reading import Make, parts_of
from .rows import add_up

CORRECT = "correct the partition, or the metadata of the dask dataframe"


class OutcomeRows(Protocol):
    """What is known of the outcome, partition by partition.

    Attributes
    ----------
    columns : those of the frame that tell it.
    """

    @property
    def columns(self) -> tuple[Hashable, ...]: ...

    def rows(self, partition: pd.DataFrame) -> np.ndarray:
        """What tables keep of it (see :func:`rootcausal.method.table.classes_of`)."""
        ...


@dataclass(frozen=True)
class FirstLook:
    """What one pass over the rows tells before anything is known of their columns.

    Attributes
    ----------
    rows : number of rows.
    missing, infinite, too_large : (p,) such values in each column.
    moments : sums about zero by class.
    weight : Σ w over the rows, w standard normal.
    projection : (p,) Σ w x: a random projection, by which copies of a column are found.
    rows_by_partition : how the rows are spread.
    incomplete_rows : rows that lack some value.
    rows_without_values : rows that lack all of them.
    """

    rows: int
    missing: Index
    infinite: Index
    too_large: Index
    moments: ColumnMoments
    weight: float
    projection: F64
    rows_by_partition: tuple[int, ...]
    incomplete_rows: int
    rows_without_values: int

    def __add__(self, other: FirstLook) -> FirstLook:
        return FirstLook(
            self.rows + other.rows,
            self.missing + other.missing,
            self.infinite + other.infinite,
            self.too_large + other.too_large,
            self.moments + other.moments,
            self.weight + other.weight,
            self.projection + other.projection,
            self.rows_by_partition + other.rows_by_partition,
            self.incomplete_rows + other.incomplete_rows,
            self.rows_without_values + other.rows_without_values,
        )


class FrameRows:
    """A dask dataframe as a source of rows.

    Parameters
    ----------
    client : the cluster that reads.
    frame : dask dataframe.
    columns : the variables, by their names in the frame.
    outcome : what is known of the rows, or None.
    """

    def __init__(
        self, client: Client, frame: Any, columns: Sequence[Hashable], outcome: OutcomeRows | None
    ) -> None:
        self._client = client
        self._frame = frame
        self._columns = list(columns)
        self._of_outcome = [] if outcome is None else list(outcome.columns)
        self._known = outcome
        self._outcome = None if outcome is None else _shared(client, outcome)
        with _promised(client, frame, [*self._columns, *self._of_outcome]):
            self.first_look: FirstLook = self._sums(
                _first_look(partition, self._columns, self._outcome, place)
                for place, partition in enumerate(self._partitions(self._columns))
            )

    @property
    def shape(self) -> tuple[int, int]:
        return self.first_look.rows, len(self._columns)

    def column_moments(self, shift: F64) -> ColumnMoments:
        if not shift.any():
            # The first look summed about zero already.
            return self.first_look.moments
        return self._sums(
            _moments(partition, self._columns, self._outcome, shift)
            for partition in self._partitions(self._columns)
        )

    @property
    def incomplete_rows(self) -> int:
        return self.first_look.incomplete_rows

    def gram(self, cols: Index, mean: F64, sd: F64) -> F64:
        columns = self._names(cols)
        args = columns, self._outcome, mean, sd
        return self._sums(_gram(partition, *args) for partition in self._partitions(columns))

    def sums_of_incomplete(self, cols: Index, work: Work) -> Any:
        return self._sums(self._of_incomplete(cols, work))

    def parts_of_incomplete(self, cols: Index, work: Work, n_parts: int, threads: int) -> list[Future]:
        assert self._known is not None, "rows without an outcome have no missing values"
        columns = self._names(cols)
        make = partial(_made_of_incomplete, columns, self._known, work)
        return self._parts(columns, make, n_parts, threads)

    def _of_incomplete(self, cols: Index, work: Work) -> list[Any]:
        """What work makes of each partition, to be computed."""
        columns = self._names(cols)
        partitions = self._partitions(columns)
        starts = np.cumsum((0, *self._rows_by(partitions)[:-1])).tolist()
        shared = _shared(self._client, work)
        return [
            _of_incomplete(partition, columns, self._outcome, start, shared)
            for partition, start in zip(partitions, starts, strict=True)
        ]

    def extremes(self, cols: Index) -> tuple[F64, F64]:
        """The least and the largest value of some columns."""
        chosen = self._frame[self._names(cols)]
        lowest, highest = (future.result() for future in self._client.compute([chosen.min(), chosen.max()]))
        return lowest.to_numpy(dtype=np.float64), highest.to_numpy(dtype=np.float64)

    def parts(
        self, n_parts: int, threads: int, cols: Index, mean: F64, sd: F64, only: int | None = None
    ) -> list[Future]:
        """At most ``n_parts`` standardized parts, for all ``threads`` of the cluster.

        ``only`` the rows of class 0 or 1, or with None all of them.

        No task names a worker, not even as a preference: when no worker is left, Dask forgets that it was
        only a preference, and a worker that joins later would never be given the task.
        """
        columns = self._names(cols)
        make = partial(_standardized, columns, self._known, mean, sd, only)
        return self._parts(columns, make, n_parts, threads)

    def _parts(self, columns: list[Hashable], make: Make, n_parts: int, threads: int) -> list[Future]:
        # What is known of the outcome travels with the tasks: parts that need a future besides their rows
        # would all be read by the worker that has it.
        partitions = self._partitions(columns)
        rows = self._rows_by(partitions)
        return parts_of(self._client, partitions, rows, len(columns), make, n_parts, threads)

    def _rows_by(self, partitions: list[Any]) -> tuple[int, ...]:
        rows = self.first_look.rows_by_partition
        if len(rows) != len(partitions):
            # Dask merges partitions when only few of their columns are read.
            rows = self._sums(_length(partition) for partition in partitions)
        return rows

    def _names(self, cols: Index) -> list[Hashable]:
        return [self._columns[c] for c in cols]

    def _partitions(self, columns: list[Hashable]) -> list[Any]:
        return self._frame[[*columns, *self._of_outcome]].to_delayed()

    def _sums(self, looks: Iterable[Any]) -> Any:
        return add_up(self._client, self._client.compute(list(looks)))


def sums_over(
    client: Client, frame: Any, columns: Sequence[Hashable], look: Callable[[pd.DataFrame], Any]
) -> Any:
    """The sum of what ``look`` makes of some columns of each partition; no others are read."""
    shared = _shared(client, look)
    with _promised(client, frame, columns):
        looks = [_looked_at(partition, shared) for partition in frame[list(columns)].to_delayed()]
        return add_up(client, client.compute(looks))


@contextmanager
def _promised(client: Client, frame: Any, columns: Sequence[Hashable]) -> Iterator[None]:
    """Name the partition that lacks a column: Dask chooses columns before one can be looked at."""
    try:
        yield
    except (KeyError, IndexError, AttributeError, TypeError) as error:
        whole = client.compute([_columns_of(partition) for partition in frame.to_delayed()])
        for place, found in enumerate(client.gather(whole)):
            lacking = [column for column in columns if column not in found]
            if lacking:
                raise InputError(
                    f"partitions[{place}] of X lacks the promised column {lacking[0]!r}: {CORRECT}"
                ) from error
        raise


def _shared(client: Client, what: Any) -> Future:
    """One for all partitions: the arrays in it are sent once."""
    return client.submit(_same, what, key=f"shared-{uuid4().hex}")


def _same(what: Any) -> Any:
    return what


@delayed
def _looked_at(partition: pd.DataFrame, look: Callable[[pd.DataFrame], Any]) -> Any:
    return look(partition)


def _values(partition: pd.DataFrame, columns: list[Hashable]) -> F64:
    # Whoever reads goes on to sum, and a worker runs as many such tasks at a time as it has threads.
    use_threads(1)
    return partition[columns].to_numpy(dtype=np.float64, na_value=np.nan)


def _outcomes(partition: pd.DataFrame, outcome: OutcomeRows | None) -> np.ndarray | None:
    return None if outcome is None else outcome.rows(partition)


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
def _first_look(
    partition: pd.DataFrame, columns: list[Hashable], outcome: OutcomeRows | None, place: int
) -> FirstLook:
    _refuse_what_is_no_number(partition, columns, place)
    X = _values(partition, columns)
    missing = np.isnan(X)
    # Seeded by place: the answer is the same when a lost partition is summed again.
    weights = np.random.default_rng(place).standard_normal(len(X))
    # Infinite values are refused later, with the names of their columns; one with missing values has no
    # projection.
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
        moments = _column_moments(X, _outcomes(partition, outcome), np.zeros(X.shape[1]))
        projection = weights @ X
    return FirstLook(
        rows=len(X),
        missing=missing.sum(axis=0),
        infinite=np.isinf(X).sum(axis=0),
        too_large=(np.abs(X) > LARGEST).sum(axis=0),
        moments=moments,
        weight=float(weights.sum()),
        projection=projection,
        rows_by_partition=(len(X),),
        incomplete_rows=int(missing.any(axis=1).sum()),
        rows_without_values=int(missing.all(axis=1).sum()),
    )


@delayed
def _moments(
    partition: pd.DataFrame, columns: list[Hashable], outcome: OutcomeRows | None, shift: F64
) -> ColumnMoments:
    with one_blas_thread():
        return _column_moments(_values(partition, columns), _outcomes(partition, outcome), shift)


def _column_moments(X: F64, y: np.ndarray | None, shift: F64) -> ColumnMoments:
    """Moments by class; where values are missing, of those that are not."""
    return measured_moments(X, y, shift) if has_missing(X) else NumbaRaw(X, y).column_moments(shift)


@delayed
def _gram(
    partition: pd.DataFrame, columns: list[Hashable], outcome: OutcomeRows | None, mean: F64, sd: F64
) -> F64:
    raw = NumbaRaw(_values(partition, columns), _outcomes(partition, outcome))
    with one_blas_thread():
        return raw.gram(np.arange(len(columns)), mean, sd)


@delayed
def _of_incomplete(
    partition: pd.DataFrame, columns: list[Hashable], outcome: OutcomeRows, first_row: int, work: Work
) -> Any:
    with one_blas_thread():
        return _made_of_incomplete(columns, outcome, work, partition, first_row)


@delayed
def _length(partition: pd.DataFrame) -> tuple[int, ...]:
    return (len(partition),)


def _standardized(
    columns: list[Hashable],
    outcome: OutcomeRows | None,
    mean: F64,
    sd: F64,
    only: int | None,
    partition: pd.DataFrame,
    first_row: int,
) -> tuple[F64, np.ndarray | None]:
    """(k, n) standardized columns, and the outcome of their rows; of one class ``only``, if there is one."""
    known = _outcomes(partition, outcome)
    if only is not None and known is not None:
        partition, known = partition[known == only], known[known == only]
    everything = np.arange(len(columns))
    return NumbaRaw(_values(partition, columns), known).standardize(everything, mean, sd).columns, known


def _made_of_incomplete(
    columns: list[Hashable], outcome: OutcomeRows, work: Work, partition: pd.DataFrame, first_row: int
) -> Any:
    return work(incomplete_part("numba", _values(partition, columns), outcome.rows(partition), first_row))
