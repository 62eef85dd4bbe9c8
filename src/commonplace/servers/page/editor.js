// A note edited in place. What is typed is kept in this browser's tab until it is saved, and a note that was
// changed meanwhile is never written over unseen: both versions are shown, and the person chooses.

import { ask, get } from "./api.js";
import { wrong } from "./dialogs.js";
import { compare } from "./diff.js";
import { el, noteAddress, toast } from "./dom.js";
import { undoOf } from "./statements.js";
import { t } from "./words.js";

const draftOf = (path) => `commonplace-draft:${path}`;

/** Edit a note, at a line if one is named; `isNew` for one that is not there. */
export async function edit(root, path, { line = 0, quote = "", isNew = false } = {}) {
  let read = isNew ? { text: `# ${path.split("/").pop().replace(/\.md$/, "")}\n\n`, digest: "" } : await get("/api/source", { path });
  const kept = JSON.parse(sessionStorage.getItem(draftOf(path)) ?? "null");
  const area = el("textarea", { class: "source", "aria-label": t("source_of", { path }), spellcheck: "false" });
  area.value = kept?.text ?? read.text;
  if (kept) read = { text: kept.base, digest: kept.digest };
  const state = el("span", { class: "muted", role: "status" });
  const conflict = el("div", { class: "conflict", role: "alert" });
  const save = el("button", { type: "button", class: "main", onclick: () => send() }, t("save"));
  const leaving = (event) => isDirty() && event.preventDefault();
  root.classList.add("editing");
  root.append(
    el("header", { class: "notehead" }, el("h1", {}, el("span", { class: "path" }, path)),
      el("div", { class: "tools" }, state, el("button", { type: "button", class: "quiet", onclick: discard }, t("discard")), save)),
    kept ? el("p", { class: "notice" }, t("draft_restored")) : "", conflict, area,
    el("p", { class: "muted" }, t("edit_hint")));

  const isDirty = () => area.value !== read.text;

  function keep() {
    if (isDirty()) sessionStorage.setItem(draftOf(path), JSON.stringify({ text: area.value, base: read.text, digest: read.digest }));
    else sessionStorage.removeItem(draftOf(path));
    state.textContent = isDirty() ? t("unsaved") : "";
  }

  function done() {
    sessionStorage.removeItem(draftOf(path));
    read.text = area.value;
    location.hash = noteAddress(line ? `${path}#L${line}` : path);
  }

  function discard() {
    area.value = read.text;
    if (isNew) location.hash = "#/notes";
    else done();
  }

  async function send() {
    save.disabled = true;
    state.textContent = t("working");
    try {
      const version = read.digest ? { "If-Match": `"${read.digest}"` } : { "If-None-Match": "*" };
      const answer = await ask("PUT", "/api/source", { body: { path, text: area.value }, headers: version });
      toast(t("saved", { path }), { kind: "good", action: undoOf(answer) });
      done();
    } catch (error) {
      if (error.status === 412) differs(error);
      else conflict.replaceChildren(wrong(error));
      state.textContent = t("unsaved");
      save.disabled = false;
    }
  }

  function differs(error) {
    const theirs = error.current ?? { text: "", digest: "" };
    const both = error.current && !isNew ? merged(read.text, theirs.text, area.value) : null;
    const settle = (text) => {
      read = { text: theirs.text, digest: theirs.digest };
      if (text !== null) area.value = text;
      keep();
    };
    const choice = (label, run, kind = "") => el("button", { type: "button", class: kind, onclick: run }, label);
    conflict.replaceChildren(
      el("h2", {}, t(read.digest ? "conflict" : "made_meanwhile")), el("p", {}, t(error.current ? "conflict_how" : "conflict_gone")),
      el("p", { class: "muted" }, t("conflict_legend")), compare(theirs.text, area.value),
      el("div", { class: "buttons" },
        both !== null ? choice(t("merge_both"), () => (settle(both), conflict.replaceChildren(el("p", { class: "notice" }, t("merged"))), area.focus()), "main") : "",
        choice(t("keep_mine"), () => (settle(null), send())),
        error.current ? choice(t("take_theirs"), () => (settle(theirs.text), conflict.replaceChildren(), done())) : "",
        error.current ? choice(t("merge_by_hand"), () => {
          settle(null);
          conflict.replaceChildren(el("p", {}, t("by_hand")), el("pre", { class: "code theirs", tabindex: "0", "aria-label": t("take_theirs") }, theirs.text));
          area.focus();
        }) : ""));
    conflict.scrollIntoView({ block: "start" });
    conflict.querySelector("button")?.focus();
  }

  area.addEventListener("input", keep);
  area.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && (event.key === "Enter" || event.key === "s")) {
      event.preventDefault();
      send();
    }
  });
  window.addEventListener("beforeunload", leaving);
  keep();
  goTo(area, line, quote);
  return {
    keys: { e: () => area.focus() },
    typed: (event) => event.key === "Escape" && area.blur(),
    leave: () => {
      window.removeEventListener("beforeunload", leaving);
      if (isDirty()) toast(t("draft_kept", { path }), { action: { label: t("edit"), run: () => (location.hash = noteAddress(path, { edit: 1 })) } });
    },
  };
}

/** Put the cursor at a line, which marks of private parts may have moved. */
function goTo(area, line, quote) {
  const lines = area.value.split("\n");
  let at = Math.max(0, line - 1);
  if (quote && lines[at] !== quote) at = lines.includes(quote) ? lines.indexOf(quote) : Math.min(at, lines.length - 1);
  const start = lines.slice(0, at).reduce((sum, one) => sum + one.length + 1, 0);
  area.focus({ preventScroll: true });
  area.setSelectionRange(start, line ? start + (lines[at]?.length ?? 0) : start);
  const height = parseFloat(getComputedStyle(area).lineHeight) || 22;
  area.scrollTop = Math.max(0, (at / Math.max(1, lines.length)) * area.scrollHeight - 6 * height);
}

/** Both changes of one text, where they do not touch the same lines; null where they do. */
export function merged(base, theirs, mine) {
  const lines = base.split("\n");
  const [a, b] = [change(lines, theirs.split("\n")), change(lines, mine.split("\n"))].sort((x, y) => x.start - y.start);
  if (a.end >= b.start) return null;
  return [...lines.slice(0, a.start), ...a.lines, ...lines.slice(a.end, b.start), ...b.lines, ...lines.slice(b.end)].join("\n");
}

function change(before, after) {
  let start = 0, end = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  while (end < before.length - start && end < after.length - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  return { start, end: before.length - end, lines: after.slice(start, after.length - end) };
}
