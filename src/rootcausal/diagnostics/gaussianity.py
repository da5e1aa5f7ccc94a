"""Are the errors non-Gaussian? Which of two columns acts on the other cannot be told if both are Gaussian.

One that is not will do: then only one direction leaves errors that are independent (Darmois and Skitovich).
So each arrow whose direction was learned is looked at, by the shapes of the errors at its two ends. The score
of the pair itself is no better: its standard error goes to zero just where both are Gaussian.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import normaltest

from ..core.table import F64, Index
from ..wording import listed, one_line, plural, quoted
from .diagnosis import Check, Verdict
from .evidence import Evidence
from .visible import smallest_visible

QUESTION = "Are the errors non-Gaussian, so that causes can be told from effects?"
LEVEL = 0.01
# The test says nothing of fewer rows.
FEWEST_ROWS = 20
# Errors that differ by less than this, of their own size, differ by rounding: they have no shape.
ROUNDING = 1e-12
# √(skewness² / 6 + excess kurtosis² / 24) of Student's law with ten degrees of freedom: where so little would
# have been seen, what looks Gaussian is.
NEARLY_GAUSSIAN = 0.2
# The part of all arrows from which on the order as a whole says little.
BROKEN_SHARE = 1 / 3
ARROWS_NAMED = 3


def gaussian_p_values(errors: F64) -> F64:
    """(k,): D'Agostino and Pearson's test by skewness and kurtosis; large where an error looks Gaussian.

    1 where nothing is known of its shape: of few rows, and where none of them differs.
    """
    p_values = np.ones(errors.shape[1])
    if errors.shape[0] >= FEWEST_ROWS:
        varies = np.ptp(errors, axis=0) > ROUNDING * np.abs(errors).max(axis=0)
        p_values[varies] = normaltest(np.asfortranarray(errors[:, varies]), axis=0).pvalue
    return p_values


def check_gaussianity(evidence: Evidence) -> Check:
    n = evidence.errors.shape[0]
    p_values = np.where(evidence.with_levels, 0.0, gaussian_p_values(evidence.errors))
    arrows = np.argwhere(evidence.arrows & evidence.learned)[:, ::-1]  # (m, 2): cause and effect
    # How far the less Gaussian of the two is from being Gaussian: the larger, the less is known.
    doubt = p_values[arrows].min(axis=1)
    undirected = arrows[doubt >= LEVEL][np.argsort(-doubt[doubt >= LEVEL], kind="stable")]
    verdict = _judge(len(undirected), len(arrows), smallest_visible(n, 2, 1, LEVEL) <= NEARLY_GAUSSIAN)
    between, rows = _pairs(evidence, undirected), plural(n, evidence.row_noun)
    return Check(
        "non_gaussian",
        QUESTION,
        verdict,
        float(len(undirected)),
        None,
        _statement(len(undirected), len(arrows), between, rows),
        _advice(evidence, verdict, undirected),
        evidence.named(undirected) if verdict != "fine" else (),
        limit=_limit(verdict, between, rows),
        touches="" if verdict == "fine" else "order",
    )


def _judge(n_undirected: int, n_arrows: int, enough: bool) -> Verdict:
    if not enough:
        # Without an arrow nothing shows that few patients have none: it may have been missed.
        return "cannot tell" if n_undirected or not n_arrows else "fine"
    if not n_undirected:
        return "fine"
    return "broken" if n_undirected >= BROKEN_SHARE * n_arrows else "doubtful"


def _statement(n_undirected: int, n_arrows: int, between: str, rows: str) -> str:
    if not n_arrows:
        return f"{rows} show no arrow whose direction had to be learned."
    if not n_undirected:
        return (
            f"None of {plural(n_arrows, 'arrow')} between variables has bell-shaped (Gaussian) shocks at "
            "both ends: shapes allow its direction to be learned."
        )
    return (
        f"{n_undirected} of {plural(n_arrows, 'arrow')} between variables could as well point the other way: "
        f"at both ends the shocks look bell-shaped (Gaussian) in these {rows}. "
        f"{'This one is' if n_undirected == 1 else 'These are'} between {between}."
    )


def _limit(verdict: Verdict, between: str, rows: str) -> str:
    if verdict == "fine":
        return ""
    if not between:
        return f"Which variable acts on which is not shown by {rows}: no arrow was seen."
    if verdict == "cannot tell":
        first = "which comes first, and passes its shocks on"
        return f"{rows} do not show {first}, between {between}."
    do_not = "Do not read" if verdict == "broken" else "Do not rely on"
    return f"{do_not} which comes first, and passes its shocks on, between {between}."


def _advice(evidence: Evidence, verdict: Verdict, undirected: Index) -> str:
    if verdict == "fine":
        return ""
    if not len(undirected):
        return "collect more patients before you read the order of the variables."
    cause, effect = (one_line(evidence.names[place], 40) for place in undirected[0])
    return (
        f"where you know which of two comes first, say so (--tiers, --causes; for example whether {cause} "
        f"can act on {effect}), and see how often resamples agree on the order (--bootstrap). If one of them "
        "was turned into logarithms or normal scores before, give it as it was measured."
    )


def _pairs(evidence: Evidence, arrows: Index) -> str:
    names = [[quoted(evidence.names[place], 40) for place in pair] for pair in arrows]
    return listed([f"{cause} and {effect}" for cause, effect in names], ARROWS_NAMED)
