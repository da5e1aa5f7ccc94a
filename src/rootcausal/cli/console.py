"""What commands print: lines that are safe on a terminal, and what several say of rows, models and risks."""

import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import typer

from ..version import __version__
from ..wording import listed, one_line, printable

if TYPE_CHECKING:
    from ..estimator import RCI
    from ..inputs.from_file import Patients
    from ..inputs.target import Disease
    from ..provenance import LeftOut

VARIABLES_SHOWN = 25
SECONDS_BEFORE_STATUS = 2.0


def say(text: str = "") -> None:
    """Print a line whose control characters cannot act on the terminal."""
    typer.echo(printable(text))


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print each UserWarning as one line on stderr, and no place in the code."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        typer.echo(f"warning: {printable(' '.join(str(message).split()))}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], width: int = 110) -> None:
    """Print a table; its cells are data, in which nothing may act as markup or turn into an emoji.

    It is as wide as the terminal, or ``width`` where there is none.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(*header, box=box.SIMPLE)
    for row in rows:
        table.add_row(*row)
    fixed = None if sys.stdout.isatty() else width
    Console(markup=False, emoji=False, highlight=False, width=fixed).print(table)


@contextmanager
def status_if_slow(text: str) -> Iterator[None]:
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


def say_cohort(where: str, n_rows: int, n_columns: int) -> None:
    """Say what was read."""
    say(f"cohort: {where}, {n_rows} rows, {n_columns} variables")


def say_disease(target: str, disease: "Disease", n_rows: int, prevalence: float | None) -> None:
    """Say which label is the disease, how many have it, and what to ask where that number looks chosen."""
    from ..inputs.sampling import chosen_ratio

    say(disease_line(target, disease.text, disease.n_cases, n_rows, prevalence))
    ratio = chosen_ratio(disease.n_cases, n_rows)
    if ratio is not None and prevalence is None:
        say(
            f"cases and controls are {ratio}: if they were sampled apart (a case-control study), say with "
            "--prevalence how common the disease is in the population (0.02 for 2%), or the answer is "
            "biased; patients who came as they came need nothing"
        )


def disease_line(target: str, label: str, n_cases: int, n_rows: int, prevalence: float | None) -> str:
    """Return how common the disease is in the table and, where that is known, in the population."""
    line = f"disease: {one_line(target)} = {one_line(label)} ({n_cases} of {n_rows} patients)"
    return line if prevalence is None else f"{line}; {share(prevalence)} in the population"


def removed(n_removed: int, n_left: int) -> str:
    """Return how many rows ``--drop-missing`` left out."""
    return f"--drop-missing left out {n_removed} of {n_removed + n_left} rows because a value was missing"


def say_removed(n_removed: int, n_left: int) -> None:
    """Say how many rows ``--drop-missing`` left out, if any."""
    if n_removed:
        say(removed(n_removed, n_left))


def say_order(model: "RCI") -> None:
    """Print the causal order with its coefficients, and the variables left out."""
    from ..provenance import left_out

    order, names = [int(k) for k in model.causal_order_], [str(name) for name in model.feature_names_in_]
    if not order:
        say("no variable depends on the disease: all Shapley values are zero")
        return
    say("causal order, and the log-odds of disease that a shock of one standard deviation adds:")
    first = {k: one_line(names[k], 40) for k in order[:VARIABLES_SHOWN]}
    width = max(len(name) for name in first.values())
    for place, (k, name) in enumerate(first.items(), start=1):
        say(f"  {place:>3}. {name:<{width}}  {model.coef_[k]:+.3f}")
    if len(order) > VARIABLES_SHOWN:
        say(f"       and {len(order) - VARIABLES_SHOWN} more variables")
    _say_left_out(left_out(names, order, model.provenance_))


def _say_left_out(variables: "LeftOut") -> None:
    independent = "no sign of a dependence on the disease"
    if variables.adds_nothing is None:
        independent += ", or none once earlier variables are known"
    reasons = {
        independent: variables.independent,
        "associated with the disease, but adding nothing once earlier variables are known": (
            variables.adds_nothing
        ),
        "wholly explained by earlier variables": variables.exhausted,
    }
    for reason, names in reasons.items():
        if names:
            say(f"left out, {reason}: {listed([one_line(name, 40) for name in names], 10)}")


def say_meaning(base_value: float, prevalence: float | None = None) -> None:
    """Explain the printed numbers."""
    say(
        "What the numbers mean: risk is the probability of disease under the model. A root cause is a\n"
        "variable whose own shock, the part of its value that its causes do not explain, raises this\n"
        "patient's log-odds of disease; the largest comes first. +0.69 doubles the odds, -0.69 halves them.\n"
        f"The base value, {base_value:+.2f}, is the log-odds of a patient whose shocks are all average;\n"
        "it is not the prevalence. The base value and what all variables add make the patient's log-odds."
    )
    if prevalence is not None:
        say_population(prevalence)


def say_population(prevalence: float) -> None:
    """Say whom risks are about, where cases and controls were sampled apart."""
    say(f"Risks and base value are those in a population of which {share(prevalence)} have the disease.")


def patient_label(patients: "Patients", row: int) -> str:
    """Return what to call a patient on screen: the id, or the row number."""
    label = one_line(patients.ids[row], 40) if patients.ids is not None else ""
    return label or f"row {patients.row_numbers[row]}"


def patient_labels(patients: "Patients") -> list[str]:
    """Return what to call all patients: their ids or, where there is none, their row numbers in the file."""
    rows = [f"row {number}" for number in patients.row_numbers]
    if patients.ids is None:
        return rows
    return [text if text.strip() else row for text, row in zip(patients.ids, rows, strict=True)]


def percent(risk: float, prevalence: float | None = None) -> str:
    """Return a risk without calling it certain where rounding would; finer where the disease is rare."""
    if risk < 0.01:
        return "under 1%" if prevalence is None else "under 0.01%" if risk < 0.0001 else f"{100 * risk:.1g}%"
    return "over 99%" if risk > 0.99 else f"{risk:.0%}"


def share(prevalence: float) -> str:
    """Return a share that the user gave, with the digits given."""
    return f"{100 * prevalence:.10g}%"


def made_with(model: "RCI") -> dict[str, Any]:
    """Return the settings of a model, for the provenance of a result."""
    from ..provenance import backend_used

    parameters = cast("dict[str, Any]", model.provenance_["parameters"])
    return {**parameters, "backend": backend_used(model.provenance_)}


def provenance(command: str, details: dict[str, Any]) -> str:
    """Return the line that says how a result was made."""
    settings = ", ".join(f"{name}={value}" for name, value in details.items())
    return f"made by rootcausal {__version__} {command}: {settings}"
