// Training runs: progress, comparison with the active model, activation.
import { api, enc } from "../api.js";
import { button, card, h } from "../dom.js";
import { live } from "../events.js";
import { number, percent, words } from "../numbers.js";
import { attempt, empty, fill } from "../states.js";

const RUNNING = new Set(["queued", "pending", "running", "starting", "comparing"]);

export function fits(signal, changed) {
  const place = h("div", {});
  let running = false;
  const refresh = fill(place, async () => {
    const found = await api("/fits", { signal }), runs = found.items ?? found;
    running = runs.some(({ state }) => RUNNING.has(state));
    if (!runs.length) return empty("No training so far.");
    return h("ul", { class: "fits" }, runs.slice(0, 10).map((run) => item(run, signal, () => { refresh(); changed(); })));
  }, { signal });
  live.addEventListener("fit", refresh, { signal });
  // Events carry the progress; asking now and then covers a broken line.
  const timer = setInterval(() => { if (running) refresh(); }, 3000);
  signal.addEventListener("abort", () => clearInterval(timer));
  return { element: card("Training runs", null, place), refresh };
}

function item(run, signal, done) {
  const act = (text, method, path, said, props) => button(text, async () => {
    if (await attempt(() => api(path, { method, signal }), said)) done();
  }, props);
  const path = `/fits/${enc(run.id)}`, bar = h("progress", { max: "1", value: String(run.progress ?? 0), "aria-label": "Progress" });
  const finished = run.state === "finished" || run.state === "done";
  return h("li", { data: { state: run.state } },
    h("div", { class: "who" }, h("b", {}, run.name ?? `${run.source ?? "model"} ${run.id}`), h("span", { class: "grade" }, run.state)),
    RUNNING.has(run.state) ? [bar, h("span", { class: "soft" }, ` ${percent(run.progress ?? 0)} ${run.message ?? ""}`)]
      : run.message ? h("p", { class: "soft" }, run.message) : null,
    run.comparison ? comparison(run.comparison) : null,
    h("div", { class: "tools" },
      finished ? act("Activate", "POST", `${path}/activate`, "The new model is active.", { class: "primary" }) : null,
      RUNNING.has(run.state) ? act("Cancel", "DELETE", path, "The training was cancelled.") : null));
}

/** Numbers of the new model beside those of the active one, whatever the service compares. */
function comparison(found) {
  const plain = (value) => (typeof value === "number" ? number(value) : String(value ?? "–"));
  const rows = Object.entries(found).filter(([, value]) => value === null || typeof value !== "object")
    .map(([name, value]) => [h("dt", {}, words(name)), h("dd", {}, plain(value))]);
  return [h("h3", {}, "Compared with the active model"), h("dl", { class: "facts" }, rows)];
}
