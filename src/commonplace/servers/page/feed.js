// What agents and people did in the memory last, and what they do, as it happens.

import { get } from "./api.js";
import { el, noteLink, plain } from "./dom.js";
import { heard, state } from "./listen.js";
import { day, moment, number, t } from "./words.js";

const MOST_EARLIER = 100;
const NEAR_MS = 90_000; // between two events of one group

export async function show(root) {
  let paused = false, waiting = 0, before = [];
  const list = el("ol", { class: "feed", "aria-live": "polite", "aria-label": t("view_feed") });
  const live = el("span", { class: "live", role: "status" });
  const pause = el("button", { type: "button", "aria-pressed": "false", onclick: () => toggle() }, t("pause"));
  root.append(el("header", { class: "notehead" }, el("h1", {}, t("view_feed")), el("div", { class: "tools" }, live, pause)),
    el("p", { class: "muted" }, t("feed_about")), list);

  function draw() {
    live.textContent = paused ? t("paused", { n: waiting }) : t(state.live ? "live" : "not_live");
    live.classList.toggle("on", state.live && !paused);
    if (paused) return;
    const groups = [];
    for (const event of [...before, ...heard]) {
      const last = groups.at(-1);
      if (last && last.agent === event.agent && Date.parse(event.at) - Date.parse(last.events.at(-1).at) < NEAR_MS) last.events.push(event);
      else groups.push({ agent: event.agent, events: [event] });
    }
    list.replaceChildren(...groups.reverse().map(group));
    if (!groups.length) list.append(el("li", { class: "muted" }, t("quiet")));
  }

  function toggle() {
    paused = !paused;
    waiting = 0;
    pause.textContent = t(paused ? "go_on" : "pause");
    pause.setAttribute("aria-pressed", String(paused));
    draw();
  }

  const hear = () => {
    if (paused) waiting++;
    draw();
  };
  document.addEventListener("heard", hear);
  document.addEventListener("live", draw);
  draw();
  before = await earlier();
  draw();
  return {
    keys: { p: toggle, " ": toggle },
    leave: () => {
      document.removeEventListener("heard", hear);
      document.removeEventListener("live", draw);
    },
  };
}

/** What was done before the page heard of anything, oldest first. */
async function earlier() {
  const done = await get("/api/activities", { limit: MOST_EARLIER }).catch(() => []); // which are the owner's
  const known = new Set(heard.map(same));
  const first = Math.min(...heard.map((one) => Date.parse(one.at)), Infinity);
  return done.filter((one) => Date.parse(one.at) <= first && !known.has(same(one))).reverse();
}

const isToday = (at) => new Date(at).toDateString() === new Date().toDateString();
const when = (at) => (/^[\d-]{10}$/.test(at) ? day(at) : moment(at, isToday(at))); // of some entries no more than their day is known
const same = (one) => [one.kind, one.at, one.agent, one.run, ...one.places].join(" ");

function group({ agent, events }) {
  return el("li", { class: "group" }, el("h2", {}, agent ? [plain(agent, 60), " ", el("span", { class: "chip" }, t("by_agent"))] : t("by_owner"), " ", el("time", { datetime: events.at(-1).at, class: "muted" }, when(events.at(-1).at))),
    el("ul", { class: "plain" }, [...events].reverse().map(row)));
}

function row(event) {
  const given = event.tokens ? t(event.kind === "recall" ? "tokens_of_recall" : "tokens_of", { n: number(event.tokens), all: number(event.all_tokens) }) : "";
  const places = event.places.slice(0, 5).map((one) => noteLink(one));
  return el("li", { class: `event ${event.kind}` }, el("span", { class: "chip" }, t(`did_${event.kind}`)),
    event.question ? el("q", {}, plain(event.question, 500)) : null, event.change ? el("span", {}, t(`run_${event.change}`)) : null,
    event.run ? el("a", { href: `#/memory?run=${encodeURIComponent(event.run)}` }, t("see_change")) : null,
    el("span", { class: "places" }, places), el("span", { class: "muted" }, [event.count > 1 && t(event.kind === "get" ? "count_lines" : "count", { n: event.count }), given].filter(Boolean).join(" · ")));
}
