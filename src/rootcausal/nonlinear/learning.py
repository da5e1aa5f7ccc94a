"""The whole method on one cohort where relations may be nonlinear: screen, graph, mechanisms, risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.stats import chi2

from ..backends.blas import one_blas_thread
from ..method.layout import Layout
from ..method.missing.imputation import MOST_NONLINEAR, most_dependent
from ..method.missing.sums import IncompleteRaw
from ..method.moments import EXHAUSTED
from ..method.moments import Columns as Described
from ..method.ordering.ordering import OnRound
from ..method.outcome import Outcome
from ..method.pipeline import LINEAR_LEARNER, Attributed, Found, Learned, Learner, Searched, Settings, learn
from ..method.table import F64, Index, RawTable
from ..method.weighted import ClassWeights, standardized
from .ancestors import ancestors
from .attribution import STEPS, NonlinearAttribution, nonlinear_kind
from .curves import PIECES, Splines
from .fitting import Fitted, Fitter
from .measured import MeasuredFitter, MeasuredRows
from .mechanism import Columns, NonlinearMechanism, build, parts_of, strengths
from .places import rows_of
from .risk import Risk, RiskSearch
from .rows import TERMS_A_CAUSE, Designs, NonlinearRows, PlainRows, Told
from .search import Found as Graph
from .search import GraphFitter, GraphSearch
from .sum_kernels import entropies
from .ties import heaps_of

# Whether anything bends: what lines leave of each column and of the outcome, before curves are searched.
#
# In causal order, a column's errors are what all columns before it leave of it along lines. Where relations
# are linear they have nothing in common with curves of these, nor have their sizes: score tests say so
# without a single curve being fitted. Where the order is wrong because something bends, that shows in the
# same way.

# Added to the variance of each column: what others explain but for less has no errors to look at.
FIRST_LOOK_RIDGE = 1e-6
# Of what a curve costs (BIC), so much has to be seen: a fit finds more where errors are not Gaussian.
SEEN = 0.75


@one_blas_thread()
def nats_in_sight(
    raw: RawTable, columns: Described, layout: Layout, outcome: Outcome, order: Index
) -> tuple[float, float]:
    """By how many nats, about, curves may describe columns better than lines, and tell the outcome.

    The first is of the best curve of each column, next to nothing where none is worth its price;
    ``order`` are columns in causal order, by lines.
    """
    every = np.arange(layout.n_columns)
    plain = rows_of(standardized(raw, columns.weights, every, columns.mean, columns.sd))
    splines = Splines.of(plain, layout.binary)
    rows = plain.prepared(splines, (np.empty(0),) * every.size, {})
    price = 0.5 * SEEN * float(np.log(columns.weights.effective_rows))
    told = _told(rows, splines, order, layout.discrete[order], price)
    of_columns = float(np.where(_may_act(layout, order), told, 0.0).max(axis=1, initial=0.0).sum())
    return of_columns, _of_outcome(rows, splines, layout, outcome, float(columns.moments.count.sum()))


def _told(rows: NonlinearRows, splines: Splines, order: Index, levels: np.ndarray, price: float) -> F64:
    """(k, k), ``[i, j]``: nats that a curve of j tells of the error of i, and of its size, beyond its price.

    Of an effect with ``levels`` the size says nothing: how far a level is from its mean differs by itself.
    """
    rows.keep_errors(_along_lines(rows.gram() / rows.weight, order))
    shared = rows.dependence(order).reshape(order.size, 2, splines.width.size, TERMS_A_CAUSE)[:, :, order]
    width = splines.width[order]
    curve = 0.5 * shared[:, 0, :, 1:].sum(axis=2) - price * (width - 1)
    spread = 0.5 * shared[:, 1].sum(axis=2) - price * width
    spread[levels] = 0.0
    told: F64 = np.maximum(curve, 0.0) + np.maximum(spread, 0.0)
    return told


def _along_lines(gram: F64, order: Index) -> list[Told]:
    """What columns in causal order tell of each one after them, along lines."""
    k = order.size
    root = np.linalg.cholesky(gram[np.ix_(order, order)] + FIRST_LOOK_RIDGE * np.eye(k))
    inverse = solve_triangular(root, np.eye(k), lower=True) if k else root
    lines = [(TERMS_A_CAUSE * int(column), -1) for column in order]
    return [
        Told(
            Designs.of([int(column)], [lines[:place]]),
            np.append(0.0, -inverse[place, :place] / inverse[place, place]),
        )
        for place, column in enumerate(order)
    ]


def _may_act(layout: Layout, order: Index) -> np.ndarray:
    """(k, k), ``[i, j]``: whether column j of the order comes before i, and what it does to it is learned."""
    variable = layout.variable[order]
    may = np.tri(order.size, k=-1, dtype=bool) & (variable[:, None] != variable)
    first = layout.kept[order]
    may &= ~(first[:, None] & first)
    return may


def _of_outcome(
    rows: NonlinearRows, splines: Splines, layout: Layout, outcome: Outcome, n_rows: float
) -> float:
    known, v = layout.precedence, layout.n_variables
    unknown = np.zeros(v, dtype=bool)
    covariates, acts, does_not = (
        [unknown] * 3 if known is None else [known.covariate, known.acts, known.does_not]
    )
    variables = [layout.columns_of(variable).tolist() for variable in range(v)]
    telling = outcome.n_telling(n_rows)
    search = RiskSearch(splines.width, variables, rows.table, outcome, acts, does_not, telling)
    return search.saved(np.flatnonzero(covariates).tolist())


# An error that is less than this part of its column is rounding: the column is made of its causes.
LEAST_OWN = 1e-4
# Where rows are at least so many times as many, a graph is first looked for among so many of them.
SEARCHED_ROWS = 10_000
MANY_TIMES = 2


@dataclass(frozen=True, eq=False)
class GraphOrder:
    """What a search for a graph leaves to be said of it; see
    :class:`rootcausal.method.ordering.ordering.Ordering`.

    ``saved`` is by how many nats it describes the patients in less than lines would, ``of_outcome`` by how
    many curves and products tell the outcome in less than lines.
    """

    order: Index
    margins: F64
    exhausted: Index
    adds_nothing: Index
    p_added: F64
    n_pairs: int
    weights: ClassWeights
    saved: float
    of_outcome: float

    def on_columns(self, columns: Index) -> GraphOrder:
        return replace(self, order=columns[self.order], exhausted=columns[self.exhausted])


def nats_saved(ordering: Searched) -> tuple[float, float]:
    """By how many nats a graph describes the patients in less than lines would, and curves the outcome."""
    return (ordering.saved, ordering.of_outcome) if isinstance(ordering, GraphOrder) else (0.0, 0.0)


class NonlinearLearner:
    """A graph by the shortest description of its columns, and a risk of the variables pushed through it."""

    def to_fill(
        self, columns: Described, layout: Layout, level: float, settings: Settings, outcome: Outcome
    ) -> tuple[Index, float]:
        return _looked_at(columns, layout, outcome), 1.0

    @one_blas_thread()
    def learn(
        self,
        raw: RawTable,
        columns: Described,
        layout: Layout,
        level: float,
        settings: Settings,
        outcome: Outcome,
        n_columns: int,
        on_round: OnRound | None,
    ) -> Found:
        chosen = _looked_at(columns, layout, outcome)
        table = standardized(raw, columns.weights, chosen, columns.mean[chosen], columns.sd[chosen])
        cohort = GraphCohort.of(rows_of(table), columns, chosen, layout.take(chosen), outcome)
        exhausted = cohort.combinations()
        cohort = cohort.without(exhausted)
        left_out = [exhausted]
        if settings.variant.local:
            cohort = cohort.without(cohort.independent(level))
        while True:
            graph = cohort.search(on_round)
            made = cohort.made_of_others(graph)
            if not made.size:
                break
            left_out.append(made)
            cohort = cohort.without(made)
        order = cohort.causal_order(graph)
        mechanism = build(cohort.columns, order, graph.fitted, cohort.rows, cohort.n_columns)
        errors = cohort.error_quantiles(order, graph)
        rng = None if settings.effect_seed is None else np.random.default_rng(settings.effect_seed)
        risk = cohort.risk_search().run(np.flatnonzero(cohort.covariates).tolist(), rng)
        attribution = cohort.attribution(mechanism, order, risk, errors)
        of_columns = cohort.columns.column
        ordering = GraphOrder(
            of_columns[order] if len(order) else np.empty(0, dtype=np.intp),
            cohort.margins(graph)[order] if len(order) else np.empty(0),
            np.sort(np.concatenate(left_out)),
            np.empty(0, dtype=np.intp),
            np.empty(0),
            graph.n_fits,
            columns.weights,
            graph.saved,
            risk.saved,
        )
        probability = cohort.ancestor_probability(graph, risk)[np.array(order, dtype=np.intp)]
        attributed = Attributed(attribution, risk.separated, graph.converged and risk.converged, probability)
        return Found(ordering, mechanism.on_columns(of_columns, raw.shape[1]), attributed)


NONLINEAR_LEARNER = NonlinearLearner()


def _looked_at(columns: Described, layout: Layout, outcome: Outcome) -> Index:
    """Columns among which relations are looked for; what D does not depend on is told by curves, later."""
    if layout.n_columns <= MOST_NONLINEAR:
        return np.arange(layout.n_columns)
    p_values = outcome.p_values(columns.moments)
    return most_dependent(p_values, layout, np.inf, np.flatnonzero(layout.kept), MOST_NONLINEAR)[0]


@dataclass(frozen=True, eq=False)
class GraphCohort:
    """Columns that are looked at, and what is known of them.

    Attributes
    ----------
    columns : what they are like; ``columns.column`` are their places in the whole table.
    rows : of the cohort.
    layout : which variable each belongs to.
    outcome : what happened to the patients; None where a graph alone is learned.
    described : moments of all columns of the table.
    """

    columns: Columns
    rows: NonlinearRows
    layout: Layout
    outcome: Outcome | None
    described: Described

    @classmethod
    def of(
        cls,
        plain: PlainRows,
        described: Described,
        chosen: Index,
        layout: Layout,
        outcome: Outcome | None = None,
    ) -> Self:
        mean, sd = described.mean[chosen], described.sd[chosen]
        level_values = tuple((levels - m) / s for levels, m, s in zip(layout.levels, mean, sd, strict=True))
        splines = Splines.of(plain, layout.binary)
        numbers = [column for column, values in enumerate(level_values) if not values.size]
        rows = plain.prepared(splines, level_values, heaps_of(plain, numbers))
        return cls(Columns(chosen, mean, sd, splines, level_values), rows, layout, outcome, described)

    @property
    def n_columns(self) -> int:
        return self.columns.column.size

    @property
    def variables(self) -> list[list[int]]:
        """The columns of each variable."""
        return [self.layout.columns_of(v).tolist() for v in range(self.layout.n_variables)]

    @property
    def covariates(self) -> np.ndarray:
        """(v,) which variables are adjusted for."""
        known = self.layout.precedence
        return np.zeros(self.layout.n_variables, dtype=bool) if known is None else known.covariate

    @property
    def acts(self) -> np.ndarray:
        """(v,) which variables are known to act on the outcome."""
        known = self.layout.precedence
        return np.zeros(self.layout.n_variables, dtype=bool) if known is None else known.acts

    @property
    def barred(self) -> np.ndarray:
        """(v,) which variables are known not to act on it."""
        known = self.layout.precedence
        return np.zeros(self.layout.n_variables, dtype=bool) if known is None else known.does_not

    @property
    def kept(self) -> np.ndarray:
        """(v,) which variables no test drops."""
        known = self.layout.precedence
        return np.zeros(self.layout.n_variables, dtype=bool) if known is None else known.kept

    @property
    def n_rows(self) -> float:
        """Patients of equal weight who tell as much of mechanisms."""
        return self.described.weights.effective_rows

    def fitter(self, nonlinear: bool) -> GraphFitter:
        levels = np.array([values.size for values in self.columns.level_values], dtype=np.intp)
        known = (self.columns.splines, levels, self.n_rows, entropies, nonlinear)
        measured = MeasuredRows.of(self.rows)
        return Fitter(self.rows, *known) if measured is None else MeasuredFitter(measured, *known)

    def without(self, columns: Index) -> Self:
        """The same without the variables of some columns, by their places in the whole table."""
        gone = np.isin(self.columns.column, columns)
        if not gone.any():
            return self
        dropped = np.unique(self.layout.variable[gone])
        stay = np.flatnonzero(~np.isin(self.layout.variable, dropped))
        some = self.columns.splines.of_columns(stay)
        values = tuple(self.columns.level_values[c] for c in stay)
        kept = Columns(
            self.columns.column[stay], self.columns.mean[stay], self.columns.sd[stay], some, values
        )
        return replace(
            self,
            columns=kept,
            rows=self.rows.of_columns(stay),
            layout=self.layout.take(stay),
        )

    def combinations(self) -> Index:
        """Columns that are combinations of others before them, by their places in the whole table."""
        left = self.rows.gram() / self.rows.weight
        gone = []
        for column in range(self.n_columns):
            if left[column, column] < EXHAUSTED:
                gone.append(column)
                continue
            left = left - np.outer(left[column], left[column]) / left[column, column]
        return self.columns.column[np.array(gone, dtype=np.intp)]

    def independent(self, level: float) -> Index:
        """Columns of variables that the outcome does not depend on, neither as a line nor as a curve."""
        lines, curves, freedom = self.risk_search().dependence()
        p_values = np.minimum(chi2.sf(lines, freedom[0]), chi2.sf(curves, freedom[1]))
        dropped = np.flatnonzero((p_values >= level) & ~self.kept)
        return self.columns.column[np.isin(self.layout.variable, dropped)]

    def risk_search(self) -> RiskSearch:
        assert self.outcome is not None, "a risk is of an outcome"
        return RiskSearch(
            self.columns.splines.width,
            self.variables,
            self.rows.table,
            self.outcome,
            self.acts,
            self.barred,
            self.outcome.n_telling(float(self.described.moments.count.sum())),
        )

    def search(self, on_round: OnRound | None) -> Graph:
        """The cheaper of two graphs: a nonlinear one, and one of lines."""
        nonlinear, linear = self.graph(True, on_round), self.graph(False, on_round)
        if nonlinear.cost > linear.cost:
            return linear
        return replace(nonlinear, saved=linear.cost - nonlinear.cost)

    def graph(self, nonlinear: bool, on_round: OnRound | None = None) -> Graph:
        """A graph; where rows are many, of some of them first, from which a search of all goes on."""
        on_fits = None if on_round is None else lambda fits: on_round(fits, None)
        known, v = self.layout.precedence, self.layout.n_variables
        rules = (self.variables, self._allowed(), None if known is None else known.known(np.arange(v)))
        fitter = self.fitter(nonlinear)
        if self.rows.n_rows < MANY_TIMES * SEARCHED_ROWS:
            return GraphSearch(fitter, *rules, on_fits).run()
        few = fitter.sample(SEARCHED_ROWS)
        start = GraphSearch(few, *rules, on_fits).run()
        return GraphSearch(fitter, *rules, on_fits, start, few.n_rows).run()

    def _allowed(self) -> np.ndarray:
        """(v, v), ``[i, j]``: whether j may act on i."""
        v = self.layout.n_variables
        allowed = ~np.eye(v, dtype=bool)
        known = self.layout.precedence
        if known is not None:
            before = known.known(np.arange(v))
            # What comes first was not learned: its columns do not act on each other, nor do covariates.
            allowed &= ~before.T & ~(
                known.kept[:, None] & known.kept[None, :] & (known.stage[:, None] == known.stage)
            )
        return allowed

    def causal_order(self, found: Graph) -> list[int]:
        """Columns in causal order: causes first, in the order of the rules, and else as in the table."""
        v = self.layout.n_variables
        before = np.zeros((v, v), dtype=bool)
        stage = np.zeros(v, dtype=np.intp)
        if self.layout.precedence is not None:
            before, stage = self.layout.precedence.known(np.arange(v)), self.layout.precedence.stage
        for effect, causes in enumerate(found.causes):
            before[effect, list(causes)] = True
        order: list[int] = []
        left = np.ones(v, dtype=bool)
        while left.any():
            free = np.flatnonzero(left & ~before[:, left].any(axis=1))
            first = free[np.argmin(stage[free])]
            left[first] = False
            order += self.variables[int(first)]
        return order

    def made_of_others(self, found: Graph) -> Index:
        """Columns that have no error of their own, by their places in the whole table."""
        size = np.array([one.sd * np.exp(0.0 if one.gamma is None else one.gamma[0]) for one in found.fitted])
        gone = (size < LEAST_OWN) & np.array([one.thresholds is None for one in found.fitted], dtype=bool)
        return self.columns.column[gone] if found.fitted else np.empty(0, dtype=np.intp)

    def margins(self, found: Graph) -> F64:
        """(c,) of each column: what it would cost to turn round the least sure of its variable's arrows."""
        return found.margins[self.layout.variable]

    def error_quantiles(self, order: Sequence[int], found: Graph) -> F64:
        """(k, STEPS) of the errors of columns in causal order, in their own units."""
        fitted = [found.fitted[column] for column in order]
        told = [one.told_of(column, self.n_columns) for column, one in zip(order, fitted, strict=True)]
        quantiles = self.rows.error_quantiles(told, np.linspace(0.0, 1.0, STEPS))
        mean, sd = (np.array([getattr(one, name) for one in fitted])[:, None] for name in ("mean", "sd"))
        return (quantiles - mean) / sd

    def ancestor_probability(self, found: Graph, risk: Risk) -> F64:
        """(c,) of each variable, at its first column: that it is an ancestor of the outcome."""
        told = np.zeros(self.n_columns)
        first = [columns[0] for columns in self.variables]
        told[first] = np.where(self.covariates, 0.0, ancestors(risk.acting, found.arrows, self._allowed()))
        return told

    def attribution(
        self, mechanism: NonlinearMechanism, order: Sequence[int], risk: Risk, quantiles: F64
    ) -> NonlinearAttribution:
        assert self.outcome is not None, "an attribution is of an outcome"
        coef = risk.coefficients
        of_terms = self.outcome.attribution(coef.coef, coef.baseline, self.described.weights)
        told = Fitted(0.0, 0, risk.terms, np.append(0.0, of_terms.unit_effects))
        of_outcome = self.outcome.attribution(np.zeros(len(order)), coef.baseline, self.described.weights)
        curves, products = parts_of(told, self.columns.splines)
        strength = strengths(told, np.empty(0))
        place = {column: at for at, column in enumerate(order)}
        by_place, strong = np.zeros((len(order), PIECES, 4)), np.zeros(len(order))
        for column, (curve, _) in curves.items():
            by_place[place[column]] = curve
        for column, size in strength.items():
            strong[place[column]] = size
        return nonlinear_kind(type(of_outcome)).of(
            mechanism,
            of_outcome,
            by_place,
            strong,
            [(place[a], place[b], weight) for a, b, weight, _ in products],
            quantiles,
            self.rows.extremes()[list(order)].reshape(-1, 2),
        )


# Which learner each mechanism has, by the name that users choose it by.

LINEAR, NONLINEAR = "linear", "nonlinear"


def learn_mechanism(
    raw: RawTable | IncompleteRaw,
    columns: Described,
    settings: Settings,
    on_round: OnRound | None = None,
    layout: Layout | None = None,
    outcome: Outcome | None = None,
) -> Learned:
    """Learn a model by the mechanism that the settings name; see :func:`rootcausal.method.pipeline.learn`."""
    learner: Learner = LINEAR_LEARNER
    if settings.mechanism != LINEAR:
        learner = NONLINEAR_LEARNER
    return learn(raw, columns, settings, on_round, layout, outcome, learner)
