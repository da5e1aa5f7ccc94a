"""Numbers of the cohort, kept with the model: their quantiles, and whether new patients are unlike them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from .layout import Layout, shares_of_levels
from .linear import LinearMechanism
from .model import CausalModel, row_blocks
from .table import F64, Index

# Quantiles of measurements and shocks in the cohort, kept with the model: where a new patient lies.

# Percent steps of the quantiles.
STEPS = 101
# Values sorted at once: whole columns, as many as these make up, or as this part of a larger table.
VALUES_A_BLOCK = 32_000_000
PART_OF_TABLE = 8
# Shocks that the cohort never had: this share of patients like it is said to have one, going by its tails
# beyond the outer twentieth on either side; and they lie beyond its extremes by this part of the span.
UNLIKE, OUTER, NEAR = 0.02, 0.05, 0.02


#: (m, r) values of these ranks, of columns or, given slopes (k, m), of their sums less the mean (k,) of each.
Ranked = Callable[[Index, F64, F64 | None, Index], F64]


@dataclass(frozen=True, eq=False)
class CohortQuantiles:
    """Quantiles from the least to the greatest, in steps of one percent.

    Attributes
    ----------
    values : (101, v) of the measurements, variables in causal order; of a variable of several dummies, of the
        numbers of its levels, 0 being the one without a dummy.
    errors : (101, v) of the shocks, in standard deviations.
    adjusted : (101, a) of the measurements of the columns of covariates that are in the order, which come
        first in it; files of older models have none.
    """

    values: F64
    errors: F64
    adjusted: F64 = field(default_factory=lambda: np.empty((STEPS, 0)))

    @classmethod
    def of(cls, X: F64, model: CausalModel, ranked: Ranked | None = None) -> CohortQuantiles:
        """Quantiles of all rows of X: a sample of them could miss what comes in turns, or the extremes.

        Shocks on few columns cost nearly as much as those on many, since each needs the columns of all its
        causes: so as many columns are sorted at once as memory allows. ``ranked`` sorts where the rows are,
        if that is not here; shocks that are no sums of columns it is not asked for.
        """
        n, order = len(X), model.column_order
        k = order.size
        found = cls(np.empty((STEPS, k)), np.empty((STEPS, k)))
        if ranked is not None and isinstance(model.mechanism, LinearMechanism):
            low, high, share = _steps(n)
            for to, slopes in ((found.values, None), (found.errors, model.mechanism.slopes())):
                both = ranked(order, model.mechanism.mean, slopes, np.concatenate([low, high]))
                to[:] = _between(both[:, :STEPS], both[:, STEPS:], share)
            return found._by_variables(X, model)
        width = max(1, max(VALUES_A_BLOCK, X.size // PART_OF_TABLE) // (2 * n))
        for start in range(0, k, width):
            some = np.arange(start, min(start + width, k))
            both = np.empty((2, some.size, n))
            for rows in row_blocks(X):
                both[0, :, rows] = X[rows, order[some]].T
                both[1, :, rows] = model.mechanism.errors(X[rows], some).T
            found.values[:, some], found.errors[:, some] = map(_quantiles_of_rows, both)
        return found._by_variables(X, model)

    def _by_variables(self, X: F64, model: CausalModel) -> CohortQuantiles:
        """Those of columns as those of variables."""
        if model.layout is None or not (model.layout.grouped or model.covariates.size):
            return self
        adjusted = self.values[:, model.layout.covariate[model.column_order]]
        values, errors = (
            _by_variable(X, model, model.layout, what, getattr(self, what)) for what in ("values", "errors")
        )
        return CohortQuantiles(values, errors, adjusted)

    def beyond(self, errors: F64, n_rows: int) -> F64:
        """(n, v): by how much shocks (n, v) lie beyond all ``n_rows`` of the cohort's own, in parts of their
        span; zero for shocks that the cohort may have had.

        Of patients like these the share :data:`UNLIKE` is beyond somewhere, if tails are exponential from the
        outer twentieth on; and nobody is who is nearer to the extremes than :data:`NEAR` of the span.
        """
        low, high = self.errors[0], self.errors[-1]
        span = np.maximum(high - low, 1e-300)
        outer = round(OUTER * (STEPS - 1))
        wanted = np.log(OUTER * 2.0 * max(1, errors.shape[1]) / UNLIKE)
        steps = max(1.0, wanted / np.log(max(OUTER * n_rows, 2.0)))
        found = np.zeros_like(errors)
        for sign, end, inner in ((1.0, high, self.errors[-1 - outer]), (-1.0, -low, -self.errors[outer])):
            limit = np.maximum(end + NEAR * span, inner + steps * (end - inner))
            found = np.maximum(found, (sign * errors - limit) / span)
        return found

    def are_of(self, X: F64, model: CausalModel) -> bool:
        """Whether X can be the rows that these were taken from: all quantiles are the same."""
        others = CohortQuantiles.of(X, model)
        return others.values.shape == self.values.shape and bool(
            np.allclose(others.values, self.values, rtol=1e-9, atol=0.0, equal_nan=True)
        )


def _by_variable(X: F64, model: CausalModel, layout: Layout, what: str, of_columns: F64) -> F64:
    """(101, v): quantiles of columns (101, k) as they are, and those of variables of several columns anew.

    Covariates are left out, as they are from the order.
    """
    found = model.at_first_column(of_columns.T).T.copy()
    for place, variable in enumerate(model.order):
        columns = layout.columns_of(variable)
        if columns.size > 1 and what == "values":
            levels = shares_of_levels(X[:, columns]).argmax(axis=1)
            found[:, [place]] = quantiles_of(levels[:, None].astype(np.float64))
        elif columns.size > 1:
            found[:, [place]] = quantiles_of(model.errors_of(X, place)[:, None])
    return found


def quantiles_of(columns: F64) -> F64:
    """(101, m): quantiles of columns (n, m)."""
    return _quantiles_of_rows(np.array(columns.T, order="C"))


def _quantiles_of_rows(values: F64) -> F64:
    """(101, m): quantiles of m variables, which are sorted in place (m, n)."""
    # A sort and a look-up: many times faster than np.quantile, which selects for each quantile.
    values.sort(axis=1)
    low, high, share = _steps(values.shape[1])
    return _between(values.take(low, axis=1), values.take(high, axis=1), share)


def _between(below: F64, above: F64, share: F64) -> F64:
    """(101, m): values (m, 101) so far from those below to those above."""
    # Between two equal values lies that value, to the last bit: patients are compared with it.
    return np.where(below == above, below, below * (1.0 - share) + above * share).T


@lru_cache(maxsize=16)
def _steps(n_rows: int) -> tuple[Index, Index, F64]:
    """(101,) each: ranks below and above each quantile, and how far it lies between them."""
    place = np.linspace(0, n_rows - 1, STEPS)
    low = np.floor(place).astype(np.intp)
    return low, np.minimum(low + 1, n_rows - 1), place - low


# What numbers a cohort had, and whether those of new patients are unlike them, as in another unit.

# Standard deviations beyond which there was next to nobody, where no quantiles were kept: by Chebyshev's
# inequality no more than 1 in 64 of the cohort, whatever their law.
FAR_SD = 8.0
# Below the least of a column of positive numbers, far is at least this share of it.
FAR_BELOW = 0.25
# Far is beyond the range by one width of it, and by more where few patients told the range.
FEW_ROWS = 50.0
# Share of the patients who lie far beyond the cohort from which on a column is unlike it, and the share from
# which on one patient is enough: among many, somebody is extreme.
SHARE_FAR, SHARE_OF_ONE = 0.02, 0.2
# Patients from whom on their distribution is compared with that of the cohort, and how many are looked at.
FEWEST_COMPARED, MOST_COMPARED = 8, 2_000
# Tenth, half and nine tenths of the new patients, as shares of the cohort below them. All of a column moved:
# half of the patients are in the last twentieth, and nine in ten in the upper half (or all of it, below).
MOVED = (0.5, 0.95)
# Divided by the right factor they are where those of the cohort are, and as far apart.
FITS = ((0.0, 0.4), (0.2, 0.8), (0.6, 1.0))
# Steps, as shares of the cohort, in which it counts how near to its median a factor leads; many tell finer.
AS_WELL, AS_WELL_OF_MANY, MANY = 0.1, 0.02, 50


@dataclass(frozen=True)
class Factor:
    """How one unit is made of another, ``times`` it ``plus`` a number, and which units these may be.

    ``of`` are parts of the names of columns that have such units.
    """

    times: float
    plus: float = 0.0
    units: str = ""
    of: tuple[str, ...] = ()


# Known pairs of units in clinical tables, each with the number of the second that one of the first is.
UNITS = (
    Factor(17.1, 0.0, "mg/dl and µmol/l of bilirubin", ("bili",)),
    Factor(18.02, 0.0, "mmol/l and mg/dl of glucose", ("gluc", "sugar", "glyc")),
    Factor(88.4, 0.0, "mg/dl and µmol/l of creatinine", ("crea",)),
    Factor(38.67, 0.0, "mmol/l and mg/dl of cholesterol", ("chol", "ldl", "hdl")),
    Factor(59.48, 0.0, "mg/dl and µmol/l of uric acid", ("uric", "urate")),
    Factor(2.801, 0.0, "mmol/l and mg/dl of urea nitrogen", ("urea", "bun")),
    Factor(4.008, 0.0, "mmol/l and mg/dl of calcium", ("calc",)),
    Factor(2.2046, 0.0, "kilograms and pounds", ("weight", "kg", "lb")),
    Factor(2.54, 0.0, "inches and centimetres", ("height", "cm", "waist")),
    Factor(7.5006, 0.0, "kPa and mmHg", ("pressure", "po2", "co2")),
    Factor(12.0, 0.0, "years and months", ("age", "time", "duration")),
    Factor(365.25, 0.0, "years and days", ("age", "time", "duration")),
    Factor(1.8, 32.0, "°C and °F", ("temp", "fever")),
    Factor(10.93, -23.5, "% and mmol/mol of HbA1c", ("a1c",)),
)
TENS = tuple(Factor(10.0**power) for power in range(1, 10))
FACTORS = tuple(
    found
    for one in (*TENS, *UNITS)
    for found in (one, Factor(1.0 / one.times, -one.plus / one.times, one.units, one.of))
)


@dataclass(frozen=True)
class Unlike:
    """A variable of new patients that is unlike that of the cohort.

    Attributes
    ----------
    place : of the variable.
    rows : those who lie far beyond the cohort; none where each may be of it, but not all of them together.
    middle : the median of these patients, or of those who lie far beyond.
    usual : least, median and greatest number of the cohort.
    factors : each would make such numbers of the cohort's, the best first; none where nothing that is known
        does.
    """

    place: int
    rows: Index
    middle: float
    usual: tuple[float, float, float]
    factors: tuple[Factor, ...]


@dataclass(frozen=True, eq=False)
class Usual:
    """What the cohort had, of m numbers of it.

    Attributes
    ----------
    places : (m,) of the variables.
    low, middle, high : (m,) least, median and greatest number.
    far_below, far_above : (m,) beyond these, numbers are far from all of the cohort.
    near_zero : (m,) so are positive numbers below these, where the cohort has only positive ones; else 0.
    quantiles : (101, m), or None where they were not kept.
    """

    places: Index
    low: F64
    middle: F64
    high: F64
    far_below: F64
    far_above: F64
    near_zero: F64
    quantiles: F64 | None

    @classmethod
    def of_quantiles(cls, places: Index, quantiles: F64, n_rows: int) -> Usual:
        """Of a cohort of so many rows.

        Far is beyond the range by as much as it is wide; of skewed numbers, by half of it as factors.
        """
        low, middle, high = quantiles[[0, 50, 100]]
        widths = 1.0 + FEW_ROWS / n_rows
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            above = np.where(middle > 0, high * (high / middle) ** (0.5 * widths), high)
            share = np.minimum(np.sqrt(low / middle), np.maximum(low / high, FAR_BELOW)) ** widths
            near_zero = np.where(low > 0, low * share, 0.0)
        below, above = low - widths * (high - low), np.maximum(high + widths * (high - low), above)
        return cls(places, low, middle, high, below, above, near_zero, quantiles)

    @classmethod
    def of_ends(cls, places: Index, low: F64, middle: F64, high: F64) -> Usual:
        """Where no quantiles were kept, as of rows on a cluster: ends beyond which there was nobody."""
        return cls(places, low, middle, high, low, high, np.zeros(low.size), None)

    def beyond(self, table: F64) -> np.ndarray:
        """(n, m): which numbers of new patients, table (n, p), lie beyond the range of the cohort."""
        values = table[:, self.places]
        return (values < self.low) | (values > self.high)

    def unlike(self, table: F64) -> list[Unlike]:
        """The numbers of patients, table (n, p) with NaN where missing, that are unlike those of the cohort.

        Either some of them lie far beyond it, or all are moved and a known factor would bring them back.
        """
        found: list[Unlike] = []
        some = table[:: max(1, -(-len(table) // MOST_COMPARED))]
        for m, place in enumerate(self.places.tolist() if len(table) else ()):
            one = self._moved(m, some[:, place])
            if one is None and not self._all_near(m, table[:, place]):
                one = self._far(m, table[:, place])
            found += [] if one is None else [one]
        return found

    def _all_near(self, m: int, values: F64) -> bool:
        # Two passes over one column, which tell in nearly all cases; those that know of NaN take longer.
        low, high = values.min(), values.max()
        if np.isnan(low):
            low, high = np.fmin.reduce(values), np.fmax.reduce(values)
        return not (low < max(self.far_below[m], self.near_zero[m]) or high > self.far_above[m])

    def _far(self, m: int, values: F64) -> Unlike | None:
        """Some lie far beyond the cohort; None where these are too few to say so."""
        far = (values < self.far_below[m]) | (values > self.far_above[m])
        rows = np.flatnonzero(far | ((values > 0) & (values < self.near_zero[m])))
        enough = np.isfinite(values).sum() * (SHARE_FAR if rows.size > 1 else SHARE_OF_ONE)
        return self._of(m, rows, values[rows]) if rows.size and rows.size >= enough else None

    def _moved(self, m: int, values: F64) -> Unlike | None:
        """All are moved, and a known factor would bring them back; None where it is not so."""
        if self.quantiles is None or len(values) < FEWEST_COMPARED:
            return None
        values = values[np.isfinite(values)]
        if values.size < FEWEST_COMPARED:
            return None
        tenth, half, most = self._shares(m, np.quantile(values, (0.1, 0.5, 0.9)))
        up = tenth >= MOVED[0] and half >= MOVED[1]
        if not (up or (most <= 1 - MOVED[0] and half <= 1 - MOVED[1])):
            return None
        found = self._of(m, np.empty(0, dtype=np.intp), values)
        return found if found.factors else None

    def _shares(self, m: int, values: F64) -> F64:
        """Of the cohort below each value; of ties, half count."""
        assert self.quantiles is not None
        steps = self.quantiles[:, m]
        below, upto = np.searchsorted(steps, values, "left"), np.searchsorted(steps, values, "right")
        return (below + upto) / (2.0 * steps.size)

    def _of(self, m: int, rows: Index, values: F64) -> Unlike:
        values = values[np.isfinite(values)]
        usual = (float(self.low[m]), float(self.middle[m]), float(self.high[m]))
        middle = float(np.median(values))
        return Unlike(int(self.places[m]), rows, middle, usual, self._factors(m, values))

    def _factors(self, m: int, values: F64) -> tuple[Factor, ...]:
        """The factors that bring these numbers back to the cohort, the one that does so best first."""
        found = []
        for one in FACTORS if self.quantiles is not None else ():
            back = (values - one.plus) / one.times
            if self._fits(m, back):
                off = abs(float(self._shares(m, np.array([np.median(back)]))[0]) - 0.5)
                found.append((off // (AS_WELL if values.size < MANY else AS_WELL_OF_MANY), one))
        # Of those that do as well, the rounder one: powers of ten come first.
        return tuple(one for _, one in sorted(found, key=lambda pair: pair[0]))

    def _fits(self, m: int, values: F64) -> bool:
        if values.size < FEWEST_COMPARED:
            return bool((values >= self.low[m]).all() and (values <= self.high[m]).all())
        shares = self._shares(m, np.quantile(values, (0.1, 0.5, 0.9)))
        return all(low <= share <= high for share, (low, high) in zip(shares, FITS, strict=True))
