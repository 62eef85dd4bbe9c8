"""What is to be forgotten, apart from where it stands; and a note without it: statements, lines, words.

Targets can be written down and carried on. All lines of a note that hold nothing of them stay as they are.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from commonplace.edit.forget.words import MARK, Words, unescaped
from commonplace.markdown import comments
from commonplace.markdown.document import Document
from commonplace.markdown.references import Moved
from commonplace.markdown.struck import says_something
from commonplace.markdown.structure import atx
from commonplace.types import cite
from commonplace.types.changes import Provenance
from commonplace.types.notes import Statement
from commonplace.types.store import Known

_TELLS = re.compile(r"[^\W_]")
# Marks that stand around words, and say nothing around none.
_PAIRS = (
    ("~~", "~~"), ("**", "**"), ("__", "__"), ("*", "*"), ("`", "`"), ("(", ")"), ('"', '"'), ("“", "”"),
    ("「", "」"), ("《", "》"), ("（", "）"), ("[[", "]]"),
)  # fmt: skip
_BESIDE = 3  # lines that go, beside one that stays
_NEAR = 4000  # characters of a line in which the other of a mark is looked for
_STRONG = ("~~", "**", "__", "*", "_")
_EMPHASIS = re.compile(r"\*{1,3}|_{1,3}|~~|`")
# The hour at the beginning of an entry, however it is written.
_WRITTEN = re.compile(r"^((?:[\s>]|[-+]|\d{1,9}[.)](?=\s)|\[[ xX]\])*)\d{1,2}:\d\d(?::\d\d)?:?(?=\s|$)")
_FLOW = re.compile(r"(?P<key>[^\[\]#]*:\s*)\[(?P<inner>[^\[\]]*)\](?P<rest>\s*)")
_EMPTY_ITEM = ((re.compile(r",\s*(?=[,\]])"), ""), (re.compile(r"\[\s*,\s*"), "["))


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
        rest = cut(path, data, self)
        return rest.data if rest else data

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


# --- a note without it ----------------------------------------------------------------------------------


class Page(Document):
    """A note whose lines are cut: where they stand, what is shown of them, what they belong to."""

    def shown(self, first: int, last: int) -> str:
        """Return lines as they may be shown: private parts blank, secrets redacted.

        The whole note is redacted: a key, or a value below the word for it, is known by its context alone.
        """
        return "\n".join(self.note.lines[first - 1 : last])

    def written(self, first: int, last: int) -> str:
        """Return lines as they stand, without their ends."""
        return "\n".join(self.bare[first - 1 : last])

    def owner(self, line: int) -> Statement | None:
        """The statement one of whose own lines this is."""
        return self._owners.get(line)

    @cached_property
    def _owners(self) -> dict[int, Statement]:
        owners: dict[int, Statement] = {}
        for statement in self.stated:
            for line in range(statement.first, statement.last + 1):
                owners.setdefault(line, statement)
        return owners

    def in_front(self, line: int) -> bool:
        """Whether a line is one of front matter."""
        front = self.front_matter
        return front is not None and front[0] <= line <= front[1]

    @cached_property
    def titles(self) -> Set[int]:
        """The lines of headings; of underlined ones the line above."""
        return {heading.line for heading in self.headings}

    def is_mark(self, line: int) -> bool:
        """Whether a line begins or ends a fence or front matter."""
        fence = self.fence(line)
        return line in (*((fence[0], fence[-1]) if fence else ()), *(self.front_matter or ()))

    def places(self, lines: Sequence[str]) -> list[int]:
        """The lines from which on some lines stand here, without their ends.

        By the failures of what was matched so far (Knuth, Morris and Pratt, 1977): equal lines may repeat.
        """
        back = [0] * len(lines)
        for place in range(1, len(lines)):
            at = back[place - 1]
            while at and lines[at] != lines[place]:
                at = back[at - 1]
            back[place] = at + (lines[at] == lines[place])
        starts, at = [], 0
        for number, line in enumerate(self.bare if lines else (), 1):
            while at and (at == len(lines) or lines[at] != line):
                at = back[at - 1]
            at += lines[at] == line
            if at == len(lines):
                starts.append(number - len(lines) + 1)
        return starts

    def find(self, block: Block) -> int:
        """The first line of those that are meant; 0 for nowhere, as once one of its equals is gone."""
        places = self.places(block.lines)
        if not places or len(places) < block.times:
            return 0
        if block.nth and len(places) == block.times:
            return places[block.nth - 1]
        return min(places, key=lambda place: abs(place - block.first))


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

    `stated` is what the statements say that begin in these lines.
    """

    data: bytes | None
    gone: tuple[Gone, ...]
    lines: Set[int]
    ordered: Sequence[int] = ()
    stated: tuple[str, ...] = ()

    def moved(self, line: int) -> int | None:
        """Where a line stands now; None where it is gone."""
        return None if line in self.lines else line - bisect_left(self.ordered, line)

    def stood(self, line: int) -> int:
        """Where a line stood before that stands here now."""
        for gone in self.ordered:
            if gone > line:
                break
            line += 1
        return line

    def follower(self, path: str) -> Moved:
        """Return the map of lines that `references.follow` takes, for the note at `path`."""
        return lambda line: None if (now := self.moved(line)) is None else f"{path}#L{now}"


