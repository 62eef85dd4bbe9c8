"""Credentials with no word right before them: in tables, files, the lines below, lists of words or codes.

A word says that they are near (the header of a column, "kind: Secret", "recovery codes"); a form says where.
Nothing here looks at a text in which no such word stands, so prose pays for a few substring tests at most.
Every repetition is bounded or cannot match in two ways: time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from commonplace.redaction import assignments
from commonplace.redaction.detectors import FORMS, WORD_LISTS
from commonplace.redaction.shapes import Span, compiled, form

RowsAt = Callable[[str, int], tuple[int, int, str] | None]  # start, end and sign of rows around a place


_LONGEST_ROW, _MOST_ROWS = 2000, 500
_LONGEST_CELL = 40  # characters of a name in values parted by one of the signs
_SIGNS = ",;\t"
_MARKUP = "*_`~ \t"
_LONGEST_NAME = 200
_ENDINGS = ":：*_ \t\r"  # what may stand between such a name and the end of its line
_JOINING, _UNLISTED = frozenset(WORD_LISTS["joining"]), frozenset(WORD_LISTS["unlisted"])
_LISTS = ("phrase", "mnemonic", "words", "词", "code", "码")
_FEWEST_WORDS = 12  # from which a wallet is made again
_BEFORE = 32  # characters before a word that may belong to its name
_CODES_BEFORE_ZH = ("恢复", "备用", "备份", "恢复代", "备用验证")


def find(text: str, flat: bytes, words: Mapping[str, Sequence[int]]) -> Iterator[Span]:
    """Find credentials by the form around them: start, end and kind of each.

    `flat` is the text with a byte for each character, `words` are those of `assignments.words_in`.
    """
    for word in _LISTS:
        if places := words.get(word):
            yield from (_codes if word in ("code", "码") else _seeds)(text, places)
    yield from _pgpass(text, words.get(":", ()))
    if any(map(assignments.names_secret, words)):
        yield from _named(text, flat, words)
        yield from _declared(text, flat)
        if "secret" in words and b"kind:" in flat and form("manifest").search(text):
            yield from _manifests(text)


def _pgpass(text: str, places: Sequence[int]) -> Iterator[Span]:
    """Find the passwords of `.pgpass` lines that hold one of the colons: host:port:database:user:password."""
    done = -1  # the end of the row before: of a row with many colons one is enough
    for at in (at for at in places if at > done):
        start = max(text.rfind("\n", 0, at) + 1, at - _LONGEST_ROW)
        done = end if (end := text.find("\n", at)) >= 0 else len(text)
        if done - at > _LONGEST_ROW or not (match := form("pgpass").search(text, start, done)):
            continue
        value = match["value"]
        known = ":543" in match[0] or ":6432:" in match[0] or ":*:" in match[0]
        secret = known or assignments.is_secret(value, "password", quoted=False)
        if secret and not assignments.is_innocent(value):
            yield *match.span("value"), "password"


def _declared(text: str, flat: bytes) -> Iterator[Span]:
    """Find the defaults of Terraform's variables and the constants of PHP."""
    terraform, php = b"{" in flat and b'variable "' in flat, b";" in flat and b"define(" in flat
    for name in ["variable"] * terraform + ["define"] * php:
        for match in form(name).finditer(text):
            if not assignments.is_innocent(match["value"]):
                yield *match.span("value"), "secret"


def hashes(text: str) -> Iterator[Span]:
    """Find hashes of passwords."""
    for name in ("hash", "digest"):
        for match in form(name).finditer(text):
            yield *match.span(), "password-hash"


def beside_identifiers(text: str) -> Iterator[Span]:
    """Find the secret keys of AWS behind their identifiers."""
    for match in form("aws").finditer(text):
        if assignments.is_base64(match["value"]):
            yield *match.span("value"), "key"


