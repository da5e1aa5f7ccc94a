"""RootCauseOutliers, the estimator of departure from a reference group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..departure.learning import FOLLOW_EACH_OTHER, Learned, learn_reference
from ..departure.reference import Reference
from ..errors import InputError, warn
from ..files.array_archive import is_seed
from ..inputs.encoding import Encoding
from ..inputs.from_frame import patient_ids, with_ids
from ..inputs.kinds import ColumnHints
from ..inputs.knowledge import Knowledge
from ..inputs.matrices import Matrix, matrix_for_scoring
from ..inputs.membership import Membership
from ..inputs.patients import Cohort
from ..inputs.rules import refuse_constant
from ..inputs.target import warn_of_choice
from ..inputs.validate import open_cohort
from ..method.missing.completion import Completion
from ..method.table import F64, Index
from ..progress.bars import counting_progress
from ..version import __version__
from ..wording import listed, plain, plural, quoted
from .parameters import (
    MissingName,
    chosen_hints,
    parameter_names,
    plain_parameters,
)

if TYPE_CHECKING:
    from ..explaining.departures import Departures

MECHANISMS = ("linear", "nonlinear")
# Fewer rows have no tails to speak of.
FEWEST_ROWS = 20
# Rows below which small p-values rest on the shape of a tail more than on rows.
FEW_ROWS = 100
# Graphs, each of all columns.
MOST_GRAPHS = 1000
# Searches take the cube of it.
MOST_COLUMNS = 200


class RootCauseOutliers(BaseEstimator):
    """Which mechanisms a row departs from, given a reference group: root causes nobody had before.

    Where :class:`rootcausal.RCI` says which shocks lead to an outcome, this asks no outcome. From a
    reference group it learns how each variable comes from its causes; a row's root causes are the variables
    that are not what their causes explain. The graph is not taken for certain: it is learned from resampled
    rows, and surprises are averaged over such graphs.

    Parameters
    ----------
    alpha : float in (0, 1), default 0.05
        The share of rows like the reference group of which something is said to depart (false alarms).
    mechanism : {"linear", "nonlinear"}, default "linear"
        How variables come from their causes. Lines go on as lines beyond the reference group, which is where
        rows that depart are; ``nonlinear`` fits curves and spreads that differ.
    n_graphs : int, default 20
        How many resamples a graph is learned from.
    positive : label, default None
        Of y, which label is that of the cases; by default as in :class:`rootcausal.RCI`.
    kinds, missing, knowledge, log : as in :class:`rootcausal.RCI`. Covariates are causes, and nothing is
        said to depart from them. Columns of numbers are numbers, however few: one that the reference group
        never had is a departure, and no level.
    random_state : int, default 0
        Seed of the resamples.
    progress : bool, default False
        Show a progress bar on standard error for fits longer than two seconds.

    Attributes
    ----------
    arrow_probability_ : (p, p), ``[i, j]``: in which share of the graphs j is a cause of i.
    classes_ : (2,) labels of y, the cases second; only where y was given.
    n_features_in_, feature_names_in_ : as in scikit-learn; names only when X had them.
    provenance_ : dict, how the model was made. ``autocorrelation_time`` says how many rows tell as much as
        one: well above 1 rows follow each other in time, and are resampled in blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from rootcausal import RootCauseOutliers
    >>> rng = np.random.default_rng(0)
    >>> cause = rng.laplace(size=500)
    >>> X = np.column_stack([cause, 2.0 * cause + rng.laplace(size=500)])
    >>> model = RootCauseOutliers().fit(X)
    >>> found = model.explain([[8.0, 16.0], [0.0, 16.0], [0.5, 1.0]])
    >>> [[one.variable for one in causes] for causes in found.root_causes(top=1)]
    [['x0'], ['x1'], []]
    """

    _reference: Reference
    _completion: Completion
    _encoding: Encoding

    def __init__(
        self,
        *,
        alpha: float = 0.05,
        mechanism: str = "linear",
        n_graphs: int = 20,
        positive: Any = None,
        kinds: dict[str | int, Any] | None = None,
        missing: MissingName = "impute",
        knowledge: Knowledge | dict[str, Any] | None = None,
        log: Sequence[str | int] | None = None,
        random_state: int = 0,
        progress: bool = False,
    ) -> None:
        self.alpha = alpha
        self.mechanism = mechanism
        self.n_graphs = n_graphs
        self.positive = positive
        self.kinds = kinds
        self.missing = missing
        self.knowledge = knowledge
        self.log = log
        self.random_state = random_state
        self.progress = progress

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "impute"
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what the reference group is like.

        Parameters
        ----------
        X : dataframe of any library, AnnData or array (n, p): the reference group, or it and cases. Rows of
            a time series stay in its order: by that it is seen how much they tell.
        y : (n,) which rows are cases, by two labels; None takes all for the reference group. What happened
            to the cases need not be known: under the right graph a case departs in few places, and by that
            they help to find it.
        """
        hints = self._check_parameters()
        asked = (X, Membership(y, self.positive), "auto", None)
        with open_cohort(self, *asked, hints, knowledge=self.knowledge, gpu=False) as cohort:
            few = numbers_with_levels(cohort, hints)
            if not few:
                return self._learn(cohort)
        # A number that the reference group never had is what is looked for: it counts as no level.
        hints = replace(hints, kinds={**hints.kinds, **dict.fromkeys(few, "number")})
        with open_cohort(self, *asked, hints, knowledge=self.knowledge, gpu=False) as cohort:
            return self._learn(cohort)

    def _check_parameters(self) -> ColumnHints:
        """What the user says of the columns; a parameter that cannot be is refused."""
        alpha, graphs = self.alpha, self.n_graphs
        if not isinstance(alpha, Real) or isinstance(alpha, bool) or not 0.0 < alpha < 1.0:
            raise InputError(f"alpha must be between 0 and 1, a share of rows, not {alpha!r}")
        if self.mechanism not in list(MECHANISMS):
            raise InputError(f"unknown mechanism {self.mechanism!r}: choose one of {', '.join(MECHANISMS)}")
        if not is_seed(plain(graphs)) or isinstance(graphs, bool) or not 1 <= graphs <= MOST_GRAPHS:
            raise InputError(f"n_graphs must be a whole number from 1 to {MOST_GRAPHS}, not {graphs!r}")
        if not is_seed(plain(self.random_state)):
            raise InputError(f"random_state must be a whole number of at least 0, not {self.random_state!r}")
        return chosen_hints(self.kinds, self.missing, self.log)

    def _learn(self, cohort: Cohort) -> Self:
        assert cohort.rows is not None, "a reference group is in memory"
        values, of_cases = cohort.rows[0], cohort.rows[1] == 1
        self._refuse(values[~of_cases], cohort)
        if cohort.classes.size:
            self.classes_ = cohort.classes
            if self.positive is None:
                warn_of_choice(
                    self.classes_, cohort.label_name, "choose by positive={1} or positive={0}", stacklevel=4
                )
        elif "classes_" in vars(self):
            del self.classes_
        seed, graphs = int(self.random_state), int(self.n_graphs)
        with counting_progress(self.progress, "graphs", graphs, 0) as advance:
            learned = learn_reference(
                values[~of_cases],
                values[of_cases],
                cohort.layout,
                graphs,
                seed,
                self.mechanism != MECHANISMS[0],
                advance,
            )
        self._encoding = cohort.encoding
        self._set_model(learned.reference, learned.completion)
        self.provenance_ = self._how_it_was_made(learned, cohort, int((~of_cases).sum()))
        warn_of_fit(self.provenance_)
        return self

    def _refuse(self, reference: F64, cohort: Cohort) -> None:
        """Refuse a reference group that is too small, or in which a column does not vary."""
        n, q = reference.shape
        if n < FEWEST_ROWS:
            raise InputError(
                f"the reference group has {plural(n, 'row')}, and a departure from so few is no news: give "
                f"at least {FEWEST_ROWS}"
            )
        if q > MOST_COLUMNS:
            raise InputError(
                f"{q} columns are more than the search for graphs takes, {MOST_COLUMNS}: leave out those "
                "that no one would look at"
            )
        seen = ~np.isnan(reference)
        low = np.min(reference, axis=0, where=seen, initial=np.inf)
        high = np.max(reference, axis=0, where=seen, initial=-np.inf)
        refuse_constant([cohort.encoding.seen_names[c] for c in np.flatnonzero(~(low < high))])

    def _how_it_was_made(self, learned: Learned, cohort: Cohort, n_rows: int) -> dict[str, Any]:
        kind: Any = type(self)  # mypy doubts that classes have hashes
        parameters = {name: getattr(self, name) for name in parameter_names(kind)}
        made: dict[str, Any] = {
            "rootcausal": __version__,
            "parameters": plain_parameters(parameters, cohort.encoding.logged()),
            "rows": n_rows,
            **cohort.facts,
            "columns": learned.reference.layout.n_variables,
            "kinds": cohort.encoding.described(),
            "exhausted": [cohort.encoding.column_names[c] for c in learned.exhausted],
            "autocorrelation_time": learned.time,
            "converged": learned.converged,
        }
        if learned.imputation is not None:
            made["missing"] = {
                "cells": int(np.asarray(learned.imputation.missing).sum()),
                "rows": int(learned.imputation.rows),
                "converged": bool(learned.imputation.converged),
            }
        if cohort.reading:
            made["reading"] = dict(cohort.reading)
        return made

    def _set_model(self, reference: Reference, completion: Completion) -> None:
        self._reference, self._completion = reference, completion
        self.arrow_probability_ = reference.arrows()

    def explain(self, X: Any, ids: Any = None, groups: Any = None, alpha: float | None = None) -> Departures:
        """What each row, or each group of rows, departs from.

        Parameters
        ----------
        X : rows, with the columns of the fit. A variable that was not measured is not judged, and others are
            judged with the doubt that it leaves.
        ids : what to call the rows, (n,) or the name of a column of X; by default their numbers.
        groups : (n,) what each row belongs to, or the name of a column of X: a period of an incident, the
            rows of one patient. Each group is then told as one: what all of its rows have in common.
        alpha : the rate of false alarms, where it is not that of the model.
        """
        check_is_fitted(self)
        level = self.alpha if alpha is None else alpha
        if not isinstance(level, Real) or isinstance(level, bool) or not 0.0 < level < 1.0:
            raise InputError(f"alpha must be between 0 and 1, a share of rows, not {level!r}")
        if ids is not None and groups is not None:
            raise InputError("a group is called by its own name: leave ids out, or groups")
        from ..explaining.departures import Departures

        what = "ids" if groups is None else "groups"
        X, names = self._with_names(X, ids if groups is None else groups, what)
        matrix = self._rows(X)
        called = patient_ids(names, len(matrix.values))
        places = None
        if groups is not None:
            called, places = grouped(called)
        return Departures.of(
            self._reference,
            matrix,
            self._encoding.variables,
            called,
            places,
            float(level),
            self.provenance_,
        )

    def _with_names(self, X: Any, names: Any, what: str) -> tuple[Any, Any]:
        if isinstance(names, str) and names in getattr(self, "feature_names_in_", ()):
            raise InputError(f"{what}={names!r} is one of the model's variables: choose a column that is not")
        return with_ids(X, names, what)

    def _rows(self, X: Any) -> Matrix:
        """Rows that can be scored."""
        reference = self._reference
        completion = self._completion if self.missing == "impute" else None
        return matrix_for_scoring(
            self, X, reference.used, reference.reach(), self._encoding, completion, None, reference.used
        )

    def scores(self, X: Any) -> F64:
        """(n, p): surprises in nats, ``-inf`` for variables that are not judged: what the metrics take."""
        found = self.explain(X).surprise
        return np.where(np.isnan(found), -np.inf, found)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a single file that :meth:`load` reads; no pickle, and no rows."""
        from .saving import save_reference

        check_is_fitted(self)
        save_reference(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model written by :meth:`save`; any other file, or a damaged one, is refused."""
        from .saving import load_reference

        return load_reference(cls, path)


