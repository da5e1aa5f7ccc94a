"""Is the risk that the model states the risk that is observed?"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit
from scipy.stats import chi2

from ..core.table import F64
from .diagnosis import Check, Scale, in_words

GROUPS = 10
SCALE = Scale(0.05, 0.10)


def calibration(risk: F64, y: np.ndarray) -> tuple[float, float]:
    """P-value of Hosmer and Lemeshow's test on deciles, and mean difference of stated and observed risk."""
    groups = np.array_split(np.argsort(risk, kind="stable"), min(GROUPS, len(y)))
    size = np.array([len(group) for group in groups])
    stated = np.array([risk[group].mean() for group in groups])
    observed = np.array([y[group].mean() for group in groups])
    spread = np.maximum(stated * (1.0 - stated), 1e-12)
    statistic = float((size * (observed - stated) ** 2 / spread).sum())
    error = float((size * np.abs(observed - stated)).sum() / size.sum())
    return float(chi2.sf(statistic, max(len(groups) - 2, 1))), error


def check_link(log_odds: F64, y: np.ndarray, prevalence: float | None) -> Check:
    """``log_odds`` (n,) and labels of patients; the risks are those in a population of this prevalence.

    Where cases and controls were sampled apart, the risk among them is another one: its odds are those of
    the population times what sampling did. There the risks are judged, since both classes are many; in a
    population where the disease is rare, every difference is a small number.
    """
    risk, allowing, unseen = expit(log_odds), "", ""
    if prevalence is not None:
        share = f"{100.0 * prevalence:.3g}%"
        allowing = (
            f", allowing for how they were sampled ({y.mean():.0%} ill here, {share} in the population)"
        )
        unseen = f" Whether {share} is right cannot be seen from them."
        risk = expit(log_odds + logit(y.mean()) - logit(prevalence))
    p_value, error = calibration(risk, y)
    verdict = SCALE.judge(p_value, error)
    return Check(
        "calibrated",
        "Is the stated risk the observed one?",
        verdict,
        error,
        p_value,
        f"Over tenths of the patients by risk{allowing}, stated and observed risk differ by {error:.1%} on "
        f"average ({in_words(p_value)}).{unseen}",
        ""
        if verdict == "fine"
        else "do not read the risks as probabilities; ranks within a patient are less affected. In another "
        "cohort than the one the model was fitted on, fit it again.",
    )
