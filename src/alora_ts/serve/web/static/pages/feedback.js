// What people say of an incident: first what it would do, then the word itself, then a way back.
import { api, enc } from "../api.js";
import { button, h, pair } from "../dom.js";
import { times } from "../numbers.js";
import { attempt } from "../states.js";
import { parse, when } from "../times.js";

const DAYS = [1, 7, 30, 90];
const WORDS = { real: { ask: "A real problem", give: "Protect this pattern" }, normal: { ask: "Normal operation", give: "Silence this pattern" } };

export function feedback(found, signal) {
  const place = h("div", { class: "feedback", role: "group", "aria-label": "Feedback" });
  const path = `/incidents/${enc(found.id)}/feedback`;
  const send = async (options, said) => {
    const done = await attempt(() => api(path, { ...options, signal }), said);
    if (done) show(done.incident, done.pattern);
  };
  const ask = ({ verdict }, pattern) => [h("div", { class: "tools" }, h("span", { class: "soft" }, "What was it?"),
    Object.keys(WORDS).map((given) => button(WORDS[given].ask, () => ahead(given, 30, { verdict }, pattern)))), stands(pattern, found.id)];
  const given = ({ verdict }, pattern) => h("div", { class: "tools" },
    h("span", {}, `You said: this was ${verdict === "real" ? "a real problem" : "normal"}. `, pattern ? meaning(pattern) : null),
    button("Undo", () => send({ method: "DELETE" }, "The verdict was taken back.")));
  const show = (incident, pattern) => place.replaceChildren(...[(incident.verdict ? given : ask)(incident, pattern)].flat().filter(Boolean));

  /** What the verdict would have done to the last days, before it is given. */
  async function ahead(verdict, days, incident, pattern) {
    const told = await attempt(() => api(path, { query: { verdict, days }, signal }));
    if (!told) return;
    const length = h("select", { id: "days" }, DAYS.map((count) => h("option", { value: count }, count === 1 ? "1 day" : `${count} days`)));
    length.value = String(days);
    length.addEventListener("change", () => ahead(verdict, Number(length.value), incident, pattern));
    const back = button("Cancel", () => show(incident, pattern));
    place.replaceChildren(h("div", { class: "ahead", role: "status" },
      told.allowed ? h("p", {}, told.summary, told.until ? [" Silenced until ", when(parse(told.until)), `; above ${times(told.alarms_above)} it alarms all the same.`] : null)
        : h("p", { class: "failed" }, `Not possible: ${told.why}.`),
      h("div", { class: "tools" }, told.allowed ? [verdict === "normal" ? pair("For", length) : null,
        button(WORDS[verdict].give, () => send({ method: "POST", body: { verdict, days } }, "Noted."), { class: "primary" })] : null, back)));
    back.focus();
  }
  show(found, found.standing);
  return place;
}

/** What all verdicts on a pattern come to. */
export function meaning(pattern) {
  if (pattern.protected) return `Incidents like it (${pattern.text}) cannot be silenced.`;
  if (!pattern.silenced_until) return "It silences nothing now.";
  return [`Incidents like it (${pattern.text}) are silenced until `, when(parse(pattern.silenced_until)), `, up to ${times(pattern.alarms_above)}.`];
}

/** What was said of other incidents of the pattern. */
function stands(pattern, id) {
  const other = pattern?.verdicts.find(({ incident }) => incident !== id);
  if (!other) return null;
  return h("p", { class: "soft" }, meaning(pattern), " ", h("a", { href: `#/incidents/${enc(other.incident)}` }, `Said by ${other.by}`), ", ", when(parse(other.at)), ".");
}
