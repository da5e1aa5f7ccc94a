"""Options that are given twice, and what cannot be read or printed: pipes, closed streams, full disks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import error, ok

import rootcausal
from rootcausal.errors import InputError


@pytest.fixture(scope="module")
def cohort(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("streams") / "c.csv"
    ok("simulate", "--rows", 60, "--variables", 4, "--out", path)
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "c.csv", "--target", "d", "--outcome", "binary", "--outcome", "continuous"],
        ["look", "c.csv", "--target", "d", "--target", "e"],
        ["check", "c.csv", "--target", "d", "--missing", "impute", "--missing", "refuse"],
        ["explain", "m.rci", "c.csv", "--top", "3", "--top", "4"],
        ["report", "c.csv", "--target", "d", "--out", "a.html", "--out", "b.html"],
        ["simulate", "--out", "a.csv", "--out", "b.csv"],
        ["look", "c.csv", "--no-header", "--header"],
    ],
)
def test_no_option_is_silently_the_last_one(arguments: list[str]) -> None:
    option = arguments[-2] if arguments[-1] != "--header" else "--no-header"
    told = error(2, *arguments)
    assert option in told and "was given twice: give it once." in told


def test_options_of_lists_add_up(cohort: Path) -> None:
    told = ok("look", cohort, "--na", "1", "--na", "2") if False else ""
    told = ok(
        "fit", cohort, "--target", "d", "--drop", "x0", "--drop", "x1", "--out", cohort.with_name("m.rci")
    )
    assert ", 1 variables" in told


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such pipes here")
def test_labels_from_a_pipe_are_refused_and_not_waited_for(tmp_path: Path, cohort: Path) -> None:
    os.mkfifo(tmp_path / "labels.csv")
    ok("fit", cohort, "--target", "d", "--out", tmp_path / "m.rci")
    with pytest.raises(InputError, match="is a pipe or a device"):
        rootcausal.load(tmp_path / "m.rci").set_labels(tmp_path / "labels.csv")


def shell(line: str) -> subprocess.CompletedProcess[str]:
    line = line.replace("rootcausal", f"{sys.executable} -m rootcausal")
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=120)


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of Unix")
def test_streams_that_nobody_reads(cohort: Path) -> None:
    lines = {
        f"rootcausal look {cohort} | head -1; exit ${{PIPESTATUS[0]}}": 141,
        f"rootcausal look {cohort} >&- 2>&- <&-": 0,
        "rootcausal look nowhere.csv 2>&1 | true; exit ${PIPESTATUS[0]}": 3,
        f"rootcausal look {cohort} >/dev/full": 4,
    }
    for line, code in lines.items():
        done = shell(line)
        assert done.returncode == code, (line, done)
        assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr, (line, done)
