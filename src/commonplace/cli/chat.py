"""`chat`: a plain conversation on the terminal, or line by line through a pipe, with the memory behind it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import click

from commonplace.cli import failures, session
from commonplace.cli.options import command, option

if TYPE_CHECKING:
    from commonplace.agent.loop import AgentLoop
    from commonplace.llm.client import Client
    from commonplace.memory import Memory

HELP = "/new begins another session, /quit or the end of input ends the chat; Ctrl-C stops an answer"
_NO_MODEL = "a chat needs a language model: --base-url and --model name one, `commonplace models use --llm` sets one"


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
    memory = _memory(ctx, model, base_url)
    llm = _llm(memory)
    talk = _Talk(memory, llm, session.agent(ctx) or "")
    failed = talk.run(name or "", [message] if message is not None else _lines())
    if failed:
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
                elif message.startswith("/"):
                    session.note(HELP if message == "/help" else f"{message.split()[0]} is no command; {HELP}")
                elif message.strip():
                    failed = self._answer(loop, message)
        finally:
            loop.close()
        return failed

    def _begin(self, name: str) -> AgentLoop:
        from commonplace.agent.loop import AgentLoop

        loop = AgentLoop(self._memory, self._llm, session=name, agent=self._agent, show=self._show)
        loop.start()
        session.note(f"session {loop.session} · {self._llm.name} · /help")
        return loop

    def _answer(self, loop: AgentLoop, message: str) -> bool:
        reply = loop.respond(message)
        self._end_line()
        if reply.stopped:
            session.note("stopped")
        if reply.error:
            failures.warn(f"error: {reply.error}")
        return bool(reply.error)

    def _show(self, kind: str, text: str) -> None:
        """Print pieces of an answer as they come, and what else happens as dim lines between them."""
        from commonplace import screen

        if kind == "text":
            self._open = True
            sys.stdout.write(screen.clean(text))
            sys.stdout.flush()
            return
        self._end_line()
        session.note(screen.shorten(screen.one_line(f"{kind}: {text}"), 200))

    def _end_line(self) -> None:
        if self._open:
            session.write("\n".rstrip("\n") or "")
            sys.stdout.write("\n")
            sys.stdout.flush()
        self._open = False


def _lines() -> Iterator[str]:
    """What is typed, with a prompt on a terminal; otherwise the lines of standard input."""
    if sys.stdin is None:
        return
    if not session.is_terminal(sys.stdin):
        for line in sys.stdin.buffer:
            yield line.decode("utf-8-sig", "replace").strip()
        return
    from contextlib import suppress

    with suppress(ImportError):  # where there is one, a line can be edited and called back
        import readline  # noqa: F401
    while True:
        try:
            yield input("> ").strip()
        except EOFError:
            session.note("")
            return


def _memory(ctx: click.Context, model: str | None, base_url: str | None) -> Memory:
    """Open the workspace, with the model that the options name in the place of the one that is set."""
    from commonplace import config
    from commonplace.memory import Memory

    settings = config.load(session.root_for_settings(ctx), agent=session.agent(ctx))
    memory = Memory.open(
        session.workspace(ctx),
        overrides=_overrides(settings.llm.provider, model, base_url),
        agent=session.agent(ctx),
    )
    ctx.call_on_close(memory.close)
    return memory


def _overrides(provider: str, model: str | None, base_url: str | None) -> Mapping[str, object]:
    """The settings that options stand for; one provider's model and address are not another's."""
    from commonplace.llm import registry

    named, _, rest = (model or "").partition("/")
    chosen = provider
    if rest and named in registry.names():
        chosen, model = named, rest
    elif base_url and provider == "none":
        chosen = "compatible"
    found: dict[str, object] = {}
    if chosen != provider:
        found = {"llm.provider": chosen, "llm.model": "", "llm.base_url": ""}
    return found | {
        key: value for key, value in (("llm.model", model), ("llm.base_url", base_url)) if value is not None
    }


def _llm(memory: Memory) -> Client:
    """The language model; no answer of a conversation is kept, and the transcript has them anyway."""
    from commonplace.embedding import configured
    from commonplace.errors import ConfigError
    from commonplace.llm.opening import open_llm

    llm = open_llm(memory.workspace, memory.settings, breaker=configured.breaker())
    if llm is None:
        raise ConfigError("llm.provider", _NO_MODEL)
    return llm
