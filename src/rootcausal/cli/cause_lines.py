"""What ``explain`` prints of patients: what is predicted, and their root causes with what each adds."""

from typing import TYPE_CHECKING

from ..wording import listed, one_line, plural, short_names, together
from .console import (
    NOT_SCORED,
    NOTHING_MEASURED,
    patient_label,
    percent,
    print_table,
    say,
    say_if_outside,
    say_meaning,
)

if TYPE_CHECKING:
    from ..explanation import Explanation, RootCause
    from ..inputs.patients import Patients
    from .outcome_lines import OutcomeLines

PATIENTS_SHOWN = 10
# Letters for the names of covariates, above the column of what they add; their number needs fewer.
COVARIATES_WIDTH = 24
BEYOND_NAMED, MISSING_NAMED = 5, 3


def print_root_causes(
    patients: "Patients", explanation: "Explanation", lines: "OutcomeLines", top: int, n_rows: int
) -> None:
    """Print a line for each of the first patients, and say what its numbers mean; the file has ``n_rows``."""
    covariates, predicted, predictor = explanation.covariates, explanation.predicted, explanation.predictor
    shown_names = short_names([variable.shown for variable in explanation.variables])
    called = dict(zip(explanation.feature_names, shown_names, strict=True))
    called |= {one.name: " + ".join(called[member] for member in one.members) for one in explanation.sets}
    causes = explanation.root_causes(top, both_ways=lines.both_ways)
    rows = [
        (
            patient_label(patients, row),
            *lines.cells(predicted[row], predictor[row]),
            *([_adjustment(explanation, lines, row)] if covariates else []),
            (
                ", ".join(_cause(one, called[one.variable], explanation, lines, row) for one in of_patient)
                or lines.no_causes
            )
            + _not_measured(explanation, called, of_patient, row),
        )
        if explanation.scored[row]
        else _not_scored(patient_label(patients, row), len(lines.header) + bool(covariates))
        for row, of_patient in enumerate(causes)
    ]
    adjusted = [explanation.variables[place].shown for place in explanation._model.covariates]
    apart = [together(adjusted, COVARIATES_WIDTH)] if covariates else []
    print_table(("patient", *lines.header, *apart, lines.of_causes), rows)
    ends = explanation.covariate_interval if covariates else None
    printed = any(_has_interval(cause) for of_patient in causes for cause in of_patient)
    effect = explanation.covariate_effect
    printed = printed or (ends is not None and any(map(_apart, effect, *ends)))
    if printed and explanation.frequency is not None:
        share = "" if lines.both_ways else ", and the share of resamples in which it raises the risk"
        say(f"in brackets: 95% interval{share}")
        shown = [(one.shapley, one.lower, one.upper) for of_patient in causes for one in of_patient]
        say_if_outside([*shown, *([] if ends is None else zip(effect, *ends, strict=True))])
    elif printed and explanation.lower is not None:
        say("in brackets: 95% interval that values not measured leave; not the doubt about the model")
    _say_beyond(patients, explanation)
    n_more = n_rows - PATIENTS_SHOWN
    if n_more > 0:
        noun = "more patient" if patients.groups is None else "more row"
        say(f"and {plural(n_more, noun)}; --out scores.csv writes them all")
    say_meaning(lines, explanation.base_value, covariates, explanation.notable_from)


def _not_scored(label: str, width: int) -> tuple[str, ...]:
    """The line of a patient of whom nothing was measured that the model goes by."""
    return (label, NOT_SCORED, *[""] * (width - 1), NOTHING_MEASURED)


def _not_measured(
    explanation: "Explanation", called: dict[str, str], causes: "list[RootCause]", row: int
) -> str:
    """Of the variables that the model uses, those that were not measured and are not among the causes."""
    told = {name for cause in causes for name in (cause.variable, *cause.members)}
    names = (explanation.feature_names[k] for k in explanation._model.order if explanation.imputed[row, k])
    missing = [called[name] for name in names if name not in told]
    # On a line of its own, so that causes are seen at once.
    return f"\nnot measured: {listed(missing, MISSING_NAMED)}" if missing else ""


def _say_beyond(patients: "Patients", explanation: "Explanation") -> None:
    """Say whose measurements lie beyond the range of the cohort."""
    found = [
        f"{one_line(explanation.variables[c].shown, 40)} of {patient_label(patients, row)}"
        for row, c in zip(*explanation.beyond.nonzero(), strict=True)
    ]
    if found:
        say(f"extrapolation, beyond the range of the cohort: {listed(found, BEYOND_NAMED)}")


def _adjustment(explanation: "Explanation", lines: "OutcomeLines", row: int) -> str:
    """What covariates add to one patient, with its interval, and which of them were not measured."""
    added = lines.size(explanation.covariate_effect[row])
    if explanation.covariate_interval is not None:
        lower, upper = explanation.covariate_interval[:, row]
        apart = _apart(explanation.covariate_effect[row], lower, upper)
        added += f" ({lines.end(lower)} to {lines.end(upper)})" if apart else ""
    places = explanation._model.covariates
    expected = [one_line(explanation.variables[k].shown, 20) for k in places if explanation.imputed[row, k]]
    # On a line of its own, so that the column stays narrow.
    return added + (f"\n{listed(expected, 2)} not measured" if expected else "")


def _has_interval(cause: "RootCause") -> bool:
    return (
        cause.lower is not None
        and cause.upper is not None
        and _apart(cause.shapley, cause.lower, cause.upper)
    )


def _apart(value: float, lower: float, upper: float) -> bool:
    """Whether an interval is more than the value: without resamples, what was all measured has no other."""
    return lower < upper or lower > value or upper < value


def _cause(cause: "RootCause", name: str, explanation: "Explanation", lines: "OutcomeLines", row: int) -> str:
    value = one_line(explanation.text(row, explanation.listed.names.index(cause.variable)), 40)
    if cause.imputed and cause.members:
        name += " (not all measured)"
    elif cause.imputed:
        name += f" (not measured; {value} expected)"
    elif cause.level is not None:
        name += f" = {value}"
    text = f"{name} {lines.size(cause.shapley)}"
    if not _has_interval(cause):
        return text
    assert cause.lower is not None
    assert cause.upper is not None
    sure = "" if cause.frequency is None or lines.both_ways else f", {percent(cause.frequency)}"
    if cause.frequency == 0 < cause.shapley:
        sure = ", no resample agrees"
    elif cause.upper <= 0 < cause.shapley or cause.shapley < 0 <= cause.lower:
        sure = ", resamples disagree"
    return f"{text} ({lines.end(cause.lower)} to {lines.end(cause.upper)}{sure})"
