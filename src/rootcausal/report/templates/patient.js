// One patient: a sentence, the waterfall, each root cause, and each protective shock.

function contributions(row) {
  const all = d3.range(nVariables).map((variable) => contribution(row, variable));
  return {
    harmful: all.filter((one) => one.value > 0).sort((a, b) => b.value - a.value),
    protective: all.filter((one) => one.value < 0).sort((a, b) => a.value - b.value),
  };
}

/** The shocks to show one by one: up to a limit, without small ones that would keep a reader, and the strongest in any case. */
function notable(shocks, limit) {
  return shocks.slice(0, limit).filter((one, place) => place === 0 || Math.abs(one.value) >= told.small);
}

function drawPatient(row) {
  const { harmful, protective } = contributions(row);
  const view = document.getElementById("patient-view");
  const chart = element("div", { class: "chart", id: "waterfall" });
  const picture = told.picture(row, harmful);
  const parts = [
    element("h2", {}, "Patient ", named(labels[row])),
    limitsBox(),
    riskSummary(row),
    element("p", { class: "in-words", id: "in-words" }, ...inWords(row, harmful, protective)),
    element("h3", {}, told.fromTo),
    chart,
    caption(told.waterfallCaption()),
    ...picture.parts,
    cards(told.raisingTitle(), harmful, told.raisingCards, told.noShock("raises")),
    cards(told.loweringTitle(), protective, told.loweringCards, told.noShock("lowers")),
    content.bootstrap ? null : caption(`How sure each shock is was not assessed: no resampling was made.${content.intervals === null ? "" : " Intervals are those that values not measured leave."}`),
    allVariables(harmful, protective),
    glossary(),
  ];
  view.replaceChildren(...parts.filter((part) => part !== null));
  drawWaterfall(chart, waterfallSteps(row, harmful, protective));
  picture.draw();
}

function riskSummary(row) {
  const [base, patient] = told.titles();
  const number = (label, at, id, notes = []) =>
    element(
      "div",
      {},
      element("dt", {}, label),
      element("dd", { id }, told.toText(at), element("small", {}, told.besidePrediction(at))),
      riskMark("dd"),
      notes.map((note) => element("dd", {}, ...note)),
    );
  return element(
    "dl",
    { class: "risks" },
    number(base, content.base_value, "base-risk"),
    covariates.length ? covariatesAdd(row) : null,
    number(patient, predictor(row), "patient-risk", told.notes(row)),
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
    element("dd", { id: "covariates-add" }, told.beside(value), element("small", {}, told.unitText)),
    notes.length ? element("dd", {}, notes.join("; ")) : null,
  );
}

function inWords(row, harmful, protective) {
  const [before, after] = told.opening();
  const words = [
    before,
    named(outcome),
    `${after}${told.toText(predictor(row))} `,
    ...(riskWord === null ? [] : ["(", riskMark("span"), ") "]),
    `for this patient; for a patient whose ${ofAverage} are all average it is ${told.toText(content.base_value)}. `,
    told.afterOpening(predictor(row)),
    ...(covariates.length ? ["What is adjusted for, ", ...covariatesNamed(), `, ${told.does(adjustment(row).value)}. `] : []),
  ];
  const [leading, opposing] = told.leading(harmful, protective);
  if (!leading.length) {
    words.push(told.noCause());
  } else {
    const first = leading[0];
    words.push(
      `${told.strongest} ${first.imputed ? "may be" : "is"} `,
      element("strong", {}, ...nameAndLevel(first)),
      ...(first.imputed || first.parts.length ? [" (", ...valueWords(first), ")"] : first.level === null ? [` at ${withUnit(first.data, first.unit)}`] : []),
      first.parts.length ? ", read as one, since something unmeasured may move them: their own shock, the part that their causes do not explain, is " : first.imputed ? ", going by all that was measured: its own shock, the part that its causes do not explain, would be " : ": its own shock, the part that its causes do not explain, is ",
      `${standing("errors", first.variable, first.shock).words}. `,
      told.itDoes(first.value),
      ...without(first, told.toText(predictor(row))),
    );
    if (findingsOf(first.variable).length) words.push(variableMark("span", first.variable), " ");
    const next = notable(leading, 3).slice(1);
    if (next.length) words.push(next.length === 1 ? "Next comes " : "Next come ", ...enumeration(next.map(nameAndLevel)), ". ");
  }
  const guards = notable(opposing, 2);
  if (guards.length) words.push(told.otherWay(), ...enumeration(guards.map(nameAndLevel)), ".");
  return words;
}

