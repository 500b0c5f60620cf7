// The score of the last hours as one little line with the alarm level.
import { s } from "../dom.js";
import { number } from "../numbers.js";

const WIDTH = 200, HEIGHT = 44;
const curve = (v) => Math.log2(1 + Math.max(0, v));

export function sparkline({ t, v }) {
  const known = v.filter(Number.isFinite);
  const top = curve(Math.max(2, ...known));
  const low = t[0], wide = Math.max(1, t[t.length - 1] - low);
  const y = (value) => HEIGHT - 2 - (curve(value) / top) * (HEIGHT - 6);
  let path = "", pen = "M";
  t.forEach((moment, at) => {
    if (!Number.isFinite(v[at])) { pen = "M"; return; }
    path += `${pen}${(((moment - low) / wide) * WIDTH).toFixed(1)} ${y(v[at]).toFixed(1)}`;
    pen = "L";
  });
  const label = known.length
    ? `Recent score, at most ${number(Math.max(...known))} times the alarm level`
    : "No score yet";
  return s("svg", { class: "spark", role: "img", "aria-label": label, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none" },
    s("path", { class: "limit", d: `M0 ${y(1).toFixed(1)}H${WIDTH}` }), s("path", { class: "score", d: path }));
}
