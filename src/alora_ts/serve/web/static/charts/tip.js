// The little note beside the pointer; one for the whole page.
import { h } from "../dom.js";

const tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
document.body.append(tip);

export function showTip(x, y, text) {
  tip.textContent = text;
  tip.hidden = false;
  const wide = tip.offsetWidth, tall = tip.offsetHeight;
  tip.style.left = `${Math.max(4, Math.min(innerWidth - wide - 4, x + 14))}px`;
  tip.style.top = `${y - tall - 12 < 4 ? y + 18 : y - tall - 12}px`;
}

export function hideTip() {
  tip.hidden = true;
}

addEventListener("hashchange", hideTip);
document.addEventListener("pointerout", (event) => {
  if (event.target.closest?.(".u-over, svg.map, svg.net")) hideTip();
});
