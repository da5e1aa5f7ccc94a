// The patients' numbers: unpacked once, read by row.

const content = JSON.parse(document.getElementById("content").textContent);
const variables = content.variables;
const nVariables = variables.length;
// Variables that are read as one come last, once more, under their joint name; the causal order has none of these.
const hasSets = variables.some((variable) => variable.members.length);
const nInOrder = variables.filter((variable) => !variable.members.length).length;
const onLogScale = variables.filter((variable) => variable.log);
const labels = content.labels;
// What a row of the table is: a patient, unless some have several.
const rowNoun = content.n_patients === null ? "patient" : "row";

const full = content.numbers === "<f8" ? Float64Array : Float32Array;
const BLOCK_TYPES = {
  errors: full, data: full, shapley: full, "interval-of": Uint16Array, lower: Int16Array, upper: Int16Array, frequency: Uint8Array,
  imputed: Uint8Array, "by-level": Int16Array, covariates: full, "covariates-interval": Int16Array, "covariates-expected": Uint8Array,
  known: full, "predicted-interval": full, recalibrated: full, expected: Float32Array,
};

function unpack(name) {
  const packed = atob(document.getElementById(`block-${name}`).textContent);
  const bytes = new Uint8Array(packed.length);
  for (let at = 0; at < packed.length; at++) bytes[at] = packed.charCodeAt(at);
  return new BLOCK_TYPES[name](bytes.buffer);
}

const blocks = {};
function cell(name, row, column, width = nVariables) {
  blocks[name] ??= unpack(name);
  return blocks[name][row * width + column];
}

function shock(row, variable) {
  return cell("errors", row, variable);
}

// Where what shocks add is not proportional to them, the page has a block of it.
const hasShapley = document.getElementById("block-shapley") !== null;

/** The Shapley value: what this patient's shock on this variable adds. */
function shapley(row, variable) {
  return hasShapley ? cell("shapley", row, variable) : shock(row, variable) * variables[variable].coef;
}

// Names of what is adjusted for: it is part of what is predicted, and no root cause.
const covariates = content.covariates;
// What is average in a patient of the base value.
const ofAverage = covariates.length ? "shocks and covariates" : "shocks";
const hasCovariateInterval = document.getElementById("block-covariates-interval") !== null;
const hasCovariateExpected = document.getElementById("block-covariates-expected") !== null;

/** What this patient's covariates add together, how sure that is, and whether one was not measured. */
function adjustment(row) {
  if (!covariates.length) return { value: 0, interval: null, expected: false };
  return {
    value: cell("covariates", row, 0, 1),
    interval: hasCovariateInterval ? covariateInterval(row) : null,
    expected: hasCovariateExpected && cell("covariates-expected", row, 0, 1) > 0,
  };
}

/** As that of a shock, but nothing counts how often covariates are root causes: they are none. */
function covariateInterval(row) {
  const [lower, upper] = [0, 1].map((end) => cell("covariates-interval", row, end, 2) * facts.step);
  return { lower, upper, frequency: null };
}

/** What shocks and covariates add up to, on the scale of the outcome. */
function predictor(row) {
  let sum = content.base_value + adjustment(row).value;
  for (let variable = 0; variable < nVariables; variable++) sum += shapley(row, variable);
  return sum;
}

// The page has a block of marks where something was not measured of somebody.
const hasImputed = document.getElementById("block-imputed") !== null;

// What was not measured, and may add nothing: its own interval does not exclude zero.
const OPEN = 128;
const isOpen = (row, variable) => hasImputed && (cell("imputed", row, variable) & OPEN) > 0;

/** What a cell says: a number, or a level; whether it was measured; how likely an expected level is, in percent; the limit of detection beyond which a number lies; of variables that are read as one, what each says. */
function valueOf(row, variable) {
  const { levels, unit, digits, limits, members } = variables[variable];
  const data = cell("data", row, variable);
  const mark = hasImputed ? cell("imputed", row, variable) & ~OPEN : 0;
  return {
    data, unit, digits, level: levels.length ? levels[data] : null, imputed: mark > 0, open: isOpen(row, variable),
    likely: levels.length && mark > 1 ? mark - 1 : null, limit: !levels.length && mark > 1 ? limits[mark - 2] : null,
    parts: members.map((member) => ({ ...variables[member], ...valueOf(row, member) })),
  };
}

// Where each variable's levels start in a row of the predictors by level, and how many such levels there are.
const levelsFrom = d3.cumsum([0, ...variables.map((variable) => variable.levels.length)]);
const hasByLevel = document.getElementById("block-by-level") !== null;

