"""What a site gives away, and what it refuses to: minimum counts, asked of every answer before it is sent.

A sum over few rows tells of each of them. Where the sums of a site are seen by the coordinator, no group of
rows that a sum is of may be small: not the site, not a class, not the rows that hold a level, nor those that
end in an interval of time. A Gram matrix of n rows and k columns has k(k + 1)/2 numbers, and rows can be
looked for in it once they are as many; so a site refuses one unless it has clearly more rows than columns.
And since pairs of columns have sums of their own, a site counts its numbers: with more than
half a one for each value that it holds, rows could be looked for in all of them together (results/sites).
Where sums are masked (:mod:`.messages`) the coordinator sees those of all sites together, and a site asks
only that it has enough rows itself, and that enough others take part.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..method.table import INTERVAL, STAGE
from ..wording import plural, quoted
from .holdings import OpenRows

# Rows below which no sum leaves a site.
LEAST_ROWS = 10
# Without: for each value that a site holds it sends at most so many numbers.
NUMBERS_A_VALUE = 0.5
# With masks: two sites would know each other's sums from the total.
LEAST_SITES = 3
# Rows that the parameters of a baseline tell of: the outcome, where its rows have them, and a sentence.
GROUPS_OF_OUTCOMES = (
    ("survival", INTERVAL, "the follow-up of {rows} ends within the same interval of time"),
    ("ordinal", STAGE, "this site has {rows} at the same stage"),
)
MASK = "or let all sites mask their sums with a key (rootcausal site key)"


@dataclass(frozen=True)
class Minimum:
    """The rules of one site.

    Attributes
    ----------
    rows : no sum is over fewer.
    masked : whether the coordinator sees totals over sites only.
    numbers_a_value : for each value held, at most so many numbers are sent.
    resamples : how many are answered about.
    """

    rows: int = LEAST_ROWS
    masked: bool = False
    numbers_a_value: float = NUMBERS_A_VALUE
    resamples: int = 0

    def refuse_few_rows(self, n: int) -> None:
        if n < self.rows:
            raise InputError(
                f"this site has {plural(n, 'row')} with an outcome, and answers from {self.rows} on"
            )

    def refuse_resample(self, number: int) -> None:
        """Refuse a resample beyond those that the site agreed to."""
        if not self.masked:
            raise InputError(
                "resamples are many sums of the same rows, which only a key hides (rootcausal site key)"
            )
        if not 0 < number <= self.resamples:
            raise InputError(
                f"this site agreed to {plural(self.resamples, 'resample')}, and is asked about resample "
                f"{number}: let it agree to as many as the study needs (--resamples {max(number, 1)})"
            )

    def refuse_few_sites(self, n: int) -> None:
        if self.masked and n < LEAST_SITES:
            raise InputError(
                f"{plural(n, 'site')} take part, and masked sums are answered for {LEAST_SITES} or more: "
                "of two, each would know the other's from the total"
            )

    def refuse_open(self, rows: OpenRows) -> None:
        """Refuse a table in which some group that every sum tells of is small."""
        if self.masked:
            return
        if rows.classes == 2:
            self._refuse_group(int((rows.known == 0).sum()), "this site has {rows} without the disease")
            self._refuse_group(int((rows.known == 1).sum()), "this site has {rows} with the disease")
        for name, place, sentence in GROUPS_OF_OUTCOMES:
            if rows.agreed.outcome.name == name:
                for n in np.bincount(rows.known[:, place].astype(np.intp)).tolist():
                    self._refuse_group(int(n), sentence)
        for values, name in zip(rows.values.T, rows.agreed.encoding.column_names, strict=True):
            there = values[~np.isnan(values)]
            self._refuse_group(there.size, f"{{rows}} have a value of {quoted(name)}")
            different, counts = np.unique(there, return_counts=True)
            if different.size > 1:
                # Of a column that is the same for all others, sums are those of the few.
                self._refuse_group(
                    int(there.size - counts.max()), f"{{rows}} differ from all others in {quoted(name)}"
                )
        for place, levels in enumerate(rows.agreed.encoding.layout.levels):
            for level in levels:
                n = int((rows.values[:, place] == level).sum())
                name = rows.agreed.encoding.column_names[place]
                self._refuse_group(n, f"{{rows}} of this site have {quoted(name)} at {level:g}")

    def _refuse_group(self, n: int, sentence: str) -> None:
        if 0 < n < self.rows:
            raise InputError(
                f"{sentence.format(rows=plural(n, 'row'))}, fewer than {self.rows}, and sums would tell of "
                f"them: group levels, leave the column out, {MASK}"
            )

    def refuse_products(self, n: int, columns: int) -> None:
        """Refuse sums of products of so many columns, over n rows."""
        if not self.masked and 0 < n <= columns + self.rows:
            raise InputError(
                f"products of {columns} columns over {plural(n, 'row')} would nearly tell the rows "
                f"themselves (more than {columns + self.rows} are needed): leave columns out, {MASK}"
            )

    def refuse_many_numbers(self, numbers: int, values: int) -> None:
        """Refuse to send so many numbers, all in all, about so many values."""
        if not self.masked and numbers > self.numbers_a_value * values:
            raise InputError(
                f"with this answer {numbers:,} numbers would be known about the {values:,} values of this "
                f"site, more than {self.numbers_a_value:g} for each, and rows could be looked for in them: "
                f"leave columns out, {MASK}"
            )
