"""What a fit found of each column, as a table: its effect without a prior, and beside it that of the model.

An effect is direct: all other columns are held fixed, covariates among them. The probability beside it is
that of causing the outcome at all, directly or by way of others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, ClassVar

import numpy as np

from ..inputs.encoding import Encoding
from ..inputs.kinds import Variable
from ..inputs.levels import level_texts
from ..likelihood.effects import FIRTH, UNPENALIZED, WHY, Effects
from ..likelihood.sensitivity import NO_STRENGTH, Strength, strengths
from ..method.model import CausalModel
from ..method.table import F64
from ..outcomes import Words, words_of
from ..wording import amount, listed, one_line, plural, short_names
from .shown import frame_of

LEAST_P = 0.001
NAME_LETTERS = 30
NAMED = 20
MISSING = "–"
MOST_LINES = 200
HIDDEN_NOTE = (
    "to zero, to p .05: what share of what is left of the variable and of the outcome a hidden common cause "
    "would have to explain, of both, to bring what the shock does to nothing, or to p 0.05 (robustness "
    "value); E-value: the risk ratio it would have to have with both; to limit: for an interval that holds "
    "none; true of 100: how many causes with such values were true in simulated cohorts where hidden causes "
    "acted (it also asks how Gaussian the shock is, and whether the outcome bends in it); as strong as: how "
    "many times as strong as the nearest of what acts on the variable. No data can show for certain whether "
    "there is one."
)
# Units that have a plural of their own.
TIMES = ("years", "months", "weeks", "days", "hours", "minutes", "seconds")


@dataclass(frozen=True)
class Term:
    """One column of the cohort: a variable, or a level of one without an order.

    Attributes
    ----------
    term, variable : the names of the column and of its variable.
    label : what the column is called where people read of it.
    level, reference : the level whose effect it is, and with which it is compared; None of a number.
    covariate : whether it is adjusted for, and no root cause.
    per : what the effect is for, in words: ``1 mg/dl``, ``doubling``, ``male, not female``.
    sd : standard deviation of the column; of a logarithm, where the model sees one.
    effect, std_err, lower, upper : without a prior, all other columns held fixed, and the 95 % interval.
    p : two-sided, that there is no effect.
    shrunk : the same effect by the model; where it differs between patients, on average over people.
    shock : what a shock of one standard deviation on the variable adds by all ways, by the model, as
        ``coef_`` has it; of a variable of several columns a size without a sign; None of covariates.
    probability : that the variable causes the outcome, directly or by way of others; None where the
        attribution is the paper's, and of covariates.
    effect_per_sd, std_err_per_sd, lower_per_sd, upper_per_sd, shrunk_per_sd : for one standard deviation.
    robustness, robustness_p : what share of what is left of the variable and of the outcome a hidden common
        cause would have to explain, of both, for what the shock does to be nothing, and for its p to be 0.05
        (robustness values; Cinelli & Hazlett 2020). NaN where there is no such effect without a prior.
    e_value, e_value_limit : the risk ratio that it would have to have with both, for no effect, and for a
        95 % interval that holds none (VanderWeele & Ding 2017).
    strong_as, times_as_strong : the column, of those that act on this one, to which such a cause would be
        nearest in strength, and how many times as strong with both it would have to be; None without any.
    true_share : of causes with such a robustness value, whose shocks are as far from a Gaussian, and bend the
        outcome as much, the share that was true in simulated cohorts in which hidden causes acted; NaN of
        levels, and where p is above 0.05.
    note : why there is no effect, in words.
    """

    term: str
    variable: str
    label: str
    level: str | None
    reference: str | None
    covariate: bool
    per: str
    sd: float
    effect: float
    std_err: float
    lower: float
    upper: float
    p: float
    shrunk: float
    shock: float | None
    probability: float | None
    effect_per_sd: float
    std_err_per_sd: float
    lower_per_sd: float
    upper_per_sd: float
    shrunk_per_sd: float
    robustness: float
    robustness_p: float
    e_value: float
    e_value_limit: float
    strong_as: str | None
    times_as_strong: float | None
    true_share: float
    note: str

    @property
    def estimable(self) -> bool:
        return math.isfinite(self.effect)


@dataclass(frozen=True, eq=False)
class Summary:
    """Effects of all columns of a fit, without a prior and shrunk; ``print`` shows a table.

    Attributes
    ----------
    terms : one for each column, in the order of the table.
    method : how effects were estimated, in words.
    adjusted : what they are adjusted for, in words.
    none : why there are no effects without a prior; empty where there are.
    """

    terms: tuple[Term, ...]
    method: str
    adjusted: str
    none: str
    _words: Words
    _rows: int
    _notable: float
    _averaged: bool

    HEAD: ClassVar[tuple[str, ...]] = (
        "per SD",
        "95 % interval",
        "p",
        "shrunk",
        "own unit",
        "for",
        "shock",
        "P(cause)",
    )
    HIDDEN_HEAD: ClassVar[tuple[str, ...]] = (
        "to zero",
        "to p .05",
        "E-value",
        "to limit",
        "true of 100",
        "as strong as",
    )

    @classmethod
    def of(
        cls,
        model: CausalModel,
        encoding: Encoding,
        effects: Effects,
        shocks: F64,
        probability: F64 | None,
        provenance: Mapping[str, Any],
    ) -> Summary:
        reading = provenance.get("reading", {})
        words = words_of(model.attribution, reading.get("called"), reading.get("unit", ""))
        strong = strengths(effects, model, provenance)
        terms = tuple(_terms(model, encoding, effects, shocks, probability, strong))
        q = len(terms)
        adjusted = f"all other {q - 1:,} columns" if q > 2 else "the other column" if q > 1 else "nothing"
        covariates = sum(term.covariate for term in terms)
        if covariates:
            adjusted += f", {plural(covariates, 'covariate')} among them"
        attribution, method = model.attribution, _method(effects, provenance)
        told = attribution.notable, not attribution.proportional
        return cls(terms, method, adjusted, effects.none, words, effects.rows, *told)

    def called(self, words: Words, units: Mapping[str, str]) -> Summary:
        """The same with these words of the outcome, and these units of variables, where there are any."""
        terms = tuple(
            replace(term, per=_one(one_line(units[term.variable])))
            if term.per.split(" ")[0] == "1" and units.get(term.variable)
            else term
            for term in self.terms
        )
        return replace(self, terms=terms, _words=words)

    @property
    def frame(self) -> Any:
        """A pandas DataFrame, one row for each column of the fit, by ``term``; see :class:`Term`."""
        columns = {
            name: np.array([getattr(term, name) for term in self.terms], dtype=kind)
            for name, kind in _FRAME_TYPES.items()
        }
        return frame_of(columns, None).set_index("term")

    def strongest(self) -> list[Term]:
        """The terms by how surely they have an effect, the surest first, and then by what the model says."""

        def rank(term: Term) -> tuple[float, float]:
            sure = abs(term.effect / term.std_err) if term.estimable and term.std_err else -1.0
            return -sure, -abs(term.shrunk_per_sd)

        return sorted(self.terms, key=rank)

    @property
    def scale(self) -> str:
        """What effects are on: ``log-odds of died``."""
        if self._words.kind == "continuous":
            return self._words.of_what + (f", in {self._words.unit}" if self._words.unit else "")
        return f"{self._words.scale} of {self._words.of_what}"

    @property
    def heading(self) -> str:
        """What the numbers are."""
        said = f"Effects on {self.scale}, of {plural(self._rows, 'row')}"
        if self.none:
            return f"{said}; none without a prior: {self.none}"
        return f"{said}; without a prior by {self.method}, adjusted for {self.adjusted}"

    def lines(self, terms: Sequence[Term] | None = None) -> list[str]:
        """The table as text, of some terms or of all."""
        terms = self.terms if terms is None else terms
        names = short_names([term.label for term in terms], NAME_LETTERS)
        head = ["", *self.HEAD]
        cells = [[name, *self.cells(term)] for name, term in zip(names, terms, strict=True)]
        return _aligned([head, *cells], (0, head.index("for")))

    def cells(self, term: Term) -> list[str]:
        """What the table says of a term, as text."""
        interval = p = own = MISSING
        effect = "not estimable" if term.note else MISSING
        if term.estimable:
            effect = self._size(term.effect_per_sd)
            interval = f"{self._size(term.lower_per_sd)} to {self._size(term.upper_per_sd)}"
            p = self.p_text(term)
            own = f"{'+' if term.effect >= 0 else '-'}{amount(float(f'{abs(term.effect):.3g}'))}"
        by_model = [
            MISSING if some is None else self._size(some) for some in (term.shrunk_per_sd, term.shock)
        ]
        probability = MISSING if term.probability is None else f"{term.probability:.2f}"
        per = one_line(term.per, NAME_LETTERS)
        return [effect, interval, p, by_model[0], own, per, by_model[1], probability]

    @staticmethod
    def p_text(term: Term) -> str:
        """The p-value with three digits behind the point, or that it is smaller: ``<0.001``."""
        return f"<{LEAST_P:g}" if term.p < LEAST_P else f"{term.p:.3f}"

    def _size(self, value: float) -> str:
        return self._words.beside(value) if self._words.kind == "continuous" else f"{value:+.2f}"

    @property
    def causes(self) -> tuple[Term, ...]:
        """The terms whose shock is named as a cause and has an effect without a prior, the weakest first.

        Weakest is what is not significant, then what is most often false where hidden causes act, then what
        the weakest of them would explain away.
        """
        named = (
            term
            for term in self.terms
            if abs(term.shock or 0.0) >= self._notable and math.isfinite(term.robustness)
        )

        def rank(term: Term) -> tuple[float, ...]:
            share = 1.0 if math.isnan(term.true_share) else term.true_share
            return term.robustness_p > 0.0, share, term.robustness_p, term.robustness

        return tuple(sorted(named, key=rank))

    def hidden_lines(self, terms: Sequence[Term]) -> list[str]:
        """What a hidden common cause of each of these and of the outcome would need, as a table."""
        names = short_names([term.label for term in terms], NAME_LETTERS)
        cells = [[name, *self.hidden_cells(term)] for name, term in zip(names, terms, strict=True)]
        return _aligned([["", *self.HIDDEN_HEAD], *cells], (0, len(self.HIDDEN_HEAD)))

    def hidden_cells(self, term: Term) -> list[str]:
        """What that table says of a term, as text."""
        like = MISSING
        if term.strong_as is not None and term.times_as_strong is not None:
            times = term.times_as_strong
            called = next(one.label for one in self.terms if one.term == term.strong_as)
            like = f"{f'{times:.1f}' if times < 10 else 'over 10'} × {one_line(called, NAME_LETTERS)}"
        shares = [f"{share:.0%}" for share in (term.robustness, term.robustness_p)]
        ratios = [
            f"{value:.2f}" if value < 100 else "over 100" for value in (term.e_value, term.e_value_limit)
        ]
        true = MISSING if term.true_share != term.true_share else f"{100.0 * term.true_share:.0f}"
        return [*shares, *ratios, true, like]

    @property
    def notes(self) -> list[str]:
        """How to read it."""
        said = [
            "per SD, own unit: the effect with all other columns held fixed, without a prior; shrunk: the "
            "same by the model.",
        ]
        said.append("shock: what a shock of one SD adds by all ways, by the model.")
        if any(term.probability is not None for term in self.terms):
            said.append("P(cause): that it causes the outcome at all, directly or by way of others.")
        if self._averaged:
            said.append("Relations are nonlinear: shrunk and shock are averages over people.")
        for note in dict.fromkeys(term.note for term in self.terms if term.note):
            names = [one_line(term.label, NAME_LETTERS) for term in self.terms if term.note == note]
            said.append(f"{listed(names, NAMED)}: {note}.")
        return said

    def __str__(self) -> str:
        shown, said = self.terms, list[str]()
        if len(shown) > MOST_LINES:
            shown = tuple(self.strongest()[:MOST_LINES])
            said = [f"The {MOST_LINES} surest of {len(self.terms):,}; frame has all."]
        hidden = self.causes[:MOST_LINES]
        of_hidden = ["", *self.hidden_lines(hidden), "", HIDDEN_NOTE] if hidden else []
        return "\n".join([self.heading, "", *self.lines(shown), "", *said, *self.notes, *of_hidden])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """A table for notebooks; whatever terms are called stays text."""
        from .shown import as_table

        shown = self.terms if len(self.terms) <= MOST_LINES else self.strongest()[:MOST_LINES]
        rows = [(one_line(term.label, NAME_LETTERS), *self.cells(term)) for term in shown]
        rest = [f"The {MOST_LINES} surest of {len(self.terms):,}; frame has all."]
        below = [*(rest if len(shown) < len(self.terms) else []), *self.notes]
        return as_table(escape(self.heading), ("", *self.HEAD), rows, below)


def _aligned(rows: Sequence[Sequence[str]], texts: Sequence[int]) -> list[str]:
    """Rows of cells as lines; the columns at ``texts`` begin at the left, the others end at the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place in texts else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


