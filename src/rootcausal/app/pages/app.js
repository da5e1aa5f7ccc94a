"use strict";
// The page: what is asked, in order, and what came out. Texts of the data are only ever set as text.

const $ = (id) => document.getElementById(id);
const ROWS_SHOWN = 200, MILLISECONDS = 300, MOST_BYTES = 2 ** 31;
let state = newState(), watching = 0;

function element(tag, text, ...inside) {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  made.append(...inside);
  return made;
}

function complain(text) {
  $("error").textContent = text;
  $("error").hidden = !text;
  if (text) $("error").scrollIntoView({ block: "nearest" });
}

const announce = (text) => { $("announce").textContent = text; };

async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("The app does not answer: it was ended, or the table was too large for it. Start it again with: rootcausal app");
  }
  const facts = await answer.json();
  if (!answer.ok) throw new Error(facts.error);
  return facts;
}

const post = (path, facts) => ask(path, { method: "POST", body: JSON.stringify({ study: state.study, ...facts }) });

// Wait for the work that was started, and tell how far it is.
async function ended(onProgress) {
  const mine = ++watching;
  for (;;) {
    const told = await ask(`state/${state.study}`);
    if (mine !== watching) return null;
    if (told.state !== "running") return told;
    onProgress(told);
    await new Promise((resolve) => setTimeout(resolve, MILLISECONDS));
  }
}

const errorsOf = (told) => {
  const wrong = told.said.filter((line) => !line.startsWith("warning: "));
  return wrong.map((line) => line.replace(/^error: /, "")).join("\n") || "It did not work, and nothing was said why.";
};

// --- 1. the table ------------------------------------------------------------------------------------------

async function open(file) {
  complain("");
  for (const id of ["outcome", "questions", "work", "result", "reading", "table-facts"]) $(id).hidden = true;
  if (file.size >= MOST_BYTES) return complain("A table for the app has at most 2 GB: use the command line for it.");
  state = newState();
  $("table-facts").hidden = false;
  $("table-facts").textContent = "Reading the table …";
  try {
    const facts = await ask("upload", { method: "POST", body: file, headers: { "X-Name": encodeURIComponent(file.name) } });
    state.study = facts.study;
    state.name = facts.name;
    await looked();
  } catch (error) {
    $("table-facts").hidden = true;
    complain(error.message);
  }
}

async function look() {
  try {
    await post("look", { options: lookOptions(state) });
    await looked();
  } catch (error) {
    complain(error.message);
  }
}

async function looked() {
  const told = await ended(() => announce("reading the table"));
  if (told === null) return;
  $("reading").hidden = false;
  if (told.state !== "done") {
    $("table-facts").hidden = true;
    return complain(errorsOf(told));
  }
  complain("");
  state.look = told.look;
  state.columns = told.look.columns.map((column) => column.name);
  takeProposals(state);
  showTable();
  showOutcome();
  showQuestions();
}

function showTable() {
  const { rows, columns } = state.look;
  $("table-facts").hidden = false;
  $("table-facts").textContent = `${state.name}: ${rows.toLocaleString("en")} rows, ${columns.length.toLocaleString("en")} columns.`;
  announce($("table-facts").textContent);
}

// --- 2. the outcome ----------------------------------------------------------------------------------------

function showOutcome() {
  const { look: seen, outcome } = state, fieldset = $("candidates"), box = document.createDocumentFragment();
  $("outcome").hidden = false;
  if (!state.candidates || seen.candidates.length || seen.pairs.length) {
    state.candidates = [...seen.pairs.map((pair) => [pair.event, pair.time]), ...seen.candidates.map((name) => [name, ""])];
  }
  box.append(element("legend", "Which column says it?"));
  let listed = false;
  for (const [event, time] of state.candidates.slice(0, 8)) {
    const on = outcome.column === event && outcome.time === time;
    listed ||= on;
    box.append(choiceInput("radio", "candidate", time ? `${event}, with the time in ${time}` : event, on, () => choose(event, time)));
  }
  const others = columnSelect("", listed ? "" : outcome.column, state.candidates.length ? "another column" : "choose a column");
  others.setAttribute("aria-label", "Another column that says what happened");
  others.addEventListener("change", () => others.value && choose(others.value, ""));
  box.append(element("div", "", others));
  fieldset.replaceChildren(box);
  showLabels();
  showOutcomeFields();
}

