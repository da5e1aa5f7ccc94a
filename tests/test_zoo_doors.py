"""Every other door over every cohort of the zoo: command line, tables, graphs, figures, comparators."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Collection
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import error, run
from labelled_rows import learn
from page_facts import facts_of
from tables_under_test import sharded
from typer.testing import Result
from zoo import RARE_LEVEL, REFUSED, SEPARATED, ZOO, Animal
from zoo_fits import (
    UNSCREENED,
    a_few,
    assert_no_nan,
    documented_warnings,
    every_animal,
    every_animal_of_numbers,
    every_unscreened_animal_of_numbers,
    finite,
    fitted,
    resampled,
)

import rootcausal
from rootcausal import (
    RCI,
    DirectLiNGAM,
    Explanation,
    InputError,
    Knowledge,
    RCIRegressor,
    RCISurvival,
    comparators,
    data,
    metrics,
    plots,
)
from rootcausal.cli import app
from rootcausal.comparators import (
    AdaptiveLogistic,
    ConditionalOutliers,
    HitonPC,
    ICAPrediction,
    ModelSubstitution,
    TTest,
)
from rootcausal.diagnostics import Diagnosis
from rootcausal.estimators.base import Estimator
from rootcausal.inputs.kinds import MOST_ORDINAL_NUMBERS
from rootcausal.method.moments import describe_columns
from rootcausal.method.ordering.ordering import VARIANTS
from rootcausal.method.pipeline import ATTRIBUTIONS, Settings
from rootcausal.resampling.bootstrap import Bootstrap

pytest.importorskip("matplotlib").use("Agg")


@every_animal
def test_command_line(animal: Animal, tmp_path: Path) -> None:
    names = ("cohort.csv", "few.csv", "model.rci", "scores.csv", "page.html")
    cohort, few, model, scores, page = (tmp_path / name for name in names)
    animal.table.to_csv(cohort, index=False)
    told = ["--target", "ill", "--mechanism", "linear", *animal.options]
    seen = json.loads(run("look", cohort, "--target", "ill", "--json").stdout)
    assert [column["name"] for column in seen["columns"]] == [*animal.names, "ill"]
    doubts = {finding["sentence"][:100] for finding in seen["findings"]}
    checked = fitted(animal).diagnose(animal.X, animal.y)
    doubts |= not_to_be_read(checked)
    succeeds(animal, run("fit", cohort, *told, "--bootstrap", 3, "--out", model), doubts | in_doubt(checked))
    same_as_in_memory(RCI.load(model), fitted(animal))
    first = RCI.load(model)._encoding.variables[0]
    question = f"{first.name}={first.levels[0] if first.levels else 0}"  # 0.0 is 0, too
    succeeds(animal, run("explain", model, cohort, "--what-if", question, "--out", scores))
    known = pd.read_csv(scores).drop(columns="imputed").select_dtypes("number")
    assert animal.has_missing or finite(known)
    assert finite(known[["risk", "log_odds", "what_if_risk"]])
    assert_no_nan(json.loads(succeeds(animal, run("check", cohort, *told, "--json"), doubts)))
    a_few(animal).to_csv(few, index=False)
    of_few = not_to_be_read(fitted(animal).diagnose(animal.variables(a_few(animal))))
    succeeds(animal, run("report", few, "--model", model, "--out", page), of_few | doubts)
    assert_no_nan(facts_of(page))


def not_to_be_read(diagnosis: Diagnosis) -> set[str]:
    """How the warning begins that says what not to read."""
    return {f"the checks say: {check.limit}"[:100] for check in diagnosis.limits if check.verdict == "broken"}


def in_doubt(diagnosis: Diagnosis) -> set[str]:
    """How the warnings of a fit begin that say what to doubt; nothing is where nothing was learned."""
    if any(check.name == "learned" and check.verdict == "broken" for check in diagnosis.limits):
        return set()
    return {
        f"the checks doubt: {check.limit}"[:100] for check in diagnosis.limits if check.verdict == "doubtful"
    }


def succeeds(animal: Animal, result: Result, doubts: Collection[str] = ()) -> str:
    """What was printed; the warnings have to be documented for the animal, or be what ``look`` doubts."""
    assert result.exit_code == 0, result.output
    for line in result.stderr.splitlines():
        warning = line.removeprefix("warning: ")
        pointer = "rootcausal look says" in warning and doubts
        assert warning.startswith((*animal.warns, *doubts)) or pointer, line
    return result.stdout


def same_as_in_memory(model: RCI, expected: RCI) -> None:
    assert model.causal_order_.tolist() == expected.causal_order_.tolist()
    assert model.coef_ == pytest.approx(expected.coef_, rel=1e-6, abs=1e-9)
    assert model.intercept_ == pytest.approx(expected.intercept_, rel=1e-6, abs=1e-9)


@every_animal
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_backend(animal: Animal, backend: str) -> None:
    with documented_warnings(animal):
        same_as_in_memory(RCI(backend=backend, mechanism="linear").fit(animal.X, animal.y), fitted(animal))


@every_animal_of_numbers
def test_sharded(animal: Animal) -> None:
    raw = sharded(3)(np.ascontiguousarray(animal.X, dtype=float), animal.y)
    settings = Settings(VARIANTS["local_plus"], None, ATTRIBUTIONS["sharp"])
    learned = learn(raw, describe_columns(raw), settings, layout=fitted(animal)._encoding.layout)
    assert learned.model.order.tolist() == fitted(animal).causal_order_.tolist()
    expected = fitted(animal).coef_[learned.model.order]
    assert learned.model.attribution.coef == pytest.approx(expected, rel=1e-6, abs=1e-9)


@every_animal
def test_dask(animal: Animal, client_of_threads: Any) -> None:
    import dask.dataframe as dd

    rows = dd.from_pandas(animal.table, npartitions=3)
    with documented_warnings(animal):
        if RARE_LEVEL in animal.warns:  # rows of a cluster are not read again to name the level
            warnings.filterwarnings("ignore", message=SEPARATED, category=UserWarning)
        model = RCI(backend="dask", mechanism="linear").fit(rows, "ill")
    same_as_in_memory(model, fitted(animal))
    values = model.shapley_values(rows.drop(columns="ill")).compute().to_numpy()
    assert values == pytest.approx(model.shapley_values(animal.table.drop(columns="ill")))


def known_of(animal: Animal) -> Knowledge:
    """A place for every column: a covariate, what comes first, and two tiers against the table's order."""
    if len(animal.names) < 3:
        return Knowledge(first=animal.names[:1])
    rest = animal.names[2:][::-1]
    half = len(rest) // 2
    tiers = [rest[:half], rest[half:]] if half else []
    return Knowledge(covariates=animal.names[:1], first=animal.names[1:2], tiers=tiers)


