"""What users choose by name, checked, and as the values that the core takes."""

from __future__ import annotations

import difflib
import functools
import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from types import MethodType
from typing import Any, ClassVar, cast

from .core.ordering import VARIANTS, Variant
from .core.pipeline import ATTRIBUTIONS, Settings
from .errors import InputError
from .inputs.kinds import KINDS, ColumnHints, Said
from .inputs.knowledge import Knowledge
from .inputs.rules import Findings
from .wording import plain

MISSING = ("impute", "refuse")
TRANSFORMS = ("log",)
MECHANISMS = ("linear", "nonlinear", "auto")
MERGE = "merge"


class MethodAndParameter:
    """A method that shares its name with a parameter of its estimator, as ``transform`` does.

    The name is that of the method, as scikit-learn expects of a transformer; the parameter is in ``vars`` of
    the instance, where ``get_params`` has to look for it.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method
        functools.update_wrapper(cast("Any", self), method)

    def __get__(self, estimator: Any, kind: type | None = None) -> Callable[..., Any]:
        return self._method if estimator is None else MethodType(self._method, estimator)

    def __set__(self, estimator: Any, parameter: Any) -> None:
        vars(estimator)[self._method.__name__] = parameter


class TransformIsAParameter:
    """The first base of an estimator whose ``transform`` is a parameter too, and of what derives from it."""

    _shared: ClassVar[str] = "transform"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)  # scikit-learn wraps the method there, for set_output
        if cls._shared in vars(cls):
            setattr(cls, cls._shared, MethodAndParameter(vars(cls)[cls._shared]))


@functools.cache
def parameter_names(kind: type) -> tuple[str, ...]:
    """What an estimator is made with, as scikit-learn reads it off; reading takes as long as a small fit."""
    return tuple(cast("Any", kind)._get_param_names())


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
    """The settings of these parameters of :class:`rootcausal.RCI`."""
    known = chosen_variant(variant)
    if attribution not in list(ATTRIBUTIONS):
        raise InputError(f"unknown attribution {attribution!r}: choose one of {', '.join(ATTRIBUTIONS)}")
    if alpha is not None and not (isinstance(alpha, Real) and 0.0 < alpha <= 1.0):
        raise InputError(f"alpha must be above 0 and at most 1, not {alpha!r}")
    if prevalence is not None:
        prevalence = _share_of_population(prevalence)
    if mechanism not in list(MECHANISMS):
        raise InputError(f"unknown mechanism {mechanism!r}: choose one of {', '.join(MECHANISMS)}")
    if mechanism != "linear" and attribution != "sharp":
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


def chosen_hints(kinds: Any, missing: str, transform: Any = None) -> ColumnHints:
    """What these parameters of :class:`rootcausal.RCI` say of columns; one error says all that is wrong."""
    if missing not in list(MISSING):
        raise InputError(f"missing must be 'impute' or 'refuse', not {missing!r}")
    for name, given, example in (
        ("kinds", kinds, "column names and kinds, as in {'stage': 'ordinal'}"),
        ("transform", transform, "column names and 'log', as in {'bili': 'log'}"),
    ):
        if given is not None and not isinstance(given, Mapping):
            raise InputError(f"{name} must be a dict of {example}, not {type(given).__name__}")
    findings, known, logs = Findings(), dict[str | int, Said](), list[str | int]()
    for column, kind in (kinds or {}).items():
        with findings.noting():
            known[_column("kinds", column)] = _kind(column, kind)
    for column, word in (transform or {}).items():
        with findings.noting():
            logs.append(_column("transform", column))
            if word not in list(TRANSFORMS):
                raise InputError(
                    f"unknown transform {word!r} of column {column!r}: only 'log' is known, the natural "
                    "logarithm; leave out columns that stay as they are"
                )
    findings.refuse()
    return ColumnHints(known, missing == "impute", logs)


def _column(parameter: str, column: Any) -> str | int:
    if isinstance(column, bool) or not isinstance(column, str | Integral):
        raise InputError(f"{parameter} names columns by name or number, not by {column!r}")
    return column if isinstance(column, str) else int(column)


def plain_parameters(parameters: Mapping[str, Any], transforms: dict[str, str] | None) -> dict[str, Any]:
    """The parameters of :class:`rootcausal.RCI` that matter to its results, as JSON can hold them.

    ``transforms`` is what ``transform`` came to, by the names of variables.
    """
    found = {name: plain(value) for name, value in parameters.items() if name != "progress"}
    known = found["knowledge"]
    found["knowledge"] = None if known is None else Knowledge.of(known).to_dict()
    return found | {"kinds": _plain_kinds(found["kinds"]), "transform": transforms}


def _plain_kinds(kinds: Mapping[str | int, Any] | None) -> dict[str, Any] | None:
    """The same parameter as JSON can hold it: a column without a name is called by its place."""
    if kinds is None:
        return None
    return {
        column if isinstance(column, str) else f"x{int(column)}": (
            kind if isinstance(kind, str) else [plain(level) for level in kind]
        )
        for column, kind in kinds.items()
    }


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
