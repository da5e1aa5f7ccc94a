// From the average patient to one patient, a bar for each shock.

const WATERFALL_BARS = 6;
const TICK_WIDTH = 44;

// Whether log-odds are shown beside probabilities.
let scaleShown = false;
const showsScale = () => scaleShown;

/** The switch for the scale on which shocks add up, where the page tells risks first. */
function scaleSwitch() {
  if (told.scaleSwitch === undefined) return "";
  const box = element("input", { type: "checkbox", id: "scale-switch" });
  box.checked = scaleShown;
  box.addEventListener("change", () => {
    scaleShown = box.checked;
    document.documentElement.classList.toggle("with-scale", scaleShown);
    redraw();
    document.getElementById("scale-switch").focus();
  });
  return element("label", { class: "switch" }, box, ` ${told.scaleSwitch}`);
}

function whiskersSaid() {
  return content.intervals === null ? "" : ". Thin lines are 95 % intervals of what each shock adds; an arrow head says that one goes on beyond the drawing";
}

/** What covariates add, raising shocks, then lowering ones; those that do not stand out are put together. */
function waterfallSteps(row, harmful, protective) {
  const steps = [];
  let from = content.base_value;
  const add = (step) => {
    steps.push({ name: "", measured: "", adjusted: false, interval: null, ...step, from, to: from + step.value });
    from += step.value;
  };
  if (covariates.length) {
    const { value, interval } = adjustment(row);
    add({ value, adjusted: true, interval: hasInterval({ interval }) ? interval : null });
  }
  for (const [shocks, noun] of [[harmful, "raising"], [protective, "lowering"]]) {
    const alone = notable(shocks, WATERFALL_BARS);
    alone.forEach((one) => add({ name: one.name, variable: one.variable, measured: one.parts.length ? "" : valueText(one), value: one.value, interval: hasInterval(one) ? one.interval : null }));
    const rest = othersThan(alone, shocks);
    if (rest.length) add({ name: `${rest.length} ${alone.length ? "more" : "small"} ${noun}`, value: d3.sum(rest, (one) => one.value) });
  }
  return steps;
}

