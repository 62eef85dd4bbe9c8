// The texts of the page in the language that is chosen, or else in that of the browser.

import { MESSAGES } from "./messages.zh.js";
import { EN } from "./words.en.js";
import { NAMES, ZH } from "./words.zh.js";

const CHOICE = "commonplace-language";
const chosen = localStorage.getItem(CHOICE) ?? (navigator.language.startsWith("zh") ? "zh" : "en");

export const language = chosen === "zh" ? "zh" : "en";
const WORDS = language === "zh" ? ZH : EN;

/** The text of a name, with `{values}` filled in, and the word for one or for more: `{value|one|more}`. */
export function t(name, values = {}) {
  const text = WORDS[name] ?? EN[name] ?? name;
  return text.replace(/\{(\w+)(?:\|([^|{}]*)\|([^|{}]*))?\}/g, (_, key, one, more) =>
    one === undefined ? String(values[key] ?? "") : String(values[key]) === "1" ? one : more);
}

/** A label of a passage, such as "weak" or "names 2026-12-09". */
export function labelled(label) {
  const [name, ...days] = label.split(" ");
  return t(`label_${name}`, { day: days.join(" ") });
}

/** A reason: one of ours in the words of the page, any other as it was given. */
export function reason(why) {
  const name = `why_${why.replace(/\W+/g, "_")}`;
  const words = t(name);
  return words === name ? why : words;
}

/** The Chinese name of what the server names by a code; undefined where its English says it all. */
export const named = (code) => (language === "zh" ? NAMES[code] : undefined);

/** The sentence in a field of what the server answers: in Chinese by its code, where there are words for that. */
export const told = (one, field) => spoken(one.said?.[field], one[field]);

/** The warnings of an answer, each as `told` has a sentence. */
export const warned = (answer) => sentences(answer, "warnings");

/** The sentences of a list of an answer, in the language of the page. */
export const sentences = (answer, list) => answer[list].map((text, n) => spoken(answer.said?.[list]?.[n], text));

function spoken(said, text) {
  const words = language === "zh" && said ? MESSAGES[said.code] : undefined;
  return words === undefined ? text : words.replace(/\{(\w+)([%!]?)\}/g, (_, name, as) => valued(said.values[name], as));
}

/** A value in words: a share `as` percent, the name of a field (`!`) as the page calls it. */
function valued(value, as) {
  if (Array.isArray(value)) return value.map((one) => valued(one)).join("、");
  if (typeof value === "number") return as ? `${Math.round(value * 100)}%` : number(value);
  if (typeof value === "object" && value) return spoken(value, value.text);
  return String((as ? MESSAGES[`key.${value}`] : null) ?? value ?? "");
}

export function choose(other) {
  localStorage.setItem(CHOICE, other);
  location.reload();
}

const locale = language === "zh" ? "zh-CN" : "en-GB";
const numbers = new Intl.NumberFormat(locale, { maximumFractionDigits: 2 });
const days = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeZone: "UTC" });
const moments = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });
const clocks = new Intl.DateTimeFormat(locale, { timeStyle: "medium" });

export const number = (value) => numbers.format(value);

/** Today (YYYY-MM-DD), where the browser is. */
export const dateOfToday = () => new Intl.DateTimeFormat("sv", { dateStyle: "short" }).format(new Date());

/** A day (YYYY-MM-DD) in words. */
export function day(text) {
  const date = new Date(`${text}T00:00:00Z`);
  return Number.isNaN(date.getTime()) ? text : days.format(date);
}

/** A moment (ISO 8601) in words. */
export function moment(text, onlyTime = false) {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return text;
  return (onlyTime ? clocks : moments).format(date);
}
