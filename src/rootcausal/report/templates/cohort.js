// All patients of the page together.

const BARS = 20;
const SWARM_ROWS = 12;

function drawCohort() {
  const view = document.getElementById("cohort");
  const cohort = content.cohort;
  const n = labels.length;
  if (!nVariables) {
    view.replaceChildren(
      element("h2", {}, count(n, "patient")),
      element("p", {}, "No variable depends on the outcome, so nobody has a root cause, and there is nothing to draw."),
    );
    return;
  }
  const bars = element("div", { class: "chart", id: "prevalence" });
  const swarm = element("div", { class: "chart", id: "swarm" });
  const heat = element("div", { class: "chart", id: "heat" });
  const predictions = element("div", { class: "chart", id: "predictions" });
  const ranked = cohort.by_importance;
  view.replaceChildren(
    element("h2", {}, `${count(n, "patient")} together`),
    ...(cohort.predicted === null ? [] : [element("h3", {}, told.predictionsTitle), predictions]),
    titleLine(told.countTitle, ...chartButtons(bars, "root-causes")),
    element(
      "p",
      {},
      `Whole bar: patients whose ${told.it} this variable's shock notably raises. Its strong part, and the number in brackets: those in whom no other shock raises it more. Only shocks that `,
      term("stand out", "Stands out"),
      ` count. ${told.withoutCause(cohort.none)}`,
    ),
    bars,
    ranked.length > BARS ? caption(`The ${BARS} most important of ${ranked.length} variables; all are in the table.`) : "",
    starLegend(ranked),
    prevalenceTable(ranked),
    titleLine("What each shock adds, patient by patient", ...chartButtons(swarm, "shocks")),
    element(
      "p",
      {},
      `A dot is a patient: to the right, the shock raises the ${told.it}. `,
      "Its colour says how high the measured value is in the cohort. ",
      variables.some((variable) => variable.kind === "nominal") ? `Grey: levels without an order${hasSets ? ", or several variables" : ""}. ` : "",
      hasImputed ? "A ring: not measured, but expected. " : "",
      "Choose a dot to open the patient.",
    ),
    element("p", { class: "legend", "aria-hidden": "true" }, "lowest value ", element("span", { class: "gradient values" }), " highest value of the cohort"),
    swarm,
    caption(
      clippedText(ranked.slice(0, SWARM_ROWS)) + (cohort.swarm.length < n
        ? `Drawn: ${cohort.swarm.length} of ${count(n, rowNoun)}, evenly spread from the lowest to the highest ${told.prediction}.`
        : `All ${rowNoun}s are drawn.`),
    ),
    titleLine("Patients ordered by similarity", ...chartButtons(heat, "similar-patients")),
    element("p", {}, "Columns are patients, and those with like shocks stand side by side: a block of one colour is " + told.alike + "."),
    element(
      "p",
      { class: "legend", "aria-hidden": "true" },
      `lowers the ${told.it}, ${told.heatEnd(-heatStrongest(ranked))} or more `,
      element("span", { class: "gradient" }),
      ` ${told.heatEnd(heatStrongest(ranked))} or more, raises it`,
    ),
    heat,
    caption(heatCaption(cohort.heat, n)),
  );
  if (cohort.predicted !== null) drawPredictions(predictions, cohort.predicted);
  drawBars(bars, d3.sort(ranked.slice(0, BARS), (variable) => -cohort.strongest[variable]));
  drawSwarm(swarm, ranked.slice(0, SWARM_ROWS));
  drawHeat(heat, ranked);
}

/** How many patients have which prediction. */
function drawPredictions(place, { counts, edges }) {
  const { width, narrow } = frame(place);
  const bars = counts.map((count, bar) => ({ count, from: edges[bar], to: edges[bar + 1] }));
  place.replaceChildren(
    drawing({
      ariaLabel: told.predictionsTitle,
      width,
      height: 210,
      marginTop: 28,
      marginBottom: 46,
      marks: [
        Plot.axisX({ ...BELOW, ticks: narrow ? 4 : 8, ...told.predictionsAxis }),
        Plot.axisY({ label: `${rowNoun}s`, ticks: 4, tickFormat: "d" }),
        Plot.rectY(bars, { x1: "from", x2: "to", y: "count", fill: "var(--quiet)", inset: 0.5, title: told.barTitle }),
        Plot.ruleY([0], { stroke: "currentColor" }),
      ],
    }),
  );
}

