// What stands around every page: connection, open incidents, theme, announcements.
import { api } from "./api.js";
import { live } from "./events.js";
import { toast } from "./states.js";
import { blame } from "./incidents.js";
import { times } from "./numbers.js";

const SAID = {
  connecting: "Connecting",
  live: "Live",
  waiting: "Offline",
  refused: "No access",
};

export function frame() {
  theme();
  connection();
  openIncidents();
}

function theme() {
  const root = document.documentElement, themer = document.getElementById("themer");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const name = () => {
    themer.textContent = dark() ? "Light" : "Dark";
    themer.setAttribute("aria-label", `Use ${dark() ? "light" : "dark"} colours`);
    // Canvases do not follow style sheets by themselves.
    dispatchEvent(new Event("theme"));
  };
  themer.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("alora-ts.theme", root.dataset.theme);
    } catch {
      // The choice then lasts until the page is closed.
    }
    name();
  });
  system.addEventListener("change", name);
  name();
}

function connection() {
  const place = document.getElementById("link-state"), text = place.querySelector("span");
  const show = () => {
    const { name, retryAt } = live.state;
    place.dataset.state = name;
    const left = retryAt ? Math.max(0, Math.ceil((retryAt - Date.now()) / 1000)) : 0;
    const said = retryAt ? `${SAID[name]}, again in ${left} s` : SAID[name];
    if (text.textContent !== said) text.textContent = said;
    place.title = name === "live" ? "New readings arrive as they are scored" : "What is shown may be old";
  };
  live.addEventListener("state", show);
  setInterval(show, 1000);
  place.addEventListener("click", () => live.retry());
  show();
}

function openIncidents() {
  const count = document.getElementById("open-count"), news = document.getElementById("news");
  const refresh = async () => {
    try {
      const { items } = await api("/incidents", { query: { state: "open", silenced: false, limit: 100 } });
      count.textContent = items.length >= 100 ? "99+" : String(items.length);
      count.hidden = !items.length;
      count.setAttribute("aria-label", `, ${items.length} open`);
    } catch {
      // The page itself says what is wrong; the little number just stays away.
      count.hidden = true;
    }
  };
  live.addEventListener("incident", ({ detail: incident }) => {
    if (incident.change === "updated") return;
    refresh();
    // What is silenced is no news; what outgrew its silence is.
    if (incident.silenced || incident.state !== "open" || !["opened", "judged"].includes(incident.change)) return;
    const text = `${incident.change === "opened" ? "New incident" : "An incident alarms"} in ${incident.source}: ${blame(incident)}`
      + (Number.isFinite(incident.peak) ? `, ${times(incident.peak)} the alarm level` : "");
    news.textContent = text;
    toast(text, { hot: true, link: `#/incidents/${incident.id}` });
  });
  live.addEventListener("resumed", refresh);
  refresh();
}
