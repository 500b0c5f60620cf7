// Every source at a glance, the worst first: what, since when, which signal, how bad.
import { api, enc } from "../api.js";
import { button, card, h, pair } from "../dom.js";
import { sparkline } from "../drawings/sparkline.js";
import { live } from "../events.js";
import { blame, incidentList } from "../incidents.js";
import { times, whole } from "../numbers.js";
import { remember } from "../router.js";
import { attempt, empty, fill } from "../states.js";
import { stateBadges } from "../sources.js";
import { parse, since, when } from "../times.js";

// Scores in a tile's little line, and how long news are gathered before the list is asked for again.
const POINTS = 100, GATHER = 500, GROW = 3000;
// With thousands of sources: tiles at first, and names that one request asks for.
const TILES = 200, NAMES = 50;
const GRADES = { high: 3, medium: 2, low: 1 };
const STATES = { alarm: "in alarm", silent: "silent", other: "neither" };
// Collecting sources have no readings that would tell of new rows.
const LOOK = 5000;

export const overview = {
  nav: "overview",
  title: () => "Overview",
  render(root, _params, query, signal) {
    const tiles = h("div", {}), list = h("div", {}), known = new Map();
    const search = h("input", { id: "search", type: "search", placeholder: "source or signal", autocomplete: "off" });
    const which = h("select", { id: "which" }, h("option", { value: "" }, "all"),
      Object.entries(STATES).map(([value, text]) => h("option", { value }, text)));
    search.value = query.get("search") ?? "";
    which.value = query.get("state") ?? "";
    const tools = h("div", { class: "tools", hidden: true }, pair("Find", search), pair("State", which));
    root.append(h("h1", {}, "Overview"), tools, tiles, addSource(signal), card("Latest incidents", null, list,
      h("p", {}, h("a", { href: "#/incidents" }, "All incidents"))));
    let most = TILES;
    const made = () => grid([...known.values()], search.value.trim().toLowerCase(), which.value, most, () => { most = Infinity; draw(); });
    const draw = () => { if (known.size) tiles.replaceChildren(...made().filter(Boolean)); };
    const filter = () => { remember({ search: search.value || null, state: which.value || null }); draw(); };
    search.addEventListener("input", filter);
    which.addEventListener("change", filter);
    // Sources with news since they were asked for; null: all are to be asked for.
    let news = null;
    const sources = fill(tiles, async () => {
      const some = known.size && news && news.size <= NAMES ? [...news] : null;
      news = new Set();
      try {
        const found = await api("/sources", { signal, query: { recent: POINTS, name: some ?? [] } });
        if (!some) known.clear();
        for (const source of found) known.set(source.name, source);
      } catch (error) {
        news = null;
        throw error;
      }
      tools.hidden = known.size < 2;
      return made();
    }, { signal, what: "Asking for the sources" });
    const incidents = fill(list, () => latest(signal), { signal });
    let waiting = null;
    const gather = () => { waiting ??= setTimeout(look, GATHER); };
    const look = async () => {
      incidents();
      try { if (news === null || news.size) await sources(); } finally { waiting = null; }
      if (news?.size && !signal.aborted) gather();
    };
    const timer = setInterval(() => {
      const growing = [...known.values()].filter(({ state }) => state === "collecting");
      for (const { name } of growing) news?.add(name);
      if (growing.length) gather();
    }, LOOK);
    signal.addEventListener("abort", () => { clearTimeout(waiting); clearInterval(timer); });
    live.addEventListener("reading", ({ detail }) => update(tiles, known, detail), { signal });
    // An open incident grows with every row; the list below follows a little later.
    let growing = null;
    signal.addEventListener("abort", () => clearTimeout(growing));
    live.addEventListener("incident", ({ detail }) => {
      if (detail.change !== "updated") { news?.add(detail.source); gather(); return; }
      grow(tiles, known, detail);
      growing ??= setTimeout(() => { growing = null; incidents(); }, GROW);
    }, { signal });
    live.addEventListener("resumed", () => { news = null; gather(); }, { signal });
  },
};

/** The worst first: alarms by severity and height, then silences, then the others by name. */
const rank = ({ state, worst, silent_signals: silent }) => (state === "alarm"
  ? 1e9 * (GRADES[worst?.severity] ?? 1) + Math.min(1e8, worst?.peak ?? 0) : silent.length || state === "silent" ? 1 : 0);

function grid(sources, text, state, most, more) {
  if (!sources.length) {
    return h("section", { class: "card" }, empty("No source yet.",
      "Add one below, or start the service with a model, for instance ", h("code", {}, "alora-ts serve --model plant.alora"), "."));
  }
  const alarms = sources.filter(({ state }) => state === "alarm").length;
  const quiet = sources.filter(({ state, silent_signals: silent }) => state === "silent" || silent.length).length;
  const all = `${sources.length} ${sources.length === 1 ? "source" : "sources"}`;
  const lead = (alarms ? `${alarms} of ${all} in alarm.` : "No source is in alarm.") + (quiet ? ` ${quiet} with silent signals.` : "");
  const found = sources.filter((source) => fits(source, text, state)).sort((a, b) => rank(b) - rank(a) || a.name.localeCompare(b.name));
  return [h("p", { class: "period", role: "status" }, lead), h("div", { class: "sources" }, found.slice(0, most).map(tile)),
    found.length ? null : h("p", { class: "soft none" }, "No source matches."),
    found.length > most ? h("p", { class: "rest" }, `The worst ${whole(most)} of ${whole(found.length)} are shown. `, button("Show all", more)) : null];
}

