// One legend for all charts whose lines are runs.

const LINES = 8;
const DASHES = ["solid", "dashed", "dotted"];

/** The runs of the workload that is chosen, each with a colour, and which of them are drawn. */
class Legend {
  constructor(runs, state) {
    Object.assign(this, { runs, state, off: new Set(), styles: new Map(), changed: [] });
    this.list = element("span", { class: "legend", role: "group", "aria-label": "runs that are drawn" });
    this.node = element("div", { class: "bar" }, this.list);
  }

  /** The first conventional disk, the best of each, what is late, and then all others: the first of them are drawn. */
  order() {
    const lines = this.runs.lines(this.state.workload);
    const kinds = kindsOf(lines, (run) => latencyOf(run, "mean"));
    const first = [0, 1, 3].flatMap((kind) => lines.filter((_, at) => kinds[at] === kind).slice(0, kind === 1 ? LINES : 1));
    return [...new Set([...first, ...lines])].filter((line) => line.run);
  }

  fill() {
    const order = this.order();
    for (const [at, { run }] of order.entries()) {
      if (this.styles.has(run)) continue;
      this.styles.set(run, { color: colour(at), symbol: symbol(at), dash: DASHES[Math.floor(at / COLOURS.length) % DASHES.length] });
      if (at >= LINES) this.off.add(run);
    }
    this.node.hidden = order.length < 2;
    this.list.replaceChildren(...order.map(({ run, full }) => this.button(run, full)));
    this.changed.forEach((change) => change());
  }

  button(run, name) {
    const swatch = element("span", { class: "swatch" });
    const style = this.styles.get(run);
    swatch.style.borderTop = `4px ${style.dash} ${style.color}`;
    const button = element("button", { type: "button", "aria-pressed": String(!this.off.has(run)), onclick: () => {
      this.off[this.off.has(run) ? "delete" : "add"](run);
      button.setAttribute("aria-pressed", String(!this.off.has(run)));
      this.changed.forEach((change) => change());
    } }, swatch, ` ${name}`);
    return button;
  }

  isOn(run) { return !this.off.has(run); }

  /** What a line of a run looks like. */
  line(run, width = 1.8) {
    const style = this.styles.get(run);
    return { symbol: style.symbol, itemStyle: { color: style.color, borderWidth: 0 }, lineStyle: { color: style.color, width, type: style.dash } };
  }
}
