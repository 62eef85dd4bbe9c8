"""Targets of a forgetting, and a note without them: statements, lines, words.

Targets can be saved and resumed. All other lines of a note stay as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise, takewhile
from typing import Any

from commonplace.base.tuples import NamedTuple
from commonplace.edit.forget.words import GAP, MARK, Words
from commonplace.markdown import comments, metadata, references, struck, visible
from commonplace.markdown.document import Document, Edit
from commonplace.markdown.structure import atx
from commonplace.transcripts import session as transcript
from commonplace.types import Provenance, Statement, cite
from commonplace.types.store import Known

_BESIDE = 3  # removed lines next to a line that stays
_NEAR = 4000  # characters behind a match in which a mark that begins in it may end
_PLAIN_ID = r"A-Za-z0-9._-"


class Block(NamedTuple):
    """Lines of a note without their ends; `references.without` is compared.

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
    """The targets of a forgetting.

    `people` are names, whose statements go whole; `texts` words that are cut out; `sentences` those that only
    the forgotten notes, lines and sessions say, looked for in all else. `requests` are the codes of what
    agents ask for that goes as well. `known` are the notes that were changed already. `shown` is the content
    of a preview, None without a preview: while no note is changed, only that may go.
    """

    people: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    notes: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
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
        written = [comments.of_provenance(Provenance("agent", session=session)) for session in self.sessions]
        return frozenset(said["session"] for said in comments.take(written).values() if said.get("session"))

    @property
    def session_names(self) -> frozenset[str]:
        """The ids of forgotten sessions, in all forms."""
        return self.comment_names.union(self.sessions)

    @property
    def transcripts(self) -> frozenset[str]:
        """The paths of the transcripts of forgotten sessions."""
        stems = map(transcript.stem_of, self.sessions)
        return frozenset(f"{transcript.FOLDER}/{stem}.jsonl" for stem in stems)

    @cached_property
    def mentions(self) -> re.Pattern[str]:
        """How a text names one of the sessions: by its id (the group `id`) or by the file of its messages."""
        if not self.sessions:
            return re.compile("\0(?P<id>(?!))")  # told at once for a text without a NUL
        ids = "|".join(map(re.escape, sorted(self.session_names)))
        files = "|".join(re.escape(path.removesuffix(".jsonl")) for path in self.transcripts)
        named = rf"(?P<id>session[\"'\\]*\s*[:=]\s*[\"'\\]*(?:{ids})(?![{_PLAIN_ID}]))"
        return re.compile(rf"{named}|(?:{files})(?:\.jsonl|(?![{_PLAIN_ID}]))")

    @property
    def only_sessions(self) -> bool:
        """Tell whether sessions alone are to be forgotten."""
        return not (self.people or self.texts or self.blocks or self.notes)

    @property
    def lines(self) -> frozenset[tuple[str, str]]:
        """The lines of blocks that say something, each with its note."""
        every = ((one.path, references.without(line)) for one in self.blocks for line in one.lines)
        return frozenset(one for one in every if any(map(str.isalnum, one[1])))

    @property
    def described(self) -> tuple[str, ...]:
        """The selections in the words of the request."""
        lines = (cite(one.path, one.first, one.first + len(one.lines) - 1) for one in self.blocks)
        sessions = (f"session {one}" for one in self.sessions)
        return (*self.people, *self.texts, *self.notes, *lines, *sessions)

    def matches(self, text: str) -> bool:
        """Tell whether a text holds any of it."""
        named = bool(self.sessions) and self.mentions.search(text) is not None
        return named or self.whole.match(text) or self.parts.match(text)

    def may_take(self, text: str) -> bool:
        """Tell whether a note with this path and text, or one of several, may lose something by its words."""
        paths = any(path in text for path in self.notes)
        is_named = bool(self.sessions) and "session" in text
        return paths or is_named or self.whole.match(text) or self.parts.match(text)

    def takes_whole(self, text: str) -> bool:
        """Tell whether a text mentions a person."""
        return self.whole.match(text)

    def cut(self, text: str) -> str:
        """Return the text of a note with gaps in the place of words that are cut out."""
        text = self.parts.mask(text, GAP)
        return self.mentions.sub("", text) if self.sessions else text

    def mask(self, text: str) -> str:
        """Return a text with marks in the place of all of it."""
        return self._mask(self.whole.mask(text))

    def _mask(self, text: str) -> str:
        """Return a text with marks in the place of words and of names of sessions."""
        text = self.parts.mask(text)
        return self.mentions.sub(MARK, text) if self.sessions else text

    def clean(self, value: Any, key: str = "") -> Any:  # noqa: ANN401 - any JSON
        """Return a JSON value without what is forgotten; `key` is the one that it stands under."""
        if isinstance(value, str):
            return self._clean_text(value, key)
        if isinstance(value, list):
            return [self.clean(one, key) for one in value]
        if isinstance(value, dict):
            return {self.mask(str(name)): self.clean(one, str(name)) for name, one in value.items()}
        return value

    def _clean_text(self, text: str, key: str) -> str:
        if key == "arguments" and self.matches(text):  # of a call, as JSON or however a model wrote them
            return self.parts.clean_arguments(text)
        is_session = key == "session" and text in self.session_names
        return MARK if is_session or self.takes_whole(text) else self._mask(text)

    def owns(self, path: str) -> bool:
        """Tell whether a whole note goes: it was selected, or its path mentions a person."""
        return path in self.notes or self.takes_whole(path)

    def edit(self, path: str, data: bytes) -> bytes | None:
        """Return the bytes of a note without it; None where no note is left."""
        rest = cut(CutNote.read(data, path), self)
        return rest.data if rest else data

    def overlaps(self, other: Targets) -> bool:
        """Tell whether another names a note, lines or a session that goes with this one."""
        return (
            not set(self.sessions).isdisjoint(other.sessions)
            or any(map(self.owns, (*other.notes, *(one.path for one in other.blocks))))
            or not self.lines.isdisjoint(other.lines)
        )


