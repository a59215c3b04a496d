// Figures: charts in the colours of the page, which can be taken away.

const look = {
  get paper() { return "paper" in document.documentElement.dataset; },
  get dark() { return document.documentElement.dataset.theme === "dark"; },
  get ink() { return styled("--ink"); },
  patterns: false,
};

/** A colour of the style sheet at the moment. */
function styled(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** The bar below a chart that a part of it is chosen with. */
function slider(faint, line, ink) {
  const shadow = { lineStyle: { color: faint, width: 0.5 }, areaStyle: { color: line, opacity: 0.4 } };
  return {
    borderColor: line, fillerColor: "rgba(128, 128, 128, 0.15)", backgroundColor: "transparent", textStyle: { color: ink },
    dataBackground: shadow, selectedDataBackground: shadow, moveHandleStyle: { color: faint, opacity: 0.5 },
    handleStyle: { color: faint, borderColor: faint },
  };
}

/** What all charts look like at the moment. */
function themed(option) {
  const [ink, faint, line, ground] = ["--ink", "--faint", "--line", "--ground"].map(styled);
  const axis = (one) => ({
    axisLine: { onZero: false, lineStyle: { color: faint } }, ...one, splitLine: { ...one.splitLine, lineStyle: { color: line } },
    nameTextStyle: { color: faint, ...one.nameTextStyle }, axisLabel: { color: ink, hideOverlap: true, ...one.axisLabel },
  });
  const each = (axes) => [axes].flat().map(axis);
  return {
    animation: false, color: COLOURS, backgroundColor: "transparent", useUTC: true,
    textStyle: { fontFamily: "system-ui, sans-serif", color: ink },
    // The figure says what it shows; the library would replace that by a list of numbers.
    aria: { enabled: true, label: { enabled: false }, decal: { show: look.patterns } },
    ...option,
    tooltip: {
      renderMode: "richText", confine: true, backgroundColor: ground, borderColor: line, textStyle: { color: ink }, ...option.tooltip,
    },
    title: option.title && { left: "center", textStyle: { color: ink, fontSize: 15 }, ...option.title },
    dataZoom: option.dataZoom?.map((one) => (one.type === "slider" ? { ...slider(faint, line, ink), ...one } : one)),
    legend: option.legend && {
      top: 0, textStyle: { color: ink }, ...option.legend,
    },
    xAxis: each(option.xAxis), yAxis: each(option.yAxis),
  };
}

const figures = new Set();
const NARROW = 560;
const HEIGHT = 320;
/** The highest chart that fits on a sheet of A4 below a title and an answer. */
const PAGE = 780;

/** A chart with room for all rows of its legend, which stands so far from the top, and how much higher that makes it. */
function withLegend(option, width, top) {
  if (!option.legend) return { option: { ...option, grid: { ...option.grid, top: option.grid.top + top } }, more: top };
  const names = option.legend.data ?? option.series.map((one) => one.name);
  const rows = Math.ceil(names.reduce((sum, name) => sum + 44 + 6.5 * name.length, 0) / Math.max(width, 300));
  const more = top + 22 * Math.max(0, rows - 1);
  return { option: { ...option, legend: { ...option.legend, top }, grid: { ...option.grid, top: option.grid.top + more } }, more };
}

/**
 * A chart with a caption, its data as a table and as CSV, and itself as SVG and PNG. `draw` answers what there is to
 * see at the moment, or nothing: `{ option, title, height, finds, says, columns, rows }`. `finds` is what the chart
 * shows in words, which may stand above it already (`isSaidAbove`), and `says` how it is to be read. With
 * `isLegendElsewhere` the page has the legend, and only what is saved has one of its own. `draw` is told whether the
 * chart is narrow.
 */
class Figure {
  constructor(id, title, draw) {
    Object.assign(this, { id, title, draw, isSeen: false, isStale: true });
    this.chart = element("div", { class: "chart", role: "img" });
    this.caption = element("strong", {}, title);
    this.note = element("p", { class: "note" });
    this.data = element("details", {}, element("summary", {}, "Data"));
    this.data.addEventListener("toggle", () => this.fillData());
    const tool = (name, what, act) => element("button", { type: "button", "aria-label": `${name}: save ${what} of ${title}`, onclick: act }, name);
    this.node = element("figure", { id: `figure-${id}` },
      element("figcaption", {}, this.caption, element("span", { class: "tools" },
        tool("SVG", "the chart", () => this.saveSvg()), tool("PNG", "the chart", () => this.savePng()),
        tool("CSV", "the data", () => this.saveCsv()))),
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
    this.node.hidden = false;
    this.isNarrow = this.chart.clientWidth > 0 && this.chart.clientWidth < NARROW;
    const drawn = this.draw({ isNarrow: this.isNarrow });
    this.node.hidden = !drawn;
    if (!drawn) return;
    this.drawn = drawn;
    this.caption.textContent = drawn.title ?? this.title;
    const { option, more } = this.onPage();
    this.chart.style.height = `${Math.min((drawn.height ?? HEIGHT) + more, look.paper ? PAGE : Infinity)}px`;
    const said = (...texts) => texts.filter(Boolean).join(" ");
    this.chart.setAttribute("aria-label", said(`${this.caption.textContent}.`, drawn.finds, drawn.says, "The data follow as a table."));
    this.note.textContent = said(!drawn.isSaidAbove && drawn.finds, drawn.says);
    this.note.hidden = !this.note.textContent;
    this.echart ??= echarts.init(this.chart, null, { renderer: "svg" });
    // In this order, since only the latter is done at once, and not in the next frame, which comes too late for paper.
    this.echart.resize();
    this.echart.setOption(themed(option), { notMerge: true });
    this.fillData();
  }

  /** The chart on the page, without a legend if that has it, and so without the room for one. */
  onPage() {
    const { option, isLegendElsewhere } = this.drawn;
    if (!isLegendElsewhere) return withLegend(option, this.chart.clientWidth, 0);
    return { option: { ...option, legend: { ...option.legend, show: false }, grid: { ...option.grid, top: option.grid.top - 26 } }, more: 0 };
  }

  /** The chart as it stands alone: with its title and its legend, and without what is only moved. */
  alone() {
    const { dataZoom, ...still } = this.drawn.option;
    const width = Math.max(this.chart.clientWidth, 300);
    const { option, more } = withLegend(still, width, 30);
    const saved = dataZoom ? option.grid.bottom - 8 : 0;
    return {
      size: { width, height: (this.drawn.height ?? HEIGHT) + more - saved },
      option: { ...option, title: { text: this.caption.textContent, top: 2 }, grid: { ...option.grid, bottom: option.grid.bottom - saved } },
    };
  }

  /** The widths that a browser goes through while it prints are not those of the paper. */
  resized() {
    if (!this.echart || !this.chart.clientWidth || look.paper) return;
    this.echart.resize();
    if (this.isNarrow !== this.chart.clientWidth < NARROW) this.change();
  }

  fillData() {
    if (!this.data.open || !this.drawn) return;
    const { columns, rows } = this.drawn;
    const shown = rows.slice(0, 2000).map((row) => row.map((value) => (typeof value === "number" ? number(value) : value)));
    const more = rows.length > shown.length && element("p", { class: "note" }, `${count(rows.length)} rows; all of them are in the CSV.`);
    const isNumber = columns.map((_, at) => rows.every((row) => row[at] === null || typeof row[at] === "number"));
    this.data.replaceChildren(this.data.firstChild,
      scrolled(`data of ${this.title}`, tableOf(columns, shown, { numeric: (_, at) => isNumber[at] })), more || "");
  }

  ready() { if (this.isStale || !this.drawn) this.paint(); }

  saveSvg() {
    this.ready();
    const { option, size } = this.alone();
    const drawing = echarts.init(null, null, { renderer: "svg", ssr: true, ...size });
    drawing.setOption(themed(option));
    save(`${this.id}.svg`, "image/svg+xml", drawing.renderToSVGString());
    drawing.dispose();
  }

  savePng() {
    this.ready();
    const aside = element("div", { class: "skip" });
    const { option, size } = this.alone();
    aside.style.cssText = `width:${size.width}px;height:${size.height}px`;
    document.body.append(aside);
    const canvas = echarts.init(aside, null, { renderer: "canvas" });
    canvas.setOption(themed(option));
    const url = canvas.getDataURL({ pixelRatio: 2, backgroundColor: styled("--ground") });
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
  for (const entry of entries) [...figures].find((one) => one.chart === entry.target)?.resized();
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

/** Light on paper, and every chart as wide as it; afterwards all is as it was. */
function printing(set) {
  let before = null;
  const all = (act) => { for (const figure of figures) if (figure.node.isConnected) act(figure); };
  addEventListener("beforeprint", () => {
    before = look.dark;
    document.documentElement.dataset.paper = "true";
    set(false);
    all((figure) => figure.paint());
  });
  addEventListener("afterprint", () => {
    delete document.documentElement.dataset.paper;
    if (before !== null) set(before);
    all((figure) => figure.change());
  });
}

/** Light or dark as the system has it, until the reader chooses. */
function themeButton() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const set = (dark) => { document.documentElement.dataset.theme = dark ? "dark" : "light"; repaint(); };
  system.addEventListener("change", () => set(system.matches));
  set(system.matches);
  printing(set);
  const patterns = element("button", { type: "button", "aria-pressed": "false", onclick: () => {
    look.patterns = !look.patterns;
    patterns.setAttribute("aria-pressed", String(look.patterns));
    repaint();
  } }, "Patterns");
  return element("span", { class: "bar controls" }, patterns,
    element("button", { type: "button", onclick: () => set(!look.dark) }, "Light / dark"));
}
