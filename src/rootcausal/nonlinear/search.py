"""The graph of the nonlinear mechanism: arrows are added, turned round and taken away while that costs less.

First the arrow that saves most is added, one after the other, as long as one saves anything and none closes a
circle; then arrows may also go or turn round. Where no single arrow saves anything any more, variables change
places with neighbours, and what acts on them is looked for anew: where two causes bend an effect, both arrows
may point the wrong way, and neither would turn round alone. What a cause would save is worked out only where
errors and splines have something in common: a score test says where to look. Where rows are many, some of
them are searched, and then all of them, from what was found there: of causes that were none, only those are
tried again that all rows may pay for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, Self

import numpy as np

from ..method.table import F64, Index
from .curves import Splines
from .fitting import Asked, Fitted
from .rows import TERMS_A_CAUSE, SearchedRows

# A variable that has so many is said not to be converged: others may have been kept out.
MOST_CAUSES = 10
# What the score test has to show, beyond what chance does on average, for a cause to be tried.
WORTH_A_TRY = 6.0
# Changes of the graph for each variable, after which the search gives up; it has never come near.
MOST_CHANGES = 40
# In a search from what some of the rows say, a score test has to promise a cause this part of what its
# coefficients cost: of errors that are not Gaussian it does not see all.
SEEN_BY_TESTS = 0.5
# What a change has to save, in nats: less is rounding.
SAVES = 1e-6
# What a change of places may cost at first, in nats: more is seldom saved by what it makes room for.
MAY_COST = 120.0

#: Told how many mechanisms were fitted.
OnFits = Callable[[int], None]
Causes = frozenset[int]
#: New causes of some variables.
Change = dict[int, Causes]


@dataclass(frozen=True, eq=False)
class Found:
    """A graph.

    Attributes
    ----------
    causes : of each variable.
    fitted : of each column.
    cost : description length of all, in nats.
    arrows : of each (effect, cause) what the graph costs more without it, and with it turned round; infinite
        where that cannot be.
    n_fits : mechanisms that were worked out.
    ended : whether the search came to rest before its limit.
    rises : by (effect, cause) that is none: the log-likelihood that it would add, and its coefficients.
    saved : by how much cheaper it is than the cheapest graph of lines that was found, in nats.
    """

    causes: tuple[Causes, ...]
    fitted: tuple[Fitted, ...]
    cost: float
    arrows: Mapping[tuple[int, int], tuple[float, float]]
    n_fits: int
    ended: bool
    rises: Mapping[tuple[int, int], tuple[float, int]]
    saved: float = 0.0

    @property
    def margins(self) -> F64:
        """(v,) what it would cost more to turn round the least sure arrow of each; infinite without any."""
        found = np.full(len(self.causes), np.inf)
        for pair, (_, turned) in self.arrows.items():
            found[list(pair)] = np.minimum(found[list(pair)], turned)
        return found

    @property
    def converged(self) -> bool:
        """Whether every iteration of the mechanisms came to rest, and the search."""
        full = any(len(some) >= MOST_CAUSES for some in self.causes)
        return self.ended and not full and all(one.converged for one in self.fitted)


class GraphFitter(Protocol):
    """Who works out mechanisms; see :class:`.fitting.Fitter`."""

    @property
    def rows(self) -> SearchedRows: ...
    @property
    def splines(self) -> Splines: ...
    @property
    def n_rows(self) -> float: ...
    @property
    def nonlinear(self) -> bool: ...
    def fit(self, asked: Sequence[Asked]) -> list[Fitted]: ...
    def sample(self, size: int) -> Self: ...


@dataclass(eq=False)
class GraphSearch:
    """A search among variables, each of one column or several.

    Attributes
    ----------
    fitter : works out mechanisms.
    columns : of each variable.
    allowed : (v, v), ``[i, j]``: whether j may be a cause of i.
    before : (v, v), ``[i, j]``: whether j is known to come before i; no path leads against it.
    on_fits : told how many mechanisms were fitted, after every few.
    start : what a search of some of the rows found, from which this one of all goes on.
    n_start : how many rows these were.
    begin : causes of each variable from which it goes on; none where that is None.
    """

    fitter: GraphFitter
    columns: Sequence[Sequence[int]]
    allowed: np.ndarray
    before: np.ndarray | None = None
    on_fits: OnFits | None = None
    start: Found | None = None
    n_start: float = 0.0
    begin: Sequence[Causes] | None = None
    _known: dict[tuple[int, Causes], tuple[Fitted, ...]] = field(default_factory=dict)
    _cost: dict[tuple[int, Causes], float] = field(default_factory=dict)
    _worth: dict[tuple[int, int], float] = field(default_factory=dict)
    _near: dict[int, tuple[Fitted, ...]] = field(default_factory=dict)
    _known_before: list[Causes] = field(init=False)

    def __post_init__(self) -> None:
        v = len(self.columns)
        before = np.zeros((v, v), dtype=bool) if self.before is None else self.before
        self._known_before = [frozenset(np.flatnonzero(row).tolist()) for row in before]

    def run(self) -> Found:
        """The cheapest graph that adding, taking away and turning round of single arrows leads to."""
        v = len(self.columns)
        causes: list[Causes] = [frozenset()] * v if self.begin is None else list(self.begin)
        if self.start is not None:
            causes = self._begun(self.start)
        promising = self._promising(causes, range(v))
        ended = self._settle(causes, promising) and (
            self.start is not None or self._change_places(causes, promising)
        )
        fitted: list[Fitted] = []
        for variable, some in enumerate(causes):
            fitted += self._known[variable, some]
        total = float(sum(self._cost[variable, some] for variable, some in enumerate(causes)))
        rises = self._rises(causes)
        return Found(
            tuple(causes), tuple(fitted), total, self._arrows(causes), len(self._known), ended, rises
        )

    def again(self, begin: Sequence[Causes], allowed: np.ndarray) -> Found:
        """By other rules, from these causes on; mechanisms that were worked out are not worked out again."""
        return replace(self, begin=begin, allowed=allowed).run()

    def _settle(self, causes: list[Causes], promising: dict[int, Index]) -> bool:
        """Change single arrows until nothing saves anything; whether that came before the limit."""
        refining = self.start is not None or any(causes)
        for _ in range(MOST_CHANGES * len(causes)):
            saved, change = self._best_addition(causes, promising)
            if refining or change is None:
                refining = True
                changes = self._removals(causes, range(len(causes))) + self._turns(causes)
                saved, change = max(
                    (saved, change), self._best(causes, changes), key=lambda option: option[0]
                )
            if change is None:
                return True
            self._make(change, causes, promising)
        return not causes

    def _make(self, change: Change, causes: list[Causes], promising: dict[int, Index]) -> None:
        for variable, some in change.items():
            causes[variable] = some
        promising |= self._promising(causes, change)

    def _change_places(self, causes: list[Causes], promising: dict[int, Index]) -> bool:
        """Let variables change places with neighbours as long as that saves; whether it came to rest."""
        tried: set[tuple[Causes, ...]] = set()
        for _ in range(MOST_CHANGES * len(causes)):
            better = self._elsewhere(causes, tried)
            if better is None:
                return True
            self._make(better, causes, promising)
            if not self._settle(causes, promising):
                return False
        return not causes

    def _elsewhere(self, causes: list[Causes], tried: set[tuple[Causes, ...]]) -> Change | None:
        """The first change of places that saves something, with what it makes room for."""
        moves = self._moves(causes)
        saved = np.array(self._saved(causes, moves))
        for number in np.argsort(-saved, kind="stable").tolist():
            if saved[number] < -MAY_COST:
                break
            others = [moves[number].get(variable, some) for variable, some in enumerate(causes)]
            if tuple(others) in tried:
                continue
            tried.add(tuple(others))
            promising = self._promising(others, moves[number])
            gain = float(saved[number])
            while True:
                near = self._removals(others, promising) + self._turns(others, promising)
                options = self._best_addition(others, promising), self._best(others, near)
                more, change = max(options, key=lambda option: option[0])
                if change is None:
                    break
                gain += more
                self._make(change, others, promising)
            if gain > SAVES:
                return {variable: others[variable] for variable in promising}
        return None

    def _moves(self, causes: list[Causes]) -> list[Change]:
        """Of every variable with the nearest of its effects, or of its causes, or more of them."""
        place = {variable: at for at, variable in enumerate(_in_order(causes))}
        moves = []
        for variable, some in enumerate(causes):
            effects = sorted((e for e, of in enumerate(causes) if variable in of), key=lambda e: place[e])
            nearest = sorted(some, key=lambda cause: -place[cause])
            for n in range(1, len(effects) + 1):
                turned = {effect: causes[effect] - {variable} for effect in effects[:n]}
                moves.append(turned | {variable: some | set(effects[:n])})
            for n in range(1, len(nearest) + 1):
                turned = {cause: causes[cause] | {variable} for cause in nearest[:n]}
                moves.append(turned | {variable: some - set(nearest[:n])})
        return [move for move in moves if self._may_be(causes, move)]

    def _may_be(self, causes: list[Causes], change: Change) -> bool:
        """Whether a graph so changed has no circle and breaks no rule."""
        for effect, some in change.items():
            if len(some) > MOST_CAUSES or not all(
                self.allowed[effect, cause] for cause in some - causes[effect]
            ):
                return False
        changed = self._with_known([change.get(variable, some) for variable, some in enumerate(causes)])
        return len(_in_order(changed)) == len(causes)

    def _begun(self, start: Found) -> list[Causes]:
        """The graph of some of the rows, and what other causes may be worth to all of them."""
        fitted = iter(start.fitted)
        for variable, columns in enumerate(self.columns):
            self._near[variable] = tuple(next(fitted) for _ in columns)
        n = self.fitter.n_rows
        for pair, (rise, coefficients) in start.rises.items():
            self._worth[pair] = rise * n / self.n_start - 0.5 * coefficients * math.log(n)
        return list(start.causes)

    def _rises(self, causes: list[Causes]) -> dict[tuple[int, int], tuple[float, int]]:
        found = {}
        for (effect, some), fitted in self._known.items():
            more = some - causes[effect]
            if len(more) == 1 and len(some) == len(causes[effect]) + 1:
                without = self._known[effect, causes[effect]]
                coefficients = sum(one.n_coefficients for one in fitted)
                coefficients -= sum(one.n_coefficients for one in without)
                saved = self._cost[effect, causes[effect]] - self._cost[effect, some]
                rise = saved + 0.5 * coefficients * math.log(self.fitter.n_rows)
                found[effect, next(iter(more))] = (rise, coefficients)
        return found

    def _costs(self, asked: Sequence[tuple[int, Causes]], to_beat: Sequence[Causes] | None = None) -> None:
        """Work out mechanisms; none to its end that costs more than by ``to_beat``, where that is given."""
        new = [one for one in dict.fromkeys(asked) if one not in self._known]
        if not new:
            return
        columns = []
        for variable, causes in new:
            some = [self.columns[cause] for cause in sorted(causes)]
            now = None if to_beat is None else self._known[variable, to_beat[variable]]
            for place, column in enumerate(self.columns[variable]):
                near = self._near.get(variable)
                near_one = None if near is None else near[place]
                columns.append(Asked(column, some, near_one, np.inf if now is None else now[place].cost))
        fitted = iter(self.fitter.fit(columns))
        for variable, causes in new:
            of_columns = tuple(next(fitted) for _ in self.columns[variable])
            self._known[variable, causes] = of_columns
            self._cost[variable, causes] = sum(one.cost for one in of_columns)
        if self.on_fits is not None:
            self.on_fits(len(self._known))

    def _best_addition(
        self, causes: list[Causes], promising: dict[int, Index]
    ) -> tuple[float, Change | None]:
        before = _before(self._with_known(causes))
        options = [
            (effect, causes[effect] | {cause})
            for effect, some in promising.items()
            for cause in some.tolist()
            if cause not in causes[effect]
            and len(causes[effect]) < MOST_CAUSES
            and not before[cause] >> effect & 1
            and self._worth.get((effect, cause), np.inf) > 0.0
        ]
        self._costs(options, causes)
        best, change = SAVES, None
        for effect, some in options:
            saved = self._cost[effect, causes[effect]] - self._cost[effect, some]
            if saved > best:
                best, change = saved, {effect: some}
        return best, change

    def _best(self, causes: list[Causes], changes: Sequence[Change]) -> tuple[float, Change | None]:
        best, chosen = SAVES, None
        for change, saved in zip(changes, self._saved(causes, changes), strict=True):
            if saved > best:
                best, chosen = saved, change
        return best, chosen

    @staticmethod
    def _removals(causes: Sequence[Causes], effects: Iterable[int]) -> list[Change]:
        return [{effect: causes[effect] - {cause}} for effect in effects for cause in sorted(causes[effect])]

    def _turns(self, causes: Sequence[Causes], effects: Iterable[int] | None = None) -> list[Change]:
        """Every arrow that can be turned round, turned round; of those into some variables."""
        turns: list[Change] = []
        whole = self._with_known(causes)
        before = _before(whole)
        for effect in range(len(causes)) if effects is None else list(effects):
            some = causes[effect]
            for cause in sorted(some):
                # A path beside the arrow would close a circle; so would a known order, which stays.
                beside = any(before[other] >> cause & 1 for other in whole[effect] if other != cause)
                room = len(causes[cause]) < MOST_CAUSES and self.allowed[cause, effect]
                if room and not beside and cause not in self._known_before[effect]:
                    turns.append({effect: some - {cause}, cause: causes[cause] | {effect}})
        return turns

    def _saved(self, causes: list[Causes], changes: Sequence[Change]) -> list[float]:
        """What each of the changes saves."""
        self._costs([option for change in changes for option in change.items()])
        return [
            sum(self._cost[one, causes[one]] - self._cost[one, some] for one, some in change.items())
            for change in changes
        ]

    def _with_known(self, causes: Sequence[Causes]) -> list[Causes]:
        """The same with arrows from all that is known to come before."""
        return [some | known for some, known in zip(causes, self._known_before, strict=True)]

    def _arrows(self, causes: list[Causes]) -> dict[tuple[int, int], tuple[float, float]]:
        there = [(effect, cause) for effect, some in enumerate(causes) for cause in sorted(some)]
        gone = self._saved(causes, [{effect: causes[effect] - {cause}} for effect, cause in there])
        turns, turned = self._turns(causes), dict.fromkeys(there, np.inf)
        for turn, saved in zip(turns, self._saved(causes, turns), strict=True):
            effect, cause = turn
            turned[effect, cause] = -saved
        return {pair: (-saved, turned[pair]) for pair, saved in zip(there, gone, strict=True)}

    def _promising(self, causes: list[Causes], variables: Iterable[int]) -> dict[int, Index]:
        """For each of these variables, others with which its errors have something in common."""
        asked = list(variables)
        self._costs([(variable, causes[variable]) for variable in asked])
        of_columns = [column for variable in asked for column in self.columns[variable]]
        q = self.fitter.splines.width.size
        for variable in asked:
            self._near[variable] = self._known[variable, causes[variable]]
            of_variable = zip(self.columns[variable], self._near[variable], strict=True)
            self.fitter.rows.keep_errors([one.told_of(column, q) for column, one in of_variable])
        shared = self.fitter.rows.dependence(np.array(of_columns, dtype=np.intp))
        shared = shared.reshape(len(of_columns), 2, q, TERMS_A_CAUSE)
        price = 1.0
        if self.start is not None:
            price = max(price, SEEN_BY_TESTS * math.log(self.fitter.n_rows))
        tests = _tests(shared, self.fitter.splines.width, self.fitter.nonlinear, price)
        found, at = {}, 0
        for variable in asked:
            mine = tests[at : at + len(self.columns[variable])].max(axis=0)
            at += len(self.columns[variable])
            of_others = np.array([mine[list(some)].max() for some in self.columns])
            found[variable] = np.flatnonzero((of_others > WORTH_A_TRY) & self.allowed[variable])
        return found


def _tests(shared: F64, width: Index, nonlinear: bool, price: float) -> F64:
    """(m, q): by how much the errors of m columns have more in common with the splines of q than they cost.

    ``shared`` (m, 2, q, TERMS_A_CAUSE) are chi-square of one degree of freedom each, by chance: with the
    errors, and with their sizes. The best counts of a line, a curve, and a curve with heteroscedastic errors.
    ``price`` is of a coefficient: what chance adds is 1.
    """
    line = shared[:, 0, :, 0] - price
    if not nonlinear:
        return line
    curve = shared[:, 0].sum(axis=2) - price * width
    spread = curve + shared[:, 1].sum(axis=2) - price * width
    return np.maximum(line, np.maximum(curve, spread))


def _in_order(causes: Sequence[Causes]) -> list[int]:
    """Variables, causes first; without those that lie on a circle, and those after it."""
    order, left = list[int](), set(range(len(causes)))
    while free := sorted(variable for variable in left if not causes[variable] & left):
        order += free
        left.difference_update(free)
    return order


def _before(causes: Sequence[Causes]) -> list[int]:
    """Of each variable a bit for every one that a path leads from, and for itself."""
    found = [1 << variable for variable in range(len(causes))]
    for variable in _in_order(causes):
        for cause in causes[variable]:
            found[variable] |= found[cause]
    return found
