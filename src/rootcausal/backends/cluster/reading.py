"""Parts of a table, read from partitions: each part by one task, the partitions one after the other.

So a partition is read where its rows are to stay, and nothing has to move. Where grains are smaller than
partitions, the one at the edge between two parts is read by both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd
from distributed import Client, Future

from ...method.table import F64, Index
from ..blas import one_blas_thread
from .parts import Part, grain_edges, grain_of

#: Makes standardized columns, and what is known of the outcome, of some rows; the first has this number.
Make = Callable[[pd.DataFrame, int], tuple[F64, np.ndarray | None]]


@dataclass(frozen=True)
class Cut:
    """What a part takes of one partition.

    Attributes
    ----------
    partition : its place.
    first_row : the number of its first row in the cohort.
    slices : grains, and the rows of the partition that they take.
    """

    partition: int
    first_row: int
    slices: tuple[tuple[int, slice], ...]


def parts_of(
    client: Client,
    partitions: Sequence[Any],
    rows: Sequence[int],
    n_columns: int,
    make: Make,
    n_parts: int,
    threads: int,
) -> list[Future]:
    """Parts of about equal numbers of rows, at most ``n_parts``.

    Parameters
    ----------
    partitions : delayed.
    rows : of each of them.
    make : what a part keeps of a partition.
    threads : of the whole cluster.
    """
    edges = grain_edges(sum(rows), n_columns)
    leaves = edges.size - 1
    n_parts = min(n_parts, leaves)
    sources = _sources(client, partitions)
    parts = []
    for part in range(n_parts):
        cuts = cuts_of(rows, edges, leaves * part // n_parts, leaves * (part + 1) // n_parts)
        needed = [sources[cut.partition] for cut in cuts]
        args = cuts, leaves, make, max(1, threads // n_parts)
        parts.append(client.submit(_read, needed, *args, key=f"part-{uuid4().hex}"))
    return parts


def cuts_of(rows: Sequence[int], edges: Index, first: int, last: int) -> list[Cut]:
    """What the grains first..last−1, which part all rows at ``edges``, take of each partition."""
    cuts, start = [], 0
    for partition, size in enumerate(rows):
        bounds = np.clip(edges[first : last + 1] - start, 0, size).tolist()
        slices = tuple((first + place, slice(a, b)) for place, (a, b) in enumerate(pairwise(bounds)) if a < b)
        if slices:
            cuts.append(Cut(partition, start, slices))
        start += size
    return cuts


class _Unread:
    """A partition that a task can read by itself."""

    def __init__(self, task: Callable[[], pd.DataFrame]) -> None:
        self.read = task


def _sources(client: Client, partitions: Sequence[Any]) -> list[_Unread | Future]:
    """How parts get partitions: they read them or, where that takes more than one task, are sent them."""
    tasks = [partition.dask[partition.key] for partition in partitions]
    # Dask joins tasks that only one other needs: reading, and choosing columns, is one task.
    if all(callable(task) and not getattr(task, "dependencies", True) for task in tasks):
        return [_Unread(task) for task in tasks]
    return list(client.compute(list(partitions)))


def _read(sources: list[Any], cuts: list[Cut], leaves: int, make: Make, threads: int) -> Part:
    def pieces(source: Any, cut: Cut) -> list[tuple[int, Any]]:
        partition = source.read() if isinstance(source, _Unread) else source
        return [(grain, make(partition.iloc[rows], cut.first_row + rows.start)) for grain, rows in cut.slices]

    found: dict[int, list[Any]] = {}
    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        for several in pool.map(pieces, sources, cuts):
            for grain, piece in several:
                found.setdefault(grain, []).append(piece)
    return Part(leaves, {grain: grain_of(of_grain) for grain, of_grain in found.items()})
