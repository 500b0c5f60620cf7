// A source that has no model yet: what came so far, and a model from it.
import { h } from "../dom.js";
import { empty } from "../states.js";
import { fits } from "./fits.js";
import { training } from "./training.js";

export function collecting(found, signal, changed) {
  if (found.last_time === null) {
    const row = '{"time": "\'$(date -u +%FT%TZ)\'", "values": {"flow": 3.2, "level": 1.4}}';
    return [h("section", { class: "card" }, empty("Nothing has come in yet.",
      "This source collects rows; with some of them it can learn what is normal. Send rows, a file, or name it in a connector:"),
    h("pre", { class: "command" }, `curl ${location.origin}/api/v1/sources/${found.name}/rows \\\n  -H 'content-type: application/json' -d '${row}'`),
    h("pre", { class: "command" }, `alora-ts replay normal.csv --to ${location.origin} --source ${found.name} --as-recorded`))];
  }
  const runs = fits(signal, changed, { only: found.name });
  return [training(signal, runs.refresh, { only: found }), runs.element];
}
