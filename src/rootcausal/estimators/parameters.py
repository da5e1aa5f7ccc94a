"""What users choose by name, checked, and as the values that the core takes."""

from __future__ import annotations

import difflib
import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Literal, cast

import numpy as np

from ..errors import InputError
from ..inputs.kinds import KINDS, ColumnHints, Limits, Reliability, Said
from ..inputs.knowledge import Knowledge
from ..inputs.measurement import limits_of, reliability_of
from ..inputs.rules import Findings
from ..method.ordering.ordering import VARIANTS, Variant
from ..method.pipeline import ATTRIBUTIONS, Settings
from ..wording import listed, plain, quoted

# What an editor offers, and a type checker knows, of the options that are words.
VariantName = Literal["original", "plus", "local", "local_plus"]
AttributionName = Literal["sharp", "paper"]
BackendName = Literal["auto", "numpy", "numba", "cupy", "dask"]
MissingName = Literal["impute", "refuse"]

MISSING = ("impute", "refuse")
MECHANISMS = ("linear", "nonlinear", "auto")
MERGE = "merge"


@functools.cache
def parameter_names(kind: type) -> tuple[str, ...]:
    """What an estimator is made with, as scikit-learn reads it off; reading takes as long as a small fit."""
    return tuple(cast("Any", kind)._get_param_names())


def check_outcome(outcome: Any, of_this: Sequence[str], other: str, estimator: str) -> None:
    """Refuse an outcome that is not ``of_this`` estimator; the ``other`` one is that of another."""
    if outcome in list(of_this):
        return
    hint = f"; {other!r} is for {estimator}" if outcome == other else ""
    raise InputError(f"unknown outcome {outcome!r}: choose one of {', '.join(of_this)}{hint}")


def chosen_variant(name: str) -> Variant:
    """The variant of this name."""
    if name not in list(VARIANTS):  # a list can also be asked for what has no hash
        raise InputError(f"unknown variant {name!r}: choose one of {', '.join(VARIANTS)}")
    return VARIANTS[name]


def chosen_confounding(word: Any) -> bool:
    """Whether variables whose errors stay dependent are to be read as one."""
    if word is not None and not (isinstance(word, str) and word == MERGE):
        raise InputError(f"unknown confounding {word!r}: choose {MERGE!r}, or None to tell variables apart")
    return word is not None


def chosen_settings(
    variant: str,
    alpha: float | None,
    attribution: str,
    prevalence: float | None = None,
    mechanism: str = "linear",
) -> Settings:
    """The settings of these parameters of an estimator."""
    known = chosen_variant(variant)
    if attribution not in list(ATTRIBUTIONS):
        raise InputError(f"unknown attribution {attribution!r}: choose one of {', '.join(ATTRIBUTIONS)}")
    if alpha is not None and not (isinstance(alpha, Real) and 0.0 < alpha <= 1.0):
        raise InputError(f"alpha must be above 0 and at most 1, not {alpha!r}")
    if prevalence is not None:
        prevalence = _share_of_population(prevalence)
    if mechanism not in list(MECHANISMS):
        raise InputError(f"unknown mechanism {mechanism!r}: choose one of {', '.join(MECHANISMS)}")
    if mechanism == "nonlinear" and attribution != "sharp":
        raise InputError(
            f"attribution={attribution!r} regresses on the errors of a linear mechanism: leave it out, or "
            "choose mechanism='linear'"
        )
    level = None if alpha is None else float(alpha)
    return Settings(known, level, ATTRIBUTIONS[attribution], prevalence, mechanism=mechanism)


def _share_of_population(prevalence: float) -> float:
    if not isinstance(prevalence, Real) or isinstance(prevalence, bool) or not 0.0 < prevalence < 1.0:
        raise InputError(
            "prevalence must be between 0 and 1, the share of the population that has the disease, "
            f"not {prevalence!r}: 2 % is the number 0.02"
        )
    return float(prevalence)


