"""Small cohorts that look like life: rare diseases, scores, counts, ties, copies, wild scales.

To add an animal, write a function that draws it: ``@animal`` takes what is known of the truth and which
warnings are documented for it, the function takes a seeded generator and returns X and y, and its name is
the name of the animal. Every test of ``test_zoo.py`` and ``test_zoo_doors.py`` then runs over it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rootcausal.data import load_pbc, simulate

Draw = Callable[[tuple[int, int]], np.ndarray]

# How the documented warnings begin.
SEPARATED = "the errors separate the classes perfectly"
RARE_LEVEL = "quasi-complete separation"
EXHAUSTED = "nothing is left to explain after"
NO_DEPENDENCE = "the outcome depends on no variable"
PARENTS_SEPARATE = "the parents and children of the diagnosis separate the classes perfectly"
UNSETTLED = "the attribution did not converge"


@dataclass(frozen=True, eq=False)
class Animal:
    """A cohort and what is known of it.

    Attributes
    ----------
    name : for the names of tests.
    X, y : the cohort, a dataframe or an array, and its 0/1 diagnosis.
    raises, lowers : columns whose shock raises or lowers the risk, by more than three standard errors.
    null : columns that have nothing to do with the disease.
    warns : how the warnings begin that are documented for a cohort like this one.
    options : what the command line is to be told of its columns, since a file does not say it.
    refused : what the InputError says that is documented for it; empty for cohorts that can be fitted.
    """

    name: str
    X: Any
    y: np.ndarray
    raises: tuple[str, ...] = ()
    lowers: tuple[str, ...] = ()
    null: tuple[str, ...] = ()
    warns: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    refused: str = ""

    @property
    def names(self) -> list[str]:
        return list(self.X) if isinstance(self.X, pd.DataFrame) else [f"x{c}" for c in range(self.X.shape[1])]

    @property
    def has_missing(self) -> bool:
        return bool(pd.isna(self.X).to_numpy().any()) if isinstance(self.X, pd.DataFrame) else False

    @property
    def table(self) -> pd.DataFrame:
        """The columns of X, and the diagnosis in the column ``ill``."""
        return pd.DataFrame(self.X, columns=self.names).assign(ill=self.y)

    def variables(self, table: pd.DataFrame) -> Any:
        """The variables of some rows of ``table``, in the form that models are fitted on."""
        return table[self.names] if isinstance(self.X, pd.DataFrame) else table[self.names].to_numpy()

    @property
    def numbers_only(self) -> bool:
        """Whether a method can take it that knows no levels, and no missing values."""
        return not self.has_missing and all(kind.kind in "fiub" for kind in pd.DataFrame(self.X).dtypes)


ZOO: list[Animal] = []
REFUSED: list[Animal] = []


def animal(seed: int = 0, **known: Any) -> Callable[[Callable[[np.random.Generator], Any]], Any]:
    """Draw a cohort from a generator with this seed, and put it into the zoo."""

    def keep(draw: Callable[[np.random.Generator], Any]) -> Any:
        X, y = draw(np.random.default_rng(seed))
        drawn = Animal(draw.__name__, X, y, **known)
        (REFUSED if drawn.refused else ZOO).append(drawn)
        return draw

    return keep


def ill(rng: np.random.Generator, log_odds: Any, cases: int) -> np.ndarray:
    """0/1 with exactly this many cases: those in whom log-odds and logistic noise are highest together."""
    liability = np.asarray(log_odds) + rng.logistic(size=len(log_odds))
    return (liability >= np.sort(liability)[-cases]).astype(int)


def labs(draw: Draw, n: int) -> pd.DataFrame:
    """Five labs: bmi drives crp, and ldl drives albumin down; sodium stands apart."""
    bmi, ldl, sodium, crp, albumin = draw((n, 5)).T
    columns = {
        "bmi": bmi,
        "ldl": ldl,
        "sodium": sodium,
        "crp": crp + 0.5 * bmi,
        "albumin": albumin - 0.5 * ldl,
    }
    return pd.DataFrame(columns)


def standardized(values: Any) -> np.ndarray:
    values = np.asarray(values, dtype=float)
    return (values - values.mean(axis=0)) / values.std(axis=0)


def sick_labs(
    rng: np.random.Generator, draw: Draw, n: int, cases: int, strength: float = 1.0
) -> tuple[pd.DataFrame, np.ndarray]:
    """Labs of a disease that crp raises and albumin lowers, by ``strength`` a standard deviation."""
    X = labs(draw, n)
    return X, ill(rng, strength * (standardized(X["crp"]) - standardized(X["albumin"])), cases)


LABS: dict[str, Any] = {"raises": ("crp",), "lowers": ("albumin",), "null": ("sodium",)}
# Skewed labs say little about what lowers the risk of a rare disease.
SKEWED_LABS: dict[str, Any] = {"raises": ("crp",)}


@animal(**LABS)
def rare_0_3_percent_normal(rng):
    return sick_labs(rng, rng.standard_normal, n=3000, cases=9, strength=2)


@animal(**SKEWED_LABS)
def rare_0_3_percent_lognormal(rng):
    return sick_labs(rng, lambda size: rng.lognormal(size=size), n=3000, cases=9)


@animal(**SKEWED_LABS)
def rare_1_percent_lognormal(rng):
    return sick_labs(rng, lambda size: rng.lognormal(size=size), n=1500, cases=15)


@animal(seed=1, **LABS)
def rare_1_percent_heavy_tails(rng):
    return sick_labs(rng, lambda size: rng.standard_t(2, size), n=1500, cases=15, strength=2)


@animal(**LABS)
def rare_3_percent_normal(rng):
    return sick_labs(rng, rng.standard_normal, n=1000, cases=30)


@animal(**LABS)
def rare_3_percent_cauchy(rng):
    return sick_labs(rng, rng.standard_cauchy, n=1000, cases=30, strength=10)


@animal(**SKEWED_LABS)
def rare_5_percent_lognormal(rng):
    return sick_labs(rng, lambda size: rng.lognormal(size=size), n=1000, cases=50)


@animal(**LABS)
def rare_5_percent_heavy_tails(rng):
    return sick_labs(rng, lambda size: rng.standard_t(2, size), n=1000, cases=50)


@animal(seed=34, raises=("x0",))
def nine_cases_of_one_lognormal_column(rng):
    X = rng.lognormal(size=(300, 1))
    return X, (rng.random(300) < 1 / (1 + np.exp(6 - X[:, 0]))).astype(int)


@animal(seed=7, raises=("x0",))
def few_cases_of_one_lognormal_column(rng):
    X = rng.lognormal(size=(300, 1))
    return X, (rng.random(300) < 1 / (1 + np.exp(6 - X[:, 0]))).astype(int)


@animal(warns=(SEPARATED,))
def four_cases(rng):
    return sick_labs(rng, lambda size: rng.gamma(2, size=size), n=200, cases=4)


@animal(**LABS)
def nearly_all_ill(rng):
    return sick_labs(rng, lambda size: rng.gamma(2, size=size), n=1500, cases=1455, strength=2)


@animal(raises=("smoker",), lowers=("vaccinated",), null=("left_handed",))
def yes_and_no(rng):
    shares = {"smoker": 0.3, "vaccinated": 0.6, "left_handed": 0.1, "night_shift": 0.5}
    X = pd.DataFrame({name: (rng.random(400) < share).astype(int) for name, share in shares.items()})
    return X, ill(rng, 1.5 * X["smoker"] - 1.5 * X["vaccinated"], 160)


@animal(raises=("pain",), lowers=("mobility",), null=("mood",))
def scores(rng):
    X = pd.DataFrame(rng.integers(0, [11, 5, 11], (400, 3)), columns=["pain", "mobility", "mood"])
    return X, ill(rng, 0.4 * X["pain"] - 0.8 * X["mobility"], 150)


@animal(raises=("falls",), lowers=("visits",), null=("letters",))
def counts(rng):
    X = pd.DataFrame(rng.poisson([1, 6, 2], (500, 3)), columns=["falls", "visits", "letters"])
    return X, ill(rng, X["falls"] - 0.4 * X["visits"], 120)


# Of the few who have the finding all are ill.
@animal(raises=("toxin",), warns=(SEPARATED, PARENTS_SEPARATE))
def mostly_zeros(rng):
    draws = np.where(rng.random((2000, 4)) < 0.01, rng.lognormal(1, 1, (2000, 4)), 0.0)
    X = pd.DataFrame(draws, columns=["toxin", "variant_a", "variant_b", "variant_c"])
    X["age"] = rng.uniform(30, 80, 2000)
    return X, ill(rng, 4 * (X["toxin"] > 0), 200)


@animal(**LABS)
def rounded(rng):
    X, y = sick_labs(rng, lambda size: rng.gamma(2, size=size), n=500, cases=200)
    return X.round(0), y


@animal(**LABS)
def below_and_above_what_can_be_measured(rng):
    X, y = sick_labs(rng, lambda size: rng.gamma(2, size=size), n=500, cases=200)
    cut = {name: X[name].clip(lower=X[name].quantile(0.25)) for name in ("crp", "albumin")}
    return X.assign(**cut, sodium=X["sodium"].clip(upper=X["sodium"].quantile(0.9))), y


@animal(raises=("bmi", "age"), lowers=("haemoglobin",))
def mixed_table(rng):
    n = 600
    X = pd.DataFrame({"age": rng.integers(18, 95, n), "male": rng.integers(0, 2, n)})
    X["bmi"] = (22 + rng.gamma(3, 1.5, n)).round(1)
    X["haemoglobin"] = (12.5 + 1.5 * X["male"] + rng.laplace(0, 0.8, n)).round(1)
    X["admissions"] = rng.poisson(0.02 * X["age"])
    X["stage"] = np.clip((X["age"] / 20 + rng.normal(0, 1, n)).round(), 0, 4)
    odds = 0.06 * X["age"] + 0.4 * X["bmi"] - 0.9 * X["haemoglobin"]
    return X, ill(rng, odds, 90)


@animal(raises=("bp_2",), null=("hr_1",))
def visits(rng):
    n = 400
    X = pd.DataFrame({"bp_2": rng.gamma(2, size=n), "hr_2": rng.laplace(size=n)})
    X["bp_1"] = X["bp_2"] + rng.gamma(1, size=n)
    X["hr_1"] = rng.laplace(size=n)
    X["age"] = (50 + 5 * X["bp_1"] + 8 * rng.gamma(1, size=n)).round()
    return X, ill(rng, 2 * X["bp_2"] + 0.1 * X["age"], 150)


@animal(null=("height",))
def near_copies(rng):
    X = pd.DataFrame({"weight": rng.gamma(9, 8, 400), "height": rng.uniform(150, 195, 400)})
    X["weight_at_home"] = X["weight"] + rng.laplace(0, 0.01, 400) * X["weight"].std()
    return X, ill(rng, 1.5 * standardized(X["weight"]), 150)


@animal(raises=("troponin",), warns=(SEPARATED, PARENTS_SEPARATE))
def separated(rng):
    X = labs(lambda size: rng.gamma(2, size=size), 200).assign(troponin=rng.lognormal(size=200))
    return X, (X["troponin"] > X["troponin"].quantile(0.7)).to_numpy().astype(int)


@animal(null=("sodium",))
def treated_after_the_diagnosis(rng):
    X, y = sick_labs(rng, lambda size: rng.gamma(2, size=size), n=400, cases=150)
    return X.assign(
        platelets=rng.gamma(2, size=400) - 2 * y, lab_days=np.round(9 * rng.gamma(2, size=400) * (1 + y))
    ), y


@animal(warns=(SEPARATED, EXHAUSTED))
def wide(rng):
    X = pd.DataFrame(rng.laplace(size=(40, 200)), columns=[f"gene_{c}" for c in range(200)])
    return X, ill(rng, 2 * X["gene_7"], 20)


@animal(warns=(SEPARATED, EXHAUSTED, NO_DEPENDENCE))
def eight_patients(rng):
    X = rng.lognormal(size=(8, 3))
    return X, np.array([0, 1] * 4)


@animal(**LABS)
def tiny_and_huge_units(rng):
    X, y = sick_labs(rng, lambda size: rng.gamma(2, size=size), n=500, cases=200)
    return X * [1e12, 1e-12, 1e-90, 1e-90, 1e80], y


@animal(**LABS)
def far_from_zero(rng):
    X, y = sick_labs(rng, lambda size: rng.gamma(2, size=size), n=500, cases=200)
    X += [1e9, -1e6, 1e3, 1e9, 1e6]
    return X.assign(serial=1e9 + 1e-6 * rng.standard_normal(500)), y


@animal(refused="too little variation .*'serial'")
def offset_beyond_float64(rng):
    X, y = sick_labs(rng, lambda size: rng.gamma(2, size=size), n=200, cases=80)
    return X.assign(serial=1e9 + 1e-7 * rng.standard_normal(200)), y


@animal(refused="(?s)2 things are wrong:.*'batch', 'site' are constant.*'bmi' and 'bmi_copy' are copies")
def exported_twice_and_from_one_site(rng):
    X, y = sick_labs(rng, lambda size: rng.gamma(2, size=size), n=200, cases=80)
    return X.assign(batch=7.0, bmi_copy=X["bmi"] * 0.45 - 3, site=1.0), y


@animal(**LABS)
def strong_effect(rng):
    return sick_labs(rng, lambda size: rng.gamma(2, size=size), n=1000, cases=500, strength=5)


@animal(null=("bmi", "ldl", "sodium", "crp", "albumin"), warns=(NO_DEPENDENCE,))
def no_effect(rng):
    return sick_labs(rng, lambda size: rng.gamma(2, size=size), n=500, cases=250, strength=0)


@animal(raises=("psa",))
def one_column(rng):
    X = pd.DataFrame({"psa": rng.lognormal(1, 1, 200)})
    return X, ill(rng, standardized(X["psa"]), 80)


@animal(raises=("protein_0",), lowers=("protein_1",), warns=(SEPARATED,))
def three_hundred_columns(rng):
    X = pd.DataFrame(rng.laplace(size=(350, 300)), columns=[f"protein_{c}" for c in range(300)])
    return X, ill(rng, 2 * X["protein_0"] - 2 * X["protein_1"], 175)


@animal(warns=(SEPARATED, EXHAUSTED))
def hundred_by_hundred(rng):
    cohort = simulate(100, 100, random_state=5014)
    return cohort.X, cohort.y


@animal()
def of_the_paper(rng):
    cohort = simulate(500, 10, random_state=2000)
    return pd.DataFrame(cohort.X, columns=cohort.feature_names), cohort.y


@animal(seed=3, raises=("bili",))
def pbc_resample(rng):
    cohort = load_pbc()
    rows = rng.integers(len(cohort.y), size=len(cohort.y))
    return pd.DataFrame(cohort.X[rows], columns=cohort.feature_names), cohort.y[rows]


def of_all_kinds(rng: np.random.Generator, n: int = 500) -> tuple[pd.DataFrame, np.ndarray]:
    """A clinic's table: sex drives haemoglobin, stage drives crp, and crp raises the risk."""
    male, stage, ward = rng.random(n) < 0.5, rng.integers(0, 3, n), rng.integers(0, 4, n)
    X = pd.DataFrame({"sex": np.where(male, "male", "female")})
    X["stage"] = pd.Categorical.from_codes(stage, ["low", "mid", "high"], ordered=True)
    X["ward"] = np.array(["ICU", "ER", "south", "north"])[ward]
    X["smoker"] = rng.random(n) < 0.3
    X["pain"] = [str(score) for score in rng.integers(0, 5, n)]
    X["haemoglobin"] = 12.5 + 1.5 * male + rng.laplace(0, 0.8, n)
    X["crp"] = 2.0 * stage + rng.gamma(2, size=n)
    return X, ill(rng, X["crp"] + (ward == 0) - X["haemoglobin"], 180)


