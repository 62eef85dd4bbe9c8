"""Corrections: a wrong statement is struck in all notes, and the right one follows it.

A tentative statement is confirmed in the same way: what marks it as a guess goes, and it holds; or it is
rejected, and struck. All changes are composed first, references follow the lines that move, and every note is
read back before anything is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import chain

from commonplace.base import paths
from commonplace.base.errors import ConfigError, NoteUnreadable
from commonplace.base.messages import message
from commonplace.base.tuples import NamedTuple
from commonplace.config.settings import Settings
from commonplace.edit import resolve
from commonplace.edit.resolve import Corpus, Match, StatementNotFound, Words
from commonplace.language import similarity
from commonplace.markdown import comments, metadata, references, statements, struck, structure
from commonplace.markdown.document import Document, Edit, Strike
from commonplace.notes import layout
from commonplace.storage import diffs, transaction
from commonplace.types import (
    About,
    Change,
    Cited,
    Confirmed,
    Corrected,
    Provenance,
    Statement,
    cite,
    progress,
)

MOST_SIMILAR = 10
_STUCK = "cannot be changed as it stands; change it by hand"
_TILDES = re.compile(r"[\\~]")

# A search near a text: in collections and transcripts, or, if True, in any note.
Ask = Callable[[str, bool], Sequence[Cited]]
Pick = Callable[[Corpus], list[Statement]]  # the statements to be confirmed


class Correction(NamedTuple):
    """A correction with its author, time and reason; an empty `new` only strikes."""

    old: str
    new: str
    now: datetime
    why: str = ""
    provenance: Provenance | None = None


def correct(
    workspace: paths.Workspace,
    settings: Settings,
    request: Correction,
    *,
    redact: bool = True,
    ask: Ask = lambda text, own: (),
    dry_run: bool = False,
    preview: Corrected | None = None,
) -> Corrected:
    """Strike the named statement in all notes of the workspace, and write the new one after it.

    `ask` finds what else says nearly the same. Raises StatementNotFound with near misses, ConfigError for a
    new statement without words, NoteUnreadable, PreviewOutdated where a `preview` showed something else.
    All are raised before any write.
    """
    by = request.provenance or Provenance("owner")
    body, redacted = _new_words(request, redact)
    elsewhere = ask(request.old, False)
    draft: Draft
    corrected: Corrected

    def compose(read: transaction.Read) -> Sequence[Change]:
        nonlocal draft, corrected
        draft = Draft(Corpus(workspace, settings, read))
        corrected = _compose(draft, request, by, body, elsewhere)
        progress.check()
        return draft.changes

    try:
        run = transaction.rewrite(
            workspace, compose,
            lambda: About("correct", f"correct {draft.anchor}", request.why, by.by, by.agent, by.session),
            now=request.now, settings=settings.history, shown=preview.digest if preview else "",
            dry_run=dry_run,
        )  # fmt: skip
    except StatementNotFound as error:
        near = error.near
        if elsewhere and error.reason == resolve.NOWHERE:
            raise resolve.foreign(draft.corpus, request.old, elsewhere[0].citation, near) from None
        if not near and error.reason == resolve.NOWHERE and (passages := ask(request.old, True)):
            near = tuple(resolve.near(draft.corpus, request.old, passages))
        raise StatementNotFound(request.old, error.reason, near) from None
    diff, digest = diffs.of_changes(draft.changes), diffs.digest(draft.changes)
    return replace(corrected, run=run.id if run else "", redacted=redacted, diff=diff, digest=digest)


def _new_words(request: Correction, redact: bool) -> tuple[str, tuple[str, ...]]:
    """The new statement as it may be written, and what was redacted from it. Raises ConfigError."""
    by = request.provenance
    if by is not None and by.by in layout.FOREIGN:
        raise ConfigError("provenance", f"what is {by.by} corrects nothing; the owner or an agent does")
    layout.check_closed(request.new, "new")
    body, kinds = layout.own_words(request.new, by, redact)
    body = body.strip()
    if request.new.strip() and not body:
        raise ConfigError("new", layout.NOTHING)
    stated = Document.of(f"- {body}\n").statements if body else ()
    if body and not (stated and not stated[0].struck and Words.of(stated[0].text).said.tokens):
        nothing = "states nothing: it needs words that are shown and not struck"
        raise ConfigError("new", message("statement.empty", nothing))
    return body, kinds


def _compose(
    draft: Draft, request: Correction, by: Provenance, body: str, elsewhere: Sequence[Cited]
) -> Corrected:
    """Compose the notes without what is wrong; return what that comes to."""
    corpus, day = draft.corpus, f"{request.now:%Y-%m-%d}"
    new = Words.of(body) if body else None
    matches = resolve.find(corpus, request.old, owner=by.by == "owner", but=new)
    anchor = _anchor(matches)
    there = _standing(corpus, new, matches, anchor) if new else None
    if new and not there and resolve.is_verbatim(anchor.statement, new):
        raise ConfigError("new", message("statement.same", "says the same as the old one"))
    beside = anchor if new and not there else None
    author = None if by.by == "owner" else layout.dated(by, request.now)  # an agent's says whose it is
    for match in matches:
        if match.part or match is beside:
            draft.restate(match, body if match is beside else "", day, author)
    written = draft.citation(there) if there else draft.written(anchor.statement) if beside else ""
    for match in matches:
        draft.strike(Strike(match.statement, day, by.by, by.agent, "" if match is beside else written))
    draft.compose()
    draft.anchor = anchor.statement.citation
    return Corrected(
        "",
        tuple(draft.citation(match.statement) for match in matches),
        written,
        (*_similar(draft, matches, there), *elsewhere)[:MOST_SIMILAR],
        warnings=tuple(corpus.unreadable),
        said=tuple(resolve.shortened(match.statement.text) for match in matches),
    )


def _anchor(matches: Sequence[Match]) -> Match:
    """Return the match that the new statement follows: in MEMORY.md, or else in the newest note."""

    def age(match: Match) -> tuple[str, str, int]:
        path = match.statement.path
        return metadata.date_of(path) or "", path, match.statement.first

    curated = (match for match in matches if metadata.is_curated(match.statement.path))
    return next(curated, None) or max(matches, key=age)


def _standing(corpus: Corpus, new: Words, matches: Sequence[Match], anchor: Match) -> Statement | None:
    """A statement that says the new one already, word for word, of the same thing.

    A wrong statement of MEMORY.md is replaced there, even if a daily note has the right one.
    """
    gone = {(match.statement.path, match.statement.first) for match in matches}
    for match in resolve.saying(corpus, new):
        statement = match.statement
        in_place = metadata.is_curated(statement.path) or not metadata.is_curated(anchor.statement.path)
        holds = statement.said.keys().isdisjoint(("status", "superseded-by"))
        stays = holds and (statement.path, statement.first) not in gone
        is_it = not match.part and resolve.is_verbatim(statement, new) and resolve.agree(match, matches[0])
        if in_place and stays and is_it:
            return statement
    return None


def _similar(draft: Draft, matches: Sequence[Match], there: Statement | None) -> list[Cited]:
    """Return similar statements that still hold, and those generated from a struck one."""
    gone = {(match.statement.path, match.statement.first) for match in matches}
    old = Words.of(matches[0].text).text
    words = similarity.weights(old)
    seen, similar = set(gone), list[Cited]()
    for statement in chain(draft.corpus.curated(), draft.corpus.like(old)):
        place = statement.path, statement.first
        if place in seen or statement.struck or statement == there:
            continue
        seen.add(place)
        near = similarity.may_share(words, statement.text)
        near = near and similarity.share(old, statement.text) >= similarity.NEAR
        if near or _rests_on(statement, gone):
            similar.append(Cited(draft.citation(statement), resolve.shortened(statement.text)))
        if len(similar) == MOST_SIMILAR:
            break
    return similar


def _rests_on(statement: Statement, gone: Set[tuple[str, int]]) -> bool:
    sources = comments.sources(statement.said) if "from" in statement.said else ()
    claimed = list(map(references.parse_reference, sources))  # any number of lines, of which few are gone
    return any(one.path == path and one.first <= line <= one.end for one in claimed for path, line in gone)


# --- a guess confirmed or rejected ----------------------------------------------------------------------


def confirm(
    workspace: paths.Workspace,
    settings: Settings,
    pick: Pick,
    *,
    reject: bool = False,
    why: str = "",
    now: datetime | None = None,
    provenance: Provenance | None = None,
    dry_run: bool = False,
    preview: Confirmed | None = None,
) -> Confirmed:
    """Take the marks of a guess away from the picked statements; with `reject` strike them.

    Raises StatementNotFound where headings mark them, NoteUnreadable, PreviewOutdated for another preview,
    before any write.
    """
    now, by = now or datetime.now().astimezone(), provenance or Provenance("owner")
    draft: Draft
    guesses: list[Statement]

    def compose(read: transaction.Read) -> Sequence[Change]:
        nonlocal draft, guesses
        draft = Draft(Corpus(workspace, settings, read))
        guesses = pick(draft.corpus)
        for guess in guesses:
            if reject:
                draft.strike(Strike(guess, f"{now:%Y-%m-%d}", by.by, by.agent))
            else:
                draft.unmark(guess)
        return draft.compose()

    def about() -> About:
        title = f"{'reject' if reject else 'confirm'} {guesses[0].citation}"
        return About("confirm", title, why, by.by, by.agent, by.session)

    run = transaction.rewrite(
        workspace, compose, about, now=now, settings=settings.history,
        shown=preview.digest if preview else "", dry_run=dry_run,
    )  # fmt: skip
    places = tuple(map(draft.citation, guesses))
    texts = tuple(resolve.shortened(guess.text) for guess in guesses)
    diff, digest = diffs.of_changes(draft.changes), diffs.digest(draft.changes)
    return Confirmed(run.id if run else "", places, reject, diff, texts, digest)


def tentative(corpus: Corpus, named: str, *, owner: bool) -> list[Statement]:
    """The tentative ones of the statements that a text names, with the prefix of a guess or without."""
    try:
        matches = resolve.find(corpus, named, owner=owner)
    except StatementNotFound:
        matches = list(_guessed(corpus, named))
        if not matches:
            raise
    whole = [match.statement for match in matches if not match.part]
    guesses = [s for s in whole if s.said.get("status") == "tentative" or _guess(s.text) is not None]
    if not guesses:
        reason = message("statement.holds", "is not tentative: it holds already")
        raise StatementNotFound(named, reason, resolve.cited(matches))
    return guesses


def is_marked(corpus: Corpus, statement: Statement) -> bool:
    """Tell whether a statement itself is marked as a guess, not what it stands in."""
    document = corpus.document(statement.path).checked()
    return document.unmark(statement).document.lines != document.lines


def _guessed(corpus: Corpus, named: str) -> Iterator[Match]:
    """The statements that say some words behind the prefix of a guess."""
    tokens = Words.of(named).said.tokens
    for statement in corpus.like(named):
        guess = None if statement.struck else _guess(statement.text)
        if guess and Words.of(guess).said.tokens == tokens:
            yield Match(statement)


def _guess(text: str) -> str | None:
    """Return the text behind the prefix of a guess; None without a prefix."""
    prefix = comments.GUESS_PREFIX.match(text, struck.lead(text, turn=False))
    return text[prefix.end() :] if prefix else None


# --- the notes as they are to be ------------------------------------------------------------------------


class _Insert(NamedTuple):
    """A new entry behind a statement as an edit of the old note; it may take the name of its block."""

    statement: Statement
    entry: str
    takes_name: bool
    edit: Edit


class Draft:
    """Changes of notes that are being composed; line numbers given to it are those of the files as read."""

    def __init__(self, corpus: Corpus) -> None:
        """Begin with the notes as they stand."""
        self.corpus, self.anchor = corpus, ""  # the place that the change is named after
        self.changes: list[Change] = []
        self._strikes: dict[str, list[Strike]] = {}
        self._unmarked: dict[str, list[Statement]] = {}
        self._inserted: dict[str, list[_Insert]] = {}

    def strike(self, strike: Strike) -> None:
        """Strike a statement."""
        self._strikes.setdefault(strike.statement.path, []).append(strike)

    def unmark(self, statement: Statement) -> None:
        """Take what marks a guess off a statement. Raises StatementNotFound where its heading marks it."""
        if not is_marked(self.corpus, statement):
            heading = "is tentative as its heading or its note says so; change it there"
            raise StatementNotFound(statement.citation, message("statement.heading", heading))
        self._unmarked.setdefault(statement.path, []).append(statement)

    def restate(self, match: Match, new: str, day: str, author: Provenance | None) -> None:
        """Put an entry behind a statement that is struck: `new`, with the sentences that still hold.

        These keep the comments of the statement. Raises NoteUnreadable where a secret stands in them.
        """
        statement, document = match.statement, self.corpus.document(match.statement.path).checked()
        raw = document.bare[statement.first - 1 : statement.last]
        since, entry = day if new else "", []
        if match.part:
            stated = (
                one for one in document.stated if one.first == statement.first and match.part in one.text
            )
            if (whole := next(stated, None)) is None:
                raise NoteUnreadable(statement.citation, message("statement.stuck", _STUCK))
            entry = statements.restated(whole, raw, match.part, new, since=since)
        text = "\n".join(entry or statements.entry_like(statement, new, since=since))
        names = [] if structure.unnamed(new)[1] else [structure.unnamed(line)[1] for line in raw]
        text = statements.commented(text, "".join(names)) if any(names) else text
        if new and not (entry and "by" in statement.said):
            text = layout.marked(text, author)
        insert = _Insert(statement, text, any(names), document.insert_after(statement, text))
        self._inserted.setdefault(statement.path, []).append(insert)

    def written(self, statement: Statement) -> str:
        """Return where the new entry behind a statement will stand."""
        insert = next(one for one in self._inserted[statement.path] if one.statement == statement)
        shift = self._moved(statement.path, statement.last) - statement.last
        return cite(statement.path, *(line + shift for line in insert.edit.lines))

    def citation(self, statement: Statement) -> str:
        """Return where a statement will stand, as hits cite it."""
        return self._citation(statement.path, statement.first, statement.last)

    def _citation(self, path: str, first: int, last: int = 0) -> str:
        return cite(path, self._moved(path, first), self._moved(path, last or first))

    def _moved(self, path: str, line: int) -> int:
        """Return where a line will stand below the new entries above it."""
        return line + sum((one.edit.moved(line) or line) - line for one in self._inserted.get(path, ()))

    def compose(self) -> list[Change]:
        """Compose the changes, those of references in other notes included, and return them.

        Raises NoteUnreadable where a note would not read back as it is meant.
        """
        maps = {path: partial(self._citation, path) for path in self._inserted}
        edited = self._strikes.keys() | self._unmarked.keys()
        for path in self.corpus.paths:
            is_touched = path in edited or self._may_refer(self.corpus.glance(path))
            if not is_touched or (data := self.corpus.data(path)) is None:
                continue
            try:
                # The references that the edits write are of the notes to come, so those of before move first.
                document = self.corpus.document(path).checked().follow(maps)
            except NoteUnreadable as error:
                if path in edited:
                    raise
                self.corpus.unreadable.append(str(error))
                continue
            if path in edited:
                document = self._edited(path, document)
                self._check(path, document)
            if document.data != data:
                self.changes.append(Change(path, data, document.data))
        return self.changes

    def _edited(self, path: str, document: Document) -> Document:
        """Return a note with its strikes, without marks of guesses, and with the new entries."""
        for insert in self._inserted.get(path, ()):
            own = range(insert.statement.first, insert.statement.last + 1)
            if insert.takes_name:
                document = document.change({n: structure.unnamed(document.bare[n - 1])[0] for n in own})
        document = document.strike_all(self._strikes.get(path, ())).document
        for guess in self._unmarked.get(path, ()):
            document = document.unmark(guess).document
        for insert in sorted(self._inserted.get(path, ()), key=lambda one: -one.statement.last):
            document = document.insert_after(insert.statement, insert.entry).document
        return document

    def _may_refer(self, data: bytes) -> bool:
        """Tell whether a note may hold a reference into one whose lines move; bytes of UTF-16 do not tell."""
        wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        named = b"<!--" in data and any(path.rpartition("/")[2].encode() in data for path in self._inserted)
        return bool(self._inserted) and (wide or named or (b"<!--" in data and b"%" in data))

    def _check(self, path: str, document: Document) -> None:
        """Make sure that a note reads back as before, but for what is struck in it and put in."""
        after = {statement.first: statement for statement in document.statements}
        added = (
            references.parse_reference(self.written(one.statement)).first
            for one in self._inserted.get(path, ())
        )
        if line := next((line for line in added if line not in after), 0):
            other = "the new statement would be read there as something else; change it by hand"
            raise NoteUnreadable(f"{path}#L{line}", message("statement.misread", other))
        shorter = {statement.first for statement in self._unmarked.get(path, ())}
        struck_lines = {strike.statement.first for strike in self._strikes.get(path, ())}
        for statement in self.corpus.statements(path):
            line = self._moved(path, statement.first)
            now = after.get(line)
            is_cut, is_struck = statement.first in shorter, statement.first in struck_lines
            if now is None or not _is_meant(statement, now, is_struck=is_struck, is_cut=is_cut):
                raise NoteUnreadable(f"{path}#L{line}", message("statement.stuck", _STUCK))


def _is_meant(before: Statement, after: Statement, *, is_struck: bool, is_cut: bool) -> bool:
    """Tell whether a statement says what it did: cut by one stretch, struck, or unchanged."""
    if is_cut:
        pairs = enumerate(zip(before.text, after.text, strict=False))
        same = next((n for n, (was, now) in pairs if was != now), len(after.text))
        return len(after.text) <= len(before.text) and before.text.endswith(after.text[same:])
    if not is_struck:
        return before.text == after.text and before.struck == after.struck
    return after.struck and _TILDES.sub("", before.text) == _TILDES.sub("", after.text)
