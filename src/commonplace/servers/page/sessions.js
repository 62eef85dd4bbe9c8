// Transcripts of sessions, those written to last first, and what was said in one.

import { get } from "./api.js";
import { el } from "./dom.js";
import { render } from "./markdown.js";
import { forget } from "./statements.js";
import { moment, number, t } from "./words.js";

const LAST = 200;

export async function show(root, query) {
  return query.get("id") ? one(root, query.get("id")) : all(root);
}

async function all(root) {
  const sessions = await get("/api/sessions", { limit: 500 });
  root.append(el("h1", {}, t("view_sessions")),
    sessions.length ? el("ul", { class: "plain" }, sessions.map((session) => el("li", {},
      el("a", { href: `#/sessions?id=${encodeURIComponent(session.id)}` }, session.id),
      el("span", { class: "muted" }, `${moment(session.written)} · ${session.collection} · ${session.format} · ${number(Math.ceil(session.size / 1024))} KB`))))
      : el("div", { class: "teach" }, el("p", {}, t("no_sessions")), el("pre", { class: "code" }, "commonplace sessions --help")));
  return {};
}

async function one(root, id) {
  const turns = await get("/api/session", { id, last: LAST });
  root.append(el("header", { class: "notehead" }, el("h1", {}, el("span", { class: "path" }, id)), el("div", { class: "tools" },
    el("a", { class: "button", href: "#/sessions" }, t("view_sessions")),
    el("button", { type: "button", class: "quiet", onclick: () => forget({ kind: "session", value: id }) }, t("forget")))),
    turns.length >= LAST ? el("p", { class: "muted" }, t("last_turns", { n: LAST })) : "",
    el("ol", { class: "turns" }, turns.map(turn)));
  return { keys: { Escape: () => (location.hash = "#/sessions") } };
}

function turn(said) {
  const calls = said.calls.map((call) => el("span", { class: "chip" }, call.name ?? call.tool ?? t("tool")));
  return el("li", { class: `turn ${said.role}` }, el("h2", {}, t(`role_${said.role}`), said.tool ? ` · ${said.tool}` : "",
    said.at ? el("time", { class: "muted", datetime: said.at }, " ", moment(said.at)) : null), el("div", { class: "passage" }, render(said.text.split("\n"), { first: 2 })), calls);
}
