// Little flags above the score, one for each incident in view; where they would overlap, the
// highest peak stays.
import { h } from "../dom.js";
import { blame } from "../incidents.js";
import { times } from "../numbers.js";
import { stamp } from "../times.js";

const APART = 52;

export function flags(view, signal) {
  const strip = h("div", { class: "flags", role: "list", "aria-label": "Incidents in view" });
  let bands = [];
  function place() {
    const wide = strip.clientWidth, taken = [];
    const links = [];
    for (const { start, incident } of [...bands].sort((a, b) => (b.incident.peak ?? 0) - (a.incident.peak ?? 0))) {
      const at = (start - view.min) / view.span;
      if (at < 0 || at > 0.97 || taken.some((x) => Math.abs(x - at * wide) < APART)) continue;
      taken.push(at * wide);
      const silent = incident.kind === "silence";
      const title = `Incident of ${stamp(start)}: ${blame(incident)}${silent ? " is silent" : `, ${times(incident.peak)}`}`;
      const link = h("a", { class: "flag", href: `#/incidents/${encodeURIComponent(incident.id)}`, title, "aria-label": title },
        silent ? "silent" : times(incident.peak >= 10 ? Math.round(incident.peak) : incident.peak));
      const item = h("span", { role: "listitem" }, link);
      link.style.left = `${100 * at}%`;
      links.push([start, item]);
    }
    strip.replaceChildren(...links.sort((a, b) => a[0] - b[0]).map(([, item]) => item));
  }
  view.addEventListener("change", place, { signal });
  addEventListener("resize", place, { signal });
  return { element: strip, give(now) { bands = now; place(); } };
}
