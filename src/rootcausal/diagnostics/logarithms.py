"""Would a logarithm make relations straighter, and what would it change?

Both fits are the model's own, on the same patients, once without and once with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import chi2, norm, rankdata

from ..backends.choose import choose_table
from ..method.arrows import arrows_among
from ..method.layout import Layout
from ..method.model import CausalModel
from ..method.moments import FLAT, describe_columns
from ..method.ordering.ordering import VARIANTS, order_columns
from ..method.outcome import Outcome
from ..method.pipeline import ATTRIBUTIONS, Settings, learn
from ..method.table import F64, Index
from ..outcomes.binary import Binary
from ..wording import listed, one_line, plural
from .diagnosis import NEVER, Check, CheckSpec, Text
from .evidence import Checked, population_sample, standardized, ties_restored
from .linearity import how_to_log
from .power import POWER

# Which columns are straighter on a log scale.
#
# Skewness says nothing here: it is what tells causes from effects. A column is offered a logarithm only
# where both of these hold.
#
# - The other columns and D explain more of its logarithm than of itself:
#   ½ [log(1 − R²) − log(1 − R²_log)] is above 0.05 nats a row, and beyond chance.
# - Once causal order and errors are learned from the columns as they are, its error depends on other errors;
#   learned on a log scale, by less than half as much. Long tails alone make the first one true in a fifth of
#   clean cohorts, and then the errors are independent as they are.

# Rows and columns that are enough to see it, and still take a fraction of a second.
ROWS_AT_MOST = 4_000
COLUMNS_AT_MOST = 100
COLUMNS_IN_ORDER = 20
# A regression wants so many patients a column.
ROWS_A_COLUMN = 5
# Columns that are offered at once.
OFFERED_AT_MOST = 12
# Nats a row, and standard errors, from which on relations are straighter.
STRAIGHTER = 0.05
STANDARD_ERRORS = 2.0
# A logarithm of values that lie closer together is nearly a straight line.
SMALLEST_RATIO = 3.0
# Errors depend on each other below this p-value.
DEPENDENT = 1e-4
# And what is beyond chance of that must fall to this part.
LEFT = 0.4
# Keeps the equations of columns that are copies of each other solvable.
RIDGE = 1e-8


@dataclass(frozen=True)
class Scales:
    """Columns as they are, and their logarithms.

    Attributes
    ----------
    values : (n, q) as they are.
    logs : (n, q) logarithms; of columns that are no candidates, the values.
    measured : (n, q), or None where all are.
    score : (n,) of the outcome: labels, martingale residuals or numbers.
    candidates : (q,) which columns could have a logarithm.
    layout : what the columns stand for.
    """

    values: F64
    logs: F64
    measured: np.ndarray | None
    score: np.ndarray
    candidates: np.ndarray
    layout: Layout

    @classmethod
    def of(
        cls, X: F64, missing: np.ndarray | None, score: np.ndarray, layout: Layout, candidates: np.ndarray
    ) -> Scales:
        """``candidates`` (q,) are positive wherever they were measured."""
        measured = None if missing is None or not missing.any() else ~missing
        logs = X.copy()
        for column in np.flatnonzero(candidates):
            rows = slice(None) if measured is None else measured[:, column]
            known = X[rows, column]
            log = np.log(known)
            # What was drawn in the place of a missing value need not be positive: it is as many standard
            # deviations from the mean on both scales.
            logs[:, column] = log.mean() + (X[:, column] - known.mean()) * (log.std() / known.std())
            logs[rows, column] = log
        return cls(X, logs, measured, score, candidates, layout)

    @cached_property
    def standard(self) -> F64:
        """(n, 2q + 1) of mean zero and variance one: values, logarithms and the outcome."""
        return standardized(np.column_stack([self.values, self.logs, self.score]))

    @cached_property
    def products(self) -> F64:
        """(2q + 1, 2q + 1) correlations of these."""
        found: F64 = self.standard.T @ self.standard / len(self.score)
        return found

    def state(self, logged: Sequence[int]) -> Index:
        """(q + 1,) which of these they are with some columns on a log scale, the outcome last."""
        q = self.layout.n_columns
        places = np.arange(q + 1)
        places[np.array(logged, dtype=np.intp)] += q
        places[-1] = 2 * q
        return places

    def on(self, logged: Index) -> F64:
        """(n, q): these columns on a log scale, the others as they are."""
        values = self.values.copy()
        values[:, logged] = self.logs[:, logged]
        return values

    def of_rows(self, rows: Index) -> Scales:
        """The same of some patients."""
        measured = None if self.measured is None else self.measured[rows]
        return replace(
            self, values=self.values[rows], logs=self.logs[rows], measured=measured, score=self.score[rows]
        )

    def rows_of(self, column: int) -> np.ndarray:
        """(n,) where it was measured."""
        return np.ones(len(self.score), dtype=bool) if self.measured is None else self.measured[:, column]


@dataclass(frozen=True)
class Gain:
    """What a logarithm of one column does.

    Attributes
    ----------
    column : which.
    nats : ½ [log(1 − R²) − log(1 − R²_log)].
    error : its standard error.
    explained, explained_log : R² of the column and of its logarithm.
    """

    column: int
    nats: float
    error: float
    explained: float
    explained_log: float

    @property
    def clear(self) -> bool:
        return self.nats > max(STRAIGHTER, STANDARD_ERRORS * self.error)


def screened(scales: Scales) -> tuple[list[Gain], bool]:
    """Columns of whose logarithm the others explain clearly more, the best first; and whether that is all.

    One is taken at a time, since a column beside one that wants a logarithm seems to want one itself.
    """
    chosen: list[int] = []
    best = _next(scales, chosen)
    while best is not None and len(chosen) < OFFERED_AT_MOST:
        chosen.append(best)
        best = _next(scales, chosen)
    gains = [gain_of(scales, column, [c for c in chosen if c != column]) for column in chosen]
    clear = sorted((gain for gain in gains if gain.clear), key=lambda gain: -gain.nats)
    return clear, best is None


def _next(scales: Scales, chosen: list[int]) -> int | None:
    """The column that gains most beside those chosen; by all rows at once, then by those measured."""
    quick = quick_gains(scales, chosen)
    for column in np.argsort(-quick, kind="stable"):
        if quick[column] <= STRAIGHTER:
            return None
        if gain_of(scales, int(column), chosen).clear:
            return int(column)
    return None


def quick_gains(scales: Scales, chosen: Sequence[int] = ()) -> F64:
    """(q,) nats of each candidate, from one matrix of products; −inf for other columns and those chosen."""
    q = scales.layout.n_columns
    state, each = scales.state(chosen), np.arange(q)
    inverse = np.linalg.inv(scales.products[np.ix_(state, state)] + RIDGE * np.eye(q + 1))
    cross = scales.products[np.ix_(state, q + each)].copy()
    cross[each, each] = 0.0
    own = np.diagonal(inverse)[:q]
    # The inverse without one row and column follows from the whole.
    projected = inverse @ cross
    explained = (cross * projected).sum(axis=0) - projected[each, each] ** 2 / own
    left, left_log = 1.0 / own, np.maximum(1.0 - explained, RIDGE)
    gains = 0.5 * (np.log(np.maximum(left, RIDGE)) - np.log(left_log))
    open_ones = scales.candidates.copy()
    open_ones[np.array(chosen, dtype=np.intp)] = False
    found: F64 = np.where(open_ones, gains, -np.inf)
    return found


def gain_of(scales: Scales, column: int, chosen: Sequence[int] = ()) -> Gain:
    """By least squares on the patients in whom the column was measured, with a standard error."""
    others = np.delete(scales.state(chosen), column)
    both = np.array([column, column + scales.layout.n_columns])
    values = scales.standard[:, np.concatenate([both, others])]
    if scales.measured is None:
        products = scales.products[np.ix_(others, others)], scales.products[np.ix_(others, both)]
    else:
        values = standardized(values[scales.measured[:, column]])
        products = (
            values[:, 2:].T @ values[:, 2:] / len(values),
            values[:, 2:].T @ values[:, :2] / len(values),
        )
    n, k = len(values), others.size
    residuals = values[:, :2] - values[:, 2:] @ np.linalg.solve(products[0] + RIDGE * np.eye(k), products[1])
    left = np.maximum((residuals**2).mean(axis=0), RIDGE)
    # By how much each patient moves the logarithms (the delta method).
    pull = 0.5 * (residuals**2 / left - values[:, :2] ** 2)
    freedom = max(n - k - 1, 1)
    error = float((pull[:, 0] - pull[:, 1]).std() / np.sqrt(freedom))
    nats = 0.5 * float(np.log(left[0]) - np.log(left[1]))
    # Adjusted for how many columns explain: the same factor on both scales, so that nats have none.
    explained = np.clip(1.0 - left * (n - 1) / freedom, 0.0, 1.0)
    return Gain(column, nats, error, float(explained[0]), float(explained[1]))


def straightened(scales: Scales, gains: list[Gain]) -> list[Gain]:
    """Those whose errors depend on others as they are, and by less than half of that on a log scale."""
    chosen = np.array([gain.column for gain in gains], dtype=np.intp)
    some = _with_partners(scales, chosen)
    layout = scales.layout.take(some)
    before = _scores(_errors(scales.values[:, some], layout))
    after = _scores(_errors(scales.on(chosen)[:, some], layout))
    confirmed = []
    for gain in gains:
        place = int(np.flatnonzero(some == gain.column)[0])
        rows = scales.rows_of(gain.column)
        as_is, freedom = _dependence(before[:, rows], place, layout)
        logged, _ = _dependence(after[:, rows], place, layout)
        if chi2.sf(as_is, max(freedom, 1)) < DEPENDENT and logged - freedom < LEFT * (as_is - freedom):
            confirmed.append(gain)
    return confirmed


def _with_partners(scales: Scales, chosen: Index) -> Index:
    """These columns, and those that go with them most when all others are held fixed; ascending."""
    state = scales.state(chosen.tolist())[:-1]
    inverse = np.linalg.inv(scales.products[np.ix_(state, state)] + RIDGE * np.eye(state.size))
    partial = np.abs(inverse) / np.sqrt(np.outer(np.diagonal(inverse), np.diagonal(inverse)))
    strength = partial[chosen].max(axis=0)
    strength[chosen] = np.inf
    return np.sort(np.argsort(-strength, kind="stable")[:COLUMNS_IN_ORDER])


def _errors(values: F64, layout: Layout) -> F64:
    """(n, q): errors of all columns, in an order learned from these rows; zero where one has none."""
    raw = choose_table("auto", values, None)
    ordering = order_columns(raw, describe_columns(raw), VARIANTS["plus"], 1.0, None, layout)
    found = np.zeros(values.shape)
    places = np.arange(ordering.order.size)
    found[:, ordering.order] = ordering.uncorrelated(values.shape[1]).errors(values, places)
    return found


def _scores(errors: F64) -> F64:
    """(2, n, q): of each error a straight and a U-shaped function of its rank."""
    ranks = (rankdata(ties_restored(standardized(errors)), axis=0) - 0.5) / len(errors)
    return np.stack([np.cos(np.pi * ranks), np.cos(2.0 * np.pi * ranks)])


def _dependence(scores: F64, place: int, layout: Layout) -> tuple[float, int]:
    """χ² of the scores (2, n, q) of one error with those of the others, and its degrees of freedom.

    Errors of columns with levels still show which level it was, and columns that come first may depend on
    each other as they like: neither is looked at.
    """
    others = ~layout.discrete & ~(layout.kept & layout.kept[place])
    others[place] = False
    n = scores.shape[1]
    straight, bent = (standardized(one) for one in scores)
    found = [own[:, place] @ other[:, others] / n for own in (straight, bent) for other in (straight, bent)]
    return n * float((np.array(found) ** 2).sum()), 4 * int(others.sum())


# Nats a row that nobody should miss: the others explain a half of a logarithm, and a quarter of the column.
HARD = 0.2
FEWEST_COLUMNS = 10
# With fewer, a third of the columns that want a logarithm is not seen to: errors depend on each other too
# little for so few to show it.
FEWEST_PATIENTS = 400
COLUMNS_NAMED = 3
# What the fits that show what would change may take, rows times columns and rows times pairs of them: a
# fraction of a second.
CELLS_AT_MOST = 1_000_000
PAIRS_AT_MOST = 20_000_000
FEWEST_ROWS = 1_000
FEWEST_AT_ALL = 20
ARROWS_NAMED = 3
VARIABLES_NAMED = 3
NOBODY = -1

TOO_FEW = f"Fewer than {FEWEST_AT_ALL} patients do not show whether a logarithm would make relations linear."
LONG_TAILS = Text(
    "The other columns and {happening} explain more of some logarithms than of the values ({figures}), as "
    "long tails alone can bring about: errors then do not depend on each other clearly less, as they would "
    "with more linear relations.{unseen}"
)
NOT_USED = Text(
    "A logarithm would make relations of {closest:name} more linear, but the model does not use it, nor "
    "would it.{unseen}"
)
NONE_BETTER = (
    "Of {n_columns:# column} above zero, the other columns and {happening} explain no logarithm clearly "
    "better than the value (closest: {figures}).{unseen}"
)
SPEC = CheckSpec(
    "logarithm",
    "Would a logarithm make relations more linear?",
    "nats a patient by which it explains more",
    {
        "fine": Text(NONE_BETTER),
        "fine, nothing to log": Text(
            "No column is a number that is above zero in every patient and varies by a factor of three: "
            "there is nothing to take a logarithm of."
        ),
        "fine, not used": NOT_USED,
        "fine, long tails": LONG_TAILS,
        "cannot tell": Text(
            NONE_BETTER,
            "Whether a logarithm would make relations more linear cannot be seen in {rows}.",
            "take more patients, or plot these columns against each other.",
        ),
        "cannot tell, too few": Text(TOO_FEW, TOO_FEW),
        "cannot tell, not used": NOT_USED,
        "cannot tell, long tails": LONG_TAILS,
        "doubtful": Text(
            "The other columns and {happening} explain more of a logarithm than of the value: {some}; and "
            "errors depend on each other less.{changes}{unseen}",
            "The order around {names:3} rests on relations that would be more linear with a logarithm{new}.",
            "fit again with {log}, and let someone who knows these measurements say which of the two results "
            "makes sense.",
        ),
    },
    touches="order",
    doubtful_from=f"{STRAIGHTER:g} ({STANDARD_ERRORS:g} standard errors)",
    broken_from=NEVER,
)


@dataclass(frozen=True)
class Looked:
    """What was looked at.

    Attributes
    ----------
    rows : (n,) of the cohort.
    columns : (q,) of the cohort, ascending.
    every_column : whether these are all columns that vary.
    all_rows : these columns of these rows: as many patients as a fit of its own takes.
    scales : of those among them who make up a sample of the population.
    """

    rows: Index
    columns: Index
    every_column: bool
    all_rows: Scales
    scales: Scales


@dataclass(frozen=True)
class Change:
    """What differs between two models of the same patients.

    Attributes
    ----------
    n_arrows : arrows of the first.
    turned : those that point the other way in the second, as (from, to) in the first; the strongest first.
    new_top : share of the patients whose strongest root cause is another one.
    most_often : (before, after, share) of the most frequent such change; None where there is none.
    entered, left : variables of one causal order only.
    """

    n_arrows: int
    turned: tuple[tuple[int, int], ...]
    new_top: float
    most_often: tuple[int, int, float] | None
    entered: tuple[int, ...]
    left: tuple[int, ...]

    def in_words(self, names: Sequence[str]) -> str:
        """One sentence; ``names`` of the variables."""

        def named(variable: int) -> str:
            return one_line(names[variable], 40) if variable != NOBODY else "none"

        if self.turned:
            some = [f"{named(a)} → {named(b)}" for a, b in self.turned]
            said = [f"{len(some)} of {self.n_arrows} arrows would turn round ({listed(some, ARROWS_NAMED)})"]
        else:
            said = ["no arrow would turn round"]
        top = f"the strongest root cause would be another one in {self.new_top:.0%} of the patients"
        if self.most_often is not None:
            before, after, share = self.most_often
            top += f" (most often {named(after)} instead of {named(before)}: {share:.0%})"
        said.append(top)
        for verb, variables in (("enter", self.entered), ("leave", self.left)):
            if variables:
                some = [named(variable) for variable in variables]
                said.append(f"{listed(some, VARIABLES_NAMED)} would {verb} the model")
        return f"{', '.join(said[:-1])} and {said[-1]}"


def check_logarithm(checked: Checked, score: np.ndarray) -> Check:
    """Whether some column wants a logarithm, and what that would change; ``score`` (n,) is the outcome's."""
    looked = _looked_at(checked, score)
    if looked is None:
        return SPEC.check("cannot tell", 0.0, case="too few")
    if not looked.scales.candidates.any():
        return SPEC.check("fine", 0.0, case="nothing to log")
    clear, complete = screened(looked.scales)
    gains = straightened(looked.scales, clear) if clear else []
    matter, change = _with_what_changes(checked, looked, gains) if gains else ([], None)
    if matter:
        return _offered(checked, looked, matter, change, complete)
    return _nothing_offered(checked, looked, clear, gains)


