"""Are there enough events for so many variables?

Below ten events a variable, hazard ratios come out too far from one, and intervals miss the truth too often
(Concato, Peduzzi and others 1995).
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from ..outcomes.words import fold
from ..wording import plural
from .diagnosis import Check, Verdict
from .plain_fit import PlainHazard

QUESTION = "Are there enough events for the variables that were kept?"
ENOUGH = 10.0
INTERVAL = float(norm.ppf(0.975))
# Beyond this nothing is known of a ratio.
WIDEST = float(np.log(1_000.0))


def check_events(fit: PlainHazard, n_events: int, n_kept: int) -> Check:
    """``fit`` is of the errors that matter most; ``n_kept`` are the variables of the model."""
    if not n_kept:
        return _nothing_kept(n_events)
    each = n_events / n_kept
    verdict: Verdict = "fine" if each >= ENOUGH else "doubtful"
    # That of a variable which no other goes with; what others share with it makes it wider.
    alone = INTERVAL / np.sqrt(n_events)
    found = INTERVAL * float(np.median(fit.standard_errors)) if fit.coef.size and not fit.separated else alone
    wide = min(max(found, alone), WIDEST)
    kept = "was" if n_kept == 1 else "were"
    statement = (
        f"{plural(n_events, 'event')} and {plural(n_kept, 'variable')} that {kept} kept: {each:.1f} events a "
        f"variable, where {ENOUGH:.0f} are enough. Hazard ratios of one standard deviation are known to "
        f"within {fold(wide)}-fold: a 95% interval around 1.5 goes from {1.5 / np.exp(wide):.2f} to "
        f"{1.5 * np.exp(wide):.2f}."
    )
    most = max(int(n_events // ENOUGH), 1)
    return Check(
        "few_events",
        QUESTION,
        verdict,
        each,
        None,
        statement,
        ""
        if verdict == "fine"
        else f"keep at most {plural(most, 'variable')} that you would name beforehand (--keep), or wait for "
        "more events; a smaller alpha keeps fewer.",
        limit=""
        if verdict == "fine"
        else f"Hazard ratios are known to within {fold(wide)}-fold only, and with so few events a variable "
        "the largest of them come out too large.",
        touches="" if verdict == "fine" else "variables",
    )


def _nothing_kept(n_events: int) -> Check:
    return Check(
        "few_events",
        QUESTION,
        "cannot tell",
        float("nan"),
        None,
        f"No variable was kept: {plural(n_events, 'event')} did not show one on which the hazard depends.",
        "collect more events, or ask for a larger alpha.",
        limit=f"That no variable matters is not shown by {plural(n_events, 'event')}.",
        touches="variables",
    )
