// All incidents, newest first, those of a pattern as one; and what was said of patterns.
import { api, enc } from "../api.js";
import { button, card, h, pair } from "../dom.js";
import { live } from "../events.js";
import { incidentList } from "../incidents.js";
import { remember } from "../router.js";
import { attempt, empty, fill } from "../states.js";
import { parse, when } from "../times.js";
import { meaning } from "./feedback.js";

const PAGE = 30;

export const incidents = {
  nav: "incidents",
  title: () => "Incidents",
  render(root, _params, query, signal) {
    const list = h("div", {}), where = h("select", { id: "where" }, h("option", { value: "" }, "all sources"));
    const which = h("select", { id: "which" }, h("option", { value: "" }, "open and closed"),
      h("option", { value: "open" }, "open"), h("option", { value: "closed" }, "closed"));
    which.value = query.get("state") ?? "";
    const grade = h("select", { id: "grade" }, h("option", { value: "" }, "any"),
      ["high", "medium", "low"].map((value) => h("option", { value }, value)));
    grade.value = query.get("severity") ?? "";
    const how = h("select", { id: "how" }, h("option", { value: "" }, "as one"), h("option", { value: "each" }, "each"));
    how.value = query.get("recurring") ?? "";
    const wanted = query.get("source"), series = query.get("series");
    // The address may name a source before the list of sources has come.
    if (wanted) { where.append(h("option", { value: wanted }, wanted)); where.value = wanted; }
    const filter = () => ({ source: where.value, state: which.value, severity: grade.value, series, grouped: !series && !how.value });
    const refresh = fill(list, async () => {
      const found = await api("/incidents", { signal, query: { ...filter(), limit: PAGE } });
      if (!found.items.length) {
        return empty([series, where.value, which.value, grade.value].some(Boolean) ? "No incident matches." : "No incident so far.",
          "An incident opens when the score passes 1, or when a signal stops coming.");
      }
      return pages(found, filter(), signal);
    }, { signal });
    for (const chooser of [where, which, grade, how]) {
      chooser.addEventListener("change", () => {
        remember({ source: where.value || null, state: which.value || null, severity: grade.value || null, recurring: how.value || null });
        refresh();
      });
    }
    const said = h("div", {}), patterns = fill(said, () => judged(signal, () => patterns()), { signal });
    live.addEventListener("incident", ({ detail }) => {
      if (detail.change !== "updated") refresh();
      if (detail.change === "judged") patterns();
    }, { signal });
    live.addEventListener("resumed", refresh, { signal });
    attempt(async () => {
      for (const { name } of await api("/sources", { signal })) {
        if (name !== wanted) where.append(h("option", { value: name }, name));
      }
    }).catch(() => {});
    root.append(h("h1", {}, "Incidents"), h("section", { class: "card", "aria-label": "Incidents" },
      series ? h("p", {}, "Those that recur with one incident. ", h("a", { href: "#/incidents" }, "All incidents"))
        : h("div", { class: "tools" }, pair("Source", where), pair("State", which), pair("Severity", grade), pair("Recurring", how)), list), said);
  },
};

function pages(found, filter, signal) {
  const place = h("div", {}, incidentList(found.items, { grouped: filter.grouped }));
  let cursor = found.next;
  const more = button("Show earlier ones", async () => {
    const next = await attempt(() => api("/incidents", { signal, query: { ...filter, limit: PAGE, cursor } }));
    if (!next) return;
    place.append(incidentList(next.items, { grouped: filter.grouped }));
    cursor = next.next;
    more.hidden = !cursor;
  });
  more.hidden = !cursor;
  return [place, more];
}

/** The patterns that are silenced or protected, each with a way back. */
async function judged(signal, changed) {
  const found = await api("/patterns", { signal });
  if (!found.length) return null;
  const undo = (incident) => button("Undo", async () => {
    if (await attempt(() => api(`/incidents/${enc(incident)}/feedback`, { method: "DELETE", signal }), "The verdict was taken back.")) changed();
  }, { "aria-label": "Undo this verdict" });
  return card("Patterns that people judged", "Silenced ones are found and shown, but neither alarm nor notify.", h("ul", { class: "uses" }, found.map((pattern) => h("li", {},
    h("div", { class: "said" }, h("b", {}, pattern.text), " ", h("span", { class: "grade" }, pattern.protected ? "protected" : "silenced"), h("p", { class: "soft" }, pattern.source, " · ", meaning(pattern))),
    pattern.verdicts.map(({ incident, verdict, by, at }) => h("div", { class: "tools" }, h("a", { href: `#/incidents/${enc(incident)}` }, verdict === "real" ? "was real" : "was normal"),
      h("span", { class: "soft" }, `${by}, `, when(parse(at))), undo(incident)))))));
}
