// All notes, by collection, with a filter; and a new one.

import { caller, get } from "./api.js";
import { debounced, el, moreButton } from "./dom.js";
import { dialog } from "./statements.js";
import { number, t } from "./words.js";

const PAGE = 300; // notes that are listed, and listed further

export async function show(root) {
  const { notes, total } = await get("/api/notes");
  const filter = el("input", { type: "search", "aria-label": t("filter_notes"), placeholder: t("filter_notes"), autocomplete: "off" });
  const list = el("div", { class: "notelist" });
  const count = el("p", { class: "muted", role: "status" });
  root.append(el("header", { class: "notehead" }, el("h1", {}, t("view_notes")), el("div", { class: "tools" },
    caller.owner ? el("button", { type: "button", class: "main", onclick: create }, t("new_note")) : "")), filter, count, list);

  let most = PAGE, more = null;

  function draw() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = notes.filter((one) => words.every((word) => `${one.path} ${one.title}`.toLowerCase().includes(word)))
      .sort((a, b) => (b.date ?? "9999").localeCompare(a.date ?? "9999") || a.path.localeCompare(b.path));
    const groups = Map.groupBy ? Map.groupBy(chosen.slice(0, most), (one) => one.collection) : grouped(chosen.slice(0, most));
    count.textContent = t("notes_shown", { n: number(chosen.length), total: number(total) });
    list.replaceChildren(...[...groups].map(([name, members]) => el("section", {}, el("h2", {}, name), el("ul", { class: "plain" }, members.map(row)))));
    more = chosen.length > most ? () => ((most += PAGE), draw()) : null;
    if (more) list.append(moreButton(t("show_more", { n: number(chosen.length - most) }), more));
  }

  filter.addEventListener("input", debounced(60, () => ((most = PAGE), draw())));
  draw();
  return { keys: { "/": () => filter.focus(), m: () => more?.() }, changed: async () => {
    notes.splice(0, notes.length, ...(await get("/api/notes")).notes);
    draw();
  } };
}

function grouped(notes) {
  const groups = new Map();
  for (const one of notes) groups.set(one.collection, [...(groups.get(one.collection) ?? []), one]);
  return groups;
}

function row(note) {
  return el("li", {}, el("a", { href: `#/note?ref=${encodeURIComponent(note.path)}` }, note.title || note.path),
    el("span", { class: "muted" }, el("code", {}, note.path), ` · ${t("lines", { n: number(note.lines) })}`));
}

function create() {
  const name = el("input", { id: "new-name", required: true, autocomplete: "off", autofocus: true, value: "memory/" });
  const body = el("form", { method: "dialog" }, el("label", { for: "new-name" }, t("new_name")), name,
    el("div", { class: "buttons" }, el("button", { type: "button", class: "quiet", onclick: () => box.close() }, t("cancel")), el("button", { class: "main" }, t("new_note"))));
  const box = dialog(t("new_note"), body);
  body.addEventListener("submit", () => {
    const path = name.value.trim().replace(/(\.md)?$/, ".md");
    location.hash = `#/note?ref=${encodeURIComponent(path)}&new=1`;
  });
  name.focus();
}
