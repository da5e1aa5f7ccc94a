"""``--what-if VARIABLE=SHOCK``: the same patients with one shock removed, or set."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from ..wording import listed, one_line, quoted
from .console import patient_label, percent, print_table, say

if TYPE_CHECKING:
    from ..explanation import Explanation
    from ..inputs.from_file import Patients

CHANGES_SHOWN = 3


@dataclass(frozen=True)
class Question:
    """Which variable's shock is set, and to how many standard deviations."""

    variable: str
    shock: float


def parse_question(texts: list[str] | None) -> Question | None:
    """Read ``bili=0``; the name may itself hold an equals sign."""
    if not texts:
        return None
    if len(texts) > 1:
        raise typer.BadParameter("ask one question at a time.", param_hint="--what-if")
    (text,) = texts
    name, equals, number = text.rpartition("=")
    try:
        shock = float(number)
    except ValueError:
        shock = float("nan")
    if not equals or not name or not abs(shock) < float("inf"):
        raise typer.BadParameter(
            "write VARIABLE=SHOCK, the shock in standard deviations; bili=0 takes it away.",
            param_hint="--what-if",
        )
    return Question(name, shock)


def print_answers(question: Question, patients: "Patients", explanation: "Explanation") -> None:
    """Risk before and after for each patient, and the measurements that would change most."""
    answer = explanation.what_if(question.variable, question.shock)
    prevalence = explanation.provenance["parameters"].get("prevalence")
    rows = []
    for row in range(len(answer.probability)):
        after = percent(answer.probability[row], prevalence)
        if answer.probability_interval is not None:
            low, high = answer.probability_interval[:, row]
            after += f" ({percent(low, prevalence)} to {percent(high, prevalence)})"
        now = percent(explanation.probability[row], prevalence)
        changes = _changes(explanation, answer.data, row) or "nothing"
        rows.append((patient_label(patients, row), now, after, changes))
    say(
        f"what if the shock on {one_line(question.variable, 40)} were {question.shock:g} standard deviations?"
    )
    print_table(("patient", "risk", "risk then", "what would change"), rows)
    if answer.probability_interval is not None:
        say("in brackets: 95% intervals from the bootstrap")
    if not explanation.values[:, explanation.feature_names.index(question.variable)].any():
        say(f"{quoted(question.variable)} is not among the causes that the model found: nothing changes")
    say(
        "What if: the part of the value that its causes do not explain is set to this many standard\n"
        "deviations, 0 being none, and what lies downstream follows. This is the model's prediction, not\n"
        "the effect of a treatment."
    )


def answer_columns(question: Question, explanation: "Explanation") -> list[tuple[str, Any]]:
    """Columns for --out: the risk after, with its interval, and the predicted measurements."""
    import pyarrow as pa

    answer = explanation.what_if(question.variable, question.shock)
    columns: list[tuple[str, Any]] = [("what_if_risk", answer.probability)]
    if answer.probability_interval is not None:
        columns += zip(("what_if_risk_lower", "what_if_risk_upper"), answer.probability_interval, strict=True)
    # Of a variable that the model left out there may be no measurement: a cell without a value.
    data = [pa.array(column, from_pandas=True) for column in answer.data.T]
    columns += zip((f"what_if_{name}" for name in explanation.feature_names), data, strict=True)
    return columns


def _changes(explanation: "Explanation", data: Any, row: int) -> str:
    """The measurements that change most, relative to their size."""
    before, after = explanation.data[row], data[row]
    change = abs(after - before) / (abs(after) + abs(before) + 1e-300)
    most = [c for c in (-change).argsort(kind="stable") if change[c] > 1e-6]
    return listed(
        [f"{one_line(explanation.feature_names[c], 40)} {before[c]:.4g} to {after[c]:.4g}" for c in most],
        CHANGES_SHOWN,
    )
