// The report: what its parts show, and how a choice in one changes the others.

/** The data of the page, which lie in it compressed. */
async function unpack() {
  const raw = atob(document.getElementById("data").textContent.trim());
  const packed = new Blob([Uint8Array.from(raw, (one) => one.charCodeAt(0))]);
  return new Response(packed.stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

const section = (id, title, ...parts) => element("section", { id }, element("h2", {}, title), parts);

/** Boxes to tick for each value of each dimension. */
function filters(rows, changed) {
  const dimensions = [["workload", workloadOf], ["layer", (run) => run.layer], ["drive", (run) => run.drive]];
  const off = dimensions.map(() => new Set());
  const passes = (run) => dimensions.every(([, of], at) => !off[at].has(of(run)));
  const told = element("p", { class: "faint", role: "status" });
  const apply = () => {
    const shown = rows.filter(passes);
    told.textContent = `${count(shown.length)} of ${count(rows.length)} runs are shown.`;
    changed(shown);
  };
  const group = ([name, of], at) => {
    const values = [...new Set(rows.map(of))];
    if (values.length < 2) return null;
    const box = (value) => element("input", { type: "checkbox", checked: true, name, value, onchange: (event) => {
      off[at][event.target.checked ? "delete" : "add"](value);
      apply();
    } });
    const set = element("fieldset", {}, element("legend", { class: "faint" }, `Show each ${name}`),
      values.map((value) => element("label", {}, box(value), ` ${value}`)));
    const all = (checked) => element("button", { type: "button", onclick: () => {
      off[at] = new Set(checked ? [] : values);
      for (const input of set.querySelectorAll("input")) input.checked = checked;
      apply();
    } }, checked ? "All" : "None");
    return element("details", {}, element("summary", {}, `${name}s (${values.length})`), set,
      element("span", { class: "bar" }, all(true), all(false)));
  };
  return { node: element("div", {}, element("div", { class: "filters" }, dimensions.map(group)), told), apply };
}

/** All numbers of the runs that are shown; those of one run in full below. */
function numbers(runs) {
  const columns = [
    ["workload", workloadOf], ["run", (run) => runs.name(run)], ["drive", driveOf],
    ...METRICS.map(([, label, value, shown]) => [label, value, shown]),
  ];
  const state = { by: null, up: true };
  const box = element("div", { class: "scroll", tabindex: 0, id: "runs" });
  const whole = element("div", { class: "scroll", tabindex: 0, id: "run", hidden: true });
  const open = (run) => {
    const fields = flat(run).map(([name, value]) => [name, value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value)]);
    whole.hidden = false;
    whole.replaceChildren(tableOf(["field", `${workloadOf(run)} on ${runs.name(run)}`], fields, { numeric: () => false }));
  };
  const fill = () => {
    const rows = [...runs.shown];
    const value = columns[state.by]?.[1];
    if (value) rows.sort((a, b) => { const [x, y] = [value(a), value(b)]; return (x > y ? 1 : x < y ? -1 : 0) * (state.up ? 1 : -1); });
    const head = columns.map(([name], at) => element("th", {
      scope: "col", class: at > 2 ? "number" : null, "aria-sort": state.by === at ? (state.up ? "ascending" : "descending") : null,
    }, element("button", { type: "button", onclick: () => { state.up = state.by === at ? !state.up : true; state.by = at; fill(); } }, name)));
    const body = rows.slice(0, 1000).map((run) => element("tr", {}, columns.map(([, of, shown], at) => {
      if (at === 1) return element("td", {}, element("button", { type: "button", onclick: () => open(run) }, of(run)));
      const late = behind(run) && columns[at][0].endsWith("latency");
      const one = of(run);
      return element("td", { class: at > 2 ? "number" : null, "data-value": at > 2 ? String(one) : null },
        late ? `late, ${number(behind(run))} ×` : shown ? (one === null || one === undefined ? "–" : shown(one)) : one);
    })));
    box.replaceChildren(element("table", {}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, body)));
  };
  const csv = element("button", { type: "button", onclick: () => {
    const rows = runs.shown.map((run) => new Map(flat(run)));
    const names = [...new Set(rows.flatMap((row) => [...row.keys()]))];
    save("runs.csv", "text/csv", csvOf(names, rows.map((row) => names.map((name) => row.get(name)))));
  } }, "Every field as CSV");
  const json = element("button", { type: "button", onclick: () =>
    save("runs.json", "application/json", JSON.stringify(runs.shown, null, 2)) }, "as JSON");
  return { node: element("div", {}, element("div", { class: "bar controls" }, csv, json), box, whole), fill };
}

