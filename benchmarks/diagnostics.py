"""How often do the checks cry wolf, and how often do they see an assumption that is broken?

    python benchmarks/diagnostics.py               # 200 draws of each kind at n = 2,000, p = 10
    python benchmarks/diagnostics.py --render      # only rewrite the table from the rows at hand

Thresholds were chosen on seeds below 1,000; these are 30,000 and above.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
from scipy.special import expit

from rootcausal import RCI, __version__
from rootcausal.data import simulate
from rootcausal.diagnostics.confounding import cross_moment_tests
from rootcausal.diagnostics.equal_responses import product_tests
from rootcausal.diagnostics.evidence import fit_plain
from rootcausal.diagnostics.gaussianity import gaussian_p_values
from rootcausal.diagnostics.independence import pairwise_tests
from rootcausal.diagnostics.linearity import curvature_tests
from rootcausal.diagnostics.link import calibration
from rootcausal.diagnostics.rank_scores import smallest_of_many
from rootcausal.diagnostics.terminal import bend_tests

N_ROWS, N_VARIABLES = 2000, 10
FIRST_SEED = 30_000
DRAWS = 200
# A level is told to within 0.7 %.
TRUE_ERROR_DRAWS = 1000
CHECKS = (
    "non_gaussian",
    "independent",
    "linear",
    "unconfounded",
    "in_range",
    "same_mechanism",
    "terminal",
    "calibrated",
    "influence",
)
# What is broken, and the check that should say so.
SCENARIOS = {
    "clean": "",
    "gaussian": "non_gaussian",
    "confounder": "unconfounded",
    "quadratic": "linear",
    "flipped": "same_mechanism",
    "effect_of_d": "terminal",
    "confounder_raw": "unconfounded",
    "quadratic_raw": "linear",
    "flipped_raw": "same_mechanism",
}
MEANING = {
    "clean": "the paper's generator",
    "gaussian": "all errors Gaussian (half: half of each error's variance is)",
    "confounder": "a hidden variable adds one sd of their error to two ancestors of D (half: half)",
    "quadratic": "an edge between ancestors is a parabola that adds one sd of the error (half: half)",
    "flipped": "an edge between ancestors that adds one sd of the effect's error has the other sign in cases "
    "(half: half)",
    "effect_of_d": "a column is its error plus D times one sd of it (half: half)",
    "confounder_raw": "a hidden variable with one of the generator's laws and a coefficient of 1 on the raw "
    "scale, where errors have sds from 0.6 to 2.4: often a small part of what it moves (half: 0.5)",
    "quadratic_raw": "the edge keeps the variance that its raw weight, 0.25 to 1, gave it as a line",
    "flipped_raw": "the edge keeps its weight of 0.25 to 1 on the raw scale",
}
FOLDER = Path(__file__).parent.parent / "results" / "diagnostics"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--render", action="store_true", help="only render what is there")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    if not arguments.render:
        run(arguments.out, range(arguments.first_seed, arguments.first_seed + arguments.draws))
    text = render(read(arguments.out / "rows.csv"), read(arguments.out / "true_errors.csv"))
    (arguments.out / "README.md").write_text(text, encoding="utf-8")


def run(folder: Path, seeds: range) -> None:
    for seed in range(seeds.start, seeds.start + TRUE_ERROR_DRAWS):
        append(folder / "true_errors.csv", seed, lambda seed=seed: true_error_p_values(seed))
    for seed in seeds:
        for scenario in SCENARIOS:
            for strength in (1.0, 0.5) if scenario != "clean" else (1.0,):
                append(
                    folder / "rows.csv",
                    f"{scenario} {strength:g} {seed}",
                    lambda s=scenario, a=strength, seed=seed: diagnose(s, a, seed),
                )


def append(path: Path, key: object, make) -> None:
    """Add the row unless it is there already."""
    if not path.exists():
        path.touch()
    known = append.known.setdefault(path, {line.split(",")[0] for line in path.read_text().splitlines()})
    if str(key) not in known:
        with path.open("a", newline="", encoding="utf-8") as handle:
            csv.writer(handle).writerow([key, *make()])


append.known = {}


def diagnose(scenario: str, strength: float, seed: int) -> list[str]:
    """For each check its verdict, number and p-value."""
    X, y = draw(scenario, strength, np.random.default_rng([seed, 1]), seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        checks = {check.name: check for check in RCI().fit(X, y).diagnose(X, y).checks}
    cells = []
    for name in CHECKS:
        check = checks[name]
        p_value = "" if check.p_value is None else f"{check.p_value:.3g}"
        cells.append(f"{check.verdict} {check.number:.3g} {p_value}".strip())
    return cells


def draw(scenario: str, strength: float, rng: np.random.Generator, seed: int):
    """A cohort in which one assumption is broken, or none."""
    cohort, graph, ancestors = draw_graph(scenario, rng, seed)
    errors = cohort.errors.copy()
    sd = errors.std(axis=0)
    if scenario == "gaussian":
        noise = rng.standard_normal(errors.shape) * sd
        errors = np.sqrt(strength) * noise + np.sqrt(1.0 - strength) * errors
    kind, raw = scenario.removesuffix("_raw"), scenario.endswith("_raw")
    if kind == "confounder":
        hidden = hidden_cause(rng)
        for column in rng.choice(ancestors, 2, replace=False):
            errors[:, column] += strength * (hidden if raw else sd[column] * unit(hidden))
    if kind in ("quadratic", "flipped"):
        edges = np.argwhere(graph[np.ix_(ancestors, ancestors)])
        effect, cause = ancestors[edges[rng.integers(len(edges))]]
        size = strength * (graph[effect, cause] * cohort.X[:, cause].std() if raw else sd[effect])
        graph[effect, cause] = 0.0
        bend = (lambda x: unit(x**2)) if kind == "quadratic" else unit
        X = solve(graph, errors, extra=(effect, cause, lambda x: size * bend(x)))
        y = (rng.random(N_ROWS) < expit(X @ cohort.target_weights)).astype(int)
        if kind == "flipped":
            sign = np.where(y == 1, -1.0, 1.0)
            X = solve(graph, errors, extra=(effect, cause, lambda x: size * sign * unit(x)))
        return X, y
    X = solve(graph, errors)
    y = (rng.random(N_ROWS) < expit(X @ cohort.target_weights)).astype(int)
    if scenario == "effect_of_d":
        leaf = rng.choice(leaves(graph, ancestors))
        X[:, leaf] = errors[:, leaf] + strength * sd[leaf] * y
    return X, y


def draw_graph(scenario: str, rng: np.random.Generator, seed: int):
    """The first cohort from this seed on that has what the scenario needs."""
    for attempt in range(1000):
        cohort = simulate(N_ROWS, N_VARIABLES, random_state=[seed, attempt])
        graph, ancestors = cohort.adjacency, np.flatnonzero(cohort.effects)
        enough = {
            "confounder": len(ancestors) >= 2,
            "quadratic": graph[np.ix_(ancestors, ancestors)].any(),
            "flipped": graph[np.ix_(ancestors, ancestors)].any(),
            "effect_of_d": len(leaves(graph, ancestors)) > 0,
        }
        if enough.get(scenario.removesuffix("_raw"), True):
            return cohort, graph, ancestors
    raise AssertionError("no graph has what the scenario needs")


def leaves(graph: np.ndarray, ancestors: np.ndarray) -> np.ndarray:
    return np.setdiff1d(np.flatnonzero(~graph.any(axis=0)), ancestors)


def hidden_cause(rng: np.random.Generator) -> np.ndarray:
    """One of the generator's three distributions."""
    kind = rng.integers(3)
    if kind == 0:
        return rng.standard_t(5, N_ROWS)
    return rng.chisquare(3, N_ROWS) if kind == 1 else rng.uniform(-1, 1, N_ROWS)


