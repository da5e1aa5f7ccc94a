"""What happened to the patients, as one small object: how to screen by it, which loss, which attribution.

There is one for each kind of outcome, in a module of :mod:`rootcausal.outcomes`. Order, errors and Shapley
values are the same for all of them, and ask it only what is asked here.
"""

from __future__ import annotations

from typing import ClassVar, Protocol, Self

import numpy as np

from .loops import Loops
from .model_parts import Attribution
from .moments import Columns
from .table import F64, ColumnMoments, Index, LossSums, Table
from .weighted import ClassWeights


class Screen(Protocol):
    """The test of local variants, kept current while roots are regressed out: it reads no rows."""

    def p_values(self, root: int, slope: F64, cols: Index, variance: F64) -> F64:
        """Take a root out of some columns, and test whether the outcome depends on what is left of them.

        Parameters
        ----------
        slope : (k,) what each column loses for a unit of the root's residual.
        cols : (m,) the columns; no others will be asked for again.
        variance : (m,) of what is left of them, in the population.
        """
        ...


class Loss(Protocol):
    """The log-likelihood of the outcome in the errors of some columns, as sums over rows.

    Attributes
    ----------
    start : (b,) its baseline where no error has an effect.
    n_rows : how many rows it sums over.
    loops : for what is computed between two sums.
    collapsible : whether effects stay what they are where the predictor is known with less certainty; those
        on log-odds become smaller (Greenland et al. 1999).
    """

    @property
    def collapsible(self) -> bool: ...

    @property
    def start(self) -> F64: ...

    @property
    def loops(self) -> Loops: ...

    @property
    def n_rows(self) -> int: ...

    def sums(self, beta: F64) -> LossSums:
        """At these coefficients of the errors, and, last, these parameters of the baseline."""
        ...

    def is_certain(self, loglik: float) -> bool:
        """Whether every patient's outcome is predicted with certainty, so that only a prior can judge."""
        ...

    def again(self, table: Table, cols: Index) -> Self:
        """The same in other errors, of the same rows: what it learned beside effects, a variance or a
        dispersion, stays, so that log-likelihoods can be compared.
        """
        ...


class Outcome(Protocol):
    """One kind of outcome, and what it is like in one cohort.

    Attributes
    ----------
    name : what parameters and files call it.
    variance : of the effect of one standard deviation of a direct cause, expected beforehand.
    certain : what it means, in words, that only a prior keeps coefficients finite.
    """

    name: ClassVar[str]
    variance: ClassVar[float]
    certain: ClassVar[str]

    @property
    def start(self) -> F64:
        """(b,) the baseline of its loss where no error has an effect."""
        ...

    @property
    def chosen(self) -> str:
        """What resamples of it have in common besides rows and settings; nothing for labels."""
        ...

    @classmethod
    def of(cls, known: np.ndarray) -> Self:
        """Of what is known of each patient's outcome, as :meth:`rows` takes it."""
        ...

    def again(self, known: np.ndarray) -> Self:
        """The same of other patients, with all that the user chose."""
        ...

    @staticmethod
    def is_enough(known: np.ndarray) -> bool:
        """Whether a model can be learned from these; a resample may have too few cases."""
        ...

    @staticmethod
    def lacks(known: np.ndarray) -> str:
        """What resamples of these patients lack where they are not enough, for an error."""
        ...

    def rows(self, known: np.ndarray) -> np.ndarray:
        """What tables keep of it (see :func:`rootcausal.method.table.classes_of`): labels (n,), or floats (n,
        c).
        """
        ...

    def p_values(self, moments: ColumnMoments) -> F64:
        """(p,) of the first test of the columns, by what was measured of them."""
        ...

    def screen(self, columns: Columns, kept: Index, gram: F64, loops: Loops) -> Screen:
        """The test of the rounds; ``gram`` (c, k, k) is that of the columns that were ``kept``.

        ``loops`` are those of the table that holds them.
        """
        ...

    def n_telling(self, n: float) -> float:
        """Of n patients of a cohort, how many that tell the most of effects would tell as much."""
        ...

    def scores(self, columns: Columns) -> F64 | None:
        """(2,) what labels are to imputation, standardized in the population; None where rows have scores."""
        ...

    def loss(self, table: Table, cols: Index) -> Loss:
        """Its likelihood in the errors that the table has at ``cols``."""
        ...

    def attribution(self, effects: F64, baseline: F64, weights: ClassWeights) -> Attribution:
        """What scores errors in the population, from what was fitted to the sample."""
        ...
