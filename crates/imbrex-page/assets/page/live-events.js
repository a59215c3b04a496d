// What happened to a served volume, as its server remembers it, newest first.

/** The time of an event: of day, and the date unless it is today's. */
function momentOf(ms) {
  const at = new Date(ms);
  const isToday = at.toDateString() === new Date().toDateString();
  return element("time", { datetime: at.toISOString() }, isToday ? at.toLocaleTimeString() : at.toLocaleString());
}

function eventsTable(events) {
  const rows = events.map(({ at_ms, level, text }) =>
    [momentOf(at_ms), level === "warning" ? element("strong", { class: "bad" }, text) : text]);
  return scrolled("events", tableOf(["Time", "Event"], rows, { numeric: () => false }));
}
