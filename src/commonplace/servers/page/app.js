// The page: which view is shown, by the fragment of the address, and the keys that work everywhere.

import { caller, codeOf, enter, get, learn, Problem } from "./api.js";
import { dialog, explained, tell } from "./dialogs.js";
import { el, noteAddress, noteLink, say } from "./dom.js";
import { listen } from "./listen.js";
import * as search from "./search.js";
import { forget, remember, undo } from "./statements.js";
import { choose, language, t } from "./words.js";

const VIEWS = {
  search: { key: "s", open: async () => search },
  notes: { key: "n", open: () => import("./notes.js") },
  timeline: { key: "t", open: () => import("./timeline.js") },
  memory: { key: "m", open: () => import("./memory.js") },
  feed: { key: "f", owners: true, group: "activity", open: () => import("./feed.js") },
  sessions: { key: "e", group: "activity", open: () => import("./sessions.js") },
  review: { key: "r", owners: true, group: "activity", open: () => import("./review.js") },
  charts: { key: "c", owners: true, group: "activity", open: () => import("./charts.js") },
  setup: { key: "p", owners: true, reaches: true, group: "settings", open: () => import("./setup.js") },
  health: { key: "h", owners: true, group: "settings", open: () => import("./health.js") },
};
const HIDDEN = { note: { under: "notes", open: () => import("./note.js") } };
const THEMES = ["", "light", "dark"];
const main = document.getElementById("main");
const views = document.getElementById("views");
let current = {};
let showing = 0;
let pending = "", pendingTimer = 0;

/** Whether a view is for who asks. */
const may = ({ owners, reaches }) => (caller.owner || !owners) && (caller.reaches || !reaches);

/** The views that are offered to who asks. */
const offered = () => Object.entries(VIEWS).filter(([, view]) => may(view));

/** The group of a view: several share an entry of the rail. */
const groupOf = (name) => VIEWS[name]?.group ?? name;

// --- views ---

