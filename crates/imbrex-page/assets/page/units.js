// What lies where at a moment.

const PART_COLOURS = {
  live: 0, cold: 0, home: 0, native: 0, hot: 5, buffered: 1, swapped: 3, dead: 7, stale: 7, unwritten: null, free: null,
};

/** A bar for each unit at the moment that the slider is at. */
function unitsChart(of) {
  return () => {
    const [units, at] = of();
    const moment = units?.looks[at];
    if (!moment) return null;
    const names = units.parts.filter((name) => moment.parts[name].some((value) => value > 0));
    const width = moment.parts[units.parts[0]].length;
    const whole = Array.from({ length: width }, (_, unit) => units.parts.reduce((sum, name) => sum + moment.parts[name][unit], 0));
    const numbers = Array.from({ length: width }, (_, unit) => String(unit * units.each));
    const bar = (name) => {
      const known = PART_COLOURS[name];
      const style = known === null ? { color: "transparent" } : { color: colour(known ?? names.indexOf(name)) };
      return { name, type: "bar", stack: "all", barCategoryGap: "0%", itemStyle: style, data: moment.parts[name].map((value, unit) => (whole[unit] ? value / whole[unit] : 0)) };
    };
    return {
      option: {
        legend: {}, grid: { left: 8, right: 24, top: 36, bottom: 30, containLabel: true },
        tooltip: {
          trigger: "axis", axisPointer: { type: "shadow" }, valueFormatter: percent,
        },
        xAxis: { type: "category", data: numbers, name: units.each > 1 ? `${units.kind}, ${units.each} in a bar` : units.kind, nameLocation: "middle", nameGap: 24 },
        yAxis: { type: "value", min: 0, max: 1, axisLabel: { formatter: percent } },
        series: names.map(bar),
      },
      height: 300,
      says: `${units.name}${moment.requests === undefined ? "" : `, after ${count(moment.requests)} requests${moment.is_end ? ", the end" : ""}`}. What is not coloured holds nothing.`,
      columns: ["first of the bar", ...(moment.states ? ["state"] : []), ...units.parts.map((name) => `${name} (blocks)`)],
      rows: numbers.map((name, unit) => [
        Number(name), ...(moment.states ? [moment.states[unit]] : []), ...units.parts.map((part) => moment.parts[part][unit])]),
    };
  };
}

/** Which run's units are shown, and of which moment. */
function unitControls(all, state, figure) {
  const slider = element("input", { type: "range", min: 0, value: 0, step: 1, id: "moment", "aria-label": "moment" });
  const said = element("output", { for: "moment" });
  const set = (at) => {
    const units = all[state.units];
    slider.max = units.looks.length - 1;
    state.moment = Math.min(at, units.looks.length - 1);
    slider.value = state.moment;
    const moment = units.looks[state.moment];
    said.textContent = `${count(moment.requests)} requests${moment.is_end ? " (end)" : ""}`;
    slider.setAttribute("aria-valuetext", said.textContent);
    figure.change();
  };
  slider.addEventListener("input", () => set(Number(slider.value)));
  const which = choice("Run", all.map((units, at) => [at, units.name]), (at) => { state.units = Number(at); set(Infinity); });
  let playing = null;
  const play = element("button", { type: "button", onclick: () => {
    if (playing) { clearInterval(playing); playing = null; play.textContent = "Play"; return; }
    play.textContent = "Pause";
    playing = setInterval(() => set((state.moment + 1) % all[state.units].looks.length), 700);
  } }, "Play");
  set(Infinity);
  return element("div", { class: "bar controls" }, which.node, element("label", { for: "moment" }, "Moment"), slider, said, play);
}
