"""How the patients came into the table: as they came, or cases and controls sampled apart."""

from __future__ import annotations

# Controls for each case that designs choose and life seldom gives; nobody chooses fewer controls than cases.
CHOSEN = (1, 2, 3, 4)
WITHIN = 0.02
ROWS_TO_SEE_IT = 50
# Shares of cases vary by chance, and prevalences are rounded.
CLEARLY_ABOVE = 1.25


def chosen_ratio(n_cases: int, n_rows: int) -> str | None:
    """The ratio of cases to controls, "1:2", if it looks chosen by a case-control design; else None."""
    n_controls = n_rows - n_cases
    if n_rows < ROWS_TO_SEE_IT or not n_cases or not n_controls:
        return None
    for times in CHOSEN:
        if abs(n_controls / n_cases / times - 1.0) <= WITHIN:
            return f"1:{times}"
    return None


def doubt_of_prevalence(prevalence: float, n_cases: int, n_rows: int) -> str | None:
    """What to say where cases are rarer among these patients than in the population; else None.

    A word and no error: a study that takes few of many cases is rare, but its numbers are right.
    """
    if prevalence <= CLEARLY_ABOVE * n_cases / n_rows:
        return None
    return (
        f"prevalence={prevalence:g} is above the share of cases among these patients, {n_cases / n_rows:.3g} "
        f"({n_cases} of {n_rows}): either cases were sampled more sparsely than controls, which is rare, or "
        "something is the wrong way round. Check which label means disease, and that the prevalence is a "
        "share, 0.02 for 2 %"
    )
