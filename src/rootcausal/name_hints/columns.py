"""What names of columns, and words in cells, usually mean in tables of patients."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# The words of a column's name.


def words(text: str) -> frozenset[str]:
    """The words of a text: a set that reads as one."""
    return frozenset(text.split())


def tokens(name: str) -> list[str]:
    """The words of a name, in lower case: ``vitalStatus_2`` is vital, status, 2.

    No word that is looked for has letters beyond a to z, but such letters belong to the word they stand in.
    """
    plain = name if name.isascii() else "".join(map(_ascii, name))
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", plain)]


def _ascii(character: str) -> str:
    if character.isascii() or not character.isalpha():
        return character
    return "X" if character.isupper() else "x"


_ID = words(
    "id ids ident identifier mrn guid uuid pid sid eid usubjid subjid randid pidnum idno idnum patno subjno"
)
_BEFORE_ID = words(
    "rand pat patient subj subject case sample person study record visit hadm stay icustay enc encounter "
    "participant member row usubj"
)
# Behind one of those: patient_nbr, patnr, case no.
_NUMBER = ("no", "nr", "nbr", "num", "number", "nummer")
_PATIENT = words(
    "patient pat subject subj person participant mrn randid usubjid subjid pid pidnum patno subjno"
)
# Where patients were seen, and what may stand beside it: the site of a tumour is no such place.
_SITE = words("site center centre hospital clinic institution institute inst cluster village district")
_BESIDE_SITE = words(
    "study trial treatment treating recruiting enrolling medical health care clinical test testing data id "
    "code no nr nbr num number name of the patient patients"
)
_PERSON = words("surname lastname firstname forename familyname fullname givenname middlename")
_BEFORE_NAME = words("first last family given middle full maiden sur fore patient person doctor physician")
_ROW_NUMBER = frozenset(
    ("", "index", "rownames", "rowname", "row", "x", "obs", "unnamed: 0", "row.names", "serial", "serialno")
) | frozenset(f"{word}{gap}no" for word in ("s", "sl", "serial") for gap in ("", ".", "_", " ", ". "))
_RANK = words("rank ranks ranking position place")
_DATE = words("date dates datum dob datetime timestamp birthdate")

_YEAR = words("year years yr yrs")
_BORN = words("birth born yob")
# Of entry into a study: who came late is followed for a shorter time, whatever becomes of them.
_ENTRY = words(
    "year yr date calendar era period wave entry entered enrolment enrollment enrolled accrual inclusion "
    "included recruitment recruited randomised randomized registration"
)
_CALENDAR, _SHORT_YEARS = (1900, 2100), (50, 99)
# Words that many columns share, so that sharing them with the target means nothing.
_COMMON = words(
    "level score value total type index count number rate time status with from mean left right disease "
    "baseline test blood heart the and for any age"
)

_CODES = words(
    "race ethnicity ethnic ethnicgroup site center centre hospital ward country region province city "
    "bloodgroup celltype histology department clinic nationality inst institution district provider"
)
_ORDERED = words("stage grade class nyha level degree ecog asa severity tumor tumour figo tgrade")
_LABS = words(
    "glucose insulin bp sbp dbp sysbp diabp pressure bmi mass chol cholesterol totchol hdl ldl triceps skin "
    "skinthickness bloodpressure weight height wt ht albumin hemoglobin haemoglobin hgb platelet platelets "
    "sodium potassium heartrate heartrte pulse temperature temp age waist wbc ast alt triglycerides trig "
    "creatinine calcium hematocrit saturation spo2 wtkilo hrt"
)


def _folded(name: str) -> str:
    return name.strip().casefold()


def says_id(name: str) -> bool:
    parts = tokens(name)
    last = parts[-1] if parts else ""
    glued = any(last.endswith(word) and last.removesuffix(word) in _BEFORE_ID for word in ("id", *_NUMBER))
    numbered = last in _NUMBER and bool((_BEFORE_ID | _PATIENT) & set(parts[:-1]))
    return glued or numbered or bool(_ID & {last, *parts}) or _folded(name) in _PATIENT


def says_site(name: str) -> bool:
    """Whether a name is that of the place where patients were seen: site, study centre, hospital_id."""
    parts = set(tokens(name))
    return bool(_SITE & parts) and parts <= _SITE | _BESIDE_SITE


def says_person(name: str) -> bool:
    """Whether what has this name is the name of somebody."""
    parts = tokens(name)
    return bool(_PERSON & set(parts)) or (
        "name" in parts and (parts == ["name"] or bool(_BEFORE_NAME & set(parts)))
    )


def says_patient(name: str) -> bool:
    """Whether the id is that of a person, not of a visit or a sample."""
    parts = set(tokens(name))
    return bool(_PATIENT & parts) or any(w.endswith("id") and w[:-2] in _PATIENT for w in parts)


def says_row_number(name: str) -> bool:
    return _folded(name) in _ROW_NUMBER


def says_rank(name: str) -> bool:
    """Whether numbers from 1 on, each once, may be a variable: the best is 1."""
    return bool(_RANK & set(tokens(name)))


def says_date(name: str) -> bool:
    """Date, visit_date and sdate; no candidate."""
    parts = tokens(name)
    return bool(_DATE & set(parts)) or any(w.endswith("date") and len(w) == len("sdate") for w in parts)


def says_year(name: str) -> bool:
    """Whether a name is that of a year, other than that of birth: ``year``, ``dxyr``, ``sample.yr``."""
    parts = tokens(name)
    if _BORN & set(parts) or any(word.startswith("age") for word in parts):
        return False
    return any(
        word in _YEAR or word.endswith(("yr", "year")) or word.startswith(("yron", "yrof", "year"))
        for word in parts
    )


def are_years(low: float, high: float, *, named: bool = False) -> bool:
    """Whether numbers within these can be those of years; of what is ``named`` a year, 85 to 93 too."""
    if named and _SHORT_YEARS[0] <= low and high <= _SHORT_YEARS[1]:
        return True
    return _CALENDAR[0] <= low and high <= _CALENDAR[1]


def says_entry(name: str, low: float, high: float) -> bool:
    """Whether a column is, by its name or as years within these, when a patient came in."""
    parts = set(tokens(name))
    return not parts & {*_BORN, "dob", "age"} and (bool(parts & _ENTRY) or are_years(low, high))


def near(name: str, target: str) -> bool:
    """Whether a column is named like the target: ``died_30d`` beside ``died``, ``t.tdm`` beside ``e.tdm``.

    Or ``y2`` beside ``y1``, and ``novisits`` beside ``visits``.
    """
    own, parts = tokens(target), tokens(name)
    shared, ends = set(parts) & set(own) - _COMMON, "".join((*own[-1:], *parts[-1:]))
    numbered = len(own) > 1 and ends.isdigit() and own[:-1] == parts[:-1]
    glued = any(len(word) >= 5 and word not in _COMMON and name.casefold().endswith(word) for word in own)
    return numbered or glued or any(len(word) >= 3 and not word.isdigit() for word in shared)


def says_codes(name: str) -> bool:
    """Whether whole numbers under this name are codes without an order: race, site, hospital."""
    return bool(_CODES & {*tokens(name), "".join(tokens(name))})


def says_order(name: str) -> bool:
    """Whether levels under this name have an order: stage, grade, class."""
    return bool(_ORDERED & set(tokens(name)))


def says_lab(name: str) -> bool:
    """Whether a living patient cannot have 0 of it."""
    return bool(_LABS & {*tokens(name), "".join(tokens(name))})


# Names that speak of what happened to a patient in the end: death, relapse, follow-up, status, time.

# What happened to a patient in the end, and when: known only after the outcome, or the outcome itself.
_END = words(
    "death deaths dead died dies deceased dth dod mortality survival survived survivor followup fup futime "
    "cens censor censored censoring recurrence recurred recurrent recur relapse relapsed rfs dfs pfs "
    "rfstime event events outcome outcomes endpoint autopsy hospdead los slos lenfol charges totcst totmcst "
    "yrdth modth dadth dthyr dthdt offtrt offtreatment offstudy discontinued dropout"
)
_ACCRUED = words("los slos lenfol charges totcst totmcst")
# What begins in the course of a disease, and what is counted until it ends.
_IN_THE_COURSE = words(
    "transplant transplanted transplantation response responder responded remission progression progressed "
    "complication complications toxicity rejection rejected reject adjuvant salvage rescue maintenance "
    "consolidation crossover switched readmission readmitted reoperation reintervention gvhd agvhd cgvhd "
    "reintubated reintubation sequelae gestation gestational apgar birthweight bwt"
)
_COUNTED = words("visits doses cycles infusions transfusions refills readmissions reoperations refill")
_HOW_MANY = words("n no nr num number nb count total")
_COUNTED_WITH = words("visit dose cycle infusion transfusion procedure procedures medication medications")
_ADJUVANT = words("adj adjuvant post postop postoperative")
_THERAPY = words("rad radiation radiotherapy rt chemo chemotherapy therapy treatment hormone hormonal")
# With these words alone, or beside one of those above, a name is about the end; else it is about anything.
_TIME = words("time times day days week weeks month months years tstart tstop")
_STATUS = frozenset(("status", "state"))
_DIAGNOSIS = frozenset(("diagnosis", "dx", "diagnoses"))
_BESIDE_STATUS = words("vital life alive disease final last os")
_BESIDE_DIAGNOSIS = frozenset(("final", "discharge", "last"))
# "timed" is a test of walking, "times" a count; TIMEDTH and timetodeath are times to an end.
_NO_TIME_TO = words("timed times timepoint timepoints timing timeline")
# Glued to "time": these, and one or two letters (ptime, pgtime), are an end.
_BEFORE_TIME = words("rec rel surv death event follow rfs dfs pfs cens obs end relapse recur prog")
# Times that are measured, passed before the outcome, or of day.
_NO_FOLLOW_UP = words(
    "pro pt ptt aptt prothrombin thrombin thromboplastin bleeding clotting coagulation reaction response "
    "echo relaxation repetition transit circulation ischemia ischaemia ischemic clamp bypass pump operation "
    "operative surgery surgical procedure anesthesia anaesthesia exercise treadmill walk walking run "
    "sitting sedentary screen leisure sleep sleeping travel waiting wait diag diagnosis dx onset symptom "
    "since before of over per half full part bed meal night admission arrival sampling sample collection "
    "draw measurement delay"
)
# The two ends of an interval, in a table with one row for each.
_INTERVALS = (("start", "stop"), ("tstart", "tstop"), ("time0", "time1"), ("begin", "end"), ("entry", "exit"))
# Beside a word for time, these say only that it is that of follow-up; beside none, that it is a length of it.
_FOLLOW_UP = words(
    "fu fup followup follow up surv survival survived obs observed observation event end to until in last "
    "contact total study exit duration cens censor censored censoring"
)
_LENGTHS = words("futime fup followup survtime survivaltime lenfol tte duration followuptime stime obstime")
# Beside what happened, these say that the column is whether it did.
_WHETHER = words("status stat state event events indicator ind flag cens censor censored delta happened")
# What happened to others, or earlier, does not come after the outcome.
_EARLIER = words(
    "family fam fh history hist prior previous prev before mother father parent maternal baseline pre preop"
)


def says_end(name: str) -> bool:
    """Whether a name is about what happened in the end: death, relapse, follow-up, status, time."""
    parts = tokens(name)
    joined = "".join(parts)
    if _EARLIER & set(parts):
        return False
    if _END & {*parts, joined} or any(_is_survival(word) for word in parts):
        return True
    others = set(parts) - _TIME - _STATUS - _DIAGNOSIS
    # A single letter (d.time) or number (time1) says nothing else.
    plain = all(len(word) == 1 or word.isdigit() for word in others)
    if "time" in parts:
        return not others & _NO_FOLLOW_UP
    if _TIME & set(parts):
        return plain or joined.startswith("timeto")
    if any(map(_is_time_to, parts)):
        return True
    if _STATUS & set(parts):
        # A state alone is where people live; one of health says of what, or by its levels.
        return (plain and "status" in parts) or bool(others & _BESIDE_STATUS)
    if _DIAGNOSIS & set(parts):
        return plain or bool(others & _BESIDE_DIAGNOSIS)
    return ("follow" in parts and "up" in parts) or joined in ("fu", "os")


def says_during(name: str) -> bool:
    """Whether a name is of what begins, or is counted, in the course of a disease: transplant, visits."""
    parts = set(tokens(name))
    counted = bool(parts & _COUNTED) or bool(parts & _HOW_MANY and parts & _COUNTED_WITH)
    given = bool(parts & _ADJUVANT and parts & _THERAPY) or {"birth", "weight"} <= parts
    return not parts & _EARLIER and (counted or given or bool(parts & _IN_THE_COURSE))


def says_accrued(name: str) -> bool:
    """Whether a name is that of what grows until the end of a stay: its length, its costs."""
    return bool(_ACCRUED & set(tokens(name)))


def says_diagnosis(name: str) -> bool:
    """Whether a name says no more than a diagnosis: the outcome, or why a patient came."""
    others = [word for word in tokens(name) if word not in _DIAGNOSIS]
    return len(others) < len(tokens(name)) and all(len(word) == 1 or word.isdigit() for word in others)


def _is_survival(word: str) -> bool:
    """Survival and censoring, however cut short; no survey, no census."""
    return (word.startswith("surv") and not word.startswith("surve")) or (
        word.startswith(("cens", "uncens")) and not word.startswith("census")
    )


def _is_time_to(word: str) -> bool:
    """``TIMEDTH``, ``survtime`` and ``ptime``; not ``protime``."""
    if word.endswith("time"):
        before = word.removesuffix("time")
        return before in _BEFORE_TIME or (len(before) <= 2 and before not in _NO_FOLLOW_UP)
    return word.startswith("time") and word not in _NO_TIME_TO


def ends_beside(names: Iterable[str]) -> set[str]:
    """Names that say an end beside others only: start and stop, or pstat beside ptime."""
    folded = {name.strip().casefold(): name for name in names}
    pairs = [*_INTERVALS]
    for name in folded:
        stem = re.sub(r"[._ -]?time$", "", name)
        if stem != name and stem and says_end(name):
            gaps = ("", ".", "_", " ", "-")
            pairs += [(name, f"{stem}{gap}{word}") for gap in gaps for word in ("stat", "status")]
    return {folded[name] for pair in pairs if set(pair) <= set(folded) for name in pair}


def intervals_in(names: Iterable[str]) -> tuple[str, str] | None:
    """The columns that say where the interval of each row starts and ends, as of a counting process."""
    folded = {name.strip().casefold(): name for name in names}
    found = (pair for pair in _INTERVALS if set(pair) <= set(folded))
    return next(((folded[start], folded[end]) for start, end in found), None)


def level_says_end(level: str) -> bool:
    """Whether a level is an end: dead, alive, lost to follow-up."""
    parts = set(tokens(level))
    return bool(parts & (_END | {"alive"})) or {"follow", "up"} <= parts


def time_of(name: str) -> str | None:
    """What happens at the end of the time that a name says: "p" of ``ptime``, "os" of ``OS_MONTHS``.

    Empty where the name says no more than a time of follow-up, as ``futime`` does; None where it is no such
    time.
    """
    parts = tokens(name)
    if (_EARLIER | _NO_FOLLOW_UP) & set(parts) or {"age"} & set(parts):
        return None
    if "".join(parts) in _LENGTHS:
        return ""
    glued = [part if part in _NO_TIME_TO else part.removesuffix("time") for part in parts]
    rest = [part for part in glued if part and part not in _TIME - _NO_TIME_TO]
    if rest == parts or _NO_FOLLOW_UP & set(rest):
        return None
    return "".join(part for part in rest if part not in _FOLLOW_UP and not part.isdigit())


def event_of(name: str) -> str:
    """What happens where a column says that it did: "p" of ``pstat``, "os" of ``OS_STATUS``, "death"."""
    parts = [part for part in tokens(name) if part not in _WHETHER]
    if len(parts) == 1 and _is_survival(parts[0]):  # censdead: whether death came, or who was censored
        parts = [re.sub(r"^cens(?:ored|or)?(?=[a-z]{3})", "", parts[0])]
    last = parts[-1] if parts else ""
    ending = next((word for word in ("status", "stat", "event") if last.endswith(word)), "")
    return "".join([*parts[:-1], last.removesuffix(ending)])


def belong_together(time: str, event: str) -> bool:
    """Whether a time is that of an event by their names: ptime and pstat, d.time and death."""
    ends_in, happened = time_of(time), event_of(event)
    if not ends_in or not happened:
        return False
    short = len(ends_in) <= len("rec") and (says_end(event) or happened != "".join(tokens(event)))
    return ends_in == happened or (short and happened.startswith(ends_in))


def says_whether(time: str, name: str) -> bool:
    """Whether a column says what ended a time: agvhd of time.to.agvhd, da of ta, dnr of dnrday, ae.s."""
    short, other = time.strip().casefold(), name.strip().casefold()
    if re.fullmatch(
        re.escape(short) + r"([._ -](s|d|e|ind|delta)|[._ -]?(stat(us)?|event|cens(ored)?))", other
    ):
        return True
    stem = re.sub(r"[._ -]?(time|days?|dates?)$", "", short)
    glued = other in (stem, f"d{short[1:]}" if short[:1] == "t" else stem) and bool(stem) and other != short
    return belong_together(time, name) or glued


def of_another_event(time: str, event: str, names: Iterable[str]) -> set[str]:
    """Times and events numbered like these of one pair: time2 and infect2 beside time1 and infect1."""
    when, whether = (re.fullmatch(r"(.*\D)(\d+)", name) for name in (time, event))
    if when is None or whether is None or when[2] != whether[2]:
        return set()
    all_of, numbered = set(names), re.compile(re.escape(when[1]) + r"(\d+)")
    found = ((name, numbered.fullmatch(name)) for name in all_of - {time})
    pairs = [{name, f"{whether[1]}{number[1]}"} for name, number in found if number is not None]
    return {name for pair in pairs if pair <= all_of for name in pair}


def of_series(names: Iterable[str], others: Iterable[str]) -> dict[str, str]:
    """Which others are named as one of some names but for the number, each with that: emp1 beside emp20."""
    stems = {
        tuple(parts[:-1]): name for name in names if (parts := tokens(name))[-1:] and parts[-1].isdigit()
    }
    found = {}
    for name in others:
        parts = tokens(name)
        if len(parts) > 1 and parts[-1].isdigit() and tuple(parts[:-1]) in stems:
            found[name] = stems[tuple(parts[:-1])]
    return found


def counterparts(ends: Iterable[str], names: Iterable[str]) -> list[str]:
    """Names with the numbers and units of columns that say an end: prg2m and prg6m beside surv2m, surv6m."""
    tails: dict[str, set[tuple[str, ...]]] = {}
    for name in ends:
        stem, *tail = tokens(name) or [""]
        if len(tail) > 1 and any(map(str.isdigit, tail)):
            tails.setdefault(stem, set()).add(tuple(tail))
    of_stem: dict[str, list[str]] = {}
    for name in names:
        stem, *tail = tokens(name) or [""]
        if any(tuple(tail) in some for some in tails.values()):
            of_stem.setdefault(stem, []).append(name)
    return [name for some in of_stem.values() if len(some) > 1 for name in some]


# Names of what nothing measured in a patient can cause: age, sex, birth, race, a treatment drawn by lot.

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
