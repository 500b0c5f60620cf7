"use strict";
(() => {
  const WIDTH = 10000, HEIGHT = 1000;
  const all = (css, root = document) => [...root.querySelectorAll(css)];

  // ---- light and dark -------------------------------------------------------------------
  const root = document.documentElement;
  const themer = document.querySelector(".themer");
  const dark = () => root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const nameTheme = () => { themer.textContent = dark() ? "Light" : "Dark"; };
  themer.hidden = false;
  nameTheme();
  themer.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    nameTheme();
  });

  // ---- reading a chart under the pointer ----------------------------------------------------
  const three = (v) => {
    if (v === 0) return "0";
    const size = Math.abs(v);
    if (size >= 1000) return Math.round(v).toLocaleString("en");
    return String(Number(v.toPrecision(3)));
  };
  const two = (n) => String(n).padStart(2, "0");
  const stamp = (seconds) => {
    const t = new Date(Math.round(seconds * 1000));
    const clock = `${two(t.getUTCHours())}:${two(t.getUTCMinutes())}`;
    const s = t.getUTCSeconds() ? `:${two(t.getUTCSeconds())}` : "";
    return `${t.getUTCFullYear()}-${two(t.getUTCMonth() + 1)}-${two(t.getUTCDate())} ${clock}${s}`;
  };
  const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
  const STEPS = [
    0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800,
    21600, 43200,
  ];
  const short = (seconds, step) => {
    const t = new Date(Math.round(seconds * 1000));
    if (t % 86400000 === 0) return `${t.getUTCDate()} ${MONTHS[t.getUTCMonth()]}`;
    const clock = `${two(t.getUTCHours())}:${two(t.getUTCMinutes())}`;
    if (step >= 60) return clock;
    return `${clock}:${two(t.getUTCSeconds())}${step < 1 ? `.${String(t % 1000).padStart(3, "0")}` : ""}`;
  };
  const ticks = (low, high, isTime) => {
    const span = high - low;
    let step;
    if (isTime) {
      step = STEPS.find((s) => span / s <= 7) || 86400 * Math.max(1, Math.ceil(span / 86400 / 7));
    } else {
      const power = 10 ** Math.floor(Math.log10(span / 7));
      step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= span / 7);
    }
    const found = [];
    for (let t = Math.ceil(low / step) * step; t <= high; t += step) {
      found.push([t, isTime ? short(t, step) : Number(t.toPrecision(10)).toLocaleString("en")]);
    }
    return found;
  };

  class Chart {
    constructor(figure) {
      this.figure = figure;
      this.plot = figure.querySelector(".plot");
      this.svg = figure.querySelector("svg");
      const d = figure.dataset;
      this.low = +d.low; this.high = +d.high; this.kind = d.clock; this.isTime = d.clock === "time";
      this.bottom = +d.bottom; this.top = +d.top; this.alarm = d.alarm === "1";
      this.from = 0; this.to = WIDTH;
    }
    when(unit) {
      const moment = this.moment(unit);
      if (this.isTime) return stamp(moment);
      return this.kind === "row" ? `row ${Math.round(moment).toLocaleString("en")}` : three(moment);
    }
    moment(unit) { return this.low + (unit / WIDTH) * (this.high - this.low); }
    value(y) {
      const up = 1 - y / HEIGHT;
      if (!this.alarm) return this.bottom + up * (this.top - this.bottom);
      const low = Math.log2(1 + this.bottom), high = Math.log2(1 + this.top);
      return 2 ** (low + up * (high - low)) - 1;
    }
    unit(event) {
      const box = this.plot.getBoundingClientRect();
      const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
      return this.from + share * (this.to - this.from);
    }
    get lines() {
      // Only once a pointer comes by: parsing every path of a long page would delay it.
      this.parsed ||= all("path.line", this.svg).map((path) => {
        const numbers = (path.getAttribute("d").match(/\d+ \d+/g) || []).map((p) => p.split(" "));
        return {
          name: path.dataset.name,
          x: Float64Array.from(numbers, (p) => +p[0]),
          y: Float64Array.from(numbers, (p) => +p[1]),
        };
      });
      return this.parsed;
    }
    read(unit) {
      return this.lines.filter((line) => line.x.length).map((line) => {
        let a = 0, b = line.x.length - 1;
        while (b - a > 1) { const m = (a + b) >> 1; if (line.x[m] <= unit) a = m; else b = m; }
        const at = Math.abs(line.x[a] - unit) <= Math.abs(line.x[b] - unit) ? a : b;
        return `${line.name}: ${three(this.value(line.y[at]))}`;
      });
    }
    show(from, to) {
      this.from = from; this.to = to;
      this.svg.setAttribute("viewBox", `${from} 0 ${to - from} ${HEIGHT}`);
      const axis = this.figure.querySelector(".moments");
      const low = this.moment(from), high = this.moment(to);
      if (axis) {
        axis.replaceChildren(...ticks(low, high, this.isTime).map(([t, text]) => {
          const mark = document.createElement("span");
          mark.style.left = `${(100 * (t - low)) / (high - low)}%`;
          mark.textContent = text;
          return mark;
        }).filter((mark) => parseFloat(mark.style.left) >= 2 && parseFloat(mark.style.left) <= 98));
      }
      this.tidy();
    }
    tidy() {
      // Where flags would overlap, the strongest stays.
      const wide = this.plot.clientWidth, taken = [];
      const flags = all(".flag", this.figure);
      for (const flag of flags.sort((a, b) => b.dataset.weight - a.dataset.weight)) {
        const at = (flag.dataset.at * WIDTH - this.from) / (this.to - this.from);
        flag.style.left = `${100 * at}%`;
        flag.hidden = at < 0 || at > 1 || taken.some((x) => Math.abs(x - at * wide) < 28);
        if (!flag.hidden) taken.push(at * wide);
      }
    }
  }

  const tip = document.createElement("div");
  tip.className = "tip"; tip.hidden = true; tip.setAttribute("aria-hidden", "true");
  const hair = document.createElement("div");
  hair.className = "hair";
  document.body.append(tip);
  const point = (event, text) => {
    tip.textContent = text;
    tip.hidden = false;
    const wide = tip.offsetWidth, tall = tip.offsetHeight;
    tip.style.left = `${Math.max(4, Math.min(innerWidth - wide - 4, event.clientX + 14))}px`;
    tip.style.top = `${event.clientY - tall - 12 < 4 ? event.clientY + 18 : event.clientY - tall - 12}px`;
  };
  const leave = () => { tip.hidden = true; hair.remove(); };

  // ---- zoom, shared by the charts of the whole period --------------------------------------
  const synced = [];
  const zoomTo = (from, to) => {
    const least = WIDTH / 200;
    if (to - from < least) { const mid = (from + to) / 2; from = mid - least / 2; to = mid + least / 2; }
    const wide = Math.min(WIDTH, to - from);
    from = Math.max(0, Math.min(WIDTH - wide, from));
    for (const chart of synced) chart.show(from, from + wide);
    for (const picture of all(".fingerprint img")) {
      picture.style.width = `${(100 * WIDTH) / wide}%`;
      picture.style.left = `${(-100 * from) / wide}%`;
      picture.style.right = "auto";
    }
  };
  const bring = (figure) => {
    const chart = new Chart(figure);
    const sync = figure.classList.contains("sync");
    if (sync) synced.push(chart);
    let start = null;
    const pick = document.createElement("div");
    pick.className = "pick";
    chart.plot.addEventListener("pointermove", (event) => {
      const unit = chart.unit(event), box = chart.plot.getBoundingClientRect();
      chart.plot.append(hair);
      hair.style.left = `${event.clientX - box.left}px`;
      point(event, [chart.when(unit), ...chart.read(unit)].join("\n"));
      if (start !== null) {
        const share = (u) => (100 * (u - chart.from)) / (chart.to - chart.from);
        pick.style.left = `${share(Math.min(start, unit))}%`;
        pick.style.width = `${share(Math.max(start, unit)) - share(Math.min(start, unit))}%`;
        chart.plot.append(pick);
      }
    });
    chart.plot.addEventListener("pointerleave", leave);
    if (!sync) return;
    chart.plot.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "mouse") return;
      start = chart.unit(event);
      chart.plot.setPointerCapture(event.pointerId);
    });
    chart.plot.addEventListener("pointerup", (event) => {
      if (start === null) return;
      const end = chart.unit(event);
      if (Math.abs(end - start) > (chart.to - chart.from) / 100) {
        zoomTo(Math.min(start, end), Math.max(start, end));
      }
      start = null;
      pick.remove();
    });
    chart.plot.addEventListener("dblclick", () => zoomTo(0, WIDTH));
  };
  all(".chart").forEach(bring);
  const tidy = () => synced.forEach((chart) => chart.tidy());
  tidy();
  addEventListener("resize", tidy);
  for (const print of all(".fingerprint")) {
    const picture = print.querySelector(".picture"), names = all(".names span", print);
    picture.addEventListener("pointermove", (event) => {
      const box = picture.getBoundingClientRect(), view = synced[0];
      const row = Math.floor(((event.clientY - box.top) / box.height) * names.length);
      const share = (event.clientX - box.left) / box.width;
      const when = view.when(view.from + share * (view.to - view.from));
      if (names[row]) point(event, `${when}\n${names[row].textContent}`);
    });
    picture.addEventListener("pointerleave", leave);
  }
  for (const button of all("[data-zoom]")) {
    button.addEventListener("click", () => {
      const { from, to } = synced[0], span = to - from, mid = (from + to) / 2;
      if (button.dataset.zoom === "in") zoomTo(mid - span / 4, mid + span / 4);
      if (button.dataset.zoom === "out") zoomTo(mid - span, mid + span);
      if (button.dataset.zoom === "left") zoomTo(from - span / 3, to - span / 3);
      if (button.dataset.zoom === "right") zoomTo(from + span / 3, to + span / 3);
      if (button.dataset.zoom === "all") zoomTo(0, WIDTH);
    });
  }
  for (const tools of all(".tools")) tools.hidden = false;

  // ---- any signal over the whole period -----------------------------------------------------
  const chooser = document.querySelector("#signal");
  if (chooser) {
    const stage = document.querySelector("#stage");
    const show = () => {
      const before = synced[0];
      const at = synced.findIndex((chart) => stage.contains(chart.figure));
      if (at >= 0) synced.splice(at, 1);
      stage.replaceChildren(document.getElementById(chooser.value).content.cloneNode(true));
      all(".chart", stage).forEach(bring);
      zoomTo(before.from, before.to);
    };
    chooser.addEventListener("change", show);
    chooser.closest(".browse").hidden = false;
    show();
  }

  // ---- relations --------------------------------------------------------------------------
  for (const map of all("svg.map")) {
    const { names, values } = JSON.parse(map.querySelector("metadata").textContent);
    const cells = map.querySelector(".paper");
    map.addEventListener("pointermove", (event) => {
      const box = cells.getBoundingClientRect();
      const column = Math.floor(((event.clientX - box.left) / box.width) * names.length);
      const row = Math.floor(((event.clientY - box.top) / box.height) * names.length);
      if (values[row] === undefined || values[row][column] === undefined) { leave(); return; }
      point(event, `${names[row]} → ${names[column]}\n${three(values[row][column])}`);
    });
    map.addEventListener("pointerleave", leave);
  }
  for (const net of all("svg.net")) {
    for (const node of all("[data-node]", net)) {
      node.addEventListener("pointerenter", () => {
        net.classList.add("chosen");
        for (const tie of all(".tie", net)) {
          const ends = [tie.dataset.from, tie.dataset.to];
          tie.classList.toggle("on", ends.includes(node.dataset.node));
        }
      });
      node.addEventListener("pointerleave", () => net.classList.remove("chosen"));
    }
  }
})();
