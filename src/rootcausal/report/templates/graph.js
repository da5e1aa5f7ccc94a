// Causal order, the arrows that were given and learned, and what one shock moves downstream.

let chosenVariable = null;
const unordered = d3.range(nVariables).filter((variable) => variables[variable].kind === "nominal" && !variables[variable].members.length);

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
      "Variables stand in causal order, causes above their effects, and the outcome (□) comes last. A line runs from a cause to an effect: solid when more of the one means more of the other, dashed when it means less; the thicker, the stronger. " +
        (unordered.length ? "Dotted where levels without an order have no more and no less. " : "") +
        (onLogScale.length ? "Of variables on a log scale, a standard deviation is one of the logarithm. " : "") +
        "Choose a variable to see what its shock moves; the number beside it is " + told.besideButtons + " by all ways together. An arrow is one way alone, all else held fixed, so that the two may differ, even in sign.",
    ),
    element("p", { id: "given-and-learned" }, givenAndLearned(graph)),
    asked(content.made) ?? "",
    orderLimits() ?? "",
    titleLine(element("h3", { id: "order-title" }, "Choose a variable"), arrowSwitch(), ...chartButtons(arcs, "graph", () => graphPicture(EXPORT_WIDTH, true))),
    element("div", { class: "graph-room" }, graphAndList(view.clientWidth, arcs), downstream),
    caption(edgeRule(graph)),
    starLegend(graph.shown),
    folded("All arrows in words", {}, arrowTable()),
  );
  drawArcs(arcs);
  drawDownstream(downstream);
}

function edgeRule(graph) {
  const left = nInOrder - graph.shown.length;
  return (
    `Drawn: ${count(graph.edges.length, "arrow")} of ${graph.n_possible.toLocaleString("en")} possible among the variables, those where one standard deviation ` +
    `of the cause moves the effect by at least ${graph.weakest} standard deviations, all else equal; and ${graph.into_outcome.length} into the outcome, ` +
    `where ${told.changes(graph.weakest_on_outcome)}` +
    (left ? `; ${count(left, "less important variable")} ${left === 1 ? "is" : "are"} not drawn.` : ".")
  );
}

// Longer advice, of very many columns, would push the graph off the screen: it is folded.
const ADVICE_LETTERS = 1200;

/** Columns that stand where their names say they cannot be, and what to do: said where the order is seen. */
function asked(made) {
  const check = made.checks.find((one) => one.name === "as_named" && one.verdict !== "fine");
  if (check === undefined) return null;
  const whatToDo = `What to do: ${check.advice}`;
  const long = whatToDo.length > ADVICE_LETTERS;
  return element(
    "div",
    { class: "caution", id: "asked" },
    element("p", {}, check.statement, long ? "" : ` ${whatToDo}`),
    long ? folded("What to do", {}, element("p", {}, whatToDo)) : "",
  );
}

/** What was told and what was learned, and how often resamples agree. */
function givenAndLearned({ known, covariates }) {
  const states = allArrows().map((arrow) => arrow.state);
  const words = states.length
    ? [whatWasGiven(known, states), howSureArrowsAre(states)]
    : [`${known ? "" : "Nothing was known of the order before. "}No direct effect is strong enough to be drawn. `];
  return covariates.length ? [...words, "Adjusted for, and not drawn: ", ...covariatesNamed(covariates), "."] : words;
}

function whatWasGiven(known, states) {
  if (!known) return "Nothing was known of the order before: the direction of every arrow was learned from the data. ";
  const given = states.filter((state) => state === "given").length;
  const learned = states.length - given;
  return `Of ${count(states.length, "arrow")}, ${given} ${given === 1 ? "has" : "have"} a direction that was given before (■), and ${learned} ${learned === 1 ? "was" : "were"} learned from the data. `;
}

function howSureArrowsAre(states) {
  if (content.bootstrap === null) return "Arrows were not resampled, so the page cannot say how sure each is. ";
  if (states.every((state) => state === "given")) return "";
  const limit = `${Math.round(content.graph.sure_from * 100)} % of ${count(content.bootstrap.resamples, "resample")}`;
  const unsure = states.filter((state) => state === "unsure").length;
  if (!unsure) return `None of the learned ones is unsure: each is in at least ${limit}, pointing this way. `;
  return (
    `${unsure} of the learned ones ${unsure === 1 ? "is unsure (?): it is" : "are unsure (?): each is"} in fewer than ${limit}, pointing this way; ` +
    "in the others it is turned round, or absent: weaker, or one of the two was dropped. An arrow into the outcome cannot turn round. "
  );
}

