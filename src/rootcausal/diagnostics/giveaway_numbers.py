"""Does one column give a number away: a copy of it, another unit, a part of how it is reckoned?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm

from ..core.layout import Layout
from ..core.table import F64
from ..screening.leakage import LIMITS, by_absence_of_number
from ..wording import plural, quoted
from .checked import Checked
from .diagnosis import Check
from .giveaway import Reason, dominating, given_away, named_like_an_end, question
from .many_tests import corrected
from .ranks import correlations_of, rank_correlations
from .visible import POWER

FEWEST = 20
# More rows would not change what goes with what.
ROWS_AT_MOST = 5_000


def check_giveaway_of_numbers(checked: Checked) -> Check:
    """For all columns of the cohort, also those that the model left out."""
    assert checked.known is not None
    layout = checked.model.layout or Layout.numbers(checked.X.shape[1])
    happening = checked.words.happening
    names = [str(name) for name in checked.named.names]
    n = checked.known.size
    rows = np.linspace(0, n - 1, min(n, ROWS_AT_MOST)).astype(np.intp)
    y, X = checked.known[rows], checked.X[rows]
    missing = None if checked.missing is None else checked.missing[rows]
    found = correlations(X, missing, y, layout)
    reasons = [
        *_copies(names, found, missing, layout, n),
        *_ends(names, found, layout, n),
        *absent(names, missing, y, layout, "absence, pairs", "the outcome"),
        *_of_model(names, checked),
    ]
    sure = norm.isf(LIMITS["correlation"].p_doubtful / (2.0 * max(len(names), 1))) + norm.isf(1.0 - POWER)
    smallest = float(min(sure / np.sqrt(max(n - 2, 1)), 1.0))
    if reasons:
        return given_away(reasons, names, smallest, happening)
    if n < FEWEST:
        return _too_few(n, smallest, happening)
    largest = float(found.max(initial=0.0))
    return Check(
        "gives_away",
        question(happening),
        "fine",
        largest,
        None,
        f"The column that alone goes with {happening} most closely does so with a correlation of "
        f"{largest:.2f}.",
        "",
        smallest=smallest,
    )


def correlations(X: F64, missing: np.ndarray | None, y: F64, layout: Layout) -> F64:
    """(p,) size of the correlation of each variable alone with y: of values, or of ranks if that is larger.

    Of levels without an order, that of their means. Zero where too few have a value.
    """
    first = layout.first_columns
    values, absent = X[:, first], None if missing is None else missing[:, first]
    for variable in np.flatnonzero(np.bincount(layout.variable) > 1).tolist():
        there = slice(None) if absent is None else ~absent[:, variable]
        dummies, of_y = X[there][:, layout.columns_of(variable)], y[there]
        levels, of_level = np.unique(dummies.round(), axis=0, return_inverse=True)
        of_level = of_level.ravel()
        mean = np.bincount(of_level, of_y, len(levels)) / np.bincount(of_level, minlength=len(levels))
        values[there, variable] = mean[of_level]
    of_values = correlations_of(values.T, y, None if absent is None else ~absent.T)
    count = len(y) if absent is None else (~absent).sum(axis=0)
    return np.where(count >= FEWEST, np.maximum(of_values, rank_correlations(values, absent, y)), 0.0)


def _chance(correlation: float, n: int, n_variables: int) -> float:
    return corrected(float(2.0 * ndtr(-correlation * np.sqrt(max(n - 2, 1)))), n_variables)


def _copies(
    names: Sequence[str], found: F64, missing: np.ndarray | None, layout: Layout, n: int
) -> list[Reason]:
    reasons = []
    for variable, size in enumerate(found.tolist()):
        column = layout.first_columns[variable]
        share = 1.0 if missing is None else float((~missing[:, column]).mean())
        p_value = _chance(size, int(n * share), len(names))
        verdict = LIMITS["correlation"].grade(size, p_value)
        if verdict is not None:
            sentence = (
                f"{quoted(names[variable], 40)} alone correlates with the outcome by "
                f"{np.floor(1000.0 * size) / 1000.0:.3g}, as a copy of it does, another unit of it, or what "
                "it is reckoned from"
            )
            reasons.append(Reason(variable, verdict, size, p_value, sentence))
    return reasons


def _ends(names: Sequence[str], found: F64, layout: Layout, n: int) -> list[Reason]:
    reasons = []
    for variable in named_like_an_end(names, layout):
        size = float(found[variable])
        p_value = _chance(size, n, len(names))
        sentence = (
            f"{quoted(names[variable], 40)} is named like something that is known only in the end, and "
            f"correlates with the outcome by {size:.2f}"
        )
        verdict = LIMITS["name of an end, correlation"].grade(size, p_value)
        if verdict is not None:
            reasons.append(Reason(variable, verdict, size, p_value, sentence))
    return reasons


def absent(
    names: Sequence[str], missing: np.ndarray | None, y: F64, layout: Layout, limit: str, called: str
) -> list[Reason]:
    """Columns of which it tells a number, such as the outcome, that they are missing, or are there."""
    if missing is None:
        return []
    reasons = []
    for leak in by_absence_of_number(y, missing[:, layout.first_columns], LIMITS[limit]):
        size, high = max(leak.size, 1.0 - leak.size), "high" if leak.size > 0.5 else "low"
        sentence = (
            f"{quoted(names[leak.column], 40)} is missing where {called} is {high} (in {size:.0%} of pairs): "
            f"whether it was measured tells {called}"
        )
        reasons.append(Reason(leak.column, leak.grade, size, leak.p, sentence))
    return reasons


def _of_model(names: Sequence[str], checked: Checked) -> list[Reason]:
    assert checked.known is not None
    size = float(correlations_of(checked.stated[None], checked.known)[0])
    p_value = _chance(size, checked.known.size, len(names))
    telling = f"what the model expects correlates with the outcome by {size:.2f}"
    return (
        dominating(checked, names, size, p_value, telling) if size >= LIMITS["correlation"].doubtful else []
    )


def _too_few(n: int, smallest: float, happening: str) -> Check:
    return Check(
        "gives_away",
        question(happening),
        "cannot tell",
        float("nan"),
        None,
        f"In {plural(n, 'patient')} a column may go with {happening} by chance alone.",
        "ask of each column when it was measured, and whether the outcome is reckoned from it.",
        (),
        "Any column may be one that was measured after the outcome, or is part of it.",
        "variables",
        smallest,
    )
