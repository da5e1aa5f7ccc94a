// How each kind of outcome is spoken of: one object a kind, and `told` is that of this page.
//
// Shocks add to the predictor: log-odds, log-hazard, or the expected value. What that means for a patient is
// predicted: a risk, a risk by the horizon, or the value itself. No other script asks which kind it is.

const { outcome: facts } = content;
const hasKnown = document.getElementById("block-known") !== null;
const hasRecalibrated = document.getElementById("block-recalibrated") !== null;
const hasPredictedInterval = document.getElementById("block-predicted-interval") !== null;

function odds(logOdds) {
  const ratio = Math.exp(Math.abs(logOdds));
  const size = ratio < 2 ? ratio.toFixed(2) : ratio < 10 ? ratio.toFixed(1) : ratio < 1000 ? ratio.toFixed(0) : "over 1,000";
  return logOdds < 0 ? `odds divided by ${size}` : `odds times ${size}`;
}

/** Whom the risks are about, where cases and controls were sampled apart. */
function population() {
  return `a population of which ${measured(content.prevalence * 100)} % have the outcome`;
}

const NO_TREATMENT = "It is not what a treatment would achieve.";
const SHOCK_AVERAGE = `What the model expects with this one shock set to average and all other shocks as they are. ${NO_TREATMENT}`;
const LEVEL_SET = `What the model expects with this level set, all other shocks as they are, and what lies downstream following. ${NO_TREATMENT}`;
const LAST = ["The outcome comes last", "The variables lead to the outcome and not the other way round. A measurement that the outcome or its treatment changes breaks this."];
const SAMPLE = "People are in the table as they came.";

/** What diagnoses and events have in common: a patient has a risk. */
const ofRisks = {
  name: () => content.target,
  atMean: "on average over all patients' shocks",
  it: "risk",
  isChance: true,
  little: 0.1,
  baseLabel: "base risk",
  fromTo: "From the base risk to this patient's risk",
  prediction: "risk",
  // Of a patient below average, what protects leads.
  leading: (harmful, protective, row) => (told.below(row) ? [protective, harmful] : [harmful, protective]),
  below: (row) => predictor(row) < content.base_value,
  lead: (row) => (told.below(row) ? "lower" : "raise"),
  strongest: (value) => (value > 0 ? "The strongest root cause" : `What keeps the ${told.it} low most`),
  strength: (value) => value,
  works: (value) => `${value > 0 ? "raises" : "lowers"} the ${told.it}`,
  alsoDo: (value) => `${value > 0 ? "raise" : "lower"} it notably, too`,
  predictedText: (risk) => percent(risk),
  scaleClass: "",
  scaleWord: "",
  listHead: "Risk",
  topHead: "Strongest root cause",
  topWords: "strongest root cause",
  raisingCards: 6,
  loweringCards: 3,
  raisingTitle: () => `Root causes: shocks that raise the ${told.it}`,
  loweringTitle: () => `Protective shocks: they lower the ${told.it}`,
  otherWay: (value) => `Working the other way, ${value > 0 ? "lowering" : "raising"} the ${told.it}: `,
  separated: "The shocks separate the two groups perfectly, or decide for some patients: ranks are useful, risks are uncertain.",
  countTitle: "Whose shock is a root cause, and for how many",
  countHeads: ["Root cause for", "Strongest for"],
  withoutCause: (n) => (n ? `In ${count(n, rowNoun)} no root cause stands out.` : "In every patient some root cause stands out."),
  alike: "a group of patients with the same root cause",
  towards: ["more towards the outcome", "less towards the outcome"],
  thePrediction: "the risk",
  itDoes: (value) => `It ${told.does(value)}. `,
  inCard: (value) => [element("span", { class: "shapley" }, told.does(value))],
  inTable: (value) => told.beside(value),
  inDot: (value) => told.does(value),
  barText: (bar) => told.beside(bar.value),
  barTitle: ({ count: n, from, to }) => `${Math.round(from * 100)} to ${Math.round(to * 100)} %: ${count(n, rowNoun)}`,
  heatEnd: (value) => told.beside(value),
  happened: (row) => ["What happened: ", ...told.happenedShort(row)],
  noShock: (way) => `No shock ${way} this patient's ${told.it}.`,
  picture: () => ({ parts: [], draw: () => {} }),
  toText: (predictor) => percent(told.predict(predictor)),
  inList: (predictor) => `risk ${told.toText(predictor)}`,
  predictionTicks: [0.5, 0.1, 0.9, 0.01, 0.99, 0.25, 0.75, 0.001, 0.999, 0.05, 0.95, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.45, 0.55, 0.15, 0.85, 0.02, 0.98],
  tickText: (predictor) => `${+(told.predict(predictor) * 100).toFixed(1)}%`,
};

