"""``rootcausal fit``: a cohort in, a model out."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..cohort_files import Patients, read_cohort
from ..target_labels import Disease, choose_disease
from ..wording import one_line, quoted, shown
from .arguments import (
    Alpha,
    Attribution,
    Backend,
    CohortFile,
    Drop,
    DropMissing,
    IdColumn,
    Jobs,
    Positive,
    Resamples,
    Target,
    Variant,
    check_output,
)
from .console import say, status_if_slow
from .summaries import made_with, provenance, say_order, say_removed


def _model_path(path: Path) -> Path:
    # The ending keeps a slip of the hand from replacing a table by a model.
    if path.suffix.lower() != ".rci":
        raise typer.BadParameter("the name of a model file ends in .rci, for example model.rci.")
    return path


def read_labelled(
    cohort: Path,
    target: str,
    positive: str | None,
    id_column: str | None,
    drop: list[str] | None,
    drop_missing: bool,
    quiet: bool = False,
) -> tuple[Patients, Disease]:
    """Read a cohort with its diagnosis, and say what was read."""
    with status_if_slow(f"reading {quoted(cohort)}"):
        patients = read_cohort(
            cohort, target, id_column=id_column, drop=drop or (), drop_missing=drop_missing
        )
    assert patients.target is not None
    disease = choose_disease(patients.target, target, positive)
    if not quiet:
        n_rows, n_columns = patients.X.num_rows, patients.X.num_columns
        cases = f"({disease.n_cases} of {n_rows} patients)"
        say(f"cohort: {shown(cohort)}, {n_rows} rows, {n_columns} variables")
        say_removed(patients)
        say(f"disease: {one_line(target)} = {one_line(disease.text)} {cases}")
    return patients, disease


def fit(
    cohort: CohortFile,
    target: Target,
    out: Annotated[Path, typer.Option(callback=_model_path, help="Model file to write, .rci.")],
    positive: Positive = None,
    id_column: IdColumn = None,
    drop: Drop = None,
    drop_missing: DropMissing = False,
    alpha: Alpha = 0.2,
    variant: Variant = "local_plus",
    backend: Backend = "auto",
    attribution: Attribution = "sharp",
    bootstrap: Resamples = None,
    jobs: Jobs = None,
    resume: Annotated[
        Path | None, typer.Option(help="Keep finished resamples in this .npz file, and go on from it.")
    ] = None,
) -> None:
    """Learn from a cohort which variables' shocks lead to the disease, and write a model.

    Every column is a variable, except the target, the ids and the dropped ones.

    rootcausal fit cohort.csv --target died --out model.rci
    rootcausal fit cohort.csv --target died --id patient --out model.rci
    rootcausal fit labs.parquet --target state --positive ill --out m.rci
    rootcausal fit labs.csv --target ill --drop ward --drop-missing --out m.rci
    rootcausal fit cohort.csv --target died --bootstrap 200 --out model.rci
    """
    _check_bootstrap(bootstrap, jobs, resume, cohort, out)
    check_output(out, cohort)
    patients, disease = read_labelled(cohort, target, positive, id_column, drop, drop_missing)

    from .. import RCI

    progress = sys.stderr.isatty()
    model = RCI(
        alpha=alpha,
        variant=variant,
        attribution=attribution,
        backend=backend,
        positive=disease.label,
        progress=progress,
    ).fit(patients.X, patients.target)
    if bootstrap is not None:
        model.bootstrap(bootstrap, n_jobs=jobs, progress=progress, resume=resume)
    model.save(out)
    say_order(model)
    say(f"model written to {shown(out)}")
    say(provenance("fit", made_with(model)))


def _check_bootstrap(
    bootstrap: int | None, jobs: int | None, resume: Path | None, cohort: Path, out: Path
) -> None:
    for option, value in (("--jobs", jobs), ("--resume", resume)):
        if bootstrap is None and value is not None:
            raise typer.BadParameter(f"{option} needs --bootstrap N.", param_hint=option)
    if jobs == 0:
        raise typer.BadParameter("must be at least 1, or -1 for one a core.", param_hint="--jobs")
    if resume is not None:
        if resume.suffix.lower() != ".npz":
            raise typer.BadParameter("the name of this file ends in .npz.", param_hint="--resume")
        check_output(resume, cohort, out)