/** The predictor with each level set, all other shocks as they are; none for a number, or where the page has no room. */
function byLevelOf(row, variable) {
  const { levels } = variables[variable];
  if (!levels.length || !hasByLevel) return [];
  const width = levelsFrom[nVariables];
  return levels.map((level, place) => ({
    level,
    predictor: facts.origin + cell("by-level", row, levelsFrom[variable] + place, width) * facts.step,
    now: !valueOf(row, variable).imputed && place === cell("data", row, variable),
  }));
}

const hasExpected = document.getElementById("block-expected") !== null;

/** What is expected of a variable from this patient's other values, its own shock being none; null where that has no number. */
function expectedOf(row, variable) {
  const { own, log, levels, codes } = variables[variable];
  if (hasExpected) {
    const found = cell("expected", row, variable);
    return Number.isFinite(found) ? found : null;
  }
  if (!content.linear || own === null || (levels.length && !codes.length)) return null;
  const data = cell("data", row, variable);
  const change = shock(row, variable) * own;
  if (log) return data * Math.exp(-change);
  return (levels.length ? codes[data] : data) - change;
}

/** Whether the shock works the way it does here, in percent of the resamples: a resample that left the variable out has neither. */
function sameWay({ variable, value, interval }) {
  if (interval === null || interval.frequency === null) return null;
  if (value > 0) return interval.frequency;
  return Math.max(0, Math.round(100 - interval.frequency - 100 * variables[variable].dropped));
}

// Shares of resamples, in percent. With the first, a 95 % interval keeps away from zero; the second is that of arrows, too.
const FIRM_FROM = 98;
const LIKELY_FROM = 80;

/** How sure a shock is: "firm", "likely" or "unsure"; null where nothing was resampled. */
function gradeOf(one) {
  const same = sameWay(one);
  if (same === null) return null;
  return same >= FIRM_FROM ? "firm" : same >= LIKELY_FROM ? "likely" : "unsure";
}

/** Everything the page says about one shock of one patient. */
function contribution(row, variable) {
  const value = shapley(row, variable);
  return {
    variable,
    ...variables[variable],
    value,
    shock: shock(row, variable),
    ...valueOf(row, variable),
    without: predictor(row) - value,
    expected: expectedOf(row, variable),
    byLevel: byLevelOf(row, variable),
    interval: intervalOf(row, variable),
  };
}

// Share of the cohort with the same number from which it is said, as for yes or no and for scores.
const MANY_TIES = 0.05;

/** Interval, and frequency over resamples if there are any, where the page has them for this shock. */
function intervalOf(row, variable) {
  const kept = content.intervals;
  for (let column = 0; column < (kept ?? 0); column++) {
    if (cell("interval-of", row, column, kept) === variable) {
      return {
        lower: cell("lower", row, column, kept) * facts.step,
        upper: cell("upper", row, column, kept) * facts.step,
        frequency: content.bootstrap === null ? null : cell("frequency", row, column, kept),
      };
    }
  }
  return null;
}

/** Patients of 100, never none and never all: beyond the quantiles other words are used. */
function ofHundred(share) {
  return Math.min(Math.max(Math.round(share * 100), 1), 99);
}

/** Where a number lies in the cohort, in words, and its share for a drawing, in which ties count half. */
function standing(kind, variable, number) {
  const quantiles = content.quantiles[kind][variable];
  const last = quantiles.length - 1;
  const below = d3.bisectLeft(quantiles, number) / quantiles.length;
  const above = 1 - d3.bisectRight(quantiles, number) / quantiles.length;
  const same = 1 - below - above;
  const share = Math.min(Math.max((below + 1 - above) / 2, 0), 1);
  // Levels without an order are neither high nor low; a shock on them counts towards the levels that raise the outcome.
  const [high, low] = kind === "errors" && variables[variable].kind === "nominal" ? told.towards : ["higher", "lower"];
  let words = `${below >= above ? `${high} than in ${ofHundred(below)}` : `${low} than in ${ofHundred(above)}`} of 100 patients`;
  if (same > MANY_TIES) {
    words = `the same in ${ofHundred(same)} of 100 patients`;
    if (below > 0) words += `, ${low} in ${ofHundred(below)}`;
    if (above > 0) words += `, ${high} in ${ofHundred(above)}`;
  }
  if (quantiles[0] === quantiles[last]) words = "the same in all patients";
  else if (number > quantiles[last]) words = `${high} than in any patient of the cohort`;
  else if (number < quantiles[0]) words = `${low} than in any patient of the cohort`;
  return { share, words };
}

/** How common a level is, in words: levels of yes and no, and those without an order, are neither high nor low. */
function commonness(variable, place) {
  const quantiles = content.quantiles.values[variable];
  const same = (d3.bisectRight(quantiles, place) - d3.bisectLeft(quantiles, place)) / quantiles.length;
  return same === 0 ? "in fewer than 1 of 100 patients" : same === 1 ? "the same in all patients" : `the same in ${ofHundred(same)} of 100 patients`;
}
