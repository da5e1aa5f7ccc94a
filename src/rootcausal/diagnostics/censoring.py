"""Is censoring non-informative: does the end of follow-up depend on the patients' columns?

Hazards are right as long as who leaves, among those who are alike in the model's columns, is not worse off
than who stays. That itself nobody can see. But if patients leave sooner, or later, by something that also
moves the hazard of the event, then why they leave has to do with it, and so may what was not measured. A
column that the event does not depend on can do no harm; nor can the day of entry, where all are followed
until one date, as long as it is among the columns.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.stats import norm

from ..method.table import F64
from ..name_hints.columns import says_entry
from ..outcomes.follow_up import Spans
from ..outcomes.words import fold
from ..wording import listed, quoted
from .diagnosis import NEVER, Check, CheckSpec, Scale, Text, from_size
from .evidence import Evidence
from .power import corrected, smallest_visible
from .regressions import PlainHazard

# Log-hazard of leaving for one standard deviation. What is behind it, no table shows: it is a doubt at most.
SCALE = Scale(0.3, np.inf, p_doubtful=0.01)
# That must be visible before silence means anything.
HARD = 0.7
# Where fewer leave before the event, why they leave cannot matter much.
FEW_LEAVE = 0.1
COLUMNS_NAMED = 3
ENDED = "Follow-up of {n_left:,} of {n:,} patients ended without the event, and "
NOT_SEEN = ENDED + "by no column that the hazard depends on clearly sooner or later{harmless}."
SPEC = CheckSpec(
    "follow_up",
    "Is censoring non-informative?",
    "log-hazard of leaving, for a standard deviation of a column on which the hazard depends",
    {
        "fine": Text(NOT_SEEN),
        "fine, hardly anybody left": Text(
            "{n_early:,} of {n:,} patients left without the event before the end of all follow-up: too few "
            "to matter."
        ),
        "cannot tell, by rows": Text(
            "Not asked: rows with a start may be parts of the follow-up of one patient, and which of them is "
            "the last is not known.",
            "Whether sicker patients left sooner was not looked at.",
            "ask why patients left; compare who left early with who stayed.",
        ),
        "cannot tell": Text(
            NOT_SEEN + " Seen would be a hazard of leaving that is {fold}-fold.",
            "Whether sicker patients left sooner cannot be told: of {n_left:# patient} who left, only a "
            "hazard that is {fold}-fold for a standard deviation would be seen.",
            "ask why patients left; compare who left early with who stayed.",
        ),
        "doubtful": Text(
            ENDED
            + "with one standard deviation more of {worst:q} they left {times} times as {sooner:soon|late} "
            "({p:p} after correction for {n_columns:# column}); the hazard of the event depends on it, "
            "too{harmless}.",
            "Hazards and risks are right only if patients who left were no worse off than others like them; "
            "how long they were followed depends on {names:3}.",
            "ask why they left. If all were followed until one date, take the day or year of entry in as a "
            "column. If patients left because they did badly or well (a transplant, another treatment), "
            "count that as an event too, or read hazards as those of patients to whom it does not happen.",
        ),
    },
    SCALE,
    touches="risk",
    doubtful_from=f"{from_size(SCALE.doubtful, SCALE.p_doubtful)}: {fold(SCALE.doubtful)} times as soon or "
    f"late",
    broken_from=NEVER,
)


def check_censoring(evidence: Evidence, in_model: np.ndarray, raw: F64) -> Check:
    """Of all columns, one at a time.

    Parameters
    ----------
    evidence : with times and events.
    in_model : (k,) which columns of the order add something to the hazard.
    raw : (n, k + m) the columns, then those outside the model, as they were measured.
    """
    spans = Spans.of(evidence.known)
    if spans.start is not None:
        return SPEC.check("cannot tell", case="by rows")
    time, left = spans.time, spans.event == 0
    if spans.competing is not None:
        left &= spans.competing == 0
    n_left, n = int(left.sum()), left.size
    # Who was followed for as long as anybody did not leave: the study ended.
    n_early = int((left & (time < time.max())).sum())
    if n_early < FEW_LEAVE * n:
        return SPEC.check("fine", 0.0, case="hardly anybody left", n_early=n_early, n=n)
    columns = np.column_stack([evidence.values, evidence.outside])
    names = (*evidence.names, *evidence.outside_names)
    # Events come before ends of follow-up at the same time.
    leaving = replace(
        spans, time=np.where(left, time, np.nextafter(time, 0.0)), event=left.astype(np.float64)
    )
    fit = PlainHazard.of(columns[:, :0], replace(leaving, competing=None).known)
    effect, error = _effects(fit, columns)
    p_values = [corrected(p, len(names)) for p in (2.0 * norm.sf(np.abs(effect) / error)).tolist()]
    judged = zip(p_values, np.abs(effect).tolist(), strict=True)
    counts = np.array([SCALE.judge(*of) != "fine" for of in judged], dtype=bool)
    ends = zip(names, raw.min(axis=0).tolist(), raw.max(axis=0).tolist(), strict=True)
    entry = np.array([says_entry(*of) for of in ends], dtype=bool)
    acts = np.append(in_model, np.zeros(evidence.outside.shape[1], dtype=bool))
    strongest = np.argsort(-np.abs(effect), kind="stable").tolist()
    doubtful = [place for place in strongest if (counts & acts & ~entry)[place]]
    beside = dict.fromkeys(names[place] for place in strongest if counts[place] and place not in doubtful)
    needed = smallest_visible(1, 1, len(names), SCALE.p_doubtful)
    smallest = needed * float(np.median(error)) if len(names) else 0.0
    worst = doubtful[0] if doubtful else int(np.argmin(p_values)) if names else None
    largest = float(np.abs(effect).max(initial=0.0))
    harmless = (
        f". It also goes with {listed([quoted(name, 40) for name in beside], COLUMNS_NAMED)}, which does no "
        "harm: the hazard does not depend on it, or it says when patients came in, and is a column"
    )
    return SPEC.check(
        "doubtful" if doubtful else "cannot tell" if smallest > HARD else "fine",
        abs(float(effect[doubtful[0]])) if doubtful else largest,
        None if worst is None else p_values[worst],
        names=tuple(dict.fromkeys(names[place] for place in doubtful)),
        smallest=smallest,
        n_left=n_left,
        n=n,
        n_columns=len(names),
        worst="" if worst is None else names[worst],
        times=fold(abs(float(effect[worst]))) if doubtful else "",
        sooner=bool(doubtful and effect[worst] > 0),
        harmless=harmless if beside else "",
        fold=fold(smallest),
    )


def _effects(fit: PlainHazard, columns: F64) -> tuple[F64, F64]:
    """Log-hazard that a standard deviation of each column adds by itself (one Newton step), and its error."""
    score = columns.T @ fit.residual
    information = np.array(
        [fit.information(columns[:, [c]], columns[:, [c]])[0, 0] for c in range(columns.shape[1])]
    )
    information = np.maximum(information, 1e-12)
    return score / information, 1.0 / np.sqrt(information)
