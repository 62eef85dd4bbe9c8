// What waits for the owner: what agents ask to have forgotten, and a forgetting that was killed before it was done.

import { get, post } from "./api.js";
import { finished, tell } from "./dialogs.js";
import { el, plain } from "./dom.js";
import { decide, forget, resume } from "./statements.js";
import { moment, t } from "./words.js";

/** List it in an element, which is empty where nothing waits. */
export async function requests(root) {
  const { requests: all, unfinished, entries } = await get("/api/forget");
  root.replaceChildren(...(unfinished.length ? [killed(unfinished)] : []),
    ...(all.length ? [el("h2", {}, t("requests")), el("p", { class: "muted" }, t("requests_about")), el("ul", { class: "plain" }, all.map(row))] : []),
    ...(entries.length ? written(entries) : []));
}

/** What agents wrote and what waits: line by line, and all of it at once. */
function written(entries) {
  const acts = (which, seen) => el("div", { class: "acts" },
    el("button", { type: "button", class: seen ? "" : "main", onclick: () => decide(which) }, t(seen ? "confirm" : "confirm_all")),
    el("button", { type: "button", onclick: () => decide({ ...which, reject: true }) }, t(seen ? "refuse" : "refuse_all")));
  const line = (one) => el("li", { class: "request" }, el("p", {}, plain(one.text), " ", el("code", {}, one.citation)), acts({ statement: one.citation }, true));
  return [el("h2", {}, t("entries_wait")), el("ul", { class: "plain" }, entries.map(line)), acts({ all: true }, false)];
}

function killed(words) {
  const go = el("button", { type: "button", class: "main", onclick: () => resume().catch(tell) }, t("resume"));
  return el("div", { class: "notice" }, el("p", {}, t("unfinished"), " ", el("q", {}, words.join("; "))), go);
}

function row(one) {
  const refuse = async () => {
    try {
      await post("/api/forget/refuse", { request: one.code });
      finished({ message: t("refused") });
    } catch (error) {
      tell(error);
    }
  };
  return el("li", { class: "request" },
    el("p", {}, el("strong", {}, plain(one.agent, 60) || t("by_agent")), " ", t("asks_to_forget", { kind: t(`forget_${one.kind}`) }), " ", el("q", {}, plain(one.value))),
    el("p", { class: "muted" }, moment(one.at), one.session ? ` · ${t("tag_session")} ${plain(one.session, 60)}` : ""),
    el("div", { class: "acts" }, el("button", { type: "button", class: "main", onclick: () => forget(null, { request: one.code }) }, t("look")),
      el("button", { type: "button", onclick: refuse }, t("refuse"))));
}
