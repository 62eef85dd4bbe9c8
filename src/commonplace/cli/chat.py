"""`chat` and `sessions …`: conversations with a model that has this memory, and transcripts."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace.base.errors import NoModel
from commonplace.cli import failures, session
from commonplace.cli.options import Group, argument, command, option
from commonplace.config.settings import AUTO, TRANSCRIPTS
from commonplace.render import reports, screen
from commonplace.types.data import to_data
from commonplace.upkeep import following

if TYPE_CHECKING:
    from collections.abc import Mapping

    from commonplace.agent.loop import AgentLoop
    from commonplace.agent.tools import Tool
    from commonplace.config import Settings
    from commonplace.memory import Memory
    from commonplace.providers.llm.client import Client

HELP = "/new begins another session, /quit or the end of input ends the chat; Ctrl-C stops an answer"


@command("chat")
@option("--model", metavar="M", help="The language model, as MODEL or PROVIDER/MODEL.")
@option("--base-url", metavar="URL", help="Its address, for a server of OpenAI's chat completions.")
@option("--session", "name", metavar="ID", help="Continue this session, or begin one of this name.")
@option("--once", "message", metavar="MESSAGE", help="Answer one message, and end.")
def chat(
    ctx: click.Context, model: str | None, base_url: str | None, name: str | None, message: str | None
) -> None:
    """Talk to a language model that has this memory.

    Memory about a message goes with it, the model may search and write further notes, and the session is kept
    in sessions/ID.jsonl. A message is a line; /help lists the commands.
    """
    from commonplace.providers import opening, selection

    def change(settings: Settings) -> Mapping[str, object]:
        return selection.llm_overrides(settings.llm, model, base_url)

    session.workspace(ctx)  # one alone
    memory = session.open_memories(ctx, change)
    # No answer of a conversation is kept for others; the transcript has them anyway.
    llm = opening.open_llm(memory.workspace, memory.settings, cached=False)
    if llm is None:
        raise NoModel("a chat")
    talk = _Talk(memory, llm, session.asking_agent(ctx))
    if talk.run(name or "", [message] if message is not None else _lines()):
        ctx.exit(failures.ERROR)


class _Talk:
    """One conversation after another, and their display."""

    def __init__(self, memory: Memory, llm: Client, agent: str) -> None:
        self._memory, self._llm, self._agent = memory, llm, agent
        self._open = False  # whether a line of an answer has begun

    def run(self, name: str, messages: Iterable[str]) -> bool:
        """Answer messages until they end; tell whether the last one could not be answered."""
        failed, loop = False, self._begin(name)
        try:
            for message in messages:
                if message == "/quit":
                    break
                if message == "/new":
                    loop.close()
                    loop = self._begin("")
                elif message.startswith("/") and message[1:].isalpha():
                    session.note(HELP if message == "/help" else f"{message} is no command; {HELP}")
                elif message.strip():
                    reply = loop.respond(message)
                    self._end_line()
                    if reply.stopped:
                        session.note("stopped")
                    if reply.error:
                        failures.warn(f"error: {reply.error}")
                    failed = bool(reply.error)
        finally:
            loop.close()
        return failed

    def _begin(self, name: str) -> AgentLoop:
        from commonplace.agent.loop import AgentLoop

        approve = self._approve if session.can_ask() else None
        loop = AgentLoop(
            self._memory, self._llm, session=name, agent=self._agent, show=self._show, approve=approve
        )  # fmt: skip
        loop.start()
        session.note(f"session {loop.session} · {self._llm.name} · /help")
        return loop

    def _show(self, kind: str, text: str) -> None:
        """Print the words of the model, and other events as dim lines between them."""
        if kind == "text":
            self._open = True
            sys.stdout.write(screen.clean(text))
            sys.stdout.flush()
            return
        self._end_line()
        session.note(screen.shorten(screen.one_line(f"{kind}: {text}"), 200))

    def _approve(self, tool: Tool, preview: str) -> bool:
        """Preview an action of a model that cannot be undone, and ask."""
        self._end_line()
        session.note(screen.clean(preview))
        try:
            said = input(f"{tool.name}: do this, for good? [y/N] ")
        except EOFError:
            return False
        return said.strip().lower() in ("y", "yes")

    def _end_line(self) -> None:
        if self._open:
            sys.stdout.write("\n")
            sys.stdout.flush()
        self._open = False


def _lines() -> Iterator[str]:
    """Yield typed lines, with a prompt, on a terminal; otherwise the lines of standard input."""
    if sys.stdin is None:
        return
    if not session.is_terminal(sys.stdin):
        for line in sys.stdin.buffer:
            yield line.decode("utf-8-sig", "replace").strip()
        return
    with suppress(ImportError):  # with readline, a line can be edited and called back
        import readline  # noqa: F401
    while True:
        try:
            yield input("> ").strip()
        except EOFError:
            session.note("")
            return


# --- sessions -------------------------------------------------------------------------------------------


@command("follow")
@argument("place", "PATH", "files")
@option(
    "--format", "kind", type=click.Choice((AUTO, *TRANSCRIPTS)), default=AUTO, show_default=True,
    help="The format of the transcripts; auto: recognised for each file.",
)  # fmt: skip
@option("--name", default="", metavar="N", help="Name of the collection; the folder's own unless given.")
def follow(ctx: click.Context, place: str, kind: str, name: str) -> None:
    """Make the transcripts of a folder, or one file or archive, searchable in their place.

    No file is copied or changed. A search reads a transcript again after it has grown
    by some size or has rested for a while (settings sessions.*), `commonplace sync` always.
    """
    added = following.follow(Path(session.writable_root(ctx)), place, name=name, kind=kind)
    session.write(f"following {added.path} as {added.name}; `commonplace sync` reads it")


@command("list", answers=True)
def list_(ctx: click.Context, form: str) -> None:
    """List the sessions, the newest first: id, format, time, turns or size, title."""
    listed = following.sessions(session.open_memory(ctx))
    times = [datetime.fromtimestamp(one.written).isoformat(timespec="minutes") for one in listed]
    pairs = [*zip(listed, times, strict=True)]
    rows = [
        (screen.one_line(one.id), one.format or "unknown", when.replace("T", " "),
         reports.extent(one.size, one.turns), screen.one_line(one.title))
        for one, when in pairs
    ]  # fmt: skip
    data = [to_data(one) | {"written": when} for one, when in pairs]
    session.answer(form, data, lambda: "\n".join(screen.table(rows, right=(3,))) or "no transcripts")


@command("show", answers=True)
@argument("name", "ID", "sessions")
@option("--last", type=click.IntRange(1), metavar="N", help="Only the last N messages.")
def show(ctx: click.Context, name: str, last: int | None, form: str) -> None:
    """Print the messages of a transcript, private parts and secrets left out."""
    memory = session.open_memory(ctx)
    messages = following.read(memory, name, last)
    data = [{"line": one.line, **to_data(one.turn)} for one in messages]
    text = "\n\n".join(map(_text, messages)) or "no messages"
    session.answer(form, data, lambda: text, memory.settings if messages else None)


@command("unfollow")
@argument("name")
def unfollow(ctx: click.Context, name: str) -> None:
    """Search a collection's transcripts no longer; the files are not touched."""
    following.unfollow(Path(session.writable_root(ctx)), name)
    session.write(f"unfollowed {name}; its files are untouched")


def _text(one: following.MessageLine) -> str:
    who = f"{one.turn.role} {one.turn.tool}".strip()
    calls = [f"  → {call.name} {call.arguments}" for call in one.turn.calls]
    head = " · ".join(filter(None, [f"L{one.line}" if one.line else "", who, one.turn.at]))
    return screen.clean("\n".join(filter(None, [head, one.turn.text, *calls])))


sessions = Group(
    "sessions", commands=(follow, list_, show, unfollow),
    help="Transcripts of conversations, searched in their place.",
)  # fmt: skip
