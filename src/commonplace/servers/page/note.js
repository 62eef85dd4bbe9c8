// A note: read as it is meant or as it stands in the file, opened at its line, its statements one key away.

import { caller, get } from "./api.js";
import { fill } from "./dialogs.js";
import { copy, el, mark, moreButton, noteAddress, noteLink, say, toast } from "./dom.js";
import { edit } from "./editor.js";
import { blocks, title } from "./markdown.js";
import { barrier, learnCollections } from "./places.js";
import { confirm, correct, forget, isTentative, seenAs } from "./statements.js";
import { tick } from "./tasks.js";
import { t } from "./words.js";

const LINES = /^(.+?)(?:#L|:)(\d+)(?:-L?(\d+))?$/;
const WINDOW = 600; // lines that are made at once
const MODE = "commonplace-mode";

/** Read a note and the lines that are pointed at: `{path, lines, first, last, editable}`, first 0 for none. */
async function opened(reference) {
  const named = LINES.exec(reference);
  const excerpt = await get("/api/note", { reference: named ? named[1] : reference });
  if (named) return whole(excerpt, Number(named[2]), Number(named[3] ?? named[2]));
  if (excerpt.start_line === 1 && excerpt.end_line >= excerpt.total_lines) return whole(excerpt, 0, 0);
  return whole(await get("/api/note", { reference: excerpt.path }), excerpt.start_line, excerpt.end_line);
}

/** A note with the comments of its lines, which say who wrote them, if it is one that can be edited; with its
 * `source`, if its tasks can be ticked. */
async function whole(excerpt, first, last) {
  if (barrier(excerpt.path)) return { ...excerpt, first, last, editable: false };
  const editable = caller.owner;
  try {
    const source = await get("/api/source", { path: excerpt.path });
    const lines = linesOf(source);
    const isSame = lines.length === excerpt.lines.length; // else marks stand for several lines
    return { ...excerpt, lines: isSame ? lines : excerpt.lines, first, last, editable, source: isSame && editable ? source : null };
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return { ...excerpt, first, last, editable: false };
  }
}

const linesOf = (source) => source.text.replace(/\n$/, "").split("\n");

/** Whether a note is there; one that may not be there at all is none. */
async function exists(path) {
  try {
    await get("/api/source", { path });
    return true;
  } catch (error) {
    if (![403, 404].includes(error.status)) throw error;
    return false;
  }
}

export async function show(root, query, { heading = "h1" } = {}) {
  const reference = query.get("ref") ?? "MEMORY.md";
  if (query.get("new") && caller.owner) {
    const isThere = await exists(reference);
    if (isThere) toast(t("note_exists", { path: reference }));
    return edit(root, reference, { isNew: !isThere });
  }
  await learnCollections();
  let note = await opened(reference);
  const reason = barrier(note.path);
  if (query.get("edit") && reason) toast(t(reason));
  else if (query.get("edit") && caller.owner) return edit(root, note.path, { line: note.first, quote: note.lines[note.first - 1] });

  let selected = null;
  const isOwn = !reason;
  const body = el("div", { class: "body" });
  const outline = el("nav", { class: "outline", "aria-label": t("outline") });
  const bar = el("div", { class: "linebar", role: "toolbar", "aria-label": t("statement"), hidden: true });
  const modes = el("div", { class: "modes", role: "group", "aria-label": t("shown_as") }, ["read", "source", "both"].map((mode) =>
    el("button", { type: "button", "data-mode": mode, onclick: () => switchTo(mode) }, t(`mode_${mode}`))));
  const changed = el("div", { class: "notice", role: "status", hidden: true }, t("changed_elsewhere"), " ",
    el("button", { type: "button", onclick: () => reload() }, t("reload")));
  root.append(
    el("header", { class: "notehead" },
      el(heading, {}, el("span", { class: "path" }, note.path)),
      el("div", { class: "tools" }, modes,
        note.editable ? el("button", { type: "button", class: "main", onclick: () => editing() }, t("edit")) : el("span", { class: "muted", title: reason ? t(reason) : null }, t("read_only")),
        caller.owner && !barrier(note.path, { whole: true }) ? el("button", { type: "button", class: "quiet", onclick: () => forget({ kind: "note", value: note.path }) }, t("forget_whole")) : "")),
    changed, outline, body, backlinks(note.path), bar);

  function switchTo(mode) {
    localStorage.setItem(MODE, mode);
    draw();
  }

  function draw() {
    const mode = localStorage.getItem(MODE) ?? "read";
    for (const one of modes.children) one.setAttribute("aria-pressed", String(one.dataset.mode === mode));
    body.className = `body mode-${mode}`;
    const parts = [];
    const read = blocks(note.lines, { note: note.path, tick: note.source && ticked });
    outline.replaceChildren(...outlined(read.filter((one) => one.level)));
    if (mode !== "source") parts.push(boxed("prose", read));
    if (mode !== "read") parts.push(boxed("lines", note.lines.map(sourceLine)));
    body.replaceChildren(...parts);
    if (!note.lines.some((line) => line.trim())) body.append(el("p", { class: "muted" }, t("empty_note")));
    select(null);
    point();
  }

  /** The headings of the note, each as a link to its line; nothing for a note of one. */
  function outlined(headings) {
    if (headings.length < 2) return [];
    const least = Math.min(...headings.map((one) => one.level));
    const rows = headings.map(({ level, start }) =>
      el("li", { class: `level-${level - least}` }, noteLink(`${note.path}#L${start}`, title(note.lines[start - 1].replace(/^\s*#+/, "")))));
    return [el("details", {}, el("summary", {}, t("outline")), el("ul", { class: "plain" }, rows))];
  }

  async function ticked(line, done) {
    if (await tick(note.source, line, done)) note.lines = linesOf(note.source);
  }

  /** Make the parts to some way below the line that is pointed at; what follows once it is asked for. */
  function boxed(name, parts) {
    let at = 0, until = note.first;
    const more = moreButton(t("later_lines"), add);
    const box = el("div", { class: name, tabindex: "-1" }, more);
    function add() {
      until += WINDOW;
      const next = parts.findIndex((one) => one.start > until);
      const end = next < 0 ? parts.length : Math.max(next, at + 1);
      more.before(...parts.slice(at, end).map((one) => one.make()));
      more.hidden = (at = end) >= parts.length;
    }
    add();
    return box;
  }

  function point() {
    if (!note.first) return;
    let first = null;
    for (const one of body.querySelectorAll(".line, .sourceline, pre.code, h2, h3, h4, h5, h6")) {
      if (Number(one.dataset.end) < note.first || Number(one.dataset.start) > note.last) continue;
      one.classList.add("pointed");
      first ??= one;
    }
    for (const one of body.querySelectorAll(".pointed")) mark(one, query.getAll("word"));
    body.querySelector(".lines .pointed")?.scrollIntoView({ block: "center" });
    first?.scrollIntoView({ block: "center" });
    if (first?.classList.contains("line")) select(first, false);
  }

  function select(line, scrolls = true) {
    selected?.classList.remove("selected");
    selected?.removeAttribute("aria-current");
    selected = line;
    bar.hidden = !line;
    if (!line) return;
    line.classList.add("selected");
    line.setAttribute("aria-current", "true");
    if (scrolls) line.scrollIntoView({ block: "nearest" });
    const place = placeOf(line);
    const text = textOf(line);
    bar.replaceChildren(
      el("code", {}, place.slice(place.lastIndexOf("#") + 1)),
      isOwn && caller.writes ? el("button", { type: "button", onclick: act.correct }, t("correct"), el("kbd", {}, "c")) : "",
      isOwn && caller.writes && isTentative(text) ? el("button", { type: "button", onclick: act.confirm }, t("confirm"), el("kbd", {}, "y")) : "",
      isOwn && caller.owner ? el("button", { type: "button", onclick: act.forget }, t("forget"), el("kbd", {}, "d")) : "",
      el("button", { type: "button", onclick: () => copy(place, t("copied", { place })) }, t("copy_place")),
      el("button", { type: "button", class: "quiet", "aria-label": t("close"), onclick: () => select(null) }, "×"));
    say(line.textContent.slice(0, 200));
  }

  function placeOf(line) {
    const { start, end } = line.dataset;
    return start === end ? `${note.path}#L${start}` : `${note.path}#L${start}-L${end}`;
  }

  const textOf = (line) => note.lines.slice(Number(line.dataset.start) - 1, Number(line.dataset.end)).join("\n");

  function step(way) {
    const lines = [...body.querySelectorAll(".line, .mode-source .sourceline")];
    if (!lines.length) return;
    const at = lines.indexOf(selected);
    const seen = at < 0 ? lines.findIndex((one) => one.getBoundingClientRect().bottom > 80) : at + way;
    select(lines[Math.min(Math.max(seen, 0), lines.length - 1)]);
  }

  function editing() {
    if (!note.editable) return toast(t(reason || "read_only"));
    const line = selected ? Number(selected.dataset.start) : note.first;
    const place = line ? `${note.path}#L${line}` : note.path;
    location.hash = noteAddress(place, { edit: 1 });
  }

  async function reload() {
    const { first, last } = note;
    try {
      note = await whole(await get("/api/note", { reference: note.path }), first, last);
    } catch (error) {
      if (error.status !== 404) throw error;
      body.replaceChildren(el("p", { class: "muted" }, t("note_gone")));
      bar.hidden = true;
      return;
    }
    changed.hidden = true;
    const top = window.scrollY;
    note.first = note.last = 0;
    draw();
    window.scrollTo(0, top);
  }

  const here = () => (selected ? placeOf(selected) : note.path); // the note is enough to say why nothing is done there
  const act = {
    correct: () => (selected || reason) && correct(here(), { text: selected && textOf(selected) }),
    confirm: () => (selected || reason) && confirm(here(), { text: selected && textOf(selected) }),
    forget: () => (selected || reason) && forget({ kind: "lines", value: here(), ...(selected && seenAs(textOf(selected))) }),
  };
  /** Tell of a change that is not shown yet, whoever made it. */
  const hear = async ({ detail }) => {
    if (!["write", "remove", "change"].includes(detail.kind) || !detail.places.some((one) => one.split("#")[0] === note.path)) return;
    const now = note.editable ? await get("/api/source", { path: note.path }).catch(() => null) : null;
    changed.hidden = now !== null && linesOf(now).join("\n") === note.lines.join("\n");
  };
  body.addEventListener("click", (event) => {
    if (event.target.closest("a, button, summary, input") || !getSelection().isCollapsed) return;
    const line = event.target.closest(".line, .mode-source .sourceline");
    if (line) select(line, false);
  });
  document.addEventListener("heard", hear);
  draw();
  return {
    keys: {
      j: () => step(1), k: () => step(-1), e: editing, c: act.correct, y: act.confirm, d: act.forget,
      s: () => switchTo((localStorage.getItem(MODE) ?? "read") === "read" ? "source" : "read"),
      Escape: () => (selected ? select(null) : history.back()),
    },
    changed: reload,
    leave: () => document.removeEventListener("heard", hear),
  };
}

/** The lines that link to a note, looked for once they are asked for. */
function backlinks(path) {
  const found = el("div");
  const box = el("details", { class: "outline", ontoggle: () => box.open && fill(found, load) }, el("summary", {}, t("backlinks")), found);
  const load = async () => {
    const { links } = await get("/api/links", { path });
    return links.length ? el("ul", { class: "plain" }, links.map((one) => el("li", {}, noteLink(one)))) : el("p", { class: "muted" }, t("no_links"));
  };
  return box;
}

function sourceLine(text, n) {
  const make = () => el("div", { class: "sourceline", "data-start": n + 1, "data-end": n + 1 },
    el("span", { class: "no", "aria-hidden": "true" }, n + 1), el("span", { class: "text" }, text.slice(0, 20000) || " "));
  return { start: n + 1, end: n + 1, make };
}
