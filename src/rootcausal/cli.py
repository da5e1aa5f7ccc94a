"""The command line: ``rootcausal demo | simulate | fit | explain``.

Heavy libraries are imported inside the commands, so that ``--help`` answers at once.
"""

import errno
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer
from typer.core import TyperGroup

from rootcausal.cohort_files import (
    Patients,
    check_can_write,
    choose_disease,
    listed,
    one_line,
    printable,
    quoted,
    read_cohort,
    read_new_patients,
    shown,
    table_format,
    write_tables,
)
from rootcausal.errors import InputError, MissingExtraError
from rootcausal.version import __version__

if TYPE_CHECKING:
    from rootcausal import RCI
    from rootcausal.explanation import Explanation

EXIT_UNEXPECTED, EXIT_USAGE, EXIT_BAD_INPUT, EXIT_CANNOT_WRITE, EXIT_INTERRUPTED = 1, 2, 3, 4, 130
SECONDS_BEFORE_STATUS = 2.0
PATIENTS_SHOWN = 10
VARIABLES_SHOWN = 25

EPILOG = (
    "Exit codes: 0 done, 1 unexpected failure, 2 wrong usage, 3 input that cannot be used, "
    "4 output that cannot be written, 130 interrupted with Ctrl-C."
)


class _PlainErrors(TyperGroup):
    """Runs a command; what is nobody's bug ends as one line on stderr and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        with _warnings_as_lines():
            try:
                return super().invoke(ctx)
            except InputError as error:
                _fail(str(error), EXIT_BAD_INPUT)
            except MissingExtraError as error:
                _fail(str(error), EXIT_USAGE)
            except MemoryError:
                _fail("there is not enough memory for this table.", EXIT_UNEXPECTED)
            except OSError as error:
                if error.errno == errno.EPIPE:
                    raise
                # Reading turns its own OSError into InputError: what is left comes from writing.
                _fail(error.strerror or str(error), EXIT_CANNOT_WRITE)
            except KeyboardInterrupt:
                _fail("interrupted; unfinished files were removed.", EXIT_INTERRUPTED)


app = typer.Typer(
    cls=_PlainErrors,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,  # its tracebacks would print patient data
    epilog=EPILOG,
)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character of a column name must not end the work.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="rootcausal")


# --- what the commands share ------------------------------------------------------------------------


def _fail(message: str, code: int) -> NoReturn:
    typer.echo(f"error: {printable(message)}", err=True)
    raise typer.Exit(code)


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        typer.echo(f"warning: {printable(' '.join(str(message).split()))}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


@contextmanager
def _status_if_slow(text: str) -> Iterator[None]:
    """Show what is being done once it has taken two seconds."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.text import Text

    status = Console(stderr=True).status(Text(text))
    timer = threading.Timer(SECONDS_BEFORE_STATUS, status.start)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()


def _say(text: str = "") -> None:
    typer.echo(printable(text))


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"rootcausal {__version__}")
        raise typer.Exit


def _between_0_and_1(alpha: float) -> float:
    if not 0 < alpha <= 1:
        raise typer.BadParameter("must be above 0 and at most 1.")
    return alpha


def _table_path(path: Path | None) -> Path | None:
    if path is not None:
        try:
            table_format(path)
        except InputError as error:
            raise typer.BadParameter(str(error)) from None
    return path


def _model_path(path: Path) -> Path:
    # The ending keeps a slip of the hand from replacing a table by a model.
    if path.suffix.lower() != ".rci":
        raise typer.BadParameter("the name of a model file ends in .rci, for example model.rci.")
    return path


def _check_output(path: Path, *others: Path) -> None:
    """Refuse, before any work, an output that cannot be written or that is one of the other files."""
    for other in others:
        if os.path.realpath(path) == os.path.realpath(other):
            raise typer.BadParameter(f"{shown(path)} would be written over by --out: choose another name.")
    check_can_write(path)


def _made_with(model: "RCI") -> dict[str, Any]:
    parameters: dict[str, Any] = model.provenance_["parameters"]
    return {**parameters, "table": model.provenance_["table"]}


def _provenance(command: str, details: dict[str, Any]) -> str:
    settings = ", ".join(f"{name}={value}" for name, value in details.items())
    return f"made by rootcausal {__version__} {command}: {settings}"


# --- the commands -----------------------------------------------------------------------------------


