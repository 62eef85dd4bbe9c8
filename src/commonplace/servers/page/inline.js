// Text inside a line of Markdown and Obsidian: code, emphasis, struck and marked text, formulas, links, tags, comments.
// Whatever else it holds is text.
// No tag is taken for one, no image of the web is loaded; links lead to the web, to mail, or to another note.

import { el } from "./dom.js";
import { picture } from "./pictures.js";
import { moment, t } from "./words.js";

const LONGEST = 8000; // characters of a text that is looked at; what is longer is shown as it stands
const DEEPEST = 6;
const MOST_TRIED = 50; // marks that may close what one mark opens
const SPECIAL = /[\\`*_~[!<h=%$#^]/g;
const PAIRS = [["~~", "s"], ["**", "strong"], ["__", "strong"], ["*", "em"], ["_", "em"], ["==", "mark"]];
const LINK = /\[((?:[^[\]\\]|\\.){0,500})\]\(\s{0,9}(?:<([^<>\n]{1,2000})>|([^\s()<>]{0,2000}(?:\([^\s()]{0,200}\)[^\s()<>]{0,200})?))(?:\s{1,9}["'(][^"')]{0,300}["')])?\s{0,9}\)/y;
const WIKI = /\[\[([^[\]\n|]{1,300})(?:\|([^[\]\n]{1,300}))?\]\]/y;
const WEB = /https?:\/\/[^\s<>"'`（）()，。；、]{1,2000}/y;
const AUTO = /<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/y;
const FORMULA = /\$\$([^$]{1,2000})\$\$|\$(?!\s)((?:[^$\\\n]|\\.){1,500})(?<!\s)\$(?!\d)/y;
const HIDDEN = /%%((?:(?!%%)[^]){1,2000})%%/y;
const TAG = /#([\p{L}\p{M}\p{N}_/-]{1,100})(?![\p{L}\p{M}\p{N}_/#-])/uy;
const BLOCK = /\^[A-Za-z0-9-]{1,100}[ \t]*$/y; // what links to a block name it by
const PICTURE = /\.(?:png|jpe?g|gif|webp|svg|bmp|avif|heic)$/i;
const WORD = /[\p{L}\p{N}]/u;

/** The nodes that a text stands for. `note` is the path of its note, for links and pictures. */
export function inline(text, note = "", depth = 0) {
  if (text.length > LONGEST || depth > DEEPEST) return [text];
  const nodes = [];
  let from = 0, at = 0;
  const take = (node, end) => {
    if (from < at) nodes.push(text.slice(from, at));
    nodes.push(...[node].flat());
    from = at = end;
  };
  while (at < text.length) {
    SPECIAL.lastIndex = at;
    const next = SPECIAL.exec(text);
    if (!next) break;
    at = next.index;
    const found = read(text, at, note, depth);
    if (found) take(found.node, found.end);
    else at++;
  }
  if (from < text.length) nodes.push(text.slice(from));
  return nodes;
}

