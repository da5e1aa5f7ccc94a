"""The graph of the nonlinear mechanism: arrows are added, turned round and taken away while that costs less.

First the arrow that saves most is added, one after the other, as long as one saves anything and none closes a
circle; then arrows may also go or turn round. What a cause would save is worked out only where errors and
splines have something in common: a score test says where to look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..method.table import F64, Index
from .fitting import Fitted, Fitter
from .rows import TERMS_A_CAUSE, Designs

# A variable that has so many is said not to be converged: others may have been kept out.
MOST_CAUSES = 10
# What the score test has to show, beyond what chance does on average, for a cause to be tried.
WORTH_A_TRY = 6.0
# Changes of the graph for each variable, after which the search gives up; it has never come near.
MOST_CHANGES = 40
# What a change has to save, in nats: less is rounding.
SAVES = 1e-6

#: Told after each change: arrows found.
OnChange = Callable[[int], None]
Causes = frozenset[int]


@dataclass(frozen=True, eq=False)
class Found:
    """A graph.

    Attributes
    ----------
    causes : of each variable.
    fitted : of each column.
    cost : description length of all, in nats.
    margins : (v,) what it would cost more to turn round the least sure arrow of each variable; infinite where
        none could be.
    n_fits : mechanisms that were worked out.
    ended : whether the search came to rest before its limit.
    saved : by how much cheaper it is than the cheapest graph of lines that was found, in nats.
    """

    causes: tuple[Causes, ...]
    fitted: tuple[Fitted, ...]
    cost: float
    margins: F64
    n_fits: int
    ended: bool
    saved: float = 0.0

    @property
    def converged(self) -> bool:
        """Whether every iteration of the mechanisms came to rest, and the search."""
        full = any(len(some) >= MOST_CAUSES for some in self.causes)
        return self.ended and not full and all(one.converged for one in self.fitted)


@dataclass(eq=False)
class GraphSearch:
    """A search among variables, each of one column or several.

    Attributes
    ----------
    fitter : works out mechanisms.
    columns : of each variable.
    allowed : (v, v), ``[i, j]``: whether j may be a cause of i.
    before : (v, v), ``[i, j]``: whether j is known to come before i; no path leads against it.
    """

    fitter: Fitter
    columns: Sequence[Sequence[int]]
    allowed: np.ndarray
    before: np.ndarray | None = None
    on_change: OnChange | None = None
    _known: dict[tuple[int, Causes], tuple[Fitted, ...]] = field(default_factory=dict)
    _cost: dict[tuple[int, Causes], float] = field(default_factory=dict)

    def run(self) -> Found:
        """The cheapest graph that adding, taking away and turning round of single arrows leads to."""
        v = len(self.columns)
        causes: list[Causes] = [frozenset()] * v
        promising = self._promising(causes, range(v))
        ended, refining = not v, False
        for _ in range(MOST_CHANGES * v):
            saved, change = self._best_addition(causes, promising)
            if refining or change is None:
                refining = True
                saved, change = max((saved, change), self._best_other(causes), key=lambda option: option[0])
            if change is None:
                ended = True
                break
            for variable, some in change.items():
                causes[variable] = some
            promising |= self._promising(causes, change)
            if self.on_change is not None:
                self.on_change(sum(map(len, causes)))
        fitted: list[Fitted] = []
        for variable, some in enumerate(causes):
            fitted += self._known[variable, some]
        total = float(sum(self._cost[variable, some] for variable, some in enumerate(causes)))
        return Found(tuple(causes), tuple(fitted), total, self._margins(causes), len(self._known), ended)

    def _costs(self, asked: Sequence[tuple[int, Causes]]) -> list[float]:
        new = [one for one in dict.fromkeys(asked) if one not in self._known]
        if new:
            columns = [
                (column, [self.columns[cause] for cause in sorted(causes)])
                for variable, causes in new
                for column in self.columns[variable]
            ]
            fitted = iter(self.fitter.fit(columns))
            for variable, causes in new:
                some = tuple(next(fitted) for _ in self.columns[variable])
                self._known[variable, causes] = some
                self._cost[variable, causes] = sum(one.cost for one in some)
        return [self._cost[one] for one in asked]

    def _best_addition(
        self, causes: list[Causes], promising: dict[int, Index]
    ) -> tuple[float, dict[int, Causes] | None]:
        after = self._reached(causes)
        options = [
            (effect, causes[effect] | {cause})
            for effect, some in promising.items()
            for cause in some.tolist()
            if cause not in causes[effect] and len(causes[effect]) < MOST_CAUSES and not after[effect, cause]
        ]
        costs = self._costs(options)
        best, change = SAVES, None
        for (effect, some), cost in zip(options, costs, strict=True):
            saved = self._cost[effect, causes[effect]] - cost
            if saved > best:
                best, change = saved, {effect: some}
        return best, change

    def _best_other(self, causes: list[Causes]) -> tuple[float, dict[int, Causes] | None]:
        """Of taking an arrow away, and turning it round."""
        changes: list[dict[int, Causes]] = [
            {effect: some - {cause}} for effect, some in enumerate(causes) for cause in sorted(some)
        ]
        changes += self._turns(causes)
        best, chosen = SAVES, None
        for change, saved in zip(changes, self._saved(causes, changes), strict=True):
            if saved > best:
                best, chosen = saved, change
        return best, chosen

    def _turns(self, causes: list[Causes]) -> list[dict[int, Causes]]:
        """Every arrow that can be turned round, turned round."""
        turns = []
        for effect, some in enumerate(causes):
            for cause in sorted(some):
                without = list(causes)
                without[effect] = some - {cause}
                room = len(causes[cause]) < MOST_CAUSES and self.allowed[cause, effect]
                if room and not self._reached(without)[cause, effect]:
                    turns.append({effect: without[effect], cause: causes[cause] | {effect}})
        return turns

    def _saved(self, causes: list[Causes], changes: Sequence[dict[int, Causes]]) -> list[float]:
        """What each of the changes saves."""
        self._costs([option for change in changes for option in change.items()])
        return [
            sum(self._cost[one, causes[one]] - self._cost[one, some] for one, some in change.items())
            for change in changes
        ]

    def _reached(self, causes: Sequence[Causes]) -> np.ndarray:
        """(v, v), ``[i, j]``: whether a path leads from i to j, or i is known to come before it."""
        if self.before is None:
            return _reached(causes)
        known = [frozenset(np.flatnonzero(row).tolist()) for row in self.before]
        return _reached([some | others for some, others in zip(causes, known, strict=True)])

    def _margins(self, causes: list[Causes]) -> F64:
        margins = np.full(len(causes), np.inf)
        turns = self._turns(causes)
        for turn, saved in zip(turns, self._saved(causes, turns), strict=True):
            for variable in turn:
                margins[variable] = min(margins[variable], -saved)
        return margins

    def _promising(self, causes: list[Causes], variables: Iterable[int]) -> dict[int, Index]:
        """For each of these variables, others with which its errors have something in common."""
        asked = list(variables)
        self._costs([(variable, causes[variable]) for variable in asked])
        of_columns = [column for variable in asked for column in self.columns[variable]]
        for variable in asked:
            keep_errors(self.fitter, self.columns[variable], self._known[variable, causes[variable]])
        shared = self.fitter.rows.dependence(np.array(of_columns, dtype=np.intp))
        shared = shared.reshape(len(of_columns), 2, self.fitter.splines.width.size, TERMS_A_CAUSE)
        tests = _tests(shared, self.fitter.splines.width, self.fitter.nonlinear)
        found, at = {}, 0
        for variable in asked:
            mine = tests[at : at + len(self.columns[variable])].max(axis=0)
            at += len(self.columns[variable])
            of_others = np.array([mine[list(some)].max() for some in self.columns])
            found[variable] = np.flatnonzero((of_others > WORTH_A_TRY) & self.allowed[variable])
        return found


def keep_errors(fitter: Fitter, columns: Sequence[int], fitted: Sequence[Fitted]) -> None:
    """Let the rows remember the errors of some columns by their mechanisms."""
    for column, one in zip(columns, fitted, strict=True):
        designs = Designs.of([column], [one.terms])
        gamma = None if one.gamma is None else one.gamma[None]
        thresholds = None if one.thresholds is None else one.thresholds[None]
        fitter.rows.keep_errors(designs, one.beta[None], gamma, thresholds)


def _tests(shared: F64, width: Index, nonlinear: bool) -> F64:
    """(m, q): by how much the errors of m columns have more in common with the splines of q than by chance.

    ``shared`` (m, 2, q, TERMS_A_CAUSE) are chi-square of one degree of freedom each, by chance: with the
    errors, and with their sizes. The best counts of a line, a curve, and a curve with heteroscedastic errors.
    """
    line = shared[:, 0, :, 0] - 1.0
    if not nonlinear:
        return line
    curve = shared[:, 0].sum(axis=2) - width
    spread = curve + shared[:, 1].sum(axis=2) - width
    return np.maximum(line, np.maximum(curve, spread))


def _reached(causes: Sequence[Causes]) -> np.ndarray:
    """(v, v), ``[i, j]``: whether a path leads from i to j, or they are the same."""
    v = len(causes)
    reached = np.eye(v, dtype=bool)
    done: set[int] = set()

    def visit(variable: int) -> None:
        if variable not in done:
            done.add(variable)
            for cause in causes[variable]:
                visit(cause)
                reached[:, variable] |= reached[:, cause]

    for variable in range(v):
        visit(variable)
    return reached