_TEXTS = ("term", "variable", "label", "level", "reference", "per", "strong_as", "note")
_FRAME_TYPES: dict[str, Any] = {
    name: object if name in _TEXTS else bool if name == "covariate" else np.float64
    for name in Term.__dataclass_fields__
}


def _one(unit: str) -> str:
    """One of a unit: ``1 year`` of years, and ``1 × 1000/mm³``."""
    if unit[:1].isdigit():
        return f"1 × {unit}"
    return f"1 {unit.removesuffix('s') if unit in TIMES else unit}"


def _method(effects: Effects, provenance: Mapping[str, Any]) -> str:
    what = "least squares"
    if effects.method == FIRTH:
        what = "maximum likelihood with Firth's penalty"
    elif effects.method == UNPENALIZED:
        what = "maximum likelihood, without a penalty"
    if effects.copies > 1:
        what += f", {effects.copies} imputations (Rubin's rules)"
    weighted = not provenance.get("weights", {}).get("whole", True)
    if weighted:
        what += ", weighted"
    if not effects.clustered:
        return what
    by_patient = "patients" in provenance or not weighted
    return f"{what}, standard errors {'by patient' if by_patient else 'robust'}"


def _terms(
    model: CausalModel,
    encoding: Encoding,
    effects: Effects,
    shocks: F64,
    probability: F64 | None,
    strong: Mapping[int, Strength],
) -> Iterator[Term]:
    layout, covariates = encoding.layout, set(model.covariates.tolist())
    shrunk = direct_effects(model)
    ends, p_values = effects.ends, effects.p_values
    place_in_variable = 0
    for column, place in enumerate(layout.variable.tolist()):
        first = column == 0 or layout.variable[column - 1] != place
        place_in_variable = 0 if first else place_in_variable + 1
        variable, covariate = encoding.variables[place], place in covariates
        level, reference, per, times = _own_unit(variable, place_in_variable)
        sd = float(effects.sd[column])
        own, of_sd = (
            [float(times_of * value) for value in (effects.estimate[column], effects.error[column])]
            for times_of in (times, sd)
        )
        own_ends, sd_ends = (times * ends[:, column]).tolist(), (sd * ends[:, column]).tolist()
        by_model = float(shrunk[column])
        chance = None if probability is None or covariate else float(probability[place])
        hidden = strong.get(column, NO_STRENGTH)
        like = None if hidden.like < 0 else encoding.column_names[hidden.like]
        yield Term(
            term=encoding.column_names[column],
            variable=variable.name,
            label=f"{variable.shown} = {level}" if variable.kind == "nominal" else variable.shown,
            level=level,
            reference=reference,
            covariate=covariate,
            per=per,
            sd=sd,
            effect=own[0],
            std_err=own[1],
            lower=own_ends[0],
            upper=own_ends[1],
            p=float(p_values[column]),
            shrunk=by_model * times,
            shock=None if covariate else float(shocks[place]),
            probability=chance,
            effect_per_sd=of_sd[0],
            std_err_per_sd=of_sd[1],
            lower_per_sd=sd_ends[0],
            upper_per_sd=sd_ends[1],
            shrunk_per_sd=by_model * sd,
            robustness=hidden.to_zero,
            robustness_p=hidden.to_p,
            e_value=hidden.e_value,
            e_value_limit=hidden.e_value_limit,
            strong_as=like,
            times_as_strong=None if like is None else hidden.times,
            true_share=hidden.true_share,
            note=WHY[effects.why[column]],
        )


