"""The house rules that a machine can read: imports point down, and heavy libraries stay in their rooms."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "rootcausal"

# Who may not be imported from where.
ABOVE = {
    "core": {
        "tables",
        "comparators",
        "experiments",
        "report",
        "cli",
        "estimator",
        "lingam",
        "explanation",
        "data",
    },
    "tables": {"comparators", "experiments", "report", "cli", "estimator", "lingam", "explanation", "data"},
    "data": {"experiments", "report", "cli", "estimator"},
}
ROOMS = {
    "numba": {"tables/numba_cpu.py", "tables/compiled.py"},
    "llvmlite": {"tables/numba_cpu.py"},
}
DASK = {"tables/dask_rows.py", "tables/dask_frame.py", "dask_cohort.py", "parquet_files.py"}
ROOMS |= dict.fromkeys(("dask", "distributed", "fsspec"), DASK)
ROOMS |= {"cupy": {"tables/cupy_gpu.py"}, "cupyx": {"tables/cupy_gpu.py"}}


def imports(path: Path) -> list[str]:
    """Names of all imported modules, with the package's own as rootcausal.…"""
    found = []
    here = path.relative_to(SOURCE.parent).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(here[: len(here) - node.level]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            found += [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return found


def modules() -> list[tuple[str, Path]]:
    return [(path.relative_to(SOURCE).as_posix(), path) for path in sorted(SOURCE.rglob("*.py"))]


def test_imports_point_down() -> None:
    for name, path in modules():
        room = name.split("/")[0]
        for imported in imports(path):
            parts = imported.split(".")
            if room in ABOVE and parts[0] == "rootcausal" and len(parts) > 1:
                assert parts[1] not in ABOVE[room], f"{name} imports {imported}"


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
        if name.startswith("core/"):
            assert {imported.split(".")[0] for imported in imports(path)} <= allowed, name


def test_heavy_libraries_stay_in_their_rooms() -> None:
    for name, path in modules():
        for imported in imports(path):
            library = imported.split(".")[0]
            assert name in ROOMS.get(library, {name}), f"{name} imports {imported}"


def test_nothing_loads_a_pickle() -> None:
    for name, path in modules():
        assert "pickle" not in {imported.split(".")[0] for imported in imports(path)}, name
        assert "allow_pickle=True" not in path.read_text(encoding="utf-8"), name
