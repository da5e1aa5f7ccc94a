"""Columns on a log scale, and what is refused of them: only numbers above 0 have a logarithm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..core.table import F64, Index
from ..errors import InputError
from ..wording import listed, plural, quoted
from .encoding import Encoding
from .guess import IN_PYTHON, Advice, by_place
from .rules import NAMED_AT_MOST, Findings

HALF_THE_LIMIT = "where 0 means less than can be measured, put half of that limit"


@dataclass(frozen=True)
class NotPositive:
    """Values of 0 or less in a column of new patients: how many, and the first with its row, from 1."""

    count: int
    value: float
    row: int

    @classmethod
    def among(cls, values: F64, rows_before: int = 0) -> NotPositive | None:
        """Of the values (n,) of a column; None where there are none."""
        found = np.flatnonzero(values <= 0)
        if not found.size:
            return None
        return cls(found.size, float(values[found[0]]), rows_before + int(found[0]) + 1)

    def __add__(self, later: NotPositive) -> NotPositive:
        return replace(self, count=self.count + later.count)


def put_on_log_scale(
    encoding: Encoding, logs: Sequence[str | int], advice: Advice, findings: Findings
) -> Encoding:
    """The same variables, some on a log scale; names of no column, and of a column with levels, are noted."""
    if not logs:
        return encoding
    variables = list(encoding.variables)
    for place in by_place(dict.fromkeys(logs, "log"), encoding.names, findings, advice.logs):
        if variables[place].levels:
            with findings.noting():
                name = encoding.names[place]
                raise InputError(
                    f"column {quoted(name)} has levels ({variables[place].kind}), and only numbers have a "
                    f"logarithm: leave it off {advice.logs} or, if it is a number, say so with "
                    f"{advice.as_number(name)}"
                )
        else:
            variables[place] = replace(variables[place], log=True)
    return replace(encoding, variables=tuple(variables))


def not_positive(table: F64, encoding: Encoding) -> Index:
    """(p,) how many values of each variable on a log scale have no logarithm."""
    counts = np.zeros(len(encoding.variables), dtype=np.intp)
    logs = encoding.on_log_scale
    if logs:
        counts[logs] = (table[:, logs] <= 0).sum(axis=0)
    return counts


def refuse_not_positive(counts: Index, names: Sequence[str], advice: Advice) -> None:
    """Refuse columns (p,) of a cohort with such values."""
    found = np.flatnonzero(counts).tolist()
    if found:
        shown = listed(
            [f"{quoted(names[c])} ({plural(int(counts[c]), 'row')})" for c in found], NAMED_AT_MOST
        )
        raise InputError(
            f"values of 0 or less have no logarithm, and there are some in {shown}: leave "
            f"{'it' if len(found) == 1 else 'them'} off {advice.logs}; or, {HALF_THE_LIMIT}; or, where it "
            f"means not measured, {advice.not_measured(names[found[0]])}"
        )


def refuse_not_positive_patients(
    found: Mapping[str, NotPositive], advice: Advice = IN_PYTHON, where: str = "X"
) -> None:
    """Refuse such values of new patients, by the names of their columns."""
    if found:
        cells = [
            f"{one.value:g} in {quoted(name)}, row {one.row}"
            + (f" and {plural(one.count - 1, 'more row')}" if one.count > 1 else "")
            for name, one in found.items()
        ]
        raise InputError(
            f"the model takes the logarithm of these columns, and {where} has values of 0 or less in them: "
            f"{listed(cells, NAMED_AT_MOST)}. Correct them; {HALF_THE_LIMIT}; where it means not measured, "
            f"{advice.not_measured(next(iter(found)))}"
        )
