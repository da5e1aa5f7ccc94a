"""Pieces that were read partition by partition, joined to parts of about equal numbers of rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from uuid import uuid4

import numpy as np
from distributed import Client, Future

from ..core.table import F64
from .dask_rows import Part, wait_for
from .numba_cpu import NumbaTable


def joined(client: Client, pieces: list[Future], rows: Sequence[int], n_parts: int) -> list[Future]:
    """Parts made of pieces, each standardized columns and their outcome, where Dask happened to read them.

    ``rows`` by partition, if every partition is a piece.
    """
    wait_for(client, pieces)
    if len(rows) != len(pieces):
        # Dask merges partitions when only few of their columns are read.
        rows = (1,) * len(pieces)
    groups = even_groups(rows, _homes(client, pieces), n_parts)
    return [
        client.submit(_join, [pieces[place] for place in group], key=f"part-{uuid4().hex}")
        for group in groups
    ]


def even_groups(rows: Sequence[int], homes: Sequence[str], n_groups: int) -> list[list[int]]:
    """Pieces of the same home together, as far as the groups remain equal in rows; no group is empty."""
    n_groups = min(n_groups, len(rows))
    # An empty piece counts too, so that the next one goes elsewhere.
    sizes = np.maximum(np.array(rows, dtype=float), 1e-9)
    full = sizes.sum() / n_groups * (1 + 1e-9)
    addresses = sorted(set(homes))
    at_home = {home: np.arange(place, n_groups, len(addresses)) for place, home in enumerate(addresses)}
    groups: list[list[int]] = [[] for _ in range(n_groups)]
    loads = np.zeros(n_groups)
    for place in np.argsort(-sizes, kind="stable").tolist():
        chosen = int(loads.argmin())
        own = at_home[homes[place]]
        if own.size:
            lightest = int(own[loads[own].argmin()])
            if loads[lightest] + sizes[place] <= full:
                chosen = lightest
        groups[chosen].append(place)
        loads[chosen] += sizes[place]
    return [sorted(group) for group in groups if group]


def _homes(client: Client, pieces: Sequence[Future]) -> list[str]:
    """Which worker has each piece; "" where it was lost meanwhile."""
    holders = client.who_has(pieces)
    return [min(holders.get(piece.key) or [""]) for piece in pieces]


def _join(pieces: list[tuple[F64, np.ndarray | None]]) -> Part:
    """One part of several partitions, on the GPU where this worker has one."""
    columns = pieces[0][0] if len(pieces) == 1 else np.concatenate([z for z, _ in pieces], axis=1)
    labels = None if pieces[0][1] is None else np.concatenate([y for _, y in pieces])
    ids = np.arange(len(columns))
    if not _gpu_is_here():
        return Part(NumbaTable(columns, labels), ids, labels)
    from .cupy_gpu import CupyRaw

    raw = CupyRaw(columns.T, labels)
    return Part(raw.standardize(ids, np.zeros(ids.size), np.ones(ids.size)), ids, raw.labels)


@cache
def _gpu_is_here() -> bool:
    """Asked on a worker, of itself."""
    if find_spec("cupy") is None:
        return False
    from .cupy_gpu import device_count

    return device_count() > 0
