"""The façade: one workspace's memory; the command line, servers and agents all come through here."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from commonplace import config, types
from commonplace.base import filetypes, fork, paths, remedies
from commonplace.base.errors import (
    AccessDenied,
    CommonplaceError,
    ConfigError,
    IndexUnavailable,
    NoteNotFound,
    NoteUnreadable,
    OutsideRoots,
    UnknownCollection,
)
from commonplace.base.locks import locked
from commonplace.base.messages import message
from commonplace.base.root import is_hidden
from commonplace.config.providers import EMBEDDERS
from commonplace.index import opening
from commonplace.index.base import DOCID
from commonplace.index.store import Store
from commonplace.markdown import conflicts
from commonplace.notes import scan
from commonplace.providers.embedding.selector import CurrentModel
from commonplace.render import screen
from commonplace.search import references as places
from commonplace.search import union
from commonplace.search.answering import Answerer
from commonplace.search.journal import Journal
from commonplace.search.journal import count_late as count_late
from commonplace.search.query import parse
from commonplace.search.ranking import chosen
from commonplace.search.request import Lab as Lab
from commonplace.search.request import Request, check_time, check_whole
from commonplace.storage import keyvalue, state
from commonplace.types.progress import Progress, silent

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from datetime import date, datetime
    from typing import Any, Self, TypeVar

    from commonplace.config import Reach
    from commonplace.edit.forget.notes import Context
    from commonplace.providers.embedding.base import Embedder

    _Found = TypeVar("_Found")

_LARGEST_PICTURE = 16 << 20  # bytes
_CORRECTS = "corrects nothing, as its entries wait for the owner: remember what is right instead"
_DECIDES = "decides on nothing that waits for review; the owner confirms it"
_TITLE = 60  # cells of an entry in the record of changes
RECALL_CANDIDATES = 60  # hits a recall chooses from; more never fitted a budget of 4,000 tokens


class Memory:
    """The memory of one workspace, a folder of notes; use it from any thread.

    `commonplace.Memory`, which programs import, adds what `upkeep` and `imports` do.
    """

    def __init__(self, path: object = "notes", *_: object, **__: object) -> None:
        """Refuse: `open` makes a memory, and finds its settings."""
        raise TypeError('{0}() opens nothing; use {0}.open("{1}")'.format(type(self).__name__, path))

    def _bind(
        self,
        reach: Reach,
        settings: config.Settings,
        *,
        agent: str = "",
        overrides: Mapping[str, object] | None = None,
        embedder: Embedder | None = None,
        lab: Lab | None = None,
    ) -> Self:
        """Bind to the home of a `reach`; nothing is read or written until needed.

        `agent` is who asks, for the record of use. Questions are put to the other workspaces of the reach as
        well, with the settings of each and these `overrides`.
        """
        self.workspace = paths.Workspace(reach.home, reader=reach.reader)
        if config.files.is_old(self.workspace) and (lab is None or lab.index_path is None):
            from commonplace.storage import taking_over

            taking_over.take(self.workspace)
        self.settings, self.name = settings, reach.name
        self.others = reach.others  # by name; they are asked as well, and never written
        self._opened: dict[str, Memory] = {}  # of the others
        # What is asked from elsewhere is no business of those who read its record of use.
        self._agent, self._overrides = agent, {**(overrides or {}), "usage.record": False}
        lab = lab or Lab()
        self.ranking = chosen(settings.search, lab.ranking)
        self._index_path, self._chunks = lab.index_path, lab.chunks
        self.store = self._make_store()
        folder = lab.index_path.parent if lab.index_path else None
        self._current = CurrentModel(self.workspace, settings.embedding, folder, embedder)
        self._journal = Journal(self.workspace, settings.usage, folder, agent)
        self._lock, self._syncing = fork.renewed(threading.RLock()), fork.renewed(threading.Lock())
        self._answerer = Answerer(
            self.workspace, settings, self.ranking, self.store, self._current, self._lock
        )
        self._answer = self._answer_from_all if self.others else self._answerer.answer
        self._beside: Answerer | None = None  # of an index of its own, for what is not to wait for a search
        self._beside_lock = fork.renewed(threading.RLock())
        self._waits = False  # whether entries of ours wait for notes that another program was writing
        return self

    def _make_store(self) -> Store:
        """An index of its own connection: a sync has one, so that questions need not wait for it."""
        path = self._index_path or self.workspace.index
        lock = path.with_suffix(".lock") if self._index_path else paths.lock_file(self.workspace, "sync")
        return Store(
            os.fspath(path),
            os.fspath(lock),
            sources(self),
            self._chunks,
            self.settings.contexts if self.settings.embedding.contexts else {},
            lambda: None if self._index_path else opening.remote(self.workspace, self.settings.index),
        )

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        overrides: Mapping[str, object] | None = None,
        agent: str | None = None,
        embedder: Embedder | None = None,
        beside: Sequence[str | os.PathLike[str]] = (),
        everything: bool = False,
        lab: Lab | None = None,
    ) -> Self:
        """Open the workspace at `path`, or find one: environment, upward from here, the user's own.

        `overrides` are settings by dotted key, such as `{"search.limit": 5}`; they win over files and
        environment. `agent` names the one whose own settings apply (otherwise COMMONPLACE_AGENT does), and
        whose `reads` and `writes` say which workspaces are asked and which one is written; `embedder`
        replaces the configured model. Questions are put to the workspaces `beside` it as well, or to
        `everything` that is known on this machine. `lab` is for measurements: an index elsewhere, another
        way to cut notes and to rank. Raises WorkspaceNotFound, ConfigError, AccessDenied for an agent that
        may not read one of them, and NoteUnreadable for a folder that this user may not look into.
        """
        if path is None and beside:
            raise ConfigError("beside", "needs a workspace that they are beside; name it")
        folders = [os.fspath(one) for one in (path, *beside) if one is not None]
        reach = config.reach(folders, agent, everything=everything)
        return cls.__new__(cls)._bind(
            reach, config.load(reach.home, os.environ, overrides, agent), overrides=overrides, lab=lab,
            agent=os.environ.get(config.AGENT_VARIABLE, "") if agent is None else agent, embedder=embedder,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"{type(self).__name__}.open({os.fspath(self.workspace.root)!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the index; the object can be used again, it then opens anew."""
        with self._lock:
            with self._beside_lock:
                beside = [] if self._beside is None else [self._beside.store]
            parts: list[Any] = [self.store, *beside, self._answerer, self._current, self._journal]
            for part in (*parts, *self._opened.values()):
                part.close()
            state.close(state.path(self.workspace))

    # --- writing ------------------------------------------------------------------------------------

    def remember(
        self,
        text: str,
        *,
        section: str | None = None,
        heading: str | None = None,
        long_term: bool = False,
        redact: bool | None = None,
        now: datetime | None = None,
        provenance: types.Provenance | None = None,
        tentative: bool = False,
        on: date | str | None = None,
        once: bool = False,
    ) -> types.Written:
        """Append an entry to the note of a day, or to a section of MEMORY.md if `long_term`.

        The day is today, or the one that it is about: `on` as a date or in words (yesterday, 2026-11-03,
        昨天). Secrets are redacted and private parts dropped before anything touches the disk; `provenance`
        (`commonplace.types.Provenance`) says in the note who wrote it, `tentative` that it is a guess, which
        all is that an agent writes where `remember.writes` is review. The
        answer names the nearest statements that stand: which of them no longer hold is for `correct`. With
        `once`, what that note or MEMORY.md says already is not written again. Raises ConfigError for empty
        text and for what is no day, NoteUnreadable if the file cannot be written.
        """
        from datetime import datetime

        from commonplace.notes import layout
        from commonplace.storage.files import Busy

        check_time("now", now, "datetime")
        now = now or datetime.now()
        day, waits = _one_day(on, now.date()), reviewed(self, provenance)
        write = partial(
            layout.remember, self.workspace, text, now=now, section=section, heading=heading,
            long_term=long_term, redact=self.settings.remember.redact if redact is None else redact,
            times=self.settings.remember.times, provenance=provenance, tentative=tentative or waits, on=day,
            record=partial(self._note_entry, provenance, datetime.now().astimezone()),
        )  # fmt: skip
        try:
            about = None if long_term else day or now.date()
            written = self._written_once(text, about, write) if once else write()
        except Busy:
            if redact is False or day not in (None, now.date()):
                raise  # an entry that waits is redacted, and of the day on which it came
            under = (section if long_term else heading) or ""
            return self._queue(types.Entry(text, now, under, provenance, long_term, tentative or waits))
        if long_term and (told := layout.outgrown(self.workspace, self.settings.prompt.long_term)):
            written = replace(written, warnings=(*written.warnings, told))
        self.store.written()
        if waits and written.run:
            known = keyvalue.read(self.workspace, "review") or {"waiting": 0, "since": f"{now:%Y-%m-%d}"}
            keyvalue.write(self.workspace, "review", "", {**known, "waiting": known["waiting"] + 1})
        if tentative or waits:
            return written
        from commonplace.edit import resolve

        is_indexed = bool(self.settings.index.url) or (self._index_path or self.workspace.index).exists()
        answerer = self._answerer if is_indexed else None
        return replace(written, near=resolve.standing(self.workspace, answerer, text, written, now.date()))

    def _queue(self, entry: types.Entry) -> types.Written:
        """Let an entry wait for the next sync, as its note is being written. Raises NoteUnreadable."""
        from commonplace.storage.queue import Queue

        note = self.workspace.memory_file if entry.long_term else self.workspace.daily(entry.at.date())
        path, self._waits = note.relative_to(self.workspace.root).as_posix(), True
        Queue(self.workspace).append(entry)
        told = "{path} is being written by another program; the entry waits, and the next sync writes it"
        return types.Written(path, 0, 0, warnings=(message("remember.waits", told, path=path),))

    def _written_once(self, text: str, day: date | None, write: Callable[[], types.Written]) -> types.Written:
        """Write an entry unless MEMORY.md, or the note of its day if it has one, says it already."""
        from commonplace.edit import resolve

        with locked(paths.lock_file(self.workspace, "once")):
            for note in [*([self.workspace.daily(day)] if day else []), self.workspace.memory_file]:
                path = note.relative_to(self.workspace.root).as_posix()
                if found := resolve.said_already(self.workspace, path, text):
                    return found
            return write()

    def _note_entry(
        self, by: types.Provenance | None, at: datetime, path: str, text: str, sides: tuple[bytes, bytes]
    ) -> str:
        """Record an entry so that `undo` takes it back; return the run."""
        from commonplace.storage import transaction
        from commonplace.types.changes import About, Change

        title = f"remember {screen.shorten(screen.one_line(text), _TITLE)}"
        named = (by.by, by.agent, by.session) if by else ("owner", "", "")
        return transaction.note_entry(
            self.workspace, Change(path, *sides), About("remember", title, "", *named), at
        )

    def correct(
        self,
        old: str,
        new: str,
        *,
        why: str = "",
        now: datetime | None = None,
        provenance: types.Provenance | None = None,
        dry_run: bool = False,
        preview: types.Corrected | None = None,
    ) -> types.Corrected:
        """Strike a statement wherever the workspace's notes say it, and put the right one beside it.

        `old` is a reference, as `get` takes them, or the words of the statement: all of it, or whole
        sentences. Without `new` it is struck alone. `provenance` says who corrects; only the owner (no one
        named) touches what is pinned. With `dry_run` nothing is written, and what is returned may be given as
        `preview`. Raises StatementNotFound, with near misses, ConfigError for a new statement that is none,
        NoteUnreadable, PreviewOutdated where anything but the preview would be written, AccessDenied.
        """
        from datetime import datetime

        from commonplace.edit import correct as correcting

        check_time("now", now, "datetime")
        if reviewed(self, provenance):
            raise AccessDenied(provenance.agent if provenance else "", _CORRECTS)
        self.store.written()
        old = self._written_here(old)
        wanted = correcting.Correction(old, new, now or datetime.now().astimezone(), why, provenance)
        try:
            return correcting.correct(
                self.workspace, self.settings, wanted, redact=self.settings.remember.redact, ask=self._near,
                dry_run=dry_run, preview=preview,
            )  # fmt: skip
        finally:
            self.store.written()  # `ask` has compared the files before they were changed

    def confirm(
        self,
        statement: str | Callable[[Any], list[types.Statement]],
        *,
        reject: bool = False,
        why: str = "",
        now: datetime | None = None,
        provenance: types.Provenance | None = None,
        dry_run: bool = False,
        preview: types.Confirmed | None = None,
    ) -> types.Confirmed:
        """Let a tentative statement hold from now on; with `reject` strike it instead.

        The options are those of `correct`; a function may pick statements. Raises StatementNotFound, also for
        what is not tentative, NoteUnreadable, PreviewOutdated, and AccessDenied for an agent where its
        entries, or those of who wrote the statement, wait for the owner.
        """
        from commonplace.edit import correct as correcting

        check_time("now", now, "datetime")
        named = "" if callable(statement) else self._written_here(statement)
        agent = provenance if provenance and provenance.by != "owner" else None

        def pick(corpus: Any) -> list[types.Statement]:  # noqa: ANN401
            tentative = partial(correcting.tentative, named=named, owner=agent is None)
            found = (statement if callable(statement) else tentative)(corpus)
            writers = (
                types.Provenance("agent", one.said.get("agent", "")) for one in found if "by" in one.said
            )
            if agent and any(reviewed(self, one) for one in (agent, *writers)):
                raise AccessDenied(agent.agent, _DECIDES)
            return found

        done = correcting.confirm(
            self.workspace, self.settings, pick, reject=reject, why=why, now=now, provenance=provenance,
            dry_run=dry_run, preview=preview,
        )  # fmt: skip
        self.store.written()
        return done

    def history(self, statement: str) -> tuple[types.Statement, ...]:
        """List the versions of a statement, newest first: how it stands, and what was struck for it.

        It is named as for `correct`, by any of its versions. Each says from when to when it held in
        `said["since"]` and `said["until"]`. Raises StatementNotFound.
        """
        from commonplace.edit import resolve
        from commonplace.storage import journal

        name, statement = self._split(statement)
        held = beside(self, name)
        corpus = resolve.Corpus(held.workspace, held.settings, partial(journal.read, held.workspace))
        return tuple(resolve.versions(corpus, statement))

    def _near(self, text: str, own: bool) -> list[types.Cited]:
        """What the index finds near a text; without `own` only what no correction reaches."""
        from commonplace.edit import resolve

        beyond = own or len(sources(self)) > 1 or self.settings.sessions.index
        return resolve.elsewhere(self._answerer, text, own=own) if beyond else []

    def capture(self, entries: Sequence[types.Entry]) -> tuple[types.Written, ...]:
        """Append many entries (`commonplace.types.Entry`) to the notes of their days, one write a day.

        This is for what hooks observe. Secrets and private parts are always dropped, and what is empty then
        is left out. What stands in its note already is not written again, so that a batch may be repeated
        after a crash. Raises NoteUnreadable if a note cannot be written; the days before it are.
        """
        from commonplace.notes import layout

        self.store.written()
        return tuple(layout.capture(self.workspace, entries, times=self.settings.remember.times))

    def forget(
        self,
        what: types.Selection | Sequence[types.Selection] | types.Erasure,
        *,
        dry_run: bool = False,
        now: datetime | None = None,
        agent: str = "",
        session: str = "",
    ) -> types.Erasure:
        """Remove something for real: from notes, index, caches, transcripts, record of changes and queue.

        Then every file is scanned for it, byte by byte. With `dry_run` nothing is changed, and what is
        returned may be given as `what`: then exactly that goes, wherever its lines stand by now, or nothing.
        Nothing at all selected carries on what was killed before; `agent` and `session` are who asks, if not
        the owner. Raises NoteNotFound, OutsideRoots, ConfigError for what cannot be selected, NoteUnreadable,
        PreviewOutdated where the notes have changed so that something else would go.
        """
        from commonplace.edit.forget import erase

        check_time("now", now, "datetime")
        self.workspace.check_there()
        given: Any = what
        is_one = isinstance(given, str) or not isinstance(given, Iterable | types.Erasure)
        context = self._context()
        with self._syncing, self._lock, self._beside_lock:
            if not dry_run:
                self.close()  # an open index would keep what is deleted in its log
            return erase.forget(
                context, [given] if is_one else given, dry_run=dry_run, now=now, agent=agent, session=session
            )

    def undo(
        self,
        run: str = "",
        *,
        since: bool = False,
        dry_run: bool = False,
        preview: types.Undone | None = None,
        agent: str = "",
        session: str = "",
    ) -> types.Undone:
        """Take back a generated change: the newest that stands, or `run`, by its id or the beginning of it.

        What was written after it stays, to the byte. With `since`, all that was generated after it goes
        first. With `dry_run` nothing is changed, and what is returned may be given as `preview`: then that is
        done, or nothing. Raises NotUndone with the reason, NothingToUndo (one of these), NoteUnreadable,
        PreviewOutdated.
        """
        from commonplace.notes import additions
        from commonplace.storage import diffs
        from commonplace.storage import undo as undoing

        self.workspace.check_there()
        planned = undoing.planned(self.workspace, run, since=since)
        shown = types.Undone(
            tuple(plan.run for plan in planned), diffs.of_changes(undoing.net(planned)), dry_run=True,
            skipped=() if run else tuple(undoing.skipped(self.workspace, planned[-1].run)),
            basis=tuple(undoing.digests(planned)),
        )  # fmt: skip
        if dry_run:
            return shown
        done = undoing.undo(
            self.workspace, planned[-1].run.id, settings=self.settings.history, agent=agent, session=session,
            since=since, shown=None if preview is None else preview.basis,
        )  # fmt: skip
        self.store.written()
        withdrawn = tuple((one.kind, one.name) for one in additions.withdraw(self.workspace, done))
        return replace(
            shown, runs=done, dry_run=False, withdrawn=withdrawn, basis=(),
            lacking=additions.lacking(self.workspace, done),
        )  # fmt: skip

    def log(self, limit: int = 20) -> tuple[types.Run, ...]:
        """List changes of notes, newest first; `undo` takes one back by its `id`.

        Entries that hooks capture are not among them. Raises NoteUnreadable.
        """
        from itertools import islice

        from commonplace.storage import journal

        check_whole("limit", limit)
        self.workspace.check_there()
        return tuple(islice(journal.newest_first(self.workspace), limit))

    def _context(self) -> Context:
        """Where things of this workspace are forgotten."""
        from commonplace.edit.forget.notes import Context

        return Context(
            self.workspace, self._index_path or self.workspace.index, self._journal.path, self.settings,
            sources(self), self._make_store, self._written_here,
        )  # fmt: skip

    def _renew_records(self) -> list[str]:
        """Redact by the rules of today what records of ours hold; return what the owner should know of it."""
        if self._index_path is not None:
            return []  # a measurement, which leaves the workspace as it is
        from commonplace.edit.forget import stores

        try:
            erased = stores.renew(self._context())
        except CommonplaceError as error:
            return [f"older records were not looked through for secrets by the newest rules: {error}"]
        shown = ", ".join(dict.fromkeys(one.path for one in erased))
        return [f"redacted by rules that are newer than the record: {shown}"] if erased else []

    def _due_records(self) -> list[str]:
        """Look through the records as well, once, where the index was made anew because of newer rules."""
        beside = self._beside is not None and self._beside.store.take_renewal()
        return self._renew_records() if self.store.take_renewal() or beside else []

    # --- asking -------------------------------------------------------------------------------------

    def search(
        self,
        text: str,
        *,
        limit: int | None = None,
        mode: types.Mode = "hybrid",
        collections: Sequence[str] = (),
        min_score: float | None = None,
        now: date | None = None,
        rerank: str | None = None,
        expand: bool | None = None,
        history: bool = False,
        as_of: date | str | None = None,
        strict: bool = False,
    ) -> types.SearchResult:
        """Find the passages that answer a question, best first.

        `mode` is `hybrid`, `lexical` (words alone) or `semantic` (meaning alone); `limit` is the most hits.
        `collections` keeps to some (default: all that are not excluded); `min_score` (0..1) replaces the
        calibrated threshold; `now` is the day that dates are told from (default: today); `rerank` says who
        reads the best hits again, and `expand` lets a language model widen the question (default:
        `search.rerank`, `search.expand`). With `history` struck text is found as well, below what replaced
        it; with `as_of` what held at the end of that day, or of a time as the filter `after:` takes it. Where
        nothing clearly answers, the result is marked `weak`, and empty if it is to be `strict`. Always
        answers from what works; `level` and `warnings` say what did. Raises UnknownCollection, ConfigError
        for a mode, threshold, filter or reranker that there is not.
        """
        from commonplace.redaction.redact import public

        request = _request(
            public(text) if isinstance(text, str) else text,
            limit=limit, mode=mode, collections=collections, min_score=min_score,
            now=now, rerank=rerank, expand=expand, history=history, as_of=as_of, strict=strict,
        )  # fmt: skip
        started = time.perf_counter()
        result = self._answer(request)
        self._journal.asked("search", result, self._own_hits(result.hits), started)
        return replace(result, query=text, warnings=(*result.warnings, *self._due_records()))

    def recall(
        self,
        text: str,
        *,
        budget: int | None = None,
        collections: Sequence[str] = (),
        now: date | None = None,
        rerank: str | None = None,
        expand: bool | None = None,
        as_of: date | str | None = None,
        strict: bool = False,
        sparing: bool = False,
        without_session: str = "",
    ) -> types.Recall:
        """Compose the block for a prompt: the best passages for a message, cited, inside `budget` tokens.

        A message is words: nothing in it is an operator, a filter or an exclusion, and what was pasted into
        it does not drown what it asks. A `sparing` recall is for messages that ask for nothing: passages that
        answer far less than the best one are left out, and all that may be near to a short message by chance.
        What was noted of `without_session` is left out. `now`, `rerank`, `expand`, `as_of` and `strict` are
        as in `search`. Raises UnknownCollection, ConfigError as `search` does.
        """
        from commonplace.search import pack, wording

        started = time.perf_counter()
        budget = self.settings.recall.budget if budget is None else budget
        check_whole("budget", budget)
        request = _request(
            wording.words(text), limit=RECALL_CANDIDATES, collections=collections, now=now, rerank=rerank,
            expand=expand, as_of=as_of, strict=strict, without_session=without_session,
        )  # fmt: skip

        def recalled(message: str) -> types.Recall:
            result = self._answer(request._replace(text=wording.words(message)))
            result = pack.near_best(message, result) if sparing else result
            return pack.recall(result, budget, self.settings.recall, strict=strict)

        recall = recalled(text)
        for part in wording.focused(text) if sparing and not recall.hits else ():
            recall = recall if recall.hits else recalled(part)
        recall = replace(recall, query=text)
        self._journal.asked("recall", recall, self._own_hits(recall.hits), started)
        return replace(recall, warnings=(*recall.warnings, *self._due_records()))

    def ask(
        self,
        text: str,
        *,
        budget: int | None = None,
        collections: Sequence[str] = (),
        now: date | None = None,
        as_of: date | str | None = None,
        strict: bool = False,
    ) -> types.Answer:
        """Let the language model answer from what is recalled for `text`, with its passages cited.

        The options are those of `recall`. Where nothing is recalled, the text is empty and no model is asked.
        Raises NoModel where none is set, ProviderError, BudgetExceeded, and ConfigError as `recall` does and
        for a question that holds what looks like a secret.
        """
        from datetime import date

        from commonplace.search import generation

        self.workspace.check_there()
        generation.check(self.settings, text)
        recall = self.recall(
            text, budget=budget, collections=collections, now=now, as_of=as_of, strict=strict
        )
        return generation.answer(self._answerer.llm, recall, _day(as_of, now) or now or date.today())

    def get(self, reference: str) -> types.Excerpt:
        """Read lines of a note: `PATH[:from[-to|:count]]`, `#docid`, `[[Note#Heading]]`, `Note#^block`.

        The file itself is read, private parts blanked and secrets redacted. Raises NoteNotFound (with
        near misses), OutsideRoots, NoteUnreadable.
        """
        found = self._read(reference)
        self._journal.opened(self._own_excerpts([found]))
        return found

    def _read(self, reference: str) -> types.Excerpt:
        """Read a reference in the workspace that it names; a docid in the first one that has it."""
        name, rest = self._split(reference)
        if name not in ("", self.name):
            return union.reading(name, beside(self, name)._read, rest)
        try:
            return self._read_here(rest)
        except NoteNotFound:
            if not rest.strip().startswith("#"):
                raise
            for name in self.others:
                with suppress(CommonplaceError):
                    return union.reading(name, beside(self, name)._read, rest)
            raise

    def _read_here(self, reference: str) -> types.Excerpt:
        self.workspace.check_there()
        from commonplace.index.reading import content_hash, note_of
        from commonplace.markdown import references, wiki

        wanted = references.parse_reference(reference)
        place = ""
        if references.reads_as_words(wanted.path) or "#" in wanted.path or wiki.link(reference):
            with self._reading() as reader:
                wanted, place, absolute = reader.store.ask(lambda: places.resolve(reader.store, reference))
            shown = wanted.path
        else:  # a path needs no index, and waits for no search
            shown, absolute = places.find(self.store, wanted)
        source, inner = places.source_of(self.store, shown)
        form, indexed = source.format_of(inner), source.covers(inner)
        # A note in a hidden folder is one where a glob names the folder.
        is_note = shown.lower().endswith(".md") and not is_hidden(os.path.basename(shown))
        if shown == paths.FORMER_SETTINGS or (is_hidden(shown) and not is_note):
            raise OutsideRoots(paths.shown(shown), "no note: hidden files and settings are not read as notes")
        data = paths.read_contained(Path(absolute), [*map(Path, scan.places(sources(self)))])
        if not (is_note or indexed):
            told = "no note: only Markdown files and what the index holds are read as notes"
            raise OutsideRoots(paths.shown(shown), told)
        is_plain = os.path.normpath(shown) == shown  # `a/./b` and `c/../a/b` pass by what names `a/`
        if not (indexed and is_plain) and scan.is_left_out(sources(self), absolute):
            told = "not read: `ignore` or `glob` of its collection, or `index.ignore`, leaves it out"
            raise OutsideRoots(paths.shown(shown), told)
        note, docid = note_of(data, shown, form), content_hash(data)[:DOCID]
        return references.cut(note, shown, docid, references.within(note, wanted, place))

    def get_many(self, references: Sequence[str], *, max_bytes: int | None = None) -> types.Gathered:
        """Read several references, lists of them with commas, and globs such as `memory/2026-*.md`.

        What cannot be read, and what does not fit `max_bytes` any more, is named with the reason.
        """
        wanted = places.expand([references] if isinstance(references, str) else references, self.notes())
        found = places.gather(wanted, self._read, max_bytes)
        self._journal.opened(self._own_excerpts(found.excerpts))
        return found

    def notes(self, under: str = "") -> tuple[types.NoteInfo, ...]:
        """List the notes: all, or those of a collection, below a folder, or that a glob matches."""
        return listing(self, under)[0]

    def timeline(
        self, anchor: str, *, before: int = 3, after: int = 3, now: date | None = None
    ) -> types.Timeline:
        """Show what surrounds an anchor in time: a reference as `get` takes it, a day, or a longer time.

        The time is written in any form that the filter `on:` takes, and told from `now` (default: today).
        Only dated notes have a place in it. Raises NoteNotFound, with what the anchor lacks.
        """
        check_time("now", now)
        name, anchor = self._split(anchor)
        asks = {self.name: partial(self._timeline_here, anchor, before=before, after=after, now=now)}
        if not self.others or name == self.name != "":
            return asks[self.name]()

        for other in self.others:
            asks[other] = partial(
                lambda name: beside(self, name).timeline(anchor, before=before, after=after, now=now), other
            )
        return union.timeline(before, after, {name: asks[name]} if name else asks, self.name)

    def _timeline_here(self, anchor: str, *, before: int, after: int, now: date | None) -> types.Timeline:
        from commonplace.search import timeline

        with self._reading() as reader:
            return reader.store.ask(lambda: timeline.around(reader.store, anchor, before, after, now))

    # --- keeping up ---------------------------------------------------------------------------------

    def sync(
        self,
        *,
        embed: bool = True,
        pull: bool = False,
        patient: bool = False,
        progress: Progress | None = None,
        stop: Callable[[], bool] | None = None,
        drop_missing: Sequence[str] = (),
    ) -> types.SyncReport:
        """Bring the index up to the files, then embed what lacks a vector.

        With `pull` the owner's commands for collections are run first; what they fail with is a warning.
        With `patient`, transcripts that have hardly grown wait for more, as they do at a search. What is
        indexed of a folder that is missing or without notes stays, but for the collections of `drop_missing`.
        Questions of other threads are answered meanwhile. Embedding can be stopped (`stop`, Ctrl-C) and goes
        on at the next call. Raises IndexUnavailable, UnknownCollection, ProviderError, BudgetExceeded.
        """
        from commonplace.storage import overwritten, transaction

        started = time.perf_counter()
        drop, known = _names(drop_missing), [source.name for source in sources(self)]
        if unknown := [name for name in drop if name not in known]:
            raise UnknownCollection(unknown[0], known)
        pulled: list[str] = [*transaction.warnings(self.workspace)]
        if self._waits:
            from commonplace.storage.queue import Queue

            drained = Queue(self.workspace).drain(self.capture)
            self._waits = bool(drained.trouble or drained.busy)
            pulled += [drained.trouble] if drained.trouble else []
        with self._syncing, self._store_to_sync() as store:
            if pull:
                from commonplace.notes import updates

                pulled += updates.run_all(self.settings.collections.values())
            load: Any = (lambda _: self._current.choose()) if embed else lambda _: None
            stops, progress = stop or (lambda: False), progress or silent
            report = store.sync(load, progress, stops, patient=patient, drop=drop)
            is_changed = self._index_path is None and (report.added or report.changed)
            if is_changed and conflicts.are_among({path for _, path in store.index.manifest()}):
                from commonplace.edit import merge

                if merged := merge.merge_certain(self.workspace, self.settings, store.index.manifest()):
                    pulled += merged
                    report = store.sync(load, progress, stops, patient=patient)
        pulled += overwritten.warnings(self.workspace)  # of what a merge has not put back
        with self._lock:
            self.store.settle()
            if embed:  # otherwise the first question measures
                self._answerer.measure()
        pending = report.pending if self.settings.embedding.provider != "none" else 0  # none is wanted
        warnings = [
            *self.settings.warnings,
            *pulled,
            *self._renew_records(),
            *report.warnings,
            *([] if patient else left_aside(self)),
            *filter(None, [self._current.trouble]),
        ]
        return replace(report, pending=pending, seconds=time.perf_counter() - started, warnings=(*warnings,))

    def status(self) -> types.Status:
        """Describe the workspace and its index, without changing either. Raises IndexUnavailable."""
        with self._reading() as reader:
            reader.store.settle()
            try:
                state = reader.status()
            except IndexUnavailable as error:
                raise error.remedied() from error
        states, failures = self._ask_others(Memory.status)
        told = (f"{name}: {warning}" for name, one in states.items() for warning in one.warnings)
        warnings = (*state.warnings, *left_aside(self), *told, *failures)
        return replace(state, others=tuple(self.others), warnings=warnings)

    def usage(self, days: int | None = None) -> types.Usage:
        """Sum up what was asked, found and opened: as far back as the record goes, or the last `days`.

        The record is kept on this machine alone, while `usage.record` is on. Raises NoteUnreadable for one
        that is damaged.
        """
        from commonplace.search import usage as summary

        self.workspace.check_there()
        with self._lock:
            notes = _infos(self.store)
            manifest = self.store.index.manifest()
            times = {places.shown(*key): known.mtime_ns / 1e9 for key, known in manifest.items()}
        now = time.time()  # of what was read in the moment it was written no time is noted
        return summary.of(self._journal, [(note, times.get(note.path) or now) for note in notes], days)

    # --- inside -------------------------------------------------------------------------------------

    def _answer_from_all(self, request: Request) -> types.SearchResult:
        """Answer a question from all workspaces that are asked."""
        limit = self.settings.search.limit if request.limit is None else request.limit

        asks = {self.name: self._answerer.answer}
        asks |= {
            name: partial(lambda name, asked: beside(self, name)._answer(asked), name) for name in self.others
        }
        return union.search(request, limit, asks)

    def _ask_others(self, ask: Callable[[Memory], _Found]) -> tuple[dict[str, _Found], list[str]]:
        """What each further workspace answers, by name, and what failed, in words."""
        answers: dict[str, _Found] = {}
        failures: list[str] = []
        for name in self.others:
            try:
                answers[name] = ask(beside(self, name))
            except CommonplaceError as error:
                failures.append(f"{name}: {error}")
        return answers, failures

    def _split(self, reference: str) -> tuple[str, str]:
        """The workspace that a reference names, and the rest; no name where only one is asked."""
        return union.split(reference, [self.name, *self.others]) if self.name else ("", reference)

    def _written_here(self, reference: str) -> str:
        """A reference to what is to be changed. Raises AccessDenied for that of another workspace."""
        name, rest = self._split(reference)
        if name not in ("", self.name):
            beside(self, name).workspace.check_writable()
        return rest

    def _own_hits(self, hits: Sequence[types.Hit]) -> Sequence[types.Hit]:
        """The hits that the record of use names: others who use this workspace may not read the others."""
        return [hit for hit in hits if hit.workspace == self.name] if self.others else hits

    def _own_excerpts(self, excerpts: Sequence[types.Excerpt]) -> list[types.Excerpt]:
        return [one for one in excerpts if union.split(one.path, self.others) == ("", one.path)]

    @contextmanager
    def _reading(self) -> Iterator[Answerer]:
        """What reads the index without a search, by a connection of its own while a search has the other."""
        self.workspace.check_there()
        if self._lock.acquire(blocking=False):
            try:
                yield self._answerer
            finally:
                self._lock.release()
            return
        with self._beside_lock:
            if self._beside is None:
                self._beside = Answerer(
                    self.workspace, self.settings, self.ranking, self._make_store(), self._current,
                    self._beside_lock,
                )  # fmt: skip
            yield self._beside

    @contextmanager
    def _store_to_sync(self) -> Iterator[Store]:
        self.workspace.check_there()
        store = self._make_store()
        try:
            yield store
        finally:
            store.close()
            with self._lock:
                self.store.written()
                self.store.settle(retry_s=0)


