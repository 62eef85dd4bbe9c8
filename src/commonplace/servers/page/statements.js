// What is done to a statement or a note: corrected, confirmed, forgotten, undone. Each is shown first; only a yes
// does it, and what can be taken back is offered to be.

import { caller, get, post } from "./api.js";
import { filled, finished, shownFirst, tell } from "./dialogs.js";
import { diff, worded } from "./diff.js";
import { el, noteAddress, toast } from "./dom.js";
import { render, title } from "./markdown.js";
import { barrier } from "./places.js";
import { dateOfToday, named, sentences, t, warned } from "./words.js";

const MOST_SEEN = 100_000; // characters of what was read at a place; a longer line is meant by its place alone
const TENTATIVE = /<!--\s*(status\s*:\s*)?tentative\s*-->|^\s*([-*+]\s+)?(\d\d:\d\d\s+)?(\*\*|__)?(tentative|暂定|待证)(\*\*|__)?\s?[:：]/i;

/** What was read at a place, as a request says it. */
export const seenAs = (text) => (text && text.length <= MOST_SEEN ? { seen: text } : {});

/** Return whether something is for who asks here, and the place for changes; say so if not. */
function isAllowed(right, place = "", extent = {}) {
  const reason = barrier(place, extent);
  if (caller[right] && !reason) return true;
  toast(reason ? t(reason) : caller.agent && right === "owner" ? t("owners_alone", { agent: caller.agent }) : t("only_read"), { kind: "bad" });
  return false;
}

