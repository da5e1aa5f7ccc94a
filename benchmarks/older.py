"""Another checkout of rootcausal beside this one, in one process: for times before and after a change."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

NAME = "rootcausal_before"


def older(source: str | Path) -> ModuleType:
    """The package in the folder ``source`` of another checkout (its ``src``), under a name of its own.

    Modules of the package import each other by relative names, so none of them meets one of ours.
    """
    opening = Path(source) / "rootcausal" / "__init__.py"
    if not opening.is_file():
        raise SystemExit(f"{source} holds no package rootcausal: name the folder src of another checkout")
    spec = importlib.util.spec_from_file_location(
        NAME, opening, submodule_search_locations=[str(opening.parent)]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = package
    spec.loader.exec_module(package)
    return package


def module_of(package: ModuleType, name: str) -> ModuleType:
    """A module of it, such as ``core.ordering``."""
    return importlib.import_module(f"{package.__name__}.{name}")
