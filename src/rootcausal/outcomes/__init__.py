"""What happened to the patients: one module for each kind of outcome, and the list of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..method.model_parts import Attribution
from ..wording import one_line
from .base import Specification
from .binary import BINARY
from .continuous import CONTINUOUS
from .count import COUNT
from .matched import MATCHED
from .ordinal import ORDINAL
from .survival import SURVIVAL
from .words import Words as Words

#: By the names that parameters, files and attributions have for them.
OUTCOMES: dict[str, Specification] = {
    one.name: one for one in (BINARY, SURVIVAL, CONTINUOUS, MATCHED, ORDINAL, COUNT)
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
    return OUTCOMES[attribution.outcome].words(
        attribution.of_outcome, called, one_line(unit, 30), parameters or {}
    )
