// One patient: a sentence, the waterfall, each root cause, and each protective shock.

const ROOT_CAUSE_CARDS = 6;
const PROTECTIVE_CARDS = 3;
// Shocks that change the odds by less than 5 % are put together, so that a reader is not kept by them.
const NOTABLE = 0.05;

function contributions(row) {
  const all = d3.range(nVariables).map((variable) => contribution(row, variable));
  return {
    harmful: all.filter((one) => one.value > 0).sort((a, b) => b.value - a.value),
    protective: all.filter((one) => one.value < 0).sort((a, b) => a.value - b.value),
  };
}

/** The shocks to show one by one: notable ones up to a limit, and the strongest in any case. */
function notable(shocks, limit) {
  return shocks.slice(0, limit).filter((one, place) => place === 0 || Math.abs(one.value) >= NOTABLE);
}

function drawPatient(row) {
  const { harmful, protective } = contributions(row);
  const view = document.getElementById("patient-view");
  const chart = element("div", { class: "chart", id: "waterfall" });
  const parts = [
    element("h2", {}, "Patient ", named(labels[row])),
    limitsBox(),
    riskSummary(row),
    element("p", { class: "in-words", id: "in-words" }, ...inWords(row, harmful, protective)),
    element("h3", {}, "From the base risk to this patient's risk"),
    chart,
    caption(`Each bar is what one shock adds to or takes from the log-odds${covariates.length ? "; the grey one is what covariates do together" : ""}. Below: log-odds. Above: the same as probability${riskWord === null ? "" : `, ${riskWord}: see the checks`}.`),
    cards("Root causes: shocks that raise the risk", harmful, ROOT_CAUSE_CARDS, "No shock raises this patient's risk."),
    cards("Protective shocks: they lower the risk", protective, PROTECTIVE_CARDS, "No shock lowers this patient's risk."),
    content.bootstrap ? null : caption(`How sure each shock is was not assessed: no resampling was made.${content.intervals === null ? "" : " Intervals are those that values not measured leave."}`),
    allVariables(harmful, protective),
    glossary(),
  ];
  view.replaceChildren(...parts.filter((part) => part !== null));
  drawWaterfall(chart, waterfallSteps(row, harmful, protective));
}

function riskSummary(row) {
  const number = (label, logit, id) =>
    element(
      "div",
      {},
      element("dt", {}, label),
      element("dd", { id }, percent(probability(logit)), element("small", {}, ` log-odds ${signed(logit)}`)),
      riskMark("dd"),
    );
  return element(
    "dl",
    { class: "risks" },
    number(`Base risk: all ${ofAverage} average (not the prevalence)`, content.base_value, "base-risk"),
    covariates.length ? covariatesAdd(row) : null,
    number("This patient's risk", logOdds(row), "patient-risk"),
  );
}

/** "Adjusted for: age, sex and site", and what they add. */
function covariatesAdd(row) {
  const { value, interval, expected } = adjustment(row);
  const notes = [
    hasInterval({ interval }) ? howSure(interval) : "",
    expected ? "not all measured; what is expected stands in" : "",
  ].filter(Boolean);
  return element(
    "div",
    {},
    element("dt", {}, "Adjusted for: ", ...covariatesNamed()),
    element("dd", { id: "covariates-add" }, signed(value), element("small", {}, " log-odds")),
    notes.length ? element("dd", {}, notes.join("; ")) : null,
  );
}

