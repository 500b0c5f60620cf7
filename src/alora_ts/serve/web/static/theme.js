// A plain script in the head: the chosen theme stands before anything is painted.
"use strict";
try {
  const chosen = localStorage.getItem("alora-ts.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage may be forbidden; the system's preference then decides.
}
