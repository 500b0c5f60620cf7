// Asks the service for what a view shows, no more often and no finer than the screen needs.
import { api, enc } from "../api.js";
import { iso } from "../times.js";

// Kept on both sides, so that a small move shows no blank.
const MARGIN = 0.5;

/** Calls show({score, signals}) with thinned lines whenever the view needs others. */
export class SeriesLoader {
  #stop = null;
  #loaded = null;
  #timer = null;
  #busy = false;

  constructor({ source, view, signals, points, show, fail, signal }) {
    Object.assign(this, { source, view, signals, points, show, fail });
    this.signal = signal;
    view.addEventListener("change", () => this.#moved(), { signal });
    signal.addEventListener("abort", () => {
      clearTimeout(this.#timer);
      this.#stop?.abort();
    });
  }

  /** Load now, whatever is there. */
  async load() {
    if (this.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#stop?.abort();
    const stop = this.#stop = new AbortController();
    const { min, max, span } = this.view, names = this.signals();
    this.#busy = true;
    try {
      const from = min - MARGIN * span, to = max + MARGIN * span;
      const found = await api(`/sources/${enc(this.source)}/series`, {
        signal: stop.signal,
        query: {
          start: iso(from), end: iso(to), points: Math.round(this.points() * (1 + 2 * MARGIN)),
          signals: names.join(","),
        },
      });
      this.#loaded = { from, to, span, last: this.view.last };
      this.show(found);
    } catch (error) {
      if (error.name !== "AbortError") this.fail(error);
    } finally {
      if (this.#stop === stop) {
        this.#busy = false;
        // The view may have moved on while the answer was under way.
        if (!this.signal.aborted && this.#needed()) this.#soon(0);
      }
    }
  }

  #moved() {
    if (this.#needed() && !this.#busy) this.#soon(40);
  }

  #soon(ms) {
    this.#timer ??= setTimeout(() => this.load(), ms);
  }

  #needed() {
    const had = this.#loaded, { min, max, span, last } = this.view;
    if (!had) return true;
    if (min < had.from || max > had.to) return true;
    // Much finer or coarser than what was asked for.
    if (span < 0.6 * had.span || span > 1.6 * had.span) return true;
    // A new row matters once it is a point further on the screen.
    return last > had.last && max > had.last && last - had.last > span / this.points();
  }
}