# One of each make: every animal is fitted on a cluster above, and test_known_order_dask draws the rules.
KNOWN_ON_A_CLUSTER = {"one_column", "wide", "mostly_zeros", "pbc_resample", "wards", "all_kinds_with_holes"}
assert {animal.name for animal in ZOO} >= KNOWN_ON_A_CLUSTER


@every_animal
def test_what_is_known_holds(animal: Animal, client_of_threads: Any, tmp_path: Path) -> None:
    import dask.dataframe as dd

    known = known_of(animal)
    with documented_warnings(animal):
        model = RCI(knowledge=known, mechanism="linear").fit(animal.X, animal.y).bootstrap(3, random_state=0)
        twins = [RCI(knowledge=known, backend="numpy", mechanism="linear").fit(animal.X, animal.y)]
        if animal.name in KNOWN_ON_A_CLUSTER:
            rows = dd.from_pandas(animal.table, npartitions=3)
            twins.append(RCI(knowledge=known, backend="dask", mechanism="linear").fit(rows, "ill"))
    stage = known.precedence(animal.names).stage
    assert [animal.names[c] for c in model.covariates_] == list(known.covariates)
    first = animal.names.index(known.first[0])
    assert first in model.causal_order_ or known.first[0] in model.provenance_["exhausted"]
    assert (np.diff(stage[model.causal_order_]) >= 0).all()
    model.save(tmp_path / "known.rci")
    for twin in (*twins, RCI.load(tmp_path / "known.rci")):
        same_as_in_memory(twin, model)
    explanation = model.explain(animal.X)
    assert not explanation.values[:, model.covariates_].any()
    together = explanation.base_value + explanation.covariate_effect + explanation.values.sum(axis=1)
    assert together == pytest.approx(explanation.log_odds)
    assert together == pytest.approx(model.decision_function(animal.X))
    resamples = model.bootstrap_
    assert resamples is not None
    against_the_rules = stage[:, None] < stage[None, :]  # from a later stage to an earlier one
    assert not resamples.edge_frequency[against_the_rules].any()
    everyone = np.arange(stage.size)
    assert (resamples.edge_counts(everyone) == 3 * resamples.edge_frequency).all()
    assert (resamples.outcome_counts(everyone) == 3 * resamples.outcome_frequency).all()
    assert finite(resamples.edge_frequency, resamples.outcome_frequency)
    model.report(animal.variables(a_few(animal)), tmp_path / "known.html")
    assert_no_nan(facts_of(tmp_path / "known.html"))


