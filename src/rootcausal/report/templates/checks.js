// What the checks of the model found, said where it matters: at the top, at risks, and at the variables concerned.

const LIMITS_SHOWN = 3;
// The worst first, as all checks are.
const limits = content.made.checks.filter((check) => check.limit);
// Too few patients to tell is no finding about a number: it is said at the top, below the patient's risk, and nowhere else.
const findings = limits.filter((check) => !["cannot tell", "not checked"].includes(check.verdict));

function verdictClass({ verdict }) {
  return verdict.replaceAll(" ", "-");
}

/** What a patient's page may not be read for; nothing where no check has a limit. */
function limitsBox() {
  if (!limits.length) return content.made.verdict === "not checked" ? uncheckedBox() : null;
  const shown = limits.slice(0, LIMITS_SHOWN);
  const rest = limits.length - shown.length;
  const groups = d3.groups(shown, (check) => check.reading);
  return element(
    "div",
    { class: `limits ${verdictClass(content.made)}`, id: "limits", role: "note", "aria-label": "What the checks say" },
    groups.map(([reading, group]) => [
      element("p", { class: "limits-head" }, limitsHead(reading, group.length)),
      element("ul", {}, group.map((check) => element("li", {}, check.limit))),
    ]),
    element("p", {}, rest ? `and ${rest.toLocaleString("en")} more. ` : "", checksButton("What the checks found")),
  );
}

function uncheckedBox() {
  return element(
    "div",
    { class: "limits not-checked", id: "limits", role: "note", "aria-label": "What the checks say" },
    element("p", {}, "Nobody checked whether this model is right for its patients. ", checksButton("What was checked")),
  );
}

function limitsHead(reading, n) {
  if (reading === "do not read") return "Do not read parts of this page:";
  return n === 1 ? "Go on with this limit in mind:" : "Go on with these limits in mind:";
}

function checksButton(text) {
  return element("button", { type: "button", class: "no-print", onclick: openChecks }, text);
}

function openChecks() {
  showView("about");
  document.getElementById("checks-title").focus();
}

// A column that comes after the outcome, or is it: then no risk is one, and all else may follow from it.
const LEAKS = ["gives_away", "terminal"];
const isLeak = (check) => LEAKS.includes(check.name) && check.verdict === "broken";
// Of the checks that touch stated risks the worst; the word for it, and how it stands beside every risk.
const ofRisk = limits.find((check) => check.touches === "risk" || isLeak(check)) ?? null;
const RISK_WORDS = { broken: ofRisk?.name === "calibrated" ? "uncalibrated" : "not to be read", doubtful: "in doubt", "cannot tell": "too few patients to check it", "not checked": "not checked" };
const riskWord = findings.includes(ofRisk) ? RISK_WORDS[ofRisk.verdict] : null;
const riskNote = riskWord === null ? "" : ` (${riskWord})`;

/** "uncalibrated: see the checks", at a risk. */
function riskMark(tag) {
  return ofRisk === null ? null : element(tag, { class: `mark ${verdictClass(ofRisk)}`, title: ofRisk.limit }, `${RISK_WORDS[ofRisk.verdict]}: see the checks`);
}

/** The name of a variable, or of all that are read as one. */
function namesOf(variable) {
  const { name, members } = variables[variable];
  return members.length ? members.map((member) => variables[member].name) : [name];
}

/** The findings about a variable's values, rank or place in the order, the worst first. */
function findingsOf(variable) {
  const names = namesOf(variable);
  // That two are not to be read apart is no news of a set of both.
  const isNews = (check) => names.length === 1 || check.name !== "unconfounded" || !check.concerned.every((name) => names.includes(name));
  const of = findings.filter((check) => ["variables", "order"].includes(check.touches) && check.concerned.some((name) => names.includes(name)) && isNews(check));
  // Of equally bad ones a leak comes first, and then that which names another variable to look at.
  return d3.sort(of, (check) => check.reading !== "do not read", (check) => !LEAKS.includes(check.name), (check) => check.name !== "unconfounded");
}

/** What a finding means for this variable, as elements of a sentence. */
function meaning(check, variable) {
  const others = check.concerned.filter((name) => !namesOf(variable).includes(name));
  if (check.name !== "unconfounded" || !others.length) return [check.limit];
  const both = others.length === 1;
  return ["Read together with ", ...enumeration(others.map((name) => [strong(named(name))]), " or "), `: something unmeasured may move ${both ? "both" : "them"}.`];
}

/** The worst finding about a variable in words, and how many more there are; null where there is none. */
function variableMark(tag, variable) {
  const [worst, ...rest] = findingsOf(variable);
  if (worst === undefined) return null;
  return element(
    tag,
    { class: `mark ${verdictClass(worst)}` },
    ...meaning(worst, variable),
    rest.length ? ` And ${count(rest.length, "more limit")}: see the checks.` : "",
  );
}

/** " *" behind the name of a variable that a check names; a legend says what it means. */
function star(variable) {
  return findingsOf(variable).length ? " *" : "";
}

function starLegend(shown) {
  if (!shown.some(star)) return "";
  return element("p", { class: "caption" }, "* A check names this variable, and says how far it can be read. ", checksButton("What the checks found"));
}

/** Limits of the order of variables, where the order is seen; that of names has its own place there. */
function orderLimits() {
  const of = findings.filter((check) => check.touches === "order" && check.name !== "as_named");
  if (!of.length) return null;
  return element("div", { class: "caution", id: "order-limits" }, of.map((check) => element("p", {}, check.limit)));
}

/** All checks with what they asked and found, the worst first. */
function checksList({ checks, verdict, not_made: notMade }) {
  const far = notMade && verdict !== "not checked" ? ", as far as it was checked" : "";
  return [
    element("p", { id: "overall" }, `Overall${far}: `, verdictBadge({ verdict }), ` ${OVERALL[verdict]}`),
    element(
      "ul",
      { id: "checks", class: "checks" },
      checks.map((check) =>
        element(
          "li",
          {},
          verdictBadge(check),
          " ",
          element("strong", {}, check.question),
          ` ${check.statement}`,
          check.variables.length ? [" Concerned: ", listOf(check.variables), "."] : "",
          check.limit ? element("p", { class: "limit" }, check.reading === "do not read" ? element("strong", {}, check.limit) : `Go on with this limit in mind: ${check.limit}`) : "",
          check.advice ? element("p", {}, `What to do: ${check.advice}`) : "",
        ),
      ),
    ),
    notMade ? element("p", {}, notMade) : "",
  ];
}

const OVERALL = {
  fine: "Go on. Nothing was found, which does not say that nothing is there.",
  "cannot tell": "Go on with the limits below in mind: there are too few patients to see some violations, even hard ones.",
  "not checked": "Nothing says that the model holds for these patients: with the outcomes of the patients it learned from, the checks can be made.",
  doubtful: "Go on with the limits below in mind.",
  broken: "Do not read the parts that are named below.",
};

function verdictBadge(check) {
  return element("span", { class: `verdict ${verdictClass(check)}` }, check.verdict);
}
