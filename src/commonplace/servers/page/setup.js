// What reaches beyond the workspace: folders that are searched, agents that have this memory, what is brought in from
// another one, and the notes taken away. Nothing is written before it is shown.

import { ask, bytesOf, get, post } from "./api.js";
import { diff } from "./diff.js";
import { fill, filled, shownFirst, tell } from "./dialogs.js";
import { copy, el, plain, say } from "./dom.js";
import { redacted, undoOf } from "./statements.js";
import { named, number, t, told as sentence, warned } from "./words.js";

const OWN = "memory"; // the collection of the workspace itself
const KINDS = { md: "text/markdown", json: "application/json", zip: "application/zip" };

export async function show(root) {
  root.append(el("h1", {}, t("view_setup")));
  const folders = section("setup_folders", "setup_folders_about");
  const clients = section("setup_clients", "setup_clients_about");
  const brought = section("setup_import", "setup_import_about");
  const taken = section("setup_export", "setup_export_about");
  root.append(folders, clients, brought, taken);
  taken.append(exporting());
  const [adding, relist] = collections(folders);
  for (const one of [relist(), installed(clients), importing(brought)]) one.catch(tell); // each is there as soon as it can be
  return { keys: { a: () => adding.focus() }, changed: () => Promise.all([relist(), installed(clients)]).catch(tell) };
}

function section(name, about) {
  return el("section", { "aria-labelledby": name }, el("h2", { id: name }, t(name)), el("p", { class: "muted" }, t(about)));
}

/** The values of a form that were given. */
const given = (values) => Object.fromEntries(Object.entries(values).filter(([, one]) => one));

const button = (label, run, more = {}) => el("button", { type: "button", onclick: run, ...more }, label);

/** A field with its label, which stands above it. */
const field = (label, input) => el("p", { class: "field" }, el("label", { for: input.id }, label), input);

/** Names of files and why each was left; the first of them at once. */
function failures(title, all) {
  if (!all.length) return null;
  return el("details", { open: all.length < 6 }, el("summary", { class: "warn" }, t(title, { n: number(all.length) })),
    el("ul", { class: "places" }, all.slice(0, 200).map((one) => el("li", {}, el("code", {}, plain(one.path)), " ", plain(sentence(one, "reason"))))));
}

// --- folders ---

function collections(root) {
  const list = el("ul", { class: "plain cards" });
  const told = el("div", { role: "status" });
  const path = el("input", { id: "folder-path", required: true, autocomplete: "off", spellcheck: "false", "aria-describedby": "folder-hint" });
  const name = el("input", { id: "folder-name", autocomplete: "off" });
  const weight = el("select", { id: "folder-weight" }, ["", "own", "reference"].map((one) => el("option", { value: one }, t(`weight_${one || "auto"}`))));
  let isBusy = false;
  const form = el("form", { class: "row", onsubmit: (event) => (event.preventDefault(), send()) },
    field(t("setup_folder"), path), field(t("setup_name"), name), field(t("setup_weight"), weight), el("button", { class: "main" }, t("setup_add")),
    el("p", { class: "muted", id: "folder-hint" }, t("setup_folder_hint"), el("br"), t("setup_name_hint")));
  root.append(list, form, told);

  async function relist() {
    const all = await get("/api/collections");
    list.replaceChildren(...all.map(row));
    return all;
  }

  function row(one) {
    const isOwn = one.name === OWN;
    const box = el("input", { type: "checkbox", checked: one.include_by_default, onchange: () => include(one, box) });
    return el("li", { class: "card" },
      el("div", { class: "what" }, el("strong", {}, plain(one.name)), " ", isOwn ? el("span", { class: "chip" }, t("setup_own")) : one.weight === "own" ? el("span", { class: "chip" }, t("setup_mine")) : null,
        el("p", { class: "muted" }, el("code", {}, plain(one.root)), " ", el("span", { class: "holds" }, t("setup_holds", { n: number(one.notes), passages: number(one.passages) })))),
      isOwn ? null : el("div", { class: "acts" }, el("label", { class: "check" }, box, " ", t("setup_by_default")),
        button(t("setup_remove"), () => remove(one), { class: "quiet", "aria-label": t("setup_remove_named", { name: one.name }) })));
  }

  async function send() {
    if (isBusy) return;
    isBusy = true;
    await fill(told, added);
    isBusy = false;
  }

  /** Add the folder of the form and read it; return what is to be said of it. */
  async function added() {
    const { name: called } = await post("/api/collections", given({ path: path.value.trim(), name: name.value.trim(), weight: weight.value }));
    form.reset();
    const read = await post("/api/sync", {});
    const all = await relist();
    const { notes, passages } = all.find((one) => one.name === called);
    const own = read.failed.filter((one) => one.path.startsWith(`${called}/`));
    return [el("p", { class: "notice" }, t("setup_read", { name: called, n: number(notes), passages: number(passages) })),
      ...warned(read).map((one) => el("p", { class: "warn" }, plain(one))), failures("setup_unread", own)];
  }

  async function include(one, box) {
    try {
      await post("/api/collections/include", { name: one.name, include_by_default: box.checked });
    } catch (error) {
      box.checked = !box.checked;
      tell(error);
    }
  }

  function remove({ name: called, root: folder }) {
    return filled(t("setup_remove_named", { name: called }), {
      form: el("p", { class: "asks" }, t("setup_remove_asks", { name: called, root: plain(folder) })),
      yes: t("setup_remove"),
      send: async () => {
        await post("/api/collections/remove", { name: called });
        told.replaceChildren();
        return { message: t("setup_removed", { name: called }) };
      },
    });
  }

  return [path, relist];
}