def _own_unit(variable: Variable, dummy: int) -> tuple[str | None, str | None, str, float]:
    """Level and reference, what an effect is for, in words, and of how many units of the column that is."""
    if variable.kind == "nominal":
        texts = level_texts(variable)
        level, reference = texts[dummy + 1], texts[0]
        return level, reference, f"{level}, not {reference}", 1.0
    if variable.kind == "binary":
        low, high = level_texts(variable)
        return high, low, f"{high}, not {low}", float(np.ptp(variable.values))
    if variable.log:
        return None, None, "doubling", math.log(2.0)
    if variable.kind == "ordinal" and any(isinstance(level, str) for level in variable.levels):
        return None, None, "one level", 1.0
    return None, None, f"1 {variable.unit}".rstrip(), 1.0


def direct_effects(model: CausalModel) -> F64:
    """(q,) what one unit of each column adds to the predictor, all others held fixed, by the model.

    Zero for columns that it left out; where that differs between patients, on average over people.
    """
    effects, mechanism, attribution = np.zeros(model.n_columns), model.mechanism, model.attribution
    if attribution.proportional:
        effects[model.column_order] = mechanism.slopes() @ attribution.unit_effects
    else:
        effects[model.column_order] = attribution.average_direct_effects(mechanism) / mechanism.scale
    return effects