/** The view that an address names, and its parameters. */
function route() {
  const [name, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { name: Object.hasOwn(VIEWS, name) || Object.hasOwn(HIDDEN, name) ? name : "search", query: new URLSearchParams(query) };
}

async function show() {
  const mine = ++showing;
  const { name, query } = route();
  current.leave?.();
  current = {};
  for (const box of document.querySelectorAll("dialog[open]")) box.close(); // of the view that is left
  const under = HIDDEN[name]?.under ?? name;
  for (const link of document.querySelectorAll("#views a")) {
    if (link.dataset.view === groupOf(under)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const root = el("div", { class: `view view-${name}` });
  if (VIEWS[name] && !may(VIEWS[name])) {
    main.replaceChildren(root);
    root.append(el("h1", {}, t(`view_${name}`)), el("p", { role: "alert" }, caller.agent ? t("owners_alone", { agent: caller.agent }) : t("reach_alone")));
    return;
  }
  main.setAttribute("aria-busy", "true");
  countWaiting();
  const beside = offered().filter(([, { group }]) => group && group === VIEWS[name]?.group);
  if (beside.length > 1) root.append(el("nav", { class: "beside", "aria-label": t(`view_${VIEWS[name].group}`) }, beside.map(([one]) =>
    el("a", { href: `#/${one}`, "aria-current": one === name ? "page" : null }, t(`view_${one}`)))));
  try {
    const view = await (VIEWS[name] ?? HIDDEN[name]).open();
    if (mine !== showing) return;
    document.title = `${t(`view_${under}`)} · commonplace`;
    main.replaceChildren(root);
    window.scrollTo(0, 0);
    const shown = (await view.show(root, query)) ?? {};
    if (mine === showing) current = shown;
    else shown.leave?.();
  } catch (error) {
    if (mine !== showing || error.name === "AbortError") return;
    failed(root, error);
  } finally {
    if (mine === showing) main.removeAttribute("aria-busy");
  }
}

function failed(root, error) {
  const isOut = error instanceof Problem && (error.status === 401 || (error.status === 403 && /code/.test(error.message)));
  main.replaceChildren(root);
  root.append(el("h1", {}, t(isOut ? "locked" : "failed")), el("p", { role: "alert" }, isOut ? t("locked_how") : explained(error)));
  if (isOut) root.append(el("pre", { class: "code" }, "commonplace web"));
  const { code, values } = error.said?.message ?? {};
  if (code === "place.near") root.append(el("ul", { class: "near" }, values.near.map((one) => el("li", {}, noteLink(one)))));
  root.append(el("button", { type: "button", class: "main", onclick: start }, t("again")));
}

// --- the rail ---

/** Fill the rail for who asks, in place of what was in it. */
function rail() {
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  document.getElementById("skip").textContent = t("skip");
  views.setAttribute("aria-label", t("views"));
  document.querySelector(".as")?.remove();
  if (caller.agent) document.querySelector(".brand").after(el("p", { class: "as muted", title: t("owners_alone", { agent: caller.agent }) }, t("as_agent", { agent: caller.agent })));
  const groups = new Map();
  for (const [name, view] of offered()) if (!groups.has(groupOf(name))) groups.set(groupOf(name), [name, view]);
  views.replaceChildren(el("ul", {}, [...groups].map(([group, [name, { key }]]) =>
    el("li", {}, el("a", { href: `#/${name}`, "data-view": group, title: `${t(`view_${group}`)} (g ${key})` }, icon(group), el("span", {}, t(`view_${group}`)))))));
  const settings = groups.get("settings"); // of which a phone has no tab
  const theme = el("button", { type: "button", class: "quiet", onclick: () => theming(theme) });
  themed(theme);
  document.getElementById("switches").replaceChildren(
    caller.writes ? el("button", { type: "button", class: "main small", onclick: remember }, t("remember")) : "",
    settings ? el("a", { class: "quiet button phone", href: `#/${settings[0]}`, title: t("view_settings"), "aria-label": t("view_settings") }, icon("settings")) : "",
    theme,
    el("button", { type: "button", class: "quiet", lang: language === "zh" ? "en" : "zh-CN", onclick: () => choose(language === "zh" ? "en" : "zh") }, language === "zh" ? "English" : "中文"),
    el("button", { type: "button", class: "quiet keys", onclick: help }, t("keys")),
  );
}

/** Show in the rail how much waits for the owner's decision. */
async function countWaiting() {
  if (!caller.owner) return;
  const { requests, unfinished, entries } = await get("/api/forget").catch(() => ({ requests: [], unfinished: [], entries: [] }));
  const n = requests.length + unfinished.length + entries.length;
  const link = document.querySelector('#views a[data-view="activity"]');
  link?.querySelector(".badge")?.remove();
  if (n) link?.append(el("span", { class: "badge" }, n, el("span", { class: "unseen" }, ` ${t("waiting")}`)));
}

const SIGNS = { search: "⌕", notes: "≡", timeline: "◷", memory: "❡", activity: "∿", settings: "⊕" };

function icon(name) {
  return el("span", { class: "icon", "aria-hidden": "true" }, SIGNS[name]);
}

function themed(button) {
  const theme = document.documentElement.dataset.theme ?? "system";
  button.replaceChildren(el("span", { "aria-hidden": "true" }, { system: "◐", light: "○", dark: "●" }[theme]), " ", el("span", { class: "wide" }, t(`theme_${theme}`)));
}

function theming(button) {
  const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme ?? "") + 1) % THEMES.length];
  if (next) document.documentElement.dataset.theme = next;
  else delete document.documentElement.dataset.theme;
  localStorage.setItem("commonplace-theme", next);
  themed(button);
}

// --- keys ---

const EVERYWHERE = {
  "/": () => (route().name === "search" ? focusSearch() : (location.hash = "#/search")),
  u: () => undo(),
  n: remember,
  F: () => forget(),
  "?": help,
};

function focusSearch() {
  document.getElementById("question")?.focus();
}

