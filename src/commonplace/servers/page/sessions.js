// Transcripts of sessions, those written to last first, and what was said in one.

import { caller, get } from "./api.js";
import { el, moreButton } from "./dom.js";
import { render } from "./markdown.js";
import { forget } from "./statements.js";
import { moment, number, t } from "./words.js";

const PAGE = 200; // sessions and messages that are listed, and listed further

export async function show(root, query) {
  return query.get("id") ? one(root, query.get("id")) : all(root);
}

async function all(root) {
  let limit = PAGE, more = null;
  const list = el("ul", { class: "plain" });
  root.append(el("h1", {}, t("view_sessions")), list);

  async function draw() {
    const sessions = await get("/api/sessions", { limit });
    more = sessions.length >= limit ? () => ((limit += PAGE), draw()) : null;
    list.replaceChildren(...sessions.map((session) => el("li", {},
      el("a", { href: `#/sessions?id=${encodeURIComponent(session.id)}` }, session.title || session.id),
      el("span", { class: "muted" }, `${moment(session.written)} · ${session.id} · ${session.format} · ${session.turns ? t("turns", { n: number(session.turns) }) : `${number(Math.ceil(session.size / 1024))} KB`}`))));
    if (more) list.append(el("li", {}, moreButton(t("older_sessions"), more)));
    if (!sessions.length) list.replaceWith(el("div", { class: "teach" }, el("p", {}, t("no_sessions")), el("pre", { class: "code" }, "commonplace sessions --help")));
  }

  await draw();
  return { keys: { m: () => more?.() } };
}

async function one(root, id) {
  let last = PAGE, more = null;
  const list = el("ol", { class: "turns" });
  root.append(el("header", { class: "notehead" }, el("h1", {}, el("span", { class: "path" }, id)), el("div", { class: "tools" },
    el("a", { class: "button", href: "#/sessions" }, t("view_sessions")),
    caller.owner && id.startsWith("sessions/") ? el("button", { type: "button", class: "quiet", onclick: () => forget({ kind: "session", value: id }) }, t("forget")) : "")), list);

  async function draw() {
    const turns = await get("/api/session", { id, last });
    more = turns.length >= last ? () => ((last += PAGE), draw()) : null;
    const height = document.documentElement.scrollHeight;
    const isFirst = !list.childElementCount;
    list.replaceChildren(...(more ? [el("li", {}, el("p", { class: "muted" }, t("last_turns", { n: number(last) })), moreButton(t("earlier_messages"), more))] : []), ...turns.map(turn));
    if (!isFirst) window.scrollBy(0, document.documentElement.scrollHeight - height);
  }

  await draw();
  return { keys: { m: () => more?.(), Escape: () => (location.hash = "#/sessions") } };
}

function turn(said) {
  const calls = said.calls.map((call) => el("span", { class: "chip" }, call.name ?? call.tool ?? t("tool")));
  return el("li", { class: `turn ${said.role}` }, el("h2", {}, t(`role_${said.role}`), said.tool ? ` · ${said.tool}` : "",
    said.at ? el("time", { class: "muted", datetime: said.at }, " ", moment(said.at)) : null), el("div", { class: "passage" }, render(said.text.split("\n"), { first: 2 })), calls);
}
