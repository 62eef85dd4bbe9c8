"""Check the commands installed in clients: each exists, starts and answers."""

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
from commonplace.base.messages import message
from commonplace.clients import entries, installing
from commonplace.clients.installing import Standing
from commonplace.render import screen
from commonplace.types import Finding

ANSWER_S = 30.0  # seconds; a later answer counts as a failure: clients wait less
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

    Start each command once, however many files hold it, and write no notes. Settings of a project may have a
    foreign author: from those, start this very program only.
    """
    standing = installing.standing(installing.site(environ, project))
    for one in standing:
        if one.trouble:
            remedy = message("clients.mend", "mend {file}", file=paths.shown(one.edit.path))
            yield Finding(f"clients.{one.target.name}", "warning", one.trouble, remedy)
    installed = [one for one in standing if one.ours and one.edit.what != "skill"]
    if not installed:
        yield Finding(
            "clients.none",
            "skipped",
            message("clients.none", "installed in no client; `commonplace install --list` shows all"),
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
    command = f"commonplace -w FOLDER install {one.target.name} --{one.scope}"
    remedy = message("clients.anew", "enter it anew: {command}", command=command)
    for argv in one.ours.values():
        shown = screen.shorten(screen.one_line(shlex.join(argv)), 160)
        trouble = troubles.get(tuple(argv))
        if trouble is None:
            other = "{file} starts another program, {program}: not tried"
            return Finding(
                check, "warning", message("clients.other", other, file=path, program=shown), remedy
            )
        if trouble:
            told = message("clients.silent", "{file} starts {program}, which {trouble}",
                           file=path, program=shown, trouble=trouble)  # fmt: skip
            return Finding(check, "wrong", told, remedy)
    if one.edit.what == "hooks" and (lacking := {hook.event for hook in one.target.events} - set(one.ours)):
        told = message("clients.lacks", "{file} lacks {n:hook}: {hooks}",
                       file=path, n=len(lacking), hooks=tuple(sorted(lacking)))  # fmt: skip
        return Finding(check, "warning", told, remedy)
    told = message("clients.fine", "{client} ({scope}): {what} of {file}",
                   client=one.target.title, scope=one.scope, what=one.edit.what, file=path)  # fmt: skip
    return Finding(check, "ok", told)


def _trouble(argv: Sequence[str]) -> str:
    """Return why a command does not answer; empty if it answers.

    Send `initialize` to a server; run a hook with --help only, as it would process an event.
    """
    folder = argv[argv.index("-w") + 1]
    if shutil.which(argv[0]) is None:
        return message("client.gone", "is not there")
    if not os.path.isdir(folder):
        gone = "names a workspace that is not there, {folder}"
        return message("client.workspace", gone, folder=paths.shown(folder))
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
        return message("client.slow", "does not answer within {seconds:.0f} s", seconds=ANSWER_S)
    except OSError as error:
        return message("client.unstarted", "cannot be started ({reason})", reason=paths.reason(error))
    if (serves and _is_welcome(done.stdout)) or (not serves and not done.returncode):
        return ""
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"code {done.returncode}"]
    last = screen.shorten(screen.one_line(lines[-1]), 200)
    return message("client.silent", "does not answer: {what}", what=last)


def _is_welcome(output: bytes) -> bool:
    """Return True if a line of an output is the answer to `initialize`."""
    for line in output.splitlines():
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        if isinstance(answer, dict) and "result" in answer:
            return True
    return False
