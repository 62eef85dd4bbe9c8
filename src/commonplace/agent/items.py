"""Values by namespace and key, each a Markdown file, readable by people and found by search.

A file has namespace and key in its front matter, so that an item is found exactly; below are its texts as a
list, and the whole value as JSON in a block of code:

    ---
    namespace: ["users", "ann"]
    key: "tea"
    created: 2026-02-13T14:05:09+00:00
    updated: 2026-02-13T14:05:09+00:00
    ---
    # tea

    - text: Ann drinks white tea.

    ```json
    {"text": "Ann drinks white tea."}
    ```

An edit by hand changes the value in the block. Files lie below `memory/items/`, a folder for each part of
a namespace; parts and keys that are no plain names get one with a hash.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from commonplace.agent import files
from commonplace.agent.answers import Caller
from commonplace.base import paths
from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.memory import Memory
from commonplace.redaction.recalled import strip_blocks
from commonplace.redaction.redact import public
from commonplace.search import wording
from commonplace.storage import transaction
from commonplace.types.changes import About, Change

FOLDER = f"{paths.MEMORY_FOLDER}/items"
MOST_CHARACTERS = 450  # of a question and its folder: a longer text holds no filter
MOST_HITS = 300  # passages of one search, of which several may be of one item
MOST_BYTES = 1_000_000  # of a value as JSON
MOST_PARTS = 32  # of a namespace
# A name of a file as it is: not like a hashed one, and not like a day, which is a daily note's.
_PLAIN = re.compile(r"(?!.*-[0-9a-f]{16}\Z)(?!\d{4}-\d\d)[a-z0-9][a-z0-9_-]{0,59}")
_INDEX = re.compile(r"\[[^\]]*\]")  # of a list, in the name of a field
_FENCE, _END = "```json\n", "\n```\n"
_HEAD = re.compile(r"---\n(.*?)\n---\n", re.DOTALL)
logger = logging.getLogger("commonplace.items")
Namespace = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoredItem:
    """A value with its place and times; `indexed` says whether a search by words may find it."""

    namespace: Namespace
    key: str
    value: Mapping[str, Any]
    created: datetime
    updated: datetime
    indexed: bool = True


@dataclass(frozen=True, slots=True)
class Put:
    """A value to store, None to delete what is there.

    `fields` are the keys of texts that are shown, and so found; all of them for None, with an empty one the
    item is found by its key alone.
    """

    namespace: Namespace
    key: str
    value: Mapping[str, Any] | None
    fields: Sequence[str] | None = None


class Items:
    """The items of one memory; safe from any thread and with any number of processes."""

    def __init__(self, memory: Memory, *, agent: str = "") -> None:
        """Bind to a memory; `agent` is who writes, for the record of changes."""
        self._memory, self._caller = memory, Caller(agent)
        self._files = memory.workspace.files
        self._known: dict[str, tuple[tuple[int, int], StoredItem | None]] = {}  # by path
        self._lock = threading.Lock()

    def get(self, namespace: Namespace, key: str) -> StoredItem | None:
        """Return an item; None if it is missing. Raises ConfigError for an invalid place."""
        item = self._read(_place(namespace, key))
        if item is None or (item.namespace, item.key) != (tuple(map(public, namespace)), public(key)):
            return None
        return item

    def put(self, puts: Iterable[Put], now: datetime | None = None) -> None:
        """Store and delete values as one change, all or not at all; of several for one key the last counts.

        Secrets, private parts and recalled text are taken out of every text. Raises ConfigError for a value
        that is not JSON or too large, OutsideRoots, NoteUnreadable.
        """
        by_place = {_place(one.namespace, one.key): one for one in puts}
        at = now or datetime.now(UTC)

        def changes(read: transaction.Read) -> Sequence[Change]:
            composed: list[Change] = []
            for place, one in by_place.items():
                before = read(place)
                old = _parsed(before, place) if before is not None and one.value is not None else None
                after = _written(one, old.created if old is not None else at, at)
                composed.append(Change(place, before, after))
            return composed

        if not by_place:
            return
        first, more = next(iter(by_place.values())), len(by_place) - 1
        title = f"store {first.key}" + (f" and {more} more" if more else "")
        about = About("write", title, "an agent stored it", "agent", self._caller.name)
        files.rewrite(self._memory, changes, about)
        gone = [place for place, one in by_place.items() if one.value is None]
        transaction.drop_empty_folders(self._memory.workspace, gone)

    def below(self, prefix: Namespace = ()) -> list[StoredItem]:
        """Return the items of a namespace and of those below it, the one stored last first."""
        items: list[StoredItem] = []
        waiting = [_folder(prefix)]
        while waiting:
            folder = waiting.pop()
            for name in self._names(folder):
                if not name.endswith(".md"):
                    waiting.append(f"{folder}/{name}")
                elif (item := self._read(f"{folder}/{name}")) is not None and _is_below(item, prefix):
                    items.append(item)
        return sorted(items, key=lambda item: item.updated, reverse=True)

    def search(
        self, query: str, prefix: Namespace = (), matches: Callable[[StoredItem], bool] = lambda item: True
    ) -> Iterator[tuple[StoredItem, float]]:
        """Yield the items that answer a question, best first, each with its score (0..1)."""
        scores: dict[str, float] = {}
        for path, score in self._hits(query, _folder(prefix)):
            scores.setdefault(path, score)
        for path, score in scores.items():
            item = self._read(path)
            if item is not None and item.indexed and _is_below(item, prefix) and matches(item):
                yield item, score

    def _hits(self, query: str, folder: str) -> Iterator[tuple[str, float]]:
        question = f'path:"{folder}/**" {wording.words(query, MOST_CHARACTERS - len(folder))}'
        result = self._memory.search(question, limit=MOST_HITS, min_score=0.0)
        yield from ((hit.path, hit.score) for hit in result.hits)

    def _names(self, folder: str) -> list[str]:
        try:
            return [name for name in self._files.names(folder) if not name.startswith(".")]
        except OSError:  # a link, or a file where a folder is due
            return []

    def _read(self, place: str) -> StoredItem | None:
        """Return the item in a file; None without a readable one."""
        root = self._memory.workspace.root
        try:
            status = self._files.stat(place)
            stamp = (status.st_mtime_ns, status.st_size)
            with self._lock:
                known = self._known.get(place)
            if known is not None and known[0] == stamp:
                return known[1]
            item = _parsed(paths.read_contained(root / place, [root]), place)
        except (OSError, CommonplaceError):
            with self._lock:
                self._known.pop(place, None)
            return None
        with self._lock:
            self._known[place] = (stamp, item)
        return item


def _is_below(item: StoredItem, prefix: Namespace) -> bool:
    return item.namespace[: len(prefix)] == tuple(map(public, prefix))


# --- places ---------------------------------------------------------------------------------------------


def _place(namespace: Namespace, key: str) -> str:
    if not namespace or not isinstance(key, str) or not key:
        raise ConfigError("key", "an item has a namespace of at least one part, and a key")
    return f"{_folder(namespace)}/{_name(key)}.md"


def _folder(namespace: Namespace) -> str:
    if len(namespace) > MOST_PARTS or not all(isinstance(part, str) and part for part in namespace):
        raise ConfigError("namespace", f"it must have at most {MOST_PARTS} parts, each a text")
    return "/".join([FOLDER, *map(_name, namespace)])


def _name(text: str) -> str:
    """The name of a file or folder for any text; no two texts have one that differs in case alone."""
    if _PLAIN.fullmatch(text):
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    shown = public(text)
    words = re.sub(r"[^a-z0-9]+", "-", text.lower())[:40].strip("-") if shown == text else ""
    return f"n-{words}-{digest}" if words else f"n-{digest}"


# --- files ----------------------------------------------------------------------------------------------


def _written(put: Put, created: datetime, updated: datetime) -> bytes | None:
    """The file of an item, None for one that is to go."""
    if put.value is None:
        return None
    try:
        value = _clean(json.loads(json.dumps(dict(put.value), ensure_ascii=False)))
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError("value", f"what is stored must be JSON: {error}") from error
    encoded = _json(value, indent=2)
    if len(encoded.encode()) > MOST_BYTES:
        raise ConfigError(
            "value", f"it has more than {MOST_BYTES:,} bytes as JSON; store it as a file instead"
        )
    head = {
        "namespace": _json([*map(public, put.namespace)]),
        "key": _json(public(put.key)),
        "created": created.isoformat(timespec="microseconds"),
        "updated": updated.isoformat(timespec="microseconds"),
        "by": "agent",
        **({"indexed": "false"} if put.fields is not None and not put.fields else {}),
    }
    texts = [*_texts(value, put.fields)]
    lines = [
        "---",
        *(f"{name}: {text}" for name, text in head.items()),
        "---",
        f"# {_line(public(put.key)) or 'item'}",
        "",
        *(texts and [*texts, ""]),
    ]
    return ("\n".join(lines) + f"\n{_FENCE}{encoded}{_END}").encode("utf-8", "replace")


def _json(value: object, indent: int | None = None) -> str:
    """Return JSON without Markdown, comments or tags in it."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    text = text.encode("utf-8", "replace").decode()  # half a character is replaced
    return text.replace("<", "\\u003c").replace("＜", "\\uff1c")


