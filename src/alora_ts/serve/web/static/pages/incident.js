// One incident: who is to blame, each culprit against what was expected, how it spread, feedback.
import { api, enc } from "../api.js";
import { button, card, h, pair } from "../dom.js";
import { flow } from "../drawings/flow.js";
import { live } from "../events.js";
import { again, blame, grade, lasted, quiet } from "../incidents.js";
import { number, percent, times } from "../numbers.js";
import { attempt, empty, fill } from "../states.js";
import { iso, parse, stamp, when } from "../times.js";
import { culpritCharts } from "./culprit-charts.js";
import { feedback } from "./feedback.js";
import { muting } from "./mutes.js";

const CALM = 15000;
const ARROWS = { above: "▲", below: "▼" };

export const incident = {
  nav: "incidents",
  title: () => "Incident",
  render(root, { id }, _query, signal) {
    const body = h("div", {});
    root.append(h("p", { class: "crumbs" }, h("a", { href: "#/incidents" }, "Incidents"), " / incident"), body);
    const refresh = fill(body, async (now) => page(await api(`/incidents/${enc(id)}`, { signal: now }), now),
      { signal, what: "Asking for the incident" });
    let drawn = Date.now();
    live.addEventListener("incident", ({ detail }) => {
      const { id: changed, state } = detail;
      // An open incident may change with every row; nobody can read that fast.
      // Nor write: what is being typed stays.
      if (body.querySelector("#note")?.value || body.querySelector(".ahead") || document.activeElement?.matches("input")) return;
      if (String(changed) !== id || (state === "open" && Date.now() - drawn < CALM)) return;
      drawn = Date.now();
      refresh();
    }, { signal });
  },
};

function page(found, signal) {
  document.title = `${blame(found)} · alora-ts`;
  const silent = found.kind === "silence", link = `#/sources/${enc(found.source)}?${around(found)}`;
  const head = h("section", { class: "card incident", "aria-label": "Summary" },
    h("header", {}, h("h1", {}, silent ? `${blame(found)} fell silent` : blame(found)), grade(found),
      found.state === "open" ? h("span", { class: "grade open" }, "open") : null, quiet(found)),
    h("p", { class: "when" }, h("a", { href: link }, found.source), " · ", when(parse(found.start)),
      found.end ? [" to ", when(parse(found.end))] : null, ` · ${lasted(found)}`,
      found.recurring.count > 1 ? [" · ", h("a", { href: `#/incidents?series=${enc(found.recurring.series)}` }, again(found))] : null),
    h("p", { class: "story lead" }, story(found)), found.facts.map(fact),
    work(found, signal), muting(found, signal), silent ? null : feedback(found, signal), silent && !found.end ? h("p", { class: "soft" },
      found.connector ? `The connector ${found.connector} noticed. ` : null, "It ends by itself when values come. The ", h("a", { href: "#/health" }, "health page"), " shows how the connectors are.") : null);
  return [head, silent ? null : h("section", { class: "card pair", "aria-label": "Culprits" },
    h("div", { class: "blame" }, h("h2", {}, "Culprits"), culprits(found.culprits),
      h("ul", { class: "key" }, h("li", {}, h("i", { class: "blue" }), "measured"), h("li", {}, h("i", { class: "dash calm" }), "expected"))),
    culpritCharts(found, signal)),
  silent ? null : card("How it spread", "From where it began to the signals it reached, each by its strongest tie; thicker lines carry more.", spread(found.graph)),
  found.known ? card("Along what you know", "Who acts on whom by the influences you named, in the order in which the incident reached them; of several that act on one, the earliest.", ways(found.known)) : null,
  ].filter(Boolean);
}

const around = (found) => {
  const start = parse(found.start), end = parse(found.end) ?? Date.now(), room = Math.max(1000 * (found.room ?? 60), end - start);
  return new URLSearchParams({ from: iso(start - room), to: iso(end + room) }).toString();
};

