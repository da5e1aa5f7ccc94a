// One patient: a sentence, the waterfall, each root cause, and each protective shock.

const ROOT_CAUSE_CARDS = 6;
const PROTECTIVE_CARDS = 3;
const WATERFALL_BARS = 6;
// Shocks that change the odds by less than 5 % are put together, so that a reader is not kept by them.
const NOTABLE = 0.05;
// The plainest first: those that come later give way where there is no room.
const PROBABILITY_TICKS = [0.5, 0.1, 0.9, 0.01, 0.99, 0.25, 0.75, 0.001, 0.999, 0.05, 0.95];
const TICK_WIDTH = 44;
const LABEL_WIDTH = 54;

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
    riskSummary(row),
    element("p", { class: "in-words", id: "in-words" }, ...inWords(row, harmful, protective)),
    caution(content.made),
    element("h3", {}, "From the base risk to this patient's risk"),
    chart,
    caption("Each bar is what one shock adds to or takes from the log-odds. Below: log-odds. Above: the same as probability."),
    cards("Root causes: shocks that raise the risk", harmful, ROOT_CAUSE_CARDS, "No shock raises this patient's risk."),
    cards("Protective shocks: they lower the risk", protective, PROTECTIVE_CARDS, "No shock lowers this patient's risk."),
    content.bootstrap ? null : caption("How sure each shock is was not assessed: no resampling was made."),
    allVariables(harmful, protective),
    glossary(),
  ];
  view.replaceChildren(...parts.filter((part) => part !== null));
  drawWaterfall(chart, row, harmful, protective);
}

function riskSummary(row) {
  const number = (label, logit, id) =>
    element(
      "div",
      {},
      element("dt", {}, label),
      element("dd", { id }, percent(probability(logit)), element("small", {}, ` log-odds ${signed(logit)}`)),
    );
  return element(
    "dl",
    { class: "risks" },
    number("Base risk: all shocks average (not the prevalence)", content.base_value, "base-risk"),
    number("This patient's risk", logOdds(row), "patient-risk"),
  );
}

function inWords(row, harmful, protective) {
  const words = [
    "Under this model, the risk of “",
    named(outcome),
    `” is ${percent(probability(logOdds(row)))} for this patient; for a patient whose shocks are all average it is `,
    `${percent(probability(content.base_value))}. `,
  ];
  if (!harmful.length) {
    words.push("No shock raises this patient's risk: the model sees no root cause. ");
  } else {
    const first = harmful[0];
    words.push(
      "The strongest root cause is ",
      element("strong", {}, named(first.name)),
      ` at ${withUnit(first.data, first.unit)}: its own shock, the part that its causes do not explain, is `,
      `${standing("errors", first.variable, first.shock).words}. `,
      `Without this shock the risk would be ${percent(first.riskWithout)}. `,
    );
    const next = notable(harmful, 3).slice(1).map((one) => one.name);
    if (next.length) words.push(next.length === 1 ? "Next comes " : "Next come ", ...enumeration(next), ". ");
  }
  const guards = notable(protective, 2).map((one) => one.name);
  if (guards.length) {
    words.push("Working the other way, lowering the risk: ", ...enumeration(guards), ".");
  }
  return words;
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
    element("h4", {}, named(one.name), element("span", { class: "measured" }, withUnit(one.data, one.unit))),
    element(
      "p",
      { class: "adds" },
      element("span", { class: "shapley" }, signed(one.value)),
      ` log-odds (${odds(one.value)})`,
    ),
    element(
      "dl",
      {},
      line("Risk without this shock", element("span", { class: "without" }, percent(one.riskWithout))),
      line("Measured value", ...inCohort("values", one.variable, one.data)),
      line("Its own shock", `${signed(one.shock, 1)} SD, `, ...inCohort("errors", one.variable, one.shock)),
      one.bootstrap === null ? [] : line("How sure", howSure(one.bootstrap)),
    ),
  );
}

function inCohort(kind, variable, number) {
  const { share, words } = standing(kind, variable, number);
  const drawn = element("meter", { min: 0, max: 1, value: share.toFixed(3), "aria-label": words });
  return [words, drawn];
}

function howSure(bootstrap) {
  const { lower, upper, frequency } = bootstrap;
  return (
    `95 % interval ${signed(lower)} to ${signed(upper)}; ` +
    `a root cause in ${frequency} % of resamples`
  );
}

/** Bars of the waterfall: base, raising shocks, lowering shocks, patient; small ones are put together. */
function waterfallSteps(row, harmful, protective) {
  const steps = [];
  let at = content.base_value;
  const add = (label, value) => {
    steps.push({ label, from: at, to: at + value, value });
    at += value;
  };
  for (const [shocks, noun] of [[harmful, "raising"], [protective, "lowering"]]) {
    const alone = notable(shocks, WATERFALL_BARS);
    alone.forEach((one) => add(`${one.name}\u0000${withUnit(one.data, one.unit)}`, one.value));
    const rest = shocks.slice(alone.length);
    if (rest.length) add(`${rest.length} more ${noun}`, d3.sum(rest, (one) => one.value));
  }
  return steps;
}