const allArrows = () => [...content.graph.edges, ...content.graph.into_outcome];

/** The name at a line of the drawing; the outcome stands below the last variable. */
function nodeName(line) {
  const { shown } = content.graph;
  return line === shown.length ? outcome : variables[shown[line]].name;
}

const intoOutcome = ({ effect }) => effect === content.graph.shown.length;

function arrowWeight(arrow) {
  const signless = signOf(arrow) === "none";
  if (intoOutcome(arrow)) return told.arrow(arrow.weight, signless);
  return `${signless ? Math.abs(arrow.weight).toFixed(2) : signed(arrow.weight)} SD`;
}

/** How strong an arrow is, whatever its scale: 0.1 for the weakest that are drawn. */
function strength(arrow) {
  const { weakest, weakest_on_outcome: onOutcome } = content.graph;
  return Math.abs(arrow.weight) * (intoOutcome(arrow) ? weakest / onOutcome : 1);
}

const FORMS = { linear: "a straight line", nonlinear: "a bent line", heteroscedastic: "a bent line, and a spread that differs between patients", "post-nonlinear": "a bent line, which adds up with the rest on another scale" };
const bends = () => allArrows().some((arrow) => arrow.curve !== undefined);

function arrowTable() {
  const rows = allArrows().map((arrow) => [
    element("span", {}, named(nodeName(arrow.cause)), " → ", named(nodeName(arrow.effect))),
    arrowWeight(arrow),
    ...(bends() ? [arrowCurve(arrow)] : []),
    arrow.said,
  ]);
  const heads = ["Arrow", "For one SD of the cause", ...(bends() ? ["Curve"] : []), "How sure"];
  return element(
    "div",
    {},
    bends()
      ? caption(
          "Curves run from what the lowest percent of the cohort has of the cause to what the highest has, others being average; the band is one standard deviation of patients around it. Each is drawn as high as it is: a small change fills its frame as a large one does.",
        )
      : "",
    tableOf("Arrows, strongest first", heads, rows, "arrow-table"),
  );
}

/** What a cause does to its effect: a line with the spread of patients around it, and which of both is bent. */
function arrowCurve({ cause, effect, curve }) {
  if (curve === undefined) return "levels without an order";
  const [width, height] = [96, 36];
  const band = curve.spread ?? curve.y.map(() => 0);
  const tops = curve.y.map((y, at) => y + band[at]);
  const bottoms = curve.y.map((y, at) => y - band[at]);
  const x = d3.scaleLinear([0, curve.y.length - 1], [2, width - 2]);
  const y = d3.scaleLinear([Math.min(...bottoms), Math.max(...tops)], [height - 3, 3]);
  const said = `${nodeName(effect)} over ${nodeName(cause)}${curve.form ? `: ${FORMS[curve.form]}` : ""}`;
  const { add, node } = pictureOf("arrow-curve", said, width, height, { width, height });
  add("title", {}, said);
  const along = (_, at) => x(at);
  if (curve.spread !== null) add("path", { class: "band", d: d3.area(along, (_, at) => y(bottoms[at]), (_, at) => y(tops[at]))(curve.y) });
  add("path", { class: "line", d: d3.line(along, y)(curve.y) });
  return element("span", { class: "curve-cell" }, node, curve.form && curve.form !== "linear" ? element("small", {}, curve.form === "heteroscedastic" ? "bent, uneven" : "bent") : "");
}

// Beyond so many arrows only those of the chosen variable are drawn, unless all are asked for.
const ARROWS_AT_ONCE = 40;
const tall = () => content.graph.shown.length > 16;
// Lines of the list and of the drawing are of this height, so that they stand side by side; arcs grow with it.
let lineHeight = 40;
let allArrowsShown = null;

function arrowSwitch() {
  allArrowsShown ??= allArrows().length <= ARROWS_AT_ONCE;
  const box = element("input", { type: "checkbox", id: "arrow-switch" });
  box.checked = allArrowsShown;
  box.addEventListener("change", () => {
    allArrowsShown = box.checked;
    drawArcs(document.getElementById("arcs"));
  });
  return element("label", { class: "switch" }, box, " Arrows of all variables");
}

function chooseVariable(variable) {
  chosenVariable = variable;
  document.querySelectorAll("#graph .order button").forEach((button, line) => {
    button.setAttribute("aria-pressed", String(content.graph.shown[line] === variable));
  });
  drawArcs(document.getElementById("arcs"));
  drawDownstream(document.getElementById("downstream"));
}

