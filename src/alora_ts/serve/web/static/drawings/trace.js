// One signal as a little line between its lowest and its highest value.
import { s } from "../dom.js";

const WIDTH = 200, HEIGHT = 44;

export function trace({ t, v, low, high, label }) {
  const first = t[0] ?? 0, wide = Math.max(1, (t[t.length - 1] ?? 0) - first), tall = high - low || 1;
  const steps = t.slice(1).map((moment, at) => moment - t[at]).sort((a, b) => a - b);
  // Nothing is drawn across a gap.
  const far = 3 * (steps[Math.floor(steps.length / 2)] ?? 0);
  let path = "", pen = "M";
  t.forEach((moment, at) => {
    if (at && moment - t[at - 1] > far) pen = "M";
    if (!Number.isFinite(v[at])) { pen = "M"; return; }
    const y = HEIGHT - 3 - ((v[at] - low) / tall) * (HEIGHT - 6);
    path += `${pen}${(((moment - first) / wide) * WIDTH).toFixed(1)} ${y.toFixed(1)}`;
    pen = "L";
  });
  return s("svg", { class: "spark", role: "img", "aria-label": label, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none" },
    s("path", { class: "score", d: path }));
}
