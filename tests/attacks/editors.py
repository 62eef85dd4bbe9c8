"""Real editors that save a note again and again, and what became of every line of either side.

Each editor reads the note, adds a line of its own and saves all of it, as its program does; what it read may
be old by the time it saves. Lines of the editor are `theirs KIND NUMBER`, those of `remember` `ours NAME-NUMBER`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import NamedTuple

from commonplace.base import paths
from commonplace.storage import overwritten

DAY = date(2026, 2, 13)
START = "# 2026-02-13\n\n- 08:00 what stood there first\n- 08:01 and what followed it\n"

# Appends until the file `stop` is there, then says what was acknowledged and what it was warned of.
WRITER = """
import json, os, sys, time
from datetime import datetime
from pathlib import Path
from commonplace.base import paths
from commonplace.notes import layout
workspace, name, stop, pause = paths.Workspace(Path(sys.argv[1])), sys.argv[2], sys.argv[3], float(sys.argv[4])
lines, warnings, failures, longest, number = [], [], [], 0.0, 0
print("up", flush=True)
while not os.path.exists(stop):
    line = f"ours {name}-{number} walnut"
    number += 1
    began = time.perf_counter()
    try:
        written = layout.remember(workspace, line, now=datetime(2026, 2, 13, 12))
        lines.append(line)
        warnings += getattr(written, "warnings", ())
    except Exception as error:
        failures.append(f"{type(error).__name__}: {error}")
    longest = max(longest, time.perf_counter() - began)
    time.sleep(pause)
print(json.dumps({"lines": lines, "warnings": warnings, "failures": failures, "longest": longest}))
"""

_NODE = """
const fs = require('fs');
const [note, saves, pause, gap] = process.argv.slice(1);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
(async () => {
  for (let n = 0; n < +saves; n++) {
    const text = fs.readFileSync(note, 'utf8');
    await sleep(+gap * 1000);
    await new Promise((done, no) => fs.writeFile(note, text + `- theirs node ${n}\\n`, (e) => e ? no(e) : done()));
    await sleep(Math.random() * +pause * 1000);
  }
})();
"""
# A program of Python's own, which truncates, and then writes a piece now and then.
_PIECES = """
import random, sys, time
note, saves, pause, gap = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
for n in range(saves):
    text = open(note).read()
    time.sleep(gap)
    text += f"- theirs pieces {n}\\n"
    with open(note, "w") as file:
        for place in range(4):
            step = len(text) // 4 + 1
            file.write(text[place * step : (place + 1) * step])
            file.flush()
            time.sleep(0.004)
    time.sleep(random.random() * pause)
"""
# Writes beside the note and renames, as many editors do and `sed -i` does.
_RENAME = """
import os, random, sys, time
note, saves, pause, gap = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
for n in range(saves):
    text = open(note).read()
    time.sleep(gap)
    open(note + ".new", "w").write(text + f"- theirs rename {n}\\n")
    os.replace(note + ".new", note)
    time.sleep(random.random() * pause)
"""
_SHELL = {
    "cat": 'text=$(cat "$note"); sleep $gap; printf "%s\\n- theirs cat %s\\n" "$text" $n | cat > "$note"',
    "append": 'echo "- theirs append $n" >> "$note"',
    "cat append": 'printf "%s\\n" "- theirs cat append $n" | cat >> "$note"',
    "sed": 'sed -i "\\$a - theirs sed $n" "$note"',
    "ed": 'printf "%s\\n" \'$a\' "- theirs ed $n" . w q | ed -s "$note"',
}
_LOOP = """
note=$1 saves=$2 pause=$3 gap=$4 n=0
while [ $n -lt $saves ]; do
  {}
  n=$((n + 1)); sleep $pause
done
"""
_VIM = """
let [n, saved] = [0, 0]
while saved < {saves} && n < 9 * {saves}
  edit!
  {gap}
  call append('$', '- theirs {kind} ' . n)
  silent! write!
  if !&modified
    call writefile([n], '{log}', 'a')
    let saved += 1
  endif
  sleep {pause}m
  let n += 1
