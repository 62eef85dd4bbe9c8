"""Secrets and private parts, taken out of text before it is written or indexed; line numbers are kept.

Three ways to know a secret: by its shape (`shapes`, with the table in `detectors`), by the word before it
(`assignments`), by the sentence that tells it (`phrases`). Speed decides the design: an index build redacts
every note, and nearly all hold no secret. So a few substring tests at 1 GB/s decide which of them look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise

from commonplace.base.signature import blake2b
from commonplace.redaction import assignments, folded, shapes
from commonplace.redaction.shapes import Span, compiled

Finder = Callable[[str], Iterable[Span]]

MARK = "[REDACTED:"
REVISION = 3  # of the code: to be raised when it finds other secrets by the same rules
# A command reads a note, checks it and shows it: a long text is redacted once for all of these.
_LONG, _RECENT = 1 << 14, 4  # characters, and how many texts are remembered, by their digest alone
_recent: dict[bytes, tuple[str, tuple[str, ...]]] = {}
_MAX_PASSES = 4  # one is enough, but for parts that only what stood between them kept apart

_PRIVATE_TAG = r"<(/?)private(\s[^<>]{0,500})?(/?)>"
# The same in full width, and with characters without width between the letters: it reads as the tag.
_NO_WIDTH = f"(?:{folded.DROPPED})*+"
_DISGUISED_TAG = (
    rf"[<＜]{_NO_WIDTH}([/／]?){_NO_WIDTH}"
    + _NO_WIDTH.join(f"[{letter}{chr(ord(letter) + folded.WIDTH)}]" for letter in "private")
    + rf"{_NO_WIDTH}(\s[^<>＜＞]{{0,500}})?([/／]?){_NO_WIDTH}[>＞]"
)
# Everything str.splitlines breaks at: what a replaced span held of these is kept.
_BREAKS = r"(?a)[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]"


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """Replace secrets by `[REDACTED:kind]`; return the text and the kinds found, in order.

    The number of lines stays: of a block of several, the first gets the mark and the rest are blanked.
    Redacting twice changes nothing. E-mail addresses, names, hashes and identifiers are not secrets.
    """
    if len(text) < _LONG:
        return _without(text, _secrets)
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    if (known := _recent.get(digest)) is None:
        known = _without(text, _secrets)
        for old in list(_recent)[: 1 - _RECENT]:
            _recent.pop(old, None)
        _recent[digest] = known
    return known


def unmarked(text: str) -> str:
    """Return a redacted text with short marks, which name no kind."""
    return compiled(r"\[REDACTED:[\w-]+\]").sub("***", text)


def public(text: str) -> str:
    """Return a text as it may be kept or shown: without private parts and secrets."""
    return redact(strip_private(text))[0]


def redact_personal(text: str) -> tuple[str, tuple[str, ...]]:
    """Replace e-mail addresses and phone numbers by `[REDACTED:email]` and `[REDACTED:phone]`.

    For what tools were given and brought home; in the owner's notes both are memory. Returns the text and
    the kinds found; doing it twice changes nothing.
    """
    from commonplace.redaction import personal

    return _without(text, personal.find)


def _without(text: str, find: Finder) -> tuple[str, tuple[str, ...]]:
    """Put marks in place of what is found, in the text as it stands and as it reads."""
    kinds: list[str] = []
    for _ in range(_MAX_PASSES):
        spans = [*find(text)]
        if view := folded.fold(text):
            spans += [(*view.span(start, end), kind) for start, end, kind in find(view.text)]
        if not spans:
            break
        # The marks that strike a line are no part of the secret that it ends in.
        spans = [(s, e - 2 if text.endswith("~~", s + 1, e) else e, kind) for s, e, kind in _merged(spans)]
        kinds += [kind for _, _, kind in spans]
        text = _replaced(text, spans)
    return text, tuple(dict.fromkeys(kinds))


@cache
def rules_digest() -> str:
    """Return what `redact` goes by in twelve hexadecimal digits: they change with any rule.

    For what keeps redacted text, such as an index: text redacted by other rules is redacted again. Every
    row and constant of the modules that find secrets counts, so that none can be forgotten.
    """

    from commonplace.redaction import credentials, detectors, phrases

    def canonical(value: object) -> str:
        if isinstance(value, dict):
            value = list(value.items())
        if isinstance(value, frozenset):
            value = sorted(value)
        return f"[{', '.join(map(canonical, value))}]" if isinstance(value, (tuple, list)) else repr(value)

    rules = [repr(REVISION)]
    for module in (detectors, shapes, folded, assignments, phrases, credentials):
        for name, value in sorted(vars(module).items()):
            if not name.startswith("__") and isinstance(
                value, (str, bytes, int, tuple, list, dict, frozenset)
            ):
                rules.append(f"{module.__name__}.{name}={canonical(value)}")
    return blake2b("\n".join(rules).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def holds_secret(text: str) -> bool:
    """Tell whether `redact` would replace anything."""
    return bool(redact(text)[1])


def strip_private(text: str, *, any_case: bool = True) -> str:
    """Blank `<private>…</private>`, tags included, keeping the number of lines.

    Tags may nest, have attributes and stand in code; one never closed hides the rest of the text, but in
    Markdown's code the rest of that: there it may be a mention. In a program `<Private>` may be a type or a
    component: without `any_case` only the lower-case tag counts, and nothing is Markdown.
    """
    for _ in range(_MAX_PASSES):
        spans = list(private_parts(text, any_case)) if "<" in text or "＜" in text else []
        if not spans:
            break
        text = _replaced(text, spans)
    return text


def private_parts(text: str, any_case: bool = True) -> Iterator[Span]:
    """Yield where the private parts of a text start and end, tags included; nested ones are one."""
    opened: list[tuple[int, int]] = []  # the tags that a part begins with, of those that a tag stands in
    closed: list[tuple[int, int]] = []
    expression = _PRIVATE_TAG if text.isascii() else _DISGUISED_TAG
    for tag in compiled(f"(?i){expression}" if any_case else expression).finditer(text):
        closing, attributes, alone = tag.groups(default="")
        if alone or attributes.endswith(("/", "／")):
            continue
        if not closing:
            opened.append(tag.span())
        elif opened:
            closed.append((opened.pop()[0], tag.end()))
    closed = _outermost(closed)
    if opened:
        closed = _outermost([*closed, *_unclosed(text, opened, closed, markdown=any_case)])
    for start, end in closed:
        yield start, end, ""


def unclosed_line(text: str, *, any_case: bool = True) -> int:
    """Return the line (1-based) of a private part that hides the rest of a text, and more; 0 without one."""
    if "<" not in text and "＜" not in text:
        return 0
    # What reaches whatever is put behind the text is never closed.
    opened = [start for start, end, _ in private_parts(f"{text} ", any_case) if end > len(text)]
    return text.count("\n", 0, opened[-1]) + 1 if opened else 0


def _outermost(parts: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sort parts, and join those that overlap."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(parts):
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def _unclosed(
    text: str, tags: Sequence[tuple[int, int]], closed: Sequence[tuple[int, int]], *, markdown: bool
) -> Iterator[tuple[int, int]]:
    """Yield what tags hide that are never closed: the rest of the text, or of the code that one stands in.

    A tag stands in code only if it does so whether private parts, comments, the marks of lists and front
    matter are read as text or not: what is no mention must not be shown.
    """
    if not markdown:
        yield tags[0][0], len(text)
        return
    from commonplace.language.code import Code  # few texts hold such a tag

    def blank(part: str) -> str:
        return "".join(character if character == "\n" else " " for character in part)

    borders = [0, *(place for part in closed for place in part), len(text)]
    pieces = [text[start:end] for start, end in pairwise(borders)]
    public = "".join(blank(piece) if number % 2 else piece for number, piece in enumerate(pieces))
    texts = {text, public}
    for marks in (r"(?s)<!--.*?(?:-->|\Z)", r"(?m)^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*"):
        texts |= {compiled(marks).sub(lambda match: blank(match[0]), one) for one in texts}
    lines = text.split("\n")
    front = next((n for n, line in enumerate(lines[1:], 2) if line.rstrip() in ("---", "...")), 0)
    skips = {0, front if lines[0].rstrip() == "---" else 0}
    readings = [Code(one, skip, nested=nested) for one in texts for skip in skips for nested in (False, True)]
    for start, end in tags:
        ends = [reading.end(start) for reading in readings]
        if -1 in ends or any(one[start] != text[start] for one in texts):
            yield start, len(text)
            return
        if text[end : max(ends)].strip():
            yield start, max(ends)


def _secrets(text: str) -> Iterator[Span]:
    """Find secrets; of overlapping finds the earlier one names the kind."""
    # A byte for each character, so that every place in it is a place in the text. What looks closer is
    # imported by the first text that calls for it: a question seldom does.
    flat = text.encode("ascii", "replace")
    places = shapes.runs(flat)
    if places:
        yield from _tokens(text, flat, places)
    lower = flat.lower()
    if (places or b"@" in flat) and b"://" in flat:
        yield from shapes.addresses(text)
    if words := assignments.words_in(text, lower, long=bool(places)):
        from commonplace.redaction import credentials, phrases

        yield from assignments.find(text, words)
        yield from credentials.find(text, flat, words)
        yield from phrases.find(text, words)
    if shapes.may_hold_card(flat):
        from commonplace.redaction import phrases

        yield from phrases.cards(text)


def _tokens(text: str, flat: bytes, places: Sequence[tuple[int, int]]) -> Iterator[Span]:
    """Find secrets that are one long run of characters each, by their shape."""
    if b"BEGIN " in flat or b"Private-Lines" in flat:
        yield from shapes.private_keys(text)
    tokens = list(shapes.unbroken(text, shapes.tokens(text, places)))
    yield from tokens
    yield from shapes.marked(text, places)
    if b".eyJ" in flat:
        yield from shapes.unbroken(text, shapes.web_tokens(text))
    if b"$" in flat or b"{" in flat:
        from commonplace.redaction import credentials

        yield from credentials.hashes(text)
    if any(kind == "aws-access-key" for _, _, kind in tokens):
        from commonplace.redaction import credentials

        yield from credentials.beside_identifiers(text)


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Sort spans and join those that overlap; the one found first names the kind."""
    merged: list[tuple[int, int, int, str]] = []
    for start, end, rank, kind in sorted((s, e, rank, k) for rank, (s, e, k) in enumerate(spans)):
        if merged and start < merged[-1][1]:
            last = merged.pop()
            first = min(last[2:], (rank, kind))
            merged.append((last[0], max(end, last[1]), *first))
        else:
            merged.append((start, end, rank, kind))
    return [(start, end, kind) for start, end, _, kind in merged]


def _replaced(text: str, spans: Iterable[Span]) -> str:
    """Put a mark (none for an empty kind) in place of each span, keeping its line breaks."""
    parts: list[str] = []
    done = 0
    for start, end, kind in spans:
        breaks = "".join(compiled(_BREAKS).findall(text[start:end]))
        parts += (text[done:start], f"{MARK}{kind}]" if kind else "", breaks)
        done = end
    parts.append(text[done:])
    return "".join(parts)
