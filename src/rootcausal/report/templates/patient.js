// One patient: the answer, the waterfall, each root cause, each protective shock, and what goes with them.

function contributions(row) {
  const all = d3.range(nVariables).map((variable) => contribution(row, variable));
  return {
    harmful: all.filter((one) => one.value > 0).sort((a, b) => b.value - a.value),
    protective: all.filter((one) => one.value < 0).sort((a, b) => a.value - b.value),
  };
}

function drawPatient(row) {
  const { harmful, protective } = contributions(row);
  const view = document.getElementById("patient-view");
  const chart = element("div", { class: "chart", id: "waterfall" });
  const picture = told.picture(row, harmful);
  const limits = limitsBox();
  const warned = content.made.reading === "do not read";
  const parts = [
    titleLine(element("h2", {}, "Patient ", named(labels[row])), ...patientButtons(row, harmful, protective)),
    unknownPatient(),
    warned ? limits : null,
    element(
      "div",
      { class: "answer" },
      element("div", { class: "in-words", id: "in-words" }, ...inWords(row, harmful, protective)),
      element("div", { class: "numbers" }, riskSummary(row), hundredPeople(row)),
    ),
    warned ? null : limits,
    titleLine(told.fromTo, scaleSwitch(), ...chartButtons(chart, `waterfall-${labels[row]}`)),
    chart,
    caption(told.waterfallCaption()),
    ...picture.parts,
    cards(told.raisingTitle(), harmful, told.raisingCards, "raise"),
    cards(told.loweringTitle(), protective, told.loweringCards, "lower"),
    [...harmful, ...protective].some((one) => one.level === null && !one.parts.length) ? stripLegend() : null,
    content.bootstrap ? null : caption(`How sure each shock is was not assessed: no resampling was made.${content.intervals === null ? "" : " Intervals are those that values not measured leave."}`),
    whatIfPart(row, harmful, protective),
    alikePart(row),
    allVariables(harmful, protective),
    glossary(),
    printedLine(),
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
      element("dd", { id }, told.toText(at), told.besidePrediction(at)),
      id === "patient-risk" || riskWord !== null ? riskMark("dd") : null,
      notes.map((note) => element("dd", {}, ...note)),
    );
  return element(
    "dl",
    { class: "risks" },
    number(patient, predictor(row), "patient-risk", notesOf(row)),
    covariates.length ? covariatesAdd(row) : null,
    number(base, content.base_value, "base-risk"),
  );
}

/** The interval of what is predicted, and what happened, if that is known. */
function notesOf(row) {
  const ends = predictedInterval(row);
  return [
    ...(recalibratedText(row) === null ? [] : [[term("Recalibrated"), ` ${recalibratedText(row)}`]]),
    ...(ends === null ? [] : [[term("95 % interval"), ` ${range(ends.map(told.predictedText))}`]]),
    ...(hasKnown ? [told.happened(row)] : []),
  ];
}

