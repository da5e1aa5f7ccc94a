"""Dates as variables: days since the first of the cohort.

A date by itself says little of a patient and much of a study, so it becomes a variable only where the user
keeps it by name. The first day of the cohort is its *origin*; the model keeps it
(``provenance_["reading"]["origins"]``), so that new patients are counted from the same day. Where dates are
written as 31/12/2001 or 12/31/2001, it keeps which of the two (``"date_orders"``), which the dates of one new
patient would not tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from ..files.arrow import pa
from ..files.cells import days_since, first_day, holds_dates
from ..files.written_dates import Order, as_dates, holds_written_dates, order_of
from ..wording import listed, quoted
from .rules import Findings


@dataclass(frozen=True)
class Dates:
    """The columns of a cohort that hold dates.

    Attributes
    ----------
    origins : by name, the first day of each that was kept, as 2020-01-31.
    orders : by name, whether day or month comes first, where that is not plain.
    refused : those that nobody kept.
    unclear : those that were kept and cannot be understood, with the reason.
    """

    origins: dict[str, str]
    orders: dict[str, Order]
    refused: tuple[str, ...]
    unclear: dict[str, InputError]

    def reading(self) -> dict[str, Any]:
        """What the model has to remember of them."""
        kept = {"origins": self.origins, "date_orders": self.orders}
        return {name: what for name, what in kept.items() if what}

    def without_refused(self, features: Sequence[str]) -> list[str]:
        return [name for name in features if name not in self.refused and name not in self.unclear]

    def note(self, file: str, findings: Findings) -> None:
        """Note dates that nobody kept by name, and those that cannot be understood."""
        with findings.noting():
            if self.refused:
                named = listed([quoted(name) for name in self.refused])
                raise InputError(
                    f"{file} has dates in {named}: leave them out with --drop COLUMN, or name them among the "
                    "columns of --keep to count days since the first date."
                )
        for error in self.unclear.values():
            with findings.noting():
                raise error


def in_days_of_the_cohort(table: Any, features: Sequence[str], kept: Sequence[str]) -> tuple[Any, Dates]:
    """The table with dates that were kept in days since the first, and what became of the dates."""
    written = [name for name in features if holds_written_dates(table[name])]
    dated = [name for name in features if name in written or holds_dates(table[name])]
    orders: dict[str, Order] = {}
    unclear: dict[str, InputError] = {}
    for name in written:
        if name in kept:
            try:
                order = order_of(table[name], name)
                table = _with_column(table, name, as_dates(table[name], name, order))
            except InputError as error:
                unclear[name] = error
                continue
            if order is not None:
                orders[name] = order
    origins = {name: first_day(table[name]) for name in dated if name in kept and name not in unclear}
    refused = tuple(name for name in dated if name not in kept)
    return in_days(table, origins), Dates(origins, orders, refused, unclear)


def in_days(table: Any, origins: Mapping[str, str], orders: Mapping[str, Order] | None = None) -> Any:
    """The table with dates in days since their origins; numbers stay, as days counted already."""
    for name in table.column_names:
        if name not in origins:
            continue
        column = table[name]
        if holds_written_dates(column):
            order = (orders or {}).get(name) or order_of(column, name)
            column = as_dates(column, name, order)
        if holds_dates(column):
            table = _with_column(table, name, pa.array(days_since(origins[name], column)))
    return table


def _with_column(table: Any, name: str, column: Any) -> Any:
    return table.set_column(table.column_names.index(name), name, column)
