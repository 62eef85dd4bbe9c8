// Notes as they are read: blocks of Markdown, each with the lines it stands on. Elements are made one by one from
// text, so that nothing in a note can become a tag, a handler, a style, or something that is loaded.

import { el } from "./dom.js";
import { inline, tags } from "./inline.js";
import { t } from "./words.js";

const FENCE = /^( {0,3})(`{3,}|~{3,})([^`]{0,200})$/;
const HEADING = /^ {0,3}(#{1,6})(?:\s(.*)|)$/s; // with `s`, or a line that U+2028 divides would be tried at each blank
const RULE = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])(?:\s+(.*)|)$/s;
const QUOTE = /^ {0,3}> ?(.*)$/s;
const CALLOUT = /^\[!([\w-]{1,40})\][+-]?[ \t]*(.*)$/s;
const TABLE = /^ {0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;
const BOX = /^\[([ xX])\]\s+(.*)$/s;
const WIDEST = 1000; // characters of a line that may open a fence, rule a line, or head a table
const LONGEST = 20000; // characters of a block that are shown
const DEEPEST = 8;
const MOST_ITEMS = 200;

/** The blocks of some lines of a `note`, in order: `{start, end, make}`; lines count from `first`. */
export function blocks(lines, { first = 1, note = "", depth = 0 } = {}) {
  const found = [];
  const context = { first, note, depth };
  let at = 0;
  if (first === 1 && depth === 0) at = frontMatter(lines, found);
  while (at < lines.length) {
    if (!lines[at].trim()) at++;
    else at = block(lines, at, context, found);
  }
  return found;
}

/** All blocks of some lines as elements. */
export function render(lines, options) {
  return blocks(lines, options).map((one) => one.make());
}

function add(found, context, start, end, make) {
  const from = context.first + start, to = context.first + end - 1;
  found.push({ start: from, end: to, make: () => placed(make(), from, to) });
  return end;
}

/** Note on an element which lines it stands on. */
function placed(element, start, end) {
  element.dataset.start = start;
  element.dataset.end = end;
  return element;
}

function frontMatter(lines, found) {
  if (lines[0]?.trimEnd() !== "---") return 0;
  const end = lines.findIndex((line, at) => at > 0 && /^(---|\.\.\.)\s*$/.test(line));
  if (end < 0) return 0;
  return add(found, { first: 1 }, 0, end + 1, () =>
    el("details", { class: "front" }, el("summary", {}, t("front_matter")), el("pre", {}, lines.slice(1, end).join("\n"))));
}

function block(lines, at, context, found) {
  const line = lines[at];
  const isShort = line.length <= WIDEST;
  if (isShort && FENCE.test(line)) return fence(lines, at, context, found);
  const heading = HEADING.exec(line);
  if (heading) {
    const level = Math.min(6, heading[1].length + 1);
    return add(found, context, at, at + 1, () => el(`h${level}`, {}, long(title(heading[2]), context.note)));
  }
  if (isShort && RULE.test(line)) return add(found, context, at, at + 1, () => el("hr"));
  if (QUOTE.test(line) && context.depth < DEEPEST) return quote(lines, at, context, found);
  if (ITEM.test(line) && context.depth < DEEPEST) return list(lines, at, context, found);
  const under = lines[at + 1] ?? "";
  if (line.includes("|") && under.length <= WIDEST && under.includes("-") && TABLE.test(under)) {
    return table(lines, at, context, found);
  }
  if (/^\s*<!--/.test(line)) {
    const end = commentEnd(lines, at);
    if (end) return end;
  }
  if (/^( {4}|\t)/.test(line)) return indented(lines, at, context, found);
  return paragraph(lines, at, context, found);

  function commentEnd(all, start) {
    for (let end = start; end < Math.min(all.length, start + 50); end++) {
      if (!all[end].includes("-->")) continue;
      const text = all.slice(start, end + 1).join(" ").trim();
      const whole = /^<!--((?:(?!-->)[\s\S])*)-->$/.exec(text.slice(0, LONGEST));
      return whole && add(found, context, start, end + 1, () => el("p", {}, tags(whole[1].trim())));
    }
    return 0;
  }
}

/** What a heading says, without the marks that may close it. */
export const title = (text = "") => text.trim().replace(/(^|\s)#+$/, "").trim();

function fence(lines, at, context, found) {
  const [, , marks, kind] = FENCE.exec(lines[at]);
  let end = at + 1;
  const closing = new RegExp(`^\\s*\\${marks[0]}{${marks.length},}\\s*$`);
  while (end < lines.length && !closing.test(lines[end])) end++;
  const code = lines.slice(at + 1, end).join("\n");
  return add(found, context, at, Math.min(end + 1, lines.length), () =>
    el("pre", { class: "code", tabindex: "0", "aria-label": kind.trim().slice(0, 40) || t("code") }, el("code", {}, cut(code))));
}

function indented(lines, at, context, found) {
  let end = at;
  while (end < lines.length && (/^( {4}|\t)/.test(lines[end]) || !lines[end].trim())) end++;
  while (!lines[end - 1].trim()) end--;
  const code = lines.slice(at, end).map((line) => line.replace(/^( {4}|\t)/, "")).join("\n");
  return add(found, context, at, end, () => el("pre", { class: "code", tabindex: "0", "aria-label": t("code") }, el("code", {}, cut(code))));
}

function quote(lines, at, context, found) {
  let end = at;
  while (end < lines.length && lines[end].trim() && (QUOTE.test(lines[end]) || !begins(lines, end))) end++;
  const inner = lines.slice(at, end).map((line) => QUOTE.exec(line)?.[1] ?? line);
  const below = { first: context.first + at, note: context.note, depth: context.depth + 1 };
  const callout = CALLOUT.exec(inner[0]);
  if (!callout) return add(found, context, at, end, () => el("blockquote", {}, render(inner, below)));
  return add(found, context, at, end, () =>
    el("blockquote", { class: "callout" }, heading(callout, below), render(inner.slice(1), { ...below, first: below.first + 1 })));
}

/** What stands above a callout: its title, which is a statement, or the name of its kind. */
function heading([, kind, titled], { first, note }) {
  const name = `callout_${kind.toLowerCase()}`, known = t(name);
  if (titled) return placed(statement(el("p", { class: "titled" }, long(titled, note))), first, first);
  return el("p", { class: "titled" }, known === name ? kind : known);
}

function begins(lines, at) {
  const line = lines[at];
  if (line.length <= WIDEST && (FENCE.test(line) || RULE.test(line))) return true;
  return HEADING.test(line) || QUOTE.test(line) || ITEM.test(line);
}

function paragraph(lines, at, context, found) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !begins(lines, end)) end++;
  const text = lines.slice(at, end).map((line) => line.trim()).join("\n");
  return add(found, context, at, end, () => statement(el("p", {}, long(text, context.note))));
}