def _looked_at(checked: Checked, score: np.ndarray) -> Looked | None:
    """Patients as in the population, and the columns that matter most to the model and to the outcome.

    None where these are too few for any regression.
    """
    model, n_columns = checked.model, checked.X.shape[1]
    width, ordered = min(n_columns, COLUMNS_AT_MOST), max(min(model.column_order.size, COLUMNS_AT_MOST), 1)
    at_most = max(FEWEST_ROWS, min(CELLS_AT_MOST // width, PAIRS_AT_MOST // ordered**2))
    rows = _some(np.arange(score.size), at_most)
    few = _some(population_sample(score[rows], checked.prevalence), ROWS_AT_MOST)
    if few.size < FEWEST_AT_ALL:
        return None
    values = checked.X[rows[few]]
    varies = np.ptp(values, axis=0) > FLAT * np.abs(values).max(axis=0)
    at_most = min(COLUMNS_AT_MOST, max(FEWEST_COLUMNS, few.size // ROWS_A_COLUMN))
    columns = _most_important(model, values, score[rows[few]], varies, at_most)
    layout = Layout.numbers(n_columns) if model.layout is None else model.layout
    # Every patient counts when it comes to values that have no logarithm.
    candidates = checked.may_be_logged(SMALLEST_RATIO)
    cells = np.ix_(rows, columns)
    missing = None if checked.missing is None else checked.missing[cells]
    all_rows = Scales.of(checked.X[cells], missing, score[rows], layout.take(columns), candidates[columns])
    return Looked(rows, columns, columns.size == int(varies.sum()), all_rows, all_rows.of_rows(few))


def _some(rows: Index, at_most: int) -> Index:
    if rows.size <= at_most:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, at_most, replace=False))


def _most_important(model: CausalModel, X: F64, score: np.ndarray, varies: np.ndarray, at_most: int) -> Index:
    """(m,) ascending: of the columns that vary, those of the model first, then those that go with D."""
    centred = X - X.mean(axis=0)
    spread = np.where(varies, centred.std(axis=0), np.inf)
    importance = np.abs((score - score.mean()) @ centred) / (len(score) * spread)
    importance[model.column_order] += 1.0 + model.attribution.importance()
    importance[~varies] = -1.0
    kept = np.argsort(-importance, kind="stable")[: min(at_most, int(varies.sum()))]
    return np.sort(kept)


def _with_what_changes(
    checked: Checked, looked: Looked, gains: list[Gain]
) -> tuple[list[Gain], Change | None]:
    """The gains that matter to the model as it is or would be, and what would change."""
    used = set(checked.model.column_order.tolist())
    settings = settings_of(checked.provenance["parameters"])
    change = None
    scales = looked.all_rows
    assert checked.known is not None
    known = checked.known[looked.rows]
    if settings is not None and checked.outcome.is_enough(known):
        on_log = scales.on(np.array([gain.column for gain in gains], dtype=np.intp))
        change = what_changes(scales.values, on_log, known, scales.layout, settings, checked.outcome)
        used |= {
            int(looked.columns[column])
            for variable in change.entered
            for column in scales.layout.columns_of(variable)
        }
    return [gain for gain in gains if int(looked.columns[gain.column]) in used], change


def _offered(
    checked: Checked, looked: Looked, gains: list[Gain], change: Change | None, complete: bool
) -> Check:
    """``complete`` says whether these are all that would be straighter."""
    names = [checked.named.column_names[looked.columns[gain.column]] for gain in gains]
    some = [
        f"{one_line(name, 40)} {gain.explained_log:.0%} instead of {gain.explained:.0%}"
        for name, gain in zip(names, gains, strict=True)
    ]
    changes, new, n_rows = "", "", looked.rows.size
    if change is not None:
        some_rows = f" on {n_rows:,} of the {checked.row_noun}s" if n_rows < len(checked.X) else ""
        would = change.in_words(_variables(checked, looked))
        changes = f" Fitted for this{some_rows}, once without and once with it, {would}."
        new = f"; it would make another root cause the strongest in {change.new_top:.0%} of the patients"
    if not complete:
        changes += f" No more than {OFFERED_AT_MOST} columns were tried: others may follow once these are."
    return SPEC.check(
        "doubtful",
        gains[0].nats,
        names=names,
        happening=checked.words.happening,
        some=listed(some, COLUMNS_NAMED),
        changes=changes,
        new=new,
        unseen=_left_unseen(checked, looked),
        log=how_to_log(names, checked.logged, checked.words.estimator),
    )


def _nothing_offered(checked: Checked, looked: Looked, clear: list[Gain], gains: list[Gain]) -> Check:
    """``clear`` are gains beyond chance; of these, ``gains`` also made errors less dependent."""
    scales = looked.scales
    closest = clear[0] if clear else gain_of(scales, int(quick_gains(scales).argmax()))
    name = checked.named.column_names[looked.columns[closest.column]]
    smallest = max(STRAIGHTER, STANDARD_ERRORS * closest.error) + float(norm.ppf(POWER)) * closest.error
    n_rows = len(scales.score)
    told = n_rows >= FEWEST_PATIENTS and (smallest <= HARD or bool(clear))
    return SPEC.check(
        "fine" if told else "cannot tell",
        closest.nats,
        case="not used" if gains else "long tails" if clear else "",
        smallest=smallest,
        happening=checked.words.happening,
        closest=name,
        figures=f"{one_line(name, 40)}, {closest.explained_log:.0%} instead of {closest.explained:.0%}",
        n_columns=int(scales.candidates.sum()),
        rows=plural(n_rows, checked.row_noun),
        unseen=_left_unseen(checked, looked),
    )


def _left_unseen(checked: Checked, looked: Looked) -> str:
    if looked.every_column:
        return ""
    which = (
        f"the {looked.columns.size} columns that matter most to the model and to {checked.words.happening}"
    )
    return f" Only {which} were looked at."


def _variables(checked: Checked, looked: Looked) -> list[str]:
    """Names of the variables of the columns that were looked at."""
    layout, names = checked.model.layout, checked.named.names
    variable = looked.columns if layout is None else layout.variable[looked.columns]
    return [names[place] for place in np.unique(variable)]


def settings_of(parameters: Mapping[str, Any]) -> Settings | None:
    """How the model was fitted; None where its file does not say, or says what this version does not know."""
    variant = VARIANTS.get(str(parameters.get("variant")))
    attribution = ATTRIBUTIONS.get(str(parameters.get("attribution")))
    alpha = parameters.get("alpha")
    if variant is None or attribution is None or "alpha" not in parameters:
        return None
    return Settings(
        variant, None if alpha is None else float(alpha), attribution, parameters.get("prevalence")
    )


def what_changes(
    before: F64,
    after: F64,
    known: np.ndarray,
    layout: Layout,
    settings: Settings,
    kind: type[Outcome] = Binary,
) -> Change:
    """``before`` and ``after`` (n, q) are the same patients, on two scales; no column may be constant.

    ``known`` is what is known of their outcome, which is of this ``kind``.
    """
    outcome = kind.of(known)
    models = [_fitted(values, known, layout, settings, outcome) for values in (before, after)]
    variables = np.arange(layout.n_variables)
    arrows, arrows_after = (arrows_among(model, variables) for model in models)
    strength = _strengths(models[0])
    turned = np.argwhere(arrows & arrows_after.T)
    turned = turned[np.argsort(-strength[turned[:, 0], turned[:, 1]], kind="stable")]
    tops = [_top_cause(model, values) for model, values in zip(models, (before, after), strict=True)]
    changed = np.flatnonzero(tops[0] != tops[1])
    most = Counter(zip(tops[0][changed].tolist(), tops[1][changed].tolist(), strict=True)).most_common(1)
    ordered, ordered_after = (set(model.order.tolist()) for model in models)
    return Change(
        int(arrows.sum()),
        tuple((int(cause), int(effect)) for effect, cause in turned),
        changed.size / len(known),
        (*most[0][0], most[0][1] / len(known)) if most else None,
        tuple(sorted(ordered_after - ordered)),
        tuple(sorted(ordered - ordered_after)),
    )


def _fitted(
    values: F64, known: np.ndarray, layout: Layout, settings: Settings, outcome: Outcome
) -> CausalModel:
    raw = choose_table("auto", values, outcome.rows(known))
    return learn(raw, describe_columns(raw, settings.prevalence), settings, None, layout, outcome).model


def _strengths(model: CausalModel) -> F64:
    """(p, p), ``[i, j]``: the size of what variable j does to i."""
    found = np.zeros((model.n_variables, model.n_variables))
    found[np.ix_(model.order, model.order)] = np.abs(model.direct_effects())
    return found


def _top_cause(model: CausalModel, values: F64) -> np.ndarray:
    """(n,) the variable whose shock adds most to each patient's predictor; NOBODY where none adds any."""
    shapley = model.shapley(values)
    if not shapley.shape[1]:
        return np.full(len(values), NOBODY)
    return np.where(shapley.max(axis=1) > 0.0, shapley.argmax(axis=1), NOBODY)
