"""Names that speak of what happened to a patient in the end: death, relapse, follow-up, status, time."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .words import tokens, words

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