def _clean(value: Any) -> Any:  # noqa: ANN401
    """Return a value whose texts hold no secret, no private part and no recalled block."""
    if isinstance(value, str):
        return public(strip_blocks(value))
    if isinstance(value, list):
        return [_clean(one) for one in value]
    if isinstance(value, dict):
        cleaned = {public(strip_blocks(name)): _clean(one) for name, one in value.items()}
        # A name says what a bare value is: `{"password": "…"}` is a secret that its text alone is not.
        for name, one in cleaned.items():
            if isinstance(one, str) and (line := public(f"{name}: {one}")) != f"{name}: {one}":
                cleaned[name] = line.removeprefix(f"{name}: ")
        return cleaned
    return value


def _texts(value: Mapping[str, Any], fields: Sequence[str] | None) -> Iterator[str]:
    """The texts and numbers of a value as lines of a list, without what could be read as structure."""
    roots = [_INDEX.sub("", field) for field in fields] if fields is not None else ["$"]
    for name, text in _leaves(value, ""):
        plain = _INDEX.sub("", name)
        if not any(field in ("$", plain) or plain.startswith(f"{field}.") for field in roots):
            continue
        lines = [*filter(None, map(_line, text.splitlines()))]
        if lines:
            yield f"- {_line(name)}: {lines[0]}"
            yield from (f"  {line}" for line in lines[1:])


