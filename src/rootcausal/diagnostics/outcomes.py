"""Which checks are made: those of all outcomes, and those that one kind has beside them; their table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from ..method.moments import ROWS_PER_CLASS
from ..outcomes.continuous import FEWEST_VALUES, Continuous
from ..outcomes.count import Count
from ..outcomes.follow_up import Spans
from ..outcomes.matched import FEWEST_SETS, IS_CASE, Matched
from ..outcomes.ordinal import Ordinal
from ..outcomes.survival import FEWEST_EVENTS, Survival
from . import calibration, gaussianity, heteroscedasticity, influence, interaction, leakage, logarithms
from .censoring import SPEC as CENSORING
from .censoring import check_censoring
from .confounding import INDEPENDENT, UNCONFOUNDED
from .diagnosis import Check, CheckSpec
from .evidence import Checked, Evidence, decided, decided_by
from .halves import SPEC as HALVES
from .linearity import LINEAR, OUTCOME_LINEAR, check_outcome_linearity
from .proportionality import EVENTS, PROPORTIONAL, check_events, check_proportional, check_proportional_odds
from .proportionality import SPEC as PROPORTIONAL_ODDS
from .regressions import PlainCounts, PlainHazard, PlainLine, PlainLogit, PlainStages
from .resolution import SPEC as RESOLUTION
from .reverse_causation import DIAGNOSIS, NUMBER, check_reverse_causation, check_reverse_causation_of_number
from .unmeasured import SPEC as UNMEASURED
from .without_outcomes import AS_NAMED, IN_RANGE, LEARNED

#: Of every outcome.
OF_ANY = (
    LEARNED,
    gaussianity.SPEC,
    INDEPENDENT,
    LINEAR,
    UNCONFOUNDED,
    UNMEASURED,
    HALVES,
    logarithms.SPEC,
    RESOLUTION,
    IN_RANGE,
    AS_NAMED,
)


class OutcomeChecks(ABC):
    """The checks of one kind of outcome; those of columns and errors alone are the same for all kinds.

    Attributes
    ----------
    kind : the name of the outcome.
    specs : of its checks, in their order in the guide's table.
    facts : words that their questions need.
    others : which checks are not made without it, beside those of errors.
    not_asked : what is asked of no model of this kind, for whoever reads the findings; or nothing.
    of_levels : what is not asked of columns with levels, beside straight lines and hidden causes.
    """

    kind: ClassVar[str]
    specs: ClassVar[tuple[CheckSpec, ...]]
    facts: ClassVar[dict[str, str]] = {}
    others: ClassVar[str]
    not_asked: ClassVar[str] = ""
    of_levels: ClassVar[str] = ""

    @staticmethod
    @abstractmethod
    def why_not(known: np.ndarray | None) -> str:
        """Why its checks cannot be made of what is known of these patients; empty where they can."""

    @staticmethod
    def may_be_sampled_apart(checked: Checked) -> bool:
        """Whether patients may have been chosen by their outcome without anybody saying so."""
        return False

    @staticmethod
    @abstractmethod
    def checks(checked: Checked, evidence: Evidence) -> Iterator[Check]:
        """All that are made of this outcome, in their order."""


class BinaryChecks(OutcomeChecks):
    """Of a diagnosis, yes or no."""

    kind = "binary"
    specs = (
        leakage.OF_DIAGNOSES,
        DIAGNOSIS,
        calibration.RISK,
        interaction.SPEC,
        influence.SPEC,
    )
    others = (
        "equal responses in cases and controls, effects of the diagnosis and columns that give it away, "
        "stated against observed risk, single patients who decide"
    )
    of_levels = "whether they are effects of the diagnosis rather than causes, "

    @staticmethod
    def why_not(known: np.ndarray | None) -> str:
        if known is None:
            return "This takes the patients' diagnoses, which were not given."
        cases = int(known.sum())
        if min(cases, known.size - cases) >= ROWS_PER_CLASS:
            return ""
        return (
            f"This takes at least {ROWS_PER_CLASS} patients with the disease and {ROWS_PER_CLASS} without; "
            f"here {cases} of {known.size} have it."
        )

    @staticmethod
    def may_be_sampled_apart(checked: Checked) -> bool:
        return checked.prevalence is None

    @staticmethod
    def checks(checked: Checked, evidence: Evidence) -> Iterator[Check]:
        y = checked.known
        assert y is not None
        yield leakage.check_leakage(checked, y)  # a leak explains most of what else is found
        # Logistic regression does not mind that cases and controls were sampled apart: all patients count.
        evidence = evidence.of_strongest(evidence.n_rows)
        deciding = decided(evidence, evidence.known)
        beside = decided_by(evidence, deciding)
        evidence = evidence.of_columns(~deciding)
        fit = PlainLogit.of(evidence.errors, evidence.known)
        values = checked.X[np.ix_(evidence.rows, evidence.columns)]
        yield check_reverse_causation(evidence, fit, values, evidence.rest_on_measurements, checked.nonlinear)
        yield calibration.check_calibration(checked.stated, y, checked.prevalence, checked.of_fit)
        yield interaction.check_interaction(evidence, fit).saying(beside)
        n_rarer = int(np.bincount(evidence.known, minlength=2).min())
        yield influence.check_influence(evidence, fit, checked, n_rarer).saying(beside)


class SurvivalChecks(OutcomeChecks):
    """Of the time to an event."""

    kind = "survival"
    specs = (
        leakage.OF_TIMES,
        calibration.RISK_BY_HORIZON,
        PROPORTIONAL,
        OUTCOME_LINEAR,
        CENSORING,
        EVENTS,
        influence.SPEC,
    )
    facts: ClassVar[dict[str, str]] = {"followed": "the log-hazard", "telling": "events"}
    others = (
        "columns that give the event away, effects that change with time, whom follow-up lost, enough "
        "events, stated against observed risk, single patients who decide"
    )
    not_asked = (
        "Not asked of times to an event: whether a column is an effect of the event. Only when it was "
        "measured tells."
    )

    @staticmethod
    def why_not(known: np.ndarray | None) -> str:
        if known is None:
            return "This takes the patients' times and events, which were not given."
        if known[:, 1].all() and np.unique(known[:, 0]).size == 1:
            return "All of these patients have the event at the same time: there is nothing to compare."
        if Survival.is_enough(known):
            return ""
        had = f"{int(known[:, 1].sum())} of {len(known)} had it"
        return f"This takes at least {FEWEST_EVENTS} patients with the event; here {had}."

    @staticmethod
    def checks(checked: Checked, evidence: Evidence) -> Iterator[Check]:
        known = checked.known
        assert known is not None
        strongest = evidence.of_strongest(int(evidence.known[:, 1].sum()))
        if Survival.is_enough(strongest.of_measured().known):
            strongest = strongest.of_measured()
        n_events = int(strongest.known[:, 1].sum())
        # Nobody with such a level has the event, however long: no hazard is small enough.
        deciding = decided(strongest, strongest.known[:, 1], either=False)
        beside = decided_by(strongest, deciding)
        strongest = strongest.of_columns(~deciding)
        fit = PlainHazard.of(strongest.errors, strongest.known)
        yield leakage.check_leakage_of_times(checked)  # a leak explains most of what else is found
        yield calibration.check_calibration_by_horizon(checked)
        by_strata = Spans.of(known).stratum is not None
        yield check_proportional(strongest, fit, checked.words, by_strata).saying(beside)
        yield from check_outcome_linearity(strongest, fit, checked, n_events)
        acts = evidence.importance >= checked.model.attribution.notable
        columns = np.append(evidence.columns, evidence.outside_columns)
        yield check_censoring(evidence, acts, checked.X[np.ix_(evidence.rows, columns)])
        yield check_events(fit, int(known[:, 1].sum()), checked.model.order.size)
        yield influence.check_influence(strongest, fit, checked, n_events).saying(beside)


class ContinuousChecks(OutcomeChecks):
    """Of a number, such as a score of severity."""

    kind = "continuous"
    specs = (
        leakage.OF_NUMBERS,
        NUMBER,
        calibration.EXPECTED,
        OUTCOME_LINEAR,
        heteroscedasticity.SPEC,
        influence.SPEC,
    )
    facts: ClassVar[dict[str, str]] = {"followed": "the outcome", "telling": "n"}
    others = (
        "effects of the outcome and columns that give it away, expected against observed values, an even "
        "spread, single patients who decide"
    )
    of_levels = "whether they are effects of the outcome rather than causes, "

    @staticmethod
    def why_not(known: np.ndarray | None) -> str:
        if known is None:
            return "This takes the patients' values, which were not given."
        if Continuous.is_enough(known):
            return ""
        return f"This takes at least {FEWEST_VALUES} different values of the outcome."

    @staticmethod
    def checks(checked: Checked, evidence: Evidence) -> Iterator[Check]:
        evidence = evidence.of_strongest(evidence.n_rows).of_measured()
        fit = PlainLine.of(evidence.errors, evidence.known)
        yield leakage.check_leakage_of_numbers(checked)  # a leak explains most of what else is found
        stated = checked.stated[evidence.rows]
        # What lines in the shocks leave is not what curves leave.
        left = PlainLine.of(stated[:, None], evidence.known).left if checked.nonlinear else fit.left
        of_lines = (
            calibration.check_calibration_of_number(checked),
            *check_outcome_linearity(evidence, fit, checked, evidence.n_rows),
            heteroscedasticity.check_heteroscedasticity(evidence, stated, left),
        )
        is_bent = any(check.verdict in ("doubtful", "broken") for check in of_lines)
        values = checked.X[np.ix_(evidence.rows, evidence.columns)]
        yield check_reverse_causation_of_number(evidence, values, is_bent, checked.nonlinear)
        yield from of_lines
        yield influence.check_influence(evidence, fit, checked, evidence.n_rows)


class MatchedChecks(OutcomeChecks):
    """Of cases among their matched sets."""

    kind = "matched"
    specs = (leakage.OF_DIAGNOSES,)
    others = "columns that give the diagnosis away"
    not_asked = (
        "Not asked of matched sets: whether a column is an effect of the diagnosis, whether risks "
        "are calibrated "
        "(there are none), and whether single sets decide."
    )

    @staticmethod
    def why_not(known: np.ndarray | None) -> str:
        if known is None:
            return "This takes the patients' diagnoses and their sets, which were not given."
        if Matched.is_enough(known):
            return ""
        return f"This takes at least {FEWEST_SETS} matched sets with a case and a control."

    @staticmethod
    def checks(checked: Checked, evidence: Evidence) -> Iterator[Check]:
        assert checked.known is not None
        yield leakage.check_leakage(checked, checked.known[:, IS_CASE].astype(np.intp))


class OrdinalChecks(OutcomeChecks):
    """Of stages in order."""

    kind = "ordinal"
    specs = (leakage.OF_NUMBERS, PROPORTIONAL_ODDS, OUTCOME_LINEAR, influence.SPEC)
    facts: ClassVar[dict[str, str]] = {"followed": "the log-odds", "telling": "n"}
    others = (
        "columns that give the stage away, odds that are proportional, an outcome that is linear in "
        "the shocks, "
        "single patients who decide"
    )
    not_asked = (
        "Not asked of stages: whether a column is an effect of the stage, and whether risks are calibrated; "
        "cross_validate has the Brier score of patients whom the model has not seen."
    )

    @staticmethod
    def why_not(known: np.ndarray | None) -> str:
        if known is None:
            return "This takes the patients' stages, which were not given."
        return "" if Ordinal.is_enough(known) else "This takes at least two different stages."

    @staticmethod
    def checks(checked: Checked, evidence: Evidence) -> Iterator[Check]:
        assert checked.known is not None
        yield leakage.check_leakage_of_numbers(checked, checked.known[:, 0])
        evidence = evidence.of_strongest(evidence.n_rows).of_measured()
        fit = PlainStages.of(evidence.errors, evidence.known)
        yield check_proportional_odds(evidence, checked.provenance["stages"])
        yield from check_outcome_linearity(evidence, fit, checked, evidence.n_rows)
        counts = np.bincount(evidence.known[:, 0].astype(np.intp))
        yield influence.check_influence(evidence, fit, checked, int(counts.sum() - counts.max()))


class CountChecks(OutcomeChecks):
    """Of a count of events."""

    kind = "count"
    specs = (leakage.OF_NUMBERS, OUTCOME_LINEAR, influence.SPEC)
    facts: ClassVar[dict[str, str]] = {"followed": "the log-rate", "telling": "n"}
    others = (
        "columns that give the count away, a log-rate that is linear in the shocks, single patients who "
        "decide"
    )
    not_asked = (
        "Not asked of counts: whether a column is an effect of the count, and whether expected counts are "
        "calibrated; cross_validate has the deviance of patients whom the model has not seen."
    )

    @staticmethod
    def why_not(known: np.ndarray | None) -> str:
        if known is None:
            return "This takes the patients' counts, which were not given."
        return "" if Count.is_enough(known) else "This takes counts that differ, and at least two events."

    @staticmethod
    def checks(checked: Checked, evidence: Evidence) -> Iterator[Check]:
        assert checked.known is not None
        yield leakage.check_leakage_of_numbers(checked, checked.known[:, 0] / checked.known[:, 1])
        evidence = evidence.of_strongest(evidence.n_rows).of_measured()
        fit = PlainCounts.of(evidence.errors, evidence.known)
        yield from check_outcome_linearity(evidence, fit, checked, evidence.n_rows)
        n_telling = min(int(evidence.known[:, 0].sum()), evidence.n_rows)
        yield influence.check_influence(evidence, fit, checked, n_telling)


#: By the names that attributions have for them.
OF_OUTCOME: dict[str, type[OutcomeChecks]] = {
    one.kind: one
    for one in (BinaryChecks, SurvivalChecks, ContinuousChecks, MatchedChecks, OrdinalChecks, CountChecks)
}


def table(kind: str) -> list[tuple[str, str, str, str, str]]:
    """The checks of one outcome, such as ``binary`` or ``survival``; of ``any``, those that all have.

    For each its name, question, number in words, and from which on it is doubtful and broken.
    """
    of_outcome = OF_OUTCOME.get(kind)
    specs, facts = (OF_ANY, {}) if of_outcome is None else (of_outcome.specs, of_outcome.facts)
    return [spec.row(nonlinear=False, **facts) for spec in specs]
