"""A tentative statement confirmed: what marks it goes, and it holds. Or rejected: it is struck."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from commonplace.base import paths
from commonplace.changes import diffs, transaction
from commonplace.config.settings import Settings
from commonplace.edit import resolve
from commonplace.edit.corpus import Corpus
from commonplace.edit.drafts import Draft
from commonplace.edit.resolve import Match, StatementNotFound
from commonplace.markdown import struck
from commonplace.markdown.document import Document, Edit
from commonplace.types.changes import About, Change, Confirmed
from commonplace.types.notes import Statement

_COMMENT = re.compile(r"(?<![ \t])[ \t]*+<!--\s*+(?:status\s*+:\s*+)?tentative\s*+-->", re.IGNORECASE)
_PREFIX = re.compile(
    r"(?:\*\*|__)?(?:tentative|暂定|待证)(?:\*\*|__)?\s?[:：](?:\*\*|__)?[ \t]*", re.IGNORECASE
)


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
    NoteUnreadable, PreviewOutdated where a `preview` showed something else, with nothing written.
    """
    now = now or datetime.now().astimezone()
    done: list[tuple[Draft, list[Match], Sequence[Change]]] = []

    def compose(read: transaction.Read) -> Sequence[Change]:
        draft = Draft(Corpus(workspace, settings, read))
        matches = _tentative(draft.corpus, named, owner=by == "owner")
        for match in matches:
            if reject:
                draft.strike(match, until=f"{now:%Y-%m-%d}", by=by, agent=agent)
            else:
                _confirm(draft, match.statement)
        done[:] = [(draft, matches, draft.changes())]
        return done[0][2]

    def about() -> About:
        title = f"{'reject' if reject else 'confirm'} {done[0][1][0].statement.citation}"
        return About("confirm", title, why, by, agent, session)

    if dry_run:
        compose(lambda path: transaction.read(workspace, path))
        run = None
    else:
        run = transaction.rewrite(
            workspace, compose, about, now=now, settings=settings.history,
            shown=preview.digest if preview else "",
        )  # fmt: skip
    draft, matches, changes = done[0]
    places = tuple(draft.citation(match.statement) for match in matches)
    said = tuple(resolve.shortened(match.statement.text) for match in matches)
    shown, digest = diffs.of_changes(changes), diffs.digest(changes)
    return Confirmed(run.id if run else "", places, reject, shown, said, digest)


def is_tentative(statement: Statement) -> bool:
    """Whether a statement says of itself that it is a guess, or its note does."""
    return statement.said.get("status") == "tentative" or _prefixed(statement.text) is not None


def _tentative(corpus: Corpus, named: str, *, owner: bool) -> list[Match]:
    """The tentative ones of the statements that a text names, with its prefix or without."""
    try:
        found = resolve.find(corpus, named, owner=owner)
    except StatementNotFound:
        found = _prefixed_as(corpus, named)
        if not found:
            raise
    kept = [match for match in found if is_tentative(match.statement) and not match.part]
    if not kept:
        raise StatementNotFound(named, "is not tentative: it holds already", resolve.cited(found))
    return kept


def _prefixed_as(corpus: Corpus, named: str) -> list[Match]:
    """The statements that say a text behind a prefix of theirs."""
    words = resolve.Words.of(named)
    found = []
    for statement in corpus.like(named):
        prefix = _prefixed(statement.text)
        if prefix and not statement.struck and resolve.Words.of(prefix).said.tokens == words.said.tokens:
            found.append(Match(statement))
    return found


def _prefixed(text: str) -> str | None:
    """What a text says behind the prefix of a guess; None for one without."""
    start = struck.lead(text, turn=False)
    found = _PREFIX.match(text, start)
    return text[found.end() :] if found else None


def _confirm(draft: Draft, statement: Statement) -> None:
    """Take away what marks a statement; refuse where a heading or the front matter does."""

    def unmark(document: Document) -> Edit:
        return document.unmark(statement, _COMMENT, _PREFIX)

    document = draft.corpus.document(statement.path).checked()
    if unmark(document).document.lines == document.lines:
        why = "is tentative as its heading or its note says so; change it there"
        raise StatementNotFound(statement.citation, why)
    draft.shorten(statement, unmark)