def _infos(store: Store, *, apart: bool = False) -> list[types.NoteInfo]:
    """Every note of the index, which is compared with the files first; conversations `apart`."""

    def read() -> list[types.NoteInfo]:
        store.freshen()
        return places.notes(store.index, apart=apart)

    return store.ask(read)


def _request(
    text: str,
    *,
    collections: Sequence[str] = (),
    as_of: date | str | None = None,
    **options: Any,  # noqa: ANN401
) -> Request:
    """A question with its collections and its days read. Raises ConfigError."""
    return Request(text, collections=_names(collections), as_of=_day(as_of, options.get("now")), **options)


def _names(collections: Sequence[str]) -> tuple[str, ...]:
    """The names of collections; a text, a sequence of letters, is none. Raises ConfigError."""
    is_list = isinstance(collections, Iterable) and not isinstance(collections, str)
    if not is_list or not all(isinstance(name, str) for name in collections):
        raise ConfigError("collections", f"{collections!r} is not allowed; it must be a list of names")
    return tuple(collections)


def _day(when: date | str | None, now: date | None) -> date | None:
    """The last day of a time in any form that the filter `after:` takes, as seen from `now`."""
    if not isinstance(when, str):
        return when
    check_time("now", now)
    from datetime import date

    from commonplace.search import filters

    return filters.day(when, now or date.today())


