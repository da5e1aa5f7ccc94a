"""What is checked: a model, and patients with or without their outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..method.layout import Layout
from ..method.model import CausalModel
from ..method.model_parts import LINEAR
from ..method.outcome import Outcome
from ..method.table import F64, SCORE, Index
from ..outcomes import OUTCOMES, Words, words_of
from ..wording import listed, one_line

PATIENTS_NAMED = 5


class Needed(NamedTuple):
    """What a hidden common cause of one column and of the outcome would need: its robustness values.

    Attributes
    ----------
    column : its name.
    to_zero, to_p : the share of what is left of both that it would have to explain, to bring what the shock
        does to nothing, and to p 0.05.
    """

    column: str
    to_zero: float
    to_p: float


class Named(Protocol):
    """What columns and variables are called."""

    @property
    def column_names(self) -> Sequence[str]:
        """(q,) such as "age" and "ward = ICU"."""

    @property
    def names(self) -> Sequence[str]:
        """(p,) such as "age" and "ward"."""


@dataclass(frozen=True, eq=False)
class Checked:
    """A model, and patients to check it on.

    Attributes
    ----------
    model : what is checked.
    X : (n, q) values of all columns; drawn at random where nothing was measured, so that they vary as
        patients do.
    missing : (n, q) which of them were drawn; None where all were measured.
    known : what is known of their outcome, as :mod:`rootcausal.method.outcome` takes it: labels (n,) in {0,
    1},
        times and events (n, 2), or numbers (n,); None where unknown.
    stated : (n,) the linear predictor that the model states, such as log-odds. That of X differs where
        values of it were drawn.
    named : what columns and variables are called.
    ids : (n,) of the patients; None for their row numbers, from 1.
    provenance : how the model was made.
    of_fit : whether these are the patients of the fit.
    needed : what a hidden common cause of the outcome and of each column that is named would need.
    """

    model: CausalModel
    X: F64
    missing: np.ndarray | None
    known: np.ndarray | None
    stated: F64
    named: Named
    ids: Sequence[Any] | None
    provenance: Mapping[str, Any]
    of_fit: bool = False
    needed: Sequence[Needed] = ()

    @property
    def words(self) -> Words:
        """How the outcome is spoken of."""
        return words_of(self.model.attribution)

    @property
    def moved(self) -> str:
        """What shocks add to, in words: ``the log-odds``, or the outcome itself."""
        return f"the {self.words.scale}" if self.words.is_chance else self.words.happening

    @property
    def outcome(self) -> type[Outcome]:
        """What the model is of."""
        return OUTCOMES[self.model.attribution.outcome].outcome

    @cached_property
    def score(self) -> np.ndarray:
        """(n,) the null score of what is known: labels as they are, martingale residuals, numbers."""
        assert self.known is not None
        rows = self.outcome.of(self.known).rows(self.known)
        return rows if rows.ndim == 1 else rows[:, SCORE]

    @property
    def nonlinear(self) -> bool:
        """Whether the model has curves in place of straight lines."""
        return any(form != LINEAR for form in self.model.mechanism.forms())

    @property
    def row_noun(self) -> str:
        """What a row is: a patient, unless the cohort had several of some."""
        return "row" if "patients" in self.provenance else "patient"

    @property
    def prevalence(self) -> float | None:
        """Share of the population with the disease, where that was given."""
        share: float | None = self.provenance["parameters"].get("prevalence")
        return share

    @property
    def logged(self) -> list[str]:
        """The columns that are on a log scale, by name."""
        return list(self.provenance["parameters"].get("log") or ())

    def may_be_logged(self, ratio: float = 1.0) -> np.ndarray:
        """(q,) of which columns a logarithm can be taken (see :func:`may_be_logged`): none that is one."""
        names, layout = self.named.column_names, self.model.layout
        open_ones = np.array([name not in self.logged for name in names], dtype=bool)
        return open_ones & may_be_logged(self.X, self.missing, layout or Layout.numbers(len(names)), ratio)

    def called(self, rows: Index) -> str:
        """What to call the patients in some rows: by their ids or, where they have none, by their place."""
        if self.ids is None:
            places = listed([str(row + 1) for row in rows], PATIENTS_NAMED)
            return f"{'row' if rows.size == 1 else 'rows'} {places} of the table"
        return f"patients: {listed([one_line(self.ids[row], 40) for row in rows], PATIENTS_NAMED)}"


def may_be_logged(X: F64, missing: np.ndarray | None, layout: Layout, ratio: float = 1.0) -> np.ndarray:
    """(q,) which columns are numbers above 0 wherever they were measured, and vary by this ratio."""
    measured = True if missing is None else ~missing
    low = X.min(axis=0, initial=np.inf, where=measured)
    high = X.max(axis=0, initial=-np.inf, where=measured)
    found: np.ndarray = ~layout.discrete & (low > 0.0) & (high >= ratio * low)
    return found
