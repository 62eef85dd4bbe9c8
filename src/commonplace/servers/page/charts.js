// Charts: notes, questions, tokens that were given against those of all notes, costs; each with its figures.

import { get } from "./api.js";
import { el, figures, noteLink, svg } from "./dom.js";
import { number, t } from "./words.js";

const MONTHS = 36, DAYS = 30; // that a chart shows
const axis = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const MOST_NEVER = 50;
const WIDTH = Math.max(300, Math.min(640, innerWidth - 32)), HEIGHT = 160, LEFT = 48, BOTTOM = 22, LABEL = 46;

export async function show(root) {
  const [listing, usage, costs] = await Promise.all([get("/api/notes"), get("/api/usage", { days: DAYS }), get("/api/costs", { by: "day", days: DAYS })]);
  const months = new Map();
  for (const { days } of listing.notes) for (const name of new Set(days.map((one) => one.slice(0, 7)))) months.set(name, (months.get(name) ?? 0) + 1);
  const spared = Math.floor(1000 * (1 - usage.tokens / usage.all_tokens)) / 10; // never all where some were given
  root.append(el("h1", {}, t("view_charts")),
    el("dl", { class: "figures" }, figure(number(listing.total), t("notes")), figure(number(usage.questions), t("questions_30")),
      spared >= 0 ? figure(`${spared} %`, t("spared")) : "", usage.questions ? figure(`${Math.round(usage.median_ms)} ms`, t("median")) : "", figure(`$${costs.reduce((sum, one) => sum + one.cost, 0).toFixed(2)}`, t("cost_30"))),
    chart(t("notes_by_month"), monthsOf([...months.keys()].sort()).map((name) => ({ name, values: [months.get(name) ?? 0] })), [t("notes")]),
    chart(t("questions_by_day"), daily(usage.days, "date", (one) => [one.searches, one.recalls, one.gets]), [t("did_search"), t("did_recall"), t("did_get")]),
    chart(t("tokens_by_day"), daily(usage.days, "date", (one) => [one.tokens, Math.max(0, one.all_tokens - one.tokens)]), [t("tokens_given"), t("tokens_all")]),
    chart(t("costs_by_day"), daily(costs, "name", (one) => [one.cost]), [t("dollars")], 4),
    uses(t("most_found"), usage.most_found, (one) => one.found), unanswered(usage.unanswered), neverFound(usage.never_found));
  return {};
}

/** Every month from the first to the last, or the newest of them. */
function monthsOf(names) {
  const all = [];
  for (let name = names[0]; name && name <= names.at(-1); ) {
    all.push(name);
    const [year, month] = name.split("-").map(Number);
    name = month < 12 ? `${year}-${String(month + 1).padStart(2, "0")}` : `${year + 1}-01`;
  }
  return all.slice(-MONTHS);
}

/** A row for each of the last days, nothing where there are no figures at all. */
function daily(rows, name, valuesOf) {
  if (!rows.length) return [];
  const known = new Map(rows.map((row) => [row[name], valuesOf(row)]));
  const none = valuesOf(rows[0]).map(() => 0);
  const days = new Set(known.keys());
  for (let n = 0; n < DAYS; n++) days.add(new Date(Date.now() - n * 86_400_000).toLocaleDateString("sv-SE")); // as ISO 8601 has it
  return [...days].sort().slice(-DAYS).map((one) => ({ name: one, values: known.get(one) ?? none }));
}

function figure(value, name) {
  return el("div", {}, el("dt", {}, name), el("dd", {}, value));
}

/** Bars, stacked; the figures follow as a table for those who want them. */
function chart(title, rows, names, digits = 0) {
  const box = el("section", { class: "chart" }, el("h2", {}, title));
  if (!rows.length) {
    box.append(el("p", { class: "muted" }, t("no_figures")));
    return box;
  }
  const sums = rows.map((row) => row.values.reduce((a, b) => a + b, 0));
  const top = Math.max(...sums) || 1;
  const wide = Math.min(60, (WIDTH - LEFT) / rows.length);
  const high = (value) => (value / top) * (HEIGHT - BOTTOM - 10);
  const shown = (value) => (digits ? value.toFixed(digits) : number(value));
  const bars = rows.flatMap((row, n) => {
    let y = HEIGHT - BOTTOM;
    return row.values.map((value, kind) => {
      y -= high(value);
      return svg("rect", { class: `kind-${kind}`, x: LEFT + n * wide + 1, y, width: Math.max(1, wide - 2), height: Math.max(0, high(value)) },
        svg("title", {}, `${row.name}: ${shown(value)} ${names[kind]}`));
    });
  });
  const every = Math.ceil(72 / wide);
  const [anchor, share] = wide < LABEL ? ["end", 1] : ["middle", 0.5]; // of a narrow bar the label ends with it
  const labels = rows.map((row, n) => ((rows.length - 1 - n) % every ? null : svg("text", { x: LEFT + (n + share) * wide, y: HEIGHT - 6, "text-anchor": anchor }, row.name.length > 7 ? row.name.slice(5) : row.name)));
  box.append(
    names.length > 1 ? el("p", { class: "legend" }, names.map((name, kind) => el("span", { class: `key kind-${kind}` }, name))) : "",
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}: ${rows.map((row) => `${row.name} ${row.values.map(shown).join(" / ")}`).join("; ").slice(0, 2000)}` },
      svg("line", { x1: LEFT, x2: WIDTH, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM }),
      svg("text", { x: LEFT - 6, y: 14, "text-anchor": "end" }, axis.format(top)), svg("text", { x: LEFT - 6, y: HEIGHT - BOTTOM, "text-anchor": "end" }, "0"), bars, labels),
    el("details", {}, el("summary", {}, t("figures")), figures(title, [t("when"), ...names], rows.map((row) => [row.name, ...row.values.map(shown)]))));
  return box;
}

function uses(title, notes, count) {
  if (!notes.length) return "";
  const top = Math.max(...notes.map(count)) || 1;
  return el("section", { class: "chart" }, el("h2", {}, title), el("ul", { class: "plain uses" }, notes.slice(0, 10).map((one) => {
    const bar = el("span", { class: "bar" });
    bar.style.width = `${(count(one) / top) * 6}rem`;
    return el("li", {}, noteLink(one.path), bar, number(count(one)));
  })));
}

function unanswered(questions) {
  return listed(t("unanswered"), questions.slice(0, 20).map((one) =>
    [el("a", { href: `#/search?q=${encodeURIComponent(one.question)}` }, one.question), el("span", { class: "muted" }, ` × ${one.times} · ${one.last}`)]));
}

/** Notes that no question found since the record began. */
function neverFound(notes) {
  return listed(t("never_found", { n: number(notes.length) }), notes.slice(0, MOST_NEVER).map((one) =>
    [noteLink(one.path), el("span", { class: "muted" }, one.title === one.path ? "" : ` · ${one.title}`)]));
}

function listed(title, rows) {
  return rows.length ? el("section", { class: "chart" }, el("h2", {}, title), el("ul", { class: "plain" }, rows.map((row) => el("li", {}, row)))) : "";
}
