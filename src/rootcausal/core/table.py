"""What every backend has to do for the method, the waist of the house: sums over rows, and nothing more.

Everything the method needs is a sum over rows. A table computes such sums where its rows live (one
core, many cores, a GPU, a cluster) and takes no decision. Rows never cross this line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
Index = NDArray[np.intp]

# What tables may hold: squares of values up to this, summed over any number of rows, stay within float64.
LARGEST = 1e140


@dataclass(frozen=True)
class ColumnMoments:
    """Sums of z = x − shift for every column, by class.

    Attributes
    ----------
    count : (c,) rows in each class; c is 2, or 1 for a table without labels.
    total : (c, p) Σ z.
    square : (c, p) Σ z².
    measured : (c, p) values of each column that these sum up; None where no value is missing.
    """

    count: F64
    total: F64
    square: F64
    measured: F64 | None = None

    @property
    def values(self) -> F64:
        """(c, 1) or (c, p): how many values each sum is of."""
        return self.count[:, None] if self.measured is None else self.measured

    def __add__(self, other: ColumnMoments) -> ColumnMoments:
        measured = None
        if self.measured is not None or other.measured is not None:
            measured = self.values + other.values
        return ColumnMoments(
            self.count + other.count, self.total + other.total, self.square + other.square, measured
        )

    def __rmul__(self, weight: float) -> ColumnMoments:
        measured = None if self.measured is None else weight * self.measured
        return ColumnMoments(weight * self.count, weight * self.total, weight * self.square, measured)


@dataclass(frozen=True)
class LogitSums:
    """One evaluation of the logistic log-likelihood.

    Attributes
    ----------
    loglik : Σ log P(y | errors).
    gradient : (k + 1,) its first derivatives; the intercept comes last.
    hessian : (k + 1, k + 1) minus its second derivatives (observed information).
    """

    loglik: float
    gradient: F64
    hessian: F64

    def __add__(self, other: LogitSums) -> LogitSums:
        return LogitSums(
            self.loglik + other.loglik, self.gradient + other.gradient, self.hessian + other.hessian
        )

    def __rmul__(self, weight: float) -> LogitSums:
        return LogitSums(weight * self.loglik, weight * self.gradient, weight * self.hessian)


class Described(Protocol):
    """A cohort as it came, with or without holes: what its columns are like."""

    @property
    def backend(self) -> str:
        """What users call whoever sums here."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the whole data set, not of a part."""
        ...

    def column_moments(self, shift: F64) -> ColumnMoments:
        """Sums by class of ``x − shift``, shift (p,), without any p × p matrix."""
        ...


class RawTable(Described, Protocol):
    """A cohort as it came, and complete: the first pass over it decides which columns go on."""

    def gram(self, cols: Index, mean: F64, sd: F64) -> F64:
        """(c, k, k): Σ z zᵀ by class of the chosen columns as ``(x − mean) / sd``, none of which is kept."""
        ...

    def by_class(self) -> tuple[RawTable, RawTable]:
        """The rows of the controls, then those of the cases, with their labels; not for unlabelled rows."""
        ...

    def standardize(self, cols: Index, mean: F64, sd: F64) -> Table:
        """The chosen columns as ``(x − mean) / sd``; from here on a column is its place in ``cols``."""
        ...


class Table(Protocol):
    """Standardized columns of a cohort, seen through sums.

    Sums arrive on the host as float64, with one exception: the squares of :meth:`leading_pair_sums` may stay
    on their device, since only their rows, columns and penalties are asked for.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the whole data set, not of a part."""
        ...

    @property
    def pairs_per_call(self) -> int:
        """How many pairs make one call of :meth:`pair_sums` worth its overhead here."""
        ...

    def gram(self) -> F64:
        """(c, k, k): Σ z zᵀ by class; c is 2, or 1 for a table without labels."""
        ...

    def column_sums(self) -> F64:
        """(k, 2): Σ log cosh z and Σ z·exp(−z²/2) of each column."""
        ...

    def with_correlations(self, r: F64) -> Table:
        """The same rows, told the (k, k) correlations of the whole data set, which a part cannot know.

        What follows needs them; :meth:`regress_out` keeps them current in closed form. Consumes this table.
        """
        ...

    def correlations(self, column: int) -> F64:
        """(k,): current correlation of every column with one."""
        ...

    def pair_sums(self, i: Index, j: Index) -> F64:
        """(m, 2, 2): the two sums of :meth:`column_sums` for the residuals of i given j, then of j given i.

        The residual of i given j has unit variance: ``(z_i − r z_j) / sqrt(1 − r²)``.
        """
        ...

    def leading_pair_sums(self, cols: Index, q: int) -> Any:
        """(2, 2, q, m): all pairs of ``cols`` (m,) with at least one member among the first q of them.

        ``[0, s, a, b]`` is sum s of the residual of cols[a] given cols[b], ``[1, s, a, b]`` of cols[b] given
        cols[a]; where a = b, of the column itself. The answer may stay on the device.
        """
        ...

    def block_penalties(self, sums: Any, own: F64, n_rows: int) -> tuple[F64, F64, Any]:
        """:func:`rootcausal.core.entropy.block_penalties` where the sums are; consumes them.

        ``given`` may stay on the device (see :meth:`to_host`).
        """
        ...

    def to_host(self, array: Any) -> F64:
        """A part of ``given``, as a NumPy array."""
        ...

    def regress_out(self, root: int, cols: Index) -> Table:
        """The table with each of ``cols`` replaced by its residual given ``root``.

        It consumes the table it is called on: rows may be overwritten, so that one copy of the data is
        enough, and only the returned table may be used afterwards.
        """
        ...

    def logit_sums(self, cols: Index, beta: F64) -> LogitSums:
        """Log-likelihood of the labels given ``cols`` (a root keeps its error); intercept last in beta."""
        ...