STAGES = ("--kind", "stage=low<mid<high")


@animal(raises=("crp",), lowers=("haemoglobin",), options=STAGES)
def text_sex_stage_truths_and_numbers_as_text(rng):
    X, y = of_all_kinds(rng)
    return X.drop(columns="ward"), y


@animal(raises=("crp",), lowers=("haemoglobin",))
def nullable_types_and_objects(rng):
    X, y = of_all_kinds(rng)
    X = X.drop(columns=["ward", "stage"])
    X["smoker"] = X["smoker"].astype(object)
    X["sex"] = X["sex"].astype("string")
    X["pain"] = X["pain"].astype(int).astype("Int64")
    X["crp"] = X["crp"].astype("Float64")
    return X, y


@animal(null=("left", "right"), warns=(NO_DEPENDENCE,))
def nothing_passes_and_values_are_missing(rng):
    X = pd.DataFrame(np.tile(rng.exponential(size=(30, 2)), (2, 1)), columns=["left", "right"])
    X.loc[[0, 30], "right"] = np.nan
    return X, np.repeat([0, 1], 30)  # the same values in both classes


@animal(seed=4, raises=("crp",))
def stages_that_few_have(rng):
    """Two patients are in one inner stage, and one is in another."""
    X = sick_labs(rng, rng.standard_normal, n=80, cases=40, strength=2)[0][["bmi", "crp"]]
    stage = np.where(X["crp"] + rng.logistic(size=80) > 0, 3, 0)
    stage[rng.permutation(80)[:3]] = [1, 1, 2]
    return X.assign(stage=stage), ill(rng, 2 * standardized(X["crp"]), 40)


