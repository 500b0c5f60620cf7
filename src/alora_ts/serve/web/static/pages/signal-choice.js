// Which signals are drawn below the score.
import { h } from "../dom.js";

const MOST = 12;

export function signalChoice(variables, chosen, changed) {
  const summary = h("summary", {}), list = h("div", { class: "checks" });
  const picked = new Set(chosen);
  const say = () => { summary.textContent = `Signals: ${picked.size} of ${variables.length} shown`; };
  const boxes = variables.map((name) => {
    const box = h("input", { type: "checkbox", value: name });
    box.checked = picked.has(name);
    box.addEventListener("change", () => {
      if (box.checked) picked.add(name);
      else picked.delete(name);
      limit();
      say();
      changed(variables.filter((other) => picked.has(other)));
    });
    return { name, box, label: h("label", {}, box, ` ${name}`) };
  });
  // More charts than this no screen shows and no answer carries quickly.
  const limit = () => { for (const { box } of boxes) box.disabled = !box.checked && picked.size >= MOST; };
  const search = h("input", {
    type: "search", placeholder: "Find a signal", "aria-label": "Find a signal",
    on: { input: () => {
      const wanted = search.value.toLowerCase();
      for (const { name, label } of boxes) label.hidden = !name.toLowerCase().includes(wanted);
    } },
  });
  list.append(...boxes.map(({ label }) => label));
  limit();
  say();
  return h("details", { class: "choice" }, summary, search, list, h("p", { class: "soft" }, `Up to ${MOST} at a time.`));
}