function choose(column, time) {
  state.outcome = { ...newOutcome(), column, time, kind: time ? "survival" : "" };
  look();
}

function choiceInput(type, name, words, on, chosen) {
  const input = element("input");
  Object.assign(input, { type, name, checked: on });
  input.addEventListener("change", () => chosen(input));
  const label = element("label", "", input, element("span", words));
  label.className = "choice";
  return label;
}

function showLabels() {
  const { target } = state.look, { outcome } = state, box = $("labels");
  box.replaceChildren();
  if (target === null || !["binary", "survival"].includes(outcome.kind) || !target.labels.length) return;
  const what = outcome.kind === "survival" ? "event" : "disease";
  const several = target.labels.length > 2;
  const ask = (field, legend, known) => {
    const fieldset = element("fieldset", "", element("legend", legend));
    if (!outcome[field].length && known !== null && !target.guessed && several) outcome[field] = [known];
    for (const { level, rows } of target.labels) {
      const on = outcome[field].length ? outcome[field].includes(level) : !target.guessed && level === known;
      fieldset.append(choiceInput(several ? "checkbox" : "radio", field, `${level} (${rows.toLocaleString("en")} rows)`, on, (input) => {
        const others = several ? outcome[field].filter((label) => label !== level) : [];
        outcome[field] = input.checked ? [...others, level] : others;
        showFit();
      }));
    }
    box.append(fieldset);
  };
  const meant = what === "event" ? "the event" : "the disease, or what else is to be explained";
  ask("positive", `Which label of ${outcome.column} means ${meant}?`, target.disease ?? target.event ?? null);
  if (several && what === "disease") ask("negative", "And which means health? Rows with other labels are left out.", target.healthy ?? null);
  if (several && what === "event") ask("competing", "After which can the event not come any more, such as death before a relapse?", null);
}

function showOutcomeFields() {
  const { outcome } = state, box = $("outcome-fields");
  box.replaceChildren();
  for (const [field, words, what, fits] of OUTCOME_FIELDS) {
    if (!fits(outcome.kind) || (!outcome.column && field !== "kind")) continue;
    let input;
    if (field === "kind") {
      input = element("select");
      for (const kind of what) input.append(new Option(OUTCOME_KINDS[kind], kind, false, kind === outcome.kind));
    } else if (what === "column") input = columnSelect(outcome[field], outcome[field], "none");
    else {
      input = element("input");
      Object.assign(input, { type: "text", placeholder: what, value: outcome[field] });
    }
    input.dataset.field = field;
    input.addEventListener("change", () => {
      outcome[field] = input.value;
      if (field === "kind") Object.assign(outcome, { said: input.value, time: "", start: "", strata: "" });
      const looks = field === "kind" ? input.value !== "survival" : field === "time" || field === "start" || field === "strata";
      if (looks && outcome.column) look();
      else { showOutcomeFields(); showFit(); }
    });
    box.append(element("label", words, input));
  }
}

function columnSelect(value, selected, none) {
  const select = element("select");
  select.append(new Option(none, ""));
  for (const name of state.columns) select.append(new Option(name || "(no name)", name, false, name === selected));
  return select;
}

// --- 3. questions ------------------------------------------------------------------------------------------

function showQuestions() {
  const named = state.look.target !== null;
  $("questions").hidden = !named;
  $("work").hidden = !named;
  if (!named) return;
  const list = $("findings"), seen = new Set();
  list.replaceChildren();
  const first = state.look.suggested?.knowledge.first || [];
  if (first.length) {
    list.append(finding("By their names, nothing else in the table causes these.", first.map((name) => ["--first", name]), seen));
  }
  for (const one of state.look.findings) {
    // Which label is which was asked above.
    if (!one.options.some(([, value]) => value === "LABEL")) list.append(finding(one.sentence, one.options, seen));
  }
  if (!list.children.length) list.append(element("li", "Nothing looks odd."));
  const tiers = (state.look.suggested?.options || []).find(([option]) => option === "--tiers");
  if (tiers) $("tiers").placeholder = tiers[1];
  showColumns();
  showFit();
}

function note(words) {
  const made = element("p", words);
  made.className = "quiet";
  return made;
}

