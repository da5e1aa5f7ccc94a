"""Which label is the disease: the user says it, or the labels do, or a warning names the choice."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import error, ok

from rootcausal import RCI, InputError
from rootcausal.comparators import ConditionalOutliers, TTest
from rootcausal.data import simulate

drawn = simulate(150, 5, random_state=2)
X, y = drawn.X, drawn.y
EXPECTED = RCI(alpha=0.5).fit(X, y).coef_

SAID = [
    (0, 1),
    (0.0, 1.0),
    (False, True),
    (-1, 1),
    ("0", "1"),
    ("no", "yes"),
    ("No", " YES"),
    ("control", "case"),
    ("Control", "Case"),
    ("healthy", "sick"),
    ("negative", "positive"),
    ("Survived", "Dead"),
    ("well", "sick"),
    ("no", "positive"),
    ("notckd", "ckd"),
    ("no relapse", "relapse"),
    ("relapse-free", "relapse"),
    ("normal", "hypothyroid"),
    ("survivor", "nonsurvivor"),
    ("0:LIVING", "1:DECEASED"),
]
UNSAID = [
    ("N", "P"),
    ("homeless", "housed"),
    ("Died of Disease", "Died of Other Causes"),
    ("a", "b"),
    (1, 2),
    (1.0, 2.0),
    (3, 7),
    (0, 2),
]


def labelled(healthy: object, disease: object) -> np.ndarray:
    return np.where(y == 1, disease, healthy)


@pytest.mark.parametrize(("healthy", "disease"), SAID)
def test_labels_that_say_it_themselves(healthy: object, disease: object) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RCI(alpha=0.5).fit(X, labelled(healthy, disease))
        other = TTest().fit(X, labelled(healthy, disease))
    assert model.classes_.tolist() == other.classes_.tolist() == [healthy, disease]
    np.testing.assert_array_equal(model.coef_, EXPECTED)
    assert set(model.predict(X)) == {healthy, disease}


@pytest.mark.parametrize(("first", "second"), UNSAID)
def test_other_labels_get_a_warning_that_names_the_choice(first: object, second: object) -> None:
    labels = labelled(second, first)
    chosen = (
        f"the labels {first!r} and {second!r} do not say which of them is the disease: {second!r} is taken "
        "for it, since it comes second in order; "
    )
    with pytest.warns(UserWarning, match="do not say which") as caught:
        model = RCI(alpha=0.5).fit(X, labels)
    assert [str(warning.message) for warning in caught] == [
        f"{chosen}choose by positive={second!r} or positive={first!r}"
    ]
    assert caught[0].filename == __file__
    assert model.classes_.tolist() == [first, second]
    for method in (TTest(), ConditionalOutliers(random_state=0)):
        with pytest.warns(UserWarning, match="do not say which") as caught:
            method.fit(X, labels)
        assert [str(warning.message) for warning in caught] == [f"{chosen}encode y as 0 and 1 to choose"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = RCI(alpha=0.5, positive=first).fit(X, labels)
    np.testing.assert_array_equal(told.coef_, EXPECTED)


@pytest.mark.parametrize(("healthy", "disease"), [*SAID, *UNSAID])
def test_the_command_line_asks_where_python_warns(healthy: object, disease: object, tmp_path: Path) -> None:
    table = tmp_path / "cohort.csv"
    pd.DataFrame(X, columns=list("abcd")).assign(state=labelled(healthy, disease)).to_csv(table, index=False)
    arguments = ("fit", table, "--target", "state", "--out", tmp_path / "m.rci")
    if (healthy, disease) in UNSAID:
        assert "say which one is the disease with --positive LABEL" in error(3, *arguments)
    else:
        ok(*arguments)
        np.testing.assert_allclose(RCI.load(tmp_path / "m.rci").coef_, RCI().fit(X, y).coef_, atol=1e-12)


def test_a_wrong_choice_is_still_an_error() -> None:
    with pytest.raises(InputError, match="positive='ill' is not a label of the target, which has 'case' and"):
        RCI(positive="ill").fit(X, labelled("control", "case"))
