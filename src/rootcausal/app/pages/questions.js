"use strict";
// What was chosen so far, and the options of the command line that say so.

const ROLES = [
  ["variable", "a variable"],
  ["--first", "comes first: nothing here causes it"],
  ["--covariate", "to adjust for, no root cause"],
  ["--drop", "leave out"],
  ["--after", "measured after the outcome: leave out"],
  ["--id", "names the patients"],
  ["--weights", "how much each row counts"],
];
// A page of more patients would be slow, or too large to be written.
const MOST_SHOWN = 20000;
const KINDS = ["number", "binary", "ordinal", "nominal"];
const KIND_WORDS = { number: "a number", binary: "two levels", ordinal: "levels in order", nominal: "levels without order" };
// What is asked of an outcome beside its columns, and of which kinds.
const OUTCOME_FIELDS = [
  ["kind", "It is", ["", "binary", "ordinal", "continuous", "count", "survival"], () => true],
  ["time", "Time of follow-up", "column", (kind) => kind === "survival"],
  ["start", "At risk from", "column", (kind) => kind === "survival"],
  ["strata", "Matched set of each row", "column", (kind) => kind === "" || kind === "binary"],
  ["strata", "Strata with hazards of their own", "column", (kind) => kind === "survival"],
  ["exposure", "Exposure of the count", "column", (kind) => kind === "count"],
  ["levels", "Stages, from low to high", "low<mid<high", (kind) => kind === "ordinal"],
  ["prevalence", "Share of the population with the disease", "0.02", (kind) => kind === "" || kind === "binary"],
  ["horizon", "Risks by the time", "such as 5", (kind) => kind === "survival"],
  ["time_unit", "Unit of the times", "years", (kind) => kind === "survival"],
  ["unit", "Unit of the number", "ml/min", (kind) => kind === "continuous" || kind === "count"],
];
const OUTCOME_KINDS = {
  "": "as it looks",
  binary: "a diagnosis: two labels",
  ordinal: "stages in order",
  continuous: "a number",
  count: "a count of events",
  survival: "an event, and the time until it",
};

function newState() {
  return {
    study: 0, name: "", look: null, columns: [], reading: { sheet: "", header: "", na: "" },
    outcome: newOutcome(), roles: new Map(), kinds: new Map(), na: new Set(), limits: new Set(), touched: new Set(),
  };
}

function newOutcome() {
  return {
    column: "", kind: "", time: "", start: "", strata: "", exposure: "", levels: "", prevalence: "", horizon: "", time_unit: "",
    unit: "", positive: [], negative: [], competing: [], said: "",
  };
}

// Words between commas, without blanks around them.
const parts = (text) => text.split(",").map((word) => word.trim()).filter(Boolean);

function readingOptions(state) {
  const options = [];
  if (state.reading.sheet) options.push(["--sheet", state.reading.sheet]);
  if (state.reading.header) options.push([state.reading.header, null]);
  for (const word of parts(state.reading.na)) options.push(["--na", word]);
  return options;
}

// The columns that tell the outcome, and of which kind it is: as somebody said, or as look saw it.
function outcomeOptions(outcome, kind) {
  if (!outcome.column) return [];
  const followed = outcome.kind === "survival" && outcome.time;
  const options = followed ? [["--time", outcome.time], ["--event", outcome.column]] : [["--target", outcome.column]];
  if (followed && outcome.start) options.push(["--start", outcome.start]);
  if (!followed && ["binary", "ordinal", "continuous", "count"].includes(kind)) options.push(["--outcome", kind]);
  if (outcome.strata) options.push(["--strata", outcome.strata]);
  return options;
}

function lookOptions(state) {
  return [...outcomeOptions(state.outcome, state.outcome.said), ...readingOptions(state)];
}

const outcomeColumns = (outcome) => [outcome.column, outcome.time, outcome.start, outcome.strata, outcome.exposure].filter(Boolean);

function fitOptions(state, more) {
  const { outcome } = state, own = new Set(outcomeColumns(outcome));
  const options = outcomeOptions(outcome, outcome.kind === "binary" ? outcome.said : outcome.kind);
  const said = { exposure: "--exposure", levels: "--levels",
    prevalence: "--prevalence", horizon: "--horizon", time_unit: "--time-unit", unit: "--unit" };
  for (const field of ["positive", "negative", "competing"]) for (const label of outcome[field]) options.push([`--${field}`, label]);
  for (const [field, option] of Object.entries(said)) if (outcome[field]) options.push([option, outcome[field].trim()]);
  options.push(...readingOptions(state));
  for (const word of state.na) options.push(["--na", word]);
  for (const [wanted] of ROLES.slice(1)) {
    for (const [column, role] of state.roles) if (role === wanted && !own.has(column)) options.push([role, column]);
  }
  for (const [column, kind] of state.kinds) {
    if (kind && !own.has(column) && isVariable(state, column)) options.push(["--kind", `${column}=${kind}`]);
  }
  for (const limit of state.limits) options.push(["--limit", limit]);
  if (more.tiers.trim()) options.push(["--tiers", more.tiers.trim()]);
  if (more.causes.trim()) options.push(["--causes", more.causes.trim()]);
  if (more.log.trim()) options.push(["--log", more.log.trim()]);
  if (more.mechanism) options.push(["--mechanism", more.mechanism]);
  if (more.redact) options.push(["--redact-ids", null]);
  if (state.look.rows > MOST_SHOWN) options.push(["--patients", String(MOST_SHOWN)]);
  if (more.intervals) options.push(["--bootstrap", "200"]);
  return options;
}

