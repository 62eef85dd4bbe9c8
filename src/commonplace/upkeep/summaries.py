"""Sessions summed up in the daily notes: one summary a session, brought up to date when it goes on.

A model answers with the parts of a summary (request, done, decided, learned, left open). Without a model the
sentences about work done or decided are taken, and a session without any has no summary. What the notes of
these days and long-term memory say already, summaries aside, is not said again.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from datetime import date, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from commonplace.base import clock, paths
from commonplace.base.digests import sha256
from commonplace.base.errors import (
    BudgetExceeded,
    CommonplaceError,
    NoteNotFound,
    NoteUnreadable,
    ProviderError,
)
from commonplace.base.root import Root
from commonplace.config.settings import AUTO
from commonplace.markdown import comments
from commonplace.providers.llm import prompting
from commonplace.transcripts import session as transcript
from commonplace.transcripts.session import Transcript
from commonplace.types import About, Change, Provenance, Turn
from commonplace.upkeep import dialogue, prose
from commonplace.upkeep.labels import DASH, LABELS, SAYS
from commonplace.upkeep.prose import Language, ended, joined, plain, sentences, within, words
from commonplace.upkeep.watermarks import InUse, Mark, Pending

if TYPE_CHECKING:
    from commonplace.config.settings import Summary as Settings
    from commonplace.markdown.document import Document
    from commonplace.memory import Memory
    from commonplace.providers.llm.client import Client as Llm
    from commonplace.types import Written

PURPOSE = "summary"
LARGEST_FOREIGN = 256 << 20  # bytes of a transcript that a host keeps
HEADINGS: dict[Language, str] = {"en": "Session summaries", "zh": "会话小结"}
NAMES: Mapping[Language, str] = {
    "en": "the language that the user writes in (English, if that is not clear)",
    "zh": "Chinese",
}
_WEIGHTS = ("request", "decisions", "open", "done", "learned")  # what matters most comes first
MIN_USER_TURNS, MAX_WORDS = 3, 200  # of a session that is worth a summary, of a summary
REQUEST_WORDS, MOST_SENTENCES = 50, 8  # of an extract, of a part
# Characters of a turn, or of a part of it between code; tokens of a word in any script, with thoughts.
_LOOKED_AT, _ROOM = 20_000, 6
_TEXT = {"type": "string"}
_LIST = {"type": "array", "items": _TEXT}
_PARTS = ("request", "done", "decisions", "learned", "open")
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "worth_keeping": {"type": "boolean"},
        "request": _TEXT,
        **dict.fromkeys(_PARTS[1:], _LIST),
    },
    "required": ["worth_keeping", *_PARTS],
    "additionalProperties": False,
}
EARLIER = "[summary so far]"
logger = logging.getLogger("commonplace.summaries")


@dataclass(frozen=True, slots=True)
class SessionOutcome:
    """The result of a pending session: its summary, or its error."""

    session: str
    written: Written | None = None
    error: str = ""


class Conversations(Protocol):
    """The store of the messages of sessions: our own transcripts, or those that a host keeps."""

    def load(self, session: str) -> list[Turn]:
        """Return the messages of a session in their order. Raises CommonplaceError."""

    def state(self, session: str) -> tuple[int, float]:
        """Return a size that differs when messages came, and when the last one did (seconds since 1970).

        Raises OSError or CommonplaceError for a session that is not there.
        """


class Transcripts:
    """The transcripts of a workspace, and those of hosts that marks name."""

    def __init__(self, workspace: paths.Workspace, pending: Pending | None = None) -> None:
        """Bind to a workspace and its marks."""
        self._workspace, self._pending = workspace, pending or Pending(workspace)

    def load(self, session: str) -> list[Turn]:
        """Return the messages of a session. Raises NoteUnreadable, ConfigError."""
        source = self._source(session)
        return foreign_turns(source) if source else Transcript.open(self._workspace, session).load()

    def state(self, session: str) -> tuple[int, float]:
        """Return the bytes of a transcript and when it was written to. Raises OSError, ConfigError."""
        source = self._source(session)
        if source:
            status = os.stat(source, follow_symlinks=False)
        else:
            status = self._workspace.files.stat(transcript.path_of(self._workspace, session))
        return status.st_size, status.st_mtime

    def _source(self, session: str) -> str:
        mark = self._pending.read(session)
        return mark.source if mark is not None else ""


def foreign_turns(path: str) -> list[Turn]:
    """Return the messages of a host's transcript, of whichever format, without what the host put into them.

    Raises NoteUnreadable.
    """
    from commonplace.transcripts import formats, rendering

    place = Path(path)
    try:
        with Root(place.parent).open(place.name) as file:
            size = os.fstat(file.fileno()).st_size
            if size > LARGEST_FOREIGN:
                raise NoteUnreadable(paths.shown(path), f"{size:,} bytes; {LARGEST_FOREIGN:,} are read")
            return list(rendering.spoken(place.turn for place in formats.turns(file, path, AUTO)))
    except OSError as error:
        raise NoteUnreadable(paths.shown(path), paths.reason(error)) from error


class Summarizer:
    """Sums up the sessions of a workspace; safe to share between threads."""

    def __init__(
        self,
        memory: Memory,
        llm: Llm | None = None,
        settings: Settings | None = None,
        conversations: Conversations | None = None,
    ) -> None:
        """Bind to a memory and the model to call, None for extracts alone.

        `conversations` are those of a host that keeps them itself.
        """
        self.memory, self.llm = memory, llm
        self.settings = settings or memory.settings.summary
        self.pending = Pending(memory.workspace)
        self._conversations = conversations or Transcripts(memory.workspace, self.pending)

    def summarize(self, session: str, *, agent: str = "", by_hand: bool = False) -> Written | None:
        """Sum up the new turns of a session, if that is due; return the summary's place, None if unwritten.

        With `by_hand` its length and notes written meanwhile do not matter. Raises InUse
        if another process has the session open, NoteUnreadable, OutsideRoots, ConfigError.
        """
        with self.pending.claim(session):
            return self._summarize(session, agent, by_hand=by_hand)

    def find(self, session: str = "") -> str:
        """Return a session that has a transcript, by default the newest. Raises NoteNotFound."""
        known = transcript.sessions(self.memory.workspace)
        if not (session or known):
            raise NoteNotFound("sessions/", reason="no session has a transcript in this workspace")
        if session and session not in known:
            from difflib import get_close_matches

            near = get_close_matches(session, known, 3, 0.5)
            raise NoteNotFound(f"session {session}", near, "no such session")
        return session or known[0]

    def draft(self, session: str) -> SummaryDraft | None:
        """Return the summary that `summarize` by hand would write; None without new turns of the user."""
        turns = self._load(session)
        mark = self.pending.read(session) or self._recovered(session, turns)
        stretch = turns[min(mark.done, len(turns)) :]
        return self._draft(mark, stretch) if _user_turns(stretch) else None

    def run_pending(self, stop: Callable[[], bool] = lambda: False) -> list[SessionOutcome]:
        """Sum up the rest of sessions that are no longer open; return those with an outcome.

        Failures stay pending, and so do the sessions left when `stop` returns True.
        """
        outcomes = []
        for mark in self.pending.marks():
            if stop():
                break
            if not self._is_waiting(mark):
                continue
            try:
                with self.pending.claim(mark.session):
                    fresh = self.pending.read(mark.session)
                    done = self._summarize(mark.session) if fresh and self._is_waiting(fresh) else None
            except InUse:
                continue
            except CommonplaceError as error:
                outcomes.append(SessionOutcome(mark.session, error=str(error)))
            else:
                outcomes += [SessionOutcome(mark.session, done)] if done else []
        return outcomes

    def _is_waiting(self, mark: Mark) -> bool:
        """Return True if a session that is not open may have turns left to sum up."""
        if self.pending.is_open(mark.session):
            return False
        try:
            size, written_at = self._conversations.state(mark.session)
        except (OSError, CommonplaceError):
            return False
        if size == mark.size and not mark.writing:
            return False
        # A session that no program holds open counts as resting after a silence.
        return mark.held or mark.over or datetime.now().timestamp() - written_at >= self.settings.idle_s

    # --- one session ------------------------------------------------------------------------------------

    def _summarize(self, session: str, agent: str = "", *, by_hand: bool = False) -> Written | None:
        size = self._size(session)
        turns = self._load(session)
        mark = self._settled(session, turns)
        mark = replace(mark, agent=agent or mark.agent, size=size)
        stretch = turns[mark.done :]
        requests = _user_turns(stretch)
        done = None
        if requests and (by_hand or requests >= MIN_USER_TURNS):
            drafted = self._draft(mark, stretch)
            if drafted.trouble:
                logger.warning("session %s: summed up without a model (%s)", session, drafted.trouble)
            if drafted.text:
                mark, done = self._write(mark, drafted, turns)
            elif not drafted.trouble:  # which may be over when the session goes on
                mark = replace(mark, done=len(turns))
        self._save(mark)
        return done

    def _draft(self, mark: Mark, stretch: Sequence[Turn]) -> SummaryDraft:
        """Bring the summary that stands up to date with a stretch."""
        note, workspace = self._note(mark.note), self.memory.workspace
        own = note.bare[_lines(note, mark.entry)]
        days = sorted({at[:10] for turn in stretch if (at := moment(turn.at))})
        places = [workspace.memory_file, *(workspace.daily(date.fromisoformat(day)) for day in days)]
        standing = chain.from_iterable(self._note(os.fspath(place)).bare for place in places)
        already = "\n".join(line for line in standing if DASH not in line)  # but for summaries
        return draft(stretch, self.llm, self.settings, _read_parts(own), already)

    def _note(self, path: str) -> Document:
        """Return a note by its path; an empty one where it cannot be read."""
        from commonplace.markdown.document import Document

        try:
            return Document.read(paths.read_contained(Path(path), [self.memory.workspace.root]))
        except CommonplaceError:
            return Document.of("")

    def _settled(self, session: str, turns: Sequence[Turn]) -> Mark:
        """Return the mark of a session, moved on where a crash came between the note and it."""
        mark = self.pending.read(session) or self._recovered(session, turns)
        if mark.writing and _lines(self._note(mark.note), mark.next).stop:
            mark = replace(mark, done=mark.writing, entry=mark.next)
        if mark.done > len(turns):  # a host began it anew under the same name
            mark = replace(mark, done=self._recovered(session, turns).done)
        return replace(mark, writing=0, next="")

    def _recovered(self, session: str, turns: Sequence[Turn]) -> Mark:
        """Read from the notes how far a session without a mark is summed up."""
        days = sorted({at[:10] for turn in turns if (at := moment(turn.at))})
        notes = [day_note(self.memory, date.fromisoformat(day)) for day in days]
        lines = [line for note in notes for line in note.splitlines() if DASH in line]
        (wanted,) = comments.take([comments.of_provenance(Provenance("agent", session=session))]).values()
        entries = [said for said in comments.take(lines).values() if said.get("session") == wanted["session"]]
        ats = {moment(said.get("at", "")) for said in entries} - {""}
        done = [place for place, turn in enumerate(turns, 1) if moment(turn.at) in ats]
        return Mark(session, done=max(done, default=0))

    def _write(self, mark: Mark, draft: SummaryDraft, turns: Sequence[Turn]) -> tuple[Mark, Written]:
        """Write a summary in place of the previous one; append it if that was edited.

        The mark is saved before the note is written. Return the mark as it is afterwards.
        """
        from commonplace.markdown.document import Document
        from commonplace.notes import appends, layout
        from commonplace.storage import transaction
        from commonplace.types import Written

        memory, at = self.memory, moment(turns[-1].at) or datetime.now().isoformat(timespec="seconds")
        now = datetime.fromisoformat(at)
        by = Provenance("agent", mark.agent, mark.session, at)
        path = memory.workspace.daily(now.date()).relative_to(memory.workspace.root).as_posix()
        if _lines(self._note(mark.note), mark.entry).stop:
            path = mark.note
        hour = f"{now:%H:%M}" if memory.settings.remember.times and at[:10] in path else None
        placed, kinds = layout.placed(draft.text, HEADINGS[draft.language], by, hour)
        new, start = placed[0].split("\n"), 0

        def compose(read: transaction.Read) -> Sequence[Change]:
            nonlocal start
            before = read(path)
            note = Document.read(before or b"", path).checked()
            old = _lines(note, mark.entry)
            if old.stop:
                start, end = old.start + 1, note.end(old.start + 1) or "\n"
                lines = [*note.lines[: old.start], *(line + end for line in new), *note.lines[old.stop :]]
                note = note.with_text("".join(lines))
            else:
                note, [(start, _)] = appends.insert_all(note, [placed], f"# {at[:10]}")
            return [Change(path, before, note.data)]

        mark = replace(mark, note=path, next=_digest(new), writing=len(turns))
        self._save(mark)
        about = About("write", "sum up a session", "", "agent", mark.agent, mark.session)
        run = transaction.rewrite(memory.workspace, compose, about)
        memory.store.written()
        done = Written(path, start, start + len(new) - 1, kinds, run=run.id if run else "")
        return replace(mark, entry=mark.next, next="", done=len(turns), writing=0), done

    def _save(self, mark: Mark) -> None:
        self.pending.update(  # but for what clients change meanwhile
            mark.session, lambda now: replace(mark, held=now.held, over=now.over, source=now.source)
        )

    def _load(self, session: str) -> list[Turn]:
        return self._conversations.load(session)

    def _size(self, session: str) -> int:
        try:
            return self._conversations.state(session)[0]
        except OSError:
            return -1


def _user_turns(turns: Sequence[Turn]) -> int:
    return sum(turn.role == "user" for turn in turns)


# --- the summary in its note -------------------------------------------------------------------------------


def _lines(note: Document, entry: str) -> slice:
    """Return the lines of an entry in a note, found by its digest; an empty slice if it is missing."""
    bare = note.bare
    for start in [number for number, line in enumerate(bare) if entry and line.startswith("- ")]:
        end = start + 1
        while end < len(bare) and bare[end].startswith("  "):
            end += 1
        if _digest(bare[start:end]) == entry:
            return slice(start, end)
    return slice(0, 0)


def _digest(lines: Sequence[str]) -> str:
    return sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def moment(at: str) -> str:
    """Return a time by the clock of this machine, to the second; empty if it is not ISO 8601."""
    try:
        return clock.local(datetime.fromisoformat(at)).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        return ""


def day_note(memory: Memory, day: date) -> str:
    """Return the present note of a day, empty if it is missing. Raises as `paths` does."""
    from commonplace.markdown.document import decode

    try:
        return decode(paths.read_contained(memory.workspace.daily(day), [memory.workspace.root]))
    except NoteNotFound:
        return ""


# --- the parts of a summary -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a summary, each a text of one line, or empty."""

    request: str = ""
    done: str = ""
    decisions: str = ""
    learned: str = ""
    open: str = ""

    def __bool__(self) -> bool:
        """Return True if any part has text."""
        return any(astuple(self))


