"""An action of the tests: it stamps a word into a file."""

from __future__ import annotations

from typing import NamedTuple

from commonplace.actions.action import Action, Call, Param, Shown
from commonplace.actions.schema import flag, text
from commonplace.base.errors import PreviewOutdated

FILE = "stamps.txt"


class Stamped(NamedTuple):
    """What was stamped, as a diff."""

    word: str
    diff: str = ""


def _stamp(call: Call) -> Shown:
    file = call.memory.workspace.root / FILE
    before = file.read_text() if file.exists() else ""
    word = call.values["word"].upper() if call.values.get("loud") else call.values["word"]
    outcome = Stamped(word, f"--- a/{FILE}\n+++ b/{FILE}\n@@ -1 +1 @@\n+{word}\n")

    def carry() -> Stamped:
        if (file.read_text() if file.exists() else "") != before:
            raise PreviewOutdated([FILE])
        file.write_text(f"{before}{word}\n")
        return outcome

    return Shown(outcome, carry, f"Stamp {word}", f"Stamp {word}?", outcome.diff)


STAMP = Action(
    "stamp", "Stamp a word.", _stamp, Stamped, lambda done: f"stamped {done.word}",
    (
        Param("word", text("What is stamped.", least=1, most=20), True, "WORD"),
        Param("loud", flag("In capitals.")),
    ),
    path="/api/stamp", doors=frozenset({"cli", "http", "mcp", "page", "panel"}),
)  # fmt: skip
