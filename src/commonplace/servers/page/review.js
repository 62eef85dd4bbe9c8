// A consolidation: proposed, reviewed line by line with what each rests on, and accepted in part or not.

import { post } from "./api.js";
import { fill, tell } from "./dialogs.js";
import { diff } from "./diff.js";
import { el, noteLink, toast, withCode } from "./dom.js";
import { requests } from "./requests.js";
import { undoOf } from "./statements.js";
import { number, reason, t, told, warned } from "./words.js";

export async function show(root) {
  const days = el("input", { type: "number", min: "1", max: "366", value: "30", id: "days" });
  const go = el("button", { class: "main" }, t("propose"));
  const body = el("div", { class: "review", "aria-live": "polite" });
  const asked = el("section", { class: "requests" });
  root.append(el("h1", {}, t("view_review")), asked, el("h2", {}, t("consolidation")), el("p", {}, t("review_about")),
    el("form", { class: "inline", onsubmit: propose }, el("label", { for: "days" }, t("days_of_notes")), days, go), body);
  let code = "", at = -1;

  async function propose(event) {
    event?.preventDefault();
    go.disabled = true;
    await fill(body, async () => drawn(await post("/api/consolidation/preview", { days: Number(days.value) || 30 })), t("proposing"));
    go.disabled = false;
  }

  function drawn(answer) {
    code = answer.preview;
    at = -1;
    const more = (title, rows) => rows.length && el("details", {}, el("summary", {}, `${title} (${rows.length})`), el("ul", {}, rows));
    const why = (one) => el("span", { class: "muted" }, told(one, "reason"));
    return [
      answer.planned ? null : el("p", { class: "notice" }, withCode(t("no_model"))), ...warned(answer).map((one) => el("p", { class: "warn" }, one)),
      el("p", { class: "muted" }, t(answer.planned ? "proposed" : "proposed_alone", { n: number(answer.lines.length), candidates: number(answer.candidates) })),
      el("ol", { class: "proposals" }, answer.lines.map(line)),
      answer.lines.length && el("div", { class: "buttons" },
        el("button", { type: "button", class: "quiet", onclick: reject }, t("reject_all")),
        el("button", { type: "button", class: "main", onclick: accept }, t("accept_chosen"))),
      more(t("rejected_lines"), answer.rejected.map((one) => el("li", {}, one.text, " ", why(one)))),
      more(t("conflicts"), answer.conflicts.map((one) => el("li", {}, quote(one.source), quote(one.entry)))),
      more(t("orphans"), answer.orphans.map((one) => el("li", {}, quote(one.entry), why(one)))),
      answer.diff && el("details", {}, el("summary", {}, t("diff")), diff(answer.diff)),
    ];
  }

  function line(one) {
    const box = el("input", { type: "checkbox", checked: true, value: one.number, id: `line-${one.number}` });
    const [first] = one.targets, ends = !one.text && first;
    return el("li", { class: "proposal", tabindex: "-1" },
      el("label", { for: `line-${one.number}` }, box, " ", el("span", { class: "chip" }, t(`op_${one.op}`)), " ", ends ? el("s", {}, first.text) : one.text),
      el("p", { class: "muted" }, [ends && noteLink(first.citation), t(`becomes_${one.op}`, { n: one.targets.length, section: one.section }), one.reason && reason(one.reason),
        one.until && t(ends ? "held_until" : "holds_until", { day: one.until })].filter(Boolean).flatMap((part) => [part, " "])),
      one.targets.length && !ends ? el("div", {}, el("h3", {}, t("is_struck")), one.targets.map((entry) => gone(entry, one.text))) : null,
      one.sources.length ? el("div", {}, el("h3", {}, t("rests_on")), one.sources.map(quote)) : null);
  }

  function quote(entry) {
    return el("blockquote", {}, entry.text, " ", noteLink(entry.citation), entry.speaker ? el("span", { class: "muted" }, ` · ${entry.speaker} · ${entry.day}`) : null);
  }

  /** What is struck for a line; where that has the same words its place is enough. */
  function gone(entry, text) {
    return el("blockquote", {}, entry.text === text ? null : [el("s", {}, entry.text), " "], noteLink(entry.citation),
      entry.text === text ? el("span", { class: "muted" }, ` ${t("same_words")}`) : null);
  }

  async function accept() {
    const lines = [...body.querySelectorAll(".proposal input:checked")].map((one) => Number(one.value));
    if (!lines.length) return toast(t("none_chosen"));
    await settle("/api/consolidation", { lines }, (done) => t("accepted", { n: number(done.lines.length) }));
  }

  const reject = () => settle("/api/consolidation/reject", {}, () => t("rejected"));

  /** Send a decision, and say what it did in place of the proposals. */
  async function settle(path, values, message) {
    try {
      const done = await post(path, { preview: code, ...values });
      body.replaceChildren(el("p", { class: "notice" }, message(done)));
      toast(message(done), { kind: "good", action: undoOf(done) });
    } catch (error) {
      tell(error);
    }
  }

  function select(n) {
    const all = [...body.querySelectorAll(".proposal")];
    if (!all.length) return;
    at = Math.min(Math.max(n, 0), all.length - 1);
    for (const one of all) one.classList.toggle("selected", one === all[at]);
    all[at].focus();
  }
  const list = () => requests(asked);
  await list();
  const toggle = () => body.querySelector(".proposal.selected input")?.click();
  return { keys: { j: () => select(at + 1), k: () => select(at - 1), x: toggle, a: () => code && accept() }, changed: list };
}
