"""Matched sets in raw tables: what look proposes, and that fit takes it."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import ok, run

from rootcausal import RCI


def pairs(n_sets: int = 120, seed: int = 0) -> pd.DataFrame:
    """One case and one control a set, which share a shift of both columns."""
    rng = np.random.default_rng(seed)
    sets = np.repeat(np.arange(n_sets), 2)
    ill = np.tile([1, 0], n_sets)
    shift = rng.normal(size=n_sets)[sets]
    exposure = rng.laplace(size=2 * n_sets) + shift + 0.9 * ill
    marker = rng.laplace(size=2 * n_sets) + 0.5 * exposure
    return pd.DataFrame({"pair": sets + 1001, "case": ill, "exposure": exposure, "marker": marker})


def proposed(table: pd.DataFrame, folder: Path, *options: str) -> list[str]:
    """The arguments of the line, which fits."""
    table.to_csv(folder / "t.csv", index=False)
    line = next(
        line
        for line in ok("look", folder / "t.csv", "--target", "case", *options).splitlines()[::-1]
        if " fit " in line
    )
    arguments = shlex.split(line)[1:]
    done = run(*arguments[:-1], folder / "m.rci")
    assert done.exit_code == 0, done.output
    return arguments


def test_a_set_is_no_id_beside(tmp_path: Path) -> None:
    found = proposed(pairs(), tmp_path)
    assert found[found.index("--strata") + 1] == "pair" and "--id" not in found and "--drop" not in found


def test_rows_of_sets_that_lack_a_value_are_left_out_and_it_is_said(tmp_path: Path) -> None:
    table = pairs()
    table.loc[[3, 40, 41], "marker"] = np.nan
    assert "--drop-missing" in proposed(table, tmp_path)
    said = " ".join(ok("look", tmp_path / "t.csv", "--target", "case").split())
    assert "3 rows without a value of 'marker' are left out" in said


def test_sets_are_not_proposed_where_too_few_would_be_whole(tmp_path: Path) -> None:
    table = pairs()
    table.loc[np.arange(14, len(table)), "marker"] = np.nan
    table.loc[np.arange(1, 14, 2), "exposure"] = np.nan
    found = proposed(table, tmp_path)
    assert "--strata" not in found and "--drop-missing" not in found


@pytest.mark.filterwarnings("ignore")
def test_a_mean_of_two_columns_is_no_singular_matrix() -> None:
    table = pairs(53)
    table["both"] = (table["exposure"] + table["marker"]) / 2
    for seed in range(20):
        rows = table.sample(frac=1.0, random_state=seed)
        model = RCI().fit(rows[["exposure", "marker", "both"]], rows["case"], strata=rows["pair"])
        assert len(model.causal_order_) == 2


def test_rows_that_start_when_they_stop_are_no_intervals(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    start = rng.integers(0, 50, 200)
    table = pd.DataFrame(
        {"tstart": start, "tstop": start + rng.integers(1, 9, 200), "status": rng.integers(0, 2, 200)}
    )
    table["marker"] = rng.normal(size=200)
    for same, expected in ((False, True), (True, False)):
        table.loc[7, "tstop"] = table.loc[7, "tstart"] + (0 if same else 3)
        table.to_csv(tmp_path / "t.csv", index=False)
        assert ("--start tstart" in ok("look", tmp_path / "t.csv", "--target", "status")) is expected


def test_what_is_another_column_again_within_sets_is_left_out(tmp_path: Path) -> None:
    """Prizes of a year: within it, age is the year of birth again, and fit would refuse the two."""
    table = pairs()
    year = 1930 + (table["pair"] - 1001) % 80
    table["born"] = year - 40 - (7 * table["exposure"]).round()
    table["age"] = year - table["born"]
    table["born"] = table["born"] + 0.5  # in the middle of the year
    found = proposed(table, tmp_path)
    assert found[found.index("--drop") + 1] in ("born", "age") and found.count("--drop") == 1
    said = " ".join(ok("look", tmp_path / "t.csv", "--target", "case").split())
    assert "Within every set one column is a copy of another: 'age' of 'born'" in said
    unmatched = " ".join(ok("look", tmp_path / "t.csv", "--target", "marker").split())
    assert "Within every set" not in unmatched


def test_no_limit_is_proposed_for_matched_sets(tmp_path: Path) -> None:
    """Fit refuses limits there; cells below one are missing, and a pile at the least value stays as it is."""
    table = pairs()
    table["least"] = np.maximum(table["marker"], table["marker"].quantile(0.2)).round(2)
    assert "--limit" not in proposed(table, tmp_path)
    below = table["marker"] < table["marker"].quantile(0.05)
    found = proposed(table.assign(marker=table["marker"].round(3).astype(str).mask(below, "<-2.5")), tmp_path)
    assert "--limit" not in found and "--drop-missing" in found
    unmatched = proposed(table.drop(columns="pair"), tmp_path)
    assert "--limit" in unmatched
