"""The house rules that a machine can read: who may import whom, and heavy libraries stay in their rooms."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "rootcausal"

# What each room (a package, or a module at the top) may import of the others; "__init__" is the public face.
# An import inside a function counts, and so does one that only a type checker reads.
MAY_IMPORT = {
    "version": set(),
    "errors": set(),
    "method": set(),
    "wording": set(),
    "metrics": {"errors"},
    "warnings": {"errors"},
    "backends": {"errors", "method"},
    "progress": {"method"},
    "name_hints": {"wording"},
    "outcomes": {"errors", "method", "wording"},
    "nonlinear": {"backends", "errors", "method"},
    "departure": {"backends", "method", "nonlinear"},
    "screening": {"backends", "method"},
    "data": {"errors", "method", "outcomes"},
    "files": {"departure", "errors", "method", "nonlinear", "outcomes", "version", "wording"},
    "diagnostics": {"backends", "method", "name_hints", "nonlinear", "outcomes", "screening", "wording"},
    "inputs": {"backends", "errors", "files", "method", "name_hints", "outcomes", "screening", "wording"},
    "resampling": {
        "backends",
        "errors",
        "files",
        "method",
        "metrics",
        "nonlinear",
        "outcomes",
        "progress",
        "version",
        "wording",
    },
    "profiling": {"errors", "files", "inputs", "method", "name_hints", "outcomes", "screening", "wording"},
    "likelihood": {"backends", "errors", "method", "outcomes", "resampling", "wording"},
    "explaining": {
        "departure",
        "errors",
        "inputs",
        "likelihood",
        "method",
        "outcomes",
        "resampling",
        "screening",
        "version",
        "wording",
    },
    "report": {
        "backends",
        "diagnostics",
        "errors",
        "explaining",
        "files",
        "inputs",
        "likelihood",
        "method",
        "outcomes",
        "resampling",
        "version",
        "wording",
    },
    "estimators": {
        "backends",
        "departure",
        "diagnostics",
        "errors",
        "explaining",
        "files",
        "inputs",
        "likelihood",
        "method",
        "nonlinear",
        "outcomes",
        "progress",
        "report",
        "resampling",
        "version",
        "wording",
    },
    "__init__": {"errors", "estimators", "explaining", "files", "inputs", "version"},
    "federated": {
        "backends",
        "errors",
        "estimators",
        "files",
        "inputs",
        "method",
        "outcomes",
        "resampling",
        "screening",
        "wording",
    },
    "comparators": {"backends", "data", "errors", "estimators", "inputs", "method", "outcomes"},
    "plots": {"errors", "estimators", "explaining", "inputs", "method", "outcomes", "wording"},
    "experiments": {
        "backends",
        "comparators",
        "data",
        "errors",
        "estimators",
        "files",
        "method",
        "metrics",
        "outcomes",
        "progress",
        "version",
        "wording",
    },
    "app": {"errors", "files", "progress", "version", "wording"},
    "systems": {"errors", "estimators", "experiments", "files", "method", "wording"},
    "cli": {
        "app",
        "data",
        "diagnostics",
        "errors",
        "estimators",
        "experiments",
        "explaining",
        "federated",
        "files",
        "inputs",
        "likelihood",
        "name_hints",
        "outcomes",
        "profiling",
        "progress",
        "report",
        "systems",
        "version",
        "wording",
    },
    "__main__": {"cli"},
}
# Whose methods call these rooms: they name it in annotations, and never import it at run time.
NAMES_FOR_TYPES = {"report": {"estimators"}}

LIBRARIES = {
    "numba": {
        "backends/cpu/rows.py",
        "backends/cpu/compiler.py",
    },
    "llvmlite": {"backends/cpu/compiler.py"},
}
DASK = {
    "backends/cluster/rows.py",
    "backends/cluster/frame.py",
    "backends/cluster/missing.py",
    "backends/cluster/reading.py",
    "inputs/from_cluster.py",
    "files/dask_parquet.py",
}
LIBRARIES |= dict.fromkeys(("dask", "distributed", "fsspec"), DASK)
LIBRARIES |= {
    "flwr": {"federated/flower_apps.py"},
    "cupy": {"backends/cuda/device.py", "backends/cuda/search.py", "backends/cuda/rows.py"},
    "cupyx": {"backends/cuda/device.py"},
}


@cache
def parsed(source: str) -> ast.Module:
    """Each file is asked for by many rules."""
    return ast.parse(source)


def modules() -> list[tuple[str, Path]]:
    return [(path.relative_to(SOURCE).as_posix(), path) for path in sorted(SOURCE.rglob("*.py"))]


def nodes(tree: ast.AST, *, for_types: bool) -> Iterator[ast.AST]:
    """Everything in a module; without what only a type checker reads, if so wanted."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        skipped = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING" and not for_types
        for node in child.orelse if skipped else [child]:
            yield from nodes(node, for_types=for_types)


