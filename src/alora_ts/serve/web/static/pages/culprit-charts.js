// Each culprit's signal against its expectation around the incident.
import { api, enc } from "../api.js";
import { TimeChart } from "../charts/chart.js";
import { SeriesLoader } from "../charts/series.js";
import { View } from "../charts/view.js";
import { h } from "../dom.js";
import { failed } from "../states.js";
import { parse } from "../times.js";

const SHOWN = 5;

export function culpritCharts(found, signal) {
  const names = found.culprits.slice(0, SHOWN).map(({ variable }) => variable);
  const start = parse(found.start), end = parse(found.end) ?? Date.now();
  const room = Math.max(1000 * (found.room ?? 30), 0.6 * (end - start));
  const view = new View({ first: start - 10 * room, last: end + 10 * room, min: start - room, max: end + room });
  // What the signals that behaved imply; the model's own expectation is bent by the culprits.
  const implied = api(`/incidents/${enc(found.id)}/expected`, { signal }).catch(() => ({}));
  const trouble = h("div", {}), bands = [{ start, end }];
  const charts = new Map(names.map((name) => [name, new TimeChart({
    label: `${name} during the incident, measured and expected`, view, group: "incident", signal, height: 130,
    lines: [{ name: "expected", style: "expected" }, { name: "measured", style: "measured" }],
  })]));
  const loader = new SeriesLoader({
    source: found.source, view, signal, signals: () => names, points: () => 700,
    show: async ({ signals }) => {
      trouble.replaceChildren();
      const told = await implied;
      for (const [name, chart] of charts) {
        const lines = signals[name];
        if (lines) chart.give([told[name] ?? { t: lines.expected_t, v: lines.expected_v }, { t: lines.t, v: lines.v }], bands);
      }
    },
    fail: (error) => trouble.replaceChildren(failed(error, () => loader.load())),
  });
  if (names.length) loader.load();
  return h("div", { class: "signals" }, trouble,
    [...charts].map(([name, chart]) => h("div", {}, h("h3", {}, h("b", {}, name)), chart.element)));
}
