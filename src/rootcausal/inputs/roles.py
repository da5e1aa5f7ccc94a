"""Which column of a file is what: the target, the ids, the variables, and those that a model knows."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, warn
from ..method.table import F64, Index
from ..name_hints.columns import says_age, says_site, says_unchanging
from ..wording import listed, plural, quoted, shown
from .kinds import NO_HINTS, ColumnHints, Variable
from .rules import Findings

if TYPE_CHECKING:
    from .knowledge import Knowledge
    from .outcomes import OutcomeColumns


# How much alike two names must be, by difflib, for one to be a slip of the other; or from how many letters on
# a name that goes on after them was meant.
NEAR, LETTERS_OF_BEGINNING = 0.72, 3
# Pairs of names compared letter by letter: a second's work.
MOST_COMPARED = 50_000

NAME_AS_FITTED = "Name the columns as in the table the model was fitted on."
AS_FITTED = f"{NAME_AS_FITTED} What nobody was measured on may be a column without values."


@dataclass(frozen=True)
class Roles:
    """What the user says of the columns and rows of a cohort.

    Attributes
    ----------
    outcome : the columns that tell what happened to the patients.
    id_column : the column with the patients' ids.
    drop : columns to leave out; several may stand in one text, with commas between.
    drop_missing : leave out rows with missing values.
    hints : what the variables are, and whether values of them may be missing.
    keep : the only columns that are variables, likewise; none: all are. Dates are counted in days if named.
    na : words that stand for a missing value, beside the usual ones; "glucose=0" in one column only.
    knowledge : what is known of the causal order, or the fields of it, in which contradictions may be.
    log : columns of which the logarithm is taken; several may stand in one text, with commas between.
    after : columns that were measured after the outcome, likewise: left out too, and remembered as such.
    max_missing : variables of which more than this share of the rows is missing are left out; None: none are.
    weights : the column that says how much each row counts.
    """

    outcome: OutcomeColumns
    id_column: str | None = None
    drop: Sequence[str] = ()
    drop_missing: bool = False
    hints: ColumnHints = NO_HINTS
    keep: Sequence[str] = ()
    na: Sequence[str] = ()
    knowledge: Knowledge | dict[str, Any] | None = None
    log: Sequence[str] = ()
    after: Sequence[str] = ()
    max_missing: float | None = None
    weights: str | None = None


def choose_features(path: str | PathLike[str], names: list[str], roles: Roles) -> list[str]:
    """Return the columns that are variables; an option that names no column is an error."""
    findings = Findings()
    with findings.noting():
        if roles.keep and roles.drop:
            raise InputError("--keep and --drop are given both: --keep alone names all the variables.")
    dropped, later, kept, logs = (
        columns_named(names, texts) for texts in (roles.drop, roles.after, roles.keep, roles.log)
    )
    outcome = {column: option for option, column in roles.outcome.named}
    asked = [*roles.outcome.named, *(("--drop", column) for column in dropped)]
    asked += [("--after", column) for column in later]
    asked += [*(("--keep", column) for column in kept), *(("--log", column) for column in logs)]
    if roles.id_column is not None:
        asked.append(("--id", roles.id_column))
    if roles.weights is not None:
        asked.append(("--weights", roles.weights))
    for option, column in asked:
        with findings.noting():
            _require_column(path, names, option, column)
    for option, column in asked[len(roles.outcome.named) :]:
        with findings.noting():
            if column in outcome:
                raise InputError(f"{quoted(column)} is both {outcome[column]} and {option}: choose one.")
    with findings.noting():
        if roles.id_column is not None and roles.id_column in kept:
            raise InputError(f"{quoted(roles.id_column)} is both --id and --keep: choose one.")
    with findings.noting():
        if roles.weights is not None and roles.weights in (*kept, roles.id_column):
            other = "--id" if roles.weights == roles.id_column else "--keep"
            raise InputError(f"{quoted(roles.weights)} is both --weights and {other}: choose one.")
    for option, others in (
        ("--drop", dropped),
        ("--keep", kept),
        ("--id", [roles.id_column]),
        ("--weights", [roles.weights]),
    ):
        for column in dict.fromkeys(later):
            with findings.noting():
                if column in others:
                    raise InputError(f"{quoted(column)} is both --after and {option}: choose one.")
    findings.refuse()
    other_roles = {column for option, column in asked if option not in ("--keep", "--log")}
    features = [name for name in names if (name in kept if kept else name not in other_roles)]
    no_variables = [quoted(column) for column in logs if column not in features]
    if no_variables:
        raise InputError(
            f"--log names {listed(no_variables)}, and other options say that this is no variable: leave it "
            "off --log, or keep it among the variables."
        )
    if not features:
        raise InputError(
            f"{shown(path)} has no variables left besides the outcome, the ids and the columns left out."
        )
    if "" in features:
        # Tables exported with their row index have such a column; as a variable it would be nonsense.
        raise InputError(
            f"column {names.index('') + 1} of {shown(path)} has no name (often an exported row index): "
            "name it in the file, leave it out with --drop '', or take it for the ids with --id ''."
        )
    return features


def columns_named(names: Sequence[str], texts: Sequence[str]) -> list[str]:
    """The columns that texts such as "age,sex" name; a column whose own name has a comma comes first."""
    return [
        part
        for text in texts
        for part in ([text.strip()] if text.strip() in names else [one.strip() for one in text.split(",")])
    ]


def note_of_after(names: Sequence[str], roles: Roles) -> str:
    """Which columns ``--after`` left out, in words."""
    named = [quoted(name, 40) for name in columns_named(names, roles.after)]
    return f"left out, measured after the outcome: {listed(named, 10)}"


def require_columns(path: str | PathLike[str], names: list[str], asked: Mapping[str, str]) -> None:
    """Refuse options, here with the columns that they name, that name no column of the file."""
    findings = Findings()
    for option, column in asked.items():
        with findings.noting():
            _require_column(path, names, option, column)
    findings.refuse()


def columns_found(
    path: str | PathLike[str],
    names: list[str],
    features: Sequence[str],
    needed: Sequence[str] | None,
    id_column: str | None,
    may_miss: bool,
) -> list[str]:
    """Return the model's columns that the file has.

    That it lacks one that is needed is an error or, where values of them ``may_miss``, a warning.
    """
    if id_column is not None:
        _require_column(path, names, "--id", id_column)
        if id_column in features:
            raise InputError(
                f"--id {quoted(id_column)} is one of the model's variables: choose a column that is not."
            )
    present = set(names)
    found = [name for name in features if name in present]
    # A file with none of the columns is another one, even where the model needs none.
    lacking = [name for name in (features if needed is None or not found else needed) if name not in present]
    if lacking:
        alike = spelt_otherwise(lacking, present - set(features))
        lacking = sorted(lacking, key=lambda name: name not in alike)
        hints = [
            quoted(name) + (f" (is it {quoted(alike[name])}?)" if name in alike else "")
            for name in lacking[:5]
        ]
        more = f" and {len(lacking) - 5} more" if len(lacking) > 5 else ""
        says = (
            f"{shown(path)} lacks {plural(len(lacking), 'column')} that the model needs: "
            f"{', '.join(hints)}{more}. "
        )
        if not (may_miss and found) or alike:
            raise InputError(f"{says}{AS_FITTED if alike else NAME_AS_FITTED}")
        warn(f"{says}What is expected, given all that was measured, stands in.")
    return found


def _require_column(path: str | PathLike[str], names: list[str], option: str, column: str) -> None:
    if column in names:
        return
    close = similar(column, names)
    hint = (
        f"did you mean {' or '.join(quoted(name) for name in close)}?"
        if close
        else f"its columns are {listed([quoted(name) for name in names], 10)}."
    )
    raise InputError(f"{shown(path)} has no column {quoted(column)} ({option}); {hint}")


def spelt_otherwise(lacking: Sequence[str], names: Collection[Any]) -> dict[str, str]:
    """Columns that a model needs and a table lacks, and the column of nearly the same name that was meant.

    One rule for tables in memory and in files: filling in would hide that the column is there. Where there
    are very many names, only case and surrounding blanks may differ.
    """
    others = [name for name in names if isinstance(name, str)]
    by_key = {name.strip().casefold(): name for name in others}
    few = len(lacking) * len(others) <= MOST_COMPARED
    found = {
        name: similar(name, others)[:1] if few else [*filter(None, [by_key.get(name.strip().casefold())])]
        for name in lacking
    }
    return {name: match[0] for name, match in found.items() if match}


def similar(name: str, names: Iterable[str]) -> list[str]:
    """Return the names that look like `name` or begin with it, whatever their case and surrounding blanks."""
    by_key: dict[str, str] = {}
    for candidate in names:
        by_key.setdefault(candidate.strip().casefold(), candidate)
    wanted = name.strip().casefold()
    near = difflib.get_close_matches(wanted, by_key, n=3, cutoff=NEAR)
    longer = [key for key in by_key if len(wanted) >= LETTERS_OF_BEGINNING and key.startswith(wanted)]
    return [by_key[key] for key in list(dict.fromkeys([*near, *longer]))[:3]]


# Do ids that repeat name patients? Not where what no patient changes differs within them.

# Of patients whose sex or year of birth was mistyped there are fewer.
SHARE_MISTYPED = 0.1
# Nobody is followed for longer.
LONGEST_YEARS = 30.0


def differing(of_id: Index, columns: Mapping[str, Callable[[], F64 | None]]) -> dict[str, int]:
    """Columns that cannot change in a patient and do so within ids (n,), with the number of those ids.

    Of each column its numbers (n,), NaN where missing; None of one that has none. Not where so few ids are
    concerned that it may be typing errors. Ages alone are no sign: children may be followed for so many
    months.
    """
    order = np.argsort(of_id, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(of_id[order]) != 0])
    n_repeated = int((np.diff(np.r_[starts, of_id.size]) > 1).sum())
    found: dict[str, int] = {}
    for name, numbers in columns.items():
        allowed = 0.0 if says_unchanging(name) else LONGEST_YEARS if says_age(name) else None
        values = None if allowed is None else numbers()
        if values is None:
            continue
        with np.errstate(invalid="ignore"):  # infinite ends
            spans = np.fmax.reduceat(values[order], starts) - np.fmin.reduceat(values[order], starts)
            n_ids = int((spans > allowed).sum())
        if n_ids > max(1.0, SHARE_MISTYPED * n_repeated):
            found[name] = n_ids
    return found if any(map(says_unchanging, found)) else {}


def unique_within(
    of_id: Index, columns: Mapping[str, Callable[[], F64 | None]], sites: Mapping[str, Index]
) -> str | None:
    """The first of the columns of ``sites``, codes (n,), within which each id (n,) can be one patient."""
    for name, codes in sites.items():
        if says_site(name) and not differing(of_id * (int(codes.max(initial=0)) + 2) + codes + 1, columns):
            return name
    return None


def in_words(differ: Mapping[str, int]) -> str:
    """How columns differ within ids, for a sentence that names the ids."""
    shown = listed([f"{quoted(one)} (in {count})" for one, count in differ.items()])
    return f"{shown} {'differs' if len(differ) == 1 else 'differ'} within ids, as in no patient"


def warn_of_no_patients(of_id: Index, table: F64, variables: tuple[Variable, ...]) -> None:
    """Say of ids (n,) that they name no patients, if the variables, a table (n, p), tell it."""
    columns: dict[str, Callable[[], F64 | None]] = {
        variable.name: partial(_column, table, place) for place, variable in enumerate(variables)
    }
    differ = differing(of_id, columns)
    if not differ:
        return
    codes = {
        one.name: np.where(np.isnan(table[:, place]), -1, table[:, place]).astype(np.intp)
        for place, one in enumerate(variables)
        if one.levels and (np.nan_to_num(table[:, place]) >= 0).all()
    }
    site = unique_within(of_id, columns, codes)
    make = f"ids made of it and {quoted(site)} together" if site else "ids of patients"
    rows, ids = plural(of_id.size, "row"), plural(int(of_id.max()) + 1, "id")
    warn(
        f"{rows} of {ids}, but {in_words(differ)}: several patients count as one in the resamples and in "
        f"standard errors. Give {make}"
    )


def _column(table: F64, place: int) -> F64:
    column: F64 = table[:, place]
    return column