function inWords(row, harmful, protective) {
  const words = [
    content.prevalence === null ? "Under this model, the risk of “" : `Under this model, in ${population()}, the risk of “`,
    named(outcome),
    `” is ${percent(probability(logOdds(row)))} `,
    ...(riskWord === null ? [] : ["(", riskMark("span"), ") "]),
    `for this patient; for a patient whose ${ofAverage} are all average it is ${percent(probability(content.base_value))}. `,
    ...(covariates.length ? ["What is adjusted for, ", ...covariatesNamed(), `, adds ${signed(adjustment(row).value)} to the log-odds. `] : []),
  ];
  if (!harmful.length) {
    words.push("No shock raises this patient's risk: the model sees no root cause. ");
  } else {
    const first = harmful[0];
    words.push(
      first.imputed ? "The strongest root cause may be " : "The strongest root cause is ",
      element("strong", {}, ...nameAndLevel(first)),
      ...(first.imputed ? [" (", ...valueWords(first), ")"] : first.level === null ? [` at ${withUnit(first.data, first.unit)}`] : []),
      first.imputed ? ", going by all that was measured: its own shock, the part that its causes do not explain, would be " : ": its own shock, the part that its causes do not explain, is ",
      `${standing("errors", first.variable, first.shock).words}. `,
      ...without(first, percent(probability(logOdds(row)))),
    );
    if (findingsOf(first.variable).length) words.push(variableMark("span", first.variable), " ");
    const next = notable(harmful, 3).slice(1);
    if (next.length) words.push(next.length === 1 ? "Next comes " : "Next come ", ...enumeration(next.map(nameAndLevel)), ". ");
  }
  const guards = notable(protective, 2);
  if (guards.length) {
    words.push("Working the other way, lowering the risk: ", ...enumeration(guards.map(nameAndLevel)), ".");
  }
  return words;
}

/** "sex = male", or the name alone of a number and of what was not measured. */
function nameAndLevel(one) {
  return one.level === null || one.imputed ? [named(one.name)] : [named(one.name), " = ", element("bdi", {}, shownLevel(one.level))];
}

/** What the risk, now this one in words, would be: of a number without its shock, of levels at the lowest. */
function without(one, now) {
  const best = d3.least(one.byLevel, (other) => other.risk);
  if (one.imputed || !best || best.now) {
    const then = percent(one.riskWithout);
    return [then === now ? `Without this shock the risk would change little: it would still be ${then}. ` : `Without this shock the risk would be ${then}. `];
  }
  const then = percent(best.risk);
  const words = then === now ? `” instead the risk would change little: it would still be ${then}` : `” instead the risk would be ${then}`;
  return ["At “", element("bdi", {}, shownLevel(best.level)), `${words}${one.byLevel.length > 2 ? ", the lowest of its levels" : ""}. `];
}

function cards(title, shocks, limit, none) {
  const shown = notable(shocks, limit);
  const rest = shocks.slice(shown.length);
  const together = d3.sum(rest, (one) => one.value);
  return element(
    "section",
    { "aria-label": title },
    element("h3", {}, title),
    shocks.length ? element("ol", { class: "cards" }, shown.map(card)) : element("p", {}, none),
    rest.length ? caption(`${count(rest.length, "weaker one")}, together ${signed(together)}: in the table below.`) : null,
  );
}

function card(one) {
  const line = (term, ...definition) => [element("dt", {}, term), element("dd", {}, ...definition)];
  return element(
    "li",
    { class: one.value > 0 ? "card" : "card protective", "data-variable": one.name },
    element(
      "h4",
      {},
      element("span", {}, ...nameAndLevel(one)),
      one.level === null || one.imputed ? element("span", { class: one.imputed ? "measured expected" : "measured" }, ...valueWords(one)) : null,
    ),
    element(
      "p",
      { class: "adds" },
      element("span", { class: "shapley" }, signed(one.value)),
      ` log-odds (${odds(one.value)})`,
    ),
    variableMark("p", one.variable),
    element(
      "dl",
      {},
      one.byLevel.length
        ? line(`Risk by level${riskNote}`, ...byLevel(one.byLevel))
        : line(`Risk without this shock${riskNote}`, element("span", { class: "without" }, percent(one.riskWithout))),
      one.imputed ? [] : line(one.level === null ? "Measured value" : "This level", ...valueInCohort(one)),
      line("Its own shock", `${signed(one.shock, 1)} SD, `, ...inCohort("errors", one.variable, one.shock)),
      hasInterval(one) ? line("How sure", howSure(one.interval)) : [],
    ),
  );
}

function inCohort(kind, variable, number) {
  const { share, words } = standing(kind, variable, number);
  const drawn = element("meter", { min: 0, max: 1, value: share.toFixed(3), "aria-label": words });
  return [words, drawn];
}

