"""Patients with a shock that nobody had of whom the model learned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import ok

from rootcausal import RCI

# Who has such a shock may have such a measurement, too.
pytestmark = pytest.mark.filterwarnings("ignore:unlike the cohort")
NAMES = ["a", "b", "c", "<i>d</i>"]


def patients(rng: np.random.Generator, n: int, hit: int | None = None, by: float = 25.0) -> pd.DataFrame:
    """a leads to b, b to c; d stands apart; one shock may be hit."""
    errors = rng.laplace(size=(n, 4))
    if hit is not None:
        errors[:, hit] += by
    a, b, c, d = errors.T
    b = b + a
    return pd.DataFrame(np.column_stack([a, b, c + b, d]), columns=NAMES)


@pytest.fixture(scope="module")
def cohort() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.concat(
        [patients(rng, 600), patients(rng, 60, 0, 4.0), patients(rng, 60, 1, 4.0)], ignore_index=True
    )


@pytest.fixture(scope="module")
def model(cohort: pd.DataFrame) -> RCI:
    return RCI(positive=1).fit(cohort, np.repeat([0, 1], [600, 120]))


def test_faults_that_nobody_had_are_flagged_and_named(model: RCI) -> None:
    rng = np.random.default_rng(1)
    for hit in (2, 3):
        found = model.explain(patients(rng, 100, hit))
        assert found.unlike_most.count(NAMES[hit]) >= 95
        table = found.to_frame()
        assert (table.groupby("id")["unlike"].any()).mean() >= 0.95


def test_patients_like_those_of_the_fit_are_not(model: RCI, cohort: pd.DataFrame) -> None:
    rng = np.random.default_rng(2)
    like = pd.concat([patients(rng, 1000), patients(rng, 100, 0, 4.0), patients(rng, 100, 1, 4.0)])
    flagged = [name is not None for name in model.explain(like).unlike_most]
    assert np.mean(flagged) <= 0.05
    assert not (model.explain(cohort).unlike > 0).any()


def test_it_comes_back_with_the_model_and_is_said_at_every_door(model: RCI, tmp_path: Path) -> None:
    rows = patients(np.random.default_rng(3), 3, 3)
    model.save(tmp_path / "m.rci")
    again = RCI.load(tmp_path / "m.rci").explain(rows)
    assert np.array_equal(again.unlike, model.explain(rows).unlike)
    assert again[[0]].unlike_most == [NAMES[3]]
    rows.to_csv(tmp_path / "rows.csv", index=False)
    said = ok("explain", tmp_path / "m.rci", tmp_path / "rows.csv")
    assert "unlike the patients it learned from, by a shock beyond all of theirs" in said
    model.report(rows, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '"unlike"' in page
    assert "<i>d</i>" not in page


def test_what_was_not_measured_is_not_unlike(model: RCI) -> None:
    rows = patients(np.random.default_rng(4), 20, 3).assign(a=0.0)
    rows.loc[:, NAMES[3]] = np.nan
    with pytest.warns(UserWarning, match="no patient has"):
        found = model.explain(rows)
    assert (found.unlike[:, 3] == 0.0).all()
