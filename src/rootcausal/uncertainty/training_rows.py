"""The rows of a fit, kept to draw resamples from, and whether their owner changed them since."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass

import numpy as np

from ..core.layout import Layout
from ..core.pipeline import Settings
from ..core.table import F64

# Of an array whose rows are not contiguous, this much is copied at a time.
VALUES_A_BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """What is resampled: X (n, p), where NaN is missing, labels y in {0, 1}, and how to learn from them.

    ``seal`` is the checksum of X where it is the user's own array, which may change; ``layout`` says what the
    columns stand for, and None that all are numbers.
    """

    X: F64
    y: np.ndarray
    settings: Settings
    backend: str
    seal: int | None = None
    layout: Layout | None = None

    @property
    def unchanged(self) -> bool:
        """Whether X still is what was fitted."""
        return self.seal is None or self.seal == checksum(self.X)

    def fingerprint(self, random_state: int) -> str:
        """What must be equal for resamples to belong together; the rows enter as a hash only."""
        chosen = self.settings
        # Word for word what it was when the settings were texts: resamples of before still belong.
        prevalence = "" if chosen.prevalence is None else f", prevalence={chosen.prevalence!r}"
        words = (
            f"(Settings(variant={chosen.variant.name!r}, alpha={chosen.alpha!r}, "
            f"attribution={chosen.attribution.name!r}{prevalence}), {random_state!r}, {self.X.shape!r})"
        )
        if self.layout is not None and (self.layout.grouped or self.layout.discrete.any()):
            levels = [values.tolist() for values in self.layout.levels]
            words += f", {self.layout.variable.tolist()!r}, {levels!r}"
        digest = hashlib.sha256(words.encode())
        digest.update(np.ascontiguousarray(self.X).data)
        digest.update(np.ascontiguousarray(self.y).data)
        return digest.hexdigest()


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
