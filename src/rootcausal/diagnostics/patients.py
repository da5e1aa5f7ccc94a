"""Single patients: does the model hang on one of them, and are any unlike the cohort it learned from?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..core.table import F64, Index
from ..wording import one_line
from .diagnosis import Check, Verdict
from .evidence import Evidence, PlainLogit

# Standard errors by which leaving one patient out moves a coefficient.
DOUBTFUL_INFLUENCE, BROKEN_INFLUENCE = 1.0, 2.0
# Standard deviations of a shock beyond which there was next to nobody to learn from.
FAR = 8.0
DOUBTFUL_SHARE, BROKEN_SHARE = 0.01, 0.05
ROWS_NAMED = 5


def influence(fit: PlainLogit, y: np.ndarray) -> F64:
    """(n, k): standard errors by which each coefficient would move without each patient (one Newton step)."""
    pull = fit.design @ fit.covariance
    leverage = (pull * fit.design).sum(axis=1) * fit.risk * (1.0 - fit.risk)
    moved = pull * ((y - fit.risk) / np.maximum(1.0 - leverage, 1e-6))[:, None]
    return (moved / np.sqrt(np.diagonal(fit.covariance)))[:, :-1]


def check_influence(evidence: Evidence, fit: PlainLogit, patient: Callable[[int], str]) -> Check:
    """``patient`` says what to call a row of the cohort."""
    moved = np.abs(influence(fit, evidence.y))
    largest = float(moved.max(initial=0.0))
    verdict = _by_size(largest, DOUBTFUL_INFLUENCE, BROKEN_INFLUENCE)
    worst = moved.max(axis=0, initial=0.0)
    rows = evidence.rows[moved.max(axis=1, initial=0.0) >= DOUBTFUL_INFLUENCE]
    return Check(
        "influence",
        "Does no single patient decide the result?",
        verdict,
        largest,
        None,
        f"Leaving out one patient moves a coefficient by at most {largest:.1f} standard errors"
        + (f"; {_named(rows, patient)}." if rows.size else "."),
        "" if verdict == "fine" else "look these patients up for a wrong unit or a misprint.",
        evidence.named(np.argsort(-worst)[: int((worst >= DOUBTFUL_INFLUENCE).sum())]),
    )


def check_range(errors: F64, names: Sequence[str], patient: Callable[[int], str]) -> Check:
    """For any patients, by the errors (n, k) that the model gives them."""
    far = np.abs(errors) > FAR
    patients = np.flatnonzero(far.any(axis=1))
    share = patients.size / max(len(far), 1)
    verdict = _by_size(share, DOUBTFUL_SHARE, BROKEN_SHARE)
    return Check(
        "in_range",
        "Are the patients' shocks within what the model has seen?",
        verdict,
        share,
        None,
        f"{patients.size} of {len(far)} patients have a shock of more than {FAR:g} standard deviations"
        + (f"; {_named(patients, patient)}." if patients.size else "."),
        ""
        if verdict == "fine"
        else "risks and Shapley values of these patients are extrapolated: check their units, or fit the "
        "model on a cohort like theirs.",
        tuple(names[c] for c in np.argsort(-far.sum(axis=0), kind="stable")[: int(far.any(axis=0).sum())]),
    )


def _named(rows: Index, patient: Callable[[int], str]) -> str:
    more = f" and {rows.size - ROWS_NAMED} more" if rows.size > ROWS_NAMED else ""
    return f"patients: {', '.join(one_line(patient(int(row)), 40) for row in rows[:ROWS_NAMED])}{more}"


def _by_size(size: float, doubtful: float, broken: float) -> Verdict:
    return "broken" if size >= broken else "doubtful" if size >= doubtful else "fine"