def unit(x: np.ndarray) -> np.ndarray:
    return (x - x.mean()) / x.std()


def solve(graph: np.ndarray, errors: np.ndarray, extra=None) -> np.ndarray:
    """X = errors + X @ graph.T, plus extra = (effect, cause, function of the cause)."""
    X = np.zeros_like(errors)
    for _ in range(graph.shape[0] + 1):
        X = errors + X @ graph.T
        if extra is not None:
            effect, cause, function = extra
            if X[:, cause].std() > 0:
                X[:, effect] += function(X[:, cause])
    return X


def true_error_p_values(seed: int) -> list[str]:
    """P-values of every test on true errors, which break nothing."""
    cohort = simulate(N_ROWS, N_VARIABLES, random_state=[seed, 0])
    errors = unit_columns(cohort.errors)
    fit = fit_plain(errors, cohort.y)
    gaussian = np.random.default_rng([seed, 2]).standard_normal((N_ROWS, 1))
    p_values = {
        "non_gaussian": float(gaussian_p_values(gaussian)[0]),
        "independent": pairwise_tests(errors).p_value,
        "unconfounded": cross_moment_tests(errors).p_value,
        "linear": smallest_of_many(curvature_tests(errors)[0]),
        "same_mechanism": smallest_of_many(product_tests(errors, cohort.y, fit)[0]),
        "terminal": smallest_of_many(bend_tests(errors, cohort.y, fit)[0]),
        "calibrated": calibration(fit.risk, cohort.y)[0],
    }
    return [f"{name} {p:.3g}" for name, p in p_values.items()]