/** The charts of one workload's runs, and what chooses it. */
function comparison(runs, state) {
  const of = () => [runs.of(state.workload), state.kind];
  const made = [
    new Figure("latency", "Latency", latencyChart(runs, of)), new Figure("cdf", "Distribution of latency", cdfChart(runs, of)),
    new Figure("amplification", "Write amplification", amplificationChart(runs, of)),
    new Figure("rewrites", "Rewrites and appends", eventsChart(runs, of)),
  ];
  const workload = choice("Workload", [], (name) => state.choose(name));
  const kind = choice("Latency of", [["", "reads and writes"], ["read", "reads"], ["write", "writes"]], (value) => { state.kind = value; made.forEach((one) => one.change()); });
  const fill = () => {
    workload.select.replaceChildren(...runs.workloads().map((name) => element("option", { value: name, selected: name === state.workload }, name)));
    made.forEach((one) => one.change());
  };
  const bar = element("div", { class: "bar controls" }, runs.workloads().length > 1 && workload.node, kind.node);
  return { node: element("div", {}, bar, element("div", { class: "figures" }, made.map((one) => one.node))), fill };
}

function overTime(page, state) {
  const isShown = (one) => one.run === null || state.runs.shown.includes(page.runs[one.run]) && workloadOf(page.runs[one.run]) === state.workload;
  const known = SERIES.filter((metric) => page.series.some((one) => valuesOf(one, metric).length));
  state.series = known[0]?.[0];
  const figure = new Figure("series", "Over time", seriesChart(page.series, () => [state.series, isShown]));
  const pick = choice("Show", known.map(([key, label]) => [key, label]), (key) => { state.series = key; figure.change(); });
  return { node: element("div", {}, element("div", { class: "bar controls" }, pick.node), element("div", { class: "figures wide" }, figure.node)), fill: () => figure.change() };
}

function unitMap(page) {
  const state = { units: 0, moment: 0 };
  const figure = new Figure("units", "What lies where", unitsChart(() => [page.units[state.units], state.moment]));
  return [unitControls(page.units, state, figure), element("div", { class: "figures wide" }, figure.node)];
}

function header(page, sections) {
  const synthetic = [...page.runs, ...page.series].filter((one) => one.synthetic).length;
  const says = synthetic === page.runs.length + page.series.length ? "synthetic" : "partly synthetic";
  const isSynthetic = synthetic > 0 || page.claims.some((claim) => claim.data !== "real");
  return element("header", {}, element("div", { class: "head" },
    element("h1", {}, page.title, isSynthetic && element("span", { class: "badge" }, synthetic ? says : "partly synthetic")), themeButton()),
    isSynthetic && element("p", { class: "faint" }, "Synthetic: no disk ever saw these requests; they were made after published figures or by a rule."),
    page.command && element("pre", { "aria-label": "the command that made this page" }, page.command),
    element("nav", { "aria-label": "sections" }, sections.map((one) => element("a", { href: `#${one.id}` }, one.querySelector("h2").textContent))));
}

function parts(page, state) {
  const runs = state.runs;
  const made = [];
  const add = (part) => { state.fills.push(part.fill); return part.node; };
  if (page.runs.length) {
    const chosen = runs.workloads().length > 1 && add(overview(runs, state, (name) => state.choose(name)));
    if (page.runs.length > 1) made.push(section("choose", "Runs", state.filters.node, chosen));
    made.push(section("compare", page.runs.length > 1 ? "Beside each other" : "What it cost", add(comparison(runs, state))));
  }
  if (page.series.length) made.push(section("time", "Over time", add(overTime(page, state))));
  if (page.units.length) made.push(section("units", "What lies where", unitMap(page)));
  if (page.claims.length) made.push(section("claims", "Claims", claimsSection(page.claims)));
  if (page.sheets.length) made.push(section("sheets", "Other results", page.sheets.flatMap(sheetSection)));
  if (page.runs.length) made.push(section("table", "Numbers", add(numbers(runs))));
  return made;
}

async function show() {
  const page = await unpack();
  const runs = new Runs(page.runs);
  for (const one of [...page.series, ...page.units]) one.name = one.run === null ? `${one.trace} on ${one.layer}` : runs.name(page.runs[one.run]);
  for (const one of page.units) if (one.run !== null) one.name = `${workloadOf(page.runs[one.run])}: ${one.name}`;
  const state = { runs, metric: "mean", kind: "", workload: runs.workloads()[0], fills: [] };
  const refill = () => state.fills.forEach((fill) => fill());
  state.choose = (name) => { state.workload = name; refill(); };
  state.filters = filters(page.runs, (shown) => {
    runs.shown = shown;
    if (!runs.workloads().includes(state.workload)) state.workload = runs.workloads()[0];
    refill();
  });
  const made = parts(page, state);
  const foot = element("footer", { class: "faint" }, element("hr"), element("p", {},
    `Made by ${page.program}. Charts: Apache ECharts ${echarts.version}, Apache License 2.0. This page loads nothing from anywhere.`));
  document.querySelector("main").replaceChildren(header(page, made), ...made, foot);
  if (page.runs.length) state.filters.apply();
  document.body.dataset.ready = "true";
}

show().catch((problem) => {
  document.querySelector("main").replaceChildren(element("p", { class: "warning", role: "alert" }, `This page cannot be shown: ${problem.message}`));
  throw problem;
});
