"""The table of checks by group, and running them: side by side, told in the order of the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module

from commonplace.diagnosis.case import Case, guarded
from commonplace.types import Finding

# Group → (check, module:function). A module is imported when its check runs, so that one which cannot be
# imported is a finding like any other.
GROUPS: Mapping[str, Mapping[str, str]] = {
    "versions": {
        "versions.libraries": "machine:libraries",
        "versions.extras": "machine:extras",
        "versions.programs": "machine:programs",
    },
    "sqlite": {
        "sqlite.features": "machine:features",
        "sqlite.extension": "machine:extension",
        "sqlite.files": "machine:file_system",
    },
    "model": {"model.files": "bundled:files", "model.vectors": "bundled:vectors"},
    "settings": {
        "settings.files": "settings:files",
        "settings.variables": "settings:variables",
        "settings.origins": "settings:origins",
    },
    "providers": {
        "providers.embedding": "providers:embedding",
        "providers.reranking": "providers:reranker",
        "providers.llm": "providers:language",
    },
    "workspace": {
        "workspace.folder": "workspace:folder",
        "workspace.tree": "workspace:tree",
        "workspace.clock": "workspace:clock",
    },
    "notes": {"notes.text": "workspace:text", "notes.names": "workspace:names"},
    "index": {"index.file": "index:examine", "index.leftovers": "workspace:leftovers"},
    "stores": {
        "stores.ledger": "stores:ledger",
        "stores.usage": "stores:usage",
        "stores.spool": "stores:spool",
        "stores.history": "stores:history",
        "stores.foreign": "stores:signatures",
        "stores.caches": "stores:caches",
    },
    "disk": {"disk.space": "machine:space"},
    "permissions": {
        "permissions.settings": "permissions:settings",
        "permissions.keys": "permissions:keys",
        "permissions.caches": "permissions:caches",
        "permissions.folders": "permissions:folders",
        "permissions.owners": "permissions:owners",
    },
}
_AT_ONCE = 4  # most of what takes long waits: for servers, and for other processes


def examine(case: Case) -> Iterator[tuple[str, list[Finding]]]:
    """Run every check; yield each group with its findings as soon as it and those before it are complete."""
    with ThreadPoolExecutor(_AT_ONCE, "commonplace-doctor") as pool:
        running = {
            group: [pool.submit(guarded, name, partial(_run, entry, case)) for name, entry in checks.items()]
            for group, checks in GROUPS.items()
        }
        for group, results in running.items():
            yield group, [finding for result in results for finding in result.result()]


def _run(entry: str, case: Case) -> Iterator[Finding]:
    module, _, function = entry.partition(":")
    found: Iterator[Finding] = getattr(import_module(f"commonplace.diagnosis.{module}"), function)(case)
    return found
