// What lies where at a moment.

const PART_COLOURS = {
  live: 0, cold: 0, home: 0, native: 0, hot: 5, buffered: 1, swapped: 3, dead: 7, stale: 7, unwritten: null, free: null,
};
/** A part that is more than this of everything is left out, so that the others can be seen. */
const TOO_LARGE = 0.98;

/** How many blocks of each part there are at a moment, those with the most first. */
function sumsOf(units, moment) {
  const sums = units.parts.map((name) => [name, moment.parts[name].reduce((sum, blocks) => sum + blocks, 0)]);
  return sums.filter(([, blocks]) => blocks > 0).toSorted((a, b) => b[1] - a[1]);
}

/** How much there is to see at the end: what is not the largest part. */
function worthSeeing(units) {
  const sums = sumsOf(units, units.looks.at(-1));
  const all = sums.reduce((sum, [, blocks]) => sum + blocks, 0);
  return all ? 1 - sums[0][1] / all : 0;
}

/** A bar for each unit at the moment that the slider is at. */
function unitsChart(of) {
  return () => {
    const [units, at] = of();
    const moment = units?.looks[at];
    if (!moment) return null;
    const sums = sumsOf(units, moment);
    const all = sums.reduce((sum, [, blocks]) => sum + blocks, 0);
    const left = sums.length > 1 && sums[0][1] > TOO_LARGE * all ? sums[0][0] : null;
    const names = units.parts.filter((name) => name !== left && sums.some(([some]) => some === name));
    const width = moment.parts[units.parts[0]].length;
    const numbers = Array.from({ length: width }, (_, unit) => String(unit * units.each));
    const whole = numbers.map((_, unit) => (left ? 1 : units.parts.reduce((sum, name) => sum + moment.parts[name][unit], 0)));
    const shown = left ? (value) => `${count(value)} blocks` : percent;
    const bar = (name) => {
      const known = PART_COLOURS[name];
      const color = known === null ? "transparent" : colour(known ?? units.parts.indexOf(name));
      const data = moment.parts[name].map((value, unit) => (whole[unit] ? value / whole[unit] : 0));
      return { name, type: "bar", stack: "all", barCategoryGap: "0%", itemStyle: { color, borderWidth: 0 }, data };
    };
    return {
      title: `What lies where: ${units.name ?? units.layer}`,
      option: {
        legend: { data: names.filter((name) => PART_COLOURS[name] !== null) }, grid: { left: 8, right: 24, top: 36, bottom: 32, containLabel: true },
        tooltip: {
          trigger: "axis", axisPointer: { type: "shadow" }, formatter: (bars) =>
            [`${units.kind} from ${count(bars[0].axisValue)}`, ...bars.map((one) => `${one.seriesName}: ${shown(one.value)}`)].join("\n"),
        },
        xAxis: {
          type: "category", data: numbers, name: units.each > 1 ? `${units.kind}, ${units.each} in a bar` : units.kind,
          nameLocation: "middle", nameGap: 26, axisLabel: { formatter: count },
        },
        yAxis: { type: "value", min: 0, max: left ? undefined : 1, axisLabel: { formatter: left ? count : percent } },
        series: names.map(bar),
      },
      height: 300, finds: unitsInWords(units, moment, sums, all),
      says: left ? `Blocks of each bar; those that are ${left} are left out, since they would hide all others.` : "What is not coloured holds nothing.",
      columns: ["first of the bar", ...(moment.states ? ["state"] : []), ...units.parts.map((name) => `${name} (blocks)`)],
      rows: numbers.map((name, unit) => [
        Number(name), ...(moment.states ? [moment.states[unit]] : []), ...units.parts.map((part) => moment.parts[part][unit])]),
    };
  };
}

function unitsInWords(units, moment, sums, all) {
  const part = (blocks) => (blocks < 0.01 * all ? several(blocks, "block") : percent(blocks / all));
  const parts = sums.map(([name, blocks]) => `${name} ${part(blocks)}`);
  const when = moment.requests === undefined ? "" : `, after ${momentInWords(moment)}`;
  return `${units.name ?? units.layer}${when}: ${parts.join(", ") || "nothing lies there"}.`;
}

const momentInWords = (moment) => `${several(moment.requests, "request")}${moment.is_end ? ", the end" : ""}`;

/** Maps of runs, one or two beside each other, at the moment that one slider says. */
function unitMaps(all) {
  const order = all.map((units, at) => [worthSeeing(units), at]).toSorted((a, b) => b[0] - a[0] || a[1] - b[1]).map(([, at]) => at);
  const state = { shown: [order[0], null], moment: Infinity };
  // Each map has moments of its own: the one that is nearest behind as many requests is taken.
  const lookOf = (at) => {
    const units = all[state.shown[at]];
    if (!units) return [null, 0];
    const wanted = all[state.shown[0]].looks[state.moment].requests;
    return [units, units.looks.reduce((best, look, one) => (Math.abs(look.requests - wanted) <= Math.abs(units.looks[best].requests - wanted) ? one : best), 0)];
  };
  const maps = ["units", "units-2"].map((id, at) => new Figure(id, at ? "What lies where, beside it" : "What lies where", unitsChart(() => lookOf(at))));
  const box = element("div", { class: "figures wide" }, maps.map((map) => map.node));
  const slider = element("input", { type: "range", min: 0, value: 0, step: 1, id: "moment", "aria-label": "moment" });
  const said = element("output", { for: "moment" });
  const set = (at) => {
    const { looks } = all[state.shown[0]];
    slider.max = looks.length - 1;
    state.moment = Math.min(at, looks.length - 1);
    slider.value = state.moment;
    said.textContent = momentInWords(looks[state.moment]);
    slider.setAttribute("aria-valuetext", said.textContent);
    box.classList.toggle("wide", state.shown[1] === null);
    maps.forEach((map) => map.change());
  };
  slider.addEventListener("input", () => set(Number(slider.value)));
  const names = all.map((units, at) => [at, units.name]);
  const which = choice("Map of", names, (at) => { state.shown[0] = Number(at); set(Infinity); });
  which.select.value = state.shown[0];
  const beside = choice("beside it", [["", "none"], ...names], (at) => { state.shown[1] = at === "" ? null : Number(at); set(state.moment); });
  let playing = null;
  const play = element("button", { type: "button", onclick: () => {
    if (playing) { clearInterval(playing); playing = null; play.textContent = "Play"; return; }
    play.textContent = "Pause";
    playing = setInterval(() => set((state.moment + 1) % all[state.shown[0]].looks.length), 700);
  } }, "Play");
  set(Infinity);
  const steps = all.some((units) => units.looks.length > 1) && [element("label", { for: "moment" }, "Moment"), slider, said, play];
  return [element("div", { class: "bar controls" }, all.length > 1 && [which.node, beside.node], steps), box];
}
