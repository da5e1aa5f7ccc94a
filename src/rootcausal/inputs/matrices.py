"""Numbers to score, made of whatever holds new patients; what is wrong with them is said at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, UnlikeCohortWarning, warn
from ..files.cells import is_unclear, refuse_unclear
from ..method.confounded_sets import Merged
from ..method.layout import Layout
from ..method.missing.completion import Completion
from ..method.model import CausalModel
from ..method.reference_ranges import FAR_SD, CohortQuantiles, Factor, Unlike, Usual
from ..method.table import F64, Index
from ..wording import listed, quoted
from .cells import Found, Texts
from .encoding import Encoding, from_logarithms
from .from_frame import as_frame, column_names, names_of, of_array, of_frame, variables
from .measurement import read_at_limits
from .roles import AS_FITTED, spelt_otherwise
from .rules import (
    NAMED_AT_MOST,
    Findings,
    NotPositive,
    are,
    it_or_them,
    note_not_finite,
    refuse_not_positive_patients,
    refuse_text,
)

# Completions by which it is told what filling in leaves open, where equations are nonlinear: a standard
# deviation of so many makes intervals that hold 93 %, and each has to be scored.
COMPLETIONS = 16


@dataclass(frozen=True)
class Matrix:
    """Numbers (n, q), with the dataframe library they came in, if any.

    Attributes
    ----------
    values : NaN only where a column is not needed.
    borrowed : the numbers may be the user's own, who can change them.
    measured : the same before values that are needed were filled in; None where none of them was missing.
    completion : what filled them in.
    nothing : (n,) patients who are not scored, by :func:`_nothing_told`; None where there are none.
    told : the same with what rows of a matched set share, which ``values`` are without, or as measured, where
        these are what is expected of true values; None where they are no different.
    """

    values: F64
    library: nw.Implementation | None
    borrowed: bool = False
    measured: F64 | None = None
    completion: Completion | None = None
    nothing: np.ndarray | None = None
    told: F64 | None = None

    def scored(self, numbers: F64) -> F64:
        """Numbers (n, ...) made of the values, NaN for patients who are not scored."""
        if self.nothing is not None:
            numbers[self.nothing] = np.nan
        return numbers

    def doubt(self, model: CausalModel | Merged) -> F64 | None:
        """(n, p): standard deviation that filling in leaves to Shapley values; None where nothing was."""
        if self.measured is None or self.completion is None:
            return None
        causal = model.model if isinstance(model, Merged) else model
        if causal.attribution.proportional:
            return self.completion.spread(self.measured, model.shapley_slopes())
        return self._moved_by_draws(causal, model.shapley)

    def doubt_of_adjustment(self, model: CausalModel) -> F64 | None:
        """(n,): the same for what covariates add together."""
        if self.measured is None or self.completion is None:
            return None
        if not model.attribution.proportional:
            return self._moved_by_draws(model, model.adjustment)
        slopes, doubt = model.adjustment_slopes(), np.zeros(len(self.measured))
        # Covariates come first, so nothing else that is missing leaves a doubt about them.
        gone = self.completion.lacking(self.measured)[:, slopes != 0].any(axis=1)
        doubt[gone] = self.completion.spread(self.measured[gone], slopes[:, None])[:, 0]
        return doubt

    def _moved_by_draws(self, model: CausalModel, told: Callable[[F64], F64]) -> F64:
        """(n, ...): by how much what is ``told`` of patients differs where values that lack are drawn, as a
        standard deviation about what is told of expected values. Curves go their own way between the two.
        """
        assert self.measured is not None and self.completion is not None
        gone = self.completion.lacking(self.measured)[:, model.column_order].any(axis=1)
        stated, measured = told(self.values[gone]), self.measured[gone]
        squares = np.zeros_like(stated)
        for seed in range(COMPLETIONS):
            squares += (told(self.completion.draw(measured, seed, model.layout)) - stated) ** 2
        moved = np.zeros((len(self.measured), *stated.shape[1:]))
        moved[gone] = np.sqrt(squares / COMPLETIONS)
        return moved

    def doubt_of_predictor(self, model: CausalModel) -> F64 | None:
        """(n, p + 1): standard deviation that measurement error leaves to the predictor without the shock of
        each variable and, last, with all of them; None where nothing is measured with error.
        """
        if self.measured is None or self.completion is None or self.completion.noise is None:
            return None
        slopes = model.shapley_slopes()
        whole = slopes.sum(axis=1) + model.adjustment_slopes()
        return self.completion.spread(self.measured, np.column_stack([whole[:, None] - slopes, whole]))

    def filled_in(self, model: CausalModel) -> np.ndarray:
        """(n, p): where a value was not measured, and an expected one stands in."""
        if self.measured is None:
            return np.zeros((len(self.values), model.n_variables), dtype=bool)
        filled = np.isnan(self.measured) & ~np.isnan(self.values)
        return self._by_variable(filled, model) | (self.censored(model) != 0)

    def censored(self, model: CausalModel) -> NDArray[np.int8]:
        """(n, p): -1 where a value is only known to lie below a limit of detection, 1 where above one."""
        if self.measured is None or self.completion is None or self.completion.limits is None:
            return np.zeros((len(self.values), model.n_variables), dtype=np.int8)
        return self._by_variable(self.completion.censored(self.measured), model)

    def _by_variable(self, of_columns: Any, model: CausalModel) -> Any:
        """(n, p) of (n, q): the dummies of a variable are missing together."""
        if model.layout is None:
            return of_columns
        return of_columns[:, np.searchsorted(model.layout.variable, np.arange(model.n_variables))]

    def drawn(self, layout: Layout) -> F64:
        """(n, q): the values, and at random where they were filled in: they then vary as patients do."""
        if self.measured is None or self.completion is None:
            return self.values
        return self.completion.draw(self.measured, 0, layout)


def matrix_for_scoring(
    estimator: Any,
    X: Any,
    needed: Index,
    reach: F64,
    encoding: Encoding | None = None,
    completion: Completion | None = None,
    usual: Usual | None = None,
    goes_by: Index | None = None,
    in_part: bool = False,
) -> Matrix:
    """Validated new data: columns of a dataframe are matched by name, those of an array by place.

    A level that the cohort did not have is missing, and a number among levels in order counts as the nearest,
    both with a warning.

    Parameters
    ----------
    needed : variables that must be there, whole, or that are filled in; what a dataframe lacks of others is
        NaN.
    reach : (q,) the largest values that the model can score.
    encoding : what the columns stand for; by default numbers.
    completion : fills in what is missing; None where nothing may be.
    usual : what numbers the cohort had; new ones that are unlike them are said.
    goes_by : variables that the model itself uses, whatever else is ``needed``; who is not scored is decided
        by them. None where nobody is to be scored.
    in_part : these are some rows of a table; what all of it lacks was said.
    """
    findings = Findings()
    may_fill = completion is not None
    found, present, library = _columns_of(estimator, X, encoding is not None, needed, may_fill, findings)
    encoding = Encoding.numbers(names_of(estimator)) if encoding is None else encoding
    # Who matches columns by name may leave out what nobody needs; of others, a column must be whole.
    by_name = library is not None and hasattr(estimator, "feature_names_in_")
    may_miss = np.full(present.size, by_name or may_fill)
    may_miss[needed] = may_fill
    found = read_at_limits(found, encoding.limited)
    with findings.noting():
        _refuse_texts_for_numbers(found, encoding)
    table, unlike = encoding.table(found)
    warn_of_unseen({encoding.names[place]: levels for place, levels in unlike.unseen.items()})
    warn_of_nearest({encoding.names[place]: numbers for place, numbers in unlike.nearest.items()})
    note_not_finite(
        table[:, present],
        [name for name, here in zip(encoding.names, present, strict=True) if here],
        encoding.reach(reach)[present],
        findings,
        may_miss[present],
    )
    with findings.noting():
        logs = [place for place in encoding.on_log_scale if place in needed]
        wrong = {encoding.names[place]: NotPositive.among(table[:, place]) for place in logs}
        refuse_not_positive_patients({name: one for name, one in wrong.items() if one is not None})
    findings.refuse()
    if usual is not None:
        warn_of_unlike(usual.unlike(table), encoding.names, len(table))
    values = encoding.matrix(table)
    matrix = Matrix(values, library, found.borrowed and values is found.values)
    if completion is None:
        return matrix
    matrix = _completed(matrix, completion, encoding, needed, present)
    if goes_by is not None:
        matrix = replace(matrix, nothing=_nothing_told(values, goes_by, completion, encoding.layout))
    if not in_part:
        _warn_of_missing(table, matrix, present, encoding.names, needed)
    return matrix


def _columns_of(
    estimator: Any, X: Any, takes_texts: bool, needed: Index, may_lack: bool, findings: Findings
) -> tuple[Found, np.ndarray, nw.Implementation | None]:
    """The columns of new data as variables, which of these (p,) it has, and its library."""
    X = variables(X)
    frame = as_frame(X)
    if frame is None:
        found = of_array(estimator, X, takes_texts, reset=False)
        return found, np.ones(found.values.shape[1], dtype=bool), None
    present = _present(estimator, X, needed, may_lack, findings)
    known = getattr(estimator, "feature_names_in_", column_names(X))
    columns = [name for name, here in zip(known, present, strict=True) if here]
    found, _ = of_frame(frame, columns, takes_texts, findings, cohort=False)
    return found.among(present), present, frame.implementation


def _warn_of_missing(
    table: F64, matrix: Matrix, present: np.ndarray, names: Sequence[str], needed: Index
) -> None:
    """Say which columns nobody of several patients was measured on, and of whom nothing was measured."""
    if matrix.measured is None:
        return
    if len(table) > 1:
        empty = [place for place in np.sort(needed) if present[place] and np.isnan(table[:, place]).all()]
        warn_of_lacking([names[place] for place in empty])
    if matrix.nothing is not None:
        rows = [str(row + 1) for row in np.flatnonzero(matrix.nothing).tolist()]
        warn(
            f"nothing that the model goes by was measured in {'row' if len(rows) == 1 else 'rows'} "
            f"{listed(rows, NAMED_AT_MOST)}: not scored (NaN)"
        )


def _present(estimator: Any, X: Any, needed: Index, may_lack: bool, findings: Findings) -> np.ndarray:
    """(p,) which variables a dataframe has; that it lacks one that is needed is noted, or said.

    Without names that the model knows, it must have as many columns as there are variables.
    """
    p = estimator.n_features_in_
    known = getattr(estimator, "feature_names_in_", None)
    columns = column_names(X)
    if known is None:
        if len(columns) != p:
            raise InputError(
                f"X has {len(columns)} features, but {type(estimator).__name__} is expecting {p} features as "
                "input"
            )
        _refuse_other_order(estimator, columns)
        return np.ones(p, dtype=bool)
    there = set(columns)
    present = np.array([name in there for name in known], dtype=bool)
    # A table with none of the columns is another one, even where the model needs none.
    wanted = np.sort(needed) if present.any() else np.arange(p)
    lacking = [known[place] for place in wanted if not present[place]]
    others = there.difference(known) if lacking else set()
    spelt = spelt_otherwise(lacking, [name for name in columns if name in others])
    if may_lack and present.any() and not spelt:
        warn_of_lacking(lacking)
    else:
        with findings.noting():
            _refuse_lacking(lacking, spelt)
    return present


def _refuse_other_order(estimator: Any, columns: list[Any]) -> None:
    """Columns of a frame that a model without names is to score are matched by place: say, or refuse so."""
    if all(isinstance(name, str) for name in columns):
        warn(
            f"X has feature names, but {type(estimator).__name__} was fitted without feature names: its "
            "columns are matched by place, whatever their names"
        )
        return
    numbers = vars(estimator).get("_column_numbers", list(range(len(columns))))
    if columns != numbers and all(name in numbers for name in columns):
        raise InputError(
            f"the columns of X are numbered {listed(list(map(str, columns)), 8)}, and those that the model "
            f"was fitted on {listed(list(map(str, numbers)), 8)}: bring them into that order"
        )


def _completed(
    matrix: Matrix, completion: Completion, encoding: Encoding, needed: Index, present: np.ndarray
) -> Matrix:
    """The same with expected values where needed ones are missing; what nobody needs stays missing."""
    columns = np.flatnonzero(np.isin(encoding.layout.variable, needed))
    exact = completion.noise is None and completion.limits is None
    if exact and not np.isnan(matrix.values[:, columns]).any():
        return matrix
    telling = np.setdiff1d(encoding.layout.variable[completion.columns], needed)
    warn_of_not_telling([encoding.names[place] for place in telling if not present[place]])
    values = matrix.values.copy(order="F")
    values[:, columns] = completion.fill(matrix.values)[:, columns]
    told = None
    if completion.noise is not None:  # people read what was measured
        told = np.where(
            np.isnan(matrix.values) | (completion.censored(matrix.values) != 0), values, matrix.values
        )
    return Matrix(values, matrix.library, measured=matrix.values, completion=completion, told=told)


def _nothing_told(values: F64, goes_by: Index, completion: Completion, layout: Layout) -> np.ndarray | None:
    """(n,) who is not scored, in memory and in files; None where everybody is.

    That is who has no value in any column of the variables that the model goes by, covariates among them, nor
    in any from which these are filled in. What only resamples go by does not count, and a model that goes by
    no variable says the same of everybody, so that everybody is scored.
    """
    if not goes_by.size:
        return None
    telling = np.union1d(np.flatnonzero(np.isin(layout.variable, goes_by)), completion.columns)
    untold = np.flatnonzero(np.isnan(values[:, telling[0]]))  # of most tables, few rows
    untold = untold[np.isnan(values[untold[:, None], telling]).all(axis=1)]
    if not untold.size:
        return None
    nothing = np.zeros(len(values), dtype=bool)
    nothing[untold] = True
    return nothing


def _refuse_texts_for_numbers(found: Found, encoding: Encoding) -> None:
    strange = {
        encoding.names[place]: first_strange(texts, encoding.decimal_comma)
        for place, texts in found.texts.items()
        if not encoding.variables[place].levels
    }
    text = [name for name, cell in strange.items() if cell is not None]
    for name in text:
        refuse_unclear(name, strange[name] if is_unclear(strange[name]) else None, "drop the column")
    if text:
        refuse_text(text, strange[text[0]])


def first_strange(texts: Texts, decimal_comma: bool) -> str | None:
    """The first text that is no number by itself, of those that some row has."""
    there = texts.only_seen()
    strange = np.flatnonzero(np.isnan(there.numbers(decimal_comma)))
    return there.levels[strange[0]] if strange.size else None


def warn_of_unseen(levels: Mapping[str, Sequence[str]]) -> None:
    """Say which levels of new patients, by variable, the cohort did not have."""
    if levels:
        found = [f"{quoted(name)} holds {listed(list(map(quoted, some)))}" for name, some in levels.items()]
        warn(f"levels that the cohort did not have are taken for missing: {listed(found, NAMED_AT_MOST)}")


def warn_of_nearest(numbers: Mapping[str, Mapping[str, str]]) -> None:
    """Say which numbers of new patients, by variable, are none of the levels, and what each counts as."""
    if numbers:
        counted = {
            name: [f"{number} (counted as {level})" for number, level in some.items()]
            for name, some in numbers.items()
        }
        found = [f"{quoted(name)} holds {listed(some, NAMED_AT_MOST)}" for name, some in counted.items()]
        warn(
            "numbers that the cohort did not have count as the nearest that it had: "
            f"{listed(found, NAMED_AT_MOST)}. Fit such a column as a number to extrapolate"
        )


def warn_of_unlike(found: Sequence[Unlike], names: Sequence[str], n_rows: int) -> None:
    """Say which numbers of new patients are unlike those of the cohort, as in another unit."""
    if found:
        message, columns = _unlike_in_words(found, names, n_rows), tuple(names[one.place] for one in found)
        warn(UnlikeCohortWarning(message, columns))


def warn_of_lacking(names: Sequence[str]) -> None:
    """Say which variables that a model uses nobody was measured on."""
    if names:
        warn(
            f"no patient has {listed(list(map(quoted, names)), NAMED_AT_MOST)}, which "
            f"{'is' if len(names) == 1 else 'are'} needed: what is expected, given all that was measured, "
            "stands in"
        )


def warn_of_not_telling(names: Sequence[str]) -> None:
    """Say which variables nobody was measured on that a model needs for what is missing only."""
    if names:
        warn(
            f"nobody has {listed(list(map(quoted, names)), NAMED_AT_MOST)}, which would tell of values "
            "that were not measured: what is expected of these, given all else, stands in"
        )


def _refuse_lacking(names: list[str], spelt: Mapping[str, str]) -> None:
    if names:
        hints = [f"{quoted(name)} may be {quoted(other)}" for name, other in spelt.items()]
        hint = f": {listed(hints, NAMED_AT_MOST)}. {AS_FITTED}" if hints else ""
        raise InputError(
            f"{are('column', names)} missing from the new data; the model needs {it_or_them(names)}{hint}"
        )


# --- numbers unlike those of the cohort -------------------------------------------------------------------


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


def _unlike_in_words(found: Sequence[Unlike], names: Sequence[str], n_rows: int) -> str:
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
