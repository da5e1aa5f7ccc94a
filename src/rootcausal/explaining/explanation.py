"""What the model says about patients: values, tables, root causes, and what if."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import InputError, RootCausalWarning
from ..inputs.from_frame import patient_ids
from ..inputs.kinds import NO_LIMITS, Variable
from ..inputs.levels import TableInWords, level_texts
from ..inputs.matrices import Matrix
from ..method.confounded_sets import Sets
from ..method.model import CausalModel
from ..method.reference_ranges import CohortQuantiles, Usual
from ..method.table import F64, Index
from ..method.weighted import rows_that_tell
from ..resampling.intervals import (
    ranks,
    spread_of_adjustment,
    spread_of_prediction,
    spread_of_values,
    with_doubt,
)
from .shown import (
    SPREAD,
    Listed,
    MergedSet,
    RootCause,
    Shown,
    as_shap,
    frame_of,
    listed_values,
    named_sets,
    open_of,
    rows_of,
    rows_of_ids,
    spread_with_sets,
)
from .what_if import WhatIf, prediction_with_doubt, question, refuse_covariate, refuse_others, what_if

__all__ = ["Explanation", "RootCause"]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Shapley values of patients, with what is needed to read them.

    Attributes
    ----------
    values : (n, p) what each shock adds to the log-odds of the disease, to the log-hazard of the event, or to
        the number, in its own unit; zero for covariates, and outside the causal order.
    base_value : the same scale, of a patient whose shocks, and covariates, are all average: log-odds (this is
        not the prevalence), 0 for hazards, or the value that is expected.
    errors : (n, p) the shocks, in standard deviations; zero for covariates, and outside the causal order.
    data : (n, p) the measurements in their own units, and where there is none what is expected given all
        others (on a log scale, the number whose logarithm is expected); of a variable with levels the numbers
        that stand for them: its own, or places in ``levels`` of the variable where these are texts. NaN for
        variables that the model left out and X lacks.
    feature_names : (p,) names of the variables.
    variables : (p,) the same with their kinds and levels, labels, units and digits.
    ids : (n,) names of the patients.
    provenance : how the model was made.
    scored : (n,) False for patients of whom nothing was measured that the model goes by: of them nothing is
        said, and all numbers but ``data`` are NaN.
    imputed : (n, p) where a value was not measured, or only known to lie beyond a limit of detection.
    censored : (n, p) -1 where it lies at or below such a limit, 1 at or above one; 0 elsewhere.
    beyond : (n, p) where a number that was measured, and that the model uses, lies beyond the range of the
        cohort: what is said of the patient is extrapolation.
    unlike : (n, p) by how much a shock lies beyond all that patients of the fit had, in parts of their span;
        zero elsewhere. Such a patient is unlike those that the model learned from, whatever it says of them:
        see :attr:`unlike_most`.
    imputation_sd : (n, p) standard deviation that values not measured add to ``values``; None where all were.
    sampling_sd : (n, p) standard error of sampling ``values`` (Monte Carlo), below a tenth of the value, or
        of what is notable, for nearly all; None where the mechanism is linear, and values are exact.
    lower, upper : (n, p) ends of the 95 % interval of ``values``: over resamples, and over what was not
        measured. None where there is neither; without resamples they leave out the doubt about the model.
        An interval is that of the resamples: where these disagree with the model it does not hold the value.
    frequency : (n, p) share of resamples in which the variable is a root cause of this patient.
    rank_stability : (n, p) share of resamples in which the variable is a root cause of this patient and ranks
        as high as here, or higher; never above ``frequency``.
        These two are None unless the model has a bootstrap.
    covariates : names of the variables that are adjusted for: they change what is predicted, and are no root
        causes.
    covariate_effect : (n,) what they add together, on the scale of ``values``; zero where there are none.
    covariate_interval : (2, n) ends of its 95 % interval: over resamples, and over covariates that were not
        measured. None without covariates, and where ``lower`` is None.
    recalibrated : (n,) of patients of the fit the risk that ``predicted`` would be if the model had not seen
        them, going by what happened to patients of the fit whom models of the others were asked about; NaN of
        all others. None of a number, where nobody is of the fit, and where it is not known: a large cohort
        has it after :meth:`rootcausal.RCI.cross_validate`.
    sets : variables that are read as one, each with ``name``, ``members`` and ``places``; none unless the
        model has ``merged_sets_``. ``values`` are those of each variable all the same: read those of members
        only by their sum, ``set_values``. Whatever lists root causes (``root_causes``, ``to_frame``, figures,
        page) lists a set once, in place of its members.
    """

    values: F64
    base_value: float
    errors: F64
    data: F64
    feature_names: tuple[str, ...]
    variables: tuple[Variable, ...]
    ids: tuple[Any, ...]
    provenance: dict[str, Any]
    scored: np.ndarray
    imputed: np.ndarray
    censored: np.ndarray
    beyond: np.ndarray
    unlike: F64
    covariates: tuple[str, ...]
    covariate_effect: F64
    _cells: TableInWords = field(repr=False)
    _columns: F64 = field(repr=False)  # what models see of them
    _model: CausalModel = field(repr=False)
    _library: Any = field(repr=False)
    lower: F64 | None = None
    upper: F64 | None = None
    frequency: F64 | None = None
    rank_stability: F64 | None = None
    imputation_sd: F64 | None = None
    sampling_sd: F64 | None = None
    covariate_interval: F64 | None = None
    recalibrated: F64 | None = None
    sets: tuple[MergedSet, ...] = ()
    _set_spread: dict[str, F64] = field(default_factory=dict, repr=False)
    _within_sets: bool = field(default=False, repr=False)
    _unsure: F64 | None = field(default=None, repr=False)  # see Matrix.doubt_of_predictor
    _resamples: tuple[CausalModel, ...] = field(default=(), repr=False)

    @classmethod
    def of(
        cls,
        model: CausalModel,
        resamples: tuple[CausalModel, ...],
        matrix: Matrix,
        variables: Sequence[Variable],
        ids: Any,
        provenance: dict[str, Any],
        sets: Sets = (),
        usual: Usual | None = None,
        quantiles: CohortQuantiles | None = None,
    ) -> Explanation:
        """What a model says of patients, ``matrix`` (n, q) being their columns without missing values.

        Parameters
        ----------
        variables : (p,) what the columns stand for.
        sets : of variables that are read as one.
        usual : what numbers the cohort had.
        quantiles : of its shocks.
        """
        (values, sampling_sd), imputation_sd = model.sampled_shapley(matrix.values), matrix.doubt(model)
        spread: dict[str, F64] = {}
        if resamples:
            spread = vars(spread_of_values(resamples, matrix.values, values, imputation_sd, model.covariates))
        elif imputation_sd is not None:
            spread["lower"], spread["upper"] = with_doubt(values, None, imputation_sd)
        effect, effect_ends = model.adjustment(matrix.values), None
        if model.covariates.size:
            doubt = matrix.doubt_of_adjustment(model)
            effect_ends = spread_of_adjustment(resamples, matrix.values, effect, doubt)
        columns = matrix.values.copy() if matrix.borrowed else matrix.values
        told = columns if matrix.told is None else matrix.told
        cells = TableInWords(tuple(variables), model.layout, told)
        data, imputed = cells.numbers(), matrix.filled_in(model)
        beyond = np.zeros(data.shape, dtype=bool)
        if usual is not None:
            beyond[:, usual.places] = usual.beyond(data) & ~imputed[:, usual.places]
        set_spread = spread_with_sets(model, resamples, matrix, values, sets) if sets else {}
        errors, n = model.errors(matrix.values), len(data)
        of_patients = [
            values,
            errors,
            effect,
            imputation_sd,
            sampling_sd,
            *spread.values(),
            *set_spread.values(),
        ]
        for numbers in of_patients:
            if numbers is not None:
                matrix.scored(numbers)
        if effect_ends is not None:
            matrix.scored(effect_ends.T)
        return cls(
            values=values,
            base_value=model.base_value,
            errors=errors,
            data=data,
            feature_names=tuple(variable.name for variable in variables),
            variables=cells.variables,
            ids=patient_ids(ids, matrix.values.shape[0]),
            provenance=provenance,
            scored=np.ones(n, dtype=bool) if matrix.nothing is None else ~matrix.nothing,
            imputed=imputed,
            censored=matrix.censored(model),
            beyond=beyond,
            unlike=_unlike(model, errors, imputed, quantiles, provenance),
            imputation_sd=imputation_sd,
            sampling_sd=sampling_sd,
            covariates=tuple(variables[place].name for place in model.covariates),
            covariate_effect=effect,
            covariate_interval=effect_ends,
            _cells=cells,
            _columns=columns,
            _model=model,
            _library=matrix.library,
            sets=named_sets(sets, variables),
            _set_spread=set_spread,
            _within_sets=matrix.told is not None and matrix.measured is None,
            _unsure=matrix.doubt_of_predictor(model),
            _resamples=resamples,
            **spread,
        )

    def of_scored(self) -> Explanation:
        """The same of the patients who are ``scored``."""
        return self if self.scored.all() else self._of_rows(np.flatnonzero(self.scored))

    def of_ids(self, ids: Sequence[Any]) -> Explanation:
        """The same of the patients with these ids, in this order."""
        return self._of_rows(rows_of_ids(self, ids))

    def __len__(self) -> int:
        """How many patients there are."""
        return len(self.ids)

    def __getitem__(self, key: Any) -> Any:
        """The same of some patients, or their values of one variable.

        ``explanation[0]`` is the first patient, ``explanation[2:5]``, ``explanation[mask]`` and
        ``explanation[[7, 3]]`` are several, ``explanation["p17"]`` those with an id that is a text (of other
        ids ask :meth:`of_ids`). With a variable, ``explanation[:, "bili"]``, it is what its shocks add (m,).
        """
        if isinstance(key, tuple):
            if len(key) != 2:
                raise InputError("ask for patients, or for patients and one variable: explanation[:, 'bili']")
            values: F64 = self.values[:, self._place(key[1])][rows_of(self, key[0])]
            return values
        return self._of_rows(rows_of(self, key))

    def __repr__(self) -> str:
        """The first patients and their root causes."""
        return Shown.of(self).text()

    def _repr_html_(self) -> str:
        return Shown.of(self).html()

    def _of_rows(self, rows: Index) -> Explanation:
        of_patients = (
            "values",
            "errors",
            "data",
            "scored",
            "imputed",
            "censored",
            "beyond",
            "unlike",
            "covariate_effect",
        )
        unsure = (
            "lower",
            "upper",
            "frequency",
            "rank_stability",
            "imputation_sd",
            "sampling_sd",
            "recalibrated",
            "_unsure",
        )
        tables = {name: getattr(self, name) for name in (*of_patients, *unsure)}
        among: dict[str, Any] = {name: None if one is None else one[rows] for name, one in tables.items()}
        ends = self.covariate_interval
        return replace(
            self,
            **among,
            ids=tuple(self.ids[row] for row in rows),
            covariate_interval=None if ends is None else ends[:, rows],
            _cells=replace(self._cells, columns=self._cells.columns[rows]),
            _columns=self._columns[rows],
            _set_spread={name: table[rows] for name, table in self._set_spread.items()},
        )

    @property
    def unlike_most(self) -> list[str | None]:
        """For each patient the variable whose shock lies farthest beyond all that patients of the fit had.

        None for most. What such a patient has may be a cause that nobody had before, which no model of an
        outcome can name; :class:`rootcausal.RootCauseOutliers` asks for it.
        """
        most = self.unlike.argmax(axis=1)
        return [
            self.feature_names[c] if self.unlike[row, c] > 0 else None for row, c in enumerate(most.tolist())
        ]

    @property
    def outcome(self) -> str:
        """What happened to patients: ``binary``, ``survival`` or ``continuous``."""
        return self._model.attribution.outcome

    @property
    def notable_from(self) -> float:
        """The size from which a value is notable: the one rule of what is called a root cause, or protective.

        0.1 of log-odds and log-hazards (odds, or a hazard, 1.11 times as high), and a tenth of its standard
        deviation of a number. Pages, figures, ``root_causes`` and commands go by it, and by ``listed.open``:
        what was not measured is notable only if its own interval excludes zero.
        """
        return self._model.attribution.notable

    @property
    def notable(self) -> np.ndarray:
        """(n, p): which values are notable, up or down."""
        is_open = open_of(self.values, self.imputed, self.lower, self.upper)
        return (np.abs(self.values) >= self.notable_from) & ~is_open

    @property
    def set_values(self) -> F64:
        """(n, s): what the shocks of each of the ``sets`` add together."""
        return self.listed.values[:, self.values.shape[1] :]

    @cached_property
    def listed(self) -> Listed:
        """What is listed: variables, and sets in place of their members."""
        plain = (self.values, self.errors, self.data, self.imputed)
        of_variables: Mapping[str, F64 | None] = {name: getattr(self, name) for name in SPREAD}
        spread = self._set_spread if self.sets else of_variables
        return listed_values(self._model, self.sets, self.feature_names, plain, spread)

    @property
    def predictor(self) -> F64:
        """(n,): base value plus all that shocks and covariates add: log-odds, log-hazard or a value."""
        return self.base_value + self.values.sum(axis=1) + self.covariate_effect

    @property
    def predicted(self) -> F64:
        """(n,): risk of the disease, risk of the event by the horizon, or the expected value."""
        return self._model.attribution.predicted(self.predictor)

    @property
    def log_odds(self) -> F64:
        """(n,): base value plus all that shocks and covariates add; of a diagnosis only."""
        refuse_others("log_odds", self.outcome)
        return self.predictor

    @property
    def probability(self) -> F64:
        """(n,): risk of the disease, in the population of a ``prevalence``; of the event by the horizon."""
        refuse_others("probability", self.outcome)
        return self.predicted

    @cached_property
    def predicted_interval(self) -> F64 | None:
        """(2, n): ends of the 95 % interval of ``predicted`` over resamples; None without a bootstrap.

        It holds the doubt about values that are measured with error, and not that about others that were not
        measured.
        """
        if not self._resamples:
            return None
        ends = spread_of_prediction(self._resamples, self._columns)
        if self._unsure is not None:
            ends = prediction_with_doubt(self._model, self.predictor, ends, self._unsure[:, -1])
        ends[:, ~self.scored] = np.nan
        return ends

    def root_causes(self, top: int = 3, *, both_ways: bool = False) -> list[list[RootCause]]:
        """For each patient, up to ``top`` root causes, strongest first.

        Only values above zero count (Definition 1), and of these only notable ones, of at least
        ``notable_from``: a shock that changes next to nothing is named as the cause of nothing. A shock with
        a negative value is protective. What was not measured counts only where its own interval excludes
        zero: else nobody knows whether the patient had such a shock. With ``both_ways`` those below zero
        count as well, by their size: of a number, what raises it is not what is worse. Patients may have
        none, and covariates are never among them. A set of variables that are read as one is listed once, and
        its members are not. All values, however small, are in :meth:`to_frame`.
        """
        if top < 1:
            raise InputError(f"top must be at least 1, not {top!r}")
        strength = np.abs(self.listed.values) if both_ways else self.listed.values
        strength = np.where(self.listed.open, 0.0, strength)
        ranked = np.argsort(-strength, axis=1, kind="stable")[:, :top]
        return [
            [self._root_cause(row, c) for c in ranked[row] if strength[row, c] >= self.notable_from]
            for row in range(len(ranked))
        ]

    def _root_cause(self, row: int, c: int) -> RootCause:
        def here(values: F64 | None) -> float | None:
            return None if values is None else float(values[row, c])

        listed, of_set = self.listed, self._set_at(c)
        return RootCause(
            listed.names[c],
            float(listed.values[row, c]),
            float(listed.errors[row, c]),
            float(listed.data[row, c]),
            here(listed.lower),
            here(listed.upper),
            here(listed.frequency),
            self._level(row, c),
            bool(listed.imputed[row, c]),
            () if of_set is None else of_set.members,
        )

    def _set_at(self, c: int) -> MergedSet | None:
        """The set at a place of what is listed; None where that is a variable."""
        return self.sets[c - len(self.variables)] if c >= len(self.variables) else None

    def _level(self, row: int, c: int) -> str | None:
        if c >= len(self.variables) or not self.variables[c].levels:
            return None
        place = int(self._cells.said(c, row).places[0])
        return level_texts(self.variables[c])[place] if place >= 0 else None

    def levels(self) -> np.ndarray:
        """(n, p): the levels in words, None for numbers; where nothing was measured, the likeliest level."""
        return self._cells.levels()

    def text(self, row: int, c: int) -> str:
        """The value of one patient on one variable for the screen: ``3.4``, ``male``, ``male (51%)``.

        Sets come after the variables; theirs is ``bili 3.4, copper 84``.
        """
        of_set = self._set_at(c)
        if of_set is None:
            return self._cells.text(row, c)
        return ", ".join(f"{self.feature_names[m]} {self._cells.text(row, m)}" for m in of_set.places)

    def limit(self, row: int, c: int) -> str:
        """What was measured where that is no number but a limit of detection, ``<3``; empty elsewhere."""
        side = int(self.censored[row, c]) if c < len(self.variables) else 0
        return self.variables[c].limits.said[0 if side < 0 else -1] if side else ""

    def what_if(self, variable: str | int, error: float | None = None, *, level: Any = None) -> WhatIf:
        """Predict outcome and measurements with one shock, or one level, set.

        Parameters
        ----------
        variable : its name, or its place.
        error : for a number, what its shock is set to, in standard deviations (of its logarithm, if the
            variable is on a log scale); by default 0, none.
        level : for a variable with levels, the level that it is set to. All other shocks stay as they are,
            and what lies downstream follows.

        A variable that is read as one with others can be asked about, with a warning: what would have changed
        it alone, and not them, is not known.
        """
        place = self._place(variable)
        if self._within_sets:
            raise InputError(
                "what if is asked of patients by themselves, and these are told within their matched "
                "sets: explain "
                "them without strata"
            )
        for one in self.sets:
            if place in one.places:
                warnings.warn(
                    f"{self.feature_names[place]!r} is read as one with others ({one.name}): whatever sets "
                    "it in life may move them too, so the answer for it alone is unsure",
                    RootCausalWarning,
                    stacklevel=2,
                )
        if place in self._model.covariates:
            refuse_covariate(self.feature_names[place])
        ask = question(self.variables[place], place, error, level)
        seen = replace(self._cells, columns=self._columns)
        doubt = None if self._unsure is None else self._unsure[:, place]
        return what_if(self._model, self._resamples, seen, ask, self.scored, doubt)

    def _place(self, variable: str | int) -> int:
        if variable in self.feature_names:
            return self.feature_names.index(str(variable))
        if isinstance(variable, int | np.integer) and 0 <= variable < len(self.feature_names):
            return int(variable)
        raise InputError(
            f"no variable {variable!r}: the model knows {', '.join(map(repr, self.feature_names[:8]))}"
        )

    def to_frame(self) -> Any:
        """Tidy table with one row for each patient and variable, or set of them; covariates have none.

        A set that is read as one has a row in place of its members, without a value.

        Columns: id, variable, label and unit (of a model with labels), value (measured, or expected), level
        (in words; null for numbers), limit (of a model with limits of detection: ``<3``, where that was
        measured; else null), imputed (the value was not measured), beyond (it lies beyond the range
        of the cohort: extrapolation), unlike (its shock lies beyond all that patients of the fit had), error
        (shock in standard deviations), shapley (what the shock adds: log-odds, log-hazard, or units of the
        number), rank (1 is the patient's strongest), root_cause (Definition 1: shapley is above zero; of what
        was not measured, only where the interval excludes
        zero), notable (its size is at least ``notable_from``, as ``root_causes`` asks); with a bootstrap also
        lower, upper, frequency and rank_stability, and lower and upper where values were not measured; with
        covariates also covariates (what these add to this patient, on the scale of shapley, the same in all
        of a patient's rows) and, where there are lower and upper, covariates_lower and covariates_upper. The
        table is of the library that X came in; for arrays it is a pandas DataFrame.
        """
        listed, levels = self.listed, self.levels()
        unlisted = np.union1d(self._model.covariates, listed.members)
        shown = np.delete(np.arange(len(listed.names)), unlisted)
        n, p = len(self.values), shown.size
        columns = {
            "value": listed.data,
            "level": np.hstack([levels, np.full((n, len(self.sets)), None)]) if self.sets else levels,
            "limit": self._limits(),
            "imputed": listed.imputed,
            "beyond": self._with_sets(self.beyond),
            "unlike": self._with_sets(self.unlike > 0),
            "error": listed.errors,
            "shapley": listed.values,
            "rank": ranks(listed.values, unlisted),
            "root_cause": (listed.values > 0) & ~listed.open,
            "notable": (np.abs(listed.values) >= self.notable_from) & ~listed.open,
            **{name: getattr(listed, name) for name in SPREAD},
        }
        together = {"covariates": self.covariate_effect} if self.covariates else {}
        if self.covariate_interval is not None:
            together["covariates_lower"], together["covariates_upper"] = self.covariate_interval
        return frame_of(
            {
                "id": np.repeat(np.array(self.ids), p),
                "variable": np.tile(np.array(listed.names)[shown], n),
                **{name: np.tile(texts[shown], n) for name, texts in self._labels().items()},
                **{name: table[:, shown].ravel() for name, table in columns.items() if table is not None},
                **{name: np.repeat(of_patients, p) for name, of_patients in together.items()},
            },
            self._library,
        )

    def _with_sets(self, of_variables: np.ndarray) -> np.ndarray:
        """(n, p + s): of sets, whether it is so of any member."""
        of_sets = [of_variables[:, list(one.places)].any(axis=1) for one in self.sets]
        return np.column_stack([of_variables, *of_sets])

    def _limits(self) -> np.ndarray | None:
        """(n, p + s): the limits that were measured, in words, else None; None where no variable has any."""
        if all(variable.limits == NO_LIMITS for variable in self.variables):
            return None
        found = np.full(self.listed.values.shape, None, dtype=object)
        for row, c in zip(*self.censored.nonzero(), strict=True):
            found[row, c] = self.limit(row, c)
        return found

    def _labels(self) -> dict[str, np.ndarray]:
        """(p + s,) labels and units, where somebody gave any."""
        if not any(variable.label or variable.unit for variable in self.variables):
            return {}
        return {
            "label": np.array([*(one.shown for one in self.variables), *(one.shown for one in self.sets)]),
            "unit": np.array([*(variable.unit for variable in self.variables), *("" for _ in self.sets)]),
        }

    def to_shap(self) -> Any:
        """The same as a ``shap.Explanation``, for shap's plots.

        ``data`` are the shocks, since it is their contributions that the values are; ``display_data`` are
        the measurements, levels in words, and ``instance_names`` the ids. What covariates add is part of
        ``base_values``. A set that is read as one has a column after those of the variables, in place of its
        members.
        """
        return as_shap(self.listed, self.base_value + self.covariate_effect, self._display(), self.ids)

    def _display(self) -> np.ndarray:
        display: np.ndarray = self.data
        if any(variable.levels for variable in self.variables):
            levels = self.levels()
            display = np.where(levels == None, display.astype(object), levels)  # noqa: E711 (each element)
        n, p = display.shape
        of_sets = [[self.text(row, p + s) for row in range(n)] for s in range(len(self.sets))]
        return np.column_stack([display, *(np.array(texts, dtype=object) for texts in of_sets)])


def _unlike(
    model: CausalModel,
    errors: F64,
    imputed: np.ndarray,
    quantiles: CohortQuantiles | None,
    provenance: dict[str, Any],
) -> F64:
    """(n, p) by how much measured shocks lie beyond those of the cohort; zero where that is not known."""
    found = np.zeros_like(errors)
    if quantiles is not None and model.order.size:
        order = model.order
        found[:, order] = quantiles.beyond(errors[:, order], rows_that_tell(provenance))
        found[imputed | np.isnan(found)] = 0.0
    return found
