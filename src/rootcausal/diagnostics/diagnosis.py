"""What a check says, in numbers and in words."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ..wording import listed, one_line

Verdict = Literal["fine", "cannot tell", "doubtful", "broken"]
#: The worst last. Too few patients to see a violation are less than a violation that was seen.
VERDICTS: tuple[Verdict, ...] = ("fine", "cannot tell", "doubtful", "broken")

Reading = Literal["go on", "go on with this limit in mind", "do not read"]
READINGS: dict[Verdict, Reading] = {
    "fine": "go on",
    "cannot tell": "go on with this limit in mind",
    "doubtful": "go on with this limit in mind",
    "broken": "do not read",
}
#: How a summary goes on after the worst verdict; lines with limits follow all but the first.
SUMMARIES: dict[Verdict, str] = {
    "fine": "go on",
    "cannot tell": "go on with these limits in mind:",
    "doubtful": "go on with these limits in mind:",
    "broken": "do not read parts of it:",
}
#: What stands above further limits, which are less than the worst.
ALSO: dict[Verdict, str] = {
    "doubtful": "go on with these limits in mind:",
    "cannot tell": "bear in mind what these patients cannot show:",
}
#: Which numbers a limit is about: stated risks, values and ranks of variables, or the order among them.
Touched = Literal["", "risk", "variables", "order"]


@dataclass(frozen=True)
class Check:
    """One question about a cohort.

    Attributes
    ----------
    name : short and stable, for programs.
    question : what is asked.
    verdict : "fine", "doubtful" or "broken"; "cannot tell" where these patients are too few to see even a
        hard violation.
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

    @property
    def reading(self) -> Reading:
        """What the verdict comes to: go on, go on with a limit, or do not read what ``limit`` says."""
        return READINGS[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: NaN becomes None."""
        return {
            **asdict(self),
            "number": self.number if math.isfinite(self.number) else None,
            "smallest": self.smallest if self.smallest is not None and math.isfinite(self.smallest) else None,
            "variables": [*self.variables],
            "reading": self.reading,
        }


@dataclass(frozen=True)
class Diagnosis:
    """All checks of a model on a cohort.

    Attributes
    ----------
    checks : those that could be made.
    provenance : how the model was made.
    not_made : which checks could not be made with these patients, and why; empty where all were.
    """

    checks: tuple[Check, ...]
    provenance: dict[str, Any]
    not_made: str = ""

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all."""
        return VERDICTS[max((VERDICTS.index(check.verdict) for check in self.checks), default=0)]

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

    def to_text(self) -> str:
        """Lines for a terminal: the checks, the worst first, and what they come to."""
        lines: list[str] = []
        for check in self.worst_first:
            lines.append(f"{check.verdict.upper():<12} {check.question}")
            said = [check.statement]
            if check.variables:
                said.append(f"concerns: {listed([one_line(v, 40) for v in check.variables], 6)}")
            if check.limit:
                # What not to read says so itself.
                in_mind = "" if check.reading == "do not read" else f"{check.reading}: "
                said.append(f"{in_mind}{check.limit}")
            if check.advice:
                said.append(f"what to do: {check.advice}")
            lines += [f"{'':<12} {line}" for line in said]
        if self.not_made:
            lines.append(self.not_made)
        return "\n".join([*lines, "", self.summary()])

    def summary(self) -> str:
        """What it comes to: the worst verdict, whether to go on, and a line for each limit."""
        far = ", as far as it was checked" if self.not_made else ""
        lines = [f"overall{far}: {self.verdict}, {SUMMARIES[self.verdict]}"]
        for verdict in reversed(VERDICTS):
            limits = [f"  - {check.limit}" for check in self.limits if check.verdict == verdict]
            if limits and verdict != self.verdict:
                lines.append(f"and {ALSO[verdict]}")
            lines += limits
        return "\n".join(lines)


@dataclass(frozen=True)
class Scale:
    """From which effect on, and below which p-value, a finding is doubtful or broken."""

    doubtful: float
    broken: float
    p_doubtful: float = 0.05
    p_broken: float = 0.001

    def judge(self, p_value: float, effect: float, smallest: float = 0.0) -> Verdict:
        """Both must agree.

        Estimated errors are slightly dependent even when all is well, so in a large cohort a p-value alone
        would cry wolf; and an effect that is large but uncertain proves nothing. ``smallest`` is the effect
        that would have been seen: where only more than a broken one would, silence says nothing.
        """
        if p_value < self.p_broken and effect >= self.broken:
            return "broken"
        if p_value < self.p_doubtful and effect >= self.doubtful:
            return "doubtful"
        return "fine" if smallest <= self.broken else "cannot tell"


def in_words(p_value: float) -> str:
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"
