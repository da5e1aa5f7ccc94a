"""Cohorts in which one assumption is broken hard, or none, and what a diagnosis should say of them.

    cohort = draw("binary", "confounder", n=2000, p=10, seed=0)
    diagnosis = RCI(kinds=cohort.kinds).fit(cohort.X, cohort.y).diagnose(cohort.X, cohort.y)
    names_it(cohort, {check.name: check for check in diagnosis.checks})

Choose thresholds on seeds below 1,000: `benchmarks/diagnostics.py` measures on 30,000 and above.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from clean_cohorts import KINDS, Edge, World, unit, with_holes

from rootcausal.data import simulate
from rootcausal.diagnostics import Check


@dataclass(frozen=True)
class Scenario:
    """What is broken, and which checks should say so.

    Attributes
    ----------
    meaning : in words.
    checks : one of these should speak; none of a clean cohort.
    any_column : several columns are broken, and it is enough to name one of them first.
    not_of : kinds in which it cannot be, or is nothing new.
    """

    meaning: str
    checks: tuple[str, ...] = ()
    any_column: bool = False
    not_of: tuple[str, ...] = ()


LEAK_CHECKS = ("gives_away", "terminal")
SCENARIOS = {
    "clean": Scenario("nothing is broken"),
    "gaussian": Scenario(
        "the errors of all numbers are Gaussian (half: half of their variance is)",
        ("non_gaussian",),
        any_column=True,
        not_of=("skewed",),
    ),
    "confounder": Scenario(
        "a hidden variable adds one sd of their error to two ancestors of D (half: half)", ("unconfounded",)
    ),
    "confounder_raw": Scenario(
        "a hidden variable with one of the generator's laws and a coefficient of 1 on the raw scale, where "
        "errors have sds from 0.6 to 2.4: often a small part of what it moves (half: 0.5)",
        ("unconfounded",),
    ),
    "quadratic": Scenario(
        "an edge between ancestors is a parabola that adds one sd of the error (half: half)", ("linear",)
    ),
    "flipped": Scenario(
        "an edge between ancestors that adds one sd of the effect's error has the other sign in cases "
        "(half: half)",
        ("same_mechanism",),
    ),
    "effect_of_d": Scenario("a column is its error plus D times one sd of it (half: half)", LEAK_CHECKS),
    "time_to_event": Scenario(
        "a column is the time to D, or to the end of a follow-up without D", LEAK_CHECKS
    ),
    "defines": Scenario("D is whether a column is above a threshold, but for a little noise", LEAK_CHECKS),
    "binary_effect": Scenario("a column of zeros and ones equals D in 95 % of patients", LEAK_CHECKS),
    "exp": Scenario(
        "half of the numbers are the exponential of what acts, which has unit variance",
        ("logarithm",),
        any_column=True,
        not_of=("counts", "skewed"),
    ),
    "misprint": Scenario("one value of an ancestor is a hundred times too large", ("influence", "in_range")),
}
LEAKS = ("effect_of_d", "time_to_event", "defines", "binary_effect")
WITH_HALF = ("gaussian", "confounder", "confounder_raw", "quadratic", "flipped", "effect_of_d")

ATTEMPTS = 1000
MISPRINT = 100.0


@dataclass(frozen=True)
class Cohort:
    """Patients, and what is broken.

    Attributes
    ----------
    X : (n, p − 1) the table; NaN where a value is missing.
    y : (n,) labels 0 and 1.
    kinds : for ``RCI(kinds=...)``: which columns are nominal.
    scenario : its name.
    columns : names of the columns in which something is broken.
    """

    X: np.ndarray
    y: np.ndarray
    kinds: dict[str | int, str]
    scenario: str
    columns: tuple[str, ...]

    def touches(self, names: Collection[str]) -> bool:
        """Whether a model of these columns has the fault: one without them cannot say anything of it."""
        if self.scenario == "gaussian":  # it matters where one of two acts on the other
            return all(name in names for name in self.columns[:2])
        needed = 1 if SCENARIOS[self.scenario].any_column else len(self.columns)
        return sum(name in names for name in self.columns) >= needed


def speaks(cohort: Cohort, checks: Mapping[str, Check]) -> bool:
    """Whether a check that should speak says doubtful or broken; ``checks`` by their names."""
    return bool(_said(cohort, checks))


def names_it(cohort: Cohort, checks: Mapping[str, Check]) -> bool:
    """Whether such a check also names the columns: all of them, or first one of many."""
    if SCENARIOS[cohort.scenario].any_column:
        return any(set(check.variables[:1]) & set(cohort.columns) for check in _said(cohort, checks))
    return any(set(cohort.columns) <= set(check.variables) for check in _said(cohort, checks))


def cannot_tell(cohort: Cohort, checks: Mapping[str, Check]) -> bool:
    """Whether a check that should speak says that it cannot tell."""
    return any(check.verdict == "cannot tell" for check in _asked(cohort, checks))


def _asked(cohort: Cohort, checks: Mapping[str, Check]) -> list[Check]:
    return [checks[name] for name in SCENARIOS[cohort.scenario].checks if name in checks]


def _said(cohort: Cohort, checks: Mapping[str, Check]) -> list[Check]:
    return [check for check in _asked(cohort, checks) if check.verdict in ("doubtful", "broken")]


def draw(kind: str, scenario: str, n: int, p: int, seed: int, strength: float = 1.0) -> Cohort:
    """The first cohort from this seed on that has what the scenario needs."""
    rng = np.random.default_rng([seed, n, p, list(KINDS).index(kind), list(SCENARIOS).index(scenario)])
    for attempt in range(ATTEMPTS):
        world = World(kind, simulate(n, p, random_state=[seed, attempt]), rng)
        places = _places(scenario, world, rng)
        if places is not None:
            table, y = _cohort(world, scenario, places, strength, rng)
            names = tuple(f"x{place}" for place in places)
            return Cohort(table, y, dict.fromkeys(world.nominal, "nominal"), scenario, names)
    raise AssertionError(f"{ATTEMPTS} graphs have nowhere to break {scenario} in {kind}, p = {p}")


def _places(scenario: str, world: World, rng: np.random.Generator) -> np.ndarray | None:
    """Columns in which to break it, an effect before its cause; None where the graph has no such ones."""
    ancestors = np.flatnonzero(world.numbers & world.ancestor)
    if scenario == "clean":
        return np.array([], dtype=int)
    if scenario in LEAKS:
        leaves = np.flatnonzero(world.numbers & ~world.weights.any(axis=0))
        return rng.choice(leaves, 1) if leaves.size else None
    if scenario in ("gaussian", "quadratic", "flipped", "exp"):
        edges = np.argwhere(world.weights[np.ix_(ancestors, ancestors)])
        if not len(edges):
            return None
        edge = ancestors[edges[rng.integers(len(edges))]]
        if scenario == "gaussian":
            return np.concatenate([edge, np.setdiff1d(np.flatnonzero(world.numbers), edge)])
        return _half_of_numbers(world, rng.choice(edge), rng) if scenario == "exp" else edge
    how_many = 1 if scenario == "misprint" else 2
    return rng.choice(ancestors, how_many, replace=False) if ancestors.size >= how_many else None


def _half_of_numbers(world: World, one: int, rng: np.random.Generator) -> np.ndarray:
    """This one, and as many others as make half of the numbers."""
    others = np.setdiff1d(np.flatnonzero(world.numbers), one)
    return np.append(one, rng.choice(others, (others.size + 1) // 2 - 1, replace=False))


def _cohort(
    world: World, scenario: str, places: np.ndarray, strength: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The table and the labels."""
    errors = _errors(world, scenario, places, strength, rng)
    edge = None
    size = strength * errors.std(axis=0)[places[:1]]
    if scenario == "quadratic":
        edge = Edge(*places, lambda x: size * unit(x**2))
    if scenario == "flipped":
        edge = Edge(*places, lambda x: size * unit(x))
    X, log_odds = world.solve(errors, edge)
    # As good as a coin with these log-odds, and the time to D and what defines D need it.
    latent = log_odds + rng.logistic(size=len(errors))
    y = (latent > 0).astype(int)
    if scenario == "flipped":
        sign = np.where(y == 1, -1.0, 1.0)
        X, _ = world.solve(errors, Edge(*places, lambda x: sign * size * unit(x)))
    if scenario == "time_to_event":
        time, y = _follow_up(latent, rng)
    table = world.table(X, rng)
    if scenario == "effect_of_d":
        table[:, places[0]] = _measured(world, errors[:, places[0]] + size * y)
    if scenario == "time_to_event":
        table[:, places[0]] = _measured(world, time)
    if scenario == "defines":
        noise = 0.05 * latent.std() * rng.standard_normal(latent.size)
        table[:, places[0]] = _measured(world, latent + noise)
    if scenario == "binary_effect":
        table[:, places[0]] = np.where(rng.random(y.size) < 0.05, 1 - y, y)
    if scenario == "exp":
        table[:, places] = np.exp(unit(X[:, places]))
    if world.kind == "missing":
        table = with_holes(table, rng)
    if scenario == "misprint":
        column = table[:, places[0]]
        column[rng.choice(np.flatnonzero(np.abs(column) >= np.nanmedian(np.abs(column))))] *= MISPRINT
    return table, y


