"""The first round: what the columns of several sites are, and what their outcome is, once for all.

Each site says what it holds; what differs between them is one error that lists it by site. Kinds are then
inferred by the rules of one table, from levels that are counted over all sites. A column that a site lacks is
missing there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import InputError
from ..files.cells import Written, is_number
from ..inputs.binary import Diagnosis
from ..inputs.continuous import Amount, Numbers
from ..inputs.encoding import Encoding
from ..inputs.infer_types import TEXTS_TO_SEE, Seen, by_place, put_on_log_scale, types_of
from ..inputs.kinds import MOST_LEVELS, MOST_ORDINAL_NUMBERS, ColumnHints
from ..inputs.labels import text_of
from ..inputs.naming import Naming
from ..inputs.ordinal import Stages
from ..inputs.outcomes import Column, CountedLabels, KnownThere, Target
from ..inputs.rules import IN_PYTHON, Findings
from ..inputs.survival import Followed, FollowUp
from ..method.table import F64
from ..outcomes.continuous import FEWEST_VALUES, Continuous
from ..outcomes.follow_up import Clock
from ..outcomes.ordinal import Ordinal
from ..outcomes.survival import Survival
from ..wording import listed, quoted
from .asking import Sites
from .disclosure import LEAST_ROWS
from .holdings import FOLLOW_UP, LABELS, NUMBER, Agreed
from .messages import Step

# A logarithm of any number that a table holds is less, in size, than this power of two.
SIZE_OF_LOGARITHMS = 10
PLAIN_YES = ("1", "true", "yes", "y")
KINDS_OF_TARGETS: Mapping[type[Target], str] = {
    Diagnosis: LABELS,
    Stages: LABELS,
    Amount: NUMBER,
    FollowUp: FOLLOW_UP,
}


@dataclass(frozen=True, eq=False)
class Descriptions:
    """What each site says of its columns and of its outcome."""

    by_site: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, said: Mapping[str, Step]) -> Descriptions:
        """What came, if it is what was asked for."""
        for site, step in said.items():
            if not _is_description(step.fields):
                raise InputError(
                    f"site {quoted(site)} does not describe what it holds in a way that is known"
                )
        return cls({site: step.fields for site, step in said.items()})

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Of all sites, in the order of the first, and what others have besides after it."""
        return tuple(dict.fromkeys(one["name"] for said in self.by_site.values() for one in said["columns"]))

    def of_column(self, name: str) -> dict[str, Mapping[str, Any]]:
        """What each site that has it says of a column."""
        return {
            site: one for site, said in self.by_site.items() for one in said["columns"] if one["name"] == name
        }

    @property
    def masked(self) -> bool:
        return bool(next(iter(self.by_site.values()))["masked"])

    def refuse_what_differs(self) -> None:
        """Refuse, all at once and by site, columns that are not the same thing everywhere."""
        findings = Findings()
        for name in self.columns:
            said = self.of_column(name)
            for what, words in (
                ("holds", "holds"),
                ("unit", "is in"),
                ("label", "is called"),
                ("ordered", "has"),
            ):
                with findings.noting():
                    _refuse_different(
                        quoted(name), words, {site: _told(one, what) for site, one in said.items()}
                    )
        with findings.noting():
            masked = {
                site: "masks its sums" if one["masked"] else "does not" for site, one in self.by_site.items()
            }
            _refuse_different("the key", "is used", masked)
        with findings.noting():
            units = {site: str(said["outcome"].get("unit", "")) for site, said in self.by_site.items()}
            _refuse_different("the outcome", "is in", units)
        findings.refuse()

    def namings(self) -> dict[str, Naming]:
        """Labels and units of the columns, by whoever gave them."""
        found = {}
        for name in self.columns:
            said = self.of_column(name).values()
            label, unit = (next((one[what] for one in said if one[what]), "") for what in ("label", "unit"))
            digits = next((one["digits"] for one in said if one["digits"] is not None), None)
            if label or unit or digits is not None:
                found[name] = Naming(label, unit, digits)
        return found

    def levels(self) -> dict[str, list[Any]]:
        """Columns that may have levels, and those that somebody told of."""
        found = {}
        for name in self.columns:
            said = list(self.of_column(name).values())
            told = [one["levels"] for one in said if one["levels"] is not None]
            if told and all(one["few"] for one in said):
                of_texts = said[0]["holds"] == "texts"
                levels = list(dict.fromkeys(level for some in told for level in some))
                found[name] = levels if of_texts else sorted(levels)
        return found

    def labels(self) -> list[Any]:
        """Of the outcome, those that somebody has."""
        said = [one["outcome"].get("labels", []) for one in self.by_site.values()]
        return sorted({label for labels in said for label in labels}, key=repr)

    def title(self, role: str) -> str:
        """What the column of the outcome is called, where all sites call it the same."""
        called = Counter(one["outcome"]["called"].get(role, "") for one in self.by_site.values())
        return next(iter(called)) if len(called) == 1 else ""

    def reading(self, said: Mapping[str, Any]) -> dict[str, str]:
        """What a model remembers of the columns of the outcome, for pages and tables to come."""
        called = self.title("event" if said["kind"] == "survival" else "y")
        # 1, true and yes add nothing to a name such as died; 2 says which label of a status it is.
        if called and said["kind"] == "survival" and text_of(said["positive"]).casefold() not in PLAIN_YES:
            called = f"{called} = {text_of(said['positive'])}"
        units = [str(one["outcome"].get("unit", "")) for one in self.by_site.values()]
        found = {"called": called, "unit": next((unit for unit in units if unit), "")}
        return {name: text for name, text in found.items() if text}


