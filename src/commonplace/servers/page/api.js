// What is asked of `/api`: one function, one shape of errors.

const KEY = "commonplace-key";

/** What went wrong: a code, a message, what helps; `current` is the other version of a note, if there is one. */
export class Problem extends Error {
  constructor(status, { code, message, remedy = "", near = [], current = null, said = {} }) {
    super(message);
    Object.assign(this, { status, code, remedy, near, current, said });
  }
}

/** The code that an address has for getting in; null for none. */
export const codeOf = ({ hash }) => new URLSearchParams(hash.slice(1)).get("code");

/** Get in with the code of the address, if it has one. */
export async function enter() {
  const code = codeOf(location);
  if (!code) return;
  history.replaceState(null, "", "/#/search");
  const { key } = await ask("POST", "/api/visits", { body: { code } });
  localStorage.setItem(KEY, key);
}

/** Who asks here, and what that one may do: `agent` is empty for the owner; `reaches` is for beyond the workspace. */
export const caller = { agent: "", owner: true, writes: true, reaches: false };

/** Learn who asks. */
export async function learn() {
  Object.assign(caller, await get("/api/caller"));
}

/** The headers that let this browser in. */
export function headers(more = {}) {
  const key = localStorage.getItem(KEY);
  return { Accept: "application/json", ...(key ? { "X-Commonplace-Key": key } : {}), ...more };
}

/** Ask for JSON. Raises Problem, and AbortError where `signal` says so. The page hears it once it is `locked` out. */
export async function ask(method, path, { query = {}, body, signal, headers: more = {} } = {}) {
  const values = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== "" && one !== false) values.append(name, one);
    }
  }
  const address = values.size ? `${path}?${values}` : path;
  const sent = { method, signal, headers: headers(more), cache: "no-store" };
  if (body !== undefined) {
    sent.headers["Content-Type"] = "application/json";
    sent.body = JSON.stringify(body);
  }
  let response, answer;
  try {
    response = await fetch(address, sent);
    answer = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const status = response?.status ?? 0;
    throw new Problem(status, { code: "unreachable", message: `HTTP ${status}` });
  }
  if (response.ok) return answer;
  const problem = new Problem(response.status, answer.error ?? { code: "error", message: String(response.status) });
  if (response.status === 401) document.dispatchEvent(new CustomEvent("locked", { detail: problem }));
  throw problem;
}

export const get = (path, query, signal) => ask("GET", path, { query, signal });
export const post = (path, body, signal) => ask("POST", path, { body, signal });

/** What a text in Base64 stands for. */
export const bytesOf = (data) => Uint8Array.from(atob(data), (one) => one.charCodeAt(0));

/** Make a `get` of which only the last call is answered; the ones before are broken off. */
export function latest() {
  let running = null;
  return async (path, query) => {
    running?.abort();
    const mine = new AbortController();
    running = mine;
    return get(path, query, mine.signal);
  };
}
