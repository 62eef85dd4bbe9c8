// Notes as they are read: blocks of Markdown, each with the lines it stands on. markdown-it finds the tokens; every
// element is made from a token's text, so that nothing in a note can become a tag, a handler, a style, or a load.

import { el } from "./dom.js";
import { parser, spans, tags, treeOf } from "./inline.js";
import { t } from "./words.js";

const CALLOUT = /^\[!([\w-]{1,40})\][+-]?[ \t]*(.*)$/;
const BOX = /^\[([ xX])\]\s+(?=\S)/;
const LONGEST = 20_000; // characters of a block that are shown
const MOST_ITEMS = 200; // of a list in one block
const DEEPEST = 16; // levels of lists and quotations; an item of a list is two

change("list", isShallow);
change("blockquote", isShallow);
change("fence", closedBeside);
parser.block.ruler.before("fence", "comment", comment, { alt: ["paragraph", "list"] });
parser.block.ruler.before("paragraph", "callout", callout);

// --- rules for blocks ---

/** Replace a rule of markdown-it by `made(rule)`. */
function change(name, made) {
  const { fn, alt } = parser.block.ruler.__rules__.find((one) => one.name === name);
  parser.block.ruler.at(name, made(fn), { alt });
}

/** A rule for nesting blocks that ends at a depth; what is nested deeper is text. */
function isShallow(rule) {
  return (state, ...more) => state.level < DEEPEST && rule(state, ...more);
}

/** The rule for fences, which also takes a closing mark to the left of the list item whose code it closes. */
function closedBeside(rule) {
  return (state, start, end, silent) => {
    if (!rule(state, start, end, silent)) return false;
    const next = state.line, token = state.tokens.at(-1);
    if (silent || !state.blkIndent || next >= end || state.sCount[next] >= state.blkIndent) return true;
    const line = (n) => state.src.slice(state.bMarks[n] + state.tShift[n], state.eMarks[n]).trim();
    const closes = (text) => text.startsWith(token.markup) && !text.replaceAll(token.markup[0], "");
    if (closes(line(next)) && !(next - start > 1 && closes(line(next - 1)))) token.map[1] = ++state.line;
    return true;
  };
}

/** A comment with lines of its own. */
function comment(state, start, end, silent) {
  const first = state.bMarks[start] + state.tShift[start];
  if (!state.src.startsWith("<!--", first)) return false;
  const length = state.src.slice(first + 4, first + LONGEST).indexOf("-->");
  if (length < 0) return false;
  const close = first + 4 + length;
  let line = start;
  while (line < end - 1 && state.eMarks[line] < close + 3) line++;
  if (state.src.slice(close + 3, state.eMarks[line]).trim()) return false;
  if (silent) return true;
  state.line = line + 1;
  const token = Object.assign(state.push("comment", "", 0), { map: [start, state.line] });
  token.content = state.src.slice(first + 4, close).trim();
  return true;
}

/** The first line of a quotation that is a callout: `[!kind] title`. */
function callout(state, start, end, silent) {
  if (silent || state.tokens.at(-1)?.type !== "blockquote_open") return false;
  const found = CALLOUT.exec(state.getLines(start, start + 1, state.blkIndent, false).trim());
  if (!found) return false;
  state.line = start + 1;
  Object.assign(state.push("callout", "", 0), { map: [start, state.line], info: found[1], content: found[2] });
  return true;
}

// --- blocks ---

/** The blocks of some lines of a `note`, in order: `{start, end, level, make}`; lines count from `first`, and
 * `level` is that of a heading. A task can be ticked with `tick(line, done)`, if that is given. */
export function blocks(lines, { first = 1, note = "", tick = null } = {}) {
  const tokens = [], env = {};
  const front = first === 1 ? frontEnd(lines) : 0;
  parser.block.parse(lines.slice(front).join("\n").replaceAll("\0", "\ufffd"), parser, env, tokens);
  const context = { lines, first: first + front, offset: front, note, tick, env };
  const found = treeOf(tokens).flatMap(parts).map((node) => ({ ...span(node, context), level: levelOf(node), make: () => made(node, context) }));
  const head = { start: 1, end: front, make: () => placed(frontMatter(lines.slice(1, front - 1)), head) };
  return front ? [head, ...found] : found;
}

/** All blocks of some lines as elements. */
export function render(lines, options) {
  return blocks(lines, options).map((one) => one.make());
}

const levelOf = ({ token: { type, tag } }) => (type === "heading_open" ? Number(tag[1]) : 0);

/** A long list as several, of which the first is made before the others; any other block as it is. */
function parts({ token, children }) {
  if (!/^(bullet|ordered)_list/.test(token.type) || children.length <= MOST_ITEMS) return [{ token, children }];
  const items = children.slice(0, MOST_ITEMS), rest = children.slice(MOST_ITEMS);
  const part = (own, attrGet) => ({ token: { ...token, map: [own[0].token.map[0], own.at(-1).token.map[1]], attrGet }, children: own });
  const start = Number(token.attrGet("start") ?? 1);
  return [part(items, () => start), ...parts(part(rest, () => start + MOST_ITEMS))];
}

/** The open tasks in some lines: `{line, text}` each; lines count from 1. */
export function tasksIn(lines) {
  const tokens = [];
  parser.block.parse(lines.join("\n"), parser, {}, tokens);
  return tokens.flatMap(({ map, content }, at) => {
    const box = tokens[at - 2]?.type === "list_item_open" ? BOX.exec(content) : null;
    return box?.[1] === " " ? [{ line: map[0] + 1, text: content.slice(box[0].length) }] : [];
  });
}