/** "female: 12 %; male: 34 % (as measured)" */
function byLevel(risks) {
  return risks.flatMap(({ level, risk, now }, place) => [
    place ? "; " : "",
    element("bdi", {}, shownLevel(level)),
    ": ",
    element("span", { class: "without" }, percent(risk)),
    now ? " (as measured)" : "",
  ]);
}

/** Where a measured value lies in the cohort, or how common a level without an order is. */
function valueInCohort(one) {
  if (one.kind === "binary" || one.kind === "nominal") return [commonness(one.variable, one.data)];
  return inCohort("values", one.variable, one.data);
}

/** Without resamples, only what was not measured leaves an interval. */
function hasInterval({ interval }) {
  return interval !== null && (content.bootstrap !== null || interval.lower < interval.upper);
}

function howSure({ lower, upper, frequency }) {
  const interval = `95 % interval ${signed(lower)} to ${signed(upper)}`;
  if (content.bootstrap === null) return `${interval}, for what was not measured`;
  return frequency === null ? interval : `${interval}; a root cause in ${frequency} % of resamples`;
}

function allVariables(harmful, protective) {
  const heads = ["Variable", "Adds (log-odds)", `Risk without${riskNote}`, "Measured", "In the cohort", "Shock (SD)", "In the cohort"];
  if (content.intervals !== null) heads.push("How sure");
  const rows = [...harmful, ...protective].map((one) => [
    [named(one.name), star(one.variable)],
    signed(one.value, 3),
    percent(one.riskWithout),
    valueWords(one),
    one.imputed ? "" : valueInCohort(one)[0],
    signed(one.shock),
    standing("errors", one.variable, one.shock).words,
    ...(content.intervals === null ? [] : [one.interval === null ? "not kept on a page of this size" : hasInterval(one) ? howSure(one.interval) : ""]),
  ]);
  return element(
    "details",
    {},
    element("summary", {}, `All ${count(rows.length, "variable")} of this patient as a table`),
    tableOf("All variables of this patient", heads, rows),
    starLegend(d3.range(nVariables)),
  );
}

function glossary() {
  const line = (term, meaning) => [element("dt", {}, term), element("dd", {}, meaning)];
  return element(
    "details",
    { class: "glossary" },
    element("summary", {}, "What the words mean"),
    element(
      "dl",
      {},
      line("Shock", "The part of a measurement that its own causes, as the model learned them, do not explain. It is counted in standard deviations (SD) of the " + (content.prevalence === null ? "cohort." : "population.")),
      onLogScale.length
        ? line("Log scale", ["The model works with the logarithm of ", listOf(onLogScale.map((variable) => variable.name)), ". Values are shown in their own unit; a shock of one SD makes them so many times as high or as low, not so many units."])
        : [],
      line("Root cause", "A variable whose shock raises this patient's risk. A high value that only follows from another variable is not one."),
      covariates.length
        ? line("Adjusted for", "Covariates come before all other variables: what they explain of these is taken out, and what they add to the risk stands apart. They are not asked whether they are root causes.")
        : [],
      line("Base risk", `The risk of a patient whose ${ofAverage} are all average. It is not the prevalence: it is not the share of patients who have the outcome.`),
      content.prevalence === null ? [] : line("Risk", `The probability of the outcome in ${population()}, not among the patients of this study.`),
      line("Log-odds", "The scale on which shocks add up. +0.69 doubles the odds, −0.69 halves them."),
      variables.some((variable) => variable.levels.length)
        ? line("Risk by level", "What the model expects with this level set, all other shocks as they are, and what lies downstream following. It is not what a treatment would achieve.")
        : [],
      hasImputed
        ? line("Not measured; expected", "The table has no value here. What is expected given all that was measured of this patient stands in for it, and the interval holds how far that may be off.")
        : [],
      line("Risk without this shock", "What the model expects with this one shock set to average and all other shocks as they are. It is not what a treatment would achieve."),
    ),
  );
}
