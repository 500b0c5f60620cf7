// How an incident spread: where it began on the left, whom it reached on the right.
import { s } from "../dom.js";
import { number, percent } from "../numbers.js";
import { parse, span } from "../times.js";
import { arrowHead } from "./arrow.js";
import { cut } from "./matrix.js";

const WIDTH = 400, ROW = 52, BOX = 158, TALL = 40, ASIDE = 44;

/** Of all ties only the strongest that leads to each signal: a tree, whose lines need not cross. */
export function strongest({ nodes, edges }) {
  const origins = new Set(nodes.filter(({ role }) => role === "origin").map(({ variable }) => variable)), best = new Map();
  for (const edge of edges) {
    if (origins.has(edge.to) || edge.from === edge.to) continue;
    const known = best.get(edge.to);
    if (!known || Math.abs(edge.weight) > Math.abs(known.weight)) best.set(edge.to, edge);
  }
  return [...best.values()];
}

/** Origins on the left; on the right each signal below the one that reached it. */
function sides({ nodes }, ties) {
  // In the order of time where that is known, else the largest share first.
  const sorted = nodes.some(({ time }) => time) ? nodes : [...nodes].sort((a, b) => (b.share ?? 0) - (a.share ?? 0)), right = [], reached = new Set(ties.map(({ to }) => to));
  const follow = (name) => sorted.filter(({ variable }) => ties.some(({ from, to }) => from === name && to === variable))
    .forEach((node) => { right.push(node); follow(node.variable); });
  const left = sorted.filter(({ role }) => role === "origin");
  left.forEach(({ variable }) => follow(variable));
  for (const node of sorted.filter(({ role, variable }) => role !== "origin" && !reached.has(variable))) { right.push(node); follow(node.variable); }
  return [left, right];
}

/** "first", or how long after the first a signal was reached; nothing where that is not known. */
function moment(time, nodes) {
  if (!time) return "";
  const later = parse(time) - Math.min(...nodes.map((node) => parse(node.time)));
  return later > 0 ? ` · ${span(later)} later` : " · first";
}

export function flow(graph) {
  const ties = strongest(graph), both = sides(graph, ties);
  const rows = Math.max(1, both[0].length, both[1].length), height = rows * ROW + 8;
  const place = new Map();
  both.forEach((side, at) => side.forEach(({ variable }, row) => {
    const top = 8 + row * ROW + ((rows - side.length) * ROW) / 2;
    place.set(variable, { x: at ? WIDTH - BOX - 2 : 2, y: top, column: at });
  }));
  const full = Math.max(1e-12, ...ties.map(({ weight }) => Math.abs(weight)));
  const lines = ties.filter(({ from, to }) => place.has(from) && place.has(to))
    .map(({ from, to, weight }) => s("path", {
      class: weight < 0 ? "tie minus" : "tie", "marker-end": "url(#flow-tip)",
      "stroke-width": (1 + 3 * (Math.abs(weight) / full)).toFixed(1), d: way(place.get(from), place.get(to)),
    }, s("title", {}, `${from} → ${to}: ${number(weight)}`)));
  const boxes = graph.nodes.filter(({ variable }) => place.has(variable)).map(({ variable, role, share, time }) => {
    const { x, y } = place.get(variable);
    return s("g", { class: role === "origin" ? "box guilty" : "box" },
      s("title", {}, variable),
      s("rect", { x, y, width: BOX, height: TALL, rx: 8 }),
      s("text", { class: "name", x: x + 12, y: y + 17, "font-size": 13 }, cut(variable, 17)),
      s("text", { x: x + 12, y: y + 33, "font-size": 11.5 },
        `${time ? "" : role === "origin" ? "origin" : "affected"}${Number.isFinite(share) ? ` · ${percent(share)}` : ""}${moment(time, graph.nodes)}`.replace(/^ · /, "")));
  });
  const beside = [0, 1].map((at) => ties.some(({ from, to }) => place.get(from)?.column === at && place.get(to)?.column === at) ? ASIDE : 0);
  const said = graph.nodes.map(({ variable, role }) => `${variable} (${role})`).join(", ");
  return s("svg", { class: "net flow", role: "img", viewBox: `${-beside[0]} 0 ${WIDTH + beside[0] + beside[1]} ${height}`, "aria-label": `Spread of the incident: ${said}` },
    arrowHead("flow-tip"), lines, boxes);
}

function way(a, b) {
  const y0 = a.y + TALL / 2, y1 = b.y + TALL / 2;
  if (a.column === b.column) {
    // Within a column the line keeps to the outer side, where no other crosses it.
    const outer = a.column ? a.x + BOX : a.x, out = (a.column ? 1 : -1) * Math.min(ASIDE, 8 + Math.abs(y1 - y0) / 6), end = outer + Math.sign(out) * 3;
    return `M${outer} ${y0}C${outer + out} ${y0} ${end + out} ${y1} ${end} ${y1}`;
  }
  const x0 = a.column ? a.x : a.x + BOX, x1 = b.column ? b.x - 3 : b.x + BOX + 3, bend = (x1 - x0) / 2;
  return `M${x0} ${y0}C${x0 + bend} ${y0} ${x1 - bend} ${y1} ${x1} ${y1}`;
}
