"""From columns to variables: which places of a causal order make up each variable, and with what weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .layout import Layout
from .table import F64, Index


@dataclass(frozen=True, eq=False)
class Grouping:
    """The variables of a causal order whose columns may belong together; covariates are none of them.

    Attributes
    ----------
    variables : (v,) in causal order, each once, at the place of its first column.
    alone : (v,) which variables have a single column in the table.
    places : v arrays, the places of each variable's columns in the causal order of columns.
    weights : v arrays of unit length: how the errors of its columns make up the error of the variable. Errors
        of unit variance that are independent then make one of unit variance.
    """

    variables: Index
    alone: np.ndarray
    places: tuple[Index, ...]
    weights: tuple[F64, ...]

    @classmethod
    def of(cls, layout: Layout, order: Index, unit_effects: F64) -> Grouping:
        """Of columns (k,) in causal order, and what a unit of the error of each adds to the log-odds (k,).

        Weights are proportional to these effects δ, so that a variable's Shapley value Σ δe is its error
        times the root of Σ δ². Where all δ are zero, the error is that of the first column.
        """
        owner = np.where(layout.covariate[order], -1, layout.variable[order])
        variables, first = np.unique(owner[owner >= 0], return_index=True)
        variables = variables[np.argsort(first)]
        alone = np.bincount(layout.variable, minlength=layout.n_variables)[variables] == 1
        by_owner = np.argsort(owner, kind="stable")
        starts = np.searchsorted(owner[by_owner], variables)
        ends = np.searchsorted(owner[by_owner], variables, side="right")
        places = tuple(by_owner[a:b] for a, b in zip(starts, ends, strict=True))
        weights = tuple(
            np.ones(1) if single else unit_length(unit_effects[some])
            for single, some in zip(alone, places, strict=True)
        )
        return cls(variables, alone, places, weights)

    @property
    def first(self) -> Index:
        """(v,) the place of each variable's first column."""
        return np.array([some[0] for some in self.places], dtype=np.intp)

    def errors(self, errors: F64) -> F64:
        """(n, v): errors of the variables, from those of the columns (n, k)."""
        if self.alone.all():
            return errors[:, self.first]
        columns = [errors[:, some] @ weight for some, weight in zip(self.places, self.weights, strict=True)]
        return np.stack(columns, axis=1) if columns else np.zeros((len(errors), 0))

    def sums(self, values: F64) -> F64:
        """(n, v): sums over the columns of each variable, of values (n, k)."""
        if self.alone.all():
            return values[:, self.first]
        columns = [values[:, some].sum(axis=1) for some in self.places]
        return np.stack(columns, axis=1) if columns else np.zeros((len(values), 0))

    def norms(self, effects: F64) -> F64:
        """(v,): effects (k,) themselves or, of several columns, the root of their summed squares."""
        return np.array(
            [
                effects[some[0]] if single else np.linalg.norm(effects[some])
                for single, some in zip(self.alone, self.places, strict=True)
            ]
        )

    def direct_effects(self, effects: F64) -> F64:
        """(v, v): effects (k, k) between columns as effects between variables.

        Between two single columns the effect itself; otherwise the root of the summed squares, which says how
        strong and not in which direction: levels without an order have none.
        """
        if not self.places:
            return np.zeros((0, 0))
        first = self.first
        side_by_side = np.concatenate(self.places)
        starts = np.cumsum([0, *(some.size for some in self.places[:-1])])
        squares = effects[np.ix_(side_by_side, side_by_side)] ** 2
        size = np.sqrt(np.add.reduceat(np.add.reduceat(squares, starts, axis=0), starts, axis=1))
        found = np.where(np.outer(self.alone, self.alone), effects[np.ix_(first, first)], size)
        np.fill_diagonal(found, 0.0)
        return found

    def total_effects(self, effects: F64) -> F64:
        """(v, v), ``[i, j]``: by how much i moves for a unit of the error of j; ``effects`` are of columns.

        A unit of the error of several columns is shared among them by their weights. Of an effect on several
        columns only the size is told.
        """
        along = [effects[:, some] @ weight for some, weight in zip(self.places, self.weights, strict=True)]
        v = self.variables.size
        return np.array([self.norms(one) for one in along]).reshape(v, v).T


def unit_length(effects: F64) -> F64:
    """Weights proportional to effects; where these are all zero, the first alone counts."""
    size = float(np.linalg.norm(effects))
    return effects / size if size > 0 else np.eye(1, effects.size)[0]
