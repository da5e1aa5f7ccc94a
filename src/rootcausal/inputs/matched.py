"""Cases and their matched controls: two labels, which of them is the disease, and the set of each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from ..errors import InputError, warn
from ..files.cells import is_missing
from ..method.set_effects import same_in_every_set
from ..method.table import F64, Index
from ..outcomes.matched import FEWEST_SETS, Matched, known_of, of_sets
from ..wording import listed, one_line, plural, quoted
from .binary import ChosenDiagnosis, DiagnosisColumn, disease_line
from .from_frame import own_name, with_ids
from .outcomes import Ask, Column, Known, KnownThere, Labels, OutcomeCells, Target, given_by, texts_in
from .patients import Patients, numbered
from .rules import Findings
from .target import encode_known, encode_target

ON_A_CLUSTER = (
    "matched sets need the rows in memory, since a set may span several partitions: fit a sample of whole "
    "sets, or X.compute()"
)


@dataclass(frozen=True, eq=False)
class MatchedDiagnosis(Target):
    """Two labels y (n,), which is the disease (None: see :mod:`.target`), and the set of each row (n,)."""

    ROLES: ClassVar[Mapping[str, str]] = {"y": "the target", "strata": "the matched set"}
    NO_VARIABLES: ClassVar[frozenset[str]] = frozenset({"strata"})

    y: Any
    positive: Any
    strata: Any

    def known(self, X: Any, n_rows: int, findings: Findings) -> Known:
        y = given_by(X, self.y)
        sets: Index | None = None
        with findings.noting():
            sets = sets_of(self.strata, n_rows)
        labels, classes = encode_target(y, self.positive, n_rows, findings)
        findings.refuse()
        assert sets is not None
        known = known_of(labels, sets)
        matched = Matched.of(known)
        if matched.sets < FEWEST_SETS:
            raise InputError(
                f"only {plural(matched.sets, 'matched set')} with a case and a control: at least "
                f"{FEWEST_SETS} "
                "are needed; does strata hold the set of each row?"
            )
        facts = {"outcome": matched.name, "cases": int(labels.sum()), "sets": matched.sets}
        _warn_of_sets_that_tell_nothing(labels, sets)
        return Known(known, matched, classes, facts, own_name(y), sets)

    def refuse_itself(self, known: Known, table: F64, names: Sequence[str]) -> None:
        """Refuse what rows were matched on: of that, sets tell nothing."""
        assert known.sets is not None
        if len(table) == known.sets.size:
            refuse_matching(table, known.sets, names)

    def known_again(self, X: Any, n_rows: int, classes: np.ndarray) -> np.ndarray:
        labels = encode_known(given_by(X, self.y), classes, n_rows, self.positive)
        return known_of(labels, sets_of(self.strata, n_rows))

    def known_there(self, columns: Mapping[str, Column], ask: Ask) -> KnownThere:
        raise InputError(ON_A_CLUSTER)


def variables_and_sets(X: Any, strata: Any) -> tuple[Any, Any]:
    """The variables of X, and the set of each row; a text names its column, which is then no variable."""
    return (X, strata) if isinstance(X, Patients) else with_ids(X, strata, "strata")


def sets_of(strata: Any, n_rows: int, what: str = "matched set") -> Index:
    """(n,) the number of each row's set, or of ``what`` else strata are."""
    import narwhals as nw

    if nw.dependencies.is_into_series(strata):
        strata = nw.from_native(strata, series_only=True).to_list()
    if isinstance(strata, str) or not hasattr(strata, "__len__"):
        raise InputError(f"strata must hold the {what} of each row, not {strata!r}")
    names = list(strata.tolist() if isinstance(strata, np.ndarray) else strata)
    if len(names) != n_rows:
        raise InputError(f"X has {n_rows} rows but strata has {len(names)}: give one {what} a row")
    lacking = [row + 1 for row, name in enumerate(names) if is_missing(name) or name == ""]
    if lacking:
        raise InputError(
            f"strata has no {what} for {plural(len(lacking), 'row')} "
            f"({listed([str(row) for row in lacking], 5)}): leave these rows out"
        )
    found = numbered(names)
    return np.arange(n_rows) if found is None else found


def refuse_matching(table: F64, sets: Index, names: Sequence[str]) -> None:
    """Refuse columns of a table (n, p) that are the same within every set (n,)."""
    same = [quoted(str(names[c])) for c in same_in_every_set(table, sets)]
    if same:
        one = len(same) == 1
        raise InputError(
            f"{'column' if one else 'columns'} {listed(same, 10)} {'is' if one else 'are'} the same "
            "within every "
            f"matched set: rows were matched on {'it' if one else 'them'}, and sets tell nothing of "
            f"{'its' if one else 'their'} effect; leave {'it' if one else 'them'} out"
        )


def _warn_of_sets_that_tell_nothing(labels: np.ndarray, sets: Index) -> None:
    cases, sizes = of_sets(labels.astype(np.float64), sets)
    silent = int(((cases == 0) | (cases == sizes)).sum())
    if silent:
        warn(
            f"{plural(silent, 'matched set')} without a case, or without a control: of the outcome "
            "such a set "
            "tells nothing"
        )


# --- in files -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MatchedColumns(DiagnosisColumn):
    """A column with two labels, and one that says which rows are a set."""

    strata: str = ""

    @property
    def named(self) -> tuple[tuple[str, str], ...]:
        return (("--target", self.target), ("--strata", self.strata))

    def read(self, table: Any, path: str | PathLike[str]) -> OutcomeCells:
        cells = super().read(table, path)
        sets = np.array(texts_in(table[self.strata], self.strata, "--strata", path), dtype=np.str_)
        missing = {**cells.missing, self.strata: np.array([is_missing(name) or not name for name in sets])}
        return OutcomeCells(_together(cells.values, sets), missing, cells.left_out, cells.notes)

    def tidied(self, values: Labels) -> Labels:
        return _together(super().tidied(values["target"]), values["strata"])

    def choose(self, values: Labels, rows: Index) -> ChosenMatched:
        chosen = super().choose_counted(*np.unique(values["target"], return_counts=True))
        return ChosenMatched(self, chosen.disease, np.unique(values["strata"]).size)

    def choose_counted(self, unique: Labels, counts: Index) -> ChosenMatched:
        raise InputError(ON_A_CLUSTER)


@dataclass(frozen=True)
class ChosenMatched(ChosenDiagnosis):
    """A column of two labels, which of them is the disease, and how many sets there are."""

    kind: ClassVar[str] = "matched"
    draws_sets: ClassVar[bool] = True

    n_sets: int = 0

    def known(self, values: Any) -> Target:
        return MatchedDiagnosis(values["target"], self.disease.label, values["strata"])

    def arguments(self, values: Any) -> tuple[Any, ...]:
        return (values["target"], None, values["strata"])

    def refuse_few(self, values: Labels) -> None:
        super().refuse_few(values["target"])

    def lines(self, n_rows: int, of_what: str = "patients") -> list[str]:
        assert isinstance(self.column, MatchedColumns)
        line = disease_line(
            self.column.target, self.disease.text, self.disease.n_cases, n_rows, None, of_what
        )
        return [line, f"matched sets: {one_line(self.column.strata)}, {plural(self.n_sets, 'set')}"]


def _together(labels: Labels, sets: Labels) -> Labels:
    both = np.empty(labels.size, dtype=[("target", labels.dtype), ("strata", sets.dtype)])
    both["target"], both["strata"] = labels, sets
    return both
