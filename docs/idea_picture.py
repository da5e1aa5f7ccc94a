"""Draw the idea of a root cause, for the README: ``python docs/idea_picture.py``.

The cohort is simulated, so the truth is known: an infection injures the liver, the injury raises bilirubin,
and the risk follows bilirubin. The patient had one shock, an infection; all else followed from it.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from sklearn.linear_model import LogisticRegression

from rootcausal import RCI

NAMES = ("infection", "liver injury", "bilirubin", "age")
SHOCKS = np.array([3.0, 0.1, -0.1, 0.2])
N = 3000
INK, QUIET, HARM = "#1b2430", "#9aa5b1", "#c2500a"


def drawn(shocks: np.ndarray) -> np.ndarray:
    """The variables that shocks lead to (n, 4)."""
    infection, own_injury, own_bilirubin, age = shocks.T
    injury = 0.9 * infection + 0.6 * own_injury
    return np.column_stack([infection, injury, 0.9 * injury + 0.5 * own_bilirubin, age])


def answers() -> dict[str, np.ndarray]:
    """What three methods name: each variable's share of what the method says (4,)."""
    rng = np.random.default_rng(0)
    shocks = rng.laplace(scale=2**-0.5, size=(N, 4))
    X = drawn(shocks)
    y = (rng.random(N) < 1 / (1 + np.exp(-(1.6 * X[:, 2] + 0.4 * X[:, 3])))).astype(int)
    patient = drawn(SHOCKS[None])[0]
    cases, controls = X[y == 1], X[y == 0]
    spread = np.sqrt(cases.var(axis=0) / len(cases) + controls.var(axis=0) / len(controls))
    t = (cases.mean(axis=0) - controls.mean(axis=0)) / spread
    # Shapley values of a linear log-odds are exact: slope times what the patient is above the average.
    shap = LogisticRegression(C=1e6).fit(X, y).coef_[0] * (patient - X.mean(axis=0))
    root = RCI(mechanism="linear").fit(X, y).shapley_values(patient[None])[0]
    return {
        "a t-test, of all patients": np.abs(t),
        "SHAP of a risk model": np.maximum(shap, 0),
        "root causes (RCI)": np.maximum(root, 0),
    }


def chain(axes: plt.Axes) -> None:
    """The patient: what was shocked, and what followed."""
    at = {"infection": (0, 1), "liver injury": (1, 1), "bilirubin": (2, 1), "disease": (3, 1)}
    for name, (x, y) in at.items():
        shocked = name == "infection"
        fill, edge = (HARM, HARM) if shocked else ("white", INK)
        box = {"boxstyle": "round,pad=0.5", "fc": fill, "ec": edge}
        axes.text(x, y, name, ha="center", va="center", color="white" if shocked else INK, bbox=box)
    for x in (0, 1, 2):
        arrow = {"arrowstyle": "-|>", "color": INK, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (x + 0.58, 1), (x + 0.42, 1), arrowprops=arrow)
    down = {"arrowstyle": "-|>", "color": HARM, "lw": 2}
    axes.annotate("shock", (0, 1.22), (0, 1.6), ha="center", color=HARM, arrowprops=down)
    axes.text(1.5, 1.45, "follow from it", ha="center", color=QUIET)
    axes.set(xlim=(-0.6, 3.5), ylim=(0.6, 1.8))
    axes.axis("off")


def main() -> None:
    mpl.rcParams.update({"font.family": "DejaVu Sans", "font.size": 10, "svg.hashsalt": "idea"})
    found = answers()
    figure = plt.figure(figsize=(8, 3.7), layout="constrained")
    above, *below = figure.subplot_mosaic("AAA;BCD", height_ratios=[1, 1.35]).values()
    chain(above)
    for axes, (title, sizes) in zip(below, found.items(), strict=True):
        shares = sizes / sizes.max()
        colours = [HARM if share == 1 else QUIET for share in shares]
        axes.barh(NAMES[::-1], shares[::-1], color=colours[::-1])
        axes.set_title(f"{title} names", fontsize=10, color=INK)
        axes.set(xlim=(0, 1.05), xticks=[])
        axes.spines[["top", "right", "bottom"]].set_visible(False)
        if axes is not below[0]:
            axes.set_yticklabels([])
    figure.savefig(Path(__file__).parent / "img" / "idea.svg", facecolor="white", metadata={"Date": None})
    for title, sizes in found.items():
        print(title, dict(zip(NAMES, sizes.round(2), strict=True)))


if __name__ == "__main__":
    main()
