"""Which mechanism a cohort gets: the one that was asked for, or the one that its relations call for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..diagnostics import Check, Checked, check_linear
from ..errors import InputError
from ..inputs.patients import Cohort
from ..method.ordering.ordering import OnRound
from ..method.pipeline import Learned, Settings
from ..nonlinear.learners import LINEAR, NONLINEAR, learn_mechanism

AUTO = "auto"
# Verdicts of the check of linearity by which a linear mechanism is not kept to.
NOT_LINEAR = ("doubtful", "broken")
# So much shorter, in nats, a nonlinear description has to be: among many variables some are so by chance. In
# linear cohorts it was by less in nearly all; in nonlinear ones, by more in nine of ten from 500 patients on.
# Where the check of linearity is not fine, a third of it is enough.
SHORTER, SHORTER_A_VARIABLE = 30.0, 3.0


@dataclass(frozen=True, eq=False)
class Chosen:
    """What was learned.

    Attributes
    ----------
    learned : by the mechanism that was taken.
    settings : with that mechanism.
    said : which was asked for and taken, and why, for the model to remember; None where nothing was to
        choose.
    """

    learned: Learned
    settings: Settings
    said: dict[str, str] | None


def gpu_will_do(settings: Settings) -> bool:
    """Whether a GPU offers all sums that the mechanism may ask for."""
    return settings.mechanism == LINEAR


def learn_cohort(
    cohort: Cohort, settings: Settings, parameters: Mapping[str, Any], on_round: OnRound | None
) -> Chosen:
    """Learn from a cohort; with ``auto``, by a nonlinear mechanism where a linear one is not enough."""
    if (cohort.layout.acts | cohort.layout.does_not_act).any() and not settings.takes_known_causes:
        raise InputError(
            "knowledge says what acts on the outcome, which attribution='sharp' alone takes in: leave out "
            "these pairs, or choose it"
        )
    if settings.mechanism != AUTO:
        said = None
        if settings.mechanism != LINEAR:
            said = {"asked": settings.mechanism, "taken": settings.mechanism, "why": "It was asked for."}
        return Chosen(_learned(cohort, settings, on_round), settings, said)
    if cohort.layout.noise is not None:
        why = "Values that are measured with error are taken in by straight lines alone."
        settings = replace(settings, mechanism=LINEAR)
        learned = _learned(cohort, settings, on_round)
        return Chosen(learned, settings, {"asked": AUTO, "taken": LINEAR, "why": why})
    if cohort.rows is None:
        raise InputError("mechanism='auto' looks at rows in memory: choose mechanism='linear' on a cluster")
    from ..nonlinear.learning import nats_saved

    settings = replace(settings, mechanism=LINEAR)
    learned = _learned(cohort, settings, on_round)
    check = _straight(cohort, settings, learned, parameters)
    nonlinear_settings = replace(settings, mechanism=NONLINEAR)
    nonlinear = _learned(cohort, nonlinear_settings, on_round)
    saved = nats_saved(nonlinear.ordering)
    shorter = f"Nonlinear equations describe these patients in {saved:,.0f} nats less than linear ones do"
    said = {"asked": AUTO}
    enough = max(SHORTER, SHORTER_A_VARIABLE * nonlinear.model.order.size)
    if check.verdict in NOT_LINEAR and saved > enough / 3.0:
        return Chosen(nonlinear, nonlinear_settings, said | {"taken": NONLINEAR, "why": check.statement})
    if saved > enough:
        return Chosen(nonlinear, nonlinear_settings, said | {"taken": NONLINEAR, "why": f"{shorter}."})
    if saved < 1.0:
        shorter = "Nonlinear equations describe these patients in no less than linear ones do"
    why = f"{shorter}, which may be chance; {check.statement[0].lower()}{check.statement[1:]}"
    return Chosen(learned, settings, said | {"taken": LINEAR, "why": why})


def _learned(cohort: Cohort, settings: Settings, on_round: OnRound | None) -> Learned:
    return learn_mechanism(cohort.raw, cohort.columns, settings, on_round, cohort.layout, cohort.outcome)


def _straight(cohort: Cohort, settings: Settings, learned: Learned, parameters: Mapping[str, Any]) -> Check:
    """Whether linear equations are enough for these patients, by the model that they lead to."""
    assert cohort.rows is not None
    values, known = cohort.rows
    missing = None
    if learned.imputation is not None:
        missing = values != values
        values = learned.completion.draw(values, settings.imputation_seed, cohort.layout)
    made = {"parameters": dict(parameters)}
    stated = learned.model.predictor(values)
    return check_linear(
        Checked(learned.model, values, missing, known, stated, cohort.encoding, None, made, of_fit=True)
    )
