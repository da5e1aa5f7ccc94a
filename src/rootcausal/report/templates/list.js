// All patients as a list that can be sorted and filtered, and those who are most like one of them.

const LINES_SHOWN = 100;
const ALIKE_SHOWN = 5;
const ALIKE_COUNTED = 20;
// Rows times variables up to which likeness is counted out at once; beyond, when asked for.
const ALIKE_AT_ONCE = 400_000;

let patientFacts = null;
const listState = { by: "prediction", down: true, text: "", cause: "", happened: "", lines: LINES_SHOWN };

/** What the list says of every patient; counted out once. */
function factsOfPatients() {
  patientFacts ??= labels.map((label, row) => ({ row, label, predictor: predictor(row), top: topOf(row) }));
  return patientFacts;
}

/** The variable whose shock is the strongest of a patient's; null where none stands out. */
function topOf(row) {
  let [top, most] = [null, content.notable];
  for (let variable = 0; variable < nVariables; variable++) {
    const value = told.strength(shapley(row, variable));
    if (value >= most && !isOpen(row, variable)) [top, most] = [variable, value];
  }
  return top;
}

const LIST_COLUMNS = [
  ["label", "Patient", (one) => one.label],
  ["prediction", () => `${told.listHead}${riskNote}`, (one) => one.predictor],
  ["recalibrated", "Recalibrated", (one) => cell("recalibrated", one.row, 0, 1)],
  ["top", () => told.topHead, (one) => (one.top === null ? "\uffff" : variables[one.top].name)],
  ["happened", "What happened", (one) => told.happenedRank(one.row)],
];

function listColumns() {
  return LIST_COLUMNS.filter(([key]) => (key !== "happened" || hasKnown) && (key !== "recalibrated" || hasRecalibrated));
}

function drawList() {
  const view = document.getElementById("list");
  const tops = d3.sort(d3.union(factsOfPatients().map((one) => one.top)), (top) => (top === null ? "\uffff" : variables[top].name));
  const filter = (key, label, control) => {
    control.addEventListener("input", () => {
      listState[key] = control.value;
      listState.lines = LINES_SHOWN;
      fillList();
    });
    return element("span", { class: "filter" }, element("label", { for: control.id }, label), control);
  };
  const select = (id, options, value) => {
    const made = element("select", { id }, options.map(([option, text]) => element("option", { value: option }, text)));
    made.value = value;
    return made;
  };
  const box = element("input", { type: "text", id: "list-text", autocomplete: "off", spellcheck: "false" });
  box.value = listState.text;
  view.replaceChildren(
    element("h2", {}, `${count(labels.length, rowNoun)}`),
    notScored(),
    element(
      "div",
      { class: "filters no-print" },
      filter("text", "Id contains", box),
      filter("cause", told.topHead, select("list-cause", [["", "any"], ...tops.map((top) => [String(top), top === null ? "none stands out" : shownName(variables[top].name)])], listState.cause)),
      hasKnown && told.happenedKinds.length ? filter("happened", "What happened", select("list-happened", [["", "any"], ...told.happenedKinds], listState.happened)) : "",
      button("CSV", () => download(listCsv(), "text/csv;charset=utf-8", "patients.csv"), "list-csv"),
    ),
    element("p", { id: "list-count", "aria-live": "polite" }),
    element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Patients" }, element("table", { id: "patient-table" }, element("thead", {}, element("tr", {}, listHeads())), element("tbody"))),
    button("Show more", () => {
      listState.lines += 10 * LINES_SHOWN;
      fillList();
    }, "list-more"),
  );
  fillList();
}

const NOT_SCORED_NAMED = 20;

/** Who is not on the page, since nothing of theirs was measured that the model goes by. */
function notScored() {
  const { not_scored: names } = content;
  if (!names.length) return "";
  const shown = names.slice(0, NOT_SCORED_NAMED).map((name) => [element("bdi", {}, shownName(name))]);
  const more = names.length > NOT_SCORED_NAMED ? ` and ${names.length - NOT_SCORED_NAMED} more` : "";
  return element("p", { id: "not-scored" }, "Not scored, since nothing was measured that the model goes by: ", ...enumeration(shown, ", "), `${more}.`);
}

function listHeads() {
  return listColumns().map(([key, head]) =>
    element(
      "th",
      { scope: "col", "data-key": key },
      element("button", { type: "button", onclick: () => {
        listState.down = listState.by === key ? !listState.down : key === "prediction";
        listState.by = key;
        fillList();
      } }, typeof head === "string" ? head : head(), element("span", { class: "arrow", "aria-hidden": "true" })),
    ),
  );
}

