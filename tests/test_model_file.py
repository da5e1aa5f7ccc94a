"""A model in a file: the same answers to the last bit, and nothing else accepted."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tampering import HEADER, archive_of, array_bytes, members_of, with_array, with_header

from rootcausal import RCI, InputError
from rootcausal.data import load_pbc
from rootcausal.files.array_archive import FREE_BYTES, check_inflation


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    cohort = load_pbc()
    return pd.DataFrame(cohort.X, columns=list(cohort.feature_names))


@pytest.fixture(scope="module")
def model(frame: pd.DataFrame) -> RCI:
    return RCI(alpha=0.3, mechanism="linear").fit(frame, load_pbc().y)


@pytest.fixture
def saved(model: RCI, tmp_path: Path) -> Path:
    model.save(tmp_path / "model.rci")
    return tmp_path / "model.rci"


def test_a_new_process_gives_the_same_bits(
    model: RCI, saved: Path, frame: pd.DataFrame, tmp_path: Path
) -> None:
    np.save(tmp_path / "X.npy", frame.to_numpy())
    code = (
        "import sys, warnings, numpy as np; from rootcausal import RCI; warnings.simplefilter('ignore');"
        "np.save(sys.argv[3], RCI.load(sys.argv[1]).shapley_values(np.load(sys.argv[2])))"
    )
    paths = [str(saved), str(tmp_path / "X.npy"), str(tmp_path / "S.npy")]
    subprocess.run([sys.executable, "-c", code, *paths], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "S.npy"), model.shapley_values(frame))


def test_everything_public_comes_back(model: RCI, saved: Path, frame: pd.DataFrame) -> None:
    loaded = RCI.load(saved)
    assert loaded.get_params() == model.get_params()
    assert loaded.provenance_ == model.provenance_
    assert loaded.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    for name in ("causal_order_", "coef_", "intercept_", "margins_", "classes_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(
        loaded.explain(frame).what_if("bili").data, model.explain(frame).what_if("bili").data
    )


def test_saving_twice_gives_the_same_bytes(model: RCI, saved: Path, tmp_path: Path) -> None:
    model.save(tmp_path / "again.rci")
    assert (tmp_path / "again.rci").read_bytes() == saved.read_bytes()


@pytest.mark.parametrize("labels", [("well", "sick"), (False, True), (1, 2), (0.0, 1.0)])
def test_labels_of_any_type_come_back(labels: tuple, frame: pd.DataFrame, tmp_path: Path) -> None:
    died = load_pbc().y
    model = RCI(positive=labels[1]).fit(frame, np.where(died == 1, labels[1], labels[0]))
    model.save(tmp_path / "model.rci")
    loaded = RCI.load(tmp_path / "model.rci")
    assert loaded.classes_.tolist() == list(labels)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.positive == labels[1]


def test_damaged_foreign_and_newer_files_are_refused(saved: Path, tmp_path: Path) -> None:
    whole = saved.read_bytes()
    cases = {
        "cut.rci": whole[: len(whole) // 2],
        "flipped.rci": whole[:200] + bytes([whole[200] ^ 0xFF]) + whole[201:],
        "longer.rci": whole + b"more",
        "later.rci": b"more" + whole,
        "empty.rci": b"",
        "text.rci": b"not a model",
        "pickle.rci": pickle.dumps({"coef": [1, 2]}),
    }
    for name, content in cases.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match="is not a rootcausal model, or it is damaged"):
            RCI.load(tmp_path / name)
    with pytest.raises(InputError, match="there is no model file"):
        RCI.load(tmp_path / "nowhere.rci")
    with pytest.raises(InputError, match="is a folder"):
        RCI.load(tmp_path)


@pytest.mark.parametrize("version", [0, 2, 8])
def test_another_version_is_refused_by_a_sentence(version: int, saved: Path) -> None:
    with pytest.raises(InputError, match=rf"is a model file of version {version}, .* reads version 1 alone"):
        RCI.load(with_header(saved, lambda header: header | {"version": version}))


def test_an_array_with_a_pickle_inside_is_never_loaded(saved: Path, tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple:
            return (Path.touch, (tmp_path / "exploded",))

    with pytest.raises(InputError, match="damaged"):
        RCI.load(with_array(saved, "attribution_coef", lambda _: np.array([Bomb()], dtype=object)))
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize(
    ("positive", "labels"),
    [
        (np.int64(1), np.array([0, 1])),
        (np.int8(1), np.array([0, 1], dtype=np.int8)),
        (np.float32(1), np.array([0, 1], dtype=np.float32)),
        (np.bool_(True), np.array([False, True])),
        (np.str_("ill"), np.array(["well", "ill"])),
        ("ill", np.array(["well", "ill"], dtype="U9")),
        ("ill", np.array(["well", "ill"], dtype=object)),
    ],
    ids=repr,
)
def test_numpy_scalars_as_parameters_are_saved(
    positive: object, labels: np.ndarray, frame: pd.DataFrame, tmp_path: Path
) -> None:
    model = RCI(alpha=np.float64(0.3), variant=np.str_("plus"), positive=positive)
    model.fit(frame, labels[load_pbc().y]).bootstrap(np.int64(2), random_state=np.int64(3))
    model.save(tmp_path / "model.rci")
    loaded = RCI.load(tmp_path / "model.rci")
    assert loaded.get_params() == model.get_params()
    assert loaded.provenance_ == model.provenance_
    assert loaded.provenance_["bootstrap"] == {"resamples": 2, "random_state": 3, "unsettled": 0}
    assert loaded.classes_.dtype == model.classes_.dtype == labels.dtype
    assert loaded.classes_.tolist() == labels.tolist()
    with zipfile.ZipFile(tmp_path / "model.rci") as archive:
        json.loads(archive.read(HEADER), parse_constant=pytest.fail)


def test_labels_that_no_text_can_hold_are_refused_when_saving(frame: pd.DataFrame, tmp_path: Path) -> None:
    days = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[ns]")
    with pytest.warns(UserWarning, match="do not say which of them is the disease"):
        model = RCI().fit(frame, days[load_pbc().y])
    with pytest.raises(InputError, match=r"label .*2020.* cannot be saved: use text, numbers or booleans"):
        model.save(tmp_path / "model.rci")
    assert not list(tmp_path.iterdir())


def test_what_could_not_be_read_back_is_not_saved(frame: pd.DataFrame, tmp_path: Path) -> None:
    model = RCI(alpha=0.3).fit(frame, load_pbc().y)
    mechanism = model._model.mechanism
    model._model = replace(model._model, mechanism=replace(mechanism, sd=0.0 * mechanism.sd))
    with pytest.raises(InputError, match="could not be read back, so it is not saved: array sd holds"):
        model.save(tmp_path / "model.rci")
    assert not list(tmp_path.iterdir())


def test_a_model_without_variables_comes_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="the outcome depends on no variable"):
        model = RCI(alpha=1e-9).fit(rng.uniform(size=(40, 2)), np.arange(40) % 2)
    model.bootstrap(2).save(tmp_path / "model.rci")
    loaded = RCI.load(tmp_path / "model.rci")
    assert loaded.causal_order_.size == 0 and len(loaded.bootstrap_) == 2


def put(value: object, place: object = 0) -> Callable[[np.ndarray], None]:
    def change(array: np.ndarray) -> None:
        array[place] = value

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("attribution_coef", put(np.nan)),
        ("attribution_coef", put(1e300)),
        ("attribution_intercept", put(np.inf)),
        ("attribution_intercept", put(np.nan)),
        ("attribution_intercept", lambda intercept: np.append(intercept, 0.0)),
        ("mechanism_mean", put(np.inf)),
        ("mechanism_sd", put(0.0)),
        ("mechanism_sd", put(-1.0)),
        ("mechanism_sd", put(5e-324)),
        ("mechanism_order", lambda order: order[[0, 0, *range(2, order.size)]]),
        ("mechanism_order", put(99)),
        ("mechanism_order", lambda order: order.astype(float)),
        ("mechanism_mixing", put(np.nan, 1)),
        ("mechanism_mixing", put(-0.5, 0)),
        ("mechanism_mixing", lambda mixing: mixing[:-1]),
        ("mechanism_mixing", lambda mixing: mixing[::-1]),
        ("mechanism_unmixing", lambda unmixing: unmixing * 1.001),
        ("mechanism_unmixing", lambda unmixing: unmixing * (1 + 1e-9)),
        ("mechanism_unmixing", lambda unmixing: unmixing[::-1]),
        ("sizes", lambda sizes: np.append(sizes, sizes)),
        ("sizes", lambda sizes: sizes[:0]),
        ("margins", put(np.nan)),
        ("ancestor_probability", put(1.5)),
        ("ancestor_probability", put(np.nan)),
        ("value_quantiles", lambda quantiles: quantiles[::-1]),
        ("error_quantiles", put(np.nan)),
        ("attribution_coef", lambda coef: coef[:-1]),
        ("attribution_coef", lambda coef: coef.astype(">f8")),
        ("attribution_coef", lambda coef: coef.astype("<f4")),
        ("value_quantiles", lambda quantiles: np.asfortranarray(quantiles)),
    ],
)
def test_arrays_that_no_model_has_are_refused(name: str, change: Callable, saved: Path) -> None:
    with pytest.raises(InputError, match="is not a rootcausal model, or it is damaged"):
        RCI.load(with_array(saved, name, change))


@pytest.mark.parametrize(
    "change",
    [
        {"mechanism": "nonlinear"},
        {"attribution": None},
        {"attribution": ["linear"]},
        {"n_columns": 10**10},
        {"n_columns": 10**7, "n_variables": 10**7},
        {"n_columns": True},
        {"classes": ["ill"]},
        {"classes": ["ill", "ill"]},
        {"classes": ["ill", 1]},
        {"classes": [[0], [1]]},
        {"classes_type": "<i2", "classes": [0, 10**6]},
        {"feature_names": ["age"] * 10},
        {"feature_names": [*"abcdefghi"]},
        {"feature_names": [1, *"abcdefghi"]},
        {"feature_names": "abcdefghij"},
        {"bootstrap": {"random_state": 0}},
        {"provenance": {}},
        {"provenance": 5},
        {"version": "2"},
        {"format": "something else"},
    ],
    ids=str,
)
def test_headers_that_no_model_has_are_refused(change: dict, saved: Path) -> None:
    with pytest.raises(InputError, match="is not a rootcausal model, or it is damaged"):
        RCI.load(with_header(saved, lambda header: header | change))


@pytest.mark.parametrize(
    "change",
    [
        {"exhausted": 5},
        {"columns": 11},
        {"cases": -1},
        {"separated": None},
        {"unread": float("nan")},
        {"parameters": {"alpha": 0.0}},
        {"parameters": {"variant": "sideways"}},
        {"parameters": {"colour": "red"}},
        {"parameters": {"positive": 0}},
    ],
    ids=str,
)
def test_provenance_that_no_model_has_is_refused(change: dict, saved: Path) -> None:
    with pytest.raises(InputError, match="is not a rootcausal model, or it is damaged"):
        RCI.load(with_header(saved, lambda header: header | {"provenance": header["provenance"] | change}))


def test_headers_that_break_a_parser_are_refused(saved: Path) -> None:
    members = members_of(saved.read_bytes())
    for header in (b"[" * 100_000, b"NaN", b"\xff\xfe", b'{"version": ' + b"9" * 10_000 + b"}"):
        saved.write_bytes(archive_of({**members, HEADER: header}))
        with pytest.raises(InputError, match="damaged"):
            RCI.load(saved)


def test_what_is_declared_is_checked_before_it_is_read(saved: Path) -> None:
    members = members_of(saved.read_bytes())
    mixing = members["mechanism_mixing.npy"]
    large = {
        "attribution_coef.npy": array_bytes(np.zeros(3 << 20)),
        HEADER: b" " * (5 << 20) + members[HEADER],
        "mechanism_mixing.npy": mixing.replace(b"'shape': (", b"'shape': (99999999999, "),
    }
    for name, content in large.items():
        saved.write_bytes(archive_of({**members, name: content}))
        with pytest.raises(InputError, match="damaged"):
            RCI.load(saved)
    # An array that is larger than it says is read no further than it says.
    coef = members["attribution_coef.npy"]
    more = coef + bytes(20 << 20)
    actual, declared = (len(content).to_bytes(4, "little") for content in (more, coef))
    saved.write_bytes(archive_of({**members, "attribution_coef.npy": more}).replace(actual, declared))
    with pytest.raises(InputError, match="damaged"):
        RCI.load(saved)


def test_a_file_may_grow_so_far_and_no_further(saved: Path) -> None:
    for size in (1 << 10, 1 << 30):
        check_inflation(max(FREE_BYTES, 8 * size), size)
        with pytest.raises(ValueError, match="far more memory"):
            check_inflation(max(FREE_BYTES, 8 * size) + 1, size)
    members = members_of(saved.read_bytes())
    saved.write_bytes(archive_of({**members, "attribution_coef.npy": array_bytes(np.zeros(3 << 20))}))
    with pytest.raises(InputError, match="far more memory than a file of its size can need"):
        RCI.load(saved)


def test_members_that_are_not_ours_are_refused(saved: Path) -> None:
    members = members_of(saved.read_bytes())
    saved.write_bytes(archive_of({**members, "more.npy": members["attribution_coef.npy"]}))
    with pytest.raises(InputError, match=r"it holds 'more.npy', which is none of its arrays"):
        RCI.load(saved)
    saved.write_bytes(archive_of({name: members[name] for name in members if name != "attribution_coef.npy"}))
    with pytest.raises(InputError, match="it lacks 'attribution_coef'"):
        RCI.load(saved)
    with zipfile.ZipFile(saved, "w") as twice:
        for name in members:
            twice.writestr(name, members[name])
        with pytest.warns(UserWarning, match="Duplicate"):
            twice.writestr(HEADER, members[HEADER])
    with pytest.raises(InputError, match="same name"):
        RCI.load(saved)


def test_a_file_whose_checksum_is_missing_or_wrong_is_refused(saved: Path) -> None:
    members = members_of(saved.read_bytes())
    saved.write_bytes(archive_of(members, checksum=False))
    with pytest.raises(InputError, match="checksum is missing"):
        RCI.load(saved)
    saved.write_bytes(archive_of({**members, "sha256": b"0" * 64}, checksum=False))
    with pytest.raises(InputError, match="checksum differs"):
        RCI.load(saved)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "model.rci")
    with pytest.raises(InputError, match="not a regular file"):
        RCI.load(tmp_path / "model.rci")
