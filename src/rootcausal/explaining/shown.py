"""An explanation as it shows itself: a short table for print and notebooks, and parts of it by patient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

import narwhals as nw
import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage

from ..errors import InputError, MissingExtraError
from ..method.confounded_sets import Merged, Sets, with_sets
from ..method.model import CausalModel
from ..method.table import F64, Index
from ..outcomes import words_of
from ..resampling.intervals import spread_of_values, with_doubt
from ..wording import one_line, plural

if TYPE_CHECKING:
    from ..inputs.kinds import Variable
    from ..inputs.matrices import Matrix
    from .explanation import Explanation


# What an explanation lists: variables, sets of them that are read as one, and root causes among both.

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


# What figures and the page draw alike: like patients side by side.


def similarity_order(values: F64) -> Index:
    """Rows ordered so that neighbours are alike: the leaves of a Ward tree, turned to fit best."""
    if len(values) < 3:
        return np.argsort(-values.sum(axis=1), kind="stable")
    return leaves_list(linkage(values, "ward", optimal_ordering=True)).astype(np.intp)


# What an explanation is to other libraries: a table of theirs, or an object for their plots.


def frame_of(columns: dict[str, Any], library: Any) -> Any:
    """A table of the library that the patients came in; for arrays a pandas DataFrame."""
    library = library or nw.Implementation.PANDAS
    try:
        # Of nothing but missing texts, no library would make texts by itself.
        levels = nw.new_series("level", columns["level"].tolist(), nw.String, backend=library)
        return nw.from_dict(columns | {"level": levels}, backend=library).to_native()
    except ImportError as error:
        raise MissingExtraError(
            "tables from arrays are pandas DataFrames, and pandas is not installed: "
            "pip install 'rootcausal[pandas]', or pass a dataframe of another library"
        ) from error


def as_shap(listed: Listed, base_values: F64, display: np.ndarray, ids: Sequence[Any]) -> Any:
    """A ``shap.Explanation`` of what is listed; ``display`` (n, p + s) are the measurements in words."""
    try:
        import shap
    except ImportError as error:
        raise MissingExtraError("to_shap needs shap: pip install 'rootcausal[shap]'") from error
    shown = np.delete(np.arange(len(listed.names)), listed.members)
    return shap.Explanation(
        values=listed.values[:, shown],
        base_values=base_values,
        data=listed.errors[:, shown],
        display_data=display[:, shown],
        feature_names=[listed.names[c] for c in shown],
        instance_names=[str(name) for name in ids],
        lower_bounds=None if listed.lower is None else listed.lower[:, shown],
        upper_bounds=None if listed.upper is None else listed.upper[:, shown],
    )


PATIENTS_SHOWN = 5
CAUSES_SHOWN = 3
NAME_LETTERS = 24
NOT_SCORED = "not scored: nothing was measured that the model goes by"


class OfPatients(Protocol):
    """What has an id for each patient."""

    @property
    def ids(self) -> tuple[Any, ...]: ...


@dataclass(frozen=True)
class Shown:
    """The first patients of an explanation, a row each, and what is said above and below them."""

    heading: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    below: str
    title: str = "Explanation"

    @classmethod
    def of(cls, explanation: Explanation) -> Shown:
        words = words_of(explanation._model.attribution)
        causes = explanation[:PATIENTS_SHOWN].root_causes(CAUSES_SHOWN, both_ways=words.both_ways)
        n, p = explanation.values.shape
        rows = []
        for row, found in enumerate(causes):
            named = ", ".join(
                f"{one_line(one.variable, NAME_LETTERS)} {words.beside(one.shapley)}" for one in found
            )
            scored = bool(explanation.scored[row])
            predicted = words.predicted(float(explanation.predicted[row])) if scored else "-"
            said = (named or words.no_causes) if scored else NOT_SCORED
            rows.append((one_line(explanation.ids[row], NAME_LETTERS), predicted, said))
        more = n - len(rows)
        return cls(
            f"{plural(n, 'patient')}, {plural(p, 'variable')}: what shocks add to the {words.scale} of "
            f"{words.of_what}",
            ("id", words.prediction, f"up to {CAUSES_SHOWN} root causes"),
            tuple(rows),
            f"and {plural(more, 'more patient')}; to_frame() has all"
            if more
            else "to_frame() has all values",
        )

    def text(self) -> str:
        lines = [self.header, *self.rows]
        widths = [max(len(line[column]) for line in lines) for column in range(2)]
        cells = [f"{one:<{widths[0]}}  {risk:>{widths[1]}}  {causes}".rstrip() for one, risk, causes in lines]
        return "\n".join([f"{self.title} of {self.heading}", "", *cells, "", self.below])

    def html(self) -> str:
        heading = f"<b>{escape(self.title)}</b> of {escape(self.heading)}"
        return as_table(heading, self.header, self.rows, [self.below])


def as_table(heading: str, header: Sequence[str], rows: Sequence[Sequence[str]], below: Sequence[str]) -> str:
    """An HTML table whose cells are text, whatever columns and patients are called; the heading is markup."""

    def cells(tag: str, row: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(text)}</{tag}>" for text in row) + "</tr>"

    body = "".join(cells("td", row) for row in rows)
    said = "".join(f"<p>{escape(text)}</p>" for text in below)
    return (
        f"<div><p>{heading}</p><table><thead>{cells('th', header)}</thead><tbody>{body}</tbody></table>"
        f"{said}</div>"
    )


def rows_of(explanation: OfPatients, key: Any) -> Index:
    """The places of the patients that somebody asks for: a place, several, a mask, a slice, or an id."""
    n = len(explanation.ids)
    if isinstance(key, slice):
        return np.arange(n)[key]
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        if not -n <= key < n:
            raise IndexError(
                f"patient {key} of {n}: they are counted from 0; by id they are asked with of_ids"
            )
        return np.array([key % n], dtype=np.intp)
    if isinstance(key, str):
        return rows_of_ids(explanation, [key])
    wanted = np.asarray(key)
    if wanted.dtype == bool and wanted.shape == (n,):
        return np.flatnonzero(wanted)
    if wanted.ndim == 1 and wanted.dtype.kind in "iu":
        return np.concatenate([np.empty(0, dtype=np.intp), *(rows_of(explanation, one) for one in wanted)])
    if wanted.ndim == 1 and wanted.dtype.kind in "UO":
        return rows_of_ids(explanation, key)
    raise InputError(
        "patients are asked for by place (0 is the first), a slice, a mask of all patients, or their ids"
    )


def rows_of_ids(explanation: OfPatients, ids: Sequence[Any]) -> Index:
    """Where patients with these ids are; all rows of an id that comes several times."""
    places: dict[Any, list[int]] = {}
    for row, one in enumerate(explanation.ids):
        places.setdefault(one, []).append(row)
    unknown = [one for one in ids if one not in places]
    if unknown:
        some = ", ".join(repr(one_line(one, NAME_LETTERS)) for one in explanation.ids[:3])
        raise InputError(f"no patient has the id {unknown[0]!r}: ids are such as {some}")
    return np.array([row for one in ids for row in places[one]], dtype=np.intp)
