"""From which mechanisms of a reference group rows depart: surprises, p-values, root causes, tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..departure.reference import Reference
from ..errors import InputError
from ..inputs.kinds import Variable
from ..inputs.levels import TableInWords
from ..inputs.matrices import Matrix
from ..method.table import F64, Index
from ..wording import one_line, plural, share
from .shown import CAUSES_SHOWN, NAME_LETTERS, PATIENTS_SHOWN, Shown, frame_of, rows_of, rows_of_ids

NOTHING_DEPARTS = "nothing departs"
NOTHING_SEEN = "cannot tell: nothing was measured that the model goes by"


class DepartureFrom(NamedTuple):
    """A variable from whose mechanism a row departs.

    Attributes
    ----------
    variable : its name.
    surprise : -log of the p-value, in nats.
    p_value, adjusted : of the row on this variable, and corrected for all variables.
    error : the departure in standard deviations of the reference group.
    value : what was measured, and None of a group of rows or a variable with levels.
    expected : what its causes lead to expect, likewise.
    level : the level in words; None for a number and a group.
    """

    variable: str
    surprise: float
    p_value: float
    adjusted: float
    error: float
    value: float | None
    expected: float | None
    level: str | None


@dataclass(frozen=True, eq=False, repr=False)
class Departures:
    """Rows, or groups of rows, against a reference group.

    Attributes
    ----------
    surprise : (n, p) nats, -log of ``p_values``: how far each row departs from what the causes of a variable
        explain. NaN where nothing was measured, for covariates, and where a variable is not judged.
    p_values : (n, p) two-sided, against rows of the reference group that were not fitted. A surprise may be
        so large that its p-value is zero in floating point.
    adjusted : (n, p) the same corrected for all variables of a row.
    errors : (n, p) the departure in standard deviations of the reference group, averaged over its graphs; of
        a group, the mean of its rows.
    data : (n, p) the measurements in their own units; of a group, their means.
    expected : (n, p) what its causes lead to expect of a number, likewise; NaN for variables with levels.
    alpha : the share of rows of the reference group of which something is said to depart.
    feature_names, variables, ids : as in :class:`rootcausal.Explanation`; of groups, what these are called.
    sizes : (n,) rows of each group; ones where rows are told by themselves.
    grouped : whether groups are told.
    provenance : how the model was made.
    """

    surprise: F64
    adjusted: F64
    errors: F64
    data: F64
    expected: F64
    alpha: float
    feature_names: tuple[str, ...]
    variables: tuple[Variable, ...]
    ids: tuple[Any, ...]
    sizes: Index
    grouped: bool
    provenance: dict[str, Any]
    _levels: np.ndarray = field(repr=False)
    _library: Any = field(repr=False)

    @classmethod
    def of(
        cls,
        reference: Reference,
        matrix: Matrix,
        variables: Sequence[Variable],
        ids: tuple[Any, ...],
        groups: tuple[Index, ...] | None,
        alpha: float,
        provenance: dict[str, Any],
    ) -> Departures:
        """What a reference group says of rows, each by itself or in ``groups``, whose names are the ids."""
        scored = reference.score(matrix.values, matrix.measured, matrix.completion)
        logs, _ = reference.log_probabilities(scored.scores, groups)
        seen = matrix.values if matrix.measured is None else matrix.measured
        cells = TableInWords(tuple(variables), reference.layout, seen)
        told = TableInWords(tuple(variables), reference.layout, scored.expected)
        data, expected, levels = cells.numbers(), told.numbers(), cells.levels()
        expected[:, [place for place, one in enumerate(variables) if one.levels]] = np.nan
        expected[np.isnan(scored.scores)] = np.nan
        errors, sizes = scored.scores, np.ones(len(ids), dtype=np.intp)
        if groups is not None:
            errors, data, expected = (
                np.stack([mean_of_seen(table[rows]) for rows in groups]) for table in (errors, data, expected)
            )
            sizes = np.array([rows.size for rows in groups])
            levels = np.full(data.shape, None, dtype=object)
        return cls(
            surprise=-logs,
            adjusted=reference.corrected(logs),
            errors=errors,
            data=data.copy(),
            expected=expected,
            alpha=alpha,
            feature_names=tuple(variable.name for variable in variables),
            variables=cells.variables,
            ids=ids,
            sizes=sizes,
            grouped=groups is not None,
            provenance=provenance,
            _levels=levels,
            _library=matrix.library,
        )

    @cached_property
    def p_values(self) -> F64:
        """(n, p) two-sided, of each row on each variable."""
        return np.exp(-self.surprise)

    @property
    def departs(self) -> np.ndarray:
        """(n, p): of which variables a row departs, at the rate ``alpha`` of false alarms among all rows."""
        return np.asarray(self.adjusted <= self.alpha)

    @property
    def nothing_departs(self) -> np.ndarray:
        """(n,): rows that depart from nothing; also those of which nothing was measured."""
        return np.asarray(~self.departs.any(axis=1))

    @property
    def told(self) -> np.ndarray:
        """(n,): rows of which something was measured that the model goes by."""
        return np.asarray((~np.isnan(self.surprise)).any(axis=1))

    def __len__(self) -> int:
        """How many rows, or groups, there are."""
        return len(self.ids)

    def __getitem__(self, key: Any) -> Departures:
        """The same of some rows: by place, slice, mask, or ids that are texts."""
        return self._of_rows(rows_of(self, key))

    def of_ids(self, ids: Sequence[Any]) -> Departures:
        """The same of the rows with these ids."""
        return self._of_rows(rows_of_ids(self, ids))

    def _of_rows(self, rows: Index) -> Departures:
        tables = ("surprise", "adjusted", "errors", "data", "expected", "sizes", "_levels")
        some: dict[str, Any] = {name: getattr(self, name)[rows] for name in tables}
        return replace(self, **some, ids=tuple(self.ids[row] for row in rows))

    def ranking(self) -> list[list[str]]:
        """For each row all variables that are judged, the most surprising first."""
        names = np.array(self.feature_names, dtype=object)
        order = self._order()
        return [
            names[some[~np.isnan(surprise[some])]].tolist()
            for some, surprise in zip(order, self.surprise, strict=True)
        ]

    def _order(self) -> Index:
        """(n, p) places of variables by surprise, and of equal ones by the size of their errors."""
        surprise = np.where(np.isnan(self.surprise), -np.inf, self.surprise)
        return np.lexsort((-np.abs(np.nan_to_num(self.errors)), -surprise), axis=1)

    def root_causes(self, top: int = 3) -> list[list[DepartureFrom]]:
        """For each row up to ``top`` variables that it departs from, the most surprising first.

        A row may have none: nothing departs. All surprises, however small, are in :meth:`to_frame`.
        """
        if top < 1:
            raise InputError(f"top must be at least 1, not {top!r}")
        departs = self.departs
        return [
            [self._departure(row, int(c)) for c in order[:top] if departs[row, c]]
            for row, order in enumerate(self._order())
        ]

    def _departure(self, row: int, c: int) -> DepartureFrom:
        leveled = bool(self.variables[c].levels)
        told = None if leveled else float(self.expected[row, c])
        return DepartureFrom(
            self.feature_names[c],
            float(self.surprise[row, c]),
            float(self.p_values[row, c]),
            float(self.adjusted[row, c]),
            float(self.errors[row, c]),
            None if leveled else float(self.data[row, c]),
            told,
            self._levels[row, c],
        )

    def to_frame(self) -> Any:
        """Tidy table with one row for each row, or group, and variable.

        Columns: id, variable, value (measured; of a group the mean), level (in words; null for numbers and
        groups), expected (what its causes lead to expect), error (the departure in standard deviations),
        surprise (nats), p_value, adjusted (corrected for all variables of the row), rank (1 is the most
        surprising), departs (adjusted is at most ``alpha``); of groups also rows. Variables that are not
        judged are left out. The table is of the library that X came in; for arrays a pandas DataFrame.
        """
        shown = np.flatnonzero(~np.isnan(self.surprise).all(axis=0))
        n, p = len(self), shown.size
        rank = np.empty(self.surprise.shape, dtype=np.intp)
        np.put_along_axis(rank, self._order(), np.arange(1, len(self.feature_names) + 1), axis=1)
        columns = {
            "value": self.data,
            "level": self._levels,
            "expected": self.expected,
            "error": self.errors,
            "surprise": self.surprise,
            "p_value": self.p_values,
            "adjusted": self.adjusted,
            "rank": rank,
            "departs": self.departs,
        }
        sizes = {"rows": np.repeat(self.sizes, p)} if self.grouped else {}
        return frame_of(
            {
                "id": np.repeat(np.array(self.ids), p),
                "variable": np.tile(np.array(self.feature_names)[shown], n),
                **{name: table[:, shown].ravel() for name, table in columns.items()},
                **sizes,
            },
            self._library,
        )

    def __repr__(self) -> str:
        """The first rows and what they depart from."""
        return self._shown().text()

    def _repr_html_(self) -> str:
        return self._shown().html()

    def _shown(self) -> Shown:
        some = self[:PATIENTS_SHOWN]
        rows = []
        for row, causes in enumerate(some.root_causes(CAUSES_SHOWN)):
            named = ", ".join(
                f"{one_line(one.variable, NAME_LETTERS)} {one.surprise:.1f} nats" for one in causes
            )
            said = (named or NOTHING_DEPARTS) if some.told[row] else NOTHING_SEEN
            least = np.nanmin(some.adjusted[row]) if some.told[row] else np.nan
            rows.append((one_line(some.ids[row], NAME_LETTERS), f"{least:.2g}", said))
        what, more = "group" if self.grouped else "row", len(self) - len(some)
        return Shown(
            f"{plural(len(self), what)} from a reference group of {self.provenance['rows']:,} rows; "
            f"{share(self.alpha)} of its like would be said to depart",
            ("id", "p", f"up to {CAUSES_SHOWN} mechanisms departed from"),
            tuple(rows),
            f"and {plural(more, f'more {what}')}; to_frame() has all"
            if more
            else "to_frame() has all values",
            "Departures",
        )


def mean_of_seen(table: F64) -> F64:
    """(p,) means of the numbers of each column (g, p); NaN where there is none."""
    seen = ~np.isnan(table)
    total = np.where(seen, table, 0.0).sum(axis=0)
    return np.where(seen.any(axis=0), total / np.maximum(seen.sum(axis=0), 1), np.nan)