function story(found) {
  if (found.kind === "silence") {
    const since = stamp(parse(found.start));
    return `No value of ${found.culprits.map(({ variable }) => variable).join(", ")} ${found.end ? `came from ${since} to ${stamp(parse(found.end))}` : `has come since ${since}`}.`;
  }
  const first = found.culprits[0];
  const peak = `It peaked at ${times(found.peak)} the alarm level at ${stamp(parse(found.peak_time))}`;
  return first ? `${peak}; ${percent(first.share)} of it comes from ${first.variable}, ${first.direction} expectation.` : `${peak}.`;
}

const fact = ({ label, text, note }) => h("p", { class: "fact" }, `${label[0].toUpperCase()}${label.slice(1)}: `, h("b", {}, text), ". ",
  h("span", { class: "soft" }, note));

function culprits(list) {
  if (!list.length) return h("p", {}, "No signal stands out.");
  const rest = 1 - list.reduce((sum, { share }) => sum + share, 0);
  return h("ol", { class: "culprits" }, list.map(({ variable, share, direction, value, expected }) => {
    const bar = h("i", {});
    bar.style.width = `${100 * Math.min(1, Math.max(0, share))}%`;
    const far = Number.isFinite(value) && Number.isFinite(expected) ? `: ${number(value)} against ${number(expected)}` : "";
    return h("li", {}, h("div", { class: "who" }, h("b", {}, variable), h("span", {}, percent(share))),
      h("div", { class: "bar" }, bar),
      h("div", { class: "way" }, `${ARROWS[direction] ?? ""} ${direction ?? "off"} expectation${far}`));
  }), rest > 0.005 ? h("li", { class: "way" }, `all other signals together: ${percent(rest)}`) : null);
}

function spread(graph) {
  if (!graph.edges.length) return empty("No tie between the culprits is strong enough to draw.");
  return [flow(graph), h("ul", { class: "key" }, h("li", {}, h("i", { class: "blue" }), "moves along"),
    h("li", {}, h("i", { class: "hot-ink" }), "moves against"))];
}

/** The spread along the influences that the settings name. */
function ways({ nodes, edges, note, problem }) {
  if (problem) return h("p", {}, `The named influences cannot be used. ${problem}`);
  const told = note ? h("p", { class: "soft" }, note) : null;
  if (!edges.length) return [empty("None of the influences you named lies between the signals it reached."), told];
  return [flow({ nodes, edges: edges.map((edge) => ({ ...edge, weight: 1 })) }), told];
}

/** Who looks after it, what they wrote, and where it says what to do. */
function work(found, signal) {
  const place = h("div", { class: "work" });
  const say = (body, said) => attempt(() => api(`/incidents/${enc(found.id)}/work`, { method: "POST", body, signal }), said)
    .then((done) => { if (done) show(done.work); return done; });
  // Made once: what somebody types must outlive the answers.
  const who = h("input", { type: "text", id: "assignee", maxlength: 100, value: found.work.assignee ?? "", placeholder: "nobody" });
  const text = h("input", { type: "text", id: "note", maxlength: 2000, placeholder: "what was seen or done" });
  const state = h("div", { class: "tools", role: "group", "aria-label": "Work on it" }), written = h("ul", { class: "plain notes" });
  const show = ({ acknowledged, notes }) => {
    state.replaceChildren(...[
      acknowledged ? h("span", {}, `Acknowledged by ${acknowledged.by}, `, when(parse(acknowledged.at))) : null,
      acknowledged ? button("Not any more", () => say({ acknowledged: false }, "No longer acknowledged."))
          : button("Acknowledge", () => say({ acknowledged: true }, "Acknowledged."), { class: "primary" }),
      found.runbook ? h("a", { href: found.runbook, rel: "noreferrer", target: "_blank" }, "Runbook") : null,
    ].filter(Boolean));
    written.replaceChildren(...notes.map((one) => h("li", {}, one.text, " ", h("span", { class: "soft" }, `${one.by}, `, when(parse(one.at))))));
  };
  const add = async () => {
    const note = text.value.trim();
    if (!note) { text.focus(); return; }
    if (await say({ note }, "The note is kept.")) text.value = "";
  };
  place.append(state, h("div", { class: "tools" }, pair("Assigned to", who), button("Assign", () => say({ assignee: who.value.trim() }, "Assigned.")),
    pair("Note", text), button("Add", add)), written);
  show(found.work);
  return place;
}
