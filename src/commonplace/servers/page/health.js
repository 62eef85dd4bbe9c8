// What can be wrong and what helps; what is searched; which models there are.

import { get } from "./api.js";
import { fill } from "./dialogs.js";
import { el, figures, grouped, withCode } from "./dom.js";
import { named, number, t, told } from "./words.js";

const SIGNS = { ok: "✓", warning: "!", wrong: "✕", skipped: "–" };

export async function show(root) {
  const findings = el("div", { "aria-live": "polite" });
  const online = el("input", { type: "checkbox" });
  const again = el("button", { type: "button", class: "main", onclick: () => examine() }, t("examine"));
  root.append(el("header", { class: "notehead" }, el("h1", {}, t("view_health")), el("div", { class: "tools" },
    el("label", { class: "check" }, online, " ", t("online_too")), again)), findings);

  async function examine() {
    again.disabled = true;
    await fill(findings, async () => verdict(await get("/api/health", { online: online.checked })), t("examining"));
    again.disabled = false;
  }

  const examined = examine();
  const [status, costs] = await Promise.all([get("/api/status"), get("/api/costs", { by: "model" }).catch(() => [])]);
  root.append(about(status), collections(status), models(status, costs));
  await examined;
  return { keys: { r: examine } };
}

function verdict({ counts, findings }) {
  const bad = findings.filter((one) => one.state === "wrong" || one.state === "warning");
  const told = counts.wrong ? "verdict_wrong" : bad.length ? "verdict_warning" : "verdict_ok";
  const groups = grouped(findings, (one) => one.check.split(".")[0]);
  return [
    el("p", { class: counts.wrong ? "verdict bad" : "verdict" }, t(told, { n: counts.wrong || bad.length })),
    el("ul", { class: "findings" }, bad.map(row)),
    ...[...groups].map(([name, members]) => el("details", { class: "group" }, el("summary", {}, groupNamed(name), " ",
      el("span", { class: "muted" }, t("checks", { n: members.length }))), el("ul", { class: "findings" }, members.map(row)))),
  ];
}

function groupNamed(name) {
  const words = t(`group_${name}`);
  return words === `group_${name}` ? name : words;
}

/** A finding: the Chinese name of what was examined, what was found, and what helps. */
function row(one) {
  const name = named(one.check);
  const found = told(one, "told");
  const isEnglish = name && found === one.told;
  return el("li", { class: one.state }, el("span", { class: "sign", role: "img", "aria-label": t(`state_${one.state}`) }, SIGNS[one.state]),
    el("div", {}, name ? el("span", {}, name, t("colon")) : null, el("span", isEnglish ? { lang: "en", class: "muted" } : {}, withCode(found)), " ", el("code", { class: "muted" }, one.check),
      one.remedy ? el("p", { class: "remedy" }, withCode(told(one, "remedy"))) : null));
}

function about(status) {
  const size = `${(status.index_bytes / 1e6).toFixed(1)} MB`;
  const rows = [[t("workspace"), status.workspace], [t("notes"), number(status.notes)], [t("passages"), number(status.passages)],
    [t("vectors"), t("of_passages", { n: number(status.vectors), pending: number(status.pending) })], [t("index"), size],
    ["MEMORY.md", t("long_term_size", { n: number(status.long_term), budget: number(status.long_term_budget) })]];
  return el("section", {}, el("h2", {}, t("this_memory")), el("dl", { class: "facts" }, rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))));
}

function collections(status) {
  const rows = status.collections.map((one) => [el("a", { href: "#/notes" }, one.name), el("code", {}, one.root), number(one.notes), number(one.passages)]);
  return el("section", {}, el("h2", {}, t("collections")), figures(t("collections"), [t("collection"), t("folder"), t("notes"), t("passages")], rows, 2));
}

function models(status, costs) {
  const rows = costs.map((one) => [one.name, number(one.calls), number(one.tokens_in + one.tokens_out), one.cost.toFixed(4)]);
  return el("section", {}, el("h2", {}, t("models")), el("p", {}, t("embedding_model"), " ", el("code", {}, status.model)),
    rows.length ? figures(t("models"), [t("model"), t("calls"), t("tokens"), t("dollars")], rows) : el("p", { class: "muted" }, t("no_calls")));
}
