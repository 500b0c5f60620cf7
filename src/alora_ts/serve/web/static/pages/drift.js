// Whether the data still look like those the model learned from.
import { api, enc } from "../api.js";
import { button, card, h } from "../dom.js";
import { number, times } from "../numbers.js";
import { attempt, empty, fill } from "../states.js";
import { parse, when } from "../times.js";

const LEVELS = { ok: "● ok", watch: "◐ watch", drifted: "▲ drifted" };
const ORDER = ["drifted", "watch", "ok"];
const SHOWN = 8;

export function drift(source, signal) {
  const place = h("div", {}), path = `/sources/${enc(source.name)}/recalibrate`;
  const refresh = fill(place, async () => body(await api(`/sources/${enc(source.name)}/drift`, { signal })), { signal });
  const recalibrate = button("Recalibrate the alarm level", async () => {
    await attempt(() => api(path, { method: "POST", signal }), level);
    refresh();
  });
  const undo = button("Back to the model's own level", () => attempt(() => api(path, { method: "DELETE", signal }), level));
  return card("Drift", "The newest rows against the first that the model watched.", place, h("div", { class: "tools" }, recalibrate, undo,
    h("a", { href: `#/models/${enc(source.model_id)}` }, "Train a new model")));
}

const level = ({ threshold, model_threshold: own, note }) => `The alarm level is now ${times(threshold / own)} the model's own (${note}).`;

function body(found) {
  if (!found.inputs.length) return empty("Not enough rows yet to tell.", found.advice);
  const inputs = found.inputs.slice().sort((a, b) => ORDER.indexOf(a.level) - ORDER.indexOf(b.level) || b.statistic - a.statistic);
  const most = Math.max(1e-9, ...inputs.map(({ statistic }) => statistic ?? 0));
  const rows = inputs.map(({ variable, statistic, level }, at) => {
    const fill = h("i", { class: level });
    fill.style.width = `${Math.max(1, (100 * (statistic ?? 0)) / most)}%`;
    return h("li", { hidden: at >= SHOWN && level === "ok" },
      h("div", { class: "who" }, h("b", {}, variable), h("span", {}, `${number(statistic)} `, badge(level))),
      h("div", { class: "bar" }, fill));
  });
  const hidden = rows.filter((row) => row.hidden);
  const more = hidden.length ? h("button", { type: "button", on: { click: () => {
    for (const row of hidden) row.hidden = false;
    more.remove();
  } } }, `Show ${hidden.length} more that are ok`) : null;
  return [
    h("dl", { class: "facts" },
      h("dt", {}, "Score"), h("dd", {}, `${number(found.score.statistic)} `, badge(found.score.level)),
      h("dt", {}, "Advice"), h("dd", {}, h("b", {}, found.advice)),
      h("dt", {}, "Since"), h("dd", {}, when(parse(found.since)))),
    h("ul", { class: "culprits two-columns" }, rows), more,
  ].filter(Boolean);
}

const badge = (level) => h("span", { class: "badge", data: { state: level } }, LEVELS[level]);
