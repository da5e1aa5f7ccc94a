"""The house rules that a machine can read: who may import whom, and heavy libraries stay in their rooms."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "rootcausal"

# What each room (a package, or a module at the top) may import of the others; "__init__" is the public face.
# An import inside a function counts, and so does one that only a type checker reads.
MAY_IMPORT = {
    "errors": set(),
    "version": set(),
    "wording": set(),
    "provenance": set(),
    "refit": set(),
    "text_cells": {"wording"},
    "workers": set(),
    "rows_checksum": {"core"},
    "core": set(),
    "annotated": {"errors"},
    "atomic_write": {"wording"},
    "metrics": {"errors"},
    "data": {"errors"},
    "tables": {"core", "errors"},
    "intervals": {"core"},
    "learned_graph": {"core"},
    "similarity": {"core"},
    "progress": {"core"},
    "cohort_quantiles": {"core"},
    "cohort": {"core"},
    "parquet_files": {"errors"},
    "table_files": {"errors", "wording"},
    "target_labels": {"errors", "wording"},
    "result_files": {"atomic_write", "table_files"},
    "cohort_files": {"core", "errors", "table_files", "target_labels", "text_cells", "wording"},
    "validation": {"annotated", "core", "errors", "text_cells", "wording"},
    "dask_cohort": {
        "cohort",
        "core",
        "diagnosis_labels",
        "errors",
        "parquet_files",
        "tables",
        "validation",
    },
    "diagnosis_labels": {"annotated", "core", "errors", "target_labels", "validation", "wording"},
    "open_cohort": {"cohort", "dask_cohort", "diagnosis_labels", "errors", "tables", "validation"},
    "array_archive": {"atomic_write", "errors", "version", "wording"},
    "model_checks": {"core"},
    "bootstrap_file": {"array_archive", "core", "model_checks", "tables", "version"},
    "bootstrap": {
        "atomic_write",
        "bootstrap_file",
        "core",
        "errors",
        "progress",
        "rows_checksum",
        "tables",
        "version",
        "wording",
        "workers",
    },
    "fit_warnings": {"bootstrap", "cohort", "core"},
    "explanation": {"core", "errors", "intervals", "validation", "wording"},
    "diagnostics": {"core", "tables", "wording"},
    "model_file": {
        "array_archive",
        "bootstrap",
        "bootstrap_file",
        "cohort_quantiles",
        "core",
        "errors",
        "model_checks",
        "validation",
    },
    "report": {
        "annotated",
        "atomic_write",
        "cohort_quantiles",
        "core",
        "diagnostics",
        "errors",
        "learned_graph",
        "provenance",
        "similarity",
        "version",
    },
    "estimator": {
        "annotated",
        "bootstrap",
        "bootstrap_file",
        "cohort",
        "cohort_quantiles",
        "core",
        "dask_cohort",
        "diagnosis_labels",
        "diagnostics",
        "errors",
        "explanation",
        "fit_warnings",
        "model_file",
        "open_cohort",
        "progress",
        "refit",
        "report",
        "rows_checksum",
        "tables",
        "target_labels",
        "validation",
        "version",
    },
    "lingam": {
        "cohort",
        "core",
        "errors",
        "estimator",
        "fit_warnings",
        "learned_graph",
        "open_cohort",
        "progress",
        "refit",
    },
    "plots": {"core", "errors", "estimator", "explanation", "learned_graph", "lingam", "similarity"},
    "comparators": {
        "annotated",
        "core",
        "data",
        "diagnosis_labels",
        "errors",
        "lingam",
        "refit",
        "tables",
        "target_labels",
        "validation",
    },
    "experiments": {
        "array_archive",
        "atomic_write",
        "comparators",
        "core",
        "data",
        "errors",
        "estimator",
        "metrics",
        "progress",
        "tables",
        "version",
        "wording",
        "workers",
    },
    "__init__": {"errors", "estimator", "explanation", "lingam", "version"},
    "cli": {
        "__init__",
        "atomic_write",
        "cohort_files",
        "dask_cohort",
        "data",
        "errors",
        "experiments",
        "explanation",
        "parquet_files",
        "provenance",
        "result_files",
        "table_files",
        "target_labels",
        "version",
        "wording",
    },
    "__main__": {"cli"},
}
# Whose methods call these rooms: they name it in annotations, and never import it at run time.
NAMES_FOR_TYPES = {"model_file": {"estimator"}, "report": {"estimator", "explanation"}}

LIBRARIES = {
    "numba": {"tables/numba_cpu.py", "tables/compiled.py"},
    "llvmlite": {"tables/numba_cpu.py"},
}
DASK = {"tables/dask_rows.py", "tables/dask_frame.py", "dask_cohort.py", "parquet_files.py"}
LIBRARIES |= dict.fromkeys(("dask", "distributed", "fsspec"), DASK)
LIBRARIES |= {"cupy": {"tables/cupy_gpu.py"}, "cupyx": {"tables/cupy_gpu.py"}}


def modules() -> list[tuple[str, Path]]:
    return [(path.relative_to(SOURCE).as_posix(), path) for path in sorted(SOURCE.rglob("*.py"))]


def nodes(tree: ast.AST, *, for_types: bool) -> Iterator[ast.AST]:
    """Everything in a module; without what only a type checker reads, if so wanted."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        skipped = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING" and not for_types
        for node in child.orelse if skipped else [child]:
            yield from nodes(node, for_types=for_types)


