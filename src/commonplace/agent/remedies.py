"""Remedies in the words of a model: the tools it can call, and what it asks its user to do in a shell."""

from __future__ import annotations

from collections.abc import Mapping

_ASK = "ask the user to run `commonplace {}`"
WORDS: Mapping[str, str] = {
    "agent.table": _ASK.format("config edit") + ", which gives it one",
    "collection.drop": "ask the user to run `commonplace collection remove {0}`",
    "collection.remove": "ask the user to bring it back, or to run `commonplace collection remove {0}`",
    "edit.by_hand": "ask the user to edit {1} by hand",
    "forget": "commonplace forget",
    "forget.again": "memory_forget again",
    "forget.approve": "commonplace forget --approve {0}",
    "forget.once_more": "memory_forget, once more",
    "forget.pending": _ASK.format("forget --pending"),
    "forget.query": "memory_search for {0}, then memory_forget with the lines that are meant",
    "forget.resume": _ASK.format("forget --resume"),
    "forget.text": "memory_forget takes words as text",
    "forget.what": "memory_forget with the lines {0}",
    "forget.words": "memory_forget with their words, as text",
    "index.anew": "ask the user to delete {0}*, then to run `commonplace sync`",
    "index.include": _ASK.format("config set --in-workspace index.include '**/*.md'") + " to search them",
    "models.fetch": _ASK.format("models pull {0}"),
    "models.llm.named": _ASK.format("models use --llm PROVIDER/MODEL"),
    "models.use": _ASK.format("models use {0}"),
    "notes": "memory_search finds them by their words",
    "restore": _ASK.format("restore {0}") + ", which puts {1} back",
    "search.words": "memory_search looks for words",
    "sync": _ASK.format("sync"),
    "sync.drop": "ask the user to bring it back, or to run `commonplace sync --drop-missing {0}`",
    "undo.run": _ASK.format("undo {0}") + " to take the last undo back, which does that change again",
    "undo": _ASK.format("undo") + " to take it back",
}
