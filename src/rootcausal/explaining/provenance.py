"""What a model remembers and says of how it was made. Older model files remember less."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..errors import RootCausalWarning, SeparationWarning
from ..inputs.binary import doubt_of_prevalence
from ..inputs.kinds import MOST_LEVELS
from ..inputs.knowledge import Knowledge
from ..inputs.labels import text_of
from ..inputs.patients import Cohort
from ..inputs.rules import MOSTLY_MISSING
from ..inputs.weights import doubt_of
from ..method.confounded_sets import Together
from ..method.missing.gaussian import censored
from ..method.missing.imputation import MOST_COLUMNS, MOST_NONLINEAR, Imputation
from ..method.model_parts import HETEROSCEDASTIC, NONLINEAR, POST_NONLINEAR, Mechanism
from ..method.ordering.ordering import Ordering
from ..method.pipeline import Learned, Searched, Settings
from ..method.table import F64, Index
from ..outcomes import words_of
from ..resampling.bootstrap import Bootstrap
from ..screening.leakage import by_absence, deciding_levels
from ..version import __version__
from ..wording import listed, one_line, plural, quoted

# Patients of equal weight below which a case-control study says little of mechanisms.
FEWEST_THAT_COUNT = 50
# Columns that a line about many of them names, where there is room.
NAMED_ON_PAPER = 50
NAMED_IN_A_LINE = 10
# Of outcomes that a patient has or has not: which of what is known of a row says so.
HAS_IT = {"binary": 0, "matched": 0, "survival": 1}
# Who called fit: past these functions, _learn, _fit and fit itself.
CALLER = 6


def how_it_was_made(learned: Learned, cohort: Cohort, parameters: dict[str, Any]) -> dict[str, Any]:
    """What a model remembers of its making: numbers, texts, truth values, and lists of them.

    ``weights`` is there where rows had some, ``patients`` where these have several rows, ``reading`` where
    the options of reading a file matter to the results, and ``missing`` where values were filled in.
    """
    raw, ordering = cohort.raw, learned.ordering
    more: dict[str, Any] = {"weights": dict(cohort.weighed)} if cohort.weighed else {}
    weighted = not cohort.weighed.get("whole", True)
    if cohort.groups is not None and cohort.sets is None:
        more["patients"] = int(cohort.groups.max()) + 1
    commas = {"decimal_comma": True} if cohort.encoding.decimal_comma else {}
    if cohort.reading or commas:
        more["reading"] = {**cohort.reading, **commas}
    if learned.imputation is not None and learned.imputation.missing.any():
        more["missing"] = _what_was_filled_in(learned.imputation, cohort)
    if cohort.layout.noise is not None:
        more["reliability"] = _how_reliable(cohort.layout.noise, cohort)
    if cohort.layout.limits is not None:
        more["limits"] = _how_limited(cohort)
    return {
        "rootcausal": __version__,
        "parameters": parameters,
        "backend": raw.backend,
        "rows": cohort.weighed["rows"] - cohort.weighed["left_out"] if weighted else raw.shape[0],
        **cohort.facts,
        "columns": learned.model.n_variables,
        "kinds": cohort.encoding.described(),
        "exhausted": cohort.named(learned.model.outside(ordering.exhausted)),
        "adds_nothing": cohort.named(learned.model.outside(ordering.adds_nothing)),
        "separated": learned.separated,
        "converged": learned.converged,
        "pairs_evaluated": ordering.n_pairs,
        **more,
    }


def of_sites(provenance: Mapping[str, Any]) -> list[str]:
    """A sentence on the sites that a model was learned from, if there were several."""
    made = provenance.get("sites")
    if not isinstance(made, dict) or not isinstance(made.get("names"), list):
        return []
    names, without = (
        [quoted(one_line(str(name)), 60) for name in some] if isinstance(some, list) else []
        for some in (made["names"], made.get("without"))
    )
    read = "in total over all sites only" if made.get("masked") is True else "site by site"
    lost = f"; {listed(without, 8)} did not answer in time" if without else ""
    return [
        f"Learned from {plural(len(names), 'site')} ({listed(names, 8)}), whose patients stayed there: sums "
        f"over them were read {read}{lost}."
    ]


def how_it_was_resampled(bootstrap: Bootstrap) -> dict[str, Any]:
    """What a model remembers of its resamples."""
    return {
        "resamples": len(bootstrap),
        "random_state": bootstrap.random_state,
        "unsettled": bootstrap.unsettled,
    }


def how_it_was_merged(found: Together, cohort: Cohort) -> dict[str, Any]:
    """What a model remembers of the variables that are read as one, by their names."""
    return {
        "merged": {
            "sets": [cohort.named(np.array(some)) for some in found.sets],
            "pairs": [cohort.named(np.array(pair)) for pair in found.pairs],
            "pairs_asked": found.n_asked,
        }
    }


def _what_was_filled_in(filled: Imputation, cohort: Cohort) -> dict[str, Any]:
    """What a model remembers of the values that were filled in, by the names of the variables."""
    filled_in = np.zeros(cohort.layout.n_columns)
    missing = np.asarray(filled.missing)
    if cohort.weights is not None and cohort.rows is not None:  # cells, whatever their rows count
        missing = np.isnan(cohort.rows[0]).sum(axis=0)
    filled_in[filled.columns] = missing[filled.columns]
    cells, unknown = _by_name(filled_in, cohort), _by_name(filled.unknown, cohort)
    return {
        "cells": {name: int(n) for name, n in cells.items() if n},
        "rows": int(filled.rows),
        "draws": int(filled.draws),
        "rounds": int(filled.rounds),
        "converged": bool(filled.converged),
        "unknown": {name: float(unknown[name]) for name, n in cells.items() if n},
    }


def _how_reliable(noise: F64, cohort: Cohort) -> dict[str, float]:
    """The share of each variable's variance that is no measurement error, of those that have some."""
    shares = _by_name(1.0 - (noise / cohort.columns.sd) ** 2, cohort)
    return {name: float(share) for name, share in shares.items() if share < 1.0}


