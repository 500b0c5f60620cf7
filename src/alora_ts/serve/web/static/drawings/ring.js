// The strongest ties between signals, on a ring.
import { h, s } from "../dom.js";
import { number } from "../numbers.js";
import { arrowHead } from "./arrow.js";
import { cut, strongestTies } from "./matrix.js";

const RADIUS = 165, MIDDLE = 300;

export function ring(C, variables) {
  const ties = strongestTies(C);
  if (!ties.length) return h("p", {}, "No signal influences another in this model.");
  const members = [...new Set(ties.flatMap(([i, j]) => [i, j]))].sort((a, b) => a - b);
  const angle = new Map(members.map((m, at) => [m, (2 * Math.PI * at) / members.length - Math.PI / 2]));
  const place = (m) => [MIDDLE + RADIUS * Math.cos(angle.get(m)), MIDDLE + RADIUS * Math.sin(angle.get(m))];
  const full = Math.abs(ties[0][2]);
  const lines = ties.slice().reverse().map(([i, j, value]) => {
    const [x0, y0] = place(i), [x1, y1] = place(j), share = Math.abs(value) / full;
    // Bent towards the middle and a little to one side, so that there and back differ.
    const cx = ((x0 + x1) / 2) * 0.55 + MIDDLE * 0.45 + 0.12 * (y1 - y0);
    const cy = ((y0 + y1) / 2) * 0.55 + MIDDLE * 0.45 - 0.12 * (x1 - x0);
    const away = Math.hypot(x1 - cx, y1 - cy) || 1;
    const ex = x1 - (7 * (x1 - cx)) / away, ey = y1 - (7 * (y1 - cy)) / away;
    return s("path", {
      class: value < 0 ? "tie minus" : "tie", data: { from: i, to: j },
      "stroke-width": (0.8 + 2.6 * share).toFixed(1), "stroke-opacity": (0.35 + 0.6 * share).toFixed(2),
      "marker-end": "url(#ring-tip)", d: `M${x0.toFixed()} ${y0.toFixed()}Q${cx.toFixed()} ${cy.toFixed()} ${ex.toFixed()} ${ey.toFixed()}`,
    });
  });
  const [first, second, most] = ties[0];
  const net = s("svg", {
    class: "net", role: "img", viewBox: "0 0 600 600",
    "aria-label": `The ${ties.length} strongest relations; the strongest leads from ${variables[first]} to ${variables[second]} (${number(most)})`,
  }, arrowHead("ring-tip"), lines, members.map((m) => node(m, variables[m], angle.get(m), place(m))));
  for (const group of net.querySelectorAll("[data-node]")) {
    group.addEventListener("pointerenter", () => {
      net.classList.add("chosen");
      for (const tie of net.querySelectorAll(".tie")) {
        tie.classList.toggle("on", [tie.dataset.from, tie.dataset.to].includes(group.dataset.node));
      }
    });
    group.addEventListener("pointerleave", () => net.classList.remove("chosen"));
  }
  return net;
}

function node(m, name, angle, [x, y]) {
  const turn = (angle * 180) / Math.PI, flip = turn > 90 && turn < 270;
  return s("g", { data: { node: m } },
    s("circle", { class: "dot", cx: x.toFixed(), cy: y.toFixed(), r: 5 }),
    s("text", {
      "font-size": 13, "text-anchor": flip ? "end" : "start", "dominant-baseline": "middle",
      transform: `translate(${x.toFixed(1)} ${y.toFixed(1)}) rotate(${(flip ? turn + 180 : turn).toFixed(1)}) translate(${flip ? -12 : 12} 0)`,
    }, cut(name)));
}
