"""What a site holds: rows that never leave it, as cells first and, once kinds are agreed, as a table."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from ..backends.choose import choose_table
from ..errors import InputError
from ..inputs.cells import Found
from ..inputs.encoding import Encoding
from ..inputs.from_frame import as_frame, column_names, of_frame
from ..inputs.kinds import MOST_LEVELS, MOST_ORDINAL_NUMBERS, ROWS_A_LEVEL, Variable, few_values
from ..inputs.naming import Naming
from ..inputs.ordinal import places_of
from ..inputs.outcomes import numbers_of, whole_numbers
from ..inputs.rules import Findings, refuse_duplicates
from ..inputs.target import of_one_kind, row_labels
from ..method.missing.sums import IncompleteRaw
from ..method.outcome import Outcome
from ..method.table import F64, LARGEST, RawTable
from ..outcomes.binary import Binary
from ..outcomes.continuous import Continuous
from ..outcomes.follow_up import Clock
from ..outcomes.ordinal import Ordinal
from ..outcomes.survival import Survival
from ..wording import listed, one_line, plain, quoted
from .messages import MessageError

# Of texts, so that a column is told by its levels: an id or a name has about as many as there are rows.
ROWS_A_TEXT = 2
# Labels of an outcome that a site tells.
MOST_LABELS = 20
LABELS, NUMBER, FOLLOW_UP = "labels", "number", "follow-up"


@dataclass(frozen=True, eq=False)
class Holdings:
    """The rows of a site.

    Attributes
    ----------
    names : (p,) of the variables.
    found : their cells.
    outcome : by role (y; or time and event), (n,) as they were given.
    called : by role, the name of the column.
    namings : labels and units, as far as somebody gave them.
    left_out : rows without an outcome, which are not among these.
    """

    names: tuple[str, ...]
    found: Found
    outcome: Mapping[str, np.ndarray]
    called: Mapping[str, str]
    namings: Mapping[str, Naming]
    left_out: int = 0

    @classmethod
    def of(cls, X: Any, roles: Mapping[str, str], namings: Mapping[str, Naming]) -> Holdings:
        """Of a dataframe of any library, in which ``roles`` name the columns of the outcome."""
        frame = as_frame(X)
        if frame is None:
            raise InputError(f"a site holds a dataframe, whose columns have names, not {type(X).__name__}")
        columns = [str(name) for name in column_names(X)]
        refuse_duplicates(columns)
        for role, name in roles.items():
            if name not in columns:
                raise InputError(f"there is no column {quoted(name)} to be the {role} of the outcome")
        read = {role: row_labels(frame.get_column(name), len(frame), name) for role, name in roles.items()}
        gone = np.any([missing for _, missing in read.values()], axis=0)
        frame = frame.filter(nw.new_series("kept", (~gone).tolist(), backend=frame.implementation))
        outcome = {role: of_one_kind(whole_numbers(labels[~gone])) for role, (labels, _) in read.items()}
        features, findings = [name for name in columns if name not in roles.values()], Findings()
        found, _ = of_frame(frame, features, True, findings, cohort=True)
        with findings.noting():
            _refuse_numbers(found, features)
        with findings.noting():
            _refuse_free_text(found, features)
        findings.refuse()
        return cls(tuple(features), found, outcome, dict(roles), dict(namings), int(gone.sum()))

    @property
    def rows(self) -> int:
        return len(self.found.values)

    @property
    def fingerprint(self) -> str:
        """By which a site knows that its rows are those of a session that it took up before."""
        digest = hashlib.sha256(repr((self.names, sorted(self.called.items()))).encode())
        digest.update(np.ascontiguousarray(self.found.values).tobytes())
        for place, texts in sorted(self.found.texts.items()):
            digest.update(repr((place, texts.levels)).encode() + texts.codes.tobytes())
        for role, values in sorted(self.outcome.items()):
            digest.update(role.encode() + repr(values.tolist()).encode())
        return digest.hexdigest()

    def described(self, kind: str, said: Sequence[str]) -> dict[str, Any]:
        """What a coordinator is told of the columns before anything is agreed."""
        columns = [self._described(place, name, name in said) for place, name in enumerate(self.names)]
        return {"columns": columns, "outcome": self._described_outcome(kind)}

    def _described(self, place: int, name: str, said: bool) -> dict[str, Any]:
        naming = self.namings.get(name, Naming())
        about = {"name": name, "label": naming.label, "unit": naming.unit, "digits": naming.digits}
        texts = self.found.texts.get(place)
        if texts is not None:
            levels = texts.only_seen().levels
            return {
                **about,
                "holds": "texts",
                "levels": list(levels) if len(levels) <= MOST_LEVELS else None,
                "few": True,
                "ordered": texts.ordered,
                "size": 0,
            }
        values = self.found.values[:, place]
        there = values[~np.isnan(values)]
        few = few_values(values, MOST_LEVELS if said else MOST_ORDINAL_NUMBERS)
        # A handful of patients has few different numbers of anything: those are no levels to tell.
        telling = few is not None and there.size >= ROWS_A_LEVEL * few[0].size
        return {
            **about,
            "holds": "truth" if self.found.said.get(place) == (False, True) else "numbers",
            "levels": few[0].tolist() if few is not None and telling else None,
            "few": few is not None,
            "ordered": False,
            "size": int(np.frexp(np.abs(there).max(initial=1.0))[1]),
        }

    def _described_outcome(self, kind: str) -> dict[str, Any]:
        roles = {"time", "event"} if kind == FOLLOW_UP else {"y"}
        if set(self.outcome) != roles:
            wanted = "a time of follow-up and an event" if kind == FOLLOW_UP else "one column, the target"
            raise InputError(f"the outcome of this fit is {wanted}, and that was not given at this site")
        about: dict[str, Any] = {"called": dict(self.called)}
        if kind != FOLLOW_UP:
            units = self.namings.get(self.called["y"], Naming())
            about |= {"label": units.label, "unit": units.unit}
        if kind == NUMBER:
            values = self.numbers("y")
            return {**about, "size": int(np.frexp(np.abs(values).max(initial=1.0))[1])}
        return {**about, "labels": self.labels("event" if kind == FOLLOW_UP else "y")}

    def labels(self, role: str) -> list[Any]:
        """The different labels of the outcome."""
        found = sorted({plain(label) for label in self.outcome[role].tolist()}, key=repr)
        if len(found) > MOST_LABELS:
            raise InputError(
                f"column {quoted(self.called[role])} holds {len(found)} different values at this site, which "
                "are no labels: name another column, or say what kind of outcome it is"
            )
        return found

    def numbers(self, role: str) -> F64:
        """(n,) of the outcome."""
        values, _ = numbers_of(self.outcome[role], quoted(self.called[role]), self.rows)
        return values

    def counted(self, levels: Mapping[str, Sequence[Any]], labels: Sequence[Any]) -> tuple[F64, F64]:
        """Rows at each level of some columns, and after them rows at none of these; and with each label."""
        counts: list[float] = []
        for name, some in levels.items():
            if name not in self.names:
                counts += [0.0] * (len(some) + 1)
                continue
            place = self.names.index(name)
            texts = self.found.texts.get(place)
            if texts is not None:
                held = {**dict.fromkeys(map(str, some), 0), **texts.counts()}
                own = [held.pop(str(level)) for level in some]
                counts += [*own, sum(held.values())]
            else:
                values = self.found.values[:, place]
                own = [int((values == level).sum()) for level in some]
                counts += [*own, int((~np.isnan(values)).sum()) - sum(own)]
        role = "event" if "event" in self.outcome else "y"
        held_labels = [plain(label) for label in self.outcome[role].tolist()]
        of_labels = [held_labels.count(label) for label in labels]
        return np.array(counts, dtype=np.float64), np.array(of_labels, dtype=np.float64)

    def followed(self, unit: float, by: Sequence[Any]) -> tuple[list[Any], list[Clock]]:
        """Labels (or whether it is the one ``by`` which they are told), and when patients leave by each."""
        times = rounded_up(self.numbers("time"), unit)
        labels = np.array([plain(label) for label in self.outcome["event"].tolist()], dtype=object)
        keys: list[Any] = [True, False] if by else self.labels("event")
        held = labels == by[0] if by else labels
        found = [Clock.of(times[held == key], np.zeros(int((held == key).sum()))) for key in keys]
        return keys, found

    def opened(self, agreed: Agreed, unit: float) -> OpenRows:
        """The table that a fit sums over."""
        encoding, known = agreed.encoding, self.known(agreed, unit)
        place = {name: at for at, name in enumerate(self.names)}
        present = np.array([name in place for name in agreed.columns], dtype=bool)
        order = [place[name] for name in agreed.columns if name in place]
        mine = Found(
            self.found.values[:, order],
            {order.index(at): texts for at, texts in self.found.texts.items() if at in order},
            {order.index(at): said for at, said in self.found.said.items() if at in order},
            borrowed=True,
        )
        table, unlike = encoding.table(mine.among(present))
        if unlike.unseen:
            raise MessageError("levels were agreed on that are not those of this site")
        wrong = [agreed.columns[at] for at in np.flatnonzero(encoding.not_positive(table)).tolist()]
        if wrong:
            raise InputError(
                f"values of 0 or less have no logarithm, and this site has some in {listed(wrong)}"
            )
        values = encoding.matrix(table)
        empty = np.isnan(values).all(axis=1)
        if empty.any():
            raise InputError(
                f"{int(empty.sum())} row(s) of this site have no value in any column of the fit: leave out "
                "who was not measured"
            )
        return OpenRows(agreed, values, known, choose_table("numba", values, known))

    def known(self, agreed: Agreed, unit: float) -> np.ndarray:
        """(n,) or (n, c): what tables keep of the outcome."""
        said, outcome = agreed.said, agreed.outcome
        if isinstance(outcome, Survival):
            times = rounded_up(self.numbers("time"), unit)
            times = np.where(times == 0.0, said["zero"], times)
            if not np.isin(times, outcome.clock.times).all():
                raise MessageError("the clock that was agreed on lacks times of this site")
            events = self.outcome["event"] == said["positive"]
            return outcome.rows(np.column_stack([times, events.astype(np.float64)]))
        if isinstance(outcome, Continuous):
            return outcome.rows(self.numbers("y"))
        labels = np.array([plain(label) for label in self.outcome["y"].tolist()], dtype=object)
        if not np.isin(labels, np.array(said["labels"], dtype=object)).all():
            raise MessageError("labels were agreed on that are not those of this site")
        if isinstance(outcome, Ordinal):
            return outcome.rows(places_of(labels, np.array(said["labels"], dtype=object)))
        return outcome.rows((labels == said["labels"][1]).astype(np.intp))


@dataclass(frozen=True, eq=False)
class Agreed:
    """What all sites go by from the first round on.

    Attributes
    ----------
    columns : of all sites together, in one order.
    encoding : what they hold.
    outcome : what happened to the patients.
    said : how to read it: ``kind``; labels, or the one that is the event, and what a time of zero counts as.
    """

    columns: tuple[str, ...]
    encoding: Encoding
    outcome: Outcome
    said: Mapping[str, Any]

    @classmethod
    def of(cls, fields: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Agreed:
        """As it comes in a message."""
        try:
            variables = tuple(
                Variable(one["name"], one["kind"], tuple(one["levels"]), bool(one["log"]))
                for one in fields["variables"]
            )
            said = fields["outcome"]
            outcome = _outcome_of(said, arrays)
        except (KeyError, TypeError, ValueError) as error:
            raise MessageError("what was agreed on lacks something") from error
        if tuple(fields["columns"]) != tuple(variable.name for variable in variables):
            raise MessageError("what was agreed on names other columns than it describes")
        return cls(tuple(fields["columns"]), Encoding(variables, None, fields["comma"]), outcome, said)

    def message(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The same as it travels."""
        variables = [
            {"name": one.name, "kind": one.kind, "levels": list(one.levels), "log": one.log}
            for one in self.encoding.variables
        ]
        arrays = {name: np.empty(0) for name in ("times", "events", "leaving")}
        if isinstance(self.outcome, Survival):
            clock = self.outcome.clock
            arrays = {"times": clock.times, "events": clock.events, "leaving": clock.leaving}
        fields = {
            "columns": list(self.columns),
            "variables": variables,
            "comma": self.encoding.decimal_comma,
            "outcome": dict(self.said),
        }
        return fields, arrays


