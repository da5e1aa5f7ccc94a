// Causal order, the learned edges, and what one shock moves downstream.

let chosenVariable = null;
const unordered = d3.range(nVariables).filter((variable) => variables[variable].kind === "nominal");

function drawGraph() {
  const view = document.getElementById("graph");
  const graph = content.graph;
  if (!nVariables) {
    view.replaceChildren(
      element("h2", {}, "No graph"),
      element("p", {}, "No variable depends on the outcome, so there is no ancestor of it to draw."),
    );
    return;
  }
  chosenVariable ??= graph.shown.includes(content.cohort.by_importance[0]) ? content.cohort.by_importance[0] : graph.shown[0];
  const arcs = element("div", { class: "chart", id: "arcs" });
  const downstream = element("div", { id: "downstream", "aria-live": "polite" });
  view.replaceChildren(
    element("h2", {}, "What leads to what"),
    element(
      "p",
      {},
      "Variables stand in causal order, causes above their effects, as the model learned it. A line runs from a cause to an effect: solid when more of the one means more of the other, dashed when it means less; the thicker, the stronger. " +
        (unordered.length ? "Dotted where levels without an order have no more and no less. " : "") +
        "Choose a variable to see what its shock moves; the number beside it is the log-odds that a shock of one standard deviation (SD) adds.",
    ),
    element(
      "div",
      { class: "graph" },
      element("div", { class: "order" }, element("h3", { id: "order-title" }, "Choose a variable"), orderButtons()),
      arcs,
    ),
    caption(edgeRule(graph)),
    downstream,
  );
  drawArcs(arcs);
  drawDownstream(downstream);
}

function edgeRule(graph) {
  const left = nVariables - graph.shown.length;
  return (
    `Drawn: ${count(graph.edges.length, "edge")} of ${graph.n_possible.toLocaleString("en")} possible, those where one standard deviation ` +
    `of the cause moves the effect by at least ${graph.weakest} standard deviations, all else equal` +
    (left ? `; ${count(left, "less important variable")} ${left === 1 ? "is" : "are"} not drawn.` : ".")
  );
}

function orderButtons() {
  return element(
    "ol",
    { "aria-labelledby": "order-title" },
    content.graph.shown.map((variable) =>
      element(
        "li",
        {},
        element(
          "button",
          {
            type: "button",
            title: shownName(variables[variable].name),
            "aria-pressed": String(variable === chosenVariable),
            onclick: () => {
              chosenVariable = variable;
              document.querySelectorAll("#graph .order button").forEach((button, line) => {
                button.setAttribute("aria-pressed", String(content.graph.shown[line] === variable));
              });
              drawArcs(document.getElementById("arcs"));
              drawDownstream(document.getElementById("downstream"));
            },
          },
          named(shortName(variables[variable].name, 40)),
          element("span", {}, coefficient(variables[variable])),
        ),
      ),
    ),
  );
}

/** Which way an edge works; levels without an order have no more and no less. */
const DASHES = { more: null, less: "6,4", none: "2,4" };

function signOf(edge) {
  if ([edge.cause, edge.effect].some((line) => unordered.includes(content.graph.shown[line]))) return "none";
  return edge.weight < 0 ? "less" : "more";
}

function coefficient({ kind, coef }) {
  return kind === "nominal" ? `±${Math.abs(coef).toFixed(2)}` : signed(coef);
}

/** What a shock does to a variable in its own terms: so many units more, or towards which level. */
function moves({ by, sd, unit, levels, kind }) {
  if (!levels.length) return (by < 0 ? "" : "+") + withUnit(by * sd, unit, 3);
  if (Math.abs(by) < 0.005) return "not noticeably";
  if (kind === "nominal") return "other levels become likelier";
  return ["towards ", element("bdi", {}, shownLevel(by < 0 ? levels[0] : levels.at(-1)))];
}

