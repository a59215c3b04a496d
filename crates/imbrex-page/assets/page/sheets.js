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

/** How many claims have which verdict. */
function claimsInWords(claims) {
  const found = Object.entries(VERDICTS).map(([verdict, name]) => [claims.filter((claim) => claim.verdict === verdict).length, name.slice(2)]);
  return `Of ${several(claims.length, "claim")}, ${listed(found.filter(([some]) => some).map(([some, name]) => `${some} ${name}`), 9)}.`;
}

function claimTooltip({ id, claimed, measured, unit }) {
  return `${id}: ${times(measured / claimed)} the paper's number\npaper: ${number(claimed)} ${unit}\nhere: ${number(measured)} ${unit}`;
}

function claimsSection(claims) {
  const box = scrolled("claims");
  const having = (verdict) => claims.filter((claim) => claim.verdict === verdict).length;
  const options = [["all", `all ${claims.length}`], ...Object.entries(VERDICTS).map(([key, name]) => [key, `${name}: ${having(key)}`])];
  const pick = choice("Verdict", options, (shown) => claimsTable(claims, box, shown));
  claimsTable(claims, box, "all");
  const measured = claims.filter((claim) => claim.claimed > 0 && claim.measured !== null && claim.measured > 0);
  const order = Object.keys(VERDICTS);
  const scale = logAxis([...measured.map((claim) => claim.measured / claim.claimed), 1], times);
  const chart = new Figure("claims", "Measured over what the paper says", ({ isNarrow }) => measured.length > 0 && ({
    option: {
      legend: {}, grid: { left: nameWidth(isNarrow), right: 30, top: 36, bottom: 30 },
      tooltip: { trigger: "item", formatter: (dot) => claimTooltip(measured[dot.value[1]]) },
      xAxis: scale.axis,
      yAxis: { ...linesAxis(measured.map((claim) => ({ name: claim.id })), isNarrow), splitLine: { show: true } },
      series: order.map((verdict, at) => ({
        name: VERDICTS[verdict], type: "scatter", symbol: symbol(at), symbolSize: 10, itemStyle: { color: colour([2, 0, 5, 3, 7][at]) },
        data: measured.flatMap((claim, row) => (claim.verdict === verdict ? [[scale.at(claim.measured / claim.claimed), row]] : [])),
      })),
    },
    height: 80 + 22 * measured.length, finds: claimsInWords(claims),
    says: "1 × is the paper's number. Whether more is better depends on the claim.",
    columns: ["claim", "paper", "here", "verdict"],
    rows: measured.map((claim) => [claim.id, claim.claimed, claim.measured, claim.verdict]),
  }));
  const csv = element("button", { type: "button", onclick: () => {
    const columns = [...new Set(claims.flatMap((claim) => Object.keys(claim)))];
    save("claims.csv", "text/csv", csvOf(columns, claims.map((claim) => columns.map((column) => claim[column]))));
  } }, "Claims as CSV");
  return [element("p", { class: "finding" }, claimsInWords(claims)), element("div", { class: "bar controls" }, pick.node, csv), box,
    element("div", { class: "figures wide" }, chart.node)];
}

/** What the rows of a schema are about. */
const SHEETS = {
  check: "The model beside references", figure: "Figures of the paper", turnover: "How often a buffer is filled", sweep: "What a sweep found",
  search: "Settings that a paper leaves open", mix: "Two workloads, one after the other", growth: "What growing delays", "growth-request": "Requests while space grows",
  "update-periods": "How soon blocks are written again", "write-range": "Where writes lie", moved: "Blocks that cleaning moves",
  beyond: "Rules that the paper does not try",
  exploration: "Power cuts", checked: "Volumes that were checked", scrubbed: "Checksums that were verified", inspected: "What volumes hold",
  "trace-stat": "What traces are like", "layer-speed": "How fast layers are", measurement: "How fast the program is",
};

/** Names of rows: up to three texts that differ between them, and if that is not enough the first number. */
function labelsOf(cells, columns, numeric) {
  const differs = (name) => new Set(cells.map((row) => row.get(name))).size > 1;
  const texts = columns.filter((name) => differs(name) && cells.some((row) => typeof row.get(name) === "string")).slice(0, 3);
  const text = (row) => texts.map((name) => row.get(name)).filter(Boolean).join(", ");
  const first = numeric.find(differs);
  if (!first || new Set(cells.map(text)).size === cells.length) return text;
  return (row) => `${text(row)}${texts.length ? ", " : `${first} `}${number(row.get(first))}`;
}

