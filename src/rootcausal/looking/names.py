"""What names of columns, and words in cells, usually mean in tables of patients."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..asking.words import tokens, words

# Texts that people write where nothing was measured. Those that count as missing anyway are not among them.
WORDS_FOR_MISSING = words(
    "? . - -- --- * ... unknown unk unkn missing n.a. na n.d. nd nr ns not_done not_known not_available "
    "not_recorded not_applicable not_measured not_tested no_data #null! #value! none_recorded undefined "
    "unspecified"
)

_ID = words(
    "id ids ident identifier mrn guid uuid pid sid eid usubjid subjid randid pidnum idno idnum patno subjno"
)
_BEFORE_ID = words(
    "rand pat patient subj subject case sample person study record visit hadm stay icustay enc encounter "
    "participant member row usubj"
)
_PATIENT = words(
    "patient pat subject subj person participant mrn randid usubjid subjid pid pidnum patno subjno"
)
_ROW_NUMBER = frozenset(("", "index", "rownames", "rowname", "row", "x", "obs", "unnamed: 0", "row.names"))
_DATE = words("date dates datum dob datetime timestamp birthdate")

# What happened to a patient in the end, and when: known only after the outcome, or the outcome itself.
_END = words(
    "death deaths dead died dies deceased dth dod mortality survival survived survivor followup fup futime "
    "cens censor censored censoring recurrence recurred recurrent recur relapse relapsed rfs dfs pfs "
    "rfstime event events outcome outcomes endpoint autopsy hospdead los slos lenfol charges totcst totmcst"
)
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
    "since before of per half full part bed meal night admission arrival sampling sample collection draw "
    "measurement delay"
)
# The two ends of an interval, in a table with one row for each.
_INTERVALS = (("start", "stop"), ("tstart", "tstop"), ("begin", "end"), ("entry", "exit"))
_YEAR = words("year years yr yrs")
_BORN = words("birth born yob")
# What happened to others, or earlier, does not come after the outcome.
_EARLIER = words(
    "family fam fh history hist prior previous prev before mother father parent maternal baseline"
)
# Words that many columns share, so that sharing them with the target means nothing.
_COMMON = words(
    "level score value total type index count number rate time status with from mean left right disease "
    "baseline test blood heart the and for any age"
)

_CODES = words(
    "race ethnicity ethnic ethnicgroup site center centre hospital ward country region province city "
    "bloodgroup celltype histology department clinic nationality inst institution"
)
_ORDERED = words("stage grade class nyha level degree ecog asa severity tumor tumour figo tgrade")
_LABS = words(
    "glucose insulin bp sbp dbp sysbp diabp pressure bmi mass chol cholesterol totchol hdl ldl triceps skin "
    "skinthickness bloodpressure weight height wt ht albumin hemoglobin haemoglobin hgb platelet platelets "
    "sodium potassium heartrate heartrte pulse temperature temp age waist wbc ast alt triglycerides trig "
    "creatinine calcium hematocrit saturation spo2"
)


def _folded(name: str) -> str:
    return name.strip().casefold()


def says_missing(text: str) -> bool:
    return re.sub(r"\s+", "_", text.strip().casefold()) in WORDS_FOR_MISSING


def says_id(name: str) -> bool:
    parts = tokens(name)
    last = parts[-1] if parts else ""
    glued = last.endswith("id") and last[:-2] in _BEFORE_ID
    return glued or bool(_ID & {last, *parts}) or _folded(name) in _PATIENT


def says_patient(name: str) -> bool:
    """Whether the id is that of a person, not of a visit or a sample."""
    parts = set(tokens(name))
    return bool(_PATIENT & parts) or any(w.endswith("id") and w[:-2] in _PATIENT for w in parts)


def says_row_number(name: str) -> bool:
    return _folded(name) in _ROW_NUMBER


def says_date(name: str) -> bool:
    return bool(_DATE & set(tokens(name)))


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
        return plain or bool(others & _BESIDE_STATUS)
    if _DIAGNOSIS & set(parts):
        return plain or bool(others & _BESIDE_DIAGNOSIS)
    return ("follow" in parts and "up" in parts) or joined in ("fu", "os")


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
    folded = {_folded(name): name for name in names}
    pairs = [*_INTERVALS]
    for name in folded:
        stem = re.sub(r"[._ -]?time$", "", name)
        if stem != name and stem and says_end(name):
            gaps = ("", ".", "_", " ", "-")
            pairs += [(name, f"{stem}{gap}{word}") for gap in gaps for word in ("stat", "status")]
    return {folded[name] for pair in pairs if set(pair) <= set(folded) for name in pair}


def says_year(name: str) -> bool:
    """Whether a name is that of a year, other than that of birth: ``year``, ``dxyr``, ``sample.yr``."""
    parts = tokens(name)
    if _BORN & set(parts):
        return False
    return any(word in _YEAR or word.endswith(("yr", "year")) for word in parts)


def level_says_end(level: str) -> bool:
    """Whether a level is an end: dead, alive, lost to follow-up."""
    parts = set(tokens(level))
    return bool(parts & (_END | {"alive"})) or {"follow", "up"} <= parts


def near(name: str, target: str) -> bool:
    """Whether a column is named like the target: ``died_30d`` beside ``died``, ``t.tdm`` beside ``e.tdm``."""
    shared = set(tokens(name)) & set(tokens(target)) - _COMMON
    return any(len(word) >= 3 and not word.isdigit() for word in shared)


def says_codes(name: str) -> bool:
    """Whether whole numbers under this name are codes without an order: race, site, hospital."""
    return bool(_CODES & {*tokens(name), "".join(tokens(name))})


def says_order(name: str) -> bool:
    """Whether levels under this name have an order: stage, grade, class."""
    return bool(_ORDERED & set(tokens(name)))


def says_lab(name: str) -> bool:
    """Whether a living patient cannot have 0 of it."""
    return bool(_LABS & {*tokens(name), "".join(tokens(name))})
