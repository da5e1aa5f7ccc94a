"""Random numbers that belong to a cell: the same wherever, in whatever order and by whomever they are drawn.

Each is a hash (SplitMix64; Steele, Lea & Flood 2014) of a seed, what the row holds, the number of the draw
and that of the column, so no generator has to be carried from row to row (a counter-based generator), and a
row draws the same wherever it stands. Rows that hold the same are told apart by counting them: they stand for
different patients, and which of them is which makes no difference.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..table import F64, Index

U64 = NDArray[np.uint64]

GOLDEN, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
SEEDS = 1 << 64
# What measurements are known by beside their columns' true values: these numbers and those of the columns.
MEASUREMENTS = 1 << 32
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


def contents(X: F64, columns: Index) -> U64:
    """(n,) a hash of what each row of X (n, m) holds, and lacks; its columns are known by their numbers."""
    found = np.zeros(len(X), dtype=np.uint64)
    for values, of_column in zip(X.T, scrambled(columns.astype(np.uint64)), strict=True):
        cells = values + 0.0  # a copy, in which −0 is 0
        cells[np.isnan(cells)] = np.nan
        found += scrambled(cells.view(np.uint64) ^ of_column)
    return found


def ranks_among_equals(of_rows: U64) -> Index:
    """(n,) how many rows before each one hold the same."""
    order = np.argsort(of_rows, kind="stable")
    place = np.arange(of_rows.size)
    begins = np.append(True, np.diff(of_rows[order]) != 0)[: of_rows.size]
    ranks = np.empty(of_rows.size, dtype=np.intp)
    ranks[order] = place - np.maximum.accumulate(np.where(begins, place, 0))
    return ranks


def row_keys(of_rows: U64, ranks: Index) -> U64:
    """(n,) what the noise knows rows by: what they hold, and their ranks among those that hold the same."""
    return scrambled(of_rows + ranks.astype(np.uint64))


def normals(state: np.uint64, rows: U64, draw: int, columns: Index) -> F64:
    """Standard normal numbers of cells: keys of ``rows`` and ``columns`` broadcast (Box & Muller 1958).

    Of the 64 bits of a hash, 32 make the radius and 32 the angle; no number is beyond ± 6.8.
    """
    of_row = scrambled(np.atleast_1d(state) + rows)
    of_draw = scrambled(of_row + np.uint64(draw))
    bits = scrambled(of_draw + columns.astype(np.uint64))
    radius = ((bits >> np.uint64(32)).astype(np.float64) + 0.5) * HALF
    angle = (bits & np.uint64(0xFFFFFFFF)).astype(np.float64) * HALF
    return np.sqrt(-2.0 * np.log(radius)) * np.cos(2.0 * np.pi * angle)
