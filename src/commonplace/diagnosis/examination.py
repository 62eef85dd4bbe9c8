"""The table of checks by group, and running them: side by side, told in the order of the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module

from commonplace.diagnosis.case import Case
from commonplace.diagnosis.checks import guarded
from commonplace.types import Finding

# Group → (check, module:function). A module is imported when its check runs, so that one which cannot be
# imported is a finding like any other.
GROUPS: Mapping[str, Mapping[str, str]] = {
    "versions": {
        "versions.libraries": "versions:libraries",
        "versions.extras": "versions:extras",
        "versions.programs": "versions:programs",
    },
    "sqlite": {
        "sqlite.features": "sqlite:features",
        "sqlite.extension": "sqlite:extension",
        "sqlite.files": "sqlite:file_system",
    },
    "model": {"model.files": "bundled:files", "model.vectors": "bundled:vectors"},
    "settings": {
        "settings.files": "settings:files",
        "settings.variables": "settings:variables",
        "settings.origins": "settings:origins",
    },
    "providers": {
        "providers.embedding": "providers:embedding",
        "providers.reranking": "reranking:reranker",
        "providers.llm": "providers:language",
    },
    "workspace": {
        "workspace.folder": "workspace:folder",
        "workspace.tree": "workspace:tree",
        "workspace.clock": "clock:clock",
    },
    "notes": {"notes.text": "notes:text", "notes.names": "notes:names"},
    "index": {"index.file": "index:examine", "index.leftovers": "leftovers:leftovers"},
    "stores": {
        "stores.ledger": "stores:ledger",
        "stores.usage": "stores:usage",
        "stores.spool": "stores:spool",
        "stores.history": "revisions:history",
        "stores.foreign": "foreign:signatures",
        "stores.caches": "stores:caches",
    },
    "disk": {"disk.space": "disk:space"},
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
