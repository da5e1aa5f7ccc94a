"""``--what-if VARIABLE=SHOCK`` or ``VARIABLE=LEVEL``: the same patients with one shock or one level set."""

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from ..errors import InputError, RootCausalWarning
from ..wording import listed, one_line, quoted
from .console import NOT_SCORED, NOTHING_MEASURED, patient_label, print_table, say, say_if_outside

if TYPE_CHECKING:
    from ..estimators.loading import Fitted
    from ..explaining.explanation import Explanation
    from ..explaining.what_if import WhatIf
    from ..inputs.patients import Patients
    from ..outcomes import Words

CHANGES_SHOWN = 3
# Standard deviations. Hardly anybody has a shock beyond: who asks for one may mean a value.
LARGEST_SHOCK = 6.0
SHOCK_SET = (
    "What if: the part of the value that its causes do not explain is set to this many standard\n"
    "deviations, 0 being none, and what lies downstream follows. This is the model's prediction, not\n"
    "the effect of a treatment."
)
LEVEL_SET = (
    "What if: everybody has this level, all other shocks stay as they are, and what lies downstream\n"
    "follows; of levels downstream the likeliest is said, with its share where it is unsure. This is\n"
    "the model's prediction, not the effect of a treatment."
)


@dataclass(frozen=True)
class Question:
    """What is set: the shock on a number, in standard deviations, or the level of one that has levels."""

    variable: str
    shock: float = 0.0
    level: str | None = None

    def __str__(self) -> str:
        return f"{self.variable}={f'{self.shock:g}' if self.level is None else self.level}"

    def answer(self, explanation: "Explanation") -> "WhatIf":
        if self.level is None:
            return explanation.what_if(self.variable, self.shock)
        return explanation.what_if(self.variable, level=self.level)


def check_question(texts: list[str] | None) -> str | None:
    """The question that was asked, if any, before it is known what the model's variables are."""
    if not texts:
        return None
    if len(texts) > 1:
        raise typer.BadParameter("ask one question at a time.", param_hint="--what-if")
    (text,) = texts
    if not text.rpartition("=")[0]:
        raise _not_understood()
    return text


def understood(text: str, model: "Fitted") -> Question:
    """Read ``bili=0`` or ``sex=male``; names and levels may themselves hold an equals sign."""
    from ..explaining.what_if import refuse_covariate
    from ..inputs.levels import level_texts, place_of

    variables = {variable.name: variable for variable in model._encoding.variables}
    splits = [(text[:at], text[at + 1 :]) for at, letter in enumerate(text) if letter == "="]
    known = [(name, value) for name, value in splits if name in variables]
    if not known:
        raise InputError(
            f"the model has no variable {quoted(splits[-1][0])} (--what-if); it has "
            f"{listed([quoted(name) for name in variables], 10)}."
        )
    name, value = next((one for one in known if one[1] in level_texts(variables[one[0]])), known[-1])
    if list(variables).index(name) in model.covariates_:
        refuse_covariate(name)
    if variables[name].levels:
        place_of(variables[name], value)  # says which levels there are
        return Question(name, level=value)
    try:
        shock = float(value)
    except ValueError:
        shock = math.nan
    if not math.isfinite(shock):
        raise _not_understood()
    _warn_of_large_shock(name, shock, model)
    return Question(name, shock)


def _warn_of_large_shock(name: str, shock: float, model: "Fitted") -> None:
    """Say that a number which nobody's shock comes near is not taken for a value of the variable."""
    names = [model._encoding.names[k] for k in model.causal_order_]
    seen = "hardly ever seen"
    if model._quantiles is not None and name in names:
        least, most = model._quantiles.errors[[0, -1], names.index(name)]
        if least <= shock <= most:
            return
        seen = f"outside all that was seen ({least:+.1f} to {most:+.1f})"
    if abs(shock) > LARGEST_SHOCK:
        warnings.warn(
            f"--what-if {one_line(name, 40)}={shock:g} sets no value: {shock:g} is the shock, in standard "
            f"deviations, and {seen}, so the answer is an extrapolation",
            RootCausalWarning,
            stacklevel=2,
        )