function read(text, at, note, depth) {
  switch (text[at]) {
    case "\\": return /[!-/:-@[-`{-~]/.test(text[at + 1] ?? "") ? { node: text[at + 1], end: at + 2 } : null;
    case "`": return code(text, at);
    case "!": return text[at + 1] === "[" ? embedded(text, at, note) ?? image(text, at, note) : null;
    case "%": return hidden(text, at);
    case "$": return formula(text, at);
    case "#": return hashtag(text, at);
    case "^": return isApart(text, at) && match(BLOCK, text, at) ? { node: [], end: text.length } : null;
    case "[": return wiki(text, at) ?? link(text, at, note, depth);
    case "<": return comment(text, at) ?? auto(text, at) ?? breaking(text, at);
    case "h": return web(text, at);
    default: return pair(text, at, note, depth);
  }
}

function match(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function code(text, at) {
  const marks = match(/`+/y, text, at)[0];
  let end = text.indexOf(marks, at + marks.length), tried = 0;
  while (end >= 0 && text[end + marks.length] === "`") {
    end = tried++ < MOST_TRIED ? text.indexOf(marks, match(/`+/y, text, end)[0].length + end) : -1;
  }
  if (end < 0) return { node: marks, end: at + marks.length };
  return { node: el("code", {}, text.slice(at + marks.length, end).trim() || " "), end: end + marks.length };
}

function pair(text, at, note, depth) {
  for (const [marks, tag] of PAIRS) {
    if (!text.startsWith(marks, at)) continue;
    const start = at + marks.length;
    if (!/\S/.test(text[start] ?? "")) return null;
    if (marks[0] === "_" && WORD.test(text[at - 1] ?? "")) return null;
    let end = text.indexOf(marks, start + 1), tried = 0;
    while (end >= 0 && !closes(text, end, marks)) {
      end = tried++ < MOST_TRIED ? text.indexOf(marks, end + 1) : -1;
    }
    if (end < 0) continue;
    return { node: el(tag, {}, inline(text.slice(start, end), note, depth + 1)), end: end + marks.length };
  }
  return null;
}

function closes(text, end, marks) {
  if (/\s|\\/.test(text[end - 1])) return false;
  if (marks.length === 1 && (text[end + 1] === marks || text[end - 1] === marks)) return false;
  return marks[0] !== "_" || !WORD.test(text[end + marks.length] ?? "");
}

function image(text, at, note) {
  const found = match(LINK, text, at + 1);
  if (!found) return null;
  const address = found[2] ?? found[3], end = at + 1 + found[0].length;
  if (/^[a-z][a-z0-9+.-]+:/i.test(address)) {
    const name = t("image", { name: found[1] || address.slice(0, 80) });
    return { node: el("span", { class: "image" }, /^https?:/i.test(address) ? outward(address, [name]) : name), end };
  }
  return { node: picture(note, address, found[1]), end };
}

/** `![[picture.png]]` is a picture, `![[Note]]` a link to what Obsidian shows there. */
function embedded(text, at, note) {
  const found = match(WIKI, text, at + 1);
  if (!found) return null;
  const end = at + 1 + found[0].length;
  return PICTURE.test(found[1]) ? { node: picture(note, found[1], found[2]), end } : { ...wiki(text, at + 1), end };
}

function hidden(text, at) {
  const found = match(HIDDEN, text, at);
  return found && { node: remark(found[1].trim()), end: at + found[0].length };
}

function formula(text, at) {
  const found = match(FORMULA, text, at);
  return found && { node: el("span", { class: "formula" }, found[1]?.trim() ?? found[2]), end: at + found[0].length };
}

const isApart = (text, at) => !/\S/.test(text[at - 1] ?? "");

/** `#project/kestrel` leads to what has this tag; `#12` is a number. */
function hashtag(text, at) {
  const found = isApart(text, at) ? match(TAG, text, at) : null;
  if (!found || !/[^\d/_-]/.test(found[1])) return null;
  return { node: el("a", { class: "hashtag", href: `#/search?q=${encodeURIComponent(`tag:${found[1].replace(/^\/+|\/+$/g, "")}`)}` }, found[0]), end: at + found[0].length };
}

function wiki(text, at) {
  const found = match(WIKI, text, at);
  if (!found) return null;
  const href = `#/note?ref=${encodeURIComponent(`[[${found[1]}]]`)}`;
  return { node: el("a", { href }, found[2] ?? found[1]), end: at + found[0].length };
}

function link(text, at, note, depth) {
  const found = match(LINK, text, at);
  if (!found) return null;
  const shown = inline(found[1].replace(/\\([[\]])/g, "$1"), note, depth + 1);
  return { node: leading(found[2] ?? found[3], shown, note), end: at + found[0].length };
}

function auto(text, at) {
  const found = match(AUTO, text, at);
  return found && { node: outward(found[1], [found[1].replace(/^mailto:/, "")]), end: at + found[0].length };
}

/** `<br>`, which tables have for lines in a cell: the only tag that is more than text. */
function breaking(text, at) {
  const found = match(/<br[ ]?\/?>/iy, text, at);
  return found && { node: el("br"), end: at + found[0].length };
}

function web(text, at) {
  if (WORD.test(text[at - 1] ?? "")) return null;
  const found = match(WEB, text, at);
  if (!found) return null;
  const address = found[0].replace(/[.,;:!?*_~\]]+$/, "");
  return { node: outward(address, [address]), end: at + address.length };
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

function comment(text, at) {
  if (!text.startsWith("<!--", at)) return null;
  const end = text.indexOf("-->", at + 4);
  return end < 0 ? null : { node: tags(text.slice(at + 4, end).trim()), end: end + 3 };
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
