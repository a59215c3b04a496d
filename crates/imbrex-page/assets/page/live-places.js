// How full the spaces of a served volume are, beside the map of what lies where.

/** A bar of what is used and what is free. */
function fillBar(name, used, all, size) {
  const part = Math.min(1, used / all);
  const said = `${size(used)} used, ${size(all - used)} free`;
  const bar = element("div", { class: "fill", role: "meter", "aria-label": name, "aria-valuemin": 0, "aria-valuemax": 100,
    "aria-valuenow": Math.round(100 * part), "aria-valuetext": said }, element("div", {}));
  bar.firstChild.style.width = `${100 * part}%`;
  return element("div", { class: "filled" }, element("span", {}, `${name}: ${percent(part)}`), bar, element("span", { class: "faint" }, said));
}

/** Whether nothing lies anywhere, as far as the map says. */
function isEmptyMap(units) {
  return sumsOf(units, units.looks[0]).every(([name]) => PART_COLOURS[name] === null);
}

/** Bars of the buffer, cache or bands and of the journal, of each runner. */
function fillBars(status) {
  const size = (blocks) => bytes(blocks * status.block_bytes);
  const bars = status.runners.flatMap((runner) => {
    const named = (name) => (status.runners.length > 1 ? `${name} of ${runner.layer}` : name);
    return [
      runner.space_blocks ? [named(capitalised(runner.space)), runner.used_blocks, runner.space_blocks] : null,
      runner.journal_blocks ? [named("Journal"), runner.journal_used, runner.journal_blocks] : null,
    ];
  });
  return bars.filter(Boolean).map(([name, used, all]) => fillBar(name, used, all, size));
}
