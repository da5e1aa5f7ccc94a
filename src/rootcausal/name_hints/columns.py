"""What names of columns, and words in cells, usually mean in tables of patients."""

from __future__ import annotations

from .words import tokens, words

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
