// What every page has in common: elements, numbers as people read them, colours, tables and files.

/** An element with attributes and children. Text is always text, never markup. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "class") made.className = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

const THIN = "\u202f";

/** A count with its thousands apart. */
function count(value) {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, THIN);
}

/** A number to three digits, or whole where it is large. */
function number(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1000) return count(value);
  if (size === 0) return "0";
  if (size < 0.001) return value.toExponential(1);
  return String(Number(value.toPrecision(3)));
}

/** A time in the unit that people would take. */
function time(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "–";
  const units = [[1e-3, "µs"], [1, "ms"], [1e3, "s"], [6e4, "min"], [3.6e6, "h"]];
  const unit = units.findLast(([size]) => Math.abs(ms) >= size) ?? units[0];
  return ms === 0 ? "0" : `${number(ms / unit[0])} ${unit[1]}`;
}

/** A list in words, of `most` names and how many others there are. */
function listed(names, most = 3) {
  const shown = names.length > most + 1 ? [...names.slice(0, most), `${names.length - most} others`] : names;
  return shown.length > 1 ? `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}` : (shown[0] ?? "");
}

/** The noun, and how many there are of it. */
const several = (value, noun) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

/** A moment of a replay, in whole units. */
function moment(ms) {
  const rest = Math.round(ms / 1000);
  const parts = [[Math.floor(rest / 86400), "d"], [Math.floor(rest / 3600) % 24, "h"], [Math.floor(rest / 60) % 60, "min"], [rest % 60, "s"]];
  return parts.filter(([value]) => value).map(([value, unit]) => `${value} ${unit}`).join(" ") || "0";
}

/** Bytes in the unit that people would take. */
function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let at = 0;
  for (; Math.abs(value) >= 1024 && at < units.length - 1; at += 1) value /= 1024;
  return `${number(value)} ${units[at]}`;
}

const times = (value) => `${number(value)}\u00a0×`;

function percent(part) {
  return part === null || part === undefined ? "–" : `${number(part * 100)} %`;
}

// Okabe and Ito's colours, which are told apart without seeing all colours.
const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8c8c8c"];
// None of them is hollow: what ECharts fills those with is white in the dark too.
const SYMBOLS = ["circle", "rect", "triangle", "diamond", "roundRect", "path://M4,0h2v4h4v2h-4v4h-2v-4h-4v-2h4z", "arrow"];
const colour = (at) => COLOURS[at % COLOURS.length];
const symbol = (at) => SYMBOLS[at % SYMBOLS.length];

/** Hands a file to the reader of the page. */
function save(name, type, content) {
  const link = element("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function csvOf(columns, rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

/** A table whose numbers stand below each other. A cell is a value, or `{ shown, value }`. */
function tableOf(columns, rows, { numeric = () => true } = {}) {
  const isNumber = columns.map((name, at) => numeric(name, at));
  const cell = (value, at) => {
    const shown = value?.shown ?? value ?? "";
    return element("td", { class: isNumber[at] ? "number" : null }, shown instanceof Node ? shown : String(shown));
  };
  const head = columns.map((name, at) => element("th", { scope: "col", class: isNumber[at] ? "number" : null }, name));
  return element("table", {}, element("thead", {}, element("tr", {}, head)),
    element("tbody", {}, rows.map((row) => element("tr", {}, row.map(cell)))));
}

/** What may be wider or higher than its place, and is then scrolled, with the keyboard too. */
const scrolled = (label, ...content) => element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, content);