/** Yes or no. Shocks add log-odds. */
const ofDiagnosis = {
  ...ofRisks,
  // Labels that say yes need no mention.
  name: () => (/^(1|1\.0|true|yes)$/i.test(content.positive) ? content.target : `${content.target} = ${content.positive}`),
  predict: (predictor) => 1 / (1 + Math.exp(-predictor)),
  predictorAt: (risk) => Math.log(risk / (1 - risk)),
  opening: () => [content.prevalence === null ? "Under this model, the risk of “" : `Under this model, in ${population()}, the risk of “`, "” is "],
  haveIt: () => "have it",
  notableSize: () => `the log-odds by ${content.notable} or more, which is a risk of 50 % by two points`,
  notableRule: () => `a shock stands out, as a root cause or as protective, where it changes the log-odds by at least ${content.notable}: the odds by a factor of ${Math.exp(content.notable).toFixed(2)}, or a risk of 50 % by two points`,
  happenedShort: (row) => [told.happenedRank(row) ? "“" : "not “", named(outcome), "”"],
  happenedRank: (row) => cell("known", row, 0, 1),
  happenedKinds: [["yes", "had it"], ["no", "did not"]],
  happenedKind: (row) => (told.happenedRank(row) ? "yes" : "no"),
  happenedOf: (rows) => `Of the ${rows.length} most alike, ${d3.sum(rows, told.happenedRank) || "none"} had it.`,
  scaleClass: "scale",
  scaleWord: " log-odds",
  itDoes: () => "",
  titles: () => [[term("Base risk"), `: all ${ofAverage} average (not the prevalence)`], "This patient's risk"],
  besidePrediction: (predictor) => element("small", { class: "scale" }, ` log-odds ${signed(predictor)}`),
  beside: (value) => signed(value),
  does: (value) => `adds ${signed(value)} to the log-odds`,
  inDot: (value) => `adds ${signed(value)}`,
  unitText: " log-odds",
  inCard: (value) => [element("span", { class: "scale" }, element("span", { class: "shapley" }, signed(value)), ` log-odds (${odds(value)})`)],
  range: (lower, upper) => `${signed(lower)} to ${signed(upper)}`,
  withoutTitle: "Risk without this shock",
  byLevelTitle: "Risk by level",
  tableHeads: ["Adds (log-odds)", "Risk without"],
  inTable: (value) => signed(value, 3),
  waterfallCaption: () => `Each bar is one shock, and beside it ${showsScale() ? "the log-odds that it adds" : "the risk that is reached with it"}${covariates.length ? "; the grey one is what covariates do together" : ""}. Bars add up in log-odds, so that steps of risk are narrower in the middle than at the ends${whiskersSaid()}${riskWord === null ? "" : `. Risks are ${riskWord}: see the checks`}.`,
  heatEnd: (value) => `${signed(value)} log-odds`,
  barText: (bar, narrow) => (showsScale() ? `${signed(bar.value)}${narrow ? "" : `, ${told.toText(bar.to)}`}` : told.toText(bar.to)),
  axis: (domain, narrow) => ({ label: "log-odds", ticks: narrow ? 4 : 8, tickFormat: axisNumber(domain[1] - domain[0]) }),
  predictionAxis: "probability",
  scaleSwitch: "Show log-odds",
  predictionsTitle: "Risks",
  predictionsAxis: { label: "risk", tickFormat: (risk) => `${Math.round(risk * 100)}%` },
  addedAxis: (domain, narrow) => ({ ...told.axis(domain, narrow), label: "added log-odds" }),
  addedWords: "What each variable's shock adds to the log-odds",
  sizeHead: "Mean size (log-odds)",
  sizeText: (value) => value.toFixed(3),
  effectHeads: [],
  effectCells: () => [],
  besideButtons: "the log-odds that a shock of one standard deviation (SD) adds",
  effect: (value, signless) => (signless ? `±${Math.abs(value).toFixed(2)}` : signed(value)),
  arrow: (weight, signless) => `${signless ? Math.abs(weight).toFixed(2) : signed(weight)} log-odds`,
  changes: (size) => `it changes the log-odds by at least ${size}`,
  shockDoes: ({ coef }) => ["changes the log-odds of “", named(told.name()), `” by ${signed(coef)} (${odds(coef)})`],
  glossary: () => [
    ["Root cause", "A variable whose shock raises this patient's risk. A high value that only follows from another variable is not one."],
    ["Base risk", `${content.made.bent ? "The risk at the mean log-odds over shocks as the cohort has them." : `The risk of a patient whose ${ofAverage} are all average.`} It is not the prevalence: it is not the share of patients who have the outcome.`],
    ...(content.prevalence === null ? [] : [["Risk", `The probability of the outcome in ${population()}, not among the patients of this study.`]]),
    ["Log-odds", "The scale on which shocks add up. +0.69 doubles the odds, −0.69 halves them."],
  ],
  assumptions: {
    sample: ["A sample of the population", "People are in the table as they came or, where a prevalence was given, cases and controls are each as the population's are. Sampled apart without a prevalence, what sampling made passes for mechanism."],
    last: ["The outcome comes last", "The variables lead to the outcome and not the other way round. A measurement that the disease or its treatment changes breaks this."],
    more: [["Additive log-odds", "Each shock adds its own part to the log-odds, whatever the other shocks are."]],
  },
  cohort: ({ rows, cases }) => [
    ["Patients", `${rows.toLocaleString("en")}, of whom ${cases.toLocaleString("en")} (${percent(cases / rows)}) have the outcome “`, named(told.name()), "”"],
    ...(content.prevalence === null ? [] : [["Population", `${population()}: cases and controls count as many as in it, and risks are those in it`]]),
  ],
  base: () => ["Base value", `${signed(content.base_value, 4)}: ${content.made.bent ? "mean log-odds over shocks as the cohort has them" : `log-odds of a patient whose ${ofAverage} are all average`}; not the prevalence`],
};

