"""Corrections: a wrong statement is struck in all notes, and the right one follows it.

A tentative statement is confirmed in the same way: what marks it as a guess goes, and it holds; or it is
rejected, and struck. All changes are composed first, references follow the lines that move, and every note is
read back before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from datetime import datetime
from itertools import chain

from commonplace.base import paths
from commonplace.base.errors import ConfigError, NoteUnreadable
from commonplace.base.messages import message
from commonplace.base.tuples import NamedTuple
from commonplace.changes import diffs, transaction
from commonplace.config.settings import Settings
from commonplace.edit import resolve
from commonplace.edit.resolve import Corpus, Match, StatementNotFound, Words
from commonplace.language import similarity
from commonplace.markdown import comments, metadata, references, statements, struck, structure
from commonplace.markdown.document import Document, Edit, Strike
from commonplace.notes import layout
from commonplace.types import cite, progress
from commonplace.types.changes import About, Change, Confirmed, Corrected, Provenance
from commonplace.types.notes import Cited, Statement

MOST_SIMILAR = 10

# A search near a text: in collections and transcripts, or, if True, in any note.
Ask = Callable[[str, bool], Sequence[Cited]]


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
    anchor: str

    def compose(read: transaction.Read) -> Sequence[Change]:
        nonlocal draft, corrected, anchor
        draft = Draft(Corpus(workspace, settings, read))
        corrected, anchor = _compose(draft, request, by, body, elsewhere)
        progress.check()
        return draft.changes

    try:
        run = transaction.rewrite(
            workspace, compose,
            lambda: About("correct", f"correct {anchor}", request.why, by.by, by.agent, by.session),
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
) -> tuple[Corrected, str]:
    """Compose the notes without what is wrong; return what that comes to, and the place it is named after."""
    corpus, day = draft.corpus, f"{request.now:%Y-%m-%d}"
    new = Words.of(body) if body else None
    matches = resolve.find(corpus, request.old, owner=by.by == "owner", but=new)
    anchor = _anchor(matches)
    there, beside, written = None, None, ""
    if new and (there := _standing(corpus, new, matches, anchor)):
        written = draft.citation(there)
    elif new:
        if resolve.is_verbatim(anchor.statement, new):
            raise ConfigError("new", message("statement.same", "says the same as the old one"))
        beside, entry = anchor, "\n".join(statements.beside(anchor.statement, body, since=day))
        author = None if by.by == "owner" else layout.dated(by, request.now)  # an agent's says whose it is
        takes_name = not (anchor.part or structure.unnamed(body)[1])  # which links give the block
        written = draft.insert(anchor.statement, layout.marked(entry, author), takes_name=takes_name)
    for match in matches:
        to = "" if match is beside else written
        draft.strike(Strike(match.statement, day, by.by, by.agent, to, match.part))
    draft.compose()
    corrected = Corrected(
        "",
        tuple(draft.citation(match.statement) for match in matches),
        written,
        (*_similar(draft, matches, there), *elsewhere)[:MOST_SIMILAR],
        warnings=tuple(corpus.unreadable),
        said=tuple(resolve.shortened(match.statement.text) for match in matches),
    )
    return corrected, anchor.statement.citation


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
    seen: set[tuple[str, int]] = set(gone)
    similar: list[Cited] = []
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
    for source in map(references.parse_reference, sources):
        # A reference may claim any number of lines, of which few are gone.
        if any(path == source.path and source.first <= line <= source.end for path, line in gone):
            return True
    return False


# --- a guess confirmed or rejected ----------------------------------------------------------------------


def confirm(
    workspace: paths.Workspace,
    settings: Settings,
    named: str,
    *,
    reject: bool = False,
    why: str = "",
    now: datetime | None = None,
    by: str = "owner",
    agent: str = "",
    session: str = "",
    dry_run: bool = False,
    preview: Confirmed | None = None,
) -> Confirmed:
    """Take the marks of a guess away from the statement that a text names, wherever it says the same.

    With `reject` it is struck instead. Raises StatementNotFound, also for one that is not tentative, and
    NoteUnreadable, PreviewOutdated where a `preview` showed something else, before any write.
    """
    now = now or datetime.now().astimezone()
    draft: Draft
    guesses: list[Statement]

    def compose(read: transaction.Read) -> Sequence[Change]:
        nonlocal draft, guesses
        draft = Draft(Corpus(workspace, settings, read))
        guesses = _tentative(draft.corpus, named, owner=by == "owner")
        for guess in guesses:
            if reject:
                draft.strike(Strike(guess, f"{now:%Y-%m-%d}", by, agent))
            else:
                draft.unmark(guess)
        return draft.compose()

    def about() -> About:
        title = f"{'reject' if reject else 'confirm'} {guesses[0].citation}"
        return About("confirm", title, why, by, agent, session)

    run = transaction.rewrite(
        workspace, compose, about, now=now, settings=settings.history,
        shown=preview.digest if preview else "", dry_run=dry_run,
    )  # fmt: skip
    places = tuple(map(draft.citation, guesses))
    texts = tuple(resolve.shortened(guess.text) for guess in guesses)
    diff, digest = diffs.of_changes(draft.changes), diffs.digest(draft.changes)
    return Confirmed(run.id if run else "", places, reject, diff, texts, digest)


def _tentative(corpus: Corpus, named: str, *, owner: bool) -> list[Statement]:
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


def _guessed(corpus: Corpus, named: str) -> Iterator[Match]:
    """The statements that say some words behind the prefix of a guess."""
    tokens = Words.of(named).said.tokens
    for statement in corpus.like(named):
        guess = None if statement.struck else _guess(statement.text)
        if guess and Words.of(guess).said.tokens == tokens:
            yield Match(statement)


def _guess(text: str) -> str | None:
    """Return the text behind the prefix of a guess; None without a prefix."""
    prefix = comments.guess_prefix().match(text, struck.lead(text, turn=False))
    return text[prefix.end() :] if prefix else None


# --- the notes as they are to be ------------------------------------------------------------------------


class Draft:
    """Changes of notes that are being composed; line numbers given to it are those of the files as read."""

    def __init__(self, corpus: Corpus) -> None:
        """Begin with the notes as they stand."""
        self.corpus = corpus
        self.changes: list[Change] = []
        self._strikes: dict[str, list[Strike]] = {}
        self._unmarked: dict[str, list[Statement]] = {}
        self._inserted: dict[str, tuple[Statement, str, Edit]] = {}
        self._renamed: set[str] = set()  # notes in which the new entry takes the name of the old one

    def strike(self, strike: Strike) -> None:
        """Strike a statement, or the part of it that is meant."""
        self._strikes.setdefault(strike.statement.path, []).append(strike)

    def unmark(self, statement: Statement) -> None:
        """Take what marks a guess off a statement. Raises StatementNotFound where its heading marks it."""
        document = self.corpus.document(statement.path).checked()
        if document.unmark(statement).document.lines == document.lines:
            heading = "is tentative as its heading or its note says so; change it there"
            why = message("statement.heading", heading)
            raise StatementNotFound(statement.citation, why)
        self._unmarked.setdefault(statement.path, []).append(statement)

    def insert(self, statement: Statement, entry: str, *, takes_name: bool) -> str:
        """Put a new entry behind a statement that is struck, once in a note; return where it will stand."""
        document = self.corpus.document(statement.path).checked()
        names = [structure.unnamed(line)[1] for line in document.bare[statement.first - 1 : statement.last]]
        if takes_name and any(names):
            entry = statements.commented(entry, "".join(names))
            self._renamed.add(statement.path)
        edit = document.insert_after(statement, entry)
        self._inserted[statement.path] = statement, entry, edit
        return cite(statement.path, *edit.lines)

    def citation(self, statement: Statement) -> str:
        """Return where a statement will stand, as hits cite it."""
        lines = (self._moved(statement.path, line) for line in (statement.first, statement.last))
        return cite(statement.path, *lines)

    def _moved(self, path: str, line: int) -> int:
        return self._inserted[path][2].moved(line) or line if path in self._inserted else line

    def compose(self) -> list[Change]:
        """Compose the changes, those of references in other notes included, and return them.

        Raises NoteUnreadable where a note would not read back as it is meant.
        """
        maps = {path: edit.follower(path) for path, (_, _, edit) in self._inserted.items()}
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
        """A note with its strikes, without marks of guesses, and with the new entry."""
        if path in self._renamed:
            own = range(self._inserted[path][0].first, self._inserted[path][0].last + 1)
            document = document.change({n: structure.unnamed(document.bare[n - 1])[0] for n in own})
        document = document.strike_all(self._strikes.get(path, ())).document
        for guess in self._unmarked.get(path, ()):
            document = document.unmark(guess).document
        if path in self._inserted:
            statement, entry, _ = self._inserted[path]
            document = document.insert_after(statement, entry).document
        return document

    def _may_refer(self, data: bytes) -> bool:
        """Tell whether a note may hold a reference into one whose lines move; bytes of UTF-16 do not tell."""
        wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        named = b"<!--" in data and any(path.rpartition("/")[2].encode() in data for path in self._inserted)
        return bool(self._inserted) and (wide or named or (b"<!--" in data and b"%" in data))

    def _check(self, path: str, document: Document) -> None:
        """Make sure that a note reads back as before, but for what is struck in it and put in."""
        after = {statement.first: statement for statement in document.statements}
        if path in self._inserted and (line := self._inserted[path][2].lines[0]) not in after:
            other = "the new statement would be read there as something else; change it by hand"
            reason = message("statement.misread", other)
            raise NoteUnreadable(f"{path}#L{line}", reason)
        shorter = {statement.first for statement in self._unmarked.get(path, ())}
        strikes = {strike.statement.first: strike for strike in self._strikes.get(path, ())}
        for statement in self.corpus.statements(path):
            strike, line = strikes.get(statement.first), self._moved(path, statement.first)
            now = after.get(line)
            is_cut = statement.first in shorter
            if now is None or not _is_meant(statement, now, strike, is_cut=is_cut):
                reason = message("statement.stuck", "cannot be changed as it stands; change it by hand")
                raise NoteUnreadable(f"{path}#L{line}", reason)


def _is_meant(before: Statement, after: Statement, strike: Strike | None, *, is_cut: bool) -> bool:
    """Tell whether a statement says what it did: cut by one stretch, struck, or unchanged."""
    if is_cut:
        pairs = enumerate(zip(before.text, after.text, strict=False))
        same = next((n for n, (was, now) in pairs if was != now), len(after.text))
        return len(after.text) <= len(before.text) and before.text.endswith(after.text[same:])
    if strike is None:
        return before.text == after.text and before.struck == after.struck
    plain = [struck.STRUCK.sub(lambda match: struck.unescaped(match[1]), s.text) for s in (before, after)]
    return (bool(strike.only) or after.struck) and plain[0] == plain[1]
