// Elements without markup strings: text stays text whatever a signal or an error is called.

const SVG = "http://www.w3.org/2000/svg";

function build(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "data") {
      Object.assign(element.dataset, value);
    } else {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An HTML element: h("a", {href: "#/", class: "x", on: {click: f}}, "text", other). */
export const h = (tag, props, ...children) => build(document.createElement(tag), props, children);

/** The same for SVG. */
export const s = (tag, props, ...children) => build(document.createElementNS(SVG, tag), props, children);

/** A button that cannot be pressed twice while its work runs. */
export function button(text, work, props = {}) {
  const element = h("button", { type: "button", ...props }, text);
  element.addEventListener("click", async () => {
    element.disabled = true;
    try {
      await work();
    } finally {
      element.disabled = false;
    }
  });
  return element;
}

/** A label and what it names, on one line. */
export const pair = (text, input) => h("span", { class: "label-pair" }, h("label", { for: input.id }, text), input);

/** A card with a heading, an optional note below it, and a body. */
export function card(title, note, ...body) {
  return h("section", { class: "card", "aria-label": title },
    h("h2", {}, title), note ? h("p", {}, note) : null, ...body);
}
