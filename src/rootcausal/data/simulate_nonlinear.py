"""Random cohorts with nonlinear relations and heteroscedastic errors, with everything that made them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..errors import InputError
from ..method.moments import ROWS_PER_CLASS
from ..method.table import F64
from .exogenous_errors import FAMILIES, draw_unit_errors
from .nonlinear_truth import CENTRES, EVEN, FEWEST_WALKS, SPREADS, NonlinearTruth, walked_shapley
from .simulate import MAX_DRAWS, RandomState, draw_graph, integer_of_at_least

# People who set means and standard deviations along the way.
PEOPLE = 50_000
DEFAULT_WALKS = 128


@dataclass(frozen=True, slots=True, eq=False)
class NonlinearCohort:
    """A simulated cohort with nonlinear relations and the truth behind it.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        The variables, of mean zero and unit variance in the population. Their column order says nothing about
        their causal order.
    y : ndarray of shape (n,), int
        The diagnosis D, 1 for patients and 0 for controls.
    errors : ndarray of shape (n, p)
        Each patient's exogenous errors, of mean zero and unit variance: ``X = mechanism.values(errors)``.
    true_shapley : ndarray of shape (n, p)
        The log-odds that each error adds (Shapley values of the log-odds of D given the errors), by Monte
        Carlo; exactly zero for non-ancestors of D. With `base_value` a row sums to the patient's log-odds.
    shapley_noise : ndarray of shape (n, p)
        Standard error of each true value, from its Monte Carlo alone. All patients have the same walks: their
        noise is not independent.
    base_value : float
        Mean log-odds of D in the population, as 50,000 people have it.
    adjacency : ndarray of shape (p, p)
        The graph among the columns of X; ``[i, j]`` is the weight of j in the index that i follows, and
        zero where j is not a parent of i. It is no effect in the sense of a linear model.
    target_weights : ndarray of shape (p,)
        Direct effects on D: its log-odds are ``X @ target_weights + mechanism.intercept``.
    feature_names : tuple of str
        Names of the columns of X.
    target_name : str
        Name of the outcome.
    centre, spread : tuple of str
        Which shapes f and g each column has: "saturating", "softplus" or "gated"; "growing", "peaked",
        "wide at both ends" or "even". A column without parents has "none" and "even".
    mechanism : NonlinearTruth
        The structural equations themselves.
    """

    X: F64
    y: NDArray[np.int64]
    errors: F64
    true_shapley: F64
    shapley_noise: F64
    base_value: float
    feature_names: tuple[str, ...]
    target_name: str
    mechanism: NonlinearTruth

    @property
    def adjacency(self) -> F64:
        return self.mechanism.adjacency

    @property
    def target_weights(self) -> F64:
        return self.mechanism.target_weights

    @property
    def centre(self) -> tuple[str, ...]:
        return self.mechanism.centre

    @property
    def spread(self) -> tuple[str, ...]:
        return self.mechanism.spread


def simulate_nonlinear(
    n_samples: int = 1000,
    n_variables: int = 10,
    *,
    heteroscedastic: bool = True,
    expected_neighbors: float = 2.0,
    n_walks: int = DEFAULT_WALKS,
    random_state: RandomState = None,
) -> NonlinearCohort:
    """Draw a cohort with nonlinear relations and heteroscedastic errors.

    The graph is that of :func:`simulate`, and so is the choice of D. A variable with parents is
    ``f(s) + g(s) * error``: s is the weighted sum of its parents, standardized; f saturates (tanh), starts to
    rise (softplus), or acts above a threshold (gated); g grows, peaks in the middle, or is wide at both ends;
    each shape with equal chance. Errors follow Student's t with five degrees of freedom, a chi-square with
    three, or the uniform distribution, all of mean zero and unit variance. Variables are standardized in
    causal order, by 50,000 people of the population. The log-odds of D are a weighted sum of its parents,
    with mean zero and standard deviation one.

    The true Shapley values have no closed form. They are averages over walks: somebody is drawn from the
    population, and this one's errors are set, one after the other in random order, to those of the patient;
    what the log-odds gain at a step belongs to the error that was set. Each walk is gone in its order and in
    the reverse (antithetic), starts are stratified (Latin hypercube), and only ancestors of D are walked.
    Eight independent replicates of this say how large the noise is that remains (`shapley_noise`).

    Parameters
    ----------
    n_samples : int, default 1000
        Number of patients and controls together, at least 4.
    n_variables : int, default 10
        Number of vertices, D among them, at least 2; X has one column less.
    heteroscedastic : bool, default True
        Whether the spread of errors depends on the parents. If not, g is one.
    expected_neighbors : float, default 2.0
        Expected number of parents and children of a vertex.
    n_walks : int, default 128
        Pairs of walks behind each true Shapley value, at least 16; rounded up to a multiple of eight.
    random_state : int, SeedSequence, BitGenerator, Generator or None
        Anything that :func:`numpy.random.default_rng` takes. The same seed gives the same cohort; with
        another `n_walks` only the true values and their noise differ.

    Returns
    -------
    NonlinearCohort

    Raises
    ------
    InputError
        An argument is out of range, or a thousand draws gave no usable cohort.

    Examples
    --------
    >>> cohort = simulate_nonlinear(n_samples=200, n_variables=10, random_state=0)
    >>> cohort.X.shape
    (200, 9)
    >>> log_odds = cohort.mechanism.log_odds(cohort.X)
    >>> bool(abs(cohort.base_value + cohort.true_shapley.sum(axis=1) - log_odds).max() < 1e-9)
    True
    """
    n_samples = integer_of_at_least(2 * ROWS_PER_CLASS, n_samples, "n_samples")
    n_variables = integer_of_at_least(2, n_variables, "n_variables")
    n_walks = integer_of_at_least(FEWEST_WALKS, n_walks, "n_walks")
    if not isinstance(heteroscedastic, bool):
        raise InputError(f"heteroscedastic must be True or False, not {heteroscedastic!r}")
    if not (
        isinstance(expected_neighbors, Real) and math.isfinite(expected_neighbors) and expected_neighbors > 0
    ):
        raise InputError(f"expected_neighbors must be a positive number, not {expected_neighbors!r}")
    edge_probability = min(1.0, expected_neighbors / (n_variables - 1))
    rng = np.random.default_rng(random_state)

    for _ in range(MAX_DRAWS):
        graph = draw_graph(n_variables, edge_probability, rng)
        if graph.nnz == 0:
            continue
        mechanism = _draw_mechanism(graph.toarray(), heteroscedastic, rng)
        errors = draw_unit_errors(n_samples, mechanism.family, rng)
        X = mechanism.values(errors)
        y = (rng.random(n_samples) < expit(mechanism.log_odds(X))).astype(np.int64)
        if np.bincount(y, minlength=2).min() >= ROWS_PER_CLASS:
            break
    else:
        raise InputError(
            f"{MAX_DRAWS} draws gave no graph with an edge and {ROWS_PER_CLASS} rows in each class: "
            "raise expected_neighbors or n_samples"
        )
    base_value = 0.0  # the intercept is such that the log-odds of the population have this mean
    true_shapley, noise = walked_shapley(mechanism, errors, base_value, n_walks, rng)
    return NonlinearCohort(
        X=X,
        y=y,
        errors=errors,
        true_shapley=true_shapley,
        shapley_noise=noise,
        base_value=base_value,
        feature_names=tuple(f"x{column}" for column in range(n_variables - 1)),
        target_name="D",
        mechanism=mechanism,
    )


def _draw_mechanism(graph: F64, heteroscedastic: bool, rng: np.random.Generator) -> NonlinearTruth:
    """Choose D in a graph with at least one edge, put the others in random order, and draw their shapes."""
    has_parents, has_children = (graph != 0).any(axis=1), (graph != 0).any(axis=0)
    target = rng.choice(np.flatnonzero(has_parents & ~has_children))
    vertex = rng.permutation(np.delete(np.arange(len(graph)), target))
    adjacency, weights = graph[np.ix_(vertex, vertex)], graph[target, vertex]
    p = vertex.size
    family = rng.integers(FAMILIES, size=p)
    centre, spread = rng.integers(len(CENTRES), size=p), rng.integers(len(SPREADS), size=p)
    caused = adjacency.any(axis=1)
    unfinished = NonlinearTruth(
        adjacency=adjacency,
        causal_order=np.argsort(vertex),
        centre=tuple(CENTRES[k] if some else "none" for k, some in zip(centre, caused, strict=True)),
        spread=tuple(
            SPREADS[k] if some and heteroscedastic else EVEN for k, some in zip(spread, caused, strict=True)
        ),
        family=family,
        index_mean=np.zeros(p),
        index_sd=np.ones(p),
        mean=np.zeros(p),
        sd=np.ones(p),
        target_weights=weights,
        intercept=0.0,
    )
    return _standardized(unfinished, rng)


def _standardized(draft: NonlinearTruth, rng: np.random.Generator) -> NonlinearTruth:
    """The same equations with each index, each variable and the log-odds standardized over the population."""
    columns = np.ascontiguousarray(draw_unit_errors(PEOPLE, draft.family, rng).T)
    for i in draft.causal_order:
        if not draft.adjacency[i].any():
            continue
        index = draft.adjacency[i] @ columns
        draft.index_mean[i], draft.index_sd[i] = index.mean(), index.std()
        shift, scale = draft.shift_and_scale(i, columns)
        raw = shift + scale * columns[i]
        draft.mean[i], draft.sd[i] = raw.mean(), raw.std()
        columns[i] = (raw - draft.mean[i]) / draft.sd[i]
    log_odds = draft.target_weights @ columns
    return replace(
        draft,
        target_weights=draft.target_weights / log_odds.std(),
        intercept=-float(log_odds.mean() / log_odds.std()),
    )