/** The hazard until a time of a patient whose shocks are all average; between edges it runs evenly. */
function cumulativeHazard(time) {
  const { times, hazards } = facts;
  const after = Math.min(Math.max(d3.bisectRight(times, time), 1), times.length - 1);
  const share = (time - times[after - 1]) / (times[after] - times[after - 1]);
  return hazards[after - 1] + Math.min(share, 1) * (hazards[after] - hazards[after - 1]);
}

/** The share of such patients who have had the event until a time; after a competing event it cannot come. */
function riskBy(predictor, time) {
  const until = Math.exp(predictor);
  if (facts.competing === undefined) return 1 - Math.exp(-until * cumulativeHazard(time));
  const { times, hazards, competing } = facts;
  let [risk, before, left] = [0, 0, 1];
  for (let k = 1; k < times.length && before < time; k += 1) {
    const now = Math.min(times[k], time);
    const share = (now - before) / (times[k] - times[k - 1]);
    const own = until * share * (hazards[k] - hazards[k - 1]);
    const all = own + share * (competing[k] - competing[k - 1]);
    const still = left * Math.exp(-all);
    if (all > 0) risk += ((left - still) * own) / all;
    [before, left] = [now, still];
  }
  return risk;
}

/** The log-hazard with which a risk by the horizon goes. */
function predictorOf(risk) {
  if (facts.competing === undefined) return Math.log(-Math.log(1 - risk) / cumulativeHazard(facts.horizon));
  let [low, high] = [-40, 40];
  for (let step = 0; step < 60; step += 1) {
    const middle = 0.5 * (low + high);
    if (riskBy(middle, facts.horizon) < risk) low = middle;
    else high = middle;
  }
  return 0.5 * (low + high);
}

function timeText(time) {
  return facts.unit ? withUnit(time, facts.unit) : `time ${measured(time)}`;
}

/** A hazard ratio, from its logarithm, with the digits that matter: "0.054", "1.84", "12". */
function ratio(logarithm) {
  const size = Math.exp(logarithm);
  if (size >= 1000) return "over 1,000";
  if (size < 0.1) return size < 0.001 ? "under 0.001" : size.toPrecision(2);
  return size.toFixed(size < 10 ? 2 : 0);
}

/** "raises the hazard 1.80-fold" */
function onHazard(value) {
  if (ratio(Math.abs(value)) === "1.00") return "hardly changes the hazard";
  return `${value < 0 ? "lowers" : "raises"} the hazard ${ratio(Math.abs(value))}-fold`;
}

/** What a patient of the fit would be told by a model that had not seen them, "91 %"; null for new patients. */
function recalibratedText(row) {
  const risk = hasRecalibrated ? cell("recalibrated", row, 0, 1) : NaN;
  return Number.isNaN(risk) ? null : told.predictedText(risk);
}

/** The ends of the interval of a patient's prediction, if there is one. */
function predictedInterval(row) {
  return hasPredictedInterval ? [0, 1].map((end) => cell("predicted-interval", row, end, 2)) : null;
}