/** How many lines front matter takes; 0 without any. */
function frontEnd(lines) {
  if (lines[0]?.trimEnd() !== "---") return 0;
  return lines.findIndex((line, at) => at > 0 && /^(---|\.\.\.)\s*$/.test(line)) + 1;
}

function frontMatter(lines) {
  return el("details", { class: "front" }, el("summary", {}, t("front_matter")), el("pre", {}, lines.join("\n")));
}

/** The lines of a block, without the empty ones behind it. */
function span({ token: { map } }, { lines, first, offset }) {
  let end = map[1];
  while (end > map[0] + 1 && !lines[end - 1 + offset].trim()) end--;
  return { start: first + map[0], end: first + end - 1 };
}

/** Note on an element which lines it stands on. */
function placed(element, { start, end }) {
  Object.assign(element.dataset, { start, end });
  return element;
}

function made(node, context) {
  const make = MAKERS[node.token.type.replace(/_open$/, "")];
  const element = make(node, context);
  return node.token.map ? placed(element, span(node, context)) : element;
}

const all = (nodes, context) => nodes.map((one) => made(one, context));

/** An element that can be pointed at: what is corrected, confirmed or forgotten. */
function statement(tag, ...content) {
  return el(tag, { class: "line" }, ...content);
}

/** The text of a block as elements. */
function words({ children }, context) {
  return children.flatMap(({ token: { content } }) => (content.length > LONGEST ? [cut(content)] : spans(content, context)));
}

function cut(text) {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)} … ${t("more_characters", { n: text.length - LONGEST })}` : text;
}

function code({ token }) {
  const label = (token.info ?? "").trim().slice(0, 40) || t("code");
  return el("pre", { class: "code", tabindex: "0", "aria-label": label }, el("code", {}, cut(token.content.replace(/\n$/, ""))));
}

function list(tag) {
  return ({ token, children }, context) => {
    const start = token.attrGet("start");
    return el(tag, { start: Number(start ?? 1) === 1 ? null : start }, all(children, context));
  };
}

/** An item of a list, whose own text is a statement; a task shows its box, to be ticked if that may be. */
function item({ children }, context) {
  const [head, ...rest] = children;
  if (head?.token.type !== "paragraph_open") return el("li", {}, all(children, context));
  const text = head.children[0].token;
  const box = BOX.exec(text.content);
  if (!box) return el("li", {}, placed(statement("div", words(head, context)), span(head, context)), all(rest, context));
  const shown = { children: [{ token: { content: text.content.slice(box[0].length) } }] };
  const own = span(head, context);
  const kept = text.content.includes("[REDACTED") ? {} : context; // a line with a secret is edited in its file
  const line = statement("div", checkbox(box[1] !== " ", own.start, kept), " ", words(shown, context));
  return el("li", { class: "task" }, placed(line, own), all(rest, context));
}

function checkbox(done, line, { tick }) {
  const label = t(done ? "done" : "open");
  if (!tick) return el("span", { class: "box", role: "img", "aria-label": label }, done ? "☑" : "☐");
  return el("input", { type: "checkbox", class: "box", checked: done, "aria-label": label, onchange: ({ target }) => tick(line, target.checked, target) });
}

function quotation({ children }, context) {
  const isCallout = children[0]?.token.type === "callout";
  return el("blockquote", { class: isCallout ? "callout" : null }, all(children, context));
}

/** What stands above a callout: its title, which is a statement, or the name of its kind. */
function titled({ token: { info, content } }, context) {
  if (content) return el("p", { class: "titled line" }, spans(content, context));
  const name = `callout_${info.toLowerCase()}`, known = t(name);
  return el("p", { class: "titled" }, known === name ? info : known);
}

function table({ children }, context) {
  return el("div", { class: "table", tabindex: "0", role: "group", "aria-label": t("table") }, el("table", {}, all(children, context)));
}

function cell(tag) {
  return (node, context) => el(tag, { class: /right/.test(node.token.attrGet("style")) ? "right" : null }, words(node, context));
}

const MAKERS = {
  paragraph: (node, context) => statement("p", words(node, context)),
  heading: (node, context) => el(`h${Math.min(6, levelOf(node) + 1)}`, {}, words(node, context)),
  bullet_list: list("ul"), ordered_list: list("ol"), list_item: item,
  blockquote: quotation, callout: titled,
  fence: code, code_block: code, hr: () => el("hr"),
  comment: ({ token }) => el("p", {}, tags(token.content)),
  reference_definition: (node, { lines, first, offset }) => {
    const { start, end } = span(node, { lines, first, offset });
    return statement("p", lines.slice(start - first + offset, end - first + offset + 1).join("\n"));
  },
  table, th: cell("th"), td: cell("td"),
  thead: ({ children }, context) => el("thead", {}, all(children, context)),
  tbody: ({ children }, context) => el("tbody", {}, all(children, context)),
  tr: ({ children }, context) => el("tr", { class: children[0]?.token.tag === "td" ? "line" : null }, all(children, context)),
};

/** What a heading says, without the marks that may close it. */
export const title = (text = "") => text.trim().replace(/(^|\s)#+$/, "").trim();
