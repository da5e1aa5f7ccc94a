"""Were columns measured finely enough? Limits of detection and coarse steps, by what the table alone shows.

Patients at a limit are not alike, and a model that takes them for such finds dependences that are none. The
rule is that of :mod:`..screening.resolution`, which look reads too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..method.layout import Layout
from ..method.table import Index
from ..screening.resolution import COARSE, PILE, coarse_steps, piles_of, without_ties, written
from ..wording import amount, pasted, quoted
from .diagnosis import NEVER, Check, CheckSpec, Text
from .evidence import Checked

FEWEST_ROWS = 50
# More rows would not change shares; these are spread evenly.
ROWS_AT_MOST = 20_000
COLUMNS_SAID = 3

SPEC = CheckSpec(
    "resolution",
    "Were columns measured finely enough: no limit of detection, no coarse rounding?",
    "columns that pile up at an end, or have coarse steps",
    {
        "fine": Text(
            "No column of numbers piles up at its least or greatest value, or comes in steps that are large "
            "against its spread."
        ),
        "cannot tell": Text(
            "{n:# patient} do not show whether columns pile up at a limit of detection, or were rounded.",
            "Fewer than {fewest} patients do not show limits of detection, or rounding.",
            "ask how each column was measured: from where on, and how finely.",
        ),
        "doubtful": Text(
            "{found}.",
            "{names} {names:was|were} measured less finely than {names:it looks|they look}: shocks on "
            "{names:it|them} are less sure, and others may be taken for causes in {names:its|their} place.",
            "{advice}.",
        ),
    },
    touches="variables",
    doubtful_from=f"{100 * PILE:g} % at one end, or steps of {COARSE:g} standard deviations",
    broken_from=NEVER,
)


class Coarse(NamedTuple):
    """What is said of one column: how bad it is, the finding, and what to do about it."""

    size: float
    name: str
    finding: str
    advice: str


def check_resolution(checked: Checked) -> Check:
    n = len(checked.X)
    if n < FEWEST_ROWS:
        return SPEC.check("cannot tell", float("nan"), n=n, fewest=FEWEST_ROWS)
    found = sorted(_coarse(checked), reverse=True)
    if not found:
        return SPEC.check("fine", 0.0)
    advice = list(dict.fromkeys(one.advice for one in found))
    return SPEC.check(
        "doubtful",
        float(len(found)),
        names=list(dict.fromkeys(one.name for one in found)),
        found="; ".join([*(one.finding for one in found[:COLUMNS_SAID]), *_more(len(found))]),
        advice="; ".join(advice[:COLUMNS_SAID]),
    )


def _more(n: int) -> list[str]:
    return [f"and {n - COLUMNS_SAID} more findings like these"] if n > COLUMNS_SAID else []


def _coarse(checked: Checked) -> Iterator[Coarse]:
    names, rows = checked.named.column_names, _rows(len(checked.X))
    layout = checked.model.layout or Layout.numbers(len(names))
    X, missing = checked.X[rows], checked.missing
    asked = np.flatnonzero(~layout.discrete & ~without_ties(checked.X))
    for column in asked.tolist():
        values, name = X[:, column].copy(), names[column]
        if missing is not None:
            values[missing[rows, column]] = np.nan
        logged = name in checked.logged
        for pile in piles_of(values):
            value = float(f"{np.exp(pile.value):.12g}") if logged else pile.value
            end, sign = ("least", "<") if pile.below else ("greatest", ">")
            yield Coarse(
                pile.share / PILE,
                name,
                f"{pile.share:.0%} of patients have the {end} value of {quoted(name, 40)}, {amount(value)}",
                f"where {quoted(name, 40)} could not be measured beyond {amount(value)}, say so (--limit "
                f"{pasted(f'{name}={sign}{written(value)}')}): values there are then drawn from what is "
                "expected",
            )
        steps = None if logged else coarse_steps(values)
        if steps is not None:
            how = f"{steps.share:.0%} at multiples" if steps.heaped else "all in steps"
            yield Coarse(
                steps.in_sd / COARSE,
                name,
                f"values of {quoted(name, 40)} are {how} of {amount(steps.size)}, which is {steps.in_sd:.1f} "
                "standard deviations",
                f"give {quoted(name, 40)} with more digits; where there are none, and it is no count or "
                "score that comes in such steps, say how large the error is: --reliability "
                f"{pasted(f'{name}=sd {steps.sd_of_error:.3g}')}",
            )


def _rows(n: int) -> Index:
    return np.linspace(0, n - 1, min(n, ROWS_AT_MOST)).astype(np.intp)