def _how_limited(cohort: Cohort) -> dict[str, dict[str, Any]]:
    """The limits of detection of variables, as they were said, and how many values lie at or beyond them."""
    assert cohort.rows is not None and cohort.layout.limits is not None
    beyond = _by_name(censored(cohort.rows[0], cohort.layout.limits).sum(axis=0).astype(float), cohort)
    names = cohort.encoding.names
    return {
        names[place]: {"said": one.said, "cells": int(beyond[names[place]])}
        for place, one in cohort.encoding.limited.items()
    }


def _doubts_of_imputation(filled: Imputation, cohort: Cohort, order: Index, alpha: float) -> Iterator[str]:
    """What is unsure about imputed values, above all of the columns in the causal order."""
    if not filled.converged:
        yield (
            f"the imputation (EM) did not converge within its {filled.rounds} rounds, so what was filled in "
            "may change with small changes of the cohort: leave out columns of which little was measured"
        )
    if filled.level < alpha:
        yield (
            f"with missing values, only the {MOST_COLUMNS} columns that the outcome depends on most were "
            f"looked at, with p-values below {filled.level:.2g} instead of alpha = {alpha}: "
            "leave out columns, or fill them in before fitting"
        )
    n_rows, used = cohort.raw.shape[0], set(cohort.layout.variable[order].tolist())
    shares = {name: float(n) / n_rows for name, n in _by_name(filled.missing, cohort).items()}
    guessed = [
        f"{quoted(one.name)} ({shares[one.name]:.0%} missing)"
        for place, one in enumerate(cohort.variables)
        if place in used and shares[one.name] >= MOSTLY_MISSING
    ]
    if guessed:
        of_them = "it leans on how it goes" if len(guessed) == 1 else "them leans on how they go"
        yield (
            f"mostly imputed: {listed(guessed)}. What the model says of {of_them} with other "
            "variables, and who was measured may itself tell the outcome; leave out what few have"
        )
    if cohort.missing_by_class is None:
        return
    sizes = np.rint(cohort.columns.moments.count).astype(np.intp)
    absent = cohort.missing_by_class
    telling = []
    for leak in by_absence(absent, sizes):
        controls, cases = (absent[:, leak.column] / sizes).tolist()
        name = quoted(cohort.variables[leak.column].name)
        telling.append(f"{name} (missing in {cases:.0%} of cases and {controls:.0%} of controls)")
    if telling:
        yield (
            f"whether a variable was measured tells the outcome by itself: {listed(telling)}. No imputation "
            "mends that: leave it out"
        )


