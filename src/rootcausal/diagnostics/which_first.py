"""Which comes first, a column or D? How much likelier these patients make the one story than the other.

Cause: the column comes out of those before it, and the log-odds of D are straight in its error. Effect: D
comes out of the other errors, and shifts the column as a whole. The log-likelihoods of the two differ by

    n [H(e) − H(e − shift · D) − g],   g = what the error adds a patient to the log-likelihood of D,

which is zero for a Gaussian error, whose direction nobody can tell. A second difference is in the arrows.
What is only an effect of D is, given D, independent of all that D depends on: the story of an effect needs
fewer arrows, each worth ½ log n (Schwarz 1978). The two together are the log of how many times likelier an
effect is. By Markov's inequality a ratio of known likelihoods is above 1/p by chance in at most a share p of
cohorts; here densities are estimated, so that this is a guide whose level was measured (results/diagnostics).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import fftconvolve
from scipy.special import expit

from ..core.table import F64
from .evidence import Evidence, PlainLogit, fit_plain

# Of the columns that D depends on, the strongest are asked.
ASKED_AT_MOST = 20
# With fewer measured in a class, a shift is not told from chance.
FEWEST_OF_A_CLASS = 5
# D clearly depends on a column from so many standard errors on.
CLEARLY = 3.0
NEWTON_STEPS = 4
# Of a kernel, beside Silverman's 0.9: smoother densities differ less by chance.
WIDTH = 1.3
GRID_A_BANDWIDTH, LARGEST_GRID = 4.0, 65_536
# Part of a kernel's height that is left at a value with no other near.
FAR_FROM_ALL = 1e-3


@dataclass(frozen=True)
class Told:
    """Which story the patients tell of one column.

    Attributes
    ----------
    place : of the column among the errors.
    log_times : log of how many times likelier an effect of D is than a cause.
    shift : by how many standard deviations the column is shifted in cases, given the columns before it.
    n_rows : in how many patients.
    """

    place: int
    log_times: float
    shift: float
    n_rows: int

    def p_value(self, n_asked: int) -> float:
        return float(min(1.0, n_asked * np.exp(min(0.0, -self.log_times))))

    @property
    def size(self) -> float:
        """Nats a patient."""
        return max(self.log_times, 0.0) / self.n_rows


def kernel_width(values: F64, grain: float = 0.0) -> float:
    """For a density of these values; no narrower than the ``grain``, from one count to the next, say."""
    low, high = np.quantile(values, (0.25, 0.75))
    spread = min(values.std(), (high - low) / 1.349) if high > low else values.std()
    return float(max(WIDTH * spread * values.size**-0.2, grain, 1e-12))


def log_density(values: F64, width: float) -> F64:
    """(n,): log of the density at each value, learned from all the others by a Gaussian kernel."""
    n = values.size
    start, end = values.min(), values.max()
    size = int(np.clip(GRID_A_BANDWIDTH * (end - start) / width, 512, LARGEST_GRID))
    step = (end - start) / (size - 1)
    width = max(width, step)
    place = (values - start) / step
    left = np.minimum(place.astype(np.intp), size - 2)
    share = place - left
    count = np.bincount(left, 1.0 - share, size) + np.bincount(left + 1, share, size)
    # Beyond the grid there is nobody: values much closer together than the width would ask for all memory.
    reach = min(int(5.0 * width / step) + 1, size - 1)
    peak = 1.0 / (width * np.sqrt(2.0 * np.pi))
    kernel = peak * np.exp(-0.5 * (np.arange(-reach, reach + 1) * step / width) ** 2)
    smooth = fftconvolve(count, kernel)[reach : reach + size]
    others = (1.0 - share) * smooth[left] + share * smooth[left + 1] - peak
    return np.log(np.maximum(others, FAR_FROM_ALL * peak) / (n - 1))


def arrows_spared(values: F64, y: np.ndarray) -> F64:
    """(k,): nats by which each column of values (n, k) needs fewer arrows to others once D is one of them.

    An arrow that is there costs ½ log n, one that is not what leaving it out loses, ½ t².
    """
    with_d = np.column_stack([values, y])
    k = values.shape[1]
    without, given_d = _arrow_costs(values), _arrow_costs(with_d)[:k, :k]
    return (without - given_d).sum(axis=1)


def _arrow_costs(values: F64) -> F64:
    """(k, k): nats that the arrow between each two columns costs, given all the others."""
    n, k = values.shape
    precision = np.linalg.pinv(np.corrcoef(values, rowvar=False).reshape(k, k), hermitian=True)
    scale = np.maximum(np.diagonal(precision), 1e-12)
    squared = np.clip(precision**2 / np.outer(scale, scale), 0.0, 1.0 - 1e-12)
    np.fill_diagonal(squared, 0.0)
    t_squared = max(n - k - 1, 1) * squared / (1.0 - squared)
    return 0.5 * np.minimum(t_squared, np.log(n))


def lost_without(fit: PlainLogit, y: np.ndarray, place: int) -> F64:
    """(n,): what each patient's log-likelihood of D gains by one error, beside all the others.

    Starting from where the fit with that error says the one without it is, Newton's method is there in a few
    steps; too few could only make the error look more of a cause.
    """
    coef = fit.coef - fit.covariance[:, place] * (fit.coef[place] / fit.covariance[place, place])
    design = np.delete(fit.design, place, axis=1)
    coef = np.delete(coef, place)
    for _ in range(NEWTON_STEPS):
        risk = expit(design @ coef)
        information = (design * (risk * (1.0 - risk))[:, None]).T @ design
        step = np.linalg.lstsq(information, design.T @ (y - risk), rcond=1e-10)[0]
        coef = coef + step / max(1.0, float(np.abs(step).max()))
    return _log_likelihood(fit.design @ fit.coef, y) - _log_likelihood(design @ coef, y)


def _log_likelihood(log_odds: F64, y: np.ndarray) -> F64:
    return y * log_odds - np.logaddexp(0.0, log_odds)


def _story_of(
    place: int, errors: F64, y: np.ndarray, values: F64, measured: np.ndarray, fit: PlainLogit
) -> tuple[float, float]:
    """How much likelier an effect is, in nats without arrows, and by how much D shifts the error at a place.

    Parameters
    ----------
    errors : (n, k) of which those before the place are taken out.
    values : (n,) of the column whose error it is; ``measured`` (n,) where it was.
    fit : of all errors.
    """
    error, disease = errors[measured, place], y[measured].astype(float)
    values = values[measured]
    steps = np.diff(np.unique(values))
    basis, _ = np.linalg.qr(np.column_stack([np.ones(disease.size), errors[measured, :place]]))
    error, disease, value = (some - basis @ (basis.T @ some) for some in (error, disease, values))
    slope = float(error @ disease) / max(float(disease @ disease), 1e-12)
    unshifted = error - slope * disease
    grain = float(np.median(steps)) * abs(float(error @ value)) / max(float(value @ value), 1e-300)
    # The same for both: two classes that lie far apart would else be blurred where they are one sample.
    width = kernel_width(unshifted, grain)
    gain = log_density(unshifted, width) - log_density(error, width) - lost_without(fit, y, place)[measured]
    return float(gain.sum()), slope / max(float(unshifted.std()), 1e-12)


def _whatever_the_order(place: int, y: np.ndarray, values: F64, measured: np.ndarray) -> float:
    """The same nats where the column comes after all the others, as an effect of D would."""
    last = np.append(np.delete(np.arange(values.shape[1]), place), place)
    reordered = (values[:, last] - values[:, last].mean(axis=0)) / values[:, last].std(axis=0)
    fit = fit_plain(reordered, y)
    return _story_of(last.size - 1, reordered, y, values[:, place], measured, fit)[0]


def stories(evidence: Evidence, values: F64, measured: np.ndarray, fit: PlainLogit) -> list[Told]:
    """Of the numbers that D clearly depends on and whose place was learned, the strongest first.

    Parameters
    ----------
    evidence : errors, in causal order.
    values : (n, k) of the same columns.
    measured : (n, k) which of them were, and not drawn: what was drawn knows D.
    fit : of D on the errors.
    """
    z = fit.coef[:-1] / np.sqrt(np.maximum(np.diagonal(fit.covariance)[:-1], 1e-300))
    enough = np.stack([measured[evidence.known == label].sum(axis=0) for label in (0, 1)]).min(axis=0)
    asked = np.flatnonzero(
        evidence.searched & ~evidence.with_levels & (np.abs(z) >= CLEARLY) & (enough >= FEWEST_OF_A_CLASS)
    )
    asked = asked[np.argsort(-np.abs(z[asked]), kind="stable")][:ASKED_AT_MOST]
    spared = arrows_spared(values, evidence.known) if asked.size else np.zeros(0)
    told = []
    for place in asked.tolist():
        of_column = values[:, place], measured[:, place]
        nats, shift = _story_of(place, evidence.errors, evidence.known, *of_column, fit)
        if nats + spared[place] > 0.0:  # a wrong order may look like it: both must say so
            nats = min(nats, _whatever_the_order(place, evidence.known, values, measured[:, place]))
        told.append(Told(place, nats + float(spared[place]), shift, int(measured[:, place].sum())))
    return told