def chosen_hints(
    kinds: Any, missing: str, log: Any = None, reliability: Any = None, limits: Any = None
) -> ColumnHints:
    """What these parameters of :class:`rootcausal.RCI` say of columns; one error says all that is wrong."""
    if missing not in list(MISSING):
        raise InputError(f"missing must be 'impute' or 'refuse', not {missing!r}")
    if kinds is not None and not isinstance(kinds, Mapping):
        raise InputError(
            "kinds must be a dict of column names and kinds, as in {'stage': 'ordinal'}, "
            f"not {type(kinds).__name__}"
        )
    if log is not None and (isinstance(log, str | bytes | Mapping) or not isinstance(log, Iterable)):
        raise InputError(f"log must be a list of column names, as in ['bili'], not {type(log).__name__}")
    if reliability is not None and not isinstance(reliability, Mapping):
        raise InputError(
            "reliability must be a dict of column names and shares, as in {'bili': 0.9}, "
            f"not {type(reliability).__name__}"
        )
    if limits is not None and not isinstance(limits, Mapping):
        raise InputError(
            "limits must be a dict of column names and limits of detection, as in {'crp': '<3'}, "
            f"not {type(limits).__name__}"
        )
    findings, known, logs = Findings(), dict[str | int, Said](), list[str | int]()
    noisy, limited = dict[str | int, Reliability](), dict[str | int, Limits]()
    for column, kind in (kinds or {}).items():
        with findings.noting():
            known[_column("kinds", column)] = _kind(column, kind)
    for column in () if log is None else log:
        with findings.noting():
            logs.append(_column("log", plain(column)))
    for column, said in (reliability or {}).items():
        with findings.noting():
            noisy[_column("reliability", plain(column))] = reliability_of(column, plain(said))
    for column, said in (limits or {}).items():
        with findings.noting():
            limited[_column("limits", plain(column))] = limits_of(column, plain(said))
    findings.refuse()
    noisy = {column: one for column, one in noisy.items() if not one.exact}
    if noisy and missing != "impute":
        raise InputError("reliability draws true values as missing ones are drawn: leave missing='impute'")
    if limited and missing != "impute":
        raise InputError("limits draw values beyond them as missing ones are drawn: leave missing='impute'")
    both = [quoted(column) for column in limited if column in noisy]
    if both:
        raise InputError(f"{listed(both)}: a column has a reliability, or limits of detection, not both")
    return ColumnHints(known, missing == "impute", logs, noisy, limited)


def refuse_what_is_not_exact(hints: ColumnHints, settings: Settings) -> None:
    """Say which methods take no columns that are measured with error, and none with limits of detection."""
    if hints.limits and settings.mechanism == "nonlinear":
        raise InputError(
            "mechanism='nonlinear' takes values for exact, and a limit of detection leaves them open: leave "
            "limits out, or choose mechanism='linear'"
        )
    if hints.noisy and (settings.mechanism == "nonlinear" or settings.attribution.name == "paper"):
        asked = "mechanism='nonlinear'" if settings.mechanism == "nonlinear" else "attribution='paper'"
        raise InputError(
            f"{asked} takes values for exact: leave reliability out, or choose mechanism='linear' and "
            "attribution='sharp'"
        )


def _column(parameter: str, column: Any) -> str | int:
    if isinstance(column, bool) or not isinstance(column, str | Integral):
        raise InputError(f"{parameter} names columns by name or number, not by {column!r}")
    return column if isinstance(column, str) else int(column)


def plain_parameters(parameters: Mapping[str, Any], log: Sequence[str] | None) -> dict[str, Any]:
    """The parameters of :class:`rootcausal.RCI` that matter to its results, as JSON can hold them.

    ``log`` is what the parameter of this name came to, by the names of variables.
    """
    found = {name: _plain(value) for name, value in parameters.items() if name != "progress"}
    known = found["knowledge"]
    found["knowledge"] = None if known is None else Knowledge.of(known).to_dict()
    noisy = found.get("reliability")
    if noisy is not None:
        found["reliability"] = {_name(column): plain(one) for column, one in noisy.items()}
    limited = found.get("limits")
    if limited is not None:
        found["limits"] = {_name(column): _plain(one) for column, one in limited.items()}
    return found | {"kinds": _plain_kinds(found["kinds"]), "log": log}


def _plain(value: Any) -> Any:
    """Labels as they are, or a list of them."""
    several = isinstance(value, list | tuple | set | frozenset | np.ndarray)
    return [plain(one) for one in value] if several else plain(value)


def _plain_kinds(kinds: Mapping[str | int, Any] | None) -> dict[str, Any] | None:
    """The same parameter as JSON can hold it: a column without a name is called by its place."""
    if kinds is None:
        return None
    return {
        _name(column): (kind if isinstance(kind, str) else [plain(level) for level in kind])
        for column, kind in kinds.items()
    }


def _name(column: str | int) -> str:
    """What a column is called, also one without a name."""
    return column if isinstance(column, str) else f"x{int(column)}"


def _kind(column: Any, kind: Any) -> Said:
    if isinstance(kind, str):
        for one in KINDS:
            if kind == one:
                return one
        close = difflib.get_close_matches(kind.casefold(), KINDS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise InputError(
            f"unknown kind {kind!r} of column {column!r}: choose one of {', '.join(KINDS)}, or list the "
            f"levels in order{hint}"
        )
    levels = tuple(map(plain, kind)) if isinstance(kind, list | tuple) else ()
    usable = all(isinstance(level, str | bool | int | float) for level in levels)
    if not usable or not all(math.isfinite(level) for level in levels if not isinstance(level, str)):
        levels = ()
    if len(levels) < 2 or len(set(levels)) < len(levels):
        raise InputError(
            f"the kind of column {column!r} must be one of {', '.join(KINDS)}, or a list of at least two "
            f"different levels in order, not {kind!r}"
        )
    return levels
