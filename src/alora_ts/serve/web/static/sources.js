// What a source's state is called; a sign beside each word, so that colour never says it alone.

import { h } from "./dom.js";

const STATES = {
  ok: { icon: "●", text: "ok" },
  alarm: { icon: "▲", text: "alarm" },
  "warm-up": { icon: "◔", text: "warming up" },
  silent: { icon: "○", text: "silent" },
  collecting: { icon: "◌", text: "collecting" },
  waiting: { icon: "○", text: "waiting for rows" },
};

export function stateBadge(state) {
  const { icon, text } = STATES[state] ?? { icon: "", text: state };
  return h("span", { class: "badge", data: { state } }, `${icon} ${text}`);
}

/** The state and, beside it, how many signals are silent: neither hides the other. */
export function stateBadges({ state, silent_signals: silent = [], silenced_incidents: silenced = 0, variables = [] }) {
  const all = silent.length >= variables.length;
  const quiet = silent.length && !(all && state === "silent")
    ? h("span", { class: "badge", data: { state: "silent" } }, `○ ${all ? "silent" : `${silent.length} silent`}`) : null;
  const hushed = silenced ? h("span", { class: "badge", title: "Open incidents of patterns that were judged normal" }, `${silenced} silenced`) : null;
  return h("span", { class: "badges" }, stateBadge(state), quiet, hushed);
}