def _named(text: str, flat: bytes, words: Mapping[str, Sequence[int]]) -> Iterator[Span]:
    """Find values below the words: in columns, on the next line, in several words; or piped to a command."""
    tables = b"|" in flat and any(rule in flat for rule in (b"--", b"|-", b":-"))
    for word, places in words.items():
        if tables and assignments.names_secret(word):
            yield from _columns_below(text, places, _table)
        if not assignments.names_password(word):
            continue
        yield from _columns_below(text, places, _list)
        for at in places:
            yield from _below(text, flat, word, at)
            begin = max(0, at - _LONGEST_NAME)
            if text[at - 2 : at] == "ch" and (piped := form("chpasswd").search(text[begin:at])):
                yield begin + piped.start("value"), begin + piped.end("value"), "password"


def _columns_below(text: str, places: Sequence[int], rows_at: RowsAt) -> Iterator[Span]:
    """Find the values of columns in whose header one of the places is; rows are looked at once."""
    last = 0
    for at in places:
        if at >= last and (rows := rows_at(text, at)):
            last = rows[1]
            yield from _columns(text, *rows)


def _below(text: str, flat: bytes, word: str, at: int) -> Iterator[Span]:
    """Find the value on the line below the name of a password, and the words that one is drawn from."""
    end = text.find("\n", at, at + _LONGEST_NAME)
    if end > 0 and text[end - 1] in _ENDINGS:
        below = form("below").match(text, at)
        if below and _stands_below(below["value"], quoted="`" in below["quote"]):
            yield *below.span("value"), "password"
    if word != "pass" or b"p" in flat[at + 4 : at + 6].lower():
        drawn = form("phrase").match(text, at)
        if drawn and _is_drawn(drawn):
            yield *drawn.span("value"), "password"


def _table(text: str, at: int) -> tuple[int, int, str] | None:
    """Return start, end and sign of a Markdown table of whose header the character at `at` is a part."""
    start = text.rfind("\n", max(0, at - _LONGEST_ROW), at) + 1
    end = text.find("\n", at, at + _LONGEST_ROW)
    if end < 0 or text.find("|", start, end) < 0:
        return None
    rule = text.find("\n", end + 1, end + 1 + _LONGEST_ROW)
    if rule < 0 or "-" not in text[end + 1 : rule]:
        return None
    if not form("rule").match(text[end + 1 : rule].rstrip("\r")):
        return None
    return start, _last_row(text, rule, "|", 1), "|"


def _last_row(text: str, end: int, sign: str, least: int) -> int:
    """Return where the last of the lines behind a place ends that hold a sign so many times."""
    for _ in range(_MOST_ROWS):
        following = text.find("\n", end + 1)
        following = len(text) if following < 0 else following
        if text.count(sign, end + 1, following) < least:
            break
        end = following
        if end == len(text):
            break
    return end


def _list(text: str, at: int) -> tuple[int, int, str] | None:
    """Return start, end and sign of values in lines of whose first line the character at `at` is a part."""
    if not form("after-cell").match(text, at):
        return None
    start = text.rfind("\n", max(0, at - _LONGEST_ROW), at) + 1
    end = text.find("\n", at, at + _LONGEST_ROW)
    if end < 0:
        return None
    header = text[start:end].rstrip("\r")
    sign = max(_SIGNS, key=header.count)
    names = header.split(sign)
    if len(names) < 2 or any(len(name) > _LONGEST_CELL or len(name.split()) > 3 for name in names):
        return None
    last = _last_row(text, end, sign, len(names) - 1)
    return (start, last, sign) if last > end else None


def _columns(text: str, start: int, end: int, sign: str) -> Iterator[Span]:
    """Find the values of the columns whose name is that of a secret: of a Markdown table, or of lines."""
    rows = text[start:end].split("\n")
    markdown = sign == "|"
    names = rows[0].split(sign)
    secret = _secret_columns(names, markdown=markdown)
    cell = compiled(FORMS["cell"].replace("{sign}", sign))
    first, edges = (2, _MARKUP + "\r") if markdown else (1, _MARKUP + '"\r')
    at = start + sum(len(row) + 1 for row in rows[:first])
    for row in rows[first:]:
        place, cells = (0, row.split("|")) if markdown else _cells(row, cell, len(names))
        for column, whole in enumerate(cells):
            value = whole.strip(edges)
            kind = secret.get(column) if value else None
            if kind and assignments.is_secret(value, kind, quoted=markdown and "`" in whole):
                begin = at + place + whole.find(value)
                yield begin, begin + len(value), kind
            place += len(whole) + 1
        at += len(row) + 1


