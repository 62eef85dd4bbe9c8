// Text inside a block: what markdown-it finds, and what Obsidian adds to it: marked text, formulas, links, tags, comments.
// No tag is taken for one, no image of the web is loaded; links lead to the web, to mail, or to another note.

import { el } from "./dom.js";
import Markdown from "./markdown-it.js";
import { picture } from "./pictures.js";
import { moment, t } from "./words.js";

const LONGEST = 8000; // characters of a text that is looked at; what is longer is shown as it stands
const DEEPEST = 24; // elements within each other
const WIKI = /(!?)\[\[([^[\]\n|]{1,300})(?:\|([^[\]\n]{1,300}))?\]\]/y;
const WEB = /:\/\/[^\s<>"'`（）()，。；、]{1,2000}/y;
const SCHEME = /(?:^|[^\p{L}\p{N}])(https?)$/u;
const FORMULA = /\$\$([^$]{1,2000})\$\$|\$(?!\s)((?:[^$\\\n]|\\.){1,500})(?<!\s)\$(?!\d)/y;
const HIDDEN = /%%((?:(?!%%)[^]){1,2000})%%|<!--([^]{0,8000}?)-->/y;
const BREAK = /<br[ ]?\/?>/iy;
const TAG = /(?<!\S)#([\p{L}\p{M}\p{N}_/-]{1,100})(?![\p{L}\p{M}\p{N}_/#-])/uy;
const BLOCK = /(?<!\S)\^[A-Za-z0-9-]{1,100}[ \t]*$/y; // what links to a block name it by
const PICTURE = /\.(?:png|jpe?g|gif|webp|svg|bmp|avif|heic)$/i;
const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff00-\uffef]/u;

export const parser = new Markdown({ maxNesting: 100 });
parser.validateLink = () => true; // `leading` decides which of them lead anywhere
parser.normalizeLink = (address) => address;
parser.normalizeLinkText = (address) => address;
parser.inline.State = class extends parser.inline.State {
  /** Chinese has no blanks around words, so that its punctuation beside a mark says nothing of the mark. */
  scanDelims(start, splits) {
    const found = super.scanDelims(start, splits);
    const before = this.src[start - 1] ?? " ", after = this.src[start + found.length] ?? " ";
    if (!splits || !(WIDE.test(before) || WIDE.test(after))) return found;
    return { ...found, can_open: /\S/.test(after), can_close: /\S/.test(before) };
  }
};
add("wiki", WIKI, "link");
add("formula", FORMULA, "link");
add("hidden", HIDDEN, "autolink");
add("break", BREAK, "autolink");
add("tag", TAG, "link", ([, name]) => /[^\d/_-]/.test(name)); // `#12` is a number
add("block", BLOCK, "link");
parser.inline.ruler.before("link", "marked", marked);
parser.inline.ruler.before("link", "web", web);

/** Add a rule for what an expression finds where a mark stands. */
function add(name, pattern, before, isMeant = () => true) {
  parser.inline.ruler.before(before, name, (state, silent) => {
    pattern.lastIndex = state.pos;
    const found = pattern.exec(state.src);
    if (!found || pattern.lastIndex > state.posMax || !isMeant(found)) return false;
    if (!silent) state.push(name, "", 0).meta = found;
    state.pos += found[0].length;
    return true;
  });
}

/** `==Marked text==`. */
function marked(state, silent) {
  const { src, pos, posMax } = state;
  const end = src.startsWith("==", pos) ? src.indexOf("==", pos + 3) : -1;
  if (end < 0 || end + 2 > posMax || /\s/.test(src[pos + 2] + src[end - 1])) return false;
  if (!silent) {
    state.push("mark_open", "mark", 1);
    Object.assign(state, { pos: pos + 2, posMax: end });
    state.md.inline.tokenize(state);
    state.push("mark_close", "mark", -1);
  }
  Object.assign(state, { pos: end + 2, posMax });
  return true;
}

/** An address of the web in a text; its scheme has been read by then. */
function web(state, silent) {
  const scheme = silent || state.linkLevel ? null : SCHEME.exec(state.pending.slice(-6))?.[1];
  WEB.lastIndex = state.pos;
  const found = scheme && WEB.exec(state.src.slice(0, state.posMax));
  if (!found) return false;
  const rest = found[0].replace(/[.,;:!?*_~\]]+$/, "");
  state.pending = state.pending.slice(0, -scheme.length);
  state.push("web", "", 0).content = scheme + rest;
  state.pos += rest.length;
  return true;
}

/** Tokens as a tree: `{token, children}`; what is nested too deep stands beside the last that is not. */
export function treeOf(tokens) {
  const root = { children: [] }, stack = [root];
  for (const token of tokens) {
    const isOpen = stack.length < DEEPEST;
    const node = { token, children: [] };
    if (token.nesting < 0) stack.length > 1 && stack.pop();
    else if (isOpen || !token.nesting) stack.at(-1).children.push(node);
    if (token.nesting > 0) stack.push(isOpen ? node : stack.at(-1));
  }
  return root.children;
}

/** The elements that a text stands for. `note` is the path of its note, for links and pictures; `env` has the
 * addresses that links of the note refer to. */
export function spans(text, { note = "", env = {} } = {}) {
  if (text.length > LONGEST) return [text];
  const tokens = [];
  parser.inline.parse(text, parser, env, tokens);
  return shown(treeOf(tokens), note);
}

