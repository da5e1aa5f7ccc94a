"""The linear mechanism, LiNGAM: errors are a triangular matrix times standardized columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.linalg.blas import dtrsm

from .model_parts import LINEAR, LOWER, UPPER, Array, ArrowCurve
from .moments import EXHAUSTED, reach
from .table import F64, Index

MOST_COLUMNS = 10_000_000
# Log-odds, or log-hazard, from which a change of the outcome is notable (see ``Attribution.notable``): odds
# or a hazard times 1.11, or a risk of 50 % up to 52 %. On less than that nobody would act.
NOTABLE_LOG_ODDS = 0.1
# Beyond these, the scores of a patient would not be finite numbers.
LEAST_SCALE, MOST_SCALE = 1e-290, 1e290
MOST_MEAN_IN_SD = 1e20
# The diagonal of a mixing matrix holds standard deviations of at most one. Below it are correlations times
# these or, of columns that come first and go together, regression coefficients.
MOST_DIAGONAL = 1.0 + 1e-6
MOST_MIXING = 1e6
LEAST_DIAGONAL = 0.5 * math.sqrt(EXHAUSTED)
MOST_UNMIXING = 1e30
# How often the rounding error of one product may be exceeded.
ROUNDING_MARGIN = 64


@dataclass(frozen=True, eq=False)
class LinearMechanism:
    """Standardized columns are ``errors @ mixing.T``, and errors ``columns @ unmixing``.

    Attributes
    ----------
    n_columns : q, columns of the cohort.
    order : (k,) columns in causal order.
    mean, sd : (k,) of these columns.
    mixing, unmixing : (k, k) between standardized columns and unit-variance errors, in causal order.
    """

    kind: ClassVar[str] = "linear"
    ARRAYS: ClassVar[Mapping[str, Array]] = {
        "order": Array(whole=True),
        "mean": Array(),
        "sd": Array(least=LEAST_SCALE, most=MOST_SCALE),
        "mixing": Array.within(MOST_MIXING, LOWER),
        "unmixing": Array(UPPER, least=-MOST_UNMIXING, most=MOST_UNMIXING, follows=True),
    }

    n_columns: int
    order: Index
    mean: F64
    sd: F64
    mixing: F64
    unmixing: F64

    @property
    def scale(self) -> F64:
        return self.sd

    def values_at_average(self) -> F64:
        return self.mean

    def errors(self, X: F64, places: Index, times: F64 | None = None, out: F64 | None = None) -> F64:
        # In the order of the table, columns need not be gathered where all of them count.
        by_column = np.argsort(self.order)
        everything = by_column.size == X.shape[1]
        columns = X if everything else X[:, self.order[by_column]]
        to_errors = self.unmixing[np.ix_(by_column, places)] / self.sd[by_column, None]
        if times is not None:
            to_errors *= times
        return np.matmul(columns - self.mean[by_column], to_errors, out=out)

    def values(self, errors: F64) -> F64:
        return errors @ self.mixing.T * self.sd + self.mean

    def slopes(self) -> F64:
        return self.unmixing / self.sd[:, None]

    def what_if(self, X: F64, place: int, error: float | F64) -> F64:
        values = X.copy()
        change = error - self.errors(X, np.array([place]))
        values[:, self.order] += change * (self.mixing[:, place] * self.sd)
        return values

    def direct_effects(self) -> F64:
        return direct_effects(self.unmixing)

    def total_effects(self) -> F64:
        return self.mixing

    def forms(self) -> list[str]:
        return [LINEAR] * self.order.size

    def arrow_curve(self, cause: int, effect: int, z: F64) -> ArrowCurve:
        spread = np.full(z.size, 1.0 / self.unmixing[effect, effect])
        return ArrowCurve(self.direct_effects()[effect, cause] * z, spread)

    def reach(self) -> F64:
        return reach(self.mean, self.sd)

    def on_columns(self, columns: Index, n_columns: int) -> LinearMechanism:
        return replace(self, order=columns[self.order], n_columns=n_columns)

    def check(self) -> None:
        check_order(self.order, self.n_columns)
        check_moments(self.mean, self.sd)
        own = np.diagonal(self.mixing)
        if not ((own >= LEAST_DIAGONAL) & (own <= MOST_DIAGONAL)).all():
            raise ValueError("the mixing matrix has entries out of range")
        _check_inverse(self.mixing, self.unmixing)

    @classmethod
    def of_fields(cls, fields: Mapping[str, Any], n_columns: int) -> LinearMechanism:
        """To the last bit the learned one if linear algebra has as many threads as it had then."""
        if "unmixing" not in fields:
            fields = {**fields, "unmixing": inverse(fields["mixing"])}
        return cls(n_columns, **fields)


def inverse(mixing: F64) -> F64:
    """(k, k) unmixing of a lower triangular mixing matrix."""
    k = len(mixing)
    if not k:
        return np.zeros((0, 0))
    # The rows of a C array are the columns of BLAS: it solves with a transposed upper triangle, and copies
    # nothing. LAPACK's solver starts threads even for a matrix of ten columns.
    return dtrsm(1.0, mixing.T, np.eye(k, order="F"), trans_a=1, overwrite_b=1).T


def direct_effects(unmixing: F64) -> F64:
    """(k, k) in causal order and standard units, ``[i, j]``: each variable regressed on all before it.

    Parameters
    ----------
    unmixing : (k, k), errors = standardized columns @ unmixing.
    """
    edges = -(unmixing / np.diagonal(unmixing)).T
    np.fill_diagonal(edges, 0.0)
    return edges


def check_order(order: Index, n_columns: int) -> None:
    """Raise ValueError where columns do not exist, or are twice in the order."""
    if not 1 <= n_columns <= MOST_COLUMNS:
        raise ValueError("its number of columns is out of range")
    if not ((order >= 0) & (order < n_columns)).all():
        raise ValueError("the causal order names columns that do not exist")
    if np.unique(order).size != order.size:
        raise ValueError("the causal order names a column twice")


def check_moments(mean: F64, sd: F64) -> None:
    """Raise ValueError where a patient would not get finite errors."""
    if not (np.abs(mean) <= MOST_MEAN_IN_SD * sd).all():
        raise ValueError("a mean is not a number, or far larger than its standard deviation allows")


def _check_inverse(mixing: F64, unmixing: F64) -> None:
    """Raise ValueError where ``unmixing.T`` is not the inverse of ``mixing``, up to the rounding of a solve.

    Such a solve leaves a residual that is small entry by entry beside |mixing| |inverse|, however badly
    conditioned it is. A few random vectors see in k² steps what a product of the matrices would in k³.
    """
    k = len(mixing)
    probe = np.random.default_rng(0).standard_normal((k, 3))
    residual = np.abs(mixing @ (unmixing.T @ probe) - probe)
    size = np.abs(mixing) @ (np.abs(unmixing.T) @ np.abs(probe))
    if not (residual <= ROUNDING_MARGIN * k * np.finfo(float).eps * size).all():
        raise ValueError("the unmixing matrix is not the inverse of the mixing matrix")
