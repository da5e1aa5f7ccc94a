// Every term at hand: where it stands, a button opens what it means; all of them together stand at the end.

/** The terms of this page and what they mean, by name. */
function terms() {
  const [rootCause, ...scale] = told.glossary();
  const spoken = content.prevalence === null ? "cohort" : "population";
  return [
    ["Shock", `The part of a measurement that its own causes, as the model learned them, do not explain: measured, less what is expected from this patient's other values. It is counted in standard deviations (SD) of the ${spoken}.`],
    ["Expected", "What the model expects of a measurement from this patient's other values: those that come before it in the causal order. It is the measurement without its own shock."],
    onLogScale.length
      ? ["Log scale", `The model works with the logarithm of ${onLogScale.map((one) => shownName(one.name)).slice(0, 50).join(", ")}. Values are shown in their own unit; a shock of one SD makes them so many times as high or as low, not so many units.`]
      : null,
    rootCause,
    ["Stands out", `One rule: ${told.notableRule()}. Weaker shocks are not named; they count in all sums, and stand in the table. So do those on what was not measured, unless their own interval excludes zero.`],
    covariates.length
      ? ["Adjusted for", `Covariates come before all other variables: what they explain of these is taken out, and what they add to the ${told.it} stands apart. They are not asked whether they are root causes.`]
      : null,
    ...scale,
    content.bootstrap === null
      ? null
      : ["Firm, likely, unsure", `The whole method was repeated on ${count(content.bootstrap.resamples, "resample")} of the cohort. Firm: the shock works the way that it does here in at least ${FIRM_FROM} % of them, so that its 95 % interval keeps away from zero. Likely: in at least ${LIKELY_FROM} % of the resamples. Unsure: in fewer. All three are as sure as that only if nothing is hidden that acts on a variable and on the outcome, and if values are exact: “How it was made” says what a hidden cause would need${content.made.halves ? `, and how often two halves of the cohort agree. ${content.made.halves}` : "."}`],
    hasRecalibrated
      ? ["Recalibrated", `The model knows what happened to the patients that it learned from. Recalibrated is the risk that they would be told if it had not seen them: a fifth of them at a time was told by a model of the others, and what happened to those who were told so much is what counts.`]
      : null,
    content.intervals === null
      ? null
      : ["95 % interval", "It holds the middle 95 % of what the resamples say, and what values that were not measured leave open. It need not hold the value that the model itself found: where it does not, the resamples seldom found that value. An interval that ends at exactly 0 says that some resamples left the variable out: there it was no cause at all."],
    variables.some((variable) => variable.levels.length) ? [told.byLevelTitle, LEVEL_SET] : null,
    hasImputed
      ? ["Not measured; expected", "The table has no value here. What is expected given all that was measured of this patient stands in for it, and the interval holds how far that may be off."]
      : null,
    [told.withoutTitle, SHOCK_AVERAGE],
    ["Typical patient", "One with the middle value (median) of each variable in the cohort."],
  ].filter((entry) => entry !== null);
}

function glossary() {
  return folded("What the words mean", { class: "glossary", id: "glossary" }, element("dl", {}, terms().map((entry) => line(...entry))));
}

const termBox = document.getElementById("term-box");

/** A word with its meaning at hand: a button that opens it, and closes it again. */
function term(word, name = word) {
  return element("button", { type: "button", class: "term", "aria-haspopup": "dialog", onclick: () => showTerm(name) }, word);
}

function showTerm(name) {
  const [title, meaning] = terms().find(([one]) => one.toLowerCase() === name.toLowerCase());
  termBox.replaceChildren(
    element("strong", {}, title),
    element("p", {}, meaning),
    element("button", { type: "button", onclick: () => termBox.close() }, "Close"),
  );
  if (!termBox.open) termBox.showModal();
}
