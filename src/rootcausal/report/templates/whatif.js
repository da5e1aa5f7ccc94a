// What if one measurement were another: the risk, and what lies downstream, moved by hand.

const STEPS_OF_SLIDER = 200;
const MOVED_SHOWN = 6;

/** The part with the slider; a word instead where the page cannot count it out by itself. */
function whatIfPart(row, harmful, protective) {
  if (!nVariables) return null;
  const part = (...inside) => element("section", { "aria-label": "What if", id: "what-if", class: "no-print" }, element("h3", {}, "What if?"), ...inside);
  if (!content.linear || (hasShapley && !hasSets)) {
    return part(element("p", { class: "caption" }, "There is no slider here: effects of this model are bent, and the page cannot count them out. The command does: rootcausal explain --what-if."));
  }
  const { shown } = content.graph;
  const all = [...harmful, ...protective].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const choices = all.filter((one) => one.level === null && one.own !== null && shown.includes(one.variable));
  if (!choices.length) return null;
  const choice = element("select", { id: "what-if-variable" }, choices.map((one) => element("option", { value: one.variable }, shownName(one.name))));
  const slider = element("input", { type: "range", id: "what-if-value", min: 0, max: STEPS_OF_SLIDER, step: 1 });
  const said = element("output", { id: "what-if-said", "aria-live": "polite" });
  let one = choices[0];
  const place = (value) => Math.round(toPart(one, value) * STEPS_OF_SLIDER);
  const set = (value) => said.replaceChildren(...whatIfWords(row, one, value));
  const start = () => {
    slider.value = place(one.data);
    set(one.data);
  };
  slider.addEventListener("input", () => {
    const at = Number(slider.value);
    // At the place of what was measured, it is what was measured.
    set(at === place(one.data) ? one.data : fromPart(one, at / STEPS_OF_SLIDER));
  });
  choice.addEventListener("change", () => {
    one = choices.find((other) => other.variable === Number(choice.value));
    start();
  });
  const jump = (text, value) =>
    element("button", { type: "button", onclick: () => {
      slider.value = place(value());
      set(value());
    } }, text);
  start();
  return part(
    element("p", {}, "Move one value of this patient; all other shocks stay as they are, and what lies downstream follows."),
    element("div", { class: "what-if" },
      element("label", { for: "what-if-variable" }, "Variable"), choice,
      element("label", { for: "what-if-value" }, "Value"), slider,
      jump("as measured", () => one.data), jump("as expected, without its shock", () => one.expected)),
    said,
    caption(`What the model expects, not the effect of a treatment. The slider runs over what the cohort has.`),
  );
}

/** The stretch of a slider: all of the cohort, and this patient. */
function stretch(one) {
  const quantiles = content.quantiles.values[one.variable];
  const ends = d3.extent([quantiles[0], quantiles.at(-1), one.data, one.expected]);
  return one.log ? ends.map(Math.log) : ends;
}

function toPart(one, value) {
  const [low, high] = stretch(one);
  return high > low ? ((one.log ? Math.log(value) : value) - low) / (high - low) : 0;
}

function fromPart(one, part) {
  const [low, high] = stretch(one);
  const at = low + part * (high - low);
  return one.log ? Math.exp(at) : at;
}

/** By how many standard deviations the shock has to change for the variable to have this value. */
function shockMoved(one, value) {
  return (one.log ? Math.log(value / one.data) : value - one.data) / one.own;
}

function whatIfWords(row, one, value) {
  const moved = shockMoved(one, value);
  const now = predictor(row);
  const then = now + moved * one.coef;
  const words = [
    element("p", { class: "what-if-risk" }, named(one.name), ` ${inItsUnit(one, value, value === one.data ? null : 0)}: ${told.thePrediction} is `, element("strong", { id: "what-if-risk" }, told.toText(then)), value === one.data ? ", as it is" : `, and ${told.toText(now)} as it is`, riskNote),
  ];
  const followers = downstreamOf(row, one, moved);
  if (followers.length) words.push(element("ul", {}, followers.map((follower) => element("li", {}, named(follower.name), `: ${inItsUnit(follower, follower.data)} becomes ${inItsUnit(follower, follower.then, 0)}${unheardOf(follower)}`))));
  else words.push(element("p", { class: "caption" }, value === one.data ? "Nothing was moved yet." : "Nothing that is shown lies downstream of it."));
  return words;
}

/** Straight lines lead anywhere: what no patient of the cohort has is said to be so. */
function unheardOf({ variable, then }) {
  const { words } = standing("values", variable, then);
  return words.endsWith("of the cohort") ? `, ${words}` : "";
}

/** The numbers that follow, those that move most of their spread first. */
function downstreamOf(row, one, moved) {
  if (moved === 0) return [];
  const { shown, total } = content.graph;
  const from = shown.indexOf(one.variable);
  const found = shown.map((variable, line) => {
    const by = moved * total[from][line];
    const other = { variable, ...variables[variable], ...valueOf(row, variable) };
    const then = other.log ? other.data * Math.exp(by * other.sd) : other.data + by * other.sd;
    return { ...other, by, then };
  });
  return d3.sort(found.filter((other) => other.variable !== one.variable && other.level === null && other.sd !== null && Math.abs(other.by) >= 0.05), (other) => -Math.abs(other.by)).slice(0, MOVED_SHOWN);
}
