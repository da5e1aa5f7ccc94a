"""What a model remembers and says of how it was made. Older model files remember less."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .core.imputation import MOST_COLUMNS, Imputation
from .core.ordering import Ordering
from .core.pipeline import Learned, Settings
from .inputs.cohort import Cohort
from .inputs.sampling import doubt_of_prevalence
from .uncertainty.resample import Bootstrap
from .version import __version__

# Older files name the class that summed over the rows instead of the backend.
BACKEND_OF_CLASS = {"ReferenceRaw": "numpy", "NumbaRaw": "numba", "CupyRaw": "cupy", "DaskRaw": "dask"}

# Patients of equal weight below which a case-control study says little of mechanisms.
FEWEST_THAT_COUNT = 50
# Who called fit: past these functions, _fit and fit itself.
CALLER = 5


def how_it_was_made(learned: Learned, cohort: Cohort, parameters: dict[str, Any]) -> dict[str, Any]:
    """What a model remembers of its making: numbers, texts, truth values, and lists of them."""
    raw, ordering = cohort.raw, learned.ordering
    return {
        "rootcausal": __version__,
        "parameters": parameters,
        "backend": raw.backend,
        "rows": raw.shape[0],
        "cases": cohort.n_cases,
        "columns": raw.shape[1],
        "exhausted": cohort.named(ordering.exhausted),
        "adds_nothing": cohort.named(ordering.adds_nothing),
        "separated": learned.separated,
        "converged": learned.converged,
        "pairs_evaluated": ordering.n_pairs,
    }


@dataclass(frozen=True)
class LeftOut:
    """Names of the variables outside the causal order, by reason.

    Attributes
    ----------
    independent : no sign that the disease depends on them.
    adds_nothing : associated with it, but not once earlier variables are known; None where an older file does
        not tell these two apart, and ``independent`` holds both.
    exhausted : wholly explained by earlier variables.
    """

    independent: list[str]
    adds_nothing: list[str] | None
    exhausted: list[str]


def left_out(names: Sequence[str], order: Collection[int], provenance: Mapping[str, Any]) -> LeftOut:
    """Sort the variables that are not in the causal order by why they are not."""
    exhausted, adds_nothing = set(provenance["exhausted"]), set(provenance.get("adds_nothing", ()))
    known, ordered = exhausted | adds_nothing, set(order)
    rest = [name for column, name in enumerate(names) if column not in ordered]
    return LeftOut(
        [name for name in rest if name not in known],
        [name for name in rest if name in adds_nothing] if "adds_nothing" in provenance else None,
        [name for name in rest if name in exhausted],
    )


def backend_used(provenance: Mapping[str, Any]) -> str:
    """Which backend summed over the rows."""
    if "backend" in provenance:
        return str(provenance["backend"])
    return BACKEND_OF_CLASS.get(provenance["table"], "unknown")


def warn_of_fit(learned: Learned, cohort: Cohort, settings: Settings) -> None:
    """Say what kept the fit from being what it should be."""
    if settings.prevalence is not None:
        doubt = doubt_of_prevalence(settings.prevalence, cohort.n_cases, cohort.raw.shape[0])
        if doubt is not None:
            _warn(doubt)
        n_rows, counting = cohort.raw.shape[0], learned.ordering.weights.effective_rows
        if counting < FEWEST_THAT_COUNT:
            _warn(
                f"weighted to the population, these {n_rows} patients count for no more than {counting:.0f} "
                "of equal weight, since few stand for many: mechanisms are unsure, and more "
                f"{'controls' if settings.prevalence < cohort.n_cases / n_rows else 'cases'} help most"
            )
    if learned.ordering.exhausted.size:
        _warn(_exhausted(learned.ordering, cohort))
    if learned.imputation is not None:
        _warn_of_imputation(learned.imputation, settings.alpha)
    if not learned.ordering.order.size:
        _warn(
            f"no variable depends on the diagnosis at alpha = {settings.alpha}: every Shapley value is zero"
        )
    if learned.separated:
        _warn(
            "the errors separate the classes perfectly, or decide for some patients, so maximum likelihood "
            "has no finite answer: "
            f"coefficients come from {settings.attribution.prior}. "
            "Ranks are still useful; risks are uncertain. More rows help."
        )
    if not learned.converged:
        _warn(
            "the attribution did not settle within its limit of passes, so its coefficients may change with "
            'small changes of the cohort: see the intervals of bootstrap(), or use attribution="paper"'
        )


def _warn_of_imputation(imputation: Imputation, alpha: float) -> None:
    if not imputation.converged:
        _warn(
            f"the imputation did not settle within its {imputation.rounds} rounds, so what was filled in may "
            "change with small changes of the cohort: leave out columns of which little was measured",
            CALLER + 1,
        )
    if imputation.level < alpha:
        _warn(
            f"with missing values, only the {MOST_COLUMNS} columns that the diagnosis depends on most were "
            f"looked at, with p-values below {imputation.level:.2g} instead of alpha = {alpha}: "
            "leave out columns, or fill them in before fitting",
            CALLER + 1,
        )


def warn_exhausted(ordering: Ordering, cohort: Cohort) -> None:
    """Say which columns have no error of their own."""
    if ordering.exhausted.size:
        _warn(_exhausted(ordering, cohort))


def warn_of_resamples(bootstrap: Bootstrap) -> None:
    """Say how many resamples stopped at a limit."""
    if bootstrap.unsettled:
        message = (
            f"the attribution did not settle in {bootstrap.unsettled} of {len(bootstrap)} resamples, or the "
            "imputation of what they lack did not: they count like the others, and may widen the intervals"
        )
        warnings.warn(message, UserWarning, stacklevel=3)


def _exhausted(ordering: Ordering, cohort: Cohort) -> str:
    names = cohort.named(ordering.exhausted)
    n_rows = cohort.raw.shape[0]
    shown = ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    wide = ordering.order.size >= n_rows - 1
    limit = f" ({n_rows} rows can separate at most {n_rows - 1} variables)" if wide else ""
    return (
        f"residual variance is exhausted after {ordering.order.size} roots: {shown} left out, since earlier "
        f"roots explain all of it{limit}"
    )


def _warn(message: str, stacklevel: int = CALLER) -> None:
    warnings.warn(message, UserWarning, stacklevel=stacklevel)
