"""Patients with several rows: the bootstrap draws patients, and no page or table confuses their rows."""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from cohort_files import read_cohort
from command_line import ok, run
from sklearn.model_selection import GroupKFold, cross_validate

from rootcausal import RCI, InputError
from rootcausal.cli.console import patient_label, patient_labels
from rootcausal.estimators.parameters import chosen_settings
from rootcausal.inputs.patients import numbered, patients_of
from rootcausal.method.moments import ROWS_PER_CLASS
from rootcausal.outcomes.binary import Binary
from rootcausal.resampling.bootstrap import draw_patients
from rootcausal.resampling.training_rows import TrainingRows


def visits(n_patients: int = 60, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """A table with 1 to 4 rows a patient, which differ little; their labels; their ids."""
    rng = np.random.default_rng(seed)
    ids = rng.permutation(np.repeat(np.arange(n_patients), rng.integers(1, 5, n_patients)))
    x = rng.standard_t(4, (n_patients, 2))
    x[:, 1] += x[:, 0]
    ill = x[:, 1] + rng.logistic(size=n_patients) > 0
    X = x[ids] + 0.01 * rng.standard_normal((ids.size, 2))
    flips = rng.random(ids.size) < 0.1
    return pd.DataFrame(X, columns=["a", "b"]), (ill[ids] ^ flips).astype(int), ids


def fitted(**options: Any) -> RCI:
    X, y, ids = visits()
    return RCI(alpha=1.0, backend="numpy").fit(X, y, **{"groups": ids, **options})


# --- who is who -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["b", "a", "b"], [0, 1, 0]),
        ([7, 7.0, 8], [0, 0, 1]),
        ([None, None, 1, 1], [0, 1, 2, 2]),
        (["", " ", "x", "x"], [0, 1, 2, 2]),
        ([float("nan"), pd.NA, 1, 1], [0, 1, 2, 2]),
    ],
)
def test_patients_are_numbered_as_they_come(ids: list[Any], expected: list[int]) -> None:
    found = numbered(ids)
    assert found is not None and found.tolist() == expected


def test_ids_that_are_all_different_are_no_groups() -> None:
    assert numbered(["a", "b", None, ""]) is None
    assert patients_of(None, 3) is None


@pytest.mark.parametrize("form", [list, np.array, pd.Series, tuple])
def test_groups_in_any_form(form: Any) -> None:
    X, y, ids = visits()
    model = RCI(alpha=1.0, backend="numpy").fit(X, y, groups=form(ids))
    assert model.provenance_["patients"] == 60 < model.provenance_["rows"]


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([1, 2], "rows but groups has 2: give one patient id a row"),
        ("patient", "no column 'patient' for groups in the table, which has 'a', 'b'"),
        (3, "groups must hold one patient id a row, not 3"),
        ([[1]] * 155, "numbers or texts"),
    ],
)
def test_groups_that_are_none(groups: Any, expected: str) -> None:
    X, y, _ = visits()
    assert len(X) == 155
    with pytest.raises(InputError, match=expected):
        RCI().fit(X, y, groups=groups)


def test_groups_in_another_order_are_refused() -> None:
    X, y, ids = visits()
    with pytest.raises(InputError, match="groups has the index of X in another order"):
        RCI().fit(X, y, groups=pd.Series(ids)[::-1])


def test_groups_change_the_bootstrap_and_nothing_else() -> None:
    with_groups, without = fitted(), fitted(groups=None)
    X, _, _ = visits()
    np.testing.assert_array_equal(with_groups.shapley_values(X), without.shapley_values(X))
    assert "patients" not in without.provenance_
    alone = fitted(groups=np.arange(len(X)))  # everybody once: rows are drawn, as ever
    first, second = (m.bootstrap(3).bootstrap_.models for m in (without, alone))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.shapley(X.to_numpy()), other.shapley(X.to_numpy()))
    third = with_groups.bootstrap(3).bootstrap_.models
    assert (third[0].shapley(X.to_numpy()) != first[0].shapley(X.to_numpy())).any()