def reviewed(memory: Memory, by: types.Provenance | None) -> bool:
    """Tell whether a writer's entries wait for the owner; in an agent's memory every name counts as its."""
    settings, own = memory.settings, memory._agent
    if by and by.agent not in ("", own) and not (own and settings.remember.writes == "review"):
        with suppress(CommonplaceError):  # a name that no table can have: the settings for all apply
            settings = config.load(memory.workspace.root, agent=by.agent)
    return by is not None and by.by != "owner" and settings.remember.writes == "review"


def _one_day(on: date | str | None, today: date) -> date | None:
    """The day that an entry is about, as seen from `today`. Raises ConfigError for several and for none."""
    if not isinstance(on, str):
        check_time("on", on)
        return on
    from commonplace.search import filters

    return filters.one_day(on, today)


ASIDE = (*config.settings.CONVENTION, "archive/[0-9][0-9][0-9][0-9]/*.md")  # originals of a rollup


def left_aside(memory: Memory) -> list[str]:
    """Say which collections are not read, and which Markdown is not searched unless the owner chose so."""
    settings, known = memory.settings, sources(memory)
    told = scan.refused(settings, known)
    is_chosen = settings.index.include != config.keys.find("index.include").default
    if is_chosen or not (names := scan.left_aside(known, (*ASIDE, *settings.prompt.file_names))):
        return told
    aside = "{n:Markdown file} outside memory/ not searched, such as {first}; {remedy}"
    first, remedy = paths.shown(names[0]), remedies.say("index.include")
    return [*told, message("notes.aside", aside, n=len(names), first=first, remedy=remedy)]


