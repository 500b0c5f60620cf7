// Every source at a glance, and what is wrong now.
import { api, enc } from "../api.js";
import { card, h } from "../dom.js";
import { sparkline } from "../drawings/sparkline.js";
import { live } from "../events.js";
import { incidentList } from "../incidents.js";
import { times, whole } from "../numbers.js";
import { empty, fill } from "../states.js";
import { stateBadge, stateOf } from "../sources.js";
import { iso, parse, when } from "../times.js";

const DAY = 86400000;

export const overview = {
  nav: "overview",
  title: () => "Overview",
  render(root, _params, _query, signal) {
    const tiles = h("div", {}), list = h("div", {});
    root.append(h("h1", {}, "Overview"), tiles, card("Latest incidents", null, list,
      h("p", {}, h("a", { href: "#/incidents" }, "All incidents"))));
    const sources = fill(tiles, () => grid(signal), { signal, what: "Asking for the sources" });
    const incidents = fill(list, () => latest(signal), { signal });
    live.addEventListener("reading", ({ detail }) => update(tiles, detail), { signal });
    live.addEventListener("incident", ({ detail }) => { if (detail.change !== "updated") { sources(); incidents(); } }, { signal });
    live.addEventListener("resumed", () => { sources(); incidents(); }, { signal });
    // Sparklines need no event of their own.
    const timer = setInterval(sources, 20000);
    signal.addEventListener("abort", () => clearInterval(timer));
  },
};

async function grid(signal) {
  const sources = await api("/sources", { signal });
  if (!sources.length) {
    return h("section", { class: "card" }, empty("No source yet.",
      "Start the service with a model, for instance ", h("code", {}, "alora-ts serve --model plant.alora"), "."));
  }
  const alarms = sources.filter(({ state }) => state === "alarm").length;
  const lead = alarms ? `${alarms} of ${sources.length} ${sources.length === 1 ? "source" : "sources"} in alarm.` : "No source is in alarm.";
  return [
    h("p", { class: "period" }, lead),
    h("div", { class: "sources" }, await Promise.all(sources.map((source) => tile(source, signal)))),
  ];
}

async function tile(source, signal) {
  const last = parse(source.last_time);
  let line = h("p", { class: "soft" }, "No rows yet.");
  if (last !== null) {
    const { score } = await api(`/sources/${enc(source.name)}/series`, {
      signal, query: { start: iso(last - DAY), end: iso(last), points: 150 },
    });
    line = score.t.length ? sparkline(score) : h("p", { class: "soft" }, "No score yet.");
  }
  return h("a", { class: "card source", href: `#/sources/${enc(source.name)}`, data: { source: source.name, state: source.state } },
    h("span", { class: "head" }, h("b", {}, source.name), stateBadge(source.state)),
    h("span", { class: "now" }, h("span", { class: "score" }, times(source.score)), last === null ? null : h("span", { class: "soft" }, "of the alarm level")),
    line,
    h("span", { class: "soft facts-line" }, source.open_incidents
      ? h("b", { class: "hot-word" }, `${source.open_incidents} open ${source.open_incidents === 1 ? "incident" : "incidents"}`) : "no open incident",
    ` · ${whole(source.rows)} rows`, last === null ? "" : [" · ", when(last)]));
}

async function latest(signal) {
  const { items } = await api("/incidents", { signal, query: { limit: 8 } });
  return items.length ? incidentList(items) : empty("No incident so far.");
}

function update(root, reading) {
  for (const place of root.querySelectorAll(".source")) {
    if (place.dataset.source !== reading.source) continue;
    place.querySelector(".score").textContent = times(reading.score);
    const time = place.querySelector("time");
    if (time) time.replaceWith(when(parse(reading.time)));
    place.dataset.state = stateOf(reading);
    place.querySelector(".badge").replaceWith(stateBadge(stateOf(reading)));
  }
}
