"""How well predictions fit what happened, for each kind of outcome.

A diagnosis: the area under the curve, and the Brier score. The time to an event: concordance, and the Brier
score at a horizon. A number: the share of its variance that is told, and the typical error.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import CensoredData, ecdf

from .core.table import F64
from .uncertainty.cross_validation import Fold

# Patients compared with all others at once.
PAIRS_A_BLOCK = 1 << 22


def concordance(hazard: F64, time: F64, event: F64) -> float:
    """Harrell's C (1982): of pairs where it is known who had the event first, the share ranked so.

    Ties of the prediction count half. NaN where no pair can be compared.
    """
    first = np.flatnonzero(event > 0)
    right, known = 0.0, 0
    height = max(1, PAIRS_A_BLOCK // max(1, time.size))
    for start in range(0, first.size, height):
        some = first[start : start + height, None]
        # Who was followed for longer, or as long without an event, had it later.
        later = (time > time[some]) | ((time == time[some]) & (event == 0))
        known += int(later.sum())
        right += float((later & (hazard[some] > hazard)).sum())
        right += 0.5 * float((later & (hazard[some] == hazard)).sum())
    return right / known if known else float("nan")


def brier(risk: F64, time: F64, event: F64, horizon: float) -> float:
    """Mean squared error of risks by the horizon, patients weighted for those whose follow-up ended before.

    Weights are the inverse probability of having been followed until then (Graf et al. 1999).
    """
    # Events come before ends of follow-up at the same time.
    ends = CensoredData(uncensored=time[event == 0], right=np.nextafter(time[event > 0], -np.inf))
    followed = ecdf(ends).sf
    happened = (time <= horizon) & (event > 0)
    # Whose follow-up ended at the horizon had no event until then.
    until = (time > horizon) | ((time == horizon) & (event == 0))
    weight = np.zeros(time.size)
    # Before an event counts who is followed just before it, so that its own time does not.
    weight[happened] = 1.0 / np.maximum(followed.evaluate(np.nextafter(time[happened], -np.inf)), 1e-12)
    weight[until] = 1.0 / np.maximum(followed.evaluate(np.nextafter(horizon, -np.inf)), 1e-12)
    return float(weight @ (happened - risk) ** 2 / time.size)


def area(predictor: F64, ill: np.ndarray) -> float:
    """Area under the curve: how often, of two, the patient with the disease has the higher risk."""
    from sklearn.metrics import roc_auc_score

    both = np.unique(ill).size == 2
    return float(roc_auc_score(ill, predictor)) if both else float("nan")


def of_diagnosis(folds: Sequence[Fold]) -> dict[str, float]:
    """Figures of a diagnosis; areas are the mean of those within folds."""
    return {
        "auc": _mean([area(fold.predictor, fold.known) for fold in folds]),
        "brier": _of_all([(fold.predicted - fold.known) ** 2 for fold in folds]),
        "brier_without_variables": _of_all([(fold.null - fold.known) ** 2 for fold in folds]),
    }


def of_follow_up(folds: Sequence[Fold], horizon: float) -> dict[str, float]:
    """Figures of the time to an event; concordances are the mean of those within folds."""
    time, event = (np.concatenate([fold.known[:, column] for fold in folds]) for column in (0, 1))
    null = np.concatenate([np.full(len(fold.known), fold.null) for fold in folds])
    told = np.concatenate([fold.predicted for fold in folds])
    return {
        "concordance": _mean([concordance(fold.predictor, *fold.known.T) for fold in folds]),
        "brier": brier(told, time, event, horizon),
        "brier_without_variables": brier(null, time, event, horizon),
        "horizon": horizon,
    }


def of_number(folds: Sequence[Fold]) -> dict[str, float]:
    """Figures of a number: R², and root mean squared errors."""
    left = _of_all([(fold.predicted - fold.known) ** 2 for fold in folds])
    null = _of_all([(fold.null - fold.known) ** 2 for fold in folds])
    return {"r2": 1.0 - left / null, "error": left**0.5, "error_without_variables": null**0.5}


def _mean(of_folds: Sequence[float]) -> float:
    """Over the folds that have one."""
    there = [one for one in of_folds if one == one]
    return float(np.mean(there)) if there else float("nan")


def _of_all(squares: Sequence[F64]) -> float:
    return float(np.concatenate(squares).mean())
