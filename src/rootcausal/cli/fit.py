"""``rootcausal fit``: a cohort in, a model out."""

from pathlib import Path
from typing import Annotated

import typer

from ..cohort_files import read_cohort
from ..wording import quoted, shown
from .arguments import Alpha, Backend, Cohort, Drop, DropMissing, IdColumn, Positive, Variant, check_output
from .console import say, status_if_slow
from .fitting import fit_cohort
from .summaries import made_with, provenance, say_order, say_removed


def _model_path(path: Path) -> Path:
    # The ending keeps a slip of the hand from replacing a table by a model.
    if path.suffix.lower() != ".rci":
        raise typer.BadParameter("the name of a model file ends in .rci, for example model.rci.")
    return path


def fit(
    cohort: Cohort,
    target: Annotated[str, typer.Option(help="Column with the diagnosis: two labels.")],
    out: Annotated[Path, typer.Option(callback=_model_path, help="Model file to write, .rci.")],
    positive: Positive = None,
    id_column: IdColumn = None,
    drop: Drop = None,
    drop_missing: DropMissing = False,
    alpha: Alpha = 0.2,
    variant: Variant = "local_plus",
    backend: Backend = "auto",
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
    say(f"cohort: {shown(cohort)}, {patients.X.num_rows} rows, {patients.X.num_columns} variables")
    say_removed(patients)
    model = fit_cohort(patients, target, positive, alpha, variant, backend)
    model.save(out)
    say_order(model)
    say(f"model written to {shown(out)}")
    say(provenance("fit", made_with(model)))
