"""Whether the doors that are installed in clients open: each command is there, starts, and answers."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from commonplace import __version__
from commonplace.base import installation, paths
from commonplace.clients import entries, installing
from commonplace.clients.installing import Standing
from commonplace.render import count, screen
from commonplace.types import Finding

ANSWER_S = 30.0  # a door that answers later is as good as shut: clients wait less
_VERSION = "2025-06-18"  # of the protocol
_ALONE = {"COMMONPLACE_SERVER_START": "never"}  # an examination leaves no server behind
_CLIENT = {"name": "doctor", "version": __version__}
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": _VERSION, "capabilities": {}, "clientInfo": _CLIENT},
}


def answering(environ: Mapping[str, str], project: Path) -> Iterator[Finding]:
    """See that each command written into a client's settings starts and answers as a server or a hook.

    Each command is started once, whatever number of files hold it, and nothing is written into notes.
    Settings of a project may come from somebody else: of theirs only this very program is started.
    """
    standing = installing.standing(installing.site(environ, project))
    for one in standing:
        if one.trouble:
            remedy = f"mend {paths.shown(one.edit.path)}"
            yield Finding(f"clients.{one.target.name}", "warning", one.trouble, remedy)
    installed = [one for one in standing if one.ours and one.edit.what != "skill"]
    if not installed:
        yield Finding(
            "clients.none", "skipped", "installed in no client; `commonplace install --list` shows all"
        )
        return
    commands = {tuple(argv) for one in installed for argv in one.ours.values() if _may_start(one, argv)}
    with ThreadPoolExecutor(4) as pool:
        troubles = dict(zip(commands, pool.map(_trouble, commands), strict=True))
    for one in installed:
        yield _finding(one, troubles)


def _may_start(one: Standing, argv: Sequence[str]) -> bool:
    own = installation.program()
    return one.scope == "user" or list(argv[: len(own)]) == own


def _finding(one: Standing, troubles: Mapping[tuple[str, ...], str]) -> Finding:
    """A finding on one file: what it starts, and whether that answers."""
    check, path = f"clients.{one.target.name}", paths.shown(one.edit.path)
    remedy = f"enter it anew: commonplace -w FOLDER install {one.target.name} --{one.scope}"
    for argv in one.ours.values():
        shown = screen.shorten(screen.one_line(shlex.join(argv)), 160)
        trouble = troubles.get(tuple(argv))
        if trouble is None:
            return Finding(check, "warning", f"{path} starts another program, {shown}: not tried", remedy)
        if trouble:
            return Finding(check, "wrong", f"{path} starts {shown}, which {trouble}", remedy)
    if one.edit.what == "hooks" and (lacking := {hook.event for hook in one.target.events} - set(one.ours)):
        message = f"{path} lacks {count(len(lacking), 'hook')}: {', '.join(sorted(lacking))}"
        return Finding(check, "warning", message, remedy)
    return Finding(check, "ok", f"{one.target.title} ({one.scope}): {one.edit.what} of {path}")


def _trouble(argv: Sequence[str]) -> str:
    """Say what keeps a command from answering; empty where it answers.

    A server is asked to initialize, of a hook only the help: an event would be taken for one.
    """
    folder = argv[argv.index("-w") + 1]
    if shutil.which(argv[0]) is None:
        return "is not there"
    if not os.path.isdir(folder):
        return f"names a workspace that is not there, {paths.shown(folder)}"
    serves = argv[-1] == entries.SERVE
    try:
        done = subprocess.run(
            [*argv] if serves else [*argv, "--help"],
            input=json.dumps(_HELLO).encode() + b"\n" if serves else b"",
            capture_output=True,
            cwd=os.sep,
            env={**installation.environment(), **_ALONE},
            timeout=ANSWER_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"does not answer within {ANSWER_S:.0f} s"
    except OSError as error:
        return f"cannot be started ({paths.reason(error)})"
    if (serves and _is_welcome(done.stdout)) or (not serves and not done.returncode):
        return ""
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"code {done.returncode}"]
    return f"does not answer: {screen.shorten(screen.one_line(lines[-1]), 200)}"


def _is_welcome(output: bytes) -> bool:
    """Whether a line of an output is the answer to `initialize`."""
    for line in output.splitlines():
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        if isinstance(answer, dict) and "result" in answer:
            return True
    return False
