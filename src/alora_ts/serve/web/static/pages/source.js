// One source: its score and signals over any stretch of time, its incidents, its drift.
import { api, enc } from "../api.js";
import { card, h } from "../dom.js";
import { live } from "../events.js";
import { incidentList } from "../incidents.js";
import { times, whole } from "../numbers.js";
import { stateBadges } from "../sources.js";
import { empty, fill } from "../states.js";
import { parse, when } from "../times.js";
import { collecting } from "./collecting.js";
import { drift } from "./drift.js";
import { timeline } from "./timeline.js";

const LOOK = 5000;

export const source = {
  nav: "overview",
  title: ({ name }) => name,
  render(root, { name }, query, signal) {
    const body = h("div", {});
    root.append(h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Overview"), " / source"), h("h1", {}, name), body);
    const refresh = fill(body, async (signal) => {
      const [found, { items }] = await Promise.all([
        api(`/sources/${enc(name)}`, { signal }),
        api("/incidents", { signal, query: { source: name, limit: 20 } }),
      ]);
      return page(found, items, query, signal, () => refresh());
    }, { signal, what: "Asking for the source" });
  },
};

function page(found, incidents, query, signal, again) {
  const badge = h("dd", {}, stateBadges(found));
  const score = h("dd", {}, times(found.score)), rows = h("dd", {}, whole(found.rows));
  const last = h("dd", { class: "small" }, when(parse(found.last_time)));
  live.addEventListener("reading", ({ detail }) => {
    if (detail.source !== found.name) return;
    score.textContent = times(detail.score);
    last.replaceChildren(when(parse(detail.time)));
    badge.replaceChildren(stateBadges({ ...found, state: detail.state }));
  }, { signal });
  const facts = h("dl", { class: "tiles" },
    h("div", {}, h("dt", {}, "State"), badge), h("div", {}, h("dt", {}, "Score now"), score),
    h("div", {}, h("dt", {}, "Rows"), rows), h("div", {}, h("dt", {}, "Last row"), last),
    h("div", {}, h("dt", {}, "Signals"), h("dd", {}, whole(found.variables.length))),
    h("div", {}, h("dt", {}, "Model"), h("dd", { class: "small" },
      found.model_id ? h("a", { href: `#/models/${enc(found.model_id)}` }, String(found.model_id).slice(0, 12)) : "–")));
  const head = h("section", { class: "card", "aria-label": "State" }, facts, found.trouble
    ? h("p", { class: "failed", role: "alert" }, `Scoring fails and is tried again: ${found.trouble}`) : null);
  if (found.state === "collecting") {
    // No readings tell of new rows, so they are asked for; the first ones change the page.
    const timer = setInterval(async () => {
      const { rows: count, last_time: newest } = await api(`/sources/${enc(found.name)}`, { signal });
      rows.textContent = whole(count);
      last.replaceChildren(when(parse(newest)));
      if (found.last_time === null && newest !== null) again();
    }, LOOK);
    signal.addEventListener("abort", () => clearInterval(timer));
    return [head, ...collecting(found, signal, again)];
  }
  if (found.last_time === null) {
    return [head, h("section", { class: "card" }, empty("Nothing has come in yet.",
      "Rows sent to this source appear here as soon as they are scored."))];
  }
  const list = h("div", {});
  const refresh = fill(list, async () => {
    const { items } = await api("/incidents", { signal, query: { source: found.name, limit: 20 } });
    return items.length ? incidentList(items, { withSource: false }) : empty("No incident so far.");
  }, { signal });
  live.addEventListener("incident", ({ detail }) => {
    if (detail.source === found.name && detail.change !== "updated") refresh();
  }, { signal });
  return [head, timeline(found, incidents, query, signal), card("Incidents", null, list,
    h("p", {}, h("a", { href: `#/incidents?source=${enc(found.name)}` }, "All incidents of this source"))),
  drift(found, signal)];
}
