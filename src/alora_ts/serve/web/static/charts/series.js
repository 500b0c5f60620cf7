// Asks the service for what a view shows, no more often and no finer than the screen needs.
import { api, enc } from "../api.js";
import { iso } from "../times.js";

// Kept on both sides, so that a small move shows no blank.
const MARGIN = 0.25;
// Rows come faster than eyes follow.
const CALM = 500;

/** Calls show({score, signals}) with thinned lines whenever the view needs others. */
export class SeriesLoader {
  #stop = null;
  #loaded = null;
  #timer = null;
  #due = 0;
  #busy = false;
  #fresh = null;

  constructor({ source, view, signals, points, show, fail, signal }) {
    Object.assign(this, { source, view, signals, points, show, fail });
    this.signal = signal;
    view.addEventListener("change", () => this.#moved(), { signal });
    signal.addEventListener("abort", () => {
      clearTimeout(this.#timer);
      this.#stop?.abort();
    });
  }

  /** A row of this time has been scored. */
  reached(time) {
    this.#fresh = time;
    if (!this.#busy && this.#needed()) this.#soon(CALM);
  }

  /** Load now, whatever is there. */
  async load() {
    if (this.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#stop?.abort();
    const stop = this.#stop = new AbortController();
    const { min, max, span } = this.view, names = this.signals(), fresh = this.#fresh;
    this.#busy = true;
    try {
      const from = min - MARGIN * span, to = max + MARGIN * span;
      const found = await api(`/sources/${enc(this.source)}/series`, {
        signal: stop.signal,
        query: {
          start: iso(from), end: iso(to), points: Math.round(this.points() * (1 + 2 * MARGIN)),
          signals: names,
        },
      });
      this.#loaded = { from, to, span, fresh };
      this.show(found);
    } catch (error) {
      if (error.name === "AbortError") return;
      this.#busy = false;
      this.fail(error);
      return;
    }
    this.#busy = false;
    // The view may have moved on while the answer was under way.
    if (!this.signal.aborted && this.#needed()) this.#soon(this.#moving() ? 0 : CALM);
  }

  #moved() {
    if (this.#needed() && !this.#busy) this.#soon(40);
  }

  #soon(ms) {
    const due = performance.now() + ms;
    if (this.#timer !== null && this.#due <= due) return;
    clearTimeout(this.#timer);
    this.#due = due;
    this.#timer = setTimeout(() => this.load(), ms);
  }

  #needed() {
    if (this.#moving()) return true;
    const { min, max, span } = this.view, fresh = this.#fresh;
    if (fresh === null || fresh < min || fresh > max) return false;
    // A new row matters once it is a point further on the screen.
    return Math.abs(fresh - (this.#loaded.fresh ?? -Infinity)) > span / this.points();
  }

  #moving() {
    const had = this.#loaded, { min, max, span } = this.view;
    // Beyond what is there, or much finer or coarser than it was asked for.
    return !had || min < had.from || max > had.to || span < 0.6 * had.span || span > 1.6 * had.span;
  }
}
