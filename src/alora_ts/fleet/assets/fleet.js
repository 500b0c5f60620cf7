"use strict";
(() => {
  const PAGE = 50;
  const body = document.getElementById("entities");
  if (!body) return;
  const rows = JSON.parse(document.getElementById("rows").textContent);
  const find = document.getElementById("find");
  const keep = document.getElementById("keep");
  const order = document.getElementById("order");
  const said = document.getElementById("said");
  const where = document.getElementById("where");
  const [first, back, next, last] = document.querySelectorAll(".pager button");
  const heads = [...document.querySelectorAll(".fleet th")];
  const LABELS = heads.map((head) => head.textContent.trim());

  // name, state, score, incidents, highest, last (text), last (number), culprits or reason, alarm
  const text = rows.map((row) => `${row[0]} ${row[7]}`.toLowerCase());
  const keys = [0, 2, 3, 4, 6, 7];
  const tests = {
    all: () => true,
    alarm: (row) => row[8],
    incidents: (row) => row[3] > 0,
    quiet: (row) => row[1] === "diagnosed" && !row[3],
    failed: (row) => row[1] === "failed",
  };
  let by = 1, down = true, page = 0, shown = [];

  const three = (v) => (v === null ? "–" : v >= 100 ? Math.round(v).toLocaleString("en") : String(Number(v.toPrecision(2))));
  const cell = (column, value, style) => {
    const td = document.createElement("td");
    td.dataset.label = LABELS[column];
    if (style) td.className = style;
    const span = document.createElement("span");
    span.textContent = value;
    td.append(span);
    return td;
  };
  const line = (row) => {
    const tr = document.createElement("tr");
    const failed = row[1] === "failed";
    tr.append(
      cell(0, row[0]),
      cell(1, failed ? "failed" : row[2] === null ? "not judged" : `${three(row[2])}×`,
        failed ? "n failed" : row[8] ? "n alarm" : "n"),
      cell(2, row[3] === null ? "–" : row[3].toLocaleString("en"), "n"),
      cell(3, row[4] === null ? "–" : `${three(row[4])}×`, "n"),
      cell(4, row[5] || "–", "when"),
      cell(5, row[7] || "–", failed ? "failed" : ""),
    );
    return tr;
  };
  const compare = (a, b) => {
    const key = keys[by], x = rows[a][key], y = rows[b][key];
    if (x === null || x === "") return y === null || y === "" ? a - b : 1;
    if (y === null || y === "") return -1;
    const less = typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y;
    return (down ? -less : less) || a - b;
  };
  const draw = () => {
    const pages = Math.max(1, Math.ceil(shown.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    body.replaceChildren(...shown.slice(page * PAGE, page * PAGE + PAGE).map((at) => line(rows[at])));
    said.textContent = `${shown.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")}`;
    where.textContent = `page ${page + 1} of ${pages.toLocaleString("en")}`;
    first.disabled = back.disabled = page === 0;
    next.disabled = last.disabled = page === pages - 1;
    heads.forEach((head, column) => head.setAttribute(
      "aria-sort", column === by ? (down ? "descending" : "ascending") : "none"));
    order.value = String(by);
  };
  const refresh = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const test = tests[keep.value];
    shown = [];
    for (let at = 0; at < rows.length; at++) {
      if (test(rows[at]) && words.every((word) => text[at].includes(word))) shown.push(at);
    }
    shown.sort(compare);
    page = 0;
    draw();
  };
  const sortBy = (column) => {
    down = column === by ? !down : column > 0 && column < 5;
    by = column;
    refresh();
  };

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = LABELS[column];
    button.addEventListener("click", () => sortBy(column));
    head.replaceChildren(button);
    order.append(new Option(`sort: ${LABELS[column].toLowerCase()}`, String(column)));
  });
  find.addEventListener("input", refresh);
  keep.addEventListener("change", refresh);
  order.addEventListener("change", () => { by = -1; sortBy(Number(order.value)); });
  first.addEventListener("click", () => { page = 0; draw(); });
  back.addEventListener("click", () => { page -= 1; draw(); });
  next.addEventListener("click", () => { page += 1; draw(); });
  last.addEventListener("click", () => { page = Infinity; draw(); });
  for (const hidden of document.querySelectorAll(".filters, .pager")) hidden.hidden = false;
  for (const link of document.querySelectorAll("[data-find]")) {
    link.addEventListener("click", () => { find.value = link.dataset.find; refresh(); });
  }
  refresh();
})();
