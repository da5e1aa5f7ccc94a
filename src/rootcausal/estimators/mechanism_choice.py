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
# By so many nats, beyond what its terms cost, what bends has to tell the outcome better than lines.
SHORTER_OUTCOME = 8.0


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
    return settings.mechanism == LINEAR or _never_curves(settings) is not None


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
    linear = replace(settings, mechanism=LINEAR)
    why = _never_curves(settings) or _no_curves(cohort, parameters)
    if why is not None:
        said = {"asked": AUTO, "taken": LINEAR, "why": why}
        return Chosen(_learned(cohort, linear, on_round), linear, said)
    return _weighed(cohort, linear, parameters, on_round)


def _never_curves(settings: Settings) -> str | None:
    """Why what was chosen does not go with a nonlinear mechanism, whoever the patients are."""
    if settings.attribution.name != "sharp":
        return f"attribution={settings.attribution.name!r} regresses on the errors of linear equations."
    return None


def _no_curves(cohort: Cohort, parameters: Mapping[str, Any]) -> str | None:
    """Why nonlinear equations cannot be had for these patients."""
    if cohort.layout.noise is not None:
        return "Values that are measured with error are taken in by straight lines alone."
    if cohort.layout.limits is not None:
        return "Values beyond a limit of detection are taken in by straight lines alone."
    if cohort.rows is None:
        return "These rows are on a cluster, and nonlinear equations are learned in memory."
    if parameters["backend"] == "cupy":
        return "Nonlinear equations are not summed on a GPU (backend='cupy')."
    if cohort.outcome is not None and cohort.outcome.name == "matched":
        return "Of matched sets, lines alone are told."
    return None


def _weighed(
    cohort: Cohort, linear: Settings, parameters: Mapping[str, Any], on_round: OnRound | None
) -> Chosen:
    """The shorter description of the patients, by their graph and by what their outcome is told by."""
    from ..nonlinear.learning import nats_saved

    settings = replace(linear, mechanism=NONLINEAR)
    nonlinear = _learned(cohort, settings, on_round)
    saved, by_outcome = nats_saved(nonlinear.ordering)
    enough = max(SHORTER, SHORTER_A_VARIABLE * nonlinear.model.order.size)
    found = Chosen(nonlinear, settings, {"asked": AUTO, "taken": NONLINEAR})

    def because(why: str) -> Chosen:
        return replace(found, said={**(found.said or {}), "why": why})

    shorter = f"Nonlinear equations describe these patients in {saved:,.0f} nats less than linear ones do"
    if saved > enough:
        return because(f"{shorter}.")
    if by_outcome > SHORTER_OUTCOME:
        return because(
            f"Curves or products of variables tell the outcome in {by_outcome:,.0f} nats less than lines do."
        )
    learned = _learned(cohort, linear, on_round)
    check = _straight(cohort, linear, learned, parameters)
    if check.verdict in NOT_LINEAR and saved > enough / 3.0:
        return because(check.statement)
    if saved < 1.0:
        shorter = "Nonlinear equations describe these patients in no less than linear ones do"
    why = f"{shorter}, which may be chance; {check.statement[0].lower()}{check.statement[1:]}"
    return Chosen(learned, linear, {"asked": AUTO, "taken": LINEAR, "why": why})


def _learned(cohort: Cohort, settings: Settings, on_round: OnRound | None) -> Learned:
    return learn_mechanism(cohort.raw, cohort.columns, settings, on_round, cohort.layout, cohort.outcome)


def _straight(cohort: Cohort, settings: Settings, learned: Learned, parameters: Mapping[str, Any]) -> Check:
    """Whether linear equations are enough for these patients, by the model that they lead to."""
    assert cohort.rows is not None
    values, known = (of_rows[cohort.counted] for of_rows in cohort.rows)
    missing = None
    if learned.imputation is not None:
        missing = values != values
        values = learned.completion.draw(values, settings.imputation_seed, cohort.layout)
    made = {"parameters": dict(parameters)}
    stated = learned.model.predictor(values)
    return check_linear(
        Checked(learned.model, values, missing, known, stated, cohort.encoding, None, made, of_fit=True)
    )