def _line(text: str) -> str:
    """A line in which no comment, tag or fence begins."""
    return " ".join(text.replace("<", "‹").replace("```", "'''").replace("~~", "~").split())


def _leaves(value: object, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _leaves(one, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from _leaves(one, f"{name}[{place}]")
    elif isinstance(value, str) and value.strip():
        yield name, value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, str(value)


def _parsed(data: bytes, place: str) -> StoredItem | None:
    """Return the item of a file; None, with a line in the log, if it is not an item."""
    try:
        text = data.decode("utf-8").replace("\r\n", "\n")
        head = _HEAD.match(text)
        start = text.rindex(f"\n{_FENCE}") + 1 + len(_FENCE)
        value = json.loads(text[start : text.index("\n```", start)])
        head_fields = dict(
            line.split(": ", 1) for line in (head[1] if head else "").split("\n") if ": " in line
        )
        namespace, key = tuple(json.loads(head_fields["namespace"])), json.loads(head_fields["key"])
        created, updated = (datetime.fromisoformat(head_fields[name]) for name in ("created", "updated"))
        if (
            not isinstance(value, dict)
            or not isinstance(key, str)
            or not all(isinstance(one, str) for one in namespace)
        ):
            raise ValueError("no item")
    except (ValueError, KeyError, RecursionError) as error:
        logger.warning("%s is no item: %s", os.path.basename(place), type(error).__name__)
        return None
    return StoredItem(
        namespace, key, value, _aware(created), _aware(updated), head_fields.get("indexed") != "false"
    )


def _aware(at: datetime) -> datetime:
    return at if at.tzinfo else at.astimezone()
