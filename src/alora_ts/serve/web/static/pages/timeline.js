// The score and the chosen signals over one stretch of time, moved together.
import { api } from "../api.js";
import { TimeChart } from "../charts/chart.js";
import { SeriesLoader } from "../charts/series.js";
import { View } from "../charts/view.js";
import { h } from "../dom.js";
import { live } from "../events.js";
import { remember } from "../router.js";
import { failed } from "../states.js";
import { iso, parse, zone } from "../times.js";
import { flags } from "./flags.js";
import { signalChoice } from "./signal-choice.js";
import { tools } from "./tools.js";

const HOUR = 3600000, SHOWN = 4;

export function timeline(source, incidents, query, signal) {
  const last = parse(source.last_time), first = parse(source.first_time) ?? last - 30 * 24 * HOUR;
  const view = startView(first, last, query);
  const score = new TimeChart({
    label: `Score of ${source.name} over time`, view, lines: [{ name: "score", style: "score" }],
    alarm: true, height: 230, freeWheel: true, group: "source", signal,
  });
  const marks = flags(view, signal), stage = h("div", { class: "signals" }), trouble = h("div", {});
  let chosen = firstSignals(source, incidents), charts = new Map(), bands = [], latest = null;

  function arrange() {
    for (const [name, made] of charts) {
      if (!chosen.includes(name)) { made.stop.abort(); charts.delete(name); }
    }
    for (const name of chosen) {
      if (charts.has(name)) continue;
      const stop = new AbortController();
      signal.addEventListener("abort", () => stop.abort(), { signal: stop.signal });
      const chart = new TimeChart({
        label: `${name}, measured and expected`, view, group: "source", signal: stop.signal,
        lines: [{ name: "expected", style: "expected" }, { name: "measured", style: "measured" }],
      });
      charts.set(name, { chart, stop, block: h("div", {}, h("h3", {}, h("b", {}, name)), chart.element) });
    }
    stage.replaceChildren(...chosen.map((name) => charts.get(name).block));
  }

  function draw() {
    if (!latest) return;
    score.give([latest.score], bands);
    for (const [name, { chart }] of charts) {
      const found = latest.signals[name];
      if (found) chart.give([{ t: found.expected_t, v: found.expected_v }, { t: found.t, v: found.v }], bands);
    }
  }

  const loader = new SeriesLoader({
    source: source.name, view, signal, signals: () => chosen,
    points: () => Math.max(300, Math.min(1000, Math.round(score.plot.width))),
    show: (found) => { trouble.replaceChildren(); latest = found; draw(); inRange(); },
    fail: (error) => trouble.replaceChildren(failed(error, () => loader.load())),
  });

  let asked = null;
  async function inRange() {
    const key = `${iso(view.min)} ${iso(view.max)}`;
    if (asked === key) return;
    asked = key;
    try {
      const { items } = await api("/incidents", {
        signal, query: { source: source.name, limit: 200, start: iso(view.min - view.span), end: iso(view.max + view.span) },
      });
      bands = items.map((incident) => ({
        start: parse(incident.start), end: parse(incident.end) ?? view.last, incident,
      }));
      marks.give(bands);
      draw();
    } catch (error) {
      if (error.name !== "AbortError" && error.status === undefined) throw error;
    }
  }

  let saving = null;
  view.addEventListener("change", () => {
    clearTimeout(saving);
    saving = setTimeout(() => {
      if (!signal.aborted) remember(view.follow ? { from: null, to: null } : { from: iso(view.min), to: iso(view.max) });
    }, 400);
  }, { signal });
  live.addEventListener("reading", ({ detail }) => {
    if (detail.source !== source.name) return;
    view.reach(parse(detail.time));
    loader.reached(parse(detail.time));
  }, { signal });
  live.addEventListener("incident", ({ detail }) => {
    if (detail.source === source.name && detail.change !== "updated") { asked = null; inRange(); }
  }, { signal });
  live.addEventListener("resumed", () => loader.load(), { signal });

  arrange();
  loader.load();
  return h("section", { class: "card", "aria-label": "Timeline" },
    h("h2", {}, "Timeline"),
    h("p", {}, `Score of the whole system, in times of the alarm level; below it the signals. Times in ${zone()}${zone() === "UTC" ? "" : ", UTC on hover"}.`),
    tools(view, signal), trouble, marks.element, score.element,
    h("ul", { class: "key" }, h("li", {}, h("i", { class: "blue" }), "score, measured"),
      h("li", {}, h("i", { class: "dash calm" }), "expected"), h("li", {}, h("i", { class: "dash hot-ink" }), "alarm level"),
      h("li", {}, h("i", { class: "wash" }), "incident")),
    signalChoice(source.variables, chosen, (now) => { chosen = now; arrange(); loader.load(); }),
    stage);
}

function startView(first, last, query) {
  const from = Date.parse(query.get("from")), to = Date.parse(query.get("to"));
  if (Number.isFinite(from) && to > from) return new View({ first, last, min: from, max: to });
  const wide = Math.max(60000, Math.min(last - first, 24 * HOUR));
  return new View({ first, last, min: last - 0.98 * wide, max: last + 0.02 * wide, follow: true });
}

/** Those lately blamed, then the first ones. */
function firstSignals(source, incidents) {
  const blamed = incidents.flatMap(({ culprits }) => culprits.slice(0, 2).map(({ variable }) => variable));
  return [...new Set([...blamed, ...source.variables])].filter((name) => source.variables.includes(name)).slice(0, SHOWN);
}
