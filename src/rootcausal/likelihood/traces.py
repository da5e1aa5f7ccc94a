"""What a hidden common cause of a variable and of the outcome leaves in the data, where it leaves anything.

By correlations alone nobody can tell it from an effect. But errors are not Gaussian, and a shock that holds
something hidden is a sum of two: it is nearer to a Gaussian than either, and what is expected of the hidden
part, given the sum, is a curve unless both have one law (as in overcomplete independent component analysis;
Hoyer et al. 2008). So two figures of each shock tell something: how far it is from a Gaussian, and by how
much the outcome bends in it.
"""

from __future__ import annotations

import numpy as np

from ..method.ordering.pair_score import GAUSSIAN, entropy
from ..method.table import F64, Index

# Of standardized shocks, beyond which a bend goes on as a constant: one far patient would decide it.
FARTHEST = 4.0
STEEPNESS = 1.5


def bends(shock: F64) -> F64:
    """(n, 3): curves of a standardized shock: a parabola, an edge and a saturation."""
    size = np.minimum(np.abs(shock), FARTHEST)
    return np.column_stack([size * size - 1.0, size, np.tanh(STEEPNESS * shock)])


def negentropies(shocks: F64) -> F64:
    """(k,) of standardized shocks (n, k), by Hyvärinen's approximation; 0 is Gaussian."""
    size = np.abs(shocks)
    log_cosh = size + np.log1p(np.exp(-2.0 * size)) - np.log(2.0)
    gauss = shocks * np.exp(-0.5 * shocks * shocks)
    found: F64 = GAUSSIAN - entropy(log_cosh.sum(axis=0), gauss.sum(axis=0), len(shocks))
    return found


def traces(errors: F64, Z: F64, left: F64, groups: Index | None) -> F64:
    """(2, k): by how much the outcome bends in each shock, and the shock's negentropy.

    The bend is a score test's χ² of three degrees of freedom, its variance by the rows' own scores.

    Parameters
    ----------
    errors : (n, k) shocks.
    Z : (n, q) the columns that the outcome was regressed on.
    left : (n,) what that regression leaves: by how much each row's likelihood rises with its predictor.
    groups : (n,) the patient of each row, where some have several.
    """
    shocks = (errors - errors.mean(axis=0)) / np.maximum(errors.std(axis=0), np.finfo(float).tiny)
    known = by_patient(np.column_stack([left, left[:, None] * Z]), groups)
    told = np.linalg.pinv(known.T @ known)
    found = np.stack([np.zeros(shocks.shape[1]), negentropies(shocks)])
    for place, shock in enumerate(shocks.T):
        curves = by_patient(left[:, None] * bends(shock), groups)
        curves = curves - known @ (told @ (known.T @ curves))
        total = curves.sum(axis=0)
        found[0, place] = total @ np.linalg.pinv(curves.T @ curves) @ total
    return found


def by_patient(scores: F64, groups: Index | None) -> F64:
    """Sums (patients, m) of the scores (n, m) of rows; the rows themselves where each is another patient."""
    if groups is None:
        return scores
    of_patients = np.zeros((int(groups.max()) + 1, scores.shape[1]))
    np.add.at(of_patients, groups, scores)
    return of_patients