/** One list of the variables, each on the line of its node, and the outcome below them. */
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
            onclick: () => chooseVariable(variable),
          },
          element("bdi", {}, shortVariable(variable, listLetters), star(variable)),
          element("span", {}, coefficient(variables[variable])),
        ),
      ),
    ),
    element("li", { class: "outcome" }, element("bdi", { title: shownName(outcome) }, shortened(outcome, listLetters))),
  );
}

// Of the width of the view; room for names of tiers beside the arcs; letters of the list, and what else stands on its lines.
const MOST_FOR_ARCS = 0.55;
const TIER_NAMES = 110;
const LIST_LETTER = { narrow: 7, wide: 8.5 };
const LIST_NUMBERS = { narrow: 72, wide: 100 };
let listLetters = 34;

/** The list has the room that arcs leave: an arc is at most as wide as half of the lines that it spans. */
function graphAndList(width, arcs) {
  const size = width < 520 ? "narrow" : "wide";
  lineHeight = tall() ? 26 : size === "wide" && content.graph.shown.length <= 10 ? 54 : 40;
  const spans = Math.max(d3.max(allArrows(), lines) ?? 1, 2);
  const ofArcs = Math.min((spans * lineHeight) / 2 + TIER_NAMES, MOST_FOR_ARCS * width);
  const ofList = width - ofArcs;
  listLetters = Math.max(Math.floor((ofList - LIST_NUMBERS[size]) / LIST_LETTER[size]), 10);
  const longest = d3.max([...content.graph.shown.map((variable) => variables[variable].name), outcome], (name) => Array.from(name).length);
  const needed = Math.max(longest * LIST_LETTER[size] + LIST_NUMBERS[size], 240);
  const made = element("div", { class: `graph${tall() ? " many" : ""}` }, element("div", { class: "order" }, orderButtons()), arcs);
  made.style.gridTemplateColumns = `minmax(0, ${Math.round(Math.min(ofList, needed))}px) ${Math.round(ofArcs)}px`;
  made.style.setProperty("--line-height", `${lineHeight}px`);
  return made;
}

/** Which way an edge works; levels without an order have no more and no less. */
const DASHES = { more: null, less: "6,4", none: "2,4" };

function signOf(edge) {
  if ([edge.cause, edge.effect].some((line) => unordered.includes(content.graph.shown[line]))) return "none";
  return edge.weight < 0 ? "less" : "more";
}

function coefficient({ kind, coef }) {
  return told.effect(coef, kind === "nominal");
}

/** What a shock does to a variable in its own terms: so many units more, so many times as much, or towards which level. */
function moves({ by, sd, unit, levels, kind, log }) {
  if (log) return `× ${measured(Math.exp(by * sd), 3)}`;
  if (!levels.length) return (by < 0 ? "" : "+") + withUnit(by * sd, unit, 3);
  if (Math.abs(by) < 0.005) return "not noticeably";
  if (kind === "nominal") return "other levels become likelier";
  return ["towards ", element("bdi", {}, shownLevel(by < 0 ? levels[0] : levels.at(-1)))];
}

const EXPORT_WIDTH = 900;
const EXPORT_NAMES = 260;