def clear_usage(memory: Memory) -> int:
    """Delete the record of what was asked and opened; return how many questions it held.

    Raises AccessDenied.
    """
    memory.workspace.check_writable()
    return Journal(memory.workspace, memory.settings.usage).clear()


def watch(memory: Memory, changed: Callable[[frozenset[str]], None], **options: Any) -> None:  # noqa: ANN401
    """Call `changed` whenever files of the notes change; the options are those of `notes.watch.watch`."""
    from commonplace.notes import watch

    watch.watch([*map(Path, scan.places(sources(memory)))], changed, **options)


def days(memory: Memory) -> dict[str, int]:
    """Return the days (ISO) that notes are of, the last first, with the number of passages of each."""
    from commonplace.search import timeline

    with memory._reading() as reader:
        return reader.store.ask(lambda: timeline.days(reader.store))


def reaching(
    reach: Reach,
    agent: str,
    overrides: Mapping[str, object] | None = None,
    settings: config.Settings | None = None,
    lab: Lab | None = None,
) -> Memory:
    """Open the home of a reach for an agent, with its settings unless others are given."""
    settings = settings or config.load(reach.home, None, overrides, agent)
    return Memory.__new__(Memory)._bind(reach, settings, agent=agent, overrides=overrides, lab=lab)


