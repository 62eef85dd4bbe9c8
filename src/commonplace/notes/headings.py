"""What a line says as a heading (CommonMark 0.31, section 4.2), in time linear in the line."""

from __future__ import annotations

import re

# HTML that stands in headings; `List<String>` is none.
_TAG = re.compile(
    r"</?(?:a|img|b|i|em|strong|code|kbd|br|sub|sup|span|small|u|p|div|center|picture|source)(?:[\s/][^<>]*)?>",
    re.IGNORECASE,
)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\s\"[^\"]*\")?\)")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_NOT_PARAGRAPH = re.compile(r" {0,3}(?:[-*+>|]|\d+[.)]|_(?:[ \t]*_){2,}[ \t]*$)|\s{4}|\s*$")
_OPENS = re.compile(r" {0,3}#{1,6}(?:[ \t]|\Z)")


def atx(line: str) -> tuple[int, str] | None:
    """Return level (1 to 6) and text of a heading; None for a line that is none."""
    found = _ATX.fullmatch(line)
    return (len(found[1]), unclosed(found[2] or "")) if found else None


def setext(text: str, under: str) -> tuple[int, str] | None:
    """Return level (1 or 2) and text of a heading that the line below underlines; None for no heading."""
    if under.strip("-= \t") or not (found := _SETEXT.match(under)) or _NOT_PARAGRAPH.match(text):
        return None
    return 1 if found[1][0] == "=" else 2, text.strip()


def is_atx(line: str) -> bool:
    """Whether a line is a heading by the marks that open it, and not by an underline."""
    return _OPENS.match(line) is not None


def unclosed(text: str) -> str:
    """Strip a heading's text, and the run of `#` that may close it."""
    text = text.strip()
    if not text or text[-1] != "#":
        return text
    bare = text.rstrip("#")
    return text if bare and not bare[-1].isspace() else bare.rstrip()


def plain(text: str) -> str:
    """Return a heading's text as it is read: without HTML tags, with the words of links and images alone."""
    if "<" in text:
        text = _TAG.sub("", text)
    for _ in range(2 if "](" in text else 0):  # an image may be what a link shows
        text = _LINK.sub(r"\1", text)
    return " ".join(text.split()) if "  " in text else text.strip()