def _errors(
    world: World, scenario: str, places: np.ndarray, strength: float, rng: np.random.Generator
) -> np.ndarray:
    errors, sd = world.errors.copy(), world.errors.std(axis=0)
    if scenario == "gaussian":
        noise = sd[places] * rng.standard_normal((len(errors), places.size))
        errors[:, places] = np.sqrt(strength) * noise + np.sqrt(1.0 - strength) * errors[:, places]
    if scenario in ("confounder", "confounder_raw"):
        hidden = _hidden_cause(len(errors), rng)[:, None]
        errors[:, places] += strength * (sd[places] * unit(hidden) if scenario == "confounder" else hidden)
    return errors


def _hidden_cause(n: int, rng: np.random.Generator) -> np.ndarray:
    """One of the generator's three distributions, with mean zero."""
    law = rng.integers(3)
    if law == 0:
        return rng.standard_t(5, n)
    return rng.chisquare(3, n) - 3.0 if law == 1 else rng.uniform(-1, 1, n)


def _follow_up(latent: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The time to D or to the end of a follow-up, and whether D came.

    The odds of D grow with the power 1.5 of time; after one year they are those of the model, and patients
    are followed for half a year to a year and a half.
    """
    until_disease = np.exp(-latent / 1.5)
    until_end = rng.uniform(0.5, 1.5, latent.size)
    return np.minimum(until_disease, until_end), (until_disease <= until_end).astype(int)


def _measured(world: World, values: np.ndarray) -> np.ndarray:
    """In whole numbers, where everything is counted."""
    if world.kind != "counts":
        return values
    counted = np.round(10.0 * unit(values))
    return counted - counted.min()
