"""Rows with missing values on a cluster: the sums of imputation, partition by partition.

A partition does what rows in memory do (see :mod:`rootcausal.backends.missing_rows`), and draws what the same
rows in memory would: by what they hold and, where rows of other partitions hold the same, by the number of
its first row in the whole cohort. Which rows these are is found out once, by a hash of each row with holes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from operator import methodcaller
from typing import Any, Protocol

import numpy as np
from distributed import Client, Future

from ...method.missing.gaussian import JointGaussian
from ...method.missing.sums import Imputer, JointSums, Repeats, View
from ...method.table import F64, ColumnMoments, Index
from ..missing_rows import MemoryIncomplete
from .rows import DaskTable, table_on_cluster

#: Makes something of one partition, whose columns are those that were asked for.
Work = Callable[[MemoryIncomplete], Any]


class IncompleteSource(Protocol):
    """Where rows with an outcome and missing values come from; read anew for each pass."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def incomplete_rows(self) -> int: ...

    def column_moments(self, shift: F64) -> ColumnMoments: ...

    def sums_of_incomplete(self, cols: Index, work: Work) -> Any:
        """The sum over the partitions of what ``work`` makes of some columns of each."""
        ...

    def parts_of_incomplete(self, cols: Index, work: Work, n_parts: int, threads: int) -> list[Future]:
        """Parts of the standardized columns, and outcomes, that ``work`` makes of some of each partition."""
        ...


class DaskIncomplete:
    """A cohort with an outcome and missing values on a cluster."""

    backend = "dask"

    def __init__(self, client: Client, source: IncompleteSource) -> None:
        self._client = client
        self._source = source

    @property
    def shape(self) -> tuple[int, int]:
        return self._source.shape

    def incomplete_rows(self) -> int:
        return self._source.incomplete_rows

    def column_moments(self, shift: F64) -> ColumnMoments:
        return self._source.column_moments(shift)

    def measured_sums(self, view: View) -> JointSums:
        return self._source.sums_of_incomplete(view.cols, methodcaller("measured_sums", _alone(view)))

    def expected_sums(self, view: View, joint: JointGaussian) -> JointSums:
        return self._source.sums_of_incomplete(view.cols, methodcaller("expected_sums", _alone(view), joint))

    def filled(self, filling: Imputer) -> tuple[DaskFilled, DaskFilled]:
        alone = _alone(filling.view)
        counts = self._source.sums_of_incomplete(filling.view.cols, methodcaller("class_counts", alone))
        held = self._source.sums_of_incomplete(
            filling.view.cols, methodcaller("contents", alone, filling.ids)
        )
        narrow = replace(filling, view=alone, repeats=Repeats.of(held.numbers, held.contents))
        complete, copies = (
            DaskFilled(self._client, self._source, filling.view.cols, narrow, which, None, counts[which])
            for which in (0, 1)
        )
        return complete, copies


class DaskFilled:
    """Rows that are complete (``which`` is 0), or the filled copies of all others (1), on a cluster."""

    backend = "dask"

    def __init__(
        self,
        client: Client,
        source: IncompleteSource,
        cols: Index,
        filling: Imputer,
        which: int,
        only: int | None,
        counts: F64,
    ) -> None:
        """Of one class ``only``, or None; ``cols`` of the source are those of the filling's view, and
        ``counts`` (c,) the rows of each class.
        """
        self._client = client
        self._source = source
        self._cols = cols
        self._filling = filling
        self._which = which
        self._only = only
        self._counts = counts

    @property
    def shape(self) -> tuple[int, int]:
        return int(self._counts.sum()), self._cols.size

    def column_moments(self, shift: F64) -> ColumnMoments:
        return self._sums("column_moments", shift)

    def gram(self, cols: Index, mean: F64, sd: F64) -> F64:
        return self._sums("gram", cols, mean, sd)

    def by_class(self) -> tuple[DaskFilled, DaskFilled]:
        same = self._client, self._source, self._cols, self._filling, self._which
        controls, cases = (
            DaskFilled(*same, c, np.where(np.arange(2) == c, self._counts, 0.0)) for c in (0, 1)
        )
        return controls, cases

    def standardize(self, cols: Index, mean: F64, sd: F64) -> DaskTable:
        work = partial(_standardized, *self._chosen, (cols, mean, sd))

        def parts(n_parts: int, threads: int) -> list[Future]:
            return self._source.parts_of_incomplete(self._cols, work, n_parts, threads)

        return table_on_cluster(self._client, (self.shape[0], cols.size), parts)

    @property
    def _chosen(self) -> tuple[Imputer, int, int | None]:
        return self._filling, self._which, self._only

    def _sums(self, method: str, *args: Any) -> Any:
        return self._source.sums_of_incomplete(self._cols, partial(_asked, *self._chosen, method, args))


def _alone(view: View) -> View:
    """The view of a table that has no other columns."""
    return replace(view, cols=np.arange(view.cols.size))


def _filled(filling: Imputer, which: int, only: int | None, rows: MemoryIncomplete) -> Any:
    raw = rows.filled(filling)[which]
    return raw if only is None else raw.by_class()[only]


def _asked(
    filling: Imputer, which: int, only: int | None, method: str, args: tuple[Any, ...], rows: MemoryIncomplete
) -> Any:
    return getattr(_filled(filling, which, only, rows), method)(*args)


def _standardized(
    filling: Imputer, which: int, only: int | None, by: tuple[Index, F64, F64], rows: MemoryIncomplete
) -> tuple[F64, np.ndarray]:
    table = _filled(filling, which, only, rows).standardize(*by)
    return table.columns, table.labels