def with_logarithms(animal: Animal) -> list[str]:
    """Columns of many different numbers, all above zero, that are not all but the same."""
    columns = {name: pd.to_numeric(animal.table[name], errors="coerce") for name in animal.names}
    columns = {name: one for name, one in columns.items() if one.nunique() > MOST_ORDINAL_NUMBERS}
    return [name for name, one in columns.items() if one.min() > 0 and one.max() > 1.001 * one.min()]


@pytest.mark.parametrize(
    "animal",
    [animal for animal in UNSCREENED if with_logarithms(animal) and len(animal.y) <= 500],
    ids=lambda animal: animal.name,
)
def test_on_a_log_scale(animal: Animal, tmp_path: Path) -> None:
    logs = with_logarithms(animal)
    table = animal.table[animal.names]
    by_hand = table.assign(**{name: np.log(pd.to_numeric(table[name])) for name in logs})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is documented for the columns need not hold for logarithms
        expected = RCI(mechanism="linear").fit(by_hand, animal.y)
        model = RCI(log=logs, mechanism="linear").fit(animal.X, animal.y).bootstrap(2)
    same_as_in_memory(model, expected)
    few = a_few(animal)
    explanation, places = model.explain(animal.variables(few)), [animal.names.index(name) for name in logs]
    measured = few[logs].apply(pd.to_numeric).to_numpy(float)
    there = ~np.isnan(measured)
    assert explanation.data[:, places][there] == pytest.approx(measured[there], rel=1e-12, abs=0)
    model.save(tmp_path / "model.rci")
    loaded = RCI.load(tmp_path / "model.rci")
    assert np.array_equal(loaded.scores(animal.X), model.scores(animal.X))
    assert loaded.get_params()["log"] == logs
    assert finite(plots.beeswarm(explanation).get_xlim())
    model.report(animal.variables(few), tmp_path / "page.html", y=few["ill"])
    assert_no_nan(facts_of(tmp_path / "page.html"))


@every_unscreened_animal_of_numbers
@pytest.mark.parametrize("prune", [False, True], ids=["full", "pruned"])
def test_direct_lingam(animal: Animal, prune: bool) -> None:
    with documented_warnings(animal):
        model = DirectLiNGAM(prune=prune).fit(animal.X)
    assert finite(model.adjacency_matrix_)
    order = model.causal_order_
    assert (np.triu(model.adjacency_matrix_[np.ix_(order, order)]) == 0).all()
    graph = model.to_networkx()
    assert graph.number_of_nodes() == order.size
    assert graph.number_of_edges() == np.count_nonzero(model.adjacency_matrix_)
    plots.graph(model)


@every_animal
def test_plots(animal: Animal) -> None:
    explanation = resampled(animal).explain(animal.variables(a_few(animal)))
    drawn = [
        plots.waterfall(explanation, 0),
        plots.beeswarm(explanation),
        plots.prevalence(explanation),
        plots.heatmap(explanation),
        plots.graph(resampled(animal)),
    ]
    found = resampled(animal).summary()
    assert len(found.frame) == len(found.terms)
    assert "per SD" in str(found)
    for term in found.terms:
        assert not term.estimable or (term.lower <= term.effect <= term.upper and 0.0 <= term.p <= 1.0)
    if found.none:
        with pytest.raises(InputError, match="no effects without a prior"):
            plots.forest(resampled(animal))
    else:
        drawn.append(plots.forest(resampled(animal)))
    for axes in drawn:
        assert finite(axes.get_xlim(), axes.get_ylim())


