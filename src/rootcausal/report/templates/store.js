// The patients' numbers: unpacked once, read by row.

const content = JSON.parse(document.getElementById("content").textContent);
const variables = content.variables;
const nVariables = variables.length;
const labels = content.labels;

const full = content.numbers === "<f8" ? Float64Array : Float32Array;
const BLOCK_TYPES = {
  errors: full, data: full, shapley: full, "interval-of": Uint16Array, lower: Int16Array, upper: Int16Array, frequency: Uint8Array,
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

/** The Shapley value: what this patient's shock on this variable adds to the log-odds. */
function shapley(row, variable) {
  return hasShapley ? cell("shapley", row, variable) : shock(row, variable) * variables[variable].coef;
}

function logOdds(row) {
  let sum = content.base_value;
  for (let variable = 0; variable < nVariables; variable++) sum += shapley(row, variable);
  return sum;
}

/** Everything the page says about one shock of one patient. */
function contribution(row, variable) {
  const value = shapley(row, variable);
  return {
    variable,
    ...variables[variable],
    value,
    shock: shock(row, variable),
    data: cell("data", row, variable),
    riskWithout: probability(logOdds(row) - value),
    bootstrap: bootstrapOf(row, variable),
  };
}

// Share of the cohort with the same number from which it is said, as for yes or no and for scores.
const MANY_TIES = 0.05;

/** Interval and frequency over resamples, where the page has them for this shock. */
function bootstrapOf(row, variable) {
  if (content.bootstrap === null) return null;
  const { kept } = content.bootstrap;
  for (let column = 0; column < kept; column++) {
    if (cell("interval-of", row, column, kept) === variable) {
      return {
        lower: cell("lower", row, column, kept) / 100,
        upper: cell("upper", row, column, kept) / 100,
        frequency: cell("frequency", row, column, kept),
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
  let words = `${below >= above ? `higher than in ${ofHundred(below)}` : `lower than in ${ofHundred(above)}`} of 100 patients`;
  if (same > MANY_TIES) {
    words = `the same in ${ofHundred(same)} of 100 patients`;
    if (below > 0) words += `, lower in ${ofHundred(below)}`;
    if (above > 0) words += `, higher in ${ofHundred(above)}`;
  }
  if (quantiles[0] === quantiles[last]) words = "the same in all patients";
  else if (number > quantiles[last]) words = "higher than in any patient of the cohort";
  else if (number < quantiles[0]) words = "lower than in any patient of the cohort";
  return { share, words };
}

/** What to call the outcome: 0/1 labels need no mention. */
const outcome = /^(1|1\.0|true|yes)$/i.test(content.positive)
  ? content.target
  : `${content.target} = ${content.positive}`;