@animal(raises=("crp",), lowers=("haemoglobin",), options=STAGES)
def wards(rng):
    return of_all_kinds(rng)


@animal(raises=("crp",), lowers=("haemoglobin",), options=STAGES)
def all_kinds_with_holes(rng):
    X, y = of_all_kinds(rng)
    for name in X:
        X[name] = (
            X[name].astype(X[name].dtype if name != "smoker" else object).where(rng.random(len(X)) > 0.1)
        )
    return X, y


@animal(raises=("crp",), null=("ward",))
def levels_that_look_like_numbers_and_commas(rng):
    X = pd.DataFrame({"ward": np.array(["01", "1", "True", "2e1"])[rng.integers(0, 4, 80)]})
    crp = rng.gamma(2, size=80).round(2)
    X["crp"] = [f"{value:.2f}".replace(".", ",") for value in crp]
    X["nodes"] = np.array(["0", "1", "2"])[rng.integers(0, 3, 80)]
    return X, ill(rng, 2 * standardized(crp), 40)


@animal(warns=(RARE_LEVEL,))
def a_level_that_no_case_has(rng):
    crp = rng.gamma(2, size=80)
    y = ill(rng, 2 * standardized(crp), 40)
    stage = np.array(["I", "II", "III"], dtype=object)[rng.integers(0, 3, 80)]
    stage[np.flatnonzero(y == 0)[:4]] = "IV"
    return pd.DataFrame({"crp": crp, "ldl": rng.gamma(2, size=80), "stage": stage}), y