function finding(sentence, options, seen) {
  const item = element("li", "", element("p", sentence));
  let above = false;
  for (const pair of options) {
    const choice = choiceOf(state, pair), key = JSON.stringify(pair);
    // To leave a column out is asked once, for whatever reason.
    const asked = ["--drop", "--after"].includes(pair[0]) ? `out ${pair[1]}` : key;
    if (choice === null) continue;
    if (seen.has(asked)) { above = true; continue; }
    seen.add(asked);
    const label = choiceInput("checkbox", "", choice.words, choice.on, (input) => { choice.set(input.checked); agree(); });
    label.firstChild.dataset.option = key;
    item.append(label);
  }
  if (above && !item.querySelector("input")) item.append(note("Asked above."));
  return item;
}

// What was changed in one place shows in the others, and nothing loses its focus.
function agree() {
  for (const input of $("findings").querySelectorAll("input")) input.checked = choiceOf(state, JSON.parse(input.dataset.option)).on;
  for (const row of $("columns").tBodies[0].rows) showRow(row);
  showFit();
}

function showColumns() {
  const own = new Set(outcomeColumns(state.outcome)), body = $("columns").tBodies[0];
  const wanted = $("find").value.trim().toLowerCase();
  const all = state.look.columns.filter((column) => column.name.toLowerCase().includes(wanted));
  body.replaceChildren(...all.slice(0, ROWS_SHOWN).map((column) => columnRow(column, own.has(column.name))));
  $("column-filter").hidden = state.columns.length <= ROWS_SHOWN && !wanted;
  $("columns-more").hidden = all.length <= ROWS_SHOWN;
  $("columns-more").textContent = `and ${(all.length - ROWS_SHOWN).toLocaleString("en")} more: find them by name`;
}

function columnRow(column, isOutcome) {
  const row = element("tr"), head = element("th", column.name || "(no name)");
  head.scope = "row";
  row.dataset.column = column.name;
  const role = element("td", isOutcome ? "the outcome" : ""), kind = element("td");
  if (!isOutcome) {
    const roles = ROLES.map(([value, words]) => [value, words.split(":")[0]]);
    role.append(selectOf(roles, `What ${column.name} is for`, (value) => {
      state.touched.add(column.name);
      value === "variable" ? state.roles.delete(column.name) : state.roles.set(column.name, value);
      agree();
    }));
    const kinds = [["", `${KIND_WORDS[column.kind] || column.kind} (as it looks)`], ...KINDS.map((name) => [name, KIND_WORDS[name]])];
    kind.append(selectOf(kinds, `Kind of ${column.name}`, (value) => {
      state.touched.add(`kind ${column.name}`);
      value ? state.kinds.set(column.name, value) : state.kinds.delete(column.name);
      agree();
    }));
  }
  const values = element("td", valuesOf(column));
  values.className = "values";
  row.append(head, role, kind, element("td", column.missing ? `${column.missing} (${percent(column.missing_share)})` : "–"), values);
  if (!isOutcome) showRow(row);
  return row;
}

function selectOf(choices, label, chosen) {
  const select = element("select");
  select.setAttribute("aria-label", label);
  for (const [value, words] of choices) select.append(new Option(words, value));
  select.addEventListener("change", () => chosen(select.value));
  return select;
}

function showRow(row) {
  const [role, kind] = row.querySelectorAll("select"), column = row.dataset.column;
  if (!role) return;
  role.value = state.roles.get(column) || "variable";
  const said = state.kinds.get(column) || "";
  if (said && ![...kind.options].some((option) => option.value === said)) kind.append(new Option(said, said));
  kind.value = said;
  row.classList.toggle("out", !isVariable(state, column));
}

const percent = (share) => (share > 0 && share < 0.005 ? "<1%" : `${Math.round(share * 100)}%`);

function valuesOf(column) {
  if (column.levels.length) {
    const shown = column.levels.slice(0, 4).map(({ level, rows }) => `${level} (${rows})`);
    const rest = column.different - shown.length;
    return shown.join(", ") + (rest > 0 ? ` and ${rest} more` : "");
  }
  if (column.kind === "number" && column.range) return `${column.range.map((end) => (end === null ? "∞" : +end.toPrecision(5))).join(" to ")}`;
  return column.example === null ? "" : `such as ${column.example}`;
}

// --- 4. the work -------------------------------------------------------------------------------------------

