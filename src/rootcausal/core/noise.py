"""Random numbers that belong to a cell: the same wherever, in whatever order and by whomever they are drawn.

Each is a hash (SplitMix64; Steele, Lea & Flood 2014) of a seed, the number of the row, that of the draw and
that of the column, so no generator has to be carried from row to row (a counter-based generator).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .table import F64, Index

U64 = NDArray[np.uint64]

GOLDEN, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
SEEDS = 1 << 64
HALF = 2.0**-32


def scrambled(state: U64) -> U64:
    """One step of SplitMix64; whole numbers below 2⁶⁴, which overflow on purpose."""
    z = state + np.uint64(GOLDEN)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(FIRST)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(SECOND)
    return z ^ (z >> np.uint64(31))


def seed_state(seed: int) -> np.uint64:
    """Where the hash of a seed begins."""
    return scrambled(np.array([seed % SEEDS], dtype=np.uint64))[0]


def normals(state: np.uint64, rows: Index, draw: int, columns: Index) -> F64:
    """Standard normal numbers of cells: ``rows`` and ``columns`` broadcast (Box & Muller 1958).

    Of the 64 bits of a hash, 32 make the radius and 32 the angle; no number is beyond ± 6.8.
    """
    of_row = scrambled(np.atleast_1d(state) + rows.astype(np.uint64))
    of_draw = scrambled(of_row + np.uint64(draw))
    bits = scrambled(of_draw + columns.astype(np.uint64))
    radius = ((bits >> np.uint64(32)).astype(np.float64) + 0.5) * HALF
    angle = (bits & np.uint64(0xFFFFFFFF)).astype(np.float64) * HALF
    return np.sqrt(-2.0 * np.log(radius)) * np.cos(2.0 * np.pi * angle)
