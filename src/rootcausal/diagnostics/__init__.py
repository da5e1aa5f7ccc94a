"""Do the assumptions hold? One module for each kind of check.

:func:`diagnose` runs them all: to add one, write a module, and a line there.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..core.moments import ROWS_PER_CLASS
from .checked import Checked
from .confounding import check_confounding
from .diagnosis import Check, Diagnosis
from .equal_responses import check_mechanism
from .evidence import Evidence, fit_plain, gather
from .gaussianity import check_gaussianity
from .independence import check_independence, pairwise_tests
from .linearity import check_linearity
from .link import check_link
from .names import check_names
from .patients import check_influence, check_range
from .terminal import check_terminal

__all__ = ["Check", "Checked", "Diagnosis", "diagnose"]

OTHER_CHECKS = (
    "Not checked: shapes and independence of the errors, straight lines, hidden causes, equal responses in "
    "cases and controls, effects of the diagnosis, stated against observed risk, single patients who decide. "
)


LEVELS_NOT_CHECKED = (
    "Not checked of columns with levels: independence of their errors, straight lines, hidden causes. Those "
    "checks are made for numbers."
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
    evidence = gather(model, checked.X, y, names, checked.prevalence)
    of_risk = check_link(checked.stated, y, checked.prevalence, checked.of_fit)
    checks = (*_of_errors(evidence), *_of_disease(evidence, of_risk, checked), *of_model)
    return Diagnosis(checks, provenance, LEVELS_NOT_CHECKED if evidence.with_levels.any() else "")


def _of_errors(evidence: Evidence) -> Iterator[Check]:
    """Shapes and independence of the errors: of columns whose order was learned, in the population."""
    searched = evidence.of_population().of_searched()
    numbers = searched.of_numbers()
    yield check_gaussianity(searched)
    if numbers.columns.size > 1 or not evidence.with_levels.any():
        yield check_independence(numbers, pairwise_tests(numbers.errors))
        yield check_linearity(numbers)
        yield check_confounding(numbers)


def _of_disease(evidence: Evidence, of_risk: Check, checked: Checked) -> Iterator[Check]:
    """What errors do to the disease, and what of it comes from the disease or from a few patients."""
    # Logistic regression does not mind that cases and controls were sampled apart: all patients count.
    evidence = evidence.of_strongest()
    fit = fit_plain(evidence.errors, evidence.y)
    yield check_mechanism(evidence, fit)
    yield check_terminal(evidence, fit)
    yield of_risk
    yield check_influence(evidence, fit, checked)