@cache
def imports(name: str, source: str, *, for_types: bool = True) -> list[str]:
    """Full names of all that a module of this name imports, wherever in it."""
    found = []
    here = ("rootcausal", *Path(name).with_suffix("").parts)
    for node in nodes(parsed(source), for_types=for_types):
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


def test_no_file_imports_itself_by_a_detour() -> None:
    """Within a room too, and an import inside a function counts."""
    known = {".".join(("rootcausal", *Path(name).with_suffix("").parts)): name for name, _ in modules()}
    graph = {
        name: {
            known[module]
            for full in imports(name, path.read_text(encoding="utf-8"), for_types=False)
            for module in (full, full.rpartition(".")[0], f"{full}.__init__")
            if module in known and known[module] != name
        }
        for name, path in modules()
    }
    list(TopologicalSorter(graph).static_order())


def test_no_file_outgrows_800_lines() -> None:
    for folder in (SOURCE, *(SOURCE.parent.parent / name for name in ("benchmarks", "docs"))):
        for path in folder.rglob("*.py"):
            assert len(path.read_text(encoding="utf-8").splitlines()) <= 800, path


def test_commands_do_not_import_commands() -> None:
    """The application alone does."""
    registered = (SOURCE / "cli" / "application.py").read_text(encoding="utf-8")
    names = {Path(name).stem for name, _ in modules() if name.startswith("cli/")} - {"application"}
    commands = {name for name in names if f"{name}.{name})" in registered}
    assert "fit" in commands
    for name in names:
        source = (SOURCE / "cli" / f"{name}.py").read_text(encoding="utf-8")
        found = {
            full.split(".")[2]
            for full in imports(f"cli/{name}.py", source)
            if full.startswith("rootcausal.cli.")
        }
        assert not found & commands, name


def test_rooms_named_for_types_are_not_imported() -> None:
    for name, path in modules():
        runs = rooms_imported(name, path.read_text(encoding="utf-8"), for_types=False)
        assert runs <= MAY_IMPORT[room_of(name)], name


@pytest.mark.parametrize("room", ["resampling", "inputs", "diagnostics", "files", "backends", "errors"])
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
def test_the_method_may_not_import_what_stands_on_it(room: str, line: str) -> None:
    source = (SOURCE / "method" / "moments.py").read_text(encoding="utf-8")
    assert forbidden("method/moments.py", f"{source}\n{line.format(room=room)}\n") == {room}


def test_the_method_may_not_import_the_public_face() -> None:
    for line in ("from .. import RCI", "import rootcausal", "from rootcausal import RCI"):
        assert forbidden("method/moments.py", line) == {"__init__"}


def test_the_method_knows_numpy_and_scipy_only() -> None:
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
        "graphlib",
        "itertools",
    }
    for name, path in modules():
        if room_of(name) == "method":
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


def test_the_guide_shows_the_house_as_it_is() -> None:
    """It names every folder in the words of its docstring, and no path that is not there."""
    root = SOURCE.parent.parent
    guide = (root / "docs" / "how-it-is-built.md").read_text(encoding="utf-8")
    for path in SOURCE.glob("*/__init__.py"):
        docstring = ast.get_docstring(parsed(path.read_text(encoding="utf-8"))) or ""
        assert f"| `{path.parent.name}/` | {docstring.splitlines()[0]} |" in guide
    named = re.findall(r"`([\w/]+/(?:\w+\.py)?)`", guide)
    assert "method/table.py" in named
    for name in named:
        assert (root / name).exists() or (SOURCE / name).exists(), name


def _compiled_by(node: ast.AST) -> ast.Call | None:
    """The decorator that compiles a function, if one does."""
    if not isinstance(node, ast.FunctionDef):
        return None
    calls = (one for one in node.decorator_list if isinstance(one, ast.Call))
    return next((call for call in calls if getattr(call.func, "id", "") == "compiled"), None)


def test_python_calls_no_inner_loop() -> None:
    """They have no way in from Python, and a call would end the process."""
    folders = (SOURCE, Path(__file__).parent)
    texts = {path: path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py")}
    kernels = {path: parsed(text) for path, text in texts.items() if "compiled(" in text}
    inner = {
        (path.stem, node.name)
        for path, tree in kernels.items()
        for node in ast.walk(tree)
        if (call := _compiled_by(node)) and any(option.arg == "inner" for option in call.keywords)
    }
    assert len(inner) > 40
    modules = {module for module, _ in inner}
    for path, text in texts.items():
        if not any(module in text or path.stem == module for module in modules):
            continue
        tree = kernels.get(path) or parsed(text)
        here = {name for module, name in inner if module == path.stem}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                module = (node.module or "").split(".")[-1]
                here |= {one.name for one in node.names if (module, one.name) in inner}
        within = {id(one) for node in ast.walk(tree) if _compiled_by(node) for one in ast.walk(node)}
        called = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in within}
        assert not here & called, path