function showFit() {
  const why = whyNot(state);
  $("fit").disabled = Boolean(why);
  $("why-not").textContent = why;
}

function more() {
  return {
    tiers: $("tiers").value, causes: $("causes").value, log: $("log").value, mechanism: $("mechanism").value,
    intervals: $("intervals").checked, redact: $("redact").checked,
  };
}

async function fit() {
  complain("");
  $("result").hidden = true;
  $("page").removeAttribute("src");
  $("fit").disabled = true;
  $("progress").hidden = false;
  $("stop").disabled = true;
  let began = "";
  try {
    await post("fit", { options: fitOptions(state, more()) });
    $("stop").disabled = false;
    const told = await ended((one) => {
      const words = doing(one);
      $("doing").textContent = `${words} (${Math.round(one.seconds)} s)`;
      const { done, total } = one.progress;
      if (total) Object.assign($("bar"), { max: total, value: done });
      else $("bar").removeAttribute("value");
      if (words !== began) announce((began = words));
    });
    if (told === null) return;
    if (told.state === "done") showResult(told);
    else if (told.state === "stopped") announce(($("why-not").textContent = "Stopped. Nothing was kept."));
    else complain(errorsOf(told));
    $("progress").hidden = true;
    $("fit").disabled = Boolean(whyNot(state));
  } catch (error) {
    $("progress").hidden = true;
    $("fit").disabled = false;
    complain(error.message);
  }
}

function doing({ progress }) {
  const { what, done, total } = progress;
  if (what === undefined) return "starting";
  if (what === "ordering") return `finding the causal order: ${done} of at most ${total} columns placed`;
  if (what === "resamples") return `learning from resampled cohorts: ${done} of ${total}`;
  return done && !total ? `${what}: ${done.toLocaleString("en")}` : what;
}

// --- 5. the result -----------------------------------------------------------------------------------------

function showResult(told) {
  const at = (name) => `${name}/${state.study}`, box = $("checks");
  // What was read comes before what was found, and is looked up.
  const read = element("div"), begins = told.printed.findIndex((line) => /^\d+ checks? of the assumptions/.test(line));
  let list = null, into = read;
  box.replaceChildren();
  for (const [place, line] of told.printed.entries()) {
    if (place === begins) into = box;
    if (/^(made by|model written|page about)/.test(line) || !line.trim()) continue;
    if (line.startsWith("  - ")) {
      if (list === null) into.append((list = element("ul")));
      list.append(element("li", line.slice(4)));
    } else {
      list = null;
      into.append(element("p", line.trim()));
    }
  }
  if (begins < 0) box.append(...read.children);
  else box.prepend(element("details", "", element("summary", "What was read and fitted"), read));
  $("said").replaceChildren(...told.said.map((line) => element("li", line.replace(/^warning: /, ""))));
  $("said").parentElement.hidden = !told.said.length;
  $("line").textContent = told.line === null ? "These names cannot be written so that every shell reads them alike: the Python script has them." : `${told.line}`;
  $("own-tab").href = $("page").src = at("report.html");
  $("save-page").href = `${at("report.html")}?save`;
  $("save-model").href = at("model.rci");
  $("save-script").href = at("rootcausal.py");
  $("result").hidden = false;
  $("result").focus();
  announce("The page about the patients is there.");
}

// --- what is pressed ---------------------------------------------------------------------------------------

$("file").addEventListener("change", () => $("file").files.length && open($("file").files[0]));
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    $("drop").classList.toggle("over", kind === "dragover");
    if (kind === "drop" && event.dataTransfer.files.length) open(event.dataTransfer.files[0]);
  });
}
$("read-again").addEventListener("click", () => {
  Object.assign(state.reading, { sheet: $("sheet").value.trim(), header: $("header").value, na: $("na").value });
  state.candidates = null;
  state.outcome = newOutcome();
  look();
});
$("find").addEventListener("input", showColumns);
$("fit").addEventListener("click", fit);
$("stop").addEventListener("click", () => post("stop", {}).catch((error) => complain(error.message)));
$("copy").addEventListener("click", async () => {
  await navigator.clipboard.writeText($("line").textContent);
  announce("copied");
});
$("end").addEventListener("click", async () => {
  await post("end", {}).catch(() => null);
  document.body.replaceChildren(element("p", "The app has ended, and what was uploaded is removed. This tab can be closed."));
});
