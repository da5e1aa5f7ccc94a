"""``rootcausal fit``: a cohort in, a model out."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from ..cohort_files import read_cohort
from ..target_labels import choose_disease
from ..wording import one_line, quoted, shown
from .arguments import DropMissing, check_output
from .console import say, status_if_slow
from .summaries import made_with, provenance, say_order, say_removed


def _between_0_and_1(alpha: float) -> float:
    if not 0 < alpha <= 1:
        raise typer.BadParameter("must be above 0 and at most 1.")
    return alpha


def _model_path(path: Path) -> Path:
    # The ending keeps a slip of the hand from replacing a table by a model.
    if path.suffix.lower() != ".rci":
        raise typer.BadParameter("the name of a model file ends in .rci, for example model.rci.")
    return path


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
    drop_missing: DropMissing = False,
    alpha: Annotated[
        float, typer.Option(callback=_between_0_and_1, help="Level of the test that leaves variables out.")
    ] = 0.2,
    variant: Annotated[
        Literal["original", "plus", "local", "local_plus"],
        typer.Option(help="Which of the paper's four searches."),
    ] = "local_plus",
    backend: Annotated[
        Literal["auto", "numpy", "numba", "cupy"], typer.Option(help="What does the sums.")
    ] = "auto",
) -> None:
    """Learn from a cohort which variables' shocks lead to the disease, and write a model.

    Every column is a variable, except the target, the ids and the dropped ones.

    rootcausal fit cohort.csv --target died --out model.rci
    rootcausal fit cohort.csv --target died --id patient --out model.rci
    rootcausal fit labs.parquet --target state --positive ill --out m.rci
    rootcausal fit labs.csv --target ill --drop ward --drop-missing --out m.rci
    """
    check_output(out, cohort)
    with status_if_slow(f"reading {quoted(cohort)}"):
        patients = read_cohort(
            cohort, target, id_column=id_column, drop=drop or (), drop_missing=drop_missing
        )
    assert patients.target is not None
    disease = choose_disease(patients.target, target, positive)
    n_rows, n_columns = patients.X.num_rows, patients.X.num_columns
    say(f"cohort: {shown(cohort)}, {n_rows} rows, {n_columns} variables")
    say_removed(patients)
    say(f"disease: {one_line(target)} = {one_line(disease.text)} ({disease.n_cases} of {n_rows} patients)")

    from .. import RCI

    model = RCI(
        alpha=alpha, variant=variant, backend=backend, positive=disease.label, progress=sys.stderr.isatty()
    ).fit(patients.X, patients.target)
    model.save(out)
    say_order(model)
    say(f"model written to {shown(out)}")
    say(provenance("fit", made_with(model)))
