"""The example notebook is kept with its outputs, which are those of the code, and nothing of a machine."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from guide import Reader

NOTEBOOK = Path(__file__).parent.parent / "examples" / "pbc.ipynb"
TEXT = NOTEBOOK.read_text(encoding="utf-8")
CELLS = [cell for cell in json.loads(TEXT)["cells"] if cell["cell_type"] == "code"]


def shown_by(cell):
    """What a cell shows as text: what it prints, and what its last line is."""
    said = ["".join(one.get("text") or one["data"]["text/plain"]) for one in cell["outputs"]]
    return " ".join(" ".join(said).split())


def test_outputs_are_those_of_the_code(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    reader = Reader(NOTEBOOK.name)
    for cell in CELLS:
        code = "".join(cell["source"]).replace("%matplotlib inline\n", "")
        with pd.option_context("display.max_columns", 20, "display.width", 80):  # as notebooks have it
            printed = " ".join(reader.python(code).split())
        assert shown_by(cell) == printed, f"run make notebook, after a look at this cell:\n{code}"
    assert (tmp_path / "pbc.html").is_file()


def test_figures_are_kept():
    drawn = [cell for cell in CELLS if re.search(r"plots\.\w+\(", "".join(cell["source"]))]
    assert len(drawn) >= 5
    for cell in drawn:
        (output,) = cell["outputs"]
        assert output["data"]["image/png"].startswith("iVBOR")  # PNG in base64


def test_the_checks_are_run():
    assert any("overall: " in shown_by(cell) for cell in CELLS)


def test_nothing_of_a_machine_is_kept():
    assert [cell["execution_count"] for cell in CELLS] == [*range(1, len(CELLS) + 1)]
    metadata = json.loads(TEXT)["metadata"]
    assert set(metadata) == {"kernelspec", "language_info"} and set(metadata["language_info"]) == {"name"}
    assert all(cell["metadata"] == {} for cell in CELLS)
    without_pictures = re.sub(r'"image/png": "[^"]*"', "", TEXT)
    assert not re.search(
        r"/(home|root|tmp|Users|usr)/|\d+(\.\d+)? ?(ms|seconds elapsed)\b|Traceback", without_pictures
    )
