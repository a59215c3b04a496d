// Axes: logarithmic ones with round numbers, and one with a line for each run, in groups.

const POWERS = [1];
const ROUND = [1, 2, 5];
const FINE = [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];

/** All numbers of these leading digits in a range. */
function numbersWithin(steps, low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    found.push(...steps.map((step) => step * 10 ** power));
  }
  return found.filter((value) => value >= low * 0.9999 && value <= high * 1.0001);
}

/**
 * A logarithmic axis over all positive values. ECharts' own has only powers of ten; this one is linear, and `at` says
 * where on it a value lies, `of` which value lies there. Room is left before the least and beyond the largest, as
 * parts of the axis.
 */
function logAxis(values, shown, { isNarrow = false, before = 0, beyond = 0 } = {}) {
  const known = values.filter((value) => value > 0);
  const least = known.reduce((a, b) => Math.min(a, b), known.length ? Infinity : 1);
  const most = known.reduce((a, b) => Math.max(a, b), known.length ? 0 : 10);
  const low = numbersWithin(FINE, least / 10, least).at(-1);
  const high = numbersWithin(FINE, Math.max(most, low * 1.01), most * 10)[0];
  const ticks = [FINE, ROUND].map((steps) => numbersWithin(steps, low, high)).find((some) => some.length <= (isNarrow ? 4 : 7))
    ?? numbersWithin(POWERS, low, high);
  const [first, last] = [Math.log10(low), Math.log10(high)];
  const [min, max] = [first - before * (last - first), last + beyond * (last - first)];
  const customValues = ticks.map(Math.log10);
  return {
    at: (value) => (value > 0 ? Math.log10(value) : null), of: (place) => 10 ** place, min, max,
    axis: {
      type: "value", min, max, splitLine: { show: true },
      axisTick: { customValues }, axisLabel: { customValues, formatter: (place) => shown(10 ** place) },
    },
  };
}

/** How wide the names beside a chart are. */
const nameWidth = (isNarrow) => (isNarrow ? 122 : 210);

/** The height of a chart of these lines. */
const linesHeight = (lines, around = 80) => around + lines.length * 28;

/** An axis with the name of each run; headings have none, since `headingsOf` writes them. */
function linesAxis(lines, isNarrow) {
  return {
    type: "category", data: lines.map((line) => line.name ?? ""), inverse: true, axisTick: { show: false }, splitLine: { show: false },
    axisLabel: { interval: 0, hideOverlap: false, width: nameWidth(isNarrow) - 14, overflow: "break", lineHeight: 12, fontSize: isNarrow ? 11 : 12 },
  };
}

/** The headings of groups, over the whole chart; `min` is where its other axis begins. */
function headingsOf(lines, min, isNarrow) {
  const label = (text) => ({
    show: true, formatter: () => text, position: "right", offset: [8 - nameWidth(isNarrow), 2], color: look.ink, fontWeight: "bold",
    backgroundColor: styled("--ground"), padding: [1, 4, 1, 0],
    ...(isNarrow && { width: 300, overflow: "break", lineHeight: 12, fontSize: 11 }),
  });
  return {
    type: "scatter", symbolSize: 0, silent: true, clip: false, z: 5, tooltip: { show: false },
    data: lines.flatMap((line, row) => (line.heading ? [{ value: [min, row], label: label(line.heading) }] : [])),
  };
}

/** What is said of a line that is pointed at. */
function linesTooltip(lines, said) {
  return {
    trigger: "axis", axisPointer: { type: "shadow", axis: "y" },
    formatter: (shown) => {
      const line = lines[shown.map((one) => (Array.isArray(one.value) ? one.value[1] : one.dataIndex))[0]];
      return line?.run ? said(line) : "";
    },
  };
}

/** Where bars are cut that would make all others too small to see; nothing if none is. */
function cutOf(totals) {
  const sorted = totals.filter((total) => total > 0).sort((a, b) => a - b);
  const limit = 3 * sorted[Math.floor(0.75 * (sorted.length - 1))];
  return sorted.at(-1) > 1.5 * limit ? numbersWithin(FINE, limit, 10 * limit)[0] : null;
}

/** The parts of a bar that are left of where it is cut. */
function cutParts(values, limit) {
  let room = limit ?? Infinity;
  return values.map((value) => {
    const kept = Math.min(value, room);
    room -= kept;
    return kept;
  });
}

/** Bars of parts, a bar for each run, with its sum at its end. */
function stackedBars(lines, parts, { isNarrow, label, unit, finds, columns }) {
  const some = parts.filter((part) => lines.some((line) => line.run && part.of(line.run) > 0));
  if (!some.length) return null;
  const sum = (line) => (line.run ? some.reduce((all, part) => all + part.of(line.run), 0) : 0);
  const limit = cutOf(lines.map(sum));
  const bars = lines.map((line) => cutParts(some.map((part) => (line.run ? part.of(line.run) : 0)), limit));
  const isCut = (line) => limit !== null && sum(line) > limit;
  const total = {
    type: "scatter", symbolSize: 0, silent: true, clip: false, tooltip: { show: false },
    label: { show: true, position: "right", color: look.ink, formatter: ({ value }) => `${isCut(lines[value[1]]) ? "▸ " : ""}${number(value[2])}` },
    data: lines.flatMap((line, row) => (line.run ? [[Math.min(sum(line), limit ?? Infinity), row, sum(line)]] : [])),
  };
  return {
    option: {
      legend: { data: some.map((part) => part.name) }, grid: { left: nameWidth(isNarrow), right: 64, top: 32, bottom: 44 },
      tooltip: linesTooltip(lines, (line) => [`${line.full}: ${number(sum(line))} ${unit}`,
        ...some.filter((part) => part.of(line.run) > 0).map((part) => `${part.name}: ${number(part.of(line.run))}`)].join("\n")),
      xAxis: { type: "value", max: limit ?? undefined, name: label, nameLocation: "middle", nameGap: 28, axisLabel: { formatter: number } },
      yAxis: linesAxis(lines, isNarrow),
      series: [...some.map((part, at) => ({
        name: part.name, type: "bar", stack: "all", barMaxWidth: 16, itemStyle: { color: colour(part.at), borderWidth: 0 },
        data: bars.map((values) => values[at]),
      })), total, headingsOf(lines, 0, isNarrow)],
    },
    height: linesHeight(lines), finds,
    says: limit === null ? "" : "Bars with ▸ are cut; their number stands at their end.", columns,
    rows: lines.flatMap((line) => (line.run ? [[line.full, ...parts.map((part) => part.of(line.run))]] : [])),
  };
}