const isVariable = (state, column) => !["--drop", "--after", "--id", "--weights"].includes(state.roles.get(column) || "variable");

// Whether an option that look proposes is chosen, and how to choose it; null where it is asked elsewhere.
function choiceOf(state, [option, value]) {
  if (ROLES.some(([role]) => role === option) && state.columns.includes(value)) {
    return {
      on: state.roles.get(value) === option,
      set: (on) => { state.touched.add(value); on ? state.roles.set(value, option) : state.roles.delete(value); },
      words: `${value}: ${ROLES.find(([role]) => role === option)[1]}`,
    };
  }
  if (option === "--na") {
    const [column, word] = splitName(state, value);
    return {
      on: state.na.has(value),
      set: (on) => { state.touched.add(`na ${value}`); on ? state.na.add(value) : state.na.delete(value); },
      words: column ? `${column}: ${word} means missing` : `${value} means missing`,
    };
  }
  if (option === "--limit") {
    const [column, limit] = splitName(state, value);
    return {
      on: state.limits.has(value),
      set: (on) => { state.touched.add(`limit ${value}`); on ? state.limits.add(value) : state.limits.delete(value); },
      words: `${column}: ${limit} is a limit of detection`,
    };
  }
  if (option === "--kind") {
    const [column, kind] = splitName(state, value);
    if (!column) return null;
    return {
      on: state.kinds.get(column) === kind,
      set: (on) => { state.touched.add(`kind ${column}`); on ? state.kinds.set(column, kind) : state.kinds.delete(column); },
      words: `${column}: ${KIND_WORDS[kind] || kind}`,
    };
  }
  return null;
}

// A column and what stands behind its equals sign; names may have one themselves.
function splitName(state, text) {
  const column = state.columns.filter((name) => text.startsWith(`${name}=`)).sort((a, b) => b.length - a.length)[0];
  return column === undefined ? ["", text] : [column, text.slice(column.length + 1)];
}

// Take what look proposes, but for what somebody changed.
function takeProposals(state) {
  const { look, outcome } = state;
  const fresh = (name) => !state.touched.has(name);
  for (const column of [...state.roles.keys()]) if (fresh(column)) state.roles.delete(column);
  for (const column of [...state.kinds.keys()]) if (fresh(`kind ${column}`)) state.kinds.delete(column);
  for (const word of [...state.na]) if (fresh(`na ${word}`)) state.na.delete(word);
  for (const limit of [...state.limits]) if (fresh(`limit ${limit}`)) state.limits.delete(limit);
  Object.assign(outcome, { positive: [], negative: [], competing: [], levels: "" });
  for (const finding of look.findings) {
    for (const pair of finding.in_fit ? finding.options : []) {
      const [option, value] = pair, choice = choiceOf(state, pair);
      const mark = option === "--na" ? `na ${value}` : option === "--limit" ? `limit ${value}` : option === "--kind" ? `kind ${splitName(state, value)[0]}` : value;
      if (choice !== null && fresh(mark)) { choice.set(true); state.touched.delete(mark); }
      if (["LABEL", "LOW<HIGH"].includes(value)) continue;
      if (["--positive", "--negative"].includes(option)) outcome[option.slice(2)] = [value];
      if (option === "--levels") outcome.levels = value;
    }
  }
  if (look.target === null) return;
  outcome.column = look.target.name;
  outcome.time = look.time || "";
  outcome.strata = look.strata || "";
  outcome.kind = look.outcome === "matched" ? "binary" : look.outcome;
}

// Why no fit can begin yet; empty where one can.
function whyNot(state) {
  const { look, outcome } = state;
  if (look === null || look.target === null) return "Say first which column tells what happened.";
  if (["binary", "survival"].includes(outcome.kind) && look.target.guessed && !outcome.positive.length) {
    return `Say first which label of ${outcome.column} means the ${outcome.kind === "survival" ? "event" : "disease"}.`;
  }
  if (outcome.kind === "survival" && !outcome.time) return "Say first which column has the time of follow-up.";
  if (outcome.kind === "ordinal" && !outcome.levels && look.findings.some((one) => one.options.some(([, value]) => value === "LOW<HIGH"))) {
    return "List first the stages from low to high.";
  }
  const own = new Set(outcomeColumns(outcome));
  if (!state.columns.some((column) => !own.has(column) && isVariable(state, column))) return "No column is left to learn from.";
  return "";
}
