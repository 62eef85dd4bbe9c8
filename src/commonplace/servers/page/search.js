// Search as you type: each hit with where it stands, its words marked, and what its score is made of. What is typed
// is a draft, which is not recorded as use; a question is asked in full on Enter, or once one of its hits is opened.

import { caller, get, latest } from "./api.js";
import { explained, tell } from "./dialogs.js";
import { debounced, el, mark, noteLink, say, withCode } from "./dom.js";
import { render } from "./markdown.js";
import { barrier, learnCollections } from "./places.js";
import { confirm, correct, forgetAt, isTentative, remember } from "./statements.js";
import { openTasks } from "./tasks.js";
import { dateOfToday, day, labelled, number, t, warned } from "./words.js";

const TYPED_MS = 60;
const RECORDED_MS = 400; // that a hit waits for its question to be recorded
const FULL = 3; // a whole bar
const STANDS_OUT = 0.6, MOST_OUT = 5; // share of the best score, and hits, that are shown unfolded

export async function show(root, query) {
  const ask = latest();
  let hits = [], words = [], isListing = false, at = -1, opened = false, requested = "", full = "";
  let left = window.history.state?.opened; // the hit from which one comes back
  const collection = el("select", { id: "collection", "aria-label": t("collection"), onchange: () => run() }, el("option", { value: "" }, t("all_collections")));
  const history = el("input", { type: "checkbox", onchange: () => run() });
  const input = el("input", {
    id: "question", type: "search", placeholder: t("search_hint"), "aria-label": t("view_search"), autocomplete: "off", spellcheck: "false", enterkeyhint: "search",
  });
  const count = el("p", { class: "muted count", id: "count" });
  const results = el("ol", { class: "hits", "aria-label": t("results") });
  root.append(
    el("h1", { class: "unseen" }, t("view_search")),
    el("form", { class: "ask", role: "search", onsubmit: (event) => (event.preventDefault(), submit()) }, input,
      el("div", { class: "filters" }, collection, el("label", { class: "check" }, history, " ", t("struck_too")))),
    count, results);
  input.value = query.get("q") ?? "";

  const asked = () => ({ q: input.value.trim(), limit: 20, collections: collection.value, history: history.checked });

  async function run(draft = true) {
    const question = asked(), { q } = question;
    requested = JSON.stringify(question);
    if (!draft) full = requested;
    window.history.replaceState(null, "", q ? `#/search?q=${encodeURIComponent(q)}` : "#/search");
    if (!q) {
      hits = [];
      count.textContent = "";
      results.replaceChildren();
      root.querySelector(".teach")?.remove();
      root.append(begin(input, run));
      return;
    }
    try {
      const [answer] = await Promise.all([ask("/api/search", { ...question, draft }), known]);
      root.querySelector(".teach")?.remove();
      shown(answer);
      select(hits.findIndex(({ citation }) => citation === left));
      left = "";
    } catch (error) {
      if (error.name === "AbortError") return;
      hits = [];
      results.replaceChildren();
      count.textContent = explained(error);
    }
  }

  function shown(answer) {
    ({ hits, words, listing: isListing } = answer);
    at = -1;
    results.replaceChildren(...hits.map(row));
    const least = STANDS_OUT * Math.max(...hits.map((one) => one.score));
    const clear = isListing ? hits.length : 1 + Math.max(0, ...hits.slice(0, MOST_OUT).map((one, n) => (one.score >= least ? n : 0)));
    [...results.children].slice(clear).forEach((one) => { one.hidden = true; });
    if (opened) for (const one of results.querySelectorAll("details.factors")) one.open = true;
    const summary = hits.length ? t(answer.tokens < answer.all_tokens ? "found" : "found_all", { n: number(hits.length), tokens: number(answer.tokens), all: number(answer.all_tokens) }) : t("nothing");
    count.replaceChildren(summary, ...(answer.weak && hits.length ? [" ", el("span", { class: "label weak" }, t("weak_answer"))] : []));
    if (clear < hits.length) count.append(" ", el("button", { type: "button", class: "more weaker", onclick: unfold }, t("weaker", { n: hits.length - clear })));
    for (const one of warned(answer)) count.append(el("span", { class: "warn" }, withCode(one)));
    say(hits.length ? t("hits_said", { n: hits.length }) : t("nothing"));
  }

  function unfold() {
    for (const one of results.children) one.hidden = false;
    count.querySelector(".weaker")?.remove();
  }

  function row(hit, n) {
    const isOwn = !barrier(hit.citation);
    const href = `#/note?${new URLSearchParams([["ref", hit.citation], ...words.map((word) => ["word", word])])}`;
    const trail = hit.headings.filter((one) => one !== hit.title);
    const labels = hit.labels.map((one) => el("span", { class: `label ${one}` }, labelled(one)));
    const passage = el("div", { class: `passage ${hit.labels.join(" ")}` }, render(hit.text.split("\n"), { first: 2, note: hit.path }));
    return el("li", { class: "hit", "data-n": n, onfocusin: () => select(n, false) },
      el("h2", {}, el("a", { href }, hit.title || hit.path), " ", trail.length ? el("span", { class: "trail" }, withCode(`› ${trail.join(" › ")}`)) : null),
      el("p", { class: "where" }, el("code", {}, hit.citation), hit.date ? el("time", { datetime: hit.date }, day(hit.date)) : null,
        el("span", { class: "chip" }, hit.workspace ? `${hit.workspace} · ${hit.collection}` : hit.collection), labels,
        hit.until ? el("span", { class: "label struck" }, t("held_until", { day: hit.until })) : null),
      mark(passage, words),
      hit.others.length ? el("p", { class: "muted also" }, t("also"), " ", hit.others.map((one) => el("code", {}, typeof one === "string" ? one : one.citation ?? one.path))) : null,
      el("div", { class: "below" }, isListing ? el("span") : factors(hit),
        el("span", { class: "acts" },
          isOwn && caller.writes ? act(t("correct"), () => correct(hit.citation, { words })) : null,
          isOwn && caller.writes && (hit.labels.includes("tentative") || isTentative(hit.text)) ? act(t("confirm"), () => confirm(hit.citation, { words })) : null,
          isOwn && caller.owner ? act(t("forget"), () => forgetAt(hit.citation, { words })) : null)));
  }

  function select(n, focus = true) {
    if (!hits.length || n < 0) return;
    at = Math.min(Math.max(n, 0), hits.length - 1);
    for (const one of results.children) one.classList.toggle("selected", Number(one.dataset.n) === at);
    const chosen = results.children[at];
    if (chosen.hidden) unfold();
    if (focus) chosen.querySelector("a").focus({ preventScroll: true });
    if (focus) chosen.scrollIntoView({ block: "nearest" });
  }

  async function submit() {
    await run(false);
    select(0);
  }

  /** Record the question whose hit is opened, unless it was asked in full. */
  function record() {
    if (full === requested) return null;
    full = requested;
    return get("/api/search", JSON.parse(requested)).catch(() => null);
  }

  async function open(n) {
    if (!hits[n]) return;
    const address = results.children[n].querySelector("a").getAttribute("href");
    await Promise.race([record(), new Promise((done) => setTimeout(done, RECORDED_MS))]);
    window.history.replaceState({ opened: hits[n].citation }, "");
    location.hash = address.slice(1);
  }

  const chosen = (run) => () => hits[at] && run(hits[at]);
  input.addEventListener("input", debounced(TYPED_MS, () => requested !== JSON.stringify(asked()) && run()));
  results.addEventListener("click", (event) => {
    if (!event.target.closest("h2 a")) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey) return void record();
    event.preventDefault();
    open(Number(event.target.closest(".hit").dataset.n));
  });
  if (!left) input.focus();
  const known = learnCollections().then((all) =>
    collection.append(...all.filter(({ notes }) => notes).map(({ name }) => el("option", { value: name }, name)))).catch(tell);
  run();
  return {
    keys: {
      j: () => select(at + 1), ArrowDown: () => select(at + 1), k: () => (at <= 0 ? input.focus() : select(at - 1)), ArrowUp: () => (at <= 0 ? input.focus() : select(at - 1)),
      Enter: () => open(at), o: () => open(at),
      x: () => {
        opened = !opened;
        for (const one of results.querySelectorAll("details.factors")) one.open = opened;
      },
      e: chosen((hit) => (location.hash = `#/note?ref=${encodeURIComponent(hit.citation)}&edit=1`)),
      c: chosen((hit) => correct(hit.citation, { words })), y: chosen((hit) => confirm(hit.citation, { words })), d: chosen((hit) => forgetAt(hit.citation, { words })),
      Escape: () => (document.activeElement === input ? input.blur() : input.focus()),
    },
    typed: (event) => {
      if (event.target === input && event.key === "ArrowDown" && hits.length) {
        event.preventDefault();
        select(0);
      }
    },
    changed: () => run(),
  };
}

