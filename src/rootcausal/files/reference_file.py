"""A fitted model of a reference group in one file (see :mod:`rootcausal.files.array_archive`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, TypeVar

import numpy as np

from ..departure.reference import Reference
from ..departure.tails import Tails
from ..errors import InputError
from ..method.layout import Layout
from ..method.linear import check_moments, check_order
from ..method.missing.completion import Completion
from ..method.model_parts import check_part, flattened, names_of, taken, unflattened
from ..method.ordering.precedence import Precedence
from ..nonlinear.mechanism import NonlinearMechanism
from .array_archive import FileKind, read_archive, write_archive
from .model_file import (
    COMPLETION,
    MOST_VARIABLES,
    Levels,
    checked_completion,
    checked_label,
    checked_levels,
    checked_names,
    checked_reading,
    is_label,
)

FORMAT = "rootcausal reference group"
MECHANISM, TAILS, SIZES = "mechanism_", "tails_", "sizes"
OF_COLUMNS = ("lowest", "highest")
TIMES = "times"
MOST_GRAPHS = 1000
REFERENCE = FileKind(
    format=FORMAT,
    version=1,
    name="model file",
    what="a rootcausal model of a reference group",
    arrays=lambda: {
        SIZES,
        TIMES,
        *OF_COLUMNS,
        *COMPLETION,
        *(MECHANISM + name for name in names_of(NonlinearMechanism, all_of_it=True)),
        *(TAILS + name for name in names_of(Tails, all_of_it=True)),
    },
    compressed=True,
)
# What the model says of how it was made.
PROVENANCE = {
    "rootcausal": str,
    "parameters": dict,
    "rows": int,
    "cases": int,
    "columns": int,
    "kinds": dict,
    "exhausted": list,
    "autocorrelation_time": float,
    "converged": bool,
}

Fitted = TypeVar("Fitted")


@dataclass(frozen=True, eq=False)
class SavedReference:
    """What such a file holds.

    Attributes
    ----------
    reference : the model, of q columns.
    completion : what is expected of values that new rows lack.
    classes : (2,) labels, the cases second; empty where all rows were of the reference group.
    n_variables, feature_names, with_levels, provenance : as in
        :class:`rootcausal.files.model_file.SavedModel`.
    """

    reference: Reference
    completion: Completion
    classes: np.ndarray
    n_variables: int
    feature_names: np.ndarray | None
    with_levels: Mapping[int, Levels]
    provenance: dict[str, Any]


def write(path: str | PathLike[str], saved: SavedReference) -> None:
    """Write the model whole or not at all."""
    reference, names = saved.reference, saved.feature_names
    header = {
        "n_columns": reference.layout.n_columns,
        "n_variables": saved.n_variables,
        "with_levels": [[place, kind, list(levels)] for place, (kind, levels) in saved.with_levels.items()],
        "feature_names": None if names is None else list(names),
        "classes": [checked_label(label) for label in saved.classes],
        "n_tests": reference.n_tests,
        "provenance": saved.provenance,
    }
    kept = saved.completion
    arrays = {
        SIZES: np.array([one.order.size for one in reference.mechanisms]),
        TIMES: reference.times,
        **{name: getattr(reference, name) for name in OF_COLUMNS},
        **dict(zip(COMPLETION, (kept.mean, kept.columns, kept.covariance), strict=True)),
        **_named(MECHANISM, flattened(reference.mechanisms, all_of_it=True)),
        **_named(TAILS, flattened([reference.tails], all_of_it=True)),
    }
    try:
        _check(reference)
    except ValueError as error:
        raise InputError(f"this model could not be read back, so it is not saved: {error}") from error
    write_archive(path, REFERENCE, header, arrays)


def _named(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {prefix + name: array for name, array in arrays.items()}


def read(
    path: str | PathLike[str],
    make: Callable[[SavedReference], Fitted],
    known: Callable[[Any, Sequence[str]], Precedence | None],
) -> Fitted:
    """Read a model; ``make`` and ``known`` are as in :func:`rootcausal.files.model_file.read`."""
    return read_archive(path, REFERENCE, lambda header, arrays: make(_restore(header, arrays, known)))


def _restore(
    header: dict[str, Any],
    arrays: dict[str, np.ndarray],
    known: Callable[[Any, Sequence[str]], Precedence | None],
) -> SavedReference:
    q, p = header["n_columns"], header["n_variables"]
    if type(q) is not int or type(p) is not int or not 0 < p <= min(q, MOST_VARIABLES):
        raise ValueError("its number of columns is none")
    provenance = _checked_provenance(header["provenance"], p)
    with_levels = checked_levels(header["with_levels"], p)
    described = [with_levels.get(place, ("number", ())) for place in range(p)]
    layout = Layout.of_variables([levels for _, levels in described], [k == "nominal" for k, _ in described])
    if layout.n_columns != q:
        raise ValueError("its variables and its columns differ in number")
    names = None if header["feature_names"] is None else checked_names(header["feature_names"], p)
    called = [f"x{place}" for place in range(p)] if names is None else names.tolist()
    layout = layout.knowing(known(provenance["parameters"].get("knowledge"), called))
    completion = checked_completion(arrays, q)
    if completion is None:
        raise ValueError("it does not say what is expected of values that were not measured")
    labels = header["classes"]
    if type(labels) is not list or len(labels) not in (0, 2) or not all(map(is_label, labels)):
        raise ValueError("its classes are no labels")
    return SavedReference(
        _reference(header, arrays, layout),
        completion,
        np.array(labels, dtype=object if labels else float),
        p,
        names,
        with_levels,
        provenance,
    )


def _checked_provenance(provenance: Any, p: int) -> dict[str, Any]:
    for name, kind in PROVENANCE.items():
        if type(provenance[name]) is not kind:
            raise ValueError(f"its {name!r} is of another type")
    if provenance["columns"] != p or provenance["rows"] < 1 or not provenance["autocorrelation_time"] >= 1.0:
        raise ValueError("its numbers of rows and columns do not fit together")
    if not all(isinstance(name, str) for name in provenance["exhausted"]):
        raise ValueError("a name is not a text")
    checked_reading(provenance.get("reading", {}))
    return dict(provenance)


def _reference(header: dict[str, Any], arrays: dict[str, np.ndarray], layout: Layout) -> Reference:
    q, v = layout.n_columns, layout.n_variables
    sizes = taken(arrays, SIZES, arrays[SIZES].size, whole=True)
    if not (1 <= sizes.size <= MOST_GRAPHS and sizes.min() >= 1 and sizes.max() <= q):
        raise ValueError("the numbers of columns in its graphs are out of range")
    parts = {}
    for prefix, kind, of in ((MECHANISM, NonlinearMechanism, sizes), (TAILS, Tails, np.array([1]))):
        held = {name: arrays[prefix + name] for name in names_of(kind, all_of_it=True)}
        parts[prefix] = unflattened(kind, held, of, all_of_it=True)
    if type(header["n_tests"]) is not float:
        raise ValueError("its number of tests is none")
    reference = Reference(
        tuple(NonlinearMechanism.of_fields(fields, q) for fields in parts[MECHANISM]),
        layout,
        taken(arrays, OF_COLUMNS[0], q),
        taken(arrays, OF_COLUMNS[1], q),
        Tails(**parts[TAILS][0]),
        taken(arrays, TIMES, v),
        header["n_tests"],
    )
    if reference.tails.quantiles.shape[0] != v:
        raise ValueError("its tails are not those of its variables")
    _check(reference)
    return reference


def _check(reference: Reference) -> None:
    for mechanism in reference.mechanisms:
        check_order(mechanism.order, mechanism.n_columns)
        check_moments(mechanism.mean, mechanism.sd)
        check_part(mechanism, mechanism.order.size)
    check_part(reference.tails, 0)
    if not (np.isfinite(reference.lowest).all() and np.isfinite(reference.highest).all()):
        raise ValueError("a range of its columns is none")
    if not np.isfinite(reference.times).all():
        raise ValueError("an autocorrelation time is none")
    reference.check()