def cut(path: str, data: bytes, targets: Targets) -> Cut | None:
    """Return a note without what is forgotten, None where it holds nothing of it."""
    page = Page.read(data, path)
    if targets.owns(path):
        last = len(page.lines)
        every = range(1, last + 1)
        gone = Gone(1, last, page.text.strip(), page.shown(1, last).strip(), True)
        return Cut(None, (gone,), frozenset(every), every, tuple(one.text for one in page.stated))
    lines = _whole(page, targets)
    changed = _parts(page, targets, lines)
    if not lines and not changed:
        return None
    rest = page.change(changed).delete(lines).document
    after = rest.data if rest.text.strip("\ufeff \t\r\n") else None
    stated = tuple(statement.text for statement in page.stated if statement.first in lines)
    return Cut(after, tuple(_gone(page, lines, changed)), lines, sorted(lines), stated)


def _whole(page: Page, targets: Targets) -> set[int]:
    """The lines that go whole: those asked for, those of a session, what mentions a person."""
    lines: set[int] = set()
    for block in targets.blocks:
        if block.path == page.path and (first := page.find(block)):
            lines.update(range(first, first + len(block.lines)))
    if targets.comment_names and "session" in page.text:
        for statement in page.stated:
            if statement.said.get("session") in targets.comment_names:
                lines.update(range(statement.first, statement.end + 1))
    for first, last in targets.whole.spans(page.text):
        for number in range(page.line_at(first), page.line_at(max(first, last - 1)) + 1):
            # A list of front matter in brackets loses elements.
            is_list = page.in_front(number) and _FLOW.fullmatch(page.bare[number - 1])
            if number not in lines and not is_list:
                lines.update(page.unit(number))
    return page.whole(lines) if lines else lines


# --- words cut out --------------------------------------------------------------------------------------


def _parts(page: Page, targets: Targets, lines: set[int]) -> dict[int, str]:
    """Lines that lose words, as they are then; those that then say nothing are added to `lines`."""
    changed = _shorter_lists(page, targets, lines)
    for number, places in _pieces(page, targets, lines).items():
        changed.setdefault(number, _without(page.bare[number - 1], places))
    for number in filter(page.in_front, changed):
        for expression, instead in _EMPTY_ITEM:  # of a list that may have lost an element
            changed[number] = expression.sub(instead, changed[number])
    settled: set[int] = set()  # statements, by their first lines
    for number in sorted(changed):
        if number in lines or page.is_mark(number):
            continue
        owner = page.owner(number) if page.fence(number) is None else None
        if owner is not None:
            if owner.first not in settled:
                _settle(page, owner, changed, lines)
            settled.add(owner.first)
        elif not _says(page, number, changed[number]):
            lines.add(number)
            if number in page.titles and not atx(page.bare[number - 1]):
                lines.add(number + 1)  # what underlines it
    return {number: line for number, line in changed.items() if number not in lines}


