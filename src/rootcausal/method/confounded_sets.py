"""Sets of variables that are read as one: what a set adds is what its members add together.

Where something that nobody measured moves two variables, what the one and the other add cannot be told apart,
and their sum can. Everything here asks a model for its values alone, whatever its mechanism.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from .grouping import unit_length
from .model import CausalModel
from .table import F64, Index

# One long chain of pairs must not swallow all variables: a set that says everything says nothing.
MOST_MEMBERS = 3

#: Of each set its members, ascending.
Sets = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Together:
    """Variables to be read as one.

    Attributes
    ----------
    pairs : variables whose errors stay dependent, by twos, the surest first.
    sets : what they come to (see :func:`joined`).
    n_asked : pairs that were looked at.
    n_untried : dependent pairs of which nobody asked what else explains them: they are in no set.
    """

    pairs: tuple[tuple[int, int], ...]
    sets: Sets
    n_asked: int
    n_untried: int = 0


def joined(pairs: Iterable[tuple[int, int]]) -> Sets:
    """The sets that pairs make up, taken one after the other.

    A pair whose two variables are in different sets, or in none, puts these together, unless that makes more
    than :data:`MOST_MEMBERS`: then it is passed over. So give the surest pair first.
    """
    sets: list[frozenset[int]] = []
    for pair in pairs:
        touched = [some for some in sets if not some.isdisjoint(pair)]
        union = frozenset(pair).union(*touched)
        if len(union) <= MOST_MEMBERS:
            sets = [some for some in sets if some not in touched] + [union]
    return tuple(sorted(tuple(sorted(some)) for some in sets))


def check_sets(sets: Sets, order: Index) -> None:
    """Raise ValueError where these cannot be sets of the variables of a causal order."""
    members = [member for some in sets for member in some]
    if any(type(member) is not int for member in members) or not set(members) <= set(order.tolist()):
        raise ValueError("a set has a member that is no variable of its causal order")
    if len(set(members)) < len(members) or list(sets) != sorted(tuple(sorted(some)) for some in sets):
        raise ValueError("its sets overlap, or are not in order")
    if not all(2 <= len(some) <= MOST_MEMBERS for some in sets):
        raise ValueError("a set has too few or too many members")


def with_sets(values: F64, sets: Sequence[Sequence[int]]) -> F64:
    """(n, p + s): values (n, p) with zeros for members of sets, and after them what each set sums to.

    Rows sum to what they summed to.
    """
    if not sets:
        return values
    found = np.hstack([values, *(values[:, list(some)].sum(axis=1, keepdims=True) for some in sets)])
    found[:, [member for some in sets for member in some]] = 0.0
    return found


@dataclass(frozen=True, eq=False)
class Merged:
    """A model that answers for p variables, members of sets adding nothing, and after them for s sets."""

    model: CausalModel
    sets: Sets

    @property
    def order(self) -> Index:
        """What may add something: variables of the order, and sets with a member in it."""
        inside = set(self.model.order.tolist())
        of_sets = [s for s, some in enumerate(self.sets) if not inside.isdisjoint(some)]
        alone = sorted(inside.difference(*self.sets))
        return np.array([*alone, *(self.model.n_variables + s for s in of_sets)], dtype=np.intp)

    def shapley(self, X: F64) -> F64:
        """(n, p + s): what each adds to the predictor of patients X (n, q)."""
        return with_sets(self.model.shapley(X), self.sets)

    def shapley_slopes(self) -> F64:
        """(q, p + s): by how much that grows for each unit of each column."""
        return with_sets(self.model.shapley_slopes(), self.sets)

    def unit_effects(self) -> F64:
        """(s,) what a standard deviation of each set's error adds, where that is proportional to it."""
        return np.array([np.linalg.norm(effects) for effects in self._effects()])

    def set_errors(self, errors: F64) -> F64:
        """(n, s): the errors of the sets, by those of the variables (n, p), in standard deviations.

        That of a set is made of its members', weighted by what each adds, as for dummies of one variable:
        errors are uncorrelated, so that it has unit variance as they do.
        """
        columns = [
            errors[:, list(some)] @ unit_length(effects)
            for some, effects in zip(self.sets, self._effects(), strict=True)
        ]
        return np.stack(columns, axis=1) if columns else np.zeros((len(errors), 0))

    def errors_of(self, X: F64) -> F64:
        """(n, s): the errors of the sets of patients X (n, q), without those of all variables at once."""
        place = {int(variable): at for at, variable in enumerate(self.model.order)}
        found = np.zeros((len(X), len(self.sets)))
        for column, some, effects in zip(found.T, self.sets, self._effects(), strict=True):
            for member, weight in zip(some, unit_length(effects), strict=True):
                column += weight * self.model.errors_of(X, place[member])
        return found

    def _effects(self) -> list[F64]:
        """Of each set what a unit of the error of each member adds."""
        effects = np.zeros(self.model.n_variables)
        effects[self.model.order] = self.model.unit_effects
        return [effects[list(some)] for some in self.sets]
