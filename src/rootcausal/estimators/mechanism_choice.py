"""Which mechanism a cohort gets: the one that was asked for, or the one that its relations call for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..backends.choose import whole_rows, worth_a_gpu
from ..diagnostics import Check, Checked, check_linear
from ..errors import InputError
from ..inputs.patients import Cohort
from ..method.missing.imputation import MOST_NONLINEAR
from ..method.missing.sums import DRAWS, IncompleteRaw
from ..method.moments import describe_columns
from ..method.ordering.ordering import OnRound
from ..method.pipeline import Learned, Settings
from ..method.table import F64
from ..nonlinear.learning import LINEAR, NONLINEAR, learn_mechanism
from ..wording import plural

AUTO = "auto"
# Verdicts of the check of linearity by which a linear mechanism is not kept to.
NOT_LINEAR = ("doubtful", "broken")
# So much shorter, in nats, a nonlinear description has to be: among many variables some are so by chance. In
# linear cohorts it was by less in nearly all; in nonlinear ones, by more in nine of ten from 500 patients on.
# Where the check of linearity is not fine, a third of it is enough.
SHORTER, SHORTER_A_VARIABLE = 30.0, 3.0
# So many times as much, and relations bend whatever else is doubted of the outcome.
CLEARLY = 10.0
# By so many nats, beyond what its terms cost, what bends has to tell the outcome better than lines.
SHORTER_OUTCOME = 8.0
# Curves are searched where this part of that is in sight of score tests, which are cheap and see less.
IN_SIGHT = 1.0 / 12.0
# Of larger tables, rows with so many values are looked at before curves are searched.
LOOKED_AT = 2_000_000
# In fewer rows than these, and than these for each column, curves are found in noise.
FEWEST_ROWS, FEWEST_A_COLUMN = 50, 2
# Where that search would take minutes, it is made when asked for: above so many values.
SEARCHED_UNASKED = 10_000_000
NOTHING_BENDS = "No curve and no product of variables was seen to say more than lines do."


@dataclass(frozen=True, eq=False)
class Chosen:
    """What was learned.

    Attributes
    ----------
    learned : by the mechanism that was taken.
    settings : with that mechanism.
    said : which was asked for and taken, and why, for the model to remember; None where nothing was to
        choose.
    """

    learned: Learned
    settings: Settings
    said: dict[str, str] | None


def learn_cohort(
    cohort: Cohort, settings: Settings, parameters: Mapping[str, Any], on_round: OnRound | None
) -> Chosen:
    """Learn from a cohort; with ``auto``, by a nonlinear mechanism where a linear one is not enough."""
    if (cohort.layout.acts | cohort.layout.does_not_act).any() and not settings.takes_known_causes:
        raise InputError(
            "knowledge says what acts on the outcome, which attribution='sharp' alone takes in: leave out "
            "these pairs, or choose it"
        )
    if settings.mechanism != AUTO:
        said = None
        if settings.mechanism != LINEAR:
            said = {"asked": settings.mechanism, "taken": settings.mechanism, "why": "It was asked for."}
        return Chosen(_learned(cohort, settings, on_round), settings, said)
    linear = replace(settings, mechanism=LINEAR)
    why = _no_curves(cohort, settings)
    if why is not None:
        said = {"asked": AUTO, "taken": LINEAR, "why": why}
        return Chosen(_learned(cohort, linear, on_round), linear, said)
    return _weighed(cohort, linear, parameters, on_round)


def _no_curves(cohort: Cohort, settings: Settings) -> str | None:
    """Why nonlinear equations cannot be had for these patients, or are not looked for unasked."""
    if settings.attribution.name != "sharp":
        return f"attribution={settings.attribution.name!r} regresses on the errors of linear equations."
    if cohort.layout.noise is not None:
        return "Values that are measured with error are taken in by straight lines alone."
    if cohort.layout.limits is not None:
        return "Values beyond a limit of detection are taken in by straight lines alone."
    on_cluster, has_holes = cohort.raw.backend == "dask", isinstance(cohort.raw, IncompleteRaw)
    if on_cluster and has_holes:
        return "Values are missing in rows on a cluster, of which lines alone are told."
    if cohort.rows is None and not on_cluster:
        return "These rows are at sites, and nonlinear equations are learned in memory or on a cluster."
    if cohort.outcome is not None and cohort.outcome.name == "matched":
        return "Of matched sets, lines alone are told."
    n, p = cohort.raw.shape
    if n < max(FEWEST_ROWS, FEWEST_A_COLUMN * p):
        return f"{n:,} rows are too few to tell curves among {plural(p, 'column')} from noise."
    known = None if cohort.rows is None else cohort.rows[1][cohort.counted]
    if known is not None and cohort.outcome is not None and not cohort.outcome.is_enough(known):
        return "Patients who stand for all are too alike in the outcome to tell curves by it."
    # The same table gets the same equations with a GPU and without.
    if p > MOST_NONLINEAR or n * p > SEARCHED_UNASKED or worth_a_gpu((DRAWS * n if has_holes else n, p)):
        return (
            f"Of {p:,} columns and {n:,} rows, nonlinear equations take long to find and are looked for when "
            "asked for (mechanism='nonlinear')."
        )
    return None


def _weighed(
    cohort: Cohort, linear: Settings, parameters: Mapping[str, Any], on_round: OnRound | None
) -> Chosen:
    """The shorter description of the patients, by their graph and by what their outcome is told by."""
    from ..nonlinear.learning import nats_saved

    learned = _learned(cohort, linear, on_round)
    rows = None if cohort.rows is None else _Complete.of(cohort, linear, learned)

    def lines(why: str) -> Chosen:
        return Chosen(learned, linear, {"asked": AUTO, "taken": LINEAR, "why": why})

    of_columns, of_outcome = _in_sight(cohort, linear, learned, rows)
    if of_columns <= IN_SIGHT * _enough(learned) and of_outcome <= SHORTER_OUTCOME:
        return lines(NOTHING_BENDS)
    settings = replace(linear, mechanism=NONLINEAR)
    nonlinear = _learned(cohort, settings, on_round)

    def curves(why: str) -> Chosen:
        return Chosen(nonlinear, settings, {"asked": AUTO, "taken": NONLINEAR, "why": why})

    saved, by_outcome = nats_saved(nonlinear.ordering)
    enough = _enough(nonlinear)
    shorter = f"Nonlinear equations describe these patients in {saved:,.0f} nats less than linear ones do"
    doubt = _new_doubt(nonlinear, learned, saved > CLEARLY * enough)
    if doubt and (saved > enough / 3.0 or by_outcome > SHORTER_OUTCOME):
        return lines(doubt)
    if saved > enough:
        return curves(f"{shorter}.")
    # What decides outcomes for certain tells them in as many nats less as a weak prior lets it.
    if by_outcome > SHORTER_OUTCOME and not nonlinear.separated:
        return curves(
            f"Curves or products of variables tell the outcome in {by_outcome:,.0f} nats less than lines do."
        )
    if saved < 1.0:
        shorter = "Nonlinear equations describe these patients in no less than linear ones do"
    if rows is None:
        # The check looks at patients one by one.
        return lines(f"{shorter}, which may be chance.")
    check = _straight(cohort, learned, rows, parameters)
    if check.verdict in NOT_LINEAR and saved > enough / 3.0:
        return curves(check.statement)
    return lines(f"{shorter}, which may be chance; {check.statement[0].lower()}{check.statement[1:]}")


def _enough(learned: Learned) -> float:
    """So many nats shorter a nonlinear description of its variables has to be."""
    return max(SHORTER, SHORTER_A_VARIABLE * learned.model.order.size)


def _new_doubt(nonlinear: Learned, linear: Learned, clear: bool) -> str:
    """What is wrong with a nonlinear fit that is not with the linear one; empty where nothing is.

    Where the relations of columns are ``clear``, whatever the outcome, telling it for certain is no doubt.
    """
    if linear.converged and not nonlinear.converged:
        return "The search for nonlinear equations did not converge, and that for linear ones did."
    if nonlinear.separated and not linear.separated and not clear:
        return "Curves decide the outcome of some patients for certain, and lines do not."
    if np.setdiff1d(nonlinear.ordering.exhausted, linear.ordering.exhausted).size:
        return "Curves make some columns of others, and would leave them out; lines do not."
    return ""


@dataclass(frozen=True, eq=False)
class _Complete:
    """Rows that count alike: values (n, q) with what is missing drawn, which these are, and the outcome."""

    values: F64
    missing: np.ndarray | None
    known: np.ndarray

    @classmethod
    def of(cls, cohort: Cohort, settings: Settings, learned: Learned) -> _Complete:
        assert cohort.rows is not None
        values, known = (of_rows[cohort.counted] for of_rows in cohort.rows)
        if learned.imputation is None:
            return cls(values, None, known)
        drawn = learned.completion.draw(values, settings.imputation_seed, cohort.layout)
        return cls(drawn, np.isnan(values), known)


def _in_sight(
    cohort: Cohort, settings: Settings, learned: Learned, rows: _Complete | None
) -> tuple[float, float]:
    """By how many nats curves may describe the patients better; seen in some of them where they are many.

    Rows on a cluster are looked at where they are.
    """
    from ..nonlinear.learning import nats_in_sight

    assert cohort.outcome is not None
    if rows is None:
        assert not isinstance(cohort.raw, IncompleteRaw), "of rows with holes on a cluster lines are told"
        where = cohort.layout, cohort.outcome, learned.ordering.order
        return nats_in_sight(cohort.raw, cohort.columns, *where)
    values, known, outcome, (n, q) = rows.values, rows.known, cohort.outcome, rows.values.shape
    if n * q > LOOKED_AT:
        some = np.sort(np.random.default_rng(0).choice(n, LOOKED_AT // q, replace=False))
        values, known = values[some], known[some]
        outcome = outcome.again(known)
    # A rare finding may be missing from these rows.
    varies, order = np.ptp(values, axis=0) > 0.0, learned.ordering.order
    layout, order = cohort.layout.take(np.flatnonzero(varies)), (np.cumsum(varies) - 1)[order[varies[order]]]
    raw = whole_rows("numba", np.asfortranarray(values[:, varies]), outcome.rows(known))
    described = describe_columns(raw, settings.prevalence)
    return nats_in_sight(raw, described, layout, outcome, order)


def _learned(cohort: Cohort, settings: Settings, on_round: OnRound | None) -> Learned:
    return learn_mechanism(cohort.raw, cohort.columns, settings, on_round, cohort.layout, cohort.outcome)


def _straight(cohort: Cohort, learned: Learned, rows: _Complete, parameters: Mapping[str, Any]) -> Check:
    """Whether linear equations are enough for these patients, by the model that they lead to."""
    made, stated = {"parameters": dict(parameters)}, learned.model.predictor(rows.values)
    patients = (rows.values, rows.missing, rows.known, stated, cohort.encoding, None, made)
    return check_linear(Checked(learned.model, *patients, of_fit=True))
