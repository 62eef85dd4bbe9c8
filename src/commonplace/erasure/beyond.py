"""What cannot be reached from here, with the remedy: git, collections, providers, backups."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from commonplace import paths
from commonplace.embedding.pending import FileStore
from commonplace.erasure import stores
from commonplace.erasure.ground import Ground
from commonplace.erasure.wanted import Wanted
from commonplace.errors import CommonplaceError
from commonplace.history.git import Repository, Uncommitted
from commonplace.notes.scan import scan
from commonplace.render import count
from commonplace.types.erasure import Unreachable

GIT_S = 20.0  # that looking through the history may take
_AS_IT_IS = ("--no-replace-objects",)
_SUBMODULE = "160000"
_COMMIT = "\0commit\0"
_LOCAL = frozenset({"builtin", "fake", "fastembed", "gguf", "onnx", "ollama"})
_SHOWN = 5  # names in one line


def unreachable(ground: Ground, wanted: Wanted) -> list[Unreachable]:
    """Return what is left to the owner, whatever can be told of it; never raises."""
    return [
        *git(ground, wanted),
        *collections(ground, wanted),
        *providers(ground),
        *batches(ground),
        *vectors(),
        Unreachable(
            "backups, snapshots and copies of this folder on other disks and machines",
            "delete them there, or let them grow old",
        ),
    ]


def git(ground: Ground, wanted: Wanted) -> Iterator[Unreachable]:
    """Say how many commits hold it, where the workspace is in a repository."""
    if not any(
        (folder / ".git").exists() for folder in (ground.workspace.root, *ground.workspace.root.parents)
    ):
        return
    remedy = "rewriting history is yours to do: git filter-repo --replace-text, then a push by force"
    commits = _commits(ground.workspace.root, wanted)
    if commits is None:
        yield Unreachable("git history, which could not be looked through in time", remedy)
    elif commits:
        yield Unreachable(f"git history: {count(commits, 'commit')} of this folder", remedy)
    yield from staged(ground, wanted)


def staged(ground: Ground, wanted: Wanted) -> Iterator[Unreachable]:
    """Name the files that git was told to commit with it, and has not: its next commit would keep it."""
    program = shutil.which("git")
    if program is None:
        return
    try:
        holding = list(dict.fromkeys(_staged(Repository(program, ground.workspace.root), wanted)))
    except Uncommitted as error:
        told = f"what is staged in git, which could not be looked through: {error}"
        yield Unreachable(told, "git diff --cached, then git reset, and: git gc --prune=now")
        return
    if holding:
        files = shlex.join(holding) if len(holding) <= _SHOWN else "--update ."
        told = f"staged in git, and not committed: {listed(holding)}"
        yield Unreachable(told, f"git add {files}, then: git gc --prune=now")


def _staged(repository: Repository, wanted: Wanted) -> Iterator[str]:
    """The files whose staged bytes are not those of the last commit, and hold it. Raises Uncommitted."""
    committed = repository.asked(*_AS_IT_IS, "ls-tree", "-r", "-z", "HEAD").split("\0")
    known = {line.partition("\t")[0].split()[2] for line in committed if line}
    until = time.monotonic() + GIT_S
    files = repository.run(*_AS_IT_IS, "ls-files", "--stage", "-z").decode("utf-8", "surrogateescape")
    for line in filter(None, files.split("\0")):
        told, _, path = line.partition("\t")
        mode, blob, _ = told.split()
        if mode == _SUBMODULE or blob in known:
            continue
        if time.monotonic() > until:
            raise Uncommitted(f"it took longer than {GIT_S:.0f} seconds")
        data = repository.run(*_AS_IT_IS, "cat-file", "blob", blob)
        if wanted.found(path) or wanted.found(data.decode("utf-8", "replace")):
            yield path


def _commits(root: Path, wanted: Wanted) -> int | None:
    """How many commits of a folder hold it; None where that cannot be told."""
    program = shutil.which("git")
    if program is None:
        return None
    command = [
        program,
        "-C",
        os.fspath(root),
        "--no-pager",
        "-c",
        "core.fsmonitor=false",
        "log",
        "--all",
        "-p",
    ]
    command += ["--no-color", "--no-ext-diff", "--no-textconv", "--text", f"--format={_COMMIT}%B", "--", "."]
    command = [part.replace("\0", "%x00") for part in command]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | {
        "GIT_OPTIONAL_LOCKS": "0"
    }
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        assert process.stdout is not None
        late = threading.Timer(GIT_S, process.kill)
        late.start()
        try:
            found = _counted(process.stdout, wanted)
        finally:
            late.cancel()
    return found if process.returncode == 0 else None


def _counted(lines: Iterable[bytes], wanted: Wanted) -> int:
    found, inside, holds = 0, False, False
    for line in lines:
        text = line.decode("utf-8", "replace")
        if text.startswith(_COMMIT):
            found += inside and holds
            inside, holds = True, wanted.found(text)
        elif not holds:
            holds = wanted.found(text)
    return found + (inside and holds)


def collections(ground: Ground, wanted: Wanted) -> Iterator[Unreachable]:
    """Name the files of collections that hold it: they are not ours to change."""
    for source in ground.sources[1:]:
        holding, packed = [], []
        for state in scan([source]):
            if state.path.lower().endswith(".zip"):
                packed.append(state.path)
                continue
            try:
                text = Path(state.absolute).read_bytes().decode("utf-8", "replace")
            except FileNotFoundError:
                continue
            except OSError as error:
                told = f"collection {source.name}: {state.path}: {paths.reason(error)}"
                yield Unreachable(told, "see whether it holds any of it, and change it there")
                continue
            if wanted.found(text):
                holding.append(state.path)
        if holding:
            told = f"collection {source.name}: {listed(holding)}; the index has them from there"
            yield Unreachable(told, "change them where they lie, or take the collection away, then sync")
        if packed:
            yield Unreachable(f"collection {source.name}: archives were not looked into: {listed(packed)}",
                              "look into them with the program that made them")  # fmt: skip


def providers(ground: Ground) -> Iterator[Unreachable]:
    """Name the providers that were called: what they were sent, they have."""
    from commonplace.costs.ledger import Ledger
    from commonplace.costs.ledger import place as ledger_place

    ledger = Ledger(ledger_place(ground.workspace))
    try:
        called = [one.name for one in ledger.costs("model") if one.name.partition("/")[0] not in _LOCAL]
    except CommonplaceError:
        return
    finally:
        ledger.close()
    if called:
        told = f"what models of providers were sent, and what those keep of it: {listed(called)}"
        yield Unreachable(told, "ask the providers to delete it")


def batches(ground: Ground) -> Iterator[Unreachable]:
    """Say that a provider works on texts, whichever they are."""
    folder = ground.workspace.derived
    if jobs := len(FileStore(folder / "batches.json", folder / "locks" / "batches.lock").read().jobs):
        told = f"{count(jobs, 'batch', 'batches')} of texts that an embedding provider works on"
        yield Unreachable(told, "cancel them with the provider")


def vectors() -> Iterator[Unreachable]:
    """Say that vectors of wordings that nobody knows any more may be in the cache."""
    path = stores.vector_cache()
    if stores.models(path):
        told = f"vectors of earlier wordings in {path}, which only their text could find"
        yield Unreachable(told, "commonplace cache clear --vectors")


def listed(names: Sequence[str]) -> str:
    """Name some of several."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
