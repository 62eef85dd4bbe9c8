"""Exports of ChatGPT and Claude: `conversations.json`, alone, in a folder, or in the zip that comes by mail.

Conversations are followed where they lie and are not copied. Memories kept by the services become entries:
those of `memories.json`, if an export has it, and those that ChatGPT saved with its tool `bio`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from commonplace.base import paths
from commonplace.base.errors import NoteUnreadable
from commonplace.base.messages import message
from commonplace.imports import files
from commonplace.markdown import comments
from commonplace.types import Fact, FileFailure, Folder, Part
from commonplace.upkeep import following

KIND = "chats"
_NUMBERED = "conversations*.json"
_FORMATS = ("chatgpt", "claude")
_MEMORIES = ("memories.json", "memory.json")
_PROJECTS = ("projects.json",)  # of Claude: what its projects are called
_TEXTS = ("content", "memory", "text", "value")
_SAVED = "bio"  # the tool by which ChatGPT notes what it is to remember


def recognises(path: Path) -> bool:
    """Return True if a path is such an export."""
    return any(_format(place) for place in _places(path))


def _places(path: Path) -> list[Path]:
    """The files of conversations that a path stands for."""
    if not path.is_dir():
        return [path] if path.suffix.lower() in (".json", ".zip") and files.is_file(path) else []
    return sorted(place for place in path.glob(_NUMBERED) if files.is_file(place))


def _format(place: Path) -> str:
    name = following.format_of(place)
    return name if name in _FORMATS else ""


def read(path: Path) -> Iterator[Part]:
    """Yield the conversations, to be followed, and what is remembered. Raises NoteUnreadable for others."""
    places = _places(path)
    formats = {place: name for place in places if (name := _format(place))}
    if not formats:
        none = message("import.no_chats", "holds no conversations of ChatGPT or Claude")
        raise NoteUnreadable(paths.shown(path), none)
    names = sorted(set(formats.values()))
    for name in names:
        own = [place for place, one in formats.items() if one == name]
        globs = [_glob(place.name) for place in own]
        if own[1:]:  # large exports have many files, and the next one may have more
            globs = [_NUMBERED] if len(names) == 1 else globs
        yield Folder(name, str(own[0].parent), tuple(globs), format=name)
        yield from _memories(own[0], name)
        for place in own:
            yield from _saved(place)


def _glob(name: str) -> str:
    return "".join("?" if c in "*?[]" else c for c in name)


def _saved(place: Path) -> Iterator[Part]:
    """Yield the memories that ChatGPT saved in conversations, with times; a failure for unreadable ones."""
    damage = following.Damage()
    try:
        for at, text in following.calls(place, _SAVED, damage):
            yield Fact(
                f"bio {at} {text}",
                comments.disarmed(text, entirely=True),
                files.moment(at),
                "Saved memories",
                by_agent="chatgpt",
            )
    except NoteUnreadable as error:
        yield FileFailure(error.path, error.reason)
    yield from (FileFailure(f"{paths.shown(place)}, {left}", why) for left, why in damage.conversations)


def _memories(place: Path, service: str) -> Iterator[Part]:
    """Yield the entries of the file of memories in the conversations' folder or archive."""
    try:
        data = following.beside(place, _MEMORIES)
        value = following.parsed(data.decode("utf-8-sig", "replace")) if data else []
    except NoteUnreadable as error:
        yield FileFailure(error.path, error.reason)
        return
    except (ValueError, RecursionError):
        yield FileFailure(paths.shown(place.with_name(_MEMORIES[0])), "is no JSON, or cut off")
        return
    texts = [*_texts(value, "Saved memories", _projects(place))]
    if value and not texts:
        yield FileFailure(paths.shown(place.with_name(_MEMORIES[0])), "holds no memories of a known form")
    for heading, text, at, origin in texts:
        said = comments.disarmed(text, entirely=True)
        yield Fact(f"memory {origin or text}", said, files.moment(at), heading, by_agent=service)


def _projects(place: Path) -> Mapping[str, str]:
    """Return the names of projects by their ids; empty if their file is missing or malformed."""
    try:
        value = json.loads(following.beside(place, _PROJECTS).decode("utf-8-sig", "replace") or "[]")
    except (NoteUnreadable, ValueError, RecursionError):
        return {}
    listed = [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
    names = {str(one.get("uuid")): one.get("name") for one in listed}
    return {key: name.strip() for key, name in names.items() if isinstance(name, str) and name.strip()}


def _texts(
    value: object, heading: str, projects: Mapping[str, str], depth: int = 0
) -> Iterator[tuple[str, str, object, str]]:
    """The texts of a value of any shape, each with its heading, its moment and its id.

    ChatGPT's are a list of objects with a text; Claude's hold `conversations_memory` and, by project,
    `project_memories`.
    """
    if depth > 4:
        return
    if isinstance(value, str) and value.strip():
        yield heading, value.strip(), None, ""
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one, heading, projects, depth + 1)
    elif isinstance(value, Mapping):
        text = next((value[key] for key in _TEXTS if isinstance(value.get(key), str)), None)
        if isinstance(text, str):
            at = value.get("created_at") or value.get("create_time") or value.get("updated_at")
            yield heading, text.strip(), at, str(value.get("id") or "")
        yield from _texts(value.get("memories"), heading, projects, depth + 1)
        documents = {"What Claude remembers": value.get("conversations_memory")}
        by_project = value.get("project_memories")
        for project, said in by_project.items() if isinstance(by_project, Mapping) else ():
            documents[f"What Claude remembers of {projects.get(project, project)}"] = said
        for title, said in documents.items():
            for name, text, at, origin in _texts(said, title, projects, depth + 1):
                yield name, text, at, origin or (title if isinstance(said, str) else "")  # as it changes
