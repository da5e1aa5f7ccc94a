"""Is a column an effect of the outcome rather than a cause of it? Nothing may come after the outcome.

How much likelier do these patients make the one story than the other?

Cause: the column comes out of those before it, and the log-odds of D are straight in its error. Effect: D
comes out of the other errors, and shifts the column as a whole. The log-likelihoods of the two differ by

    n [H(e) − H(e − shift · D) − g],   g = what the error adds a patient to the log-likelihood of D,

which is zero for a Gaussian error, whose direction nobody can tell. A second difference is in the arrows.
What is only an effect of D is, given D, independent of all that D depends on: the story of an effect needs
fewer arrows, each worth ½ log n (Schwarz 1978). The two together are the log of how many times likelier an
effect is. By Markov's inequality a ratio of known likelihoods is above 1/p by chance in at most a share p of
cohorts; here densities are estimated, so that this is a guide whose level was measured (results/diagnostics).

Of a number D, as between two columns: what each story leaves is looked at by its densities, and so are the
arrows that it needs. Two Gaussians tell nothing. Of a diagnosis there is another sign: its log-odds are
straight in the error of a cause. A time to the outcome that censoring cut short bends them, though not as a
shift by D does; and so does a cause that acts in a bent way. But where all patients were followed for some
time, next to all with values below it have D, and far fewer right above: no cause does that.

Where the model has curves, lines judge no order: the stories are told by :mod:`.nonlinear_stories`, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtrc, expit
from scipy.stats import norm

from ..method.table import F64
from .dependence import rank_scores
from .diagnosis import Check, CheckSpec, Scale, Text, Verdict
from .evidence import Evidence, standardized
from .leakage import advice_to_leave_out
from .power import POWER, corrected
from .regressions import PlainLine, PlainLogit, joint_score_tests
from .story import Told

# Of the columns that D depends on, the strongest are asked.
ASKED_AT_MOST = 20
# With fewer measured in a class, or of a number in all, a shift is not told from chance.
FEWEST_OF_A_CLASS, FEWEST_MEASURED = 5, 50
# D clearly depends on a column from so many standard errors on.
CLEARLY = 3.0
NEWTON_STEPS = 4
# Of a kernel, beside Silverman's 0.9: smoother densities differ less by chance.
WIDTH = 1.3
GRID_A_BANDWIDTH, LARGEST_GRID = 4.0, 65_536
# Part of a kernel's height that is left at a value with no other near.
FAR_FROM_ALL = 1e-3
# More rows would not change which story is the likelier, and cost time.
ROWS_AT_MOST, ROWS_OF_A_CLASS = 5_000, 500
# Sizes are √(χ² / n). A bend alone is no proof.
BENT = Scale(0.2, np.inf, p_doubtful=1e-3)
# Scores of ranks that are tried: 2 to 4 bend, and the first, straight in the ranks, levels off in the tails.
BENDING = 4
# Beyond a limit of a column next to all have D, and of as many beside it far fewer: at least so many
# patients, this part of all, this share of them, and this difference.
FEWEST_BEYOND, PART_BEYOND, ALL_BEYOND, DROP = 20, 0.1, 0.99, 0.5
# So many times likelier must a cause be for the question to be settled.
SETTLED = 50.0
MOST_TIMES = 10_000


@dataclass(frozen=True)
class Shifts:
    """Standard deviations by which D moves a column: when that is named, has to be told, must be seen."""

    worth_a_word: float
    hard: float
    must_see: float


OF_A_DIAGNOSIS, OF_A_NUMBER = Shifts(0.4, 0.5, 1.0), Shifts(0.2, 0.25, 0.5)


def _spec(d: str, scale: Scale, certain: str, unseen: str, effect: str, **more: Text) -> CheckSpec:
    """What is asked and said of ``d``; ``effect`` is how an effect of it looks."""
    unknown = Text(
        "{names} {names:goes|go} with " + d + ", and {n:,} patients do not show which comes first.",
        "{names} may be {names:an effect|effects} of " + d + " rather than {names:a cause|causes}.",
        "ask when {names:it was|they were} measured; what was measured after "
        + d
        + " is left out with --after COLUMN (in Python: leave it out of X).",
    )
    nobody = Text(
        limit=f"Any column may be an effect of {d} rather than a cause.",
        advice=f"ask when each column was measured; what was measured after {d} is left out with --after "
        f"COLUMN "
        "(in Python: leave it out of X).",
    )
    return CheckSpec(
        "terminal",
        f"Is there no reverse causation: is no column an effect of {d}?",
        "nats a patient by which an effect is likelier than a cause",
        {
            "fine": Text(
                "Of {n_told:# column} that {n_told:goes|go} {most}clearly with " + d + " none looks like an "
                "effect of it."
            ),
            "fine, none": Text(
                f"Beside the other columns, no number whose place was learned goes clearly with {d}."
            ),
            "cannot tell": unknown,
            "cannot tell, none": replace(nobody, statement=unseen),
            "cannot tell, certain": replace(nobody, statement=certain),
            "doubtful": Text(
                effect,
                "{names} may be {names:an effect|effects} of "
                + d
                + ", and then {names:takes|take} the place of root causes.",
                "{leave_out}",
            ),
            "broken": Text(
                limit="Do not read {names} as {names:a root cause|root causes}: "
                "{names:it looks like an effect|they look like effects} "
                "of " + d + ", and {names:takes|take} the place of root causes."
            ),
            **more,
        },
        scale,
        touches="variables",
    )


# Sizes are nats a patient; an error of Student's t5, shifted by its standard deviation, comes to 0.016.
DIAGNOSIS = _spec(
    "the diagnosis",
    Scale(0.002, 0.01, p_doubtful=0.02, p_broken=1e-5),
    "The columns together tell every diagnosis apart, and then nothing shows which comes first.",
    f"Among {{n:,}} patients even an effect of the diagnosis that shifts a column by "
    f"{OF_A_DIAGNOSIS.must_see:g} "
    "standard deviation would be missed; seen in nine of ten cohorts like this one would be {smallest:.1f} "
    "standard deviations.",
    "In patients with the diagnosis {worst:q} is shifted as a whole, by {shift:.1f} of its standard "
    "deviations, as by the diagnosis, its treatment or how long patients were followed: that is {times} "
    "times as likely, in these patients, as that it comes before the diagnosis.",
    **{
        "doubtful, bent": Text(
            "The risk neither rises nor falls evenly with {worst:q}, as it would with a cause that acts "
            "linearly: it was measured after the outcome (a time to it, for instance), or acts "
            "nonlinearly.",
            "What {names} {names:adds|add} to a patient's risk is read off a line, and the relation is "
            "nonlinear.",
            "{leave_out} If it was measured before, it may be that only high, or only low values matter: add "
            "a column that says so.",
        ),
        "doubtful, from": Text(
            "Of the {n_beyond:,} patients with the {most} values of {worst:q} {with_it:,} have the "
            "diagnosis, and of as many next to them {beside:.0%}: as of the time to it, or to the end of "
            "follow-up.",
            "Do not read {worst:q} as a root cause: it looks as though it ended with the diagnosis.",
            "{leave_out}",
        ),
    },
)
# Densities are estimated, and of Gaussians, whose direction nobody can tell, one in fifty cohorts of 200
# makes one story a thousand times likelier by chance.
NUMBER = _spec(
    "the outcome",
    Scale(0.002, 0.01, p_doubtful=1e-3, p_broken=1e-6),
    "The columns together tell the outcome for certain.",
    f"Among {{n:,}} patients even an effect of the outcome that it moves by {OF_A_NUMBER.must_see:g} "
    f"standard "
    "deviations would be missed; seen in nine of ten cohorts like this one would be {smallest:.1f}.",
    "That the outcome moves {worst:q}, by {shift:.1f} standard deviations for one of its own, is {times} "
    "times as likely, in these patients, as that it comes before the "
    "outcome.{bent: A nonlinear relation or heteroscedastic errors, which others see, can look like this.|}",
)


def check_reverse_causation(
    evidence: Evidence, fit: PlainLogit, values: F64, measured: np.ndarray, nonlinear: bool = False
) -> Check:
    """Whether a column is shifted by a diagnosis.

    ``values`` (n, k) are those of the columns of ``evidence``; ``measured`` (n, k) says which errors are made
    of measurements alone: what was drawn knows D. Of a ``nonlinear`` model no bend is a finding.
    """
    y = evidence.known
    smallest = _smallest_shift(y)
    if fit.separated:
        return DIAGNOSIS.check("cannot tell", case="certain", smallest=smallest)
    n_rows = int(max(ROWS_AT_MOST, ROWS_OF_A_CLASS / min(y.mean(), 1.0 - y.mean())))
    few, evidence, values = _some(evidence, values, n_rows)
    if few is not None:
        fit, measured = PlainLogit.of(evidence.errors, evidence.known), measured[few[0]][:, few[1]]
        y, smallest = evidence.known, _smallest_shift(evidence.known)
    told = stories(evidence, values, measured, fit, nonlinear)
    effects = _effects(DIAGNOSIS, told, OF_A_DIAGNOSIS)
    beyond = _only_cases_beyond(evidence, values, measured)
    # Taken for a cause, such a column makes others look like effects.
    if beyond is not None and beyond.place not in [one.place for _, one in effects]:
        names = evidence.named([beyond.place])
        return DIAGNOSIS.check(
            "doubtful",
            case="from",
            names=names,
            smallest=smallest,
            worst=names[0],
            n_beyond=beyond.n_rows,
            most="lowest" if beyond.lowest else "highest",
            with_it=beyond.n_cases,
            beside=beyond.beside,
            leave_out=advice_to_leave_out(names),
        )
    if not effects and not nonlinear:
        numbers = np.flatnonzero(evidence.searched & ~evidence.with_levels)
        p_values, bend = bend_tests(evidence.errors[:, numbers], y, fit)
        p_values = np.array([corrected(p, numbers.size) for p in p_values.tolist()])
        bent = [m for m in np.argsort(-bend).tolist() if BENT.judge(p_values[m], bend[m]) != "fine"]
        if bent:
            names = evidence.named(numbers[bent])
            size, p_value = float(bend[bent[0]]), float(p_values[bent[0]])
            out = advice_to_leave_out(names)
            return DIAGNOSIS.check(
                "doubtful", size, p_value, case="bent", names=names, worst=names[0], leave_out=out
            )
    return _said(DIAGNOSIS, OF_A_DIAGNOSIS, evidence, told, effects, smallest)


def check_reverse_causation_of_number(
    evidence: Evidence, values: F64, is_bent: bool, nonlinear: bool = False
) -> Check:
    """Whether a number moves a column.

    ``values`` (n, k) are those of the columns of ``evidence``, what was drawn among them. ``is_bent`` says
    that relations to the number are bent, or its spread uneven: then a cause may look like an effect.
    """
    _, evidence, values = _some(evidence, values, ROWS_AT_MOST)
    fit = PlainLine.of(evidence.errors, evidence.known)
    smallest = float((CLEARLY + norm.isf(1.0 - POWER)) / np.sqrt(evidence.n_rows))
    if fit.separated:
        return NUMBER.check("cannot tell", case="certain", smallest=smallest)
    told = stories_of_number(evidence, values, fit, nonlinear)
    effects = _effects(NUMBER, told, OF_A_NUMBER)
    return _said(NUMBER, OF_A_NUMBER, evidence, told, effects, smallest, is_bent)


def _some(
    evidence: Evidence, values: F64, at_most: int
) -> tuple[tuple[np.ndarray, np.ndarray] | None, Evidence, F64]:
    """At most so many patients: which, and which columns vary among them; None where all are."""
    if evidence.n_rows <= at_most:
        return None, evidence, values
    few = np.sort(np.random.default_rng(0).choice(evidence.n_rows, at_most, replace=False))
    varies = np.ptp(values[few], axis=0) > 0  # a rare level may be gone
    return (few, varies), evidence.of_patients(few).of_columns(varies), values[few][:, varies]


def _effects(spec: CheckSpec, told: Sequence[Told], shifts: Shifts) -> list[tuple[Verdict, Told]]:
    """What looks like an effect, the likeliest first."""
    judged = [
        (spec.scale.judge(one.p_value(len(told)), one.size), one)
        for one in told
        if abs(one.shift) >= shifts.worth_a_word
    ]
    return sorted((pair for pair in judged if pair[0] != "fine"), key=lambda pair: -pair[1].log_times)


def _said(
    spec: CheckSpec,
    shifts: Shifts,
    evidence: Evidence,
    told: Sequence[Told],
    effects: Sequence[tuple[Verdict, Told]],
    smallest: float,
    is_bent: bool = False,
) -> Check:
    """The check, where nothing else was found. Where relations ``is_bent``, nothing is condemned."""
    if effects:
        condemned = not is_bent and any(verdict == "broken" for verdict, _ in effects)
        names, worst = evidence.named([one.place for _, one in effects]), effects[0][1]
        times = np.exp(min(worst.log_times, 700.0))
        return spec.check(
            "broken" if condemned else "doubtful",
            worst.size,
            worst.p_value(len(told)),
            names=names,
            smallest=smallest,
            worst=names[0],
            shift=abs(worst.shift),
            times=f"more than {MOST_TIMES:,}" if times > MOST_TIMES else f"{times:,.0f}",
            bent=is_bent,
            leave_out=advice_to_leave_out(names, "the diagnosis" if spec is DIAGNOSIS else "the outcome"),
        )
    open_ones = [one for one in told if abs(one.shift) >= shifts.hard and one.log_times > -np.log(SETTLED)]
    if open_ones or smallest > shifts.must_see:
        names = evidence.named([one.place for one in open_ones])
        number, case = (float(len(names)), "") if names else (float("nan"), "none")
        return spec.check("cannot tell", number, case=case, names=names, smallest=smallest, n=evidence.n_rows)
    return spec.check(
        "fine",
        max((one.size for one in told), default=0.0),
        min((one.p_value(len(told)) for one in told), default=1.0),
        case="" if told else "none",
        smallest=smallest,
        n_told=len(told),
        most="most " if spec is DIAGNOSIS and len(told) == ASKED_AT_MOST else "",
    )


@dataclass(frozen=True)
class Beyond:
    """The lowest or highest values of a column at a place, with which next to all have D.

    Attributes
    ----------
    place : of the column.
    lowest : whether they are the lowest.
    n_rows, n_cases : how many patients have them, and how many of these have D.
    beside : share with D of as many next to them.
    """

    place: int
    lowest: bool
    n_rows: int
    n_cases: int
    beside: float


def _only_cases_beyond(evidence: Evidence, values: F64, measured: np.ndarray) -> Beyond | None:
    """Of numbers whose place was learned, the one with most patients beyond a limit, next to all with D."""
    found = []
    for place in np.flatnonzero(evidence.searched & ~evidence.with_levels).tolist():
        rows = np.flatnonzero(measured[:, place])
        ranked = rows[np.argsort(values[rows, place], kind="stable")]
        for lowest in (True, False):
            y = evidence.known[ranked if lowest else ranked[::-1]]
            with_d, rank = np.cumsum(y), np.arange(1, y.size + 1)
            n = int(rank[with_d >= ALL_BEYOND * rank].max(initial=0))
            if n < max(FEWEST_BEYOND, PART_BEYOND * y.size) or n == y.size:
                continue
            beside = float(y[n : 2 * n].mean())
            if with_d[n - 1] / n - beside >= DROP:
                found.append(Beyond(place, lowest, n, int(with_d[n - 1]), beside))
    return max(found, key=lambda one: one.n_rows, default=None)


def bend_tests(errors: F64, y: np.ndarray, fit: PlainLogit) -> tuple[F64, F64]:
    """P-values (k,) of straight log-odds in each error, and how much bends add: √(χ² / n), (k,)."""
    statistic, freedom = joint_score_tests(fit, rank_scores(errors, BENDING))
    p_values = np.where(freedom > 0, chdtrc(np.maximum(freedom, 1), statistic), 1.0)
    return p_values, np.sqrt(statistic / len(y))


def _smallest_shift(y: np.ndarray) -> float:
    """Standard deviations of a shift by D after which D goes clearly with a column, in 9 of 10 cohorts."""
    share = float(y.mean())
    return float((CLEARLY + norm.isf(1.0 - POWER)) / np.sqrt(y.size * share * (1.0 - share)))


def kernel_width(values: F64, grain: float = 0.0) -> float:
    """For a density of these values; no narrower than the ``grain``, from one count to the next, say."""
    low, high = np.quantile(values, (0.25, 0.75))
    spread = min(values.std(), (high - low) / 1.349) if high > low else values.std()
    return float(max(WIDTH * spread * values.size**-0.2, grain, 1e-12))


def log_density(values: F64, width: float) -> F64:
    """(n,): log of the density at each value, learned from all the others by a Gaussian kernel."""
    n = values.size
    start, end = values.min(), values.max()
    size = int(np.clip(GRID_A_BANDWIDTH * (end - start) / width, 512, LARGEST_GRID))
    step = max((end - start) / (size - 1), np.finfo(float).tiny)  # among some patients all may have one value
    width = max(width, step)
    place = (values - start) / step
    left = np.minimum(place.astype(np.intp), size - 2)
    share = place - left
    count = np.bincount(left, 1.0 - share, size) + np.bincount(left + 1, share, size)
    # Past the grid nothing is counted: a column that others all but settle has a width of millions of steps.
    reach = int(min(5.0 * width / step, size)) + 1
    peak = 1.0 / (width * np.sqrt(2.0 * np.pi))
    kernel = peak * np.exp(-0.5 * (np.arange(-reach, reach + 1) * step / width) ** 2)
    # Loaded where it is used: with all of scipy.signal, longer than a small fit.
    from scipy.signal import fftconvolve

    smooth = fftconvolve(count, kernel)[reach : reach + size]
    others = (1.0 - share) * smooth[left] + share * smooth[left + 1] - peak
    return np.log(np.maximum(others, FAR_FROM_ALL * peak) / (n - 1))


def arrows_spared(values: F64, y: np.ndarray) -> F64:
    """(k,): nats by which each column of values (n, k) needs fewer arrows to others once D is one of them.

    An arrow that is there costs ½ log n, one that is not what leaving it out loses, ½ t².
    """
    with_d = np.column_stack([values, y])
    k = values.shape[1]
    without, given_d = _arrow_costs(values), _arrow_costs(with_d)[:k, :k]
    return (without - given_d).sum(axis=1)


def _arrow_costs(values: F64) -> F64:
    """(k, k): nats that the arrow between each two columns costs, given all the others."""
    n, k = values.shape
    unit = standardized(values)  # of what does not vary in these rows, nothing
    correlation = unit.T @ unit / n
    precision = np.linalg.pinv(correlation, hermitian=True)
    scale = np.maximum(np.diagonal(precision), 1e-12)
    squared = np.clip(precision**2 / np.outer(scale, scale), 0.0, 1.0 - 1e-12)
    np.fill_diagonal(squared, 0.0)
    t_squared = max(n - k - 1, 1) * squared / (1.0 - squared)
    return 0.5 * np.minimum(t_squared, np.log(n))


def lost_without(fit: PlainLogit, y: np.ndarray, place: int) -> F64:
    """(n,): what each patient's log-likelihood of D gains by one error, beside all the others.

    Starting from where the fit with that error says the one without it is, Newton's method is there in a few
    steps; too few could only make the error look more of a cause.
    """
    taken = fit.covariance[:, place] * (fit.coef[place] / fit.covariance[place, place])
    baseline = fit.baseline + float((fit.errors - fit.centred)[0] @ taken)
    design = np.column_stack([np.delete(fit.errors, place, axis=1), np.ones(y.size)])
    coef = np.append(np.delete(fit.coef - taken, place), baseline)
    for _ in range(NEWTON_STEPS):
        risk = expit(design @ coef)
        information = (design * (risk * (1.0 - risk))[:, None]).T @ design
        step = np.linalg.lstsq(information, design.T @ (y - risk), rcond=1e-10)[0]
        coef = coef + step / max(1.0, float(np.abs(step).max()))
    return _log_likelihood(fit.log_odds, y) - _log_likelihood(design @ coef, y)


def _log_likelihood(log_odds: F64, y: np.ndarray) -> F64:
    return y * log_odds - np.logaddexp(0.0, log_odds)


def _story_of(
    place: int, errors: F64, y: np.ndarray, values: F64, measured: np.ndarray, fit: PlainLogit
) -> tuple[float, float]:
    """How much likelier an effect is, in nats without arrows, and by how much D shifts the error at a place.

    Parameters
    ----------
    errors : (n, k) of which those before the place are taken out.
    values : (n,) of the column whose error it is; ``measured`` (n,) where it was.
    fit : of all errors.
    """
    error, disease = errors[measured, place], y[measured].astype(float)
    values = values[measured]
    steps = np.diff(np.unique(values))
    basis, _ = np.linalg.qr(np.column_stack([np.ones(disease.size), errors[measured, :place]]))
    error, disease, value = (some - basis @ (basis.T @ some) for some in (error, disease, values))
    slope = float(error @ disease) / max(float(disease @ disease), 1e-12)
    unshifted = error - slope * disease
    grain = float(np.median(steps)) * abs(float(error @ value)) / max(float(value @ value), 1e-300)
    # The same for both: two classes that lie far apart would else be blurred where they are one sample.
    width = kernel_width(unshifted, grain)
    gain = log_density(unshifted, width) - log_density(error, width) - lost_without(fit, y, place)[measured]
    return float(gain.sum()), slope / max(float(unshifted.std()), 1e-12)


def _whatever_the_order(place: int, y: np.ndarray, values: F64, measured: np.ndarray) -> float:
    """The same nats where the column comes after all the others, as an effect of D would."""
    last = np.append(np.delete(np.arange(values.shape[1]), place), place)
    reordered = standardized(values[:, last])
    fit = PlainLogit.of(reordered, y)
    return _story_of(last.size - 1, reordered, y, values[:, place], measured, fit)[0]


def likelier_last(place: int, values: F64, with_levels: np.ndarray) -> float:
    """Nats by which columns (n, k) are likelier where one comes after all the others than where it stands."""
    columns = standardized(values)
    start = np.column_stack([np.ones(len(columns)), columns[:, :place]])
    before, _ = np.linalg.qr(start)
    every, _ = np.linalg.qr(np.column_stack([start, columns[:, place + 1 :]]))
    one = columns[:, place]
    nats = _gain(one - every @ (every.T @ one), one - before @ (before.T @ one))
    # What is in front of each later column, without the one and with it.
    for later in range(place + 1, columns.shape[1]):
        without, _ = np.linalg.qr(np.column_stack([start, columns[:, place + 1 : later]]))
        both, column = np.column_stack([columns[:, later], one]), columns[:, later]
        wide, own = (both - without @ (without.T @ both)).T
        narrow = wide - own * (float(own @ wide) / max(float(own @ own), 1e-12))
        if with_levels[later]:  # what is left of levels has no density
            squares = max(float(narrow @ narrow), 1e-12), max(float(wide @ wide), 1e-12)
            nats -= 0.5 * column.size * float(np.log(squares[1] / squares[0]))
        else:
            nats -= _gain(narrow, wide)
    return nats


def stories(
    evidence: Evidence, values: F64, measured: np.ndarray, fit: PlainLogit, nonlinear: bool = False
) -> list[Told]:
    """Of the numbers that D clearly depends on and whose place was learned, the strongest first.

    Parameters
    ----------
    evidence : errors, in causal order.
    values : (n, k) of the same columns.
    measured : (n, k) which of them were, and not drawn: what was drawn knows D.
    fit : of D on the errors.
    nonlinear : whether the model has curves: straight lines then judge no order, and graphs are asked, too.
    """
    z = fit.coef / np.maximum(fit.standard_errors, 1e-150)
    enough = np.stack([measured[evidence.known == label].sum(axis=0) for label in (0, 1)]).min(axis=0)
    asked = np.flatnonzero(
        evidence.searched & ~evidence.with_levels & (np.abs(z) >= CLEARLY) & (enough >= FEWEST_OF_A_CLASS)
    )
    asked = asked[np.argsort(-np.abs(z[asked]), kind="stable")][:ASKED_AT_MOST]
    spared = arrows_spared(values, evidence.known) if asked.size else np.zeros(0)
    told = []
    for place in asked.tolist():
        of_column = values[:, place], measured[:, place]
        nats, shift = _story_of(place, evidence.errors, evidence.known, *of_column, fit)
        # A wrong order may look like it, or hide it: where its place is learned too early, what comes out of
        # the column looks like a cause of it. So it must look like it after all the others, and either where
        # it stands or with all that its coming last makes of the order.
        after = _whatever_the_order(place, evidence.known, values, measured[:, place])
        if nats < after and after + spared[place] > 0.0 and not nonlinear:
            rows = measured[:, place]
            nats = max(nats, after + likelier_last(place, values[rows], evidence.with_levels))
        nats = min(nats, after)
        told.append(Told(place, nats + float(spared[place]), shift, int(measured[:, place].sum())))
    if nonlinear:
        return _nonlinear(evidence, values, measured, told, 1.0 / float(evidence.known.std()))
    return told


def _nonlinear(
    evidence: Evidence, values: F64, measured: np.ndarray, told: Sequence[Told], unit: float
) -> list[Told]:
    from .nonlinear_stories import nonlinear_stories  # models of lines need no learner of curves

    return nonlinear_stories(evidence, values, measured, told, unit)


def stories_of_number(evidence: Evidence, values: F64, fit: PlainLine, nonlinear: bool = False) -> list[Told]:
    """Of the numbers that the outcome clearly depends on and whose place was learned, the strongest first."""
    z = np.abs(fit.coef) / np.maximum(fit.standard_errors, 1e-300)
    measured = evidence.rest_on_measurements
    asked = np.flatnonzero(
        evidence.searched & ~evidence.with_levels & (z >= CLEARLY) & (measured.sum(axis=0) >= FEWEST_MEASURED)
    )
    asked = asked[np.argsort(-z[asked], kind="stable")][:ASKED_AT_MOST]
    y = standardized(evidence.known)
    columns = standardized(values)
    spared = arrows_spared(columns, y) if asked.size else np.zeros(0)
    told = []
    for place in asked.tolist():
        rows = np.flatnonzero(measured[:, place])  # what was drawn knows the outcome
        nats, shift = _story_of_number(place, evidence.errors[rows], y[rows])
        if nats + spared[place] > 0.0:  # a wrong order may look like it: both must say so
            last = np.append(np.delete(np.arange(columns.shape[1]), place), place)
            nats = min(nats, _story_of_number(last.size - 1, columns[np.ix_(rows, last)], y[rows])[0])
        told.append(Told(place, nats + float(spared[place]), shift, rows.size))
    return _nonlinear(evidence, values, measured, told, 1.0) if nonlinear else told


def _story_of_number(place: int, errors: F64, y: F64) -> tuple[float, float]:
    """How much likelier an effect is, in nats without arrows, and by how much y moves the error there."""
    basis, _ = np.linalg.qr(np.column_stack([np.ones(y.size), errors[:, :place]]))
    error, moving = (some - basis @ (basis.T @ some) for some in (errors[:, place], y))
    slope = float(error @ moving) / max(float(moving @ moving), 1e-12)
    unmoved = error - slope * moving
    as_effect = _gain(unmoved, error)
    of_all, of_others = (PlainLine.of(some, y).left for some in (errors, np.delete(errors, place, axis=1)))
    return as_effect - _gain(of_all, of_others), slope * float(moving.std()) / max(
        float(unmoved.std()), 1e-12
    )


def _gain(narrow: F64, wide: F64) -> float:
    """Nats by which what is left is likelier than before something was regressed out of it."""
    width = kernel_width(narrow)
    return float((log_density(narrow, width) - log_density(wide, width)).sum())
