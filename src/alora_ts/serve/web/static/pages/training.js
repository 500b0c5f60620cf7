// A new model from stored rows: choose a source and a stretch of time, see what is in it.
import { api, enc } from "../api.js";
import { button, card, h } from "../dom.js";
import { attempt, empty, fill } from "../states.js";
import { fromInput, iso, parse, toInput, zone } from "../times.js";
import { preview } from "./period.js";

const NOTE = "Runs beside the watching; nothing changes until you activate the result. "
  + "Choose a time of normal operation: what happens in it counts as normal.";

/** For any source, or for one alone (`only`), which then need not be chosen. */
export function training(signal, started, { only = null } = {}) {
  const place = h("div", {});
  fill(place, async (round) => form(only ? [only] : await api("/sources", { signal: round }), round, started, only), { signal });
  return card(only ? "Fit from this period" : "Train from stored rows", NOTE, place);
}

function form(sources, signal, started, only) {
  const filled = sources.filter(({ last_time }) => last_time !== null);
  if (!filled.length) return empty("No source has rows yet.");
  const source = h("select", { id: "fit-source" }, filled.map(({ name }) => h("option", { value: name }, name)));
  const start = h("input", { type: "datetime-local", id: "fit-start" }), end = h("input", { type: "datetime-local", id: "fit-end" });
  const name = h("input", { type: "text", id: "fit-name", placeholder: "chosen for you" });
  const shown = h("div", { class: "period-shown", "aria-live": "polite" });
  // An input holds whole minutes; what was offered is kept to the microsecond until it is changed.
  let period = {};
  const look = fill(shown, async (round) => {
    const found = await api(`/sources/${enc(source.value)}/period`, { signal: round, query: period });
    period = { start: found.start, end: found.end };
    start.value = toInput(parse(found.start));
    end.value = toInput(parse(found.end));
    return preview(found);
  }, { signal, what: "Looking for a time without incidents" });
  const change = (which, input) => input.addEventListener("change", () => {
    const moment = fromInput(input.value);
    if (!Number.isFinite(moment)) return;
    period = { ...period, [which]: iso(moment) };
    look();
  });
  change("start", start);
  change("end", end);
  source.addEventListener("change", () => { period = {}; look(); });
  const go = button(only ? "Fit from this period" : "Start training", async () => {
    const body = { ...period, ...(name.value.trim() ? { name: name.value.trim() } : {}) };
    await attempt(() => api(`/sources/${enc(source.value)}/fits`, { method: "POST", body, signal }), "Training has begun.");
    started();
  }, { class: "primary" });
  const field = (label, input) => h("span", { class: "field" }, h("label", { for: input.id }, label), input);
  return [h("div", { class: "tools form" }, only ? null : field("Source", source),
    field(`From (${zone()})`, start), field("To", end), field("Name", name), go), shown];
}
