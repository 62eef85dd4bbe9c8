"""A program of the owner's as a model: the prompt goes to its standard input, the answer is what it prints.

The program is a list of arguments from the owner's settings and never passes a shell. It runs in a process
group of its own, which is killed as a whole when the deadline comes.
"""

from __future__ import annotations

import codecs
import subprocess
import threading
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from pathlib import PurePath

from commonplace.base import paths, tokens
from commonplace.base.deadline import Deadline
from commonplace.base.errors import ConfigError, ProviderError
from commonplace.providers import attempts, program
from commonplace.providers.catalog import Spec
from commonplace.providers.llm import schemas
from commonplace.providers.llm.base import Completion, Request, counted
from commonplace.providers.refusals import Unanswered

MAX_OUTPUT_BYTES = 4_000_000
_MAX_LINE_BYTES = 2000  # of what it says on standard error
_NAMES = {"system": "System", "user": "User", "assistant": "Assistant", "tool": "Tool"}


class CommandModel:
    """A model that is a program."""

    provider = "command"
    calls_tools = False  # a program has one way in and one way out

    def __init__(self, spec: Spec) -> None:
        """Take the program and its arguments. Raises ConfigError if there are none."""
        if not spec.command or not spec.command[0]:
            raise ConfigError(
                "llm.command", 'needs a program, such as ["my-model", "--quiet"], in your own config.toml'
            )
        self._command = spec.command
        self.name = spec.model or PurePath(spec.command[0]).name

    @property
    def fingerprint(self) -> str:
        """The program with its arguments."""
        return f"command:{self._command!r}:{self.name}"

    def answer(self, request: Request) -> Completion:
        """Run the program once. Raises ProviderError."""
        return attempts.drained(self.stream(request))

    def stream(self, request: Request) -> Generator[str, None, Completion]:
        """Run the program and yield what it prints as it comes. Raises ProviderError."""
        if request.tools:
            raise ConfigError("llm.provider", "a command cannot call tools; choose another provider")
        deadline = Deadline(request.deadline_s)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        parts: list[str] = []
        room = 4 * request.max_tokens
        program = _Program(self.name, self._command, written(request).encode("utf-8", "replace"))
        try:
            for data in attempts.relayed(self.provider, program.output, deadline):
                parts.append(decoder.decode(data))
                yield parts[-1]
                room -= tokens.quarters(parts[-1])
                if room < 0:  # the program does not know how much it may say
                    break
            else:
                program.end(deadline)
        finally:
            program.kill()
        parts.append(decoder.decode(b"", final=True))
        finish = "length" if room < 0 else "stop"
        return counted(Completion("".join(parts).strip(), self.name, finish=finish), request)


class _Program:
    """A running program, fed and listened to by threads, so that no full pipe stops it or this process."""

    def __init__(self, name: str, command: Sequence[str], prompt: bytes) -> None:
        self._name = name
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                bufsize=0,
            )
        except (OSError, ValueError) as error:
            reason = paths.reason(error) if isinstance(error, OSError) else str(error)
            message = f"{paths.shown(command[0])} cannot be started: {reason}"
            raise ProviderError("command", message, permanent=True) from error
        self._said: deque[bytes] = deque(maxlen=2)
        self._listener = threading.Thread(target=self._listen, name="commonplace-command", daemon=True)
        self._listener.start()
        threading.Thread(target=self._feed, args=(prompt,), name="commonplace-command", daemon=True).start()

    def output(self) -> Iterator[bytes]:
        """Yield what it prints. Raises ProviderError for too much of it."""
        assert self._process.stdout
        size = 0
        with suppress(OSError, ValueError):  # closed by `kill` while it was waited for
            while data := self._process.stdout.read(65_536):
                size += len(data)
                if size > MAX_OUTPUT_BYTES:
                    message = f"{self._name} printed more than {MAX_OUTPUT_BYTES / 1e6:g} MB"
                    raise ProviderError("command", message, permanent=True)
                yield data

    def end(self, deadline: Deadline) -> None:
        """Wait until it has ended. Raises ProviderError if that was not well, or not in time."""
        try:
            code = self._process.wait(min(deadline.left_s(), program.LEAVING_S))
        except subprocess.TimeoutExpired:
            raise Unanswered("command", f"{self._name} ended its answer and not itself") from None
        if code:
            self._listener.join(program.LEAVING_S)
            last = self._said[-1][-_MAX_LINE_BYTES:] if self._said else b""
            raise ProviderError("command", f"{self._name} {program.failure(code, last)}")

    def kill(self) -> None:
        """End it with all its children, and let go of its pipes."""
        program.end(self._process)
        self._listener.join(program.LEAVING_S)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            with suppress(OSError, ValueError):
                if pipe:
                    pipe.close()

    def _listen(self) -> None:
        """Keep the last line of standard error with something on it."""
        assert self._process.stderr
        with suppress(OSError, ValueError):
            rest = b""
            while data := self._process.stderr.read(4096):
                *lines, rest = (rest + data).split(b"\n")
                self._said.extend(line for line in lines if line.strip())
                rest = rest[-_MAX_LINE_BYTES:]
            if rest.strip():
                self._said.append(rest)

    def _feed(self, prompt: bytes) -> None:
        """Write the prompt; a program that does not read all of it may have its reasons."""
        assert self._process.stdin
        with suppress(OSError, ValueError):
            rest = memoryview(prompt)
            while rest:
                rest = rest[self._process.stdin.write(rest) :]
            self._process.stdin.close()


def written(request: Request) -> str:
    """Write a conversation as one text: a single message as it is, several under their speakers' names."""
    texts = [message.content for message in request.messages]
    if len(texts) > 1:
        texts = [f"{_NAMES[m.role]}:\n{m.content}" for m in request.messages]
    if request.schema is not None:
        texts.append(schemas.instruction(request.schema))
    return "\n\n".join(texts) + "\n"
