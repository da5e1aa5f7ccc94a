"""An environment of the oldest versions that ``pyproject.toml`` allows, and some of everything done in it.

    python tests/floors.py DIRECTORY [NAME==VERSION ...]

sets it up in a directory, with other versions of what is named, and runs ``tests/smoke.py`` in it. It needs
the package index, and a Python for which the oldest NumPy and Numba were built (3.11, 3.12).
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?P<extras>\[[\w,]+\])?>=(?P<floor>[\w.]+)(,<[\w.]+)?")
# What needs a GPU, and what asks for newer versions of what we both use than we do ourselves.
ELSEWHERE = {"cuda12", "cuda13", "flower"}
# Of these the package needs nothing itself: what it takes of them must work from here on.
TAKEN_TOO = ("polars",)


def floor_of(requirement: str) -> tuple[str, str]:
    """Name and oldest version of a requirement, which is to have a floor, and may have a ceiling."""
    found = REQUIREMENT.fullmatch(requirement)
    assert found, f"{requirement}: not of the form name>=version or name>=version,<version"
    return found["name"], found["floor"]


def requirements() -> dict[str, list[str]]:
    """What ``pyproject.toml`` asks for: always (under ""), by each extra, and in development ("dev")."""
    with (ROOT / "pyproject.toml").open("rb") as source:
        table = tomllib.load(source)
    project = table["project"]
    return {
        "": project["dependencies"],
        **project["optional-dependencies"],
        "dev": table["dependency-groups"]["dev"],
    }


def floors() -> dict[str, str]:
    """The oldest version of everything that one environment can hold, without a GPU."""
    asked = requirements()
    development = dict(map(floor_of, asked.pop("dev")))
    found = {name: development[name] for name in TAKEN_TOO}
    for extra, listed in asked.items():
        if extra not in ELSEWHERE:
            found |= dict(map(floor_of, listed))
    return found


def set_up(where: Path, others: dict[str, str]) -> Path:
    """Install the package and all that it may use, at the floors or in ``others``; return its Python."""
    versions = floors() | others
    subprocess.run([sys.executable, "-m", "venv", where], check=True)
    python = where / "bin" / "python"
    constraints = where / "floors.txt"
    constraints.write_text("".join(f"{name}=={version}\n" for name, version in versions.items()))
    extras = ",".join(sorted(set(requirements()) - {"", "dev"} - ELSEWHERE))
    install = [python, "-m", "pip", "install", "--quiet", "--constraint", constraints]
    subprocess.run([*install, f"{ROOT}[{extras}]", *TAKEN_TOO], check=True)
    return python


def work_with(python: Path) -> None:
    """Do some of everything with the package that is installed there."""
    subprocess.run([python, Path(__file__).parent / "smoke.py"], check=True, cwd=python.parent)


if __name__ == "__main__":
    work_with(set_up(Path(sys.argv[1]).absolute(), dict(text.split("==") for text in sys.argv[2:])))
