"""Encoded data in notes (pictures, attachments, certificates): neither cut nor searched nor shown.

Nor is what Logseq keeps in them for itself: ids of blocks, which ones are folded, when a task was worked on.
"""

from __future__ import annotations

import re

from commonplace.base.expressions import lazy

_LARGE = 50_000  # characters, from which on a text is looked at whatever it says
_PICTURE = lazy(
    r"(data:[a-zA-Z][\w.+-]*/[\w.+-]+(?:;[\w.+=\"-]+)*,)(?:[A-Za-z0-9+/=_-]{64,}+|[^\s()\"'<>]{200,}+)"
)
_RUN = lazy(r"[A-Za-z0-9+/]{200,}+={0,2}")
_LINE = r"[ \t>]{0,20}+[A-Za-z0-9+/]{56,100}+[ \t\r]{0,20}\n"
_LINES = lazy(
    rf"^(?:{_LINE}|(?!)){{3,}}+(?:[ \t>]{{0,20}}+[A-Za-z0-9+/]{{1,100}}+={{0,2}}[ \t\r]{{0,20}}$)?",
    re.MULTILINE,
)
_LOGSEQ = lazy(
    r"^[ \t]*(?:id:: [0-9a-fA-F-]{36}|collapsed:: (?:true|false)"
    r"|:LOGBOOK:(?:\n[ \t]*CLOCK: [^\n]{0,200}+)*\n[ \t]*:END:)[ \t]*$",
    re.MULTILINE,
)
# Hashes have no letters behind f, and words rarely digits, capitals and small letters.
_MIXED = lazy(r"(?=.{0,400}?[0-9])(?=.{0,400}?[a-z])(?=.{0,400}?[A-Z]).{0,400}?[g-zG-Z]", re.DOTALL)


def left_out(text: str) -> str:
    """Return a text with `…` in the place of encoded data, line for line; linear in the text."""
    if ":: " in text or ":LOGBOOK:" in text:
        text = _LOGSEQ.sub(lambda kept: "\n" * kept[0].count("\n"), text)
    if ";base64," in text or "data:image/" in text:
        text = _PICTURE.sub(r"\1…", text)
    if len(text) > _LARGE or "base64" in text or "-----BEGIN" in text:
        text = _RUN.sub(lambda run: "…" if _MIXED.match(run[0]) else run[0], text)
        text = _LINES.sub(
            lambda run: "…" + "\n" * run[0].count("\n") if _MIXED.match(run[0]) else run[0], text
        )
    return text
