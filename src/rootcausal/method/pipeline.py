"""The whole method on one cohort: screen and order, errors, attribution (paper, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple, Protocol, Self

import numpy as np

from .attribution.direct_causes import ancestors_left_out
from .attribution.regression import WEAK_PENALTY, regress, separates
from .attribution.sparse import EXPECTED_CAUSES_OF_D, attribute
from .attribution.spike_slab import Prior
from .layout import Layout
from .linear import LinearMechanism
from .missing.completion import Completion
from .missing.imputation import MOST_COLUMNS, Imputation, impute, most_dependent, worth_filling
from .missing.sums import IncompleteRaw
from .missing.tails import PASSES
from .model import CausalModel
from .model_parts import Attribution, Mechanism
from .moments import Columns
from .ordering.ordering import OnRound, Ordering, Variant, order_columns
from .outcome import Outcome
from .table import F64, Index, RawTable
from .weighted import ClassWeights

# Where the level of the test was not chosen, none is dropped of up to so many variables. Of more, about so
# many that have no effect may pass, and the level is at least that of the paper.
NOT_SCREENED = 50
BY_CHANCE = 20.0
LEAST_LEVEL = 0.2


@dataclass(frozen=True)
class Attributed:
    """What the errors add to the outcome, and how that came about.

    Attributes
    ----------
    attribution : scores errors.
    separated : whether the errors decide for all patients, or for some, so that only a prior keeps
        coefficients finite.
    converged : whether every iteration came to rest before its limit.
    ancestor_probability : (k,) in causal order, zero for covariates; None where every survivor is taken for
        an ancestor.
    mixing : (k, k) of these errors, by the graph that was found; None where they are those of the search.
    """

    attribution: Attribution
    separated: bool
    converged: bool
    ancestor_probability: F64 | None
    mixing: F64 | None = None


@dataclass(frozen=True)
class AttributionMethod:
    """A way from the errors to the outcome.

    Attributes
    ----------
    name : what users call it.
    attribute : given an ordering, the number of columns of the cohort, what their outcome is like, and for
        a resample what draws effects from what is believed of them; the predictions it leads to are those of
        the population.
    prior : in words, what keeps coefficients finite where the errors separate the classes.
    takes_known_causes : whether it asks what is known to act on the outcome, or not to.
    draws : whether a resample has effects drawn from what is believed of them.
    """

    name: str
    attribute: Callable[[Ordering, int, Outcome, np.random.Generator | None], Attributed]
    prior: str
    takes_known_causes: bool = False
    draws: bool = False


def _by_sparse_causes(
    ordering: Ordering, n_columns: int, outcome: Outcome, rng: np.random.Generator | None
) -> Attributed:
    """Few direct causes of D, and the paths that lead to them (see
    :mod:`rootcausal.method.attribution.sparse`).
    """
    loss = outcome.loss(ordering.table, ordering.table_cols)
    effective_rows = ordering.weights.effective_rows
    beside, first = ordering.n_covariates, ordering.n_first
    prior = Prior(
        EXPECTED_CAUSES_OF_D,
        n_columns - beside,
        outcome.variance,
        certain=ordering.acts[beside:],
        barred=ordering.does_not_act[beside:],
    )
    ancestry = attribute(loss, ordering.mixing, ordering.variable, prior, effective_rows, beside, first, rng)
    fitted, found = ancestry.fitted, replace(ordering, mixing=ancestry.mixing)
    effects = found.effects(ancestry.effects)
    return Attributed(
        outcome.attribution(effects, fitted.baseline, ordering.weights),
        separates(loss, fitted),
        fitted.converged,
        ancestry.probability,
        ancestry.mixing,
    )


def _by_regression(
    ordering: Ordering, n_columns: int, outcome: Outcome, rng: np.random.Generator | None
) -> Attributed:
    """D on all errors, by maximum likelihood (paper, Algorithm 1)."""
    fitted = regress(outcome.loss(ordering.table, ordering.table_cols), ordering.table_cols.size)
    attribution = outcome.attribution(ordering.effects(fitted.coef), fitted.baseline, ordering.weights)
    return Attributed(attribution, fitted.separated, fitted.converged, None)


ATTRIBUTIONS = {
    method.name: method
    for method in (
        AttributionMethod("sharp", _by_sparse_causes, "the prior of the default attribution", True, True),
        AttributionMethod(
            "paper", _by_regression, f"a weak penalty (prior sd {WEAK_PENALTY**-0.5:g} a unit of error)"
        ),
    )
}


@dataclass(frozen=True)
class Settings:
    """What there is to choose.

    Attributes
    ----------
    variant : of the ordering.
    alpha : the level of its test; None goes by the number of variables (see :meth:`level`).
    attribution : from errors to the outcome.
    prevalence : share of the population that has the disease; None where the sample is the population.
    imputation_seed : of the noise with which missing values are filled in.
    effect_seed : of the effects that are drawn for a resample; None takes what is expected of them.
    mechanism : by what name the estimator calls the way from errors to values; here it is linear.
    """

    variant: Variant
    alpha: float | None
    attribution: AttributionMethod
    prevalence: float | None = None
    imputation_seed: int = 0
    effect_seed: int | None = None
    mechanism: str = "linear"

    @property
    def takes_known_causes(self) -> bool:
        """Whether what is known to act on the outcome, or not to, is taken in."""
        return self.attribution.takes_known_causes

    def level(self, n_variables: int) -> float:
        """The level of the test: that which was chosen, or one that lets few columns pass by chance.

        The test is there to spare work, and to keep away from the attribution what has no effect. Where
        columns are few, neither is worth the weak causes that it would take with it.
        """
        if self.alpha is not None:
            return self.alpha
        return 1.0 if n_variables <= NOT_SCREENED else max(LEAST_LEVEL, BY_CHANCE / n_variables)


class Searched(Protocol):
    """What a search leaves to be said of it, whatever mechanism it was for.

    Attributes
    ----------
    order, margins, exhausted, adds_nothing, p_added, n_pairs, weights : as in
    :class:`rootcausal.method.ordering.ordering.Ordering`.
    """

    @property
    def order(self) -> Index: ...
    @property
    def margins(self) -> F64: ...
    @property
    def exhausted(self) -> Index: ...
    @property
    def adds_nothing(self) -> Index: ...
    @property
    def p_added(self) -> F64: ...
    @property
    def n_pairs(self) -> int: ...
    @property
    def weights(self) -> ClassWeights: ...

    def on_columns(self, columns: Index) -> Self:
        """The same in a larger table, where column c is ``columns[c]``."""
        ...


class Found(NamedTuple):
    """What a learner makes of rows without missing values, by their columns."""

    ordering: Searched
    mechanism: Mechanism
    attributed: Attributed


class Learner(Protocol):
    """What is to be learned of a cohort: how its values come from errors, and these lead to the outcome.

    :func:`learn` fills in missing values before, and puts what is found into the whole table after.
    """

    def to_fill(
        self, columns: Columns, layout: Layout, level: float, settings: Settings, outcome: Outcome
    ) -> tuple[Index, float]:
        """The columns that are worth filling in, as
        :func:`rootcausal.method.missing.imputation.worth_filling` has them.
        """
        ...

    def learn(
        self,
        raw: RawTable,
        columns: Columns,
        layout: Layout,
        level: float,
        settings: Settings,
        outcome: Outcome,
        n_columns: int,
        on_round: OnRound | None,
    ) -> Found:
        """Learn from rows; ``level`` is that of the screen, ``n_columns`` how many the cohort has in all."""
        ...


class LinearLearner:
    """Direct LiNGAM, and a linear predictor of the errors."""

    def to_fill(
        self, columns: Columns, layout: Layout, level: float, settings: Settings, outcome: Outcome
    ) -> tuple[Index, float]:
        return worth_filling(columns, layout, level, settings.variant.local, outcome)

    def learn(
        self,
        raw: RawTable,
        columns: Columns,
        layout: Layout,
        level: float,
        settings: Settings,
        outcome: Outcome,
        n_columns: int,
        on_round: OnRound | None,
    ) -> Found:
        ordering = order_columns(raw, columns, settings.variant, level, on_round, layout, outcome)
        seed = settings.effect_seed
        rng = None if seed is None else np.random.default_rng(seed)
        attributed = settings.attribution.attribute(ordering, n_columns, outcome, rng)
        # The search's own errors stay in what is said of it: a sparse graph leaves others.
        mixing = ordering.mixing if attributed.mixing is None else attributed.mixing
        return Found(ordering, replace(ordering, mixing=mixing).mechanism(raw.shape[1]), attributed)


LINEAR_LEARNER = LinearLearner()


@dataclass(frozen=True)
class Learned:
    """A model and how it came about.

    Attributes
    ----------
    model : scores patients.
    ordering : what the search found.
    separated : whether the errors decide for all patients, or for some, so that only a prior keeps
        coefficients finite.
    converged : whether every iteration came to rest before its limit.
    ancestor_probability : (p,) by variable, also of those that were dropped; None with the paper's
        attribution, which takes every survivor for an ancestor.
    complete : works out what is expected of values that new patients lack.
    imputation : what was filled in; None where nothing was missing.
    """

    model: CausalModel
    ordering: Searched
    separated: bool
    converged: bool
    ancestor_probability: F64 | None
    complete: Callable[[], Completion]
    imputation: Imputation | None

    @cached_property
    def completion(self) -> Completion:
        """What is expected of values that new patients lack; a resample is never asked."""
        return self.complete()

    @property
    def margins(self) -> F64:
        """(v,) by how much each variable of the model's order won, when its first column did."""
        return self.model.at_first_column(self.ordering.margins)


