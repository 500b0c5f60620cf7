// From what the service sends to what the chart draws.
import uPlot from "../vendor/uplot/uPlot.esm.js";

/** Breaks ([t, v] with a null) where rows are missing: more than three usual distances apart. */
export function broken(t, v) {
  if (t.length < 3) return [t, v];
  const steps = [];
  for (let i = 1; i < t.length; i += 1) steps.push(t[i] - t[i - 1]);
  // Thinned lines keep at least one point of every stretch, so the largest of the usual
  // distances is what decides, not the smallest.
  const sorted = steps.slice().sort((a, b) => a - b);
  const usual = 3 * sorted[Math.floor(0.9 * (sorted.length - 1))];
  if (!(sorted[sorted.length - 1] > usual) || usual <= 0) return [t, v];
  const times = [t[0]], values = [v[0]];
  for (let i = 1; i < t.length; i += 1) {
    if (t[i] - t[i - 1] > usual) {
      times.push(t[i - 1] + 1);
      values.push(null);
    }
    times.push(t[i]);
    values.push(v[i]);
  }
  return [times, values];
}

/** Lines with their own times on one common axis; a missing partner is not a gap. */
export function together(lines) {
  const tables = lines.map(({ t, v }) => broken(t, v));
  if (tables.length === 1) return tables[0];
  return uPlot.join(tables, tables.map(() => [2, 2]));
}

/** Index of the value nearest to `at` that is there, within `reach` places; -1 if none. */
export function nearby(values, at, reach = 40) {
  for (let away = 0; away <= reach; away += 1) {
    if (Number.isFinite(values[at - away])) return at - away;
    if (Number.isFinite(values[at + away])) return at + away;
  }
  return -1;
}