/** The statements in the text of a place, each with its own place. */
function statementsIn(reference, text) {
  const [, path, first] = /^(.*)#L(\d+)/.exec(reference) ?? [];
  if (!path) return [];
  const lines = text.split("\n");
  const at = (start, end) => ({ place: `${path}#L${start}${end > start ? `-L${end}` : ""}`, text: lines.slice(start - first, end - first + 1).join("\n") });
  return render(lines, { first: Number(first) })
    .flatMap((one) => [one, ...one.querySelectorAll(".line")]).filter((one) => one.classList.contains("line"))
    .flatMap(({ dataset: { start, end } }) => {
      const isTable = lines[start - first].trimStart().startsWith("|"); // one whose head stands further above
      return isTable ? [...Array(end - start + 1)].map((_, n) => at(Number(start) + n, Number(start) + n)) : [at(Number(start), Number(end))];
    })
    .filter((one) => /[^\s#|:-]/.test(one.text));
}

/** Which of some statements says most of the words that were asked for; -1 where none says any. */
function bestOf(statements, words) {
  const counts = statements.map(({ text }) => words.filter((word) => text.toLowerCase().includes(word.toLowerCase())).length);
  const most = Math.max(0, ...counts);
  return most ? counts.indexOf(most) : -1;
}

/** What one of several is chosen from: `{place, text}` each; `take(one)` hears which. */
function choosing(legend, all, at, take) {
  const rows = all.map((one, n) => el("label", { class: "choice" },
    el("input", { type: "radio", name: "which", value: one.place, checked: n === at, onchange: () => take(one) }), el("span", {}, one.label ?? bare(one.text))));
  return el("fieldset", { class: "which" }, el("legend", {}, legend), rows);
}

/** Do something with what stands at a place, and tell of what goes wrong; `text` is what it says, if that is known. */
async function reading(reference, text, run) {
  try {
    return await run(text ?? (await read(reference)));
  } catch (error) {
    tell(error);
    return null;
  }
}

/** The undo of a change, as `toast` takes an action; none for what is final. */
export const undoOf = ({ run }) => (run ? { label: t("undo"), run: () => undo(run) } : null);

/** Correct the statement at a place. Of a passage of several the person chooses one, the one that says most of `words` first. */
export function correct(reference, { text, words = [] } = {}) {
  if (!isAllowed("writes", reference)) return null;
  return reading(reference, text, (told) => {
    const all = statementsIn(reference, told);
    const at = Math.max(0, bestOf(all, words));
    let chosen = all[at] ?? { place: reference, text: told };
    const input = el("textarea", { rows: "4", id: "new-text", autofocus: true, "aria-describedby": "new-hint" });
    input.value = bare(chosen.text);
    const why = el("input", { id: "why-text", autocomplete: "off", maxlength: "500" });
    const old = all.length > 1
      ? choosing(t("which"), all, at, (one) => ((chosen = one), (input.value = bare(one.text))))
      : el("blockquote", { class: "old" }, chosen.text || reference);
    return shownFirst(t("correct"), {
      form: el("div", {}, old,
        el("label", { for: "new-text" }, t("holds_instead")), input, el("p", { class: "muted", id: "new-hint" }, t("empty_strikes")),
        el("label", { for: "why-text" }, t("why")), why),
      choose: (one) => (chosen = one),
      yes: t("correct_yes"),
      path: "/api/corrections",
      values: () => ({ old: chosen.place, ...seenAs(chosen.text), new: input.value.trim(), why: why.value }),
      shown: (answer) => [diff(answer.diff), ...warnings(answer), ...similar(answer)],
      done: (answer) => ({ message: t("corrected", { n: answer.struck.length }), undo: undoOf(answer) }),
    });
  });
}

function similar(answer) {
  if (!answer.similar.length) return [];
  return [el("p", {}, t("similar")), el("ul", { class: "near" }, answer.similar.map((one) => el("li", {}, el("code", {}, one.citation), " ", one.text)))];
}

/** Whether a text says of a statement in it that it is a guess. */
export const isTentative = (text) => text.split("\n").some((line) => TENTATIVE.test(line));

/** The words of a line without its mark, its hour and its comments. */
export function bare(text) {
  return uncommented(text.replace(/^\s*(?:[-*+]|\d+[.)])\s+/, "").replace(/^\d\d:\d\d\s+/, "")).trim();
}

/** A text without its comments, and the blanks before each. By hand: an expression would try each blank anew. */
function uncommented(text) {
  let rest = "", at = 0;
  for (;;) {
    const start = text.indexOf("<!--", at), end = start < 0 ? -1 : text.indexOf("-->", start + 4);
    if (end < 0) return rest + text.slice(at);
    rest += text.slice(at, start).trimEnd();
    at = end + 3;
  }
}

/** Let the tentative statement at a place hold; of several the person chooses one, as in `correct`. */
export function confirm(reference, { text, words = [] } = {}) {
  if (!isAllowed("writes", reference)) return null;
  return reading(reference, text, (told) => {
    const guesses = statementsIn(reference, told).filter((one) => isTentative(one.text));
    const at = Math.max(0, bestOf(guesses, words));
    let chosen = guesses[at] ?? { place: reference, text: told };
    const form = guesses.length > 1 ? choosing(t("which"), guesses, at, (one) => (chosen = one)) : null;
    return deciding(t("confirm"), t("confirm_yes"), () => ({ statement: chosen.place, ...seenAs(chosen.text) }), { form, live: !!form, choose: (one) => (chosen = one) });
  });
}

/** Let a statement of an agent hold, or all that wait, or with `reject` strike them. */
export function decide(values) {
  const yes = t(values.reject ? "refuse" : "confirm");
  return deciding(yes, yes, () => values, {}, t(values.reject ? "label_struck" : "confirmed"));
}

function deciding(title, yes, values, more, message = t("confirmed")) {
  return shownFirst(title, {
    yes, values, path: "/api/confirmations", shown: (answer) => [diff(answer.diff)], done: (answer) => ({ message, undo: undoOf(answer) }), ...more,
  });
}

/** Erase lines, a note, words, a person or a session for good; without a selection it is asked for. `request` is the
 * code of one that an agent asks for; a `form` changes the selection. */
export function forget(selection = null, { request = "", form: chooser } = {}) {
  if (!isAllowed("owner", /^(lines|note)$/.test(selection?.kind) ? selection.value : "", { whole: selection?.kind === "note" })) return null;
  const kind = el("select", { id: "forget-kind" },
    ["person", "session", "text", "lines", "note"].map((one) => el("option", { value: one }, t(`forget_${one}`))));
  const value = el("input", { id: "forget-value", "aria-describedby": "forget-hint", required: true, autocomplete: "off", autofocus: true });
  const hint = el("p", { class: "muted", id: "forget-hint", hidden: true }, t("forget_hint"));
  const form = selection || request ? chooser : el("div", {},
    el("label", { for: "forget-kind" }, t("forget_what")), kind, el("label", { for: "forget-value" }, t("forget_value")), value, hint);
  kind.addEventListener("change", () => (hint.hidden = kind.value !== "text"));
  return shownFirst(t("forget"), {
    form,
    live: !!chooser,
    yes: t("forget_yes"),
    kind: "danger",
    path: "/api/forget",
    values: () => {
      const chosen = selection ?? { kind: kind.value, value: value.value };
      if (request) return { request };
      return chosen.value ? { selections: [chosen] } : null; // null: nothing is chosen yet
    },
    shown: erased,
    done: (answer) => ({ message: forgotten(answer) }),
  });
}

/** Erase a statement of the passage at a place, or the passage, as the person chooses; chosen is at first what says most of `words`. */
export function forgetAt(reference, { words = [] } = {}) {
  if (!isAllowed("owner", reference)) return null;
  return reading(reference, undefined, (text) => {
    const statements = statementsIn(reference, text);
    const isWhole = statements.length === 1 && statements[0].place === reference;
    const all = isWhole ? statements : [...statements, { place: reference, text, label: t("passage_whole", { place: reference.slice(reference.lastIndexOf("#") + 1) }) }];
    const at = all.length === 1 ? 0 : bestOf(statements, words); // where no word says which, the person does
    const selection = { kind: "lines" };
    const take = ({ place, text }) => Object.assign(selection, { value: place, seen: undefined, ...seenAs(text) });
    if (at >= 0) take(all[at]);
    return forget(selection, all.length === 1 ? {} : { form: choosing(t("which_goes"), all, at, take) });
  });
}

function forgotten(done) {
  const left = done.left.length ? ` ${t("left", { n: done.left.length })}` : "";
  return t("forgotten", { n: counted(done.places) }) + left;
}

/** Carry on a forgetting that was killed before it was done. */
export async function resume() {
  finished({ message: forgotten(await post("/api/forget/resume", {})) });
}

const READ = ["notes", "transcripts", "spool"]; // what a person counts; the rest is made of it

function counted(places) {
  return places.filter((one) => READ.includes(one.where)).reduce((sum, one) => sum + one.count, 0);
}

/** What goes of a place: of a line that loses words these alone. */
function lost({ text, rest, count }) {
  if (rest) return el("p", { class: "lost" }, worded(text, rest));
  if (text) return el("p", { class: "gone" }, text.slice(0, 600));
  return count > 1 ? ` × ${count}` : null;
}

/** A copy out of reach, and what to do; of one with a Chinese name what the server says of it stands beside. */
function beyond({ kind, what, remedy }) {
  const name = named(`copies.${kind}`);
  if (!name) return el("li", {}, `${what}: ${remedy}`);
  return el("li", {}, name, kind === "backups" ? null : [" ", el("span", { lang: "en" }, what)]);
}

function erased(answer) {
  if (!answer.places.length) return [el("p", {}, t("nothing_to_forget"))];
  const places = answer.places.map((one) =>
    el("li", {}, el("span", { class: "tag" }, t(`where_${one.where}`)), " ", el("code", {}, one.citation),
      lost(one)));
  const copies = answer.unreachable.map(beyond);
  const n = counted(answer.places);
  return [
    el("p", { class: "bad" }, t(n ? "forget_warns" : "forget_warns_made", { n })),
    el("ul", { class: "places" }, places),
    ...(copies.length ? [el("p", {}, t("unreachable_copies")), el("ul", { class: "muted" }, copies)] : []),
  ];
}

/** Do what an action of the server's table does: a form of what it takes, what would change, then just that. */
export function act({ name, about, path, final, body }) {
  const title = named(`action.${name}`) ?? about, fields = Object.entries(body.properties).filter(([one]) => one !== "seen");
  const inputs = fields.map(([one, { type, maxLength }]) => [one, el("input", { id: `act-${one}`, type: { boolean: "checkbox", integer: "number" }[type] ?? "text", maxlength: maxLength, required: body.required?.includes(one) })]);
  const form = el("div", {}, inputs.map(([one, input], n) => el("label", {}, fields[n][1].description ?? one, " ", input)));
  const value = (input) => ({ checkbox: input.checked, number: Number(input.value) })[input.type] ?? input.value.trim();
  return shownFirst(title, {
    form: inputs.length ? form : null,
    kind: final ? "danger" : "",
    yes: t("act_yes"),
    path,
    values: () => Object.fromEntries(inputs.map(([one, input]) => [one, value(input)]).filter(([, one]) => one)),
    shown: ({ preview, diff: changes, ...answer }) => {
      const told = Object.entries(answer).filter(([, one]) => ["string", "number"].includes(typeof one) && one).map(([key, one]) => `${key}: ${one}`);
      return [el("p", {}, preview ? told.join(" · ") : t("act_nothing")), changes ? diff(changes) : ""];
    },
    done: (answer) => ({ message: t("act_done", { title }), undo: final ? null : undoOf(answer) }),
  });
}

/** Take a generated change back; the last one without an id. */
export function undo(run = "") {
  if (!isAllowed("owner")) return null;
  return shownFirst(t("undo"), {
    yes: t("undo_yes"),
    path: "/api/undo",
    values: () => (run ? { run } : {}),
    shown: (answer) => [...sentences(answer, "skipped"), t("undoes", { n: answer.runs.length })].map((one) => el("p", { class: "muted" }, one)).concat(diff(answer.diff)),
    done: () => ({ message: t("undone") }),
  });
}

/** What was redacted, by the names of its kinds, as a sentence in a list; an empty one where nothing was. */
export function redacted(answer) {
  const kinds = answer.redacted.map((one) => named(`kind.${one}`) ?? one);
  return kinds.length ? [t("redacted", { kinds: kinds.join(t("comma")) })] : [];
}

function warnings(answer) {
  return [...warned(answer), ...redacted(answer)].map((one) => el("p", { class: "warn" }, one));
}

/** The headings of a note, to choose one from; none where there is no such note. */
async function headingsOf(path) {
  const { notes } = await get("/api/notes", { under: path });
  const { text } = notes.length ? await get("/api/source", { path }) : { text: "" };
  return headingsIn(text).slice(0, 200).map((one) => el("option", { value: one }));
}

/** The headings below the title of a note, each once. */
export function headingsIn(text) {
  const found = text.split("\n").filter((line) => /^#{2,6}\s/.test(line)).map((line) => title(line.replace(/^#+/, "")));
  return [...new Set(found)];
}

/** Keep an entry: in the note of today, or in long-term memory; below a heading; as a guess. */
export function remember() {
  if (!isAllowed("writes")) return null;
  const input = el("textarea", { rows: "5", id: "entry-text", required: true, autofocus: true });
  const longTerm = el("input", { type: "checkbox", id: "entry-long", onchange: () => offer().catch(() => null) });
  const tentative = el("input", { type: "checkbox", id: "entry-guess" });
  const known = el("datalist", { id: "entry-headings" });
  const heading = el("input", { id: "entry-heading", list: "entry-headings", autocomplete: "off", maxlength: "200", placeholder: t("entry_heading_none") });
  const offer = async () => known.replaceChildren(...(await headingsOf(longTerm.checked ? "MEMORY.md" : `memory/${dateOfToday()}.md`)));
  offer().catch(() => null); // they are a help, no more
  return filled(t("remember"), {
    yes: t("remember_yes"),
    form: el("div", {}, el("label", { for: "entry-text" }, t("entry")), input,
      el("div", { class: "checks" }, el("label", { class: "check" }, longTerm, " ", t("long_term")), el("label", { class: "check" }, tentative, " ", t("entry_guess"))),
      el("label", { for: "entry-heading" }, t("entry_heading")), heading, known),
    send: async () => {
      const below = heading.value.trim();
      const done = await post("/api/entries", {
        text: input.value,
        ...(longTerm.checked ? { long_term: true } : {}),
        ...(below ? { [longTerm.checked ? "section" : "heading"]: below } : {}),
        ...(tentative.checked ? { tentative: true } : {}),
      });
      const place = `${done.path}#L${done.start_line}`;
      return { message: [t("remembered", { place }), ...redacted(done)].join(" "), undo: undoOf(done), to: noteAddress(place) };
    },
  });
}

/** The statement at a place, as it stands there. */
async function read(reference) {
  return (await get("/api/note", { reference })).lines.join("\n");
}
