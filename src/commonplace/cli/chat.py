"""`chat` and `sessions …`: conversations with a model that has this memory, and their transcripts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace import config
from commonplace.base.errors import NoModel
from commonplace.cli import failures, session
from commonplace.cli.options import Group, command, completed, format_option, option
from commonplace.config import AGENT_VARIABLE
from commonplace.config.settings import AUTO, TRANSCRIPTS
from commonplace.memory import Memory
from commonplace.render import reports, screen
from commonplace.types.data import to_data
from commonplace.upkeep import following

if TYPE_CHECKING:
    from commonplace.agent.loop import AgentLoop
    from commonplace.agent.tools import Tool
    from commonplace.providers.llm.client import Client

HELP = "/new begins another session, /quit or the end of input ends the chat; Ctrl-C stops an answer"


@command("chat")
@option("--model", metavar="M", help="The language model, as MODEL or PROVIDER/MODEL.")
@option("--base-url", metavar="URL", help="Where it is, for a server that speaks OpenAI's chat completions.")
@option("--session", "name", metavar="ID", help="Go on with this session, or begin one of this name.")
@option("--once", "message", metavar="MESSAGE", help="Answer one message, and end.")
@click.pass_context
def chat(
    ctx: click.Context, model: str | None, base_url: str | None, name: str | None, message: str | None
) -> None:
    """Talk to a language model that has this memory.

    What is remembered about a message goes with it, the model may search and write further notes, what it
    does is noted, and the session is kept in sessions/ID.jsonl. A message is a line; /help tells the rest.
    """
    from commonplace.providers import selection
    from commonplace.providers.opening import open_llm

    agent = session.agent(ctx)
    settings = config.load(session.root_for_settings(ctx), agent=agent)
    overrides = selection.llm_overrides(settings.llm, model, base_url)
    memory = Memory.open(session.workspace(ctx), overrides=overrides, agent=agent)
    ctx.call_on_close(memory.close)
    # No answer of a conversation is kept for others; the transcript has them anyway.
    llm = open_llm(memory.workspace, memory.settings, cached=False)
    if llm is None:
        raise NoModel("a chat")
    talk = _Talk(memory, llm, os.environ.get(AGENT_VARIABLE, "") if agent is None else agent)
    if talk.run(name or "", [message] if message is not None else _lines()):
        ctx.exit(failures.ERROR)


class _Talk:
    """One conversation after another, and what of them is shown."""

    def __init__(self, memory: Memory, llm: Client, agent: str) -> None:
        self._memory, self._llm, self._agent = memory, llm, agent
        self._open = False  # whether a line of an answer has begun

    def run(self, name: str, messages: Iterator[str] | list[str]) -> bool:
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

        loop = AgentLoop(
            self._memory,
            self._llm,
            session=name,
            agent=self._agent,
            show=self._show,
            approve=self._approve if session.can_ask() else None,
        )
        loop.start()
        session.note(f"session {loop.session} · {self._llm.name} · /help")
        return loop

    def _show(self, kind: str, text: str) -> None:
        """Print what the model says, and what else happens as dim lines between it."""
        if kind == "text":
            self._open = True
            sys.stdout.write(screen.clean(text))
            sys.stdout.flush()
            return
        self._end_line()
        session.note(screen.shorten(screen.one_line(f"{kind}: {text}"), 200))

    def _approve(self, tool: Tool, preview: str) -> bool:
        """Show what a model wants done that cannot be taken back, and ask."""
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
    from contextlib import suppress

    with suppress(ImportError):  # with readline, a line can be edited and called back
        import readline  # noqa: F401
    while True:
        try:
            yield input("> ").strip()
        except EOFError:
            session.note("")
            return


@command("follow")
@click.argument("place", metavar="PATH", shell_complete=completed("files"))
@option(
    "--format",
    "kind",
    type=click.Choice((AUTO, *TRANSCRIPTS)),
    default=AUTO,
    show_default=True,
    help="Whose transcripts they are; auto: each file tells.",
)
@option("--name", default="", metavar="N", help="Name of the collection; the folder's own unless given.")
@click.pass_context
def follow(ctx: click.Context, place: str, kind: str, name: str) -> None:
    """Make the transcripts of a folder, or one file or archive, searchable where they lie.

    Nothing is copied and nothing of theirs is written to. A search reads a transcript again when it has
    grown by some size or has rested for a while (settings sessions.*), `commonplace sync` always.
    """
    added = following.follow(Path(session.writable_root(ctx)), place, name=name, kind=kind)
    session.write(f"following {added.path} as {added.name}; `commonplace sync` reads it")


@command("list")
@format_option(("text", "json"))
@click.pass_context
def list_(ctx: click.Context, form: str) -> None:
    """List the sessions, those written to last first: id, format, when, turns or size, title."""
    listed = following.sessions(session.open_memory(ctx))
    times = [datetime.fromtimestamp(one.written).isoformat(timespec="minutes") for one in listed]
    rows = [
        [
            screen.one_line(one.id), one.format or "unknown", when.replace("T", " "),
            reports.extent(one.size, one.turns), screen.one_line(one.title),
        ]
        for one, when in zip(listed, times, strict=True)
    ]  # fmt: skip
    data = [to_data(one) | {"written": when} for one, when in zip(listed, times, strict=True)]
    session.answer(form, data, lambda: "\n".join(screen.table(rows, right=(3,))) or "no transcripts")


@command("show")
@click.argument("name", metavar="ID", shell_complete=completed("sessions"))
@option("--last", type=click.IntRange(1), metavar="N", help="Only the last N messages.")
@format_option(("text", "json"))
@click.pass_context
def show(ctx: click.Context, name: str, last: int | None, form: str) -> None:
    """Print the messages of a transcript, private parts and secrets left out."""
    memory = session.open_memory(ctx)
    messages = following.read(memory, name, last)
    data = [{"line": one.line, **to_data(one.turn)} for one in messages]
    if messages:
        session.answer(form, data, lambda: "\n\n".join(map(_text, messages)), memory.settings)
    else:
        session.answer(form, data, lambda: "no messages")


@command("unfollow")
@click.argument("name")
@click.pass_context
def unfollow(ctx: click.Context, name: str) -> None:
    """Search a collection's transcripts no longer; the files are not touched."""
    following.unfollow(Path(session.writable_root(ctx)), name)
    session.write(f"unfollowed {name}; its files are untouched")


def _text(one: following.Place) -> str:
    who = f"{one.turn.role} {one.turn.tool}".strip()
    calls = [f"  → {call.name} {call.arguments}" for call in one.turn.calls]
    head = " · ".join(filter(None, [f"L{one.line}" if one.line else "", who, one.turn.at]))
    return screen.clean("\n".join(filter(None, [head, one.turn.text, *calls])))


sessions = Group(
    "sessions",
    commands=(follow, list_, show, unfollow),
    help="Transcripts of conversations, searched where they lie.",
)