/** The time to an event. Shocks add log-hazard, and are said as hazard ratios. */
const ofEvent = {
  ...ofRisks,
  atMean: "on average over all patients' shocks",
  it: "hazard",
  separated: "The shocks decide for some patients: ranks are useful, risks are uncertain.",
  predict: (predictor) => riskBy(predictor, facts.horizon),
  predictorAt: predictorOf,
  prediction: `risk by ${facts.when}`,
  inList: (predictor) => `${told.prediction}: ${told.toText(predictor)}`,
  opening: () => ["Under this model, the risk of “", `” by ${facts.when} is `],
  haveIt: () => `would have had it by ${facts.when}`,
  notableSize: () => `the hazard ${ratio(content.notable)}-fold or more`,
  notableRule: () => `a shock stands out, as a root cause or as protective, where it makes the hazard at least ${ratio(content.notable)} times as high or as low`,
  happenedShort: (row) => happened(row),
  happenedRank: (row) => cell("known", row, 0, 2),
  happenedKinds: [["yes", "had it"], ...(facts.competing_labels === undefined ? [] : [["other", "had a competing event"]]), ["no", "last seen without it"]],
  happenedKind: (row) => ["no", "yes", "other"][cell("known", row, 1, 2)],
  happenedOf: (rows) => `Of the ${rows.length} most alike, ${rows.filter((row) => told.happenedKind(row) === "yes").length || "none"} had it within their follow-up.`,
  listHead: `Risk by ${facts.when}`,
  titles: () => [`Risk by ${facts.when} with all ${ofAverage} average`, `This patient's risk by ${facts.when}`],
  besidePrediction: (predictor) => (predictor === content.base_value ? "" : element("small", {}, ` hazard × ${ratio(predictor)}`)),
  picture: survivalPicture,
  predictionsTitle: `Risks by ${facts.when}`,
  predictionsAxis: { label: `risk by ${facts.when}`, tickFormat: (risk) => `${Math.round(risk * 100)}%` },
  beside: (value) => `×${ratio(value)}`,
  does: onHazard,
  inDot: (value) => `hazard × ${ratio(value)}`,
  unitText: " hazard",
  range: (lower, upper) => `of the hazard ratio ${ratio(lower)} to ${ratio(upper)}`,
  withoutTitle: `Risk by ${facts.when} without this shock`,
  byLevelTitle: `Risk by ${facts.when}, by level`,
  tableHeads: ["Hazard", `Risk by ${facts.when} without`],
  waterfallCaption: () => `Each bar is how many times as high one shock makes the hazard${covariates.length ? "; the grey one is what covariates do together" : ""}. Below: the hazard, as so many times that of a patient whose ${ofAverage} are all average. Above: the same as risk by ${facts.when}${riskWord === null ? "" : `, ${riskWord}: see the checks`}${whiskersSaid()}.`,
  axis: (domain, narrow) => ({ label: "hazard ratio", ticks: doublings(domain, narrow ? 4 : 8), tickFormat: ratioTick }),
  predictionAxis: `risk by ${facts.when}`,
  addedAxis: (domain, narrow) => ({ ...told.axis(domain, narrow), label: "hazard times" }),
  addedWords: "How many times as high each variable's shock makes the hazard",
  sizeHead: "Typical size (hazard ratio)",
  sizeText: ratio,
  effectHeads: ["Hazard ratio of one SD", ...(content.bootstrap === null ? [] : ["95 % interval"])],
  effectCells: (one) => [ratio(one.coef), ...effectInterval(one, (end) => ratio(end))],
  besideButtons: "how many times as high a shock of one standard deviation (SD) makes the hazard",
  effect: (value, signless) => (signless ? `×÷${ratio(Math.abs(value))}` : `×${ratio(value)}`),
  arrow: (weight, signless) => `${signless ? `×÷${ratio(Math.abs(weight))}` : `×${ratio(weight)}`} hazard`,
  changes: (size) => `it changes the hazard at least ${ratio(size)}-fold`,
  shockDoes: (one) => [`${one.coef < 0 ? "lowers" : "raises"} the hazard of “`, named(told.name()), `” ${ratio(Math.abs(one.coef))}-fold (hazard ratio ${ratio(one.coef)}${intervalText(one, ratio)})`],
  glossary: () => [
    ["Root cause", "A variable whose shock raises this patient's hazard. A high value that only follows from another variable is not one."],
    ["Hazard", `How fast the event comes, at any time, among those who have not had it yet${stay()}. Shocks multiply it: a hazard ratio of 2 doubles it, one of 0.5 halves it.`],
    ["Average patient", `One whose ${ofAverage} are all average: hazards are told as so many times that of this patient.`],
    facts.competing_labels === undefined
      ? [`Risk by ${facts.when}`, "The probability that the event has come by then, if nothing else ends the follow-up before."]
      : [`Risk by ${facts.when}`, `The probability that the event has come by then, where it cannot come after ${competingText()} (cumulative incidence, ${facts.competing === undefined ? "Fine and Gray" : "Aalen and Johansen"}). It is below what it would be if that did not happen.`],
  ],
  assumptions: {
    sample: ["A sample of the population", SAMPLE],
    last: LAST,
    more: [
      ["Proportional hazards", "A shock multiplies the hazard by the same number early and late, whatever the other shocks are."],
      ...(facts.competing === undefined ? [] : [["Competing events as in the cohort", `${competingText()} comes to everybody as it came to the cohort as a whole, whatever their shocks. A shock that also moves that hazard moves the risk in a way that is not told here.`]]),
      ["Follow-up that ends by chance", "Who is lost to follow-up would have fared as others like them. If the sickest leave first, risks are too low."],
    ],
  },
  cohort: ({ rows }) => [
    ["Patients", `${rows.toLocaleString("en")}, of whom ${facts.events.toLocaleString("en")} (${percent(facts.events / rows)}) had the event “`, named(told.name()), `” within their follow-up; ${facts.competing_labels === undefined ? "" : `${facts.competing_events.toLocaleString("en")} had a competing event (${competingText()}); `}the others were last seen without it`],
    ...(facts.late === undefined ? [] : [["Late entry", `${facts.late.toLocaleString("en")} of the rows are at risk only from a later time on (left truncation): before it they count for nothing`]]),
    ...(facts.strata === undefined ? [] : [["Strata", `${facts.strata.toLocaleString("en")}, each with a baseline hazard of its own; risks are those of all together`]]),
    ["Longest follow-up", timeText(facts.times.at(-1))],
    ["Horizon", `${timeText(facts.horizon)}: the time by which risks are told`],
  ],
  base: () => ["Base value", `the ${content.made.bent ? "mean hazard, on the logarithmic scale, over shocks as the cohort has them" : `hazard of a patient whose ${ofAverage} are all average`}; the risk with it by ${facts.when} is ${told.toText(content.base_value)}`],
};

