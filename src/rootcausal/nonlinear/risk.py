"""The outcome given the variables: few of them, as lines, curves and products.

Terms are added one group at a time, whichever shortens the description (BIC) most by a score test, and those
that no longer do are taken away. It is a model of the *variables*: pushed through the mechanisms, it says
what errors add. A model of the errors would have to learn every curve of every path by itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..method.attribution.direct_causes import find_direct_causes
from ..method.attribution.regression import Coefficients, separates, shrunken
from ..method.attribution.sparse import EXPECTED_CAUSES_OF_D, refit
from ..method.attribution.spike_slab import Prior
from ..method.linear import NOTABLE_LOG_ODDS
from ..method.outcome import Loss, Outcome
from ..method.table import F64, Index, Table
from .rows import TERMS_A_CAUSE

# Of the extended BIC (Chen & Chen 2008), between 0, which is BIC, and 1.
EXTENDED = 0.5
# Groups of terms that are added at most, and tried in vain in a row.
MOST_GROUPS = 50
MOST_TRIES = 5
# Terms whose Wald statistic is so many times what they have to tell are not taken away on trial.
SURE_TO_TELL = 3.0
# Of what is notable, what effects that are left out may be together.
SPECK = 0.1
# So many rows of a score that is zero keep a matrix of nearly equal columns from being singular.
RIDGE = 1e-6

Group = tuple[tuple[int, int], ...]
#: Terms as the columns of a table with the outcomes.
MakeTable = Callable[[Sequence[tuple[int, int]]], Table]


@dataclass(frozen=True, eq=False)
class Risk:
    """The linear predictor of the outcome, in terms of columns.

    Attributes
    ----------
    terms : (first, second) of each, as :class:`.rows.Designs` has them.
    coefficients : what was fitted to them.
    separated : whether only a prior keeps the coefficients finite.
    converged : whether it came to rest before its limits.
    acting : (v,) how probably each variable acts on the outcome directly; zero for covariates.
    saved : by how many nats, beyond what they cost, curves and products tell the outcome better than lines.
    """

    terms: tuple[tuple[int, int], ...]
    coefficients: Coefficients
    converged: bool
    acting: F64
    saved: float = 0.0

    @property
    def separated(self) -> bool:
        return self.coefficients.separated


class RiskSearch:
    """Which terms tell the outcome.

    Parameters
    ----------
    width : (q,) how many splines each column has.
    columns : of each variable.
    make_table : holds the outcomes.
    outcome : what they are.
    acts, barred : (v,) which variables are known to act on the outcome, and known not to.
    n_telling : as many patients, of those who tell most of the outcome, would tell as much.
    """

    def __init__(
        self,
        width: Index,
        columns: Sequence[Sequence[int]],
        make_table: MakeTable,
        outcome: Outcome,
        acts: np.ndarray,
        barred: np.ndarray,
        n_telling: float,
    ) -> None:
        self._width, self._columns = width, columns
        self._acts, self._barred = acts, barred
        self._make_table, self._outcome = make_table, outcome
        self._price = 0.5 * np.log(max(n_telling, 2.0))

    def dependence(self) -> tuple[F64, F64, Index]:
        """Score tests (v,) of each variable where nothing else is known, and their degrees of freedom (v,).

        First of lines, then of splines.
        """
        groups = [self._lines(v) for v in range(len(self._columns))]
        whole = [self._whole(v) for v in range(len(self._columns))]
        nothing = Coefficients(np.zeros(0), self._outcome.start)
        test = self._score_tests([], [*groups, *whole], nothing, self._loss([]))
        lines, curves = np.split(test, 2)
        freedom = np.array([list(map(len, groups)), list(map(len, whole))], dtype=np.intp)
        return lines, curves, freedom

    def run(self, covariates: Sequence[int], rng: np.random.Generator | None = None) -> Risk:
        """The terms that tell the outcome; lines of covariates are among them in any case.

        ``rng`` draws effects as they may be, for a resample, in place of what is expected of them.
        """
        groups, converged, saved = self._chosen(covariates)
        return replace(self._weighed(covariates, groups, converged, rng), saved=saved)

    def saved(self, covariates: Sequence[int]) -> float:
        """By how many nats, beyond what they cost, curves and products tell the outcome better than lines."""
        return self._chosen(covariates)[2]

    def _chosen(self, covariates: Sequence[int]) -> tuple[list[Group], bool, float]:
        """Groups that shorten the description, whether that came to rest, and what those that bend save."""
        always = [v for v in range(len(self._columns)) if v in covariates or self._acts[v]]
        kept = [self._lines(variable) for variable in always]
        groups: list[Group] = list(kept)
        loss = self._loss(groups)
        fitted, loglik = self._fit(groups, loss, None)
        converged = fitted.converged
        for _ in range(MOST_GROUPS):
            better = self._add(groups, fitted, loglik, loss)
            if better is None:
                break
            groups, fitted = better
            # With what the outcome has beside effects learned anew, such as a variance.
            loss = self._loss(groups)
            fitted, loglik = self._fit(groups, loss, fitted)
        else:
            converged = False
        while (fewer := self._drop(groups, kept, fitted, loglik, loss)) is not None:
            groups, fitted = fewer
            loss = self._loss(groups)
            fitted, loglik = self._fit(groups, loss, fitted)
        bent = [group for group in groups if _bends(group[0])]
        return groups, converged, self._saved(groups, bent, fitted, loglik, loss) if bent else 0.0

    def _saved(
        self,
        groups: Sequence[Group],
        bent: Sequence[Group],
        fitted: Coefficients,
        loglik: float,
        loss: Loss,
    ) -> float:
        """By how many nats, beyond what they cost, some of the groups shorten the description."""
        lines = [group for group in groups if group not in bent]
        stay = np.repeat([group not in bent for group in groups], [len(group) for group in groups])
        _, of_lines = self._fit(
            lines, self._again(loss, lines), replace(fitted, coef=fitted.coef[stay.astype(bool)])
        )
        return loglik - of_lines - sum(map(self._cost, bent))

    def _weighed(
        self,
        covariates: Sequence[int],
        groups: Sequence[Group],
        converged: bool,
        rng: np.random.Generator | None,
    ) -> Risk:
        """Lines of all variables, and what bends, as the default attribution weighs direct causes.

        So where nothing bends, the risk is that of the linear mechanism.
        """
        bends = [term for group in groups for term in group if _bends(term)]
        beside = [term for variable in covariates for term in self._lines(variable)]
        others = [v for v in range(len(self._columns)) if v not in covariates]
        lines = [(term, v) for v in others for term in self._lines(v)]
        terms = [*beside, *(term for term, _ in lines), *bends]
        c, m = len(beside), len(terms) - len(beside)
        certain, barred = np.zeros((2, m), dtype=bool)
        for marks, known in ((certain, self._acts), (barred, self._barred)):
            marks[: len(lines)] = known[[v for _, v in lines]]
        loss = self._loss([tuple(terms)])
        start, coef, settled = np.append(np.zeros(c), loss.start), np.zeros(0), True
        acting = np.zeros(len(self._columns))
        if m:
            prior = Prior(EXPECTED_CAUSES_OF_D, m, self._outcome.variance, certain, barred)
            causes = find_direct_causes(loss, np.eye(m), prior, start, c)
            coef = causes.predicting if rng is None else causes.drawn(rng)
            start, settled = causes.fixed, causes.settled
            acting = self._acting(terms[c:], causes.probability)
        coef = _without_specks(coef, certain)
        fixed, balanced = refit(loss, coef, start, c)
        fitted = Coefficients(np.append(fixed[:c], coef), fixed[c:], converged=settled and balanced)
        fitted = replace(fitted, separated=bool(terms) and separates(loss, fitted))
        there = np.append(np.ones(c, dtype=bool), (coef != 0.0) | certain)
        shown = replace(fitted, coef=fitted.coef[there])
        of_these = tuple(term for term, one in zip(terms, there.tolist(), strict=True) if one)
        return Risk(of_these, shown, converged and fitted.converged, acting)

    def _acting(self, terms: Sequence[tuple[int, int]], probability: F64) -> F64:
        """(v,) how probably at least one of a variable's terms tells the outcome."""
        of_column = {column: v for v, columns in enumerate(self._columns) for column in columns}
        none = np.ones(len(self._columns))
        for (first, second), told in zip(terms, probability, strict=True):
            none[of_column[first // TERMS_A_CAUSE]] *= 1.0 - told
            if second >= 0:
                none[of_column[second // TERMS_A_CAUSE]] *= 1.0 - told
        return 1.0 - none

    def _lines(self, variable: int) -> Group:
        return tuple((TERMS_A_CAUSE * column, -1) for column in self._columns[variable])

    def _curved(self, variable: int) -> Group:
        return tuple(
            (TERMS_A_CAUSE * column + place, -1)
            for column in self._columns[variable]
            for place in range(1, int(self._width[column]))
        )

    def _whole(self, variable: int) -> Group:
        return self._lines(variable) + self._curved(variable)

    def _options(self, groups: Sequence[Group]) -> list[tuple[Group, ...]]:
        """Lines, curves and products that could be added; a curve with its line, where that is not there."""
        there = {term for group in groups for term in group}
        options: list[tuple[Group, ...]] = []
        inside = []
        for variable, columns in enumerate(self._columns):
            if self._barred[variable]:
                continue
            # A curve of one turn, and all that a curve may have, come after a line.
            curved = self._curved(variable)
            parts = [part for part in (self._lines(variable), curved[:1], curved[1:]) if part]
            absent = [part for part in parts if part[0] not in there]
            options += [tuple(absent[: k + 1]) for k in range(len(absent))]
            if parts[0] not in absent and len(columns) == 1:
                inside.append(TERMS_A_CAUSE * columns[0])
        products = [(a, b) for k, a in enumerate(inside) for b in inside[:k]]
        return options + [((product,),) for product in products if product not in there]

    def _cost(self, group: Group) -> float:
        """Nats that a group of terms has to save; also by among how many of its kind it was found.

        There are many more products than lines, and some of them fit by chance.
        """
        among, v = 1.0, len(self._columns)
        if any(second >= 0 for _, second in group):
            among = 0.5 * v * (v - 1.0)
        elif group[0][0] % TERMS_A_CAUSE:
            among = float(v)
        return self._price * len(group) + EXTENDED * float(np.log(among))

    def _add(
        self, groups: list[Group], fitted: Coefficients, loglik: float, loss: Loss
    ) -> tuple[list[Group], Coefficients] | None:
        """With the groups that shorten the description most, if some do."""
        options = self._options(groups)
        if not options:
            return None
        together = [tuple(term for group in option for term in group) for option in options]
        gain = 0.5 * self._score_tests(groups, together, fitted, loss)
        cost = np.array([sum(map(self._cost, option)) for option in options])
        gain -= cost
        for best in np.argsort(-gain, kind="stable")[:MOST_TRIES]:
            if gain[best] <= 0.0:
                return None
            more = [*groups, *options[best]]
            start = replace(fitted, coef=np.append(fitted.coef, np.zeros(len(together[best]))))
            of_all, of_more = self._fit(more, self._again(loss, more), start)
            if of_more - loglik > cost[best]:
                return more, of_all
        return None

    def _drop(
        self, groups: list[Group], kept: Sequence[Group], fitted: Coefficients, loglik: float, loss: Loss
    ) -> tuple[list[Group], Coefficients] | None:
        """Without the group that lengthens the description most, if one does."""
        best, saved = None, 0.0
        told = self._wald(groups, fitted, loss)
        of_group = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        for number, group in enumerate(groups):
            if told[number] > SURE_TO_TELL * 2.0 * self._cost(group):
                continue
            # Curves and products stand on lines: these go last.
            on_it = {term[0] for other in groups for term in other if other is not group}
            on_it |= {term[1] for other in groups for term in other if other is not group and term[1] >= 0}
            lines = {term[0] for term in group if term[0] % TERMS_A_CAUSE == 0 and term[1] < 0}
            needed = {first - first % TERMS_A_CAUSE for first in on_it}
            if group in kept or lines & needed:
                continue
            fewer = [other for other in groups if other is not group]
            start = replace(fitted, coef=fitted.coef[of_group != number])
            of_others, of_fewer = self._fit(fewer, self._again(loss, fewer), start)
            gain = self._cost(group) - (loglik - of_fewer)
            if gain > saved:
                best, saved = (fewer, of_others), gain
        return best

    def _loss(self, groups: Sequence[Group]) -> Loss:
        terms = [term for group in groups for term in group]
        return self._outcome.loss(self._make_table(terms), np.arange(len(terms)))

    def _again(self, loss: Loss, groups: Sequence[Group]) -> Loss:
        """The same loss in the terms of other groups."""
        terms = [term for group in groups for term in group]
        return loss.again(self._make_table(terms), np.arange(len(terms)))

    @staticmethod
    def _wald(groups: Sequence[Group], fitted: Coefficients, loss: Loss) -> F64:
        """Wald's statistic of each group."""
        hessian = loss.sums(np.append(fitted.coef, fitted.baseline)).hessian
        covariance = np.linalg.inv(hessian + RIDGE * np.diagonal(hessian).mean() * np.eye(len(hessian)))
        ends = np.cumsum([0, *map(len, groups)])
        found = np.empty(len(groups))
        for number, (first, last) in enumerate(itertools.pairwise(ends)):
            coef = fitted.coef[first:last]
            found[number] = coef @ np.linalg.solve(covariance[first:last, first:last], coef)
        return found

    @staticmethod
    def _fit(groups: Sequence[Group], loss: Loss, start: Coefficients | None) -> tuple[Coefficients, float]:
        """With a weak prior in any case: few rows then do not make effects run away."""
        begin = None if start is None else np.append(start.coef, start.baseline)
        fitted = shrunken(loss, sum(map(len, groups)), begin)
        return fitted, loss.sums(np.append(fitted.coef, fitted.baseline)).loglik

    def _score_tests(
        self, groups: Sequence[Group], options: Sequence[Group], fitted: Coefficients, of_groups: Loss
    ) -> F64:
        """(o,) Rao's score statistic of adding each option to what was fitted."""
        inside = [term for group in groups for term in group]
        others = list(dict.fromkeys(term for option in options for term in option))
        at = {term: len(inside) + place for place, term in enumerate(others)}
        terms = [*inside, *others]
        loss = of_groups.again(self._make_table(terms), np.arange(len(terms)))
        beta = np.concatenate([fitted.coef, np.zeros(len(others)), fitted.baseline])
        sums = loss.sums(beta)
        known = np.concatenate([np.arange(len(inside)), np.arange(len(terms), beta.size)])
        ridge = RIDGE * np.diagonal(sums.hessian).mean() * np.eye(beta.size)
        hessian = sums.hessian + ridge
        inverse = np.linalg.inv(hessian[np.ix_(known, known)])
        rest = np.arange(len(inside), len(terms))
        across = hessian[np.ix_(known, rest)]
        left = hessian[np.ix_(rest, rest)] - across.T @ inverse @ across
        gradient = sums.gradient[rest] - across.T @ (inverse @ sums.gradient[known])
        found = np.empty(len(options))
        for place, option in enumerate(options):
            some = np.array([at[term] for term in option]) - len(inside)
            found[place] = gradient[some] @ np.linalg.solve(left[np.ix_(some, some)], gradient[some])
        return np.maximum(found, 0.0)


def _bends(term: tuple[int, int]) -> bool:
    """Whether a term is no line: of a curve, or a product."""
    return term[1] >= 0 or term[0] % TERMS_A_CAUSE > 0


def _without_specks(coef: F64, certain: np.ndarray) -> F64:
    """Coefficients (m,) of which the smallest are zero, as many as together matter to nobody.

    The prior leaves every column some effect. Each would be a path along which errors reach the outcome.
    """
    ranked = np.argsort(np.where(certain, np.inf, np.abs(coef)), kind="stable")
    together = np.sqrt(np.cumsum(coef[ranked] ** 2))
    left = coef.copy()
    left[ranked[(together < SPECK * NOTABLE_LOG_ODDS) & ~certain[ranked]]] = 0.0
    return left
