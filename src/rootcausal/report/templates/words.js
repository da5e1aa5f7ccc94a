// Numbers and names as a reader sees them, and the one way in which this page makes elements.

/** An element; children are elements or text. Text is always text: nothing is ever parsed as markup. */
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === "onclick" || name === "oninput") made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  const inside = children.flat(Infinity).filter((child) => child !== null);
  made.append(...(tag === "option" ? inside : inside.flatMap(withPercentsWhole)));
  return made;
}

/** No line ends between a number and its percent sign. */
function withPercentsWhole(child) {
  if (typeof child !== "string" || !child.includes(" %")) return [child];
  return child.split(/((?:over |under )?[\d.,]+ %)/).map((part, place) => {
    if (place % 2 === 0) return part;
    const whole = document.createElement("span");
    whole.className = "whole";
    whole.textContent = part;
    return whole;
  });
}

/** A name that came with the data, kept from turning the direction of the text around it. */
function named(name) {
  return element("bdi", {}, shownName(name));
}

function shownName(name) {
  return name.trim() === "" ? "(no name)" : name;
}

function shownLevel(level) {
  return level.trim() === "" ? "(empty)" : level;
}

/** A value as plain text, for drawings: "3.4 mg/dl", "= male", "3.4 mg/dl expected". */
function valueText(one) {
  const { data, level, imputed, limit, parts } = one;
  if (parts.length) return parts.map(valueText).join(", ");
  const text = level === null ? inItsUnit(one, data) : imputed ? shownLevel(level) : `= ${shownLevel(level)}`;
  return limit ? withUnitOf(one, limit) : imputed ? `${text} expected` : text;
}

/** A value as a reader sees it, as elements: "3.4 mg/dl", "male", "not measured; 3.4 mg/dl expected", "<3 mg/l; 1.7 mg/l expected". */
function valueWords(one) {
  const { data, level, imputed, likely, limit, parts } = one;
  if (parts.length) return enumeration(parts.map((part) => [named(part.name), " ", ...valueWords(part)]), ", ");
  const value = level === null ? inItsUnit(one, data) : element("bdi", {}, shownLevel(level));
  if (limit) return [withUnitOf(one, limit), "; ", value, " expected"];
  return imputed ? ["not measured; ", value, " expected", likely === null ? "" : `, ${likely} % likely`] : [value];
}

/** A name in a drawing: short, and isolated from its surroundings as <bdi> would. */
function shortName(name, limit) {
  return "\u2068" + shortened(name, limit) + "\u2069";
}

/** Shortened in the middle: names of one table often begin alike, and often end alike. */
function shortened(name, limit) {
  const letters = Array.from(shownName(name).replace(/\s+/g, " "));
  if (letters.length <= limit) return letters.join("");
  const tail = Math.floor((limit - 1) / 2);
  return `${letters.slice(0, limit - 1 - tail).join("").trimEnd()}…${letters.slice(letters.length - tail).join("").trimStart()}`;
}

const shortNames = new Map();

/** The short name of a variable in a drawing; of those that would be cut to the same, each gets its place in the order. */
function shortVariable(variable, limit) {
  if (!shortNames.has(limit)) {
    const times = d3.rollup(variables, (all) => all.length, (one) => shortened(one.name, limit));
    shortNames.set(limit, variables.map(({ name }, place) => {
      const short = shortened(name, limit);
      return times.get(short) === 1 ? short : `${shortened(name, Math.max(limit - 4, 6))} ${place + 1}`;
    }));
  }
  return "\u2068" + shortNames.get(limit)[variable] + "\u2069";
}

function signed(number, digits = 2) {
  const text = Math.abs(number).toFixed(digits);
  return Number(text) === 0 ? text : (number < 0 ? "−" : "+") + text;
}

/** A measurement, with up to five significant digits. */
function measured(number, digits = 5) {
  const size = Math.abs(number);
  if (size !== 0 && (size >= 1e7 || size < 1e-4)) return number.toExponential(3).replace("-", "−");
  return Number(number.toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: 9 }).replace("-", "−");
}

/** Digits behind the point: those given, or those measured as far as the spread of the cohort is worth them. */
function digitsOf({ digits: { given, recorded, spread } }, number, measured) {
  if (given !== null) return given;
  const significant = number === 0 ? 0 : Math.max(0, 1 - Math.floor(Math.log10(Math.abs(number))));
  // What is expected was not written down, and may lie between whole numbers.
  const written = measured ? recorded : Math.max(recorded, 1);
  return Math.min(written, Math.max(spread, significant));
}

