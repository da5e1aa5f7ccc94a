"""What a check says, in numbers and in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from ..wording import listed, one_line

Verdict = Literal["fine", "doubtful", "broken"]
VERDICTS: tuple[Verdict, ...] = ("fine", "doubtful", "broken")


@dataclass(frozen=True)
class Check:
    """One question about a cohort.

    Attributes
    ----------
    name : short and stable, for programs.
    question : what is asked.
    verdict : "fine", "doubtful" or "broken".
    number : the size of the effect that the verdict rests on; NaN where there was nothing to look at.
    p_value : of the test behind it, corrected for all the comparisons made; None where there is no test.
    statement : the finding in words.
    advice : what to do about it; empty when all is fine.
    variables : the columns concerned, the worst first.
    """

    name: str
    question: str
    verdict: Verdict
    number: float
    p_value: float | None
    statement: str
    advice: str
    variables: tuple[str, ...] = ()


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

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: NaN becomes None."""
        return {
            "verdict": self.verdict,
            "checks": [
                {
                    **asdict(c),
                    "number": c.number if c.number == c.number else None,
                    "variables": [*c.variables],
                }
                for c in self.checks
            ],
            "not_made": self.not_made,
            "provenance": self.provenance,
        }

    def to_text(self) -> str:
        """Lines for a terminal."""
        lines: list[str] = []
        for check in self.checks:
            lines.append(f"{check.verdict.upper():<9} {check.question}")
            lines.append(f"          {check.statement}")
            if check.variables:
                lines.append(f"          concerns: {listed([one_line(v, 40) for v in check.variables], 6)}")
            if check.advice:
                lines.append(f"          what to do: {check.advice}")
        if self.not_made:
            lines.append(self.not_made)
        return "\n".join(lines)


@dataclass(frozen=True)
class Scale:
    """From which effect on, and below which p-value, a finding is doubtful or broken."""

    doubtful: float
    broken: float
    p_doubtful: float = 0.05
    p_broken: float = 0.001

    def judge(self, p_value: float, effect: float) -> Verdict:
        """Both must agree.

        Estimated errors are slightly dependent even when all is well, so in a large cohort a p-value alone
        would cry wolf; and an effect that is large but uncertain proves nothing.
        """
        if p_value < self.p_broken and effect >= self.broken:
            return "broken"
        return "doubtful" if p_value < self.p_doubtful and effect >= self.doubtful else "fine"


def in_words(p_value: float) -> str:
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"
