// Hash routes: "#/sources/plant?from=…" chooses a page and gives it its parameters.

const routes = [];

/** pattern: "/sources/:name"; page: {nav, title, render(root, params, query, signal)}. */
export const route = (pattern, page) => {
  const names = [];
  const source = pattern.replace(/:(\w+)/g, (_, name) => { names.push(name); return "([^/]+)"; });
  routes.push({ match: new RegExp(`^${source}/?$`), names, page });
};

export function read(hash) {
  const [path, search = ""] = hash.replace(/^#/, "").split("?");
  const query = new URLSearchParams(search);
  for (const { match, names, page } of routes) {
    const found = match.exec(path || "/");
    if (!found) continue;
    try {
      const params = Object.fromEntries(names.map((name, at) => [name, decodeURIComponent(found[at + 1])]));
      return { page, params, query };
    } catch {
      return null; // a % that stands for nothing
    }
  }
  return null;
}

/** Keep a page's state in the address without a new entry in the history. */
export function remember(values) {
  const [path, search = ""] = location.hash.split("?");
  const query = new URLSearchParams(search);
  for (const [name, value] of Object.entries(values)) {
    if (value === null) query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  history.replaceState(null, "", text ? `${path}?${text}` : path);
}
