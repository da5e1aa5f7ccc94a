// How likely a patient is to be without the event as time goes on: as they are, without their strongest shock,
// and a patient whose shocks are all average.

const CURVE_POINTS = 160;
const TABLE_TIMES = 6;

/** The curves of a patient, the patient's own first; a name is made anew for each place that it stands in. */
function curvesOf(row, harmful) {
  const now = predictor(row);
  const [strongest] = notable(harmful);
  const without = strongest !== undefined ? [{ name: () => ["without the shock on ", named(strongest.name)], style: "dashed", predictor: now - strongest.value }] : [];
  return [
    { name: () => ["this patient"], style: "solid", predictor: now },
    ...without,
    { name: () => [`all ${ofAverage} average`], style: "dotted", predictor: content.base_value },
  ];
}

function survivalAt(predictor, time) {
  return 1 - riskBy(predictor, time);
}

/** Heading, key, drawing and table of a patient's curves; they are drawn once they have their place. */
function survivalPicture(row, harmful) {
  const curves = curvesOf(row, harmful);
  const place = element("div", { class: "chart", id: "curves" });
  const inside = [
    element("h3", {}, "How long without “", named(outcome), "”"),
    element("ul", { class: "keys" }, curves.map(({ name, style }) => element("li", { class: style }, ...name()))),
    place,
    caption(`The share of such patients who have not had it by each time${facts.competing_labels === undefined ? "" : ", those who had a competing event among them"}, up to the longest follow-up of the cohort. The line at ${timeText(facts.horizon)} is where risks are told${hasPredictedInterval ? "; the thick bar on it is the 95 % interval for this patient" : ""}.`),
    curveTable(curves),
  ];
  return { parts: [element("section", { class: "curves", "aria-label": "Curves over time" }, ...inside)], draw: () => drawCurves(place, curves, predictedInterval(row)) };
}

const LINES = { solid: ["currentColor", 2.5, null], dashed: ["var(--harm)", 2, "7,4"], dotted: ["var(--quiet)", 2, "2,4"] };

function drawCurves(place, curves, ends) {
  const width = widthOf(place);
  const narrow = width < 520;
  const last = facts.times.at(-1);
  const times = d3.sort([...facts.times, ...d3.range(CURVE_POINTS).map((point) => (point / CURVE_POINTS) * last)]);
  const atHorizon = curves.map(({ predictor }) => ({ predictor, share: survivalAt(predictor, facts.horizon) }));
  place.replaceChildren(
    drawing({
      ariaLabel: `Curves of the share without “${shownName(outcome)}” over time`,
      width,
      height: narrow ? 250 : 320,
      marginLeft: 48,
      marginRight: 12,
      marginTop: 24,
      marginBottom: 46,
      x: { domain: [0, last] },
      y: { domain: [0, 1] },
      marks: [
        Plot.axisX({ label: facts.unit ? `time (${facts.unit})` : "time", ...BELOW, ticks: narrow ? 4 : 8, tickFormat: (time) => measured(time) }),
        Plot.axisY({ label: null, ticks: 5, tickFormat: (share) => `${Math.round(share * 100)}%` }),
        Plot.ruleX([facts.horizon], { stroke: "currentColor", strokeOpacity: 0.6 }),
        ...(ends === null ? [] : [Plot.ruleX([ends], { x: facts.horizon, y1: (both) => 1 - both[0], y2: (both) => 1 - both[1], stroke: "currentColor", strokeWidth: 6, strokeOpacity: 0.35 })]),
        ...curves.map(({ predictor, style }) => {
          const [stroke, strokeWidth, strokeDasharray] = LINES[style];
          return Plot.line(times.map((time) => [time, survivalAt(predictor, time)]), { stroke, strokeWidth, strokeDasharray });
        }),
        Plot.dot(atHorizon, { x: facts.horizon, y: "share", r: 3.5, fill: "currentColor" }),
        Plot.text([timeText(facts.horizon)], { x: facts.horizon, frameAnchor: "top", dy: -14, text: (text) => text, fill: "currentColor", textAnchor: facts.horizon < last * 0.15 ? "start" : facts.horizon > last * 0.85 ? "end" : "middle" }),
      ],
    }),
  );
}

/** The curves at some round times, and at the horizon. */
function curveTable(curves) {
  const times = d3.sort(d3.union(d3.ticks(0, facts.times.at(-1), TABLE_TIMES).filter((time) => time > 0), [facts.horizon]));
  const rows = times.map((time) => [timeText(time), ...curves.map(({ predictor }) => percent(survivalAt(predictor, time)))]);
  return folded("The same as a table", {}, tableOf("Share without the event over time", ["Until", ...curves.map(({ name }) => name())], rows, "curve-table"));
}
