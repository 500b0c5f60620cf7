// Numbers as the report writes them: three figures, thousands grouped.

export function number(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e7) return value.toExponential(1);
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  if (size < 1e-4) return value.toExponential(1);
  return String(Number(value.toPrecision(3)));
}

export const whole = (value) => (Number.isFinite(value) ? Math.round(value).toLocaleString("en") : "–");
export const percent = (share) => {
  if (!Number.isFinite(share)) return "–";
  return share > 0 && share < 0.005 ? "<1%" : `${Math.round(100 * share)}%`;
};
export const times = (score) => (Number.isFinite(score) ? `${number(score)}×` : "–");

export function bytes(count) {
  if (!Number.isFinite(count)) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  while (count >= 1000 && at < units.length - 1) { count /= 1000; at += 1; }
  return `${number(count)} ${units[at]}`;
}

/** "open_incidents" to "Open incidents". */
export function words(name) {
  const text = String(name).replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
