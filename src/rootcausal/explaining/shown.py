"""An explanation as it shows itself: a short table for print and notebooks, and parts of it by patient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..errors import InputError
from ..method.table import Index
from ..outcomes import words_of
from ..wording import one_line, plural

if TYPE_CHECKING:
    from .explanation import Explanation

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