/** Patients as the list asks for them. */
function listed() {
  const { by, down, text, cause, happened } = listState;
  const wanted = text.trim().toLowerCase();
  const found = factsOfPatients().filter(
    (one) =>
      (!wanted || lowered[one.row].includes(wanted)) &&
      (cause === "" || String(one.top) === cause) &&
      (happened === "" || told.happenedKind(one.row) === happened),
  );
  const [, , value] = LIST_COLUMNS.find(([key]) => key === by);
  const compare = by === "label" ? (a, b) => a.localeCompare(b, "en", { numeric: true }) : d3.ascending;
  return found.sort((a, b) => (down ? -1 : 1) * compare(value(a), value(b)) || a.row - b.row);
}

function fillList() {
  const found = listed();
  const shown = found.slice(0, listState.lines);
  document.querySelectorAll("#patient-table th[data-key]").forEach((head) => {
    const chosen = head.dataset.key === listState.by;
    head.setAttribute("aria-sort", chosen ? (listState.down ? "descending" : "ascending") : "none");
    head.querySelector(".arrow").textContent = chosen ? (listState.down ? " ▾" : " ▴") : "";
  });
  document.querySelector("#patient-table tbody").replaceChildren(...shown.map(listLine));
  document.getElementById("list-count").textContent = `${found.length.toLocaleString("en")} of ${count(labels.length, rowNoun)}${shown.length < found.length ? `, the first ${shown.length.toLocaleString("en")} are listed` : ""}.`;
  document.getElementById("list-more").hidden = shown.length === found.length;
}

function patientLink(row) {
  return element("a", { href: `#patient/${encodeURIComponent(labels[row])}` }, named(labels[row]));
}

function listLine(one) {
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, patientLink(one.row)),
    element("td", {}, told.toText(one.predictor)),
    ...(hasRecalibrated ? [element("td", {}, recalibratedText(one.row) ?? "")] : []),
    element("td", { class: "text" }, one.top === null ? "none stands out" : named(shortened(variables[one.top].name, 60))),
    ...(hasKnown ? [element("td", { class: "text" }, ...told.happenedShort(one.row))] : []),
  );
}

function listCsv() {
  const heads = ["patient", "predicted", ...(hasRecalibrated ? ["recalibrated"] : []), "top_cause", ...(hasKnown ? ["what_happened"] : [])];
  const rows = listed().map((one) => [one.label, told.predict(one.predictor), ...(hasRecalibrated ? [recalibratedText(one.row) === null ? "" : cell("recalibrated", one.row, 0, 1)] : []), one.top === null ? "" : variables[one.top].name, ...(hasKnown ? [told.happenedKind(one.row) || told.happenedRank(one.row)] : [])]);
  return csvOf([heads, ...rows]);
}

/** The patients whose shocks do most nearly the same, nearest first. */
function alikeRows(row) {
  const own = d3.range(nVariables).map((variable) => shapley(row, variable));
  const apart = new Float64Array(labels.length);
  for (let other = 0; other < labels.length; other++) {
    for (let variable = 0; variable < nVariables; variable++) apart[other] += (shapley(other, variable) - own[variable]) ** 2;
  }
  return d3.sort(d3.range(labels.length).filter((other) => other !== row), (other) => apart[other]).slice(0, ALIKE_COUNTED);
}

function alikePart(row) {
  if (labels.length < 2 || !nVariables) return null;
  const inside = element("div");
  const fill = () => inside.childElementCount || inside.append(...alikeWords(row));
  const part = folded("Patients like this one", { id: "alike", class: "no-print" }, inside);
  if (labels.length * nVariables <= ALIKE_AT_ONCE) {
    fill();
    part.open = true;
  } else {
    part.addEventListener("toggle", () => part.open && fill());
  }
  return part;
}

function alikeWords(row) {
  const alike = alikeRows(row);
  const nearest = alike.slice(0, ALIKE_SHOWN);
  const said = hasKnown ? told.happenedOf(alike) : null;
  return [
    element("p", {}, `Those of this page whose shocks do most nearly the same. `, said === null ? "" : said),
    element("ul", { class: "alike" }, nearest.map((other) => {
      const top = topOf(other);
      return element("li", {}, patientLink(other), `: ${told.inList(predictor(other))}${riskNote}; `, top === null ? "no cause was found that stands out" : [told.topWords, " ", named(shortened(variables[top].name, 60))], ...(hasKnown ? ["; ", ...told.happenedShort(other)] : []));
    })),
  ];
}
