// A chart over time: uPlot in the colours and scales of the report.
import uPlot from "../vendor/uplot/uPlot.esm.js";
import { h } from "../dom.js";
import { number } from "../numbers.js";
import { moments } from "../times.js";
import { KEY_HELP, gestures } from "./gestures.js";
import { nearby, together } from "./lines.js";
import { hideTip, showTip } from "./tip.js";

const ALARM_TICKS = [0, 1, 3, 10, 30, 100, 300, 1000, 1e4, 1e5, 1e6];
const GUTTER = 56;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Fair to scores, where both 0.5 and 500 must be seen.
const alarmScale = {
  distr: 100,
  fwd: (v) => Math.log2(1 + Math.max(0, v)),
  bwd: (v) => 2 ** v - 1,
  range: (_, low, high) => [0, Math.max(2, 1.15 * (high ?? 0))],
};
const plainScale = {
  range: (_, low, high) => {
    if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
    const room = high > low ? 0.06 * (high - low) : Math.max(1e-9, 0.05 * Math.abs(low));
    return [low - room, high + room];
  },
};

function alarmTicks(low, high) {
  const known = ALARM_TICKS.filter((tick) => tick >= low && tick <= high);
  return known.length <= 5 ? known : known.filter((tick, at) => at < 2 || at % 2 === 1);
}

const STYLES = {
  score: { colour: "--blue", width: 1.6 },
  measured: { colour: "--blue", width: 1.6 },
  expected: { colour: "--calm", width: 1.6, dash: [6, 4] },
};

export class TimeChart {
  /** lines: [{name, style}]; alarm: the score's scale with its line at 1; freeWheel: see gestures. */
  constructor({ label, view, lines, alarm = false, height = 120, freeWheel = false, group, signal }) {
    this.view = view;
    this.alarm = alarm;
    this.lines = lines;
    this.height = height;
    this.bands = [];
    this.element = h("figure", {
      class: "live-chart", tabindex: "0", role: "group",
      "aria-label": `${label}. ${KEY_HELP}`,
    });
    const data = [[], ...lines.map(() => []), ...(alarm ? [[]] : [])];
    this.plot = new uPlot(this.#options(group), data, this.element);
    gestures(this.element, this.plot.over, view, { freeWheel });
    view.addEventListener("change", () => this.#follow(), { signal });
    addEventListener("theme", () => this.plot.redraw(false, true), { signal });
    this.#fit(signal);
  }

  /** tables: one {t, v} for each line. */
  give(tables, bands = this.bands) {
    this.bands = bands;
    const data = together(tables.map(({ t, v }) => ({ t, v })));
    if (this.alarm) data.push(data[1].map((v) => (v > 1 ? v : v === null || v === undefined ? v : 1)));
    this.plot.setData(data, false);
    this.#follow();
  }

  #follow() {
    this.plot.setScale("x", { min: this.view.min, max: this.view.max });
  }

  #fit(signal) {
    const watcher = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry.contentRect.width);
      if (width > 0 && width !== this.plot.width) this.plot.setSize({ width, height: this.height });
    });
    watcher.observe(this.element);
    signal.addEventListener("abort", () => {
      watcher.disconnect();
      this.plot.destroy();
      hideTip();
    });
  }

  #options(group) {
    const { view, alarm } = this;
    const series = this.lines.map(({ name, style }) => ({
      label: name, stroke: () => colour(STYLES[style].colour), width: STYLES[style].width,
      dash: STYLES[style].dash, points: { show: false }, spanGaps: false,
    }));
    if (alarm) {
      series.push({
        stroke: () => colour("--hot"), fill: () => colour("--hot"), fillTo: 1, width: 0, points: { show: false },
      });
    }
    const axis = {
      stroke: () => colour("--soft"), font: "12px system-ui, sans-serif",
      grid: { stroke: () => colour("--line"), width: 1 }, ticks: { show: false },
    };
    return {
      width: 600, height: this.height, ms: 1, legend: { show: false }, padding: [6, 20, 0, 0],
      scales: { x: { time: true, auto: false, range: () => [view.min, view.max] }, y: alarm ? alarmScale : plainScale },
      series: [{}, ...series],
      axes: [
        { ...axis, size: 26, gap: 5, space: 70, grid: { show: false }, values: clockLabels },
        {
          ...axis, size: GUTTER, gap: 4, space: 28,
          ...(alarm ? { splits: (_, __, low, high) => alarmTicks(low, high), filter: (_, ticks) => ticks } : {}),
          values: (_, ticks) => ticks.map((v) => (v === null ? null : alarm && v ? `${number(v)}×` : number(v))),
        },
      ],
      cursor: {
        y: false, points: { show: false }, drag: { x: true, y: false, setScale: false, dist: 5 },
        sync: group ? { key: group } : undefined,
        bind: {
          // With Shift the mouse moves the chart instead of selecting.
          mousedown: (_, __, handler) => (event) => { if (!event.shiftKey) handler(event); },
          dblclick: () => () => { view.whole(); },
        },
      },
      hooks: {
        drawClear: [(u) => this.#drawBands(u)],
        draw: [(u) => this.#drawLimit(u)],
        setCursor: [(u) => this.#read(u)],
        setSelect: [(u) => this.#select(u)],
      },
    };
  }

  #select(u) {
    const { left, width } = u.select;
    if (width < 5) return;
    const from = u.posToVal(left, "x"), to = u.posToVal(left + width, "x");
    u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    this.view.set(from, to);
  }

  #drawBands(u) {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.fillStyle = colour("--hot-wash");
    for (const { start, end } of this.bands) {
      const left = u.valToPos(start, "x", true), right = u.valToPos(end, "x", true);
      // Even one row of a long year stays visible.
      ctx.fillRect(left, bbox.top, Math.max(2, right - left), bbox.height);
    }
    ctx.restore();
  }

  #drawLimit(u) {
    if (!this.alarm) return;
    const { ctx, bbox } = u, y = Math.round(u.valToPos(1, "y", true)) + 0.5;
    ctx.save();
    ctx.strokeStyle = colour("--hot");
    ctx.lineWidth = 1.3 * devicePixelRatio;
    ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.restore();
  }

  #read(u) {
    const { left, top, idx, event } = u.cursor;
    // Charts that only follow the pointer of another show the hair line, not a second tip.
    if (idx === null || idx === undefined || left < 0 || !event || event.target !== u.over) {
      if (event && event.target === u.over) hideTip();
      return;
    }
    const said = this.lines.map(({ name }, at) => {
      const found = nearby(u.data[at + 1], idx);
      return found < 0 ? null : `${name}: ${number(u.data[at + 1][found])}`;
    }).filter(Boolean);
    if (!said.length) { hideTip(); return; }
    const moment = u.data[0][idx], box = u.over.getBoundingClientRect();
    showTip(box.left + left, box.top + top, [...moments(moment), ...said].join("\n"));
  }
}

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** "14:05", and the day where one begins. */
function clockLabels(u, ticks, _axis, _space, step) {
  return ticks.map((ms, at) => {
    const t = new Date(ms), day = `${t.getDate()} ${MONTHS[t.getMonth()]}`;
    const clock = `${String(t.getHours()).padStart(2, "0")}:${String(t.getMinutes()).padStart(2, "0")}`;
    if (step >= 86400000 || (t.getHours() === 0 && t.getMinutes() === 0 && t.getSeconds() === 0)) return day;
    if (at === 0 && new Date(u.scales.x.max).toDateString() !== t.toDateString()) return `${day} ${clock}`;
    return step < 60000 ? `${clock}:${String(t.getSeconds()).padStart(2, "0")}` : clock;
  });
}