function stepLabel({ name, variable, measured, adjusted }, narrow) {
  if (adjusted) return covariatesInShort(narrow ? 16 : 34);
  if (variable === undefined) return shortName(name, narrow ? 16 : 24);
  // The joint name of several takes the room of their values.
  if (narrow || !measured) return shortVariable(variable, narrow ? 16 : 34);
  return `${shortVariable(variable, 34 - Math.min(measured.length, 16))} ${shortName(measured, 16)}`;
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

// How far intervals may widen the drawing on either side, as a share of what bars need.
const WIDENED_BY = 0.35;

/** The stretch that all bars need, a little where there is next to nothing, and some more for intervals. */
function waterfallDomain(steps) {
  const [low, high] = d3.extent([content.base_value, ...steps.map((step) => step.to)]);
  const spare = Math.max(5 * told.little - (high - low), 0) / 2;
  const room = WIDENED_BY * (high - low + 2 * spare);
  const [least, most] = d3.extent(steps.filter((step) => step.interval !== null).flatMap(({ from, interval }) => [from + interval.lower, from + interval.upper]));
  return [Math.min(low - spare, Math.max(least ?? low, low - room)), Math.max(high + spare, Math.min(most ?? high, high + room))];
}

/** Letters of this drawing are about this wide. */
const LETTER = 7;

/** The thin line of an interval, as far as the drawing goes. */
function whisker({ place, from, interval }, [low, high]) {
  const [start, end] = [from + interval.lower, from + interval.upper];
  return { place, start: Math.max(start, low), end: Math.min(end, high), before: start < low, beyond: end > high };
}

function drawWaterfall(place, steps) {
  const width = widthOf(place);
  const lineHeight = printing() ? 20 : 28;
  const narrow = width < 520;
  const marginRight = 8;
  const bars = steps.map((step, index) => ({ ...step, place: index + 1, label: stepLabel(step, narrow) }));
  const ends = [
    { place: 0, label: told.baseLabel, at: content.base_value },
    { place: steps.length + 1, label: `this patient${narrow ? riskNote.replace(" ", "\n") : riskNote}`, at: steps.at(-1)?.to ?? content.base_value },
  ];
  const rows = [ends[0], ...bars, ends[1]];
  const longest = d3.max(rows, ({ label }) => d3.max(label.split("\n"), (line) => Array.from(line).length));
  const marginLeft = Math.min(Math.max(longest * LETTER + 12, narrow ? 96 : 180), narrow ? 136 : 290);
  const domain = waterfallDomain(steps);
  const lines = bars.filter((bar) => bar.interval !== null).map((bar) => whisker(bar, domain));
  const lineAt = new Map(lines.map((line) => [line.place, line]));
  // Beside the bar, and beyond the line that is drawn over it.
  const outside = (bar, side) => (side > 0 ? Math.max(bar.to, lineAt.get(bar.place)?.end ?? bar.to) : Math.min(bar.to, lineAt.get(bar.place)?.start ?? bar.to));
  const barText = (bar) => told.barText(bar, narrow);
  const widest = d3.max([...bars.map(barText), ...ends.map((one) => told.toText(one.at))], (text) => text.length);
  const inset = widest * LETTER + 16;
  const risks = predictionTicks(domain, width - marginLeft - marginRight - 2 * inset);
  const scaled = told.scaleSwitch === undefined || scaleShown;
  const hasRisks = told.predictionTicks.length > 0;
  const caps = [...lines.filter((line) => !line.before).map(({ place, start }) => ({ place, at: start })), ...lines.filter((line) => !line.beyond).map(({ place, end }) => ({ place, at: end }))];
  const onward = [...lines.filter((line) => line.before).map(({ place, start }) => ({ place, at: start, text: "◂" })), ...lines.filter((line) => line.beyond).map(({ place, end }) => ({ place, at: end, text: "▸" }))];
  const thin = { stroke: "currentColor", strokeWidth: 1.2 };
  place.replaceChildren(
    drawing({
      ariaLabel: `Waterfall ${told.fromTo.replace("From", "from")}`,
      width,
      height: rows.length * lineHeight + (hasRisks && scaled ? 92 : 60),
      marginLeft,
      marginRight,
      marginTop: hasRisks && scaled ? 42 : 12,
      marginBottom: 46,
      x: { domain, label: null, inset },
      y: { type: "band", domain: rows.map((one) => one.place), padding: 0.25, label: null },
      marks: [
        ...(scaled ? [Plot.axisX({ ...BELOW, anchor: "bottom", ...told.axis(domain, narrow) })] : []),
        ...(hasRisks
          ? [Plot.axisX(risks, { ...BELOW, anchor: scaled ? "top" : "bottom", label: `${told.predictionAxis}${riskNote}`, tickFormat: told.tickText })]
          : []),
        Plot.axisY({ tickSize: 0, tickFormat: (at) => rows[at].label }),
        Plot.ruleX([content.base_value], { stroke: "currentColor", strokeDasharray: "2,3" }),
        Plot.link(bars, {
          x1: "to", x2: "to", y1: "place", y2: (bar) => bar.place + 1, stroke: "currentColor", strokeOpacity: 0.5,
        }),
        Plot.barX(bars, {
          x1: "from", x2: "to", y: "place", fill: barColour,
        }),
        Plot.link(lines, { x1: "start", x2: "end", y1: "place", y2: "place", ...thin, className: "whisker" }),
        Plot.tickX(caps, { x: "at", y: "place", insetTop: 5, insetBottom: 5, ...thin }),
        Plot.text(onward, { x: "at", y: "place", text: "text", fill: "currentColor" }),
        ...beside(bars.filter((bar) => bar.value > 0), (bar) => outside(bar, 1), barText, "right"),
        ...beside(bars.filter((bar) => bar.value <= 0), (bar) => outside(bar, -1), barText, "left"),
        Plot.dot(ends, { x: "at", y: "place", r: 5, fill: "currentColor" }),
        ...beside(ends, "at", (one) => told.toText(one.at), "right"),
      ],
    }),
  );
}
