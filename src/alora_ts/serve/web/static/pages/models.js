// All models, and a new one by upload.
import { api, enc } from "../api.js";
import { button, card, h } from "../dom.js";
import { bytes } from "../numbers.js";
import { attempt, empty, fill } from "../states.js";
import { parse, when } from "../times.js";
import { fits } from "./fits.js";
import { training } from "./training.js";

export const models = {
  nav: "models",
  title: () => "Models",
  render(root, _params, _query, signal) {
    const list = h("div", {}), refresh = fill(list, () => table(signal), { signal });
    root.append(h("h1", {}, "Models"), card("Stored models", null, list, upload(refresh, signal)));
    const runs = fits(signal, refresh);
    root.append(training(signal, runs.refresh), runs.element);
  },
};

async function table(signal) {
  const stored = await api("/models", { signal });
  if (!stored.length) return empty("No model yet.", "Upload one below, or train one from stored rows.");
  return h("ul", { class: "incident-list" }, stored.map(({ id, name, origin, created, bytes: size, variables, active_for: used }) => h("li", {},
    h("a", { href: `#/models/${enc(id)}` },
      h("span", { class: "what" }, h("b", {}, name), used.length ? h("span", { class: "grade open" }, `active for ${used.join(", ")}`) : null),
      h("span", { class: "peak soft" }, `${variables.length} signals`),
      h("span", { class: "soft" }, "stored ", when(parse(created)), ` · ${origin}`),
      h("span", { class: "soft who" }, `${id} · ${bytes(size)}`)))));
}

function upload(refresh, signal) {
  const file = h("input", { type: "file", id: "model-file", accept: ".alora" });
  const name = h("input", { type: "text", id: "model-name", placeholder: "as the file" });
  const send = button("Upload", async () => {
    const chosen = file.files[0];
    if (!chosen) { file.focus(); return; }
    const called = name.value.trim() || chosen.name.replace(/\.alora$/, "");
    const done = await attempt(() => api("/models", {
      method: "POST", query: { name: called }, body: chosen, type: "application/octet-stream", signal,
    }), `The model ${called} is stored.`);
    if (done) { file.value = ""; refresh(); }
  });
  return h("details", { class: "choice" }, h("summary", {}, "Upload a model file"),
    h("div", { class: "tools" }, h("label", { for: "model-file" }, "File"), file, h("label", { for: "model-name" }, "Name"), name, send));
}
