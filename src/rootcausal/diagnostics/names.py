"""Does the learned order agree with what the names of columns suggest? Nobody ages because of a lab value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..asking.question import ask
from ..asking.saying import as_option, in_python
from ..asking.suggestion import Suggestion
from ..wording import listed, quoted
from .diagnosis import Check

QUESTION = "Does the learned order agree with what the names suggest?"
NAMED_AT_MOST = 3


def check_names(
    names: Sequence[str], order: Sequence[str], given: Mapping[str, Any] | None
) -> tuple[Check, ...]:
    """One check, or none where the names suggest nothing. It looks at the model alone.

    Parameters
    ----------
    names : (p,) of the variables.
    order : names of those in the causal order.
    given : what was given about the order, as plain values of the parameter ``knowledge``.
    """
    question = ask(names, order, given)
    if question is None:
        return ()
    advice = ""
    if question.misplaced:
        advice = f"if the names mean what they say, {'; '.join(_what_to_do(question.suggestion))}"
    return (
        Check(
            "as_named",
            QUESTION,
            "doubtful" if question.misplaced else "fine",
            float(len(question.misplaced)),
            None,
            question.statement(),
            f"{advice}." if advice else "",
            tuple(one.column for one in question.misplaced),
            limit=_limit([one.column for one in question.misplaced]),
            touches="order" if question.misplaced else "",
        ),
    )


def _limit(columns: Sequence[str]) -> str:
    if not columns:
        return ""
    named = listed([quoted(name, 40) for name in columns], NAMED_AT_MOST)
    return f"Read nothing as a cause of {named}: by the names, what the order puts before cannot come before."


def _what_to_do(fix: Suggestion) -> list[str]:
    if not fix:
        return [f"{fix.work}, and fit again"]
    said = [f"fit again with {as_option(fix)}", f"in Python {in_python(fix)}", *fix.caveats]
    return [*said, fix.work] if fix.work else said
