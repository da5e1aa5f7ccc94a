"""``rootcausal check``: do the assumptions of the method hold for a cohort?"""

import json
from typing import Annotated

import typer

from .console import made_with, patient_labels, provenance, say
from .cross_validated import cross_validated
from .findings import say_findings
from .knowing import Causes, Covariate, First, KnowledgeFile, Known, NotCauses, Tiers
from .options import (
    After,
    CohortFile,
    Drop,
    DropMissing,
    Header,
    IdColumn,
    Keep,
    Kinds,
    Log,
    MaxMissing,
    MechanismName,
    Missing,
    MissingWords,
    Sheet,
    chosen_kinds,
    fitted,
    read_labelled,
    roles_of,
    table_at,
)
from .outcome_options import (
    EventColumn,
    Horizon,
    Negative,
    OutcomeKind,
    Positive,
    Prevalence,
    TargetColumn,
    TimeColumn,
    TimeUnit,
    Unit,
    outcome_of,
)


def check(
    cohort: CohortFile,
    target: TargetColumn = None,
    outcome: OutcomeKind = None,
    time: TimeColumn = None,
    event: EventColumn = None,
    positive: Positive = None,
    negative: Negative = None,
    horizon: Horizon = None,
    time_unit: TimeUnit = None,
    unit: Unit = None,
    id_column: IdColumn = None,
    drop: Drop = None,
    after: After = None,
    keep: Keep = None,
    na: MissingWords = None,
    drop_missing: DropMissing = False,
    max_missing: MaxMissing = None,
    no_header: Header = None,
    sheet: Sheet = None,
    kind: Kinds = None,
    log: Log = None,
    missing: Missing = "impute",
    first: First = None,
    tiers: Tiers = None,
    causes: Causes = None,
    not_causes: NotCauses = None,
    covariate: Covariate = None,
    knowledge: KnowledgeFile = None,
    prevalence: Prevalence = None,
    mechanism: MechanismName = "linear",
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
    columns = outcome_of(
        target, outcome, time, event, positive, negative, prevalence, horizon, time_unit, unit
    )
    known = Known.of(first, tiers, causes, not_causes, covariate, knowledge)
    kinds = chosen_kinds(kind)
    roles = roles_of(
        columns, id_column, drop, keep, na, drop_missing, kinds, log, missing, after, max_missing
    )
    table = table_at(cohort, no_header, sheet)
    roles = known.with_roles(roles, table)
    patients, chosen = read_labelled(table, roles, quiet=as_json)
    settings = {"kinds": kinds, "missing": missing, "knowledge": roles.knowledge, "mechanism": mechanism}
    model = fitted(patients, chosen, settings)
    knows = cross_validated(model)
    diagnosis = model._diagnose(patients.X, chosen.known(patients.target), patient_labels(patients))
    if as_json:
        # Escaped, so that a terminal shows hostile names and does not obey them.
        typer.echo(json.dumps(diagnosis.to_dict(), indent=1, default=str))
        return
    say()
    say_findings(diagnosis)
    say()
    say(knows)
    say(provenance("check", made_with(model)))
