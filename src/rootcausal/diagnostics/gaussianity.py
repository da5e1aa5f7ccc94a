"""Are the errors non-Gaussian? Which of two columns acts on the other cannot be told if both are Gaussian.

One that is not will do: then only one direction leaves errors that are independent (Darmois and Skitovich).
So each arrow whose direction was learned is looked at, by the shapes of the errors at its two ends. The score
of the pair itself is no better: its standard error goes to zero just where both are Gaussian.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.stats import normaltest

from ..method.table import F64
from ..wording import listed, plural, quoted
from .diagnosis import Check, CheckSpec, Text, Verdict
from .evidence import Evidence
from .power import smallest_visible

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

UNDIRECTED = Text(
    "{n_undirected} of {n_arrows:# arrow} between variables could as well point the other way: at both ends "
    "the shocks look bell-shaped (Gaussian) in these {rows}. {n_undirected:This one is|These are} between "
    "{between}.",
    "Do not rely on which comes first, and passes its shocks on, between {between}.",
    "where you know which of two comes first, say so (--tiers, --causes; for example whether {cause:name} "
    "can act on {effect:name}), and see how often resamples agree on the order (--bootstrap). If one of them "
    "was turned into logarithms or normal scores before, give it as it was measured.",
)
NO_ARROW = "{rows} show no arrow whose direction had to be learned."
SPEC = CheckSpec(
    "non_gaussian",
    "Are the errors non-Gaussian, so that causes can be told from effects?",
    f"arrows whose two ends both look Gaussian (p ≥ {LEVEL:g})",
    {
        "fine": Text(
            "None of {n_arrows:# arrow} between variables has bell-shaped (Gaussian) shocks at both ends: "
            "shapes allow its direction to be learned."
        ),
        "fine, no arrow": Text(NO_ARROW),
        "cannot tell": replace(
            UNDIRECTED,
            limit="{rows} do not show which comes first, and passes its shocks on, between {between}.",
        ),
        "cannot tell, no arrow": Text(
            NO_ARROW,
            "Which variable acts on which is not shown by {rows}: no arrow was seen.",
            "collect more patients before you read the order of the variables.",
        ),
        "doubtful": UNDIRECTED,
        "broken": Text(limit="Do not read which comes first, and passes its shocks on, between {between}."),
    },
    touches="order",
    doubtful_from="one",
    broken_from=f"{100 * BROKEN_SHARE:.0f} % of them",
)


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
    enough = smallest_visible(n, 2, 1, LEVEL) <= NEARLY_GAUSSIAN
    pairs = [[evidence.names[place] for place in pair] for pair in undirected]
    verdict = _judge(len(undirected), len(arrows), enough)
    return SPEC.check(
        verdict,
        float(len(undirected)),
        case="" if len(undirected) else "none" if len(arrows) else "no arrow",
        names=evidence.named(undirected) if verdict != "fine" else (),
        n_undirected=len(undirected),
        n_arrows=len(arrows),
        rows=plural(n, evidence.row_noun),
        between=listed([f"{quoted(a, 40)} and {quoted(b, 40)}" for a, b in pairs], ARROWS_NAMED),
        cause=pairs[0][0] if pairs else "",
        effect=pairs[0][1] if pairs else "",
    )


def _judge(n_undirected: int, n_arrows: int, enough: bool) -> Verdict:
    if not enough:
        # Without an arrow nothing shows that few patients have none: it may have been missed.
        return "cannot tell" if n_undirected or not n_arrows else "fine"
    if not n_undirected:
        return "fine"
    return "broken" if n_undirected >= BROKEN_SHARE * n_arrows else "doubtful"