// --- agents ---

async function installed(root) {
  const { clients, generic } = await get("/api/clients");
  root.querySelector(".cards")?.remove();
  root.querySelector("details")?.remove();
  const order = (one) => (one.installed.length ? 0 : one.is_here ? 1 : 2);
  root.append(el("ul", { class: "plain cards" }, clients.sort((a, b) => order(a) - order(b)).map(client)),
    el("details", { class: "group" }, el("summary", {}, t("setup_generic")), el("p", { class: "muted" }, t("setup_generic_about")),
      el("pre", { class: "code", tabindex: "0", "aria-label": t("setup_generic") }, generic), button(t("setup_copy"), () => copy(generic, t("setup_copied")))));
}

function client(one) {
  const has = one.installed.length > 0;
  return el("li", { class: has || one.is_here ? "card" : "card away" },
    el("div", { class: "what" }, el("strong", {}, one.title), " ", el("span", { class: "chip" }, t(one.is_here ? "setup_here" : "setup_not_here")),
      one.installed.map(({ what, path, trouble, others }) => el("p", { class: "muted" }, el("span", {}, `${t(`part_${what}`)}: `), el("code", {}, plain(path)),
        trouble ? el("span", { class: "bad" }, ` ${plain(trouble)}`) : null, others.length ? el("span", { class: "warn" }, ` ${t("setup_leads_to", { others: others.map((name) => plain(name)).join(", ") })}`) : null))),
    el("div", { class: "acts" },
      has ? button(t("setup_uninstall"), () => change(one, true), { class: "quiet", "aria-label": t("setup_uninstall_of", { title: one.title }) }) : null,
      button(t("setup_install"), () => change(one, false), { "aria-label": t("setup_install_in", { title: one.title }) })));
}

/** Enter this memory into a client, or take it out. */
function change({ name, title }, remove) {
  return shownFirst(t(remove ? "setup_uninstall_of" : "setup_install_in", { title }), {
    yes: t(remove ? "setup_uninstall" : "setup_install"),
    path: "/api/clients",
    values: () => ({ client: name, remove }),
    shown: ({ preview, starts, diff: changes }) => (preview
      ? [starts ? el("p", { class: "muted" }, t("setup_starts"), " ", el("code", {}, starts)) : "", diff(changes), el("p", { class: "muted" }, t("setup_backups"))]
      : [el("p", {}, t("setup_no_change"))]),
    done: ({ changed, by_hand: byHand }) => {
      const next = byHand && (named(`client.${name}`) ?? byHand);
      return { message: [t(remove ? "setup_taken_out" : "setup_installed", { title, n: changed.length }), next ? t("setup_by_hand", { what: next }) : ""].join(" ").trim() };
    },
  });
}

// --- in ---

