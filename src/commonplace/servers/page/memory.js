// Long-term memory, and what was changed in it and in all notes: what, why, when, by whom, as a diff; each change
// can be taken back.

import { caller, get } from "./api.js";
import { diff } from "./diff.js";
import { el, moreButton } from "./dom.js";
import * as note from "./note.js";
import { explained, undo } from "./statements.js";
import { moment, t } from "./words.js";

const FILE = "MEMORY.md";
const PAGE = 100; // changes that are listed, and listed further

export async function show(root, query) {
  const left = el("div", { class: "left" }), right = el("aside", { class: "history", "aria-label": t("history") });
  root.append(left, right);
  let onlyMemory = false, limit = PAGE, more = null;
  const pick = el("input", { type: "checkbox", onchange: () => ((onlyMemory = pick.checked), list()) });
  const runs = el("ol", { class: "runs" });
  right.append(el("h2", {}, t("history")), el("label", { class: "check" }, pick, " ", t("only_memory")), runs);

  async function list() {
    const all = await get("/api/runs", { limit });
    const chosen = all.filter((one) => !onlyMemory || one.files.some((file) => file.path === FILE));
    runs.replaceChildren(...chosen.map(row));
    more = all.length >= limit && limit < 1000 ? () => ((limit = Math.min(1000, limit + PAGE)), list()) : null;
    if (more) runs.append(el("li", {}, moreButton(t("older_changes"), more)));
    if (!chosen.length) runs.append(el("li", { class: "muted" }, t("no_runs")));
  }

  let page = {};
  const asked = new URLSearchParams({ ref: FILE });
  try {
    [page] = await Promise.all([note.show(left, asked), list()]);
  } catch (error) {
    if (error.status !== 404) throw error;
    left.append(el("h1", {}, FILE), el("p", { class: "muted" }, t("no_memory")), caller.owner && el("a", { class: "button", href: "#/note?ref=MEMORY.md&new=1" }, t("new_note")));
    await list();
  }
  if (query.get("run")) runs.querySelector(`[data-run="${CSS.escape(query.get("run"))}"] details`)?.setAttribute("open", "");
  return { ...page, keys: { ...page.keys, m: () => more?.() }, changed: async () => Promise.all([page.changed?.(), list()]) };
}

function row(run) {
  const shown = el("div");
  const details = el("details", { ontoggle: () => details.open && !shown.childElementCount && open() },
    el("summary", {}, el("span", { class: "title" }, run.about.title), el("span", { class: "muted" },
      moment(run.at), " · ", run.about.agent || t(`by_${run.about.by}`), " · ", run.files.map((file) => `+${file.added} −${file.removed}`).join(", "))),
    run.about.why ? el("p", { class: "why" }, run.about.why) : null, shown);

  async function open() {
    shown.append(el("p", { class: "muted" }, t("working")));
    try {
      const { diff: text } = await get("/api/run", { id: run.id });
      shown.replaceChildren(diff(text));
    } catch (error) {
      shown.replaceChildren(el("p", { class: "bad" }, explained(error)));
    }
    if (caller.owner && run.kept && !run.undone && run.state !== "begun") {
      shown.append(el("button", { type: "button", onclick: () => undo(run.id) }, t("undo_this")));
    }
  }

  return el("li", { "data-run": run.id, class: run.undone ? "run-undone" : "" }, details, run.undone ? el("span", { class: "label struck" }, t("is_undone")) : null);
}
