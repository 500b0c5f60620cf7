// How an incident spread: where it began on the left, whom it reached on the right.
import { s } from "../dom.js";
import { number, percent } from "../numbers.js";
import { arrowHead } from "./arrow.js";
import { cut } from "./matrix.js";

const WIDTH = 400, ROW = 52, BOX = 158, TALL = 40, ASIDE = 44;

/** Column of each signal: 0 for origins, else its distance from one, at most 2. */
function columns({ nodes, edges }) {
  const depth = new Map(nodes.map(({ variable, role }) => [variable, role === "origin" ? 0 : Infinity]));
  for (let round = 0; round < 2; round += 1) {
    for (const { from, to } of edges) {
      if (depth.get(from) === round && depth.get(to) > round + 1) depth.set(to, round + 1);
    }
  }
  return new Map([...depth].map(([name, d]) => [name, Math.min(d, 1)]));
}

export function flow(graph) {
  const column = columns(graph);
  const sides = [0, 1].map((at) => graph.nodes.filter(({ variable }) => column.get(variable) === at)
    .sort((a, b) => (b.share ?? 0) - (a.share ?? 0)));
  const rows = Math.max(1, sides[0].length, sides[1].length), height = rows * ROW + 8;
  const place = new Map();
  sides.forEach((side, at) => side.forEach(({ variable }, row) => {
    const top = 8 + row * ROW + ((rows - side.length) * ROW) / 2;
    place.set(variable, { x: at ? WIDTH - BOX - 2 : 2, y: top, column: at });
  }));
  const full = Math.max(1e-12, ...graph.edges.map(({ weight }) => Math.abs(weight)));
  const lines = graph.edges.filter(({ from, to }) => place.has(from) && place.has(to) && from !== to)
    .map(({ from, to, weight }) => s("path", {
      class: weight < 0 ? "tie minus" : "tie", "marker-end": "url(#flow-tip)",
      "stroke-width": (1 + 3 * (Math.abs(weight) / full)).toFixed(1), d: way(place.get(from), place.get(to)),
    }, s("title", {}, `${from} → ${to}: ${number(weight)}`)));
  const boxes = graph.nodes.filter(({ variable }) => place.has(variable)).map(({ variable, role, share }) => {
    const { x, y } = place.get(variable);
    return s("g", { class: role === "origin" ? "box guilty" : "box" },
      s("title", {}, variable),
      s("rect", { x, y, width: BOX, height: TALL, rx: 8 }),
      s("text", { class: "name", x: x + 12, y: y + 17, "font-size": 13 }, cut(variable, 19)),
      s("text", { x: x + 12, y: y + 33, "font-size": 11.5 },
        `${role === "origin" ? "origin" : "affected"}${Number.isFinite(share) ? ` · ${percent(share)}` : ""}`));
  });
  const beside = [0, 1].map((at) => graph.edges.some(({ from, to }) => place.get(from)?.column === at && place.get(to)?.column === at) ? ASIDE : 0);
  const said = graph.nodes.map(({ variable, role }) => `${variable} (${role})`).join(", ");
  return s("svg", { class: "net flow", role: "img", viewBox: `${-beside[0]} 0 ${WIDTH + beside[0] + beside[1]} ${height}`, "aria-label": `Spread of the incident: ${said}` },
    arrowHead("flow-tip"), lines, boxes);
}

function way(a, b) {
  const y0 = a.y + TALL / 2, y1 = b.y + TALL / 2;
  if (a.column === b.column) {
    // Within a column the line keeps to the outer side, where no other crosses it.
    const outer = a.column ? a.x + BOX : a.x, out = (a.column ? 1 : -1) * ASIDE, end = outer + Math.sign(out) * 3;
    return `M${outer} ${y0}C${outer + out} ${y0} ${end + out} ${y1} ${end} ${y1}`;
  }
  const x0 = a.column ? a.x : a.x + BOX, x1 = b.column ? b.x - 3 : b.x + BOX + 3, bend = (x1 - x0) / 2;
  return `M${x0} ${y0}C${x0 + bend} ${y0} ${x1 - bend} ${y1} ${x1} ${y1}`;
}
