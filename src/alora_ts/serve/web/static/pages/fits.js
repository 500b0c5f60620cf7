// Training runs: progress, comparison with the active model, activation.
import { api, enc } from "../api.js";
import { button, card, h } from "../dom.js";
import { live } from "../events.js";
import { number, percent, times, whole } from "../numbers.js";
import { attempt, empty, fill } from "../states.js";
import { parse, stamp, when } from "../times.js";

const RUNNING = new Set(["waiting", "running"]);

/** All runs, or those of one source (`only`). */
export function fits(signal, changed, { only = null } = {}) {
  const place = h("div", {});
  let running = false;
  const refresh = fill(place, async () => {
    const [all, sources] = await Promise.all([api("/fits", { signal }), api("/sources", { signal })]);
    const runs = all.filter(({ source }) => !only || source === only);
    const active = new Set(sources.map(({ model_id }) => model_id));
    running = runs.some(({ state }) => RUNNING.has(state));
    if (!runs.length) return empty("No training so far.");
    return h("ul", { class: "fits" }, runs.slice(0, 10).map((run) => item(run, active.has(run.model_id), signal, () => { refresh(); changed(); })));
  }, { signal });
  // A fit reports many times a second; once is enough for a bar to move.
  let news = false;
  live.addEventListener("fit", () => { news = true; }, { signal });
  const timer = setInterval(() => { if (news || running) { news = false; refresh(); } }, 1000);
  signal.addEventListener("abort", () => clearInterval(timer));
  return { element: card("Training runs", null, place), refresh };
}

function item(run, active, signal, done) {
  const act = (text, method, path, said, props) => button(text, async () => {
    if (await attempt(() => api(path, { method, signal }), said)) done();
  }, props);
  const path = `/fits/${enc(run.id)}`, bar = h("progress", { max: "1", value: String(run.progress), "aria-label": "Progress" });
  return h("li", { data: { state: run.state } },
    h("div", { class: "who" }, h("b", {}, run.name), h("span", { class: active ? "grade open" : "grade" }, active ? "active" : run.state)),
    h("p", { class: "soft" }, `${run.source}: `, when(parse(run.start)), " to ", when(parse(run.end)),
      run.model_id ? [" · ", h("a", { href: `#/models/${enc(run.model_id)}` }, "the model")] : null),
    RUNNING.has(run.state) ? [bar, h("span", { class: "soft" }, ` ${percent(run.progress)} ${run.message}`)]
      : run.message ? h("p", { class: run.state === "failed" ? "failed" : "soft" }, run.message) : null,
    run.comparison ? comparison(run.comparison) : null,
    h("div", { class: "tools" },
      run.state === "done" && !active ? act("Activate", "POST", `${path}/activate`, nowLive, { class: "primary" }) : null,
      RUNNING.has(run.state) ? act("Cancel", "DELETE", path, "The training was cancelled.") : null));
}

const nowLive = ({ scored_from: since }) => (since
  ? `The new model is active. What was collected from ${stamp(parse(since))} on is scored now.` : "The new model is active.");

function comparison({ rows, new: made, active, agreement }) {
  if (!rows) return h("p", { class: "soft" }, "There are no recent rows to compare on.");
  if (!active) {
    return h("p", { class: "soft" }, `Of the last ${whole(rows)} rows ${number(100 * made.alarm_rate)}% would alarm; their mean score is ${times(made.mean_score)} the alarm level.`);
  }
  const line = (name, value) => h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "n" }, value(made)), h("td", { class: "n" }, value(active)));
  return [
    h("h3", {}, `Both models on the last ${whole(rows)} rows`),
    h("table", { class: "compare" },
      h("thead", {}, h("tr", {}, h("td", {}), h("th", { class: "n", scope: "col" }, "new"), h("th", { class: "n", scope: "col" }, "active"))),
      h("tbody", {}, line("Rows that alarm", ({ alarm_rate: share }) => `${number(100 * share)}%`),
        line("Mean score", ({ mean_score: score }) => times(score)))),
    h("p", { class: "soft" }, `They agree on ${number(100 * agreement)}% of the rows.`),
  ];
}
