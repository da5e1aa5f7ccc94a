"""What cells mean, by one rule at every door: decimal commas, truth values, times, numbers never seen."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from command_line import error, ok, run

from rootcausal import RCI, InputError

N = 120
rng = np.random.default_rng(3)
NODES = rng.integers(0, 7, N)
AGE = rng.laplace(60, 10, N)
LAB = (4 + rng.laplace(size=N)).round(1)
Y = (rng.random(N) < 1 / (1 + np.exp(-(1.2 * (NODES - 3) + 0.5 * (LAB - 4))))).astype(int)


def fitted(X: Any, **options: Any) -> RCI:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*separat")
        return RCI(alpha=1.0, backend="auto", **options).fit(X, Y)


def kinds(model: RCI) -> dict[str, Any]:
    return {name: (one["kind"], one["levels"]) for name, one in model.provenance_["kinds"].items()}


# --- numbers that the cohort did not have -----------------------------------------------------------------


@pytest.fixture(scope="module")
def of_nodes() -> RCI:
    return fitted(pd.DataFrame({"nodes": NODES, "age": AGE}))


FRAMES: dict[str, Callable[[list[int]], Any]] = {
    "pandas": lambda nodes: pd.DataFrame({"nodes": nodes, "age": 60.0}),
    "floats": lambda nodes: pd.DataFrame({"nodes": nodes, "age": 60.0}, dtype=float),
    "texts": lambda nodes: pd.DataFrame({"nodes": list(map(str, nodes)), "age": 60.0}),
    "objects": lambda nodes: pd.DataFrame({"nodes": pd.Series(nodes, dtype=object), "age": 60.0}),
    "polars": lambda nodes: pl.DataFrame({"nodes": nodes, "age": [60.0] * len(nodes)}),
    "arrow": lambda nodes: pa.table({"nodes": nodes, "age": [60.0] * len(nodes)}),
}
BEYOND = "numbers that the cohort did not have count as the nearest that it had: 'nodes' holds"


@pytest.mark.parametrize("kind", FRAMES)
def test_nine_nodes_are_no_fewer_than_six(of_nodes: RCI, kind: str) -> None:
    assert kinds(of_nodes)["nodes"][0] == "ordinal"
    seen = of_nodes.predict_proba(FRAMES[kind]([0, 3, 6]))[:, 1]
    with pytest.warns(UserWarning, match=BEYOND) as heard:
        beyond = of_nodes.predict_proba(FRAMES[kind]([9, -2]))[:, 1]
    assert len(heard) == 1 and "9 (counted as 6)" in str(heard[0].message)
    assert "-2 (counted as 0)" in str(heard[0].message)
    assert seen[0] < seen[1] < seen[2]
    np.testing.assert_array_equal(beyond, seen[[2, 0]])


def test_nine_nodes_in_files_on_a_cluster_and_on_the_page(of_nodes: RCI, tmp_path: Path) -> None:
    of_nodes.save(tmp_path / "m.rci")
    frame = pd.DataFrame({"nodes": [6, 9], "age": [60.0, 60.0]})
    frame.to_csv(tmp_path / "new.csv", index=False)
    frame.to_parquet(tmp_path / "new.parquet")
    for name in ("new.csv", "new.parquet"):
        out = tmp_path / f"{name}.scores.csv"
        said = run("explain", tmp_path / "m.rci", tmp_path / name, "--out", out).stderr
        assert said.count("'nodes' holds 9 (counted as 6)") == 1
        risk = pd.read_csv(out)["risk"]
        assert risk[1] == risk[0] > 0.8
        page = tmp_path / f"{name}.html"
        said = run("report", tmp_path / name, "--model", tmp_path / "m.rci", "--out", page).stderr
        assert said.count("'nodes' holds 9 (counted as 6)") == 1
    with pytest.warns(UserWarning, match="counted as 6"):
        values = of_nodes.shapley_values(dd.from_pandas(frame, npartitions=2)).compute(scheduler="sync")
    np.testing.assert_array_equal(values.iloc[0], values.iloc[1])


def test_codes_without_an_order_have_no_nearest() -> None:
    model = fitted(pd.DataFrame({"site": NODES, "age": AGE}), kinds={"site": "nominal"})
    with pytest.warns(UserWarning, match="taken for missing: 'site' holds '9'"):
        model.predict_proba(pd.DataFrame({"site": [9], "age": [60.0]}))


# --- decimal commas ---------------------------------------------------------------------------------------


def with_commas(numbers: Any, digits: int = 1) -> list[str]:
    return [f"{number:.{digits}f}".replace(".", ",") for number in numbers]


COMMAS = pd.DataFrame({"lab": with_commas(LAB), "age": with_commas(AGE, 3)})
PLAIN = pd.DataFrame({"lab": LAB, "age": AGE.round(3)})


@pytest.mark.parametrize(
    "put",
    [
        lambda frame: frame,
        lambda frame: frame.astype("string"),
        lambda frame: frame.astype("category"),
        pl.from_pandas,
        pa.Table.from_pandas,
    ],
    ids=["objects", "strings", "categories", "polars", "arrow"],
)
def test_decimal_commas_in_frames_are_numbers(put: Callable[[pd.DataFrame], Any]) -> None:
    expected, model = fitted(PLAIN), fitted(put(COMMAS))
    assert kinds(model) == kinds(expected) == {}
    np.testing.assert_array_equal(model.predict_proba(put(COMMAS)), expected.predict_proba(PLAIN))
    # 49,799 could be a number of five digits, were it not for the cohort.
    one = put(COMMAS.iloc[[0]].reset_index(drop=True))
    np.testing.assert_array_equal(model.predict_proba(one), expected.predict_proba(PLAIN.iloc[[0]]))
    with pytest.raises(InputError, match=r"column 'age' holds '\d+,\d{3}', which may be a decimal comma"):
        expected.predict_proba(COMMAS)


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_decimal_commas_in_files_are_numbers(tmp_path: Path, ending: str) -> None:
    cohort, model = tmp_path / f"c.{ending}", tmp_path / "m.rci"
    put(COMMAS.assign(d=Y), cohort)
    ok("fit", cohort, "--target", "d", "--alpha", 1, "--out", model, "--backend", "numpy")
    loaded = RCI.load(model)
    assert kinds(loaded) == {} and loaded.provenance_["reading"]["decimal_comma"] is True
    np.testing.assert_allclose(loaded.predict_proba(COMMAS), fitted(PLAIN).predict_proba(PLAIN), atol=1e-12)
    one, out = tmp_path / f"one.{ending}", tmp_path / "scores.csv"
    put(COMMAS.head(1), one)
    ok("explain", model, one, "--out", out)
    np.testing.assert_allclose(pd.read_csv(out)["risk"], loaded.predict_proba(COMMAS)[:1, 1], atol=1e-12)
    assert "nominal" not in ok("look", cohort, "--target", "d")
    fitted(PLAIN).save(model)
    assert f"column 'age' holds '{COMMAS['age'][0]}', which may be a" in error(3, "explain", model, one)


def put(frame: pd.DataFrame, path: Path) -> None:
    writers = {".csv": frame.to_csv, ".xlsx": frame.to_excel}
    writers[path.suffix](path, index=False) if path.suffix in writers else frame.to_parquet(path)


UNCLEAR = pd.DataFrame({"charge": [f"{1 + k % 9},{100 + k}" for k in range(N)], "age": AGE})
MIXED = pd.DataFrame({"charge": [f"{k % 9}{',.'[k % 2]}5" for k in range(N)], "age": AGE})


@pytest.mark.parametrize("frame", [UNCLEAR, MIXED], ids=["thousands", "both marks"])
def test_commas_that_may_mean_two_things_are_refused(frame: pd.DataFrame, tmp_path: Path) -> None:
    words = "which may be a decimal comma or a comma between thousands: write it without commas, or "
    with pytest.raises(InputError, match=words + "drop the column"):
        fitted(frame)
    for name in ("c.csv", "c.parquet"):
        put(frame.assign(d=Y), tmp_path / name)
        fit = ("fit", tmp_path / name, "--target", "d", "--out", tmp_path / "m.rci", "--backend", "numpy")
        assert words + "leave the column out with --drop COLUMN" in " ".join(error(3, *fit).split())
        ok(*fit, "--drop", "charge")
        said = ok("look", tmp_path / name, "--target", "d")
        assert "--drop charge" in said and "decimal comma" in " ".join(said.split())


def test_levels_with_commas_stay_levels_where_the_user_says_so() -> None:
    answers = pd.Series(["1,2", "2,3", "1,3"])[NODES % 3].reset_index(drop=True)
    model = fitted(pd.DataFrame({"answers": answers, "age": AGE}), kinds={"answers": "nominal"})
    assert set(kinds(model)["answers"][1]) == {"1,2", "2,3", "1,3"}


# --- truth values and times of day ------------------------------------------------------------------------

HIGH = NODES > 3
TRUTH = pd.Series([["0", "1", "false", "True"][2 * (k % 2) + high] for k, high in enumerate(HIGH)])


def test_truth_values_beside_codes(tmp_path: Path) -> None:
    table = pd.DataFrame({"smoker": TRUTH, "age": AGE})
    objects = table.assign(smoker=[[0, 1, False, True][2 * (k % 2) + high] for k, high in enumerate(HIGH)])
    expected = ("binary", [False, True])
    for frame in (table, objects, pl.from_pandas(table), table.astype({"smoker": "category"})):
        assert kinds(fitted(frame))["smoker"] == expected
    for name in ("c.csv", "c.parquet", "c.xlsx"):
        put((objects if name == "c.xlsx" else table).assign(d=Y), tmp_path / name)
        ok("fit", tmp_path / name, "--target", "d", "--out", tmp_path / "m.rci", "--backend", "numpy")
        assert kinds(RCI.load(tmp_path / "m.rci"))["smoker"] == expected
    table.loc[::7, "smoker"] = "perhaps"
    assert kinds(fitted(table))["smoker"][0] == "nominal"


def test_times_of_day_are_no_levels(tmp_path: Path) -> None:
    table = pd.DataFrame({"seen": [f"{8 + k % 9:02}:30" for k in range(N)], "age": AGE})
    for frame in (table, pl.from_pandas(table), table.astype("category"), table.to_numpy(dtype=object)):
        with pytest.raises(InputError, match=r"columns of dates or times.*08:30"):
            fitted(frame)
    for name in ("c.csv", "c.parquet", "c.xlsx"):
        put(table.assign(d=Y), tmp_path / name)
        fit = ("fit", tmp_path / name, "--target", "d", "--out", tmp_path / "m.rci", "--backend", "numpy")
        assert "columns of dates or times, here with an example: 'seen' (08:30" in error(3, *fit)


# --- on a cluster -----------------------------------------------------------------------------------------


def test_the_same_kinds_on_a_cluster(client_of_threads: Any) -> None:
    ward = pd.Series(["01", "02", "ICU"])[NODES % 3].reset_index(drop=True)
    table = COMMAS.assign(ward=ward, smoker=TRUTH, nodes=NODES.astype(str), d=Y).sort_values("ward")
    table = table.reset_index(drop=True)
    with pytest.warns(UserWarning, match="separate the classes perfectly"):
        model = RCI(alpha=1.0).fit(dd.from_pandas(table, npartitions=3), "d")
    with pytest.raises(InputError, match=r"dates or times.*08:30"):
        RCI().fit(dd.from_pandas(table.assign(seen="08:30"), npartitions=3), "d")
    with pytest.raises(InputError, match="column 'charge' holds '1,234', which may be a decimal comma"):
        RCI().fit(dd.from_pandas(table[["d", "nodes"]].assign(charge="1,234"), npartitions=3), "d")
    with pytest.warns(UserWarning, match="separate the classes perfectly"):
        memory = RCI(alpha=1.0).fit(table.drop(columns="d"), table["d"])
    assert kinds(model) == kinds(memory)
    assert set(kinds(model)["ward"][1]) == {"01", "02", "ICU"}
    X = table.drop(columns="d")
    np.testing.assert_allclose(model.predict_proba(X), memory.predict_proba(X), atol=1e-6)
