"""Heteroscedasticity: is the variance of what a regression leaves of a number the same for all patients?"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from ..method.table import F64
from ..wording import plural, quoted
from .dependence import rank_correlations
from .diagnosis import Check, CheckSpec, Scale, Text
from .evidence import Evidence
from .power import corrected, smallest_visible

# How many times as wide the spread is in the upper third as in the lower one. Effects are right on average
# whatever the spread is: it is a doubt at most.
SCALE = Scale(1.5, np.inf, p_doubtful=1e-3)
# That must be visible before silence means anything.
HARD_RATIO = 2.0

FOUND = (
    "Where {column} is {high:high|low}, in a third of the patients, values lie {number:.2f} times as far "
    "from what is expected as in the third where it is {high:low|high} ({p:p} after correction for "
    "{n_columns:# column}; it "
    f"counts from {SCALE.doubtful:g} on)."
)
SPEC = CheckSpec(
    "even_spread",
    "Is the residual variance constant (homoscedastic)?",
    "times as far from what is expected, in one third of the patients as in another",
    {
        "fine": Text(FOUND),
        "cannot tell": Text(
            FOUND,
            "Whether values lie as closely about the expected ones in all patients cannot be told: only "
            "{smallest:.1f} times as far would be seen in {rows}.",
            "look at what is left of the outcome over the expected values.",
        ),
        "doubtful": Text(
            FOUND,
            "How far a value may lie from what is expected is not the same for all patients: it is "
            "{number:.1f} times as much where {column} is {high:high|low}.",
            "if the outcome grows by factors rather than by amounts, make a column of its logarithm in the "
            "file, and fit that (--log is for variables); effects themselves are right on average, and "
            "--bootstrap tells how sure they are.",
        ),
    },
    SCALE,
    touches="risk",
)


def check_heteroscedasticity(evidence: Evidence, stated: F64, left: F64) -> Check:
    """Whether the spread goes with what is expected (n,), or with an error.

    ``left`` (n,) is what a plain line leaves of the number.
    """
    names = ("the expected value", *(quoted(name, 40) for name in evidence.names))
    columns = np.vstack([stated, evidence.errors.T]).T
    size = np.abs(left - np.median(left))
    z = rank_correlations(columns, None, size) * np.sqrt(size.size)
    p_values = np.array([corrected(p, len(names)) for p in (2.0 * ndtr(-z)).tolist()])
    ratios = np.array([_ratio(column, left) for column in columns.T])
    widest = np.where(p_values < SCALE.p_doubtful, np.maximum(ratios, 1.0 / ratios), 0.0)
    worst = int(widest.argmax()) if widest.any() else int(p_values.argmin())
    ratio, p_value = float(ratios[worst]), float(p_values[worst])
    number = max(ratio, 1.0 / ratio)
    # The ratio of two estimates, of a third each, whose logarithms have a variance of 1 / (2 n / 3) or more.
    smallest = float(np.exp(smallest_visible(1, 1, len(names), SCALE.p_doubtful) * np.sqrt(3.0 / size.size)))
    verdict = SCALE.judge(p_value, number)
    return SPEC.check(
        "cannot tell" if verdict == "fine" and smallest > HARD_RATIO else verdict,
        number,
        p_value,
        names=(evidence.names[worst - 1],) if verdict != "fine" and worst else (),
        smallest=smallest,
        column=names[worst],
        high=ratio >= 1.0,
        n_columns=len(names),
        rows=plural(size.size, evidence.row_noun),
    )


def _ratio(column: F64, left: F64) -> float:
    """Of the mean size of what is left, in the upper third of a column and in the lower one."""
    order = np.argsort(column, kind="stable")
    third = max(order.size // 3, 1)
    size = np.abs(left - left.mean())
    low, high = float(size[order[:third]].mean()), float(size[order[-third:]].mean())
    return max(high, 1e-12) / max(low, 1e-12)