def _not_understood() -> typer.BadParameter:
    return typer.BadParameter(
        "write VARIABLE=SHOCK, the shock in standard deviations; bili=0 takes it away. Of a variable with "
        "levels write VARIABLE=LEVEL, as in sex=male.",
        param_hint="--what-if",
    )


def print_answers(
    question: Question, patients: "Patients", explanation: "Explanation", words: "Words"
) -> None:
    """What is predicted before and after for each patient, and the measurements that would change most."""
    answer = question.answer(explanation)
    rows = []
    for row in range(len(answer.predicted)):
        after = words.predicted(answer.predicted[row])
        if answer.predicted_interval is not None:
            low, high = answer.predicted_interval[:, row]
            after += f" ({words.predicted(low)} to {words.predicted(high)})"
        now = words.predicted(explanation.predicted[row])
        changes = _changes(explanation, answer, row) or "nothing"
        if not explanation.scored[row]:
            now, after, changes = NOT_SCORED, NOT_SCORED, NOTHING_MEASURED
        rows.append((patient_label(patients, row), now, after, changes))
    if explanation.scored.any():  # what is said below is said of those who are
        explanation = explanation.of_scored()
    name = one_line(question.variable, 40)
    if question.level is None:
        variable = explanation.variables[explanation.feature_names.index(question.variable)]
        of_what = " of its logarithm" if variable.log else ""
        say(f"what if the shock on {name} were {question.shock:g} standard deviations{of_what}?")
    else:
        say(f"what if {name} were {one_line(question.level, 40)}?")
    print_table(("patient", words.header[0], f"{words.told} then", "what would change"), rows)
    if answer.predicted_interval is not None:
        say("in brackets: 95% intervals from the bootstrap")
        say_if_outside(zip(answer.predicted, *answer.predicted_interval, strict=True))
    if not explanation.values[:, explanation.feature_names.index(question.variable)].any():
        nothing = "nothing changes" if question.level is None else "nothing else changes"
        say(f"{quoted(question.variable)} is not among the causes that the model found: {nothing}")
    say(SHOCK_SET if question.level is None else LEVEL_SET)


def answer_columns(question: Question, explanation: "Explanation", called: str) -> list[tuple[str, Any]]:
    """Columns for --out: what is predicted after, with its interval, and the values, levels in words.

    ``called`` is what the column of what is predicted now is called.
    """
    import pyarrow as pa

    answer = question.answer(explanation)
    then = f"what_if_{called}"
    columns: list[tuple[str, Any]] = [(then, answer.predicted)]
    if answer.predicted_interval is not None:
        columns += zip((f"{then}_lower", f"{then}_upper"), answer.predicted_interval, strict=True)
    levels = answer.levels()
    for place, variable in enumerate(explanation.variables):
        # Of a variable that the model left out there may be no measurement: a cell without a value.
        cells = pa.array(levels[:, place], pa.string()) if variable.levels else None
        cells = pa.array(answer.data[:, place], from_pandas=True) if cells is None else cells
        columns.append((f"what_if_{variable.name}", cells))
    return columns


def _changes(explanation: "Explanation", answer: "WhatIf", row: int) -> str:
    """The values that change most, relative to their size; of levels, those that become others."""
    before, after = explanation.data[row], answer.data[row]
    change = abs(after - before) / (abs(after) + abs(before) + 1e-300)
    most = [c for c in (-change).argsort(kind="stable") if change[c] > 1e-6]
    said = ((c, explanation.text(row, c), answer.text(row, c)) for c in most)
    return listed(
        [
            f"{one_line(explanation.variables[c].shown, 40)} {one_line(now, 40)} to {one_line(then, 40)}"
            for c, now, then in said
            if now != then
        ],
        CHANGES_SHOWN,
    )
