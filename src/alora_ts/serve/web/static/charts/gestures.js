// Wheel, touch and keys on a chart move its view; dragging to select is the chart library's own.

const KEYS = {
  ArrowLeft: (view) => view.pan(-0.2),
  ArrowRight: (view) => view.pan(0.2),
  PageUp: (view) => view.pan(-0.9),
  PageDown: (view) => view.pan(0.9),
  "+": (view) => view.zoom(0.6),
  "=": (view) => view.zoom(0.6),
  "-": (view) => view.zoom(1 / 0.6),
  Home: (view) => view.whole(),
  End: (view) => view.newest(),
};

export const KEY_HELP = "Arrow keys move, plus and minus zoom, Home shows everything, End the newest rows.";

/** `freeWheel`: the plain wheel zooms; elsewhere it needs Ctrl, or the page could not be scrolled. */
export function gestures(figure, area, view, { freeWheel }) {
  const moment = (x) => {
    const box = area.getBoundingClientRect();
    return view.min + ((x - box.left) / box.width) * view.span;
  };
  figure.addEventListener("keydown", (event) => {
    const move = KEYS[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    move(view);
  });
  area.addEventListener("wheel", (event) => {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
    if (!sideways && !freeWheel && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const amount = (event.deltaX && sideways ? event.deltaX : event.deltaY) * (event.deltaMode === 1 ? 30 : 1);
    if (sideways) view.pan(amount / 800);
    else view.zoom(Math.exp(Math.max(-1, Math.min(1, amount / 400))), moment(event.clientX));
  }, { passive: false });

  // One finger (or the mouse with Shift) pulls the chart along, two stretch it.
  const held = new Map();
  let from = null;
  const grip = () => {
    const xs = [...held.values()];
    const box = area.getBoundingClientRect();
    from = { min: view.min, span: view.span, left: box.left, width: box.width, xs };
  };
  area.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && !(event.shiftKey && event.button === 0)) return;
    held.set(event.pointerId, event.clientX);
    area.setPointerCapture(event.pointerId);
    grip();
  });
  area.addEventListener("pointermove", (event) => {
    if (!held.has(event.pointerId)) return;
    held.set(event.pointerId, event.clientX);
    const xs = [...held.values()];
    const at = (x) => from.min + ((x - from.left) / from.width) * from.span;
    if (xs.length === 1) {
      const shift = ((xs[0] - from.xs[0]) / from.width) * from.span;
      view.set(from.min - shift, from.min - shift + from.span);
    } else if (xs.length === 2 && Math.abs(xs[1] - xs[0]) > 8) {
      // The moments under both fingers stay under them.
      const a = at(from.xs[0]), b = at(from.xs[1]);
      const wide = Math.abs(((b - a) / (xs[1] - xs[0])) * from.width);
      const min = a - ((xs[0] - from.left) / from.width) * wide;
      view.set(min, min + wide);
    }
  });
  const release = (event) => {
    if (held.delete(event.pointerId) && held.size) grip();
  };
  area.addEventListener("pointerup", release);
  area.addEventListener("pointercancel", release);
}
