"""Secrets and private parts, taken out of text before it is written or indexed; line numbers are kept.

Three ways to know a secret: by its shape (`shapes`, with the table in `detectors`), by the word before it
(`assignments`), by the sentence that tells it (`phrases`). Speed decides the design: an index build redacts
every note, and nearly all hold no secret. So a few substring tests at 1 GB/s decide which of them look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from commonplace.base.digests import blake2b
from commonplace.base.lines import recent
from commonplace.redaction import assignments, folded, shapes
from commonplace.redaction.shapes import Span, compiled

Finder = Callable[[str], Iterable[Span]]

MARK = "[REDACTED:"
REVISION = 4  # of the code: to be raised when it finds other secrets by the same rules
# A command reads a note, checks it and shows it: a long text is redacted once for all of these.
_LONG, _RECENT = 1 << 14, 4  # characters, and how many texts are remembered
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
    Redaction is idempotent. E-mail addresses, names, hashes and identifiers are not secrets.
    """
    return (_redacted if len(text) < _LONG else _recent)(text)


def _redacted(text: str) -> tuple[str, tuple[str, ...]]:
    return _without(text, _secrets)


_recent = recent(_RECENT, _redacted)


def unmarked(text: str) -> str:
    """Return a redacted text with short marks, which name no kind."""
    return compiled(r"\[REDACTED:[\w-]+\]").sub("***", text)


def public(text: str) -> str:
    """Return a text as it may be kept or shown: without private parts and secrets."""
    return redact(strip_private(text))[0]


def redact_personal(text: str) -> tuple[str, tuple[str, ...]]:
    """Replace e-mail addresses, phone and resident numbers by `[REDACTED:email]`, `…:phone]`, `…:id-number]`.

    For what tools were given and brought home; in the owner's notes they are memory. Returns the text and
    the kinds found; idempotent.
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
    row and constant of the modules that find secrets counts.
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
            is_rule = not name.startswith("__") and name != "TYPE_CHECKING"
            if is_rule and isinstance(value, (str, bytes, int, tuple, list, dict, frozenset)):
                rules.append(f"{module.__name__}.{name}={canonical(value)}")
    return blake2b("\n".join(rules).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def holds_secret(text: str) -> bool:
    """Tell whether `redact` would replace anything."""
    return bool(redact(text)[1])


def strip_private(text: str, *, any_case: bool = True) -> str:
    """Blank `<private>…</private>`, tags included, keeping the number of lines.

    Tags may nest, have attributes and be in code; an unclosed tag hides the rest of the text. In a
    program `<Private>` may be a type or a component: without `any_case` only the lower-case tag counts.
    """
    for _ in range(_MAX_PASSES):
        spans = list(private_parts(text, any_case)) if "<" in text or "＜" in text else []
        if not spans:
            break
        text = _replaced(text, spans)
    return text


def private_parts(text: str, any_case: bool = True) -> Iterator[Span]:
    """Yield start and end of the private parts of a text, tags included; nested parts count once."""
    opened: list[int] = []  # the starts of the open parts
    expression = _PRIVATE_TAG if text.isascii() else _DISGUISED_TAG
    for tag in compiled(f"(?i){expression}" if any_case else expression).finditer(text):
        closing, attributes, alone = tag.groups(default="")
        if alone or attributes.endswith(("/", "／")):
            continue
        if not closing:
            opened.append(tag.start())
        elif opened:
            start = opened.pop()
            if not opened:
                yield start, tag.end(), ""
    if opened:
        yield opened[0], len(text), ""


def unclosed_line(text: str, *, any_case: bool = True) -> int:
    """Return the line (1-based) of a private part that hides the rest of a text, and more; 0 without one."""
    if "<" not in text and "＜" not in text:
        return 0
    # A part that reaches appended text is not closed.
    opened = [start for start, end, _ in private_parts(f"{text} ", any_case) if end > len(text)]
    return text.count("\n", 0, opened[-1]) + 1 if opened else 0


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

        named = [*assignments.find(text, words), *credentials.find(text, flat, words)]
        named += [*phrases.find(text, words), *assignments.told(text, words)]
        yield from named
        yield from assignments.repeated(text, named)
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
    """Replace each span by a mark (by an empty text for an empty kind), keeping its line breaks."""
    parts: list[str] = []
    done = 0
    for start, end, kind in spans:
        breaks = "".join(compiled(_BREAKS).findall(text[start:end]))
        parts += (text[done:start], f"{MARK}{kind}]" if kind else "", breaks)
        done = end
    parts.append(text[done:])
    return "".join(parts)
