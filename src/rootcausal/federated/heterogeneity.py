"""Do effects, or the arrows among variables, differ between sites? Cochran's Q, as a sum over sites.

Each site takes one Newton step from the effects of all sites to its own, by its own rows: δ with the variance
v. Then Q = Σ δ²/v − (Σ δ/v)² / Σ 1/v is chi-squared with one degree less than there are sites, where effects
are the same everywhere (Cochran 1954). Errors of the joint model are uncorrelated over all rows; where a
mechanism is another one at some site, they are correlated there, and the same Q of their mean products, which
are zero over all of them, with the variance that rows show, says so. All are sums over sites, so that a key
hides what each site has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2

from ..method.table import F64, Index, LossSums
from ..wording import listed, quoted
from .asking import Sites
from .messages import Step
from .sums import A_UNIT
from .tables import Rows

# Of all tests of effects together, and of all tests of arrows; Bonferroni's correction.
LEVEL = 0.05
NAMED_AT_MOST = 6


@dataclass(frozen=True, eq=False)
class Differences:
    """What differs between sites.

    Attributes
    ----------
    sites : how many have enough rows to tell.
    effects : (k,) p-values that the effect of each column's error is the same everywhere.
    inconsistency : (k,) I², the share of the spread of sites' effects that is not chance.
    arrows : (k(k + 1)/2,) the same of the products of errors, on and above the diagonal.
    by_site : effects of each site by name, and their standard errors; none where sums were masked.
    """

    sites: int
    effects: F64
    inconsistency: F64
    arrows: F64
    by_site: Mapping[str, tuple[F64, F64]]

    def different(self, variable: Index, beside: np.ndarray) -> tuple[list[int], list[tuple[int, int]]]:
        """Columns whose effects differ, and pairs of columns, both by places in the order.

        Parameters
        ----------
        variable : (k,) that each column belongs to: how common its levels are at a site is no mechanism.
        beside : (k,) whether it is a covariate, which may be the site itself.
        """
        k = self.effects.size
        if self.sites < 2:
            return [], []
        columns = np.flatnonzero(self.effects < LEVEL / max(k, 1)).tolist()
        rows, cols = np.triu_indices(k)
        tested = (variable[rows] != variable[cols]) & ~beside[rows] & ~beside[cols]
        differ = tested & (self.arrows < LEVEL / max(int(tested.sum()), 1))
        return columns, list(zip(rows[differ].tolist(), cols[differ].tolist(), strict=True))


def differences(rows: Rows) -> Differences | None:
    """Ask the sites, about the fit that was just made; None where a prevalence weighs their rows."""
    if not rows.likelihoods or rows.weighted:
        return None
    asked, likelihood = list(rows.likelihoods.values())[-1]
    if not asked.arrays["cols"].size:
        return None
    here, sums = likelihood.best
    step = Step("differences", {**asked.fields, "likelihood": asked.do}, {**asked.arrays, "beta": here})
    by_site: dict[str, tuple[F64, F64]] = {}
    (told,) = rows.sites.ask(step)
    n_sites, n = (round(one) for one in told["sites"].tolist())
    noise = _noise(asked.do, sums, rows.n)
    effects, of_effects = _cochran(told["effects"] / np.array([[noise], [noise], [noise]]), n_sites)
    arrows = _alike(told["apart"] / A_UNIT, told["spread"], n, n_sites)
    if isinstance(rows.sites, Sites) and not rows.sites.masked:
        here = here[: asked.arrays["cols"].size]
        for name, one in rows.sites.last_told().items():
            if one["sites"].any():
                variance = noise / one["effects"][2]
                by_site[name] = here + one["effects"][1] * variance / noise, np.sqrt(variance)
    return Differences(n_sites, effects, of_effects, arrows, by_site)


def _noise(likelihood: str, sums: LossSums, n: int) -> float:
    """What a number's likelihood, of unit variance, lacks: the variance that errors leave of it."""
    if likelihood != "square sums":
        return 1.0
    explained = sums.gradient @ np.linalg.lstsq(sums.hessian, sums.gradient, rcond=None)[0]
    return max((-2.0 * sums.loglik - float(explained)) / max(n, 1), 1e-12)


def _cochran(sums: F64, n_sites: int) -> tuple[F64, F64]:
    """(m,) p-values, and I², by (3, m) Σ δ²/v, Σ δ/v and Σ 1/v."""
    square, total, weight = sums
    free = max(n_sites - 1, 0)
    q = np.maximum(square - total**2 / np.maximum(weight, 1e-300), 0.0)
    if not free:
        return np.ones(q.size), np.zeros(q.size)
    return chi2.sf(q, free), np.maximum(1.0 - free / np.maximum(q, 1e-300), 0.0)


def _alike(apart: F64, square: F64, n: int, n_sites: int) -> F64:
    """(m,) p-values that mean products of errors are the same everywhere: over all rows they are zero.

    By Σ n δ² over sites, and the sum of the squares of these products over rows, which need not be what
    independent errors would have.
    """
    variance = np.maximum(square / max(n, 1), np.finfo(float).tiny)
    return chi2.sf(apart / variance, max(n_sites - 1, 1)) if n_sites > 1 else np.ones(apart.size)


def remembered(
    found: Differences, names: Sequence[str], variable: Index, beside: np.ndarray
) -> dict[str, Any]:
    """Plain values for the model to keep; ``names`` (k,) are those of the columns in the order."""
    columns, pairs = found.different(variable, beside)
    return {
        "sites": found.sites,
        "p_values": {name: float(p) for name, p in zip(names, found.effects, strict=True)},
        "inconsistency": {name: float(share) for name, share in zip(names, found.inconsistency, strict=True)},
        "effects_differ": [names[place] for place in columns],
        "relations_differ": [[names[a], names[b]] for a, b in pairs],
        "by_site": {
            site: {
                name: [float(effect), float(error)]
                for name, effect, error in zip(names, *effects, strict=True)
            }
            for site, effects in found.by_site.items()
        },
    }


def in_words(kept: Mapping[str, Any]) -> str:
    """A warning of what differs; empty where nothing does."""
    effects = [quoted(name) for name in kept["effects_differ"]]
    pairs = [f"{quoted(a)} and {quoted(b)}" for a, b in kept["relations_differ"]]
    said = []
    if effects:
        said.append(f"the effects on the outcome of {listed(effects, NAMED_AT_MOST)}")
    if pairs:
        said.append(f"how {listed(pairs, NAMED_AT_MOST)} go together")
    if not said:
        return ""
    return (
        f"sites differ more than by chance in {' and in '.join(said)} (Cochran's Q, {kept['sites']} sites): "
        "the joint model is an average over them there; look for what is measured or treated otherwise at "
        "some site"
    )
