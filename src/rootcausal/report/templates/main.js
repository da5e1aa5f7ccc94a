// Tabs, address, theme and size: what ties the views together.

const VIEWS = { patient: drawShown, list: drawList, cohort: drawCohort, graph: drawGraph, about: drawAbout };
const tabs = Object.keys(VIEWS).map((view) => document.getElementById(`tab-${view}`));
let currentView = "patient";

/** Show a view that the reader chose. */
function showView(view, focus = false) {
  keepAddress(view);
  askedFor = null;
  openView(view, focus);
}

function openView(view, focus = false) {
  currentView = view;
  for (const tab of tabs) {
    const chosen = tab.id === `tab-${view}`;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    document.getElementById(tab.getAttribute("aria-controls")).hidden = !chosen;
    if (chosen && focus) tab.focus();
  }
  VIEWS[view]();
}

function openPatient(row) {
  currentRow = row;
  showView("patient");
  document.getElementById("patient").focus();
}

function onTabKey(event) {
  const at = tabs.indexOf(event.currentTarget);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  showView(Object.keys(VIEWS)[(to + tabs.length) % tabs.length], true);
}

function followAddress() {
  const { view, row } = fromAddress();
  currentRow = row;
  openView(Object.hasOwn(VIEWS, view) ? view : "patient");
}

function redraw() {
  const open = [...document.querySelectorAll("details")].map((details) => details.open);
  VIEWS[currentView]();
  document.querySelectorAll("details").forEach((details, place) => (details.open = open[place] ?? false));
}

function start() {
  const title = `Root causes of “${shownName(outcome)}”`;
  document.title = title;
  document.getElementById("title").replaceChildren("Root causes of “", named(outcome), "”");
  document.getElementById("subtitle").textContent =
    `${count(labels.length, rowNoun)}${content.n_patients === null ? "" : ` of ${count(content.n_patients, "patient")}`}. A model's reading for research, not medical advice. This file works offline and sends nothing.`;
  for (const tab of tabs) {
    tab.addEventListener("click", () => showView(tab.getAttribute("aria-controls")));
    tab.addEventListener("keydown", onTabKey);
  }
  startPicker();
  followAddress();
  if (location.hash === "") history.replaceState(null, "", addressOf("patient"));
  window.addEventListener("hashchange", followAddress);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  // Drawings made of pixels keep the colours they were drawn in: draw them for paper, then for the screen again.
  for (const [event, printing] of [["beforeprint", true], ["afterprint", false]]) {
    window.addEventListener(event, () => {
      document.documentElement.classList.toggle("printing", printing);
      redraw();
    });
  }
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    redraw();
  });
  performance.mark("ready");
  document.documentElement.dataset.ready = "yes";
}

start();
