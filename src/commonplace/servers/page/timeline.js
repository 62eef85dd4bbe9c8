// Days and what was noted on them.

import { get } from "./api.js";
import { el, grouped, moreButton, noteAddress, noteLink, withCode } from "./dom.js";
import { render } from "./markdown.js";
import { learnCollections } from "./places.js";
import { confirm, correct, forgetAt } from "./statements.js";
import { day, labelled, t, warned } from "./words.js";

const AROUND = 12, FURTHER = 50; // moments around a day, and those that are shown on demand

export async function show(root, query) {
  const [{ notes }] = await Promise.all([get("/api/notes"), learnCollections()]);
  const days = [...new Set(notes.flatMap((one) => one.days))].sort();
  let anchor = query.get("day") || days.at(-1) || new Date().toISOString().slice(0, 10);
  const field = el("input", { type: "date", id: "day", value: anchor, min: days[0], "aria-label": t("day"), onchange: () => field.value && go(field.value) });
  const list = el("div", { class: "days", "aria-live": "polite", "aria-busy": "false" });
  const button = (label, way) => el("button", { type: "button", "data-way": way, onclick: () => step(way) }, label);
  const wide = (text) => el("span", { class: "wide" }, text);
  root.append(el("header", { class: "notehead" }, el("h1", {}, t("view_timeline")),
    el("div", { class: "tools" }, button(["‹ ", wide(t("earlier"))], -1), field, button([wide(t("later")), " ›"], 1))), list);
  let at = -1;

  function go(text) {
    anchor = text;
    history.replaceState(null, "", `#/timeline?day=${encodeURIComponent(text)}`);
    return draw();
  }

  function step(way) {
    const next = way < 0 ? days.findLast((one) => one < anchor) : days.find((one) => one > anchor);
    if (next) go(next);
  }

  let moments = [], warnings = [], ends = { before: true, after: true };

  async function draw() {
    field.value = anchor;
    at = -1;
    for (const one of root.querySelectorAll("[data-way]")) {
      one.disabled = one.dataset.way === "-1" ? !days.some((d) => d < anchor) : !days.some((d) => d > anchor);
    }
    const answer = await get("/api/timeline", { anchor, before: AROUND, after: AROUND });
    moments = answer.moments;
    const first = moments.findIndex((one) => one.is_anchor), last = moments.findLastIndex((one) => one.is_anchor);
    ends = first < 0 ? { before: moments.length > 0, after: moments.length > 0 } : { before: first >= AROUND, after: moments.length - 1 - last >= AROUND };
    warnings = warned(answer);
    fill();
    list.querySelector(".here, .anchor, .gap")?.scrollIntoView({ block: first < 0 ? "center" : "start" });
  }

  function fill() {
    const groups = grouped(moments, (one) => one.date);
    const sections = [...groups].map(([date, own]) =>
      el("section", { class: date === anchor ? "day here" : "day" }, el("h2", {}, el("a", { href: `#/timeline?day=${date}` }, day(date))), own.map(row)));
    const next = [...groups.keys()].findIndex((date) => date >= anchor); // what lacks there is said where it would stand
    sections.splice(next < 0 ? sections.length : next, 0, ...warnings.map((one) => el("p", { class: "muted gap" }, one)));
    list.replaceChildren(ends.before ? moreButton(t("earlier_entries"), () => further("before")) : "",
      ...sections, ends.after ? moreButton(t("later_entries"), () => further("after")) : "");
    if (!groups.size) list.append(el("p", { class: "muted" }, t("no_days")));
  }

  /** Show more before the first moment, or after the last. */
  async function further(way) {
    const edge = way === "before" ? moments[0] : moments.at(-1);
    const answer = await get("/api/timeline", { anchor: edge.citation, before: 0, after: 0, [way]: FURTHER });
    const known = new Set(moments.map(key));
    const fresh = answer.moments.filter((one) => !known.has(key(one)) && (way === "before" ? one.date <= edge.date : one.date >= edge.date));
    ends[way] = fresh.length > 0 && answer.moments.length >= FURTHER;
    const height = document.documentElement.scrollHeight;
    moments = way === "before" ? [...fresh, ...moments] : [...moments, ...fresh];
    if (way === "before") at = at < 0 ? at : at + fresh.length;
    fill();
    if (way === "before") window.scrollBy(0, document.documentElement.scrollHeight - height);
    if (at >= 0) select(at);
  }

  function row(moment) {
    const trail = moment.headings.slice(1).join(" › "), labels = moment.labels;
    return el("article", { class: moment.is_anchor ? "moment anchor" : "moment", tabindex: "-1", "data-place": moment.citation },
      el("p", { class: "where" }, noteLink(moment.citation, trail ? withCode(trail) : el("code", {}, moment.citation)), trail ? el("code", {}, moment.citation) : null,
        labels.map((one) => el("span", { class: `label ${one}` }, labelled(one)))),
      el("div", { class: `passage ${labels.join(" ")}` }, render(moment.text.split("\n"), { first: 2, note: moment.path })));
  }

  async function select(n) {
    if (n >= moments.length && ends.after) await further("after");
    if (n < 0 && at === 0 && ends.before) {
      await further("before");
      n = at - 1;
    }
    const all = [...list.querySelectorAll(".moment")];
    if (!all.length) return;
    at = Math.min(Math.max(n, 0), all.length - 1);
    for (const one of all) one.classList.toggle("selected", one === all[at]);
    all[at].focus({ preventScroll: true });
    all[at].scrollIntoView({ block: "nearest" });
  }

  const key = (one) => `${one.date} ${one.citation}`;
  const place = () => list.querySelector(".moment.selected")?.dataset.place;
  await draw();
  return {
    keys: {
      j: () => select(at + 1), k: () => select(at - 1), m: () => ends.after && further("after"), h: () => step(-1), l: () => step(1),
      Enter: () => place() && (location.hash = noteAddress(place())),
      e: () => place() && (location.hash = noteAddress(place(), { edit: 1 })),
      c: () => place() && correct(place()), y: () => place() && confirm(place()), d: () => place() && forgetAt(place()),
    },
    changed: draw,
  };
}