function drawArcs(place) {
  const { width, marginLeft, letters } = frame(place);
  const { shown, edges } = content.graph;
  const chosen = shown.indexOf(chosenVariable);
  const lineHeight = shown.length > 16 ? 26 : 44;
  const height = shown.length * lineHeight + 20;
  const room = width - marginLeft - 24;
  // An arc of bend b over a chord of length c bulges by c/2 · tan(b/2): the longest one must fit.
  const longest = Math.max(1, d3.max(edges, (edge) => edge.effect - edge.cause) ?? 1) * lineHeight;
  const bend = Math.min(85, (2 * Math.atan(room / (longest / 2)) * 180) / Math.PI);
  const mine = (edge) => edge.cause === chosen || edge.effect === chosen;
  const arrows = (chosenOnes) =>
    Object.entries(DASHES).map(([sign, dashes]) =>
      Plot.arrow(edges.filter((edge) => mine(edge) === chosenOnes && signOf(edge) === sign), {
        x1: 0, x2: 0, y1: "cause", y2: "effect",
        bend,
        insetStart: 4,
        insetEnd: 6,
        headLength: 7,
        strokeWidth: (edge) => 1 + Math.min(Math.abs(edge.weight), 1) * 5,
        stroke: chosenOnes ? (edge) => (edge.cause === chosen ? "var(--accent)" : "currentColor") : "var(--faint)",
        strokeDasharray: dashes,
        title: (edge) => `${shownName(variables[shown[edge.cause]].name)} to ${shownName(variables[shown[edge.effect]].name)}: ${signOf(edge) === "none" ? edge.weight.toFixed(2) : signed(edge.weight)}`,
      }),
    );
  place.replaceChildren(
    drawing({
      ariaLabel: "Learned edges between variables in causal order",
      width,
      height,
      marginLeft,
      marginRight: 8,
      marginTop: 16,
      marginBottom: 16,
      x: { domain: [0, room], range: [marginLeft, width - 24], axis: null },
      y: { domain: [0, Math.max(shown.length - 1, 1)], range: [lineHeight / 2, height - lineHeight / 2], axis: null },
      marks: [
        ...arrows(false),
        ...arrows(true),
        Plot.dot(shown, { x: 0, y: (_, line) => line, r: 5, fill: (_, line) => (line === chosen ? "var(--accent)" : "currentColor") }),
        Plot.text(shown, {
          x: 0, y: (_, line) => line, dx: -10, textAnchor: "end", fill: "currentColor",
          text: (variable, line) => shortName(variables[variable].name, letters),
        }),
      ],
    }),
  );
}

function drawDownstream(place) {
  const { shown, total } = content.graph;
  const from = shown.indexOf(chosenVariable);
  const variable = variables[chosenVariable];
  const moved = shown
    .map((to, line) => ({ ...variables[to], line, by: total[from][line] }))
    .filter((one) => one.line >= from)
    .sort((a, b) => (a.line === from ? -1 : b.line === from ? 1 : Math.abs(b.by) - Math.abs(a.by)));
  const rows = moved.map((one) => [
    element("span", {}, named(one.name), one.line === from ? " (itself)" : ""),
    one.kind === "nominal" ? Math.abs(one.by).toFixed(2) : signed(one.by),
    moves(one),
  ]);
  place.replaceChildren(
    element("h3", {}, "What a shock on ", named(variable.name), " does"),
    element(
      "p",
      {},
      variable.kind === "nominal"
        ? "A shock of one standard deviation towards the levels that raise the risk changes the log-odds of “"
        : "A shock of one standard deviation upwards changes the log-odds of “",
      named(outcome),
      `” by ${signed(variable.coef)} (${odds(variable.coef)}), all ways together. `,
      variable.ancestor === null ? "" : `The model gives it a probability of ${percent(variable.ancestor)} to be a cause of it at all. `,
      "It moves the variable itself and, through the graph, what lies downstream:",
    ),
    tableOf("What the shock moves", ["Variable", "Moves by (SD)", "In its unit"], rows),
  );
}
