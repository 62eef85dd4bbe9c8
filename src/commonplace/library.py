"""What a Python program imports: `Memory` with all that refines and carries it, and `AsyncMemory`.

`commonplace.memory` lies below `upkeep`, which works on it, so the two meet here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from inspect import Signature
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from commonplace import memory, types
from commonplace.base.errors import BudgetExceeded, ConfigError, ProviderError

if TYPE_CHECKING:
    from datetime import datetime

    from commonplace.providers.llm.client import Client
    from commonplace.upkeep.consolidation import Consolidation
    from commonplace.upkeep.export import Export, Form
    from commonplace.upkeep.rollup import RolledUp

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")
# Names of other memories' methods, and ours.
_ALSO_CALLED = {
    "delete": "forget", "get_all": "notes", "insert": "remember", "query": "search", "retrieve": "recall",
    "save": "remember", "update": "correct",
}  # fmt: skip


class Memory(memory.Memory):
    """The memory of one workspace, a folder of notes: `Memory.open("notes")`; use it from any thread.

        with Memory.open("notes") as memory:
            memory.remember("Deploys go out on Tuesdays.")
            for hit in memory.search("when do we deploy?"):
                print(hit.citation, hit.text)

    Ask:      search (passages), recall (a block for a prompt), ask (one answer by a language model)
    Read:     get, get_many, notes, timeline, history (of a statement)
    Write:    remember, add (a conversation), capture
    Change:   correct, confirm, forget, undo, log
    Refine:   summarize, consolidate, rollup
    Carry:    import_, export
    Keep up:  sync, status, usage, close

    Results are values with named fields (`commonplace.types`). What is wrong is raised as an error that
    derives from `CommonplaceError` and says in one line what helps. For event loops there is `AsyncMemory`.
    """

    __signature__ = Signature()  # without parameters, as `open` makes one

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            ours = f"; use {_ALSO_CALLED[name]!r}" if name in _ALSO_CALLED else ""
            raise AttributeError(f"Memory has no {name!r}{ours}", name=name, obj=self)

    def _language_model(self) -> Client | None:
        from commonplace.providers.opening import open_llm

        return open_llm(self.workspace, self.settings)

    def add(
        self, messages: str | Sequence[Mapping[str, Any]], *, session: str = "", agent: str = ""
    ) -> tuple[types.Written, ...]:
        """Write down what a conversation says: messages with `role` and `content`, as chat APIs take them.

        The language model, if one is set and answers, picks the facts; otherwise all messages of the user,
        but those that only ask, are written as they are. Secrets are redacted; what stands there already is
        not written again. With `session` the messages are appended to its transcript too, for `summarize`.
        Raises ConfigError for messages of another form, NoteUnreadable.
        """
        from commonplace.language.sentences import spans
        from commonplace.notes import layout
        from commonplace.transcripts import openai
        from commonplace.transcripts.session import Transcript
        from commonplace.upkeep.flush import flush

        given: Any = {"role": "user", "content": messages} if isinstance(messages, str) else messages
        every = given if isinstance(given, Sequence) else [given]
        turns = [turn for one in every if isinstance(one, Mapping) and (turn := openai.turn(one))]
        if len(turns) < len(every):
            raise ConfigError("messages", 'must be a text or a list of {"role": "user", "content": "…"}')
        if session:
            Transcript.open(self.workspace, session).extend(turns)
        by = types.Provenance("agent", agent, session)
        with suppress(ProviderError, BudgetExceeded):  # nothing is lost: the words themselves are kept
            if (llm := self._language_model()) is not None and not memory.reviewed(self, by):
                return flush(self, turns, llm, session=session, agent=agent).written
        said = [layout.own_words(turn.text, by, True)[0] for turn in turns if turn.role == "user"]
        texts = [text for text in said if any(text[b - 1] not in "?？" for _, b in spans(text))]
        return tuple(self.remember(text, provenance=by, redact=True, once=True) for text in texts)

    def summarize(self, session: str = "", *, agent: str = "") -> types.Written | None:
        """Sum up a session in the note of its day: the newest one unless it is named.

        A session has one summary, which is brought up to date: by the language model if one is set and
        answers, otherwise by quoting what was decided or done. None where nothing new is worth it. Raises
        NoteNotFound for an unknown session, NoteUnreadable.
        """
        from commonplace.upkeep.summaries import Summarizer

        summarizer = Summarizer(self, self._language_model())
        return summarizer.summarize(summarizer.find(session), agent=agent, by_hand=True)

    def consolidate(
        self,
        *,
        days: int | None = None,
        now: datetime | None = None,
        dry_run: bool = False,
        accept: bool = False,
        preview: Consolidation | None = None,
    ) -> Consolidation:
        """Refine the notes of the last `days` into MEMORY.md: add, merge, replace and end entries.

        The language model plans. Without one, what is proposed is written with `accept` alone. A dry run may
        be given back as `preview`: what is in its `accepted` is written and no model is asked. Raises
        PreviewOutdated, NoteUnreadable, and Running while another process consolidates.
        """
        from commonplace.upkeep.consolidation import consolidate, run

        if preview is not None:
            return run.accept(self, preview, range(len(preview.accepted)), now=now)
        return consolidate(self, self._language_model(), days=days, now=now, dry_run=dry_run, accept=accept)

    def rollup(
        self, *, older_than_days: int | None = None, now: datetime | None = None, dry_run: bool = False
    ) -> RolledUp:
        """Turn the daily notes of old months into monthly ones.

        A month is old when all of it is older than `older_than_days` (`rollup.older_than_days`). Raises
        NoteUnreadable, and Running while another process consolidates.
        """
        from commonplace.upkeep.rollup import rollup

        return rollup(self, older_than_days=older_than_days, now=now, dry_run=dry_run)

    def import_(
        self,
        path: str | os.PathLike[str] = "",
        *,
        kind: str = "",
        now: datetime | None = None,
        dry_run: bool = False,
    ) -> types.Import:
        """Bring in what another memory holds, once; a second time only what is new or has changed there.

        `kind` is recognised by the path, and without a path it is looked for where it usually lies; see
        `commonplace.imports.kinds.KINDS`. Folders that are searched where they lie are asked by a memory
        opened afterwards. Raises ConfigError, NoteUnreadable.
        """
        from commonplace.imports import kinds
        from commonplace.upkeep import intake

        reader, place = kinds.chosen(kind, os.fspath(path))
        return intake.carry_out(
            self, reader.name, os.fspath(place), reader.read(place), dry_run=dry_run, show=True, now=now
        )

    def export(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        form: Form | None = None,
        private: bool = False,
        force: bool = False,
    ) -> Export:
        """Return all own notes as one file (`data`), and write it to `path` if that is given.

        The form is `md`, `json` (which `import_` reads) or `zip`; by default as the path ends, or `md`.
        Private parts and secrets are left out unless they are to be kept (`private`); a zip always has them.
        A file that is there is replaced with `force` alone. Raises ConfigError, NoteUnreadable.
        """
        from commonplace.upkeep import export

        target = None if path is None else export.target_of(os.fspath(path))
        exported = export.export(self, form or (export.form_of(target) if target else "md"), private=private)
        if target is not None:
            export.write(self, target, exported, force=force)
        return exported


def _awaited(
    method: Callable[Concatenate[Memory, _Given], _Result],
) -> Callable[Concatenate[AsyncMemory, _Given], Coroutine[Any, Any, _Result]]:
    """Make a coroutine of a method, which runs in a thread."""

    @wraps(method)
    async def call(own: AsyncMemory, /, *args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
        from asyncio import to_thread

        return await to_thread(method, own.memory, *args, **kwargs)

    return call


def _opened(opening: Callable[_Given, Memory]) -> Callable[_Given, AsyncMemory]:
    @wraps(opening)
    def opened(*args: _Given.args, **kwargs: _Given.kwargs) -> AsyncMemory:
        return AsyncMemory(opening(*args, **kwargs))

    return opened


class AsyncMemory:
    """`Memory` for event loops: the same methods, which run in threads.

        async with AsyncMemory.open("notes") as memory:
            result = await memory.search("when do we deploy?")

    `memory` is the `Memory` behind it.
    """

    def __init__(self, memory: Memory) -> None:
        """Wrap a memory; `open` opens one."""
        if not isinstance(memory, Memory):
            raise TypeError(f'AsyncMemory() wraps a Memory; use AsyncMemory.open("{memory}")')
        self.memory = memory

    def __repr__(self) -> str:
        return f"Async{self.memory!r}"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    open = staticmethod(_opened(Memory.open))
    search, recall, ask = _awaited(Memory.search), _awaited(Memory.recall), _awaited(Memory.ask)
    get, get_many = _awaited(Memory.get), _awaited(Memory.get_many)
    notes, timeline, history = _awaited(Memory.notes), _awaited(Memory.timeline), _awaited(Memory.history)
    remember, add, capture = _awaited(Memory.remember), _awaited(Memory.add), _awaited(Memory.capture)
    correct, confirm, forget = _awaited(Memory.correct), _awaited(Memory.confirm), _awaited(Memory.forget)
    undo, log = _awaited(Memory.undo), _awaited(Memory.log)
    summarize, consolidate = _awaited(Memory.summarize), _awaited(Memory.consolidate)
    rollup, import_, export = _awaited(Memory.rollup), _awaited(Memory.import_), _awaited(Memory.export)
    sync, status = _awaited(Memory.sync), _awaited(Memory.status)
    usage, close = _awaited(Memory.usage), _awaited(Memory.close)
