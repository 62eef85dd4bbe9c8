"""What is to be forgotten, apart from where it stands, so that it can be written down and carried on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from commonplace.edit.forget import cutting
from commonplace.edit.forget.words import MARK, Words, unescaped
from commonplace.markdown import comments
from commonplace.types import cite
from commonplace.types.changes import Provenance
from commonplace.types.store import Known


class Block(NamedTuple):
    """Lines of a note as they stand there, without their ends.

    `times` is how often the note has them, `nth` which of these is meant, from 1 (0: the nearest to `first`).
    """

    path: str
    first: int
    lines: tuple[str, ...]
    times: int
    nth: int = 0


class Shown(NamedTuple):
    """A file of which a preview showed what goes: SHA-256 of the words of all these places."""

    path: str
    digest: str


@dataclass(frozen=True)
class Targets:
    """What is to be forgotten.

    `people` are names, whose statements go whole; `texts` words that are cut out; `sentences` those that only
    the forgotten notes, lines and sessions say, looked for in all else. `vectors` are keys of the cache of
    vectors, in hexadecimal. `requests` are the codes of what agents ask for that goes as well. `known` are
    the notes that were changed already. `shown` is what a preview showed, None where there was none: while no
    note is changed, nothing else may go.
    """

    people: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    notes: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    vectors: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    known: tuple[Known, ...] = ()
    statements: int = 0
    run: str = ""
    agent: str = ""
    session: str = ""
    shown: tuple[Shown, ...] | None = None

    @cached_property
    def whole(self) -> Words:
        """Names: what mentions one goes whole."""
        return Words(self.people, names=True)

    @cached_property
    def parts(self) -> Words:
        """Words and sentences that are cut out."""
        return Words((*self.texts, *self.sentences))

    @cached_property
    def comment_names(self) -> frozenset[str]:
        """Sessions as the comments of notes name them."""
        written = [comments.of_provenance(Provenance("agent", session=one)) for one in self.sessions]
        return frozenset(said["session"] for said in comments.take(written).values() if said.get("session"))

    @property
    def session_names(self) -> frozenset[str]:
        """The ids of forgotten sessions, in all forms."""
        return self.comment_names.union(self.sessions)

    @property
    def only_sessions(self) -> bool:
        """Whether nothing but sessions is to be forgotten."""
        return not (self.people or self.texts or self.blocks or self.notes)

    @property
    def described(self) -> tuple[str, ...]:
        """What was asked for, in the words of the request."""
        lines = (cite(one.path, one.first, one.first + len(one.lines) - 1) for one in self.blocks)
        sessions = (f"session {one}" for one in self.sessions)
        return (*self.people, *self.texts, *self.notes, *lines, *sessions)

    def matches(self, text: str, *, escaped: bool = False) -> bool:
        """Whether a text, or what its JSON escapes spell, holds any of it."""
        if self.whole.match(text) or self.parts.match(text):
            return True
        return escaped and "\\u" in text and self.matches(unescaped(text))

    def takes_whole(self, text: str) -> bool:
        """Whether a text mentions a person."""
        return self.whole.match(text)

    def cut(self, text: str) -> str:
        """Return a text without the words that are cut out."""
        return self.parts.mask(text, "")

    def mask(self, text: str) -> str:
        """Return a text with marks in the place of all of it."""
        return self.parts.mask(self.whole.mask(text))

    def clean(self, value: Any, key: str = "") -> Any:  # noqa: ANN401 - any JSON
        """Return a JSON value without what is forgotten; `key` is the one that it stands under."""
        if isinstance(value, str):
            if key == "arguments":  # of a call, as JSON or however a model wrote them
                return self.parts.clean_arguments(value) if self.matches(value, escaped=True) else value
            is_hidden = not self.matches(value) and self.matches(value, escaped=True)
            return MARK if is_hidden or self.takes_whole(value) else self.parts.mask(value)
        if isinstance(value, list):
            return [self.clean(one, key) for one in value]
        if isinstance(value, dict):
            return {self.mask(str(name)): self.clean(one, str(name)) for name, one in value.items()}
        return value

    def owns(self, path: str) -> bool:
        """Whether the whole of a note goes, because of its name or because it was asked for."""
        return path in self.notes or self.takes_whole(path)

    def edit(self, path: str, data: bytes) -> bytes | None:
        """Return the bytes of a note without it; None where no note is left."""
        cut = cutting.cut(path, data, self)
        return cut.data if cut else data

    def overlaps(self, other: Targets) -> bool:
        """Whether another names a note, lines or a session that goes with this one, whatever they say."""
        lines = {(one.path, line) for one in self.blocks for line in one.lines if any(map(str.isalnum, line))}
        return (
            not set(self.sessions).isdisjoint(other.sessions)
            or any(map(self.owns, (*other.notes, *(one.path for one in other.blocks))))
            or any((one.path, line) in lines for one in other.blocks for line in one.lines)
        )

    def with_vectors(self, keys: Iterable[str]) -> Targets:
        """Return it with further keys of vectors."""
        return replace(self, vectors=tuple(sorted({*self.vectors, *keys})))


def encode(targets: Targets) -> dict[str, Any]:
    """Return targets as an object of JSON."""
    return asdict(targets)


def decode(value: Mapping[str, Any]) -> Targets:
    """Read targets back. Raises ValueError, TypeError, KeyError for what is none."""
    lists: dict[str, Any] = {name: tuple(one) for name, one in value.items() if isinstance(one, list | tuple)}
    plain: dict[str, Any] = {name: one for name, one in value.items() if name not in lists}

    def block(path: str, first: int, lines: Sequence[str], times: int, nth: int = 0) -> Block:
        return Block(path, first, tuple(lines), times, nth)

    blocks = tuple(block(*one) for one in lists.pop("blocks"))
    known = tuple(Known(*one) for one in lists.pop("known"))
    plain["shown"] = tuple(Shown(*one) for one in lists.pop("shown")) if "shown" in lists else None
    return Targets(**lists, **plain, blocks=blocks, known=known)


def read(basis: bytes) -> Targets:
    """Return the targets of a preview or a request. Raises ValueError, TypeError, KeyError for none."""
    return decode(json.loads(basis))