/** Who also counts as not having had the event yet, where effects are those on the cumulative incidence. */
function stay() {
  return facts.competing_labels === undefined || facts.competing !== undefined ? "" : ` and those who never will, after ${competingText()}`;
}

/** The labels of competing events, "‘death’ or ‘transplant’". */
function competingText() {
  return facts.competing_labels.map((label) => `‘${label}’`).join(" or ");
}

/** "“died” after 1,504 days", "without “died” when last seen, after 4,191 days", as elements. */
function happened(row) {
  const [time, event] = [0, 1].map((column) => cell("known", row, column, 2));
  if (event === 2) return ["a competing event after ", withUnit(time, facts.unit, 4), ", without “", named(outcome), "”"];
  return [event ? "“" : "without “", named(outcome), `”${event ? "" : " when last seen,"} after ${withUnit(time, facts.unit, 4)}`];
}

function effectInterval({ coef_interval: ends }, text) {
  return ends === null ? [] : [ends.map(text).join(" to ")];
}

function intervalText(one, text) {
  return effectInterval(one, text).map((ends) => `, 95 % interval ${ends}`).join("");
}

/** Logarithms of powers of two within a domain, at most so many. */
function doublings([low, high], most) {
  const number = (high - low) / Math.LN2;
  const step = Math.LN2 * (number < 2 ? 0.5 : Math.ceil(number / most));
  return d3.range(Math.ceil(low / step), Math.floor(high / step) + 1).map((place) => place * step);
}

function ratioTick(logarithm) {
  return `×${measured(Math.exp(logarithm), 2)}`;
}

/** A number, with as many digits as it needs. */
function amount(value) {
  const text = Math.abs(value).toLocaleString("en", { minimumFractionDigits: facts.digits, maximumFractionDigits: facts.digits });
  return value < 0 && Number(text.replaceAll(",", "")) !== 0 ? `−${text}` : text;
}

const inUnit = (text) => (facts.unit ? `${text}\u00a0${facts.unit}` : text);
const signedAmount = (value) => (amount(value).startsWith("−") || Number(amount(value).replaceAll(",", "")) === 0 ? amount(value) : `+${amount(value)}`);
const onValue = (value) => `${value < 0 ? "takes away" : "adds"} ${inUnit(amount(Math.abs(value)))}`;
const unitNote = facts.unit ? ` (${facts.unit})` : "";

