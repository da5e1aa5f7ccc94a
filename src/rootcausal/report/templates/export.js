// What leaves the page when its reader asks for it: text to paste, drawings and tables as files. Nothing is sent.

function button(text, onclick, id = null) {
  return element("button", { type: "button", id, onclick }, text);
}

function patientButtons(row, harmful, protective) {
  const copy = button("Copy as text", () => copyText(patientText(row), copy), "copy-text");
  return [
    copy,
    button("CSV", () => download(patientCsv(harmful, protective), "text/csv;charset=utf-8", `patient-${labels[row]}.csv`), "download-csv"),
    button("Print", () => window.print(), "print"),
  ];
}

/** What the top of the page says of a patient, as plain text. */
function patientText(row) {
  const paragraphs = [...document.querySelectorAll("#in-words p")].map((one) => one.innerText.replace(/\s+/g, " ").trim());
  const limits = [...document.querySelectorAll("#limits li")].map((one) => `- ${one.innerText.trim()}`);
  return [`Patient ${shownName(labels[row])}`, ...paragraphs, ...(limits.length ? ["Limits:", ...limits] : []), madeLine()].join("\n");
}

async function copyText(text, from) {
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    done = copiedByHand(text);
  }
  const before = from.textContent;
  from.textContent = done ? "Copied" : "Could not copy";
  setTimeout(() => (from.textContent = before), 2000);
}

/** For browsers that keep the clipboard from files. */
function copiedByHand(text) {
  const area = element("textarea", { class: "visually-hidden", "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

function download(text, type, name) {
  save(new Blob([text], { type }), name);
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = element("a", { href: address, download: fileName(name) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** A name that is one on every system: an id may hold anything. */
function fileName(name) {
  return name.replace(/[^\p{L}\p{N}._-]+/gu, "_").replace(/^[._]+/, "_").slice(-100);
}

// The rule of rootcausal/files/writing.py. The full-width forms count in some locales.
const FORMULA_STARTS = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
const PLAIN_NUMBER = /^[+-]?\d+(\.\d*)?([eE][+-]?\d+)?$/;

/** A cell of a CSV file: a text that a spreadsheet would run as a formula gets an apostrophe before it. */
function csvCell(value) {
  if (typeof value === "number") return String(value);
  const text = FORMULA_STARTS.test(value) && !PLAIN_NUMBER.test(value) ? `'${value}` : value;
  return /[",\n\r;]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csvOf(rows) {
  return "\ufeff" + rows.map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

function patientCsv(harmful, protective) {
  const heads = ["variable", "column", "value", "unit", "measured", "expected", "typical", "shock_sd", "adds", "lower", "upper", "grade", "predicted_without"];
  const rows = [...harmful, ...protective].map((one) => [
    one.name, one.column, one.parts.length ? "" : one.level ?? one.data, one.unit, one.limit ?? (one.imputed ? "no" : "yes"),
    one.expected ?? "", one.levels.length || one.parts.length ? "" : content.quantiles.values[one.variable][50], one.shock, one.value,
    one.interval?.lower ?? "", one.interval?.upper ?? "", gradeOf(one) ?? "", told.predict(one.without),
  ]);
  return csvOf([heads, ...rows]);
}

/** Buttons that save a drawing: that which stands at a place then, or one that is made for it. */
function chartButtons(place, name, make = () => place.querySelector("svg")) {
  return [
    button("SVG", () => download(svgText(make()), "image/svg+xml", `${name}.svg`)),
    button("PNG", () => savePng(make(), `${name}.png`)),
  ];
}

/** A drawing on its own: colours of the style sheet as they are now, and letters that every program has. */
function svgText(picture) {
  const copy = picture.cloneNode(true);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("color", ink("--ink"));
  copy.setAttribute("font-family", "Arial, Helvetica, sans-serif");
  const { width, height } = picture.viewBox.baseVal;
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.querySelectorAll("style").forEach((style) => style.remove());
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [attribute, value] of [["width", "100%"], ["height", "100%"], ["fill", ink("--paper")]]) paper.setAttribute(attribute, value);
  copy.prepend(paper);
  return new XMLSerializer().serializeToString(copy).replace(/var\((--[a-z-]+)\)/g, (_, name) => ink(name));
}

const PNG_SCALE = 3;

function savePng(picture, name) {
  const { width, height } = picture.viewBox.baseVal;
  const image = new Image();
  image.addEventListener("load", () => {
    const canvas = element("canvas", { width: width * PNG_SCALE, height: height * PNG_SCALE });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(blob, name), "image/png");
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(picture))}`;
}

/** Who made this, and when it was printed or copied. */
function madeLine() {
  const day = new Date().toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric" });
  const { version, fitted_with: fittedWith } = content.made;
  return `rootcausal ${version}${version === fittedWith ? "" : ` (model by ${fittedWith})`}, ${day}. A model's reading for research, not medical advice.`;
}

function printedLine() {
  return element("p", { class: "printed", id: "printed" }, madeLine());
}
