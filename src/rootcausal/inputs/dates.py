"""Dates as variables: days since the first of the cohort.

A date by itself says little of a patient and much of a study, so it becomes a variable only where the user
keeps it by name. The first day of the cohort is its *origin*; the model keeps it
(``provenance_["reading"]["origins"]``), so that new patients are counted from the same day.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from ..files.cells import days_since, first_day, holds_dates
from ..wording import listed, quoted


@dataclass(frozen=True)
class Dates:
    """The columns of a cohort that hold dates.

    Attributes
    ----------
    origins : by name, the first day of each that was kept, as 2020-01-31.
    refused : those that nobody kept.
    """

    origins: dict[str, str]
    refused: tuple[str, ...]

    def without_refused(self, features: Sequence[str]) -> list[str]:
        return [name for name in features if name not in self.refused]

    def refuse(self, file: str) -> None:
        """Refuse dates that nobody kept by name."""
        if self.refused:
            named = listed([quoted(name) for name in self.refused])
            raise InputError(
                f"{file} has dates in {named}: leave them out with --drop COLUMN, or name them among the "
                "columns of --keep to count days since the first date."
            )


def in_days_of_the_cohort(table: Any, features: Sequence[str], kept: Sequence[str]) -> tuple[Any, Dates]:
    """The table with dates that were kept in days since the first, and what became of the dates."""
    dated = [name for name in features if holds_dates(table[name])]
    origins = {name: first_day(table[name]) for name in dated if name in set(kept)}
    refused = tuple(name for name in dated if name not in origins)
    return in_days(table, origins), Dates(origins, refused)


def in_days(table: Any, origins: Mapping[str, str]) -> Any:
    """The table with dates in days since their origins; numbers stay, as days counted already."""
    import pyarrow as pa

    for place, name in enumerate(table.column_names):
        if name in origins and holds_dates(table.column(place)):
            days = pa.array(days_since(origins[name], table.column(place)))
            table = table.set_column(place, name, days)
    return table
