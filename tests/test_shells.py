"""Lines to paste: every shell reads them alike, and what none does is not printed."""

from __future__ import annotations

import json
import shutil
import string
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import ok, run

from rootcausal.wording import for_shell, pasted

SHELLS = ("sh", "dash", "bash", "zsh", "fish")
NAMES = [
    *string.punctuation,
    *(f"{sign}name" for sign in string.punctuation),
    *(f"a{sign}b c" for sign in string.punctuation),
    "",
    "plain",
    "it's",
    "''",
    "\\",
    "a\\",
    "\\'",
    "a\\'b",
    "\\\\'; touch CANARY; #",
    "';touch CANARY;#",
    "\\';touch CANARY;#",
    '"; touch CANARY; "',
    "$(touch CANARY)",
    "`touch CANARY`",
    "(touch CANARY)",
    "a\nb",
    "\x01';touch CANARY;#",
    "\x7f",
    "\u202eabc",
    "wow!'s",
    "$HOME",
    "~root",
    "=ls",
    "=(touch CANARY)",
    "--out",
    "-",
    "%1",
    "{a,b}",
    "<(touch CANARY)",
    "größe μ",
    "名前",
]
SAFE = [name for name in NAMES if for_shell(name) is not None]


def read_by(shell: str, text: str, folder: Path) -> list[str]:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    quiet = {"fish": ["--no-config"], "zsh": ["-f"], "bash": ["--norc"]}.get(shell, [])
    environment = {"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    done = subprocess.run(
        [path, *quiet, "-c", text], capture_output=True, cwd=folder, env=environment, check=True, timeout=30
    )
    assert not done.stderr and not (folder / "CANARY").exists()
    return done.stdout.decode().split("\0")[:-1]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_reads_what_is_printed_as_it_was(shell: str, tmp_path: Path) -> None:
    text = " ".join(map(pasted, SAFE))
    assert text.isprintable()
    assert read_by(shell, f"printf '%s\\0' {text}", tmp_path) == SAFE


@pytest.mark.parametrize("shell", SHELLS)
def test_what_shells_read_in_different_ways_is_harmless_in_messages(shell: str, tmp_path: Path) -> None:
    hostile = [name for name in NAMES if name not in SAFE]
    assert set(hostile) == {"a\nb", "\x01';touch CANARY;#", "\x7f", "\u202eabc", "wow!'s"}
    text = " ".join(map(pasted, hostile))
    assert text.isprintable() and len(read_by(shell, f"printf '%s\\0' {text}", tmp_path)) == len(hostile)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_line_of_look(shell: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    left_out = [name for name in SAFE if name.strip()]
    columns = {"a": rng.standard_normal(40), **{name: ["2001-02-03"] * 40 for name in left_out}}
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({**columns, "ill": np.arange(40) % 3 == 0}), path)
    fit = json.loads(ok("look", path, "--target", "ill", "--json"))["fit"]
    line = fit["line"].replace("rootcausal", "printf '%s\\0'", 1)
    assert read_by(shell, line, tmp_path) == fit["arguments"]
    assert set(left_out) <= set(fit["arguments"])


def test_no_line_is_printed_that_runs_commands(tmp_path: Path) -> None:
    name = "\x01';touch CANARY;#"
    path = tmp_path / "t.parquet"
    numbers = np.random.default_rng(0).standard_normal(40)
    pq.write_table(pa.table({"a": numbers, name: ["2001-02-03"] * 40, "ill": np.arange(40) % 3 == 0}), path)
    result = run("look", path, "--target", "ill")
    assert result.exit_code == 0 and "rootcausal fit" not in result.stdout
    said = " ".join(result.stdout.split())
    assert "No line can be printed that every shell reads alike, because of '\\x01';touch" in said
    fit = json.loads(ok("look", path, "--target", "ill", "--json"))["fit"]
    assert fit["line"] is None and name in fit["arguments"]
