// Live updates. EventSource cannot carry a token, so the stream is read with fetch.
import { ApiError, request } from "./api.js";

const FIRST_WAIT = 1000, LONGEST_WAIT = 30000;
// The service sends at least a comment every 15 seconds; a silent line is a dead one.
const SILENCE = 45000;

/** Cuts a stream of text into server-sent events; give() returns those completed by a piece. */
export class EventParser {
  constructor() {
    this.rest = "";
    this.name = "message";
    this.data = [];
  }

  give(piece) {
    const done = [];
    const lines = (this.rest + piece).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (this.data.length) done.push({ name: this.name, data: this.data.join("\n") });
        this.name = "message";
        this.data = [];
        continue;
      }
      const at = line.indexOf(":");
      const field = at < 0 ? line : line.slice(0, at);
      const value = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "");
      if (field === "event") this.name = value;
      if (field === "data") this.data.push(value);
    }
    return done;
  }
}

/** Fires "reading", "incident", "fit", "health" (detail: the data), "state" and "resumed". */
class Live extends EventTarget {
  state = { name: "connecting", retryAt: null };
  #wait = FIRST_WAIT;
  #wake = null;

  async run() {
    let before = false;
    for (;;) {
      this.#tell("connecting");
      try {
        await this.#listen(() => {
          this.#wait = FIRST_WAIT;
          this.#tell("live");
          // What happened while the line was down must be asked for.
          if (before) this.dispatchEvent(new Event("resumed"));
          before = true;
        });
      } catch (error) {
        if (error instanceof ApiError && (error.status === 401 || error.status === 403)) {
          this.#tell("refused");
          await this.#pause(null);
          continue;
        }
      }
      const wait = this.#wait * (0.75 + 0.5 * Math.random());
      this.#wait = Math.min(LONGEST_WAIT, this.#wait * 2);
      this.#tell("waiting", Date.now() + wait);
      await this.#pause(wait);
    }
  }

  /** Try again at once. */
  retry() {
    this.#wake?.();
  }

  async #listen(opened) {
    const stop = new AbortController();
    let timer;
    const watch = () => {
      clearTimeout(timer);
      timer = setTimeout(() => stop.abort(), SILENCE);
    };
    watch();
    try {
      const answer = await request("/events", { signal: stop.signal, headers: { accept: "text/event-stream" } });
      opened();
      const parser = new EventParser(), reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        watch();
        for (const { name, data } of parser.give(value)) {
          this.dispatchEvent(new CustomEvent(name, { detail: JSON.parse(data) }));
        }
      }
    } finally {
      clearTimeout(timer);
      stop.abort();
    }
  }

  #tell(name, retryAt = null) {
    this.state = { name, retryAt };
    this.dispatchEvent(new Event("state"));
  }

  #pause(ms) {
    return new Promise((resolve) => {
      const timer = ms === null ? null : setTimeout(resolve, ms);
      this.#wake = () => { clearTimeout(timer); this.#wait = FIRST_WAIT; resolve(); };
    });
  }
}

export const live = new Live();
