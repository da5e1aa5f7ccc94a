// Numbers and names as a reader sees them, and the one way in which this page makes elements.

/** An element; children are elements or text. Text is always text: nothing is ever parsed as markup. */
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === "onclick") made.addEventListener("click", value);
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null));
  return made;
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
function valueText({ data, unit, level, imputed, parts }) {
  if (parts.length) return parts.map(valueText).join(", ");
  const text = level === null ? withUnit(data, unit) : imputed ? shownLevel(level) : `= ${shownLevel(level)}`;
  return imputed ? `${text} expected` : text;
}

/** A value as a reader sees it, as elements: "3.4 mg/dl", "male", "not measured; 3.4 mg/dl expected". */
function valueWords({ data, unit, level, imputed, likely, parts }) {
  if (parts.length) return parts.flatMap((part, place) => [place ? ", " : "", named(part.name), " ", ...valueWords(part)]);
  const value = level === null ? withUnit(data, unit) : element("bdi", {}, shownLevel(level));
  return imputed ? ["not measured; ", value, " expected", likely === null ? "" : `, ${likely} % likely`] : [value];
}

/** A name in a drawing: short, and isolated from its surroundings as <bdi> would. */
function shortName(name, limit) {
  return "\u2068" + shortened(name, limit) + "\u2069";
}

function shortened(name, limit) {
  const letters = Array.from(shownName(name).replace(/\s+/g, " "));
  return letters.length > limit ? letters.slice(0, limit - 1).join("") + "…" : letters.join("");
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
  return enumeration(names.map((name) => [named(shortened(name, COVARIATE_LETTERS))]));
}

/** The same for a drawing, in at most so many letters. */
function covariatesInShort(limit) {
  const last = covariates.length - 1;
  const names = covariates.map(shownName);
  const text = last ? `${names.slice(0, last).join(", ")} and ${names[last]}` : names[0];
  return last && Array.from(text).length > limit ? count(covariates.length, "covariate") : shortName(text, limit);
}

/** "a, b and c", of lists of elements. */
function enumeration(items, last = " and ") {
  return items.flatMap((item, place) => {
    const before = place === 0 ? [] : [place === items.length - 1 ? last : ", "];
    return [...before, element("strong", {}, ...item)];
  });
}
