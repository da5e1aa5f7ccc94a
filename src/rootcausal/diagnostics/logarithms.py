"""Would a logarithm make relations straighter, and what would it change?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from ..core.layout import Layout
from ..core.model import CausalModel
from ..core.moments import FLAT
from ..core.table import F64, Index
from ..wording import listed, one_line, plural, quoted
from .checked import Checked
from .diagnosis import Check
from .evidence import population_sample
from .log_option import how_to_log
from .other_scale import Change, settings_of, what_changes
from .straighter import (
    COLUMNS_AT_MOST,
    OFFERED_AT_MOST,
    ROWS_A_COLUMN,
    ROWS_AT_MOST,
    STANDARD_ERRORS,
    STRAIGHTER,
    Gain,
    Scales,
    gain_of,
    may_be_logged,
    quick_gains,
    screened,
    straightened,
)
from .visible import POWER

NAME = "logarithm"
QUESTION = "Would a logarithm make relations straighter?"
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
TOO_FEW = f"Fewer than {FEWEST_AT_ALL} patients do not show whether a logarithm would make lines straighter."
MORE = "take more patients, or plot these columns against each other."
NOTHING_TO_LOG = (
    "No column is a number that is above zero in every patient and varies by a factor of three: there is "
    "nothing to take a logarithm of."
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


def check_logarithm(checked: Checked, score: np.ndarray) -> Check:
    """Whether some column wants a logarithm, and what that would change; ``score`` (n,) is the outcome's."""
    looked = _looked_at(checked, score)
    if looked is None:
        return Check(NAME, QUESTION, "cannot tell", 0.0, None, TOO_FEW, MORE, (), TOO_FEW, "order")
    if not looked.scales.candidates.any():
        return Check(NAME, QUESTION, "fine", 0.0, None, NOTHING_TO_LOG, "")
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
    candidates = may_be_logged(checked.X, checked.missing, layout) & checked.may_be_logged()
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
    happening = checked.words.happening
    some = [
        f"{one_line(name, 40)} {gain.explained_log:.0%} instead of {gain.explained:.0%}"
        for name, gain in zip(names, gains, strict=True)
    ]
    statement = (
        f"The other columns and {happening} explain more of a logarithm than of the value: "
        f"{listed(some, COLUMNS_NAMED)}; and errors depend on each other less."
    )
    if change is not None:
        n_rows = looked.rows.size
        some_rows = f" on {n_rows:,} of the {checked.row_noun}s" if n_rows < len(checked.X) else ""
        changes = change.in_words(_variables(checked, looked))
        statement += f" Fitted for this{some_rows}, once without and once with it, {changes}."
    if not complete:
        statement += f" No more than {OFFERED_AT_MOST} columns were tried: others may follow once these are."
    shown = listed([quoted(name, 40) for name in names], COLUMNS_NAMED)
    return Check(
        NAME,
        QUESTION,
        "doubtful",
        gains[0].nats,
        None,
        statement + _left_unseen(looked, happening),
        f"fit again with {how_to_log(names, checked.logged, checked.words.estimator)}, and let someone "
        "who knows these measurements say which of the two results makes sense.",
        tuple(names),
        _limit(shown, change),
        "order",
    )


def _limit(shown: str, change: Change | None) -> str:
    said = f"The order around {shown} rests on straight lines that would be straighter with a logarithm"
    if change is None:
        return f"{said}."
    return f"{said}; it would make another root cause the strongest in {change.new_top:.0%} of the patients."


def _nothing_offered(checked: Checked, looked: Looked, clear: list[Gain], gains: list[Gain]) -> Check:
    """``clear`` are gains beyond chance; of these, ``gains`` also made errors less dependent."""
    scales, happening = looked.scales, checked.words.happening
    closest = clear[0] if clear else gain_of(scales, int(quick_gains(scales).argmax()))
    name = one_line(checked.named.column_names[looked.columns[closest.column]], 40)
    figures = f"{name}, {closest.explained_log:.0%} instead of {closest.explained:.0%}"
    smallest = max(STRAIGHTER, STANDARD_ERRORS * closest.error) + float(norm.ppf(POWER)) * closest.error
    n_columns, n_rows = plural(int(scales.candidates.sum()), "column"), len(scales.score)
    if gains:
        statement = f"A logarithm would make {name} straighter, but the model does not use it, nor would it."
    elif clear:
        statement = (
            f"The other columns and {happening} explain more of some logarithms than of the values "
            f"({figures}), as long tails alone can bring about: errors then do not depend on each other "
            "clearly less, as they would with straighter lines."
        )
    else:
        statement = (
            f"Of {n_columns} above zero, the other columns and {happening} explain no logarithm clearly "
            f"better than the value (closest: {figures})."
        )
    told = n_rows >= FEWEST_PATIENTS and (smallest <= HARD or bool(clear))
    return Check(
        NAME,
        QUESTION,
        "fine" if told else "cannot tell",
        closest.nats,
        None,
        statement + _left_unseen(looked, happening),
        "" if told else MORE,
        (),
        ""
        if told
        else "Whether a logarithm would make lines straighter cannot be seen in "
        f"{plural(n_rows, checked.row_noun)}.",
        "" if told else "order",
        smallest,
    )


def _left_unseen(looked: Looked, happening: str) -> str:
    if looked.every_column:
        return ""
    few = looked.columns.size
    return f" Only the {few} columns that matter most to the model and to {happening} were looked at."


def _variables(checked: Checked, looked: Looked) -> list[str]:
    """Names of the variables of the columns that were looked at."""
    layout, names = checked.model.layout, checked.named.names
    variable = looked.columns if layout is None else layout.variable[looked.columns]
    return [names[place] for place in np.unique(variable)]