def create(folder: Path) -> list[Path]:
    """Make a workspace of a folder; return what was missing. Raises ConfigError, NoteUnreadable."""
    from commonplace.notes import layout

    return layout.init(folder)


def draft(memory: Memory, text: str, **options: Any) -> types.SearchResult:  # noqa: ANN401
    """Find as `search` does while a question is typed: nothing is recorded, and no other machine is asked.

    The options are those of `search`, but for the reading by models. Raises as `search` does.
    """
    services = {memory.settings.embedding.provider}
    for name in memory.others:
        with suppress(CommonplaceError):  # the answer says so
            services.add(beside(memory, name).settings.embedding.provider)
    remote = {one.name for one in EMBEDDERS if one.local is False or one.name == "ollama"}
    options |= {"mode": "lexical"} if services & remote else {}
    return memory._answer(_request(text, rerank="off", expand=False, **options))


def question_words(question: str) -> tuple[str, ...]:
    """Return the words of a question that are worth marking in a passage."""
    return parse(question).marked


def ask_engine(
    memory: Memory, engine: str, text: str, *, limit: int | None = None, collections: Sequence[str] = (),
    **options: Any,  # noqa: ANN401
) -> types.SearchResult:  # fmt: skip
    """Ask another engine than ours (`qmd`), with its hits as ours; collections are those that it names.

    The options are those of `search`. Raises ConfigError for an engine that there is not, ProviderError where
    it is not installed or fails.
    """
    from commonplace.search import engines

    limit = memory.settings.search.limit if limit is None else limit
    check_whole("limit", limit)
    options = {"mode": "hybrid", "min_score": None, "collections": _names(collections), **options}
    return engines.search(engine, text, sources(memory), memory._read, limit=limit, **options)


