"""What the checks of the model found, for the page: worst first, and by variable."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..method.table import Index
from ..wording import quoted

if TYPE_CHECKING:
    from ..diagnostics import Diagnosis


# Of a name in a limit, at most (see :func:`..diagnostics.specification.filled`).
NAME_LETTERS = 40


def checks_facts(diagnosis: Diagnosis, variable_of: Mapping[str, str]) -> dict[str, Any]:
    """All checks, the worst first, and what they come to.

    ``variable_of`` says what the variable of a column is called: checks name columns, and cards are about
    variables.
    """
    return {
        "verdict": diagnosis.verdict,
        "reading": diagnosis.reading,
        "checks": [
            {
                "name": check.name,
                "question": check.question,
                "verdict": check.verdict,
                "reading": check.reading,
                "statement": check.statement,
                "advice": check.advice,
                "limit": _in_labels(check.limit, check.variables, variable_of),
                "touches": check.touches,
                "variables": [str(name) for name in check.variables],
                "concerned": list(dict.fromkeys(variable_of.get(name, name) for name in check.variables)),
            }
            for check in diagnosis.worst_first
        ],
        "not_made": diagnosis.not_made,
    }


def _in_labels(limit: str, columns: Sequence[str], called: Mapping[str, str]) -> str:
    """A limit with the labels of the columns that it is about; advice keeps columns, which options take.

    Columns stand in quotes, which tells them from words of the sentence.
    """
    labels = {quoted(name, NAME_LETTERS): quoted(called.get(name, name)) for name in columns}
    if not labels:
        return limit
    any_name = "|".join(re.escape(name) for name in sorted(labels, key=len, reverse=True))
    return re.sub(any_name, lambda found: labels[found[0]], limit)


def variables_by_column(
    column_names: Sequence[str], of_columns: Index, names: Sequence[str]
) -> dict[str, str]:
    """The variable of each column, by name: "ward" for "ward = ICU". A variable's own name is its own."""
    owners = {column: names[owner] for column, owner in zip(column_names, of_columns, strict=True)}
    return owners | {name: name for name in names}
