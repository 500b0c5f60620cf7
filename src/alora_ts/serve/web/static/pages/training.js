// A new model from stored rows: choose a source and a stretch of time.
import { api, enc } from "../api.js";
import { button, card, h } from "../dom.js";
import { attempt, empty, fill } from "../states.js";
import { fromInput, iso, parse, toInput, zone } from "../times.js";

export function training(signal, started) {
  const place = h("div", {});
  fill(place, async () => form(await api("/sources", { signal }), signal, started), { signal });
  return card("Train from stored rows", "Runs beside the watching; nothing changes until you activate the result. "
    + "Choose a time of normal operation: what happens in it counts as normal.", place);
}

function form(sources, signal, started) {
  const filled = sources.filter(({ last_time }) => last_time !== null);
  if (!filled.length) return empty("No source has rows yet.");
  const source = h("select", { id: "fit-source" }, filled.map(({ name }) => h("option", { value: name }, name)));
  const start = h("input", { type: "datetime-local", id: "fit-start" }), end = h("input", { type: "datetime-local", id: "fit-end" });
  const name = h("input", { type: "text", id: "fit-name", placeholder: "chosen for you" });
  const note = h("p", { class: "soft", role: "status" });
  const suggest = async () => {
    const { name: asked, first_time: first, last_time: last } = filled.find((one) => one.name === source.value);
    const [from, to] = [parse(first), parse(last) + 60000];
    const show = ([low, high]) => { start.value = toInput(low); end.value = toInput(high); };
    show([from, to]);
    note.textContent = "";
    const { items } = await api("/incidents", { signal, query: { source: asked, limit: 1000 } });
    if (asked !== source.value || !items.length) return;
    const faults = items.filter(({ kind, verdict }) => kind !== "silence" && verdict !== "normal");
    if (!faults.length) return;
    show(longest(from, to, faults.map((one) => [parse(one.start), parse(one.end) ?? to])));
    note.textContent = "The longest time without an incident is suggested.";
  };
  source.addEventListener("change", suggest);
  suggest();
  const go = button("Start training", async () => {
    const from = fromInput(start.value), to = fromInput(end.value);
    if (!(to > from)) { start.focus(); return; }
    const body = { start: iso(from), end: iso(to), ...(name.value.trim() ? { name: name.value.trim() } : {}) };
    await attempt(() => api(`/sources/${enc(source.value)}/fits`, { method: "POST", body, signal }), "Training has begun.");
    started();
  }, { class: "primary" });
  const field = (label, input) => h("span", { class: "field" }, h("label", { for: input.id }, label), input);
  return h("div", { class: "tools form" }, field("Source", source), field(`From (${zone()})`, start), field("To", end), field("Name", name), go, note);
}

/** The longest stretch that touches none of the others. */
export function longest(from, to, others) {
  let at = from, best = [from, from];
  for (const [low, high] of [...others.sort((a, b) => a[0] - b[0]), [to, to]]) {
    if (low - at > best[1] - best[0]) best = [at, low];
    at = Math.max(at, high + 1);
  }
  return best;
}
