"""How close a method comes to the truth: the criteria of the paper's experiments (Sections 8.1.2 and 8.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import InputError

F64 = NDArray[np.float64]


def rank_biased_overlap(true_shapley: ArrayLike, scores: ArrayLike, weighted: bool = True) -> float:
    """Mean rank-biased overlap of the estimated and the true ranking of root causes.

    For patient k with q_k root causes (variables with a positive true value, largest first), sums over the
    depths i = 1..q_k the share of the i highest-scored variables that are among the i strongest root causes,
    weighted by the i-th largest true value over the sum of the positive ones (Section 8.1.2), or by 1/q_k
    (Section 8.2). The scores rank all variables, not only those above zero.

    Ties rank in column order. Variables scored ``-inf`` are unranked and come last, in column order. A
    patient without a positive true value scores 1.

    Parameters
    ----------
    true_shapley : array-like of shape (n, p)
        True Shapley values. Where only a true ranking is known, as in Section 8.2, pass a matrix whose
        positive entries stand in that order (for instance 2 for the first root cause, 1 for the second and
        0 elsewhere) with ``weighted=False``.
    scores : array-like of shape (n, p)
        Estimated scores, higher is a stronger root cause; ``-inf`` marks unranked variables.
    weighted : bool, default True
        Weigh depths by the true Shapley values; otherwise equally.

    Returns
    -------
    float
        Between 0 and 1; 1 is a perfect ranking.

    Raises
    ------
    InputError
        The arrays are empty, not two-dimensional or of different shapes, or hold NaN or infinite values
        (``-inf`` in `scores` excepted).
    """
    truth, scores = _checked(true_shapley, scores)
    n_rows, n_columns = truth.shape
    by_truth = np.argsort(-truth, axis=1, kind="stable")
    by_score = np.argsort(-scores, axis=1, kind="stable")
    depths = np.arange(n_columns)
    place = np.empty_like(by_score)
    np.put_along_axis(place, by_score, depths[None, :], axis=1)

    # The variable at true place a and estimated place b enters the intersection at depth max(a, b).
    enters_at = np.maximum(depths, np.take_along_axis(place, by_truth, axis=1))
    cell = enters_at + n_columns * np.arange(n_rows)[:, None]
    entering = np.bincount(cell.ravel(), minlength=truth.size).reshape(truth.shape)
    agreement = np.cumsum(entering, axis=1) / (depths + 1)

    sorted_truth = np.take_along_axis(truth, by_truth, axis=1)
    sick = sorted_truth[:, 0] > 0
    if weighted:
        # Dividing by the largest value first keeps sums of huge values finite.
        weights = np.maximum(sorted_truth[sick], 0) / sorted_truth[sick, :1]
    else:
        weights = (sorted_truth[sick] > 0).astype(np.float64)
    overlap = np.ones(n_rows)
    overlap[sick] = (weights * agreement[sick]).sum(axis=1) / weights.sum(axis=1)
    return float(overlap.mean())


def shapley_mse(true_shapley: ArrayLike, scores: ArrayLike) -> float:
    """Mean squared error of estimated Shapley values over all patients and variables (Section 8.1.2).

    Parameters
    ----------
    true_shapley : array-like of shape (n, p)
        True Shapley values.
    scores : array-like of shape (n, p)
        Estimated Shapley values; ``-inf``, a variable the method left unranked, counts as 0.

    Returns
    -------
    float

    Raises
    ------
    InputError
        As for :func:`rank_biased_overlap`.
    """
    truth, scores = _checked(true_shapley, scores)
    return float(np.mean((np.where(np.isneginf(scores), 0.0, scores) - truth) ** 2))


def _checked(true_shapley: ArrayLike, scores: ArrayLike) -> tuple[F64, F64]:
    truth = _matrix(true_shapley, "true_shapley")
    estimate = _matrix(scores, "scores")
    if truth.shape != estimate.shape:
        raise InputError(f"true_shapley has shape {truth.shape} but scores has shape {estimate.shape}")
    _refuse(~np.isfinite(truth), "true_shapley", "NaN or infinite")
    _refuse(np.isnan(estimate) | np.isposinf(estimate), "scores", "NaN or +inf")
    return truth, estimate


def _matrix(values: ArrayLike, name: str) -> F64:
    try:
        matrix = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold numbers: {error}") from error
    if matrix.ndim != 2:
        raise InputError(
            f"{name} must be a matrix of patients by variables, but has {matrix.ndim} dimension(s)"
        )
    if matrix.size == 0:
        raise InputError(f"{name} is empty: its shape is {matrix.shape}")
    return matrix


def _refuse(bad: NDArray[np.bool_], name: str, what: str) -> None:
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InputError(f"{name} holds {bad.sum()} {what} value(s), the first at row {row}, column {column}")