const act = (label, run) => el("button", { type: "button", class: "quiet", onclick: run }, label);

/** What a score is made of, as small bars. */
function factors(hit) {
  const most = Math.max(0.2, ...hit.factors.map((one) => Math.abs(one.value)));
  const rows = hit.factors.map(({ name, value, note }) => {
    const bar = el("span", { class: value < 0 ? "bar minus" : "bar" });
    bar.style.width = `${Math.round((Math.abs(value) / most) * FULL * 100) / 100}rem`;
    const label = t(`factor_${name}`);
    return el("li", {}, el("span", { class: "name" }, label === `factor_${name}` ? name : label), el("span", { class: "track" }, bar),
      el("span", { class: "value" }, value.toFixed(2)), note ? el("span", { class: "muted" }, note) : null);
  });
  return el("details", { class: "factors" }, el("summary", {}, t("why_found", { score: hit.score.toFixed(2) })), el("ul", {}, rows));
}

/** An empty field shows today and the newest notes, open tasks, and what can be asked. */
function begin(input, run) {
  const example = (text) => el("li", {}, el("button", { type: "button", class: "example", onclick: () => ((input.value = text), run(), input.focus()) }, text));
  const tasks = el("div");
  openTasks().then((found) => tasks.replaceChildren(found)).catch(tell);
  return el("section", { class: "teach" }, el("div", { class: "columns" }, recent(), tasks), el("h2", {}, t("teach_title")), el("p", {}, t("teach")),
    el("ul", {}, ["teach_1", "teach_2", "teach_3", "teach_4"].map((one) => example(t(one)))),
    el("p", { class: "muted keys" }, t("teach_keys")));
}

/** The note of today, to be opened or begun, and those of the newest days, once they are there. */
function recent() {
  const list = el("ul", { class: "recent" }), today = `memory/${dateOfToday()}.md`;
  const row = (one) => el("li", {}, noteLink(one.path, one.title || one.path), el("span", { class: "muted" }, (one.title || "").includes(one.date) ? "" : one.date ?? ""));
  get("/api/notes", { limit: 7, newest: true }).then(({ notes }) => {
    const isThere = notes.some((one) => one.path === today);
    const first = isThere ? noteLink(today, t("today")) : caller.writes && el("button", { type: "button", class: "linked", onclick: remember }, t("today_none"));
    list.replaceChildren(el("li", {}, first, el("span", { class: "muted" }, dateOfToday())), ...notes.filter((one) => one.path !== today).map(row));
  }).catch(tell);
  return el("section", {}, el("h2", {}, t("recent")), list);
}
