"""Remedies by key, in the words of the interface: shell, model or page.

A message may be read in a shell, by a client of the Model Context Protocol, or by a program that imports
the package. So what lies below the edges names a remedy by its key, `remedies.say("sync")`, and the edge that
runs the process lends its words with `spoken`: `cli.remedies.WORDS` are shell commands.
"""

from __future__ import annotations

from _thread import _local
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from commonplace.base.messages import Message

# Words for any interface; `{0}` is the first detail.
WORDS: Mapping[str, str] = {
    "agent.table": "give it a table of its own there",
    "collection.add": "add it as a collection in your own config.toml",
    "collection.drop": "remove collection {0}",
    "collection.remove": "bring it back, or remove collection {0}",
    "config.edit": "edit them",
    "config.list": "the table of settings shows all",
    "config.overrides": "in overrides",
    "config.own": "set {0} in your own config.toml",
    "disk.room": "make room on it",
    "doctor.disk": "look at the disk and its permissions",
    "doctor.owner": "look whose it is",
    "edit.by_hand": "edit {1} by hand",
    "export.force": "name another file",
    "files.readonly": "mount it so that it can be written to, or keep a workspace of your own elsewhere",
    "forget": "forget it",
    "forget.again": "forget it again",
    "forget.approve": "approve request {0}",
    "forget.once_more": "confirm it once more",
    "forget.pending": "look through those that wait",
    "forget.query": "look for {0}, and forget what is meant",
    "forget.resume": "carry the forgetting on",
    "forget.text": "words are forgotten as text",
    "forget.what": "forget {0} as well",
    "forget.words": "forget their words as text",
    "index.include": "set index.include to ['**/*.md'] to search them",
    "index.anew": "delete {0}*, and sync: it is made anew from the notes",
    "init": "make one first",
    "log": "the log of changes lists them",
    "log.run": "the log of changes shows what {0} changed",
    "models.fetch": "fetch {0} first",
    "models.llm": "set llm.provider",
    "models.llm.named": "set llm.provider and llm.model, in `overrides` or in your own config.toml",
    "models.use": "set embedding.provider to {0}",
    "merge": "merge them into their notes",
    "notes": "a list of the notes has their paths",
    "restore": "restoring {0} puts {1} back",
    "search.words": "a search looks for words",
    "sessions": "there is a list of them",
    "state.elsewhere": "name another folder for it in {0}",
    "sync": "sync the index",
    "sync.drop": "bring it back, or, if its notes were deleted, sync with drop_missing=['{0}']",
    "undo": "it can be taken back",
    "undo.run": "undoing {0} takes the last undo back, which does that change again",
    "usage.never": "in the whole list",
    "workspace.ask": "ask them to open it to you, or name a workspace of your own",
    "workspace.around": "open that, or make one of {1} first",
    "workspace.collect": "keep a workspace of your own and add this folder to it as a collection",
    "workspace.missing": "make it first, or name another",
    "workspace.name": "name it in your own config.toml",
}
_spoken: list[Mapping[str, str]] = [{}]  # the last one is in force; blocks of several threads may overlap
_here = _local()  # of a thread that speaks to somebody else than the process does


def say(key: str, *details: object) -> Message:
    """Return a remedy with its details, in the words that are spoken; its code is `remedy.` and the key."""
    words = getattr(_here, "words", None) or _spoken[-1]
    text = words.get(key, WORDS[key]).format(*details)
    return Message(text, f"remedy.{key}", {str(n): detail for n, detail in enumerate(details)})


@contextmanager
def spoken_here(words: Mapping[str, str]) -> Iterator[None]:
    """Use these words for remedies in this thread, until the block ends."""
    former, _here.words = getattr(_here, "words", None), words
    try:
        yield
    finally:
        _here.words = former


@contextmanager
def spoken(words: Mapping[str, str]) -> Iterator[None]:
    """Use these words for remedies in every thread, until the block ends."""
    _spoken.append(words)
    try:
        yield
    finally:
        _spoken.remove(words)
