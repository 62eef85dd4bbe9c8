"""Secrets told in ordinary words ("the password for the router is …", 银行卡密码是…), and card numbers.

Such words are mostly followed by more words ("is stored in the vault", 是每季度更换的), so a value needs a
digit or, at the end of its clause, what no word has: a sign or a capital inside, three parts with hyphens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from commonplace.redaction import assignments
from commonplace.redaction.detectors import FORMS, PASSWORD_WORDS, WORD_LISTS
from commonplace.redaction.shapes import Span, compiled, form

_ELSEWHERE = {
    word: rf"(?i){re.escape(word)}[ \t]{{0,2}}(?:(?:{verbs or '[:：]'})|[-–—]{{1,2}}(?P<gap>)[ \t])"
    r"[ \t]{0,2}[:：]?[ \t]{0,2}"
    r"[\"'`“«「『]?([!#-&(-_a-~]{4,128})"
    for words, verbs in PASSWORD_WORDS.values()
    for word in words
}
_CHANGES_NEAR = 48  # characters before "password to X"
_AHEAD_NEAR = 120  # characters
_TELLS = (" is ", " was ", " as ", "是")
_KEY_LEAST = 16
_CARD_NEAR = 40  # characters before a number without groups in which a word says that it is a card's
_LINKS = frozenset(WORD_LISTS["linking"])


def find(text: str, words: Mapping[str, Sequence[int]]) -> Iterator[Span]:
    """Find values that a sentence calls a secret; `words` are those of `assignments.words_in`."""
    for name, places in words.items():
        expression = FORMS.get(f"told {name}") or _ELSEWHERE.get(name.lower())
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
    ahead = form("ahead").search(before)
    if not ahead or not form("drawn-word").match(ahead["value"]) or assignments.is_innocent(ahead["value"]):
        return None
    return at - len(before) + ahead.start("value"), at - len(before) + ahead.end("value"), "password"


def cards(text: str) -> Iterator[Span]:
    """Find the numbers of cards, in groups or behind a word that says so, and BitLocker's recovery keys."""
    for card in form("card").finditer(text):
        if card["bitlocker"]:  # eight groups of six digits
            yield *card.span(), "recovery-key"
            continue
        digits = re.sub(r"\D", "", card[0])
        before = max(0, card.start() - _CARD_NEAR)
        near = card[0] != digits or form("card-word").search(text, before, card.start())
        if near and 13 <= len(digits) <= 19 and form("issuer").match(digits):
            # The check of ISO/IEC 7812, Luhn's.
            doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
            if (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0:
                yield card.start(), card.end(), "card-number"


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
    if form("unit").match(text, end) or assignments.is_innocent(value) or assignments.is_code(value):
        return False
    if kind == "key":
        return len(value) >= _KEY_LEAST and _is_made_up(value)
    return kind == "pin" or _is_password(text, match, value, end)


def _is_password(text: str, match: re.Match[str], value: str, end: int) -> bool:
    """Judge a value by its lead: a blank, "to", an arrow, a verb, or a gap."""
    leads = match.groupdict()
    if leads.get("bare") is not None:
        return form("drawn-word").match(value) is not None
    near = max(0, match.start() - _CHANGES_NEAR), match.start()
    if leads.get("to") and not form("changes").search(text, *near):
        return False
    clause_ends = form("clause-ends").match(text, end) is not None
    if leads.get("arrow"):
        return _is_made_up(value) and clause_ends
    secret = _is_made_up(value) or (clause_ends and _is_no_word(value))
    if leads.get("gap") is None:
        return secret
    # Where no verb leads to it, it must end its clause, and be neither a version nor a short number.
    return secret and clause_ends and len(value) >= 6 and not form("version").search(value)


def _is_made_up(value: str) -> bool:
    """Tell whether a value with a digit is more than a number that counts something."""
    if value.isdigit():
        return len(value) >= 4 and not form("year").match(value)
    mixed = any(character.isalpha() or character in "@#^&*!" for character in value)
    return len(value) >= 6 and mixed and any(map(str.isdigit, value)) and not form("counted").match(value)


def _is_no_word(value: str) -> bool:
    """Tell whether a value without a digit differs from all words of sentences."""
    if len(value) < 8 or not value.isascii():
        return False
    parts = value.lower().split("-")
    worded = len(parts) >= 3 and all(part.isalpha() and len(part) >= 3 for part in parts)
    return (worded and _LINKS.isdisjoint(parts)) or form("inside").search(value) is not None
