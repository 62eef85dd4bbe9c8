// A unified diff, in colour and with marks.

import { el } from "./dom.js";
import { t } from "./words.js";

const MOST = 2000; // lines that are shown
const MOST_COMPARED = 1_000_000; // pairs of lines

/** Show a diff; each line says whether it is added or removed to those who do not see its colour. */
export function diff(text) {
  const box = el("div", { class: "diff", role: "group", "aria-label": t("diff"), tabindex: "0" });
  const lines = text.replace(/\n$/, "").split("\n");
  let file = ""; // as it was called before, which names one that is removed
  for (const line of lines.slice(0, MOST)) {
    if (line.startsWith("--- ")) file = line.slice(4);
    box.append(row(line, file));
  }
  if (lines.length > MOST) box.append(el("p", { class: "muted" }, t("more_lines", { n: lines.length - MOST })));
  return box;
}

function row(line, file) {
  if (line.startsWith("--- ")) return el("div", { class: "diff-old" }, line.slice(4));
  if (line.startsWith("+++ ")) return el("div", { class: "diff-file" }, line === "+++ /dev/null" ? file.replace(/^a\//, "") : line.slice(4).replace(/^b\//, ""));
  if (line.startsWith("@@")) {
    const [, before, after] = /-(\d+)(?:,\d+)? \+(\d+)/.exec(line) ?? [];
    return el("div", { class: "diff-at" }, t("from_line", { n: Number(after) || before || "" }));
  }
  const kind = { "+": "ins", "-": "del" }[line[0]];
  if (!kind) return el("div", { class: "diff-same" }, line.slice(1) || " ");
  return el(kind, { class: "diff-line" }, el("span", { class: "sign" }, line[0] === "+" ? "+" : "−"), line.slice(1) || " ");
}

/** The lines of two texts side by side as a diff: what only one of them has. */
export function compare(before, after) {
  const a = before.split("\n"), b = after.split("\n");
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const around = a.slice(Math.max(0, start - 2), start).map((line) => ` ${line}`);
  const below = a.slice(a.length - end, a.length - end + 2).map((line) => ` ${line}`);
  const between = marked(a.slice(start, a.length - end), b.slice(start, b.length - end));
  return diff([...around, ...between, ...below].join("\n"));
}

const AROUND = 200; // characters that are shown before and behind what differs

/** A line with what it loses struck and what it gains underlined, character by character. */
export function worded(before, after) {
  const a = [...before], b = [...after];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const nodes = [start > AROUND ? "…" : "", a.slice(Math.max(0, start - AROUND), start).join("")];
  let kind = "", run = "";
  const close = () => run && nodes.push(kind === " " ? run : el(kind === "-" ? "del" : "ins", {}, run));
  for (const one of marked(a.slice(start, a.length - end), b.slice(start, b.length - end))) {
    if (one[0] !== kind) {
      close();
      [kind, run] = [one[0], ""];
    }
    run += one.slice(1);
  }
  close();
  return [...nodes, a.slice(a.length - end, a.length - end + AROUND).join(""), end > AROUND ? "…" : ""];
}

/** Lines with their marks, by the longest common subsequence; of long texts just both, one after the other. */
function marked(a, b) {
  if (a.length * b.length > MOST_COMPARED) return [...a.map((line) => `-${line}`), ...b.map((line) => `+${line}`)];
  const common = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const lines = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push(` ${a[i++]}`);
      j++;
    } else if (j >= b.length || (i < a.length && common[i + 1][j] >= common[i][j + 1])) lines.push(`-${a[i++]}`);
    else lines.push(`+${b[j++]}`);
  }
  return lines;
}
