// What can be wrong and what helps; what is searched; which models there are.

import { get } from "./api.js";
import { el, withCode } from "./dom.js";
import { explained } from "./statements.js";
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
    findings.replaceChildren(el("p", { class: "muted" }, t("examining")));
    try {
      const answer = await get("/api/health", { online: online.checked });
      draw(answer);
    } catch (error) {
      if (error.name !== "AbortError") findings.replaceChildren(el("p", { class: "bad", role: "alert" }, explained(error)));
    }
    again.disabled = false;
  }

  function draw({ counts, findings: all }) {
    const bad = all.filter((one) => one.state === "wrong" || one.state === "warning");
    const groups = new Map();
    for (const one of all) groups.set(one.check.split(".")[0], [...(groups.get(one.check.split(".")[0]) ?? []), one]);
    findings.replaceChildren(
      el("p", { class: counts.wrong ? "verdict bad" : "verdict" }, t(counts.wrong ? "verdict_wrong" : bad.length ? "verdict_warning" : "verdict_ok", { n: counts.wrong || bad.length })),
      el("ul", { class: "findings" }, bad.map(row)),
      ...[...groups].map(([name, members]) => el("details", { class: "group" }, el("summary", {}, grouped(name), " ",
        el("span", { class: "muted" }, t("checks", { n: members.length }))), el("ul", { class: "findings" }, members.map(row)))));
  }

  const examined = examine();
  const [status, costs] = await Promise.all([get("/api/status"), get("/api/costs", { by: "model" }).catch(() => [])]);
  root.append(about(status), collections(status), models(status, costs));
  await examined;
  return { keys: { r: examine } };
}

function grouped(name) {
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
  return el("section", {}, el("h2", {}, t("collections")), el("div", { class: "table", tabindex: "0", role: "group", "aria-label": t("collections") }, el("table", {},
    el("thead", {}, el("tr", {}, [t("collection"), t("folder")].map((one) => el("th", {}, one)), [t("notes"), t("passages")].map((one) => el("th", { class: "right" }, one)))),
    el("tbody", {}, status.collections.map((one) => el("tr", {}, el("td", {}, el("a", { href: `#/notes` }, one.name)), el("td", {}, el("code", {}, one.root)),
      el("td", { class: "right" }, number(one.notes)), el("td", { class: "right" }, number(one.passages))))))));
}

function models(status, costs) {
  const rows = costs.map((one) => el("tr", {}, el("td", {}, one.name), el("td", { class: "right" }, number(one.calls)), el("td", { class: "right" }, number(one.tokens_in + one.tokens_out)), el("td", { class: "right" }, one.cost.toFixed(4))));
  return el("section", {}, el("h2", {}, t("models")), el("p", {}, t("embedding_model"), " ", el("code", {}, status.model)),
    rows.length ? el("div", { class: "table", tabindex: "0", role: "group", "aria-label": t("models") }, el("table", {}, el("thead", {}, el("tr", {}, el("th", {}, t("model")),
      [t("calls"), t("tokens"), t("dollars")].map((one) => el("th", { class: "right" }, one)))), el("tbody", {}, rows))) : el("p", { class: "muted" }, t("no_calls")));
}
