"""How much each row counts: integers count rows, all other numbers are inclusion weights.

A row of weight 3 is three rows, and one of weight 0 is left out. Numbers of another type, also 3.0, and
integers that add up to more rows than any table was counted from, say how many others each patient stands for
(inverse probability weights): rows count in proportion, and together as many as tell as much, their effective
sample size.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
import pandas as pd

from ..errors import InputError
from ..method.table import F64, Index
from ..method.weighted import MOST_WEIGHTS, RowWeights, edges_between, fine_times
from ..wording import plural
from .from_frame import as_frame, with_ids
from .matched import MatchedDiagnosis
from .outcomes import Target
from .patients import Patients

#: A target of any kind.
T = TypeVar("T", bound=Target)

# Of integers, on average, beyond which they are no counts of rows.
MOST_ON_AVERAGE = 10
NAMED_AT_MOST = 5
# Kinds of arrays: truth values, and integers.
INTEGERS = "biu"
WITH_SETS = (
    "weights do not go together with matched sets (strata), which are told within themselves: leave one of "
    "them out"
)
WITH_PREVALENCE = (
    "weights do not go together with prevalence, which weights cases and controls itself: leave one of them "
    "out, or multiply the weights of cases, and those of controls, so that they come in its proportion"
)


@dataclass(frozen=True, eq=False)
class Weighing:
    """What weights make of a table of n rows.

    Attributes
    ----------
    rows : (m,) of the table: each as often as it counts or, where they have ``weights``, all that count.
    weights : what these rows count; None where all count the same.
    facts : what a model remembers, as :func:`facts_of` has it.
    """

    rows: Index
    weights: RowWeights | None
    facts: dict[str, Any]

    @classmethod
    def of(cls, weights: np.ndarray, numbers: np.ndarray) -> Weighing:
        """Of the weights (n,) of rows of these numbers; an InputError where one cannot be a weight."""
        facts = facts_of(Told.of(weights, numbers))
        there = np.flatnonzero(weights)
        kept = weights[there]
        if facts["whole"]:
            return cls(np.repeat(there, kept.astype(np.intp)), None, facts)
        return cls(there, None if bool((kept == kept[0]).all()) else RowWeights.of(kept), facts)

    @property
    def counted(self) -> Index:
        """(r,) rows of the table that stand for all, each as often as it counts."""
        return self.rows if self.weights is None else self.rows[self.weights.sample]


@dataclass(frozen=True)
class Told:
    """What weights come to, as sums over rows.

    Attributes
    ----------
    rows, left_out : how many rows there are, and how many of weight 0.
    whole : whether they are integers, which count rows.
    total, squares : Σ w and Σ w².
    different : the weights above zero that there are, up to one more than are told apart.
    extremes : the smallest and the largest of them.
    n_wrong, wrong : how many cannot be weights, and the first of these in words, by the number of the row.
    """

    rows: int
    left_out: int
    whole: bool
    total: float
    squares: float
    different: frozenset[float]
    extremes: tuple[float, float]
    n_wrong: int = 0
    wrong: tuple[str, ...] = ()

    @classmethod
    def of(cls, weights: np.ndarray, numbers: np.ndarray) -> Told:
        """Of the weights (n,) of rows of these numbers."""
        whole, weights = weights.dtype.kind in INTEGERS, weights.astype(np.float64)
        no_weight = ~(np.isfinite(weights) & (weights >= 0.0))
        first = np.flatnonzero(no_weight)[:NAMED_AT_MOST].tolist()
        wrong = tuple(
            f"row {numbers[row]} has {'none' if np.isnan(weights[row]) else f'{weights[row]:g}'}"
            for row in first
        )
        weights = np.where(no_weight, 0.0, weights)
        kept = weights[weights > 0.0]
        return cls(
            int(weights.size),
            int(weights.size - kept.size),
            whole,
            float(weights.sum()),
            float(weights @ weights),
            frozenset(np.unique(kept)[: MOST_WEIGHTS + 1].tolist()),
            (float(kept.min(initial=np.inf)), float(kept.max(initial=0.0))),
            int(no_weight.sum()),
            wrong,
        )

    def __add__(self, other: Told) -> Told:
        return Told(
            self.rows + other.rows,
            self.left_out + other.left_out,
            self.whole and other.whole,
            self.total + other.total,
            self.squares + other.squares,
            frozenset(sorted(self.different | other.different)[: MOST_WEIGHTS + 1]),
            (min(self.extremes[0], other.extremes[0]), max(self.extremes[1], other.extremes[1])),
            self.n_wrong + other.n_wrong,
            (*self.wrong, *other.wrong)[:NAMED_AT_MOST],
        )


def facts_of(told: Told) -> dict[str, Any]:
    """What a model remembers of weights: their rows, how many are left out, and the effective sample size.

    Integers count rows; ``as_sampled`` is the effective sample size if they did not. An :class:`InputError`
    names rows whose weight is none, below zero or infinite.
    """
    if told.n_wrong:
        more = f" and {told.n_wrong - len(told.wrong)} more" if told.n_wrong > len(told.wrong) else ""
        raise InputError(
            f"weights must be finite numbers of at least 0, and {', '.join(told.wrong)}{more}: correct "
            f"{plural(told.n_wrong, 'row')}, or leave out who has no weight"
        )
    if told.total == 0.0:
        raise InputError("weights are 0 in all rows, so none counts")
    tells = max(round(told.total**2 / told.squares), 1)
    facts = {"rows": told.rows, "left_out": told.left_out}
    if told.whole and told.total <= MOST_ON_AVERAGE * told.rows:
        return {**facts, "whole": True, "effective": round(told.total), "as_sampled": tells}
    counting = told.rows - told.left_out
    if tells < 2 <= counting:
        raise InputError(
            f"by these weights {plural(counting, 'row')} tell as much as one of equal weight (effective "
            "sample size), and at least two are needed: see whether the largest, "
            f"{told.extremes[1]:g}, is right"
        )
    return {**facts, "whole": False, "effective": tells}


def doubt_of(facts: Mapping[str, Any]) -> str | None:
    """What to say of integers, which may be sampling weights; else None."""
    counting = facts.get("rows", 0) - facts.get("left_out", 0)
    if not facts.get("whole") or facts["effective"] == counting:
        return None
    return (
        f"weights are integers, so {facts['rows']:,} rows count as {facts['effective']:,} patients: give "
        "other numbers, such as 3.0 or 0.5, if they are sampling weights; these rows then tell as much as "
        f"{facts['as_sampled']:,}"
    )


def in_words(provenance: Mapping[str, Any]) -> list[str]:
    """A sentence on the weights that a model was learned with, if there were any."""
    facts = provenance.get("weights")
    if not isinstance(facts, dict) or not facts.get("rows"):
        return []
    rows, effective = f"{facts['rows']:,} rows", f"{facts['effective']:,}"
    gone = f"; {plural(facts['left_out'], 'row')} of weight 0 left out" if facts.get("left_out") else ""
    if facts.get("whole"):
        return [f"Rows were counted by their weights: {rows} as {effective}{gone}."]
    return [
        f"Rows count by inclusion weights: {rows} tell as much as {effective} of equal weight (effective "
        f"sample size){gone}."
    ]


def weighing_of(X: Any, weights: Any) -> tuple[Any, Weighing]:
    """The variables of X, and what weights make of it; a text names its column, which is then no variable."""
    if isinstance(X, Patients):
        n, numbers = X.row_numbers.size, X.row_numbers
    else:
        X, weights = with_ids(X, weights, "weights")
        frame = as_frame(X)
        n = len(X) if frame is None else len(frame)
        numbers = np.arange(1, n + 1)
    if nw.dependencies.is_into_series(weights):
        weights = nw.from_native(weights, series_only=True).to_list()
    try:
        found = np.asarray([np.nan if one is None else one for one in weights])
        found = found if found.dtype.kind in INTEGERS else found.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError("weights must hold one number a row, or be the name of a column that does") from None
    if found.shape != (n,):
        raise InputError(f"X has {n} rows but weights has {len(found)}: give one weight a row")
    return X, Weighing.of(found, numbers)


def weighed(
    X: Any, target: Target, groups: Any, weights: Any, backend: str, prevalence: float | None
) -> tuple[Any, Target, Any, Any]:
    """The rows of a cohort that count, each as often as it does, or with a :class:`Weighing`.

    On a cluster they are as given, and so are the weights.
    """
    if prevalence is not None:
        raise InputError(WITH_PREVALENCE)
    _refuse_sets(target)
    if nw.dependencies.is_dask_dataframe(X) or backend == "dask":
        return X, target, groups, weights
    X, weighing = weighing_of(X, weights)
    rows, n = weighing.rows, weighing.facts["rows"]
    if rows.size == n and (rows == np.arange(n)).all():
        return X, target, groups, weighing
    return taken_of(X, rows, n), _target_of(target, rows, n), taken_of(groups, rows, n), weighing


def counted(X: Any, target: Target | None, ids: Any, weights: Any) -> tuple[Any, Target | None, Any]:
    """Patients who stand for all, each as often as it counts."""
    _refuse_sets(target)
    X, weighing = weighing_of(X, weights)
    rows, n = weighing.counted, weighing.facts["rows"]
    told = None if target is None else _target_of(target, rows, n)
    return taken_of(X, rows, n), told, taken_of(ids, rows, n)


def _refuse_sets(target: Target | None) -> None:
    if isinstance(target, MatchedDiagnosis):
        raise InputError(WITH_SETS)


def taken_of(given: Any, rows: Index, n_rows: int) -> Any:
    """Some rows of a table, of a column or of a list of one value a row; anything else as it is."""
    if isinstance(given, Patients):
        return given.taken(rows)
    if given is None or isinstance(given, str) or not hasattr(given, "__len__") or len(given) != n_rows:
        return given
    if isinstance(given, np.ndarray):
        return given[rows]
    if hasattr(given, "iloc"):
        return given.iloc[rows]
    if hasattr(given, "obs_names"):
        return given[rows].copy()
    if isinstance(given, Sequence):
        return [given[row] for row in rows]
    native = nw.from_native(given, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(native, nw.DataFrame | nw.Series):
        return native[rows].to_native()
    return np.asarray(given)[rows]


def _target_of(target: T, rows: Index, n_rows: int) -> T:
    """What happened to some of the patients."""
    given = {one.name: getattr(target, one.name) for one in fields(target)}  # type: ignore[arg-type]
    told = {name for name in given if name in target.ROLES or name in ("start", "strata")}
    return replace(target, **{name: taken_of(given[name], rows, n_rows) for name in told})  # type: ignore[type-var]


# How much each row counts, where rows are on a cluster: rows that are there several times, or parts of
# them.
#
# What :mod:`.weights` does with rows in memory, partition by partition.

#: sums(frame, columns, look): the sum over the partitions of what ``look`` makes of these columns.
Sums = Callable[[Any, Sequence[Hashable], Callable[[pd.DataFrame], Any]], Any]


@dataclass(frozen=True, eq=False)
class WeighedFrame:
    """A dask dataframe whose rows have weights.

    Attributes
    ----------
    frame : the rows that count: each as often as it does, and without their weights, where these are whole
        numbers.
    name : the column of the weights; None where all count the same.
    facts : what a model remembers.
    told : what the weights come to.
    """

    frame: Any
    name: Hashable | None
    facts: dict[str, Any]
    told: Told

    @classmethod
    def of(cls, sums: Sums, frame: Any, name: Hashable) -> WeighedFrame:
        """Look at the weights once."""
        told: Told = sums(frame, [name], partial(_told, name))
        facts = facts_of(told)
        without = frame._meta.drop(columns=[name])
        if facts["whole"]:
            return cls(frame.map_partitions(_repeated, name, meta=without), None, facts, told)
        frame = frame.map_partitions(_counting, name, meta=frame._meta)
        if len(told.different) == 1:
            return cls(frame.drop(columns=[name]), None, facts, told)
        return cls(frame, name, facts, told)

    @property
    def rows(self) -> Any:
        """The rows without their weights."""
        return self.frame if self.name is None else self.frame.drop(columns=[self.name])

    @property
    def fine(self) -> Any:
        """As :attr:`rootcausal.method.weighted.RowWeights.fine`."""
        n = self.told.rows - self.told.left_out
        times = fine_times(n) * n / self.told.total
        return self._made(partial(_finely, self.name, times))

    def alike(self, sums: Sums) -> Iterator[tuple[Any, float]]:
        """Rows of equal weight, or nearly so, and what one of each counts."""
        edges = edges_between(np.array(sorted(self.told.different)), self.told.extremes)
        assert self.name is not None
        found: F64 = sums(self.frame, [self.name], partial(_by_level, self.name, edges))
        scale = self.facts["effective"] / self.told.total
        for level in np.flatnonzero(found[0]).tolist():
            weight = scale * float(found[1, level] / found[0, level])
            yield self._made(partial(_of_level, self.name, edges, level)), weight

    def _made(self, make: Any) -> Any:
        return self.frame.map_partitions(make, meta=self.frame._meta.drop(columns=[self.name]))


def _weights(partition: pd.DataFrame, name: Hashable) -> F64:
    try:
        return partition[name].to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise InputError(f"weights must be numbers, and column {name!r} holds others") from None


def _told(name: Hashable, partition: pd.DataFrame) -> Told:
    weights = _weights(partition, name)
    whole = partition[name].dtype.kind in INTEGERS and not np.isnan(weights).any()
    return Told.of(weights.astype(np.intp) if whole else weights, partition.index.to_numpy())


def _repeated(partition: pd.DataFrame, name: Hashable) -> pd.DataFrame:
    times = _weights(partition, name).astype(np.intp)
    return partition.drop(columns=[name]).iloc[np.repeat(np.arange(times.size), times)]


def _counting(partition: pd.DataFrame, name: Hashable) -> pd.DataFrame:
    return partition[_weights(partition, name) > 0.0]


def _finely(name: Hashable, times: float, partition: pd.DataFrame) -> pd.DataFrame:
    count = np.maximum(np.rint(_weights(partition, name) * times), 1.0).astype(np.intp)
    return partition.drop(columns=[name]).iloc[np.repeat(np.arange(count.size), count)]


def _by_level(name: Hashable, edges: F64, partition: pd.DataFrame) -> F64:
    weights = _weights(partition, name)
    level = np.searchsorted(edges, weights, side="right")
    return np.stack([np.bincount(level, weights=of, minlength=edges.size + 1) for of in (None, weights)])


def _of_level(name: Hashable, edges: F64, level: int, partition: pd.DataFrame) -> pd.DataFrame:
    found = np.searchsorted(edges, _weights(partition, name), side="right") == level
    return partition.drop(columns=[name])[found]
