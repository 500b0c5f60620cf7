// All incidents, newest first.
import { api } from "../api.js";
import { button, h, pair } from "../dom.js";
import { live } from "../events.js";
import { incidentList } from "../incidents.js";
import { remember } from "../router.js";
import { attempt, empty, fill } from "../states.js";

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
    const wanted = query.get("source");
    // The address may name a source before the list of sources has come.
    if (wanted) { where.append(h("option", { value: wanted }, wanted)); where.value = wanted; }
    const filter = () => ({ source: where.value, state: which.value, severity: grade.value });
    const refresh = fill(list, async () => {
      const found = await api("/incidents", { signal, query: { ...filter(), limit: PAGE } });
      if (!found.items.length) {
        return empty(Object.values(filter()).some(Boolean) ? "No incident matches." : "No incident so far.",
          "An incident opens when the score passes 1, or when a signal stops coming.");
      }
      return pages(found, filter(), signal);
    }, { signal });
    for (const chooser of [where, which, grade]) {
      chooser.addEventListener("change", () => {
        remember({ source: where.value || null, state: which.value || null, severity: grade.value || null });
        refresh();
      });
    }
    live.addEventListener("incident", ({ detail }) => { if (detail.change !== "updated") refresh(); }, { signal });
    live.addEventListener("resumed", refresh, { signal });
    attempt(async () => {
      for (const { name } of await api("/sources", { signal })) {
        if (name !== wanted) where.append(h("option", { value: name }, name));
      }
    }).catch(() => {});
    root.append(h("h1", {}, "Incidents"), h("section", { class: "card", "aria-label": "Incidents" },
      h("div", { class: "tools" }, pair("Source", where), pair("State", which), pair("Severity", grade)), list));
  },
};

function pages(found, filter, signal) {
  const place = h("div", {}, incidentList(found.items));
  let cursor = found.next;
  const more = button("Show earlier ones", async () => {
    const next = await attempt(() => api("/incidents", { signal, query: { ...filter, limit: PAGE, cursor } }));
    if (!next) return;
    place.append(incidentList(next.items));
    cursor = next.next;
    more.hidden = !cursor;
  });
  more.hidden = !cursor;
  return [place, more];
}
