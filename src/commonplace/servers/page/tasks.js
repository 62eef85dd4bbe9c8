// Tasks of notes: the open ones of all notes, and a box that is ticked. A tick is an edit of its one line.

import { ask, caller, get } from "./api.js";
import { tell } from "./dialogs.js";
import { el, noteLink, toast } from "./dom.js";
import { render, tasksIn } from "./markdown.js";
import { barrier } from "./places.js";
import { undoOf } from "./statements.js";
import { t } from "./words.js";

const MOST = 20; // passages with open tasks that are listed

/** Tick the task on a line of a `note` (`{path, text, digest}`, as it was read), or open it again; return whether that
 * is written. A note that was changed since is left alone, and shown anew. */
export async function tick(note, line, done) {
  const lines = note.text.split("\n");
  lines[line - 1] = lines[line - 1].replace(/\[[ xX]\]/, done ? "[x]" : "[ ]");
  try {
    const { text, digest, run } = await ask("PUT", "/api/source", {
      body: { path: note.path, text: lines.join("\n") }, headers: { "If-Match": `"${note.digest}"` },
    });
    Object.assign(note, { text, digest });
    toast(t(done ? "task_done" : "task_open"), { kind: "good", action: undoOf({ run }) });
    return true;
  } catch (error) {
    tell(error);
    document.dispatchEvent(new CustomEvent("changed"));
    return false;
  }
}

/** The open tasks of the newest notes, each with its note; nothing where there are none. */
export async function openTasks() {
  const { hits } = await get("/api/search", { q: "task:open", limit: MOST, draft: true });
  const own = new Map(hits.filter(({ citation }) => caller.owner && !barrier(citation)).map((hit) => [hit.path, hit]));
  const others = hits.filter(({ path }) => !own.has(path)).flatMap((hit) => rows(hit, hit.text, hit.start_line));
  const mine = await Promise.all([...own.values()].map(async (hit) => {
    const source = await get("/api/source", { path: hit.path }).catch(() => null); // which is newer than the index may be
    return source ? rows(hit, source.text, 1, (line, done) => tick(source, line, done)) : [];
  }));
  const list = [...mine.flat(), ...others];
  return list.length ? el("section", { class: "tasks" }, el("h2", {}, t("open_tasks")), el("ul", { class: "plain" }, list)) : "";
}

/** The open tasks in a text of a note, whose first line has a number. */
function rows({ path, title }, text, first, ticking = null) {
  return tasksIn(text.split("\n")).map((task) => {
    const line = first + task.line - 1;
    return el("li", {}, render(`- [ ] ${task.text}`.split("\n"), { first: line, note: path, tick: ticking }), noteLink(`${path}#L${line}`, title || path, { class: "muted" }));
  });
}
