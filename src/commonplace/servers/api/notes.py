"""Notes written: an entry appended, a note edited in place by who has read what it says."""

from __future__ import annotations

import hashlib
import re
from functools import partial
from posixpath import basename, normpath
from typing import Any
from urllib.parse import quote

from commonplace.base.errors import NoteNotFound, OutsideRoots
from commonplace.base.messages import message
from commonplace.base.paths import MEMORY_FILE, MEMORY_FOLDER
from commonplace.base.root import is_hidden
from commonplace.servers.api import schema
from commonplace.servers.api.errors import Refused
from commonplace.servers.api.operations import Operation, OperationCall, Reply
from commonplace.servers.api.schema import answer, flag, listed, record, text
from commonplace.types import About, Written, cite

_MOST_CHARACTERS = 32_000  # of an entry, as tools take it
_MOST_LINKS = 200
_MOST_OF_A_NOTE = 1_000_000  # characters
_PATH = text("Of a note of the workspace itself, such as MEMORY.md.", least=1, most=1000)
SOURCE = answer(
    path=text(), text=text("With marks in place of private parts and secrets."), digest=text(), run=text()
)


def _remember(call: OperationCall) -> object:
    values = call.values
    written = call.memory.remember(
        values["text"], provenance=call.provenance,
        **call.given("heading", "section", "long_term", "tentative", "on"),
    )  # fmt: skip
    return Reply(written, 201)


def _source(call: OperationCall) -> object:
    """Show a note to who edits it."""
    from commonplace.agent import files

    place = _place(call)
    shown = files.shown(call.memory, place)
    if shown is None:
        raise NoteNotFound(place)
    return _version(place, shown)


def _edit(call: OperationCall) -> object:
    """Replace a note that is still as it was read, or make one that is not there."""
    from commonplace.agent import files
    from commonplace.redaction.masks import MarkLost

    place, new = _place(call), call.values["text"]
    read, makes = (
        _etag(call.headers.get("if-match", "")),
        call.headers.get("if-none-match", "").strip() == "*",
    )
    if not (read or makes):
        remedy = "send If-Match with the ETag that was read, or If-None-Match: * for a new note"
        raise Refused(428, "nobody knows which version of the note this replaces", remedy)

    def compose(before: str | None) -> str:
        if (makes and before is not None) or (read and (before is None or _digest(before) != read)):
            current: dict[str, Any] = {} if before is None else {"current": _version(place, before).value}
            remedy = message("source.again", "read it again, and edit that")
            if before is None:
                remedy = message("source.gone", "it is gone; If-None-Match: * makes it")
            changed = "{path} was changed meanwhile, so nothing was written"
            raise Refused(412, message("source.changed", changed, path=place), remedy, **current)
        return str(new)

    about = About("write", f"edit {place}", "edited by hand")
    try:
        edited = files.edit(call.memory, place, compose, about)
    except MarkLost as error:
        remedy = message("source.mark", "leave its mark where it stands")
        lost = message("source.lost", "{what} of {path} would be lost, so nothing was written",
                       what=error.args[0], path=place)  # fmt: skip
        raise Refused(409, lost, remedy) from error
    return _version(place, edited.text, edited.run.id if edited.run else "")


def _links(call: OperationCall) -> object:
    """Find the lines that link to a note by its name: `[[Name]]`, `[text](folder/Name.md)`."""
    from commonplace.edit.resolve import Corpus
    from commonplace.storage import transaction

    memory = call.memory
    name = basename(call.values["path"]).removesuffix(".md")
    names = f"(?:{re.escape(name)}|{re.escape(quote(name))})"
    wiki = rf"\[\[(?:[^\[\]|#\n]*/)?{names}(?:\.md)?[\]|#^]"
    link = re.compile(rf"{wiki}|\]\(<?(?:[^()<>\n]*/)?{names}\.md[#)>\s]", re.IGNORECASE)
    corpus = Corpus(memory.workspace, memory.settings, partial(transaction.read, memory.workspace))
    places = [
        cite(path, number, number)
        for path in corpus.paths
        if path != call.values["path"] and link.search(corpus.glance(path).decode("utf-8", "replace"))
        for number, line in enumerate(corpus.document(path).bare, 1)
        if link.search(line)
    ]
    return {"links": places[:_MOST_LINKS]}


def _version(place: str, shown: str, run: str = "") -> Reply:
    digest = _digest(shown)
    return Reply(
        {"path": place, "text": shown, "digest": digest, "run": run}, headers={"etag": f'"{digest}"'}
    )


def _digest(shown: str) -> str:
    return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _etag(header: str) -> str:
    """The digest in an entity tag (RFC 9110 §8.8.3); empty for a weak one, several, and `*`."""
    return header.strip().removeprefix('"').removesuffix('"') if header.strip() != "*" else ""


def _place(call: OperationCall) -> str:
    """The path of a note that may be edited. Raises OutsideRoots, AccessDenied, NoteNotFound."""
    from commonplace.memory import beside

    path = str(call.values["path"])
    name, colon, _ = path.partition(":")
    if colon and (other := beside(call.memory, name)) is not call.memory:
        other.workspace.check_writable()
    plain = not path.startswith("/") and "\\" not in path and path.isprintable() and normpath(path) == path
    if not plain or path.startswith("../") or is_hidden(path) or not path.lower().endswith(".md"):
        plain_path = "only Markdown notes of the workspace itself are edited, by their plain paths"
        raise OutsideRoots(path, message("source.path", plain_path))
    is_known = path == MEMORY_FILE or path.startswith(f"{MEMORY_FOLDER}/")
    if not (is_known or call.memory.workspace.files.is_file(path)):
        reason = message("source.new", "no such note; new ones stand in {folder}/", folder=MEMORY_FOLDER)
        raise NoteNotFound(path, reason=reason)
    return path


_HEADERS = {
    "If-Match": text("The ETag of the version that was read.", most=200),
    "If-None-Match": {"enum": ["*"], "description": "For a note that is not there yet."},
}
OPERATIONS = (
    Operation(
        "POST", "/api/entries", "remember", "Append an entry to today's note, or to MEMORY.md.", _remember,
        schema.of(Written),
        body=record(
            "text", text=text("Markdown.", least=1, most=_MOST_CHARACTERS),
            heading=text("In today's note.", most=200), section=text("Of MEMORY.md.", most=200),
            long_term=flag("Write to MEMORY.md."), tentative=flag("A guess: found, not recalled."),
            on=text("The day it is about, today if not given: 2026-11-03, yesterday.", most=100),
        ),
        refusals=(409,), lane="entry", created=True,
    ),
    Operation(
        "GET", "/api/source", "source", "Read a note to edit it; its version is the ETag.", _source, SOURCE,
        {"path": _PATH}, required=("path",), refusals=(404, 409), lane="light",
    ),
    Operation(
        "GET", "/api/links", "links", "List the lines of the workspace's notes that link to a note.", _links,
        answer(links=listed(text("A reference, such as memory/2026-02-13.md#L5."))),
        {"path": text("Of any note.", least=1, most=1000)}, required=("path",), lane="light",
    ),
    Operation(
        "PUT", "/api/source", "edit", "Replace a note, if it is still as it was read; undo takes it back.",
        _edit, SOURCE,
        body=record("path text", path=_PATH, text=text("All of it.", most=_MOST_OF_A_NOTE)),
        headers=_HEADERS, refusals=(404, 409, 412, 428), owner=True,
    ),
)  # fmt: skip
