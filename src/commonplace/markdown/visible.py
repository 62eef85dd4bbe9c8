"""The visible text of Markdown, from which the full-text index is made.

Marks of emphasis within a word, tags, entities and line ends inside Chinese part what is read as one word. A
link is read as its text; where it leads stands at the end. Text without any of this comes back as it is.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from commonplace.base.expressions import lazy
from commonplace.language import has_wide
from commonplace.language.lexicon import CJK

_WIDE = lazy(f"[{CJK}]")
_BREAK = lazy(rf"\n[ \t>]*(?=[{CJK}])")
# The literal comes first, which `re` finds fast.
_STARRED, _MARKED = lazy(r"\*(?<=[^\W_]\*)\*{0,2}[^\W_]"), lazy(r"==(?<=[^\W_]==)[^\W_]")
_EMPHASIS = lazy(r"(\*{1,3}|==)(?=[^\s*=])((?:(?!\1)[^\n])*?[^\s\\])\1")
# Tags within a word and others, unlike `List<String>`.
_TAGS = (
    r"</?(?:(?P<inline>a|abbr|b|bdi|cite|code|del|em|font|i|ins|kbd|mark|q|rp|rt|ruby|s|samp|small|span|strong|sub|sup"
    r"|tt|u|var|wbr)|br|center|dd|details|div|dl|dt|h[1-6]|hr|img|li|ol|p|picture|pre|source|summary|table|tbody|td"
    r"|th|thead|tr|ul)(?P<rest>(?:\s[^<>\n]*)?)/?>"
)
_TAG = lazy(_TAGS, re.IGNORECASE)
_TARGET = lazy(r"(?:href|src|alt|title)\s*=\s*([\"']?)([^\"'>]*)\1", re.IGNORECASE)
_ENTITIES = r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
_ENTITY = lazy(_ENTITIES)
_AIM = r"\]\(<?([^()\s<>]*(?:\([^()\s]*\)[^()\s]*)?)>?(?:[ \t]+[\"'][^\n\"']*[\"'])?\)"
_LINK = lazy(rf"!?\[([^\[\]\n]*){_AIM}")
_WIKI = lazy(r"!?\[\[([^\[\]|\n]+)(?:\|([^\[\]\n]*))?\]\]")

# Invisible marks within and between words; tags and links by halves.
_CLOSING = rf"{_AIM}|\]\[[^\[\]\n]{{0,200}}\]|\]\]"
HIDDEN = lazy(
    rf"{_TAGS}|{_ENTITIES}|{_CLOSING}|\[\[(?:[^\[\]|\n]{{1,200}}\|)?(?=[^\[\]|\n]{{1,400}}\]\])|<!--[^<]*?-->"
    r"|\[(?=[^\[\]\n]{1,400}\][\[(])|\[\^[^\[\]\s]{1,40}\]|\\(?=\r?\n)"
    r"|-(?<=[^\W\d_]-)(?:\r?\n|\\{1,8}n)[ \t>]{0,40}(?=[^\W\d_])",
    re.IGNORECASE,
)
# And emphasis within a word; between two digits it is a sign of a formula.
WITHIN = lazy(r"[*~`=](?<=[^\W_][*~`=])(?:(?<!=)|=)(?!(?<=\d.)[*~`=]{0,8}\d)[*~`=]{0,7}(?=[^\W_])")
# Halves of links and tags with only a NUL between them.
AROUND_NUL = rf"|!?\[(?:\[[^\[\]|\n]*\|)?\0(?:{_CLOSING})|<([A-Za-z]+)(?:\s[^<>\n]*)?>\0</\2>"


def instead(hidden: re.Match[str]) -> str:
    """Return what is read in the place of what is hidden: a letter for an entity, a blank for a break."""
    if hidden[0][0] == "&":
        from html import unescape

        return unescape(hidden[0])
    return "" if hidden["rest"] is None else _untagged(hidden, [])


def is_plain(source: str) -> bool:
    """Tell whether `text` leaves a text without Chinese, and each part of it, as it is."""
    is_marked = "<" in source or "](" in source or "[[" in source or "&" in source
    return not (is_marked or _is_glued(source))


def text(source: str) -> str:
    """Return a text as it is read, and behind it where its links lead."""
    further: list[str] = []
    if "\n" in source and has_wide(source):
        source = _BREAK.sub(_joined, source)
    if "](" in source or "[[" in source:
        source = _LINK.sub(lambda link: _named(link[1], link[2], further), source)
        source = _WIKI.sub(lambda link: _named(link[2] or link[1], link[1], further), source)
    if "<" in source:
        source = _TAG.sub(lambda tag: _untagged(tag, further), source)
    if "&" in source and _ENTITY.search(source):
        source = _ENTITY.sub(instead, source)
    if _is_glued(source):
        # In a formula they are no marks of emphasis.
        further += [word for word in source.split() if word.isascii() and _is_glued(word)]
        for _ in range(2):  # within each other
            source = _EMPHASIS.sub(r"\2", source)
    return f"{source} {' '.join(further)}" if further else source


def _is_glued(source: str) -> bool:
    """Tell whether a word has marks of emphasis inside."""
    return bool(("*" in source and _STARRED.search(source)) or ("==" in source and _MARKED.search(source)))


def of_lines(source: str, first: int, fences: Sequence[tuple[int, int]]) -> str:
    """Return a text that begins at a line of a note as it is read; code in `fences` is read as it is."""
    last = first + source.count("\n")
    begin, end = bisect_left(fences, first, key=itemgetter(1)), bisect_right(fences, last, key=itemgetter(0))
    inside = fences[begin:end]
    if not inside:
        return text(source)
    code = {number for start, stop in inside for number in range(start, stop + 1)}
    runs = groupby(enumerate(source.split("\n"), first), lambda numbered: numbered[0] in code)
    blocks = ((is_code, "\n".join(line for _, line in run)) for is_code, run in runs)
    return "\n".join(block if is_code else text(block) for is_code, block in blocks)


def _joined(end: re.Match[str]) -> str:
    above = end.string[: end.start()].rstrip(" \t")[-1:]
    return "" if _WIDE.match(above) else end[0]


def _named(shown: str, target: str, further: list[str]) -> str:
    if target != shown:
        further.append(target)
    return shown


def _untagged(tag: re.Match[str], further: list[str]) -> str:
    further += (value for _, value in _TARGET.findall(tag["rest"]))
    return "" if tag["inline"] else " "