def learn(
    raw: RawTable | IncompleteRaw,
    columns: Columns,
    settings: Settings,
    on_round: OnRound | None = None,
    layout: Layout | None = None,
    outcome: Outcome | None = None,
    learner: Learner = LINEAR_LEARNER,
) -> Learned:
    """Learn a model from rows with an outcome; no column may be constant, or without any value.

    ``layout`` says what the columns stand for, and what is known of their order; by default all are numbers,
    of which nothing is known. ``outcome`` is what the rows have. Missing values are filled in (see
    :mod:`rootcausal.method.missing.imputation`).
    """
    p = raw.shape[1]
    layout = Layout.numbers(p) if layout is None else layout
    assert outcome is not None, "a model is of an outcome"
    level = settings.level(layout.n_variables)
    expected = ClassWeights.of(settings.prevalence, columns.moments.count)
    assert columns.weights == expected, "the columns were described for another prevalence"
    asked = (level, settings, outcome, p, on_round)
    if isinstance(raw, IncompleteRaw):
        to_fill = learner.to_fill(columns, layout, level, settings, outcome)
        imputed = impute(raw, columns, layout, to_fill, settings.imputation_seed, outcome, on_round)
        found = learner.learn(imputed.raw, imputed.columns, imputed.layout, *asked)
        for turn in range(PASSES if imputed.view.limits is not None else 0):
            if isinstance(found.mechanism, LinearMechanism) and found.mechanism.order.size:
                imputed = imputed.again(found.mechanism, turn)
                found = learner.learn(imputed.raw, imputed.columns, imputed.layout, *asked)
        ordering = found.ordering.on_columns(imputed.chosen)
        mechanism = found.mechanism.on_columns(imputed.chosen, p)
        complete, imputation = lambda: imputed.completion, imputed.imputation
    else:
        found = learner.learn(raw, columns, layout, *asked)
        ordering, mechanism = found.ordering, found.mechanism
        complete = partial(completion_of, raw, columns, layout, settings, ordering.order, outcome)
        imputation = None
    attributed, probability = found.attributed, None
    if attributed.ancestor_probability is not None:
        of_places = attributed.ancestor_probability
        probability = layout.any_of(_of_all(of_places, ordering, columns, layout, outcome))
    return Learned(
        CausalModel(mechanism, attributed.attribution, layout),
        ordering,
        attributed.separated,
        attributed.converged,
        probability,
        complete,
        imputation,
    )


