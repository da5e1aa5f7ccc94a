"""Knowledge: what users know of the causal order before any data are seen, by the names of columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from ..core.precedence import COVARIATE, FIRST, Precedence
from ..errors import InputError
from ..files.atomic_write import atomic_write
from ..files.knowledge_file import fields_of_json, is_json, naming, tetrad_of_text, text_of_file
from ..wording import listed, one_line, quoted
from .contradictions import SAID_AT_MOST, Rule, Saying, circles, stages_broken, without_circles
from .known_fields import FIELDS, Names, Pairs
from .prior_matrix import paths_of
from .roles import similar
from .rules import Findings

# Names for which a similar one is looked for, and how long they may be: that takes its time.
COMPARED_AT_MOST, LONGEST_COMPARED = 20, 200


@dataclass(frozen=True, slots=True, init=False)
class Knowledge:
    """What is known of the causal order: every rule is kept to, whatever the data say.

    Columns are given by name (of an array: "x0" or 0). Rules that contradict each other are refused, all in
    one error. ``causes`` and ``not_causes`` are rules for the order, not for single arrows: they say what
    comes first, and not that there is an effect.

    Parameters
    ----------
    first : columns that nothing in the table causes, such as age and sex, and that do not cause each other.
        They come before all tiers, and no test drops them.
    tiers : lists of columns; all of one tier come before all of the next. Columns that are named in none of
        ``covariates``, ``first`` and ``tiers`` belong to the last tier, which may be empty for that.
    causes : pairs (a, b): a comes before b.
    not_causes : pairs (a, b): a is no cause of b, directly or by others, so that b comes before a.
    covariates : columns that are adjusted for, before all others, and never offered as root causes.

    Examples
    --------
    >>> known = Knowledge(first=["age", "sex"], tiers=[["smoking", "bmi"], ["bili", "alb"]])
    >>> known.in_words()
    'age, sex first; smoking, bmi < bili, alb'
    """

    first: Names
    tiers: tuple[Names, ...]
    causes: Pairs
    not_causes: Pairs
    covariates: Names

    def __init__(
        self,
        *,
        first: Iterable[str | int] = (),
        tiers: Iterable[Iterable[str | int]] = (),
        causes: Iterable[Iterable[str | int]] = (),
        not_causes: Iterable[Iterable[str | int]] = (),
        covariates: Iterable[str | int] = (),
    ) -> None:
        findings = Findings()
        for name, given in zip(FIELDS, (first, tiers, causes, not_causes, covariates), strict=True):
            with findings.noting():
                object.__setattr__(self, name, FIELDS[name](name, given))
        findings.refuse()
        self._refuse_contradictions(findings)

    # --- what it says -------------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return any(getattr(self, name) for name in FIELDS)

    @property
    def columns(self) -> list[str]:
        """All columns that are named, each once."""
        named = [*self.covariates, *self.first, *(name for tier in self.tiers for name in tier)]
        named += [name for pair in (*self.causes, *self.not_causes) for name in pair]
        return list(dict.fromkeys(named))

    def precedence(self, names: Sequence[str], elsewhere: Mapping[str, str] | None = None) -> Precedence:
        """The rules among the columns of a table.

        Parameters
        ----------
        names : (p,) the variables.
        elsewhere : what other columns are, by name, such as "the target": who names one of them is told.
        """
        places = {name: place for place, name in enumerate(names)}
        self._refuse_unknown(places, elsewhere or {})
        stages, others = self._stages()
        stage = np.full(len(names), others, dtype=np.intp)
        for name, its_stage in stages.items():
            stage[places[name]] = its_stage
        if (stage == COVARIATE).all():
            raise InputError("all columns are covariates, and none is left to be a root cause")
        pairs = [(places[earlier], places[later]) for earlier, later, _ in self._rules()]
        try:
            return Precedence.of(stage, pairs)
        except ValueError as error:  # no contradiction is left by now
            raise InputError(
                f"causes and not_causes say too much ({error}): say it by tiers instead"
            ) from None

    def in_words(self) -> str:
        """All of it in one short line that is safe on a terminal."""
        said = [f"{_listed(self.first)} first"] if self.first else []
        if self.tiers:
            said.append(" < ".join(_listed(tier) if tier else "all others" for tier in self.tiers))
        for pairs, verb in ((self.causes, "before"), (self.not_causes, "no cause of")):
            if pairs:
                said.append(listed([f"{_short(a)} {verb} {_short(b)}" for a, b in pairs]))
        if self.covariates:
            said.append(f"covariates {_listed(self.covariates)}")
        return "; ".join(said) or "nothing"

    # --- other forms --------------------------------------------------------------------------------------

    @classmethod
    def of(cls, given: Any) -> Knowledge:
        """The knowledge itself, or that of a dict of its fields."""
        if isinstance(given, cls):
            return given
        if not isinstance(given, Mapping):
            raise InputError(
                "knowledge must be a rootcausal.Knowledge, or a dict of its fields as in "
                f"{{'first': ['age', 'sex']}}, not {type(given).__name__}"
            )
        strange = [quoted(key) for key in given if key not in FIELDS]
        if strange:
            raise InputError(f"unknown key {listed(strange)} of knowledge: choose from {', '.join(FIELDS)}")
        return cls(**given)

    @classmethod
    def from_lingam(cls, matrix: Any, names: Sequence[str | int]) -> Knowledge:
        """The prior knowledge that lingam takes, as its ``make_prior_knowledge`` makes it.

        Two columns of which neither causes the other cannot both come first. Such zeros, which go round in a
        circle, are not used, and a warning names them; exogenous variables are an example, and are better
        given as ``first``.

        Parameters
        ----------
        matrix : (p, p), ``[effect, cause]``: 1 where a path leads from cause to effect, 0 where none does, -1
            where that is not known. The diagonal does not count.
        names : (p,) of the columns.

        Examples
        --------
        >>> Knowledge.from_lingam([[-1, -1], [1, -1]], ["smoking", "bili"]).causes
        (('smoking', 'bili'),)
        >>> Knowledge.from_lingam([[-1, 0], [-1, -1]], ["smoking", "bili"]).not_causes
        (('bili', 'smoking'),)
        """
        paths, no_paths = paths_of(matrix, names)
        return cls(causes=paths, not_causes=without_circles(no_paths))

    @classmethod
    def from_tetrad(cls, file: str | PathLike[str]) -> Knowledge:
        """The knowledge file of Tetrad: its tiers, and what it forbids and requires.

        Two things differ. Tetrad leaves columns in no tier free, and here they belong to the last one. Tetrad
        forbids a direct arrow, and here an effect by whatever way, since what is forbidden becomes an order:
        arrows forbidden in a circle, as both ways are, are not used, with a warning. Arrows forbidden within
        a tier (``1*``), or from an earlier tier to a later one, are refused by line.
        """
        findings = Findings()
        with naming(file):
            found = tetrad_of_text(text_of_file(file), findings.noting)
            tier_of = {name: tier for tier, names in found.tiers.items() for name in names}
            for (cause, effect), number in found.forbidden.items():
                with findings.noting():
                    if tier_of.get(cause, np.inf) < tier_of.get(effect, -np.inf):
                        raise InputError(
                            f"line {number}: {quoted(cause)} is in an earlier tier than {quoted(effect)}, "
                            "and no causal order can say that it has no effect on it: remove the line"
                        )
            findings.refuse()
            return cls(
                tiers=[found.tiers[number] for number in sorted(found.tiers) if found.tiers[number]],
                causes=list(found.required),
                not_causes=without_circles(list(found.forbidden)),
            )

    @classmethod
    def from_json(cls, source: str | PathLike[str]) -> Knowledge:
        """What :meth:`to_json` wrote: the path of a file, or the text itself."""
        if isinstance(source, str) and is_json(source):
            return cls(**fields_of_json(source))
        with naming(source):
            return cls(**fields_of_json(text_of_file(source)))

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """As JSON; with a path also to a file, which is written whole or not at all."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False)
        if any("\ud800" <= character <= "\udfff" for character in text):
            text = json.dumps(self.to_dict(), indent=1)  # no text file can hold half a character
        if path is not None:
            with atomic_write(path) as handle:
                handle.write(text.encode("utf-8"))
        return text

    def to_dict(self) -> dict[str, list[Any]]:
        """As lists by field: what JSON can hold, and ``RCI(knowledge=)`` takes."""
        return {
            name: [list(one) if isinstance(one, tuple) else one for one in getattr(self, name)]
            for name in FIELDS
        }

    # --- contradictions -----------------------------------------------------------------------------------

    def _rules(self) -> list[Rule]:
        """The pairs as (earlier, later, by which words)."""
        rules = [(a, b, "causes") for a, b in self.causes]
        return rules + [(b, a, "not_causes") for a, b in self.not_causes]

    def _stages(self) -> tuple[dict[str, int], int]:
        """The stage of each column that has a place, and that of all others."""
        stages = {name: FIRST + place for place, tier in enumerate(self.tiers, start=1) for name in tier}
        stages |= dict.fromkeys(self.first, FIRST) | dict.fromkeys(self.covariates, COVARIATE)
        return stages, FIRST + max(1, len(self.tiers))

    def _refuse_contradictions(self, findings: Findings) -> None:
        said = Saying(findings)
        self._note_places(said)
        stages, others = self._stages()
        where = {name: f"in tier {stage - FIRST}" for name, stage in stages.items()}
        where |= dict.fromkeys(self.first, "in first") | dict.fromkeys(self.covariates, "a covariate")
        unlisted = "in no tier, so in the last one" if self.tiers else "not named there, so after them"
        rules, unplaced = list[Rule](), set[str]()
        for earlier, later, words in self._rules():
            for name in (earlier, later):
                if name not in stages:
                    stages[name], where[name] = others, unlisted
                    unplaced.add(name)
            if earlier == later:
                said.note(f"{words} names {quoted(earlier)} together with itself: leave that pair out")
            elif stages[earlier] == stages[later] == COVARIATE:
                both = f"{quoted(earlier)} and {quoted(later)}"
                said.note(f"{words} names {both}, both covariates, which have no order: leave that pair out")
            else:
                rules.append((earlier, later, words))
        for sentence in stages_broken(rules, stages, where, unplaced if self.tiers else ()):
            said.note(sentence)
        within = [rule for rule in rules if stages[rule[0]] == stages[rule[1]]]
        for sentence in circles(within):
            said.note(sentence)
        said.refuse()

    def _note_places(self, said: Saying) -> None:
        """Note columns in two places, and tiers that say nothing."""
        places: dict[str, list[str]] = {}
        tiers = ((f"tier {number}", tier) for number, tier in enumerate(self.tiers, start=1))
        for place, names in (("covariates", self.covariates), ("first", self.first), *tiers):
            for name in names:
                places.setdefault(name, []).append(place)
        for name, found in places.items():
            if len(found) > 1:
                said.note(f"{quoted(name)} is in {' and in '.join(found)}: keep one of them")
        for number, tier in enumerate(self.tiers[:-1], start=1):
            if not tier:
                said.note(f"tier {number} is empty: leave it out (only the last may be, for all others)")
        if len(self.tiers) == 1:
            said.note(
                "there is one tier alone, which says nothing, since columns in no tier belong to the last: "
                "add the tier that comes after it (empty, for all others), or name its columns in first"
            )

    def _refuse_unknown(self, places: Mapping[str, int], elsewhere: Mapping[str, str]) -> None:
        unknown = [name for name in self.columns if name not in places]
        if not unknown:
            return
        found = []
        for number, name in enumerate(unknown):
            hint = ""
            if name in elsewhere:
                hint = f" (it is {elsewhere[name]})"
            elif number < COMPARED_AT_MOST and len(name) <= LONGEST_COMPARED:
                close = similar(name, places)[:1]
                hint = "".join(f" (did you mean {quoted(one)}?)" for one in close)
            found.append(quoted(name) + hint)
        columns = "a column that is" if len(unknown) == 1 else "columns that are"
        raise InputError(
            f"knowledge names {columns} no variable of the table: {listed(found, SAID_AT_MOST)}; the "
            f"variables are {listed([quoted(name) for name in places], 10)}"
        )


def _listed(names: Sequence[str]) -> str:
    return listed([_short(name) for name in names])


def _short(name: str) -> str:
    return one_line(name, 40)
