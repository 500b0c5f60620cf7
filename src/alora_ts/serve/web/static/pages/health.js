// The service itself: connectors, queues, what was refused, what could not be delivered.
import { api, enc } from "../api.js";
import { button, card, h } from "../dom.js";
import { live } from "../events.js";
import { bytes, whole, words } from "../numbers.js";
import { attempt, empty, fill, toast } from "../states.js";
import { span } from "../times.js";
import { forget, token } from "../token.js";

const GOOD = new Set(["connected", "running", "ok", "done"]);

export const health = {
  nav: "health",
  title: () => "Health",
  render(root, _params, _query, signal) {
    const body = h("div", {});
    root.append(h("h1", {}, "Health"), body);
    const refresh = fill(body, async () => page(await api("/health", { signal })), { signal });
    live.addEventListener("health", refresh, { signal });
    const timer = setInterval(refresh, 5000);
    signal.addEventListener("abort", () => clearInterval(timer));
    if (token()) {
      const out = h("button", { type: "button", on: { click: () => {
        forget();
        out.remove();
        toast("The token is forgotten in this tab.");
      } } }, "Forget the access token");
      root.append(out);
    }
  },
};

function page(found) {
  const dead = Array.isArray(found.dead_letters) ? found.dead_letters.length : found.dead_letters ?? 0;
  const refused = Object.values(found.rejected ?? {}).reduce((sum, count) => sum + count, 0);
  const tile = (name, value, hot) => h("div", {}, h("dt", {}, name), h("dd", { class: hot ? "hot-word" : "" }, value));
  return [
    verdict(found.wrong),
    h("section", { class: "card", "aria-label": "Summary" }, h("dl", { class: "tiles" },
      tile("Version", found.version), tile("Running for", span(1000 * found.uptime)),
      tile("Scoring lag", found.unscored ? span(1000 * found.lag) : "none", found.lag > 60), tile("Rows that wait", whole(found.unscored)),
      tile("Free disk", bytes(found.free_disk), found.free_disk < 2 ** 30), tile("Waiting to be written", whole(found.queues.writes)),
      tile("Rejected rows", whole(refused), refused > 0), tile("Undelivered messages", whole(dead), dead > 0))),
    found.workers.length ? card("Workers", "Processes that share the store; sources move when one comes or goes.", workers(found.workers)) : null,
    card("Connectors", null, connectors(found.connectors)),
    card("Notifications", null, channels(found.channels), h("p", {}, h("a", { href: "#/mutes" }, "Mutes and maintenance windows"))),
    h("div", { class: "two cards" },
      card("Queues", "What waits, and who listens to live updates.", counts(named(found.queues), "No queue.")),
      card("Rejections", "Rows or messages that were refused, by reason.", counts(found.rejected, "Nothing was refused.")),
      card("Counters", "Since the service started.", counts(named(found.counters), "Nothing counted yet.")),
      card("Store", null, store(found.store))),
  ];
}

/** One answer to "is it well?", and what is not. */
function verdict(wrong) {
  if (!wrong.length) return h("section", { class: "card verdict", "aria-label": "Verdict" }, h("p", { class: "lead" }, h("span", { class: "badge", data: { state: "ok" } }, "● ok"), " All is well."));
  const lead = wrong.length === 1 ? "One thing needs attention." : `${wrong.length} things need attention.`;
  return h("section", { class: "card verdict", "aria-label": "Verdict" }, h("p", { class: "lead" }, h("span", { class: "badge", data: { state: "alarm" } }, "▲ attention"), ` ${lead}`),
    wrong.map((text) => h("p", { class: "failed", role: "alert" }, text[0].toUpperCase() + text.slice(1), ".")));
}

