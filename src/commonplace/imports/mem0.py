"""mem0: an export, JSON with a list of memories, as `get_all` returns them and its platform exports them.

A memory has `memory` (also `text`, `content`, `data`), `id`, `created_at`, `user_id`, `agent_id`, `run_id`,
`categories`, `metadata` and `expiration_date`; the list may stand under `results` or `memories`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from commonplace.base import paths
from commonplace.base.errors import NoteUnreadable
from commonplace.base.root import open_named
from commonplace.imports import files
from commonplace.markdown import comments
from commonplace.types import Fact, FileFailure, Part
from commonplace.upkeep import following

KIND = "mem0"
_LISTS = ("results", "memories", "data")
_TEXTS = ("memory", "text", "content", "data")
_MEMORY = re.compile(rb'"memory"\s*:\s*"')
_OTHER = (b'"mapping"', b'"chat_messages"')  # of chats
_TAG = re.compile(r"[^\w/-]+")
_HEAD = 1 << 16
_LONGEST = 200  # characters of a value of metadata


def recognises(path: Path) -> bool:
    """Return True if a file is JSON that begins with memories."""
    if path.suffix.lower() != ".json" or not files.is_file(path):
        return False
    with open_named(path) as file:
        head = file.read(_HEAD)
    return bool(_MEMORY.search(head)) and not any(mark in head for mark in _OTHER)


def read(path: Path) -> Iterator[Part]:
    """Yield the memories. Raises NoteUnreadable for what is no list of them."""
    shown = paths.shown(path)
    for number, one in enumerate(following.elements(path, _LISTS), 1):
        if isinstance(one, Mapping) and (one.get("state") == "deleted" or one.get("deleted_at")):
            continue
        if isinstance(one, following.Damaged):
            if not one.number:
                raise NoteUnreadable(shown, f"is no JSON with a list of memories: it {one.reason}")
            yield FileFailure(f"{shown}, number {one.number:,}", one.reason)
        else:
            yield _fact(one) or FileFailure(f"{shown}, number {number:,}", "is no memory with a text")


def _fact(one: object) -> Fact | None:
    memory: Mapping[str, object] = one if isinstance(one, Mapping) else {"memory": one}
    said = next((memory[key] for key in _TEXTS if isinstance(memory.get(key), str)), "")
    text = comments.disarmed(str(said).strip(), entirely=True)
    if not text:
        return None
    first, *rest = text.split("\n")
    metadata = memory.get("metadata")
    categories = memory.get("categories")
    listed = categories if isinstance(categories, list) else []
    tags = ["#" + _TAG.sub("-", str(category)) for category in listed]
    expiry = []
    expires = str(memory.get("expiration_date") or "")[:10]
    if re.fullmatch(r"\d{4}-\d\d-\d\d", expires):
        expiry.append(f"<!-- valid-until: {expires} -->")
    facts = [
        f"- {key}: {' '.join(str(value).split())[:_LONGEST]}"
        for key, value in (metadata.items() if isinstance(metadata, Mapping) else ())
        if isinstance(value, str | int | float) and str(value).strip() and str(value) != text
    ]
    at = files.moment(memory.get("created_at")) or files.moment(memory.get("updated_at"))
    origin = str(memory.get("id") or f"text {text}")
    who = memory.get("user_id") or memory.get("agent_id") or ""
    lines = [" ".join([first, *tags, *expiry]), *rest, *facts]
    return Fact(origin, "\n".join(lines), at, str(who), str(memory.get("run_id") or ""))
