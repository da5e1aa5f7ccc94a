"""``rootcausal check``: do the assumptions of the method hold for a cohort?"""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from .console import made_with, patient_labels, provenance, say, say_weights, split_in_halves
from .knowing import KnowledgeOptions
from .models import learn
from .options import (
    CohortFile,
    MechanismName,
    ModelOptions,
    OutcomeOptions,
    TableOptions,
    roles_of,
    with_options,
)

if TYPE_CHECKING:
    from ..estimators.base import Estimator

# Pairs of columns that a search compared, times rows, above which five more searches are not worth the wait:
# it took about three seconds on one core.
MOST_COMPARED = 1e9


@with_options
def check(
    *,
    cohort: CohortFile,
    table: TableOptions,
    outcome: OutcomeOptions,
    known: KnowledgeOptions,
    mechanism: MechanismName = "auto",
    halves: Annotated[
        bool,
        typer.Option(
            "--halves", help="Also ask whether two halves of the cohort agree as often as they should."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check whether the assumptions of the method hold for a cohort.

    Each check asks one question, and answers with a verdict, a number, and what
    to do about it. What all of it comes to is said first, then the worst:

    broken       an assumption fails by far: do not read what is named
    doubtful     it may fail: go on with this limit in mind
    cannot tell  these patients would not show a hard failure: limit in mind
    fine         nothing was found: go on

    The last lines say how well the model tells the outcome of patients whom it
    has not seen (cross-validated). --json has all numbers and sentences. The exit
    code is 0 whatever the findings are. rootcausal fit makes the same checks, and
    keeps what they find in the model file.

    rootcausal check cohort.csv --target died
    rootcausal check cohort.csv --time futime --event died
    rootcausal check cohort.csv --target died --id patient --json > findings.json
    rootcausal check study.csv --target case --prevalence 0.02
    rootcausal check cohort.csv --target died --first age,sex
    """
    roles = roles_of(table, outcome, known)
    settings = {**table.settings(), **ModelOptions(mechanism=mechanism).settings()}
    model, patients, chosen = learn(table.table_at(cohort), roles, known, settings, quiet=as_json)
    if not as_json:
        say_weights(model)
    knows = _cross_validated(model)
    if halves:
        split_in_halves(model)
    happened, ids = chosen.known(patients.target), patient_labels(patients)
    diagnosis = model._diagnose(patients.X, happened, ids, patients.weights)
    if as_json:
        # Escaped, so that a terminal shows hostile names and does not obey them.
        typer.echo(json.dumps(diagnosis.to_dict(), indent=1, default=str))
        return
    say()
    say(diagnosis.to_text())
    say()
    say(knows)
    say(provenance("check", made_with(model)))


def _cross_validated(model: "Estimator") -> str:
    """Return what it knows of patients whom it has not seen, or why not; the model remembers the figures."""
    if model.provenance_["pairs_evaluated"] * model.provenance_["rows"] > MOST_COMPARED:
        return (
            "what the model knows of patients whom it has not seen was not looked at: with so many columns "
            "each of five more fits takes as long as the first (in Python: model.cross_validate())"
        )
    try:
        figures = model.cross_validate()
    except InputError as error:
        return f"what the model knows of patients whom it has not seen cannot be told: {error}"
    from ..outcomes import OUTCOMES

    said = []
    for name, words in OUTCOMES[model._model.attribution.outcome].said_of.items():
        if name in figures:
            chance = [figures[beside]] if (beside := f"{name}_without_variables") in figures else []
            said.append(words.format(max(figures[name], 0.0), *chance))
    return f"of patients whom the model has not seen ({figures['folds']} folds): {'; '.join(said)}"