/** A number, such as a score of severity. Shocks add to it, in its own unit. */
const ofNumber = {
  ...ofRisks,
  atMean: "on average over all patients' shocks",
  it: "outcome",
  isChance: false,
  little: 0.1 * facts.spread,
  baseLabel: "all average",
  fromTo: "From the average patient to this one",
  prediction: "expected value",
  predict: (predictor) => predictor,
  leading: (harmful, protective) => ((harmful[0]?.value ?? 0) >= -(protective[0]?.value ?? 0) ? [harmful, protective] : [protective, harmful]),
  strongest: () => "What moves it most",
  strength: (value) => Math.abs(value),
  works: (value) => `${value > 0 ? "raises" : "lowers"} it`,
  lead: () => "move",
  predictedText: (value) => inUnit(amount(value)),
  listHead: "Expected value",
  topHead: "What moves it most",
  topWords: "what moves it most is",
  notableSize: () => `it by ${inUnit(amount(content.notable))} or more, a tenth of its standard deviation`,
  notableRule: () => `a shock stands out where it changes the expected value by at least ${inUnit(amount(content.notable))}, a tenth of its standard deviation in the cohort`,
  happened: (row) => [`Measured: ${inUnit(amount(cell("known", row, 0, 1)))}`],
  happenedShort: (row) => [`${inUnit(amount(cell("known", row, 0, 1)))} measured`],
  happenedRank: (row) => cell("known", row, 0, 1),
  happenedKinds: [],
  happenedKind: () => "",
  happenedOf: (rows) => `The ${rows.length} most alike had ${inUnit(amount(d3.mean(rows, told.happenedRank)))} on average.`,
  loweringCards: 6,
  raisingTitle: () => "Shocks that raise it",
  loweringTitle: () => "Shocks that lower it",
  otherWay: () => "Working the other way: ",
  separated: "What some shocks add has no finite estimate: ranks are useful, sizes are uncertain.",
  countTitle: "Whose shock raises the outcome, and for how many",
  countHeads: ["Raises it for", "Raises it most for"],
  withoutCause: (n) => (n ? `In ${count(n, rowNoun)} no shock that raises it stands out.` : "In every patient some shock raises it."),
  alike: "a group of patients whose outcome the same shock moved",
  towards: ["more towards a high outcome", "less towards a high outcome"],
  toText: (predictor) => inUnit(amount(predictor)),
  inList: (predictor) => `${told.toText(predictor)} expected`,
  predictionTicks: [],
  opening: () => ["Under this model, the expected value of “", "” is "],
  thePrediction: "the expected value",
  titles: () => [`Expected of a patient whose ${ofAverage} are all average`, "Expected of this patient"],
  besidePrediction: () => "",
  predictionsTitle: "Expected values",
  predictionsAxis: { label: `expected value${unitNote}`, tickFormat: (value) => measured(value) },
  barTitle: ({ count: n, from, to }) => `${amount(from)} to ${inUnit(amount(to))}: ${count(n, rowNoun)}`,
  beside: signedAmount,
  does: onValue,
  unitText: facts.unit ? ` ${facts.unit}` : "",
  range: (lower, upper) => `${signedAmount(lower)} to ${inUnit(signedAmount(upper))}`,
  withoutTitle: "Expected without this shock",
  byLevelTitle: "Expected by level",
  tableHeads: [`Adds${unitNote}`, `Expected without${unitNote}`],
  waterfallCaption: () => `Each bar is what one shock adds to or takes from the expected value${facts.unit ? `, in ${facts.unit}` : ""}${covariates.length ? "; the grey one is what covariates do together" : ""}${whiskersSaid()}.`,
  heatEnd: (value) => inUnit(signedAmount(value)),
  axis: (domain, narrow) => ({ label: `expected value${unitNote}`, ticks: narrow ? 4 : 8, tickFormat: (value) => measured(value) }),
  addedAxis: (domain, narrow) => ({ ...told.axis(domain, narrow), label: `added${unitNote}` }),
  addedWords: "What each variable's shock adds",
  sizeHead: `Mean size${unitNote}`,
  sizeText: amount,
  effectHeads: [`One SD adds${unitNote}`, ...(content.bootstrap === null ? [] : ["95 % interval"])],
  effectCells: (one) => [signedAmount(one.coef), ...effectInterval(one, signedAmount)],
  besideButtons: `what a shock of one standard deviation (SD) adds${facts.unit ? `, in ${facts.unit},` : ""}`,
  effect: (value, signless) => (signless ? `±${amount(Math.abs(value))}` : signedAmount(value)),
  arrow: (weight, signless) => inUnit(signless ? amount(Math.abs(weight)) : signedAmount(weight)),
  changes: (size) => `it changes the expected value by at least ${inUnit(amount(size))}`,
  shockDoes: (one) => ["changes the expected value of “", named(told.name()), `” by ${inUnit(signedAmount(one.coef))}`, intervalText(one, signedAmount)],
  glossary: () => [
    ["Root cause", "A variable whose shock moves this patient's value. A high value that only follows from another variable is not one."],
    ["Average patient", `One whose ${ofAverage} are all average. What is expected of this patient is not the mean of the cohort.`],
    ["Expected", "What the model expects of a patient with these shocks; the patient's own value lies around it."],
  ],
  assumptions: {
    sample: ["A sample of the population", SAMPLE],
    last: LAST,
    more: [["Additive", "Each shock adds its own part to the expected value, whatever the other shocks are."]],
  },
  cohort: ({ rows }) => [
    ["Patients", rows.toLocaleString("en")],
    ["Outcome", "“", named(told.name()), `”: mean ${inUnit(amount(facts.mean))}, standard deviation ${inUnit(amount(facts.spread))}`],
  ],
  base: () => ["Base value", `${told.toText(content.base_value)}: what is expected of a patient whose ${ofAverage} are all average`],
};

/** Stages in order. Shocks add log-odds of a higher one, and risks are those of the cut. */
const ofStages = {
  ...ofDiagnosis,
  name: () => content.target,
  opening: () => ["Under this model, the risk of “", "” is "],
  haveIt: () => "are there",
  happened: (row) => ["Stage: “", element("bdi", {}, stageOf(row)), "”"],
  happenedShort: (row) => ["“", element("bdi", {}, stageOf(row)), "”"],
  happenedKinds: (facts.stages ?? []).map((stage, place) => [String(place), stage]),
  happenedKind: (row) => String(told.happenedRank(row)),
  happenedOf: (rows) => `Of the ${rows.length} most alike, ${rows.filter((row) => told.happenedRank(row) >= facts.cut).length || "none"} were at “${facts.stages[facts.cut]}”${ofCut()}.`,
  titles: () => [[term("Base risk"), `: all ${ofAverage} average`], "This patient's risk"],
  does: (value) => `adds ${signed(value)} to the log-odds of a higher stage`,
  addedWords: "What each variable's shock adds to the log-odds of a higher stage",
  besideButtons: "the log-odds of a higher stage that a shock of one standard deviation (SD) adds",
  shockDoes: ({ coef }) => [`changes the log-odds of a higher stage by ${signed(coef)} (${odds(coef)})`],
  glossary: () => [
    ["Root cause", "A variable whose shock raises the odds of a higher stage. A high value that only follows from another variable is not one."],
    ["Risk", `The probability of stage “${facts.stages[facts.cut]}”${ofCut()}. The same shocks move the odds of every other higher stage by as much.`],
    ["Base risk", `The risk of a patient whose ${ofAverage} are all average.`],
    ["Log-odds", "The scale on which shocks add up. +0.69 doubles the odds of a higher stage, −0.69 halves them."],
  ],
  assumptions: {
    sample: ["A sample of the population", SAMPLE],
    last: LAST,
    more: [["Proportional odds", "Each shock adds the same to the log-odds of every higher stage, whatever the other shocks are."]],
  },
  cohort: ({ rows }) => [
    ["Patients", rows.toLocaleString("en")],
    ["Stages", facts.stages.flatMap((stage, place) => [place ? " < " : "", element("bdi", {}, stage), ` (${facts.counts[place].toLocaleString("en")})`])].flat(),
  ],
  base: () => ["Base value", `${signed(content.base_value, 4)}: log-odds of stage “${facts.stages[facts.cut]}”${ofCut()} of a patient whose ${ofAverage} are all average`],
};

