"""Which passages lack a vector, what is embedded for them, and whose vectors an index holds.

A vector is keyed by the model and the hash of the embedded text, so moving or renaming a file, or inserting
a line above, re-embeds no passage; only front matter is embedded with the note's name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from posixpath import basename, splitext

from commonplace.base.tuples import NamedTuple
from commonplace.config.collections import contexts_for
from commonplace.config.settings import WORKSPACE_COLLECTION
from commonplace.index.base import UNSERVED, Index, Text
from commonplace.language import scripts
from commonplace.markdown.standing import matter
from commonplace.providers.embedding.base import keeps_words, part_for, whole

TYPE_CHECKING = False  # `typing` costs a start 3 ms

_ROWS = 8192  # texts that are read at once


class _Noted(NamedTuple):
    """The index's model, as the index itself notes it."""

    fingerprint: str
    scripts: frozenset[str]


if TYPE_CHECKING:
    from commonplace.providers.embedding.base import Embedder

    Model = Embedder | _Noted  # what decides which vector belongs to a passage


class Pending(NamedTuple):
    """A passage without a vector, and the text to embed for it.

    `start` is where what the passage says begins in it, for a turn of a conversation whose words are to be
    kept as well; None for another.
    """

    passage: int
    key: bytes
    text: str
    start: int | None = None


class Vectors:
    """The vectors of one index as those of a model; `store` keeps and compares them."""

    def __init__(self, index: Index) -> None:
        """Attach to an index, without reading it."""
        self.index = index
        self.store = index.vectors

    def serves(self, model: Model) -> bool:
        """Tell if the index's vectors are this model's, or missing."""
        noted = self.index.meta.get("model")
        return noted in (None, *_compatible(model)) or not self.index.statistics().vectors

    def adopt(self, model: Model) -> None:
        """Make this model the index's; vectors of another one are forgotten at the next `prune`.

        Where only a part of it is new, passages that do not depend on that keep their vectors.
        """
        meta = self.index.meta
        if (noted := meta.get("model")) != model.fingerprint:
            with self.index.transaction():
                self.store.clear()
                meta["model"] = model.fingerprint
                meta["scripts"] = " ".join(sorted(model.scripts))
                if noted in _compatible(model):
                    self.reuse()

    def reuse(self, after: int = 0) -> int:
        """Give passages with ids above `after` the vectors known for their text; return how many got one.

        No model is run or loaded: moved text, or text cut anew in a rebuild, is found by meaning at once.
        """
        fingerprint, scripts = self.index.meta.get("model"), self.index.meta.get("scripts")
        if fingerprint is None or scripts is None:
            return 0
        model, reused = _Noted(str(fingerprint), frozenset(str(scripts).split())), 0
        for texts in self._pages(after, pending=True):
            reused += len(self.assign(_pending(texts, model, self.contexts()), texts))
        return reused

    def assign(self, found: Sequence[Pending], texts: Sequence[Text] = ()) -> list[Pending]:
        """Give passages the vectors that are there, mark those of `texts` that are not served; return those.

        Returns the passages that have a vector now.
        """
        served = {pending.passage for pending in found}
        unserved = [(row.passage, UNSERVED) for row in texts if row.passage not in served]
        known = self.store.assign([*((pending.passage, pending.key) for pending in found), *unserved])
        return [pending for pending in found if pending.key in known]

    def known(self, some: Sequence[Pending]) -> list[Pending]:
        """Return those passages whose text has a vector."""
        known = self.store.known(pending.key for pending in some)
        return [pending for pending in some if pending.key in known]

    def pending(self, limit: int, model: Model) -> list[Pending]:
        """Return the next passages to embed, in the order of the notes; mark those that are not served."""
        found: list[Pending] = []
        while not found:
            texts = self.store.texts(0, limit, pending=True)
            found = _pending(texts, model, self.contexts())
            self.assign([], [row for row in texts if not _serves(model, row)])
            if len(texts) < limit:
                break
        return found

    def missing(self, model: Model, contexts: Mapping[str, str] | None = None) -> dict[bytes, str]:
        """Return the texts that a sync with this model and these contexts would embed, by key, each once."""
        noted = self.contexts()
        contexts = noted if contexts is None else _redacted(contexts)
        found: dict[bytes, str] = {}
        settled = self.index.meta.get("model") in (None, model.fingerprint) and contexts == noted
        for texts in self._pages(0, pending=settled):
            wanted = {pending.key: pending.text for pending in _pending(texts, model, contexts)}
            known = self.store.known(wanted)
            found |= {key: text for key, text in wanted.items() if key not in known}
        return found

    def texts(self, size: int, model: Model) -> Iterator[list[Pending]]:
        """All passages that a model serves, whether they have a vector or not, some at a time."""
        for texts in self._pages(0, size):
            yield _pending(texts, model, self.contexts())

    def _pages(self, after: int, size: int = _ROWS, *, pending: bool = False) -> Iterator[list[Text]]:
        while texts := self.store.texts(after, size, pending=pending):
            after = texts[-1].passage
            yield texts

    def contexts(self) -> dict[str, str]:
        """The descriptions that are embedded with the passages below them, by prefix.

        Empty if the note of them is damaged: the next sync writes it anew.
        """
        try:
            noted = dict(json.loads(self.index.meta.get("contexts", "")))
        except (ValueError, TypeError):
            return {}
        return {prefix: text for prefix, text in noted.items() if isinstance(text, str)}

    def describe(self, contexts: Mapping[str, str]) -> None:
        """Embed these contexts with the passages from now on, and those passages anew that this changes."""
        before, after = self.contexts(), _redacted(contexts)
        if before == after:
            return
        changed = [
            note.id
            for note in self.index.notes()
            if _applying(before, note.collection, note.path) != _applying(after, note.collection, note.path)
        ]
        with self.index.transaction():
            self.store.clear(changed)
            self.index.meta["contexts"] = json.dumps(after, ensure_ascii=False)

    def prune(self) -> None:
        """Forget vectors that no passage uses, unless another model's are being made."""
        if "staging" not in self.index.meta:
            self.store.prune()