function help() {
  if (document.querySelector("dialog[open]")) return;
  const rows = [
    ["/", "view_search"], ["Ctrl K", "key_jump"], ["j / k", "key_next"], ["Enter", "key_open"], ["x", "key_factors"], ["m", "key_more"],
    ...(caller.writes ? [["n", "remember"], ["c", "correct"], ["y", "confirm"]] : []),
    ...(caller.owner ? [["e", "edit"], ["d", "forget"], ["u", "undo"], ["F", "key_forget_any"]] : []),
    ...(caller.reaches ? [["a", "key_add_folder"]] : []),
    ["Ctrl Enter", "key_send"], ["Esc", "key_leave"],
    ...offered().map(([name, { key }]) => [`g ${key}`, `view_${name}`]),
  ];
  const box = dialog(t("keys"), el("dl", { class: "keylist" }, rows.map(([key, name]) =>
    el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, t(name))))),
    el("div", { class: "buttons" }, el("button", { type: "button", class: "main", onclick: () => box.close() }, t("close"))));
}

/** Go to a note by its title, or to a view, wherever one is. */
async function jump() {
  if (document.querySelector("dialog[open]")) return;
  const { notes } = await get("/api/notes", { newest: true });
  const places = [...offered().map(([name]) => [t(`view_${name}`), `#/${name}`]), ...notes.map((one) => [one.title || one.path, noteAddress(one.path), one.path])];
  const input = el("input", { type: "search", id: "jump", "aria-label": t("key_jump"), placeholder: t("jump"), autocomplete: "off" });
  const list = el("ul", { class: "plain jump" });
  const draw = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = places.filter(([name, , path = ""]) => words.every((word) => `${name} ${path}`.toLowerCase().includes(word))).slice(0, 12);
    list.replaceChildren(...found.map(([name, href, path]) => el("li", {}, el("a", { href, onclick: () => box.close() }, name), " ", el("span", { class: "muted" }, path ?? ""))));
  };
  const box = dialog(t("key_jump"), el("form", { onsubmit: (event) => (event.preventDefault(), list.querySelector("a")?.click()) }, input), list);
  input.addEventListener("input", draw);
  draw();
  input.focus();
}

function pressed(event) {
  if ((event.ctrlKey || event.metaKey) && event.key === "k") {
    event.preventDefault();
    return void jump().catch(tell);
  }
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.querySelector("dialog[open]")) return;
  const typing = event.target.matches("input:not([type=checkbox]), textarea, select");
  if (typing && event.key !== "Escape") {
    current.typed?.(event);
    return;
  }
  if (typing && !current.keys?.Escape) event.target.blur();
  if (pending === "g") {
    pending = "";
    const view = offered().find(([, { key }]) => key === event.key);
    if (view) {
      event.preventDefault();
      location.hash = `#/${view[0]}`;
      return;
    }
  }
  if (event.key === "g") {
    pending = "g";
    clearTimeout(pendingTimer);
    pendingTimer = setTimeout(() => (pending = ""), 1500);
    return;
  }
  const act = current.keys?.[event.key] ?? EVERYWHERE[event.key];
  if (!act) return;
  if (event.key === "Enter" && event.target.matches("a, button, summary, input")) return;
  event.preventDefault();
  act(event);
}

// --- start ---

document.addEventListener("keydown", pressed);
document.addEventListener("locked", ({ detail }) => {
  if (!document.querySelector("dialog[open]")) failed(el("div", { class: "view" }), detail); // else what is typed there stays
});
document.addEventListener("changed", () => {
  current.changed?.();
  countWaiting();
});
window.addEventListener("unhandledrejection", (event) => {
  if (event.reason instanceof Problem) {
    event.preventDefault();
    tell(event.reason);
  } else if (event.reason?.name === "AbortError") event.preventDefault();
});
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
window.addEventListener("hashchange", async () => {
  if (codeOf(location)) return start();
  await show();
  if (route().name !== "search" && !main.contains(document.activeElement)) main.focus({ preventScroll: true });
  say(document.title);
});
/** Get in, if the address has a code, and show the view; once it is let in, the page hears what happens. */
async function start() {
  try {
    await enter();
    await learn();
    rail();
    await show();
    if (caller.owner) listen();
  } catch (error) {
    rail();
    failed(el("div", { class: "view" }), error);
  }
}
await start();