function fits({ name, variables, state: has, silent_signals: quiet }, text, state) {
  const silent = has === "silent" || quiet.length > 0, alarm = has === "alarm";
  return ({ alarm, silent, other: !alarm && !silent }[state] ?? true)
    && (!text || [name, ...variables].some((one) => one.toLowerCase().includes(text)));
}

function tile(source) {
  const last = parse(source.last_time);
  return h("a", { class: "card source", href: `#/sources/${enc(source.name)}`, data: { source: source.name, state: source.state } },
    h("span", { class: "head" }, h("b", {}, source.name), stateBadges(source)),
    h("span", { class: "wrong" }, wrong(source)),
    source.state === "collecting" ? null
      : h("span", { class: "now" }, h("span", { class: "score" }, times(source.score)), last === null ? null : h("span", { class: "soft" }, "of the alarm level now")),
    h("span", { class: "line" }, line(source)),
    h("span", { class: "soft facts-line" }, `${whole(source.rows)} rows`, last === null ? "" : [" · last ", when(last)],
      source.trouble ? h("b", { class: "hot-word" }, " · scoring fails") : null));
}

const line = ({ recent, last_time: last, state }) => (state === "collecting"
  ? h("span", { class: "soft" }, last === null ? "Waits for its first rows." : "No model yet: open it to fit one from what was collected.")
  : recent.length
  ? sparkline({ t: recent.map((_, at) => at), v: recent }) : h("span", { class: "soft" }, last === null ? "No rows yet." : "No score yet."));

/** "tank2_level, since 22:51, 12×": the worst that is open, and how many more there are. */
function wrong({ worst, open_incidents: count, silenced_incidents: silenced, state }) {
  if (!worst && state === "collecting") return h("span", { class: "soft" }, "collecting rows to learn from");
  if (!worst) return h("span", { class: "soft" }, silenced ? "no open incident that alarms" : "no open incident");
  const more = count > 1 ? h("span", { class: "soft" }, ` and ${count - 1} more`) : null;
  const began = h("span", {}, ", since ", since(parse(worst.start)));
  if (worst.kind === "silence") return [h("b", {}, blame(worst)), " silent", began, more];
  return [h("b", { class: "hot-word" }, blame(worst)), began, ", ", h("b", { class: "height" }, times(worst.peak)),
    worst.returns ? h("span", { class: "soft" }, ` · ${worst.returns.text}`) : null, worst.recurring.count > 1 ? h("span", { class: "soft" }, ` · ${worst.recurring.count} times`) : null, more];
}

async function latest(signal) {
  const { items } = await api("/incidents", { signal, query: { limit: 8, grouped: true } });
  return items.length ? incidentList(items, { grouped: true }) : empty("No incident so far.");
}

/** A source without a model, to begin with. */
function addSource(signal) {
  const name = h("input", { type: "text", id: "source-name", placeholder: "line-3", autocomplete: "off" });
  const go = button("Collect rows", async () => {
    const called = name.value.trim();
    if (!called) { name.focus(); return; }
    if (await attempt(() => api("/sources", { method: "POST", body: { name: called }, signal }), `${called} collects rows.`)) {
      location.hash = `#/sources/${enc(called)}`;
    }
  });
  return h("details", { class: "choice add-source" }, h("summary", {}, "Add a source"),
    h("p", { class: "soft" }, "It keeps the rows sent to it; when there are enough, fit a model from them on its page."),
    h("div", { class: "tools" }, pair("Name", name), go));
}

const places = (root, name) => [...root.querySelectorAll(".source")].filter((place) => place.dataset.source === name);

function update(root, known, reading) {
  const source = known.get(reading.source);
  if (!source) return;
  source.score = reading.score;
  source.last_time = reading.time;
  source.recent = [...source.recent, reading.score].slice(-POINTS);
  // An alarm begins and ends with its incident; one odd reading is neither.
  if (source.state !== "alarm" && reading.state !== "alarm") source.state = reading.state;
  for (const place of places(root, source.name)) {
    const score = place.querySelector(".score");
    if (score) score.textContent = times(reading.score);
    place.querySelector(".facts-line time")?.replaceWith(when(parse(reading.time)));
    place.querySelector(".line").replaceChildren(line(source));
    place.dataset.state = source.state;
    place.querySelector(".badges").replaceWith(stateBadges(source));
  }
}

/** An open incident grew, or its signals changed. */
function grow(root, known, incident) {
  const source = known.get(incident.source);
  if (source?.worst?.id !== incident.id) return;
  source.worst = incident;
  for (const place of places(root, source.name)) place.querySelector(".wrong").replaceChildren(...[wrong(source)].flat().filter(Boolean));
}