_NAMES = tuple(field.name for field in fields(Parts))


def _read_parts(lines: Sequence[str]) -> Parts:
    """Read the parts of a summary back from the lines of its entry."""
    named = {label: name for labels in LABELS.values() for label, name in zip(labels, _NAMES, strict=True)}
    rows = [line.partition(DASH) for line in comments.without("\n".join(lines), "").splitlines()]
    return Parts(**{named[head.split()[-1]]: text.strip() for head, dash, text in rows if dash})


def compose(parts: Parts, language: Language, most_words: int) -> str:
    """Write the parts as an entry of a note, each on a line with its label, in so many words at most.

    Last sentences are cut off the longest part until all fit; then what matters least is left out.
    """
    while words(text := _labelled(parts, language)) > most_words:
        texts = dict(zip(_NAMES, astuple(parts), strict=True))
        longest = max(_NAMES, key=lambda name: words(texts[name]) if len(sentences(texts[name])) > 1 else 0)
        present = [name for name in _WEIGHTS if texts[name]]
        share = max(1, most_words // (2 * len(present)))
        shorter = joined(sentences(texts[longest])[:-1])
        if not shorter:
            longest = max(present, key=lambda name: words(texts[name]))
            if words(texts[longest]) > share:
                shorter = within(texts[longest], share)
            elif len(present) > 1:
                longest = present[-1]
            else:
                break
        parts = replace(parts, **{longest: shorter})
    return text


def _labelled(parts: Parts, language: Language) -> str:
    labelled = zip(LABELS[language], astuple(parts), strict=True)
    return "\n- ".join(f"{label}{DASH}{text}" for label, text in labelled if text)


# --- by a model, or without one ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SummaryDraft:
    """The summary of a stretch: the entry as it would be written, empty if it is not worth keeping.

    `trouble` is the reason why the model's summary failed, empty if it did not or no model is set.
    """

    text: str
    language: Language
    trouble: str = ""


def draft(
    turns: Sequence[Turn], llm: Llm | None, settings: Settings, earlier: Parts = Parts(), already: str = ""
) -> SummaryDraft:
    """Bring an earlier summary up to date with turns: by the model, or with their sentences on work done.

    The latter if there is no model or it fails: sentences on things done and decided; the text is empty if
    they add no news. A model's sentences that a line of `already` says are left out.
    """
    clean = dialogue.clean(turns)
    language = prose.language(turn.text for turn in clean if turn.role == "user")
    parts, trouble = None, ""
    if llm is not None:
        summary = dialogue.unframed(_labelled(earlier, language)).replace("\n- ", f"\n{EARLIER} ")
        so_far = f"{EARLIER} {summary}\n" if earlier else ""
        text = so_far + dialogue.written(clean, settings.max_tokens)
        parts, trouble = _ask(text, clean, already, language, llm, settings)
    if parts is None:
        new = extract(clean, most := MAX_WORDS)
        done, decisions = joined([earlier.done, new.done]), joined([earlier.decisions, new.decisions])
        both = replace(earlier, done=_newest(done, most), decisions=_newest(decisions, most))
        parts = both if new.done or new.decisions else Parts()
    return SummaryDraft(compose(parts, language, MAX_WORDS) if parts else "", language, trouble)


def _ask(
    text: str, clean: Sequence[Turn], already: str, language: Language, llm: Llm, settings: Settings
) -> tuple[Parts | None, str]:
    """Let the model say the parts; None, and why, where it cannot."""
    try:
        messages = prompting.load("summary").messages(
            conversation=text, language=NAMES[language], words=str(MAX_WORDS)
        )
        completion = llm.complete(
            messages,
            SCHEMA,
            max_tokens=512 + _ROOM * MAX_WORDS,
            deadline_s=settings.deadline_s,
            purpose=PURPOSE,
        )
    except (ProviderError, BudgetExceeded) as error:
        return None, str(error)
    known = prose.terms("\n".join([text, *(call.arguments for turn in clean for call in turn.calls)]))
    return read(completion.data, known, language, already)


def read(
    data: object, known: frozenset[str], language: Language, already: str = ""
) -> tuple[Parts | None, str]:
    """Return the parts of a model's answer; None and the reason if it is unusable.

    Sentences that share too little with the conversation are left out, and so are those that a line of
    `already` says.
    """
    parts, trouble = _usable(data, known, language)
    if trouble:
        return None, trouble
    news = [prose.news(part, already) for part in parts]
    if parts != news and not any(news[1:]):
        return Parts(), ""  # apart from the request, the notes hold it all
    request, done, decisions, learned, left = (joined(map(ended, part)) for part in news)
    return Parts(request, done, decisions, learned, left), ""


def _usable(data: object, known: frozenset[str], language: Language) -> tuple[list[list[str]], str]:
    """Return the sentences of each part that are about the conversation, and why the answer is unusable."""
    if not isinstance(data, dict):
        return [], "the language model called a tool instead of answering"
    if not data["worth_keeping"]:
        return [[] for _ in _PARTS], ""
    texts = [_texts(data[name]) for name in _PARTS]
    whole = " ".join(chain(*texts))
    if whole and not prose.is_in(whole, language):
        return [], "the language model answered in another language"
    parts = [[*filter(partial(prose.is_about, known=known), part)] for part in texts]
    return parts, "" if any(parts) else "the language model said nothing about the conversation"


def _texts(part: object) -> list[str]:
    """The texts of a part as a model answered it: a list, or a text alone."""
    return [text for text in map(plain, part if isinstance(part, list) else [part]) if text]


def extract(turns: Sequence[Turn], most_words: int) -> Parts:
    """Take out of clean turns the first request, and newest sentences that say what was decided or done."""
    said = [(turn.role, _said(turn)) for turn in turns if turn.role in ("user", "assistant")]
    asked = next((text for role, text in said if role == "user" and text), "")
    found: dict[str, dict[str, None]] = {"done": {}, "decisions": {}}
    for sentence in chain.from_iterable(sentences(text) for _, text in said):
        if part := next((part for part, says in SAYS.items() if says.search(sentence)), ""):
            found[part][within(sentence, REQUEST_WORDS)] = None
    newest = {part: _newest(joined(texts), most_words) for part, texts in found.items()}
    return Parts(request=within(asked, REQUEST_WORDS), **newest)


def _newest(text: str, most_words: int) -> str:
    """Return the last sentences of a part, as many as fit into a third of the words of all."""
    kept = sentences(text)[-MOST_SENTENCES:]
    while len(kept) > 1 and words(joined(kept)) > most_words // 3:
        kept = kept[1:]
    return joined(kept)


def _said(turn: Turn) -> str:
    """Return the text of a turn without code; a line that ends without a mark is a sentence."""
    outside_code = turn.text.split("```")[::2]
    lines = (line for part in outside_code for line in part[:_LOOKED_AT].splitlines() if line.strip())
    return joined(ended(plain(line)) for line in lines)
