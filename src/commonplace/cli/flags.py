"""The options of a search, and those of every command, as a table that two parsers read.

`options` makes click's options of its rows; `shortcut` reads plain searches by them without click, whose
import takes a quarter of a search's time.
"""

from __future__ import annotations

from collections.abc import Callable

from commonplace.base.tuples import NamedTuple
from commonplace.config.settings import ENGINES, LAYERS, READERS
from commonplace.render import FORMS

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from datetime import date
    from typing import Any


def day(text: str) -> date:
    """Read a day, YYYY-MM-DD. Raises ValueError."""
    from datetime import date

    read = date.fromisoformat(text)
    if read.isoformat() != text:  # 20260213 and 2026-W07-5
        raise ValueError(text)
    return read


class Flag(NamedTuple):
    """An option: its names, the field that it sets, its help, and what reads its value or raises ValueError.

    Without `read` it takes no value and stands for `value`; `--this/--that` for True or False. `bounds` are
    included; `many` may be repeated.
    """

    names: tuple[str, ...]
    field: str
    help: str
    read: Callable[[str], Any] | None = None
    value: object = True
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    bounds: tuple[int, int] | None = None
    many: bool = False

    def convert(self, text: str) -> object:
        """Read a value. Raises ValueError for one that is not allowed."""
        assert self.read is not None
        value = self.read(text)
        low, high = self.bounds or (value, value)
        if (self.choices and value not in self.choices) or not low <= value <= high:
            raise ValueError(text)
        return value


class State:
    """The options given before the command; those after it win."""

    def __init__(self) -> None:
        self.workspace: tuple[str, ...] = ()
        self.agent: str | None = None
        self.everything = False
        self.debug = False


HELP = ("-h", "--help")
REPEATABLE = " Questions may be put to several: repeatable."
# Before and after every command.
SHARED = (
    Flag(
        ("-w", "--workspace"), "workspace",
        f"The workspace; otherwise COMMONPLACE_WORKSPACE, the nearest one upward, or your own.{REPEATABLE}",
        str, metavar="DIR", many=True,
    ),
    Flag(
        ("--all-workspaces",), "everything",
        "Put questions to every workspace of this machine as well: `commonplace workspaces` lists them.",
    ),
    Flag(
        ("--agent",), "agent", "Whose settings apply ([agents.NAME]); otherwise COMMONPLACE_AGENT.",
        str, metavar="NAME",
    ),
    Flag(("--state-dir",), "state_dir", "Keep state and index in this folder.", str, metavar="DIR"),
    Flag(("--debug",), "debug", "Show a traceback on errors."),
)  # fmt: skip
# Of the two commands that serve clients.
SERVING = (
    Flag(
        ("--structured",), "structured",
        "Answer with JSON beside the text; many clients show models that alone.",
    ),
)  # fmt: skip
# Search options that exclude each other.
EXCLUDING = (("--full", "--layer"),)
# Fields of a request (`search.request`), and how its hits are shown.
FLAGS = (
    Flag(("-n", "--limit"), "limit", "Most hits to show.", int, metavar="N", bounds=(1, 1000)),
    Flag(("--all",), "unfolded", "Show the weaker hits as well, which a terminal folds to their number."),
    Flag(
        ("-c", "--collection"), "collections", "Keep to a collection; repeatable.", str,
        metavar="NAME", many=True,
    ),
    Flag(("--lexical",), "mode", "Full text alone.", value="lexical"),
    Flag(("--semantic",), "mode", "Vectors alone.", value="semantic"),
    Flag(
        ("--min-score",), "min_score", "Leave out hits below this score.", float, metavar="X", bounds=(0, 1)
    ),
    Flag(("--strict",), "strict", "Find nothing where nothing clearly answers."),
    Flag(
        ("--layer",), "layer",
        "How much of each hit: a row with its reference, some rows of it (if not said), all of it.",
        str, choices=LAYERS[::-1],
    ),
    Flag(("--full",), "full", "Show whole passages: --layer full."),
    Flag(
        ("--now",), "now", "Tell last week and yesterday from this day, YYYY-MM-DD.", day, metavar="DATE"
    ),
    Flag(("--history",), "history", "Find struck text as well, below what replaced it."),
    Flag(
        ("--as-of",), "as_of",
        "Answer with what held at the end of that time: 2026-02-13, 2026-02, yesterday, 上周三.",
        str, metavar="DATE",
    ),
    Flag(
        ("--rerank",), "rerank", "Who reads the best hits again; otherwise search.rerank.",
        str, choices=READERS,
    ),
    Flag(
        ("--expand/--no-expand",), "expand",
        "Let the language model widen the question, or not; otherwise search.expand.",
    ),
    Flag(
        ("--engine",), "engine", "What answers: ours, or an installed qmd from its own index.",
        str, choices=ENGINES,
    ),
    Flag(("--explain",), "explain", "Show what each score is the sum of, and where the time went."),
    Flag(("--format",), "form", "Form of the answer.", str, choices=FORMS),
    Flag(("--json",), "form", "Short for --format json.", value="json"),
)  # fmt: skip
