// Every number of the runs that are shown, and what chooses the runs.

/** Boxes to tick for each value of each dimension. */
function filters(rows, changed) {
  const dimensions = [["workload", workloadOf], ["layer", (run) => run.layer], ["drive", (run) => run.drive]];
  const off = dimensions.map(() => new Set());
  const passes = (run) => dimensions.every(([, of], at) => !off[at].has(of(run)));
  const told = element("span", { class: "faint", role: "status" });
  const apply = () => {
    const shown = rows.filter(passes);
    told.textContent = `${count(shown.length)} of ${several(rows.length, "run")} are shown.`;
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
  return { node: element("div", { class: "filters" }, dimensions.map(group)), told, apply };
}

/** A run's line; all of its fields open below it. */
function numbersRow(run, columns) {
  let fields = null;
  const button = element("button", { type: "button", class: "link", "aria-expanded": "false", onclick: () => {
    if (fields) { fields.remove(); fields = null; } else { fields = fieldsOf(run, columns.length); row.after(fields); }
    button.setAttribute("aria-expanded", String(fields !== null));
  } });
  const row = element("tr", {}, columns.map(({ value, shown, isNumber, opens }) => {
    if (opens) button.append(value(run));
    return element("td", { class: isNumber ? "number" : null, "data-value": isNumber ? String(value(run)) : null }, opens ? button : shown(run));
  }));
  return row;
}

function fieldsOf(run, width) {
  const shown = (value) => (value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));
  const fields = flat(run).map(([name, value]) => [name, shown(value)]);
  const table = tableOf(["field", `${workloadOf(run)} on ${run.layer}`], fields, { numeric: () => false });
  return element("tr", { class: "fields" }, element("td", { colspan: width }, table));
}

/** A table of the runs, in the order of the column that was chosen. */
function numbers(runs) {
  const words = [["workload", workloadOf], ["run", (run) => runs.shortNames.get(run)], ["drive", driveOf]];
  const columns = [
    ...words.map(([name, value]) => ({ name, value, shown: value, opens: name === "run" })),
    ...metricsOf(runs.all).map((metric) => ({ name: metric[1], value: (run) => metric[2](run, runs), shown: (run) => shownOf(run, metric, runs), isNumber: true })),
  ];
  const state = { by: null, up: true };
  const box = scrolled("numbers of the runs");
  box.id = "runs";
  const heading = (column) => element("th", {
    scope: "col", class: column.isNumber ? "number" : null, "aria-sort": state.by === column ? (state.up ? "ascending" : "descending") : null,
  }, element("button", { type: "button", onclick: () => { state.up = state.by === column ? !state.up : true; state.by = column; fill(); } }, column.name));
  const fill = () => {
    const rows = [...runs.shown];
    const value = state.by?.value;
    if (value) rows.sort((a, b) => { const [x, y] = [value(a), value(b)]; return (x > y ? 1 : x < y ? -1 : 0) * (state.up ? 1 : -1); });
    box.replaceChildren(element("table", {}, element("thead", {}, element("tr", {}, columns.map(heading))),
      element("tbody", {}, rows.slice(0, 1000).map((run) => numbersRow(run, columns)))));
  };
  const csv = element("button", { type: "button", onclick: () => {
    const rows = runs.shown.map((run) => new Map(flat(run)));
    const names = [...new Set(rows.flatMap((row) => [...row.keys()]))];
    save("runs.csv", "text/csv", csvOf(names, rows.map((row) => names.map((name) => row.get(name)))));
  } }, "Every field as CSV");
  const json = element("button", { type: "button", onclick: () =>
    save("runs.json", "application/json", JSON.stringify(runs.shown, null, 2)) }, "as JSON");
  const hint = element("p", { class: "faint controls" }, "Choosing a run opens all of its fields.");
  return { node: element("div", {}, hint, element("div", { class: "bar controls" }, csv, json), box), fill };
}
