"""What if: the same patients with one shock, or one level, set to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, NoReturn

import numpy as np

from ..errors import InputError
from ..inputs.kinds import Variable
from ..inputs.levels import TableInWords, columns_of_level, levels_listed, place_of
from ..method.model import CausalModel
from ..method.table import F64
from ..outcomes import OUTCOMES, words_of
from ..resampling.intervals import STANDARD_NORMAL, spread_of_what_if, with_doubt
from ..wording import quoted

# What a model answers about patients (n, q): the predictor (n,), and values (n, q).
Ask = Callable[[CausalModel, F64], tuple[F64, F64]]


@dataclass(frozen=True, eq=False)
class WhatIf:
    """Patients with one shock, or one level, set to another.

    Attributes
    ----------
    predictor : (n,) log-odds of the disease, log-hazard of the event, or the expected value.
    predicted : (n,) risk of the disease, risk of the event by the horizon, or the expected value.
    data : (n, p) predicted measurements: what lies downstream follows. Of a binary or ordinal variable
        downstream this is an expectation, between its levels; of a nominal one the number that stands for the
        likeliest level.
    predictor_interval, predicted_interval : (2, n) ends of 95 % intervals; None without a bootstrap. They
        hold the doubt about values measured with error, and not that about values that were not measured.
    data_interval : (2, n, p) likewise; NaN for nominal variables, whose levels have no order.
    """

    predictor: F64
    predicted: F64
    data: F64
    _outcome: str = field(repr=False)
    _cells: TableInWords = field(repr=False)
    predictor_interval: F64 | None = None
    predicted_interval: F64 | None = None
    data_interval: F64 | None = None

    @property
    def log_odds(self) -> F64:
        """(n,): ``predictor`` of a diagnosis."""
        refuse_others("log_odds", self._outcome)
        return self.predictor

    @property
    def log_odds_interval(self) -> F64 | None:
        """(2, n): ``predictor_interval`` of a diagnosis."""
        refuse_others("log_odds_interval", self._outcome)
        return self.predictor_interval

    @property
    def probability(self) -> F64:
        """(n,): ``predicted``, where that is a risk."""
        refuse_others("probability", self._outcome)
        return self.predicted

    @property
    def probability_interval(self) -> F64 | None:
        """(2, n): ``predicted_interval``, where that is of a risk."""
        refuse_others("probability_interval", self._outcome)
        return self.predicted_interval

    def levels(self) -> np.ndarray:
        """(n, p): the predicted levels in words, the nearest or likeliest ones; None for numbers."""
        return self._cells.levels()

    def text(self, row: int, c: int) -> str:
        """The prediction for one patient and variable for the screen: ``3.4``, ``male (51%)``."""
        return self._cells.text(row, c)


def question(variable: Variable, place: int, error: float | None, level: Any) -> Ask:
    """What to ask a model: a variable, at this place of the table, with its shock or its level set."""
    if level is None:
        return _shock_set(variable, place, error)
    if not variable.levels:
        raise InputError(
            f"{quoted(variable.name)} is a number and has no levels: ask with error=, in standard deviations"
        )
    if error is not None:
        raise InputError(f"set either the shock or the level of {quoted(variable.name)}, not both")
    wanted = columns_of_level(variable, place_of(variable, level))
    return lambda model, X: model.with_level(X, place, wanted)


def _shock_set(variable: Variable, place: int, error: float | None) -> Ask:
    if variable.levels:
        raise InputError(
            f"{quoted(variable.name)} has levels, and no shock to set: ask with level=, one of "
            f"{levels_listed(variable)}"
        )
    error = 0.0 if error is None else error
    if not (isinstance(error, Real) and np.isfinite(error)):
        raise InputError(f"error must be a finite number of standard deviations, not {error!r}")
    return lambda model, X: model.with_shock(X, place, error)


def refuse_covariate(name: str) -> NoReturn:
    """Say that a covariate cannot be set."""
    raise InputError(
        f"{quoted(name)} is adjusted for, and no variable of the causal order, so it has no shock or level "
        "to set: ask about a variable of the order, or fit again without it among the covariates"
    )


def refuse_others(name: str, outcome: str) -> None:
    """Say that an outcome has nothing of this name, where it is none of those that have it."""
    if name.removesuffix("_interval") not in OUTCOMES[outcome].offers:
        raise AttributeError(
            f"this outcome has no {name}: use predictor, what shocks add to, and predicted, what that "
            "means for a patient"
        )


def what_if(
    model: CausalModel,
    resamples: Sequence[CausalModel],
    cells: TableInWords,
    ask: Ask,
    scored: np.ndarray,
    doubt: F64 | None = None,
) -> WhatIf:
    """What a model, and its resamples, answer about the patients of a table; NaN for those not ``scored``.

    ``doubt`` (n,) is the standard deviation that measurement error leaves to the predictor.
    """
    predictor, then = ask(model, cells.columns)
    predictor[~scored] = np.nan
    predicted = model.attribution.predicted(predictor)
    after = TableInWords(cells.variables, model.layout, then)
    answer = WhatIf(predictor, predicted, after.numbers(), model.attribution.outcome, after)
    if not resamples:
        return answer
    spread = spread_of_what_if(resamples, cells.columns, ask)
    if doubt is not None:
        spread = spread._replace(
            predictor=np.stack(with_doubt(predictor, (spread.predictor[0], spread.predictor[1]), doubt)),
            predicted=prediction_with_doubt(model, predictor, spread.predicted, doubt),
        )
    for ends in spread:
        ends[:, ~scored] = np.nan
    return replace(
        answer,
        predictor_interval=spread.predictor,
        predicted_interval=spread.predicted,
        data_interval=_ends_by_variable(after, spread.data),
    )


def prediction_with_doubt(model: CausalModel, predictor: F64, ends: F64, doubt: F64) -> F64:
    """(2, n): ends of intervals of predictions that also hold a doubt (n,) about the predictor (n,)."""
    predicted, far = model.attribution.predicted, STANDARD_NORMAL * doubt
    middle = np.clip(predicted(predictor), *ends)
    low, high = (np.abs(predicted(predictor + way) - predicted(predictor)) for way in (-far, far))
    found = np.stack([middle - np.hypot(middle - ends[0], low), middle + np.hypot(ends[1] - middle, high)])
    return np.clip(found, 0.0, 1.0) if words_of(model.attribution).is_chance else found


def _ends_by_variable(after: TableInWords, ends: F64) -> F64:
    """(2, n, p) of (2, n, q), in the units of the variables; NaN for variables of several columns."""
    layout = after.layout
    if layout is not None and layout.grouped:
        columns = [layout.columns_of(v) for v in range(layout.n_variables)]
        nothing = np.full(ends.shape[:2], np.nan)
        ends = np.stack([ends[:, :, c[0]] if c.size == 1 else nothing for c in columns], axis=2)
    for v, variable in enumerate(after.variables):
        if variable.log:
            ends[:, :, v] = after.in_unit(v, ends[:, :, v])
    return ends
