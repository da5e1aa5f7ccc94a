"""The checks of the time to an event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from ..outcomes.survival import FEWEST_EVENTS, Survival
from .censoring import check_follow_up
from .checked import Checked
from .diagnosis import Check
from .evidence import Evidence, decided_by, deciding_levels
from .few_events import check_events
from .giveaway_times import check_giveaway_of_times
from .graded_influence import check_graded_influence
from .observed_risk import check_risk_by_horizon
from .plain_fit import PlainHazard
from .proportional import check_proportional
from .straight import check_straight


class SurvivalChecks:
    """See :class:`.by_outcome.OutcomeChecks`."""

    kind: ClassVar[str] = "survival"
    others: ClassVar[str] = (
        "shapes and independence of the errors, straight lines, hidden causes, columns that give the event "
        "away, effects that change with time, whom follow-up lost, enough events, stated against observed "
        "risk, single patients who decide"
    )
    not_asked: ClassVar[str] = (
        "Not asked of times to an event: whether a column is an effect of the event. Only when it was "
        "measured tells."
    )
    of_levels: ClassVar[str] = ""

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
    def may_be_sampled_apart(checked: Checked) -> bool:
        return False

    @staticmethod
    def checks(checked: Checked, evidence: Evidence) -> Iterator[Check]:
        known = checked.known
        assert known is not None
        strongest = evidence.of_strongest(int(evidence.known[:, 1].sum()))
        if Survival.is_enough(strongest.of_measured().known):
            strongest = strongest.of_measured()
        n_events = int(strongest.known[:, 1].sum())
        # Nobody with such a level has the event, however long: no hazard is small enough.
        deciding = deciding_levels(strongest, strongest.known[:, 1], either=False)
        beside = decided_by(strongest, deciding)
        strongest = strongest.of_columns(~deciding)
        fit = PlainHazard.of(strongest.errors, *strongest.known.T)
        yield check_giveaway_of_times(checked)  # a leak explains most of what else is found
        yield check_risk_by_horizon(checked)
        yield check_proportional(strongest, fit, checked.words).saying(beside)
        yield check_straight(strongest, fit, checked, n_events)
        acts = evidence.importance >= checked.model.attribution.notable
        columns = np.append(evidence.columns, evidence.outside_columns)
        yield check_follow_up(evidence, acts, checked.X[np.ix_(evidence.rows, columns)])
        yield check_events(fit, int(known[:, 1].sum()), checked.model.order.size)
        yield check_graded_influence(strongest, fit, checked, n_events).saying(beside)
