// The answer at the top of a patient: how high, why, how sure, and what would change it.

/** Shocks that stand out, strongest first; `limit` of them. What was not measured does so only if its interval excludes zero. */
function notable(shocks, limit = Infinity) {
  return shocks.filter((one) => Math.abs(one.value) >= content.notable && !one.open).slice(0, limit);
}

/** The others: weaker ones, and those that were not measured and may add nothing. */
function othersThan(some, shocks) {
  return shocks.filter((one) => !some.includes(one));
}

const othersNoun = (shocks) => (shocks.some((one) => one.open) ? "other" : "weaker one");

/** "sex = male", or the name alone of a number and of what was not measured. */
function nameAndLevel(one, limit = Infinity) {
  const name = named(limit === Infinity ? one.name : shortened(one.name, limit));
  return one.level === null || one.imputed ? [name] : [name, " = ", element("bdi", {}, shownLevel(one.level))];
}

// Letters of a name in a sentence that named it before, or that names several.
const NAME_IN_SENTENCE = 48;
const brief = (one) => named(shortened(one.name, NAME_IN_SENTENCE));

/** What is expected of this variable from the patient's other values, in words; null where that has none. */
function expectedText(one) {
  const { expected, imputed, kind, codes, levels, level, data } = one;
  if (imputed || expected === null) return null;
  if (level === null) {
    // As many digits as tell it from what was measured, where it differs at all.
    const now = inItsUnit(one, data);
    for (const finer of [0, 1, 2]) {
      const text = inItsUnit(one, expected, finer);
      if (text !== now) return text;
    }
    return inItsUnit(one, expected, 0);
  }
  if (kind === "binary") {
    const high = Math.min(Math.max((expected - codes[0]) / (codes[1] - codes[0]), 0), 1);
    return `${percent(data === 1 ? high : 1 - high)} “${shownLevel(level)}”`;
  }
  const nearest = d3.minIndex(codes, (code) => Math.abs(code - expected));
  return `about “${shownLevel(levels[nearest])}”`;
}

/** How an expected value is told: nothing comes before a variable that is first, so that everybody's is the typical one. */
const toldAs = (one) => (one.first ? "typical of the cohort" : "expected from this patient's other values");

/** "12.6 mg/dl; 3.8 mg/dl expected from this patient's other values", as elements. */
function measuredAgainstExpected(one, words = toldAs(one)) {
  const expected = expectedText(one);
  if (one.imputed || one.parts.length) return valueWords(one);
  const value = one.level === null ? inItsUnit(one, one.data) : null;
  if (expected === null) return value === null ? [] : [value];
  return [value === null ? "" : `${value}; `, `${expected} ${words}`];
}

/** "bili (12.6 mg/dl; 3.8 mg/dl expected)" */
function inShort(one) {
  const inside = measuredAgainstExpected(one, one.first ? "typical" : "expected");
  return [strong(...nameAndLevel(one, NAME_IN_SENTENCE)), ...(inside.length ? [" (", ...inside, ")"] : [])];
}

/** "(a; b) ", of lists of elements; nothing where there are none. */
function inBrackets(items) {
  return items.length ? ["(", ...enumeration(items, "; ", "; "), ") "] : [];
}

