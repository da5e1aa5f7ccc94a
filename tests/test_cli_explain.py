"""rootcausal explain: the scores it writes are those of the Python interface, whatever the names."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest
from command_line import error, in_new_process, ok, run

from rootcausal import RCI, __version__
from rootcausal.cli.explain import understood
from rootcausal.data import simulate
from rootcausal.inputs.from_file import read_new_patients


def python_answer(model: Path, patients: Path) -> tuple[RCI, pa.Table]:
    fitted = RCI.load(model)
    return fitted, read_new_patients(patients, list(fitted.feature_names_in_)).X


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_scores_are_those_of_the_python_interface(cohort: Path, model: Path, ending: str) -> None:
    out = cohort.with_name(f"scores.{ending}")
    printed = ok("explain", model, cohort, "--id", "patient", "--out", out)
    assert f"scores of 200 patients written to '{out}'" in printed
    assert "it is not the prevalence" in printed
    scores = arrow_csv.read_csv(out) if ending == "csv" else pq.read_table(out)
    fitted, X = python_answer(model, cohort)
    assert scores.column_names == ["patient", "risk", "log_odds", *fitted.feature_names_in_, "imputed"]
    assert scores["patient"].to_pylist()[:2] == ["p000", "p001"]
    values = np.column_stack([scores[name].to_numpy() for name in fitted.feature_names_in_])
    assert np.array_equal(values, fitted.shapley_values(X))
    assert np.array_equal(scores["log_odds"].to_numpy(), fitted.decision_function(X))
    assert np.array_equal(scores["risk"].to_numpy(), fitted.predict_proba(X)[:, 1])


def test_parquet_scores_say_how_they_were_made(cohort: Path, model: Path) -> None:
    ok("explain", model, cohort, "--out", cohort.with_name("s.parquet"))
    made_by = json.loads(pq.read_schema(cohort.with_name("s.parquet")).metadata[b"rootcausal"])
    expected = {
        "version": __version__,
        "command": "explain",
        "model": "model.rci",
        "attribution": "sharp",
        "variant": "local_plus",
    }
    assert expected.items() <= made_by.items()
    assert made_by["base_value"] == RCI.load(model).intercept_


def test_new_process_gives_the_same_bits(cohort: Path, model: Path) -> None:
    first, second = cohort.with_name("first.csv"), cohort.with_name("second.csv")
    ok("explain", model, cohort, "--id", "patient", "--out", first)
    done = in_new_process("explain", model, cohort, "--id", "patient", "--out", second)
    assert done.returncode == 0, done.stderr
    assert first.read_bytes() == second.read_bytes()
    fitted, X = python_answer(model, cohort)
    scores = arrow_csv.read_csv(second)
    assert np.array_equal(np.column_stack(scores.columns[3:-1]), fitted.shapley_values(X))


def test_reordered_and_extra_columns(cohort: Path, model: Path) -> None:
    table = arrow_csv.read_csv(cohort)
    mixed = table.select(["x3", "patient", "x1", "x0", "x4", "x2"])
    mixed = mixed.append_column("ward", pa.array(["north"] * 200)).append_column("gap", pa.nulls(200))
    arrow_csv.write_csv(mixed, cohort.with_name("mixed.csv"))
    for source, out in ((cohort, "a.csv"), (cohort.with_name("mixed.csv"), "b.csv")):
        ok("explain", model, source, "--id", "patient", "--out", cohort.with_name(out))
    assert cohort.with_name("a.csv").read_bytes() == cohort.with_name("b.csv").read_bytes()


def test_rows_left_out_keep_their_numbers(cohort: Path, model: Path) -> None:
    lines = cohort.read_text().splitlines()
    lines[2] = '"p001",' + "NA," * 5 + "1"
    cohort.write_text("\n".join(lines) + "\n")
    out, strict = cohort.with_name("s.csv"), cohort.with_name("strict.rci")
    strictly = ["--drop-missing", "--missing", "refuse"]
    ok("fit", cohort, "--target", "d", "--id", "patient", *strictly, "--out", strict)
    assert "(1)" in error(3, "explain", strict, cohort, "--out", out)
    for which in (strict, model):
        assert "left out 1 of 200 rows" in ok("explain", which, cohort, "--drop-missing", "--out", out)
        assert arrow_csv.read_csv(out)["row"].to_pylist()[:3] == [1, 3, 4]


def test_printed_root_causes(cohort: Path, model: Path) -> None:
    fitted, X = python_answer(model, cohort)
    printed = ok("explain", model, cohort, "--id", "patient", "--top", "1")
    explanation = fitted.explain(X)
    for row in range(10):
        line = next(line for line in printed.splitlines() if f"p{row:03}" in line)
        assert f"{explanation.log_odds[row]:+.2f}" in line
        for cause in explanation.root_causes(top=1)[row]:
            assert f"{cause.variable} {cause.shapley:+.2f}" in line
    assert "p010" not in printed
    assert "and 190 more patients; --out scores.csv writes them all" in printed
    assert "it is not the prevalence" in " ".join(printed.split())


def test_a_shock_that_nobody_has_is_told_from_a_value(cohort: Path, model: Path) -> None:
    loaded = RCI.load(model)
    variable = int(loaded.causal_order_[0])
    name, shocks = loaded.feature_names_in_[variable], loaded._quantiles.errors[:, 0]
    far = run("explain", model, cohort, "--what-if", f"{name}=-40")
    assert far.exit_code == 0 and "what if the shock" in far.stdout
    seen = f"outside all that was seen ({shocks[0]:+.1f} to {shocks[-1]:+.1f})"
    assert (
        f"warning: --what-if {name}=-40 sets no value: -40 is the shock, in standard deviations, and {seen}"
        in (far.stderr)
    )
    for shock in (6, -6, 0):
        assert "warning" not in run("explain", model, cohort, "--what-if", f"{name}={shock}").stderr
    # Where somebody has such a shock, or nothing is known of that.
    loaded._quantiles.errors[-1, 0] = 50.0
    loaded.save(model)
    assert "warning" not in run("explain", model, cohort, "--what-if", f"{name}=40").stderr
    loaded._quantiles = None
    with pytest.warns(UserWarning, match="and hardly ever seen"):
        understood(f"{name}=40", loaded)


def test_what_if_lists_no_value_that_reads_as_before(tmp_path: Path) -> None:
    """Of an effect next to zero: 12000 moves, but not in the digits that are shown."""
    rng = np.random.default_rng(0)
    cause = rng.gamma(1.0, size=400)
    effect = 12_000 + 0.3 * cause + rng.gamma(1.0, size=400)
    ill = (cause + effect - 12_000 + rng.logistic(size=400) > 2.5).astype(int)
    arrow_csv.write_csv(pa.table({"cause": cause, "effect": effect, "ill": ill}), tmp_path / "c.csv")
    ok("fit", tmp_path / "c.csv", "--target", "ill", "--first", "cause", "--out", tmp_path / "m.rci")
    said = ok("explain", tmp_path / "m.rci", tmp_path / "c.csv", "--what-if", "cause=0")
    assert "cause " in said
    assert not re.search(r" (\S+) to \1[ ,\n]", said), said


def test_top_and_out_exclude_each_other(cohort: Path, model: Path) -> None:
    assert "--top is for the printed table" in error(
        2, "explain", model, cohort, "--top", "2", "--out", cohort.with_name("s.csv")
    )
    assert "neither .csv nor .parquet" in error(
        2, "explain", model, cohort, "--out", cohort.with_name("s.xlsx")
    )


def test_bad_models_and_bad_patients(cohort: Path, model: Path) -> None:
    assert "no model file" in error(3, "explain", cohort.with_name("no.rci"), cohort)
    cohort.with_name("bad.rci").write_bytes(model.read_bytes()[:100])
    error(3, "explain", cohort.with_name("bad.rci"), cohort)
    cohort.with_name("new.csv").write_text("x0,x1,X4,x2,x3\n1,1,2,3,4\n")
    text = error(3, "explain", model, cohort.with_name("new.csv"))
    assert "lacks 1 column that the model needs: 'x4' (is it 'X4'?)" in text
    assert "no column 'id' (--id)" in error(3, "explain", model, cohort, "--id", "id")


def test_model_without_names(cohort: Path) -> None:
    drawn = simulate(n_samples=100, n_variables=4, random_state=0)
    RCI().fit(drawn.X, drawn.y).save(cohort.with_name("array.rci"))
    assert "fitted on columns without names" in error(3, "explain", cohort.with_name("array.rci"), cohort)


def test_variables_named_like_our_columns(tmp_path: Path) -> None:
    drawn = simulate(n_samples=100, n_variables=4, random_state=0)
    names = ["risk", "row", "log_odds"]
    arrow_csv.write_csv(
        pa.table({**dict(zip(names, drawn.X.T, strict=True)), "d": drawn.y}), tmp_path / "c.csv"
    )
    ok("fit", tmp_path / "c.csv", "--target", "d", "--out", tmp_path / "m.rci")
    printed = ok("explain", tmp_path / "m.rci", tmp_path / "c.csv", "--out", tmp_path / "s.csv")
    assert "columns: 'row_', 'risk_', 'log_odds_', then" in printed
    assert arrow_csv.read_csv(tmp_path / "s.csv").column_names == [
        *("row_", "risk_", "log_odds_"),
        *names,
        "imputed",
    ]


def test_hostile_names_and_ids(tmp_path: Path) -> None:
    names = [
        "[bold]x[/bold]",
        "=cmd()",
        "<script>alert(1)</script>",
        "../../etc/passwd",
        "\u202eevil",
        "🙂 :smile:",
    ]
    names += ["\x1b[2J", "[/]", "n" * 300]
    ids = [*names, ""] + ["p"] * 190
    drawn = simulate(n_samples=200, n_variables=len(names) + 1, random_state=3)
    table = pa.table({"[id]": ids, **dict(zip(names, drawn.X.T, strict=True)), "@d": drawn.y})
    cohort, model, scores = tmp_path / "[red]c.parquet", tmp_path / "m.rci", tmp_path / "s.csv"
    pq.write_table(table, cohort)
    printed = ok("fit", cohort, "--target", "@d", "--id", "[id]", "--alpha", "1", "--out", model)
    printed += ok("explain", model, cohort, "--id", "[id]", "--top", "9")
    assert all(character.isprintable() or character == "\n" for character in printed)
    assert "[red]c.parquet" in printed
    assert "[bold]x[/bold]" in printed
    assert ":smile:" in printed
    ok("explain", model, cohort, "--id", "[id]", "--out", scores)
    read = arrow_csv.read_csv(
        scores, convert_options=arrow_csv.ConvertOptions(column_types={"[id]": pa.string()})
    )
    safe = ["'=cmd()" if name == "=cmd()" else name for name in names]
    assert read.column_names == ["[id]", "risk", "log_odds", *safe, "imputed"]
    assert read["[id]"].to_pylist() == [*safe, ""] + ["p"] * 190
    assert sorted(os.listdir(tmp_path)) == ["[red]c.parquet", "m.rci", "s.csv"]
