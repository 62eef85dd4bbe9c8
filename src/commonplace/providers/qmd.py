"""QMD, a search of others (https://github.com/tobi/qmd), asked through its own program.

It has a deadline: without its models, `qmd query` waits for ever. It answers from its own index and
configuration; `Home` gives it one apart from the user's, for measurements.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from commonplace.base.errors import ProviderError
from commonplace.base.tuples import NamedTuple
from commonplace.providers import program
from commonplace.redaction.redact import public
from commonplace.types.results import Mode

NAME = "qmd"
INSTALL = "npm install -g @tobilu/qmd"
TIMEOUT_S = 180.0  # its reranker takes minutes on a processor
INDEXING_S = 1800.0
_COMMANDS: Mapping[Mode, str] = {"hybrid": "query", "lexical": "search", "semantic": "vsearch"}
_MOST_BYTES = 16 << 20  # of what it prints
_SNIPPET = re.compile(r"@@ -(\d{1,9})(?:,\d{1,9})? @@[^\n]*\n")


class Found(NamedTuple):
    """A hit of QMD: the file, absolute or as `qmd://…` where it is gone, and the lines of what it shows."""

    path: str
    first: int
    last: int
    score: float
    title: str
    contexts: tuple[str, ...]
    text: str


class Home(NamedTuple):
    """Where QMD keeps its configuration and its index, if not in the user's own place."""

    folder: str

    def environment(self) -> dict[str, str]:
        """The variables that lead it there."""
        return {"QMD_CONFIG_DIR": self.folder, "INDEX_PATH": os.path.join(self.folder, "index.sqlite")}


def search(
    question: str,
    *,
    mode: Mode = "hybrid",
    limit: int = 10,
    collections: Sequence[str] = (),
    min_score: float | None = None,
    home: Home | None = None,
    timeout_s: float = TIMEOUT_S,
) -> list[Found]:
    """Ask QMD, best hit first. Raises ProviderError where it is missing, fails, or takes too long."""
    options = ["--format", "json", "--full-path", "-n", str(limit)]
    options += [part for name in collections for part in ("-c", name)]
    options += ["--min-score", str(min_score)] if min_score is not None else []
    try:
        folder = os.getcwd()
    except OSError:  # it is gone
        folder = os.path.expanduser("~")
    try:
        printed = _run([_COMMANDS[mode], *options, "--", public(question)], folder, home, timeout_s)
    except TimeoutError as error:
        help_ = "its full text alone answers at once (--lexical)" if mode != "lexical" else "try again"
        reason = f"took longer than {timeout_s:g} s; has it fetched its models (`qmd pull`)? {help_}"
        raise ProviderError(NAME, reason) from error
    start = printed.find(b"[")
    try:
        rows = json.loads(printed[start:]) if start >= 0 else None
    except (ValueError, RecursionError):
        rows = None
    if not isinstance(rows, list):
        raise ProviderError(NAME, "printed no list of hits; is it version 2 or later?", permanent=True)
    return [_found(row, folder) for row in rows[:limit] if isinstance(row, Mapping)]


def index(folder: str, home: Home, *, vectors: bool = False) -> None:
    """Have QMD index the Markdown of a folder in a home of its own. Raises ProviderError."""
    os.makedirs(home.folder, mode=0o700, exist_ok=True)
    known = os.path.exists(os.path.join(home.folder, "index.yml"))
    first = ["update"] if known else ["collection", "add", os.path.realpath(folder), "--name", "w"]
    try:
        for command in (first, ["embed"]) if vectors else (first,):
            _run(command, folder, home, INDEXING_S)
    except TimeoutError as error:
        raise ProviderError(NAME, f"took longer than {INDEXING_S:g} s to index {folder}") from error


def _found(row: Mapping[str, object], folder: str) -> Found:
    """A hit of its JSON: `snippet` begins with the lines that it shows, as a diff does."""
    place, text = _text(row, "file"), _text(row, "snippet") or _text(row, "body")
    first = row.get("line")
    start = first if isinstance(first, int) and first > 0 else 1
    if match := _SNIPPET.match(text):  # its first line counts blank lines before the text
        text = text[match.end() :]
        start = max(1, int(match[1])) + len(text) - len(text.lstrip("\n"))
    lines = text.strip("\n").count("\n") + 1
    score = row.get("score")
    contexts = tuple(filter(None, _text(row, "context").split("\n\n")))
    return Found(
        place if place.startswith("qmd://") else os.path.normpath(os.path.join(folder, place)),
        start,
        max(start, start + lines - 1),
        min(1.0, max(0.0, float(score))) if isinstance(score, int | float) else 0.0,
        public(_text(row, "title")),
        tuple(map(public, contexts)),
        public(text.strip("\n")),
    )


def _text(row: Mapping[str, object], key: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else ""


def _run(arguments: Sequence[str], folder: str, home: Home | None, timeout_s: float) -> bytes:
    """Run QMD in a folder; return its output. Raises ProviderError, TimeoutError."""
    # Never a program of the current folder.
    path = os.pathsep.join(filter(os.path.isabs, os.environ.get("PATH", "").split(os.pathsep)))
    found = shutil.which(NAME, path=path)
    if not found:
        raise ProviderError(NAME, f"is not installed; `{INSTALL}` installs it", permanent=True)
    environ = {**os.environ, "PWD": folder, "NO_COLOR": "1", **(home.environment() if home else {})}
    try:
        done = program.run([found, *arguments], folder, timeout_s, most_bytes=_MOST_BYTES, environ=environ)
    except program.NotStarted as error:
        raise ProviderError(NAME, f"cannot be started: {error}", permanent=True) from error
    if done.is_cut:
        raise ProviderError(NAME, f"printed more than {_MOST_BYTES >> 20} MiB", permanent=True)
    if done.failure:
        raise ProviderError(NAME, done.failure)
    return done.printed


def home_below(folder: Path) -> Home:
    """Return a home of QMD in a folder that may be deleted at any time."""
    return Home(os.fspath(folder / NAME))
