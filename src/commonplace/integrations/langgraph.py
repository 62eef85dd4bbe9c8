"""The long-term store of LangGraph over the notes of a workspace: one Markdown file an item.

    graph = builder.compile(store=NoteStore("notes"))

`commonplace.agent.items` describes an item on disk. Items do not expire: `supports_ttl` is false, so that
LangGraph refuses a `ttl` rather than forgetting it.
"""

from __future__ import annotations

import asyncio
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from commonplace.agent.attachment import Source, opened
from commonplace.agent.items import Items, Put
from commonplace.agent.worker import IndexWorker
from commonplace.base.errors import MissingExtra

try:
    from langgraph.store import base
except ImportError as error:
    raise MissingExtra("the store for LangGraph", "langgraph") from error

if TYPE_CHECKING:
    from commonplace.agent.items import Namespace, StoredItem

NAME = "langgraph"
_ORDERS = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}
_OPERATORS = {"$eq", "$ne", *_ORDERS}
_KEY = re.compile(r"[\w.-]+")


class NoteStore(base.BaseStore):
    """A `BaseStore`; safe from any thread, with any number of processes on one workspace."""

    supports_ttl = False

    def __init__(self, memory: Source = None) -> None:
        """Take a memory or the path of its workspace. Raises as `Memory.open`."""
        source = opened(memory, NAME)
        self._items = Items(source, agent=NAME)
        self._worker = IndexWorker(source)  # embeds what was stored, a moment later and in the background

    def batch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Carry out operations: what is read is as it was before, what is written is one change.

        Raises ConfigError for a value that is not JSON, and what LangGraph raises for a bad namespace.
        """
        results: list[base.Result] = []
        puts: list[Put] = []
        for op in ops:
            base.validate_op_namespace(op)
            result: base.Result = None
            if isinstance(op, base.GetOp):
                item = self._items.get(op.namespace, op.key)
                result = base.Item(**_fields(item)) if item is not None else None
            elif isinstance(op, base.SearchOp):
                result = self._search(op)
            elif isinstance(op, base.ListNamespacesOp):
                result = self._namespaces(op)
            elif isinstance(op, base.PutOp):
                fields = [] if op.index is False else op.index
                puts.append(Put(op.namespace, op.key, op.value, fields))
            else:
                raise ValueError(f"Unknown operation type: {type(op)}")
            results.append(result)
        if puts:
            self._items.put(puts)
            self._worker.nudge()
        return results

    async def abatch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Do as `batch` does without holding up the event loop."""
        return await asyncio.to_thread(self.batch, ops)

    def close(self) -> None:
        """Finish what is under way in the background."""
        self._worker.stop()

    def _search(self, op: base.SearchOp) -> list[base.SearchItem]:
        _check(op.filter or {})

        def passes(item: StoredItem) -> bool:
            return all(_matches(_at(item.value, key), value) for key, value in (op.filter or {}).items())

        scored: Iterable[tuple[StoredItem, float | None]]
        if op.query:
            scored = self._items.search(op.query, op.namespace_prefix, passes)
        else:
            scored = ((item, None) for item in self._items.below(op.namespace_prefix) if passes(item))
        shown = islice(scored, op.offset, op.offset + op.limit)
        return [base.SearchItem(**_fields(item), score=score) for item, score in shown]

    def _namespaces(self, op: base.ListNamespacesOp) -> list[Namespace]:
        matching = {
            item.namespace
            for item in self._items.below()
            if all(_fits(condition, item.namespace) for condition in op.match_conditions or ())
        }
        cut = {namespace[: op.max_depth] for namespace in matching}
        return sorted(cut)[op.offset : op.offset + op.limit]


def _fields(item: StoredItem) -> dict[str, Any]:
    return {
        "namespace": item.namespace,
        "key": item.key,
        "value": dict(item.value),
        "created_at": item.created,
        "updated_at": item.updated,
    }


def _fits(condition: base.MatchCondition, namespace: Namespace) -> bool:
    """Return whether a namespace begins or ends with a path, in which `*` matches any part."""
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"Unsupported match type: {condition.match_type}")
    count = len(condition.path)
    if len(namespace) < count:
        return False
    parts = namespace[:count] if condition.match_type == "prefix" else namespace[len(namespace) - count :]
    return all(label in ("*", part) for part, label in zip(parts, condition.path, strict=True))


def _check(filters: Mapping[str, object]) -> None:
    """Refuse keys and operators that are not known, whether there are items or not. Raises ValueError."""
    for key, expected in filters.items():
        if not _KEY.fullmatch(key):
            allowed = "letters, digits, underscores, dots and hyphens; $and and $or are not supported"
            raise ValueError(f"Invalid filter key: {key!r}. Filter keys must contain only {allowed}.")
        _check_value(expected)


def _check_value(expected: object) -> None:
    if not isinstance(expected, Mapping):
        return
    is_operation = any(str(name).startswith("$") for name in expected)
    for name, other in expected.items():
        if not is_operation:
            _check_value(other)
        elif name not in _OPERATORS:
            raise ValueError(f"Unsupported operator: {name}")
        elif name in _ORDERS and not isinstance(other, int | float | str):
            raise ValueError(f"{name} compares numbers and texts, not {type(other).__name__}")


def _at(value: Mapping[str, object], key: str) -> object:
    """Return the value at a key, or at the end of keys with dots between them; None if it is missing."""
    if key in value:
        return value[key]
    first, _, rest = key.partition(".")
    inner = value.get(first)
    return _at(inner, rest) if rest and isinstance(inner, Mapping) else None


def _matches(value: object, expected: object) -> bool:
    """Return whether a value equals the one of a filter, or satisfies its operators (`$gt` and others)."""
    if isinstance(expected, Mapping):
        if any(str(name).startswith("$") for name in expected):
            return all(_allowed(value, name, other) for name, other in expected.items())
        return isinstance(value, Mapping) and all(
            _matches(value.get(name), other) for name, other in expected.items()
        )
    if isinstance(expected, list | tuple):
        return (
            isinstance(value, Sequence)
            and not isinstance(value, str)
            and len(value) == len(expected)
            and all(map(_matches, value, expected))
        )
    return value == expected


def _allowed(value: Any, operation: str, other: Any) -> bool:
    if operation in ("$eq", "$ne"):
        return bool((value == other) == (operation == "$eq"))
    compare = _ORDERS[operation]
    try:
        return bool(compare(float(value), float(other)))
    except (TypeError, ValueError):  # texts are compared as such: days of ISO 8601 are in their order
        return isinstance(value, str) and isinstance(other, str) and bool(compare(value, other))
