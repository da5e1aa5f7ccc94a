"""The oldest versions that we say we work with."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from floors import floor_of, floors, requirements, set_up, work_with


def test_floors_of_extras_and_of_development_are_the_same() -> None:
    oldest = floors()
    for listed in requirements().values():
        for name, floor in map(floor_of, listed):
            assert oldest.get(name, floor) == floor, name


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the oldest NumPy was not built for it")
@pytest.mark.parametrize(
    "others", [{}, {"scipy": "1.16.0"}], ids=["oldest", "a SciPy that solves with 32-bit indices only"]
)
def test_the_oldest_versions_work(tmp_path: Path, others: dict[str, str]) -> None:
    work_with(set_up(tmp_path / "venv", others))