def _is_description(fields: Mapping[str, Any]) -> bool:
    columns, outcome = fields.get("columns"), fields.get("outcome")
    if (
        not isinstance(columns, list)
        or not isinstance(outcome, dict)
        or not isinstance(fields.get("masked"), bool)
    ):
        return False
    texts, truths = ("name", "holds", "label", "unit"), ("few", "ordered")
    names = [one.get("name") for one in columns if isinstance(one, dict)]
    return (
        len(names) == len(columns) == len(set(map(repr, names)))
        and all(
            all(isinstance(one.get(name), str) for name in texts)
            and all(isinstance(one.get(name), bool) for name in truths)
            and one["holds"] in ("numbers", "texts", "truth")
            and _are_levels(one.get("levels"), one["holds"])
            and isinstance(one.get("size"), int)
            and abs(one["size"]) < 1 << 10
            and (one.get("digits") is None or isinstance(one["digits"], int))
            for one in columns
        )
        and isinstance(outcome.get("called"), dict)
        and isinstance(outcome.get("labels", []), list)
        and all(isinstance(label, str | int | float | bool) for label in outcome.get("labels", []))
        and isinstance(outcome.get("size", 0), int)
    )


def _are_levels(levels: Any, holds: str) -> bool:
    kind = str if holds == "texts" else int | float
    return levels is None or (
        isinstance(levels, list)
        and len(levels) <= MOST_LEVELS
        and all(isinstance(one, kind) for one in levels)
    )


def _told(one: Mapping[str, Any], what: str) -> str:
    if what == "ordered":
        return " < ".join(map(str, one["levels"])) if one["ordered"] and one["levels"] else ""
    if what == "holds":
        return "text" if one["holds"] == "texts" else "numbers"
    return str(one[what])


def _refuse_different(name: str, words: str, said: Mapping[str, str]) -> None:
    """Refuse what sites say in different ways; who says nothing agrees."""
    by_answer: dict[str, list[str]] = {}
    for site, answer in said.items():
        if answer:
            by_answer.setdefault(answer, []).append(quoted(site))
    if len(by_answer) > 1:
        each = [f"{answer} at {listed(sites, 5)}" for answer, sites in by_answer.items()]
        raise InputError(f"{name} {words} {listed(each, 8)}: make it the same at all sites, or leave it out")


