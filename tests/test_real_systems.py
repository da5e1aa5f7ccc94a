"""The card: methods on systems with known answers, by made-up files of each source's form."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import error, ok

from rootcausal import InputError
from rootcausal.systems.card import ranks_of, run_source, table_of
from rootcausal.systems.light_tunnel import ACTUATORS, COLUMNS
from rootcausal.systems.methods import METHODS, ScoreOrdering, SmoothTraversal, ZScore
from rootcausal.systems.sources import SOURCES, find_source, folder_of
from rootcausal.systems.trial import Method, Trial

NO_ROWS = np.empty((0, 3))


def tunnel(rng: np.random.Generator, n: int, hit: str = "") -> pd.DataFrame:
    """Actuators by themselves, and sensors that read them; one mechanism may be hit."""
    found = pd.DataFrame({name: rng.uniform(0, 100, n) for name in ACTUATORS})
    for place, name in enumerate(name for name in COLUMNS if name not in ACTUATORS):
        found[name] = found[ACTUATORS[place]] + 0.5 * found[ACTUATORS[place + 1]] + rng.normal(size=n)
    if hit in ACTUATORS:
        found[hit] += 200.0
        return tunnel_again(found, rng)
    if hit:
        found[hit] += 30.0
    return found


def tunnel_again(found: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    for place, name in enumerate(name for name in COLUMNS if name not in ACTUATORS):
        found[name] = (
            found[ACTUATORS[place]] + 0.5 * found[ACTUATORS[place + 1]] + rng.normal(size=len(found))
        )
    return found


@pytest.fixture(scope="module")
def light(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "light-tunnel"
    folder.mkdir()
    rng = np.random.default_rng(0)
    tunnel(rng, 1200).assign(timestamp=0.0).to_csv(folder / "uniform_reference.csv.gz", index=False)
    for name, hit in (("red_mid", "red"), ("t_vis_1_strong", "vis_1"), ("v_c_mid", "current")):
        tunnel(rng, 260, hit).to_csv(folder / f"uniform_{name}.csv", index=False)
    arrows = [(ACTUATORS[place + k], name) for place, name in enumerate(COLUMNS[11:]) for k in (0, 1)]
    with gzip.open(folder / "dag.csv.gz", "wt") as handle:
        handle.write("source,target\n" + "".join(f"{a},{b}\n" for a, b in arrows))
    return folder


def test_the_light_tunnel_is_read_and_its_faults_are_named(light: Path) -> None:
    source = find_source("light-tunnel")
    (trial,) = source.trials(folder_of(source, light.parent), 0)
    assert dict.fromkeys(trial.faults) == dict.fromkeys(["current", "red", "vis_1"])
    assert (len(trial.reference), len(trial.fresh), len(trial.cases), len(trial.rows)) == (
        1000,
        200,
        150,
        600,
    )
    assert trial.causes is not None
    assert trial.causes["ir_1"] == ("green", "blue")
    names = ["z-score", "smooth traversal", "RootCauseOutliers"]
    results = run_source(source, light, [METHODS[name] for name in names], [0])
    shares = {result.method: result.within(1) for result in results}
    assert shares["RootCauseOutliers"] >= 0.95
    assert shares["z-score"] < shares["RootCauseOutliers"]
    alarms = results[-1].alarms
    assert alarms is not None
    assert alarms[1] < 0.12
    text = table_of(source, results, [0]).to_markdown()
    assert "| RootCauseOutliers | nothing | **" in text
    assert "CC BY 4.0" in text


def test_unseen_faults_have_no_cases_at_hand(light: Path) -> None:
    source = find_source("light-tunnel-unseen")
    trials = list(source.trials(folder_of(source, light.parent), 1))
    assert [set(trial.faults) for trial in trials] == [{"current"}, {"red"}, {"vis_1"}]
    assert [len(trial.cases) for trial in trials] == [100, 100, 100]


def test_incidents_of_sock_shop_name_a_service(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    usual = pd.DataFrame(
        rng.normal(size=(200, 4)), columns=["carts_cpu", "user_lat_50", "user_cpu", "orders-db_mem"]
    )
    usual = usual.assign(time=range(200), idle_cpu=1.0)
    hurt = usual.assign(user_lat_50=usual["user_lat_50"] + 6.0)
    usual.to_csv(tmp_path / "user-cpu-1-normal.csv", index=False)
    hurt.to_csv(tmp_path / "user-cpu-1-anomalous.csv", index=False)
    source = find_source("sock-shop")
    (trial,) = source.trials(folder_of(source, tmp_path), 0)
    assert trial.columns == ("carts_cpu", "user_lat_50", "user_cpu", "orders-db_mem")
    assert trial.nodes == ("carts", "user", "user", "orders-db")
    for name in ("z-score", "robust z (BARO-like)", "RootCauseOutliers"):
        (result,) = run_source(source, tmp_path, [METHODS[name]], [0])
        assert result.within(1) == 1.0


def test_petshop_looks_at_the_metric_that_was_hurt(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    services = ["front", "db_AWS::DynamoDB", "cart"]

    def write(path: Path, n: int, hurt: int | None) -> None:
        path.parent.mkdir(parents=True)
        values = rng.normal(size=(n, 6))
        if hurt is not None:
            values[:, hurt] += 9.0
        lines = [
            ["microservice", *services, *services],
            ["metric", *["latency"] * 3, *["requests"] * 3],
            ["statistic", *["Average"] * 3, *["Sum"] * 3],
            ["unix_timestamp", *[""] * 6],
            *([str(k), *map(str, row)] for k, row in enumerate(values)),
        ]
        lines[5][1] = ""
        path.write_text("\n".join(",".join(line) for line in lines))

    write(tmp_path / "low" / "noissue" / "metrics.csv", 120, None)
    write(tmp_path / "low" / "test" / "issue_0" / "metrics.csv", 12, 1)
    told = {
        "target": {"node": "front", "metric": "latency", "agg": "Average"},
        "root_cause": {"node": services[1]},
    }
    (tmp_path / "low" / "test" / "issue_0" / "target.json").write_text(json.dumps(told))
    (trial,) = find_source("petshop").trials(tmp_path, 0)
    assert trial.columns == tuple(services)
    assert trial.answers == (frozenset([services[1]]),)
    assert not np.isnan(trial.rows).any()
    assert ranks_of(ScoreOrdering().scores(trial), trial).tolist() == [1]


def test_tennessee_eastman_takes_the_file_that_lies_on_its_side(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    np.savetxt(tmp_path / "d00.dat", rng.normal(size=(52, 500)))
    rows = rng.normal(size=(960, 52))
    rows[160:, 50] += 5.0
    np.savetxt(tmp_path / "d04_te.dat", rows)
    (trial,) = find_source("tennessee-eastman").trials(tmp_path, 0)
    assert trial.reference.shape == (500, 52)
    assert trial.rows.shape == (800, 52)
    assert ranks_of(ZScore().scores(trial), trial).tolist() == [1]


def test_causrca_reads_events_as_states(tmp_path: Path) -> None:
    def write(path: Path, rows: list[tuple[float, str, object]]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(rows, columns=["time_s", "node", "value"]).to_csv(path, index=False)

    rng = np.random.default_rng(4)
    usual = [(float(t), node, rng.normal()) for t in range(60) for node in ("pump", "level")]
    write(tmp_path / "real_op" / "one.csv", [*usual, (0.0, "door", "open"), (30.0, "door", "shut")])
    folder = tmp_path / "dig_twin" / "exp_coolant" / "exp_1"
    write(folder / "run_1" / "a.csv", [(float(t), "pump", 7.0 if t > 5 else 0.0) for t in range(20)])
    (folder / "exp_1_description.json").write_text(json.dumps({"manipulatedVars": ["pump"]}))
    (folder / "run_1" / "causes.json").write_text(json.dumps({"diagnosis_at": 15.0}))
    (trial,) = find_source("causrca").trials(tmp_path, 0)
    assert trial.columns == ("door", "level", "pump")
    assert trial.rows.shape == (16, 3)
    assert sorted(set(trial.reference[:, 0])) == [0.0, 1.0]
    assert ranks_of(ZScore().scores(trial), trial).tolist() == [1]


def trial_of(rows: np.ndarray, answers: list[str], nodes: tuple[str, ...] = ("a", "b", "c")) -> Trial:
    return Trial(
        columns=("a", "b", "c"),
        reference=np.random.default_rng(0).normal(size=(400, 3)),
        rows=rows,
        unit=np.arange(len(rows)),
        answers=tuple(frozenset([name]) for name in answers),
        faults=tuple(answers),
        nodes=nodes,
        cases=NO_ROWS,
        fresh=NO_ROWS,
        causes={"a": (), "b": ("a",), "c": ("b",)},
    )


def test_places_are_those_of_the_first_right_node() -> None:
    trial = trial_of(np.zeros((3, 3)), ["a", "b", "c"])
    scores = np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0], [np.nan, 5.0, -np.inf]])
    assert ranks_of(scores, trial).tolist() == [1, 2, 3]
    together = trial_of(np.zeros((1, 3)), ["x"], ("y", "x", "x"))
    assert ranks_of(np.array([[2.0, 1.0, 3.0]]), together).tolist() == [1]


def test_a_traversal_stops_where_causes_surprise_as_much() -> None:
    trial = trial_of(np.array([[6.0, 6.0, 6.0], [0.0, 0.0, 6.0]]), ["a", "c"])
    assert ranks_of(SmoothTraversal().scores(trial), trial).tolist() == [1, 1]


def test_a_method_of_ones_own_runs_from_one_file(
    light: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_module.py").write_text(
        "import numpy as np\n"
        "from rootcausal.systems.trial import Method\n\n"
        "class Mine(Method):\n"
        "    name, told = 'mine', 'nothing'\n\n"
        "    def scores(self, trial):\n"
        "        return trial.by_unit(np.abs(trial.rows - trial.mean))\n"
    )
    monkeypatch.chdir(tmp_path)
    methods = "z-score,my_module:Mine"
    ok("benchmark", "light-tunnel", "--data", light.parent, "--seeds", 1, "--methods", methods)
    card = (tmp_path / "real-systems" / "README.md").read_text()
    assert "| mine | nothing |" in card
    assert "| z-score |" in card


def test_what_cannot_be_asked_is_refused(tmp_path: Path, light: Path) -> None:
    assert "unknown source 'moon'" in error(3, "benchmark", "moon", "--data", tmp_path)
    assert "holds no *-normal.csv" in error(3, "benchmark", "sock-shop", "--data", tmp_path)
    magic = error(3, "benchmark", "light-tunnel", "--data", light.parent, "--methods", "magic")
    assert "unknown method 'magic'" in magic
    (tmp_path / "uniform_reference.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="lacks the column"):
        list(find_source("light-tunnel").trials(tmp_path, 0))


def test_every_source_and_method_says_what_it_is() -> None:
    for name, source in SOURCES.items():
        assert source.name == name
        assert len(source.about) > 60
    for name, method in METHODS.items():
        assert method.name == name
        assert method.told
    assert Method.told == "nothing"