const shown = (nodes, note) => nodes.flatMap(({ token, children }) =>
  SPANS[token.type.replace(/_open$/, "")](token, shown(children, note), note));

const within = (tag) => (token, content) => el(tag, {}, content);

const SPANS = {
  text: ({ content }) => content, text_special: ({ content }) => content,
  softbreak: () => "\n", hardbreak: () => el("br"), break: () => el("br"), block: () => [],
  em: within("em"), strong: within("strong"), s: within("s"), mark: within("mark"),
  code_inline: ({ content }) => el("code", {}, content),
  link: (token, content, note) => leading(token.attrGet("href"), content, note),
  web: ({ content }) => outward(content, [content]),
  image: (token, content, note) => image(token.attrGet("src"), token.content, note),
  wiki: ({ meta: [, isShown, target, text] }, content, note) =>
    isShown && PICTURE.test(target) ? picture(note, target, text) : el("a", { href: `#/note?ref=${encodeURIComponent(`[[${target}]]`)}` }, text ?? target),
  formula: ({ meta: [, block, line] }) => el("span", { class: "formula" }, block?.trim() ?? line),
  hidden: ({ meta: [, obsidian, comment] }) => (obsidian === undefined ? tags(comment.trim()) : remark(obsidian.trim())),
  tag: ({ meta: [text, name] }) =>
    el("a", { class: "hashtag", href: `#/search?q=${encodeURIComponent(`tag:${name.replace(/^\/+|\/+$/g, "")}`)}` }, text),
};

/** A picture of the notes; one of the web is a link. */
function image(address, text, note) {
  if (!/^[a-z][a-z0-9+.-]+:/i.test(address)) return picture(note, address, text);
  const name = t("image", { name: text || address.slice(0, 80) });
  return el("span", { class: "image" }, /^https?:/i.test(address) ? outward(address, [name]) : name);
}

function outward(address, shown) {
  return el("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, shown);
}

/** A link: to the web, to mail, to a note, or none at all: then its text. */
function leading(address, shown, note) {
  if (/^(https?:\/\/|mailto:)/i.test(address)) return outward(address, shown);
  if (/^[a-z][a-z0-9+.-]*:/i.test(address) || /^[/\\#]/.test(address) || !/\.md($|#)/i.test(address)) {
    return el("span", { class: "nolink", title: address }, shown);
  }
  let place = address;
  try {
    place = decodeURIComponent(address);
  } catch {
    // An address that is not encoded is a name as it stands.
  }
  return el("a", { href: `#/note?ref=${encodeURIComponent(joined(note, place))}` }, shown);
}

/** The place that a note names from its folder, in the same workspace. */
function joined(note, place) {
  const [, workspace = "", folder] = /^([^/:]*:)?(.*?)[^/]*$/s.exec(note);
  const parts = [];
  for (const part of `${folder}${place}`.split("/")) {
    if (part === "..") parts.pop();
    else if (part && part !== ".") parts.push(part);
  }
  return workspace + parts.join("/");
}

/** A comment as a mark that tells what it says where it is pointed at. */
function remark(said) {
  return said ? [el("span", { class: "tag", role: "img", title: said.slice(0, 500), "aria-label": t("comment", { text: said.slice(0, 500) }) }, "…")] : [];
}

const BY = ["owner", "agent", "tool", "untrusted"]; // who may have written a line

const OURS = /^(cp:|(importance|trigger|project|superseded-by|valid-until|status|by|source|provenance)\s*:|(pinned|tentative)\s*$)/i;

/** A comment as small tags: who wrote a line, since when it holds, how much it weighs; any other as a mark alone. */
export function tags(said) {
  if (!OURS.test(said)) return remark(said);
  let marks = [said];
  const isOurs = /^cp:/i.test(said); // of whoever struck the line; others are of whoever wrote it
  if (isOurs) marks = said.slice(3).trim().split(/\s+/);
  else if (/^(by|source|provenance)\s*:/i.test(said)) marks = said.split(";").map((one) => one.trim());
  const isNamed = marks.some((one) => /^agent\s*[=:]/.test(one)); // who is named need not be said to be an agent
  return marks.filter((one) => one && !(isNamed && /^by\s*[=:]\s*agent$/.test(one))).slice(0, 12).map((one) => tag(one.slice(0, 200), isOurs));
}

function tag(said, isOurs) {
  const [, name, value] = /^([a-z_-]+)\s*[=:]\s*(.*)$/s.exec(said) ?? [null, "", said];
  if (/^(status:\s*)?tentative$/i.test(said)) return el("span", { class: "tag tentative", title: said }, t("label_tentative"));
  if (/^pinned$/i.test(said)) return el("span", { class: "tag", title: said }, t("label_pinned"));
  if (isOurs && name === "by" && BY.includes(value)) return el("span", { class: "tag", title: said }, t("struck_by", { who: t(`by_${value}`) }));
  const text = `tag_${name.replaceAll("-", "_")}`, known = t(text);
  const label = known === text ? name : known;
  const shown = name === "at" ? moment(value) : name === "by" && BY.includes(value) ? t(`by_${value}`) : value.replace(/%20/g, " ");
  return el("span", { class: "tag", title: said }, name ? `${label} ${shown}` : said);
}
