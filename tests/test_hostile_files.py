"""Mutated model, resume and row files: refused in one sentence or harmless, quickly and in little memory."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

RUNNER = Path(__file__).with_name("hostile_files.py")
MOST_MEGABYTES = 300
MOST_SECONDS = 2.0


def read_mutated(count: int, seed: int) -> dict:
    process = subprocess.run(
        [sys.executable, str(RUNNER), str(count), str(seed)], capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    print(process.stdout)
    return json.loads(process.stdout)


def test_mutated_files_are_refused_or_harmless() -> None:
    found = read_mutated(250, seed=1)
    assert found["escaped"] == []
    assert found["megabytes"] <= MOST_MEGABYTES
    assert {outcome.rpartition(": ")[2] for outcome in found["outcomes"]} == {"refused", "harmless"}


@pytest.mark.slow
def test_ten_thousand_mutated_files_are_refused_or_harmless() -> None:
    found = read_mutated(10_000, seed=0)
    assert found["escaped"] == []
    assert found["megabytes"] <= MOST_MEGABYTES
    assert found["slowest_seconds"] <= MOST_SECONDS
