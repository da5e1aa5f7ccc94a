"""The rows of a fit, kept to draw resamples from, and whether their owner changed them since."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..backends.choose import has_missing
from ..backends.cpu.on_demand import in_threads
from ..errors import InputError
from ..method.layout import Layout
from ..method.missing.noise import U64, contents
from ..method.outcome import Outcome
from ..method.pipeline import Settings
from ..method.table import F64, Index
from ..method.weighted import RowWeights
from ..outcomes.binary import Binary

# Of an array whose rows are not contiguous, this much is copied at a time.
VALUES_A_BLOCK = 1 << 20
# Rows by which nearly all columns are seen to vary.
FIRST_LOOK = 32


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """What is resampled: X (n, q), where NaN is missing, what is known of the outcome, y, and how to learn.

    ``seal`` is the checksum of X where it is the user's own array, which may change; ``layout`` says what the
    columns stand for, and None that all are numbers; ``groups`` (n,) are the numbers of the patients, from 0,
    where these have several rows; ``outcome`` is what y is like, and None that it is labels; ``weights`` are
    those of rows that count differently, and None that all count the same.
    """

    X: F64
    y: np.ndarray
    settings: Settings
    backend: str
    seal: int | None = None
    layout: Layout | None = None
    groups: Index | None = None
    outcome: Outcome | None = None
    weights: RowWeights | None = None

    @cached_property
    def whole(self) -> bool:
        """Whether all true values are known: none is missing, measured with error, or beyond a limit."""
        return not (self.inexact or has_missing(self.X))

    @property
    def inexact(self) -> bool:
        """Whether some columns are measured with error, or have limits of detection."""
        return self.layout is not None and not self.layout.exact

    @cached_property
    def near(self) -> F64:
        """(q,) about where each column lies: its mean."""
        return self.X.mean(axis=0)

    @cached_property
    def contents(self) -> U64:
        """(n,) hashes of what each row holds, by which a patient of the fit is known again."""
        return contents(self.X, np.arange(self.X.shape[1]))

    @cached_property
    def outcome_of_all(self) -> Outcome:
        """That of the whole cohort."""
        return Binary.of(self.y) if self.outcome is None else self.outcome

    def outcome_of(self, rows: Index) -> tuple[Outcome, RowWeights | None]:
        """What the outcome of some rows is like, each named as often as it is drawn, and what they count."""
        weights = None if self.weights is None else self.weights.taken(rows)
        told = rows if weights is None else rows[weights.fine]
        return self.outcome_of_all.again(self.y[told]), weights

    @property
    def counted(self) -> TrainingRows:
        """Patients who count the same, and stand for all: each is there as often as it counts."""
        if self.weights is None:
            return self
        rows = self.weights.sample
        groups = None if self.groups is None else self.groups[rows]
        outcome = self.outcome_of_all.again(self.y[rows])
        return replace(
            self, X=self.X[rows], y=self.y[rows], seal=None, groups=groups, outcome=outcome, weights=None
        )

    def varying(self, rows: Index) -> Index:
        """Columns that are not the same in all of these rows: a rare finding may be missing from them."""
        # A few rows show nearly all that vary; fmin and fmax pass over missing values.
        varies = _vary(self.X[rows[:FIRST_LOOK]])
        unsure = np.flatnonzero(~varies)
        if unsure.size:
            varies[unsure] = _vary(self.X[rows[:, None], unsure])
        return np.flatnonzero(varies)

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
        chosen_of = "" if self.outcome is None else self.outcome.chosen
        if chosen.mechanism != "linear":  # resamples of before still belong
            chosen_of += f", mechanism={chosen.mechanism!r}"
        elif chosen.attribution.draws:
            chosen_of += ", drawn"
        digest = hashlib.sha256((words + self._kinds() + chosen_of).encode())
        if self.layout is not None and self.layout.precedence is not None:
            known = self.layout.precedence
            rules = [known.stage, known.before, known.after]
            if (known.acts | known.does_not).any():  # resamples of before still belong
                rules += [known.acts, known.does_not]
            for some in rules:
                digest.update(f"{some.size}: ".encode() + some.astype("<i8").tobytes())
        if self.layout is not None and self.layout.noise is not None:
            digest.update(b"noise: " + self.layout.noise.astype("<f8").tobytes())
        if self.layout is not None and self.layout.limits is not None:
            digest.update(b"limits: " + self.layout.limits.astype("<f8").tobytes())
        digest.update(np.ascontiguousarray(self.X).data)
        digest.update(np.ascontiguousarray(self.y).data)
        if self.groups is not None:
            digest.update(np.ascontiguousarray(self.groups).data)
        if self.weights is not None:
            digest.update(b"weights: " + self.weights.weights.astype("<f8").tobytes())
        return digest.hexdigest()

    def _kinds(self) -> str:
        """Nothing where all columns are numbers, so that resamples of before still belong."""
        if self.layout is None or not self.layout.discrete.any():
            return ""
        return f", {self.layout.variable.tolist()!r}, {[levels.tolist() for levels in self.layout.levels]!r}"


def _vary(X: F64) -> np.ndarray:
    varies: np.ndarray = np.fmin.reduce(X) < np.fmax.reduce(X)
    return varies


def rows_at_hand(rows: TrainingRows | None) -> TrainingRows:
    """The rows of a fit, to draw resamples from; an InputError where they are not at hand as they were."""
    if rows is None:
        raise InputError(
            "this model has no cohort at hand, since it was loaded, copied or fitted on a cluster: "
            "fit it in memory before bootstrap (a bootstrap made before saving is kept)"
        )
    if not rows.unchanged:
        raise InputError("X was changed in place since fit: fit again before bootstrap, or fit X.copy()")
    return rows


def checksum(X: F64) -> int:
    """CRC-32 of those of the blocks of an array (n, p), to be compared with that of the same array later.

    It is there to notice accidents, and costs a few percent of the shortest fit; a cryptographic hash, more.
    """
    rows = X.T if X.flags.f_contiguous else X
    height = max(1, VALUES_A_BLOCK // rows.shape[1])
    found = np.empty(-(-len(rows) // height), dtype=np.uint32)

    def work(first: int, last: int) -> None:
        for block in range(first, last):
            some = rows[block * height : (block + 1) * height]
            found[block] = zlib.crc32(np.ascontiguousarray(some).data)

    in_threads(work, found.size, X.size)
    return zlib.crc32(found.data)
