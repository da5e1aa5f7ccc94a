"""Knowledge: what users know of the causal order before any data are seen, by the names of columns."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from numbers import Integral
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..files.writing import atomic_write
from ..method.ordering.precedence import COVARIATE, FIRST, Precedence
from ..wording import OUTCOME, listed, one_line, quoted
from .contradictions import Rule, circles, going_round, refuse_all, stages_broken, without_circles
from .knowledge_files import FIELDS, fields_of_json, fields_of_tetrad, is_json, naming, text_of_known
from .roles import columns_named, similar
from .rules import Findings

if TYPE_CHECKING:
    from .roles import Roles

Names = tuple[str, ...]
Pairs = tuple[tuple[str, str], ...]
# Unknown names that are said, each with a similar one unless it is too long: looking takes its time.
UNKNOWN_SAID, LONGEST_COMPARED = 20, 200
_BY_NUMBER = re.compile(r"x\d+")


@dataclass(frozen=True, slots=True, init=False)
class Knowledge:
    """What is known of the causal order: every rule is kept to, whatever the data say.

    Columns are given by name (of an array: "x0" or 0). Rules that contradict each other are refused, all in
    one error. ``causes`` and ``not_causes`` are rules for the order, not for single arrows: they say what
    comes first, and not that there is an effect. But the outcome comes after all columns anyway; a rule that
    names it, as it is called or as "outcome", says what acts on it directly.

    Parameters
    ----------
    first : columns that nothing in the table causes, such as age and sex, and that do not cause each other.
        They come before all tiers, and no test drops them.
    tiers : lists of columns; all of one tier come before all of the next. Columns that are named in none of
        ``covariates``, ``first`` and ``tiers`` belong to the last tier, which may be empty for that.
    causes : pairs (a, b): a comes before b. Where b is the outcome, a acts on it directly, such as the arm of
        a trial: no test drops it, and its effect is not shrunk as one that may be none.
    not_causes : pairs (a, b): a is no cause of b, directly or by others, so that b comes before a. Where b is
        the outcome, a does not act on it directly; by others it may.
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
        given = (first, tiers, causes, not_causes, covariates)
        self._take(dict(zip(FIELDS, given, strict=True)))
        refuse_all(self._contradictions())

    def _take(self, fields: Mapping[str, Any]) -> None:
        """Set the fields, of which those that are not given are empty."""
        findings = Findings()
        for name, kept_as in KEPT_AS.items():
            with findings.noting():
                object.__setattr__(self, name, kept_as(name, fields.get(name, ())))
        findings.refuse()

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

    def precedence(
        self,
        names: Sequence[str],
        elsewhere: Mapping[str, str] | None = None,
        outcome: Collection[str] | None = (),
    ) -> Precedence:
        """The rules among the columns of a table.

        Parameters
        ----------
        names : (p,) the variables.
        elsewhere : what other columns are, by name, such as "the target": who names one of them is told.
        outcome : what the outcome may be called; None: rules that end at no variable are about the outcome,
            as in models, whose rules were read before.
        """
        ends = self._called(names, outcome)
        self._refuse_unknown(names, elsewhere or {}, ends)
        refuse_all(self._contradictions(ends))
        places = {name: place for place, name in enumerate(names)}
        stages, others = self._stages()
        stage = np.full(len(names), others, dtype=np.intp)
        for name, its_stage in stages.items():
            stage[places[name]] = its_stage
        if (stage == COVARIATE).all():
            raise InputError("all columns are covariates, and none is left to be a root cause")
        pairs = [(places[earlier], places[later]) for earlier, later, _ in self._rules(ends)]
        acts = [places[name] for name, effect in self.causes if effect in ends]
        does_not = [places[name] for name, effect in self.not_causes if effect in ends]
        try:
            return Precedence.of(stage, pairs, acts, does_not)
        except ValueError as error:  # no contradiction is left by now
            raise InputError(
                f"causes and not_causes say too much ({error}): say it by tiers instead"
            ) from None

    def in_words(self, most: int = 5) -> str:
        """All of it in one line that is safe on a terminal: ``most`` names of each list, long ones cut."""

        def named(names: Sequence[str]) -> str:
            return listed([_short(name) for name in names], most)

        said = [f"{named(self.first)} first"] if self.first else []
        if self.tiers:
            said.append(" < ".join(named(tier) if tier else "all others" for tier in self.tiers))
        for pairs, verb in ((self.causes, "before"), (self.not_causes, "no cause of")):
            if pairs:
                said.append(listed([f"{_short(a)} {verb} {_short(b)}" for a, b in pairs], most))
        if self.covariates:
            said.append(f"covariates {named(self.covariates)}")
        return "; ".join(said) or "nothing"

    # --- other forms --------------------------------------------------------------------------------------

    @classmethod
    def of(cls, given: Any) -> Knowledge:
        """The knowledge itself, or that of a dict of its fields."""
        if isinstance(given, cls):
            return given
        known = cls._unchecked(given)
        refuse_all(known._contradictions())
        return known

    @classmethod
    def _unchecked(cls, given: Any) -> Knowledge:
        """That of a dict of fields, in which contradictions have not been looked for."""
        if not isinstance(given, Mapping):
            raise InputError(
                "knowledge must be a rootcausal.Knowledge, or a dict of its fields as in "
                f"{{'first': ['age', 'sex']}}, not {type(given).__name__}"
            )
        strange = [quoted(key) for key in given if key not in FIELDS]
        if strange:
            raise InputError(f"unknown key {listed(strange)} of knowledge: choose from {', '.join(FIELDS)}")
        known = object.__new__(cls)
        known._take(given)
        return known

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
        paths, no_paths = _paths_of(matrix, names)
        known = cls(causes=paths, not_causes=without_circles(no_paths))
        refuse_all(known._contradictions(()))  # the outcome is no column of such a matrix
        return known

    @classmethod
    def from_tetrad(cls, file: str | PathLike[str]) -> Knowledge:
        """The knowledge file of Tetrad: its tiers, and what it forbids and requires.

        Two things differ. Tetrad leaves columns in no tier free, and here they belong to the last one. Tetrad
        forbids a direct arrow, and here an effect by whatever way, since what is forbidden becomes an order:
        arrows forbidden in a circle, as both ways are, are not used, with a warning. Arrows forbidden within
        a tier (``1*``), or from an earlier tier to a later one, and groups are refused by line. Comments
        begin with ``//``, or with ``#`` and a blank; lines that begin with ``#`` are comments as a whole.
        """
        fields = fields_of_tetrad(file)
        with naming(file):
            return cls(**fields)

    @classmethod
    def from_json(cls, source: str | PathLike[str] | Mapping[str, Any]) -> Knowledge:
        """What :meth:`to_json` wrote: the path of a file, the text itself, or the dict that it stands for."""
        if isinstance(source, Mapping):
            return cls.of(source)
        if isinstance(source, str) and is_json(source):
            return cls(**fields_of_json(source))
        text = text_of_known(source)
        with naming(source):
            return cls(**fields_of_json(text))

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """As JSON; with a path also to a file, which is written whole or not at all."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False)
        if any("\ud800" <= character <= "\udfff" for character in text):
            text = json.dumps(self.to_dict(), indent=1)  # no text file can hold half a character
        if path is not None:
            try:
                with atomic_write(path) as handle:
                    handle.write(text.encode("utf-8"))
            except OSError as error:
                raise InputError(error.strerror or str(error)) from None
        return text

    def to_dict(self) -> dict[str, list[Any]]:
        """As lists by field: what JSON can hold, and ``RCI(knowledge=)`` takes."""
        return {
            name: [list(one) if isinstance(one, tuple) else one for one in getattr(self, name)]
            for name in FIELDS
        }

    # --- contradictions -----------------------------------------------------------------------------------

    def _ends(self) -> set[str]:
        """What pairs lead to and nothing else names: the outcome may be among it."""
        placed = {*self.covariates, *self.first, *(name for tier in self.tiers for name in tier)}
        pairs = (*self.causes, *self.not_causes)
        return {effect for _, effect in pairs} - placed - {cause for cause, _ in pairs}

    def _called(self, names: Sequence[str], outcome: Collection[str] | None) -> set[str]:
        """What pairs call the outcome; for the arguments see :meth:`precedence`."""
        ends = self._ends().difference(names)
        return ends if outcome is None else ends & {OUTCOME, *outcome}

    def _rules(self, outcome: Collection[str]) -> list[Rule]:
        """The pairs as (earlier, later, by which words), but for those about the outcome.

        Of columns that are all first, or all covariates, none causes another anyway: where not_causes says
        so in a circle, there is nothing to keep to.
        """
        together = (set(self.first), set(self.covariates))
        both = set(self.causes).intersection(self.not_causes)
        causes, not_causes = (
            [pair for pair in pairs if pair[1] not in outcome or pair in both]
            for pairs in (self.causes, self.not_causes)
        )
        free = [pair for pair in not_causes if any(names.issuperset(pair) for names in together)]
        nothing_new = {pair for pair in going_round(free) if pair[0] != pair[1]}
        rules = [(a, b, "causes") for a, b in causes]
        return rules + [(b, a, "not_causes") for a, b in not_causes if (a, b) not in nothing_new]

    def _stages(self) -> tuple[dict[str, int], int]:
        """The stage of each column that has a place, and that of all others."""
        stages = {name: FIRST + place for place, tier in enumerate(self.tiers, start=1) for name in tier}
        stages |= dict.fromkeys(self.first, FIRST) | dict.fromkeys(self.covariates, COVARIATE)
        return stages, FIRST + max(1, len(self.tiers))

    def _contradictions(self, outcome: Collection[str] | None = None) -> Iterator[str]:
        """``outcome`` is what pairs call it; before a table is there, it may be whatever they lead to."""
        outcome = self._ends() if outcome is None else outcome
        yield from self._misplaced()
        stages, others = self._stages()
        where = {name: f"in tier {stage - FIRST}" for name, stage in stages.items()}
        where |= dict.fromkeys(self.first, "in first") | dict.fromkeys(self.covariates, "a covariate")
        unlisted = "in no tier, so in the last one" if self.tiers else "not named there, so after them"
        rules, unplaced = list[Rule](), set[str]()
        for earlier, later, words in self._rules(outcome):
            for name in (earlier, later):
                if name not in stages:
                    stages[name], where[name] = others, unlisted
                    unplaced.add(name)
            if earlier == later:
                yield f"{words} names {quoted(earlier)} together with itself: leave that pair out"
            else:
                rules.append((earlier, later, words))
        yield from stages_broken(rules, stages, where, unplaced if self.tiers else ())
        yield from circles([rule for rule in rules if stages[rule[0]] == stages[rule[1]]])

    def _misplaced(self) -> Iterator[str]:
        """What to say of columns in two places."""
        places: dict[str, list[str]] = {}
        tiers = ((f"tier {number}", tier) for number, tier in enumerate(self.tiers, start=1))
        for place, names in (("covariates", self.covariates), ("first", self.first), *tiers):
            for name in names:
                places.setdefault(name, []).append(place)
        for name, found in places.items():
            if len(found) > 1:
                yield f"{quoted(name)} is in {' and in '.join(found)}: keep one of them"

    def _refuse_unknown(
        self, names: Sequence[str], elsewhere: Mapping[str, str], outcome: Collection[str] = ()
    ) -> None:
        there = {*names, *outcome}
        unknown = [name for name in self.columns if name not in there]
        if not unknown:
            return
        found = [f"{quoted(name)}{_hint(name, names, elsewhere)}" for name in unknown[:UNKNOWN_SAID]]
        found += [""] * (len(unknown) - len(found))  # these are counted
        columns = "a column that is" if len(unknown) == 1 else "columns that are"
        raise InputError(
            f"knowledge names {columns} no variable of the table: {listed(found, UNKNOWN_SAID)}; the "
            f"variables are {listed([quoted(name) for name in names], 10)}{_without_names(names)}"
        )


def precedence_of(
    given: Any,
    names: Sequence[str],
    elsewhere: Mapping[str, str] | None = None,
    outcome: Collection[str] | None = (),
) -> Precedence | None:
    """The rules of a :class:`Knowledge`, or of a dict of its fields; None where these say nothing.

    One error says all contradictions and all unknown names. For the rest see :meth:`Knowledge.precedence`.
    """
    if isinstance(given, Knowledge):
        known = given
    else:
        known, findings = Knowledge._unchecked(given), Findings()
        with findings.noting():
            refuse_all(known._contradictions())
        if findings:
            with findings.noting():
                known._refuse_unknown(names, elsewhere or {}, known._called(names, outcome))
        findings.refuse()
    return known.precedence(names, elsewhere, outcome) if known else None


def note_known(
    names: Sequence[str],
    features: Sequence[str],
    roles: Roles,
    findings: Findings,
    mostly_missing: Sequence[str] = (),
) -> None:
    """Note contradictions in what is known, and columns of it that are none of the variables.

    Some of these were left out since they are ``mostly_missing``.
    """
    if roles.knowledge is not None:
        what = dict.fromkeys(names, "not kept by --keep" if roles.keep else "left out by --drop")
        what |= dict.fromkeys(columns_named(names, roles.after), "left out by --after")
        what |= dict.fromkeys(mostly_missing, "left out by --max-missing")
        if roles.id_column is not None:
            what[roles.id_column] = "the --id column"
        what |= {column: f"the {option} column" for option, column in roles.outcome.named}
        with findings.noting():
            precedence_of(roles.knowledge, features, what, [column for _, column in roles.outcome.named])


def _without_names(names: Sequence[str]) -> str:
    """How an array keeps the names that a step before took away."""
    if list(names) != [f"x{place}" for place in range(len(names))]:
        return ""
    return " (an array has no names; in a Pipeline they are kept by .set_output(transform='pandas'))"


def _hint(name: str, names: Sequence[str], elsewhere: Mapping[str, str]) -> str:
    """What a name that is no variable of the table may be."""
    if name in elsewhere:
        return f" (it is {elsewhere[name]})"
    if not name.strip():
        return " (an empty name: is there a comma too many?)"
    if _BY_NUMBER.fullmatch(name) and "x0" not in names:
        return " (numbers are for arrays without names: give the name)"
    close = similar(name, names)[:1] if len(name) <= LONGEST_COMPARED else ()
    return "".join(f" (did you mean {quoted(one)}?)" for one in close)


def _short(name: str) -> str:
    return one_line(name, 40)


# --- fields, as users may write them ----------------------------------------------------------------------


def _name(field: str, given: Any) -> str:
    if isinstance(given, str):
        return str(given)
    if isinstance(given, Integral) and not isinstance(given, bool | np.bool_):
        if given < 0:
            raise InputError(f"{field} counts columns from 0, and {int(given)} is below")
        return f"x{int(given)}"
    raise InputError(f"{field} names columns by name or number, not by {_shown(given)}")


def _items_of(field: str, given: Any, example: str) -> list[Any]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InputError(f"{field} must be a list, as in {field}={example}, not {_shown(given)}")
    return sorted(given, key=str) if isinstance(given, Set) else list(given)


def _names_of(field: str, given: Any, example: str = '["age", "sex"]') -> Names:
    return tuple(dict.fromkeys(_name(field, one) for one in _items_of(field, given, example)))


def _tiers_of(field: str, given: Any) -> tuple[Names, ...]:
    example = '[["smoking", "bmi"], ["bili"]]'
    tiers = _items_of(field, given, example)
    for tier in tiers:
        if isinstance(tier, str | bytes | Mapping) or not isinstance(tier, Iterable):
            raise InputError(
                f"{field} must be a list of lists, as in {field}={example}: {_shown(tier)} is none"
            )
    return tuple(_names_of(field, tier, example) for tier in tiers)


def _pairs_of(field: str, given: Any) -> Pairs:
    example = '[("smoking", "bili")]'
    pairs = []
    for one in _items_of(field, given, example):
        both = _both(one)
        if len(both) != 2:
            raise InputError(
                f"{field} takes pairs of columns, as in {field}={example}: {_shown(one)} is none"
            )
        pairs.append((_name(field, both[0]), _name(field, both[1])))
    return tuple(dict.fromkeys(pairs))


def _both(given: Any) -> Sequence[Any]:
    if isinstance(given, tuple | list):
        return given
    refused = isinstance(given, str | bytes | Mapping | Set) or not isinstance(given, Iterable)
    return () if refused else list(given)


def _shown(given: Any) -> str:
    return quoted(given) if isinstance(given, str) else one_line(repr(given))


#: By field, what makes of a value what is kept; an InputError says which field is wrong.
KEPT_AS: dict[str, Callable[[str, Any], tuple[Any, ...]]] = dict(
    zip(FIELDS, (_names_of, _tiers_of, _pairs_of, _pairs_of, _names_of), strict=True)
)

PATH, NO_PATH, NOT_KNOWN = 1, 0, -1


def _paths_of(matrix: Any, names: Sequence[str | int]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Pairs (cause, effect) between which there is a path, and those between which there is none.

    ``matrix`` is (p, p), [effect, cause]; its diagonal does not count.
    """
    given = _items_of("names", names, '["age", "sex"]')
    called = _names_of("names", given)
    p = len(called)
    if p < len(given):
        raise InputError(
            f"names gives {len(given)} names, of which {p} are different: each column needs its own"
        )
    try:
        values = np.asarray(matrix)
    except ValueError:  # rows of different lengths
        raise InputError(f"the matrix is none: it must be {p} x {p}, [effect, cause]") from None
    if values.shape != (p, p):
        raise InputError(
            f"the matrix is {' x '.join(map(str, values.shape)) or 'a number'}, and there are {p} names: it "
            f"must be {p} x {p}, [effect, cause]"
        )
    beside = ~np.eye(p, dtype=bool)
    numbers = values.dtype.kind in "iuf"
    fine = np.isin(values, (PATH, NO_PATH, NOT_KNOWN)) if numbers else np.zeros((p, p), dtype=bool)
    strange = np.argwhere(~fine & beside)
    if len(strange):
        effect, cause = strange[0].tolist()
        raise InputError(
            f"the matrix holds {quoted(values[effect, cause])} for the effect of {quoted(called[cause])} on "
            f"{quoted(called[effect])}: it may hold 1 (a path), 0 (no path) and -1 (not known)"
        )

    def pairs(value: int) -> list[tuple[str, str]]:
        found = np.argwhere((values == value) & beside).tolist()
        return [(called[cause], called[effect]) for effect, cause in found]

    return pairs(PATH), pairs(NO_PATH)
