"""New patients whose numbers are unlike those of the cohort: what is kept of it, and what is said of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.model import CausalModel
from ..core.quantiles import CohortQuantiles
from ..core.table import F64, Index
from ..core.usual import FAR_SD, Factor, Unlike, Usual
from ..wording import listed, quoted
from .encoding import Encoding
from .log_scale import from_logarithms

COLUMNS_NAMED = 5


def usual_of(model: CausalModel, quantiles: CohortQuantiles | None, encoding: Encoding, n_rows: int) -> Usual:
    """What the cohort, of so many rows, had of the numbers that a model uses, in their own units."""
    columns = model.column_order
    places = encoding.layout.variable[columns]
    number = np.array([encoding.variables[place].kind == "number" for place in places], dtype=bool)
    if quantiles is None:
        middle, sd = model.mechanism.values_at_average()[number], model.mechanism.scale[number]
        ends = np.stack([middle - FAR_SD * sd, middle, middle + FAR_SD * sd])
        return Usual.of_ends(places[number], *_in_units(ends, places[number], encoding))
    adjusted = encoding.layout.covariate[columns]
    of_covariates = np.flatnonzero(adjusted)[: quantiles.adjusted.shape[1]]
    found = np.full((len(quantiles.values), columns.size), np.nan)
    found[:, of_covariates] = quantiles.adjusted
    at = {int(variable): place for place, variable in enumerate(model.order)}
    for column in np.flatnonzero(number & ~adjusted):
        found[:, column] = quantiles.values[:, at[int(places[column])]]
    kept = number & ~np.isnan(found[0])
    return Usual.of_quantiles(places[kept], _in_units(found[:, kept], places[kept], encoding), n_rows)


def _in_units(numbers: F64, places: Index, encoding: Encoding) -> F64:
    logs = np.isin(places, encoding.on_log_scale)
    numbers[:, logs] = from_logarithms(numbers[:, logs])
    return numbers


def in_words(found: Sequence[Unlike], names: Sequence[str], n_rows: int) -> str:
    """What is unlike the cohort, and what to do about it."""
    said = [_one(one, quoted(names[one.place]), n_rows) for one in found]
    return (
        f"unlike the cohort, so that what is predicted is extrapolation: {listed(said, COLUMNS_NAMED)}. "
        "Check the unit and the cells; a value that is no measurement is better missing"
    )


def _one(one: Unlike, name: str, n_rows: int) -> str:
    low, middle, high = one.usual
    factor = _likeliest(one.factors, name)
    if one.rows.size == 0:
        assert factor is not None
        return (
            f"{name} is {_times(factor)} that of the cohort (median {one.middle:.6g} against "
            f"{middle:.6g}{_units(factor)})"
        )
    who = f" in {one.rows.size:,} of {n_rows:,} rows" if n_rows > 1 else ""
    such = f"; {_times(factor)} the cohort's median{_units(factor)}" if factor is not None else ""
    about = "" if one.rows.size == 1 else "about "
    return f"{name} is {about}{one.middle:.6g}{who}, far beyond the cohort ({low:.6g} to {high:.6g}{such})"


def _likeliest(factors: Sequence[Factor], name: str) -> Factor | None:
    """The one whose units a column of this name may have; else the best."""
    folded = name.casefold()
    named = [one for one in factors if any(part in folded for part in one.of)]
    return next(iter([*named, *factors]), None)


def _times(factor: Factor) -> str:
    if factor.plus:
        return "on another scale than"
    if factor.times < 1:
        return f"about 1/{1 / factor.times:,.6g} of"
    return f"about {factor.times:,.6g} times"


def _units(factor: Factor) -> str:
    return f", as between {factor.units}" if factor.units else ""
