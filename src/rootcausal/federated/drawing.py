"""Resamples at the sites: which of its rows a site draws, which nobody else may know.

Who knew how often each row is drawn could tell rows from the sums of many resamples, as unknowns of so many
equations. So what is drawn depends on the key of the sites, which the coordinator does not have.
"""

from __future__ import annotations

import hashlib

import numpy as np

from ..method.table import Index


def drawn_rows(key: bytes, site: str, seed: int, number: int, labels: np.ndarray | None, n: int) -> Index:
    """(n,) row numbers of a resample of n rows, each as often as it is drawn.

    ``labels`` (n,) of classes of which as many are drawn as there are; None draws from all rows alike.
    """
    digest = hashlib.sha256(key + f"|{site}|{seed}|{number}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest, "little"))
    if labels is None:
        return rng.integers(n, size=n)
    members = [np.flatnonzero(labels == label) for label in (0, 1)]
    return np.concatenate([rows[rng.integers(rows.size, size=rows.size)] for rows in members if rows.size])