def kind_of(target: Target) -> str:
    """What sites are asked about this outcome."""
    for kind, asked in KINDS_OF_TARGETS.items():
        if type(target) is kind:
            return asked
    raise InputError(
        "sites offer sums for a diagnosis, stages, a number and the time to an event; for another outcome, "
        "or matched sets, fit in one place"
    )


def encoding_of(
    described: Descriptions, counts: Mapping[str, tuple[list[Any], F64]], hints: ColumnHints
) -> Encoding:
    """What the columns are, by levels counted over all sites, and how many rows had none of them."""
    findings, names = Findings(), list(described.columns)
    said = by_place(hints.kinds, names, findings)
    seen: dict[int, Seen] = {}
    for place, name in enumerate(names):
        of_sites = list(described.of_column(name).values())
        texts = of_sites[0]["holds"] == "texts"
        if name in counts:
            seen[place] = _seen(of_sites, *counts[name])
        elif texts or place in said:
            seen[place] = Seen(None, texts)
    encoding, _ = types_of(seen, names, said, IN_PYTHON, findings)
    encoding = put_on_log_scale(encoding, hints.logs, IN_PYTHON, findings)
    findings.refuse()
    return encoding


def _seen(of_sites: Sequence[Mapping[str, Any]], levels: list[Any], counted: F64) -> Seen:
    """As one table would have been seen; counts end with rows that hold none of the levels."""
    counts = {level: int(n) for level, n in zip(levels, counted, strict=False) if n}
    known: dict[str | float, int] | None = counts
    truth = all(one["holds"] == "truth" for one in of_sites)
    if of_sites[0]["holds"] != "texts":
        # More than levels of numbers can be, as soon as somebody holds another one.
        if counted[-1] or len(counts) > MOST_ORDINAL_NUMBERS:
            known = None
        return Seen(known, said=(False, True) if truth else None)
    texts = tuple(map(str, counts))
    orders = {tuple(one["levels"]) for one in of_sites if one["ordered"]}
    order = next(iter(orders)) if len(orders) == 1 else None
    return Seen(
        known if len(texts) <= MOST_LEVELS and not counted[-1] else None,
        True,
        Written.of(texts),
        next((text for text in texts if not is_number(text)), None),
        sum(map(is_number, texts[:TEXTS_TO_SEE])),
        order,
    )


def units_of(described: Descriptions, encoding: Encoding) -> F64:
    """(q,) powers of two that bound columns, about any mean of theirs."""
    sizes = []
    for place in encoding.layout.variable.tolist():
        variable = encoding.variables[place]
        if variable.log:
            size = SIZE_OF_LOGARITHMS
        elif variable.levels:
            size = int(np.frexp(np.abs(variable.values).max(initial=1.0))[1])
        else:
            size = max(one["size"] for one in described.of_column(variable.name).values())
        sizes.append(size + 1)
    return np.ldexp(1.0, np.array(sizes))


def known_at(sites: Sites, described: Descriptions, target: Target, labels: Mapping[Any, int]) -> KnownThere:
    """What is known of the outcome, by the rules for rows that are elsewhere."""
    columns = {
        role: Column(role, quoted(described.title(role) or role), described.title(role))
        for role in target.ROLES
    }

    def ask(_: Any, __: Any) -> Any:
        if isinstance(target, FollowUp):
            return _followed(sites, target, labels)
        if isinstance(target, Amount):
            return _numbers(sites)
        return CountedLabels(dict(labels), 0, getattr(target, "positive", None))

    return target.known_there(columns, ask)