/** An element that can be pointed at: what is corrected, confirmed or forgotten. */
function statement(element) {
  element.classList.add("line");
  return element;
}

function long(text, note) {
  return text.length > LONGEST ? [cut(text)] : inline(text, note);
}

function cut(text) {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)} … ${t("more_characters", { n: text.length - LONGEST })}` : text;
}

function list(lines, at, context, found) {
  const [, blanks, mark] = ITEM.exec(lines[at]);
  const ordered = /\d/.test(mark), indent = blanks.length;
  const items = [];
  let end = at;
  while (end < lines.length) {
    const item = ITEM.exec(lines[end]);
    if (!item || (lines[end].length <= WIDEST && RULE.test(lines[end])) || item[1].length < indent || /\d/.test(item[2]) !== ordered) break;
    const start = end++;
    while (end < lines.length && belongs(lines, end, indent)) end++;
    if (closesBeside(item[3] ?? "", lines, start, end)) end++;
    while (end > start + 1 && !lines[end - 1].trim()) end--;
    items.push({ start, end });
    if (items.length >= MOST_ITEMS && context.depth === 0) break; // the rest is a block of its own, made when it is asked for
    let next = end;
    while (next < lines.length && !lines[next].trim()) next++;
    const another = ITEM.exec(lines[next] ?? "");
    if (!another || another[1].length < indent || another[1].length > indent + 1) break;
    end = next;
  }
  const last = items.at(-1).end;
  return add(found, context, at, last, () => {
    const attributes = ordered && parseInt(mark, 10) !== 1 ? { start: parseInt(mark, 10) } : {};
    return el(ordered ? "ol" : "ul", attributes, items.map(({ start, end: to }) => listItem(lines, start, to, context)));
  });
}

function belongs(lines, at, indent) {
  const line = lines[at];
  if (!line.trim()) {
    let next = at;
    while (next < lines.length && !lines[next].trim()) next++;
    return next < lines.length && next - at < 3 && /^\s/.test(lines[next]) && blanksOf(lines[next]) > indent;
  }
  return blanksOf(line) > indent || !begins(lines, at);
}

/** Whether the mark that closes the code of an item stands behind it, to the left of its text. */
function closesBeside(text, lines, start, end) {
  const opened = text.length <= WIDEST && end < lines.length ? FENCE.exec(text) : null;
  if (!opened) return false;
  const closing = new RegExp(`^\\s*\\${opened[2][0]}{${opened[2].length},}\\s*$`);
  return closing.test(lines[end]) && !lines.slice(start + 1, end).some((line) => closing.test(line));
}

const blanksOf = (line) => line.length - line.trimStart().length;

function listItem(lines, start, end, context) {
  const [whole, , mark, text = ""] = ITEM.exec(lines[start]);
  const inset = whole.length - text.length || mark.length + 1;
  if (text.length <= WIDEST && FENCE.test(text)) {
    const code = [text, ...lines.slice(start + 1, end).map((one) => one.slice(Math.min(blanksOf(one), inset)))];
    const within = { first: context.first + start, note: context.note, depth: context.depth + 1 };
    return placed(el("li", {}, render(code, within)), context.first + start, context.first + end - 1);
  }
  let own = start + 1;
  while (own < end && lines[own].trim() && !begins(lines, own)) own++;
  const words = [text, ...lines.slice(start + 1, own).map((line) => line.trim())].join("\n");
  const box = BOX.exec(words);
  const line = statement(el("div", {}, long(box ? box[2] : words, context.note)));
  if (box) {
    const done = box[1] !== " ";
    line.prepend(el("span", { class: "box", role: "img", "aria-label": t(done ? "done" : "open") }, done ? "☑" : "☐"), " ");
  }
  placed(line, context.first + start, context.first + own - 1);
  const rest = lines.slice(own, end).map((one) => one.slice(Math.min(blanksOf(one), inset)));
  const below = { first: context.first + own, note: context.note, depth: context.depth + 1 };
  const item = el("li", box ? { class: "task" } : {}, line, render(rest, below));
  return placed(item, context.first + start, context.first + end - 1);
}

function table(lines, at, context, found) {
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|") && lines[end].trim()) end++;
  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).slice(0, 60).map((cell) => cell.trim().replace(/\\\|/g, "|"));
  const right = cells(lines[at + 1]).map((cell) => cell.endsWith(":") && !cell.startsWith(":"));
  const row = (line, tag) => cells(line).map((cell, n) => el(tag, right[n] ? { class: "right" } : {}, inline(cell, context.note)));
  return add(found, context, at, end, () =>
    el("div", { class: "table", tabindex: "0", role: "group", "aria-label": t("table") },
      el("table", {}, el("thead", {}, el("tr", {}, row(lines[at], "th"))),
        el("tbody", {}, lines.slice(at + 2, end).map((line, n) =>
          placed(statement(el("tr", {}, row(line, "td"))), context.first + at + 2 + n, context.first + at + 2 + n))))));
}
