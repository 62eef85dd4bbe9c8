"""What cannot be read, or not as meant, is named by `sync` and by `status` until it holds no more."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.life.conftest import Owner

TURN = {
    "type": "user",
    "uuid": "u",
    "sessionId": "c",
    "message": {"role": "user", "content": "The kite is red."},
}
MENDED = "# Kite\n\nThe kite is red.\n"


def large(owner: Owner) -> Path:
    note = owner.note("memory/large.md", MENDED)
    with note.open("ab") as file:
        file.truncate(65 << 20)
    return note


# How a file is wrong, a word of what is said about it, and a word of the remedy.
WRONG: dict[str, tuple[Callable[[Owner], Path], str, str]] = {
    "latin-1": (lambda o: o.note("memory/latin.md", "# Küche\n\nkite\n".encode("latin-1")), "UTF-8", "save it as UTF-8"),
    "gbk": (lambda o: o.note("memory/gbk.md", "# 风筝\n\nkite\n".encode("gbk")), "UTF-8", "save it as UTF-8"),
    "front matter line": (lambda o: o.note("memory/front.md", "---\ntags: [#a, b]\n---\n# Kite\n"), "YAML", "quotation marks"),
    "front matter too large": (
        lambda o: o.note("memory/big.md", "---\n" + "".join(f"k{n}: {'x' * 9_000}\n" for n in range(30)) + "---\n# Kite\n"),
        "front matter", "shorten"),
    "private part not closed": (lambda o: o.note("memory/open.md", "# Kite\n\n<private>\nkite\n"), "never closed", "</private>"),
    "larger than is read": (large, "larger than", "divide it"),
    "name in latin-1": (lambda o: o.note("memory/" + os.fsdecode(b"k\xfcche.md"), MENDED), "not UTF-8", "rename it"),
    "damaged transcript": (lambda o: o.note("chats/c.jsonl", b"{\n" + json.dumps(TURN).encode() + b"\n"), "line 1", "damaged"),
    "damaged archive": (lambda o: o.note("chats/c.jsonl.gz", b"\x1f\x8b\x08damaged"), "damaged", "copy it again"),
}  # fmt: skip


def said(lines: tuple[str, ...], file: Path) -> list[str]:
    name = os.fsencode(file.name).decode("utf-8", "replace").split("\ufffd")[0]
    return [line for line in lines if f"/{name}" in line]


@pytest.mark.parametrize("kind", WRONG)
def test_it_is_named_until_it_is_mended(owner: Owner, kind: str) -> None:
    make, word, remedy = WRONG[kind]
    (owner.folder / "chats").mkdir()
    owner.note("memory/other.md", "# Other\n\nThe lake is deep.\n")
    owner.note("chats/other.jsonl", json.dumps(TURN).replace("kite", "door"))
    owner.ok("sessions", "follow", owner.folder / "chats", "--name", "talks")
    file, memory = make(owner), owner.memory()
    for _ in range(2):
        report = memory.sync()
        lines = (*report.warnings, *(f"{one.path}: {one.reason}" for one in report.failed))
        for found in (said(lines, file), said(memory.status().warnings, file)):
            (line,) = found
            assert word in line, line
            assert remedy in line, line
        assert memory.search("lake").hits
    if kind in ("latin-1", "larger than is read"):
        err = owner.run("status").err
        assert (err.count(file.name), remedy in err) == (1, True), err
        assert file.name in owner.run("doctor").out
    file.unlink()
    if file.suffix == ".md" and file.name.isascii():
        owner.note(f"memory/{file.name}", MENDED)
    for _ in range(2):
        assert not said(memory.status().warnings, file)
        report = memory.sync()
        assert not said(report.warnings, file)
        assert not report.failed


def test_many_are_counted(owner: Owner) -> None:
    for number in range(40):
        owner.note(f"memory/n{number:02}.md", "# Küche\n".encode("latin-1"))
    memory = owner.memory()
    memory.sync()
    for lines in (memory.sync().warnings, memory.status().warnings):
        told = [line for line in lines if "UTF-8" in line]
        assert 1 <= len(told) <= 20
        assert f"{40 - len(told)} more" in lines[lines.index(told[-1]) + 1]


def test_what_a_search_reads_is_named_as_well(owner: Owner) -> None:
    memory = owner.memory()
    memory.sync()
    file = owner.note("memory/latin.md", "# Küche\n\nThe kite is red.\n".encode("latin-1"))
    assert memory.search("kite").hits
    (line,) = said(memory.status().warnings, file)
    assert "save it as UTF-8" in line


def test_a_status_of_the_page_and_of_agents_names_it(owner: Owner) -> None:
    owner.note("memory/latin.md", "# Küche\n\nkite\n".encode("latin-1"))
    owner.ok("sync")
    assert "latin.md" in json.dumps(owner.serve().get("/api/status"))
    assert "latin.md" in owner.mcp().call("memory_status")


DROP = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="privileges")
@pytest.mark.parametrize("closed", ["memory/kite.md", "memory/deep"])
def test_what_this_user_may_not_read_is_named_once_and_kept(owner: Owner, closed: str) -> None:
    owner.note("memory/kite.md", MENDED)
    owner.note("memory/deep/kite.md", "# Kite\n\nA kite hangs in the barn.\n")
    owner.ok("sync")
    owner.note("memory/kite.md", MENDED + "\nIt flies.\n")  # an unchanged one is not looked into
    (owner.folder / closed).chmod(0)
    ask = "import sys, commonplace\nwith commonplace.Memory.open('.') as m:\n for f in (m.sync, m.status):\n  r = f()\n"
    ask += "  for one in getattr(r, 'failed', ()): print(f.__name__, one.path, one.reason)\n"
    ask += "  for one in r.warnings: print(f.__name__, one)\n"
    ask += " print('hits', sorted(one.path for one in m.search('kite').hits))\n"
    drop = DROP if os.geteuid() == 0 else []
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    done = subprocess.run(
        [*drop, sys.executable, "-c", ask], cwd=owner.folder, capture_output=True, env=environment
    )
    (owner.folder / closed).chmod(0o700)
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 0, done
    for call in ("sync", "status"):
        told = [line for line in lines if line.startswith(call) and closed in line]
        assert len(told) == 1, lines
        assert all("chmod u+r" in line for line in told), lines
    assert "'memory/deep/kite.md', 'memory/kite.md'" in lines[-1], lines
