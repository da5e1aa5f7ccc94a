"""What a model knows of patients whom it has not seen, in a line of the terminal."""

from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    from ..estimator import Estimator

# By the names of the figures: what is said of each.
SAID = {
    "auc": "of two patients it gives the one with the disease the higher risk in {:.0%} of pairs",
    "concordance": "it tells which of two patients has the event first in {:.0%} of pairs",
    "r2": "it tells {:.0%} of the variance",
}
BESIDE_CHANCE = {
    "brier": "mean squared error of its risks (Brier score) {:.3f}, without any variable {:.3f}",
    "error": "typical error {:.3g}, without any variable {:.3g}",
}
# Pairs of columns that a search compared, times rows, above which five more searches are not worth the wait:
# it took about three seconds on one core.
MOST_COMPARED = 1e9


def cross_validated(model: "Estimator") -> str:
    """The line, or why there is none; the model remembers the figures."""
    if model.provenance_["pairs_evaluated"] * model.provenance_["rows"] > MOST_COMPARED:
        return (
            "what the model knows of patients whom it has not seen was not looked at: with so many columns "
            "each of five more fits takes as long as the first (in Python: model.cross_validate())"
        )
    try:
        figures = model.cross_validate()
    except InputError as error:
        return f"what the model knows of patients whom it has not seen cannot be told: {error}"
    said = [words.format(max(figures[name], 0.0)) for name, words in SAID.items() if name in figures]
    said += [
        words.format(figures[name], figures[f"{name}_without_variables"])
        for name, words in BESIDE_CHANCE.items()
        if name in figures
    ]
    return f"of patients whom the model has not seen ({figures['folds']} folds): {'; '.join(said)}"
