// What every page has in common: elements, numbers as people read them, colours, and figures that can be taken away.

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

/** Bytes in the unit that people would take. */
function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let at = 0;
  for (; Math.abs(value) >= 1024 && at < units.length - 1; at += 1) value /= 1024;
  return `${number(value)} ${units[at]}`;
}

function percent(part) {
  return part === null || part === undefined ? "–" : `${number(part * 100)} %`;
}

// Okabe and Ito's colours, which are told apart without seeing all colours; the first is that of the text.
const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8c8c8c"];
const SYMBOLS = ["circle", "rect", "triangle", "diamond", "roundRect", "pin", "arrow", "emptyCircle"];
const colour = (at) => COLOURS[at % COLOURS.length];
const symbol = (at) => SYMBOLS[at % SYMBOLS.length];

const look = {
  get dark() { return document.documentElement.dataset.theme === "dark"; },
  patterns: false,
};

/** What all charts look like at the moment. */
function themed(option) {
  const style = getComputedStyle(document.documentElement);
  const [ink, faint, line, ground] = ["--ink", "--faint", "--line", "--ground"].map((name) => style.getPropertyValue(name).trim());
  const axis = (one) => ({
    axisLine: { lineStyle: { color: faint } }, splitLine: { lineStyle: { color: line } }, ...one,
    nameTextStyle: { color: faint, ...one.nameTextStyle }, axisLabel: { color: ink, hideOverlap: true, ...one.axisLabel },
  });
  const each = (axes) => [axes].flat().map(axis);
  return {
    animation: false, color: COLOURS, backgroundColor: "transparent",
    textStyle: { fontFamily: "system-ui, sans-serif", color: ink },
    aria: { enabled: true, decal: { show: look.patterns } },
    ...option,
    tooltip: {
      renderMode: "richText", confine: true, backgroundColor: ground, borderColor: line, textStyle: { color: ink }, ...option.tooltip,
    },
    legend: option.legend && {
      type: "scroll", top: 0, textStyle: { color: ink }, pageTextStyle: { color: ink }, pageIconColor: ink, ...option.legend,
    },
    xAxis: each(option.xAxis), yAxis: each(option.yAxis),
  };
}

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

const figures = new Set();

/**
 * A chart with a caption, its data as a table and as CSV, and itself as SVG and PNG. `draw` answers
 * `{ option, height, columns, rows, says }` of the moment, or nothing while there is nothing to show.
 */
class Figure {
  constructor(id, title, draw) {
    Object.assign(this, { id, title, draw, isSeen: false, isStale: true });
    this.chart = element("div", { class: "chart", role: "img", tabindex: 0 });
    this.note = element("p", { class: "note" });
    this.data = element("details", {}, element("summary", {}, "Data"));
    this.data.addEventListener("toggle", () => this.fillData());
    const tool = (name, what, act) => element("button", { type: "button", "aria-label": `${title}: ${what}`, onclick: act }, name);
    this.node = element("figure", { id: `figure-${id}` },
      element("figcaption", {}, element("strong", {}, title), element("span", { class: "tools" },
        tool("SVG", "save the chart as SVG", () => this.saveSvg()),
        tool("PNG", "save the chart as PNG", () => this.savePng()),
        tool("CSV", "save its data as CSV", () => this.saveCsv()))),
      this.chart, this.note, this.data);
    figures.add(this);
    Figure.watch.observe(this.node);
    Figure.sizes.observe(this.chart);
  }

  /** What it shows has changed. It is drawn when it is visible, or to know whether there is anything to see. */
  change() {
    this.isStale = true;
    if (this.isSeen || this.node.hidden) this.paint();
  }