/** "sex = male", or the name alone of a number and of what was not measured. */
function nameAndLevel(one) {
  return one.level === null || one.imputed ? [named(one.name)] : [named(one.name), " = ", element("bdi", {}, shownLevel(one.level))];
}

/** What would be predicted, now this in words: of a number without its shock, of levels at the one that takes most away of what it does. */
function without(one, now) {
  const wouldBe = (then) => `${told.thePrediction} would ${then === now ? "change little: it would still be" : "be"} ${then}`;
  const best = d3.least(one.byLevel, (other) => Math.sign(one.value) * other.predictor);
  if (one.imputed || !best || best.now) return [`Without this shock ${wouldBe(told.toText(one.without))}. `];
  const which = one.byLevel.length > 2 ? `, the ${one.value < 0 ? "highest" : "lowest"} of its levels` : "";
  return ["At “", element("bdi", {}, shownLevel(best.level)), `” instead ${wouldBe(told.toText(best.predictor))}${which}. `];
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
    rest.length ? caption(`${count(rest.length, "weaker one")}, together ${told.beside(together)}: in the table below.`) : null,
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
    element("p", { class: "adds" }, ...told.inCard(one.value)),
    variableMark("p", one.variable),
    element(
      "dl",
      {},
      one.byLevel.length
        ? line(`${told.byLevelTitle}${riskNote}`, ...byLevel(one.byLevel))
        : line(`${told.withoutTitle}${riskNote}`, element("span", { class: "without" }, told.toText(one.without))),
      one.imputed || one.parts.length ? [] : line(one.level === null ? "Measured value" : "This level", ...valueInCohort(one)),
      line(one.parts.length ? "Their own shock" : "Its own shock", `${signed(one.shock, 1)} SD, `, ...inCohort("errors", one.variable, one.shock)),
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
function byLevel(levels) {
  return levels.flatMap(({ level, predictor, now }, place) => [
    place ? "; " : "",
    element("bdi", {}, shownLevel(level)),
    ": ",
    element("span", { class: "without" }, told.toText(predictor)),
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
  const interval = `95 % interval ${told.range(lower, upper)}`;
  if (content.bootstrap === null) return `${interval}, for what was not measured`;
  return frequency === null ? interval : `${interval}; ${told.often(frequency)}`;
}

function allVariables(harmful, protective) {
  const [adds, without] = told.tableHeads;
  const heads = ["Variable", adds, `${without}${riskNote}`, "Measured", "In the cohort", "Shock (SD)", "In the cohort"];
  if (content.intervals !== null) heads.push("How sure");
  const rows = [...harmful, ...protective].map((one) => [
    [named(one.name), star(one.variable)],
    told.inTable(one.value),
    told.toText(one.without),
    valueWords(one),
    one.imputed || one.parts.length ? "" : valueInCohort(one)[0],
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
  const [rootCause, ...scale] = told.glossary();
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
      line(...rootCause),
      covariates.length
        ? line("Adjusted for", `Covariates come before all other variables: what they explain of these is taken out, and what they add to the ${told.it} stands apart. They are not asked whether they are root causes.`)
        : [],
      scale.map((entry) => line(...entry)),
      variables.some((variable) => variable.levels.length) ? line(told.byLevelTitle, LEVEL_SET) : [],
      hasImputed
        ? line("Not measured; expected", "The table has no value here. What is expected given all that was measured of this patient stands in for it, and the interval holds how far that may be off.")
        : [],
      line(told.withoutTitle, SHOCK_AVERAGE),
    ),
  );
}
