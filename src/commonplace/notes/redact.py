"""Secrets and private parts, taken out of text before it is written or indexed; line numbers are kept.

The shapes are those of the providers' own documents and of the detectors in Yelp's `detect-secrets`; the
expressions are ours. Speed decides the design: an index build redacts every note, and nearly all hold no
secret. So a few substring tests at 1 GB/s decide which scanners run at all, and each scanner starts at one
rare character. Every repetition but the last of an expression is bounded or possessive, so the time stays
linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial

from commonplace.base.digest import blake2b
from commonplace.notes import assignments, phrases

Span = tuple[int, int, str]
Row = tuple[str, str, str]
Finder = Callable[[str], Iterable[Span]]

MARK = "[REDACTED:"
_MAX_PASSES = 4  # one is enough, but for parts that only what stood between them kept apart
# Every token below has a run of 20 such characters, and few notes have one. Mapped to one letter, a run is
# found by substring search, which skips 20 bytes at a time.
_RUN = b"a" * 20
_TO_RUNS = bytes(
    ord("a") if chr(b).isascii() and (chr(b).isalnum() or b in b"_-") else ord(" ") for b in range(256)
)
_DIGIT = re.compile(rb"[0-9]")

# Anchor character -> rows of (kind, fixed-width prefix that ends in the anchor, rest). Tokens do not start
# inside a word; what can run on stands last, where nothing can fail any more.
_TOKENS: dict[str, tuple[Row, ...]] = {
    "A": (
        ("aws-access-key", "A", r"(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
        ("google-api-key", "A", r"Iza[\w-]{35,}"),
        ("twilio-key", "A", r"C[0-9a-f]{32}(?![A-Za-z0-9])"),
        ("age-key", "A", r"GE-SECRET-KEY-1[A-Z0-9]{20,}"),
        ("azure-key", "A", r"ccountKey=[A-Za-z0-9+/]{40,}={0,2}"),
    ),
    "S": (
        ("sendgrid-key", "S", r"G\.[\w-]{16,64}\.[\w-]{20,}"),
        ("twilio-key", "S", r"K[0-9a-f]{32}(?![A-Za-z0-9])"),
    ),
    "_": (
        ("github-token", "gh[pousr]_", r"[A-Za-z0-9]{30,}"),
        ("github-token", "github_pat_", r"\w{30,}"),
        ("npm-token", "npm_", r"[A-Za-z0-9]{30,}"),
        ("stripe-key", "[sr]k_live_", r"[A-Za-z0-9]{16,}"),
        ("stripe-key", "whsec_", r"[A-Za-z0-9+/]{24,}"),
        ("huggingface-token", "hf_", r"[A-Za-z0-9]{30,}"),
        ("groq-key", "gsk_", r"[A-Za-z0-9]{40,}"),
        ("shopify-token", "shp(?:at|ca|pa|ss)_", r"[0-9a-fA-F]{32,}"),
        ("digitalocean-token", "do[opr]_v1_", r"[0-9a-f]{64,}"),
        ("linear-key", "lin_api_", r"[A-Za-z0-9]{30,}"),
        ("replicate-token", "r8_", r"[A-Za-z0-9]{30,}"),
    ),
    "-": (
        # Up to four vendor words, then a run that holds a digit: `sk-learn-something` is prose.
        ("api-key", "sk-", r"(?:[a-z0-9]{1,12}-){0,4}(?=[A-Za-z_]{0,60}\d)\w{16,}[\w-]*"),
        ("slack-token", "xox[abeoprs]-", r"(?=[\w-]{0,20}\d)[\w-]{15,}"),
        ("slack-token", "xapp-", r"\d-[\w-]{13,}"),
        ("gitlab-token", "glpat-", r"[\w-]{20,}"),
        ("gitlab-token", "gl(?:dt|ft|rt)-", r"[\w-]{20,}"),
        ("gitlab-token", "gl(?:cbt|imt|ptt|oas)-", r"[\w-]{20,}"),
        ("gitlab-token", "glsoat-", r"[\w-]{20,}"),
        ("gitlab-token", "glagent-", r"[\w-]{40,}"),
        ("pypi-token", "pypi-", r"AgE[Ij][\w-]{30,}"),
        ("nvidia-key", "nvapi-", r"[\w-]{40,}"),
        ("api-key", "(?:pplx|tvly)-", r"(?:dev-|prod-)?[A-Za-z0-9]{24,}"),
    ),
    ":": tuple(("telegram-token", rf"\d{{{n}}}:", r"AA[\w-]{32,33}(?![\w-])") for n in (8, 9, 10)),
    ".": (("discord-token", r"[\w-]{24}\.", r"[\w-]{6}\.[\w-]{27,}"),),
}
# Header and payload are both JSON objects, so both start with `eyJ`, which is {" in base64.
_JWT_TAIL = r"\.eyJ[\w=-]{10,}(?:\.[\w=-]*)?"
_JWT_HEAD = r"eyJ[\w=-]{10,}\Z"
_JWT_HEAD_MAX = 1000
_URLS = (
    ("basic-auth", r"[^\s/:@?#'\"<>]{0,128}:(?![${<%*]|\[REDACTED)([^\s/?#'\"<>]{1,256})(?=@[\w\[])"),
    ("slack-webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w+/-]{20,})"),
    ("discord-webhook", r"(?:ptb\.|canary\.)?discord(?:app)?\.com/api/webhooks/\d{1,20}/([\w-]{30,})"),
)
_KEY_BEGIN = r"-----? ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
_KEY_CLOSED = r"(?:[^-]|-(?!---))*+-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
_KEY_LINE = (
    r"[ \t>|\"',+\\]*+(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash):[^\n]*+"
    r"|[A-Za-z0-9+/\\]{16,}+={0,2}|[A-Za-z0-9+/]{1,15}={1,2})?[ \t\"',+\\]*+\r?(?:\n|\Z)"
)
_KEY_RUN = r"[A-Za-z0-9+/]{16}"

_PRIVATE_TAG = r"<(/?)private(\s[^<>]{0,500})?(/?)>"
# Everything str.splitlines breaks at: what a replaced span held of these is kept.
_BREAKS = r"[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]"


def rules_digest() -> str:
    """Return what changes whenever a text may be redacted otherwise than before."""
    return blake2b(b"redaction-1", digest_size=8).hexdigest()


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """Replace secrets by `[REDACTED:kind]`; return the text and the kinds found, in order.

    The number of lines stays: of a block of several, the first gets the mark and the rest are blanked.
    Redacting twice changes nothing. E-mail addresses, names, hashes and identifiers are not secrets.
    """
    kinds: list[str] = []
    for _ in range(_MAX_PASSES):
        finders = _suspected(text)
        spans = _merged(span for find in finders for span in find(text)) if finders else []
        # The marks that strike a line are no part of the secret that it ends in.
        spans = [(s, e - 2 if text.endswith("~~", s + 1, e) else e, kind) for s, e, kind in spans]
        if not spans:
            break
        kinds += [kind for _, _, kind in spans]
        text = _replaced(text, spans)
    return text, tuple(dict.fromkeys(kinds))


def redact_personal(text: str) -> tuple[str, tuple[str, ...]]:
    """Replace e-mail addresses and phone numbers by `[REDACTED:email]` and `[REDACTED:phone]`.

    For what tools were given and brought home; in the owner's notes both are memory. Returns the text and
    the kinds found; doing it twice changes nothing.
    """
    from commonplace.notes import personal

    kinds: list[str] = []
    for _ in range(_MAX_PASSES):
        spans = _merged(personal.find(text))
        if not spans:
            break
        kinds += [kind for _, _, kind in spans]
        text = _replaced(text, spans)
    return text, tuple(dict.fromkeys(kinds))


def holds_secret(text: str) -> bool:
    """Tell whether `redact` would replace anything."""
    return bool(redact(text)[1])


def strip_private(text: str, *, any_case: bool = True) -> str:
    """Blank `<private>…</private>`, tags included, keeping the number of lines.

    Tags may nest, have attributes and stand in code; one never closed hides the rest of the text. In a
    program `<Private>` may be a type or a component: without `any_case` only the lower-case tag counts.
    """
    for _ in range(_MAX_PASSES):
        spans = list(private_parts(text, any_case)) if "<" in text else []
        if not spans:
            break
        text = _replaced(text, spans)
    return text


def private_parts(text: str, any_case: bool = True) -> Iterator[Span]:
    """Yield where the private parts of a text start and end, tags included; nested ones are one."""
    depth = start = 0
    expression = f"(?i){_PRIVATE_TAG}" if any_case else _PRIVATE_TAG
    for tag in _exact(expression).finditer(text):
        closing, attributes, alone = tag.groups()
        if alone or (attributes or "").endswith("/"):
            continue
        if not closing:
            start = start if depth else tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield start, tag.end(), ""
    if depth:
        yield start, len(text), ""


def _suspected(text: str) -> list[Finder]:
    """Return the scanners that may find something; of overlapping finds the earlier one names the kind."""
    raw = text.encode("utf-8", "surrogatepass")
    finders: list[Finder] = []
    if b"PRIVATE KEY" in raw:
        finders.append(_private_keys)
    if runs := _has_token_run(raw):
        finders += _token_finders()
        finders.append(_jwts)
    if (runs or b"@" in raw) and b"://" in raw:
        finders.append(_urls)
    lower = raw.lower()
    words, names = assignments.words_in(text, lower), phrases.names_in(lower)
    if words or names:
        # Lower-cased as ASCII, so that every character keeps its place.
        same = lower.decode("utf-8", "surrogatepass")
        finders.append(partial(assignments.find, lower=same, words=words))
        finders.append(partial(phrases.find, lower=same, names=names))
    if phrases.has_card(raw):
        finders.append(phrases.cards)
    return finders


def _has_token_run(raw: bytes) -> bool:
    """Tell whether a long run of token characters holds a digit or is all capitals; long words do not."""
    mapped = raw.translate(_TO_RUNS)
    start = mapped.find(_RUN)
    while start >= 0:
        end = mapped.find(b" ", start)
        run = raw[start : end if end >= 0 else len(raw)]
        if run.isupper() or _DIGIT.search(run):
            return True
        start = mapped.find(_RUN, start + len(run))
    return False


@cache
def _token_finders() -> tuple[Finder, ...]:
    return tuple(_token_finder(anchor, rows) for anchor, rows in _TOKENS.items())


def _token_finder(anchor: str, rows: Sequence[Row]) -> Finder:
    kinds = [kind for kind, _, _ in rows]
    tails = "|".join(rf"(?<=(?<![A-Za-z0-9])({prefix})){rest}" for _, prefix, rest in rows)
    search = re.compile(f"{re.escape(anchor)}(?:{tails})", re.ASCII).finditer

    def find(text: str) -> Iterator[Span]:
        for found in search(text):
            group = found.lastindex or 1
            yield found.start(group), found.end(), kinds[group - 1]

    return find


@cache
def _exact(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.ASCII)


def _private_keys(text: str) -> Iterator[Span]:
    """Find blocks with at least one line of key in them, closed or not; prose about keys has none."""
    for begin in _exact(_KEY_BEGIN).finditer(text):
        end = begin.end()
        if closed := _exact(_KEY_CLOSED).match(text, end):
            end = closed.end()
        else:
            while (line := _exact(_KEY_LINE).match(text, end)) and line.end() > end:
                end = line.end()
        if _exact(_KEY_RUN).search(text, begin.end(), end):
            yield begin.start(), end, "private-key"


def _jwts(text: str) -> Iterator[Span]:
    for tail in _exact(_JWT_TAIL).finditer(text):
        low = max(0, tail.start() - _JWT_HEAD_MAX)
        if head := _exact(_JWT_HEAD).search(text[low : tail.start()]):
            yield low + head.start(), tail.end(), "jwt"


def _urls(text: str) -> Iterator[Span]:
    expression = "://(?:" + "|".join(rest for _, rest in _URLS) + ")"
    for found in _exact(expression).finditer(text):
        group = found.lastindex or 1
        yield *found.span(group), _URLS[group - 1][0]


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
        breaks = "".join(_exact(_BREAKS).findall(text[start:end]))
        parts += (text[done:start], f"{MARK}{kind}]" if kind else "", breaks)
        done = end
    parts.append(text[done:])
    return "".join(parts)
