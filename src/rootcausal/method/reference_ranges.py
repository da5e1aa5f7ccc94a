"""What numbers a cohort had, and whether those of new patients are unlike them, as in another unit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .table import F64, Index

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