@every_unscreened_animal_of_numbers
@pytest.mark.parametrize(
    "method",
    [
        AdaptiveLogistic(n_folds=3, random_state=0),
        HitonPC(),
        ICAPrediction(n_trees=10, random_state=0),
        TTest(),
    ],
    ids=lambda method: type(method).__name__,
)
def test_comparator(animal: Animal, method: Any) -> None:
    ranks_patients(animal, method)


@every_unscreened_animal_of_numbers
def test_comparators_on_a_graph(animal: Animal) -> None:
    outliers = ConditionalOutliers(random_state=0)
    ranks_patients(animal, outliers)
    ranks_patients(animal, ModelSubstitution(random_state=0), graph=outliers.graph_)


def ranks_patients(animal: Animal, method: Any, **given: Any) -> None:
    with documented_warnings(animal):
        scores = method.fit(animal.X, animal.y, **given).scores(animal.X)
    assert scores.shape == animal.X.shape
    assert (np.isfinite(scores) | np.isneginf(scores)).all()


@pytest.mark.parametrize("animal", REFUSED, ids=lambda animal: animal.name)
def test_refused(animal: Animal, client_of_threads: Any, tmp_path: Path) -> None:
    import dask.dataframe as dd

    for method in (RCI(), *((DirectLiNGAM(), TTest()) if animal.numbers_only else ())):
        with pytest.raises(InputError, match=animal.refused):
            method.fit(animal.X, animal.y)
    with pytest.raises(InputError, match=animal.refused):
        RCI(backend="dask").fit(dd.from_pandas(animal.table, npartitions=3), "ill")
    animal.table.to_csv(tmp_path / "a.csv", index=False)
    for command in ("fit", "check", "report"):
        ending = {"fit": ["--out", tmp_path / "a.rci"], "report": ["--out", tmp_path / "a.html"]}
        said = error(3, command, tmp_path / "a.csv", "--target", "ill", *ending.get(command, []))
        assert re.search(animal.refused, said)


# What takes no cohort: cohorts themselves, errors, and the paper's experiments.
NOT_FOR_ANIMALS = {"__version__", "MissingExtraError", "SimulatedCohort", "RealCohort", "load_framingham"}
NOT_FOR_ANIMALS |= {"simulate", "load_pbc", "demo", "reproduce", "UnlikeCohortWarning"}
NOT_FOR_ANIMALS |= {"browser", "read_table"}  # pages and files have tests of their own
NOT_FOR_ANIMALS |= {"simulate_nonlinear", "NonlinearCohort", "NonlinearTruth"}
# What takes several cohorts, one a site; systems with known answers; and what test_cli_depart.py types.
NOT_FOR_ANIMALS |= {"federate", "site", "benchmark", "depart"}


def test_no_public_name_is_left_out() -> None:
    named = chain(rootcausal.__all__, comparators.__all__, data.__all__)
    methods = (
        name
        for kind in (
            *(Estimator, RCI, RCISurvival, RCIRegressor),
            *(DirectLiNGAM, Explanation, Bootstrap, Diagnosis),
        )
        for name, value in vars(kind).items()
        if isinstance(value, FunctionType | classmethod | property | cached_property)
    )
    functions = (
        name
        for module in (plots, metrics)
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and value.__module__ == module.__name__
    )
    commands = (command.callback.__name__ for command in app.registered_commands)
    public = {name for name in chain(named, methods, functions, commands) if not name.startswith("_")}
    asking = ("test_zoo.py", "test_graded_zoo.py", "test_hidden_causes.py", "test_outliers.py")
    others = (*asking, "zoo_fits.py", "intervals_by_hand.py")
    files = [Path(__file__), *map(Path(__file__).with_name, others)]
    text = "".join(file.read_text(encoding="utf-8").partition("NOT_FOR_ANIMALS")[0] for file in files)
    left = sorted(name for name in public - NOT_FOR_ANIMALS if not re.search(rf"\b{name}\b", text))
    assert left == [], left