/** A bar for each row, of the column that is chosen. */
function barsChart(cells, label, of) {
  return ({ isNarrow }) => {
    const column = of();
    const some = cells.filter((row) => typeof row.get(column) === "number").slice(0, 60);
    const lines = some.map((row) => ({ run: row, name: label(row), full: label(row) }));
    const part = { name: column, at: 0, of: (row) => row.get(column) };
    const more = cells.length > some.length ? ` Only the first ${some.length} rows are drawn.` : "";
    return some.length > 0 && stackedBars(lines, [part], {
      isNarrow, label: column, unit: "", finds: `${extremes(lines, part.of, number, column)}${more}`, columns: ["row", column],
    });
  };
}

/** A line for each curve of a sweep over what differs between its points. */
function sweepChart(cells, of) {
  return ({ isNarrow }) => {
    const [column, sweep] = of();
    const some = cells.filter((row) => row.get("sweep") === sweep && typeof row.get(column) === "number");
    if (!some.length) return null;
    const curves = [...Map.groupBy(some, (row) => row.get("curve"))];
    const scale = logAxis(some.map((row) => row.get("value")), number, { isNarrow });
    const axis = some[0].get("axis");
    const lines = some.map((row) => ({ run: row, full: `${row.get("curve")} at ${number(row.get("value"))}` }));
    const at = (points) => `${axis}: ${number(scale.of(points[0].value[0]))}`;
    return {
      title: `${column} over ${axis}`,
      option: {
        legend: {}, grid: { left: 8, right: 24, top: 36, bottom: 32, containLabel: true },
        tooltip: { trigger: "axis", formatter: (points) => [at(points), ...points.map((one) => `${one.seriesName}: ${number(one.value[1])}`)].join("\n") },
        xAxis: { ...scale.axis, name: axis, nameLocation: "middle", nameGap: 26 }, yAxis: { type: "value", axisLabel: { formatter: number } },
        series: curves.map(([name, rows], nth) => ({
          name, type: "line", symbol: symbol(nth), symbolSize: 7, itemStyle: { color: colour(nth), borderWidth: 0 },
          data: rows.map((row) => [scale.at(row.get("value")), row.get(column)]).toSorted((a, b) => a[0] - b[0]),
        })),
      },
      finds: extremes(lines, (row) => row.get(column), number, column), columns: ["curve", axis, column],
      rows: some.map((row) => [row.get("curve"), row.get("value"), row.get(column)]),
    };
  };
}

/** The chart of a table, and what chooses its column and, of sweeps, which of them it shows. */
function sheetFigure(name, heading, cells, columns, numeric) {
  const sweeps = [...new Set(cells.map((row) => row.get("sweep")))];
  const isSweep = name === "sweep" && cells.every((row) => row.get("value") > 0);
  const state = { column: numeric.at(-1), sweep: sweeps[0] };
  const draw = isSweep ? sweepChart(cells, () => [state.column, state.sweep]) : barsChart(cells, labelsOf(cells, columns, numeric), () => state.column);
  const chart = new Figure(`sheet-${name}`, heading, draw);
  const pick = choice("Chart of", numeric.map((one) => [one]), (column) => { state.column = column; chart.change(); });
  pick.select.value = state.column;
  const which = choice("of sweep", sweeps.map((one) => [one]), (sweep) => { state.sweep = sweep; chart.change(); });
  return { controls: [pick.node, isSweep && sweeps.length > 1 && which.node], node: element("div", { class: "figures wide" }, chart.node) };
}

/** A table of any rows of one schema. */
function sheetSection({ schema, rows }) {
  const cells = rows.map((row) => new Map(flat(row)));
  const columns = [...new Set(cells.flatMap((row) => [...row.keys()]))].filter((name) => name !== "schema");
  const isNumber = (name) => cells.some((row) => typeof row.get(name) === "number") &&
    cells.every((row) => [undefined, null].includes(row.get(name)) || typeof row.get(name) === "number");
  const numeric = columns.filter(isNumber);
  const shown = cells.slice(0, 500).map((row) => columns.map((name) => {
    const value = row.get(name);
    return typeof value === "number" ? number(value) : Array.isArray(value) ? value.map(number).join(" ") : value ?? "";
  }));
  const name = schema.replace(/^imbrex\./, "").replace(/\/\d+$/, "");
  const heading = SHEETS[name] ?? `Rows of ${name.replaceAll("-", " ")}`;
  const figure = numeric.length > 0 && sheetFigure(name, heading, cells, columns, numeric);
  const csv = element("button", { type: "button", onclick: () =>
    save(`${name}.csv`, "text/csv", csvOf(columns, cells.map((row) => columns.map((column) => row.get(column))))) }, "Rows as CSV");
  const more = rows.length > 500 && element("p", { class: "note" }, `The first 500 of ${count(rows.length)} rows; all are in the CSV.`);
  return [element("h3", {}, heading), element("div", { class: "bar controls" }, figure && figure.controls, csv), figure && figure.node,
    scrolled(heading, tableOf(columns, shown, { numeric: (one) => numeric.includes(one) })), more];
}
