// From the average patient to one patient, a bar for each shock.

const WATERFALL_BARS = 6;
const TICK_WIDTH = 44;
const LABEL_WIDTH = 54;

/** What covariates add, raising shocks, then lowering ones; those that are not notable are put together. */
function waterfallSteps(row, harmful, protective) {
  const steps = [];
  let from = content.base_value;
  const add = (name, measured, value, adjusted = false) => {
    steps.push({ name, measured, value, adjusted, from, to: from + value });
    from += value;
  };
  if (covariates.length) add("", "", adjustment(row).value, true);
  for (const [shocks, noun] of [[harmful, "raising"], [protective, "lowering"]]) {
    const alone = notable(shocks, WATERFALL_BARS);
    alone.forEach((one) => add(one.name, valueText(one), one.value));
    const rest = shocks.slice(alone.length);
    if (rest.length) add(`${rest.length} more ${noun}`, "", d3.sum(rest, (one) => one.value));
  }
  return steps;
}

function stepLabel({ name, measured, adjusted }, narrow) {
  if (adjusted) return covariatesInShort(narrow ? 16 : 31);
  if (narrow || !measured) return shortName(name, 16);
  return `${shortName(name, Math.max(12, 31 - measured.length))} ${shortName(measured, 18)}`;
}

function barColour({ adjusted, value }) {
  if (adjusted) return "var(--adjusted)";
  return value > 0 ? "var(--harm)" : "var(--guard)";
}

/** Round risks as places on the axis of what shocks add to, as many as fit without touching; the plainest come first. */
function predictionTicks(domain, width) {
  const across = d3.scaleLinear(domain, [0, width]);
  const kept = [];
  for (const risk of told.predictionTicks) {
    const at = told.predictorAt(risk);
    if (at < domain[0] || at > domain[1]) continue;
    if (kept.every((other) => Math.abs(across(at) - across(other)) >= TICK_WIDTH)) kept.push(at);
  }
  return kept;
}

/** The stretch that all bars need, and a little where there is next to nothing. */
function waterfallDomain(steps) {
  const [low, high] = d3.extent([content.base_value, ...steps.map((step) => step.to)]);
  const spare = Math.max(5 * told.little - (high - low), 0) / 2;
  return [low - spare, high + spare];
}

function drawWaterfall(place, steps) {
  const width = place.clientWidth || 640;
  const narrow = width < 520;
  const marginLeft = narrow ? 112 : 220;
  const marginRight = 8;
  const bars = steps.map((step, index) => ({ ...step, place: index + 1, label: stepLabel(step, narrow) }));
  const ends = [
    { place: 0, label: told.baseLabel, at: content.base_value },
    { place: steps.length + 1, label: `this patient${narrow ? riskNote.replace(" ", "\n") : riskNote}`, at: steps.at(-1)?.to ?? content.base_value },
  ];
  const rows = [ends[0], ...bars, ends[1]];
  const domain = waterfallDomain(steps);
  const axis = { labelAnchor: "center" };
  const risks = predictionTicks(domain, width - marginLeft - marginRight - 2 * LABEL_WIDTH);
  place.replaceChildren(
    drawing({
      ariaLabel: `Waterfall ${told.fromTo.replace("From", "from")}`,
      width,
      height: rows.length * 28 + (told.predictionTicks.length ? 84 : 56),
      marginLeft,
      marginRight,
      marginTop: told.predictionTicks.length ? 40 : 12,
      marginBottom: 40,
      x: { domain, label: null, inset: LABEL_WIDTH },
      y: { type: "band", domain: rows.map((one) => one.place), padding: 0.25, label: null },
      marks: [
        Plot.axisX({ ...axis, anchor: "bottom", ...told.axis(domain, narrow) }),
        ...(told.predictionTicks.length
          ? [Plot.axisX(risks, { ...axis, anchor: "top", label: `${told.predictionAxis}${riskNote}`, tickFormat: told.tickText })]
          : []),
        Plot.axisY({ tickSize: 0, tickFormat: (at) => rows[at].label }),
        Plot.ruleX([content.base_value], { stroke: "currentColor", strokeDasharray: "2,3" }),
        Plot.link(bars, {
          x1: "to", x2: "to", y1: "place", y2: (bar) => bar.place + 1, stroke: "currentColor", strokeOpacity: 0.5,
        }),
        Plot.barX(bars, {
          x1: "from", x2: "to", y: "place", fill: barColour,
        }),
        ...beside(bars.filter((bar) => bar.value > 0), "to", (bar) => told.beside(bar.value), "right"),
        ...beside(bars.filter((bar) => bar.value <= 0), "to", (bar) => told.beside(bar.value), "left"),
        Plot.dot(ends, { x: "at", y: "place", r: 5, fill: "currentColor" }),
        ...beside(ends, "at", (one) => told.toText(one.at), "right"),
      ],
    }),
  );
}