def carry(old: Index, new: Index) -> None:
    """Store the vectors of an index in another one, with what it notes of them."""
    with new.transaction():
        if new.meta.get("model") != old.meta.get("model"):
            new.vectors.clear()
        for name in ("model", "scripts", "contexts"):
            if name in old.meta:
                new.meta[name] = old.meta[name]
        for keys, rows, words in old.vectors.kept():
            new.vectors.add(keys, rows, words)


def embedded_text(text: str, headings: Sequence[str], path: str, contexts: Sequence[str] = ()) -> str:
    """The text that is embedded for a passage: its contexts, its headings, then what it says.

    Of a standing instruction it is the matter alone. The heading of front matter is the note's name, as its
    properties do not say whose they are.
    """
    if "\n" not in text and (own := matter(text)):
        return own
    if not headings and text.startswith("---") and text.rstrip().endswith(("\n---", "\n...")):
        from commonplace.redaction.redact import redact

        headings = (redact(splitext(basename(path))[0])[0],)
    return "\n".join([*contexts, *([" › ".join(headings)] if headings else []), text])


def key(text: str, model: str) -> bytes:
    """Identity of a text as a model embeds it: 16 bytes."""
    import hashlib

    told = f"{model}\n{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(told, digest_size=16).digest()


def _compatible(model: Model) -> tuple[str, str]:
    """The fingerprints whose vectors are this model's: its own, and its own without its parts."""
    return model.fingerprint, whole(model.fingerprint)


def _pending(texts: Sequence[Text], model: Model, contexts: Mapping[str, str]) -> list[Pending]:
    """Passages that a model serves, with the text to embed.

    One whose letters are mostly of another script gets no vector: it would carry no meaning, and cost time
    and disk.
    """
    found = []
    for row in texts:
        if _serves(model, row):
            above = _applying(contexts, row.collection, row.path)
            text = embedded_text(row.text, row.headings, row.path, above)
            words = row.turns > 0 and keeps_words(text, model.fingerprint)
            own = key(text, part_for(text, model.fingerprint, words=words))
            found.append(
                Pending(row.passage, own, text, max(0, len(text) - len(row.text)) if words else None)
            )
    return found


def _serves(model: Model, row: Text) -> bool:
    return scripts.serves(model.scripts, scripts.script_of(row.text))


def _applying(contexts: Mapping[str, str], collection: str, path: str) -> tuple[str, ...]:
    """Return the contexts of a note, by its path as people write it."""
    if not contexts:
        return ()
    shown = path if collection == WORKSPACE_COLLECTION else f"{collection}/{path}"
    return contexts_for(contexts, shown, collection)


def _redacted(contexts: Mapping[str, str]) -> dict[str, str]:
    """Contexts as they may be embedded and noted, in one order."""
    from commonplace.redaction.redact import redact

    return {prefix: redact(text)[0] for prefix, text in sorted(contexts.items())}
