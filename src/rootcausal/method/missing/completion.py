"""What a new patient's missing values are expected to be, given all that was measured of them.

The joint Gaussian of the columns that matter is kept with a model. It holds more columns than the causal
order: what the screen dropped adds nothing to the risk, yet it tells about what is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from ..layout import Layout
from ..moments import Columns
from ..table import F64, Index
from .gaussian import JointGaussian, gaps_of
from .measurement import DOUBT, behind_measurements, with_measurements
from .noise import MEASUREMENTS, contents, normals, ranks_among_equals, row_keys, seed_state

# Values that were filled in by a Gaussian, brought to the levels that a discrete column takes.


def to_levels(X: F64, was_missing: np.ndarray, layout: Layout) -> None:
    """Overwrite the missing cells of X (n, q): each gets the nearest level of its column.

    The dummies of one variable become those of the level with the highest value; that of the reference, which
    has no column, is what the others leave of one.
    """
    if not layout.discrete.any():
        return
    for variable in np.unique(layout.variable[layout.discrete]):
        columns = layout.columns_of(int(variable))
        rows = np.flatnonzero(was_missing[:, columns].any(axis=1))
        if not rows.size:
            continue
        cells = np.ix_(rows, columns)
        X[cells] = _nearest(X[cells], layout.levels[columns[0]]) if columns.size == 1 else _dummies(X[cells])


def _nearest(values: F64, levels: F64) -> F64:
    return levels[np.searchsorted(0.5 * (levels[1:] + levels[:-1]), values)]


def _dummies(values: F64) -> F64:
    with_reference = np.column_stack([values, 1.0 - values.sum(axis=1)])
    return np.eye(with_reference.shape[1])[with_reference.argmax(axis=1)][:, :-1]


# Rows that are standardized at once.
ROWS_PER_BLOCK = 4096
# So many rows of independent columns are added to those of the cohort: matrices then have an inverse.
RIDGE = 3.0
# So many values beyond a limit make a line, no steeper than this.
FEWEST_BEYOND, STEEPEST = 20, 3.0
# Linear functions of a row, times its missing values, whose spread is worked out at once.
VALUES_A_BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class Completion:
    """Joint Gaussian of a cohort's columns, in the population.

    Attributes
    ----------
    mean : (q,) of all columns.
    columns : (m,) those whose covariance is known, ascending.
    covariance : (m, m) of these; of their true values, where they are measured with error.
    noise : (m,) variances of measurement error; None where there is none.
    limits : (2, m) of detection; None where there are none.
    tails : (2, 2, m) of values below limits, and above them: intercept and slope of the line that leads from
        what a Gaussian expects of them to what the laws of errors do; None where these are not known.
    """

    mean: F64
    columns: Index
    covariance: F64
    noise: F64 | None = None
    limits: F64 | None = None
    tails: F64 | None = None

    @classmethod
    def of(
        cls,
        columns: Columns,
        chosen: Index,
        joint: JointGaussian,
        noise: F64 | None = None,
        limits: F64 | None = None,
    ) -> Completion:
        """Of columns whose chosen ones, standardized, are distributed as ``joint``; D may come after them.

        ``noise`` (m,) are variances of the measurement error of the standardized columns, and ``limits``
        (2, m) those of the table's own.
        """
        m = chosen.size
        sd = columns.sd[chosen]
        mean = columns.mean.copy()
        mean[chosen] += joint.mean[:m] * sd
        covariance = joint.covariance[:m, :m] * np.outer(sd, sd)
        # Sums of products need not be the same to the last bit across the diagonal; a file asks for that.
        noise = None if noise is None else noise * sd * sd
        return cls(mean, chosen, 0.5 * (covariance + covariance.T), noise, limits)

    @classmethod
    def of_gram(cls, columns: Columns, chosen: Index, gram: F64, n_rows: float) -> Completion:
        """Of complete rows, by the sums of squares (m, m) of their standardized columns."""
        return cls.of(columns, chosen, JointGaussian(np.zeros(chosen.size), shrunken(gram, n_rows)))

    @cached_property
    def _sd(self) -> F64:
        return np.sqrt(np.diagonal(self.covariance))

    @cached_property
    def _joint(self) -> JointGaussian:
        limits = self.limits
        if limits is not None:
            limits = (limits - self.mean[self.columns]) / self._sd
        correlation = self.covariance / np.outer(self._sd, self._sd)
        joint = JointGaussian(np.zeros(self.columns.size), correlation, limits)
        return joint if self._noise is None else with_measurements(joint, self._noise)

    @cached_property
    def _noise(self) -> F64 | None:
        return None if self.noise is None else self.noise / self._sd**2

    @cached_property
    def _of_place(self) -> Index:
        """(d,) the column of each place of the joint Gaussian; that of a measurement is its true value's."""
        if self._noise is None:
            return self.columns
        return np.append(self.columns, self.columns[np.flatnonzero(self._noise)])

    def lacking(self, X: F64) -> np.ndarray:
        """(n, q): the cells of which only an expectation is known: also all that are measured with error, and
        those beyond a limit.
        """
        lacking = np.isnan(X)
        if self.limits is not None:
            lacking |= self.censored(X) != 0
        if self.noise is not None:
            lacking[:, self.columns[self.noise > 0.0]] = True
        return lacking

    def censored(self, X: F64) -> NDArray[np.int8]:
        """(n, q): -1 where a value is at a limit of detection or below, 1 where at one or above; else 0."""
        found = np.zeros(X.shape, dtype=np.int8)
        if self.limits is not None:
            values, (lowest, highest) = X[:, self.columns], self.limits
            found[:, self.columns] = (values >= highest).astype(np.int8) - (values <= lowest).astype(np.int8)
        return found

    def fill(self, X: F64) -> F64:
        """(n, q): X with each NaN replaced by its conditional expectation given all that the row has.

        Of a column that is measured with error, each value is replaced by what is expected of the true one,
        and so is each beyond a limit.
        Columns outside ``columns`` get their mean. X itself is returned where nothing is missing.
        """
        return self._filled(X, None)

    def draw(self, X: F64, seed: int, layout: Layout | None = None) -> F64:
        """(n, q): one random completion of X; columns with levels get one of these.

        It differs from :meth:`fill` as patients differ: quantiles of columns filled so are those of patients.
        """
        filled = self._filled(X, seed_state(seed))
        if layout is not None and filled is not X:
            to_levels(filled, self.lacking(X), layout)
        return filled

    def _filled(self, X: F64, noise: np.uint64 | None) -> F64:
        holed = np.flatnonzero(self.lacking(X).any(axis=1))
        if not holed.size:
            return X
        filled = np.array(X, order="C")
        keys = np.empty(0, dtype=np.uint64)
        if noise is not None:
            held = contents(X[holed[:, None], self.columns], self.columns)
            keys = row_keys(held, ranks_among_equals(held))
        for start in range(0, holed.size, ROWS_PER_BLOCK):
            rows = holed[start : start + ROWS_PER_BLOCK]
            for gap in gaps_of(self._standardized(X, rows), self._joint):
                values = gap.mean
                if noise is not None:
                    values = gap.drawn(self._ids, partial(normals, noise, keys[start + gap.rows, None], 0))
                at, own = self._of_place[gap.places], gap.places < self.columns.size
                row = np.broadcast_to(rows[gap.rows, None], at.shape)
                sd = np.take(self._sd, np.minimum(gap.places, self.columns.size - 1))
                filled[row[own], at[own]] = (self.mean[at] + values * sd)[own]
            some = filled[rows]
            filled[rows] = np.where(np.isnan(some), self.mean, some)
        if self.tails is not None and noise is None:
            self._bring_to_laws(filled, self.censored(X))
        return filled

    def with_tails(self, sums: F64) -> Completion:
        """The same with lines by ``sums``, as :class:`.tails.Redrawn` has them; none for few values."""
        n, expected, squares, drawn, products = sums.transpose(1, 0, 2)
        count = np.maximum(n, 1.0)
        spread = squares / count - (expected / count) ** 2
        enough = (n >= FEWEST_BEYOND) & (spread > 0.0)
        slope = np.where(enough, products / count - expected * drawn / count**2, 0.0) / np.where(
            enough, spread, 1.0
        )
        slope = np.clip(slope, 0.0, STEEPEST)
        intercept = np.where(enough, (drawn - slope * expected) / count, 0.0)
        return replace(self, tails=np.stack([intercept, np.where(enough, slope, 1.0)], axis=1))

    def _bring_to_laws(self, filled: F64, side: NDArray[np.int8]) -> None:
        """Bring what a Gaussian expects beyond limits to what the laws of errors do, in place."""
        assert self.tails is not None and self.limits is not None
        for kind, of in enumerate((-1, 1)):
            rows, places = np.nonzero(side[:, self.columns] == of)
            columns = self.columns[places]
            intercept, slope = self.tails[kind][:, places]
            values, limit = intercept + slope * filled[rows, columns], self.limits[kind, places]
            filled[rows, columns] = np.minimum(values, limit) if of < 0 else np.maximum(values, limit)

    def spread(self, X: F64, effects: F64) -> F64:
        """(n, v): standard deviation that filling in leaves to linear functions x @ effects of each row.

        ``effects`` (q, v) are in the units of X, and zero for columns outside ``columns``.
        """
        spread = np.zeros((len(X), effects.shape[1]))
        scaled = np.zeros((self._of_place.size, effects.shape[1]))  # a measurement has no effect of its own
        scaled[: self.columns.size] = effects[self.columns] * self._sd[:, None]
        if self.noise is not None:  # which may be larger than it was said to be
            scaled[np.flatnonzero(self.noise)] *= np.exp(0.5 * DOUBT)
        for start in range(0, len(X), ROWS_PER_BLOCK):
            rows = np.arange(start, min(start + ROWS_PER_BLOCK, len(X)))
            for gap in gaps_of(self._standardized(X, rows), self._joint):
                root = np.linalg.cholesky(gap.precision)
                height = max(1, VALUES_A_BLOCK // max(1, gap.places.shape[1] * effects.shape[1]))
                for first in range(0, len(gap.rows), height):
                    some = slice(first, first + height)
                    moved = np.linalg.solve(root[some], scaled[gap.places[some]])
                    spread[rows[gap.rows[some]]] = np.sqrt((moved * moved).sum(axis=1))
        return spread

    def _standardized(self, X: F64, rows: Index) -> F64:
        Z: F64 = (X[rows[:, None], self.columns] - self.mean[self.columns]) / self._sd
        return Z if self._noise is None else behind_measurements(Z, self._noise)

    @property
    def _ids(self) -> Index:
        """(d,) what noise knows the places by."""
        return np.append(self.columns, MEASUREMENTS + self._of_place[self.columns.size :])


def shrunken(sums: F64, n_rows: float) -> F64:
    """(d, d): covariance of standardized columns from Σ z zᵀ about their means, with the ridge."""
    return (sums + RIDGE * np.eye(len(sums))) / (n_rows + RIDGE)
