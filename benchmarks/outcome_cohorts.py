"""Cohorts with a time to an event or a number, in which all is well or one thing is wrong.

    cohort = OF_TIMES["crossing"].draw(Drawn.of("numbers", n=500, p=10, seed=0))
    model = RCISurvival(kinds=cohort.kinds).fit(cohort.X, *cohort.known)

Choose thresholds on seeds below 1,000: `benchmarks/outcome_checks.py` measures on 30,000 and above.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from clean_cohorts import World, unit, with_holes
from scipy.optimize import brentq

from rootcausal.data import simulate
from rootcausal.diagnostics import Check

# Of them half have the event.
EVENTS = 0.5
# Powers of time: only ranks of times count, and horizons.
SHAPES = (0.7, 1.0, 1.5)


@dataclass(frozen=True)
class Drawn:
    """One world of the paper's generator, and dice for what comes after.

    Attributes
    ----------
    table : (n, q) what a user sees.
    acting : (n,) what the direct causes of the outcome add up to, about its mean.
    strongest : that among them which moves it most, a column.
    of_strongest : (n,) what it adds, about its mean.
    kinds : for ``kinds=...``: which columns are nominal.
    rng : the dice.
    """

    table: np.ndarray
    acting: np.ndarray
    strongest: int
    of_strongest: np.ndarray
    kinds: dict[str | int, str]
    rng: np.random.Generator

    @classmethod
    def of(cls, kind: str, n: int, p: int, seed: int) -> Drawn:
        rng = np.random.default_rng([seed, 61])
        cohort = simulate(n, p, random_state=[seed, 16])
        world = World(kind, cohort, rng)
        X, acting = world.solve(world.errors)
        added = X * cohort.target_weights
        strongest = int(added.std(axis=0).argmax())
        table = world.table(X, rng)
        return cls(
            with_holes(table, rng) if kind == "missing" else table,
            acting - acting.mean(),
            strongest,
            added[:, strongest] - added[:, strongest].mean(),
            {f"x{column}": "nominal" for column in world.nominal},
            rng,
        )

    @property
    def n(self) -> int:
        return len(self.table)

    def noise(self) -> np.ndarray:
        """(n,) of one of the paper's three laws."""
        laws = (
            self.rng.standard_t(5, self.n),
            self.rng.chisquare(3, self.n) - 3.0,
            self.rng.uniform(-1.0, 1.0, self.n),
        )
        return laws[self.rng.integers(len(laws))]

    def with_column(self, values: np.ndarray) -> np.ndarray:
        return np.column_stack([self.table, values])

    def cohort(self, known: tuple[np.ndarray, ...], X: np.ndarray | None = None, *fault: int) -> Cohort:
        names = frozenset(f"x{column}" for column in fault)
        return Cohort(self.table if X is None else X, known, self.kinds, names)


@dataclass(frozen=True)
class Cohort:
    """Patients, and what is wrong with them.

    Attributes
    ----------
    X : (n, q).
    known : what fit takes beside X: time and event, or y.
    kinds : which columns are nominal.
    fault : columns concerned, by name; none where nothing is wrong, or no column is.
    """

    X: np.ndarray
    known: tuple[np.ndarray, ...]
    kinds: dict[str | int, str]
    fault: frozenset[str]


@dataclass(frozen=True)
class Fault:
    """What is wrong, how such a cohort is drawn, and which checks should say so."""

    meaning: str
    draw: Callable[[Drawn], Cohort]
    checks: tuple[str, ...] = ()


def speaks(fault: Fault, checks: Mapping[str, Check]) -> list[Check]:
    """The checks that should speak and say doubtful or broken."""
    return [
        checks[name]
        for name in fault.checks
        if name in checks and checks[name].verdict in ("doubtful", "broken")
    ]


def names_it(fault: Fault, cohort: Cohort, checks: Mapping[str, Check]) -> bool:
    """Whether one of those also names the column, where one is concerned."""
    return any(not cohort.fault or cohort.fault & set(check.variables) for check in speaks(fault, checks))


def event_times(drawn: Drawn, log_hazard: np.ndarray) -> np.ndarray:
    return drawn.rng.exponential(1.0, drawn.n) * np.exp(-log_hazard)


