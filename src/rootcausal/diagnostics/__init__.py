"""Do the assumptions hold? One module for each kind of check.

:func:`diagnose` runs them all: to add one, write a module, and a line there.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..core.moments import ROWS_PER_CLASS
from .checked import Checked
from .confounding import check_confounding
from .dependence import dependent_pairs
from .diagnosis import Check, Diagnosis
from .equal_responses import check_mechanism
from .evidence import Evidence, fit_plain, gather
from .gaussianity import check_gaussianity
from .giveaway import check_giveaway
from .independence import SCALE, check_independence
from .linearity import check_linearity
from .link import check_link
from .logarithms import check_logarithm
from .names import check_names
from .patients import check_influence, check_range
from .terminal import check_terminal

__all__ = ["Check", "Checked", "Diagnosis", "diagnose"]

OTHER_CHECKS = (
    "Not checked: shapes and independence of the errors, straight lines, hidden causes, equal responses in "
    "cases and controls, effects of the diagnosis and columns that give it away, stated against observed "
    "risk, single patients who decide. "
)


LEVELS_NOT_CHECKED = (
    "Not checked of columns with levels: whether they are effects of the diagnosis rather than causes, "
    "whether their causes act on them along straight lines, and hidden common causes of theirs. Those checks "
    "are made for numbers."
)


def diagnose(checked: Checked) -> Diagnosis:
    """Check a model's assumptions on patients, column by column."""
    model, y = checked.model, checked.y
    names, variables = list(checked.named.column_names), checked.named.names
    order = model.column_order
    in_range = check_range(
        model.column_errors(checked.X)[:, order], [names[c] for c in order], checked.called
    )
    provenance = dict(checked.provenance)
    given = provenance["parameters"].get("knowledge")  # models of before have none
    of_model = (in_range, *check_names(variables, [variables[k] for k in model.order], given))
    if y is None:
        reason = "This takes the patients' diagnoses, which were not given."
        return Diagnosis(of_model, provenance, OTHER_CHECKS + reason)
    cases = int(y.sum())
    if min(cases, y.size - cases) < ROWS_PER_CLASS:
        reason = (
            f"This takes at least {ROWS_PER_CLASS} patients with the disease and {ROWS_PER_CLASS} "
            f"without; here {cases} of {y.size} have it."
        )
        return Diagnosis(of_model, provenance, OTHER_CHECKS + reason)
    evidence = gather(checked, y)
    of_risk = check_link(checked.stated, y, checked.prevalence, checked.of_fit)
    of_scales = check_logarithm(checked, y)
    checks = (
        check_giveaway(checked, y),  # a leak explains most of what else is found
        *_of_disease(evidence, of_risk, checked),
        *_of_errors(evidence, checked),
        of_scales,
        *of_model,
    )
    return Diagnosis(checks, provenance, LEVELS_NOT_CHECKED if evidence.with_levels.any() else "")


def _of_errors(evidence: Evidence, checked: Checked) -> Iterator[Check]:
    """Shapes and independence of the errors: of columns whose order was learned, in the population."""
    population = evidence.of_population()
    yield check_gaussianity(population.of_searched())
    seen = dependent_pairs(population, SCALE.p_doubtful)
    if seen.n_pairs or not evidence.with_levels.any():
        yield check_independence(population, seen)
        yield check_linearity(population, seen, checked.transforms)
        yield check_confounding(population, seen, checked.prevalence)


def _of_disease(evidence: Evidence, of_risk: Check, checked: Checked) -> Iterator[Check]:
    """What errors do to the disease, and what of it comes from the disease or from a few patients."""
    # Logistic regression does not mind that cases and controls were sampled apart: all patients count.
    evidence = evidence.of_strongest()
    fit = fit_plain(evidence.errors, evidence.y)
    values = checked.X[np.ix_(evidence.rows, evidence.columns)]
    yield check_terminal(evidence, fit, values, evidence.rest_on_measurements)
    yield of_risk
    yield check_mechanism(evidence, fit)
    yield check_influence(evidence, fit, checked)