def _numbers(sites: Sites) -> Numbers:
    """Mean and squares, in two looks: about zero, and about a rough mean."""
    step = Step("outcome sums", {}, {"shift": np.array(0.0)})
    (first,) = sites.ask(step)
    rough = float(first["sums"][1] / first["sums"][0])
    (about,) = sites.ask(Step("outcome sums", {}, {"shift": np.array(rough)}))
    n, total, square = about["sums"].tolist()
    mean, squares = rough + total / n, max(square - total * total / n, 0.0)
    # Not some of its values, which are those of patients: where it varies, points around the mean.
    spread = float(np.sqrt(squares / max(n - 1.0, 1.0)))
    points = {mean - spread, mean, mean + spread} if spread > 0.0 else {mean}
    return Numbers(round(n), 0, mean, squares, tuple(sorted(points))[:FEWEST_VALUES])


def _followed(sites: Sites, target: FollowUp, labels: Mapping[Any, int]) -> Followed:
    wanted = target.positive
    by = [] if wanted is None else [wanted]
    (said,) = sites.ask(Step("follow-up", {"by": by}))
    leaving: dict[Any, Clock] = {}
    for site, step in said.items():
        for at, key in enumerate(step.fields.get("labels", [])):
            try:
                times, count = step.arrays[f"times {at}"], step.arrays[f"leaving {at}"]
                fine = times.shape == count.shape == (times.size,) and (np.diff(times) > 0).all()
            except KeyError:
                fine = False
            if not fine or not np.isfinite(times).all() or (times < 0).any() or (count < 1).any():
                raise InputError(f"site {quoted(site)} tells of follow-up in a way that is not known")
            clock = Clock(times, np.zeros(times.size), count)
            leaving[key] = leaving[key] + clock if key in leaving else clock
    every = np.concatenate([clock.times for clock in leaving.values()])
    zero = sum(float(clock.leaving[clock.times == 0.0].sum()) for clock in leaving.values())
    rows = int(sum(clock.leaving.sum() for clock in leaving.values()))
    leaving = {key: clock for key, clock in leaving.items() if clock.times.size}
    shortest = float(every[every > 0.0].min(initial=np.inf))
    counted = CountedLabels(dict(labels), 0, wanted)
    return Followed(rows, 0, 0, int(zero), shortest, counted, leaving, exact=True)


def agreed_outcome(known: KnownThere) -> dict[str, Any]:
    """What sites have to know of the outcome, as it travels."""
    outcome: Any = known.outcome
    rows: Any = known.rows
    if isinstance(outcome, Survival):
        read = rows.read
        return {
            "kind": "survival",
            "positive": read.positive,
            "zero": float(read.zero),
            "horizon": float(outcome.horizon),
        }
    if isinstance(outcome, Continuous):
        return {"kind": "continuous", "mean": float(outcome.mean), "sd": float(outcome.sd)}
    labels = known.classes.tolist()
    if isinstance(outcome, Ordinal):
        return {"kind": "ordinal", "labels": labels, "counts": outcome.counts.tolist()}
    return {"kind": "binary", "labels": labels, "share": float(outcome.case_rate)}


def refuse_rare_levels(
    agreed: Agreed, counts: Mapping[str, tuple[list[Any], F64]], labels: Mapping[Any, int]
) -> None:
    """Refuse levels and labels that few patients of all sites together have: totals would tell of these."""
    rare = [f"{label} of the outcome ({n})" for label, n in labels.items() if n < LEAST_ROWS]
    for variable in agreed.encoding.variables:
        if variable.levels and variable.name in counts:
            levels, counted = counts[variable.name]
            rare += [
                f"{quoted(variable.name)} = {level} ({int(n)})"
                for level, n in zip(levels, counted.tolist(), strict=False)
                if 0 < n < LEAST_ROWS
            ]
    if rare:
        raise InputError(
            f"levels that fewer than {LEAST_ROWS} patients of all sites together have: {listed(rare, 8)}; "
            "sums would tell of them. Group these levels, or leave the column out"
        )