async function importing(root) {
  const kinds = await get("/api/import");
  const path = el("input", { id: "import-path", autocomplete: "off", spellcheck: "false", "aria-describedby": "import-hint" });
  const kind = el("select", { id: "import-kind" }, el("option", { value: "" }, t("setup_kind_auto")), kinds.map((one) => el("option", { value: one.name }, one.title)));
  const hint = el("p", { class: "muted", id: "import-hint" }, t("setup_folder_hint"));
  kind.addEventListener("change", () => (hint.textContent = named(`import.${kind.value}`) ?? kinds.find((one) => one.name === kind.value)?.what ?? t("setup_folder_hint")));
  root.append(el("form", { class: "row", onsubmit: (event) => (event.preventDefault(), bring(path.value.trim(), kind.value)) },
    field(t("setup_import_path"), path), field(t("setup_kind"), kind), el("button", { class: "main" }, t("setup_import_show")), hint));
}

function bring(path, kind) {
  return shownFirst(t("setup_import"), {
    yes: t("setup_import_yes"), path: "/api/import", values: () => given({ path, kind }), shown: brings,
    done: (answer) => ({ message: brought(answer), undo: undoOf(answer) }),
  });
}

/** What an import did, in a sentence or some. */
function brought({ files, settings, left_out: left }) {
  const added = settings.filter((one) => one.kind === "collection" && one.outcome === "new").map((one) => plain(one.name));
  const entries = files.reduce((sum, one) => sum + one.added, 0), notes = files.filter((one) => /^(new|changed)$/.test(one.outcome)).length;
  return [
    added.length && t("setup_collected", { names: added.join(t("comma")) }),
    (files.length || !added.length) && t("setup_imported", { entries: number(entries), notes: number(notes) }),
    left.length && t("setup_left_out", { n: number(left.length) }),
  ].filter(Boolean).join(" ");
}

/** What an import would write and where, what it leaves out, what was taken out. */
function brings(answer) {
  const { source, files, settings, left_out: left, remarks, diff: changes, preview } = answer;
  const counts = ({ added, updated }) => [added ? t("setup_entries", { added: number(added) }) : "", updated ? t("setup_updated", { updated: number(updated) }) : ""].filter(Boolean).join(", ");
  const rows = [
    ...files.map((one) => el("li", {}, el("code", {}, plain(one.path)), " ", el("span", { class: "tag" }, t(`outcome_${one.outcome}`)), " ", counts(one))),
    ...settings.map((one) => el("li", {}, t(`setup_${one.kind}`), " ", el("code", {}, plain(one.name)), " ", el("span", { class: "tag" }, t(`outcome_${one.outcome}`)), " ", plain(one.value))),
  ];
  return [
    el("p", {}, preview ? t("setup_brings", { source }) : t("setup_import_nothing")),
    rows.length ? el("ul", { class: "places tall" }, rows.slice(0, 500)) : null,
    rows.length > 500 ? el("p", { class: "muted" }, t("more_lines", { n: number(rows.length - 500) })) : null,
    ...redacted(answer).map((one) => el("p", { class: "warn" }, one)),
    failures("setup_left_out", left),
    ...remarks.map((one) => el("p", { class: "muted" }, plain(one))),
    changes ? diff(changes) : null,
  ].filter(Boolean);
}

// --- out ---

function exporting() {
  const secret = el("input", { type: "checkbox" });
  const told = el("div", { role: "status" });
  let isBusy = false;

  async function take(form) {
    if (isBusy) return;
    isBusy = true;
    await fill(told, async () => {
      const { encoding, data, files, failures: left } = await ask("GET", "/api/export", { query: { form, private: form !== "zip" && secret.checked } });
      const name = `notes.${form}`;
      hand(new Blob([encoding === "base64" ? bytesOf(data) : data], { type: KINDS[form] }), name);
      const message = t("setup_exported", { n: number(files), name });
      say(message);
      return [el("p", { class: "notice" }, message), failures("setup_left_out", left)];
    });
    isBusy = false;
  }

  return el("div", {}, el("label", { class: "check" }, secret, " ", t("setup_private")),
    el("div", { class: "acts" }, Object.keys(KINDS).map((form) => button(t(`form_${form}`), () => take(form)))), told);
}

/** Hand a file to the browser, which keeps it where downloads go. */
function hand(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = el("a", { href: address, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
