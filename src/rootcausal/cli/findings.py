"""What the checks of a model found: in full, or in one line where something is not to be read."""

from collections import Counter
from typing import TYPE_CHECKING

from ..wording import one_line, plural
from .console import complain, say

if TYPE_CHECKING:
    from ..diagnostics import Diagnosis
    from ..loading import Fitted

LIMIT_LETTERS = 240
DOUBTS_SAID = 3


def say_findings(diagnosis: "Diagnosis") -> None:
    """Print every check."""
    say(diagnosis.to_text())


def say_what_was_found(diagnosis: "Diagnosis") -> None:
    """Print how many checks were made, with which verdicts, and what they come to."""
    from ..diagnostics.diagnosis import VERDICTS

    counts = Counter(check.verdict for check in diagnosis.checks)
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in reversed(VERDICTS) if counts[verdict])
    if not counts:
        return
    say(f"{plural(len(diagnosis.checks), 'check')} of the assumptions: {verdicts}")
    if diagnosis.not_made:
        say(diagnosis.not_made)
    say(diagnosis.summary())


def say_what_is_known(model: "Fitted") -> None:
    """Print what was found when a model was made: the checks in a line, and each warning in another."""
    found = model._found
    how = "rootcausal check, of the cohort of the fit, says whether its assumptions hold"
    say(f"checks of the model: {found.in_short(how)}")
    for text in found.fit:
        say(f"the fit warned: {one_line(text, LIMIT_LETTERS)}")
    for text in found.table[:DOUBTS_SAID]:
        say(f"in doubt, in the cohort of the fit: {one_line(text, LIMIT_LETTERS)}")
    more = len(found.table) - DOUBTS_SAID
    if more > 0:
        say(f"and {plural(more, 'more doubt')}: rootcausal look, of the cohort of the fit, lists them")


def warn_of_limits(diagnosis: "Diagnosis", who: str, fitted: "Fitted | None" = None) -> None:
    """Print a line on stderr where the checks say that something is not to be read.

    ``who`` says the rest, such as "the page". Of a model that was just ``fitted``, what its fit warned of is
    not said twice.
    """
    nothing_found = fitted is not None and not fitted.causal_order_.size
    broken = [
        check
        for check in diagnosis.limits
        if check.reading == "do not read" and not (nothing_found and check.name == "learned")
    ]
    if broken:
        limit = one_line(broken[0].limit, LIMIT_LETTERS)
        more = f"{len(broken) - 1} more like this; " if len(broken) > 1 else ""
        complain(f"warning: the checks say: {limit} ({more}{who} says why, and what to do)")
