"""From a fitted cohort to any patient: a mechanism gives errors, an attribution gives Shapley values.

A mechanism says how values come from errors, in causal order; an attribution says what errors add to the
log-odds. Each half keeps its numbers to itself, so that neither the other half nor whoever asks a model knows
whether it is linear (see :mod:`rootcausal.core.linear`) or not. So that files can hold a new kind of half,
it is entered in :mod:`rootcausal.files.model_arrays`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from .table import F64, LARGEST, Index

# Rows scored at once: their errors stay in cache between the steps.
ROWS_A_BLOCK = 4096


class Half(Protocol):
    """What both halves can do with files.

    Attributes
    ----------
    kind : what the header of a file calls it.
    ARRAYS : names of the arrays of one half.
    PACKED : names of the arrays of many halves, put together.
    """

    kind: ClassVar[str]
    ARRAYS: ClassVar[tuple[str, ...]]
    PACKED: ClassVar[tuple[str, ...]]

    def check(self) -> None:
        """Raise ValueError where these cannot be the numbers of a half that was learned."""
        ...

    def arrays(self) -> dict[str, np.ndarray]:
        """Its numbers, by the names in ARRAYS: floats or whole numbers, of one axis or more."""
        ...

    @classmethod
    def pack(cls, halves: Sequence[Self]) -> dict[str, np.ndarray]:
        """The numbers of many, by the names in PACKED."""
        ...


class Mechanism(Half, Protocol):
    """How the values of n patients on p columns come from their errors, in causal order.

    A place is a position in the causal order of k columns; columns outside it have no error.
    """

    @property
    def n_columns(self) -> int:
        """p, columns of the cohort."""
        ...

    @property
    def order(self) -> Index:
        """(k,) columns in causal order."""
        ...

    @property
    def scale(self) -> F64:
        """(k,) what one standard unit of each column of the order is in the column's own unit."""
        ...

    def errors(self, X: F64, places: Index, times: F64 | None = None, out: F64 | None = None) -> F64:
        """(n, m): unit-variance errors of patients X (n, p), on the columns at these places.

        Parameters
        ----------
        places : (m,) which errors, in this order.
        times : (m,) what to multiply them by; by default 1.
        out : (n, m) where to write them.
        """
        ...

    def values(self, errors: F64) -> F64:
        """(n, k): values of the columns in causal order that come from errors (n, k)."""
        ...

    def what_if(self, X: F64, place: int, error: float) -> F64:
        """(n, p): what the values of patients X (n, p) become when the error at one place is set to this.

        What lies downstream follows; everything else stays exactly as it is.
        """
        ...

    def direct_effects(self) -> F64:
        """(k, k) in standard units, ``[i, j]``: what place j does to place i, those between held fixed."""
        ...

    def total_effects(self) -> F64:
        """(k, k), ``[i, j]``: by how many standard units place i moves for a unit of the error at j."""
        ...

    def reach(self) -> F64:
        """(k,): the largest values of each column, up or down, with which a patient can be scored."""
        ...

    def on_columns(self, columns: Index, n_columns: int) -> Self:
        """The same mechanism in a table of ``n_columns``, where its column c is ``columns[c]``."""
        ...

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], n_columns: int) -> Self:
        """The mechanism of these arrays; ValueError where they cannot be those of a learned one."""
        ...

    @classmethod
    def unpack(cls, arrays: Mapping[str, np.ndarray], sizes: Index, n_columns: int) -> list[Self]:
        """What was packed: mechanisms of so many places each; ValueError as in :meth:`from_arrays`.

        Linear algebra depends on the number of threads: call it with as many as these were learned with.
        """
        ...


class Attribution(Half, Protocol):
    """What unit-variance errors add to the log-odds of the disease; all in causal order."""

    @property
    def base_value(self) -> float:
        """Log-odds of a patient whose errors are all zero."""
        ...

    @property
    def proportional(self) -> bool:
        """Whether every Shapley value is the error times the unit effect."""
        ...

    @property
    def unit_effects(self) -> F64:
        """(k,) log-odds that an error of one adds where all others are zero."""
        ...

    def importance(self) -> F64:
        """(k,) the size of what an error of one adds."""
        ...

    def shapley(self, errors: F64) -> F64:
        """(n, k): what each of the errors (n, k) adds; with the base value, rows sum to the log-odds."""
        ...

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], k: int) -> Self:
        """The attribution of these arrays; ValueError where they cannot be those of a learned one."""
        ...

    @classmethod
    def unpack(cls, arrays: Mapping[str, np.ndarray], sizes: Index) -> list[Self]:
        """What was packed: attributions of so many errors each; ValueError as in :meth:`from_arrays`."""
        ...


