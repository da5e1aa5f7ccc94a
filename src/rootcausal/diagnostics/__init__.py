"""Do the assumptions hold? One module for each kind of check.

:func:`diagnose` runs them all. To add one of columns and errors, write a module, and a line here; one of an
outcome gets its line in the list of that outcome, :mod:`.of_yes_no`, :mod:`.of_survival` or
:mod:`.of_number`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..backends.blas import one_blas_thread
from .by_outcome import OutcomeChecks
from .checked import Checked
from .confounding import check_confounding
from .dependence import dependent_pairs
from .diagnosis import Check, Diagnosis
from .evidence import Evidence, gather
from .gaussianity import check_gaussianity
from .independence import SCALE, check_independence
from .learned import check_learned
from .linearity import check_linearity
from .logarithms import check_logarithm
from .names import check_names
from .of_number import NumberChecks
from .of_survival import SurvivalChecks
from .of_yes_no import YesNoChecks
from .patients import check_range
from .together import read_together

__all__ = ["Check", "Checked", "Diagnosis", "check_straight", "diagnose", "read_together"]

NOT_OF_CURVES = "Not asked of a model with curves: whether logarithms would make relations straight."

#: Which checks are made of an outcome, by the names that attributions have for it.
OF_OUTCOME: dict[str, type[OutcomeChecks]] = {
    one.kind: one for one in (YesNoChecks, SurvivalChecks, NumberChecks)
}


def diagnose(checked: Checked) -> Diagnosis:
    """Check a model's assumptions on patients, column by column."""
    with one_blas_thread():  # the same numbers on any machine, and threads that do not wait for each other
        return _diagnose(checked)


def _diagnose(checked: Checked) -> Diagnosis:
    of_outcome = OF_OUTCOME[checked.model.attribution.outcome]
    of_model = tuple(_of_model(checked))
    provenance = {name: value for name, value in checked.provenance.items() if name != "findings"}
    why_not = of_outcome.why_not(checked.known)
    if why_not:
        said = f"Not checked: {of_outcome.others}. {why_not}"
        return Diagnosis(of_model, provenance, said, of_outcome=False)
    evidence = gather(checked, checked.score)
    checks = (
        *of_outcome.checks(checked, evidence),
        *_of_errors(evidence, checked, of_outcome),
        *(() if checked.bent else (check_logarithm(checked, checked.score),)),
        *of_model,
    )
    not_made = [of_outcome.not_asked, _of_levels(of_outcome) if evidence.with_levels.any() else ""]
    not_made.append(NOT_OF_CURVES if checked.bent else "")
    return Diagnosis(checks, provenance, " ".join(filter(None, not_made)))


def check_straight(checked: Checked) -> Check:
    """The check of straight lines alone, of patients whose outcomes are known."""
    with one_blas_thread():
        population = gather(checked, checked.score).of_population()
        seen = dependent_pairs(population, SCALE.p_doubtful)
        return check_linearity(population, seen, checked.logged, checked.words.estimator)


def _of_model(checked: Checked) -> Iterator[Check]:
    """What needs no outcome: any patients will do, or none."""
    yield from check_learned(checked)
    model, names, variables = checked.model, checked.named.column_names, checked.named.names
    order = model.column_order
    errors = model.column_errors(checked.X)[:, order]
    yield check_range(errors, [names[c] for c in order], checked.called, checked.words.predictions)
    given = checked.provenance["parameters"].get("knowledge")
    yield from check_names(list(variables), [variables[k] for k in model.order], given)


def _of_errors(evidence: Evidence, checked: Checked, of_outcome: type[OutcomeChecks]) -> Iterator[Check]:
    """Shapes and independence of the errors: of columns whose order was learned, in the population."""
    population, estimator = evidence.of_population(), checked.words.estimator
    yield check_gaussianity(population.of_searched())
    seen = dependent_pairs(population, SCALE.p_doubtful)
    if seen.n_pairs or not evidence.with_levels.any():
        yield check_independence(population, seen, estimator)
        yield check_linearity(population, seen, checked.logged, estimator, checked.bent)
        yield check_confounding(population, seen, of_outcome.may_be_sampled_apart(checked))


def _of_levels(of_outcome: type[OutcomeChecks]) -> str:
    return (
        f"Not checked of columns with levels: {of_outcome.of_levels}whether their causes act on them along "
        "straight lines, and hidden common causes of theirs. Those checks are made for numbers."
    )
