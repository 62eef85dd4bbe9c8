"""What is to be forgotten, told apart from where it stands, so that it can be written down and carried on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from commonplace.erasure.words import Words
from commonplace.notes import comments
from commonplace.types.entries import Provenance
from commonplace.types.results import cite


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


class Known(NamedTuple):
    """A note that was changed: SHA-256 of its bytes before and after."""

    path: str
    before: str
    after: str


@dataclass(frozen=True)
class Wanted:
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
    agent: str = field(default="")
    session: str = field(default="")
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
    def told_sessions(self) -> frozenset[str]:
        """Sessions as the comments of notes name them."""
        told = [comments.of_provenance(Provenance("agent", session=session)) for session in self.sessions]
        taken = comments.take(told)
        return frozenset(said["session"] for said in taken.values() if said.get("session"))

    @property
    def told(self) -> tuple[str, ...]:
        """What was asked for, in the words of who asked."""
        lines = (cite(one.path, one.first, one.first + len(one.lines) - 1) for one in self.blocks)
        sessions = (f"session {one}" for one in self.sessions)
        return (*self.people, *self.texts, *self.notes, *lines, *sessions)

    def found(self, text: str) -> bool:
        """Whether a text holds anything of it."""
        return self.whole.found(text) or self.parts.found(text)

    def replaced(self, text: str) -> str:
        """Return a text with marks in the place of all of it."""
        return self.parts.replaced(self.whole.replaced(text))

    def owns(self, path: str) -> bool:
        """Whether the whole of a note goes, because of its name or because it was asked for."""
        return path in self.notes or self.whole.found(path)

    def overlaps(self, other: Wanted) -> bool:
        """Whether another names a note, lines or a session that goes with this one, whatever they say."""
        lines = {(one.path, line) for one in self.blocks for line in one.lines if any(map(str.isalnum, line))}
        return (
            not set(self.sessions).isdisjoint(other.sessions)
            or any(map(self.owns, (*other.notes, *(one.path for one in other.blocks))))
            or any((one.path, line) in lines for one in other.blocks for line in one.lines)
        )

    def with_vectors(self, keys: Iterable[str]) -> Wanted:
        """Return it with further keys of vectors."""
        return replace(self, vectors=tuple(sorted({*self.vectors, *keys})))


def encode(wanted: Wanted) -> dict[str, Any]:
    """Return it as an object of JSON."""
    return asdict(wanted)


def decode(told: Mapping[str, Any]) -> Wanted:
    """Read it back. Raises ValueError, TypeError, KeyError for what is none."""
    lists: dict[str, Any] = {
        name: tuple(value) for name, value in told.items() if isinstance(value, list | tuple)
    }
    plain: dict[str, Any] = {name: value for name, value in told.items() if name not in lists}
    blocks = tuple(_block(*one) for one in lists.pop("blocks"))
    known = tuple(Known(*one) for one in lists.pop("known"))
    plain["shown"] = tuple(Shown(*one) for one in lists.pop("shown")) if "shown" in lists else None
    return Wanted(**lists, **plain, blocks=blocks, known=known)


def _block(path: str, first: int, lines: Sequence[str], times: int, nth: int = 0) -> Block:
    return Block(path, first, tuple(lines), times, nth)
