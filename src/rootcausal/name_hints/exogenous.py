"""Names of what nothing measured in a patient can cause: age, sex, birth, race, a treatment drawn by lot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .words import tokens, words

# Beside the words that count, a name may have these and no others: "age_at_dx" is an age, but "bone_age" and
# "age_at_menarche" are measured, "race_time" is no race, and "sex_hormone" no sex. Silence costs little.
_BESIDE = words(
    "at in of on the is patient patients pt pts subject subj participant person case code cd coded num "
    "numeric number no cat category categorical group grp grouped band class bin binned range bracket flag "
    "ind indicator dummy var variable value val raw demo demog demographic demographics dem base baseline bl "
    "pre op preop preoperative entry enrollment enrolment enrolled inclusion study trial screening "
    "recruitment registration admission admit hospital icu visit exam examination assessment interview "
    "survey randomization randomisation reported self recorded calc calculated derived estimated est "
    "imputed std standardized standardised scaled norm normalized normalised zscore centered centred cent "
    "sq sqr squared square log ln decade decades rounded"
)
_BESIDE_AGE = words(
    "years year yrs yr months month mos mo days day weeks week dx diag diagnosis surgery operation op "
    "transplant index anchor mother maternal father paternal donor recipient over under above below gt ge lt "
    "le older younger than plus"
)
_BESIDE_BIRTH = words("date dates year years yr month day dt place country decade cohort")
_BESIDE_RACE = words(
    "white black asian latino latina other mixed caucasian african american native indian pacific islander "
    "unknown non eth"
)
_BESIDE_TREATMENT = words(
    "study trial tx assigned allocated planned actual code cd num group grp label name flag ind is the of"
)


@dataclass(frozen=True)
class _Meaning:
    """``one_of`` these words is in the name, and else only those that may stand ``beside``.

    ``numbers`` may stand there too, such as those of levels and visits.
    """

    one_of: frozenset[str]
    beside: frozenset[str]
    numbers: bool = True

    def fits(self, parts: list[str]) -> bool:
        found = [place for place, word in enumerate(parts) if word in self.one_of]
        # A letter behind the word is a level or a unit (SEX_M, age_y); before it, it may be anything (iAge).
        return bool(found) and all(
            word in self.one_of
            or word in self.beside
            or (word.isdigit() and self.numbers)
            or (len(word) == 1 and word.isalpha() and place > found[0])
            for place, word in enumerate(parts)
        )


_AGE = _Meaning(
    words(
        "age ageyrs ageyears ageyr ageinyears agegrp agegroup agecat agecategory ageband ageclass agebin "
        "patientage ptage ageatdx agedx agedays agemonths ridageyr"
    ),
    _BESIDE | _BESIDE_AGE,
)
_SEX = _Meaning(
    words("sex gender male female sexm sexf sexcd sexcode gendercode ismale isfemale malesex riagendr"),
    _BESIDE | words("assigned birth biological legal man woman"),
)
_BIRTH = _Meaning(
    words(
        "dob yob birth born birthdate birthyear birthyr birthday birthdt brthdt brthdtc dateofbirth "
        "yearofbirth"
    ),
    _BESIDE | _BESIDE_BIRTH,
    numbers=False,
)
_RACE = _Meaning(
    words("race ethnicity ethnic ethnicgroup raceeth racecd hispanic ridreth"), _BESIDE | _BESIDE_RACE
)
_TREATMENT = _Meaning(
    words(
        "arm arms armcd actarm actarmcd treatment treat rx randomized randomised randomization randomisation "
        "placebo intervention allocation assignment"
    ),
    _BESIDE_TREATMENT,
    numbers=False,
)
# The names of the standard for trials: TRT, TRT01P, TRTA.
_TRT = _Meaning(
    words("trt trtp trta trtpn trtan trtcd"), _TREATMENT.one_of | _BESIDE_TREATMENT | {"pn", "an"}
)


def says_treatment(name: str) -> bool:
    """Whether a name is that of the arm of a trial. Elsewhere a treatment follows from what was measured."""
    return _fits_one(name, (_TREATMENT, _TRT))


def says_age(name: str) -> bool:
    """Whether a name is that of a patient's age."""
    return _fits_one(name, (_AGE,))


def says_unchanging(name: str) -> bool:
    """Whether what has this name is the same at all visits: a number in it counts levels, not visits."""
    return _fits_one(name, (_SEX, _BIRTH, _RACE))


def says_first(name: str) -> bool:
    """Whether nothing that was measured in a patient can cause what has this name."""
    return _fits_one(name, (_AGE, _SEX, _BIRTH, _RACE, _TREATMENT, _TRT))


def _fits_one(name: str, meanings: Sequence[_Meaning]) -> bool:
    parts = tokens(name)
    return any(meaning.fits(parts) for meaning in meanings)