def _of_all(probability: F64, ordering: Searched, columns: Columns, layout: Layout, outcome: Outcome) -> F64:
    """(q,) that each column is an ancestor, by that (k,) of the ordered ones.

    Columns that earlier roots explain wholly have no effect of their own.
    """
    every = np.zeros(layout.n_columns)
    every[ordering.order] = probability
    if every.size == ordering.order.size + ordering.exhausted.size:
        return every
    p_values = outcome.p_values(columns.moments).copy()
    p_values[ordering.adds_nothing] = ordering.p_added
    out = ~layout.covariate
    out[ordering.order], out[ordering.exhausted] = False, False
    inside = ordering.order[~layout.covariate[ordering.order]]
    every[out] = ancestors_left_out(p_values[out], p_values[inside], every[inside])
    return every


def completion_of(
    raw: RawTable, columns: Columns, layout: Layout, settings: Settings, order: Index, outcome: Outcome
) -> Completion:
    """The joint Gaussian of a complete cohort: of the causal order, and of other columns beside it.

    Most of what tells of a missing value are columns that the screen left out.
    """
    n, p = raw.shape
    chosen = np.arange(p)
    if settings.variant.local and p > MOST_COLUMNS:
        chosen, _ = most_dependent(outcome.p_values(columns.moments), layout, np.inf, order)
    gram = columns.weights.total(raw.gram(chosen, columns.mean[chosen], columns.sd[chosen]))
    return Completion.of_gram(columns, chosen, gram, n)