@animal(seed=2, raises=("crp",))
def not_known_as_a_level(rng):
    crp = rng.gamma(2, size=80)
    smoker = np.array(["yes", "no", "nk"])[rng.choice(3, 80, p=[0.4, 0.4, 0.2])]
    X = pd.DataFrame({"crp": crp, "smoker": smoker, "centre": 1 + rng.choice(4, 80)})
    return X, ill(rng, 2 * crp, 40)


@animal(seed=6, raises=("viral",))
def a_trial_with_later_visits(rng):
    """Cells at entry, after 20 and 96 weeks, whether the last was counted, and age in three groups."""
    age, viral = np.rint(40 + 9 * rng.standard_normal(300)), rng.gamma(2, size=300)
    cd4, cd8 = (np.rint(level + 90 * rng.standard_normal((300, 3))) for level in (350, 900))
    X = pd.DataFrame({"age": age, "viral": viral, "cd40": cd4[:, 0], "cd80": cd8[:, 0]})
    X["cd420"], X["cd820"] = cd4[:, 0] + rng.gamma(2, 20, 300).round(), cd8[:, 1]
    there = rng.random(300) < 0.6
    X["cd496"], X["r"] = np.where(there, cd4[:, 2], np.nan), there.astype(int)
    X["age_group"] = 1 + (age > 35) + (age > 45)
    return X, ill(rng, 2 * standardized(viral), 120)


