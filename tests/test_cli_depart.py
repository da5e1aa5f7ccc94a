"""``rootcausal depart``, as it is typed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import error, ok
from test_outliers import frame, world


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("depart")
    rng = np.random.default_rng(0)
    frame(world(rng, 400)).assign(name=[f"h{k}" for k in range(400)]).to_csv(
        folder / "usual.csv", index=False
    )
    rows = np.vstack([world(rng, 5), world(rng, 5, 1), world(rng, 20, 3, by=-2.0)])
    names = [*["=1+1"] * 1, *(f"r{k}" for k in range(29))]
    part = np.repeat(["none", "b", "d"], [5, 5, 20])
    frame(rows).assign(name=names, part=part).to_csv(folder / "rows.csv", index=False)
    return folder


def test_rows_are_told_and_a_model_is_kept(folder: Path) -> None:
    table, model = folder / "table.csv", folder / "m.rci"
    asked = ("--id", "name", "--drop", "part", "--first", "a,e")
    with pytest.raises(AssertionError, match="--drop 'part' is no column"):
        ok("depart", folder / "usual.csv", folder / "rows.csv", *asked)
    said = ok(
        "depart",
        folder / "usual.csv",
        folder / "rows.csv",
        "--id",
        "name",
        "--out",
        table,
        "--save-model",
        model,
    )
    assert "from a reference group of 400 rows" in said
    assert "nothing departs" in said
    assert "expected" in said
    found = pd.read_csv(table)
    assert len(found) == 150
    assert found["id"][0] == "'=1+1"
    best = found[found["rank"] == 1].set_index("id")["variable"]
    assert (best[["r4", "r5", "r6", "r7", "r8"]] == "b").sum() >= 4
    again = ok("depart", model, folder / "rows.csv", "--group", "part")
    assert "3 groups depart" in again or "2 of 3 groups" in again
    assert "made by rootcausal" in again


def test_tables_are_read_as_the_options_say(folder: Path, tmp_path: Path) -> None:
    """Without names in the first row, columns are V1 and so on; -9 is a value that was not measured."""
    for name in ("usual.csv", "rows.csv"):
        table = pd.read_csv(folder / name)[list("abcde")].round(3)
        table.loc[3, "b"] = -9
        table.to_csv(tmp_path / name, index=False, header=False)
    asked = ("--no-header", "--na", "V2=-9", "--out", tmp_path / "t.csv")
    ok("depart", tmp_path / "usual.csv", tmp_path / "rows.csv", *asked)
    found = pd.read_csv(tmp_path / "t.csv").set_index(["id", "variable"])
    assert found.loc[(0, "V2"), "surprise"] >= 0
    assert np.isnan(found.loc[(3, "V2"), "surprise"])


def test_what_does_not_go_together_is_refused(folder: Path) -> None:
    usual, rows = folder / "usual.csv", folder / "rows.csv"
    assert "leave --id out" in error(2, "depart", usual, rows, "--id", "name", "--group", "part")
    assert "ends in .rci" in error(2, "depart", usual, rows, "--id", "name", "--save-model", folder / "m.csv")
    assert "there is no model file" in error(3, "depart", folder / "no.rci", rows)
    assert "alpha must be between 0 and 1" in error(3, "depart", usual, rows, "--id", "name", "--alpha", "2")
    (folder / "bad.rci").write_bytes(b"PK not a model")
    assert "is not a rootcausal model of a reference group" in error(3, "depart", folder / "bad.rci", rows)
