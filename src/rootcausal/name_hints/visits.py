"""Visits that names tell: ``bp_1`` and ``bp_2``, ``hr.v1``, ``w4_glu``, ``crp_d0``, ``baseline_bmi``."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .columns import says_first, says_unchanging, tokens, words

# Words before the number of a visit, and which of them count the same; a letter may mean something else.
_VISIT_WORDS = {
    **dict.fromkeys(("visit", "visits", "vis", "v", ""), "visit"),
    **dict.fromkeys(("timepoint", "tp", "t"), "t"),
    **dict.fromkeys(("followup", "fu"), "followup"),
    **{word: word for word in ("exam", "wave", "period", "round", "session", "cycle", "assessment")},
}
_DAYS = {
    **dict.fromkeys(("hour", "hours", "h"), 1 / 24),
    **dict.fromkeys(("day", "days", "d"), 1.0),
    **dict.fromkeys(("week", "weeks", "wk", "w"), 7.0),
    **dict.fromkeys(("month", "months", "mo", "mth", "m"), 365.25 / 12),
    **dict.fromkeys(("year", "years", "yr", "y"), 365.25),
}
_STRONG = frozenset(word for word in (*_VISIT_WORDS, *_DAYS) if len(word) > 1)
_BASELINE, _AT_BASELINE = words("baseline bl pre"), "baseline"
_FOLLOW_UP = words("followup fu")

# Around an operation: when each phase begins, in days from the operation.
_PHASES: dict[tuple[str, ...], float] = {
    **dict.fromkeys((("preop",), ("pre", "op"), ("preoperative",)), -1.0),
    **dict.fromkeys((("intraop",), ("intra", "op"), ("intraoperative",)), 0.0),
    **dict.fromkeys((("extubation",), ("extub",)), 0.01),
    **dict.fromkeys((("postop",), ("post", "op"), ("postoperative",), ("pacu",)), 0.02),
    **dict.fromkeys((("pod",), ("postopday",)), 0.02),
}
_MINUTES = dict.fromkeys(("min", "mins", "minute", "minutes"), 1 / 1440)

# Numbers behind these tell one from another, not one visit from the next: items, components, genes, levels.
_NO_VISITS = words(
    "pc pca ica comp component components dim dimension factor latent cluster topic gene genes snp probe "
    "transcript isoform protein metabolite taxon otu asv cpg exon chr allele hla mir peptide item items q "
    "question feature feat features var variable col column field attr attribute marker biomarker index "
    "type stage grade class level cat category group race ethnicity site center centre batch plate sample "
    "lead leads ecg ekg qrs st channel ch electrode sensor roi region parcel node layer slice voxel band bin "
    "peak spectrum lesion tumor tumour diag diagnosis dx icd proc procedure drug med medication code lag "
    "il cd ca apo vitamin vit ifn tnf tgf igf fgf egf mmp timp cyp brca bcl hsp ccl cxcl ccr cxcr tlr stat "
    "smad jak akt cdk gata foxp sox pax wnt notch krt muc ig igg complement collagen hpv hhv hsv "
    "hba co spo pao paco fio sao svo macrophage macrophages mri flair signal relaxation weighted "
    "intensity map maps mapping star mac unnamed mcp mip wavelet dwt tqwt dec decomposition coef coeff "
    "coefficient mfcc mfccs subband energy entropy scale detail approximation"
)
# More numbers than these behind one name alone count something else than visits.
_MOST_VISITS_OF_ONE = 6
# More bare numbers, behind however many names, are levels of something.
_MOST_NUMBERS = 24
# Nobody comes more often: such numbers count something else.
_MOST_VISITS = 60

Stem = tuple[str, ...]


@dataclass(frozen=True)
class _Read:
    """What a name says: the ``stem`` was measured at ``time`` of a ``scheme`` ("visit", "days", ...).

    ``sure`` where a word says so that means nothing else, ``worded`` where there is a word or a letter.
    """

    name: str
    stem: Stem
    scheme: str
    time: float
    sure: bool
    worded: bool = True


Schedule = dict[str, float]


def schedules(
    names: Sequence[str], guests: Sequence[str] = (), visited: bool = False
) -> tuple[Schedule, ...]:
    """Columns that were measured at one of several visits, and when.

    Two ways of counting cannot be brought into one order, so each makes a schedule of its own; that of most
    columns comes first. What comes before any of them ("baseline") belongs to each.

    Parameters
    ----------
    names : of columns.
    guests : names whose numbers may mean something else, such as levels: they belong to a visit only where
        other columns tell that there are visits.
    visited : whether others tell that there are visits, so that a bare number behind one name is one, too.
    """
    read: dict[str, list[_Read]] = defaultdict(list)
    for name in names:
        _note(name, read)
    for one in _glued(names):
        read[one.scheme].append(one)
    joining: dict[str, list[_Read]] = defaultdict(list)
    for name in guests:
        _note(name, joining)
    baseline, also = read.pop(_AT_BASELINE, []), joining.pop(_AT_BASELINE, [])
    found = [
        _of_scheme(some, baseline, [*also, *joining.get(scheme, [])], visited)
        for scheme, some in read.items()
    ]
    few = (one for one in found if one and len(set(one.values())) <= _MOST_VISITS)
    return tuple(sorted(few, key=len, reverse=True))


def _note(name: str, read: dict[str, list[_Read]]) -> None:
    one = _read(name)
    if one is not None and any(map(str.isalpha, one.stem)):
        read[one.scheme].append(one)


def in_tiers(times: Mapping[str, float]) -> tuple[tuple[str, ...], ...]:
    """The names of each visit, the first visit first."""
    tiers: dict[float, list[str]] = {}
    for name, time in times.items():
        tiers.setdefault(time, []).append(name)
    return tuple(tuple(tiers[time]) for time in sorted(tiers))


def _of_scheme(
    read: Sequence[_Read], baseline: Sequence[_Read], joining: Sequence[_Read], visited: bool
) -> Schedule:
    """When the columns were measured that one way of counting tells, if it is one."""
    times: dict[Stem, set[float]] = defaultdict(set)
    for one in (*read, *baseline):
        times[one.stem].add(one.time)
    sure = {one.stem for one in read if one.sure and len(times[one.stem]) > 1}
    counted = {one.stem for one in read} - sure
    counted = {stem for stem in counted if not set(stem) & _NO_VISITS and _counts(stem, times, read)}
    often = Counter(frozenset(times[stem]) for stem in counted)
    for stem in {one.stem for one in joining}:
        often[frozenset(one.time for one in joining if one.stem == stem)] += 1
    alike = {stem for stem in counted if often[frozenset(times[stem])] > 1}
    # A bare number behind one name alone may be anything (MCP_1, MCP_2): others have to follow it.
    bare = {one.stem for one in read if not one.worded and not visited}
    alone = {stem for stem in counted if stem not in bare and len(times[stem]) <= _MOST_VISITS_OF_ONE}
    counted = {stem for stem in counted if stem in alike or stem in alone}
    found = sure | counted
    if not found or (not sure and len(set().union(*(times[stem] for stem in found))) > _MOST_NUMBERS):
        return {}
    # What was measured only once, beside what was measured often: where visits are beyond doubt.
    last = max(time for stem in found for time in times[stem])
    if sure or alike:
        found |= {one.stem for one in read if one.time <= last and not set(one.stem) & _NO_VISITS}
        found |= {one.stem for one in baseline}
    joined = [one for one in joining if one.time <= max(last, _MOST_VISITS_OF_ONE)]  # age_65 is no visit
    told = [one for one in (*baseline, *read) if one.stem in found]
    return {one.name: one.time for one in (*told, *joined)}


def _counts(stem: Stem, times: Mapping[Stem, set[float]], read: Sequence[_Read]) -> bool:
    """Whether numbers behind a name run as those of visits do: from 0 or 1 on, or in units of time from 0."""
    run = sorted(times[stem])
    if len(run) < 2:
        return False
    if read[0].scheme == "days":
        return run[0] == 0
    return run[0] in (0, 1) and run == [run[0] + step for step in range(len(run))]


def _read(name: str) -> _Read | None:
    """What a name says of a visit; None where it says nothing."""
    joined = re.sub(r"follow[ _.-]?up", "followup", name, flags=re.IGNORECASE)
    parts = tokens(joined)
    if len(parts) < 2:
        return None
    of_operation = _by_phase(name, parts)
    if of_operation is not None:
        return of_operation
    word, number, rest = parts[-2], parts[-1], parts[:-2]
    if len(parts) > 2 and word in _STRONG and _is_number(number):
        return _by_word(name, tuple(rest), word, number, sure=True)
    if len(parts) > 2 and parts[0] in _STRONG and _is_number(parts[1]):
        return _by_word(name, tuple(parts[2:]), parts[0], parts[1], sure=True)
    # "weight_6mo": risks have such names too (risk_5yr), so that it takes a first visit as well.
    if len(parts) > 2 and number in _DAYS and _is_number(word):
        return _by_word(name, tuple(rest), number, word, sure=False)
    for word, others in ((parts[-1], parts[:-1]), (parts[0], parts[1:])):
        if word in _BASELINE:
            return _Read(name, tuple(others), _AT_BASELINE, 0.0, sure=True)
        if word in _FOLLOW_UP:
            return _Read(name, tuple(others), "followup", 1.0, sure=True)
    return _by_number(name)


def _by_phase(name: str, parts: list[str]) -> _Read | None:
    """``preOp_pain``, ``pacu30min_pain``, ``postOp4hour_pain``, ``pod1am_pain``: a phase, how long after."""
    length = next((size for size in (2, 1) if tuple(parts[:size]) in _PHASES), 0)
    if not length:
        return None
    begins, rest = _PHASES[tuple(parts[:length])], parts[length:]
    if len(rest) > 1 and _is_number(rest[0]):
        unit = 1.0 if parts[0] in ("pod", "postopday") else (_DAYS | _MINUTES).get(rest[1])
        if unit is not None:
            behind = rest[1:] if parts[0] in ("pod", "postopday") else rest[2:]
            later = 0.5 if behind[:1] == ["pm"] else 0.0
            begins, rest = begins + int(rest[0]) * unit + later, behind[behind[:1] in (["am"], ["pm"]) :]
    return _Read(name, tuple(rest), "operation", begins, sure=True) if rest else None


def _glued(names: Sequence[str]) -> list[_Read]:
    """``cd40``, ``cd420``, ``cd496`` beside ``cd80``, ``cd820``: names that end in a digit, and when.

    Two stems at least have to share 0 and another number of more digits, and no number may be left over, or
    the numbers may count columns.
    """
    found: list[_Read] = []
    by_letters: dict[str, dict[str, str]] = defaultdict(dict)
    for name in names:
        parts = re.fullmatch(r"([A-Za-z]+)(\d+)", name)
        if parts is not None:
            by_letters[parts[1]][parts[2]] = name
    for letters, numbers in by_letters.items():
        if len(numbers) > _MOST_NUMBERS:
            continue
        stems = {number[:-1] for number in numbers if len(number) > 1 and number[-1] == "0"}
        times = {
            stem: {n.removeprefix(stem) for n in numbers if n.startswith(stem) and n != stem}
            for stem in stems
            if f"{stem}0"[:-1] not in numbers
        }
        shared = Counter(time for some in times.values() for time in some if time[0] != "0")
        often = {time for time, count in shared.items() if count > 1 and len(time) > 1}
        times = {stem: some for stem, some in times.items() if some & often}
        explained = {stem + time for stem, some in times.items() for time in some}
        few = all(len(some) <= _MOST_VISITS_OF_ONE for some in times.values())
        if len(times) > 1 and few and explained == set(numbers):
            found += [
                _Read(numbers[stem + time], (letters, stem), "glued", float(time), sure=True)
                for stem, some in times.items()
                for time in some
            ]
    return found


def _by_number(name: str) -> _Read | None:
    """``x_1``, ``x.v1`` and ``v1_x``: a number, or a letter and a number, behind or before a separator."""
    pieces = [piece for piece in re.split(r"[ _.\-/:()\[\]]+", name) if piece]
    if len(pieces) < 2:
        return None
    behind = re.fullmatch(r"([vtdwmyh]?)([0-9]{1,4})", pieces[-1], flags=re.IGNORECASE)
    before = re.fullmatch(r"([vtdwmyh])([0-9]{1,4})", pieces[0], flags=re.IGNORECASE)
    found, rest = (behind, pieces[:-1]) if behind else (before, pieces[1:])
    stem = tuple(tokens("_".join(rest)))
    if found is None or not stem:
        return None
    return _by_word(name, stem, found[1].lower(), found[2], sure=False)


def _by_word(name: str, stem: Stem, word: str, number: str, sure: bool) -> _Read:
    if word in _DAYS:
        return _Read(name, stem, "days", int(number) * _DAYS[word], sure)
    return _Read(name, stem, _VISIT_WORDS[word], int(number), sure, worded=bool(word))


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,4}", text) is not None


@dataclass(frozen=True)
class Reading:
    """What the names say.

    Attributes
    ----------
    first : columns that nothing measured can cause. An age of a later visit is none of them: it comes with
        its visit.
    schedules : columns measured at visits, and when: one for each way of counting, the most columns first.
        Those of ``first`` that have a visit are in them too.
    """

    first: tuple[str, ...]
    schedules: tuple[Schedule, ...]


def read(names: Sequence[str]) -> Reading:
    """What these names say of each other."""
    first = [name for name in names if says_first(name)]
    others = set(names).difference(first)
    changing = [name for name in first if not says_unchanging(name)]
    found = schedules([name for name in names if name in others], changing)
    if found:
        # Where there are visits, ages of a number that fits none of them are visits all the same.
        told = set().union(*found)
        found += schedules([name for name in changing if name not in told], visited=True)
    late = set().union(*map(_after_the_earliest, found))
    return Reading(tuple(name for name in first if name not in late), found)


def measured_later(names: Sequence[str]) -> tuple[str, ...]:
    """Columns of a later visit than the first, by their names."""
    found = set().union(*map(_after_the_earliest, read(names).schedules))
    return tuple(name for name in names if name in found)


def visits_from(names: Sequence[str], target: str) -> dict[str, float]:
    """How long after the visit of the target others were measured, by their names; below 0, before it.

    Of ALT.B, AST.B, ALT.M and AST.M, nothing says which comes first, but that AST.M was measured with ALT.M.
    """
    names = [name for name in names if name != target]
    stems: dict[str, set[Stem]] = defaultdict(set)
    for name in (*names, target):
        *stem, last = tokens(name) or [""]
        stems[last].add(tuple(stem))
    *own, last = tokens(target) or [""]
    both = (stems[last] & others for end, others in stems.items() if end != last and tuple(own) in others)
    pairs = bool(own) and any(len(shared) > 1 for shared in both)
    found = {name: 0.0 for name in names if pairs and len(tokens(name)) > 1 and tokens(name)[-1] == last}
    for times in read([*names, target]).schedules:
        if target in times:
            found |= {name: time - times[target] for name, time in times.items() if name != target}
    return found


def measured_first(names: Sequence[str]) -> set[str]:
    """Columns of the first of several visits, by their names."""
    found = [(set(times), _after_the_earliest(times)) for times in read(names).schedules]
    return set().union(*(all_of - late for all_of, late in found))


def _after_the_earliest(times: Schedule) -> set[str]:
    earliest = min(times.values())
    return {name for name, time in times.items() if time > earliest}
