// Dialogs: what would change is shown first; only a yes does it, and what can be taken back is offered to be.

import { caller, post, Problem } from "./api.js";
import { el, say, toast } from "./dom.js";
import { t, told } from "./words.js";

const SLOW_MS = 400; // after which it is said that something is being done

/** Tell of an error where it is seen, with what helps. */
export function tell(error) {
  if (error.name === "AbortError" || (error.status === 401 && !document.querySelector("dialog[open]"))) return; // which the view says
  toast(explained(error), { kind: "bad", lasts: 20000 });
}

/** What an error says, with its remedy. */
export function explained(error) {
  const isModule = error instanceof TypeError && /module/.test(error.message); // of a view, which the server did not send
  if (isModule || error.code === "unreachable") return t("unreachable");
  if (!(error instanceof Problem)) throw error;
  if (error.status === 401) return t("locked_out");
  return error.remedy ? t("with_remedy", { message: told(error, "message"), remedy: told(error, "remedy") }) : told(error, "message");
}

/** An error as a paragraph. */
export const wrong = (error) => el("p", { class: "bad", role: "alert" }, explained(error));

/** Put something into an element once it is there; meanwhile that it is worked on, and an error in its place. */
export async function fill(box, load, waiting = t("working")) {
  box.replaceChildren(el("p", { class: "muted" }, waiting));
  try {
    box.replaceChildren(...[await load()].flat().filter(Boolean));
  } catch (error) {
    if (error.name !== "AbortError") box.replaceChildren(wrong(error));
  }
}

/** Open a dialog; return it. It is taken away once it is closed; Ctrl Enter submits its form. */
export function dialog(title, ...content) {
  const id = `title-${Math.random().toString(36).slice(2)}`;
  const box = el("dialog", { "aria-labelledby": id }, el("h2", { id }, title), content);
  box.addEventListener("close", () => box.remove());
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) box.querySelector("form")?.requestSubmit();
  });
  document.body.append(box);
  box.showModal();
  return box;
}

/** A form with its two buttons, in a dialog of its own; the first of them leaves it. */
function formed(title, go, ...fields) {
  const no = el("button", { type: "button", class: "quiet", onclick: () => box.close() }, t("cancel"));
  const body = el("form", { method: "dialog" }, fields, el("div", { class: "buttons" }, no, go));
  const box = dialog(title, body);
  return [box, body];
}

/** Ask in a form for what `send` sends, which may return what `finished` takes; an error leaves the form as it is. */
export function filled(title, { form, yes, send }) {
  const trouble = el("div");
  const [box, body] = formed(title, el("button", { class: "main" }, yes), form, trouble);
  body.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const done = await send();
      box.close();
      if (done) finished(done);
    } catch (error) {
      trouble.replaceChildren(wrong(error));
    }
  });
  (body.querySelector("[autofocus]") ?? body.querySelector(".main")).focus();
}

/** Show what an action of the server would do by the `values()` of a form, and do just that after a yes. `shown(answer)`
 * is what a person sees of its preview, `done(answer)` what `finished` takes. What may be meant instead is chosen with
 * `choose({place, text})`. A `live` form shows at once what its choice would do. */
export async function shownFirst(title, { path, values, shown, done, form, yes, choose, live = false, kind = "" }) {
  const leaving = new AbortController();
  const view = el("div", { class: "preview", "aria-live": "polite" });
  const go = el("button", { type: "submit", class: kind || "main" });
  const [box, body] = formed(title, go, form ?? null, view);
  const isAsked = form && !live;
  let code = "", asked = 0;

  function put(content, label, isOpen = true) {
    view.replaceChildren(...content);
    Object.assign(go, { textContent: label || go.textContent, disabled: !isOpen, hidden: !label });
  }

  async function ask() {
    const mine = ++asked, given = values();
    code = "";
    if (!given) return put([], "");
    put([el("p", { class: "muted" }, t("working"))], go.textContent, false);
    try {
      const answer = await post(`${path}/preview`, given, leaving.signal);
      if (mine !== asked) return;
      code = answer.preview;
      put(shown(answer), code ? yes : "");
      if (code && !live) go.focus();
    } catch (error) {
      if (mine !== asked || error.name === "AbortError") return;
      const take = choose && error.near?.length > 1 && ((one) => (choose(one), ask()));
      put([wrong(error), near(error, take), isOutdated(error) ? again(box) : ""], isAsked ? t("preview") : "");
      view.querySelector("button")?.focus();
    }
  }

  async function carry() {
    go.disabled = true;
    const slow = setTimeout(() => (go.textContent = t("working")), SLOW_MS);
    try {
      const answer = await post(path, { preview: code }).finally(() => clearTimeout(slow));
      box.close();
      finished(done(answer));
    } catch (error) {
      code = "";
      put([wrong(error)], t("preview"));
      go.focus();
    }
  }

  box.addEventListener("close", () => leaving.abort());
  body.addEventListener(live ? "change" : "input", () => {
    if (live) return ask();
    code = "";
    put([], t("preview"));
  });
  body.addEventListener("submit", (event) => {
    event.preventDefault();
    if (code) carry();
    else ask();
  });
  put([], isAsked ? t("preview") : yes);
  if (form) (body.querySelector("[autofocus]") ?? body.querySelector("input:checked") ?? body.querySelector("textarea, input")).focus();
  if (!isAsked) await ask();
}

/** What is near to what was named, to choose from where that can be. */
function near(error, take) {
  if (!error.near?.length) return "";
  const row = (one) => [el("code", {}, one.citation), " ", one.text];
  return el("ul", { class: "near" }, error.near.map((one) =>
    el("li", {}, take ? el("button", { type: "button", class: "choice", onclick: () => take({ place: one.citation, text: one.text }) }, row(one)) : row(one))));
}

/** Whether something else stands by now where what was chosen stood. */
const isOutdated = (error) => error.said?.message?.values?.reason?.code === "statement.changed";

/** What closes a dialog and shows anew what is behind it. */
function again(box) {
  const look = () => {
    box.close();
    document.dispatchEvent(new CustomEvent("changed"));
  };
  return el("p", {}, el("button", { type: "button", class: "again", onclick: look }, t("look_again")));
}

/** Say that something is done, with its undo where there is one; let the view show it, or go `to` another. */
export function finished({ message, undo = null, to = "" }) {
  say(message);
  toast(message, { action: caller.owner ? undo : null, kind: "good" });
  document.dispatchEvent(new CustomEvent("changed"));
  if (to) location.hash = to;
}
