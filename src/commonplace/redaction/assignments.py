"""Secrets known by the word before them: `password: …`, `API_KEY=…`, `--token …`, 密码：…, bearer tokens.

Words alone are no proof ("password: see the vault"), so the value decides: it must look made up rather
than written, and be no placeholder, variable, call, path, date or name of an algorithm.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice

from commonplace.redaction.detectors import FORMS, PASSWORD_WORDS, PLACES, TOLD, WORD_LISTS, WORDS, Told
from commonplace.redaction.shapes import Span, compiled, form

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import AnyStr

_CHINESE = [word for word in WORDS if not word.isascii()]
_PLACES = {word: [row for row in PLACES if row[1] == word] for _, word, _, _ in PLACES}
# By word, then by the expression of name and joint.
_TOLD: dict[str, dict[str, list[Told]]] = {}
for _row in TOLD:
    _steps = f"(?i)(?>{_row.name})(?>{_row.joins})"
    _TOLD.setdefault(_row.word, {}).setdefault(_steps, []).append(_row)
# Words of other languages. Those in ASCII are looked for before a colon or an equals sign only, of which a
# text has few; of the others a character that is rare elsewhere is looked for first.
_ELSEWHERE = dict.fromkeys(word for words, _ in PASSWORD_WORDS.values() for word in words)
_PLAIN = [*(word for word in _ELSEWHERE if word.isascii()), "mnemonic", "login", "wifi", "wlan", "words"]
_ENDS = tuple(dict.fromkeys((*(word[-4:] for word in _PLAIN), "utet")))  # "Kennwort lautet:" as well
_SIGNED = (  # by their last letters: at most colons that is all that is looked at
    f"(?<=[{''.join(sorted({end[-2] for end in _ENDS}))}]"
    f"[{''.join(sorted({end[-1] for end in _ENDS}))}]{{sign}})"
    f"(?:{'|'.join(f'(?<={end}{{sign}})' for end in _ENDS)})"
    r"|(?<=[\"'`*_)\] ]{sign})(?:"
    + "|".join(f"(?<={end}{gap}{{sign}})" for end in _ENDS for gap in (".", ".."))
    + ")"
)
_PGPASS = r"(?=(?:\d{4,5}|\*):[^\s:]{1,63}:[^\s:]{1,63}:\S)"
# The words of all modules are found in few passes: an expression that begins with one character skips
# from one to the next, so each begins with a rarer one. By what is matched: the word, and how many characters
# before the match it begins.
_ANCHORS = {
    b"pass": ("pass", 0), b"pw": ("pw", 0), b"pin": ("pin", 0), b"puk": ("puk", 0), b"phrase": ("phrase", 0),
    b"psk": ("psk", 0),
    b"key": ("key", 0), b"ken": ("token", 2), b"cret": ("secret", 2), b"code": ("code", 0),
    b"curl ": ("curl ", 0),
    b"zation": ("authorization", 7), b"p": (" -p", 2), b"cli": ("redis-cli", 6), b":": (":", 0),
    b"=": (":", 0), b"combo": ("comb", 0), b"combination": ("comb", 0), b"creds": ("cred", 0),
    b"credential": ("cred", 0), b"cho ": ("echo ", 1), b"p ": ("lftp ", 3), b"client": ("smbclient", 3),
    b"covery w": ("words", -7),
}  # fmt: skip
_PASSES = tuple(
    expression.encode()
    for expression in (
        "p(?:ass|in|w|hrase|uk|sk|(?<= -p)| (?<=lftp ))",
        "k(?:ey|en(?<=token))",
        "c(?:o(?:de|mbo|mbination|very w(?<=recovery w))|r(?:et(?<=secret)|eds|edential)|url |ho (?<=echo )"
        "|li(?:(?<=redis-cli)|ent(?<=smbclient)))",
        "zation(?<=authorization)",
        f":(?:{_SIGNED.replace('{sign}', ':')}|{_PGPASS})",
        f"=(?:{_SIGNED.replace('{sign}', '=')})",
    )
)
_ANCHORED = {word for word, _ in _ANCHORS.values()}
_LONG = [word for word in _PLACES if word.isascii() and word not in {*WORDS, *_ANCHORED, "tified "}]
_MARKED = tuple(
    (max(word), one) for word in _ELSEWHERE if not word.isascii() for one in (word, word.capitalize())
)
_MOST_REPEATED = 50  # values of one text that are looked for everywhere: each is a pass over the text
_SERVICE_LEAST = 16  # characters of a key that only the name of a service makes one
_BASE64_LEAST = 3  # digits, and capitals
_JUDGED = 64  # characters of a value in which a sign is looked for
_SPECIAL = frozenset("!@#$%^&*~")
_CLOSING = ".,;:)]}>*|\\"  # what may stand behind a value
_CONTEXT = 32  # characters before a word that may belong to its name
_NEAR = 14  # the longest word that makes one a name, and what joins them
_PLACE_CONTEXT = 80


def words_in(text: str, lower: bytes, *, long: bool) -> dict[str, list[int]]:
    """Return the words that say that a secret is near, and where they stand; nearly all notes have few.

    `lower` is the text in lower case with a byte for each character; `long` says whether it holds anything
    that is long enough for a token.
    """
    words: dict[str, list[int]] = {}
    for expression in (one for one in _PASSES if one[:1] in lower):
        for match in compiled(expression).finditer(lower):
            word, before = _ANCHORS[match[0]]
            words.setdefault(word, []).append(match.start() - before)
    for word in _further(text, lower, words, long=long):
        places = _places(lower, word.encode()) if word.isascii() else _places(text, word)
        if places:
            words[word] = places
    return words


def _places(text: AnyStr, word: AnyStr) -> list[int]:
    """Return the places of a word in a text; overlapping ones count once."""
    places = []
    at = text.find(word)
    while at >= 0:
        places.append(at)
        at = text.find(word, at + len(word))
    return places


def _further(text: str, lower: bytes, words: Mapping[str, object], *, long: bool) -> list[str]:
    """Return the words for a search one by one, as the text has some of their characters."""
    further = [*(_PLAIN if ":" in words else ()), *(_LONG if long else ())]
    if not text.isascii():
        # A single character is found ten times as fast as two, and one of these is in each word.
        if any(map(text.__contains__, "密令钥鑰")):
            further += _CHINESE
        marks = set(filter(text.__contains__, dict(_MARKED)))
        further += [word for mark, word in _MARKED if mark in marks]
        further += ["码"] * ("码" in text) + ["碼"] * ("碼" in text) + ["词"] * ("词" in text)
    if b"'" in lower and (b";" in lower or b"@" in lower):  # SQL
        further.append("tified ")
    return further


def find(text: str, words: Mapping[str, Sequence[int]]) -> Iterator[Span]:
    """Find values that one of the words before them calls a secret: start, end and kind of each.

    `words` are those of `words_in`.
    """
    for word, places in words.items():
        kind = "password" if names_password(word) else WORDS.get(word)
        if not kind and word not in _PLACES:
            continue
        fits = _any_of(word).match
        for at in places:
            spans = [_placed(text, at, *row) for row in _PLACES[word]] if fits(text, at) else []
            if kind:
                spans.append(_named(text, at, kind, word))
            yield from filter(None, spans)


def told(text: str, words: Mapping[str, Sequence[int]]) -> Iterator[Span]:
    """Find the codes and passwords of `rules/told.txt` behind the words of `words_in`."""
    for word, places in words.items():
        for steps, rows in _TOLD.get(word, {}).items():
            match = compiled(steps).match
            ends = [(at, found.end()) for at in places if (found := match(text, at))]
            for row in rows if ends else ():
                yield from filter(None, (_told(text, at, end, row) for at, end in ends))


def repeated(text: str, named: Iterable[Span]) -> Iterator[Span]:
    """Find where else in a text values stand that a name calls a secret; plain words are left out."""
    values = {text[start:end]: kind for start, end, kind in named if f"name {kind}" in FORMS}
    drawn = form("drawn").match
    for value in islice(filter(drawn, values), _MOST_REPEATED):
        at = text.find(value)
        while at >= 0:
            end = at + len(value)
            if not any(one.isascii() and one.isalnum() for one in (text[at - 1 : at], text[end : end + 1])):
                yield at, end, values[value]
            at = text.find(value, end)


@cache
def _any_of(word: str) -> re.Pattern[str]:
    """Return an expression for any place behind a word: most words have no place."""
    expressions = [f"(?:{expression})" for _, _, expression, _ in _PLACES.get(word, ())]
    return compiled("(?i)" + ("|".join(expressions) or "(?!)"))


@cache
def _name(kind: str, word: str) -> re.Pattern[str]:
    name = FORMS[f"name {kind}"] if word in WORDS else re.escape(word)
    return compiled(f"(?i){name}{FORMS['separator']}")


def _named(text: str, at: int, kind: str, word: str) -> Span | None:
    """Return the span of the value that the word at `at` names, if it looks like a secret."""
    name = _name(kind, word).match(text, at)
    before = text[max(0, at - _CONTEXT) : at]
    if not name or not _is_name(name[0], before, kind) or (name["flag"] and not _is_flag(before)):
        return None
    sign = name["sign"] or ""
    value = _value(text, name.end(), sign)
    if value is None:
        return None
    start, end, quoted = value
    least, environment = _least(kind, sign, before), sign == "=" and _is_variable(name[0], before)
    looks_secret = _looks_secret(text[start:end], kind, quoted, sign.strip(), least, environment)
    return (start, end, kind) if looks_secret else None


def _value(text: str, at: int, sign: str) -> tuple[int, int, bool] | None:
    """Return where the value behind a name and a sign starts and ends, and whether it is quoted."""
    value = form("value").match(text, at)
    if not value or value.lastgroup is None:
        return None
    start, end = value.span(value.lastgroup)
    if sign[:1] == ">" and text[start] == "@":  # user:<password>@host
        return None
    if sign[:1] == "%" and (cut := form("cut-encoded").search(text, start, end)):
        end = cut.start()
    quoted = value.lastgroup != "bare"
    return start, end if quoted else bare_end(text, start, end), quoted


def _is_variable(name: str, before: str) -> bool:
    """Tell whether a name is that of a variable of a shell."""
    return name.isupper() and form("environment").search(before) is not None


def _least(kind: str, sign: str, before: str) -> int:
    """Return how many characters a value must have to be taken for a secret."""
    if kind == "password":
        return 4 if sign else 6
    if kind == "token" and not form("token").search(before[-_NEAR:]):
        return 16
    if kind == "key" and not is_key(before, len(before)) and _is_service(before):
        return _SERVICE_LEAST
    return 8


def _is_flag(before: str) -> bool:
    return "--" in before and form("flag").search(before) is not None


def _is_name(name: str, before: str, kind: str) -> bool:
    """Tell a name from a part of another word: `db_pass` and `dbPass`, not `bypass`; `api_key`, not `key`."""
    if form("no-name").search(before[-_NEAR:]) and "=>" not in name:  # :password => "…" is Ruby
        return False
    if kind == "key" and name[:1].isascii():
        return is_key(before, len(before)) or _is_service(before)
    if kind == "password" and not name.lower().startswith(("passw", "passp", "passc")):
        last = before[-1:]
        return not is_letter(last) or (name[0].isupper() and last.islower())
    return True


def is_letter(character: str) -> bool:
    """Tell whether a character is a Latin letter; an empty text is not."""
    return character.isascii() and character.isalpha()


def is_key(text: str, at: int) -> bool:
    """Tell whether "key" at this place names a secret: an API key, a secret access key."""
    before = text[max(0, at - _NEAR) : at].lower()
    return (before[:-1] if before.endswith((" ", "_", "-")) else before).endswith(WORD_LISTS["keys"])


def _is_service(before: str) -> bool:
    service = form("service").search(before)
    return service is not None and service[1].lower() in WORD_LISTS["services"]


def bare_end(text: str, start: int, end: int) -> int:
    """Return where an unquoted value ends of whose run of characters these are the bounds."""
    if cut := form("cut").search(text, start, end):
        end = cut.start()
    bare = text[start:end].rstrip(_CLOSING)
    return start + len(bare.removesuffix("~~").rstrip(_CLOSING))  # struck text ends in two tildes


def is_innocent(value: str) -> bool:
    """Tell whether a value is a placeholder, a variable, a path, a date, the name of an algorithm."""
    return form("innocent").match(value) is not None


def is_code(value: str) -> bool:
    """Tell whether a value is a call or an attribute."""
    return form("code").match(value) is not None


def names_secret(word: str) -> bool:
    """Tell whether one of the words of `words_in` names a secret."""
    return bool(WORDS.get(word)) or names_password(word)


def names_password(word: str) -> bool:
    """Tell whether one of the words of `words_in` names a password."""
    return WORDS.get(word) == "password" or word.lower() in _ELSEWHERE


def kind_of(name: str) -> str:
    """Return the kind of secret that a name names; a password where it says no other."""
    lower = name.lower()
    return next((kind for kind in ("token", "secret", "key") if kind in lower), "password")


def is_secret(value: str, kind: str, *, quoted: bool) -> bool:
    """Tell whether a value is a secret in a place that is only for secrets of this kind."""
    least = 6 if kind == "password" else 16
    return (
        " " not in value
        and (kind == "password" or not form("worded").match(value))
        and _looks_secret(value, kind, quoted, ":", least)
        and not (value.isdigit() and kind != "password")
    )


def _looks_secret(
    value: str, kind: str, quoted: bool, sign: str, least: int, environment: bool = False
) -> bool:
    """Judge a value of at least so many characters behind a sign, which is empty after "is" and a flag.

    `environment` is whether it stands as in a shell: NAME=value.
    """
    if len(value) < least or _is_harmless(value, quoted=quoted):
        return False
    if " " in value:
        return kind == "password" and "=" in sign and not form("sentence").search(value)
    if compiled(r"\d").search(value):
        lettered = form("letter").search(value) is not None
        return lettered or (bool(sign) and (kind == "password" or quoted))
    return _stands_alone(value, kind, quoted, sign, environment)


def _stands_alone(value: str, kind: str, quoted: bool, sign: str, environment: bool) -> bool:
    """Tell whether a value without digits is in a place that is only for values."""
    special = _SPECIAL.intersection(value[:_JUDGED].rstrip("!?"))
    if (environment or (kind == "password" and special)) and len(value) >= 6:
        return True
    return not environment and quoted and bool(sign) and (kind == "password" or len(value) >= 16)


def _is_harmless(value: str, *, quoted: bool) -> bool:
    """Tell whether a value is innocent, and does not merely begin as a path; or code, which has no quotes."""
    return (is_innocent(value) and not is_base64(value)) or (not quoted and is_code(value))


def is_base64(text: str) -> bool:
    """Tell base64 of a key from a path, which may begin alike."""
    return (
        form("base64").match(text) is not None
        and not text.endswith(("EXAMPLE", "EXAMPLEKEY"))
        and sum(map(str.isdigit, text)) >= _BASE64_LEAST
        and sum(map(str.isupper, text)) >= _BASE64_LEAST
    )


def _told(text: str, at: int, end: int, row: Told) -> Span | None:
    """Return the span of what a word near it says to be a secret, unless it only says something of one."""
    if row.near:  # before the value, which takes longer
        line = max(text.rfind("\n", 0, at) + 1, at - _PLACE_CONTEXT)
        if not compiled("(?i)" + row.near).search(text[line:end]):
            return None
    if not (match := compiled("(?i)" + row.value).match(text, end)):
        return None
    start, end = match.span(1)
    value = text[start:end]
    if is_innocent(value) or (row.worded and (is_code(value) or form("saying").search(value))):
        return None
    return start, end, row.kind


def _placed(text: str, at: int, kind: str, word: str, expression: str, before: str) -> Span | None:
    """Return the span of a value in its place behind a word, unless it is a placeholder."""
    place = compiled("(?i)" + expression).match(text, at)
    if not place:
        return None
    if before and not compiled("(?i)" + before).search(text[max(0, at - _PLACE_CONTEXT) : at]):
        return None
    start, end = place.span(1)
    value = text[start:end]
    if word in ("_auth", '"auth"'):  # base64 of name:password, or anything else
        from base64 import b64decode

        with suppress(ValueError):
            if b":" in b64decode(value + "=" * (-len(value) % 4), validate=True):
                return start, end, kind
        return None
    if kind == "cookie" and not (compiled(r"\d").search(value) and form("letter").search(value)):
        return None
    return None if _is_harmless(value, quoted=True) else (start, end, kind)