/** A number of a variable in its unit: "12.6 mg/dl"; `finer` asks for more digits, of what is expected. */
function inItsUnit(one, number, finer = null) {
  const size = Math.abs(number);
  const far = size !== 0 && (size >= 1e7 || size < 1e-4);
  const shown = far ? 0 : Math.min(digitsOf(one, number, finer === null) + (finer ?? 0), 12);
  const text = far ? measured(number, 3) : number.toLocaleString("en", { minimumFractionDigits: shown, maximumFractionDigits: shown }).replace("-", "−");
  return withUnitOf(one, text);
}

function withUnitOf(one, text) {
  return text + (one.unit ? "\u00a0" + one.unit : "");
}

function withUnit(number, unit, digits = 5) {
  return measured(number, digits) + (unit ? "\u00a0" + unit : "");
}

/** Numbers along an axis that is this long: as many digits as its ticks need, and none for whole ones. */
function axisNumber(span) {
  const digits = span < 0.3 ? 3 : span < 2 ? 2 : 1;
  return (number) => signed(number, Number.isInteger(number) ? 0 : digits);
}

/** A risk, never called certain where rounding would; finer where the page is about a rare disease. */
function percent(risk) {
  const finest = content.prevalence === null ? 1 : 0.01;
  if (risk * 100 < finest) return `under ${finest} %`;
  if (risk < 0.01) return `${(risk * 100).toPrecision(1)} %`;
  if (risk > 0.99) return "over 99 %";
  return `${Math.round(risk * 100)} %`;
}

/** "84 % to 97 %", or one of them where rounding makes them the same. */
function range(texts) {
  const [low, high] = texts;
  return low === high ? `${low} throughout` : `${low} to ${high}`;
}

function count(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

function caption(text) {
  return element("p", { class: "caption" }, text);
}

/** A table that scrolls sideways where it must; the first cell of each row names it. */
function tableOf(label, heads, rows, id = null) {
  return element(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    element(
      "table",
      { id },
      element("thead", {}, element("tr", {}, heads.map((head) => element("th", { scope: "col" }, head)))),
      element(
        "tbody",
        {},
        rows.map(([name, ...cells]) =>
          element("tr", {}, element("th", { scope: "row" }, name), cells.map((cell) => element("td", {}, cell))),
        ),
      ),
    ),
  );
}

// Of how many covariates the names are said, of more their number; and how many letters of each.
const COVARIATES_NAMED = 5;
const COVARIATE_LETTERS = 60;

/** "age, sex and site", or how many there are, as elements. */
function covariatesNamed(names = covariates) {
  if (names.length > COVARIATES_NAMED) return [count(names.length, "covariate")];
  return enumeration(names.map((name) => [strong(named(shortened(name, COVARIATE_LETTERS)))]));
}

/** The same for a drawing, in at most so many letters. */
function covariatesInShort(limit) {
  const last = covariates.length - 1;
  const names = covariates.map(shownName);
  const text = last ? `${names.slice(0, last).join(", ")} and ${names[last]}` : names[0];
  return last && Array.from(text).length > limit ? count(covariates.length, "covariate") : shortName(text, limit);
}

/** "a, b and c", of lists of elements. */
function enumeration(items, last = " and ", between = ", ") {
  return items.flatMap((item, place) => [...(place === 0 ? [] : [place === items.length - 1 ? last : between]), ...item]);
}

const strong = (...inside) => element("strong", {}, ...inside);

/** A part of the page that opens when it is asked for. */
function folded(summary, attributes, ...inside) {
  return element("details", attributes, element("summary", {}, summary), ...inside);
}

/** A heading with what can be done beside it. */
function titleLine(title, ...tools) {
  return element("div", { class: "title-line" }, typeof title === "string" ? element("h3", {}, title) : title, element("span", { class: "tools no-print" }, ...tools));
}

/** Terms and what they mean. */
const line = (term, ...meaning) => [element("dt", {}, term), element("dd", {}, ...meaning)];

/** A small picture with its name, and how shapes are added to it. */
function pictureOf(name, label, width, height, attributes = {}) {
  const picture = d3.create("svg");
  const made = { class: name, role: "img", "aria-label": label, viewBox: `0 0 ${width} ${height}`, ...attributes };
  for (const [attribute, value] of Object.entries(made)) picture.attr(attribute, value);
  const add = (tag, shape, text = null) => {
    const added = picture.append(tag);
    for (const [attribute, value] of Object.entries(shape)) added.attr(attribute, value);
    if (text !== null) added.text(text);
  };
  return { add, node: picture.node() };
}
