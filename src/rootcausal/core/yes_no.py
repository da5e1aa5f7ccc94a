"""A diagnosis, yes or no: Welch's t-test screens, and log-odds are what errors add to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .linear import LinearAttribution
from .loops import Loops
from .moments import ROWS_PER_CLASS, ClassMoments, Columns, welch_p_values
from .population import ClassWeights
from .regression import Coefficients, regress
from .table import F64, ColumnMoments, Index, LossSums, Table

# Mean log-likelihood this close to zero: every patient is predicted with certainty.
PERFECT = 1e-6


@dataclass(frozen=True)
class YesNo:
    """Labels 0 and 1, of which the share ``case_rate``, strictly between 0 and 1, is 1."""

    name: ClassVar[str] = "yes_no"
    variance: ClassVar[float] = 1.0  # log-odds, squared
    certain: ClassVar[str] = (
        "the errors separate the classes perfectly, or decide for some patients, so maximum likelihood has "
        "no finite answer"
    )

    case_rate: float

    @property
    def start(self) -> F64:
        return np.array([np.log(self.case_rate / (1.0 - self.case_rate))])

    @property
    def chosen(self) -> str:
        return ""

    @classmethod
    def of(cls, known: np.ndarray) -> YesNo:
        return cls(float(known.mean()))

    @classmethod
    def of_moments(cls, moments: ColumnMoments) -> YesNo:
        """The same where only sums are at hand."""
        return cls(float(moments.count[1] / moments.count.sum()))

    def again(self, known: np.ndarray) -> YesNo:
        return YesNo.of(known)

    @staticmethod
    def is_enough(known: np.ndarray) -> bool:
        return int(np.bincount(known, minlength=2).min()) >= ROWS_PER_CLASS

    @staticmethod
    def lacks(known: np.ndarray) -> str:
        return (
            f"had fewer than {ROWS_PER_CLASS} rows of a class: the cohort has too few patients of one kind "
            f"({int(np.bincount(known, minlength=2).min())})"
        )

    def rows(self, known: np.ndarray) -> np.ndarray:
        return known

    def p_values(self, moments: ColumnMoments) -> F64:
        return welch_p_values(moments)

    def screen(self, columns: Columns, kept: Index, gram: F64, loops: Loops) -> ClassMoments:
        case_total = columns.weights.cases * columns.moments.total[1, kept] / columns.sd[kept]
        return ClassMoments(columns.moments.count, columns.weights, case_total, gram[1], loops.class_test)

    def scores(self, columns: Columns) -> F64:
        """D with mean zero and unit variance in the population."""
        n = float(columns.moments.count.sum())
        share = columns.weights.cases * float(columns.moments.count[1]) / n
        return (np.array([0.0, 1.0]) - share) / np.sqrt(share * (1.0 - share))

    def loss(self, table: Table, cols: Index) -> LogitLoss:
        return LogitLoss(table, cols, self.start)

    def attribution(self, effects: F64, baseline: F64, weights: ClassWeights) -> LinearAttribution:
        """With the intercept of the population (Prentice & Pyke 1979)."""
        return LinearAttribution(effects, float(baseline[0]) + weights.log_odds)


@dataclass(frozen=True, eq=False)
class LogitLoss:
    """The logistic log-likelihood of the labels of a table, in the errors at ``cols``."""

    table: Table
    cols: Index
    start: F64

    @property
    def n_rows(self) -> int:
        return self.table.shape[0]

    @property
    def loops(self) -> Loops:
        return self.table.loops

    def sums(self, beta: F64) -> LossSums:
        return self.table.logit_sums(self.cols, beta)

    def is_certain(self, loglik: float) -> bool:
        return loglik > -PERFECT * self.n_rows


def fit_logit(table: Table, cols: Index, case_rate: float) -> Coefficients:
    """Logistic regression of the labels on some columns of a table."""
    return regress(YesNo(case_rate).loss(table, cols), len(cols))
