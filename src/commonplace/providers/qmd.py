"""QMD, a search of others (https://github.com/tobi/qmd), asked through its own program.

It has a deadline: without its models, `qmd query` waits for ever. It answers from its own index and
configuration.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence

from commonplace.base.errors import ProviderError
from commonplace.base.tuples import NamedTuple
from commonplace.providers import program
from commonplace.redaction.redact import public
from commonplace.types.results import Mode

NAME, INSTALL = "qmd", "npm install -g @tobilu/qmd"
TIMEOUT_S = 180.0  # its reranker takes minutes on a processor
_COMMANDS: Mapping[Mode, str] = {"hybrid": "query", "lexical": "search", "semantic": "vsearch"}
_MOST_BYTES = 16 << 20  # of what it prints
_SNIPPET = re.compile(r"@@ -(\d{1,9})(?:,\d{1,9})? @@[^\n]*\n")


class Found(NamedTuple):
    """A hit of QMD."""

    path: str  # absolute, or `qmd://…` where the file is gone
    first: int  # line of what is shown
    last: int
    score: float
    title: str
    contexts: tuple[str, ...]
    text: str


def search(
    question: str,
    *,
    mode: Mode = "hybrid",
    limit: int = 10,
    collections: Sequence[str] = (),
    min_score: float | None = None,
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
    printed = _run([_COMMANDS[mode], *options, "--", public(question)], folder, timeout_s)
    try:
        rows = json.loads(printed[printed.index(b"[") :])
        return [_found(row, folder) for row in rows[:limit] if isinstance(row, Mapping)]
    except (ValueError, RecursionError) as error:
        message = "printed no list of hits; is it version 2 or later?"
        raise ProviderError(NAME, message, permanent=True) from error


def _found(row: Mapping[str, object], folder: str) -> Found:
    """Return a hit of its JSON: `snippet` begins with the lines that it shows, as a diff does."""

    def text_of(key: str) -> str:
        value = row.get(key)
        return value if isinstance(value, str) else ""

    place, text = text_of("file"), text_of("snippet") or text_of("body")
    line, score = row.get("line"), row.get("score")
    start = line if isinstance(line, int) and line > 0 else 1
    if match := _SNIPPET.match(text):  # its first line counts blank lines before the text
        text = text[match.end() :]
        start = max(1, int(match[1])) + len(text) - len(text.lstrip("\n"))
    text = text.strip("\n")
    return Found(
        place if place.startswith("qmd://") else os.path.normpath(os.path.join(folder, place)),
        start,
        start + text.count("\n"),
        min(1.0, max(0.0, float(score))) if isinstance(score, int | float) else 0.0,
        public(text_of("title")),
        tuple(map(public, filter(None, text_of("context").split("\n\n")))),
        public(text),
    )


def _run(arguments: Sequence[str], folder: str, timeout_s: float) -> bytes:
    """Run QMD in a folder; return its output. Raises ProviderError."""
    # Never a program of the current folder.
    path = os.pathsep.join(filter(os.path.isabs, os.environ.get("PATH", "").split(os.pathsep)))
    found = shutil.which(NAME, path=path)
    if not found:
        raise ProviderError(NAME, f"is not installed; `{INSTALL}` installs it", permanent=True)
    environ = {**os.environ, "PWD": folder, "NO_COLOR": "1"}
    try:
        done = program.run([found, *arguments], folder, timeout_s, most_bytes=_MOST_BYTES, environ=environ)
    except program.NotStarted as error:
        raise ProviderError(NAME, f"cannot be started: {error}", permanent=True) from error
    except TimeoutError as error:
        hint = "has it fetched its models (`qmd pull`)? Its full text alone answers at once (--lexical)"
        raise ProviderError(NAME, f"took longer than {timeout_s:g} s; {hint}") from error
    if done.is_cut:
        raise ProviderError(NAME, f"printed more than {_MOST_BYTES >> 20} MiB", permanent=True)
    if done.failure:
        raise ProviderError(NAME, done.failure)
    return done.printed
