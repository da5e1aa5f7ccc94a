"""Options that several commands take: their types and their lines in ``--help``."""

from pathlib import Path
from typing import Annotated, Literal

import typer


def _between_0_and_1(alpha: float) -> float:
    if not 0 < alpha <= 1:
        raise typer.BadParameter("must be above 0 and at most 1.")
    return alpha


CohortFile = Annotated[Path, typer.Argument(help="Table with one row per patient, .csv or .parquet.")]
TargetColumn = Annotated[str, typer.Option(help="Column with the diagnosis: two labels.")]
Positive = Annotated[
    str | None,
    typer.Option(help="Label that means disease. Not needed for 0/1, true/false, yes/no or control/case."),
]
IdColumn = Annotated[str | None, typer.Option("--id", help="Column with patient ids; not a variable.")]
Drop = Annotated[list[str] | None, typer.Option(help="Column to leave out; can be given many times.")]
DropMissing = Annotated[bool, typer.Option("--drop-missing", help="Leave out rows with missing values.")]
Alpha = Annotated[
    float, typer.Option(callback=_between_0_and_1, help="Level of the test that leaves variables out.")
]
VariantName = Annotated[
    Literal["original", "plus", "local", "local_plus"],
    typer.Option(help="Which of the paper's four searches."),
]
AttributionName = Annotated[
    Literal["sharp", "paper"], typer.Option(help="How shocks become log-odds; paper: as published.")
]
BackendName = Annotated[Literal["auto", "numpy", "numba", "cupy"], typer.Option(help="What does the sums.")]
Resamples = Annotated[
    int | None, typer.Option("--bootstrap", min=2, help="Resamples, for intervals; 200 is usual.")
]
Jobs = Annotated[
    int | None, typer.Option(help="Resamples to learn from at once; -1 is one a core.", show_default="1")
]
