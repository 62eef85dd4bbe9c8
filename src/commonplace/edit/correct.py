"""A statement that is wrong struck wherever the notes say it, and the right one put beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from commonplace.base import paths
from commonplace.base.errors import ConfigError
from commonplace.changes import diffs, transaction
from commonplace.config.settings import Settings
from commonplace.edit import resolve
from commonplace.edit.corpus import Corpus
from commonplace.edit.drafts import Draft
from commonplace.edit.resolve import Match, StatementNotFound, Words
from commonplace.language import similarity
from commonplace.markdown import comments, metadata, references, statements
from commonplace.markdown.document import Document
from commonplace.notes import layout
from commonplace.types.changes import About, Change, Corrected, Provenance
from commonplace.types.notes import Cited, Statement

MOST_SIMILAR = 10
_NOT_STANDING = ("tentative", "superseded")

# What the index finds near a text: in collections and transcripts, or, if that is true, in any note.
Ask = Callable[[str, bool], Sequence[Cited]]


class Correction(NamedTuple):
    """What is to be corrected: by whom, when and why; `new` as it was given, empty to strike alone."""

    old: str
    new: str
    now: datetime
    why: str = ""
    provenance: Provenance | None = None


class _Composed(NamedTuple):
    """What a correction comes to, and the statement that it is named after."""

    changes: Sequence[Change]
    found: Corrected
    first: str


def correct(
    workspace: paths.Workspace,
    settings: Settings,
    wanted: Correction,
    *,
    redact: bool = True,
    ask: Ask = lambda text, own: (),
    dry_run: bool = False,
    preview: Corrected | None = None,
) -> Corrected:
    """Strike what a text names wherever the workspace's notes say it, and write the new statement beside it.

    `ask` finds what else says nearly the same. Raises StatementNotFound with near misses, ConfigError for a
    new statement that is none, NoteUnreadable, PreviewOutdated where a `preview` showed something else, with
    nothing written.
    """
    body, redacted = _fit(wanted, redact)
    elsewhere = tuple(ask(wanted.old, False))
    composed: list[_Composed] = []

    def compose(read: transaction.Read) -> Sequence[Change]:
        composed[:] = [_compose(Corpus(workspace, settings, read), wanted, body, elsewhere)]
        return composed[0].changes

    try:
        if dry_run:
            compose(lambda path: transaction.read(workspace, path))
            run = None
        else:
            run = transaction.rewrite(
                workspace, compose, lambda: _about(wanted, composed[0].first), now=wanted.now,
                settings=settings.history, shown=preview.digest if preview else "",
            )  # fmt: skip
    except StatementNotFound as error:
        searched = error.near or error.reason != resolve.NOWHERE
        near = error.near if searched else ask(wanted.old, True)
        raise StatementNotFound(wanted.old, error.reason, near) from None
    found = composed[0].found
    return Corrected(
        run.id if run else "",
        found.struck,
        found.written,
        found.similar,
        redacted,
        found.warnings,
        diffs.of_changes(composed[0].changes),
        found.said,
        diffs.digest(composed[0].changes),
    )


def _fit(wanted: Correction, redact: bool) -> tuple[str, tuple[str, ...]]:
    """The new statement as it may be written, and what was redacted from it."""
    provenance = wanted.provenance
    if provenance is not None and provenance.by in layout.FOREIGN:
        raise ConfigError(
            "provenance", f"what is {provenance.by} corrects nothing; the owner or an agent does"
        )
    body, kinds = layout.own_words(wanted.new, provenance, redact)
    body = body.strip()
    if wanted.new.strip() and not body:
        raise ConfigError("new", "nothing to write: the text is empty (private parts are never kept)")
    if body and not _states(body):
        raise ConfigError("new", "states nothing: it needs words that are shown and not struck")
    return body, kinds


def _states(body: str) -> bool:
    """Whether a text, as an entry, says something that stands."""
    stated = Document.of(f"- {body}\n").statements
    return bool(stated) and not stated[0].struck and bool(Words.of(stated[0].text).said.tokens)


def _about(wanted: Correction, first: str) -> About:
    given = wanted.provenance
    by, agent, session = (given.by, given.agent, given.session) if given else ("owner", "", "")
    return About("correct", f"correct {first}", wanted.why, by, agent, session)


def _compose(corpus: Corpus, wanted: Correction, body: str, elsewhere: Sequence[Cited]) -> _Composed:
    """Find what is wrong and compose the notes without it."""
    given = wanted.provenance
    new = Words.of(body) if body else None
    matches = resolve.find(corpus, wanted.old, owner=given is None or given.by == "owner", but=new)
    draft = Draft(corpus)
    anchor = _anchor(matches)
    day = f"{wanted.now:%Y-%m-%d}"
    standing = _standing(corpus, new, matches) if new else None
    if standing:
        written = draft.citation(standing)
    else:
        written = draft.insert(anchor.statement, _entry(anchor.statement, body, day, wanted)) if body else ""
    for match in matches:
        draft.strike(
            match,
            until=day,
            by=given.by if given else "owner",
            agent=given.agent if given else "",
            to="" if match is anchor and not standing else written,
        )
    changes = draft.changes()
    old = Words.of(matches[0].text)
    found = Corrected(
        "",
        tuple(draft.citation(match.statement) for match in matches),
        written,
        (*_similar(corpus, draft, matches, old, standing), *elsewhere)[:MOST_SIMILAR],
        warnings=tuple(corpus.unreadable),
        said=tuple(resolve.shortened(match.statement.text) for match in matches),
    )
    return _Composed(changes, found, anchor.statement.citation)


def _anchor(matches: Sequence[Match]) -> Match:
    """The match that the new statement goes beside: in MEMORY.md, or in the newest note."""
    long_term = [m for m in matches if metadata.kind_of(m.statement.path) == "long-term"]
    return long_term[0] if long_term else max(matches, key=_age)


def _age(match: Match) -> tuple[str, str, int]:
    path = match.statement.path
    return metadata.date_of(path) or "", path, match.statement.first


def _standing(corpus: Corpus, new: Words, matches: Sequence[Match]) -> Statement | None:
    """A statement that says the new one already, word for word, of the same thing.

    What MEMORY.md said wrongly it is to say rightly, whatever a daily note says.
    """
    curated = metadata.kind_of(_anchor(matches).statement.path) == "long-term"
    for found in resolve.saying(corpus, new):
        statement = found.statement
        free = not any(
            m.statement.path == statement.path and m.statement.first <= statement.first <= m.statement.end
            for m in matches
        )
        plain = statement.said.get("status") not in _NOT_STANDING and "superseded-by" not in statement.said
        verbatim = not found.part and resolve.is_verbatim(statement, new)
        kept = metadata.kind_of(statement.path) == "long-term" or not curated
        if kept and free and plain and verbatim and resolve.agree(found, matches[0]):
            return statement
    return None


def _entry(anchor: Statement, body: str, day: str, wanted: Correction) -> str:
    """The lines of the new statement; an agent's says whose it is."""
    if resolve.is_verbatim(anchor, Words.of(body)):
        raise ConfigError("new", "says the same as the old one")
    entry = "\n".join(statements.beside(anchor, body, since=day))
    if wanted.provenance is None or wanted.provenance.by == "owner":
        return entry
    return layout.marked(entry, layout.dated(wanted.provenance, wanted.now))