/** "Adjusted for: age, sex and site", and what they add. */
function covariatesAdd(row) {
  const { value, interval, expected } = adjustment(row);
  const notes = [
    hasInterval({ interval }) ? rangeText(interval) : "",
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

function cards(title, shocks, limit, way) {
  const shown = notable(shocks, limit);
  const rest = othersThan(shown, shocks);
  const together = d3.sum(rest, (one) => one.value);
  const none = rest.length ? `No shock was found that would ${way} the ${told.it} and stands out.` : told.noShock(`${way}s`);
  return element(
    "section",
    { "aria-label": title },
    element("h3", {}, title),
    shown.length ? element("ol", { class: "cards" }, shown.map(card)) : element("p", {}, none),
    rest.length ? element("p", { class: "caption" }, count(rest.length, othersNoun(rest)), element("span", { class: told.scaleClass }, `, together ${told.beside(together)}${told.scaleWord}`), ": in the table below.") : null,
  );
}

function card(one) {
  const expected = expectedText(one);
  return element(
    "li",
    { class: one.value > 0 ? "card" : "card protective", "data-variable": one.column },
    element(
      "h4",
      {},
      element("span", {}, ...nameAndLevel(one)),
      one.level === null || one.imputed ? element("span", { class: one.imputed ? "measured expected" : "measured" }, ...valueWords(one)) : null,
    ),
    expected === null ? null : element("p", { class: "against" }, `${expected} ${toldAs(one)}`),
    stripOf(one),
    one.byLevel.length
      ? element("p", { class: "adds" }, `${told.byLevelTitle}${riskNote}: `, element("span", { class: "by-level" }, ...byLevel(one.byLevel)))
      : element("p", { class: "adds" }, `${told.withoutTitle}${riskNote}: `, element("span", { class: "without" }, told.toText(one.without)), insteadOf(one)),
    element("p", { class: "adds" }, ...told.inCard(one.value)),
    hasInterval(one) ? element("p", { class: "adds" }, gradeBadge(one), " ", ...howSure(one)) : null,
    variableMark("p", one.variable),
    element(
      "dl",
      {},
      one.imputed || one.parts.length ? [] : line(one.level === null ? "Measured value" : "This level", valueInCohort(one)),
      line(one.parts.length ? "Their own shock" : "Its own shock", `${signed(one.shock, 1)} SD, `, standing("errors", one.variable, one.shock).words),
    ),
  );
}

/** "69 % instead of 95 %", or that it is no other. */
function insteadOf({ without, value }) {
  const now = told.toText(without + value);
  return told.toText(without) === now ? ", as it is with it" : ` instead of ${now}`;
}

/** "female: 12 %; male: 34 % (as measured)" */
function byLevel(levels) {
  const said = levels.map(({ level, predictor, now }) => [element("bdi", {}, shownLevel(level)), ": ", element("span", { class: "without" }, told.toText(predictor)), now ? " (as measured)" : ""]);
  return enumeration(said, "; ", "; ");
}

/** Where a measured value lies in the cohort, or how common a level without an order is. */
function valueInCohort(one) {
  if (one.kind === "binary" || one.kind === "nominal") return commonness(one.variable, one.data);
  return standing("values", one.variable, one.data).words;
}

/** Without resamples, only what was not measured leaves an interval. */
function hasInterval({ interval }) {
  return interval !== null && (content.bootstrap !== null || interval.lower < interval.upper);
}

function rangeText({ lower, upper }) {
  const text = `95 % interval ${told.range(lower, upper)}`;
  return content.bootstrap === null ? `${text}, for what was not measured` : text;
}

/** How sure a shock is, as elements: how often it works this way, and its interval on the scale of the outcome. */
function howSure(one) {
  if (content.bootstrap === null) return [rangeText(one.interval)];
  const zero = endsAtZero(one);
  return [`${sameWayText(one)}. `, element("span", { class: told.scaleClass }, `${rangeText(one.interval)}. `), zero ?? ""];
}

function allVariables(harmful, protective) {
  const [adds, without] = told.tableHeads;
  const heads = ["Variable", "This patient", "Expected", "Typical patient", "Value in the cohort", "Shock (SD)", "Shock in the cohort", adds, `${without}${riskNote}`];
  if (content.intervals !== null) heads.push("How sure");
  const rows = [...harmful, ...protective].map((one) => [
    [named(one.name), star(one.variable)],
    valueWords(one),
    expectedText(one) ?? "",
    typicalText(one),
    one.imputed || one.parts.length ? "" : valueInCohort(one),
    signed(one.shock),
    standing("errors", one.variable, one.shock).words,
    told.inTable(one.value),
    told.toText(one.without),
    ...(content.intervals === null ? [] : [one.interval === null ? "not kept on a page of this size" : hasInterval(one) ? tableSure(one) : ""]),
  ]);
  const summary = `This patient beside a typical one: all ${count(rows.length, "variable")} as a table`;
  return folded(summary, { id: "beside-typical" }, tableOf("All variables of this patient", heads, rows, "variables-table"), starLegend(d3.range(nVariables)));
}

function tableSure(one) {
  const grade = gradeOf(one);
  return grade === null ? rangeText(one.interval) : `${grade}; ${rangeText(one.interval)}; ${sameWayText(one)}`;
}

/** The middle of the cohort: of levels the most common one. */
function typicalText(one) {
  if (one.parts.length) return enumeration(one.parts.map((part, place) => [named(part.name), " ", typicalText({ ...part, variable: one.members[place] })]), ", ");
  const quantiles = content.quantiles.values[one.variable];
  if (!one.levels.length) return inItsUnit(one, quantiles[50]);
  if (one.kind === "ordinal") return element("bdi", {}, shownLevel(one.levels[Math.round(quantiles[50])]));
  return element("bdi", {}, shownLevel(one.levels[d3.mode(quantiles)]));
}