def imports(name: str, source: str, *, for_types: bool = True) -> list[str]:
    """Full names of all that a module of this name imports, wherever in it."""
    found = []
    here = ("rootcausal", *Path(name).with_suffix("").parts)
    for node in nodes(ast.parse(source), for_types=for_types):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            found += [f"{module}.{alias.name}" for alias in node.names]
    return found


def room_of(name: str) -> str:
    return Path(name).with_suffix("").parts[0]


def rooms_imported(name: str, source: str, *, for_types: bool = True) -> set[str]:
    """Other rooms that a module imports; what is in no room comes from the public face."""
    inside = [
        full.split(".")[1:]
        for full in imports(name, source, for_types=for_types)
        if full.split(".")[0] == "rootcausal"
    ]
    found = {parts[0] if parts and parts[0] in MAY_IMPORT else "__init__" for parts in inside}
    return found - {room_of(name)}


def forbidden(name: str, source: str) -> set[str]:
    room = room_of(name)
    return rooms_imported(name, source) - MAY_IMPORT[room] - NAMES_FOR_TYPES.get(room, set())


def test_every_room_imports_only_what_it_may() -> None:
    for name, path in modules():
        assert room_of(name) in MAY_IMPORT, f"{name} is new: say in MAY_IMPORT what it may import"
        assert not forbidden(name, path.read_text(encoding="utf-8")), name


def test_permissions_have_no_cycle() -> None:
    """Nobody imports, by whatever detour, who imports it."""
    list(TopologicalSorter(MAY_IMPORT).static_order())


def test_rooms_named_for_types_are_not_imported() -> None:
    for name, path in modules():
        runs = rooms_imported(name, path.read_text(encoding="utf-8"), for_types=False)
        assert runs <= MAY_IMPORT[room_of(name)], name


@pytest.mark.parametrize(
    "room", ["bootstrap", "validation", "diagnostics", "dask_cohort", "tables", "errors"]
)
@pytest.mark.parametrize(
    "line",
    [
        "from ..{room} import anything",
        "from .. import {room}",
        "import rootcausal.{room}",
        "from rootcausal.{room}.inner import anything",
        "def later():\n    from ..{room} import anything",
        "if TYPE_CHECKING:\n    from ..{room} import Anything",
    ],
)
def test_the_core_may_not_import_what_stands_on_it(room: str, line: str) -> None:
    source = (SOURCE / "core" / "logistic.py").read_text(encoding="utf-8")
    assert forbidden("core/logistic.py", f"{source}\n{line.format(room=room)}\n") == {room}


def test_the_core_may_not_import_the_public_face() -> None:
    for line in ("from .. import RCI", "import rootcausal", "from rootcausal import RCI"):
        assert forbidden("core/logistic.py", line) == {"__init__"}


def test_the_core_knows_numpy_and_scipy_only() -> None:
    allowed = {
        "numpy",
        "scipy",
        "rootcausal",
        "__future__",
        "collections",
        "dataclasses",
        "math",
        "typing",
        "functools",
    }
    for name, path in modules():
        if room_of(name) == "core":
            libraries = {full.split(".")[0] for full in imports(name, path.read_text(encoding="utf-8"))}
            assert libraries <= allowed, name


def test_heavy_libraries_stay_in_their_rooms() -> None:
    for name, path in modules():
        for imported in imports(name, path.read_text(encoding="utf-8")):
            library = imported.split(".")[0]
            assert name in LIBRARIES.get(library, {name}), f"{name} imports {imported}"


def test_nothing_loads_a_pickle() -> None:
    for name, path in modules():
        source = path.read_text(encoding="utf-8")
        assert "pickle" not in {imported.split(".")[0] for imported in imports(name, source)}, name
        assert "allow_pickle=True" not in source, name
