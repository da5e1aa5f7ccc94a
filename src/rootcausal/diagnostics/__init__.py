"""Do the assumptions hold? A frame for checks, and one module for each kind.

:func:`diagnose` runs them all. A check is a :class:`.diagnosis.CheckSpec`, which says what is asked and
said, and a function that computes its figures, in one module; :mod:`.outcomes` says which outcomes have it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..backends.blas import one_blas_thread
from .confounding import SCALE, check_confounding, check_independence, read_together
from .dependence import dependent_pairs
from .diagnosis import Check, Diagnosis
from .evidence import Checked, Evidence, gather
from .gaussianity import check_gaussianity
from .halves import check_halves
from .linearity import check_linearity
from .logarithms import check_logarithm
from .outcomes import OF_OUTCOME, OutcomeChecks
from .resolution import check_resolution
from .unmeasured import check_unmeasured
from .without_outcomes import checks_without_outcomes

__all__ = ["Check", "Checked", "Diagnosis", "check_linear", "diagnose", "read_together"]

OF_ERRORS = "shapes and independence of the errors, linearity, hidden causes"
NOT_OF_CURVES = (
    "Not asked of a model with curves: whether logarithms would make relations more linear, and whether the "
    "outcome is linear in each shock."
)


def diagnose(checked: Checked) -> Diagnosis:
    """Check a model's assumptions on patients, column by column."""
    with one_blas_thread():  # the same numbers on any machine, and threads that do not wait for each other
        return _diagnose(checked)


def _diagnose(checked: Checked) -> Diagnosis:
    of_outcome = OF_OUTCOME[checked.model.attribution.outcome]
    of_model = tuple(checks_without_outcomes(checked))
    provenance = {name: value for name, value in checked.provenance.items() if name != "findings"}
    why_not = of_outcome.why_not(checked.known)
    if why_not:
        said = f"Not checked: {OF_ERRORS}, {of_outcome.others}. {why_not}"
        return Diagnosis(of_model, provenance, said, of_outcome=False)
    evidence = gather(checked, checked.score)
    checks = (
        *of_outcome.checks(checked, evidence),
        *_of_errors(evidence, checked, of_outcome),
        *(() if checked.nonlinear else (check_logarithm(checked, checked.score),)),
        check_resolution(checked),
        *of_model,
    )
    not_made = [of_outcome.not_asked, _of_levels(of_outcome) if evidence.with_levels.any() else ""]
    not_made.append(NOT_OF_CURVES if checked.nonlinear else "")
    return Diagnosis(checks, provenance, " ".join(filter(None, not_made)))


def check_linear(checked: Checked) -> Check:
    """The check of straight lines alone, of patients whose outcomes are known."""
    with one_blas_thread():
        population = gather(checked, checked.score).of_population()
        seen = dependent_pairs(population, SCALE.p_doubtful)
        return check_linearity(population, seen, checked.logged, checked.words.estimator)


def _of_errors(evidence: Evidence, checked: Checked, of_outcome: type[OutcomeChecks]) -> Iterator[Check]:
    """Shapes and independence of the errors: of columns whose order was learned, in the population."""
    population, estimator = evidence.of_population(), checked.words.estimator
    yield check_gaussianity(population.of_searched())
    seen = dependent_pairs(population, SCALE.p_doubtful)
    if seen.n_pairs or not evidence.with_levels.any():
        yield check_independence(population, seen, estimator)
        yield check_linearity(population, seen, checked.logged, estimator, checked.nonlinear)
        yield check_confounding(population, seen, of_outcome.may_be_sampled_apart(checked))
    yield from check_unmeasured(checked)
    yield from check_halves(checked)


def _of_levels(of_outcome: type[OutcomeChecks]) -> str:
    return (
        f"Not checked of columns with levels: {of_outcome.of_levels}whether their causes act on them "
        "linearly, and hidden common causes of theirs. Those checks are made for numbers."
    )