def _outcome_of(said: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Outcome:
    if said["kind"] == "survival":
        clock = Clock(arrays["times"], arrays["events"], arrays["leaving"])
        if not clock.times.size == clock.events.size == clock.leaving.size > 0:
            raise ValueError
        return Survival.by(clock, float(said["horizon"]))
    if said["kind"] == "continuous":
        return Continuous(float(said["mean"]), float(said["sd"]))
    if said["kind"] == "ordinal":
        return Ordinal.of_counts(np.array(said["counts"], dtype=np.float64))
    if said["kind"] == "binary" and len(said["labels"]) == 2:
        return Binary(float(said["share"]))
    raise ValueError


@dataclass(frozen=True, eq=False)
class OpenRows:
    """The rows of a site once kinds are agreed: the matrix (n, q), and what is known of each row."""

    agreed: Agreed
    values: F64
    known: np.ndarray
    raw: RawTable | IncompleteRaw

    @property
    def classes(self) -> int:
        return 2 if self.known.ndim == 1 else 1

    @property
    def counts(self) -> F64:
        """(3,) rows, those that lack a value, and cells that are missing."""
        missing = np.isnan(self.values)
        return np.array([len(missing), missing.any(axis=1).sum(), missing.sum()], dtype=np.float64)


def rounded_up(times: F64, unit: float) -> F64:
    """Times (n,) up to multiples of a unit; a unit of zero leaves them as they are."""
    return times if not unit else np.ceil(times / unit) * unit


def _refuse_numbers(found: Found, names: Sequence[str]) -> None:
    wrong = np.flatnonzero((np.abs(found.values) > LARGEST).any(axis=0)).tolist()
    if wrong:
        raise InputError(
            f"there are infinite or too large numbers in {listed([quoted(names[at]) for at in wrong])}: "
            "correct them, or drop the column"
        )


def _refuse_free_text(found: Found, names: Sequence[str]) -> None:
    """Refuse columns of texts of which nearly each row has its own: they would be sent as levels."""
    wrong = []
    for place, texts in found.texts.items():
        different, there = len(texts.only_seen().levels), int((texts.codes >= 0).sum())
        if different > MOST_LEVELS or there < ROWS_A_TEXT * different:
            wrong.append(quoted(one_line(names[place])))
    if wrong:
        raise InputError(
            f"column(s) {listed(wrong)} hold nearly as many texts as rows, as ids, names or notes do: leave "
            "them out before the site answers, since levels are told to the coordinator"
        )
