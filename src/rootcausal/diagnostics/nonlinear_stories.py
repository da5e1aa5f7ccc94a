"""Which comes first, a column or the outcome, where relations bend: two graphs, and what each costs.

Cause: the cheapest graph in which the outcome comes after every column. Effect: the cheapest one in which the
outcome acts on the column, and the column on nothing. Both are searched for by the learner of nonlinear
mechanisms, from the model's own arrows on, and their description lengths are log-likelihoods, so that the
difference is the log of how many times likelier an effect is. Neither is held to what was said of the order:
where that is wrong, both may say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from ..backends.choose import whole_rows
from ..method.layout import NO_LEVELS, Layout
from ..method.moments import describe_columns
from ..method.table import F64, Index
from ..nonlinear.fitting import Fitted
from ..nonlinear.learning import GraphCohort
from ..nonlinear.memory_rows import HeldRows
from ..nonlinear.rows import TERMS_A_CAUSE
from ..nonlinear.search import Causes, Found, GraphSearch
from .evidence import Evidence, standardized
from .story import Told

# So many times likelier must an effect be for others to be asked beside it.
TAKEN = 50.0
# Nats by which the graph of an effect is better by chance, since forms and causes are chosen anew.
BY_CHOICE = 3.0


def nonlinear_stories(
    evidence: Evidence, values: F64, measured: np.ndarray, by_lines: Sequence[Told], unit: float
) -> list[Told]:
    """Of the columns of which lines were asked: the likelier of what these say, and of what graphs say.

    The likeliest effect is taken for one, and then the others are asked beside it: what is mistaken for a
    cause makes others look like effects.

    Parameters
    ----------
    evidence : errors, in causal order, and arrows of the model.
    values : (n, k) of the same columns.
    measured : (n, k) which errors rest on measurements: what was drawn knows the outcome.
    by_lines : told by lines, of the places that are asked.
    unit : by which the outcome moves a column, in standard deviations of the outcome.
    """
    graphs: dict[bytes, _Graphs] = {}
    of_place = {}
    for place in (one.place for one in by_lines):
        rows = measured[:, place]
        key = rows.tobytes()
        if key not in graphs:
            graphs[key] = _Graphs.of(evidence, values[rows], evidence.known[rows])
        of_place[place] = graphs[key]
    told: dict[int, Told] = {}
    for one in by_lines:
        by_graphs = of_place[one.place].told(one.place, frozenset(), unit)
        told[one.place] = max(one, by_graphs, key=lambda story: story.log_times)
    effects, left = frozenset[int](), set(of_place)
    # What is no effect as it is does not become one beside another.
    while left := {place for place in left if told[place].log_times > np.log(TAKEN) and told[place].shift}:
        effects |= {max(left, key=lambda place: told[place].log_times)}
        left -= effects
        for place in left:
            told[place] = of_place[place].told(place, effects, unit)
    return [told[one.place] for one in by_lines]


@dataclass(eq=False)
class _Graphs:
    """Graphs of the columns and the outcome, which comes last among the variables.

    Attributes
    ----------
    search : for the cheapest graph; what it worked out serves all graphs.
    variable : (k,) the variable of each column.
    arrows : the causes of each variable in the model.
    learned : (v,) of which variables mechanisms are learned at all.
    n_rows : how many patients.
    """

    search: GraphSearch
    variable: Index
    arrows: tuple[Causes, ...]
    learned: np.ndarray
    n_rows: int
    _found: dict[frozenset[int], Found] = field(default_factory=dict)

    @classmethod
    def of(cls, evidence: Evidence, values: F64, known: F64) -> Self:
        variable = np.unique(evidence.owner, return_index=True)[1].argsort().argsort()
        variable = variable[np.unique(evidence.owner, return_inverse=True)[1]]
        v, n = int(variable[-1]) + 1, len(values)
        columns = np.asfortranarray(standardized(np.column_stack([values, known])))
        two = np.unique(known).size == 2
        levels = [
            np.unique(column) if discrete else NO_LEVELS
            for column, discrete in zip(columns.T, np.append(evidence.with_levels, two), strict=True)
        ]
        layout = Layout(np.append(variable, v), tuple(levels))
        described = describe_columns(whole_rows("numba", columns, None))
        held = HeldRows(np.ascontiguousarray(columns.T), np.ones(n), ())
        cohort = GraphCohort.of(held, described, np.arange(layout.n_columns), layout)
        arrows: list[set[int]] = [set() for _ in range(v + 1)]
        for effect, cause in np.argwhere(evidence.arrows).tolist():
            if variable[effect] != variable[cause]:
                arrows[variable[effect]].add(int(variable[cause]))
        learned = np.append(evidence.searched[np.searchsorted(variable, np.arange(v))], True)
        search = GraphSearch(cohort.fitter(True), cohort.variables, np.ones((v + 1, v + 1), dtype=bool))
        return cls(search, variable, tuple(map(frozenset, arrows)), learned, n)

    def told(self, place: int, effects: frozenset[int], unit: float) -> Told:
        """Of the column at a place, where those at others are effects."""
        among = frozenset(self.variable[list(effects)].tolist())
        one = int(self.variable[place])
        cause, effect = self._cheapest(among), self._cheapest(among | {one}, among)
        nats = cause.cost - effect.cost - BY_CHOICE
        return Told(place, nats, self._shift(effect.fitted[place], unit), self.n_rows)

    def _cheapest(self, effects: frozenset[int], fewer: frozenset[int] | None = None) -> Found:
        """The cheapest graph in which some variables are effects of the outcome, from one with fewer on."""
        if effects not in self._found:
            outcome = len(self.arrows) - 1
            allowed = ~np.eye(len(self.arrows), dtype=bool) & self.learned[:, None]
            allowed[:, [outcome, *effects]] = False
            allowed[list(effects), outcome] = True
            start = self.arrows if fewer is None else self._cheapest(fewer).causes
            causes = [some - effects for some in start]
            for one in effects:
                causes[one] |= {outcome}
            self._found[effects] = self.search.again(causes, allowed)
        return self._found[effects]

    def _shift(self, fitted: Fitted, unit: float) -> float:
        """By how many standard deviations of its error a column is moved by a unit of the outcome."""
        outcome = (TERMS_A_CAUSE * self.variable.size, -1)
        if outcome not in fitted.terms:
            return 0.0
        size = fitted.sd * np.exp(0.0 if fitted.gamma is None else fitted.gamma[0])
        return float(fitted.beta[1 + fitted.terms.index(outcome)] * unit / size)
