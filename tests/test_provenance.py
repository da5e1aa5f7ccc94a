"""What people are told of how a model was made is true, also of a file that remembers less."""

import numpy as np
import pandas as pd
import pytest
from command_line import ok
from page_facts import facts_of

from rootcausal import RCI


@pytest.fixture(scope="module")
def cohort():
    """A cause of d, a variable that follows from it, one that has nothing to do with d, and a sum of two."""
    random = np.random.default_rng(0)
    n = 2000
    cause, noise = random.laplace(size=(2, n))
    follower = 0.9 * cause + random.laplace(size=n)
    table = pd.DataFrame({"cause": cause, "follower": follower, "noise": noise, "both": cause + follower})
    return table.assign(d=(2 * cause + random.logistic(size=n) > 0).astype(int))


@pytest.fixture
def paths(cohort, tmp_path):
    """The cohort and its model."""
    table, path = (tmp_path / name for name in ("cohort.csv", "model.rci"))
    cohort.to_csv(table, index=False)
    RCI(alpha=0.001).fit(cohort.drop(columns="d"), cohort["d"]).save(path)
    return table, path


def said_of_left_out(printed):
    return [line.removeprefix("left out, ") for line in printed.splitlines() if line.startswith("left out")]


def test_the_command_line_says_why_a_variable_is_left_out(paths, tmp_path):
    table, *_ = paths
    fit = ["fit", table, "--target", "d", "--alpha", "0.001", "--out", tmp_path / "m.rci"]
    assert said_of_left_out(ok(*fit)) == [
        "no sign of a dependence on the disease: noise",
        "associated with the disease, but adding nothing once earlier variables are known: follower, both",
    ]


@pytest.mark.filterwarnings("ignore:nothing is left to explain after")
def test_the_command_line_says_what_is_wholly_explained(paths, tmp_path):
    table, *_ = paths
    printed = ok("fit", table, "--target", "d", "--variant", "plus", "--out", tmp_path / "m.rci")
    (said,) = said_of_left_out(printed)
    assert said.startswith("wholly explained by earlier variables: ")


def test_the_page_says_why_a_variable_is_left_out(cohort, paths, tmp_path):
    RCI.load(paths[1]).report(cohort.drop(columns="d"), tmp_path / "page.html")
    left_out = facts_of(tmp_path / "page.html")["made"]["left_out"]
    assert left_out == {"independent": ["noise"], "adds_nothing": ["follower", "both"], "exhausted": []}


def test_users_are_told_the_backend_by_its_name(cohort, paths, tmp_path):
    table, *files = paths
    assert RCI.load(files[0]).provenance_["backend"] == "numba"
    for path in files:
        assert "backend=numba" in ok("explain", path, table)
        RCI.load(path).report(cohort.drop(columns="d"), tmp_path / "page.html")
        assert facts_of(tmp_path / "page.html")["made"]["backend"] == "numba"
    model = RCI(alpha=0.2, backend="numpy").fit(cohort.drop(columns="d"), cohort["d"])
    assert model.provenance_["backend"] == "numpy"
