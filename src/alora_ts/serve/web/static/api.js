// The one place that talks to the service.
import { askToken, asked, forget, token } from "./token.js";

// Beside the page, wherever a proxy has put it.
const ROOT = new URL("api/v1", document.baseURI).pathname;
// How often to wait where the service says that it is asked too much.
const PATIENCE = 5;

export class ApiError extends Error {
  constructor(status, { code = "error", message, hint = "" }) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}

/** A list in the query is a parameter that is repeated. */
function address(path, query) {
  const given = Object.entries(query ?? {}).flatMap(([name, value]) => [value].flat().map((one) => [name, one]))
    .filter(([, value]) => value !== undefined && value !== null && value !== "");
  const search = new URLSearchParams(given).toString();
  return ROOT + path + (search ? `?${search}` : "");
}

/** A response of the API; asks for a token, as often as it takes, where the service wants one. */
export async function request(path, { method = "GET", query, body, type, signal, headers = {} } = {}) {
  for (let tries = 0; ; tries += 1) {
    // While someone is typing a token, asking without one would only be refused.
    await asked();
    const sent = token();
    const all = { ...headers };
    if (sent) all.authorization = `Bearer ${sent}`;
    if (body !== undefined) all["content-type"] = type ?? "application/json";
    let answer;
    try {
      answer = await fetch(address(path, query), {
        method, signal, headers: all, cache: "no-store",
        body: body === undefined || type ? body : JSON.stringify(body),
      });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ApiError(0, {
        code: "unreachable", message: "The service does not answer.",
        hint: "Check that it runs and that this computer reaches it.",
      });
    }
    if (answer.ok) return answer;
    if (answer.status === 401) {
      // Another request may have brought a new token meanwhile.
      if (token() !== sent) continue;
      if (sent) forget();
      if (await askToken({ refused: Boolean(sent) })) continue;
    }
    if (answer.status === 429 && tries < PATIENCE) {
      await pause(1000 * (Number(answer.headers.get("retry-after")) || 1), signal);
      continue;
    }
    throw await told(answer);
  }
}

function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("left", "AbortError"));
    });
  });
}

async function told(answer) {
  let error = {};
  try {
    error = (await answer.json()).error ?? {};
  } catch {
    // Not our JSON: a proxy in between, perhaps. The status still says something.
  }
  return new ApiError(answer.status, {
    code: error.code, hint: error.hint ?? "",
    message: error.message ?? `The service answered ${answer.status} ${answer.statusText}.`,
  });
}

/** The JSON of an answer (null for none). */
export async function api(path, options) {
  const answer = await request(path, options);
  return answer.status === 204 ? null : answer.json();
}

export const enc = encodeURIComponent;