function inWords(row, harmful, protective) {
  const [before, after] = told.opening();
  const [ends, unseen] = [predictedInterval(row), recalibratedText(row)];
  const lead = element(
    "p",
    { class: "lead" },
    before,
    named(outcome),
    `${after}${told.toText(predictor(row))} `,
    ...(riskWord === null ? [] : ["(", riskMark("span"), ") "]),
    ...inBrackets([
      ...(ends === null ? [] : [[`95 % interval ${range(ends.map(told.predictedText))}`]]),
      ...(unseen === null || unseen === told.toText(predictor(row)) ? [] : [[term("recalibrated"), ` ${unseen}`]]),
    ]),
    `for this patient, and ${told.toText(content.base_value)} ${content.made.bent ? told.atMean : `for one whose ${ofAverage} are all average`}. `,
    ...(covariates.length ? ["What is adjusted for, ", ...covariatesNamed(), `, ${told.does(adjustment(row).value)}. `] : []),
  );
  const sides = told.leading(harmful, protective, row);
  const [leading, opposing] = sides.map((shocks) => notable(shocks));
  const departs = content.unlike[row];
  const unlike = departs === undefined ? [] : [element("p", { class: "unlike" }, "Unlike the patients that the model learned from: this one departs most in ", strong(departs), ", by a shock beyond all of theirs. Its cause may be one that nobody had before, which the model cannot name.")];
  const parts = [lead, ...unlike, whyParagraph(row, leading, opposing, othersThan(leading, sides[0]), sides.flat().filter((one) => one.open && Math.abs(one.value) >= content.notable))];
  if (leading.length + opposing.length) parts.push(sureParagraph(leading.length ? leading : opposing), changeParagraph(row, leading, opposing));
  return parts;
}

function whyParagraph(row, leading, opposing, weaker, open) {
  const words = [];
  if (leading.length) {
    const [first, ...others] = leading;
    const next = others.slice(0, 2);
    words.push(...whyFirst(first));
    if (next.length) words.push(next.length === 1 ? "Next comes " : "Next come ", ...enumeration(next.map(inShort)), ". ");
    // Many small ones may do as much as those that are named.
    if (Math.abs(d3.sum(weaker, (one) => one.value)) >= content.notable) words.push(`${count(weaker.length, othersNoun(weaker))} together ${told.alsoDo(first.value)}. `);
  } else {
    words.push(...nothingStandsOut(row, opposing.length > 0, open.length > 0));
  }
  const others = opposing.slice(0, 2);
  if (others.length) words.push(told.otherWay(leading.length ? leading[0].value : 1), ...enumeration(others.map(inShort)), ". ");
  const unread = [...leading.slice(0, 3), ...others].filter((one) => findingsOf(one.variable).some((check) => check.reading === "do not read"));
  if (unread.length) words.push(element("span", { class: "mark broken" }, "Not to be read as it stands: ", ...enumeration(unread.map((one) => [strong(brief(one))])), ", by the checks."), " ");
  if (open.length) words.push("Not measured, so that nobody can tell: ", ...enumeration(open.slice(0, 3).map((one) => [strong(brief(one))])), open.length > 3 ? ` and ${open.length - 3} more.` : ".");
  return element("p", { class: "why" }, element("strong", { class: "ask" }, "Why? "), ...words);
}

function whyFirst(first) {
  const verb = first.imputed ? "may be" : "is";
  const shockWord = term("shock");
  const words = [`${told.strongest(first.value)} ${verb} `, strong(...nameAndLevel(first))];
  const expected = expectedText(first);
  const own = (its, is) => [`: ${its} own `, shockWord, `, the part that ${its} causes do not explain, ${is} `];
  if (first.parts.length) {
    words.push(" (", ...valueWords(first), "), read as one, since something unmeasured may move them", ...own("their", "is"));
  } else if (first.imputed) {
    words.push(" (", ...valueWords(first), "), going by all that was measured", ...own("its", "would be"));
  } else if (expected === null) {
    words.push(first.level === null ? ` at ${inItsUnit(first, first.data)}` : "", ...own("its", "is"));
  } else {
    const left = first.first ? ". Nothing that was measured comes before it: the difference is its " : ". What its causes do not explain is its ";
    words.push(": ", ...measuredAgainstExpected(first), left, shockWord, ", ");
  }
  words.push(`${standing("errors", first.variable, first.shock).words}. `);
  words.push(told.itDoes(first.value));
  return words;
}

/** No shock that stands out on the side that leads: say so, and what it is that moves the patient. */
function nothingStandsOut(row, others, open) {
  const apart = Math.abs(predictor(row) - content.base_value) >= content.notable;
  const words = ["No cause was found that ", term("stands out"), others ? ` among those that ${told.lead(row)} the ${told.it}. ` : `: none ${open ? "that was measured " : ""}changes ${told.notableSize()}. `];
  if (!others && apart && !covariates.length) words.push(`Many small ones together make the difference to ${told.toText(content.base_value)}. `);
  return words;
}

