"""Whether the rows of a fit, which may be the user's own array, are still what they were."""

from __future__ import annotations

import zlib

import numpy as np

from .core.table import F64

# Of an array whose rows are not contiguous, this much is copied at a time.
VALUES_A_BLOCK = 1 << 20


def checksum(X: F64) -> int:
    """CRC-32 of an array (n, p), to be compared with that of the same array later.

    It is there to notice accidents, and costs a few percent of the shortest fit; a cryptographic hash, more.
    """
    rows = X.T if X.flags.f_contiguous else X
    height = max(1, VALUES_A_BLOCK // rows.shape[1])
    found = 0
    for start in range(0, len(rows), height):
        found = zlib.crc32(np.ascontiguousarray(rows[start : start + height]).data, found)
    return found