def _pieces(page: Page, targets: Targets, lines: set[int]) -> dict[int, list[tuple[int, int]]]:
    """Where the words stand that are cut out, by lines that stay: places in the line."""
    # The words may begin or end in a few lines that go, beside those that stay.
    edges = [0, *sorted(lines), len(page.lines) + 1]
    spans: set[tuple[int, int]] = set()
    for before, behind in pairwise(edges):
        if behind - before > 1:
            first = max(1, before + 1 - _BESIDE)
            start = page.starts[first - 1]
            text = "".join(page.lines[first - 1 : behind - 1 + _BESIDE])
            spans |= {(start + low, start + high) for low, high in targets.parts.spans(text)}
    pieces: dict[int, list[tuple[int, int]]] = {}
    for first, last in (piece for span in sorted(spans) for piece in _balanced(page.text, *span)):
        for number in range(page.line_at(first), page.line_at(max(first, last - 1)) + 1):
            start, line = page.starts[number - 1], page.bare[number - 1]
            margin = len(line) - len(line.lstrip(" \t>"))  # what is indented or quoted stays so
            piece = (max(first - start, 0 if first >= start else margin), min(last - start, len(line)))
            if number not in lines and piece[0] < piece[1]:
                pieces.setdefault(number, []).append(piece)
    return pieces


def _balanced(text: str, first: int, last: int) -> list[tuple[int, int]]:
    """What is to be cut out, such that each mark of emphasis inside goes with its other, or stays for it."""
    marks = list(_EMPHASIS.finditer(text, first, last))
    signs = [mark[0] for mark in marks]
    for match, mark in zip(marks, signs, strict=True):
        if signs.count(mark) % 2 == 0:
            continue
        if text.endswith(mark, 0, first):
            return _balanced(text, first - len(mark), last)
        if text.startswith(mark, last):
            return _balanced(text, first, last + len(mark))
        return _parted(text, first, match, last)
    around = _EMPHASIS.match(text, last)
    if around and text.endswith(around[0], 0, first):
        return _balanced(text, first - len(around[0]), around.end())
    return [_tightened(text, first, last)]


def _tightened(text: str, first: int, last: int) -> tuple[int, int]:
    """What is to be cut out beside a mark that stays, with the blanks that would part it from its words.

    `~~ late~~` strikes nothing: what was struck would stand again.
    """
    line = max(text.rfind("\n", 0, first) + 1, first - _NEAR)
    opening = next((mark for mark in _STRONG if text.endswith(mark, line, first)), "")
    if opening and text.count(opening, line, first) % 2:
        while text.startswith(" ", last):
            last += 1
    closing = next((mark for mark in _STRONG if text.startswith(mark, last)), "")
    if closing and text.count(closing, line, first) % 2:
        while text.endswith(" ", line, first):
            first -= 1
    return first, last


def _parted(text: str, first: int, mark: re.Match[str], last: int) -> list[tuple[int, int]]:
    """What stands before and behind a mark that stays, with the blanks that would part it from its words."""
    line = max(text.rfind("\n", 0, first) + 1, first - _NEAR)
    if text.count(mark[0], line, first) % 2:  # it ends what begins before
        while text.endswith(" ", 0, first):
            first -= 1
    else:
        while text.startswith(" ", last):
            last += 1
    return [(first, mark.start()), (mark.end(), last)]