def test_a_model_with_groups_is_saved_and_loaded(tmp_path: Path) -> None:
    fitted().save(tmp_path / "m.rci")
    assert RCI.load(tmp_path / "m.rci").provenance_["patients"] == 60


# --- what is drawn ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_class", [False, True])
def test_patients_come_with_all_of_their_rows(by_class: bool) -> None:
    _, y, ids = visits()
    groups = numbered(ids.tolist())
    assert groups is not None
    sizes = np.bincount(groups)
    is_case = np.array([y[groups == g].any() for g in range(sizes.size)])
    drawn_sizes = set()
    for seed in range(20):
        rows = draw_patients(y, groups, np.random.default_rng(seed), Binary.of(y), by_class=by_class)
        times = np.bincount(rows, minlength=y.size)
        for patient in range(sizes.size):
            assert len(set(times[groups == patient])) == 1
        per_patient = np.array([times[groups == g][0] for g in range(sizes.size)])
        assert per_patient.sum() == sizes.size
        if by_class:
            assert per_patient[is_case].sum() == is_case.sum()
        assert np.bincount(y[rows]).min() >= ROWS_PER_CLASS
        drawn_sizes.add(rows.size)
    assert len(drawn_sizes) > 1


def test_a_rare_class_is_drawn_again_or_refused() -> None:
    groups = np.repeat(np.arange(30), 2)
    y = (groups == 4).astype(int)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert (y[draw_patients(y, groups, rng, Binary.of(y), by_class=False)] == 1).any()
    with pytest.raises(InputError, match="need at least 2 of each kind, cases and controls, to draw from"):
        one_case = np.eye(1, 60, dtype=int)[0]
        groups = np.append(0, np.arange(59) // 2 + 1).clip(max=29)
        draw_patients(one_case, groups, rng, Binary.of(one_case), by_class=True)


def test_the_fingerprint_knows_the_patients() -> None:
    X, y, ids = visits()
    settings = chosen_settings("local_plus", 0.2, "sharp", None)
    plain = TrainingRows(X.to_numpy(), y, settings, "numpy")
    groups = numbered(ids.tolist())
    grouped = TrainingRows(X.to_numpy(), y, settings, "numpy", groups=groups)
    assert plain.fingerprint(0) != grouped.fingerprint(0)


def test_repeated_rows_do_not_make_the_answer_look_surer() -> None:
    X, y, ids = visits(80, seed=1)
    once = np.unique(ids, return_index=True)[1]
    many = np.tile(once, 6)
    jitter = 1e-3 * np.random.default_rng(2).standard_normal((many.size, 2))
    X_many, y_many = X.to_numpy()[many] + jitter, y[many]

    def width(**groups: Any) -> float:
        model = RCI(alpha=1.0, backend="numpy").fit(X_many, y_many, **groups).bootstrap(30)
        explanation = model.explain(X_many[:40])
        return float(np.mean(explanation.upper - explanation.lower))

    assert width(groups=ids[many]) > 1.5 * width()


# --- scikit-learn -----------------------------------------------------------------------------------------


def test_metadata_routing() -> None:
    X, y, ids = visits()
    with sklearn.config_context(enable_metadata_routing=True):
        model = RCI(alpha=1.0, backend="numpy").set_fit_request(groups=True)
        found = cross_validate(
            model, X, y, cv=GroupKFold(3), params={"groups": ids}, return_estimator=True, error_score="raise"
        )
    assert [one.provenance_["patients"] for one in found["estimator"]] == [40, 40, 40]


# --- files ------------------------------------------------------------------------------------------------


def cohort_file(folder: Path) -> Path:
    X, y, ids = visits()
    path = folder / "visits.csv"
    X.assign(patient=[f"p{k}" for k in ids], ill=y).to_csv(path, index=False)
    return path


def test_repeated_ids_are_said_and_kept(tmp_path: Path) -> None:
    path, model = cohort_file(tmp_path), tmp_path / "m.rci"
    said = ok(
        "fit",
        path,
        "--target",
        "ill",
        "--id",
        "patient",
        "--out",
        model,
        "--backend",
        "numpy",
        "--bootstrap",
        "2",
    )
    assert "155 rows of 60 patients: the bootstrap resamples patients, not rows" in said
    assert "of 155 rows)" in said
    assert RCI.load(model).provenance_["patients"] == 60
    shown = ok("explain", model, path, "--id", "patient")
    assert "(row 2)" in shown and "more rows" in shown
    page = tmp_path / "page.html"
    assert "page about 155 rows" in ok("report", path, "--target", "ill", "--id", "patient", "--out", page)
    text = page.read_text(encoding="utf-8")
    assert "155 rows of 60 patients" in text and "(row 155)" in text


def test_rows_of_one_patient_have_names_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("id,a,d\nx,1,0\ny,,1\nx,3,1\n,4,0\n,5,1\nz,6,1\n")
    patients = read_cohort(path, "d", id_column="id", drop_missing=True)
    expected = ["x (row 1)", "x (row 3)", "row 4", "row 5", "z"]
    assert patient_labels(patients) == expected
    assert [patient_label(patients, row) for row in range(5)] == expected
    assert patients.groups is not None and patients.groups.tolist() == [0, 0, 1, 2, 3]


def test_one_patient_is_no_cohort_to_draw_from() -> None:
    X, y, _ = visits()
    model = RCI().fit(X, y, groups=["p"] * len(y))
    with pytest.raises(InputError, match="need at least 2 to draw from: are the ids those of patients"):
        model.bootstrap(2)


# --- what is said of rows ---------------------------------------------------------------------------------


def test_checks_count_rows_as_rows() -> None:
    X, y, _ = visits()
    of_rows, of_patients = (
        " ".join(
            f"{check.statement} {check.limit}"
            for check in model.diagnose(X, y).checks
            if check.name in ("independent", "linear", "non_gaussian", "unconfounded", "logarithm")
        )
        for model in (fitted(), fitted(groups=None))
    )
    assert re.search(r"\d+ rows", of_rows) and not re.search(r"\d+ patients", of_rows)
    assert re.search(r"\d+ patients", of_patients) and not re.search(r"\d+ rows", of_patients)


@pytest.mark.parametrize("door", ["python", "file"])
def test_ids_that_are_unique_within_a_site_only_are_said_by_every_fit(door: str, tmp_path: Path) -> None:
    """As look asks: else two patients of different sites count as one in the resamples, without a word."""
    X, y, ids = visits()
    sex = np.random.default_rng(1).permutation(np.arange(60) % 2)[ids]
    table = X.assign(id=ids % 30 + 1, center=np.where(ids < 30, "north", "south"), sex=sex, ill=y)

    def said(of: pd.DataFrame) -> list[str]:
        if door == "python":
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                RCI(alpha=1.0).fit(of.drop(columns=["id", "ill"]), of["ill"], groups=of["id"])
            texts = [str(one.message) for one in caught]
        else:
            of.to_csv(tmp_path / "t.csv", index=False)
            done = run(
                "fit", tmp_path / "t.csv", "--target", "ill", "--id", "id", "--out", tmp_path / "m.rci"
            )
            assert done.exit_code == 0, done.output
            texts = [" ".join(done.stderr.split())]
        return [one for one in texts if "within ids" in one]

    (one,) = said(table)
    assert f"{len(ids)} rows of 30 ids, but 'sex' (in " in one
    assert "differs within ids, as in no patient" in one and "and 'center' together" in one
    assert said(table.assign(id=ids)) == []  # of patients of their own
    assert "ids of patients" in said(table.drop(columns="center"))[0]
