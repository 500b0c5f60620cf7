// The stretch of time that a group of charts shows together.

const LEAST = 1000;

/** Fires "change" at most once a frame; `follow` says that the end stays at the newest row. */
export class View extends EventTarget {
  #asked = false;

  constructor({ first, last, min, max, follow = false }) {
    super();
    this.first = first;
    this.last = last;
    this.min = min;
    this.max = max;
    this.follow = follow;
  }

  get span() {
    return this.max - this.min;
  }

  /** Show a stretch; kept near the history, so that one cannot get lost in empty years. */
  set(min, max, { follow = false } = {}) {
    const most = Math.max(LEAST, 1.1 * (this.last - this.first));
    const wide = Math.min(most, Math.max(LEAST, max - min));
    const middle = (min + max) / 2;
    let from = wide === max - min ? min : middle - wide / 2;
    from = Math.max(this.first - 0.5 * wide, Math.min(this.last - 0.5 * wide, from));
    this.min = from;
    this.max = from + wide;
    this.follow = follow;
    this.#tell();
  }

  zoom(factor, around = (this.min + this.max) / 2) {
    this.set(around - (around - this.min) * factor, around + (this.max - around) * factor);
  }

  /** Move by a share of what is shown. */
  pan(share) {
    this.set(this.min + share * this.span, this.max + share * this.span);
  }

  whole() {
    const room = 0.01 * (this.last - this.first);
    this.set(this.first - room, this.last + room);
  }

  /** The newest rows, from now on moving along. */
  newest(wide = this.span) {
    this.set(this.last - 0.98 * wide, this.last + 0.02 * wide, { follow: true });
  }

  /** A newer row has come. */
  reach(last) {
    if (!(last > this.last)) return;
    this.last = last;
    if (this.follow) this.newest();
  }

  #tell() {
    if (this.#asked) return;
    this.#asked = true;
    requestAnimationFrame(() => {
      this.#asked = false;
      this.dispatchEvent(new Event("change"));
    });
  }
}