def _similar(
    corpus: Corpus, draft: Draft, matches: Sequence[Match], old: Words, standing: Statement | None
) -> list[Cited]:
    """What says nearly the same and still stands, and what was generated from a statement that is struck."""
    gone = {(m.statement.path, m.statement.first) for m in matches}
    words = similarity.weights(old.text)
    found: dict[str, Cited] = {}
    curated = corpus.curated()
    looked_at = {statement.path for statement in curated}
    others = [statement for statement in corpus.like(old.text) if statement.path not in looked_at]
    for statement in (*curated, *others):
        if statement.struck or statement == standing or (statement.path, statement.first) in gone:
            continue
        near = similarity.may_share(words, statement.text) and (
            similarity.share(old.text, statement.text) >= similarity.NEAR
        )
        if near or _rests_on(statement, gone):
            citation = draft.citation(statement)
            found[citation] = Cited(citation, resolve.shortened(statement.text))
    return list(found.values())


def _rests_on(statement: Statement, gone: set[tuple[str, int]]) -> bool:
    if "from" not in statement.said:
        return False
    for source in comments.sources(statement.said):
        wanted = references.parse_reference(source)
        lines = range(wanted.first, (wanted.last or wanted.first) + 1)
        if any((wanted.path, line) in gone for line in lines):
            return True
    return False
