"""What needs no outcomes: was anything learned, are shocks in range, what do the names suggest?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..method.table import F64
from ..method.weighted import rows_that_tell
from ..name_hints.order import Suggestion, as_option, ask, in_python
from ..wording import listed, one_line, plural
from .diagnosis import NEVER, Check, CheckSpec, Scale, Text
from .evidence import Checked

# Standard deviations of a shock beyond which there was next to nobody to learn from: by Chebyshev's
# inequality no more than 1 in 64 of the patients of the fit, whatever their law.
FAR = 8.0
# Of the patients.
SHARE = Scale(0.02, 0.05)
COLUMNS_NAMED = 3

LEARNED = CheckSpec(
    "learned",
    "Did the model learn anything?",
    "what one standard deviation of all shocks together adds to the outcome's scale",
    {
        "broken": Text(
            "Nothing was learned: one standard deviation of all shocks together moves {scale} by "
            "{number:.2g}, where {notable:.2g} would count. Every patient is told nearly the same.",
            "Do not read root causes, their ranks or {predictions}: the model learned nothing.",
            "this cohort does not show what {happening} depends on: leave out columns that cannot "
            "matter{many}, or collect more patients.",
        )
    },
    touches="risk",
    doubtful_from=NEVER,
    broken_from="less than what is named as a root cause",
)
IN_RANGE = CheckSpec(
    "in_range",
    "Are the patients' shocks within what the model has seen?",
    f"largest share of patients beyond {FAR:g} standard deviations",
    {
        "not checked": Text(
            "There is no patient to look at.", "Nobody's shocks were looked at.", "give at least one patient."
        ),
        "fine": Text("{counted}{called}"),
        "doubtful": Text(
            "{counted}{called}",
            "Take with care the {predictions} and values of the {n:# patient} with such shocks: next to "
            "nobody like them was learned from.",
            "check the units of {columns}; if they are right, fit the model on a cohort like these patients.",
        ),
        "broken": Text(
            limit="Do not read the {predictions} and values of the {n:# patient} with such shocks: next to "
            "nobody like them was learned from."
        ),
    },
    SHARE,
    touches="risk",
    touches_unseen="",
    doubtful_from=f"{100 * SHARE.doubtful:g} %",
    broken_from=f"{100 * SHARE.broken:g} %",
)
AS_NAMED = CheckSpec(
    "as_named",
    "Does the learned order agree with what the names suggest?",
    "columns behind what cannot come before them",
    {
        "fine": Text("{statement}"),
        "doubtful": Text(
            "{statement}",
            "Read nothing as a cause of {names:3}: going by names, what stands before {names:it|them} cannot "
            "come before {names:it|them}.",
            "if the names mean what they say, {fix}.",
        ),
    },
    touches="order",
    doubtful_from="one",
)


def checks_without_outcomes(checked: Checked) -> Iterator[Check]:
    """Any patients will do, or none."""
    yield from check_learned(checked)
    yield check_range(checked)
    yield from check_names(checked)


def check_learned(checked: Checked) -> Iterator[Check]:
    """One check, or none where something was. It looks at the model alone."""
    model, words = checked.model, checked.words
    together = float(np.sqrt((model.importance() ** 2).sum()))
    if together < model.attribution.notable:
        n_rows, n_columns = rows_that_tell(checked.provenance), checked.provenance["columns"]
        yield LEARNED.check(
            "broken",
            together,
            scale=checked.moved,
            notable=model.attribution.notable,
            happening=words.happening,
            predictions=words.predictions,
            many=f" ({n_columns:,}, for {plural(n_rows, 'patient')})" if n_columns > n_rows else "",
        )


def check_range(checked: Checked) -> Check:
    """Judged by the worst column: many columns with long tails have many patients with one large shock."""
    order = checked.model.column_order
    errors: F64 = checked.model.column_errors(checked.X)[:, order]
    if not len(errors):
        return IN_RANGE.check("not checked")
    far = np.abs(errors) > FAR
    patients = np.flatnonzero(far.any(axis=1))
    by_column = far.sum(axis=0) / len(far)
    share = float(by_column.max(initial=0.0))
    verdict = SHARE.by_size(share)
    worst = np.argsort(-by_column, kind="stable")[: int((by_column > 0).sum())]
    columns = [checked.named.column_names[order[place]] for place in worst]
    counted = (
        f"{patients.size} of {plural(len(far), 'patient')} {'has' if patients.size == 1 else 'have'} a shock "
        f"of more than {FAR:g} standard deviations"
    )
    called = f"; {checked.called(patients)}. Look at them before you read their results."
    return IN_RANGE.check(
        verdict,
        share,
        names=columns if verdict != "fine" else (),
        unnamed=f"{counted}." if patients.size else "",
        counted=counted,
        called=called if patients.size else ".",
        n=patients.size,
        columns=listed([one_line(name, 40) for name in columns], COLUMNS_NAMED),
        predictions=checked.words.predictions,
    )


def check_names(checked: Checked) -> Iterator[Check]:
    """One check, or none where the names suggest nothing. It looks at the model alone."""
    names: Sequence[str] = list(checked.named.names)
    given: Mapping[str, Any] | None = checked.provenance["parameters"].get("knowledge")
    question = ask(names, [names[k] for k in checked.model.order], given)
    if question is None:
        return
    yield AS_NAMED.check(
        "doubtful" if question.misplaced else "fine",
        float(len(question.misplaced)),
        names=[one.column for one in question.misplaced],
        statement=question.statement(),
        fix="; ".join(_what_to_do(question.suggestion)) if question.misplaced else "",
    )


def _what_to_do(fix: Suggestion) -> list[str]:
    if not fix:
        return [f"{fix.work}, and fit again"]
    said = [f"fit again with {as_option(fix)}", f"in Python {in_python(fix)}", *fix.caveats]
    return [*said, fix.work] if fix.work else said