function heatCaption(heat, n) {
  if (!heat.sizes.length) return "One column for each patient. Choose a column to open the patient.";
  return (
    `Each column is the mean of a group of similar patients: ${heat.sizes.length} groups of ` +
    `${d3.min(heat.sizes)} to ${d3.max(heat.sizes).toLocaleString("en")} make up all ${count(n, rowNoun)}.`
  );
}

function prevalenceTable(ranked) {
  const cohort = content.cohort;
  const ancestry = ranked.some((variable) => variables[variable].ancestor !== null);
  const heads = ["Variable", ...told.countHeads, told.sizeHead, ...told.effectHeads];
  const rows = ranked.map((variable) => [
    [named(variables[variable].name), star(variable)],
    String(cohort.root_cause[variable]),
    String(cohort.strongest[variable]),
    told.sizeText(cohort.importance[variable]),
    ...told.effectCells(variables[variable]),
    ...(ancestry ? [percent(variables[variable].ancestor)] : []),
  ]);
  if (ancestry) heads.push("Probability of being a cause");
  return folded("The same as a table", {}, tableOf("How often each variable is a root cause", heads, rows, "prevalence-table"));
}

function drawBars(place, shown) {
  const { width, marginLeft, letters } = frame(place);
  const rows = shown.map((variable) => ({
    variable,
    any: content.cohort.root_cause[variable],
    strongest: content.cohort.strongest[variable],
  }));
  place.replaceChildren(
    drawing({
      ariaLabel: "For how many patients each variable is a root cause",
      width,
      marginLeft,
      marginRight: 90,
      height: rows.length * 26 + 60,
      x: { domain: [0, labels.length] },
      marginBottom: 46,
      y: { type: "band", domain: shown, padding: 0.25, label: null },
      marks: [
        Plot.axisX({ label: `${rowNoun}s`, ...BELOW, ticks: Math.min(labels.length, width < 520 ? 3 : 5), tickFormat: "d" }),
        Plot.axisY({ tickSize: 0, tickFormat: (variable) => shortVariable(variable, letters) + star(variable) }),
        Plot.barX(rows, { x: "any", y: "variable", fill: "var(--harm-light)" }),
        Plot.barX(rows, { x: "strongest", y: "variable", fill: "var(--harm)" }),
        Plot.text(rows, {
          x: "any", y: "variable", textAnchor: "start", dx: 5, fill: "currentColor",
          text: (row) => `${row.any} (${row.strongest})`,
        }),
      ],
    }),
  );
}

/** Where the swarm ends: far outliers would flatten all others, and stand at the edge with a mark of their own. */
function swarmDomain(shown) {
  const rows = content.cohort.swarm;
  const all = Float64Array.from(shown.flatMap((variable) => rows.map((row) => shapley(row, variable)))).sort();
  const [low, high] = [d3.quantileSorted(all, 0.005), d3.quantileSorted(all, 0.995)];
  const room = 0.25 * (high - low);
  return [Math.min(Math.max(all[0], low - room), -told.little), Math.max(Math.min(all.at(-1), high + room), told.little)];
}

function clippedText(shown) {
  const [low, high] = swarmDomain(shown);
  const beyond = d3.sum(shown, (variable) => d3.sum(content.cohort.swarm, (row) => shapley(row, variable) < low || shapley(row, variable) > high));
  return beyond ? `${count(beyond, "dot")} farther out ${beyond === 1 ? "stands" : "stand"} at the edge, as ${beyond === 1 ? "a triangle" : "triangles"}. ` : "";
}

/** Dots of one variable, spread where they would lie on each other but never beyond their line. */
function spread(variable, rows, domain) {
  const columns = 70;
  const stacks = new Map();
  return rows.map((row) => {
    const value = shapley(row, variable);
    const at = Math.min(Math.max(value, domain[0]), domain[1]);
    const column = Math.round(((at - domain[0]) / (domain[1] - domain[0])) * columns);
    const dot = { row, variable, value, at, column, level: stacks.get(column) ?? 0 };
    stacks.set(column, dot.level + 1);
    return dot;
  }).map((dot) => {
    const step = Math.min(0.11, 0.84 / stacks.get(dot.column));
    const side = dot.level % 2 ? 1 : -1;
    return { ...dot, offset: side * Math.ceil(dot.level / 2) * step };
  });
}

/** Outlines of dots: rings where a value was not measured, and a thin line where no colour says high or low. */
const isImputed = (dot) => valueOf(dot.row, dot.variable).imputed;
const isUnordered = (dot) => variables[dot.variable].kind === "nominal";
const outlines = {
  stroke: "currentColor",
  strokeWidth: (dot) => (isImputed(dot) ? 1.2 : isUnordered(dot) ? 0.6 : 0),
  fillOpacity: (dot) => (isImputed(dot) ? 0 : 1),
};

