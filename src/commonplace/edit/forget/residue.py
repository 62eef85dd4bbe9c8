"""What cannot be reached from here, with the remedy: git, collections, providers, backups."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from commonplace.base import paths, remedies
from commonplace.base.errors import CommonplaceError
from commonplace.base.root import read_whole
from commonplace.changes.git import SUBMODULE, GitError, Repository, opened
from commonplace.edit.forget.notes import Context
from commonplace.edit.forget.targets import Targets
from commonplace.notes.scan import scan
from commonplace.providers import cache
from commonplace.render import count
from commonplace.types.changes import Unreachable

_LOCAL = frozenset({"builtin", "fake", "fastembed", "gguf", "onnx", "ollama"})
_SHOWN = 5  # names in one line


def unreachable(context: Context, targets: Targets, *, was_here: bool) -> list[Unreachable]:
    """Return what is left to the owner, as far as it can be named; never raises.

    Copies that nobody can look into are named only where it was here to be copied.
    """
    rows = [*_git(context, targets), *_collections(context, targets)]
    if not was_here:
        return rows
    if called := _called(context):
        what = f"what models of providers were sent, and what those keep of it: {listed(called)}"
        rows.append(Unreachable(what, "ask the providers to delete it"))
    from commonplace.providers.embedding.batch import Store

    folder = context.workspace.derived
    if jobs := Store(folder / "batches.json", folder / "locks" / "batches.lock").read().jobs:
        what = f"{count(len(jobs), 'batch', 'batches')} of texts that an embedding provider works on"
        rows.append(Unreachable(what, "cancel them with the provider"))
    if cache.vector_models():
        what = f"vectors of earlier wordings in {cache.vectors_file()}, which only their text could find"
        rows.append(Unreachable(what, remedies.say("cache.vectors")))
    copies = "backups, snapshots and copies of this folder on other disks and machines"
    return [*rows, Unreachable(copies, "delete them there, or let them grow old")]


def _called(context: Context) -> list[str]:
    """The models of providers that were called; none where the ledger cannot be read."""
    from commonplace.providers.costs import Ledger, place

    ledger = Ledger(place(context.workspace))
    try:
        return [one.name for one in ledger.costs("model") if one.name.partition("/")[0] not in _LOCAL]
    except CommonplaceError:
        return []
    finally:
        ledger.close()


def _git(context: Context, targets: Targets) -> Iterator[Unreachable]:
    """Say how many commits hold it, and which files are staged with it, where there is a repository."""
    history = "rewriting history is yours to do: git filter-repo --replace-text, then a push by force"
    index = "git diff --cached, then git reset, and: git gc --prune=now"
    root = Path(os.path.realpath(context.workspace.root))
    try:
        with opened(root) as repository:
            if repository is None:
                return
            folder = "" if root == repository.top else root.relative_to(repository.top).as_posix()
            parts = ((_committed, "git history", history), (_staged, "what is staged in git", index))
            for tell, what, remedy in parts:
                try:
                    yield from tell(repository, folder, targets, remedy)
                except GitError as error:
                    yield Unreachable(f"{what}, which could not be looked through: {error}", remedy)
    except GitError as error:
        yield Unreachable(f"git history, which could not be looked through: {error}", history)


def _committed(repository: Repository, folder: str, targets: Targets, remedy: str) -> Iterator[Unreachable]:
    """Say how many commits hold it, in their message or in a file of the workspace as they leave it."""
    commits = list(repository.commits(folder))
    files = {entry.blob for one in commits for entry in one.files.values() if entry.mode != SUBMODULE}
    holding, unread = _holding(repository, files, targets)
    messages = repository.messages(one.name for one in commits)
    said = {name for name, message in messages if targets.matches(message)}
    names = {
        one.name
        for one in commits
        if one.name in said
        or any(entry.blob in holding or targets.matches(path) for path, entry in one.files.items())
    }
    if names:
        yield Unreachable(f"git history: {count(len(names), 'commit')} of this folder", remedy)
    if unread:
        missing = f"git history: {count(unread, 'file')} that git has not here, or too large to look through"
        yield Unreachable(missing, remedy)


def _staged(repository: Repository, folder: str, targets: Targets, remedy: str) -> Iterator[Unreachable]:
    """Name the files that are staged with it and not committed: git's next commit would keep it."""
    known = repository.blobs(repository.head)
    versions = [
        (path, entry.blob)
        for path, entry in repository.staged_versions(folder)
        if entry.mode != SUBMODULE and entry.blob not in known
    ]
    holding, unread = _holding(repository, (blob for _, blob in versions), targets)
    files = [path for path, blob in versions if blob in holding or targets.matches(path)]
    names = list(dict.fromkeys(path[len(folder) + 1 :] if folder else path for path in files))
    if names:
        chosen = shlex.join(names) if len(names) <= _SHOWN else "--update ."
        what = f"staged in git, and not committed: {listed(names)}"
        yield Unreachable(what, f"git add {chosen}, then: git gc --prune=now")
    if unread:
        yield Unreachable(f"staged in git: {count(unread, 'file')} too large to look through", remedy)


def _holding(repository: Repository, blobs: Iterable[str], targets: Targets) -> tuple[set[str], int]:
    """Return which of these bytes hold it, and how many could not be read."""
    holding, unread = set(), 0
    for blob, data in repository.contents(blobs):
        if data is None:
            unread += 1
        elif targets.matches(data.decode("utf-8", "replace")):
            holding.add(blob)
    return holding, unread


def _collections(context: Context, targets: Targets) -> Iterator[Unreachable]:
    """Name the files of collections that hold it: they are not ours to change."""
    for source in context.sources[1:]:
        holding, packed = [], []
        for state in scan([source]):
            if state.path.lower().endswith(".zip"):
                packed.append(state.path)
                continue
            try:
                with state.open() as file:
                    text = read_whole(file, state.path).decode("utf-8", "replace")
            except FileNotFoundError:
                continue
            except OSError as error:
                what = f"collection {source.name}: {state.path}: {paths.reason(error)}"
                yield Unreachable(what, "see whether it holds any of it, and change it there")
                continue
            if targets.matches(text):
                holding.append(state.path)
        if holding:
            what = f"collection {source.name}: {listed(holding)}; the index has them from there"
            remedy = "they are not ours to change: change them there, or take the collection away, then sync"
            yield Unreachable(what, remedy)
        if packed:
            yield Unreachable(f"collection {source.name}: archives were not looked into: {listed(packed)}",
                              "look into them with the program that made them")  # fmt: skip


def listed(names: Sequence[str]) -> str:
    """Name some of several."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
