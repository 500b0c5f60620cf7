// The bearer token: asked for when the service wants one, kept until the tab is closed.
import { h } from "./dom.js";

const KEY = "alora-ts.token";
let held = null;

export function token() {
  try {
    return sessionStorage.getItem(KEY) ?? held;
  } catch {
    return held;
  }
}

function keep(value) {
  held = value;
  try {
    sessionStorage.setItem(KEY, value);
  } catch {
    // Storage is forbidden: the token lives as long as the page.
  }
}

export function forget() {
  held = null;
  try {
    sessionStorage.removeItem(KEY);
  } catch {
    // Nothing was stored.
  }
}

let asking = null;

/** Resolves when no question is open. */
export const asked = () => asking ?? Promise.resolve(true);

/** Ask once, however many requests wait; resolves to whether a token was given. */
export function askToken({ refused }) {
  asking ??= ask(refused).finally(() => { asking = null; });
  return asking;
}

function ask(refused) {
  return new Promise((resolve) => {
    const field = h("input", {
      type: "password", id: "token", autocomplete: "current-password", spellcheck: "false", required: true,
      "aria-describedby": "token-help",
    });
    const form = h("form", {},
      h("h2", {}, "Access token"),
      refused ? h("p", { class: "hot-word", role: "alert" }, "The service refused that token.") : null,
      h("p", { id: "token-help", class: "soft" },
        "This service wants a token. An administrator makes one with ",
        h("code", {}, "alora-ts token create"), "."),
      h("label", { for: "token" }, "Token"), field,
      h("div", { class: "tools" },
        h("button", { type: "submit", class: "primary" }, "Continue"),
        h("button", { type: "button", on: { click: () => dialog.close() } }, "Cancel")));
    const dialog = h("dialog", { class: "card token", "aria-label": "Access token" }, form);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const value = field.value.trim();
      if (!value) return;
      keep(value);
      dialog.close("given");
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "given");
    });
    document.body.append(dialog);
    dialog.showModal();
    field.focus();
  });
}
