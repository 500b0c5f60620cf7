// What a source's state is called; a sign beside each word, so that colour never says it alone.

import { h } from "./dom.js";

const STATES = {
  ok: { icon: "●", text: "ok" },
  alarm: { icon: "▲", text: "alarm" },
  "warm-up": { icon: "◔", text: "warming up" },
  silent: { icon: "○", text: "silent" },
  waiting: { icon: "○", text: "waiting for rows" },
};

/** The state that follows from a reading. */
export const stateOf = (reading) => (reading.warm_up ? "warm-up" : reading.is_anomaly ? "alarm" : "ok");

export function stateBadge(state) {
  const { icon, text } = STATES[state] ?? { icon: "", text: state };
  return h("span", { class: "badge", data: { state } }, `${icon} ${text}`);
}
