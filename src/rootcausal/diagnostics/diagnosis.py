"""What a check says, in numbers and in words."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any, Literal

from ..wording import listed, one_line

Verdict = Literal["fine", "cannot tell", "not checked", "doubtful", "broken"]
#: The worst last. Too few patients to see a violation are less than a violation that was seen, and nobody
#: having looked says even less than that.
VERDICTS: tuple[Verdict, ...] = ("fine", "cannot tell", "not checked", "doubtful", "broken")

Reading = Literal["go on", "go on with this limit in mind", "do not read"]
READINGS: dict[Verdict, Reading] = {
    "fine": "go on",
    "cannot tell": "go on with this limit in mind",
    "not checked": "go on with this limit in mind",
    "doubtful": "go on with this limit in mind",
    "broken": "do not read",
}
#: How a summary goes on after the worst verdict; lines with limits follow all but the first.
SUMMARIES: dict[Verdict, str] = {
    "fine": "go on",
    "cannot tell": "go on with these limits in mind:",
    "not checked": "so nothing says that the model holds",
    "doubtful": "go on with these limits in mind:",
    "broken": "do not read parts of it:",
}
#: What stands above further limits, which are less than the worst.
ALSO: dict[Verdict, str] = {
    "doubtful": "go on with these limits in mind:",
    "not checked": "bear in mind what was not checked:",
    "cannot tell": "bear in mind what these patients cannot show:",
}
#: What silence never means, whatever the number of patients.
NO_TABLE_SHOWS = (
    "A hidden common cause of a variable and the outcome (confounding) leaves no trace in any table, and "
    "cannot be checked."
)
#: Which numbers a limit is about: stated risks, values and ranks of variables, or the order among them.
Touched = Literal["", "risk", "variables", "order"]


@dataclass(frozen=True)
class Check:
    """One question about a cohort.

    Attributes
    ----------
    name : short and stable, for programs.
    question : what is asked.
    verdict : "fine", "doubtful" or "broken"; "cannot tell" where these patients cannot show even a hard
        violation, and "not checked" where there was nobody to look at.
    number : the size of the effect that the verdict rests on; NaN where there was nothing to look at.
    p_value : of the test behind it, corrected for all the comparisons made; None where there is no test.
    statement : the finding in words.
    advice : what to do about it; empty when all is fine.
    variables : the columns concerned, the worst first.
    limit : what not to read, or what to bear in mind, as one sentence that stands by itself, such as "Do not
        read risks as probabilities."; empty when all is fine.
    touches : which numbers that is about: "risk" (all that are stated), "variables" (values and ranks of
        these), "order" (that of these variables), or "" for none in particular.
    smallest : the smallest number that would have been seen in nine of ten cohorts like this one; None where
        that is no question of how many patients there are.
    unnamed : the statement without the patients that it names, where it names any: for what is kept.
    """

    name: str
    question: str
    verdict: Verdict
    number: float
    p_value: float | None
    statement: str
    advice: str
    variables: tuple[str, ...] = ()
    limit: str = ""
    touches: Touched = ""
    smallest: float | None = None
    unnamed: str = ""

    @property
    def reading(self) -> Reading:
        """What the verdict comes to: go on, go on with a limit, or do not read what ``limit`` says."""
        return READINGS[self.verdict]

    def saying(self, more: str) -> Check:
        """The same with more behind its statement."""
        unnamed = self.unnamed and self.unnamed + more
        return replace(self, statement=self.statement + more, unnamed=unnamed)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: NaN becomes None."""
        plain = asdict(self)
        del plain["unnamed"]
        return {
            **plain,
            "number": _finite(self.number),
            "p_value": _finite(self.p_value),
            "smallest": _finite(self.smallest),
            "variables": [str(name) for name in self.variables],
            "reading": self.reading,
        }


def _finite(number: float | None) -> float | None:
    return None if number is None or not math.isfinite(number) else float(number)


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """All checks of a model on a cohort.

    Attributes
    ----------
    checks : those that could be made.
    provenance : how the model was made.
    not_made : which checks could not be made with these patients, and why; empty where all were.
    of_outcome : whether those that need the patients' outcomes were made. Without them nothing is fine.
    """

    checks: tuple[Check, ...]
    provenance: dict[str, Any]
    not_made: str = ""
    of_outcome: bool = True

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all; "not checked" where nothing worse was found by less than all checks."""
        verdicts: list[Verdict] = [check.verdict for check in self.checks]
        if not (self.of_outcome and verdicts):
            verdicts.append("not checked")
        return max(verdicts, key=VERDICTS.index)

    @property
    def reading(self) -> Reading:
        """What the worst verdict comes to."""
        return READINGS[self.verdict]

    @property
    def worst_first(self) -> tuple[Check, ...]:
        """All checks, the worst first."""
        return tuple(sorted(self.checks, key=lambda check: -VERDICTS.index(check.verdict)))

    @property
    def limits(self) -> tuple[Check, ...]:
        """The checks with something to bear in mind, the worst first."""
        return tuple(check for check in self.worst_first if check.limit)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: NaN becomes None."""
        return {
            "verdict": self.verdict,
            "reading": self.reading,
            "checks": [check.to_dict() for check in self.checks],
            "not_made": self.not_made,
            "provenance": self.provenance,
        }

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.to_text())}</pre>"

    def to_text(self) -> str:
        """Lines for a terminal: what they come to, then what was found, the worst first.

        What these patients cannot show takes a line each, and all that is fine takes one.
        """
        lines = [self._head().removesuffix(":"), ""]
        for check in self.worst_first:
            if check.verdict in ("broken", "doubtful") and check.limit:
                lines += _in_full(check)
            elif check.verdict != "fine":  # what another check explains has no limit of its own
                lines.append(_titled(check.verdict, check.limit or check.statement))
        fine = [check.name for check in self.checks if check.verdict == "fine"]
        if fine:
            lines.append(_titled("fine", ", ".join(fine)))
        lines += [self.not_made] if self.not_made else []
        return "\n".join([*lines, *([NO_TABLE_SHOWS] if self.of_outcome else [])])

    def _head(self) -> str:
        far = ", as far as it was checked" if self.not_made and self.verdict != "not checked" else ""
        return f"overall{far}: {self.verdict}, {SUMMARIES[self.verdict]}"

    def summary(self) -> str:
        """What it comes to: the worst verdict, whether to go on, and a line for each limit."""
        lines = [self._head()]
        for verdict in reversed(VERDICTS):
            limits = [f"  - {check.limit}" for check in self.limits if check.verdict == verdict]
            if limits and verdict != self.verdict:
                lines.append(f"and {ALSO[verdict]}")
            lines += limits
        return "\n".join(lines)


def _titled(verdict: Verdict, text: str) -> str:
    return f"{verdict.upper():<12} {text}"


def _in_full(check: Check) -> list[str]:
    """A finding with what to do about it."""
    said = [check.statement]
    unnamed = [name for name in check.variables if name not in check.statement]
    if unnamed:
        said.append(f"concerns: {listed([one_line(name, 40) for name in check.variables], 6)}")
    # What not to read says so itself.
    said.append(check.limit if check.reading == "do not read" else f"{check.reading}: {check.limit}")
    said.append(f"what to do: {check.advice}")
    return [_titled(check.verdict, check.question), *(f"{'':<12} {line}" for line in said)]