def followed(
    drawn: Drawn, time: np.ndarray, leaving: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Times and events of patients who come in one after the other, and of whom some leave early.

    ``leaving`` (n,) is the log-hazard of leaving early, of who leaves for a reason; nobody stays until an end
    then.
    """
    early = 1.5 * drawn.rng.exponential(1.0, drawn.n)
    last = np.minimum(early, drawn.rng.uniform(0.3, 1.0, drawn.n))
    if leaving is not None:
        last = early * np.exp(-leaving)

    def too_many(log_scale: float) -> float:
        return float((time <= np.exp(log_scale) * last).mean()) - EVENTS

    low, high = np.log(time.min()) - 10.0, np.log(time.max()) + 20.0
    last = last * np.exp(brentq(too_many, low, high, xtol=1e-3))
    shape = SHAPES[drawn.rng.integers(len(SHAPES))]
    return np.minimum(time, last) ** shape, (time <= last).astype(float)


def clean_times(drawn: Drawn) -> Cohort:
    return drawn.cohort(followed(drawn, event_times(drawn, drawn.acting)))


def crossing(drawn: Drawn) -> Cohort:
    before, after = np.exp(drawn.acting), np.exp(drawn.acting - 2.0 * drawn.of_strongest)
    due = drawn.rng.exponential(1.0, drawn.n)
    middle = brentq(lambda m: float((due < before * m).mean()) - EVENTS / 2.0, 0.0, 1e9)
    time = np.where(due < before * middle, due / before, middle + (due - before * middle) / after)
    return drawn.cohort(followed(drawn, time), None, drawn.strongest)


def leaving(drawn: Drawn) -> Cohort:
    time = event_times(drawn, drawn.acting)
    return drawn.cohort(followed(drawn, time, unit(drawn.of_strongest)), None, drawn.strongest)


def leaked_time(drawn: Drawn) -> Cohort:
    time, event = followed(drawn, event_times(drawn, drawn.acting))
    leak = 365.0 * time * drawn.rng.lognormal(0.0, 0.05, drawn.n)
    return drawn.cohort((time, event), drawn.with_column(leak), drawn.table.shape[1])


def leaked_event(drawn: Drawn) -> Cohort:
    time, event = followed(drawn, event_times(drawn, drawn.acting))
    leak = np.where(drawn.rng.random(drawn.n) < 0.02, 1.0 - event, event)
    return drawn.cohort((time, event), drawn.with_column(leak), drawn.table.shape[1])


def parabola(drawn: Drawn) -> np.ndarray:
    """(n,) what acts if the strongest cause does so by the square of its distance from the mean."""
    added = drawn.of_strongest
    return drawn.acting - added + unit(added**2) * added.std()


def bent_hazard(drawn: Drawn) -> Cohort:
    return drawn.cohort(followed(drawn, event_times(drawn, parabola(drawn))), None, drawn.strongest)


def misprinted(drawn: Drawn) -> np.ndarray:
    X = drawn.table.copy()
    X[drawn.rng.integers(drawn.n), drawn.strongest] = 100.0 * np.abs(X[:, drawn.strongest]).mean()
    return X


def misprint_in_times(drawn: Drawn) -> Cohort:
    known = followed(drawn, event_times(drawn, drawn.acting))
    return drawn.cohort(known, misprinted(drawn), drawn.strongest)


def number(drawn: Drawn) -> np.ndarray:
    return drawn.acting + drawn.noise()


def clean_number(drawn: Drawn) -> Cohort:
    return drawn.cohort((number(drawn),))


def uneven(drawn: Drawn) -> Cohort:
    wide = 2.0 ** unit(drawn.acting)
    return drawn.cohort((drawn.acting + drawn.noise() * wide,))


def bent_number(drawn: Drawn) -> Cohort:
    return drawn.cohort((parabola(drawn) + drawn.noise(),), None, drawn.strongest)


def exponential(drawn: Drawn) -> Cohort:
    return drawn.cohort((np.exp(unit(number(drawn))),))


def copied(drawn: Drawn) -> Cohort:
    y = number(drawn)
    leak = 32.0 + 1.8 * (y + 0.05 * y.std() * drawn.rng.standard_normal(drawn.n))
    return drawn.cohort((y,), drawn.with_column(leak), drawn.table.shape[1])


def effect(drawn: Drawn) -> Cohort:
    y = number(drawn)
    return drawn.cohort((y,), drawn.with_column(unit(drawn.noise()) + unit(y)), drawn.table.shape[1])


def misprint_in_numbers(drawn: Drawn) -> Cohort:
    return drawn.cohort((number(drawn),), misprinted(drawn), drawn.strongest)


def misprinted_number(drawn: Drawn) -> Cohort:
    y = number(drawn)
    y[drawn.rng.integers(drawn.n)] = 100.0 * np.abs(y).mean()
    return drawn.cohort((y,))


NOTHING = "nothing is wrong"
PARABOLA = "the strongest cause acts by the square of its distance from the mean, as much as before"
MISPRINT = "one value of the strongest cause is a hundred times too large"
OF_TIMES = {
    "clean": Fault(NOTHING, clean_times),
    "crossing": Fault(
        "the effect of the strongest cause has the other sign from the median event on",
        crossing,
        ("proportional_hazards",),
    ),
    "leaving": Fault(
        "with one sd more of what the strongest cause adds, patients leave e times as soon",
        leaving,
        ("follow_up",),
    ),
    "leaked_time": Fault("a column is the time of follow-up, but for 5 %", leaked_time, ("gives_away",)),
    "leaked_event": Fault(
        "a column of zeros and ones says who had the event, but for 2 %", leaked_event, ("gives_away",)
    ),
    "parabola": Fault(PARABOLA, bent_hazard, ("straight",)),
    "misprint": Fault(MISPRINT, misprint_in_times, ("influence", "in_range")),
}
OF_NUMBERS = {
    "clean": Fault(NOTHING, clean_number),
    "uneven": Fault("the spread doubles with each sd of the expected value", uneven, ("even_spread",)),
    "parabola": Fault(PARABOLA, bent_number, ("straight",)),
    "exponential": Fault(
        "the number is the exponential of cause and error, which together have unit variance",
        exponential,
        ("straight", "calibrated", "even_spread"),
    ),
    "copy": Fault("a column is the number in another unit, but for 5 % of its sd", copied, ("gives_away",)),
    "effect": Fault("a column is its error and, as much, the number", effect, ("terminal", "gives_away")),
    "misprint": Fault(MISPRINT, misprint_in_numbers, ("influence", "in_range")),
    "misprinted_number": Fault(
        "one of the numbers is a hundred times too large", misprinted_number, ("influence",)
    ),
}
