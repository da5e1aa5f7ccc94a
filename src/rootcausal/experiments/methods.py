"""The methods of the experiments. To add one: a class with ``fit(X, y)`` and ``scores(X)``, and one line.

A class from elsewhere needs no line: its path, ``package.module:Class``, is its name.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..comparators import (
    AdaptiveLogistic,
    ConditionalOutliers,
    HitonPC,
    ICAPrediction,
    ModelSubstitution,
    TTest,
)
from ..errors import InputError
from ..estimators.classifier import RCI
from ..wording import quoted

# The default of R's randomForest; the paper names no number. Fewer rank worse: see results/comparators.
TREES = 500


@dataclass(frozen=True)
class Method:
    """How to make a method from a seed, and with whom it shares what it learns.

    Methods of one family run on the same data set one after the other and share a graph.
    """

    make: Callable[[int], Any]
    family: str | None = None


def papers(**options: Any) -> RCI:
    """The paper's own method."""
    return RCI(alpha=0.2, attribution="paper", mechanism="linear", **options)


METHODS = {
    "RCI": Method(lambda seed: papers()),
    "ICA": Method(lambda seed: ICAPrediction(n_trees=TREES, random_state=seed)),
    "CO": Method(lambda seed: ConditionalOutliers(random_state=seed), family="graph"),
    "MS": Method(lambda seed: ModelSubstitution(random_state=seed), family="graph"),
    "HPC": Method(lambda seed: HitonPC()),
    "TT": Method(lambda seed: TTest()),
    "LR": Method(lambda seed: AdaptiveLogistic(random_state=seed), family="graph"),
    "RCI original": Method(
        lambda seed: RCI(alpha=0.2, attribution="paper", mechanism="linear", variant="original")
    ),
    "RCI linear": Method(lambda seed: RCI(mechanism="linear"), family="mechanism"),
    "RCI nonlinear": Method(lambda seed: RCI(mechanism="nonlinear"), family="mechanism"),
    "RCI auto": Method(lambda seed: RCI(mechanism="auto"), family="mechanism"),
}


def find_method(name: str) -> Method:
    """The method of that name, or the class at ``package.module:Class``."""
    if name in METHODS:
        return METHODS[name]
    made_by = own_class(name, "method", list(METHODS), ("fit", "scores"))
    if "random_state" in inspect.signature(made_by).parameters:
        return Method(lambda seed: made_by(random_state=seed))
    return Method(lambda seed: made_by())


def own_class(name: str, what: str, known: Sequence[str], faces: Sequence[str]) -> Any:
    """The class at ``package.module:Class``, which has these methods; ``known`` are the names of ours."""
    module_name, colon, class_name = name.partition(":")
    if not colon:
        raise InputError(
            f"unknown {what} {quoted(name)}: choose from {', '.join(known)}, or give a class of your own "
            "as package.module:Class"
        )
    try:
        made_by = getattr(importlib.import_module(module_name), class_name)
    except Exception as error:  # the user's module may fail in any way while it is loaded
        raise InputError(f"cannot load the {what} {quoted(name)}: {error}") from error
    missing = [face for face in faces if not callable(getattr(made_by, face, None))]
    if missing:
        needs = "both" if len(faces) == 2 else "it"
        raise InputError(f"the {what} {quoted(name)} has no {' and no '.join(missing)}: it needs {needs}")
    return made_by


def families(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Names in groups that share what they learn; a method without a family stands alone."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(find_method(name).family or name, []).append(name)
    return [tuple(group) for group in groups.values()]
