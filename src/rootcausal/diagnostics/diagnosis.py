"""What a check says, in numbers and in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from html import escape
from math import isfinite
from typing import Any, Literal, get_args

from ..screening.leakage import Limit
from ..wording import filled, listed, one_line

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


# What a check asks and says: one declaration for each, and one function that judges and fills its texts.
#
# The modules of checks compute figures. From which on they count, and what is said then, is declared beside
# them, and the guide's tables are made of the declarations.

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


# What was found travels with the model: warnings of the fit, doubts about its table, and its checks.
#
# All of it is plain values, which a model keeps as ``provenance_["findings"]`` and writes to its file. Of
# the patients concerned it holds no names.

# A file may not make a page or a screen out of a text without end.
LONGEST_TEXT, MOST_TEXTS = 20_000, 1_000
# Letters of a limit in a line.
IN_SHORT = 200
#: What is asked of the patients before one and not of those of the fit.
OF_THESE_PATIENTS = ("in_range",)


@dataclass(frozen=True)
class Found:
    """What was found while a model was made.

    Attributes
    ----------
    fit : warnings of the fit and of its resamples.
    table : doubts about the columns of the table, as ``rootcausal look`` has them.
    checks : of the model's assumptions, on the patients that it was learned from; none where nobody checked.
    not_made : which checks could not be made of them, and why.
    """

    fit: tuple[str, ...] = ()
    table: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    not_made: str = ""

    @classmethod
    def of(cls, provenance: Mapping[str, Any]) -> Found:
        """What a model remembers; nothing where it is older than that. ValueError where it cannot be."""
        plain = provenance.get("findings")
        if plain is None:
            return cls()
        if type(plain) is not dict or set(plain) != {"verdict", "fit", "table", "checks", "not_made"}:
            raise ValueError("its findings are none")
        checks = tuple(_check(check) for check in _some(plain["checks"]))
        found = cls(_texts(plain["fit"]), _texts(plain["table"]), checks, _text(plain["not_made"]))
        if plain["verdict"] != found.verdict:
            raise ValueError("its verdict is not that of its checks")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain values, no longer than what is read of a file."""
        return {
            "verdict": self.verdict,
            "fit": _cut(self.fit),
            "table": _cut(self.table),
            "checks": [_cut_check(check).to_dict() for check in self.checks],
            "not_made": self.not_made[:LONGEST_TEXT],
        }

    def with_checks(self, diagnosis: Diagnosis) -> Found:
        """The same with the checks of a diagnosis, by statements that call no patient by name."""
        checks = tuple(
            replace(check, statement=check.unnamed or check.statement, unnamed="")
            for check in diagnosis.checks
        )
        return replace(self, checks=checks, not_made=diagnosis.not_made)

    @property
    def diagnosis(self) -> Diagnosis:
        """The checks, and what they come to."""
        return Diagnosis(self.checks, {}, self.not_made, of_outcome=bool(self.checks))

    @property
    def verdict(self) -> str:
        return self.diagnosis.verdict

    def beside(self, diagnosis: Diagnosis) -> Diagnosis:
        """What was found of some patients, and beside it what those of the fit showed.

        Of a check that was made of both, the worse of the two is told.
        """
        made = {check.name: check for check in diagnosis.checks}
        for check in self.checks:
            here = made.get(check.name)
            if here is None and check.name not in OF_THESE_PATIENTS:
                made[check.name] = _of_fit(check)
            elif here is not None and check.name not in OF_THESE_PATIENTS:
                made[check.name] = max(here, _of_fit(check), key=lambda one: VERDICTS.index(one.verdict))
        if diagnosis.of_outcome or not self.checks:
            return replace(diagnosis, checks=tuple(made.values()))
        return replace(diagnosis, checks=tuple(made.values()), not_made=self.not_made, of_outcome=True)

    def in_short(self, how_to_check: str) -> str:
        """What it comes to in one line; ``how_to_check`` says how, where nobody has."""
        verdict, limits = self.verdict, self.diagnosis.limits
        if verdict == "not checked":
            return f"not checked: {how_to_check}"
        if not limits:
            return str(verdict)
        more = f" (and {len(limits) - 1} more)" if len(limits) > 1 else ""
        return f"{verdict}: {one_line(limits[0].limit, IN_SHORT)}{more}"


def _of_fit(check: Check) -> Check:
    return replace(check, statement=f"In the cohort that the model learned from: {check.statement}")


def _cut(texts: Sequence[Any]) -> list[str]:
    return [str(text)[:LONGEST_TEXT] for text in texts[:MOST_TEXTS]]


def _cut_check(check: Check) -> Check:
    texts = {name: getattr(check, name)[:LONGEST_TEXT] for name in ("statement", "advice", "limit")}
    return replace(check, **texts, variables=tuple(_cut(check.variables)))


def _check(plain: Any) -> Check:
    """A check of a file; ValueError where it cannot be one that was written."""
    names = {field.name for field in fields(Check)} - {"unnamed"}
    if type(plain) is not dict or set(plain) != names | {"reading"}:
        raise ValueError("a finding is none")
    texts = {name: _text(plain[name]) for name in ("name", "question", "statement", "advice", "limit")}
    if plain["verdict"] not in VERDICTS or plain["touches"] not in get_args(Touched):
        raise ValueError("a finding has no verdict")
    number, p_value, smallest = (_number(plain[name]) for name in ("number", "p_value", "smallest"))
    check = Check(
        **texts,
        verdict=plain["verdict"],
        number=float("nan") if number is None else number,
        p_value=p_value,
        variables=_texts(plain["variables"]),
        touches=plain["touches"],
        smallest=smallest,
    )
    if plain["reading"] != check.reading:
        raise ValueError("a finding is read as another one")
    return check


def _number(value: Any) -> float | None:
    if value is not None and (type(value) not in (int, float) or not math.isfinite(value)):
        raise ValueError("a figure of a finding is none")
    return None if value is None else float(value)


def _text(value: Any) -> str:
    if type(value) is not str or len(value) > LONGEST_TEXT:
        raise ValueError("a text of its findings is none")
    return value


def _some(values: Any) -> Sequence[Any]:
    if type(values) is not list or len(values) > MOST_TEXTS:
        raise ValueError("its findings are no list")
    return values


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(_text(value) for value in _some(values))
