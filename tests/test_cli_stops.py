"""Ctrl-C, SIGTERM and SIGKILL: one line, no unfinished file, nothing lost that was done, nobody left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import error
from joblib import delayed

from rootcausal.cli.application import StopSignals
from rootcausal.progress.workers import in_workers
from rootcausal.resampling.bootstrap import read_resamples

LONG_ENOUGH = 120.0  # seconds, on a busy machine
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "terminated"}


# Tests that were started by nohup ignore this signal, and so would what they start.
AS_IN_A_TERMINAL = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    """Run a script in a process group of its own, as a terminal would."""
    command = [sys.executable, "-c", AS_IN_A_TERMINAL + script, *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def wait_until(happened: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + LONG_ENOUGH
    while not happened():
        assert process.returncode is None and process.poll() is None, process.communicate()
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.01)


def living(group: int) -> list[int]:
    """The processes of a group that have not ended."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, pgrp = stat.read_text().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(pgrp) == group and state != "Z":
            found.append(int(stat.parent.name))
    return found


def no_one_is_left(group: int) -> bool:
    end = time.monotonic() + LONG_ENOUGH
    while living(group) and time.monotonic() < end:
        time.sleep(0.05)
    return not living(group)


# Starts workers at once, and saves so often that the signal usually comes while a file is written.
RESAMPLING = (
    "import rootcausal.resampling.bootstrap as bootstrap, rootcausal.cli as cli\n"
    "bootstrap.SECONDS_BETWEEN_SAVES = 0\n"
    "bootstrap.TRIED_HERE = 0\n"
    "cli.main()\n"
)


def start_resampling(cohort: Path) -> tuple[subprocess.Popen[str], Path]:
    """A bootstrap that would take hours, on two workers, once some of it is in a file."""
    boot, out = cohort.with_name("boot.npz"), cohort.with_name("m.rci")
    options = ["--target", "d", "--id", "patient", "--backend", "numpy"]
    options += ["--bootstrap", "10000", "--jobs", "2"]
    process = start(RESAMPLING, "fit", cohort, *options, "--resume", boot, "--out", out)
    wait_until(boot.exists, process)
    return process, boot


@pytest.mark.parametrize(("number", "to_all"), [(signal.SIGINT, True), (signal.SIGTERM, False)])
def test_a_stopped_bootstrap_keeps_what_is_done_and_leaves_nothing_else(
    cohort: Path, number: signal.Signals, to_all: bool
) -> None:
    process, boot = start_resampling(cohort)
    with process:
        (os.killpg if to_all else os.kill)(process.pid, number)
        _, stderr = process.communicate(timeout=LONG_ENOUGH)
    assert stderr == f"error: {WORDS[number]}; unfinished files were removed.\n"
    assert process.returncode == 128 + number
    assert sorted(os.listdir(cohort.parent)) == ["boot.npz", "cohort.csv"]
    assert len(read_resamples(boot).models) >= 1
    assert no_one_is_left(process.pid)


def test_workers_end_after_the_sudden_end_of_their_parent(cohort: Path) -> None:
    process, _ = start_resampling(cohort)
    with process:
        # The process, the two workers and what watches over their resources.
        assert len(living(process.pid)) >= 3
        process.kill()
        process.wait(timeout=LONG_ENOUGH)
        assert no_one_is_left(process.pid)


def interrupted() -> int:
    os.kill(os.getpid(), signal.SIGINT)
    return os.getpid()


def test_workers_leave_ctrl_c_to_their_parent() -> None:
    found = list(in_workers((delayed(interrupted)() for _ in range(8)), 2))
    assert len(found) == 8
    assert os.getpid() not in found


WAITING = (
    "import rootcausal.data as data, rootcausal.cli as cli, time\n"
    "def wait(**_):\n"
    "    try:\n"
    "        print('begun', flush=True)\n"
    "        time.sleep(600)\n"
    "    finally:\n"
    "        {finally_}\n"
    "data.simulate = wait\n"
    "cli.main()\n"
)


# Some libraries end an interrupted call with an error of their own.
@pytest.mark.parametrize(
    ("number", "finally_"),
    [*((number, "pass") for number in WORDS), (signal.SIGINT, "raise AttributeError('half imported')")],
)
def test_a_stopped_command_says_so_in_one_line(tmp_path: Path, number: signal.Signals, finally_: str) -> None:
    with start(WAITING.format(finally_=finally_), "simulate", "--out", tmp_path / "c.csv") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(number)
        _, stderr = process.communicate(timeout=LONG_ENOUGH)
    assert stderr == f"error: {WORDS[number]}; unfinished files were removed.\n"
    assert process.returncode == 128 + number
    assert os.listdir(tmp_path) == []


def test_a_stop_within_a_callback_of_a_library_is_heard_after_it(tmp_path: Path) -> None:
    """As within one of llvmlite's while it compiles: an error there is printed by Python, and dropped."""
    script = (
        "import ctypes, os, signal, time, rootcausal.data as data, rootcausal.cli as cli\n"
        "def wait(**_):\n"
        "    ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.SIGTERM))()\n"
        "    time.sleep(60)\n"
        "data.simulate = wait\n"
        "cli.main()\n"
    )
    with start(script, "simulate", "--out", tmp_path / "c.csv") as process:
        _, stderr = process.communicate(timeout=LONG_ENOUGH)
    assert stderr == "error: terminated; unfinished files were removed.\n"
    assert process.returncode == 128 + signal.SIGTERM


def test_signals_that_are_ignored_stay_ignored(tmp_path: Path) -> None:
    script = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + WAITING.format(finally_="pass")
    with start(script, "simulate", "--out", tmp_path / "c.csv") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=LONG_ENOUGH)
    assert process.returncode == 143, stderr


def test_a_signal_that_comes_twice_is_one() -> None:
    signals = StopSignals()
    with pytest.raises(KeyboardInterrupt):
        signals._stop(signal.SIGTERM, None)
    signals._stop(signal.SIGTERM, None)
    assert signals.heard == signal.SIGTERM


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_pipe_is_refused_at_once(cohort: Path, model: Path, ending: str) -> None:
    pipe = cohort.with_name(f"pipe.{ending}")
    os.mkfifo(pipe)
    told = f"cannot read '{pipe}': it is a pipe or a device; write its content to a file first."
    out = cohort.with_name("out.rci")
    for arguments in (
        ["fit", pipe, "--target", "d", "--out", out],
        ["fit", pipe, "--target", "d", "--out", out, "--backend", "dask"],
        ["check", pipe, "--target", "d"],
        ["explain", model, pipe],
        ["explain", pipe, cohort],
        ["report", pipe, "--model", model, "--out", cohort.with_name("p.html")],
        ["reproduce", "fhs", "--framingham", pipe, "--out", cohort.with_name("r")],
    ):
        assert told in error(3, *arguments)


def test_what_comes_through_a_pipe_of_the_shell_is_refused(cohort: Path, model: Path) -> None:
    script = f"cat {cohort} | {sys.executable} -m rootcausal explain {model} /dev/stdin"
    done = subprocess.run(script, shell=True, capture_output=True, text=True, timeout=LONG_ENOUGH)
    assert done.returncode == 3
    assert "cannot read '/dev/stdin': it is a pipe or a device" in done.stderr
