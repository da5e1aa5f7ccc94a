"""A model in a file: the same answers to the last bit, and nothing else accepted."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rootcausal import RCI, InputError
from rootcausal.data import load_pbc


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    cohort = load_pbc()
    return pd.DataFrame(cohort.X, columns=list(cohort.feature_names))


@pytest.fixture(scope="module")
def model(frame: pd.DataFrame) -> RCI:
    return RCI(alpha=0.3).fit(frame, load_pbc().y)


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


def rewritten(saved: Path, path: Path, change: object) -> Path:
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, change(name, content))
    return path


def test_a_newer_version_says_upgrade(saved: Path, tmp_path: Path) -> None:
    def newer(name: str, content: bytes) -> bytes:
        return (
            json.dumps(json.loads(content) | {"version": 99}).encode() if name.endswith(".json") else content
        )

    with pytest.raises(InputError, match=r"written by a newer rootcausal .* upgrade rootcausal"):
        RCI.load(rewritten(saved, tmp_path / "newer.rci", newer))


def test_an_array_with_a_pickle_inside_is_never_loaded(saved: Path, tmp_path: Path) -> None:
    import io

    class Bomb:
        def __reduce__(self) -> tuple:
            return (Path.touch, (tmp_path / "exploded",))

    buffer = io.BytesIO()
    np.save(buffer, np.array([Bomb()], dtype=object), allow_pickle=True)
    bomb = rewritten(
        saved, tmp_path / "bomb.rci", lambda name, old: buffer.getvalue() if name == "coef.npy" else old
    )
    with pytest.raises(InputError, match="damaged"):
        RCI.load(bomb)
    assert not (tmp_path / "exploded").exists()


def test_arrays_that_do_not_fit_together_are_refused(saved: Path, tmp_path: Path) -> None:
    import io

    buffer = io.BytesIO()
    np.save(buffer, np.array([0, 99]))
    odd = rewritten(
        saved, tmp_path / "odd.rci", lambda name, old: buffer.getvalue() if name == "order.npy" else old
    )
    with pytest.raises(InputError, match="damaged"):
        RCI.load(odd)
