// How model and page were made, and what has to be true for them to be right.

const ASSUMPTIONS = [
  told.assumptions.sample,
  content.made.bent
    ? ["Smooth curves", "Each variable is what smooth curves of its causes, and products of two, lead to expect, plus its own shock times a spread that they set. Jumps are not seen."]
    : ["Straight lines", "Each variable is a weighted sum of its causes plus its own shock. Bends and thresholds are not seen; a log scale often helps."],
  ["Shocks that are not bell-shaped", "Directions are learned from the skew and tails of the shocks. If the shocks follow a normal distribution, the order is a guess."],
  ["No loops", "No variable is, by a detour, a cause of itself within the time that the table covers."],
  ["Independent shocks", "No unmeasured thing moves two variables at once. If one does, its effect is counted as a shock on the earlier variable."],
  told.assumptions.last,
  ...told.assumptions.more,
];

function drawAbout() {
  const made = content.made;
  const [unset, set] = [true, false].map((wanted) => Object.entries(made.parameters).filter(([, value]) => (value === null) === wanted));
  document.getElementById("about").replaceChildren(
    element("h2", {}, "How it was made"),
    element("h3", {}, "The cohort that the model learned from"),
    element(
      "dl",
      { class: "facts" },
      told.cohort(made).map((facts) => line(...facts)),
      line("Variables", `${made.columns.toLocaleString("en")} in the table, ${nInOrder.toLocaleString("en")} in the causal order`),
      covariates.length ? line("Adjusted for", listOf(covariates), ": regressed out of all other variables first and part of the " + told.it + ", but no root causes") : [],
      made.log_scale.length ? line("On a log scale", listOf(made.log_scale), ": the model works with the logarithm, and the page shows the value in its own unit") : [],
      leftOut(made.left_out).map(([why, list]) => line(`Left out: ${why}`, list.length ? listOf(list) : "none")),
      line(`${content.n_patients === null ? "Patients" : "Rows"} on this page`, labels.length.toLocaleString("en")),
      content.not_measured.cells
        ? line("Not measured", `${count(content.not_measured.cells, "value")} of ${count(content.not_measured.patients, rowNoun)} on this page: what is expected given the other values stands in for them, and is marked`)
        : [],
      made.notes.map((note) => line("Note", note)),
      made.warnings.map((warning) => line("Warning", warning)),
      line("Places in the cohort", content.quantiles.of_fit
        ? "taken from the cohort that the model learned from"
        : "taken from the patients on this page: the model file is from a version that kept no quantiles"),
    ),
    element("h3", {}, "The model"),
    element(
      "dl",
      { class: "facts" },
      line(
        "Method",
        made.bent
          ? "Root Causal Inference (Strobl & Lasko, 2022) with nonlinear relations: the graph that describes the patients in least, curves and spreads of each variable given its causes, and a risk of the variables that is pushed through them."
          : `Root Causal Inference (Strobl & Lasko, 2022): order the variables by Direct LiNGAM, take from each what earlier ones explain, and regress the outcome on what is left.${
            made.parameters.attribution === "sharp" ? " How many variables act on each other, and on the outcome, is learned from the cohort: what it does not support adds little." : ""
          }`,
      ),
      made.why_mechanism ? line("Relations", `${made.bent ? "nonlinear" : "linear"}. ${made.why_mechanism}`) : [],
      set.map(([name, value]) => line(name, String(value))),
      unset.length ? line("Not set", unset.map(([name]) => name).join(", ")) : [],
      line("Versions", `model by rootcausal ${made.fitted_with}, page by rootcausal ${made.version}; sums by the ${made.backend} backend`),
      line("Seed", content.bootstrap === null
        ? `none: ${seedless(made)}`
        : `${content.bootstrap.seed}, for the resamples; ${seedless(made)}`),
      line(...told.base()),
      content.calibration ? line("Calibration", `${content.calibration[0].toUpperCase()}${content.calibration.slice(1)}.`) : [],
      made.separated ? line("Caution", told.separated) : [],
      made.unsettled ? line("Caution", "The attribution did not settle within its limits: coefficients may change with small changes of the cohort.") : [],
    ),
    element("h3", {}, "Each variable without a prior, and by the model"),
    ...effectsTable(),
    element("h3", {}, "How sure"),
    element("p", {}, howSureMade()),
    made.halves ? element("p", { id: "halves" }, made.halves) : "",
    ...hiddenTable(),
    element("h3", {}, "What has to be true"),
    element("dl", { class: "facts" }, ASSUMPTIONS.map(([term, meaning]) => line(term, meaning))),
    element("h3", { id: "checks-title", tabindex: -1 }, "What the checks found"),
    ...checksList(made),
    element("p", { class: "caption" }, "A model's reading of one table, for research. It does not replace the judgement of those who treat the patient."),
  );
}

/** What each column does to the outcome with all others held fixed, before the model shrinks it. */
function effectsTable() {
  const { heading, head, rows, notes, of } = content.effects;
  const signed = (cell) => cell.replace(/(^|to )-(?=\d)/g, "$1−");
  return [
    element("p", {}, `${heading}.`),
    tableOf("Effects without a prior, and by the model", ["Variable", ...head], rows.map(([name, ...cells]) => [named(name), ...cells.map(signed)]), "effects-table"),
    rows.length < of ? element("p", { class: "caption" }, `The ${rows.length} surest of ${of.toLocaleString("en")}.`) : "",
    ...notes.map((note) => element("p", { class: "caption" }, note)),
  ];
}

/** How strong a hidden common cause of a variable and of the outcome would have to be. */
function hiddenTable() {
  const { head, rows, note } = content.effects.hidden;
  if (!rows.length) return [];
  return [
    element("p", {}, "All of this takes for granted that nothing is hidden that acts on a variable and on the outcome, and no data can show whether there is. What it would take, the least first:"),
    tableOf("What a hidden common cause would need", ["Variable", ...head], rows.map(([name, ...cells]) => [named(name), ...cells]), "hidden-table"),
    element("p", { class: "caption" }, `${note[0].toUpperCase()}${note.slice(1)}`),
  ];
}

function seedless({ bent }) {
  if (bent) return "what shocks add along nonlinear paths is sampled, always with the same numbers, so the same table gives the same page";
  return "the model itself draws no random numbers, so the same table gives the same model";
}

/** Reasons and names. */
function leftOut({ independent, adds_nothing: addsNothing, exhausted }) {
  return [
    ["no sign that the outcome depends on them", independent],
    ["associated with the outcome, but adding nothing once earlier variables are known", addsNothing],
    ["wholly explained by earlier variables", exhausted],
  ];
}

function howSureMade() {
  if (content.bootstrap === null) {
    return content.intervals === null
      ? "Not assessed: no resampling was made, so shocks come without intervals."
      : "Not assessed: no resampling was made. Intervals hold what values that were not measured leave open, and nothing else.";
  }
  const { resamples } = content.bootstrap;
  const kept = content.intervals;
  return (
    `The whole method was repeated on ${count(resamples, "resample")} of the cohort. An interval holds the middle 95 % of ` +
    `what a shock adds; the share says in how many resamples it works the way it does here. ` +
    (kept < nVariables ? `On a page of this size, only each patient's ${kept} strongest shocks carry them.` : "")
  );
}

function listOf(names) {
  const shown = names.slice(0, 50);
  const rest = names.length - shown.length;
  return element("span", {}, ...enumeration(shown.map((name) => [named(name)]), ", "), rest ? ` and ${rest.toLocaleString("en")} more` : "");
}