def decode(value: Mapping[str, Any]) -> Targets:
    """Read targets back. Raises ValueError, TypeError, KeyError for damaged ones."""
    fields: dict[str, Any] = {
        name: tuple(field) if isinstance(field, list | tuple) else field for name, field in value.items()
    }
    fields.pop("vectors", None)  # of version 0.1
    fields["blocks"] = tuple(Block(at[0], at[1], tuple(at[2]), *at[3:]) for at in fields["blocks"])
    fields["known"] = tuple(Known(*row) for row in fields["known"])
    if fields.get("shown") is not None:
        fields["shown"] = tuple(Shown(*row) for row in fields["shown"])
    return Targets(**fields)


def read(basis: bytes) -> Targets:
    """Return the targets of a preview or a request. Raises ValueError, TypeError, KeyError."""
    return decode(json.loads(basis))


# --- a note without it ----------------------------------------------------------------------------------


class CutNote(Document):
    """A note whose lines are cut: where they stand, what is shown of them, what they belong to."""

    def shown(self, first: int, last: int) -> str:
        """Return lines as they may be shown: private parts blank, secrets redacted.

        The whole note is redacted: a key, or a value below the word for it, is known by its context alone.
        """
        return "\n".join(self.note.lines[first - 1 : last])

    def written(self, first: int, last: int) -> str:
        """Return lines as they stand, without their ends."""
        return "\n".join(self.bare[first - 1 : last])

    def statement(self, line: int) -> Statement | None:
        """The statement that a line is one of, outside of fences."""
        return self.owners.get(line) if self.fence(line) is None else None

    @cached_property
    def owners(self) -> dict[int, Statement]:
        """The statements by their own lines."""
        return {n: one for one in reversed(self.stated) for n in range(one.first, one.last + 1)}

    def about(self, last: int) -> range:
        """Return the indented lines below the last line of a statement that are comments on it alone."""
        below = takewhile(lambda line: line[:1].isspace() and line.strip(), self.bare[last:])
        own = takewhile(lambda line: not comments.without(line).strip(), below)
        return range(last + 1, last + 1 + len(list(own)))

    def in_front(self, line: int) -> bool:
        """Tell whether a line is one of front matter."""
        front = self.front_matter
        return front is not None and front[0] <= line <= front[1]

    def flow(self, line: int) -> re.Match[str] | None:
        """A list in brackets of front matter, which loses elements; None for another line."""
        return metadata.FLOW.fullmatch(self.bare[line - 1]) if self.in_front(line) else None

    @cached_property
    def titles(self) -> Set[int]:
        """The lines of headings; of underlined ones the line above."""
        return {heading.line for heading in self.headings}

    def is_mark(self, line: int) -> bool:
        """Tell whether a line begins or ends a fence or front matter."""
        fence = self.fence(line)
        return line in (*((fence[0], fence[-1]) if fence else ()), *(self.front_matter or ()))

    @cached_property
    def said(self) -> list[str]:
        """The lines without their references, by which they are found again."""
        return list(map(references.without, self.bare))

    def places(self, lines: Sequence[str]) -> list[int]:
        """The lines from which on some lines stand here, without their ends.

        Their references do not count, since these follow when other lines go.
        """
        sought, last = list(map(references.without, lines)), len(self.said) - len(lines) + 1
        return [at + 1 for at in range(last if lines else 0) if self.said[at : at + len(sought)] == sought]

    def find(self, block: Block) -> range:
        """Return the lines of a block; empty if the note has fewer equal ones than before."""
        places = self.places(block.lines)
        if not places or len(places) < block.times:
            return range(0)
        if block.nth and len(places) == block.times:
            first = places[block.nth - 1]
        else:
            first = min(places, key=lambda place: abs(place - block.first))
        return range(first, first + len(block.lines))