def beside(memory: Memory, name: str) -> Memory:
    """Return the memory of a workspace that questions are put to, by its name; any other name is the home.

    Raises WorkspaceNotFound, ConfigError.
    """
    if name not in memory.others:
        return memory
    paths.Workspace(memory.others[name]).check_there()
    with memory._beside_lock:
        if name not in memory._opened:
            alone = config.Reach(memory.others[name], "", {}, memory._agent)
            memory._opened[name] = reaching(alone, memory._agent, memory._overrides)
        return memory._opened[name]


def file_of(memory: Memory, path: str) -> tuple[Memory, Path, str]:
    """Return the memory of a note by its path as it is shown, its file, and its format: empty for a note.

    Raises NoteNotFound, OutsideRoots.
    """
    from commonplace.markdown.references import Reference

    name, shown = memory._split(path)
    held = beside(memory, name)
    shown, absolute = places.find(held.store, Reference(shown))
    file = paths.contain(Path(absolute), [*map(Path, scan.places(sources(held)))])
    source, inner = places.source_of(held.store, shown)
    return held, file, source.format_of(inner)


def picture(memory: Memory, note: str, name: str) -> tuple[str, bytes]:
    """Return the type and the bytes of a picture that a note names; its first bytes say what it is.

    Raises NoteNotFound, OutsideRoots, NoteUnreadable.
    """
    workspace, shown = memory._split(note)
    held = beside(memory, workspace)
    held.workspace.check_there()
    known = sources(held)
    for file in map(Path, places.pictures(held.store, shown, name)):
        with suppress(NoteNotFound):
            data = paths.read_contained(file, [*map(Path, scan.places(known))], limit=_LARGEST_PICTURE)
            if not (kind := filetypes.picture(data)) or scan.is_left_out(
                known, os.fspath(file), outside=False
            ):
                told = message("picture.none", "no PNG, JPEG, GIF or WebP, or left out by the settings")
                raise NoteUnreadable(paths.shown(name), told)
            return kind, data
    raise NoteNotFound(paths.shown(name), reason=message("picture.missing", "no such picture"))


