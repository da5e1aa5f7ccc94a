"""The page of `benchmarks/diagnostics.py`: what was measured, beside what was wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby

from clean_cohorts import KINDS
from faulty_cohorts import LEAK_CHECKS, LEAKS, SCENARIOS

from rootcausal import __version__

Row = dict[str, object]
CHECKS = (
    "non_gaussian",
    "independent",
    "linear",
    "unconfounded",
    "same_mechanism",
    "terminal",
    "gives_away",
    "logarithm",
    "calibrated",
    "influence",
    "in_range",
    "as_named",
)
MOST_BROKEN, MOST_DOUBTFUL, MOST_FALSE_LEAKS = 0.02, 0.10, 0.02
LEAST_NAMED, LEAST_CANNOT_TELL = 0.90, 0.90
# Of some, more or less is wanted than of the others.
LEAST_NAMED_OF = {"confounder_raw": 0.80, **dict.fromkeys(LEAKS, 0.95)}
# A leak has to be named from so many patients on.
LEAK_ROWS = 500
BLAMED_FROM = 0.005
# A fault in a column that the t-test drops is in no model: another cohort is drawn, up to so many in all.
TRIES = 4


def render(rows: list[Row], true_errors: list[Row]) -> str:
    whole = [row for row in rows if row["strength"] == 1 and not row["failed"]]
    clean = [row for row in whole if row["scenario"] == "clean"]
    hard = [row for row in whole if row["scenario"] != "clean"]
    seeds = [row["seed"] for row in rows]
    failed = sum(bool(row["failed"]) for row in rows)
    lines = [
        "# What the checks see",
        "",
        f"Made by `python benchmarks/diagnostics.py` with rootcausal {__version__} on {len(rows):,} "
        "simulated cohorts of n patients and p variables (D among them), seeds "
        f"{min(seeds, default=0):,.0f} and above. `rows.csv` has one line a cohort, with each check's "
        "verdict by its first letter: fine, cannot tell, doubtful, broken."
        + (f" **{failed} cohorts could not be diagnosed** and are left out." if failed else ""),
        "",
        *goals(clean, hard),
        *clean_section(clean),
        *hard_section(hard),
        *half_section(rows),
        *true_error_section(true_errors),
        "## What is drawn",
        "",
        *(f"- *{kind}*: {meaning}." for kind, meaning in KINDS.items()),
        "",
        "In all kinds, half of the numbers are shifted so that they are above zero. What is broken are "
        "numbers, unless said otherwise:",
        "",
        *(f"- *{name}*: {scenario.meaning}." for name, scenario in SCENARIOS.items()),
    ]
    return "\n".join(lines) + "\n"


def goals(clean: list[Row], hard: list[Row]) -> list[str]:
    lines = [
        "## Goals",
        "",
        "| goal | wanted | over all | worst | where | |",
        "|---|---|---|---|---|---|",
    ]
    for title, limit, share in (
        ("clean: any check broken", MOST_BROKEN, lambda row: any_verdict(row, "b")),
        ("clean: any check doubtful", MOST_DOUBTFUL, lambda row: any_verdict(row, "d")),
        ("clean: a column called a leak", MOST_FALSE_LEAKS, lambda row: any_verdict(row, "db", LEAK_CHECKS)),
    ):
        lines += goal_line(title, clean, ("kind", "n", "p"), share, limit, most=True)
    for name in SCENARIOS:
        held = [row for row in hard if row["scenario"] == name and row["in_model"]]
        if name in LEAKS:
            held = [row for row in held if row["n"] >= LEAK_ROWS]
        title = f"{name}{f', n ≥ {LEAK_ROWS}' if name in LEAKS else ''}: right column named"
        lines += goal_line(title, held, ("kind", "n"), named, least_named(name), most=False)
    silent = [row for row in hard if row["in_model"] and not row["spoke"]]
    title = "not seen: “cannot tell” rather than “fine”"
    lines += goal_line(title, silent, ("scenario",), could_not_tell, LEAST_CANNOT_TELL, most=False)
    return [*lines, ""]


def goal_line(
    title: str,
    rows: list[Row],
    names: tuple[str, ...],
    counts: Callable[[Row], object],
    limit: float,
    *,
    most: bool,
) -> list[str]:
    """A line of the table, for the cells that rows make by these names; none without rows."""
    if not rows:
        return []
    cells = [group for _, group in grouped(rows, *names)]
    shares = [share_of(cell, counts) for cell in cells]
    worst = max(shares) if most else min(shares)
    missed = sum(share > limit if most else share < limit for share in shares)
    verdict = "met" if not missed else f"**missed** in {missed} of {len(cells)}"
    wanted = f"{'≤' if most else '≥'} {limit:.0%} by {', '.join(names)}"
    where = place_of(cells[shares.index(worst)], names)
    return [f"| {title} | {wanted} | {share_of(rows, counts):.1%} | {worst:.1%} | {where} | {verdict} |"]


def place_of(cell: list[Row], names: tuple[str, ...]) -> str:
    form = {"n": "n = {:,.0f}", "p": "p = {:.0f}"}
    return ", ".join(form.get(name, "{}").format(cell[0][name]) for name in names)


def clean_section(clean: list[Row]) -> list[str]:
    if not clean:
        return []
    lines = [
        "## Where nothing is broken",
        "",
        "Share of cohorts in which any check says so, and which checks do: doubtful or broken (broken). Bold "
        f"is above {MOST_BROKEN:.0%} broken or {MOST_DOUBTFUL:.0%} doubtful.",
        "",
        "| kind | n | p | cohorts | broken | doubtful | cannot tell | to blame |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (kind, n, p), cell in grouped(clean, "kind", "n", "p"):
        broken, doubtful, untold = (share_of(cell, lambda row, v=v: any_verdict(row, v)) for v in "bdc")
        lines.append(
            f"| {kind} | {n:,.0f} | {p:.0f} | {len(cell)} | {bold(broken, broken > MOST_BROKEN)} "
            f"| {bold(doubtful, doubtful > MOST_DOUBTFUL)} | {untold:.1%} | {blamed(cell)} |"
        )
    return [*lines, ""]


def blamed(cell: list[Row]) -> str:
    found = []
    for check in CHECKS:
        spoke = share_of(cell, lambda row, check=check: any_verdict(row, "db", (check,)))
        broken = share_of(cell, lambda row, check=check: any_verdict(row, "b", (check,)))
        if spoke >= BLAMED_FROM:
            found.append((spoke, f"{check} {spoke:.1%} ({broken:.1%})"))
    return ", ".join(text for _, text in sorted(found, reverse=True))


def hard_section(hard: list[Row]) -> list[str]:
    if not hard:
        return []
    sizes = sorted({row["n"] for row in hard})
    held = [
        f"{scenario} {sum(row['in_model'] for row in cell) / sum(row['tries'] for row in cell):.0%}"
        for (scenario,), cell in grouped(hard, "scenario")
    ]
    lines = [
        "## Where one assumption is broken hard",
        "",
        "Share of cohorts in which the right check says doubtful or broken and names the right columns, over "
        "all p, of those cohorts whose model holds these columns (their number behind it): what the t-test "
        "dropped is in no finding. Bold is less than wanted. After the bar: of the cohorts in which the "
        "right check said neither, how many it called “cannot tell”.",
        "",
        f"A cohort whose model lacks the columns is drawn again, up to {TRIES - 1} times. Share of models "
        f"that held them: {', '.join(held)}.",
        "",
        "| scenario | right check | kind | " + " | ".join(f"n = {n:,.0f}" for n in sizes) + " |",
        "|---|---|---|" + "---|" * len(sizes),
    ]
    known = dict(grouped(hard, "scenario", "kind", "n"))
    for (scenario, kind), _ in grouped(hard, "scenario", "kind"):
        cells = (hard_cell(scenario, known.get((scenario, kind, n), [])) for n in sizes)
        lines.append(
            f"| {scenario} | {' or '.join(SCENARIOS[scenario].checks)} | {kind} | {' | '.join(cells)} |"
        )
    return [*lines, ""]


def hard_cell(scenario: str, rows: list[Row]) -> str:
    held = [row for row in rows if row["in_model"]]
    if not held:
        return "–"
    share = share_of(held, named)
    silent = [row for row in held if not row["spoke"]]
    untold = f" \\| {sum(bool(could_not_tell(row)) for row in silent)} of {len(silent)}" if silent else ""
    return f"{bold(share, share < least_named(scenario), digits=0)} of {len(held)}{untold}"


def half_section(rows: list[Row]) -> list[str]:
    half = [row for row in rows if row["strength"] == 0.5 and not row["failed"] and row["in_model"]]
    if not half:
        return []
    n, p = half[0]["n"], half[0]["p"]
    lines = [
        f"## Where it is broken half as hard (numbers, n = {n:,.0f}, p = {p:.0f})",
        "",
        "| scenario | right column named |",
        "|---|---|",
    ]
    lines += [
        f"| {scenario} | {share_of(cell, named):.0%} of {len(cell)} |"
        for (scenario,), cell in grouped(half, "scenario")
    ]
    return [*lines, ""]


def true_error_section(true_errors: list[Row]) -> list[str]:
    if not true_errors:
        return []
    lines = [
        "## Share of clean cohorts in which a test on the *true* errors rejects at 5 %",
        "",
        "At n = 2,000 and p = 10, of the checks that have a p-value; `calibrated` by the model's own risks.",
        "",
        "| test | rejects |",
        "|---|---|",
    ]
    for name in CHECKS:
        p_values = [row[name] for row in true_errors if isinstance(row[name], float)]
        if p_values:
            error = (0.05 * 0.95 / len(p_values)) ** 0.5
            share = sum(p < 0.05 for p in p_values) / len(p_values)
            lines.append(f"| {name} | {share:.1%} of {len(p_values)} (± {error:.1%}) |")
    return [*lines, ""]


def grouped(rows: Iterable[Row], *names: str) -> list[tuple[tuple, list[Row]]]:
    """Rows by what they have under these names: kinds and scenarios in their order, numbers ascending."""
    places = {name: place for place, name in enumerate([*KINDS, *SCENARIOS])}

    def key(row: Row) -> tuple:
        return tuple(places.get(row[name], row[name]) for name in names)

    groups = (list(group) for _, group in groupby(sorted(rows, key=key), key=key))
    return [(tuple(group[0][name] for name in names), group) for group in groups]


def any_verdict(row: Row, letters: str, checks: Iterable[str] = CHECKS) -> bool:
    return any(row[check] and row[check] in letters for check in checks)


def named(row: Row) -> object:
    return row["named"]


def could_not_tell(row: Row) -> object:
    return row["cannot_tell"]


def least_named(scenario: str) -> float:
    return LEAST_NAMED_OF.get(scenario, LEAST_NAMED)


def share_of(rows: list[Row], counts: Callable[[Row], object]) -> float:
    return sum(bool(counts(row)) for row in rows) / len(rows) if rows else 0.0


def bold(share: float, missed: bool, digits: int = 1) -> str:
    text = f"{share:.{digits}%}"
    return f"**{text}**" if missed else text
