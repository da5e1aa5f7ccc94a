"""The demonstration: what it says of PBC, the page and the table that it writes."""

import os
from pathlib import Path

import numpy as np
import pytest
from command_line import error, ok
from page_facts import facts_of

from rootcausal import RCI
from rootcausal.data import load_pbc


@pytest.mark.usefixtures("learned_once")
def test_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed = ok("demo", "--table", "pbc.csv")
    pbc = load_pbc()
    X = pbc.to_frame().select(list(pbc.feature_names))
    model = RCI(knowledge=pbc.knowledge).fit(X, pbc.y)
    explanation = model.explain(X)
    assert model.feature_names_in_[model.causal_order_[0]] == "age"
    assert "given: age first\n" in printed
    assert "Going by the names" not in printed and "sampled apart" not in printed
    order = np.argsort(explanation.log_odds)
    assert "disease: died = 1 (111 of 258 patients)" in printed
    for row, word in ((order[-1], "highest"), (order[129], "median"), (order[0], "lowest")):
        risk = min(explanation.probability[row], 0.99)
        shown = f"{risk:.0%}" if risk < 0.99 else "over 99%"
        assert f"Patient {pbc.ids[row]}, the {word} risk of the cohort: {shown}\n" in printed
        for place, cause in enumerate(explanation.root_causes(top=3)[row], start=1):
            assert f"root cause {place}: {cause.variable} " in printed
            assert f"{cause.shapley:+.2f}\n" in printed
    assert "Shocks that change the log-odds by less than 0.1 are not named." in printed
    assert "it is not the prevalence" in " ".join(printed.split())
    assert set(os.listdir(tmp_path)) == {"rootcausal-demo.html", "pbc.csv"}
    variables = facts_of(tmp_path / "rootcausal-demo.html")["variables"]
    assert {one["column"]: one["name"] for one in variables}["bili"] == "Bilirubin"
    assert str(tmp_path / "rootcausal-demo.html") in printed
    assert "the cohort itself written to 'pbc.csv'" in printed
    ok("check", "pbc.csv", "--target", "died", "--id", "id")
    header, *rows = (tmp_path / "pbc.csv").read_text().replace('"', "").splitlines()
    assert header.startswith("id,age,bili,") and header.endswith(",died") and len(rows) == 258


def test_its_table_is_no_page() -> None:
    assert "neither .csv nor .parquet" in error(2, "demo", "--table", "pbc.html")
