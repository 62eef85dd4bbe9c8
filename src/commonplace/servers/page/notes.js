// All notes, by collection and folder, newest first, with a filter; and a new one.

import { caller, get } from "./api.js";
import { filled } from "./dialogs.js";
import { debounced, el, grouped, moreButton, noteAddress, noteLink } from "./dom.js";
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
    const groups = grouped(chosen.slice(0, most), (one) => one.collection);
    count.textContent = t("notes_shown", { n: number(chosen.length), total: number(total) });
    list.replaceChildren(...[...groups].map(([name, members]) => el("section", {}, el("h2", {}, name), tree(members, members.every(({ path }) => path.startsWith(`${name}/`)) ? 1 : 0))));
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

/** Notes of a folder below the folders in it; `depth` counts the folders above. */
function tree(notes, depth) {
  const inner = (one) => (one.path.split("/").length - 1 > depth ? one.path.split("/")[depth] : "");
  const { "": here = [], ...folders } = Object.fromEntries(grouped(notes, inner));
  const folder = ([name, members]) => el("li", {}, el("details", { open: true },
    el("summary", {}, name, el("span", { class: "muted" }, ` ${number(members.length)}`)), tree(members, depth + 1)));
  return el("ul", { class: "plain" }, Object.entries(folders).map(folder), here.map(row));
}

function row(note) {
  return el("li", { class: "note" }, noteLink(note.path, note.title || note.path),
    el("span", { class: "muted" }, [note.date, t("lines", { n: number(note.lines) })].filter(Boolean).join(" · ")));
}

/** Ask for the title of a new note, which is its name below `memory/`; folders can be named before it. */
function create() {
  const name = el("input", { id: "new-name", required: true, autocomplete: "off", autofocus: true });
  const send = async () => {
    const title = name.value.trim().replace(/^memory\//, "").replace(/\.md$/, "");
    location.hash = noteAddress(`memory/${title}.md`, { new: 1 });
  };
  filled(t("new_note"), { form: el("div", {}, el("label", { for: "new-name" }, t("new_name")), name), yes: t("new_note"), send });
}
