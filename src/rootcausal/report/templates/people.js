// Pictures of a patient among others: a hundred people like this one, and where a measurement lies in the cohort.

const PEOPLE_A_LINE = 20;

/** A hundred people like this patient: who has the outcome, how many more or fewer than of average patients. */
function hundredPeople(row) {
  if (!told.isChance) return null;
  const risks = [predictor(row), content.base_value].map(told.predict);
  const [here, base] = risks.map((risk) => Math.round(risk * 100));
  const said = peopleWords(here, base, risks[0], recalibratedText(row));
  const kinds = d3.range(100).map((place) => (place < Math.min(here, base) ? "both" : place < here ? "more" : place < base ? "fewer" : "neither"));
  const size = 14;
  const { add, node } = pictureOf("people", said, PEOPLE_A_LINE * size, (100 / PEOPLE_A_LINE) * size);
  const middle = (place) => (place + 0.5) * size;
  kinds.forEach((kind, place) => add("circle", { class: kind, cx: middle(place % PEOPLE_A_LINE), cy: middle(Math.floor(place / PEOPLE_A_LINE)), r: size * 0.36 }));
  return element("figure", { class: "hundred", id: "hundred" }, node, element("figcaption", {}, said));
}

/** As everywhere, nobody is called certain where rounding would. */
function peopleWords(here, base, risk, unseen) {
  const have = risk > 0.99 ? "over 99" : here === 0 ? "fewer than 1" : here;
  const more = here - base;
  const change = more === 0 ? "as many as" : `${Math.abs(more)} ${more > 0 ? "more" : "fewer"} than`;
  return `Under this model, of 100 patients like this one, ${have} ${told.haveIt()}: ${change} ${content.made.bent ? `of 100 ${told.atMean}` : `of 100 whose ${ofAverage} are all average`} (${base}).${unseen === null || unseen === `${here} %` ? "" : ` Recalibrated, as if the model had not seen this patient: ${unseen}.`}`;
}

/** Where a number lies between the lowest and the highest of the cohort, without the outermost hundredth on either side. */
function stripOf(one) {
  if (one.imputed || one.level !== null || one.parts.length) return null;
  const quantiles = content.quantiles.values[one.variable];
  const [low, high] = [quantiles[1], quantiles.at(-2)];
  if (!(high > low)) return null;
  const width = 240;
  const scale = (one.log && low > 0 ? d3.scaleLog() : d3.scaleLinear()).domain([low, high]).range([8, width - 8]).clamp(true);
  const typical = quantiles[50];
  const words = `Between ${inItsUnit(one, low)} and ${inItsUnit(one, high)}: measured ${inItsUnit(one, one.data)}${one.expected === null ? "" : `, expected ${inItsUnit(one, one.expected, 0)}`}, typical ${inItsUnit(one, typical)}`;
  const { add, node } = pictureOf("strip", words, width, 20);
  const stroke = (name, x1, x2, y1 = 10, y2 = 10) => add("line", { class: name, x1, x2, y1, y2 });
  const dot = (name, number) => add("circle", { class: name, cx: scale(number), cy: 10, r: 5 });
  stroke("rail", 8, width - 8);
  stroke("typical", scale(typical), scale(typical), 3, 17);
  if (one.expected !== null) {
    stroke("shock", scale(one.expected), scale(one.data));
    dot("expected", one.expected);
  }
  dot("measured", one.data);
  add("title", {}, words);
  return node;
}

/** What the marks of the strips mean; none where no strip was drawn. */
function stripLegend() {
  return element(
    "p",
    { class: "caption strip-legend" },
    "On the lines: ",
    element("span", { class: "dot" }),
    " measured, ",
    element("span", { class: "ring" }),
    " ",
    term("expected"),
    " from the other values, ",
    element("span", { class: "tick" }),
    " ",
    term("typical patient", "Typical patient"),
    "; from the lowest to the highest hundredth of the cohort.",
  );
}
