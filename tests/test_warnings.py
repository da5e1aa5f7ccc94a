"""What is warned of has classes of its own, and summaries show themselves in notebooks."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rootcausal
from rootcausal import RCI, InputError, read_table
from rootcausal.data import load_pbc, simulate
from rootcausal.warnings import (
    LabelWarning,
    ReadingWarning,
    RootCausalWarning,
    SeparationWarning,
    UnlikeCohortWarning,
)


@pytest.fixture(scope="module")
def pbc():
    cohort = load_pbc()
    return cohort.to_frame().select(cohort.feature_names).to_pandas(), cohort.y


def test_each_is_one_of_ours_or_of_scikit_learn():
    for kind in (LabelWarning, ReadingWarning, SeparationWarning, UnlikeCohortWarning):
        assert issubclass(kind, RootCausalWarning) and issubclass(kind, UserWarning)
    assert rootcausal.warnings.ConvergenceWarning is ConvergenceWarning


def test_labels_files_and_separation_are_told_apart(pbc, tmp_path):
    X, y = pbc
    with pytest.warns(LabelWarning, match="do not say which of them is the disease"):
        RCI().fit(X, np.where(y, "green", "blue"))
    path = tmp_path / "latin.csv"
    path.write_bytes("größe,d\n1,0\n2,1\n".encode("cp1252"))
    with pytest.warns(ReadingWarning, match="Windows-1252"):
        read_table(path)
    cohort = simulate(n_samples=60, n_variables=4, random_state=0)
    told = np.column_stack([cohort.X, cohort.y * 9 + cohort.X[:, 0] / 9])
    with pytest.warns(SeparationWarning):
        RCI().fit(told, cohort.y)


def test_a_class_can_be_silenced_by_itself(pbc):
    X, y = pbc
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LabelWarning)
        RCI().fit(X, np.where(y, "green", "blue"))


def test_names_are_kept_in_a_pipeline_or_it_is_said_how(pbc):
    X, y = pbc
    steps = StandardScaler(), RCI(knowledge={"first": ["age"]})
    with pytest.raises(InputError, match=r"in a Pipeline they are kept by \.set_output\("):
        make_pipeline(*steps).fit(X, y)
    fitted = make_pipeline(*steps).set_output(transform="pandas").fit(X, y)
    assert fitted[-1].feature_names_in_.tolist() == list(X)
    with pytest.raises(InputError) as caught:
        RCI(knowledge={"first": ["agee"]}).fit(X, y)
    assert "Pipeline" not in str(caught.value)


def test_a_summary_is_a_table_in_notebooks(pbc):
    X, y = pbc
    shown = RCI().fit(X.rename(columns={"bili": "<b>bili"}), y).summary()._repr_html_()
    assert shown.count("<tr>") == 11 and "&lt;b&gt;bili" in shown and "<b>bili" not in shown