@animal(seed=1, raises=("preOp_smoking",))
def around_an_operation(rng):
    """The same scores before the operation, in the recovery room and a day later."""
    smoking = rng.integers(1, 4, 240)
    cough = ill(rng, 2 * standardized(smoking), 90)
    X = pd.DataFrame({"preOp_gender": rng.integers(0, 2, 240), "preOp_smoking": smoking})
    X["treat"] = rng.integers(0, 2, 240)
    X["preOp_calcBMI"] = (26 + rng.gamma(2, 2, 240)).round(1)
    X["pacu30min_pain"] = np.minimum(rng.poisson(1 + cough, 240), 6)
    X["pod1am_pain"] = np.minimum(rng.poisson(0.5 + X["pacu30min_pain"] / 2), 6)
    return X, cough


@animal(refused="column 'charges' holds '1,100', which may be a decimal comma or a comma between thousands")
def thousands_or_decimals(rng):
    X, y = sick_labs(rng, lambda size: rng.gamma(2, size=size), n=60, cases=25)
    return X.assign(charges=[f"1,{100 + k % 9}" for k in range(60)]), y


@animal(refused="(?s)'patient' has too many different values to be levels.*if it is an id or free text")
def an_id_left_in(rng):
    X, y = sick_labs(rng, lambda size: rng.gamma(2, size=size), n=200, cases=80)
    return X.assign(patient=[f"P-{number}" for number in range(200)]), y


@animal(refused="columns 'sex' and 'male' are copies")
def sex_twice(rng):
    X, y = of_all_kinds(rng)
    return X[["sex", "crp"]].assign(male=(X["sex"] == "male").astype(int)), y


@animal(seed=33, raises=("bili",), null=("visits",))
def a_waiting_list(rng: np.random.Generator) -> Any:
    """Levels that are numbered, who got a transplant, and the wait until then, known of these only."""
    n = 240
    bili, visits = rng.gamma(2.0, size=n), rng.poisson(4, size=n)
    got = rng.random(n) < 0.5
    state = np.array(["1_Good", "2_Fair", "3_Poor"])[np.digitize(bili + rng.logistic(size=n), [1.0, 3.0])]
    columns = {
        "bili": bili,
        "state": state,
        "transplant": np.where(got, "yes", "no"),
        "wait": np.where(got, np.rint(rng.exponential(90, size=n)), np.nan),
        "visits": visits,
    }
    return pd.DataFrame(columns), ill(rng, 1.2 * standardized(bili), 90)
