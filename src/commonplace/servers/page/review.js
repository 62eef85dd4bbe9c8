// A consolidation: proposed, reviewed line by line with what each rests on, and accepted in part or not.

import { post } from "./api.js";
import { diff } from "./diff.js";
import { el, toast, withCode } from "./dom.js";
import { requests } from "./requests.js";
import { explained, tell, undo } from "./statements.js";
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
    body.replaceChildren(el("p", { class: "muted" }, t("proposing")));
    try {
      draw(await post("/api/consolidation/preview", { days: Number(days.value) || 30 }));
    } catch (error) {
      body.replaceChildren(el("p", { class: "bad", role: "alert" }, explained(error)));
    }
    go.disabled = false;
  }

  function draw(answer) {
    code = answer.preview;
    at = -1;
    const head = answer.planned ? [] : [el("p", { class: "notice" }, withCode(t("no_model")))];
    body.replaceChildren(...head, ...warned(answer).map((one) => el("p", { class: "warn" }, one)),
      el("p", { class: "muted" }, t(answer.planned ? "proposed" : "proposed_alone", { n: number(answer.lines.length), candidates: number(answer.candidates) })),
      el("ol", { class: "proposals" }, answer.lines.map(line)));
    if (answer.lines.length) {
      body.append(el("div", { class: "buttons" },
        el("button", { type: "button", class: "quiet", onclick: reject }, t("reject_all")),
        el("button", { type: "button", class: "main", onclick: accept }, t("accept_chosen"))));
    }
    more(t("rejected_lines"), answer.rejected.map((one) => el("li", {}, one.text, " ", el("span", { class: "muted" }, told(one, "reason")))));
    more(t("conflicts"), answer.conflicts.map((one) => el("li", {}, quote(one.source), quote(one.entry))));
    more(t("orphans"), answer.orphans.map((one) => el("li", {}, quote(one.entry), el("span", { class: "muted" }, told(one, "reason")))));
    if (answer.diff) body.append(el("details", {}, el("summary", {}, t("diff")), diff(answer.diff)));
  }

  function more(title, rows) {
    if (rows.length) body.append(el("details", {}, el("summary", {}, `${title} (${rows.length})`), el("ul", {}, rows)));
  }

  function line(one) {
    const box = el("input", { type: "checkbox", checked: true, value: one.number, id: `line-${one.number}` });
    const [first] = one.targets, ends = !one.text && first;
    return el("li", { class: "proposal", tabindex: "-1" },
      el("label", { for: `line-${one.number}` }, box, " ", el("span", { class: "chip" }, t(`op_${one.op}`)), " ", ends ? el("s", {}, first.text) : one.text),
      el("p", { class: "muted" }, [ends && el("a", place(first), first.citation), t(`becomes_${one.op}`, { n: one.targets.length, section: one.section }), one.reason && reason(one.reason),
        one.until && t(ends ? "held_until" : "holds_until", { day: one.until })].filter(Boolean).flatMap((part) => [part, " "])),
      one.targets.length && !ends ? el("div", {}, el("h3", {}, t("is_struck")), one.targets.map((entry) => gone(entry, one.text))) : null,
      one.sources.length ? el("div", {}, el("h3", {}, t("rests_on")), one.sources.map(quote)) : null);
  }

  const place = (entry) => ({ href: `#/note?ref=${encodeURIComponent(entry.citation)}` });

  function quote(entry) {
    return el("blockquote", {}, entry.text, " ", el("a", place(entry), entry.citation), entry.speaker ? el("span", { class: "muted" }, ` · ${entry.speaker} · ${entry.day}`) : null);
  }

  /** What is struck for a line; where that has the same words its place is enough. */
  function gone(entry, text) {
    return el("blockquote", {}, entry.text === text ? null : [el("s", {}, entry.text), " "], el("a", place(entry), entry.citation),
      entry.text === text ? el("span", { class: "muted" }, ` ${t("same_words")}`) : null);
  }

  async function accept() {
    const lines = [...body.querySelectorAll(".proposal input:checked")].map((one) => Number(one.value));
    if (!lines.length) return toast(t("none_chosen"));
    try {
      const done = await post("/api/consolidation", { preview: code, lines });
      body.replaceChildren(el("p", { class: "notice" }, t("accepted", { n: number(done.lines.length) })));
      toast(t("accepted", { n: number(done.lines.length) }), { kind: "good", action: done.run && { label: t("undo"), run: () => undo(done.run) } });
    } catch (error) {
      tell(error);
    }
  }

  async function reject() {
    try {
      await post("/api/consolidation/reject", { preview: code });
      body.replaceChildren(el("p", { class: "notice" }, t("rejected")));
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
