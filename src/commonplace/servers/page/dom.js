// Elements, made from text alone: nothing on this page is ever parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element. `on…` attributes are listeners; null, undefined and false ones are left out. */
export function el(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Make an element of SVG. */
export function svg(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on") && typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Tell those who do not see the page. */
export function say(text) {
  document.getElementById("said").textContent = text;
}

/** A text with what stands in `backticks` as code. */
export const withCode = (text) => text.split("`").map((part, n) => (n % 2 ? el("code", {}, part) : part));

/** A link to a note, or to lines of one. */
export const noteLink = (reference, shown = reference, attributes = {}) =>
  el("a", { href: noteAddress(reference), ...attributes }, shown);

/** The address on this page of a note, or of lines of one. */
export const noteAddress = (reference, more = {}) => `#/note?${new URLSearchParams({ ref: reference, ...more })}`;

/** The members of a list by what `key` says of each, as a map. */
export function grouped(list, key) {
  const groups = new Map();
  for (const one of list) groups.set(key(one), [...(groups.get(key(one)) ?? []), one]);
  return groups;
}

/** A table with a head; its first columns are words, the others figures. */
export function figures(name, head, rows, words = 1) {
  const cells = (tag, row) => el("tr", {}, row.map((one, n) => el(tag, { class: n < words ? null : "right" }, one)));
  return el("div", { class: "table", tabindex: "0", role: "group", "aria-label": name }, el("table", {},
    el("thead", {}, cells("th", head)), el("tbody", {}, rows.map((row) => cells("td", row)))));
}

/** A button that shows more of a list. */
export function moreButton(label, run) {
  return el("button", { type: "button", class: "more", onclick: run }, label);
}

/** Show a message for a while, with an action if there is one: `{label, run}`. */
export function toast(text, { action, kind = "", lasts = 12000 } = {}) {
  const box = el("div", { class: `toast ${kind}` }, el("span", {}, text));
  const close = () => box.remove();
  if (action) {
    box.append(el("button", { type: "button", onclick: () => (close(), action.run()) }, action.label));
  }
  box.append(el("button", { type: "button", class: "quiet", "aria-label": "×", onclick: close }, "×"));
  document.getElementById("toasts").replaceChildren(box);
  setTimeout(close, lasts);
  return box;
}

/** Put a text on the clipboard, and say so; where that cannot be, show it. */
export async function copy(text, message) {
  try {
    await navigator.clipboard.writeText(text);
    toast(message);
  } catch {
    toast(text);
  }
}

/** Call a function at once, and again after calls that come faster than that, once they rest for so many ms. */
export function debounced(ms, run) {
  let timer = 0, last = 0;
  return () => {
    const isFast = performance.now() - last < ms;
    last = performance.now();
    clearTimeout(timer);
    if (isFast) timer = setTimeout(run, ms);
    else run();
  };
}

/** A text of others on one line: no character turns the order of others round, and no more of it than is read. */
export function plain(text, most = 200) {
  const shown = text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
  return shown.length > most ? `${shown.slice(0, most)}…` : shown;
}

const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
const LETTER = "[\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}\\p{N}_]"; // of words with blanks between them

/** Mark words in the text of an element, also with an ending of English. */
export function mark(root, words) {
  const longest = words.filter((word) => word.length > 1 || WIDE.test(word)).sort((a, b) => b.length - a.length).slice(0, 60);
  if (!longest.length) return root;
  const escaped = longest.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).map((word) => (WIDE.test(word) ? word : `(?<!${LETTER})${word}(?:e?s|e?d|ing)?(?!${LETTER})`));
  const pattern = new RegExp(escaped.join("|"), "giu");
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  for (const node of nodes) {
    const text = node.data;
    const parts = [];
    let from = 0;
    for (const found of text.matchAll(pattern)) {
      parts.push(text.slice(from, found.index), el("mark", {}, found[0]));
      from = found.index + found[0].length;
    }
    if (parts.length) node.replaceWith(...parts, text.slice(from));
  }
  return root;
}