def _shorter_lists(page: Page, targets: Targets, lines: set[int]) -> dict[int, str]:
    """Lists of front matter without the elements that mention a person; one of nothing else goes."""
    shorter: dict[int, str] = {}
    front = page.front_matter if targets.whole.match(page.text) else None
    for number in range(front[0], front[1]) if front else ():
        flow = _FLOW.fullmatch(page.bare[number - 1])
        if flow is None or number in lines or not targets.whole.match(page.bare[number - 1]):
            continue
        kept = [one.strip() for one in flow["inner"].split(",") if not targets.whole.match(one)]
        line = f"{flow['key']}[{', '.join(kept)}]{flow['rest']}"
        if not kept or targets.whole.match(line):
            lines.add(number)
        else:
            shorter[number] = line
    return shorter


def _without(line: str, pieces: Sequence[tuple[int, int]]) -> str:
    """A line without some of its places, the blanks and the marks that stood around them."""

    def opens(mark: str) -> bool:  # what stands behind the piece
        return after[: -len(mark) - 1 : -1] == list(mark)

    margin = len(line) - len(line.lstrip())
    after: list[str] = []  # the characters behind a piece that stay, last first
    telling = 0  # how many of them are no blanks
    stop = len(line)
    for first, last in reversed(pieces):
        after += reversed(line[last:stop])
        telling += sum(not character.isspace() for character in line[last:stop])
        stop = first
        while pair := next((p for p in _PAIRS if line.endswith(p[0], 0, stop) and opens(p[1])), None):
            stop -= len(pair[0])
            del after[-len(pair[1]) :]
            telling -= len(pair[1])
        if stop <= margin or line[stop - 1].isspace():
            while after and after[-1] in " \t":
                after.pop()
        while not telling and stop > margin and line[stop - 1].isspace():
            stop -= 1
    return line[:stop] + "".join(reversed(after))


def _settle(page: Page, statement: Statement, changed: dict[int, str], lines: set[int]) -> None:
    """Decide what of a statement stays: nothing, its mark because others are nested in it, or its lines."""
    own = range(statement.first, statement.last + 1)
    said = {number: _EMPHASIS.sub("", changed.get(number, page.bare[number - 1])) for number in own}
    said[statement.first] = _WRITTEN.sub(r"\1", said[statement.first])
    if any(says_something(comments.without(line)) for line in said.values()):
        lines |= {n for n in own if n in changed and n != statement.first and not changed[n].strip()}
        return
    nested = set(range(statement.last + 1, statement.end + 1)) - lines
    lines |= set(own)
    for number in range(statement.last + 1, len(page.lines) + 1):  # what is said of it below
        line = page.bare[number - 1]
        if not line[:1].isspace() or not line.strip() or comments.without(line).strip():
            break
        lines.add(number)
    if any(page.lines[number - 1].strip() for number in nested):
        lines.discard(statement.first)
        changed[statement.first] = statement.item.rstrip()


def _says(page: Page, number: int, line: str) -> bool:
    """Whether a line outside statements still says something; it never had to, if it did not before."""
    if heading := atx(page.bare[number - 1]):
        return bool(heading[1].strip() and _TELLS.search(line))
    if page.in_front(number):
        return bool(line.strip(" -\t"))
    return bool(_TELLS.search(line)) or (page.fence(number) is not None and bool(line.strip()))


def _gone(page: Page, lines: set[int], changed: dict[int, str]) -> list[Gone]:
    """What goes, as it may be shown: runs of lines, and lines that lose words."""
    runs: list[tuple[int, int, bool]] = []  # first and last line, and whether they go whole
    for number in sorted({*lines, *changed}):
        owner = page.owner(number)
        begins = owner is not None and owner.first == number
        if runs and number in lines and runs[-1][1:] == (number - 1, True) and not begins:
            runs[-1] = (runs[-1][0], number, True)
        else:
            runs.append((number, number, number in lines))
    every = (Gone(a, b, page.written(a, b), page.shown(a, b), is_whole) for a, b, is_whole in runs)
    return [gone for gone in every if gone.text.strip()]