endwhile
quit!
"""


class Kind(NamedTuple):
    """A kind of editor: the program it needs, and whether what it read is old when it saves."""

    program: str
    stale: bool = True


KINDS = {
    "node": Kind("node"),
    "vim": Kind("vim"),
    "vim copy": Kind("vim"),
    "ed": Kind("ed"),
    "cat": Kind("cat"),
    "append": Kind("sh", stale=False),
    "cat append": Kind("sh", stale=False),
    "sed": Kind("sed"),
    "pieces": Kind(sys.executable),
    "rename": Kind(sys.executable),
}


def editor(kind: str, note: Path, saves: int, pause: float, gap: float) -> list[str]:
    """The command that saves a note so many times, reading it `gap` seconds before; pauses are in seconds."""
    arguments = [str(note), str(saves), str(pause), str(gap)]
    if kind == "node":
        return ["node", "-e", _NODE, *arguments]
    if kind in ("pieces", "rename"):
        return [sys.executable, "-c", _PIECES if kind == "pieces" else _RENAME, *arguments]
    if kind.startswith("vim"):
        script = note.parent.parent / "script.vim"
        waiting = f"sleep {round(gap * 1000)}m" if gap else ""
        log = note.parent.parent / "saved"
        script.write_text(
            _VIM.format(saves=saves, gap=waiting, kind=kind, pause=max(1, round(pause * 500)), log=log)
        )
        copy = ["--cmd", "set backupcopy=yes"] if kind == "vim copy" else []
        # A swap file beside the note is vim's default; without a terminal it would ask about an older one.
        return ["vim", "-es", "-N", "-u", "NONE", "-i", "NONE", *copy, "-S", str(script), str(note)]
    return ["sh", "-c", _LOOP.format(_SHELL[kind]), "sh", str(note), str(saves), str(pause / 2), str(gap)]


@dataclass
class Account:
    """What became of the lines of either side; `lost` are those of which nobody was told."""

    ours: int
    theirs: int
    kept: int
    told: int
    lost: list[str]
    failures: list[str]
    longest: float
    seconds: float
    text: str


def run(
    root: Path, kind: str, saves: int, *, writers: int = 4, pause: float = 0.02, gap: float = 0.0,
    source: Path | None = None,
) -> Account:  # fmt: skip
    """Let an editor save a note `saves` times beside processes that `remember`, and account for every line.

    `gap` is how old at least what the
    editor read is when it saves, in seconds.
    """
    note = root / "memory" / f"{DAY}.md"
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(START)
    stop = root / "stop"
    environ = dict(os.environ) | ({"PYTHONPATH": str(source)} if source else {})
    began = time.perf_counter()
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(root), f"w{number}", str(stop), "0"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ,
        )
        for number in range(writers)
    ]  # fmt: skip
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "up\n", process.communicate()[1]
        done = subprocess.run(
            editor(kind, note, saves, pause, gap), check=False, capture_output=True, text=True,
            timeout=60 + saves, input="y" * 100_000,  # to vim, which asks whether to overwrite what has changed
        )  # fmt: skip
    finally:
        stop.touch()
        said = [process.communicate(timeout=120) for process in processes]
    assert all(process.returncode == 0 for process in processes), said
    reports = [json.loads(out) for out, _ in said]
    told = [warning for report in reports for warning in report["warnings"]]
    code = "import json, sys; from commonplace import Memory\nwith Memory.open(sys.argv[1], overrides={'embedding.provider': 'none'}) as memory: print(json.dumps(memory.sync().warnings))"
    synced = subprocess.run(
        [sys.executable, "-c", code, str(root)], check=True, capture_output=True, text=True, env=environ
    )
    told += json.loads(synced.stdout)
    ours = [line for report in reports for line in report["lines"]]
    failures = [line for report in reports for line in report["failures"]]
    assert done.returncode == 0, done.stderr
    # vim, which asks before it overwrites what it has not read, may save nothing.
    log = root / "saved"
    numbers = log.read_text().split() if log.exists() else range(saves)
    theirs = [f"theirs {kind} {number}" for number in numbers]
    return account(root, note, ours, theirs, told, failures, max(r["longest"] for r in reports), began)


def account(
    root: Path, note: Path, ours: Sequence[str], theirs: Sequence[str], told: Sequence[str],
    failures: list[str], longest: float, began: float,
) -> Account:  # fmt: skip
    """Look for every line in the note, and then in the copies that somebody was told of."""
    text = note.read_text() if note.exists() else ""
    copies = ""
    for copy in overwritten.copies(paths.Workspace(root)):
        if any(copy.name in one for one in told):
            copies += copy.content.decode()
    every = [*START.split("\n")[2:-1], *ours, *theirs]
    standing, copied = _lines(text), _lines(copies)
    missing = [line for line in every if _plain(line) not in standing]
    lost = [line for line in missing if _plain(line) not in copied]
    return Account(
        len(ours), len(theirs), len(every) - len(missing), len(missing) - len(lost), lost, failures, longest,
        time.perf_counter() - began, text,
    )  # fmt: skip


def _lines(text: str) -> set[str]:
    return {_plain(line) for line in text.split("\n")}


def _plain(line: str) -> str:
    return re.sub(r"^(- )?(\d\d:\d\d )?", "", line)


def missing(kind: str) -> str:
    """Why a kind of editor cannot be tried here, or an empty text."""
    program = KINDS[kind].program
    return "" if shutil.which(program) else f"{program} is not installed"


if __name__ == "__main__":  # python -m tests.attacks.editors SOURCE SAVES [KIND...]
    import tempfile

    for kind in sys.argv[3:] or KINDS:
        with tempfile.TemporaryDirectory() as folder:
            made = run(
                Path(folder), kind, int(sys.argv[2]), source=Path(sys.argv[1]),
            )  # fmt: skip
        lost = {side: sum(line.startswith(side) for line in made.lost) for side in ("ours", "theirs")}
        print(
            f"{kind:11} ours {made.ours:5} theirs {made.theirs:4} kept {made.kept:5} told {made.told:4} "
            f"lost {len(made.lost):4} {lost} failures {len(made.failures)} {made.failures[:1]} longest {made.longest:.2f} s, {made.seconds:.1f} s",
            flush=True,
        )