class Gone(NamedTuple):
    """Lines of a note that go, or lose words, and what they say; `whole` where they go.

    `shown` is what they say as it may be shown.
    """

    first: int
    last: int
    text: str
    shown: str
    whole: bool


class Cut(NamedTuple):
    """A note without what is forgotten: its bytes (None: no note is left), what goes, which lines do.

    `edit` says where the other lines stand then, `stated` what the statements say that begin in these lines.
    """

    data: bytes | None
    gone: tuple[Gone, ...]
    lines: Set[int]
    edit: Edit
    stated: tuple[str, ...] = ()

    def rest(self, gone: Gone) -> str:
        """Return the rest of a line that loses words, redacted; empty for removed lines."""
        line = None if gone.whole else self.edit.moved(gone.first)
        return self.edit.document.note.lines[line - 1] if line else ""


def cut(page: CutNote, targets: Targets) -> Cut | None:
    """Return a note without the targets, None if it has no match."""
    if targets.owns(page.path):
        last = len(page.lines)
        every = frozenset(range(1, last + 1))
        gone = Gone(1, last, page.text.strip(), page.shown(1, last).strip(), True)
        return Cut(None, (gone,), every, page.delete(every), tuple(one.text for one in page.stated))
    lines = _whole(page, targets)
    changed = _parts(page, targets, lines)
    if not lines and not changed:
        return None
    edit = page.change(changed).delete(lines)
    rest = edit.document
    after = rest.data if rest.text.strip("\ufeff \t\r\n") else None
    stated = tuple(statement.text for statement in page.stated if statement.first in lines)
    runs = list(_gone(page, lines, changed))  # blank lines count where nothing else goes
    return Cut(after, tuple([one for one in runs if one.text.strip()] or runs), lines, edit, stated)


def _whole(page: CutNote, targets: Targets) -> set[int]:
    """The lines that go whole: those asked for, those of a session, what mentions a person."""
    lines = {line for block in targets.blocks if block.path == page.path for line in page.find(block)}
    for statement in _of_sessions(page, targets):
        lines.update(range(statement.first, statement.end + 1))
    for number in _numbers(page, targets.whole.spans(page.text)):
        if number not in lines and not page.flow(number):
            lines.update(page.unit(number))
    return page.whole(lines) if lines else lines


def _of_sessions(page: CutNote, targets: Targets) -> Iterator[Statement]:
    """Yield the statements of forgotten sessions, told by any of their comments."""
    if targets.sessions and "session" in page.text:
        for first, _ in _naming(page, targets):
            if statement := page.statement(page.line_at(first)):
                yield statement
        yield from (one for one in page.stated if one.said.get("session") in targets.comment_names)


def _naming(page: CutNote, targets: Targets) -> Iterator[tuple[int, int]]:
    """Where comments stand that name a session by its id, whatever else they say."""
    for comment in comments.each(page.text) if targets.sessions else ():
        if any(mention["id"] for mention in targets.mentions.finditer(comment[0])):
            yield comment.span()


def _numbers(page: CutNote, spans: Iterable[tuple[int, int]]) -> Iterator[int]:
    """The lines on which some places of the text stand."""
    for first, last in spans:
        yield from range(page.line_at(first), page.line_at(max(first, last - 1)) + 1)


# --- words cut out --------------------------------------------------------------------------------------


def _parts(page: CutNote, targets: Targets, lines: set[int]) -> dict[int, str]:
    """Return the new text of lines that lose words, by number; add those left without words to `lines`."""
    changed = _shorter_lists(page, targets, lines)
    for number, pieces in _pieces(page, targets, lines).items():
        line = changed.get(number) or page.bare[number - 1]
        for first, last, instead in sorted(pieces, reverse=True) if number not in changed else ():
            line = line[:first] + instead + line[last:]
        changed[number] = line
    settled: set[int] = set()  # statements, by their first lines
    for number in sorted(changed):
        if number in lines or page.is_mark(number):
            continue
        owner = page.statement(number)
        if owner is None:
            lines |= _silent(page, number, changed[number])
        elif owner.first not in settled:
            settled.add(owner.first)
            _settle(page, owner, changed, lines)
    return {number: line for number, line in changed.items() if number not in lines}


