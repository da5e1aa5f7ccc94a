"""What is known of the causal order before: which variables come before which others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

import numpy as np
from scipy.linalg import block_diag, solve_triangular

from ..table import F64, Index

#: Stages of variables that come before all others: covariates, and after them what was called first.
COVARIATE, FIRST = 0, 1
# What follows from a chain of variables grows with the square of its length; stages cost nothing.
MOST_PAIRS = 20_000_000
# Variables are marked in a mask where these times their number are no fewer than all.
MARK_AT_MOST = 16


@dataclass(frozen=True, eq=False)
class Precedence:
    """Rules for the causal order of p variables, free of contradictions.

    Attributes
    ----------
    stage : (p,) all variables of a stage come before those of the next: :data:`COVARIATE`, :data:`FIRST`, and
        above it one number for each tier.
    before, after : (m,) pairs of variables of one stage, the first of which comes before the second; by the
        first, ascending. They are complete: with a before b and b before c, also a before c, so that a rule
        holds when b is left out.
    acts, does_not : (p,) which variables are known to act on the outcome directly, and known not to.
    """

    stage: Index
    before: Index
    after: Index
    acts: np.ndarray
    does_not: np.ndarray

    @classmethod
    def of(
        cls,
        stage: Index,
        pairs: Sequence[tuple[int, int]] = (),
        acts: Sequence[int] = (),
        does_not: Sequence[int] = (),
    ) -> Precedence:
        """Rules by stage, by ``pairs`` (before, after) of variables, and by what variables do to the outcome.

        ValueError where these go round, or where more than :data:`MOST_PAIRS` follow from them.

        Pairs of variables whose stages already say the same are left out; so are those that follow.
        """
        followers: dict[int, set[int]] = {}
        for earlier, later in pairs:
            if stage[earlier] > stage[later] or earlier == later:
                raise ValueError("a rule contradicts the stages")
            if stage[earlier] == stage[later]:
                followers.setdefault(earlier, set()).add(later)
        reached = _reached(followers, len(stage))
        some = sorted(reached)
        before = np.repeat(np.array(some, dtype=np.intp), [reached[variable].size for variable in some])
        after = np.concatenate([np.empty(0, dtype=np.intp), *(reached[variable] for variable in some)])
        marks = np.zeros((2, len(stage)), dtype=bool)
        marks[0, list(acts)], marks[1, list(does_not)] = True, True
        return cls(np.asarray(stage, dtype=np.intp), before, after, *marks)

    @property
    def covariate(self) -> np.ndarray:
        """(p,) which variables are adjusted for, and no root causes."""
        return self.stage == COVARIATE

    @property
    def kept(self) -> np.ndarray:
        """(p,) which variables no test drops and no search places: covariates, and those that come first."""
        return self.stage <= FIRST

    def take(self, variables: Index) -> Precedence:
        """The rules among some variables (ascending), which are numbered anew."""
        place = np.full(self.stage.size, -1)
        place[variables] = np.arange(variables.size)
        both = (place[self.before] >= 0) & (place[self.after] >= 0)
        return Precedence(
            self.stage[variables],
            place[self.before[both]],
            place[self.after[both]],
            self.acts[variables],
            self.does_not[variables],
        )

    def known(self, variables: Index) -> np.ndarray:
        """(m, m), ``[i, j]``: whether the rules put the j-th of these variables before the i-th."""
        stage = self.stage[variables]
        found: np.ndarray = stage[None, :] < stage[:, None]
        place = np.full(self.stage.size, -1)
        place[variables] = np.arange(variables.size)
        both = (place[self.before] >= 0) & (place[self.after] >= 0)
        found[place[self.after[both]], place[self.before[both]]] = True
        return found

    def holds(self, order: Index) -> bool:
        """Whether an order of some of the variables keeps to the rules."""
        place = np.full(self.stage.size, -1)
        place[order] = np.arange(order.size)
        before, after = place[self.before], place[self.after]
        wrong = (before >= 0) & (after >= 0) & (before > after)
        return bool((np.diff(self.stage[order]) >= 0).all() and not wrong.any())


class Opening:
    """Which variables have nothing left that must come before them, while others go one by one."""

    def __init__(self, rules: Precedence) -> None:
        self._rules = rules
        self._left = np.ones(rules.stage.size, dtype=bool)
        self._unmet = np.bincount(rules.after, minlength=rules.stage.size)

    def among(self, variables: Index) -> np.ndarray:
        """(m,) whether each of these is open; they are all that is left, and no more than the last time."""
        left = np.zeros(self._left.size, dtype=bool)
        left[variables] = True
        for gone in np.flatnonzero(self._left & ~left):
            # Pairs come by their first variable, ascending.
            first, last = np.searchsorted(self._rules.before, [gone, gone + 1])
            self._unmet[self._rules.after[first:last]] -= 1
        self._left = left
        stage = self._rules.stage[variables]
        found: np.ndarray = (stage == stage.min()) & (self._unmet[variables] == 0)
        return found


def _reached(followers: dict[int, set[int]], size: int) -> dict[int, Index]:
    """All that come after each variable, ascending; ValueError where that is too much to keep."""
    reached: dict[int, Index] = {}
    marked, total = np.zeros(size, dtype=bool), 0
    for variable in _followers_first(followers):
        some = followers.get(variable, set())
        parts = [np.fromiter(some, dtype=np.intp, count=len(some)), *(reached[one] for one in some)]
        if MARK_AT_MOST * sum(part.size for part in parts) < size:
            found = np.unique(np.concatenate(parts))
        else:  # very many rules of few variables
            marked[:] = False
            for part in parts:
                marked[part] = True
            found = np.flatnonzero(marked)
        reached[variable] = found
        total += found.size
        if total > MOST_PAIRS:
            raise ValueError(f"more than {MOST_PAIRS:,} pairs follow from the rules")
    return reached


def _followers_first(followers: dict[int, set[int]]) -> list[int]:
    """Variables, each after all that follow it; ValueError where rules go round in a circle."""
    try:
        return list(TopologicalSorter(followers).static_order())
    except CycleError as error:
        raise ValueError("the rules go round in a circle") from error


# Columns that come first: nothing in the table causes them, so neither do they cause each other.
#
# Taking one out of the next, as the search does with all others, would make age a cause of sex. Their
# shocks are what was measured, and may go together; what lies behind them is no part of the model. Nothing
# else changes: the errors of all other columns, and the log-odds, are the same.


def set_apart(mixing: F64, start: int, variable: Index) -> tuple[F64, F64]:
    """A mixing matrix in which some columns do not act on each other, and how its errors make the old ones.

    Parameters
    ----------
    mixing : (k, k) lower triangular; standardized columns are ``errors @ mixing.T``.
    start : the place of the first of these columns.
    variable : (m,) whose each of them is: the dummies of one variable stay as they are to each other.

    Returns
    -------
    mixing : (k, k), for errors of unit variance that may correlate among these columns.
    turn : (m, m); the old errors of these columns are ``new @ turn.T``, and so the effect of a new one is
        ``turn.T @ effects``.
    """
    inside = slice(start, start + variable.size)
    together = mixing[inside, inside]
    covariance = together @ together.T
    _, first = np.unique(variable, return_index=True)
    edges = [*np.sort(first), variable.size]
    blocks = [slice(a, b) for a, b in pairwise(edges)]
    alone = block_diag(*(np.linalg.cholesky(covariance[block, block]) for block in blocks))
    turn = solve_triangular(together, alone, lower=True)
    found = mixing.copy()
    found[start:, inside] = mixing[start:, inside] @ turn
    found[inside, inside] = alone
    return found, turn
