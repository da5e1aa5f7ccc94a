// What the drawings share: how they are made, their measures, and their colours.

/** A drawing by Observable Plot. To a screen reader it is one picture with a name; tables hold its numbers. */
function drawing(options) {
  const made = Plot.plot({ className: "plot", style: { fontSize: "12px" }, ...options });
  made.setAttribute("role", "img");
  made.querySelectorAll("[aria-label]").forEach((part) => part.removeAttribute("aria-label"));
  return made;
}

// How an axis is called: in its middle, without an arrow.
const BELOW = { labelAnchor: "center", labelArrow: "none" };

// The width of a drawing on paper, whatever the window: the page is printed on one sheet.
const PAPER_WIDTH = 860;
const printing = () => document.documentElement.classList.contains("printing");

function widthOf(place) {
  return printing() ? PAPER_WIDTH : place.clientWidth || 640;
}

/** Size and left margin shared by the drawings with one line for each variable. */
function frame(place) {
  const width = widthOf(place);
  const narrow = width < 520;
  return { width, narrow, marginLeft: narrow ? 122 : 210, letters: narrow ? 13 : 25 };
}

/** Text next to a bar or dot, with a halo so that lines behind it do not cross it. */
function beside(rows, x, text, side) {
  const style = { fill: "currentColor", stroke: "var(--paper)", strokeWidth: 4, fontWeight: 600 };
  const to = side === "right" ? { textAnchor: "start", dx: 8 } : { textAnchor: "end", dx: -6 };
  return rows.length ? [Plot.text(rows, { x, y: "place", text, ...style, ...to })] : [];
}

/** A colour of the style sheet as the screen shows it now: images cannot follow the theme by themselves. */
function ink(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