def unit_columns(values: np.ndarray) -> np.ndarray:
    return (values - values.mean(axis=0)) / values.std(axis=0)


def read(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as handle:
        return list(csv.reader(handle))


def render(rows: list[list[str]], true_rows: list[list[str]]) -> str:
    lines = [
        "# What the diagnostics see",
        "",
        f"Made by `python benchmarks/diagnostics.py` with rootcausal {__version__}: n = {N_ROWS:,}, "
        f"p = {N_VARIABLES} (D among them), seeds {FIRST_SEED} and above. `rows.csv` has one line a draw "
        "with each check's verdict, number and p-value.",
        "",
        "## Share of draws in which a check says doubtful or broken (broken)",
        "",
        "| broken assumption | draws | " + " | ".join(CHECKS) + " | any |",
        "|---|---|" + "---|" * (len(CHECKS) + 1),
    ]
    for scenario, matching in SCENARIOS.items():
        for strength in ("1", "0.5"):
            of_kind = [row[1:] for row in rows if row[0].split()[:2] == [scenario, strength]]
            if of_kind:
                name = scenario if strength == "1" else f"{scenario}, half"
                lines.append(f"| {name} | {len(of_kind)} | {verdict_cells(of_kind, matching)} |")
    lines += ["", *(f"- *{scenario}*: {meaning}." for scenario, meaning in MEANING.items()), ""]
    lines += ["## Share of clean draws in which a test on the *true* errors rejects at 5 %", ""]
    lines += ["| test | rejects |", "|---|---|"]
    for place in range(1, len(true_rows[0])):
        name = true_rows[0][place].split()[0]
        p_values = np.array([float(row[place].split()[1]) for row in true_rows])
        error = np.sqrt(0.05 * 0.95 / p_values.size)
        lines.append(f"| {name} | {np.mean(p_values < 0.05):.1%} of {p_values.size} (± {error:.1%}) |")
    lines += [
        "",
        "`non_gaussian` is tested on Gaussian errors, where it should not reject.",
    ]
    return "\n".join(lines) + "\n"


def verdict_cells(rows: list[list[str]], matching: str) -> str:
    verdicts = np.array([[cell.split()[0] for cell in row] for row in rows])
    flagged, broken = verdicts != "fine", verdicts == "broken"
    cells = []
    for place, name in enumerate(CHECKS):
        text = f"{flagged[:, place].mean():.0%} ({broken[:, place].mean():.0%})"
        cells.append(f"**{text}**" if name == matching else text)
    cells.append(f"{flagged.any(axis=1).mean():.0%} ({broken.any(axis=1).mean():.1%})")
    return " | ".join(cells)


if __name__ == "__main__":
    main()
