"""The maximum of a penalized likelihood, and which coefficients have none without the penalty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..method.table import F64
from .likelihoods import Likelihood, Local

MAX_STEPS = 200
# In standard deviations of a column: no step is longer, and a last one is shorter.
LONGEST_STEP = 2.0
SHORTEST_STEP = 1e-9
# Newton steps without the penalty: where there is no maximum, each adds about one to the predictor of the
# patients who are told for certain, and standard errors grow with every one of them.
STEPS_WITHOUT = 20
SETTLED = 1e-4
GROWN = 20.0
# Where the search itself had no penalty, by so much.
RUN_AWAY = 50.0


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where a penalized likelihood is highest.

    Attributes
    ----------
    beta : (m,) coefficients.
    covariance : (m, m) of them.
    settled : whether it was reached.
    unbounded : (m,) which would run away without the penalty: columns tell some patients apart for certain.
    """

    beta: F64
    covariance: F64
    settled: bool
    unbounded: np.ndarray


def maximum(likelihood: Likelihood, start: F64 | None = None, penalized: bool = True) -> Maximum:
    """By Fisher scoring with step halving; ``start`` is where to begin, if that can be.

    Without the penalty it is still what tells which coefficients have no maximum, and where to begin; of a
    likelihood that has none, standard errors tell that run away.
    """
    if not likelihood.has_penalty:
        beta, here, settled = _climbed(likelihood, likelihood.start if start is None else start, False)
        first = likelihood.at(likelihood.start, False).covariance
        spread, at_first = (np.sqrt(np.diagonal(one)) for one in (here.covariance, first))
        return Maximum(beta, here.covariance, settled, spread > RUN_AWAY * at_first)
    beta, here, settled = _climbed(likelihood, likelihood.start if start is None else start, True)
    unbounded = _unbounded(likelihood, beta, here.covariance)
    if not penalized and not unbounded.any():
        beta, here, settled = _climbed(likelihood, beta, False)
    return Maximum(beta, here.covariance, settled, unbounded)


def _climbed(likelihood: Likelihood, beta: F64, penalized: bool) -> tuple[F64, Local, bool]:
    begun = _at(likelihood, beta, penalized)
    if begun is None:  # where one imputed copy ended, another may be told for certain
        beta = likelihood.start
        begun = likelihood.at(beta, penalized)
    here, settled = begun, False
    for _ in range(MAX_STEPS):
        step = here.covariance @ here.score
        length = float(np.abs(step).max(initial=0.0))
        if length < SHORTEST_STEP:
            settled = True
            break
        step *= min(1.0, LONGEST_STEP / length)
        there = _at(likelihood, beta + step, penalized)
        while (there is None or there.loglik < here.loglik) and length > SHORTEST_STEP:
            step, length = 0.5 * step, 0.5 * length
            there = _at(likelihood, beta + step, penalized)
        if there is None or there.loglik < here.loglik:
            settled = True  # rounding is all that is left to gain
            break
        beta, here = beta + step, there
    return beta, here, settled


def _at(likelihood: Likelihood, beta: F64, penalized: bool) -> Local | None:
    try:
        found = likelihood.at(beta, penalized)
    except np.linalg.LinAlgError:
        return None
    return found if np.isfinite(found.loglik) else None


def _unbounded(likelihood: Likelihood, beta: F64, covariance: F64) -> np.ndarray:
    """(m,) which coefficients have no finite value of maximum likelihood, which is called separation.

    As Lesaffre & Albert (1989) have it: their standard errors grow without end while it is looked for.
    """
    first = np.sqrt(np.diagonal(covariance))
    last = first
    for _ in range(STEPS_WITHOUT):
        try:
            here = likelihood.at(beta, False)
        except np.linalg.LinAlgError:
            break
        last = np.sqrt(np.diagonal(here.covariance))
        step = here.covariance @ here.score
        if np.abs(step).max(initial=0.0) < SETTLED:
            return np.zeros(beta.size, dtype=bool)
        beta = beta + step
    grown: np.ndarray = ~(last < GROWN * first)
    return grown