@app.callback()
def _rootcausal(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find, for each patient, the variables whose shocks led to the diagnosis (Root Causal Inference).

    rootcausal demo                                        a first look
    rootcausal simulate --out cohort.csv                   a cohort to try
    rootcausal fit cohort.csv --target d --out model.rci   learn a model
    rootcausal explain model.rci cohort.csv                root causes

    Tables are CSV (UTF-8, commas) or Parquet. Nothing leaves this machine.
    """


@app.command()
def fit(
    cohort: Annotated[Path, typer.Argument(help="Table with one row per patient, .csv or .parquet.")],
    target: Annotated[str, typer.Option(help="Column with the diagnosis: two labels.")],
    out: Annotated[Path, typer.Option(callback=_model_path, help="Model file to write, .rci.")],
    positive: Annotated[
        str | None, typer.Option(help="Label that means disease. Not needed for 0/1, true/false and yes/no.")
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="Column with patient ids; not a variable.")
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="Column to leave out; can be given many times.")
    ] = None,
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Leave out rows with missing values.")
    ] = False,
    alpha: Annotated[
        float, typer.Option(callback=_between_0_and_1, help="Level of the test that leaves variables out.")
    ] = 0.2,
    variant: Annotated[
        Literal["original", "plus", "local", "local_plus"],
        typer.Option(help="Which of the paper's four searches."),
    ] = "local_plus",
    backend: Annotated[Literal["auto", "numpy", "numba"], typer.Option(help="What does the sums.")] = "auto",
) -> None:
    """Learn from a cohort which variables' shocks lead to the disease, and write a model.

    Every column is a variable, except the target, the ids and the dropped ones.

    rootcausal fit cohort.csv --target died --out model.rci
    rootcausal fit cohort.csv --target died --id patient --out model.rci
    rootcausal fit labs.parquet --target state --positive ill --out m.rci
    rootcausal fit labs.csv --target ill --drop ward --drop-missing --out m.rci
    """
    _check_output(out, cohort)
    with _status_if_slow(f"reading {quoted(cohort)}"):
        patients = read_cohort(
            cohort, target, id_column=id_column, drop=drop or (), drop_missing=drop_missing
        )
    assert patients.target is not None
    disease = choose_disease(patients.target, target, positive)
    n_rows, n_columns = patients.X.num_rows, patients.X.num_columns
    _say(f"cohort: {shown(cohort)}, {n_rows} rows, {n_columns} variables")
    _say_removed(patients)
    _say(f"disease: {one_line(target)} = {one_line(disease.text)} ({disease.n_cases} of {n_rows} patients)")

    from rootcausal import RCI

    model = RCI(
        alpha=alpha, variant=variant, backend=backend, positive=disease.label, progress=sys.stderr.isatty()
    ).fit(patients.X, patients.target)
    model.save(out)
    _say_order(model)
    _say(f"model written to {shown(out)}")
    _say(_provenance("fit", _made_with(model)))


@app.command()
def explain(
    model_file: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Model file written by rootcausal fit.")
    ],
    patients_file: Annotated[
        Path, typer.Argument(metavar="PATIENTS", help="Table of patients, .csv or .parquet.")
    ],
    id_column: Annotated[str | None, typer.Option("--id", help="Column with patient ids.")] = None,
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Leave out rows with missing values.")
    ] = False,
    top: Annotated[
        int | None, typer.Option(min=1, show_default="3", help="Root causes to print for each patient.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(callback=_table_path, help="Write all scores to this .csv or .parquet file."),
    ] = None,
) -> None:
    """Rank the root causes of each patient, and give the risk.

    Columns are matched by name, in any order; columns that the model does not
    know are not read.

    With --out, the table has one row per patient: the id (or the row number),
    risk (a probability), log_odds, and for each variable the log-odds that the
    patient's shock on it adds (its Shapley value). In a CSV file, a name or id
    that a spreadsheet would run as a formula gets a leading apostrophe; numbers
    read back exactly as computed.

    rootcausal explain model.rci new.csv --id patient
    rootcausal explain model.rci new.csv --id patient --out scores.csv
    rootcausal explain model.rci new.csv --drop-missing --out scores.parquet
    """
    if out is not None:
        if top is not None:
            raise typer.BadParameter(
                "--top is for the printed table; --out writes every variable.", param_hint="--top"
            )
        _check_output(out, model_file, patients_file)
    model = _load(model_file)
    with _status_if_slow(f"reading {quoted(patients_file)}"):
        patients = read_new_patients(
            patients_file, list(model.feature_names_in_), id_column=id_column, drop_missing=drop_missing
        )
    _say_removed(patients)
    if out is None:
        _print_root_causes(
            patients, model.explain(patients.X.slice(0, PATIENTS_SHOWN)), 3 if top is None else top
        )
    else:
        explanation = model.explain(patients.X)
        _write_scores(out, patients, explanation, id_column, {"model": model_file.name, **_made_with(model)})
    _say(_provenance("explain", {"model": quoted(model_file.name), **_made_with(model)}))


@app.command()
def simulate(
    out: Annotated[Path, typer.Option(callback=_table_path, help="Cohort to write, .csv or .parquet.")],
    rows: Annotated[int, typer.Option(min=4, help="Number of patients.")] = 1000,
    variables: Annotated[
        int, typer.Option(min=2, help="Number of variables, the diagnosis d among them.")
    ] = 10,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same cohort.")] = 0,
    truth: Annotated[
        Path | None,
        typer.Option(callback=_table_path, help="Also write the true Shapley values to this file."),
    ] = None,
) -> None:
    """Draw a cohort from the paper's generator, with the diagnosis in column d.

    rootcausal simulate --out cohort.csv
    rootcausal simulate --rows 5000 --variables 20 --out cohort.parquet
    rootcausal simulate --seed 1 --out cohort.csv --truth truth.csv
    """
    import pyarrow as pa

    from rootcausal.data import simulate as draw

    _check_output(out)
    if truth is not None:
        _check_output(truth, out)
    details = {"rows": rows, "variables": variables, "seed": seed}
    with _status_if_slow("drawing and writing the cohort"):
        cohort = draw(n_samples=rows, n_variables=variables, random_state=seed)
        names = cohort.feature_names
        tables: dict[Path, Any] = {
            out: pa.table({**dict(zip(names, cohort.X.T, strict=True)), "d": cohort.y})
        }
        if truth is not None:
            tables[truth] = pa.table(dict(zip(names, cohort.true_shapley.T, strict=True)))
        write_tables(tables, {"version": __version__, "command": "simulate", **details})
    _say(f"cohort written to {shown(out)}: {rows} rows, {len(names)} variables")
    _say(f"disease: d = 1 ({int(cohort.y.sum())} of {rows} patients)")
    if truth is not None:
        _say(f"true Shapley values (log-odds) written to {shown(truth)}")
    _say(_provenance("simulate", details))


@app.command()
def demo() -> None:
    """Fit a cohort that comes with the package, and explain three of its patients.

    rootcausal demo
    """
    import numpy as np
    import pyarrow as pa

    from rootcausal import RCI
    from rootcausal.data import load_pbc

    cohort = load_pbc()
    table = pa.table(dict(zip(cohort.feature_names, cohort.X.T, strict=True)))
    model = RCI(progress=sys.stderr.isatty()).fit(table, cohort.y)
    explanation = model.explain(table)
    _say(f"{cohort.description}.")
    _say(f"disease: {cohort.target_name} = 1 ({int(cohort.y.sum())} of {len(cohort.y)} patients)")
    _say_order(model)
    by_risk = np.argsort(explanation.log_odds, kind="stable")
    chosen = {"highest": by_risk[-1], "median": by_risk[len(by_risk) // 2], "lowest": by_risk[0]}
    for word, row in chosen.items():
        _say()
        _describe_patient(
            f"Patient {cohort.ids[row]}, the {word} risk of the cohort", explanation, int(row), cohort.units
        )
    _say()
    _say_meaning(explanation.base_value)
    _say(_provenance("demo", _made_with(model)))


# --- words and tables -------------------------------------------------------------------------------


def _load(path: Path) -> "RCI":
    from rootcausal import RCI

    try:
        model = RCI.load(path)
    except OSError as error:
        raise InputError(f"cannot read the model {shown(path)}: {error.strerror or error}.") from None
    if not hasattr(model, "feature_names_in_"):
        raise InputError(
            f"the model {shown(path)} was fitted on columns without names: fit it on a named table."
        )
    return model


def _say_removed(patients: Patients) -> None:
    if patients.n_removed:
        before = patients.n_removed + patients.X.num_rows
        _say(f"--drop-missing left out {patients.n_removed} of {before} rows because a value was missing")


def _say_order(model: "RCI") -> None:
    order, names = [int(k) for k in model.causal_order_], [str(name) for name in model.feature_names_in_]
    if not order:
        _say("no variable depends on the disease: all Shapley values are zero")
        return
    _say("causal order, and the log-odds of disease that a shock of one standard deviation adds:")
    first = {k: one_line(names[k], 40) for k in order[:VARIABLES_SHOWN]}
    width = max(len(name) for name in first.values())
    for place, (k, name) in enumerate(first.items(), start=1):
        _say(f"  {place:>3}. {name:<{width}}  {model.coef_[k]:+.3f}")
    if len(order) > VARIABLES_SHOWN:
        _say(f"       and {len(order) - VARIABLES_SHOWN} more variables")
    left_out = [one_line(names[k], 40) for k in sorted(set(range(len(names))) - set(order))]
    if left_out:
        _say(f"left out, no sign of a dependence on the disease: {listed(left_out, 10)}")


def _say_meaning(base_value: float) -> None:
    _say(
        "What the numbers mean: risk is the probability of disease under the model. A root cause is a\n"
        "variable whose own shock, the part of its value that its causes do not explain, raises this\n"
        "patient's log-odds of disease; the largest comes first. Log-odds of +0.69 double the odds, and\n"
        f"-0.69 halve them. The base value, {base_value:+.2f}, is the log-odds of a patient whose shocks are all\n"
        "average; it is not the prevalence. The base value and what all variables add make the log-odds\n"
        "of the patient."
    )


def _percent(risk: float) -> str:
    """Return a risk without calling it certain where rounding would."""
    if risk < 0.01:
        return "under 1%"
    return "over 99%" if risk > 0.99 else f"{risk:.0%}"


def _describe_patient(title: str, explanation: "Explanation", row: int, units: dict[str, str]) -> None:
    def line(name: str, measured: str, shock: str, log_odds: str) -> None:
        _say(f"  {name:<30} {measured:<16} {shock:<10} {log_odds:>8}")

    causes = explanation.root_causes(top=3)[row]
    _say(f"{title}: {_percent(explanation.probability[row])}")
    line("", "measured", "own shock", "log-odds")
    line("base value", "", "", f"{explanation.base_value:+.2f}")
    for place, cause in enumerate(causes, start=1):
        measured = f"{cause.value:.4g} {units[cause.variable]}"
        line(
            f"root cause {place}: {cause.variable}",
            measured,
            f"{cause.error:+.1f} SD",
            f"{cause.shapley:+.2f}",
        )
    if not causes:
        line("no root cause", "", "", "")
    rest = explanation.values[row].sum() - sum(cause.shapley for cause in causes)
    line("all other variables together", "", "", f"{rest:+.2f}")
    line("this patient", "", "", f"{explanation.log_odds[row]:+.2f}")


def _print_root_causes(patients: Patients, explanation: "Explanation", top: int) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(
        "patient", "risk", "log-odds", "root causes, with the log-odds that each adds", box=box.SIMPLE
    )
    for row, causes in enumerate(explanation.root_causes(top=top)):
        label = patients.ids[row] if patients.ids is not None else ""
        table.add_row(
            one_line(label, 40) or f"row {patients.row_numbers[row]}",
            _percent(explanation.probability[row]),
            f"{explanation.log_odds[row]:+.2f}",
            ", ".join(f"{one_line(c.variable, 40)} {c.shapley:+.2f}" for c in causes)
            or "none: no shock raises the risk",
        )
    width = None if sys.stdout.isatty() else 110
    # Names are data: nothing in them may act as markup or turn into an emoji.
    Console(markup=False, emoji=False, highlight=False, width=width).print(table)
    n_more = patients.X.num_rows - PATIENTS_SHOWN
    if n_more > 0:
        _say(f"and {n_more} more patients; --out scores.csv writes them all")
    _say_meaning(explanation.base_value)


def _write_scores(
    out: Path,
    patients: Patients,
    explanation: "Explanation",
    id_column: str | None,
    details: dict[str, Any],
) -> None:
    import pyarrow as pa

    scores = {str(name): explanation.values[:, k] for k, name in enumerate(explanation.feature_names)}
    first: dict[str, Any] = {}
    for name, column in (
        ("row", patients.row_numbers)
        if id_column is None
        else (id_column, pa.array(patients.ids, pa.string())),
        ("risk", explanation.probability),
        ("log_odds", explanation.log_odds),
    ):
        # A variable of the same name keeps it; the column beside it gives way.
        free = name
        while free in scores or free in first:
            free += "_"
        first[free] = column
    base_value = float(explanation.base_value)
    made_by = {"version": __version__, "command": "explain", "base_value": base_value, **details}
    with _status_if_slow(f"writing {quoted(out)}"):
        write_tables({out: pa.table(first | scores)}, made_by)
    _say(f"scores of {patients.X.num_rows} patients written to {shown(out)}")
    _say(f"columns: {listed([quoted(name) for name in first])}, then the log-odds that each variable adds")
    _say(f"base value: {base_value:+.4f}, the log-odds when all shocks are average; it is not the prevalence")