/** "firm", as a badge that opens its rule. */
function gradeBadge(one) {
  const grade = gradeOf(one);
  if (grade === null) return null;
  return element("button", { type: "button", class: `grade ${grade}`, "aria-haspopup": "dialog", onclick: () => showTerm("Firm, likely, unsure") }, grade);
}

/** "raises the risk in 95 % of 100 resamples" */
function sameWayText(one) {
  const resamples = count(content.bootstrap.resamples, "resample");
  if (sameWay(one) > 0) return `${told.works(one.value)} in ${sameWay(one)} % of ${resamples}`;
  // Of what lowers, whole percents do not tell one resample of many from none.
  const few = one.value < 0 && content.bootstrap.resamples > 100;
  return `${told.works(one.value)} in ${few ? "under 1 %" : "none"} of ${resamples}: ${few ? "hardly any" : "no"} resample agrees`;
}

/** What an interval that ends at exactly 0 means. */
function endsAtZero({ interval, variable }) {
  const { dropped } = variables[variable];
  if (interval === null || dropped === null || !(dropped > 0) || (interval.lower !== 0 && interval.upper !== 0)) return null;
  return `The interval ends at 0: ${percent(dropped)} of the resamples left it out, as no cause at all.`;
}

/** How sure the strongest shock is, then the next two in short, and what checks say of it. */
function sureParagraph([first, ...others]) {
  const words = [];
  if (content.bootstrap === null) {
    words.push("Not assessed: no resampling was made. ");
  } else if (sameWay(first) !== null) {
    words.push(strong(brief(first)), " is ", gradeBadge(first), `: it ${sameWayText(first)}. `, endsAtZero(first) ?? "", " ");
    const next = others.slice(0, 2).filter((one) => sameWay(one) !== null);
    if (next.length) words.push(...enumeration(next.map((one) => [strong(brief(one)), " is ", gradeBadge(one), ` (${sameWay(one)} %)`])), ". ");
  }
  if (findingsOf(first.variable).length) words.push(variableMark("span", first.variable));
  return element("p", { class: "sure" }, element("strong", { class: "ask" }, "How sure? "), ...words);
}

/** "Without the shock on bili the risk would be 69 % instead of 95 %." */
function changeParagraph(row, leading, opposing) {
  const [first] = leading.length ? leading : opposing;
  const together = leading.slice(0, 3).filter((one) => !one.byLevel.length || one.imputed);
  const words = [...without(first, row)];
  if (leading.length > 1 && together.length > 1) {
    const then = told.toText(predictor(row) - d3.sum(together, (one) => one.value));
    words.push(`Without ${together.length === 2 ? "both shocks" : "the three shocks"} (`, ...enumeration(together.map((one) => [brief(one)])), `): ${then}. `);
  }
  return element("p", { class: "change" }, element("strong", { class: "ask" }, "What would change it? "), ...words, element("span", { class: "quiet" }, NO_TREATMENT));
}

/** What would be predicted: of a number without its shock, of levels at the one that takes most away of what it does. */
function without(one, row) {
  const now = told.toText(predictor(row));
  const wouldBe = (then) => `${told.thePrediction} would ${then === now ? `hardly change: it would still be ${then}` : `be ${then} instead of ${now}`}`;
  const best = d3.least(one.byLevel, (other) => Math.sign(one.value) * other.predictor);
  if (one.imputed || !best || best.now) return ["Without the shock on ", strong(brief(one)), ` ${wouldBe(told.toText(one.without))}. `];
  const which = one.byLevel.length > 2 ? `, the ${one.value < 0 ? "highest" : "lowest"} of its levels` : "";
  return ["At “", element("bdi", {}, shownLevel(best.level)), `” instead ${wouldBe(told.toText(best.predictor))}${which}. `];
}
