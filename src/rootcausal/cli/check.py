"""``rootcausal check``: do the assumptions of the method hold for a cohort?"""

import json
import sys
from typing import Annotated

import typer

from ..wording import printable
from .arguments import CohortFile, Drop, DropMissing, IdColumn, Positive, Target
from .console import say
from .fit import read_labelled
from .summaries import made_with, patient_labels, provenance


def check(
    cohort: CohortFile,
    target: Target,
    positive: Positive = None,
    id_column: IdColumn = None,
    drop: Drop = None,
    drop_missing: DropMissing = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check whether the assumptions of the method hold for a cohort.

    Each finding is fine, doubtful or broken, with a number and what to do about it.
    The exit code is 0 whatever the findings are.

    rootcausal check cohort.csv --target died
    rootcausal check cohort.csv --target died --id patient --json > findings.json
    """
    patients, disease = read_labelled(cohort, target, positive, id_column, drop, drop_missing, quiet=as_json)

    from .. import RCI

    model = RCI(positive=disease.label, progress=sys.stderr.isatty()).fit(patients.X, patients.target)
    diagnosis = model.diagnose(patients.X, patients.target, patient_labels(patients))
    if as_json:
        # Escaped, so that a terminal shows hostile names and does not obey them.
        typer.echo(json.dumps(diagnosis.to_dict(), indent=1, default=str))
        return
    say()
    typer.echo(printable(diagnosis.to_text()))
    say()
    say(f"overall: {diagnosis.verdict}")
    say(provenance("check", made_with(model)))
