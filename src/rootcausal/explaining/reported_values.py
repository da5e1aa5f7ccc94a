"""What an explanation lists: variables, sets of them that are read as one, and root causes among both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..method.confounded_sets import Merged, Sets, with_sets
from ..method.model import CausalModel
from ..method.table import F64, Index
from ..resampling.intervals import spread_of_values, with_doubt

if TYPE_CHECKING:
    from ..inputs.kinds import Variable
    from ..inputs.matrices import Matrix

#: What is known of how sure values are.
SPREAD = ("lower", "upper", "frequency", "rank_stability")


@dataclass(frozen=True)
class MergedSet:
    """Variables that are read as one, since their errors depend on each other.

    Attributes
    ----------
    name : the names of its members, joined.
    members : these names.
    shown : what people read in place of the name: the labels of its members, joined.
    places : the columns of its members in ``Explanation.values``.
    """

    name: str
    members: tuple[str, ...]
    shown: str
    places: tuple[int, ...]


@dataclass(frozen=True)
class RootCause:
    """A variable whose shock notably raised one patient's risk, hazard or value, or a set, read as one.

    Attributes
    ----------
    variable : its name; of a set "bili + copper".
    shapley : what the shock adds, on the scale of ``Explanation.values``.
    error : the shock, in standard deviations.
    value : what was measured or, where nothing was, is expected; of a level the number that stands for it.
    lower, upper : 95 % interval of ``shapley``; None where nothing was resampled or filled in. It is that of
        the resamples, and need not hold ``shapley``: where it does not, they seldom found that value.
    frequency : share of resamples in which it raises it at all; None without a bootstrap.
    level : the level in words; None for a number.
    imputed : whether the value was not measured; of a set, whether one was not.
    members : of a set, the names of its variables: it has no ``value`` (NaN), and ``error`` is that of all,
        weighted by what each adds.
    """

    variable: str
    shapley: float
    error: float
    value: float
    lower: float | None = None
    upper: float | None = None
    frequency: float | None = None
    level: str | None = None
    imputed: bool = False
    members: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Listed:
    """Numbers of p variables and, after them, of s sets; members of sets have zeros, and are not listed.

    Attributes
    ----------
    names : (p + s,).
    values, errors, data, imputed : (n, p + s), as in ``Explanation``. The error of a set is that of its
        members weighted by what each adds; its data are NaN, and imputed if a member's are.
    members : places of the variables that are in sets.
    lower, upper, frequency, rank_stability : (n, p + s), or None, as in ``Explanation``.
    open : (n, p + s) what was not measured, and whose interval does not exclude zero, or lies on its other
        side: no root cause.
    """

    names: tuple[str, ...]
    values: F64
    errors: F64
    data: F64
    imputed: np.ndarray
    members: Index
    lower: F64 | None
    upper: F64 | None
    frequency: F64 | None
    rank_stability: F64 | None

    @cached_property
    def open(self) -> np.ndarray:
        return open_of(self.values, self.imputed, self.lower, self.upper)


def open_of(values: F64, imputed: np.ndarray, lower: F64 | None, upper: F64 | None) -> np.ndarray:
    """Where a value was not measured, and its interval does not keep to the value's own side of zero."""
    if lower is None or upper is None:
        return imputed
    return imputed & ~np.where(values > 0, lower > 0, upper < 0)


def named_sets(sets: Sets, variables: Sequence[Variable]) -> tuple[MergedSet, ...]:
    """The sets, each with a name that no variable has."""
    found: list[MergedSet] = []
    names = [variable.name for variable in variables]
    for some in sets:
        members = tuple(names[place] for place in some)
        name = " + ".join(members)
        while name in names or any(name == other.name for other in found):
            name += " (together)"
        shown = " + ".join(variables[place].shown for place in some)
        found.append(MergedSet(name, members, shown, some))
    return tuple(found)


def spread_with_sets(
    model: CausalModel, resamples: Sequence[CausalModel], matrix: Matrix, values: F64, sets: Sets
) -> dict[str, F64]:
    """Intervals, frequencies and ranks (n, p + s), as far as resamples or values not measured give any.

    ``values`` (n, p) are those of the model. Every resample has the sets of the fitted model.
    """
    values, doubt = with_sets(values, sets), matrix.doubt(Merged(model, sets))
    if resamples:
        unlisted = np.union1d(model.covariates, members_of(sets))
        each = [Merged(resample, sets) for resample in resamples]
        return vars(spread_of_values(each, matrix.values, values, doubt, unlisted))
    if doubt is None:
        return {}
    lower, upper = with_doubt(values, None, doubt)
    return {"lower": lower, "upper": upper}


def members_of(sets: Sets) -> Index:
    """Variables that are in sets, ascending."""
    return np.array(sorted(member for some in sets for member in some), dtype=np.intp)


def listed_values(
    model: CausalModel,
    sets: Sequence[MergedSet],
    names: Sequence[str],
    plain: tuple[F64, F64, F64, np.ndarray],
    spread: Mapping[str, F64 | None],
) -> Listed:
    """Of ``plain`` values, errors, data and imputed (n, p) of variables, and the ``spread`` with sets."""
    values, errors, data, imputed = plain
    places = tuple(one.places for one in sets)
    if sets:
        errors = np.hstack([errors, Merged(model, places).set_errors(errors)])
        errors[:, members_of(places)] = 0.0
        data = np.hstack([data, np.full((len(data), len(sets)), np.nan)])
        imputed = np.column_stack([imputed, *(imputed[:, list(some)].any(axis=1) for some in places)])
        values = with_sets(values, places)
    return Listed(
        names=(*names, *(one.name for one in sets)),
        values=values,
        errors=errors,
        data=data,
        imputed=imputed,
        members=members_of(places),
        **{name: spread.get(name) for name in SPREAD},
    )