const stageOf = (row) => facts.stages[told.happenedRank(row)];
const ofCut = () => (facts.cut === facts.stages.length - 1 ? "" : " or higher");

/** What odds within a set and rates have in common: a patient has so many times those of another. */
const ofRatios = (noun) => ({
  ...ofRisks,
  it: noun,
  isChance: false,
  predict: (predictor) => Math.exp(predictor),
  predictionTicks: [],
  opening: () => [`Under this model, the ${noun} of “`, "” are "],
  separated: "The shocks decide for some patients: ranks are useful, sizes are uncertain.",
  thePrediction: `the ${noun}`,
  notableSize: () => `the ${noun} ${ratio(content.notable)}-fold or more`,
  notableRule: () => `a shock stands out, as a root cause or as protective, where it makes the ${noun} at least ${ratio(content.notable)} times as high or as low`,
  besidePrediction: () => "",
  beside: (value) => `×${ratio(value)}`,
  does: (value) => onRatio(value, noun),
  inDot: (value) => `${noun} × ${ratio(value)}`,
  unitText: ` ${noun}`,
  range: (lower, upper) => `of the ratio ${ratio(lower)} to ${ratio(upper)}`,
  barTitle: ({ count: n, from, to }) => `${measured(from)} to ${measured(to)}: ${count(n, rowNoun)}`,
  waterfallCaption: () => `Each bar is how many times as high one shock makes the ${noun}${covariates.length ? "; the grey one is what covariates do together" : ""}${whiskersSaid()}.`,
  axis: (domain, narrow) => ({ label: `${noun}, times`, ticks: doublings(domain, narrow ? 4 : 8), tickFormat: ratioTick }),
  addedAxis: (domain, narrow) => ({ ...told.axis(domain, narrow), label: `${noun} times` }),
  addedWords: `How many times as high each variable's shock makes the ${noun}`,
  sizeHead: "Typical size (ratio)",
  sizeText: ratio,
  effectHeads: ["Ratio of one SD", ...(content.bootstrap === null ? [] : ["95 % interval"])],
  effectCells: (one) => [ratio(one.coef), ...effectInterval(one, (end) => ratio(end))],
  besideButtons: `how many times as high a shock of one standard deviation (SD) makes the ${noun}`,
  effect: (value, signless) => (signless ? `×÷${ratio(Math.abs(value))}` : `×${ratio(value)}`),
  arrow: (weight, signless) => `${signless ? `×÷${ratio(Math.abs(weight))}` : `×${ratio(weight)}`} ${noun}`,
  changes: (size) => `it changes the ${noun} at least ${ratio(size)}-fold`,
  shockDoes: (one) => [`${one.coef < 0 ? "lowers" : "raises"} the ${noun} of “`, named(told.name()), `” ${ratio(Math.abs(one.coef))}-fold${intervalText(one, ratio)}`],
});

/** "raises the odds 1.80-fold" */
function onRatio(value, noun) {
  if (ratio(Math.abs(value)) === "1.00") return `hardly changes the ${noun}`;
  return `${value < 0 ? "lowers" : "raises"} the ${noun} ${ratio(Math.abs(value))}-fold`;
}

/** Cases among their matched sets: no risks, but odds beside others of the same set. */
const ofSets = {
  ...ofRatios("odds"),
  name: ofDiagnosis.name,
  baseLabel: "all average",
  fromTo: "From one of the same set whose shocks are all average to this one",
  prediction: "odds in the set",
  predictedText: (times) => `×${ratio(Math.log(times))}`,
  toText: (predictor) => `×${ratio(predictor)}`,
  inList: (predictor) => `odds in the set ${told.toText(predictor)}`,
  haveIt: () => "are cases",
  listHead: "Odds in the set",
  happenedShort: (row) => [told.happenedRank(row) ? "a case" : "a control"],
  happenedRank: (row) => cell("known", row, 0, 3),
  happenedKinds: [["yes", "case"], ["no", "control"]],
  happenedKind: (row) => (told.happenedRank(row) ? "yes" : "no"),
  happenedOf: (rows) => `Of the ${rows.length} most alike, ${d3.sum(rows, told.happenedRank) || "none"} were cases.`,
  titles: () => [`Odds of one of the set whose ${ofAverage} are all average`, "This patient's odds"],
  predictionsTitle: "Odds within the set",
  predictionsAxis: { label: "odds within the set, times", tickFormat: (times) => `×${measured(times)}` },
  withoutTitle: "Odds without this shock",
  byLevelTitle: "Odds by level",
  tableHeads: ["Odds", "Odds without"],
  glossary: () => [
    ["Root cause", "A variable whose shock raises this patient's odds to be the case of the set. A high value that only follows from another variable is not one."],
    ["Odds in the set", `How many times as likely this one is to be the case as one of the same set whose ${ofAverage} are all average. Matched sets tell no risks.`],
    ["Matched set", "A case and the controls that were chosen to be like it. What all of a set share, such as what they were matched on, is taken out."],
  ],
  assumptions: {
    sample: ["Matched sets", "Controls were chosen by what they were matched on, and by nothing else that the outcome depends on; effects are those within the sets."],
    last: LAST,
    more: [["Additive log-odds", "Each shock multiplies the odds within a set by the same number, whatever the other shocks are."]],
  },
  cohort: ({ rows }) => [["Rows", `${rows.toLocaleString("en")}, of whom ${facts.cases.toLocaleString("en")} are cases, in ${facts.sets.toLocaleString("en")} matched sets that have both`]],
  base: () => ["Base value", `the odds of one of the same set whose ${ofAverage} are all average; nothing is said of risks`],
};

