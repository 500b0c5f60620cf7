// One model: what it was taught, who influences whom in it, where it is used.
import { api, enc } from "../api.js";
import { button, card, h } from "../dom.js";
import { heatmap } from "../drawings/heatmap.js";
import { ring } from "../drawings/ring.js";
import { number, whole, words } from "../numbers.js";
import { attempt, empty, fill } from "../states.js";
import { parse, when } from "../times.js";
import { fits } from "./fits.js";
import { training } from "./training.js";

export const model = {
  nav: "models",
  title: () => "Model",
  render(root, { id }, _query, signal) {
    const head = h("div", {}), ties = h("div", {});
    const refresh = fill(head, () => facts(id, signal, () => refresh()), { signal, what: "Asking for the model" });
    fill(ties, () => relations(id, signal), { signal });
    const runs = fits(signal, () => refresh());
    root.append(h("p", { class: "crumbs" }, h("a", { href: "#/models" }, "Models"), " / model"), head,
      card("Who influences whom", "How a deviation of one signal moves what the model expects of the others.", ties),
      training(signal, runs.refresh), runs.element);
  },
};

async function facts(id, signal, refresh) {
  const [found, sources] = await Promise.all([api(`/models/${enc(id)}`, { signal }), api("/sources", { signal })]);
  const told = found.card;
  document.title = `${found.name} · alora-ts`;
  return [
    h("h1", {}, found.name),
    card("Use", null, uses(id, sources, signal, refresh)),
    card("Model card", null, h("dl", { class: "facts model-facts" },
      h("dt", {}, "Stored"), h("dd", {}, when(parse(found.created))), h("dt", {}, "Came by"), h("dd", {}, found.origin),
      Object.entries(told).filter(([, value]) => value === null || typeof value !== "object")
        .map(([name, value]) => [h("dt", {}, words(name)), h("dd", {}, plain(value))]),
      ), h("h3", {}, `Signals (${told.variables.length})`), h("p", {}, told.variables.join(", ")),
    told.limits.length ? [h("h3", {}, "Limits"), h("ul", { class: "plain" }, told.limits.map((text) => h("li", {}, text)))] : null),
  ];
}

function plain(value) {
  if (value === null) return "–";
  if (typeof value === "number") return Number.isInteger(value) ? whole(value) : number(value);
  return String(value);
}

function uses(id, sources, signal, refresh) {
  if (!sources.length) return empty("There is no source to use it for.");
  const call = (source, path, body, said) => attempt(() => api(`/sources/${enc(source)}/${path}`, { method: "POST", body, signal }), said)
    .then((done) => { if (done) refresh(); });
  return h("ul", { class: "uses" }, sources.map(({ name, model_id, can_roll_back: before }) => {
    const active = model_id === id;
    return h("li", {}, h("a", { href: `#/sources/${enc(name)}` }, h("b", {}, name)),
      active ? h("span", { class: "grade open" }, "active")
        : button("Activate", () => call(name, "activate", { model_id: id }, `The model now watches ${name}.`), { "aria-label": `Activate for ${name}` }),
      active && before ? button("Roll back", () => call(name, "rollback", undefined, `${name} is back at its model before.`), { "aria-label": `Roll ${name} back to its model before` }) : null);
  }));
}

async function relations(id, signal) {
  const { variables, C } = await api(`/models/${enc(id)}/contributions`, { signal });
  if (variables.length < 2) return empty("With one signal there is no relation.");
  return [
    h("div", { class: "two" }, h("div", {}, h("h3", {}, "Strongest relations"), ring(C, variables)),
      h("div", {}, h("h3", {}, "Contribution of each row to each column"), heatmap(C, variables))),
    h("ul", { class: "key" }, h("li", {}, h("i", { class: "blue" }), "moves along"), h("li", {}, h("i", { class: "hot-ink" }), "moves against")),
  ];
}
