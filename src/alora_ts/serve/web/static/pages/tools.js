// Buttons for the view: spans, zoom, move, live.
import { h } from "../dom.js";

const HOUR = 3600000;
const SPANS = [["1 h", HOUR], ["6 h", 6 * HOUR], ["1 d", 24 * HOUR], ["1 w", 168 * HOUR], ["30 d", 720 * HOUR]];

const press = (text, label, work) => h("button", { type: "button", "aria-label": label, title: label, on: { click: work } }, text);

export function tools(view, signal) {
  const follow = h("button", {
    type: "button", class: "follow", title: "Keep the newest rows in view", on: { click: () => view.newest() },
  }, "Live");
  const spans = SPANS.filter(([, wide], at) => at === 0 || SPANS[at - 1][1] < view.last - view.first)
    .map(([text, wide]) => press(text, `Show the last ${text}`, () => view.newest(wide)));
  const show = () => follow.setAttribute("aria-pressed", String(view.follow));
  view.addEventListener("change", show, { signal });
  show();
  return h("div", { class: "tools", role: "toolbar", "aria-label": "Stretch of time" },
    h("span", { class: "group" }, follow, spans, press("All", "Show the whole history", () => view.whole())),
    h("span", { class: "group" },
      press("+", "Zoom in", () => view.zoom(0.5)), press("−", "Zoom out", () => view.zoom(2)),
      press("←", "Earlier", () => view.pan(-0.33)), press("→", "Later", () => view.pan(0.33))),
    h("span", { class: "hint" }, "Drag to zoom, Shift-drag to move; wheel zooms the score (Ctrl-wheel the signals)."));
}
