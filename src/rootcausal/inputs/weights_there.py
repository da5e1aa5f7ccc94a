"""How much each row counts, where rows are on a cluster: rows that are there several times, or parts of them.

What :mod:`.weights` does with rows in memory, partition by partition.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InputError
from ..method.row_weights import edges_between, fine_times
from ..method.table import F64
from .weights import INTEGERS, Told, facts_of

#: sums(frame, columns, look): the sum over the partitions of what ``look`` makes of these columns.
Sums = Callable[[Any, Sequence[Hashable], Callable[[pd.DataFrame], Any]], Any]


@dataclass(frozen=True, eq=False)
class WeighedFrame:
    """A dask dataframe whose rows have weights.

    Attributes
    ----------
    frame : the rows that count: each as often as it does, and without their weights, where these are whole
        numbers.
    name : the column of the weights; None where all count the same.
    facts : what a model remembers.
    told : what the weights come to.
    """

    frame: Any
    name: Hashable | None
    facts: dict[str, Any]
    told: Told

    @classmethod
    def of(cls, sums: Sums, frame: Any, name: Hashable) -> WeighedFrame:
        """Look at the weights once."""
        told: Told = sums(frame, [name], partial(_told, name))
        facts = facts_of(told)
        without = frame._meta.drop(columns=[name])
        if facts["whole"]:
            return cls(frame.map_partitions(_repeated, name, meta=without), None, facts, told)
        frame = frame.map_partitions(_counting, name, meta=frame._meta)
        if len(told.different) == 1:
            return cls(frame.drop(columns=[name]), None, facts, told)
        return cls(frame, name, facts, told)

    @property
    def rows(self) -> Any:
        """The rows without their weights."""
        return self.frame if self.name is None else self.frame.drop(columns=[self.name])

    @property
    def fine(self) -> Any:
        """As :attr:`rootcausal.method.row_weights.RowWeights.fine`."""
        n = self.told.rows - self.told.left_out
        times = fine_times(n) * n / self.told.total
        return self._made(partial(_finely, self.name, times))

    def alike(self, sums: Sums) -> Iterator[tuple[Any, float]]:
        """Rows of equal weight, or nearly so, and what one of each counts."""
        edges = edges_between(np.array(sorted(self.told.different)), self.told.extremes)
        assert self.name is not None
        found: F64 = sums(self.frame, [self.name], partial(_by_level, self.name, edges))
        scale = self.facts["effective"] / self.told.total
        for level in np.flatnonzero(found[0]).tolist():
            weight = scale * float(found[1, level] / found[0, level])
            yield self._made(partial(_of_level, self.name, edges, level)), weight

    def _made(self, make: Any) -> Any:
        return self.frame.map_partitions(make, meta=self.frame._meta.drop(columns=[self.name]))


def _weights(partition: pd.DataFrame, name: Hashable) -> F64:
    try:
        return partition[name].to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise InputError(f"weights must be numbers, and column {name!r} holds others") from None


def _told(name: Hashable, partition: pd.DataFrame) -> Told:
    weights = _weights(partition, name)
    whole = partition[name].dtype.kind in INTEGERS and not np.isnan(weights).any()
    return Told.of(weights.astype(np.intp) if whole else weights, partition.index.to_numpy())


def _repeated(partition: pd.DataFrame, name: Hashable) -> pd.DataFrame:
    times = _weights(partition, name).astype(np.intp)
    return partition.drop(columns=[name]).iloc[np.repeat(np.arange(times.size), times)]


def _counting(partition: pd.DataFrame, name: Hashable) -> pd.DataFrame:
    return partition[_weights(partition, name) > 0.0]


def _finely(name: Hashable, times: float, partition: pd.DataFrame) -> pd.DataFrame:
    count = np.maximum(np.rint(_weights(partition, name) * times), 1.0).astype(np.intp)
    return partition.drop(columns=[name]).iloc[np.repeat(np.arange(count.size), count)]


def _by_level(name: Hashable, edges: F64, partition: pd.DataFrame) -> F64:
    weights = _weights(partition, name)
    level = np.searchsorted(edges, weights, side="right")
    return np.stack([np.bincount(level, weights=of, minlength=edges.size + 1) for of in (None, weights)])


def _of_level(name: Hashable, edges: F64, level: int, partition: pd.DataFrame) -> pd.DataFrame:
    found = np.searchsorted(edges, _weights(partition, name), side="right") == level
    return partition.drop(columns=[name])[found]