/** Round probabilities as places on the log-odds axis, as many as fit without touching. */
function probabilityTicks(domain, width) {
  const across = d3.scaleLinear(domain, [0, width]);
  const kept = [];
  for (const p of PROBABILITY_TICKS) {
    const at = Math.log(p / (1 - p));
    if (at < domain[0] || at > domain[1]) continue;
    if (kept.every((other) => Math.abs(across(at) - across(other)) >= TICK_WIDTH)) kept.push(at);
  }
  return kept;
}

function drawWaterfall(place, row, harmful, protective) {
  const steps = waterfallSteps(row, harmful, protective);
  const total = logOdds(row);
  const width = place.clientWidth || 640;
  const narrow = width < 520;
  const margin = narrow ? 112 : 220;
  const label = (step) => {
    const [name, value] = step.label.split("\u0000");
    if (value === undefined) return name;
    return narrow ? shortName(name, 16) : `${shortName(name, Math.max(12, 31 - value.length))} ${shortName(value, 18)}`;
  };
  const ends = [
    { place: 0, label: "base risk", at: content.base_value },
    { place: steps.length + 1, label: "this patient", at: total },
  ];
  const bars = steps.map((step, index) => ({ ...step, place: index + 1, label: label(step) }));
  const rows = [ends[0], ...bars, ends[1]];
  const points = [content.base_value, total, ...steps.map((step) => step.to)];
  const middle = (d3.min(points) + d3.max(points)) / 2;
  const half = Math.max(d3.max(points) - d3.min(points), 0.5) / 2;
  const domain = [middle - half, middle + half];
  place.replaceChildren(
    drawing({
      ariaLabel: "Waterfall from the base risk to this patient's risk",
      width,
      height: rows.length * 28 + 84,
      marginLeft: margin,
      marginRight: 8,
      marginTop: 40,
      marginBottom: 40,
      x: { domain, label: null, inset: LABEL_WIDTH },
      y: { type: "band", domain: rows.map((one) => one.place), padding: 0.25, label: null },
      marks: [
        Plot.axisX({ anchor: "bottom", label: "log-odds", labelAnchor: "center", ticks: narrow ? 4 : 8, tickFormat: axisNumber(domain[1] - domain[0]) }),
        Plot.axisX(probabilityTicks(domain, width - margin - 8 - 2 * LABEL_WIDTH), { anchor: "top", label: "probability", labelAnchor: "center", tickFormat: (x) => `${+(probability(x) * 100).toFixed(1)}%` }),
        Plot.axisY({ tickSize: 0, tickFormat: (at) => rows[at].label }),
        Plot.ruleX([content.base_value], { stroke: "currentColor", strokeDasharray: "2,3" }),
        Plot.link(bars, {
          x1: "to", x2: "to", y1: "place", y2: (bar) => bar.place + 1, stroke: "currentColor", strokeOpacity: 0.5,
        }),
        Plot.barX(bars, { x1: "from", x2: "to", y: "place", fill: (bar) => (bar.value > 0 ? "var(--harm)" : "var(--guard)") }),
        ...beside(bars.filter((bar) => bar.value > 0), "to", (bar) => signed(bar.value), "right"),
        ...beside(bars.filter((bar) => bar.value <= 0), "to", (bar) => signed(bar.value), "left"),
        Plot.dot(ends, { x: "at", y: "place", r: 5, fill: "currentColor" }),
        ...beside(ends, "at", (one) => percent(probability(one.at)), "right"),
      ],
    }),
  );
}

function allVariables(harmful, protective) {
  const heads = ["Variable", "Adds (log-odds)", "Risk without", "Measured", "In the cohort", "Shock (SD)", "In the cohort"];
  if (content.bootstrap) heads.push("How sure");
  const rows = [...harmful, ...protective].map((one) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, named(one.name)),
      element("td", {}, signed(one.value, 3)),
      element("td", {}, percent(one.riskWithout)),
      element("td", {}, withUnit(one.data, one.unit)),
      element("td", {}, standing("values", one.variable, one.data).words),
      element("td", {}, signed(one.shock)),
      element("td", {}, standing("errors", one.variable, one.shock).words),
      content.bootstrap === null ? null : element("td", {}, one.bootstrap === null ? "not kept on a page of this size" : howSure(one.bootstrap)),
    ),
  );
  return element(
    "details",
    {},
    element("summary", {}, `All ${count(rows.length, "variable")} of this patient as a table`),
    element(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "All variables of this patient" },
      element(
        "table",
        {},
        element("thead", {}, element("tr", {}, heads.map((head) => element("th", { scope: "col" }, head)))),
        element("tbody", {}, rows),
      ),
    ),
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
      line("Shock", "The part of a measurement that its own causes, as the model learned them, do not explain. It is counted in standard deviations (SD) of the cohort."),
      line("Root cause", "A variable whose shock raises this patient's risk. A high value that only follows from another variable is not one."),
      line("Base risk", "The risk of a patient whose shocks are all average. It is not the prevalence: it is not the share of patients who have the outcome."),
      line("Log-odds", "The scale on which shocks add up. +0.69 doubles the odds, −0.69 halves them."),
      line("Risk without this shock", "What the model expects with this one shock set to average and all other shocks as they are. It is not what a treatment would achieve."),
    ),
  );
}