@dataclass(frozen=True, eq=False)
class CausalModel:
    """Everything needed to score a patient."""

    mechanism: Mechanism
    attribution: Attribution

    @property
    def n_columns(self) -> int:
        """p, columns of the cohort."""
        return self.mechanism.n_columns

    @property
    def order(self) -> Index:
        """(k,) columns in causal order."""
        return self.mechanism.order

    @property
    def base_value(self) -> float:
        """Log-odds of a patient whose errors are all zero."""
        return self.attribution.base_value

    def errors(self, X: F64) -> F64:
        """(n, p): unit-variance errors; zero for columns outside the order."""
        return self._scaled_errors(X, None)

    def shapley(self, X: F64) -> F64:
        """(n, p): what each patient's shock on each variable adds to the log-odds."""
        if self.attribution.proportional:
            return self._scaled_errors(X, self.attribution.unit_effects)
        out = np.zeros((X.shape[0], self.n_columns))
        for rows in row_blocks(X):
            out[rows, self.order] = self.attribution.shapley(self._errors_in_order(X[rows]))
        return out

    def log_odds(self, X: F64) -> F64:
        """(n,): of the disease."""
        return self.base_value + self.shapley(X).sum(axis=1)

    def with_shock(self, X: F64, column: int, error: float) -> tuple[F64, F64]:
        """Log-odds (n,) and values (n, p) of patients whose shock on one column is set to ``error``.

        A shock also changes what lies downstream. Columns outside the order carry none.
        """
        place = np.flatnonzero(self.order == column)
        if not place.size:
            return self.log_odds(X), X.copy()
        errors = self._errors_in_order(X)
        errors[:, place] = error
        log_odds = self.base_value + self.attribution.shapley(errors).sum(axis=1)
        return log_odds, self.mechanism.what_if(X, int(place[0]), error)

    def reach(self) -> F64:
        """(p,): the largest values of each column, up or down, with which a patient can be scored."""
        within = np.full(self.n_columns, LARGEST)
        within[self.order] = self.mechanism.reach()
        return within

    def on_columns(self, columns: Index, n_columns: int) -> CausalModel:
        """The same model in a table of ``n_columns``, where its column c is ``columns[c]``."""
        return CausalModel(self.mechanism.on_columns(columns, n_columns), self.attribution)

    def check(self) -> None:
        """Raise ValueError where these cannot be the numbers of a learned model."""
        self.mechanism.check()
        self.attribution.check()

    def _scaled_errors(self, X: F64, times: F64 | None) -> F64:
        """(n, p): errors times ``times`` (k,), asked for in the order of the table: no column moves."""
        out = np.zeros((X.shape[0], self.n_columns))
        places = np.argsort(self.order)
        times = None if times is None else times[places]
        everything = places.size == self.n_columns
        for rows in row_blocks(X):
            if everything:
                self.mechanism.errors(X[rows], places, times, out[rows])
            elif places.size:
                out[rows, self.order[places]] = self.mechanism.errors(X[rows], places, times)
        return out

    def _errors_in_order(self, X: F64) -> F64:
        return self.mechanism.errors(X, np.arange(self.order.size))


def row_blocks(X: F64) -> list[slice]:
    """Blocks of rows that stay in cache."""
    return [slice(start, start + ROWS_A_BLOCK) for start in range(0, X.shape[0], ROWS_A_BLOCK)]


def taken(arrays: Mapping[str, np.ndarray], name: str, *shape: int, whole: bool = False) -> Any:
    """The array of a half, after a look at its shape, and at its type: floats or whole numbers."""
    array = arrays[name]
    if array.shape != shape or array.dtype.kind != ("i" if whole else "f"):
        raise ValueError(f"array {name} has the wrong shape or type")
    return array