def known_filters() -> list[str]:
    """Return the filters of a question that have a few values alone: `task:open`, `type:daily` and so on."""
    from commonplace.markdown import comments, wiki
    from commonplace.search.filters import STATUS, TYPES

    tasks = (comments.TASKS_IN_TEXT, (wiki.OPEN, wiki.DONE))
    values = ((STATUS, comments.STATUSES), tasks, ("by", comments.WRITERS), ("type", TYPES))
    return [f"{key}:{value}" for key, some in values for value in some]


def listing(memory: Memory, under: str = "") -> tuple[tuple[types.NoteInfo, ...], list[str]]:
    """List notes as `Memory.notes` does; return with them what keeps other workspaces from being listed."""
    with memory._reading() as reader:
        notes = _infos(reader.store, apart=True)
    lists, failures = memory._ask_others(Memory.notes)
    for name, found in lists.items():
        notes += union.listed(name, found)
    return tuple(places.below(notes, under)), failures


def warm(memory: Memory) -> None:
    """Load now what the first question would wait for, for whoever serves several.

    Raises IndexUnavailable, ProviderError, ConfigError.
    """
    memory._answerer.warm()
    for name in memory.others:
        with suppress(CommonplaceError):  # the question that it cannot answer says so
            warm(beside(memory, name))


def refresh(memory: Memory) -> None:
    """Read what changed on disk into the index as a search does. Raises IndexUnavailable."""
    with memory._reading() as reader:
        if memory.settings.index.sync_on_search:
            reader.store.ask(reader.store.freshen)


def estimate(memory: Memory, *, progress: Progress = silent) -> types.Estimate:
    """Bring the text up to date, and say what embedding the rest would take.

    Raises as `Memory.sync` does, but for what a model may fail with.
    """
    from commonplace.providers import opening

    with memory._syncing, memory._store_to_sync() as store:
        model, texts = store.estimate(lambda _: memory._current.choose(), progress)
    warnings = tuple(filter(None, [memory._current.trouble]))
    if model is None:
        return types.Estimate("none", 0, warnings=warnings)
    questions: Sequence[str] = ()
    if opening.is_remote(model):
        with memory._lock:
            questions = memory._answerer.null_questions(model)
    return opening.estimate(model, texts, questions, warnings)


def sources(memory: Memory) -> list[scan.CollectionFiles]:
    """The workspace's own notes and every collection, as they stand on disk."""
    return scan.sources(os.fspath(memory.workspace.root), memory.settings)
