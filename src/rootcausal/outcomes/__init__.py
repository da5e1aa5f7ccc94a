"""What happened to the patients: one module for each kind of outcome, and the list of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.halves import Attribution
from ..core.outcome import Outcome
from ..wording import one_line
from .binary import Binary, BinaryWords, LogOddsAttribution, SimulatedDiagnosis
from .continuous import Continuous, ContinuousWords, SimulatedNumber, ValueAttribution
from .simulated import Simulator
from .survival import HazardAttribution, SimulatedEvent, Survival, SurvivalWords
from .words import Words as Words

#: By the names that parameters, files and attributions have for them.
OUTCOMES: dict[str, type[Outcome]] = {one.name: one for one in (Binary, Survival, Continuous)}
ATTRIBUTIONS: tuple[type[Attribution], ...] = (LogOddsAttribution, HazardAttribution, ValueAttribution)
WORDS: dict[str, type[Words]] = {one.kind: one for one in (BinaryWords, SurvivalWords, ContinuousWords)}

SIMULATORS: dict[str, type[Simulator]] = {
    "binary": SimulatedDiagnosis,
    "survival": SimulatedEvent,
    "continuous": SimulatedNumber,
}


def words_of(
    attribution: Attribution,
    target: str | None = None,
    unit: str = "",
    parameters: Mapping[str, Any] | None = None,
) -> Words:
    """The words of a model's outcome.

    Parameters
    ----------
    target : what the user calls the disease, the event or the number.
    unit : of the times, or of the number.
    parameters : of the model, where risks are told of a population or by a time that somebody chose.
    """
    called = None if target is None else one_line(target)
    return WORDS[attribution.outcome].of(attribution, called, one_line(unit, 30), parameters or {})
