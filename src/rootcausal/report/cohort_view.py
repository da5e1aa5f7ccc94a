"""The cohort at a glance: how often each variable is a root cause, and patients ordered by similarity."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.blas import one_blas_thread
from ..explaining.similarity import similarity_order
from ..method.table import F64

# Up to this many patients the heat map has a line for each; beyond, a line for each group of similar ones.
LINES = 400
GROUPS = 200
HEAT_VARIABLES = 30
SWARM_PATIENTS = 300


def cohort_facts(
    values: F64, predictor: F64, notable_from: float, unlisted: np.ndarray, open_: np.ndarray
) -> dict[str, Any]:
    """Facts about the patients together.

    Parameters
    ----------
    values : (n, k) Shapley values of the variables in causal order, and of sets of them.
    predictor : (n,) of the outcome: by it some of them are chosen to be drawn.
    notable_from : the size from which a value counts.
    unlisted : (k,) which are members of sets, and have no place of their own in lists.
    open_ : (n, k) what was not measured, and may be nothing: it does not count.

    Returns
    -------
    dict with, for each variable, ``root_cause`` (patients whose outcome its shock notably raises),
    ``strongest`` (those of them in whom none raises it more) and ``importance`` (mean absolute value); with
    ``by_importance``, ``none`` (patients without a root cause), ``swarm`` (rows to draw) and ``heat``.
    """
    n, k = values.shape
    strongest = np.zeros(k, dtype=np.int64)
    counting = np.where(open_, 0.0, values)
    notable = counting >= notable_from
    raised = notable.any(axis=1)
    if k:
        np.add.at(strongest, counting[raised].argmax(axis=1), 1)
    importance = np.abs(values).mean(axis=0)
    by_importance = np.argsort(-importance, kind="stable")
    by_importance = by_importance[~unlisted[by_importance]]
    by_risk = np.argsort(predictor, kind="stable")
    swarm = by_risk[np.unique(np.linspace(0, n - 1, min(n, SWARM_PATIENTS)).astype(np.intp))]
    return {
        "root_cause": notable.sum(axis=0).tolist(),
        "strongest": strongest.tolist(),
        "importance": importance.tolist(),
        "by_importance": by_importance.tolist(),
        "none": int(n - raised.sum()),
        "swarm": swarm.tolist(),
        "heat": _heat(values[:, by_importance[:HEAT_VARIABLES]]),
    }


def _heat(values: F64) -> dict[str, Any]:
    """Lines of the heat map, similar ones next to each other: patients, or means of groups of patients."""
    n, k = values.shape
    if k == 0:
        return {"rows": [], "sizes": [], "means": []}
    if n <= LINES:
        return {"rows": similarity_order(values).tolist(), "sizes": [], "means": []}
    from sklearn.cluster import MiniBatchKMeans
    from threadpoolctl import threadpool_limits

    # In so small steps, threads wait for each other longer than they work.
    with one_blas_thread(), threadpool_limits(1, user_api="openmp"):
        groups = MiniBatchKMeans(GROUPS, random_state=0, n_init=1).fit_predict(values)
    sizes = np.bincount(groups, minlength=GROUPS)
    means = np.stack([values[groups == group].mean(axis=0) for group in np.flatnonzero(sizes)])
    order = similarity_order(means)
    return {
        "rows": [],
        "sizes": sizes[sizes > 0][order].tolist(),
        "means": np.round(means[order], 4).tolist(),
    }
