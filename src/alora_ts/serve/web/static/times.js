// Times in the viewer's zone; the same moment in UTC when one hovers.
import { h } from "./dom.js";

const two = (n) => String(n).padStart(2, "0");

/** Milliseconds of an ISO text (null stays null). */
export const parse = (text) => (text ? Date.parse(text) : null);
export const iso = (ms) => new Date(ms).toISOString();

export function stamp(ms) {
  const t = new Date(ms);
  const seconds = t.getSeconds() ? `:${two(t.getSeconds())}` : "";
  return `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} `
    + `${two(t.getHours())}:${two(t.getMinutes())}${seconds}`;
}

export const utc = (ms) => `${iso(ms).slice(0, 19).replace("T", " ")} UTC`;

/** A <time> element; "–" where there is no time. */
export function when(ms) {
  if (!Number.isFinite(ms)) return h("span", {}, "–");
  return h("time", { datetime: iso(ms), title: utc(ms) }, stamp(ms));
}

/** Since when something lasts: the hour alone where it is of today. */
export function since(ms) {
  const place = when(ms);
  if (Number.isFinite(ms) && new Date(ms).toDateString() === new Date().toDateString()) place.textContent = stamp(ms).slice(11, 16);
  return place;
}

/** A length of time in its two largest units. */
export function span(ms) {
  if (!Number.isFinite(ms)) return "–";
  const total = Math.max(0, Math.round(ms / 1000));
  const parts = [[Math.floor(total / 86400), "d"], [Math.floor(total / 3600) % 24, "h"],
    [Math.floor(total / 60) % 60, "min"], [total % 60, "s"]];
  const first = parts.findIndex(([count]) => count > 0);
  if (first < 0) return "0 s";
  return parts.slice(first, first + 2).filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`).join(" ");
}

/** A moment for a tip: in the viewer's zone and, where that differs, in UTC. */
export const moments = (ms) => (zone() === "UTC" ? [utc(ms)] : [stamp(ms), utc(ms)]);

/** What a datetime-local input holds for a moment, and back. */
export const toInput = (ms) => {
  const t = new Date(ms);
  return `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())}T${two(t.getHours())}:${two(t.getMinutes())}`;
};
export const fromInput = (text) => new Date(text).getTime();

export const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone || "local time";
