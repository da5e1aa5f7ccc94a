"""``rootcausal depart``: which mechanisms rows depart from, given a reference group."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ..files.tables import column_names, read_columns, refuse_streams
from ..files.writing import write_tables
from ..wording import amount, one_line, plural, quoted, share, shown
from .console import print_table, provenance, say, say_known, status_if_slow
from .knowing import KnowledgeOptions
from .options import (
    Drop,
    IdColumn,
    Kinds,
    Logs,
    ReadingOptions,
    check_output,
    chosen_kinds,
    table_path,
    with_options,
)

if TYPE_CHECKING:
    from ..estimators.outliers import RootCauseOutliers
    from ..explaining.departures import DepartureFrom, Departures

ROWS_SHOWN = 20


@with_options
def depart(
    *,
    reference: Annotated[
        Path,
        typer.Argument(
            help="Table of the reference group, or a model of one (.rci) that --save-model wrote."
        ),
    ],
    rows_file: Annotated[
        Path, typer.Argument(metavar="ROWS", help="Table of the rows to explain, with the same columns.")
    ],
    reading: ReadingOptions,
    id_column: IdColumn = None,
    group: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Explain all rows with the same cell here together, as one."),
    ] = None,
    drop: Drop = None,
    kind: Kinds = None,
    log: Logs = None,
    known: KnowledgeOptions,
    alpha: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Share of rows like the reference group that may be said to depart."
        ),
    ] = 0.05,
    top: Annotated[int, typer.Option(min=1, metavar="N", help="How many variables of each to print.")] = 3,
    save_model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the model of the reference group, .rci.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            callback=table_path,
            metavar="FILE",
            help="Write surprises and p-values of all rows and variables to this .csv or .parquet file.",
        ),
    ] = None,
) -> None:
    """Say which variables of each row are not what their causes explain, given a reference group.

    No outcome is asked: root causes are departures from the mechanisms of the
    reference group, also such that nobody had before. Of rows like those of the
    group, the share --alpha is said to depart; of others, nothing departs.

    rootcausal depart healthy.csv patients.csv --id patient
    rootcausal depart healthy.csv patients.csv --first age,sex --out table.csv
    rootcausal depart usual.csv incident.csv --group period
    rootcausal depart healthy.csv patients.csv --save-model healthy.rci
    rootcausal depart healthy.rci others.csv --id patient
    """
    if id_column is not None and group is not None:
        raise typer.BadParameter("a group is called by its own name: leave --id out.", param_hint="--group")
    for path in (out, save_model):
        if path is not None:
            check_output(path, reference, rows_file)
    if save_model is not None and save_model.suffix.lower() != ".rci":
        raise typer.BadParameter("the name of a model file ends in .rci.", param_hint="--save-model")
    named = reading.ids(id_column) if group is None else group
    if reference.suffix.lower() == ".rci":
        if known or drop or kind or log:
            raise typer.BadParameter("what is said of columns is part of the model: leave it out here.")
        model = _loaded(reference)
    else:
        with status_if_slow(f"learning from {quoted(reference)}"):
            model = _learned(reference, reading, drop or [], named, kind, log, known)
    rows = _read(rows_file, reading, named)
    asked = {"groups" if group is not None else "ids": named}
    found = model.explain(rows, alpha=alpha, **asked)
    if save_model is not None:
        model.save(save_model)
        say(f"model written to {shown(save_model)}")
    made = {"reference": quoted(reference.name), "rows": f"{model.provenance_['rows']:,}", "alpha": alpha}
    _say(found, top)
    if out is not None:
        write_tables({out: found.to_frame()}, {name: str(value) for name, value in made.items()})
        say(f"table written to {shown(out)}")
    say(provenance("depart", made))


def _loaded(path: Path) -> "RootCauseOutliers":
    from ..estimators.outliers import RootCauseOutliers

    refuse_streams(path)
    return RootCauseOutliers.load(path)


def _read(path: Path, reading: ReadingOptions, id_column: str | None) -> Any:
    """A table as the options say that it is written; an id column keeps its texts."""
    file = reading.table_at(path)
    return read_columns(file, column_names(file), id_column, reading.na or ())


def _learned(
    path: Path,
    reading: ReadingOptions,
    left_out: list[str],
    other: str | None,
    kind: list[str] | None,
    log: list[str] | None,
    known: KnowledgeOptions,
) -> "RootCauseOutliers":
    """A model of the rows of a table, without some columns, and the one that names rows of the ``other``."""
    from ..estimators.outliers import RootCauseOutliers
    from ..inputs.roles import columns_named

    known.refuse_what_does_not_go_together()
    table = _read(path, reading, None)
    names = list(table.column_names)
    gone = columns_named(names, left_out)
    unknown = [name for name in gone if name not in names and name != other]
    if unknown:
        raise InputError(f"--drop {quoted(unknown[0])} is no column of {shown(path)}.")
    kept = [name for name in names if name not in gone and name != other]
    if not kept:
        raise InputError(f"{shown(path)} has no column that is left as a variable.")
    knowledge: dict[str, Any] | None = known.among(kept) if known else None
    if knowledge is not None:
        say_known(knowledge)
    model = RootCauseOutliers(
        knowledge=knowledge, kinds=chosen_kinds(kind), log=columns_named(kept, log or ()) or None
    )
    return model.fit(table.select(kept))


def _say(found: "Departures", top: int) -> None:
    """Print what the first rows depart from."""
    some = found[:ROWS_SHOWN]
    what = "group" if found.grouped else "row"
    lines = []
    for row, causes in enumerate(some.root_causes(top)):
        told = bool(some.told[row])
        said = ", ".join(map(_one, causes)) or ("nothing departs" if told else "nothing was measured")
        lines.append((one_line(some.ids[row], 40), said))
    print_table((what, "departs from what its causes explain, the most surprising first"), lines)
    if len(found) > len(some):
        say(f"and {plural(len(found) - len(some), f'more {what}')}; --out table.csv writes them all")
    departing = int((~found.nothing_departs).sum())
    of_all = plural(len(found), what)
    say(
        f"{departing} of {of_all} depart from a reference group of {found.provenance['rows']:,} rows; of "
        f"its like, {share(found.alpha)} would be said to. A surprise is -log of the p-value, in nats: 3 is "
        "one in 20, 7 one in 1,000; a variable is named if that is rare also among all variables of the row."
    )


def _one(cause: "DepartureFrom") -> str:
    name = one_line(cause.variable, 40)
    if cause.level is not None:
        return f"{name} {one_line(cause.level, 30)} ({cause.surprise:.1f} nats)"
    if cause.value is None or cause.expected is None:
        return f"{name} ({cause.surprise:.1f} nats)"
    return f"{name} {amount(cause.value)}, expected {amount(cause.expected)} ({cause.surprise:.1f} nats)"