function drawSwarm(place, shown) {
  const { width, narrow, marginLeft, letters } = frame(place);
  const rows = content.cohort.swarm;
  const domain = swarmDomain(shown);
  const dots = shown.flatMap((variable, line) =>
    spread(variable, rows, domain).map((dot) => ({
      ...dot,
      y: line + dot.offset,
      share: variables[variable].kind === "nominal" ? 0.5 : standing("values", variable, cell("data", dot.row, variable)).share,
    })),
  );
  const picture = drawing({
    ariaLabel: `${told.addedWords}, one dot for each patient`,
    width,
    marginLeft,
    height: shown.length * 44 + 60,
    marginBottom: 46,
    x: { domain, inset: 6 },
    y: { domain: [shown.length - 0.5, -0.5], axis: null },
    color: { type: "linear", domain: [0, 0.5, 1], range: [ink("--low"), d3.interpolateRgb(ink("--low"), ink("--high"))(0.5), ink("--high")] },
    marks: [
      Plot.axisX({ ...BELOW, ...told.addedAxis(domain, narrow) }),
      Plot.axisY(d3.range(shown.length), { tickSize: 0, label: null, tickFormat: (line) => shortVariable(shown[line], letters) }),
      Plot.ruleX([0], { stroke: "currentColor" }),
      Plot.dot(dots, {
        x: "at", y: "y", r: 2.4, fill: "share",
        symbol: (dot) => (dot.at === dot.value ? "circle" : "triangle"),
        ...(hasImputed || dots.some(isUnordered) ? outlines : {}),
        title: (dot) => `${shownName(labels[dot.row])}: ${valueText(valueOf(dot.row, dot.variable))}, ${told.inDot(dot.value)}`,
      }),
    ],
  });
  picture.querySelectorAll("path, circle").forEach((mark) => {
    const dot = dots[mark.__data__];
    if (dot !== undefined && mark.querySelector("title")) mark.addEventListener("click", () => openPatient(dot.row));
  });
  place.replaceChildren(picture);
}

/** Variables and numbers of the heat map, line by line. */
function heatNumbers(ranked) {
  const { heat } = content.cohort;
  const shown = ranked.slice(0, heat.sizes.length ? heat.means[0].length : 30);
  const columns = heat.sizes.length || heat.rows.length;
  const value = (line, column) => (heat.sizes.length ? heat.means[column][line] : shapley(heat.rows[column], shown[line]));
  return { shown, columns, numbers: shown.flatMap((_, line) => d3.range(columns).map((column) => value(line, column))) };
}

/** The size from which colours get no stronger: two of a hundred are beyond. */
function heatStrongest(ranked) {
  return d3.quantile(heatNumbers(ranked).numbers.map(Math.abs), 0.98) || 1;
}

function drawHeat(place, ranked) {
  const { width, marginLeft, letters } = frame(place);
  const heat = content.cohort.heat;
  const { shown, columns, numbers } = heatNumbers(ranked);
  const strongest = heatStrongest(ranked);
  const picture = drawing({
    ariaLabel: "Heat map of shocks: variables as lines, similar patients side by side",
    width,
    marginLeft,
    marginRight: 8,
    marginTop: 6,
    marginBottom: 8,
    height: shown.length * 22 + 20,
    x: { domain: [0, columns], axis: null },
    y: { domain: [shown.length, 0], axis: null },
    color: { type: "diverging", domain: [-strongest, strongest], clamp: true, range: [ink("--guard"), ink("--middle"), ink("--harm")] },
    marks: [
      Plot.raster(numbers, {
        width: columns, height: shown.length, x1: 0, x2: columns, y1: 0, y2: shown.length,
        fill: (number) => number, imageRendering: "pixelated",
      }),
      Plot.axisY(d3.range(shown.length).map((line) => line + 0.5), {
        tickSize: 0, label: null, tickFormat: (line) => shortVariable(shown[line - 0.5], letters),
      }),
    ],
  });
  if (heat.rows.length) {
    picture.addEventListener("click", (event) => {
      const box = picture.getBoundingClientRect();
      const across = ((event.clientX - box.left) / box.width) * width;
      const column = Math.floor(((across - marginLeft) / (width - marginLeft - 8)) * columns);
      if (column >= 0 && column < columns) openPatient(heat.rows[column]);
    });
  }
  place.replaceChildren(picture);
}
