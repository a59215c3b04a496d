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

const claimTooltip = (claim) => [`${claim.id}: ${times(claim.measured / claim.claimed)} the paper's number`, `paper: ${number(claim.claimed)} ${claim.unit}`, `here: ${number(claim.measured)} ${claim.unit}`].join("\n");

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
  return [element("p", { class: "finding" }, claimsInWords(claims)), element("div", { class: "bar controls" }, pick.node, csv), box, element("div", { class: "figures wide" }, chart.node)];
}

/** What the rows of a schema are about. */
const SHEETS = {
  check: "The model beside references", figure: "Figures of the paper", turnover: "How often a buffer is filled", sweep: "What a sweep found",
  search: "Settings that a paper leaves open", mix: "Mixed workloads", growth: "What growing delays", "growth-request": "Requests while space grows",
  "update-periods": "How soon blocks are written again", "write-range": "Where writes lie", moved: "Blocks that cleaning moves", beyond: "Rules that the paper does not try",
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

/** A table of any rows of one schema. */
function sheetSection({ schema, rows }) {
  const cells = rows.map((row) => new Map(flat(row)));
  const columns = [...new Set(cells.flatMap((row) => [...row.keys()]))].filter((name) => name !== "schema");
  const isNumber = (name) => cells.some((row) => typeof row.get(name) === "number") &&
    cells.every((row) => [undefined, null].includes(row.get(name)) || typeof row.get(name) === "number");
  const numeric = columns.filter(isNumber);
  const label = labelsOf(cells, columns, numeric);
  const shown = cells.slice(0, 500).map((row) => columns.map((name) => {
    const value = row.get(name);
    return typeof value === "number" ? number(value) : Array.isArray(value) ? value.map(number).join(" ") : value ?? "";
  }));
  const state = { column: numeric.at(-1) };
  const name = schema.replace(/^imbrex\./, "").replace(/\/\d+$/, "");
  const heading = SHEETS[name] ?? `Rows of ${name.replaceAll("-", " ")}`;
  const chart = new Figure(`sheet-${name}`, heading, ({ isNarrow }) => {
    const some = cells.filter((row) => typeof row.get(state.column) === "number").slice(0, 60);
    const lines = some.map((row) => ({ run: row, name: label(row), full: label(row) }));
    const part = { name: state.column, at: 0, of: (row) => row.get(state.column) };
    return some.length > 0 && stackedBars(lines, [part], {
      isNarrow, label: state.column, unit: "", finds: `${extremes(lines, part.of, number, state.column)}${cells.length > 60 ? " Only the first 60 rows are drawn." : ""}`, columns: ["row", state.column],
    });
  });
  const pick = choice("Chart of", numeric.map((one) => [one]), (column) => { state.column = column; chart.change(); });
  if (state.column) pick.select.value = state.column;
  const csv = element("button", { type: "button", onclick: () =>
    save(`${name}.csv`, "text/csv", csvOf(columns, cells.map((row) => columns.map((column) => row.get(column))))) }, "Rows as CSV");
  const more = rows.length > 500 && element("p", { class: "note" }, `The first 500 of ${count(rows.length)} rows; all are in the CSV.`);
  return [element("h3", {}, heading), element("div", { class: "bar controls" }, numeric.length > 0 && pick.node, csv),
    numeric.length > 0 && element("div", { class: "figures wide" }, chart.node),
    scrolled(heading, tableOf(columns, shown, { numeric: (one) => numeric.includes(one) })), more];
}
