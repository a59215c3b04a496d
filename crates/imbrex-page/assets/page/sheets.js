// Claims beside papers, and every other kind of result as a table with a chart of whichever column is asked for.

const VERDICTS = { met: "✓ met", exceeded: "▲ exceeded", "not-met": "✗ not met", varies: "◇ varies", "not-measured": "○ not measured" };

/** The least and the most of what was measured; nothing if it is one number. */
function overSeeds({ low, high }) {
  const shown = (bound) => (bound === null || bound === undefined ? "?" : number(bound));
  return shown(low) === shown(high) ? "" : `${shown(low)} … ${shown(high)}`;
}

function claimsTable(claims, box, shown) {
  const columns = ["claim", "the paper says", "paper", "here", "over seeds", "seeds met", "unit", "verdict", "data", "note"];
  const some = claims.filter((claim) => shown === "all" || claim.verdict === shown);
  const rows = some.map((claim) => [
    claim.id, claim.says, number(claim.claimed), number(claim.measured), overSeeds(claim),
    claim.seeds > 1 ? `${claim.seeds_met} of ${claim.seeds}` : "", claim.unit,
    { shown: element("span", { class: `verdict ${claim.verdict}` }, VERDICTS[claim.verdict] ?? claim.verdict) }, claim.data, claim.note,
  ]);
  box.replaceChildren(tableOf(columns, rows, { numeric: (name) => name === "paper" || name === "here" }));
}

function claimsSection(claims) {
  const box = element("div", { class: "scroll", tabindex: 0 });
  const times = (verdict) => claims.filter((claim) => claim.verdict === verdict).length;
  const options = [["all", `all ${claims.length}`], ...Object.entries(VERDICTS).map(([key, name]) => [key, `${name}: ${times(key)}`])];
  const pick = choice("Verdict", options, (shown) => claimsTable(claims, box, shown));
  claimsTable(claims, box, "all");
  const measured = claims.filter((claim) => claim.claimed > 0 && claim.measured !== null && claim.measured > 0);
  const order = Object.keys(VERDICTS);
  const chart = new Figure("claims", "Measured over what the paper says", () => measured.length > 0 && ({
    option: {
      legend: {}, grid: { left: 8, right: 30, top: 36, bottom: 8, containLabel: true },
      tooltip: { trigger: "item", formatter: (dot) => `${measured[dot.value[1]].id}: ${number(dot.value[0])} × the paper's` },
      xAxis: { type: "log", axisLabel: { formatter: (value) => `${number(value)} ×` } },
      yAxis: { type: "category", inverse: true, data: measured.map((claim) => claim.id), axisLabel: { width: 190, overflow: "truncate" } },
      series: order.map((verdict, at) => ({
        name: VERDICTS[verdict], type: "scatter", symbol: symbol(at), symbolSize: 10, itemStyle: { color: colour([2, 0, 5, 3, 7][at]) },
        data: measured.flatMap((claim, row) => (claim.verdict === verdict ? [[claim.measured / claim.claimed, row]] : [])),
      })),
    },
    height: 80 + 20 * measured.length,
    says: "1 × is the paper's number. Whether more is better depends on the claim.",
    columns: ["claim", "paper", "here", "verdict"],
    rows: measured.map((claim) => [claim.id, claim.claimed, claim.measured, claim.verdict]),
  }));
  const csv = element("button", { type: "button", onclick: () => {
    const columns = [...new Set(claims.flatMap((claim) => Object.keys(claim)))];
    save("claims.csv", "text/csv", csvOf(columns, claims.map((claim) => columns.map((column) => claim[column]))));
  } }, "Claims as CSV");
  return [element("div", { class: "bar controls" }, pick.node, csv), box, element("div", { class: "figures wide" }, chart.node)];
}

/** A table of any rows of one schema. */
function sheetSection({ schema, rows }) {
  const cells = rows.map((row) => new Map(flat(row)));
  const columns = [...new Set(cells.flatMap((row) => [...row.keys()]))].filter((name) => name !== "schema");
  const isNumber = (name) => cells.some((row) => typeof row.get(name) === "number") &&
    cells.every((row) => [undefined, null].includes(row.get(name)) || typeof row.get(name) === "number");
  const numeric = columns.filter(isNumber);
  const labels = columns.filter((name) => cells.some((row) => typeof row.get(name) === "string")).slice(0, 3);
  const label = (row) => labels.map((name) => row.get(name)).filter(Boolean).join(", ");
  const shown = cells.slice(0, 500).map((row) => columns.map((name) => {
    const value = row.get(name);
    return typeof value === "number" ? number(value) : Array.isArray(value) ? value.map(number).join(" ") : value ?? "";
  }));
  const state = { column: numeric.at(-1) };
  const name = schema.replace(/^imbrex\./, "").replace(/\/\d+$/, "");
  const chart = new Figure(`sheet-${name}`, name, () => {
    const some = cells.filter((row) => typeof row.get(state.column) === "number").slice(0, 60);
    const part = { name: state.column, at: 0, values: some.map((row) => row.get(state.column)) };
    return some.length > 0 && stackedBars(some.map(label), [part], {
      label: state.column, says: cells.length > 60 ? "The first 60 rows." : "", columns: ["row", state.column],
    });
  });
  const pick = choice("Chart of", numeric.map((one) => [one]), (column) => { state.column = column; chart.change(); });
  if (state.column) pick.select.value = state.column;
  const csv = element("button", { type: "button", onclick: () =>
    save(`${name}.csv`, "text/csv", csvOf(columns, cells.map((row) => columns.map((column) => row.get(column))))) }, "Rows as CSV");
  const more = rows.length > 500 && element("p", { class: "note" }, `The first 500 of ${count(rows.length)} rows; all are in the CSV.`);
  return [element("h3", {}, schema), element("div", { class: "bar controls" }, numeric.length > 0 && pick.node, csv),
    numeric.length > 0 && element("div", { class: "figures wide" }, chart.node),
    element("div", { class: "scroll", tabindex: 0 }, tableOf(columns, shown, { numeric: (one) => numeric.includes(one) })), more];
}
