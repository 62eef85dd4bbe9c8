"""Further folders that are searched: listed, added, left out by default, removed; and all read anew."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace import config
from commonplace.actions.incoming import PATH, place
from commonplace.base.errors import UnknownCollection
from commonplace.config.collections import WEIGHTS
from commonplace.servers.api import schema
from commonplace.servers.api.operations import Operation, OperationCall, Reply
from commonplace.servers.api.schema import flag, listed, record, text
from commonplace.types import CollectionInfo, SyncReport


def _changed(call: OperationCall, name: str) -> CollectionInfo:
    """A collection by the settings as they are now. Raises UnknownCollection."""
    known = {one.name: one for one in _reopened(call)}
    if name not in known:  # it was removed meanwhile
        raise UnknownCollection(name, sorted(known))
    return known[name]


def _reopened(call: OperationCall) -> Sequence[CollectionInfo]:
    assert call.reopen is not None
    return call.reopen().status().collections


def _add(call: OperationCall) -> object:
    values, root = call.values, call.memory.workspace.root
    path = place(call.memory, values["path"])
    added = config.add_collection(root, values.get("name"), path, weight=values.get("weight"))
    return Reply(_changed(call, added.name), 201)


def _include(call: OperationCall) -> object:
    name = call.values["name"]
    config.set_collection(call.memory.workspace.root, name, by_default=call.values["include_by_default"])
    return _changed(call, name)


def _remove(call: OperationCall) -> object:
    config.remove_collection(call.memory.workspace.root, call.values["name"])
    return _reopened(call)


_NAME = text("Of the collection.", least=1, most=200)
OPERATIONS = (
    Operation(
        "GET", "/api/collections", "collections", "List what is searched.",
        lambda call: call.memory.status().collections, listed(schema.of(CollectionInfo)),
        refusals=(503,), lane="light",
    ),
    Operation(
        "POST", "/api/collections", "add_collection", "Search a further folder; `sync` reads it.", _add,
        schema.of(CollectionInfo),
        body=record(
            "path", path=PATH, name=text("Otherwise that of the folder.", least=1, most=200),
            weight={"enum": [*WEIGHTS], "description": "own: your own notes; reference: yours go before it."},
        ),
        refusals=(404, 409, 503), owner=True, created=True, beyond="commonplace collection add PATH",
    ),
    Operation(
        "POST", "/api/collections/include", "include_collection",
        "Say whether searches that name no collection look into this one.", _include,
        schema.of(CollectionInfo),
        body=record("name include_by_default", name=_NAME, include_by_default=flag()),
        refusals=(404, 409, 503), owner=True, beyond="commonplace collection include NAME",
    ),
    Operation(
        "POST", "/api/collections/remove", "remove_collection",
        "Search a folder no more; its files are not touched.", _remove,
        listed(schema.of(CollectionInfo)),
        body=record("name", name=_NAME), refusals=(404, 409, 503), owner=True,
        beyond="commonplace collection remove NAME",
    ),
    Operation(
        "POST", "/api/sync", "sync", "Read what has changed in all folders that are searched.",
        lambda call: call.memory.sync(), schema.of(SyncReport),
        body=record(), refusals=(409, 503), lane="reading", owner=True,
    ),
)  # fmt: skip
