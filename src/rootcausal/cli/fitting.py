"""Fitting a model on the rows of a cohort file, for the commands that do."""

import sys
from typing import TYPE_CHECKING

from ..cohort_files import Patients
from ..target_labels import choose_disease
from ..wording import one_line
from .console import say

if TYPE_CHECKING:
    from .. import RCI


def fit_cohort(
    patients: Patients, target: str, positive: str | None, alpha: float, variant: str, backend: str
) -> "RCI":
    """Decide which label is the disease, say so, and fit."""
    from .. import RCI

    assert patients.target is not None
    disease = choose_disease(patients.target, target, positive)
    of = f"{disease.n_cases} of {len(patients.target)} patients"
    say(f"disease: {one_line(target)} = {one_line(disease.text)} ({of})")
    return RCI(
        alpha=alpha, variant=variant, backend=backend, positive=disease.label, progress=sys.stderr.isatty()
    ).fit(patients.X, patients.target)
