"""The keys: the one table that the window of help, the line at the bottom and the documentation show."""

from __future__ import annotations

from collections.abc import Mapping

PANES: Mapping[str, str] = {
    "search": "Search",
    "timeline": "Timeline",
    "memory": "Memory",
    "live": "Live",
    "health": "Health",
    "setup": "Setup",
}

# Key → what it does, everywhere; then in one pane.
EVERYWHERE: Mapping[str, str] = {
    "1–6": "go to a pane",
    "/": "go to the search field",
    "j k ↓ ↑": "next and previous row",
    "enter": "open what the row stands for",
    "tab": "next part of the pane",
    "escape": "back",
    "e": "open the note at the line in your editor",
    "c": "correct (F7 selects all; none strikes it): preview",
    "t": "confirm a tentative statement",
    "d": "forget: preview, yes or no",
    "F": "forget a person, a session or words, anywhere",
    "m": "more: merge copies, confirm all that waits",
    "n": "write a new entry",
    "T": "next theme: dark, light, the terminal's own",
    "?": "these keys",
    "q": "quit",
}
OF_PANES: Mapping[str, Mapping[str, str]] = {
    "search": {"f": "what the score of the hit is made of", "s": "struck text too, or not"},
    "timeline": {"[ ]": "previous and next day", "g": "go to a day"},
    "memory": {"h": "history", "u": "take back the change under the cursor", "r": "review a consolidation"},
    "live": {},
    "health": {"r": "examine again"},
    "setup": {
        "a": "search a further folder as well",
        "i": "bring in what another memory holds",
        "x": "write all notes into one file",
    },
}
_SHOWN = ("e", "c", "d", "n", "?", "q")
_OF_NOTES = ("e", "c", "d")  # which Setup lacks
_SHORT = {"e": "edit", "c": "correct", "d": "forget", "n": "new", "?": "keys", "q": "quit", "f": "factors",
          "s": "struck", "[ ]": "day", "g": "go to", "h": "history", "u": "undo", "r": "review",
          "a": "add folder", "i": "bring in", "x": "export"}  # fmt: skip
IN_FIELD = "↓ escape to the hits  enter asks as the settings say"


def hints(pane: str) -> str:
    """Return the line at the bottom of a pane."""
    own = [(key, "again" if pane == "health" else _SHORT[key]) for key in OF_PANES[pane]]
    shown = [(key, _SHORT[key]) for key in _SHOWN if pane != "setup" or key not in _OF_NOTES]
    return "  ".join(f"{key} {word}" for key, word in [*own, *shown])
