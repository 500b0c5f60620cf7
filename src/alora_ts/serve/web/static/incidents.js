// Incidents in words and rows, for every page that lists them.
import { h } from "./dom.js";
import { percent, times } from "./numbers.js";
import { parse, span, when } from "./times.js";

const VERDICTS = { real: "was real", normal: "was normal" };

const DIFFUSE = 0.2; // as in diagnosis/incident.py: where all shares are smaller, nobody is to blame

/** The signal to look at first, if one stands out; of a silence, how many signals there are. */
export function blame({ kind, culprits }) {
  if (kind === "silence") return culprits.length > 1 ? `${culprits.length} signals` : culprits[0]?.variable ?? "no signal";
  return culprits.find(({ share }) => share >= DIFFUSE) ? culprits[0].variable : "no single signal";
}

export const grade = (incident) => h("span", { class: `grade ${incident.severity}` },
  incident.kind === "silence" ? "silent" : incident.severity);

export function lasted(incident) {
  const start = parse(incident.start), end = parse(incident.end);
  if (end === null) return `for ${span(Date.now() - start)}, still open`;
  return incident.rows === 1 ? "one row" : span(end - start);
}

/** A sign that a verdict keeps it from alarming. */
export const quiet = ({ silenced }) => (silenced ? h("span", { class: "grade", title: "A verdict says that this pattern is normal" }, "silenced") : null);

/** How often it came. */
export const again = ({ recurring: { count, first } }) => [`${count} times since `, when(parse(first))];

const culprits = (incident) => incident.culprits.slice(0, 3)
  .map(({ variable, share }) => (incident.kind === "silence" ? variable : `${variable} ${percent(share)}`)).join(", ");

/** The incidents as a list of links. */
export function incidentList(items, { withSource = true, grouped = false } = {}) {
  return h("ul", { class: "incident-list" }, items.map((incident) => h("li", {},
    h("a", { href: `#/incidents/${encodeURIComponent(incident.id)}`, class: incident.state },
      h("span", { class: "what" }, h("b", {}, blame(incident)), grade(incident),
        incident.state === "open" ? h("span", { class: "grade open" }, "open") : null,
        incident.state === "open" && incident.work?.acknowledged ? h("span", { class: "grade" }, "acknowledged") : null,
        incident.work?.assignee ? h("span", { class: "grade" }, incident.work.assignee) : null,
        quiet(incident), grouped && incident.recurring.count > 1 ? h("span", { class: "grade times" }, `${incident.recurring.count}×`) : null,
        incident.verdict ? h("span", { class: "grade" }, VERDICTS[incident.verdict]) : null),
      h("span", { class: "peak" }, incident.kind === "silence" ? "" : times(incident.peak)),
      h("span", { class: "soft" }, withSource ? `${incident.source} · ` : "", when(parse(incident.start)),
        ` · ${lasted(incident)}`, grouped && incident.recurring.count > 1 ? [" · ", again(incident)] : null),
      h("span", { class: "soft who" }, culprits(incident))))));
}