def _pieces(page: CutNote, targets: Targets, lines: set[int]) -> dict[int, list[tuple[int, int, str]]]:
    """Return what goes from lines that stay: places in the line, and what stands there instead."""
    said = "\n".join((*targets.texts, *targets.sentences))
    words = chain.from_iterable(_words(page.text, *span, said) for span in _spans(page, targets, lines))
    gaps = [(first, last, GAP) for first, last in words]
    for first, last in _naming(page, targets):
        gaps.append((len(page.text[:first].rstrip(" \t")), last, ""))
    pieces: dict[int, list[tuple[int, int, str]]] = {}
    for first, last, instead in gaps:
        for number in set(_numbers(page, [(first, last)])) - lines:
            start, line = page.starts[number - 1], page.bare[number - 1]
            margin = len(line) - len(line.lstrip(" \t>")) if instead else 0  # of a quotation, or a list
            low, high = max(first - start, margin), min(last - start, len(line.rstrip()))
            if low < high:
                pieces.setdefault(number, []).append((low, high, instead))
    return pieces


def _spans(page: CutNote, targets: Targets, lines: set[int]) -> list[tuple[int, int]]:
    """Where the words stand that are cut out, in lines that stay: places in the text."""
    spans: set[tuple[int, int]] = set()
    for before, behind in pairwise([0, *sorted(lines), len(page.lines) + 1]):
        if behind - before > 1:
            # A match may begin or end in removed lines next to the ones that stay.
            first = max(1, before + 1 - _BESIDE)
            start = page.starts[first - 1]
            text = "".join(page.lines[first - 1 : behind - 1 + _BESIDE])
            spans |= {(start + low, start + high) for low, high in targets.parts.spans(text)}
    return sorted(spans)


def _words(text: str, first: int, last: int, said: str) -> Iterator[tuple[int, int]]:
    """Yield the words of a match: marks of emphasis, comments, tags and links stay, unless they are named."""
    stays = chain(
        struck.EMPHASIS.finditer(text, first, last), visible.HIDDEN.finditer(text, first, last + _NEAR)
    )
    spans = (m.span() for m in stays if m[0] not in said and m[0][0] in "<[]*_~`" and m[0][:2] != "[^")
    for low, high in sorted([*(span for span in spans if span[0] < last), (last, last)]):
        words = text[first:low]
        if words.strip():
            yield low - len(words.lstrip()), first + len(words.rstrip())
        first = max(first, high)


def _shorter_lists(page: CutNote, targets: Targets, lines: set[int]) -> dict[int, str]:
    """Return lists of front matter without the elements that mention it; an empty list goes."""
    shorter: dict[int, str] = {}
    for number in range(*(page.front_matter or (0, 0))):
        if number not in lines and (flow := page.flow(number)) and targets.matches(flow[0]):
            every = map(str.strip, flow["inner"].split(","))
            elements = [element for element in every if not targets.matches(element)]
            line = f"{flow['key']}[{', '.join(elements)}]{flow['rest']}"
            if not elements or targets.matches(line):
                lines.add(number)
            else:
                shorter[number] = line
    return shorter


def _settle(page: CutNote, statement: Statement, changed: dict[int, str], lines: set[int]) -> None:
    """Decide whether a statement goes, leaves its mark for nested ones, or keeps its lines."""
    own = range(statement.first, statement.last + 1)
    texts = [struck.EMPHASIS.sub("", changed.get(number, page.bare[number - 1])) for number in own]
    texts[0] = struck.HOUR.sub(r"\1", texts[0])
    if any(struck.says_something(comments.without(line.replace(GAP, ""))) for line in texts):
        lines |= {number for number in changed.keys() & own[1:] if not changed[number].strip()}
        return
    nested = set(range(statement.last + 1, statement.end + 1)) - lines
    lines |= set(own)
    lines |= set(page.about(statement.last))
    if any(page.lines[number - 1].strip() for number in nested):
        lines.discard(statement.first)
        changed[statement.first] = statement.item.rstrip()


def _silent(page: CutNote, number: int, line: str) -> set[int]:
    """Return the lines that go with a line outside of statements that has no words left."""
    is_code = page.in_front(number) or page.fence(number) is not None
    if line.strip(f" -\t{GAP}") if is_code else any(map(str.isalnum, line)):
        return set()
    # The underline of a heading goes with it.
    return {number, number + 1} if number in page.titles and not atx(page.bare[number - 1]) else {number}


def _gone(page: CutNote, lines: set[int], changed: dict[int, str]) -> Iterator[Gone]:
    """Yield the removed runs of lines and the lines that lose words, redacted."""
    runs: list[tuple[int, int, bool]] = []  # first and last line, and whether they go whole
    for number in sorted({*lines, *changed}):
        owner = page.owners.get(number)
        begins = owner is not None and owner.first == number
        if runs and number in lines and runs[-1][1:] == (number - 1, True) and not begins:
            runs[-1] = (runs[-1][0], number, True)
        else:
            runs.append((number, number, number in lines))
    for first, last, is_whole in runs:
        yield Gone(first, last, page.written(first, last), page.shown(first, last), is_whole)
