// Long-term memory, and what was changed in it and in all notes: what, why, when, by whom, as a diff; each change
// can be taken back.

import { caller, get } from "./api.js";
import { fill } from "./dialogs.js";
import { diff } from "./diff.js";
import { el, moreButton } from "./dom.js";
import * as note from "./note.js";
import { act, undo } from "./statements.js";
import { moment, named, reason, t } from "./words.js";

const FILE = "MEMORY.md";
const PAGE = 100; // changes that are listed, and listed further

export async function show(root, query) {
  const left = el("div", { class: "left" }), right = el("aside", { class: "history", "aria-label": t("history") });
  root.append(left, right);
  let onlyMemory = false, limit = PAGE, more = null;
  const pick = el("input", { type: "checkbox", onchange: () => ((onlyMemory = pick.checked), list()) });
  const runs = el("ol", { class: "runs" });
  right.append(el("h2", {}, t("history")), el("label", { class: "check" }, pick, " ", t("only_memory")), runs);

  const further = caller.owner ? await get("/api/actions") : [];
  const label = ({ name }) => named(`action.${name}`) ?? name[0].toUpperCase() + name.slice(1);
  if (further.length) right.append(el("details", { class: "further" }, el("summary", {}, t("more_actions")), further.map((one) => el("button", { type: "button", title: one.about, onclick: () => act(one) }, label(one)))));

  async function list() {
    const all = await get("/api/runs", { limit });
    const chosen = all.filter((one) => !onlyMemory || one.files.some((file) => file.path === FILE));
    const byId = new Map(all.map((one) => [one.id, one]));
    runs.replaceChildren(...chosen.map((one) => row(one, byId)));
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

/** What a change is: its kind, and where; of one that takes another back, which that was. */
function titled({ about, files }, byId) {
  const undone = byId.get(about.undoes);
  if (undone) return t("undo_of", { what: titled(undone, byId) });
  const file = files.find(({ path }) => about.title.includes(path)) ?? files[0];
  const lines = file && about.title.includes(file.path) ? /#L\d+(-L?\d+)?$/.exec(about.title)?.[0] ?? "" : "";
  const run = t(about.title.startsWith("reject ") ? "run_reject" : `run_${about.kind}`);
  if (!file) return run;
  const what = file.path + lines + (files.length > 1 ? t("and_more", { n: files.length - 1 }) : "");
  return t("run_of", { run, what });
}

function row(run, byId) {
  const shown = el("div");
  const details = el("details", { ontoggle: () => details.open && !shown.childElementCount && open() },
    el("summary", {}, el("span", { class: "title" }, titled(run, byId)), el("span", { class: "muted" },
      moment(run.at), " · ", run.about.agent || t(`by_${run.about.by}`), " · ", run.files.map((file) => `+${file.added} −${file.removed}`).join(", "))),
    run.about.why ? el("p", { class: "why" }, reason(run.about.why)) : null, shown);

  async function open() {
    await fill(shown, async () => (run.kept ? diff((await get("/api/run", { id: run.id })).diff) : el("p", { class: "muted" }, t("not_kept"))));
    if (caller.owner && run.kept && !run.undone && run.state !== "begun") {
      shown.append(el("button", { type: "button", onclick: () => undo(run.id) }, t("undo_this")));
    }
  }

  return el("li", { "data-run": run.id, class: run.undone ? "run-undone" : "" }, details, run.undone ? el("span", { class: "label struck" }, t("is_undone")) : null);
}
