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


def population_difference(risk: F64, y: np.ndarray, prevalence: float) -> float:
    """The same difference in the population, to which the patients of each class are weighted."""
    share = y.mean()
    weight = np.where(y == 1, prevalence / share, (1.0 - prevalence) / (1.0 - share))
    groups = np.array_split(np.argsort(risk, kind="stable"), min(GROUPS, len(y)))
    differences = [abs(float((weight * (y - risk))[group].sum())) for group in groups]
    return sum(differences) / float(weight.sum())


def check_link(log_odds: F64, y: np.ndarray, prevalence: float | None) -> Check:
    """``log_odds`` (n,) and labels of patients; the risks are those in a population of this prevalence.

    Where cases and controls were sampled apart, the risk among them is another one: its odds are those of
    the population times what sampling did. There the risks are judged, since both classes are many; in a
    population where the disease is rare, every difference is a small number.
    """
    in_population = ""
    risk = expit(log_odds)
    if prevalence is not None:
        difference = population_difference(risk, y, prevalence)
        share = f"{100.0 * prevalence:.3g}%"
        in_population = f"; weighted to a population of which {share} have the disease, by {difference:.2%}"
        risk = expit(log_odds + logit(y.mean()) - logit(prevalence))
    p_value, error = calibration(risk, y)
    verdict = SCALE.judge(p_value, error)
    return Check(
        "calibrated",
        "Is the stated risk the observed one?",
        verdict,
        error,
        p_value,
        f"Over tenths of the patients by risk, stated and observed risk differ by {error:.1%} on average "
        f"({in_words(p_value)}){in_population}.",
        ""
        if verdict == "fine"
        else "do not read the risks as probabilities; ranks within a patient are less affected. In another "
        "cohort than the one the model was fitted on, fit it again.",
    )
