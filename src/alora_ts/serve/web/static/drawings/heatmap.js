// C as a square of shades; rows influence, columns are influenced.
import { hideTip, showTip } from "../charts/tip.js";
import { s } from "../dom.js";
import { number } from "../numbers.js";
import { cut, strongestVariables } from "./matrix.js";

const MOST = 40, LEFT = 150, TOP = 130;

export function heatmap(C, variables) {
  const chosen = strongestVariables(C, MOST), count = chosen.length;
  const cell = Math.max(9, 420 / count), side = cell * count, size = Math.min(13, 0.95 * cell).toFixed(1);
  let full = 0;
  for (const i of chosen) for (const j of chosen) if (i !== j) full = Math.max(full, Math.abs(C[i][j] || 0));
  const cells = [];
  chosen.forEach((i, row) => chosen.forEach((j, column) => {
    const value = C[i][j] || 0, shade = Math.min(1, Math.abs(value) / (full || 1));
    if (shade < 0.04) return;
    cells.push(s("rect", {
      class: value > 0 ? "plus" : "minus", opacity: shade.toFixed(2), x: (LEFT + column * cell).toFixed(1),
      y: (TOP + row * cell).toFixed(1), width: cell.toFixed(1), height: cell.toFixed(1),
    }));
  }));
  const names = chosen.flatMap((i, at) => {
    const middle = (at + 0.5) * cell, name = cut(variables[i]);
    return [
      s("text", { x: LEFT - 6, y: TOP + middle + 4, "text-anchor": "end", "font-size": size }, name),
      s("text", { "font-size": size, transform: `translate(${LEFT + middle + 3} ${TOP - 6}) rotate(-60)` }, name),
    ];
  });
  const paper = s("rect", { class: "paper", x: LEFT, y: TOP, width: side, height: side });
  const drawing = s("svg", {
    class: "map", role: "img", viewBox: `0 0 ${LEFT + side + 70} ${TOP + side + 4}`,
    "aria-label": `Contribution matrix of ${count} of ${variables.length} signals`,
  }, paper, cells, names);
  drawing.addEventListener("pointermove", (event) => {
    const box = paper.getBoundingClientRect();
    const i = chosen[Math.floor(((event.clientY - box.top) / box.height) * count)];
    const j = chosen[Math.floor(((event.clientX - box.left) / box.width) * count)];
    if (i === undefined || j === undefined) { hideTip(); return; }
    showTip(event.clientX, event.clientY, `${variables[i]} → ${variables[j]}\n${number(C[i][j])}`);
  });
  return drawing;
}