/** The drawing beside the list or, on its own, with the names of the list in it. */
function graphPicture(width, alone = false) {
  const marginLeft = alone ? EXPORT_NAMES : 14;
  const { shown, tiers } = content.graph;
  const chosen = shown.indexOf(chosenVariable);
  const edges = allArrows().filter((edge) => allArrowsShown || edge.cause === chosen || edge.effect === chosen);
  const height = (shown.length + 1) * lineHeight;
  const room = width - marginLeft - 24;
  // An arc of bend b over a chord of length c bulges by c/2 · tan(b/2): the longest one must fit.
  const longest = Math.max(1, d3.max(edges, lines) ?? 1) * lineHeight;
  const bend = Math.min(85, (2 * Math.atan(room / (longest / 2)) * 180) / Math.PI);
  const bulge = (arrow) => ((lines(arrow) * lineHeight) / 2) * Math.tan((bend * Math.PI) / 360);
  const middle = (arrow) => (arrow.cause + arrow.effect) / 2;
  const mine = (edge) => edge.cause === chosen || edge.effect === chosen;
  const arrows = (chosenOnes) =>
    d3.cross(Object.entries(DASHES), [1, -1]).map(([[sign, dashes], direction]) =>
      Plot.arrow(edges.filter((edge) => mine(edge) === chosenOnes && signOf(edge) === sign && Math.sign(edge.effect - edge.cause) === direction), {
        x1: 0, x2: 0, y1: "cause", y2: "effect",
        bend: direction * bend,
        insetStart: 4,
        insetEnd: 6,
        headLength: 7,
        strokeWidth: (edge) => 1 + Math.min(strength(edge), 1) * 5,
        stroke: chosenOnes ? (edge) => (edge.cause === chosen ? "var(--accent)" : "currentColor") : "var(--faint)",
        strokeDasharray: dashes,
        title: arrowTitle,
      }),
    );
  // No two arcs have their middle in the same place, so a mark there can only mean its own.
  const marks = (state, text) =>
    Plot.text(edges.filter((edge) => edge.state === state), {
      x: bulge, y: middle, text: () => text, title: arrowTitle,
      fill: (edge) => (mine(edge) ? "currentColor" : "var(--quiet)"), stroke: "var(--paper)", strokeWidth: 5, fontWeight: 700,
    });
  return (
    drawing({
      ariaLabel: "Arrows between variables in causal order, and into the outcome",
      width,
      height,
      marginLeft,
      marginRight: 8,
      marginTop: 0,
      marginBottom: 0,
      x: { domain: [0, room], range: [marginLeft, width - 24], axis: null },
      y: { domain: [0, shown.length], range: [lineHeight / 2, height - lineHeight / 2], axis: null },
      marks: [
        Plot.rect(tiers, {
          x1: -marginLeft, x2: room + 24, y1: (tier) => tier.first - 0.5, y2: (tier) => tier.last + 0.5,
          fill: (_, line) => (line % 2 ? "none" : "var(--panel)"), stroke: "var(--line)",
        }),
        ...arrows(false),
        ...arrows(true),
        marks("given", "■"),
        marks("unsure", "?"),
        Plot.text(tiers, {
          x: room + 20, y: (tier) => tier.first - 0.5, dy: 10, textAnchor: "end", fontStyle: "italic", text: "name",
          fill: "var(--quiet)", stroke: "var(--paper)", strokeWidth: 4,
        }),
        Plot.dot(shown, { x: 0, y: (_, line) => line, r: 6, fill: (_, line) => (line === chosen ? "var(--accent)" : "currentColor"), title: (variable) => shownName(variables[variable].name), className: "node" }),
        Plot.dot([outcome], { x: 0, y: shown.length, r: 6, symbol: "square", fill: "var(--paper)", stroke: "currentColor", strokeWidth: 2, title: shownName }),
        ...(alone
          ? [Plot.text([...shown.keys(), shown.length], { x: 0, y: (line) => line, dx: -12, textAnchor: "end", fill: "currentColor", text: (line) => (line < shown.length ? shortVariable(shown[line], 34) : shortName(outcome, 34)) })]
          : []),
      ],
    })
  );
}

function drawArcs(place) {
  place.replaceChildren(graphPicture(place.clientWidth || 640));
  const { shown } = content.graph;
  // The nodes are a shortcut of the pointer; the list beside them does the same for everybody.
  place.querySelectorAll(".node circle").forEach((node) => node.addEventListener("click", () => chooseVariable(shown[node.__data__])));
}

/** How many lines of the drawing an arrow spans. */
function lines({ cause, effect }) {
  return Math.abs(effect - cause);
}

function arrowTitle(arrow) {
  return `${shownName(nodeName(arrow.cause))} → ${shownName(nodeName(arrow.effect))}: ${arrowWeight(arrow)}; ${arrow.said}`;
}

function drawDownstream(place) {
  const { shown, total } = content.graph;
  const from = shown.indexOf(chosenVariable);
  const variable = variables[chosenVariable];
  const moved = shown
    .map((to, line) => ({ ...variables[to], line, by: total[from][line] }))
    // What would be said to move by 0.00 is not.
    .filter((one) => one.line === from || (one.line > from && Math.abs(one.by) >= 0.005))
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
      variable.kind === "nominal" ? `A shock of one standard deviation towards the levels that raise the ${told.it} ` : "A shock of one standard deviation upwards ",
      ...told.shockDoes(variable),
      ", all ways together. ",
      variable.ancestor === null ? "" : `The model gives it a probability of ${percent(variable.ancestor)} to be a cause of it at all. `,
      "It moves the variable itself and, through the graph, what lies downstream:",
    ),
    tableOf("What the shock moves", ["Variable", "Moves by (SD)", "In its unit"], rows),
  );
}