function workers(list) {
  return h("ul", { class: "culprits" }, list.map(({ name, scores, alive, sources, held, unscored, lag, memory, readings, sign_age }) => h("li", {},
    h("div", { class: "who" }, h("b", {}, name, " ", h("span", { class: "soft" }, scores ? "worker" : "web")),
      h("span", { class: "badge", data: { state: alive ? "ok" : "alarm" } }, alive ? "● alive" : `▲ gone for ${span(1000 * sign_age)}`)),
    // One that is gone has nothing any more.
    scores && alive ? h("div", { class: "way" }, `${whole(sources)} sources · ${whole(readings)} readings · ${whole(unscored)} rows wait${unscored ? `, for up to ${span(1000 * lag)}` : ""} · ${bytes(memory)}${held.length ? ` · ${held.join(", ")}` : ""}`) : null)));
}

function channels(list) {
  if (!list.length) return empty("Nobody is notified.", "Channels are set up under [notify].");
  return h("ul", { class: "culprits" }, list.map(({ name, pending, sent, dead, missed, error, gave_up }) => h("li", {},
    h("div", { class: "who" }, h("b", {}, name), h("span", { class: "badge", data: { state: dead || error ? "alarm" : "ok" } },
      error ? "▲ failing" : dead ? `▲ ${dead} given up` : "● ok")),
    h("div", { class: "way" }, `${whole(sent)} sent · ${whole(pending)} on their way${missed ? ` · ${whole(missed)} old news, summed up` : ""}`,
      error || gave_up ? h("span", { class: "hot-word" }, ` · ${error ?? gave_up}`) : null),
    h("div", { class: "tools" }, button("Send a test", () => attempt(() => api(`/channels/${enc(name)}/test`, { method: "POST" }),
      ({ error: why }) => (why ? `${name} did not take it: ${why}.` : `${name} took a test message.`)), { "aria-label": `Send a test by ${name}` }),
    dead ? button("Send again", () => attempt(() => api(`/channels/${enc(name)}/retry`, { method: "POST" }),
      ({ count }) => `${count} are tried again.`), { "aria-label": `Send again by ${name}` }) : null))));
}

function connectors(list) {
  if (!list.length) return empty("No connector is configured.", "Rows may still come in over HTTP.");
  return h("ul", { class: "culprits" }, list.map(({ name, kind, source, state, last_error, received, rejected, silent }) => h("li", {},
    h("div", { class: "who" }, h("b", {}, name, " ", h("span", { class: "soft" }, kind)),
      stateOf(state, silent)),
    h("div", { class: "way" }, `${source} · ${whole(received)} received`, refused(rejected), silent.length ? h("span", { class: "hot-word" }, ` · no value of ${silent.join(", ")}`) : null, last_error ? h("span", { class: "hot-word" }, ` · ${last_error}`) : null))));
}

/** What a connector could not use, by reason. */
function refused(counts) {
  const said = Object.entries(counts ?? {}).map(([reason, count]) => `${whole(count)} ${reason}`);
  return said.length ? h("span", { class: "hot-word" }, ` · refused: ${said.join(", ")}`) : null;
}

/** A connector that is connected to a gateway that says nothing is not well. */
function stateOf(state, silent) {
  const good = GOOD.has(state) && !silent.length;
  return h("span", { class: "badge", data: { state: good ? "ok" : "alarm" } },
    `${good ? "●" : "▲"} ${GOOD.has(state) && silent.length ? `${state}, ${silent.length} silent` : state}`);
}

function counts(found, none) {
  const rows = Object.entries(found ?? {});
  if (!rows.length) return h("p", { class: "state soft" }, none);
  return h("dl", { class: "facts counts" }, rows.map(([name, count]) => [h("dt", {}, name), h("dd", {}, typeof count === "number" ? whole(count) : String(count))]));
}

/** Our own names in words; names of sources and reasons stay as they are. */
const named = (found) => Object.fromEntries(Object.entries(found ?? {}).map(([name, count]) => [words(name), count]));

function store(found) {
  if (!found || typeof found !== "object") return h("p", { class: "state" }, String(found ?? "–"));
  return h("dl", { class: "facts counts" }, Object.entries(found).map(([name, value]) => [h("dt", {}, words(name)),
    h("dd", {}, name.includes("bytes") ? bytes(value) : typeof value === "number" ? whole(value) : String(value ?? "–"))]));
}