  paint() {
    this.isStale = false;
    const drawn = this.draw();
    this.node.hidden = !drawn;
    if (!drawn) return;
    this.drawn = drawn;
    this.chart.style.height = `${drawn.height ?? 320}px`;
    this.chart.setAttribute("aria-label", `${this.title}. ${drawn.says ?? ""} The data follow as a table.`);
    this.note.textContent = drawn.says ?? "";
    this.note.hidden = !drawn.says;
    this.echart ??= echarts.init(this.chart, null, { renderer: "svg" });
    this.echart.setOption(themed(drawn.option), { notMerge: true });
    this.echart.resize();
    this.fillData();
  }

  fillData() {
    if (!this.data.open || !this.drawn) return;
    const { columns, rows } = this.drawn;
    const shown = rows.slice(0, 2000).map((row) => row.map((value) => (typeof value === "number" ? number(value) : value)));
    const more = rows.length > shown.length && element("p", { class: "note" }, `${count(rows.length)} rows; all of them are in the CSV.`);
    const isNumber = columns.map((_, at) => rows.every((row) => row[at] === null || typeof row[at] === "number"));
    this.data.replaceChildren(this.data.firstChild,
      element("div", { class: "scroll", tabindex: 0 }, tableOf(columns, shown, { numeric: (_, at) => isNumber[at] })), more || "");
  }

  ready() { if (this.isStale || !this.drawn) this.paint(); }
  svg() { this.ready(); return this.echart.renderToSVGString(); }
  saveSvg() { save(`${this.id}.svg`, "image/svg+xml", this.svg()); }

  savePng() {
    this.ready();
    const aside = element("div", { class: "skip" });
    aside.style.cssText = `width:${this.chart.clientWidth}px;height:${this.chart.clientHeight}px`;
    document.body.append(aside);
    const canvas = echarts.init(aside, null, { renderer: "canvas" });
    canvas.setOption(themed(this.drawn.option));
    const ground = getComputedStyle(document.documentElement).getPropertyValue("--ground").trim();
    const url = canvas.getDataURL({ pixelRatio: 2, backgroundColor: ground });
    canvas.dispose();
    aside.remove();
    const raw = atob(url.slice(url.indexOf(",") + 1));
    save(`${this.id}.png`, "image/png", Uint8Array.from(raw, (one) => one.charCodeAt(0)));
  }

  saveCsv() {
    this.ready();
    save(`${this.id}.csv`, "text/csv", csvOf(this.drawn.columns, this.drawn.rows));
  }
}

Figure.watch = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const figure = [...figures].find((one) => one.node === entry.target);
    figure.isSeen = entry.isIntersecting;
    if (figure.isSeen && figure.isStale) figure.paint();
  }
}, { rootMargin: "300px" });
Figure.sizes = new ResizeObserver((entries) => {
  for (const entry of entries) echarts.getInstanceByDom(entry.target)?.resize();
});

/** Draws everything again, as after a change of theme. */
function repaint() {
  for (const figure of figures) figure.change();
}

/** A choice among names that calls `act` with each change. */
function choice(label, options, act) {
  const select = element("select", { onchange: () => act(select.value) },
    options.map(([value, shown]) => element("option", { value }, shown ?? value)));
  return { select, node: element("label", {}, `${label} `, select) };
}

/** Light or dark as the system has it, until the reader chooses. */
function themeButton() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const set = (dark) => { document.documentElement.dataset.theme = dark ? "dark" : "light"; repaint(); };
  system.addEventListener("change", () => set(system.matches));
  set(system.matches);
  let before = null;
  addEventListener("beforeprint", () => { before = look.dark; set(false); for (const figure of figures) figure.ready(); });
  addEventListener("afterprint", () => { if (before !== null) set(before); });
  const patterns = element("button", { type: "button", "aria-pressed": "false", onclick: () => {
    look.patterns = !look.patterns;
    patterns.setAttribute("aria-pressed", String(look.patterns));
    repaint();
  } }, "Patterns");
  return element("span", { class: "bar controls" }, patterns,
    element("button", { type: "button", onclick: () => set(!look.dark) }, "Light / dark"));
}
