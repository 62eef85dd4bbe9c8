// The events of the memory, heard for as long as the page is open: server-sent events, read with `fetch`, since
// `EventSource` sends no key. A stream that breaks is opened again.

import { headers } from "./api.js";

export const MOST = 400;
export const heard = []; // the last events, newest last
export const state = { live: false };
const AGAIN_MS = [1000, 2000, 5000, 15000];
let listening = false;

/** Hear events until the page is left, or is let in no more; each is told to the document as `heard`. */
export async function listen() {
  if (listening) return;
  listening = true;
  await hear();
  listening = false;
}

async function hear() {
  let failures = 0;
  for (;;) {
    try {
      const response = await fetch("/api/events", {
        headers: headers({ Accept: "text/event-stream" }),
        cache: "no-store",
      });
      if (response.status === 401 || response.status === 403) return live(false);
      if (response.ok) {
        failures = 0;
        live(true);
        await read(response.body.pipeThrough(new TextDecoderStream()).getReader());
      }
    } catch {
      // The server has ended, or the network has: it is tried again.
    }
    live(false);
    await new Promise((done) => setTimeout(done, AGAIN_MS[Math.min(failures++, AGAIN_MS.length - 1)]));
  }
}

function live(is) {
  state.live = is;
  document.dispatchEvent(new CustomEvent("live"));
}

async function read(reader) {
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    parts.forEach(take);
  }
}

function take(part) {
  const fields = Object.fromEntries(part.split("\n").map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trimStart()];
  }));
  if (fields.data && fields.event !== "ready") {
    const event = JSON.parse(fields.data);
    heard.push(event);
    if (heard.length > MOST) heard.shift();
    document.dispatchEvent(new CustomEvent("heard", { detail: event }));
  }
}
