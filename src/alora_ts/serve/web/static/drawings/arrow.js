// The head of an arrow in the colour of its line.
import { s } from "../dom.js";

export const arrowHead = (id) => s("defs", {}, s("marker", {
  id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto",
}, s("path", { d: "M0 0L8 4L0 8z", fill: "context-stroke" })));
