"""To and from the libraries next door: shap, networkx, anndata."""

import numpy as np
import pyarrow as pa
import pytest

from rootcausal import RCI, DirectLiNGAM, InputError
from rootcausal.data import load_pbc


@pytest.fixture(scope="module")
def pbc():
    cohort = load_pbc()
    table = pa.table(dict(zip(cohort.feature_names, cohort.X.T, strict=True)))
    model = RCI().fit(table, cohort.y)
    return cohort, table, model, model.explain(table, ids=cohort.ids)


def test_shap_values_are_unchanged(pbc):
    shap = pytest.importorskip("shap")
    *_, explanation = pbc
    bridged = explanation.to_shap()
    assert isinstance(bridged, shap.Explanation)
    assert np.array_equal(bridged.values, explanation.values)
    assert np.array_equal(bridged.base_values, np.full(258, explanation.base_value))
    assert np.array_equal(bridged.data, explanation.errors)
    assert np.array_equal(bridged.display_data, explanation.data)
    assert bridged.feature_names == list(explanation.feature_names)
    assert list(bridged.instance_names) == [str(patient) for patient in explanation.ids]


@pytest.mark.parametrize("kind", ["waterfall", "beeswarm", "bar", "heatmap", "scatter"])
def test_shap_plots_draw(pbc, kind):
    pytest.importorskip("matplotlib").use("Agg")
    shap = pytest.importorskip("shap")
    import matplotlib.pyplot as plt

    *_, explanation = pbc
    bridged = explanation.to_shap()
    chosen = {"waterfall": bridged[4], "scatter": bridged[:, "bili"]}.get(kind, bridged)
    getattr(shap.plots, kind)(chosen, show=False)
    axes = plt.gcf().axes
    assert any(ax.collections or ax.patches or ax.images for ax in axes)
    if kind == "waterfall":
        drawn = {
            float(text.get_text().replace("−", "-")) for ax in axes for text in ax.texts if text.get_text()
        }
        assert {round(value, 2) for value in explanation.values[4]} <= drawn
    plt.close("all")


def test_frame_is_tidy(pbc):
    *_, explanation = pbc
    frame = explanation.to_frame()
    assert frame.num_rows == 258 * 10
    assert frame.column_names == [
        *("id", "variable", "value", "level", "imputed", "beyond", "unlike"),
        *("error", "shapley", "rank", "root_cause", "notable"),
    ]
    assert np.array_equal(frame["shapley"].to_numpy().reshape(258, 10), explanation.values)


def test_networkx_has_the_weights_of_the_adjacency(pbc):
    networkx = pytest.importorskip("networkx")
    cohort, table, *_ = pbc
    model = DirectLiNGAM(prune=True).fit(table)
    graph = model.to_networkx()
    assert networkx.is_directed_acyclic_graph(graph)
    names = list(cohort.feature_names)
    assert graph.number_of_edges() == np.count_nonzero(model.adjacency_matrix_)
    for cause, effect, weight in graph.edges(data="weight"):
        assert weight == model.adjacency_matrix_[names.index(effect), names.index(cause)]
        assert graph.nodes[cause]["place"] < graph.nodes[effect]["place"]


def test_anndata_is_a_table_like_any_other(pbc):
    anndata = pytest.importorskip("anndata")
    pd = pytest.importorskip("pandas")
    from scipy.sparse import csr_matrix

    cohort, _, model, explanation = pbc
    obs = pd.DataFrame({"died": cohort.y, "person": cohort.ids}, index=[f"p{i}" for i in cohort.ids])
    var = pd.DataFrame(index=list(cohort.feature_names))
    for X in (cohort.X, csr_matrix(cohort.X)):
        data = anndata.AnnData(X, obs=obs, var=var)
        fitted = RCI().fit(data, "died")
        assert fitted.intercept_ == model.intercept_
        explained = fitted.explain(data)
        assert explained.ids[0] == "p1"
        assert np.allclose(explained.values, explanation.values)
        assert fitted.explain(data, ids="person").ids[0] == cohort.ids[0]
        # AnnData copies keep float32 tables as they are: columns are still matched by name.
        assert np.allclose(fitted.shapley_values(data[:, ::-1].copy()), explanation.values)
    with pytest.raises(InputError, match="no diagnosis column 'dead' in obs, which has 'died', 'person'"):
        RCI().fit(data, "dead")