def numbers_with_levels(cohort: Cohort, hints: ColumnHints) -> list[str]:
    """Variables of few different numbers that were taken for levels, and of which the user did not say so."""
    return [
        variable.name
        for place, variable in enumerate(cohort.variables)
        if variable.levels
        and all(type(level) is float for level in variable.levels)
        and not {variable.name, place} & set(hints.kinds)
    ]


def grouped(names: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Index, ...]]:
    """The groups in the order in which they first come, and the rows of each."""
    rows: dict[Any, list[int]] = {}
    try:
        for row, name in enumerate(names):
            rows.setdefault(name, []).append(row)
    except TypeError:
        raise InputError("groups must hold one name a row: numbers or texts") from None
    return tuple(rows), tuple(np.array(some, dtype=np.intp) for some in rows.values())


def warn_of_fit(made: dict[str, Any]) -> None:
    """Say what is unsure about a reference group."""
    said = []
    if made["exhausted"]:
        named = listed([quoted(name) for name in made["exhausted"]])
        said.append(f"others explain {named} wholly, so that nothing can depart from it: left out")
    if made["rows"] < FEW_ROWS:
        said.append(
            f"small p-values rest on the {made['rows']} rows of the reference group, which are few: they are "
            "those of an exponential tail"
        )
    time = made["autocorrelation_time"]
    if time > FOLLOW_EACH_OTHER:
        said.append(
            f"rows follow each other in time: about {time:.0f} of the reference group tell as much as one, "
            f"so that it counts for {made['rows'] / time:,.0f}; if they do not, shuffle them"
        )
    if not made["converged"]:
        said.append(
            "the search for graphs did not converge: some variable has more causes than are looked for"
        )
    for text in said:
        warn(text)
