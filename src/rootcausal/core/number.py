"""A number, such as a score of severity: errors add to its expected value, in its own unit.

Columns are screened by their correlation with it. The loss is least squares, of the number as standard
deviations from its mean, so a single look at the rows is enough: the rest is arithmetic on its sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .loops import Loops
from .moments import Columns, ScoreMoments, correlation_p_values
from .population import ClassWeights
from .proportional import Proportional
from .schema import MODEL, Array
from .table import F64, LARGEST, ColumnMoments, Index, LossSums, Table

# Of the number's variance; where the errors leave less, they tell it for certain.
LEAST_VARIANCE = 1e-10
# With fewer it may well be a label.
FEWEST_VALUES = 3
# Of the number's standard deviation, from which a change of it is notable (see ``Attribution.notable``).
NOTABLE_SHARE = 0.1


@dataclass(frozen=True)
class Number:
    """Numbers (n,) of this mean and standard deviation in the cohort."""

    name: ClassVar[str] = "number"
    variance: ClassVar[float] = 0.25  # of effects in standard deviations of the number, squared
    certain: ClassVar[str] = (
        "the errors tell every patient's number to the last digit, so nothing is left to tell effects from "
        "chance by"
    )

    mean: float
    sd: float

    @property
    def start(self) -> F64:
        return np.zeros(1)

    @property
    def chosen(self) -> str:
        return ", number"

    @classmethod
    def of(cls, known: np.ndarray) -> Number:
        # About a rough mean, so that a number such as 1.7e9 ± 1 keeps its variance.
        rough = float(known[0])
        return cls(rough + float((known - rough).mean()), float((known - rough).std(ddof=1)))

    def again(self, known: np.ndarray) -> Number:
        return Number.of(known)

    @staticmethod
    def is_enough(known: np.ndarray) -> bool:
        return bool(known.size) and bool(known.min() < known.max())

    @staticmethod
    def lacks(known: np.ndarray) -> str:
        return f"held one number only: the cohort has too few different ones ({np.unique(known).size})"

    def rows(self, known: np.ndarray) -> np.ndarray:
        return ((known - self.mean) / self.sd)[:, None]

    def p_values(self, moments: ColumnMoments) -> F64:
        return correlation_p_values(moments)

    def screen(self, columns: Columns, kept: Index, gram: F64, loops: Loops) -> ScoreMoments:
        return ScoreMoments.of(columns, kept)

    def scores(self, columns: Columns) -> None:
        return None

    def loss(self, table: Table, cols: Index) -> SquareLoss:
        return SquareLoss.of(table, cols, self.start)

    def attribution(self, effects: F64, baseline: F64, weights: ClassWeights) -> ValueAttribution:
        return ValueAttribution(effects * self.sd, self.mean + float(baseline[0]) * self.sd, self.sd)


@dataclass(frozen=True, eq=False)
class SquareLoss:
    """The normal log-likelihood of a number, standardized, in the errors of some columns.

    Attributes
    ----------
    at_zero : its sums where no error has an effect, and the variance is one.
    variance : what all errors together leave of that of the number, corrected for their number.
    certain : whether they leave nothing of it.
    n_rows : how many rows it sums over.
    loops : those of whoever holds these.
    """

    at_zero: LossSums
    variance: float
    certain: bool
    n_rows: int
    start: F64
    loops: Loops

    @classmethod
    def of(cls, table: Table, cols: Index, start: F64) -> SquareLoss:
        n, k = table.shape[0], cols.size
        at_zero = table.square_sums(cols, np.zeros(k + 1))
        best = np.linalg.lstsq(at_zero.hessian, at_zero.gradient, rcond=None)[0]
        left = -2.0 * at_zero.loglik - float(at_zero.gradient @ best)
        # As if there was one patient more, of whom the errors tell nothing: where these are nearly as many as
        # the patients, they leave next to nothing, and that by chance.
        variance = min((max(left, 0.0) + 1.0) / (max(n - k - 1, 0) + 1.0), 1.0)
        return cls(at_zero, variance, left <= LEAST_VARIANCE * n, n, start, table.loops)

    def sums(self, beta: F64) -> LossSums:
        # A sum of squares is a parabola: what it is at zero tells what it is everywhere.
        fall = self.at_zero.hessian @ beta
        loglik = self.at_zero.loglik + float(beta @ (self.at_zero.gradient - 0.5 * fall))
        return (1.0 / self.variance) * LossSums(loglik, self.at_zero.gradient - fall, self.at_zero.hessian)

    def is_certain(self, loglik: float) -> bool:
        return self.certain


@dataclass(frozen=True, eq=False)
class ValueAttribution(Proportional):
    """The expected value as a linear function of the errors, in the number's own unit.

    Attributes
    ----------
    coef : (k,) what each unit of error adds, in causal order.
    intercept : what is expected of a patient whose errors are all zero.
    spread : standard deviation of the number in the cohort: by it effects are called large or small.
    """

    kind: ClassVar[str] = "value"
    outcome: ClassVar[str] = "number"
    ARRAYS: ClassVar[Mapping[str, Array]] = {
        "coef": Array.within(LARGEST),
        "intercept": Array.within(LARGEST, MODEL),
        "spread": Array(MODEL, least=np.finfo(float).tiny, most=LARGEST),
    }

    coef: F64
    intercept: float
    spread: float

    @property
    def base_value(self) -> float:
        return self.intercept

    def predicted(self, predictor: F64) -> F64:
        """The expected value is its own prediction."""
        return predictor

    @property
    def notable(self) -> float:
        return NOTABLE_SHARE * self.spread
