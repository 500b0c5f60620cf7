// The one place that talks to the service.
import { askToken, forget, token } from "./token.js";

const ROOT = "/api/v1";

export class ApiError extends Error {
  constructor(status, { code = "error", message, hint = "" }) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}

function address(path, query) {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const search = new URLSearchParams(given).toString();
  return ROOT + path + (search ? `?${search}` : "");
}

/** A response of the API; asks for a token, as often as it takes, where the service wants one. */
export async function request(path, { method = "GET", query, body, type, signal, headers = {} } = {}) {
  for (;;) {
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
    throw await told(answer);
  }
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
