// What a source's state is called; a sign beside each word, so that colour never says it alone.

export const STATES = {
  ok: { icon: "●", text: "ok" },
  alarm: { icon: "▲", text: "alarm" },
  "warm-up": { icon: "◔", text: "warming up" },
  silent: { icon: "○", text: "silent" },
  waiting: { icon: "○", text: "waiting for rows" },
};
