"""What was found travels with the model: warnings of the fit, doubts about its table, and its checks.

All of it is plain values, which a model keeps as ``provenance_["findings"]`` and writes to its file. Of the
patients concerned it holds no names.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, get_args

from ..wording import one_line
from .diagnosis import VERDICTS, Check, Diagnosis, Touched

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
