// Maintenance windows and mutes: incidents that nobody is told of for a while.
import { api, enc } from "../api.js";
import { button, card, h, pair } from "../dom.js";
import { attempt, empty, fill } from "../states.js";
import { fromInput, iso, parse, toInput, when } from "../times.js";

const HOUR = 3600000;
const LENGTHS = [["1 hour", 1], ["8 hours", 8], ["1 day", 24], ["1 week", 168]];

const lengths = (id) => h("select", { id }, LENGTHS.map(([text, hours]) => h("option", { value: hours }, text)));

const undo = (one, after, signal) => button("Undo", async () => {
  if (await attempt(() => api(`/mutes/${enc(one.id)}`, { method: "DELETE", signal }),
    "People are told again; what still lasts is told within seconds.")) after();
}, { "aria-label": `Undo the mute of ${one.source ?? "all sources"}` });

/** On an incident's page: that nobody was told of it, or a way to mute its pattern. */
export function muting(found, signal) {
  const place = h("div", { class: "tools", role: "group", "aria-label": "Mute" });
  const offer = () => {
    const long = lengths("mute-hours");
    place.replaceChildren(pair("Tell nobody of this pattern for", long), button("Mute", async () => {
      const made = await attempt(() => api("/mutes", { method: "POST", body: { incident: found.id, hours: Number(long.value) }, signal }),
        ({ what }) => `Nobody is told of "${what}" in ${found.source} for a while.`);
      if (made) show(made, "Incidents like it are muted until ");
    }));
  };
  const show = (mute, lead) => place.replaceChildren(h("span", {}, lead, when(parse(mute.end)), ` by ${mute.by}`, mute.reason ? `: ${mute.reason}` : ""),
    undo(mute, offer, signal), h("a", { href: "#/mutes" }, "All mutes"));
  if (found.muted) show(found.muted, found.muted.held ? "Nobody was told of it: muted until " : "Incidents like it are muted until ");
  else offer();
  return place;
}

export const mutes = {
  nav: "health",
  title: () => "Mutes",
  render(root, _params, _query, signal) {
    const list = h("div", {});
    const refresh = fill(list, async (now) => table(await api("/mutes", { signal: now }), () => refresh(), signal), { signal });
    const timer = setInterval(refresh, 10000);
    signal.addEventListener("abort", () => clearInterval(timer));
    root.append(h("p", { class: "crumbs" }, h("a", { href: "#/health" }, "Health"), " / mutes"), h("h1", {}, "Mutes"),
      card("Mute for a while", "Incidents are found, kept and shown all the same, but nobody is told. One that still lasts at the end is told then.",
        form(() => refresh(), signal)),
      card("In force and to come", null, list));
  },
};

function form(after, signal) {
  const where = h("select", { id: "mute-source" }, h("option", { value: "" }, "all sources"));
  const from = h("input", { type: "datetime-local", id: "mute-from", value: toInput(Date.now()) });
  const long = lengths("mute-hours"), why = h("input", { type: "text", id: "note", maxlength: 500, placeholder: "such as: the pump is exchanged" });
  attempt(async () => where.append(...(await api("/sources", { signal })).map(({ name }) => h("option", { value: name }, name)))).catch(() => {});
  return h("div", { class: "tools" }, pair("Source", where), pair("From", from), pair("For", long), pair("Why", why), button("Mute", async () => {
    const start = fromInput(from.value);
    if (!Number.isFinite(start)) { from.focus(); return; }
    // A window that begins now begins at once, not at the full minute.
    const body = { source: where.value || null, start: iso(Math.abs(start - Date.now()) < HOUR / 30 ? Date.now() : start), hours: Number(long.value), reason: why.value };
    if (await attempt(() => api("/mutes", { method: "POST", body, signal }), "Muted.")) { why.value = ""; after(); }
  }, { class: "primary" }));
}

function table(items, after, signal) {
  if (!items.length) return empty("Nothing is muted.", "People are told of every incident.");
  return h("ul", { class: "culprits" }, items.map((one) => h("li", {},
    h("div", { class: "who" }, h("b", {}, one.source ?? "All sources", " ", h("span", { class: "soft" }, one.what ?? "every pattern")),
      h("span", { class: "badge", data: { state: one.state === "active" ? "silent" : "waiting" } }, one.state)),
    h("div", { class: "way" }, when(parse(one.start)), " to ", when(parse(one.end)), ` · by ${one.by}${one.reason ? ` · ${one.reason}` : ""}`,
      one.holds ? h("span", { class: "hot-word" }, ` · ${one.holds} open and not told`) : null),
    h("div", { class: "tools" }, undo(one, after, signal)))));
}
