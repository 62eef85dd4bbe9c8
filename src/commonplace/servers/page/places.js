// Where a place stands: among the workspace's own notes, which are changed here, or where the page only reads.

import { get } from "./api.js";

const OWN = "memory"; // the collection of the workspace itself
const TRANSCRIPT = /\.(jsonl|json|zip)(#|$)/i;
let further = new Set();

/** Learn which further collections there are by now; return all collections. */
export async function learnCollections() {
  const all = await get("/api/collections");
  further = new Set(all.map(({ name }) => name).filter((name) => name !== OWN));
  return all;
}

/** Why nothing at a place is changed here, as a name of `words.js`; empty where it may be. A session can go `whole`. */
export function barrier(place, { whole = false } = {}) {
  if (/^[^/]+:/.test(place)) return "elsewhere";
  const [head, ...rest] = place.split("/");
  if (rest.length && further.has(head)) return "of_collection";
  return TRANSCRIPT.test(place) && !whole ? "of_session" : "";
}