def _by_name(of_columns: Any, cohort: Cohort) -> dict[str, Any]:
    """What is given for each column (q,), by variable; all dummies of one have the same holes."""
    first = np.searchsorted(cohort.layout.variable, np.arange(len(cohort.variables)))
    return dict(zip(cohort.encoding.names, np.asarray(of_columns)[first].tolist(), strict=True))


@dataclass(frozen=True)
class LeftOut:
    """Names of the variables outside the causal order, by reason.

    Attributes
    ----------
    independent : no sign that the disease depends on them.
    adds_nothing : associated with it, but not once earlier variables are known.
    exhausted : wholly explained by earlier variables.
    """

    independent: list[str]
    adds_nothing: list[str]
    exhausted: list[str]


def left_out(names: Sequence[str], order: Collection[int], provenance: Mapping[str, Any]) -> LeftOut:
    """Sort the variables that are not in the causal order by why they are not."""
    exhausted, adds_nothing = set(provenance["exhausted"]), set(provenance["adds_nothing"])
    known, ordered = exhausted | adds_nothing, set(order)
    rest = [name for column, name in enumerate(names) if column not in ordered]
    return LeftOut(
        [name for name in rest if name not in known],
        [name for name in rest if name in adds_nothing],
        [name for name in rest if name in exhausted],
    )


