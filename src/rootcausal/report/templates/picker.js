// Search box for patients (the ARIA combobox pattern), previous and next, and the patient in the address.

const MATCHES_SHOWN = 50;
const searchBox = document.getElementById("search");
const matchList = document.getElementById("matches");
const lowered = labels.map((label) => label.toLowerCase());
const rowOfLabel = new Map(labels.map((label, row) => [label, row]));

let currentRow = 0;
let active = -1;

function found(text) {
  const wanted = text.trim().toLowerCase();
  const start = [];
  const inside = [];
  for (let row = 0; row < lowered.length && start.length < MATCHES_SHOWN; row++) {
    const at = lowered[row].indexOf(wanted);
    if (at === 0) start.push(row);
    else if (at > 0 && inside.length < MATCHES_SHOWN) inside.push(row);
  }
  const exact = start.filter((row) => lowered[row] === wanted);
  return [...exact, ...start.filter((row) => !exact.includes(row)), ...inside].slice(0, MATCHES_SHOWN);
}

function showMatches() {
  const rows = found(searchBox.value);
  active = rows.length && searchBox.value.trim() ? 0 : -1;
  matchList.replaceChildren(
    ...rows.map((row, place) =>
      element(
        "li",
        {
          role: "option",
          id: `match-${place}`,
          "data-row": row,
          "aria-selected": String(place === active),
          onclick: () => choose(row),
        },
        named(labels[row]),
        element("span", { class: "match-risk" }, `${told.inList(predictor(row))}${riskNote}`),
      ),
    ),
  );
  if (!rows.length) {
    matchList.append(
      element("li", { role: "option", "aria-disabled": "true", "aria-selected": "false" }, "No such patient"),
    );
  }
  matchList.hidden = false;
  searchBox.setAttribute("aria-expanded", "true");
  markActive();
}

function hideMatches() {
  matchList.hidden = true;
  searchBox.setAttribute("aria-expanded", "false");
  searchBox.removeAttribute("aria-activedescendant");
}

function markActive() {
  const options = matchList.querySelectorAll("[data-row]");
  options.forEach((option, place) => option.setAttribute("aria-selected", String(place === active)));
  if (active >= 0 && options[active]) {
    searchBox.setAttribute("aria-activedescendant", options[active].id);
    options[active].scrollIntoView({ block: "nearest" });
  } else {
    searchBox.removeAttribute("aria-activedescendant");
  }
}

function choose(row) {
  hideMatches();
  searchBox.value = "";
  showPatient(row);
}

function onSearchKey(event) {
  const options = matchList.querySelectorAll("[data-row]");
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    if (matchList.hidden) return showMatches();
    const step = event.key === "ArrowDown" ? 1 : -1;
    if (options.length) active = (active + step + options.length) % options.length;
    markActive();
  } else if (event.key === "Enter" && !matchList.hidden && options[active]) {
    event.preventDefault();
    choose(Number(options[active].dataset.row));
  } else if (event.key === "Escape") {
    hideMatches();
  }
}

/** Keep what is shown in the address: a link can be passed on, and Back goes back. */
function keepAddress(view) {
  const address = addressOf(view);
  if (location.hash === address) return;
  // The first address of a visit, or one that names nobody, is not worth going back to.
  if (location.hash === "" || askedFor !== null) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
}

// The patient that the address asked for, where there is none of this name.
let askedFor = null;

function unknownPatient() {
  if (askedFor === null) return null;
  return element("p", { class: "caution", id: "unknown", role: "status" }, "No patient “", named(shortened(askedFor, 80)), "” is on this page. Shown instead: patient ", named(labels[currentRow]), ".");
}

/** Show a patient whom the reader chose. */
function showPatient(row) {
  currentRow = row;
  keepAddress("patient");
  askedFor = null;
  drawShown();
}

/** Draw the current patient, and say so. */
function drawShown() {
  const row = currentRow;
  drawPatient(row);
  document.getElementById("previous").disabled = row === 0;
  document.getElementById("next").disabled = row === labels.length - 1;
  document.getElementById("announce").textContent =
    `Patient ${shownName(labels[row])}, ${told.inList(predictor(row))}${riskNote}`;
}

function addressOf(view) {
  return `#${view}/${encodeURIComponent(labels[currentRow])}`;
}

/** View and patient that the address names; an unknown one is remembered, and another one shown. */
function fromAddress() {
  const [view, ...rest] = location.hash.slice(1).split("/");
  const label = rest.join("/");
  let wanted = label;
  try {
    wanted = decodeURIComponent(label);
  } catch {
    // An address cut off in the middle of a character names nobody.
  }
  const row = rowOfLabel.get(wanted);
  askedFor = row === undefined && wanted !== "" ? wanted : null;
  return { view, row: row ?? currentRow };
}

function startPicker() {
  searchBox.addEventListener("input", showMatches);
  searchBox.addEventListener("focus", showMatches);
  searchBox.addEventListener("keydown", onSearchKey);
  searchBox.addEventListener("blur", hideMatches);
  // Before the blur hides the list, so that the click still finds its option.
  matchList.addEventListener("mousedown", (event) => event.preventDefault());
  searchBox.placeholder = `search ${count(labels.length, "patient")} by id`;
  document.getElementById("previous").addEventListener("click", () => showPatient(currentRow - 1));
  document.getElementById("next").addEventListener("click", () => showPatient(currentRow + 1));
}
