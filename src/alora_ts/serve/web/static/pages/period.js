// What a model would learn from: rows, gaps and signals of a period.
import { h } from "../dom.js";
import { trace } from "../drawings/trace.js";
import { number, percent, whole } from "../numbers.js";
import { parse, span, when } from "../times.js";

const SHOWN = 12;

export function preview(period) {
  const { rows, more_rows: more, step, signals, gaps, gap_count: count, advice } = period;
  const left = period.incidents_left_out, inside = period.incidents_inside;
  const odd = signals.filter(({ note }) => note).length;
  return [
    h("dl", { class: "facts period-facts" },
      h("dt", {}, "Rows"), h("dd", {}, `${whole(rows)}${more ? " and more" : ""}${step ? `, one every ${number(step)} s` : ""}`),
      h("dt", {}, "Incidents"), h("dd", {}, inside ? h("b", { class: "hot-word" }, `${whole(inside)} in it`) : left ? `none in it, ${whole(left)} left out` : "none"),
      h("dt", {}, "Gaps"), h("dd", {}, count ? [`${whole(count)}: `, gaps.slice(0, 3).map((gap, at) => [at ? ", " : "", `${span(1000 * gap.seconds)} from `, when(parse(gap.start))]), count > 3 ? " …" : ""] : "none"),
      h("dt", {}, "Signals"), h("dd", {}, `${whole(signals.length)}${odd ? `, ${whole(odd)} to look at` : ""}`),
      h("dt", {}, "Advice"), h("dd", {}, h("b", {}, advice))),
    ...list(signals),
  ];
}

/** Those with a note first. */
function list(signals) {
  const sorted = [...signals].sort((a, b) => Boolean(b.note) - Boolean(a.note));
  const items = sorted.map((one, at) => h("li", { hidden: at >= SHOWN, data: { odd: one.note ? "yes" : "no" } },
    h("div", { class: "who" }, h("b", {}, one.name), h("span", { class: "soft" }, one.low === null ? "" : `${number(one.low)} … ${number(one.high)}`)),
    one.low === null ? null : trace({ ...one, label: `${one.name} in this period` }),
    one.note ? h("p", { class: "hot-word small" }, one.note)
      : one.missing > 0.001 ? h("p", { class: "soft small" }, `${percent(one.missing)} missing`) : null));
  const hidden = items.filter((item) => item.hidden);
  const more = hidden.length ? h("button", { type: "button", on: { click: () => {
    for (const item of hidden) item.hidden = false;
    more.remove();
  } } }, `Show ${hidden.length} more signals`) : null;
  return [h("ul", { class: "culprits two-columns period-signals" }, items), more];
}
