"""Resamples of patients who have several rows (the cluster bootstrap; Davison & Hinkley 1997, 3.8).

As many patients as the cohort has are drawn with replacement, and each comes with all of its rows, so that
rows of one patient, which are alike, count as one piece of evidence. A resample may thus have more or fewer
rows than the cohort.

Where cases and controls were sampled apart, patients are drawn within the two kinds. A patient with rows of
both classes, healthy once and ill later, is a case: it was for the disease that the study took such patients.
"""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from ..method.outcome import Outcome
from ..method.table import Index

MAX_DRAWS = 1000
# One patient drawn again and again would look like certainty.
LEAST_PATIENTS = 2


def draw_patients(
    y: np.ndarray, groups: Index, rng: np.random.Generator, outcome: Outcome, *, by_class: bool
) -> Index:
    """Row numbers of a resample that a model can be learned from.

    Parameters
    ----------
    y : (n,) or (n, 2) what is known of the outcome; labels, 1 for the disease, if drawn by class.
    groups : (n,) numbers of the patients, from 0.
    by_class : draw as many cases, and as many controls, as the cohort has patients of each kind.
    """
    by_patient = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups))
    starts = np.append(0, ends[:-1])
    kinds = [np.arange(ends.size)]
    if by_class:
        is_case = np.zeros(ends.size, dtype=bool)
        is_case[groups[y == 1]] = True
        kinds = [np.flatnonzero(~is_case), np.flatnonzero(is_case)]
    if min(kind.size for kind in kinds) < LEAST_PATIENTS:
        of_a_kind = " of each kind, cases and controls," if by_class else ""
        raise InputError(
            f"resamples draw patients, and need at least {LEAST_PATIENTS}{of_a_kind} to draw from: are the "
            "ids those of patients?"
        )
    for _ in range(MAX_DRAWS):
        drawn = np.concatenate([kind[rng.integers(kind.size, size=kind.size)] for kind in kinds])
        sizes = ends[drawn] - starts[drawn]
        # Each patient's places in `by_patient`, one after another.
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rows = by_patient[np.repeat(starts[drawn], sizes) + within]
        if outcome.is_enough(y[rows]):
            return rows
    raise InputError(
        f"{MAX_DRAWS} resamples of patients {outcome.lacks(y)} to resample ({ends.size} patients in all)"
    )
