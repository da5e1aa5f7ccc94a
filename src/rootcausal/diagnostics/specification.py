"""What a check asks and says: one declaration for each, and one function that judges and fills its texts.

The modules of checks compute figures. From which on they count, and what is said then, is declared beside
them, and the guide's tables are made of the declarations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from ..screening.leakage import Limit
from ..wording import filled
from .diagnosis import Check, Touched, Verdict

NEVER = "never"


@dataclass(frozen=True)
class Scale(Limit):
    """From which effect on, and below which p-value, a finding is doubtful or broken."""

    p_doubtful: float = 0.05
    p_broken: float = 0.001
    why: str = ""

    def judge(self, p_value: float, effect: float, smallest: float = 0.0) -> Verdict:
        """Both must agree.

        Estimated errors are slightly dependent even when all is well, so in a large cohort a p-value alone
        would cry wolf; and an effect that is large but uncertain proves nothing. ``smallest`` is the effect
        that would have been seen: where only more than a broken one would, silence says nothing.
        """
        found = self.grade(effect, p_value)
        return found or ("fine" if smallest <= self.broken else "cannot tell")

    def by_size(self, effect: float) -> Verdict:
        """Where there is no test: the effect alone."""
        return self.judge(-1.0, effect)


@dataclass(frozen=True)
class Text:
    """What is said in one case: the finding, what not to read or to bear in mind, and what to do.

    Braces hold facts, as :func:`filled` reads them.
    """

    statement: str = ""
    limit: str = ""
    advice: str = ""


@dataclass(frozen=True)
class CheckSpec:
    """A check, but for its sums.

    Attributes
    ----------
    name : short and stable, for programs.
    question : what is asked, the field's term first.
    number : what its number is, in words.
    texts : by verdict, or by verdict and case, as in ``"doubtful, left out"``. What a case does not say, its
        verdict says; and what a broken one does not, the doubtful one.
    scale : from which number on it speaks.
    touches : which numbers a limit is about.
    touches_unseen : the same of "cannot tell" and "not checked", if that is another.
    doubtful_from, broken_from : in words, where the scale is not all.
    percent : whether the table gives the number in percent.
    """

    name: str
    question: str
    number: str
    texts: Mapping[str, Text]
    scale: Scale = Scale(float("inf"), float("inf"))
    touches: Touched = ""
    touches_unseen: Touched | None = None
    doubtful_from: str = ""
    broken_from: str = ""
    percent: bool = False

    def check(
        self,
        verdict: Verdict,
        number: float = float("nan"),
        p_value: float | None = None,
        *,
        case: str = "",
        names: Sequence[str] = (),
        smallest: float | None = None,
        unnamed: str = "",
        **facts: Any,
    ) -> Check:
        """What is said of these figures; ``names`` are the columns concerned, the worst first."""
        facts |= {"number": number, "p": p_value, "names": tuple(names), "smallest": smallest}
        statement, limit, advice = (
            filled(self._said(verdict, case, part), **facts) for part in ("statement", "limit", "advice")
        )
        unseen = verdict in ("cannot tell", "not checked") and self.touches_unseen is not None
        touches = self.touches_unseen if unseen else self.touches
        return Check(
            self.name,
            filled(self.question, **facts),
            verdict,
            number,
            p_value,
            statement,
            advice,
            tuple(names),
            limit,
            touches or "" if limit else "",
            smallest,
            unnamed,
        )

    def _said(self, verdict: Verdict, case: str, part: str) -> str:
        verdicts = (verdict, "doubtful") if verdict == "broken" else (verdict,)
        keys = [*(f"{one}, {case}" for one in verdicts), *verdicts]
        return next((said for key in keys if (said := getattr(self.texts.get(key), part, ""))), "")

    def row(self, **facts: Any) -> tuple[str, str, str, str, str]:
        """Of the guide's table: name, question, number, doubtful from, broken from."""
        question, number = (filled(said, **facts) for said in (self.question, self.number))
        scale = self.scale
        doubtful = self.doubtful_from or from_size(scale.doubtful, scale.p_doubtful, self.percent)
        broken = self.broken_from or from_size(scale.broken, scale.p_broken, self.percent)
        return self.name, question, number, doubtful, broken


def from_size(size: float, p_value: float, percent: bool = False) -> str:
    """A limit in the table."""
    if not isfinite(size):
        return NEVER
    return f"{f'{100 * size:g} %' if percent else f'{size:g}'} (p < {p_value:g})"