def parameters_in_words(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a model for people: kinds, log scales, and what was known, as a line each."""
    found = dict(provenance["parameters"])
    if found.get("kinds"):
        said = [f"{one_line(name, 40)}: {_kind_in_words(kind)}" for name, kind in found["kinds"].items()]
        found["kinds"] = listed(said, NAMED_ON_PAPER)
    if found.get("log"):
        found["log"] = listed([one_line(name, 40) for name in found["log"]], NAMED_ON_PAPER)
    if found.get("reliability"):
        shares = provenance.get("reliability", {}).items()
        said = [f"{one_line(name, 40)} {share:.2f}" for name, share in shares]
        found["reliability"] = listed(said, NAMED_ON_PAPER)
    if found.get("limits"):
        told = provenance.get("limits", {}).items()
        said = [f"{one_line(name, 40)} {' '.join(one['said'])}" for name, one in told]
        found["limits"] = listed(said, NAMED_ON_PAPER)
    if found.get("knowledge"):
        found["knowledge"] = Knowledge.of(found["knowledge"]).in_words(NAMED_ON_PAPER)
    return found


def mechanism_in_words(
    provenance: Mapping[str, Any], mechanism: Mechanism, names: Sequence[str]
) -> Iterator[str]:
    """Which mechanism was taken and why, and which columns are nonlinear; nothing where there was none."""
    said = provenance.get("mechanism")
    if said is None:
        return
    yield f"mechanism: {said['taken']}. {said['why']}"
    for form, what in (
        (NONLINEAR, "nonlinear"),
        (HETEROSCEDASTIC, "nonlinear and heteroscedastic (the spread differs by patient)"),
        (POST_NONLINEAR, "post-nonlinear (causes and shock add up on another scale)"),
    ):
        forms = zip(mechanism.order, mechanism.forms(), strict=True)
        some = [names[column] for column, of_place in forms if of_place == form]
        if some:
            yield f"  {what}: {listed(some, NAMED_IN_A_LINE)}"


def _kind_in_words(kind: str | Sequence[Any]) -> str:
    levels = [kind] if isinstance(kind, str) else [one_line(level, 40) for level in kind]
    return " < ".join(levels[:MOST_LEVELS])


def warn_of_fit(learned: Learned, cohort: Cohort, settings: Settings) -> list[str]:
    """Say what kept the fit from being what it should be, and return it."""
    said = list(_doubts_of_fit(learned, cohort, settings))
    for doubt in said:
        _warn(doubt)
    return [str(doubt) for doubt in said]


def _doubts_of_fit(learned: Learned, cohort: Cohort, settings: Settings) -> Iterator[str | Warning]:
    if settings.prevalence is not None:
        doubt = doubt_of_prevalence(settings.prevalence, cohort.n_cases, cohort.raw.shape[0])
        if doubt is not None:
            yield doubt
        n_rows, counting = cohort.raw.shape[0], learned.ordering.weights.effective_rows
        if counting < FEWEST_THAT_COUNT:
            yield (
                f"weighted to the population, these {n_rows} patients count for no more than {counting:.0f} "
                "of equal weight, since few stand for many: mechanisms are unsure, and more "
                f"{'controls' if settings.prevalence < cohort.n_cases / n_rows else 'cases'} help most"
            )
    counted = doubt_of(cohort.weighed)
    if counted is not None:
        yield counted
    if not cohort.weighed.get("whole", True) and cohort.raw.shape[0] < FEWEST_THAT_COUNT:
        yield (
            f"by their weights, these {cohort.weighed['rows']} patients count for no more than "
            f"{cohort.raw.shape[0]} of equal weight, since few stand for many: what is said of them is unsure"
        )
    n_columns = cohort.raw.shape[1]
    if settings.mechanism != "linear" and n_columns > MOST_NONLINEAR:
        yield (
            f"nonlinear relations were looked for among the {MOST_NONLINEAR} columns that the outcome "
            f"depends on most, of {n_columns:,}: leave out columns that cannot matter"
        )
    level = settings.level(cohort.layout.n_variables)
    exhausted = learned.model.outside(learned.ordering.exhausted)
    if exhausted.size:
        yield _exhausted(learned.ordering, cohort, exhausted)
    if learned.imputation is not None:
        order = learned.ordering.order
        yield from _doubts_of_imputation(learned.imputation, cohort, order, level)
    if not learned.model.order.size:
        yield f"the outcome depends on no variable at alpha = {level:g}: every Shapley value is zero"
    if learned.separated:
        assert cohort.outcome is not None
        levels = [] if _tells_all_apart(learned, cohort) else _deciding_levels(learned, cohort)
        yield SeparationWarning(
            _of_levels(levels, words_of(learned.model.attribution).subject)
            if levels
            else f"{cohort.outcome.certain}: coefficients come from {settings.attribution.prior}. "
            "Ranks are still useful; predictions are uncertain. A column that decides for some patients may "
            "be a part of the outcome (rootcausal look names such columns); more rows help only where there "
            "are few."
        )
    if not learned.converged:
        what, instead = "attribution", 'attribution="paper"'
        if settings.mechanism != "linear":
            what, instead = "search for nonlinear relations, or one of them,", 'mechanism="linear"'
        yield ConvergenceWarning(
            f"the {what} did not converge within its limit of passes, so its coefficients may change with "
            f"small changes of the cohort: see the intervals of bootstrap(), or use {instead}"
        )


def _tells_all_apart(learned: Learned, cohort: Cohort) -> bool:
    """Whether the model tells every patient with the disease from every one without."""
    if cohort.rows is None or not cohort.classes.size or cohort.rows[1].ndim > 1:
        return False
    values, known = cohort.rows
    whole = ~np.isnan(values).any(axis=1)
    predictor, known = learned.model.predictor(values[whole]), known[whole]
    ill, healthy = predictor[known == 1], predictor[known == 0]
    return bool(ill.size and healthy.size and ill.min() > healthy.max())


@dataclass(frozen=True)
class _DecidingLevel:
    """A level all of whose patients have the outcome, or none: how many these are, and whether they do."""

    variable: str
    level: str
    count: int
    has_it: bool


def _deciding_levels(learned: Learned, cohort: Cohort) -> list[_DecidingLevel]:
    """Levels of the model's variables that decide for their patients, the most patients first.

    Of times to an event only those without one: with it, patients still differ in when. Stages have none.
    """
    if cohort.rows is None or cohort.outcome is None or cohort.outcome.name not in HAS_IT:
        return []
    values, known = cohort.rows
    has_it = known.reshape(len(known), -1)[:, HAS_IT[cohort.outcome.name]] > 0
    found, timed = [], cohort.outcome.name == "survival"
    for place in learned.model.used.tolist():
        variable, columns = cohort.variables[place], cohort.layout.columns_of(place)
        if variable.kind not in ("binary", "nominal"):
            continue
        there = ~np.isnan(values[:, columns[0]])
        cells = values[there][:, columns]
        of_row = cells.argmax(axis=1) + 1 if columns.size > 1 else (cells[:, 0] > cells.min()).astype(np.intp)
        if columns.size > 1:
            of_row[~cells.any(axis=1)] = 0
        for level, n in deciding_levels(of_row, has_it[there], either=not timed).items():
            which = bool(has_it[there][of_row == level].all())
            found.append(_DecidingLevel(variable.name, text_of(variable.levels[level]), n, which))
    return sorted(found, key=lambda one: -one.count)


def _of_levels(levels: Sequence[_DecidingLevel], subject: str) -> str:
    said = [f"{_who(one)} {subject}" for one in levels]
    these = "this level" if len(levels) == 1 else "these levels"
    return (
        f"quasi-complete separation: {listed(said, 3)}. What {these} would add has no finite estimate, and a "
        "prior holds it small; what is said of other variables stands. Merge a rare level with another; "
        "leave the column out if it came after the outcome, or is a part of it"
    )


def _who(one: _DecidingLevel) -> str:
    level = f"with {quoted(one.variable, 40)} = {quoted(one.level, 40)}"
    if one.count == 1:
        return f"the only patient {level} {'has' if one.has_it else 'does not have'}"
    return (
        f"all {one.count:,} patients {level} have"
        if one.has_it
        else f"none of the {one.count:,} patients {level} has"
    )


def warn_of_sets(found: Together, cohort: Cohort) -> list[str]:
    """Say which variables are read as one, and that not all could be asked; and return it."""
    said = list(_doubts_of_sets(found, cohort))
    for doubt in said:
        _warn(doubt)
    return said


def _doubts_of_sets(found: Together, cohort: Cohort) -> Iterator[str]:
    for some in found.sets:
        names = [quoted(name) for name in cohort.named(np.array(some))]
        yield (
            f"{', '.join(names[:-1])} and {names[-1]} are read as one: their errors depend on each other, "
            "and neither a curve nor a column that was measured explains it. Something unmeasured may move "
            "them, or their order is not sure"
        )
    if found.n_untried:
        yield (
            f"of {plural(found.n_untried, 'further dependent pair')} of errors nobody asked why, and they "
            "are not read as one: see diagnose() for what is wrong with so many"
        )


def warn_exhausted(ordering: Ordering, cohort: Cohort) -> None:
    """Say which columns have no error of their own."""
    if ordering.exhausted.size:
        _warn(_exhausted(ordering, cohort, ordering.exhausted), CALLER - 1)


def warn_of_resamples(bootstrap: Bootstrap) -> list[str]:
    """Say how many resamples stopped at a limit, and return it."""
    if not bootstrap.unsettled:
        return []
    message = (
        f"the attribution did not converge in {bootstrap.unsettled} of {len(bootstrap)} resamples, or the "
        "imputation of what they lack did not: they count like the others, and may widen the intervals"
    )
    warnings.warn(message, ConvergenceWarning, stacklevel=3)
    return [message]


def _exhausted(ordering: Searched, cohort: Cohort, variables: Index) -> str:
    names = cohort.named(variables)
    n_rows = cohort.raw.shape[0]
    shown = ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    wide = ordering.order.size >= n_rows - 1
    limit = f" ({n_rows} rows can separate at most {n_rows - 1} variables)" if wide else ""
    return (
        f"nothing is left to explain after {plural(ordering.order.size, 'variable')}: {shown} left out, "
        f"since {'it follows' if len(names) == 1 else 'they follow'} from earlier ones{limit}"
    )


def _warn(message: str | Warning, caller: int = CALLER) -> None:
    warnings.warn(message, RootCausalWarning, stacklevel=caller)
