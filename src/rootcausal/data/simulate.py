"""The random cohorts of the paper (Section 8.1.1, "Data Generation"), with everything that made them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array
from scipy.sparse.linalg import spsolve_triangular

from ..errors import InputError
from ..method.moments import ROWS_PER_CLASS
from ..method.table import F64
from ..outcomes import OUTCOMES
from ..outcomes.binary import CaseControl
from ..outcomes.simulated import Asked, Simulator
from .exogenous_errors import FAMILIES, Population, draw_errors

RandomState = int | np.random.SeedSequence | np.random.BitGenerator | np.random.Generator | None

SMALLEST_WEIGHT, LARGEST_WEIGHT = 0.25, 1.0
MAX_DRAWS = 1000
DESIGNS = ("cohort", "case-control")
MOST_ROWS = 10**9
#: How each outcome is drawn, patient by patient.
SIMULATORS: dict[str, type[Simulator]] = {
    name: one.simulator for name, one in OUTCOMES.items() if one.simulator is not None
}


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedCohort:
    """A simulated cohort and the truth behind it.

    All values are on the raw scale of the structural equations: nothing is standardised.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        The variables. Their column order says nothing about their causal order.
    y : ndarray of shape (n,), int or float
        The diagnosis D, 1 for patients and 0 for controls; whether the event was seen, 1 or 0; or the number.
    errors : ndarray of shape (n, p)
        Each patient's exogenous errors, ``X = errors + X @ adjacency.T``. Their means are zero.
    true_shapley : ndarray of shape (n, p)
        ``errors * effects``, the log-odds that each error adds (Proposition 1 of the paper); the log-hazard,
        or what it adds to the number, for the other outcomes.
    effects : ndarray of shape (p,)
        Total effect of each error on the same; exactly zero for non-ancestors of D.
    target_weights : ndarray of shape (p,)
        Direct effects on D: its log-odds are ``X @ target_weights + intercept``, as are log-hazards and
        expected numbers. Zero for non-parents.
    adjacency_sparse : csr_array of shape (p, p)
        The graph among the columns of X; ``[i, j]`` is the direct effect of j on i.
    feature_names : tuple of str
        Names of the columns of X.
    target_name : str
        Name of the outcome.
    intercept : float
        Log-odds of D where all variables are zero: zero, unless a prevalence was asked for.
    time : ndarray of shape (n,), or None
        When the event was seen, or the patient was last seen without it; None unless the outcome is survival.
    event : ndarray of shape (n,), bool, or None
        Which of the two; likewise.
    """

    X: F64
    y: NDArray[Any]
    errors: F64
    true_shapley: F64
    effects: F64
    target_weights: F64
    adjacency_sparse: csr_array
    feature_names: tuple[str, ...]
    target_name: str
    intercept: float = 0.0
    time: F64 | None = None
    event: NDArray[np.bool_] | None = None

    @property
    def adjacency(self) -> F64:
        """The graph as a dense (p, p) array, made anew at each access: 3.2 GB at 20,000 columns."""
        dense: F64 = self.adjacency_sparse.toarray()
        return dense


def simulate(
    n_samples: int = 1000,
    n_variables: int = 10,
    *,
    expected_neighbors: float = 2.0,
    random_state: RandomState = None,
    design: Literal["cohort", "case-control"] = "cohort",
    prevalence: float | None = None,
    outcome: Literal["binary", "survival", "continuous"] = "binary",
    events: float | None = None,
) -> SimulatedCohort:
    """Draw a cohort from the paper's generator (Section 8.1.1).

    A random directed acyclic graph joins `n_variables` vertices; each pair has an edge with probability
    ``expected_neighbors / (n_variables - 1)`` (at most one), with a weight uniform on
    [-1, -0.25] and [0.25, 1]. Each error follows Student's t with five degrees of freedom, a chi-square
    with three degrees of freedom less its mean, or the uniform distribution on (-1, 1), chosen with equal
    chance. D is drawn from the vertices that have parents and no children; it is a Bernoulli variable whose
    log-odds are the weighted sum of its parents, without an intercept. The other vertices become the columns
    of X in random order.

    A draw without any edge, or with fewer than two rows in a class, is thrown away as a whole and drawn
    again: the cohort follows the paper's model given that D has a parent and both classes two rows.

    Beyond the paper, D may be as rare as in life, and its cases sampled apart: with a `prevalence`, an
    intercept makes that share of the population ill; the ``"case-control"`` design then takes the first
    ``n_samples / 2`` cases and as many controls out of the population, in random order. The truth is that
    of the population, for these rows.

    Nor need D be a diagnosis. The same weighted sum of its parents may be the logarithm of a constant hazard:
    then there is the time to an event, cut short where follow-up ends, which is uniform on (0, c] and
    independent of all else, c being such that the share `events` of the population is seen to have the event.
    Or D may be a number, which is that sum and an error of its own, of one of the three distributions: a
    vertex like any other, of whose variance the variables explain about half in the median cohort.

    Parameters
    ----------
    n_samples : int, default 1000
        Number of patients and controls together, at least 4.
    n_variables : int, default 10
        Number of vertices, D among them, at least 2; X has one column less.
    expected_neighbors : float, default 2.0
        Expected number of parents and children of a vertex, the paper's E(N).
    random_state : int, SeedSequence, BitGenerator, Generator or None
        Anything that :func:`numpy.random.default_rng` takes. The same seed gives the same cohort.
    design : {"cohort", "case-control"}, default "cohort"
        Rows as they come, or as many cases as controls, which needs a prevalence.
    prevalence : float in (0, 1), default None
        Share of the population with the disease. None leaves the paper's log-odds, without an intercept.
    outcome : {"binary", "survival", "continuous", "ordinal", "count"}, default "binary"
        What D is. Designs and a prevalence are those of a diagnosis. Of four stages, each is as common as the
        others; of counts, two events are expected of a patient whose variables are all zero.
    events : float in (0, 1), default None
        Share of the population whose event is seen, for ``outcome="survival"``; None is 0.62.

    Returns
    -------
    SimulatedCohort

    Raises
    ------
    InputError
        An argument is out of range, or a thousand draws gave no usable cohort.

    Examples
    --------
    >>> cohort = simulate(n_samples=200, n_variables=10, random_state=0)
    >>> cohort.X.shape
    (200, 9)
    >>> cohort = simulate(n_samples=200, n_variables=10, random_state=0, outcome="survival", events=0.35)
    >>> cohort.time.shape, int(cohort.event.sum())
    ((200,), 83)
    """
    n_samples = integer_of_at_least(2 * ROWS_PER_CLASS, n_samples, "n_samples")
    n_variables = integer_of_at_least(2, n_variables, "n_variables")
    if not (math.isfinite(expected_neighbors) and expected_neighbors > 0):
        raise InputError(f"expected_neighbors must be a positive number, not {expected_neighbors}")
    _check_design(design, prevalence, n_samples)
    _check_outcome(outcome, events, design, prevalence)
    simulator, asked = SIMULATORS[outcome], Asked(design, prevalence, events)
    edge_probability = min(1.0, expected_neighbors / (n_variables - 1))
    rng = np.random.default_rng(random_state)

    for _ in range(MAX_DRAWS):
        graph = draw_graph(n_variables, edge_probability, rng)
        if graph.nnz == 0:
            continue
        cohort = _draw_cohort(graph, n_samples, partial(simulator.of, asked=asked), rng)
        if not simulator.has_classes or np.bincount(cohort.y, minlength=2).min() >= ROWS_PER_CLASS:
            return cohort
    share = simulator.rescue if prevalence is None else ", or the prevalence"
    raise InputError(
        f"{MAX_DRAWS} draws gave no graph with an edge and {ROWS_PER_CLASS} rows in each class: "
        "raise expected_neighbors or n_samples" + share
    )


def _check_design(design: str, prevalence: float | None, n_samples: int) -> None:
    if design not in list(DESIGNS):
        raise InputError(f"unknown design {design!r}: choose one of {', '.join(DESIGNS)}")
    if prevalence is not None and not (isinstance(prevalence, Real) and 0.0 < prevalence < 1.0):
        raise InputError(f"prevalence must be a share between 0 and 1, not {prevalence!r}")
    if design == "cohort":
        return
    if prevalence is None:
        raise InputError("design='case-control' needs the prevalence of the disease in the population")
    if n_samples % 2:
        raise InputError(f"half of the rows are cases, so n_samples must be even, not {n_samples}")
    if n_samples / 2 > MOST_ROWS * min(prevalence, 1.0 - prevalence):
        raise InputError(
            f"{n_samples // 2} patients of the rarer class take a population of more than {MOST_ROWS:,}: "
            "lower n_samples, or choose a prevalence nearer to a half"
        )


def _check_outcome(outcome: str, events: float | None, design: str, prevalence: float | None) -> None:
    if outcome not in list(SIMULATORS):
        raise InputError(f"unknown outcome {outcome!r}: choose one of {', '.join(SIMULATORS)}")
    asked = {"prevalence": prevalence, "design": None if design == DESIGNS[0] else design, "events": events}
    for name, value in asked.items():
        if value is not None and name not in SIMULATORS[outcome].takes:
            owner = next(kind for kind, one in SIMULATORS.items() if name in one.takes)
            raise InputError(f"{name} belongs to outcome={owner!r}, not to {outcome!r}: leave it out")
    if events is not None and not (isinstance(events, Real) and 0.0 < events < 1.0):
        raise InputError(f"events must be a share between 0 and 1, not {events!r}")


def draw_graph(n_variables: int, edge_probability: float, rng: np.random.Generator) -> csr_array:
    """Draw a lower triangular matrix of weights; ``[i, j]`` is the effect of j on i, so j < i.

    It is the transpose of the paper's theta.
    """
    # A binomial count of distinct pairs is the same law as one coin per pair, without the 200 million
    # coins of 20,000 variables.
    n_pairs = n_variables * (n_variables - 1) // 2
    n_edges = rng.binomial(n_pairs, edge_probability)
    pair = rng.choice(n_pairs, size=n_edges, replace=False, shuffle=False)
    # Pairs are numbered row by row of the lower triangle; row i starts at i (i - 1) / 2.
    child = ((1 + np.sqrt(8 * pair + 1)) / 2).astype(np.int64)
    parent = pair - child * (child - 1) // 2
    weight = rng.uniform(SMALLEST_WEIGHT, LARGEST_WEIGHT, n_edges) * rng.choice([-1.0, 1.0], n_edges)
    # SciPy 1.14 to 1.17.0 solve triangular systems with 32-bit indices only.
    places = child.astype(np.int32), parent.astype(np.int32)
    return csr_array((weight, places), shape=(n_variables, n_variables))


def _draw_cohort(
    graph: csr_array,
    n_samples: int,
    outcome_of: Callable[[Population], Simulator],
    rng: np.random.Generator,
) -> SimulatedCohort:
    """Choose D in a graph with at least one edge, and draw errors, variables and D."""
    n_parents = np.diff(graph.indptr)
    n_children = np.bincount(graph.indices, minlength=graph.shape[0])
    target = rng.choice(np.flatnonzero((n_parents > 0) & (n_children == 0)))
    others = np.delete(np.arange(graph.shape[0]), target)
    target_weights = graph[[target]][:, others].toarray().ravel()
    graph = graph[others][:, others]
    system = eye_array(len(others), format="csr") - graph
    effects = spsolve_triangular(system.T.tocsr(), target_weights, lower=False, unit_diagonal=True)
    ancestors = np.flatnonzero(effects)

    family = rng.integers(FAMILIES, size=len(others))
    outcome = outcome_of(Population(family[ancestors], effects[ancestors], rng))
    errors = draw_errors(n_samples, family, rng)
    if isinstance(outcome, CaseControl):
        # Errors of other variables are independent of D: no need to draw them for all of the population.
        errors[:, ancestors], drawn = outcome.choose(n_samples)
    X = spsolve_triangular(system, errors.T, lower=True, unit_diagonal=True).T
    if not np.isfinite(X).all():
        raise InputError(
            "the variables overflow along the paths of so dense a graph: lower expected_neighbors"
        )
    if not isinstance(outcome, CaseControl):
        drawn = outcome.draw(X @ target_weights)

    order = rng.permutation(len(others))
    # take, unlike indexing, keeps rows contiguous.
    errors, effects = errors.take(order, axis=1), effects[order]
    true_shapley = np.zeros_like(errors)
    ancestors = np.flatnonzero(effects)
    true_shapley[:, ancestors] = errors[:, ancestors] * effects[ancestors]
    return SimulatedCohort(
        X=X.take(order, axis=1),
        y=drawn.y,
        errors=errors,
        true_shapley=true_shapley,
        effects=effects,
        target_weights=target_weights[order],
        adjacency_sparse=graph[order][:, order],
        feature_names=tuple(f"x{column}" for column in range(len(order))),
        target_name=outcome.name,
        intercept=outcome.intercept,
        time=drawn.time,
        event=drawn.event,
    )


def integer_of_at_least(smallest: int, value: int, name: str) -> int:
    try:
        value = operator.index(value)
    except TypeError:
        raise InputError(f"{name} must be an integer, not {value!r}") from None
    if value < smallest:
        raise InputError(f"{name} must be at least {smallest}, not {value}")
    return value
