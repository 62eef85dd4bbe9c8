"""Secrets told in ordinary words ("the password for the router is …", 银行卡密码是…), and card numbers.

Such words are mostly followed by more words ("is stored in the vault", 是每季度更换的), so a value needs a
digit or, at the end of its clause, what no word has: a sign or a capital inside, three parts with hyphens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from commonplace.redaction import assignments
from commonplace.redaction.detectors import PASSWORD_WORDS
from commonplace.redaction.shapes import Span, compiled

_OF = (
    r"(?:[ \t]{1,3}(?:for|of|to|on|at|in|für|von|zum|zur|du|de|del|della)"
    r"(?:[ \t]{1,3}[^\s.!?;:=,，。]{1,24}){1,5}?)"
)
_IS = (
    rf"(?:{_OF}[ \t]{{0,3}}[:=：][ \t]{{0,3}}|(?:{_OF}?(?:,[ \t](?:which|it|that))?[ \t]{{1,3}}"
    r"(?:is|are|was|ist|lautet|est|es|è|é|係)|(?:,[ \t]it)?['’]s)"
    r"(?:[ \t]{1,3}(?:now|still|currently|just|simply|again|the[ \t]same))?[ \t]{0,2}:?[ \t]{1,3})"
    r"[*_\"'`“]{0,3}"
)
_DASH = r"[ \t]{1,3}(?:[-–—]{1,2}(?P<gap>)|(?P<arrow>[-=]>|→))[ \t]{1,3}[*_\"'`“]{0,3}"
_TO = r"[ \t]{1,3}(?P<to>to|as)[ \t]{1,3}[*_\"'`“]{0,3}"  # set the password to X
_BARE = r"[ \t\xa0]{1,2}(?P<bare>[*_\"'`“]{0,3})"
_TAG = r"</?(?:b|strong|em|i|code|kbd|tt|span|p|li|t[dhr]|d[dt])(?:[ \t][^<>\n]{0,60})?>"
_TAGS = rf"[ \t]?[:：]?(?:{_TAG}[ \t\r\n:：]{{0,6}}){{2,6}}(?<!<th>)"
_IS_ZH = (
    r"(?:[（(][^()（）\n]{1,20}[）)])?[ \t\u3000\xa0]{0,2}(?:(?:就|还|仍|都)?是|为|係"
    r"|已?经?(?:改|设|换|修改|更改|更新|变更|设置|重置)[成为]了?)?"
    r"(?:(?:(?<=[是为成了係])|[:：=＝])[ \t\u3000\xa0:：]{0,3}"
    r"|(?:(?<=[ \t\u3000\xa0])|(?:[-–—]{1,2}>?|=>|→|】)[ \t]{0,2}|(?=\d{6}(?!\d)))(?P<gap>))[\"'`“「『]?"
)
_VALUE = r"([^\s\"'`“”\u3000-\u9fff\uff00-\uffef]{4,128})"
_PIN = (
    rf"(?i)(?<![a-z])(?:pin|puk)(?:(?:[ -]?(?:code|number))?(?:{_IS}|[ \t]{{0,2}}[:=：][ \t]{{0,3}})"
    rf"|[ \t]?码{_IS_ZH})"
    r"(\d{4,8})(?![\w-]|[.,]\d)"
)
# By the word of which `assignments` knows where it stands, or one that is looked for here.
_NAMES = {
    "pass": rf"(?i)pass(?:wor[dt]s?|phrases?|codes?|wd|e)(?:{_IS}|{_DASH}|{_TO}|{_TAGS}|{_BARE}){_VALUE}",
    "pw": rf"(?i)pwd?(?:{_IS}|{_TO}|[ \t]{{1,2}}(?P<gap>)[*_\"'`“]{{0,3}}){_VALUE}",
    "密码": rf"(?i)密码{_IS_ZH}{_VALUE}",
    "密碼": rf"(?i)密碼{_IS_ZH}{_VALUE}",
    "口令": rf"(?i)口令{_IS_ZH}{_VALUE}",
    "key": rf"(?i)key{_IS}{_VALUE}",
    "pin": _PIN,
    "puk": _PIN,
}
_ELSEWHERE = {
    word: rf"(?i){re.escape(word)}[ \t]{{0,2}}(?:(?:{verbs or '[:：]'})|[-–—]{{1,2}}(?P<gap>)[ \t])"
    r"[ \t]{0,2}[:：]?[ \t]{0,2}"
    r"[\"'`“«「『]?([!#-&(-_a-~]{4,128})"
    for words, verbs in PASSWORD_WORDS.values()
    for word in words
}
_FORMS = {
    "changes": r"(?i)\b(?:re)?set|\b(?:chang|updat|rotat|switch)ed?\b",
    "unit": r"(?i)[ \t]?(?:char|digit|letter|day|week|month|year|hour|minute|time|user|word|account"
    r"|[位个天月年次字种])",
    "clause-ends": r"(?m)[*_\"'`”」』)]{0,3}(?:~~)?[ \t]*(?:$|[.,;:!?。，；！？)）]|<!--)",
    "counted": r"\d++(?:[.,]\d++)*+%?(?:-?[A-Z]?[a-z]++|(?!))*+(?:-?[A-Z]{1,5})?\Z",
    "version": r"\d\.\d",
    "year": r"(?:19|20)\d\d\Z",
    "inside": r"[^\W_][@#$%^&*!+=]+[^\W_]|[a-z][A-Z]",
    # Unlike any word: digits in two places or a sign between, letters of both cases and no four in a row.
    "drawn": r"(?=\S*[A-Z])(?=\S*[a-z])(?=\S*\d)(?:(?=\S*\w[!#%^&*?@$]+\w)\S{8,64}"
    r"|(?=\S*\d\D+\d)(?!\S*(?:[A-Z][a-z]{3}|[a-z]{4}|[A-Z]{4}))[A-Za-z0-9]{10,64})\Z",
    # X is the password for …, X as the password, X 是服务器密码: what stands before the word.
    "ahead": r"(?i)(?<!\S)[\"'`“]?(?P<value>[^\s\"'`“”]{8,64})[\"'`”]?[ \t]{0,2}(?:"
    r"(?:[—–-]{1,2}[ \t]|,[ \t])?(?:(?:that|it|this|which)[ \t])?(?:is|was|as)[ \t](?:the|our|my|your)[ \t]"
    r"(?:[\w'’-]{1,20}[ \t]){0,3}|(?:这个?|就)?是[\u4e00-\u9fff]{0,8})\Z",
    # Visa, Mastercard, American Express, Discover, UnionPay, JCB, Diners: the first digits of ISO/IEC 7812.
    "issuer": r"4|5[1-5]|2[2-7]|3[47]|6011|65|62|35|30|36|38",
    # The first digit comes before its conditions, so that a search skips from digit to digit.
    "card": r"\d(?<![\w.,/#=&+-]\d)(?:\d{12,18}|\d{3}([ -])\d{4}\1\d{4}\1\d{1,7}|\d{3}([ -])\d{6}\2\d{4,5}"
    r"|(?P<bitlocker>\d{5}(?:[ -]\d{6}){7}))(?![\w/=&-]|[.,]\d)",
    "card-word": r"(?i)card|visa|amex|american express|卡",
}
_CHANGES_NEAR = 48  # characters before "password to X"
_AHEAD_NEAR = 120  # characters
_TELLS = (" is ", " was ", " as ", "是")
_KEY_LEAST = 16
_CARD_NEAR = 40  # characters before a number without groups in which a word says that it is a card's
_LINKS = frozenset(
    "and the for not use one two time based only free less term day year off out per all".split()
)


def find(text: str, words: Mapping[str, Sequence[int]]) -> Iterator[Span]:
    """Find values that a sentence calls a secret; `words` are those of `assignments.words_in`."""
    for name, places in words.items():
        expression = _NAMES.get(name) or _ELSEWHERE.get(name.lower())
        if not expression:
            continue
        for at in places:
            if not _is_apart(text, at, name):
                continue
            if name in ("pass", "密码", "密碼") and (span := _ahead(text, at)):
                yield span
            match = compiled(expression).match(text, at)
            if match and (span := _judged(text, match, name)):
                yield span


def _is_apart(text: str, at: int, name: str) -> bool:
    """Tell a name from a part of another word: "pin", not "shopping"; "API key", not "keyboard"."""
    if name in ("pin", "pw"):
        return not assignments.is_letter(text[at - 1 : at])
    return name != "key" or (text[at + 3 : at + 4] in " '’" and assignments.is_key(text, at))


def _ahead(text: str, at: int) -> Span | None:
    """Return the span of the value that a sentence tells before the word at `at`."""
    if text[at - 1 : at] == " ":
        if text[at + 4 : at + 5] not in ("w", "W", "p", "c"):  # passed
            return None
    elif "是" not in text[max(0, at - 9) : at]:
        return None
    before = text[max(0, at - _AHEAD_NEAR) : at]
    if not (
        compiled(r"\d").search(before) and any(word in before for word in _TELLS)
    ):  # what is drawn has one
        return None
    ahead = _form("ahead").search(before)
    if not ahead or not _form("drawn").match(ahead["value"]) or assignments.is_innocent(ahead["value"]):
        return None
    return at - len(before) + ahead.start("value"), at - len(before) + ahead.end("value"), "password"


def cards(text: str) -> Iterator[Span]:
    """Find the numbers of cards, in groups or behind a word that says so, and BitLocker's recovery keys."""
    for card in _form("card").finditer(text):
        if card["bitlocker"]:  # eight groups of six digits
            yield *card.span(), "recovery-key"
            continue
        digits = re.sub(r"\D", "", card[0])
        before = max(0, card.start() - _CARD_NEAR)
        near = card[0] != digits or _form("card-word").search(text, before, card.start())
        if near and 13 <= len(digits) <= 19 and _form("issuer").match(digits):
            # The check of ISO/IEC 7812, Luhn's.
            doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
            if (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0:
                yield card.start(), card.end(), "card-number"


def _form(name: str) -> re.Pattern[str]:
    return compiled(_FORMS[name])


def _judged(text: str, match: re.Match[str], name: str) -> Span | None:
    start = match.start(match.lastindex or 1)
    end = assignments.bare_end(text, start, match.end())
    value = text[start:end]
    if (tag := value.find("</")) > 0:
        value, end = value[:tag], start + tag
    kind = {"key": "key", "pin": "pin", "puk": "pin"}.get(name, "password")
    return (start, end, kind) if _is_secret(text, match, kind, value, end) else None


def _is_secret(text: str, match: re.Match[str], kind: str, value: str, end: int) -> bool:
    """Judge a value, which ends at a place of the text, by itself and by what stands around it."""
    if kind == "key" and assignments.is_base64(value):
        return True
    if _form("unit").match(text, end) or assignments.is_innocent(value) or assignments.is_code(value):
        return False
    if kind == "key":
        return len(value) >= _KEY_LEAST and _is_made_up(value)
    return kind == "pin" or _is_password(text, match, value, end)


def _is_password(text: str, match: re.Match[str], value: str, end: int) -> bool:
    """Judge a value by its lead: a blank, "to", an arrow, a verb, or a gap."""
    leads = match.groupdict()
    if leads.get("bare") is not None:
        return _form("drawn").match(value) is not None
    near = max(0, match.start() - _CHANGES_NEAR), match.start()
    if leads.get("to") and not _form("changes").search(text, *near):
        return False
    clause_ends = _form("clause-ends").match(text, end) is not None
    if leads.get("arrow"):
        return _is_made_up(value) and clause_ends
    secret = _is_made_up(value) or (clause_ends and _is_no_word(value))
    if leads.get("gap") is None:
        return secret
    # Where no verb leads to it, it must end its clause, and be neither a version nor a short number.
    return secret and clause_ends and len(value) >= 6 and not _form("version").search(value)


def _is_made_up(value: str) -> bool:
    """Tell whether a value with a digit is more than a number that counts something."""
    if value.isdigit():
        return len(value) >= 4 and not _form("year").match(value)
    mixed = any(character.isalpha() or character in "@#^&*!" for character in value)
    return len(value) >= 6 and mixed and any(map(str.isdigit, value)) and not _form("counted").match(value)


def _is_no_word(value: str) -> bool:
    """Tell whether a value without a digit differs from all words of sentences."""
    if len(value) < 8 or not value.isascii():
        return False
    parts = value.lower().split("-")
    worded = len(parts) >= 3 and all(part.isalpha() and len(part) >= 3 for part in parts)
    return (worded and _LINKS.isdisjoint(parts)) or _form("inside").search(value) is not None