/** An expected count, with the digits that matter. */
function expectedCount(value) {
  return value < 10 ? `${+value.toPrecision(value < 0.1 ? 2 : 3)}` : Math.round(value).toLocaleString("en");
}

const perExposure = facts.unit ? ` per ${facts.unit.replace(/s$/, "")}` : facts.exposed ? " per unit of exposure" : "";

/** A count of events: shocks multiply its rate. */
const ofCounts = {
  ...ofRatios("rate"),
  atMean: "on average over all patients' shocks",
  name: () => content.target,
  baseLabel: "all average",
  fromTo: "From the average patient to this one",
  prediction: "expected count",
  predictedText: (value) => `${expectedCount(value)}${perExposure}`,
  toText: (predictor) => `${expectedCount(Math.exp(predictor))}${perExposure}`,
  inList: (predictor) => `${told.toText(predictor)} expected`,
  opening: () => ["Under this model, the expected count of “", "” is "],
  listHead: `Expected${perExposure}`,
  happened: (row) => [`Counted: ${countedText(row)}`],
  happenedShort: (row) => [`${countedText(row)} counted`],
  happenedRank: (row) => cell("known", row, 0, 2) / cell("known", row, 1, 2),
  happenedKinds: [],
  happenedKind: () => "",
  happenedOf: (rows) => `The ${rows.length} most alike had ${expectedCount(d3.mean(rows, told.happenedRank))}${perExposure} on average.`,
  besidePrediction: (predictor) => (predictor === content.base_value ? "" : element("small", {}, ` rate × ${ratio(predictor - content.base_value)}`)),
  titles: () => [`Expected of a patient whose ${ofAverage} are all average`, "Expected of this patient"],
  thePrediction: "the expected count",
  predictionsTitle: "Expected counts",
  predictionsAxis: { label: `expected count${perExposure}`, tickFormat: (value) => measured(value) },
  withoutTitle: "Expected without this shock",
  byLevelTitle: "Expected by level",
  tableHeads: ["Rate", "Expected without"],
  axis: (domain, narrow) => ({ label: `expected count${perExposure}`, ticks: doublings(domain, narrow ? 4 : 8), tickFormat: (predictor) => expectedCount(Math.exp(predictor)) }),
  addedAxis: (domain, narrow) => ({ label: "rate times", ticks: doublings(domain, narrow ? 4 : 8), tickFormat: ratioTick }),
  glossary: () => [
    ["Root cause", "A variable whose shock raises this patient's rate. A high value that only follows from another variable is not one."],
    ["Rate", "How many events are expected for a unit of exposure. Shocks multiply it: a rate ratio of 2 doubles it, one of 0.5 halves it."],
    ["Average patient", `One whose ${ofAverage} are all average: rates are told as so many times that of this patient.`],
  ],
  assumptions: {
    sample: ["A sample of the population", SAMPLE],
    last: LAST,
    more: [["Multiplied rates", "Each shock multiplies the rate by its own factor, whatever the other shocks are; counts vary about it by more than chance alone (negative binomial)."]],
  },
  cohort: ({ rows }) => [
    ["Patients", rows.toLocaleString("en")],
    ["Outcome", "“", named(told.name()), `”: mean count ${expectedCount(facts.mean)}`],
  ],
  base: () => ["Base value", `${told.toText(content.base_value)}: what is expected of a patient whose ${ofAverage} are all average`],
};

/** "3", or "3 in 2.5 years" where patients have an exposure. */
function countedText(row) {
  const [number, exposure] = [0, 1].map((column) => cell("known", row, column, 2));
  return facts.exposed ? `${number} in ${measured(exposure)}${facts.unit ? ` ${facts.unit}` : ""}` : `${number}`;
}

const told = { binary: ofDiagnosis, survival: ofEvent, continuous: ofNumber, ordinal: ofStages, matched: ofSets, count: ofCounts }[facts.kind];
const outcome = told.name();