def _secret_columns(names: Sequence[str], *, markdown: bool) -> dict[int, str]:
    """Return which columns hold secrets by their names, and of what kind."""
    secret = {}
    for column, name in enumerate(names):
        name = name.strip(_MARKUP + (">\r" if markdown else '>"\r'))
        name = name if markdown else name.replace("_", " ")
        if name and form("header").match(name):
            secret[column] = assignments.kind_of(name)
    return secret


def _cells(row: str, cell: re.Pattern[str], many: int) -> tuple[int, list[str]]:
    """Return where the first of so many values of a line begins, and the values."""
    begin = place = len(row) - len(row.lstrip(" >"))
    cells = []
    for _ in range(many):
        match = cell.match(row, place)
        cells.append(match[0] if match else "")
        place += len(cells[-1]) + 1
    return begin, cells


def _stands_below(value: str, *, quoted: bool) -> bool:
    if form("no-value").match(value) or assignments.is_code(value):
        return False
    return assignments.is_secret(value, "password", quoted=quoted)


def _is_drawn(match: re.Match[str]) -> bool:
    """Tell words drawn from a list from those of a sentence."""
    words = match["value"].lower().replace("-", " ").split()
    before = match[0][: -len(match["value"])]
    told = match[0].isascii() and ":" not in before and "=" not in before
    return (
        _JOINING.isdisjoint(words)
        and not any(map(form("inflected").match, words))
        and not (told and words[0].endswith("ly"))
    )


def _manifests(text: str) -> Iterator[Span]:
    """Find the values of Secrets of Kubernetes."""
    bounds = [(0, 0), *(part.span() for part in form("part").finditer(text)), (len(text), len(text))]
    for (_, start), (end, _) in pairwise(bounds):
        if not form("manifest").search(text, start, end):
            continue
        for block in form("data").finditer(text, start, end):
            for row in form("row").finditer(text, *block.span("rows")):
                value = row["value"].rstrip(" \t\r")
                if block["plain"]:
                    secret = len(value) >= 4 and value[-1] != ":" and not assignments.is_innocent(value)
                else:
                    secret = form("manifest-value").match(value) is not None
                if secret:
                    yield row.start("value"), row.start("value") + len(value), "secret"


def _seeds(text: str, places: Sequence[int]) -> Iterator[Span]:
    """Find the words from which a wallet is made again (BIP39)."""
    for at in places:
        if text[at] not in "mM" and not form("seed-before").search(text, max(0, at - _BEFORE), at):
            continue
        seed = form("seed").match(text, at)
        if not seed:
            continue
        start = seed.start("value") + _lead(seed["value"])
        end = _list_end(text, start, seed.end())
        if _UNLISTED.isdisjoint(re.findall("[a-z]+", text[start:end].lower())):
            yield start, end, "seed-phrase"


def _list_end(text: str, start: int, end: int) -> int:
    """Return where a list of words ends: at its line end if it is one line, else at a blank line."""
    words = [match.end() for match in re.finditer(r"(?i)[a-z]+|[\u4e00-\u9fff]", text[start:end])]
    twelfth = start + words[_FEWEST_WORDS - 1]
    parting = "list-ends" if "\n" in text[start:twelfth] else "line-ends"
    return match.start() if (match := form(parting).search(text, twelfth, end)) else end


def _codes(text: str, places: Sequence[int]) -> Iterator[Span]:
    """Find recovery codes."""
    for at in places:
        before = text[max(0, at - _BEFORE) : at]
        if before.endswith((" ", "-")):
            begins = form("codes-before").search(before) is not None
        else:
            begins = before.endswith(_CODES_BEFORE_ZH)
        codes = form("codes").match(text, at) if begins else None
        if codes and not form("day").match(codes["value"]):
            yield codes.start("value") + _lead(codes["value"]), codes.end("value"), "recovery-code"


def _lead(value: str) -> int:
    return lead.end() if (lead := form("leading").match(value)) else 0
