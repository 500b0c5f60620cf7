// Starts the page: routes, the frame around them, live updates.
import { h } from "./dom.js";
import { live } from "./events.js";
import { frame } from "./frame.js";
import { read, route } from "./router.js";
import { empty } from "./states.js";
import { health } from "./pages/health.js";
import { incident } from "./pages/incident.js";
import { incidents } from "./pages/incidents.js";
import { model } from "./pages/model.js";
import { models } from "./pages/models.js";
import { mutes } from "./pages/mutes.js";
import { overview } from "./pages/overview.js";
import { source } from "./pages/source.js";

route("/", overview);
route("/sources/:name", source);
route("/incidents", incidents);
route("/incidents/:id", incident);
route("/models", models);
route("/models/:id", model);
route("/health", health);
route("/mutes", mutes);

const content = document.getElementById("content");
let leave = new AbortController();

function show(first) {
  if (location.hash === "#content") {
    content.focus();
    return;
  }
  leave.abort();
  leave = new AbortController();
  const found = read(location.hash);
  for (const link of document.querySelectorAll("[data-nav]")) {
    if (found && link.dataset.nav === found.page.nav) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const root = h("div", { class: "page" });
  content.replaceChildren(root);
  if (!found) {
    document.title = "Not found · alora-ts";
    root.append(h("h1", {}, "No such page"), h("section", { class: "card" },
      empty("This address leads nowhere.", h("a", { href: "#/" }, "Back to the overview"))));
  } else {
    document.title = `${found.page.title(found.params)} · alora-ts`;
    found.page.render(root, found.params, found.query, leave.signal);
  }
  if (first !== true) {
    scrollTo(0, 0);
    // Whoever listens to the page hears that it changed.
    content.focus({ preventScroll: true });
  }
}

frame();
addEventListener("hashchange", show);
// Before the page asks for what is there, so that little can happen in between.
live.run();
show(true);
