"""rootcausal reproduce: the commands a methods researcher types."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import error, in_new_process, ok
from command_line import run as cli

from rootcausal.experiments import spec
from rootcausal.experiments import tables as nonlinear_tables
from rootcausal.experiments.rows import read_rows


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The corner of the paper's grid that takes no time."""
    for name in ("CELLS", "SCALING_CELLS"):
        monkeypatch.setattr(spec.paper, name, ((100, 10), (1_000, 10)))
    monkeypatch.setattr(nonlinear_tables, "GOALS", nonlinear_tables.GOALS[:1])


@pytest.mark.usefixtures("small")
def test_all_tables_and_figures_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "framingham.csv"
    table.write_text(framingham_like(), encoding="utf-8")
    out = tmp_path / "out"
    monkeypatch.setattr(spec, "QUICK_RESAMPLES", 2)
    monkeypatch.setattr(spec, "QUICK_DATA_SETS", 2)
    printed = ok("reproduce", "--quick", "--jobs", 1, "--out", out, "--framingham", table)
    stems = {"rbo", "inset", "mse", "speedup", "scaling", "pbc", "fhs"}
    assert {path.stem for path in (out / "figures").glob("*.svg")} == stems
    assert {path.stem for path in (out / "figures").glob("*.png")} == stems
    stems |= {"pbc-times", "fhs-times", "nonlinear", "nonlinear-on-lines"}
    assert {path.stem for path in (out / "tables").glob("*.md")} == stems
    assert {path.stem for path in (out / "tables").glob("*.tex")} == stems
    page = (out / "README.md").read_text(encoding="utf-8")
    assert "seed 0" in page and "with rootcausal " in page and "not for findings about people" in page
    for stem in stems:
        assert (out / "tables" / f"{stem}.md").read_text(encoding="utf-8") in page
    assert "failed" not in page
    assert "(0.755)" in printed and "(1.06e-01)" in printed and "cannot be reproduced" in printed

    before = {path: path.read_bytes() for path in out.rglob("*.*")}
    again = ok("reproduce", "--quick", "--jobs", 1, "--out", out, "--framingham", table)
    assert f"{2 * 2 * 8 + 2 * 2 * 4 + 2 * 2 * (7 + 4) + 2 * (3 + 2 * 2)} rows were there already" in again
    assert {path: path.read_bytes() for path in out.rglob("*.*")} == before


def framingham_like() -> str:
    """A made-up table in the format of the teaching data set."""
    import numpy as np

    rng = np.random.default_rng(0)
    names = ("TOTCHOL", "AGE", "SYSBP", "DIABP", "BMI", "HEARTRTE", "GLUCOSE", "HDLC", "LDLC")
    lines = [",".join(("RANDID", "PERIOD", *names))]
    for person in range(120):
        level = rng.exponential(1.0, len(names))
        for period in (1, 2, 3):
            values = 24 + level + rng.exponential(0.5, len(names))
            lines.append(",".join([str(person), str(period), *(f"{value:.4f}" for value in values)]))
    return "\n".join(lines) + "\n"


@pytest.mark.usefixtures("small")
def test_some_methods_and_one_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own = Path(__file__).parent / "own_methods.py"
    (tmp_path / "mine.py").write_text(own.read_text(encoding="utf-8"), encoding="utf-8")
    printed = ok(
        "reproduce", "rbo", "--reps", 2, "--jobs", 2, "--methods", "RCI, TT,mine:ByMean", "--out", "o"
    )
    assert "| n | p | sets | RCI | TT | mine:ByMean |" in printed
    assert (tmp_path / "o" / "rbo.md").exists() and not (tmp_path / "o" / "README.md").exists()
    rows = read_rows(tmp_path / "o" / "rows" / "synthetic-n100-p10.parquet")
    assert {row.method for row in rows} == {"RCI", "TT", "mine:ByMean"}
    assert not (tmp_path / "o" / "figures" / "inset.png").exists()


def test_wrong_options_are_named(tmp_path: Path) -> None:
    assert "unknown method 'XX': choose from RCI" in error(3, "reproduce", "rbo", "--methods", "RCI,XX")
    assert "has a place in speedup" in error(3, "reproduce", "speedup", "--methods", "RCI")
    assert "has a place in mse" in error(3, "reproduce", "mse", "--methods", "TT")
    assert "--jobs" in error(2, "reproduce", "rbo", "--jobs", "0")
    assert "--reps" in error(2, "reproduce", "rbo", "--reps", "1")
    assert "tables" in error(2, "reproduce", "tables")
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert "--out" in error(2, "reproduce", "rbo", "--out", tmp_path / "file")
    assert "cannot write" in error(4, "reproduce", "rbo", "--out", tmp_path / "file" / "x", "--methods", "TT")
    assert "unknown method ''" in error(3, "reproduce", "rbo", "--methods", "")
    assert "has a place in rbo" in error(3, "reproduce", "rbo", "--methods", "RCI original")
    assert "RANDID" in error(3, "reproduce", "fhs", "--framingham", write(tmp_path / "x.csv", "a,b\n1,2\n"))


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.usefixtures("small")
def test_without_framingham_the_rest_is_done(tmp_path: Path) -> None:
    broken = write(tmp_path / "broken.csv", "a,b\n1,2\n")
    options = ("--methods", "RCI,TT", "--reps", 2, "--jobs", 1, "--out", tmp_path / "out")
    result = cli("reproduce", *options, "--framingham", broken)
    assert result.exit_code == 3
    warned, told = result.stderr.splitlines()
    assert warned.startswith("warning: fhs is left out") and "--framingham FILE" in warned
    assert told.startswith("error: all but fhs is done") and "RANDID" in told
    assert (tmp_path / "out" / "tables" / "pbc.md").exists()
    assert not (tmp_path / "out" / "tables" / "fhs.md").exists()


def test_an_own_module_that_does_not_load_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "half_written.py", "def fit(:\n")
    assert "cannot load the method 'half_written:A'" in error(
        3, "reproduce", "rbo", "--methods", "half_written:A"
    )


@pytest.mark.slow
def test_from_the_shell(tmp_path: Path) -> None:
    done = in_new_process("reproduce", "pbc", "--reps", "4", "--jobs", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "reproduction" / "figures" / "pbc.svg").exists()
