// What stands where data will be, are not, or could not be had.
import { h } from "./dom.js";
import { live } from "./events.js";

export const loading = (what = "Loading") => h("p", { class: "state loading", role: "status" }, `${what}…`);

export const empty = (title, ...more) => h("div", { class: "state" }, h("p", { class: "lead" }, title),
  more.length ? h("p", { class: "soft" }, ...more) : null);

export const failed = (error, again) => h("div", { class: "state failed", role: "alert" },
  h("p", {}, h("b", {}, error.message)), error.hint ? h("p", { class: "soft" }, error.hint) : null,
  again ? h("button", { type: "button", on: { click: again } }, "Try again") : null);

// What a link or button is known by, so that the focus finds its successor.
const handle = (element) => element.getAttribute("href") ?? element.getAttribute("aria-label") ?? element.textContent;

/**
 * Fill `place` with what `load(signal)` makes; returns a function that does it again without
 * flicker. The signal ends when what was made is replaced or the page is left.
 */
export function fill(place, load, { signal, what } = {}) {
  let newest = null, shown = null;
  async function refresh() {
    const round = newest = new AbortController();
    signal.addEventListener("abort", () => round.abort(), { signal: round.signal });
    if (!shown) place.replaceChildren(loading(what));
    place.setAttribute("aria-busy", "true");
    try {
      const made = await load(round.signal);
      if (round !== newest || signal.aborted) { round.abort(); return; }
      const focused = place.contains(document.activeElement) ? handle(document.activeElement) : null;
      place.replaceChildren(...[made].flat().filter(Boolean));
      if (focused) [...place.querySelectorAll("a, button")].find((one) => handle(one) === focused)?.focus();
      shown?.abort();
      shown = round;
    } catch (error) {
      round.abort();
      if (error.name === "AbortError" || round !== newest || signal.aborted) return;
      // While the service cannot be reached, what was last heard is better than nothing; the
      // state of the connection stands at the top of the page.
      if (shown && error.status === 0) return;
      shown?.abort();
      shown = null;
      place.replaceChildren(failed(error, refresh));
      // An error without a message for people is a fault of ours and belongs in the console.
      if (error.status === undefined) throw error;
    } finally {
      if (round === newest) place.removeAttribute("aria-busy");
    }
  }
  live.addEventListener("resumed", () => { if (!shown) refresh(); }, { signal });
  refresh();
  return refresh;
}

/** A short message at the edge of the page. */
export function toast(text, { hot = false, link = null } = {}) {
  const place = document.getElementById("toasts");
  const note = h("div", { class: hot ? "toast hot" : "toast", role: hot ? "alert" : null },
    link ? h("a", { href: link }, text) : text,
    h("button", { type: "button", "aria-label": "Close this message", on: { click: () => note.remove() } }, "×"));
  place.append(note);
  while (place.children.length > 3) place.firstElementChild.remove();
  setTimeout(() => note.remove(), 8000);
}

/** Run something a button asked for and say how it went. */
export async function attempt(work, said) {
  try {
    const result = await work();
    if (said) toast(typeof said === "function" ? said(result) : said);
    return result ?? true;
  } catch (error) {
    if (error.status === undefined) throw error;
    const end = /[.!?]$/.test(error.message) ? "" : ".";
    toast(error.hint ? `${error.message}${end} ${error.hint}` : error.message, { hot: true });
    return null;
  }
}
