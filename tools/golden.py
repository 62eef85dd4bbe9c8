"""Show that a rebuild of the source tree changes nothing: record what it does, compare two records.

    python tools/golden.py record OUT [--tree PATH] [--only SECTION,...] [--jobs N] [--bench DIR | --own]
    python tools/golden.py compare OUT_A OUT_B [--signed FILE]

`record` runs a source tree (PATH, otherwise this repository) and writes what it answers, one file an item, into
OUT/SECTION/; times, paths and random ids are taken out. Record the tree before the change once (`record
/tmp/golden/base --tree OLD`), then your own as often as you like (`record /tmp/golden/mine --only commands`), and
compare: a difference is shown item by item and ends with 1. `--signed FILE` names the items, a line each
(`commands/demo-01*`; `#` begins a comment), that are meant to differ. Numbers may differ by 1e-9.

Sections: index (tables, tokens and vectors of indexes), redact (what is redacted in every corpus), search (hits,
scores, recalled blocks), commands (command line, MCP, HTTP: output, exit code, files), edits (forgetting,
corrections, confirmations, undo), lifecycle (consolidation, rollups, summaries, conflicts). Each takes 10 to 90 s
of one core; `--jobs 2` runs two at once. `--match GLOB` keeps to some commands (`small-00*`); what those left out
would have written is missing then, so such records compare with each other only.

DIR holds evaluation data (otherwise COMMONPLACE_BENCH; `--own` does without and uses the repository's inputs alone).
It is not ours to publish: records stay outside of the repository. Only records made with the same DIR compare.

What has no stable door (command line, `commonplace.Memory`, the index file) stands in DOORS of golden/shell.py:
add a new place in front of the old one. The tree's own `.venv` runs it, if it has one, otherwise this Python.
"""

from __future__ import annotations

import argparse
import difflib
import fcntl
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECTIONS = ("index", "redact", "search", "commands", "edits", "lifecycle")
TOLERANCE = 1e-9
START = "1781085600"  # seconds; the clock of every section, see golden/clock.py
_SLOTS = 50
_MOST_LINES = 60  # of a difference that are shown
_NUMBER = re.compile(r"-?\d+\.\d+(?:[eE]-?\d+)?|-?\d+[eE]-?\d+")


@contextmanager
def slot() -> Iterator[Path]:
    """A folder of our own to work in, whose path is the same whenever nobody else is at work."""
    for number in range(_SLOTS):
        base = Path(f"/tmp/golden-{number:02d}")
        with open(f"{base}.lock", "a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            shutil.rmtree(base, ignore_errors=True)
            base.mkdir()
            try:
                yield base
            finally:
                shutil.rmtree(base, ignore_errors=True)
            return
    raise SystemExit("golden: every working folder is in use")


def environment(base: Path, tree: Path) -> dict[str, str]:
    """The environment of a section: nothing of whoever starts it."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("COMMONPLACE_", "XDG_", "PYTHON", "GOLDEN_", "LC_", "GIT_"))
    }
    homes = {
        f"XDG_{name}_HOME": str(base / "home" / name.lower()) for name in ("CONFIG", "CACHE", "DATA", "STATE")
    }
    return {
        **kept, **homes, "HOME": str(base / "home"), "TZ": "UTC", "LANG": "C.UTF-8", "GOLDEN_NOW": START, "NO_COLOR": "1",
        "PYTHONPATH": f"{tree / 'src'}:{HERE / 'golden' / 'site'}", "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1", "PYTHONPYCACHEPREFIX": f"/tmp/golden-compiled-{os.getuid()}",
    }  # fmt: skip


def record(out: Path, tree: Path, sections: list[str], jobs: int, bench: Path | None, match: str) -> int:
    """Record sections of a tree, a process each; return how many failed."""
    python = tree / ".venv/bin/python"
    waiting, running, failed = list(sections), [], 0
    while waiting or running:
        while waiting and len(running) < jobs:
            name = waiting.pop(0)
            held = slot()
            base = held.__enter__()
            (base / "home").mkdir()
            command = [
                python if python.exists() else sys.executable,
                HERE / "golden/section.py",
                name,
                out,
                tree,
                base,
                bench or "",
                match,
            ]
            child = subprocess.Popen(list(map(str, command)), env=environment(base, tree), cwd=base)
            running.append((name, child, held, time.monotonic()))
        time.sleep(0.1)
        for one in [one for one in running if one[1].poll() is not None]:
            running.remove(one)
            name, child, held, since = one
            held.__exit__(None, None, None)
            items = len(list((out / name).glob("*.txt"))) if (out / name).is_dir() else 0
            print(
                f"{name}: {items} items, {time.monotonic() - since:.0f} s"
                + (f", FAILED with {child.returncode}" if child.returncode else ""),
                flush=True,
            )
            failed += child.returncode != 0
    return failed


# --- comparing ------------------------------------------------------------------------------------------


def same(one: str, other: str) -> bool:
    """Whether two lines are the same but for tiny differences of numbers."""
    if one == other:
        return True
    if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return all(abs(float(a) - float(b)) <= TOLERANCE for a, b in pairs)


def differences(a: str, b: str) -> list[str]:
    """What differs between two items, as lines of a diff; nothing if nothing does."""
    old, new = a.split("\n"), b.split("\n")
    if len(old) == len(new):
        new = [left if same(left, right) else right for left, right in zip(old, new, strict=True)]
    return list(difflib.unified_diff(old, new, "a", "b", n=1, lineterm=""))[2:] if old != new else []


def compare(a: Path, b: Path, signed: list[str]) -> int:
    """Print what differs between two records; return how many items do that nobody signed."""
    shared = sorted(
        {path.name for path in a.iterdir() if path.is_dir()}
        & {path.name for path in b.iterdir() if path.is_dir()}
    )
    names = sorted(
        {
            str(path.relative_to(root))
            for root in (a, b)
            for section in shared
            for path in (root / section).glob("*.txt")
        }
    )
    differing = 0
    for name in names:
        item = name.removesuffix(".txt")
        texts = [
            (root / name).read_bytes().decode("utf-8", "surrogateescape") if (root / name).exists() else None
            for root in (a, b)
        ]
        shown = [f"only in {(a, b)[texts[0] is None]}"] if None in texts else differences(*texts)
        if not shown:
            continue
        is_signed = any(fnmatch.fnmatch(item, pattern) for pattern in signed)
        differing += not is_signed
        print(f"=== {item}" + (" (signed)" if is_signed else ""))
        text = "\n".join(
            shown[:_MOST_LINES]
            + ([f"… {len(shown) - _MOST_LINES} more lines"] if len(shown) > _MOST_LINES else [])
        )
        print(text.encode("utf-8", "backslashreplace").decode())
    print(
        f"{len(names)} items of {', '.join(shared) or 'no section'}: {differing} differ"
        + (" beside those that are signed" if signed else "")
    )
    return differing if shared else 1


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("out", type=Path)
    recording.add_argument("--tree", type=Path, default=HERE.parent)
    recording.add_argument("--only", default=",".join(SECTIONS))
    recording.add_argument("--jobs", type=int, default=1)
    data = recording.add_mutually_exclusive_group()
    data.add_argument("--bench", type=Path, default=os.environ.get("COMMONPLACE_BENCH") or None)
    data.add_argument("--own", action="store_true")
    recording.add_argument("--match", default="*")
    comparing = commands.add_parser("compare")
    comparing.add_argument("a", type=Path)
    comparing.add_argument("b", type=Path)
    comparing.add_argument("--signed", type=Path)
    options = parser.parse_args()
    if options.command == "record":
        sections = options.only.split(",")
        if unknown := set(sections) - set(SECTIONS):
            parser.error(f"no such section: {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
        bench = None if options.own else options.bench
        if not options.own and not (bench and bench.is_dir()):
            parser.error(
                f"the evaluation data is missing ({bench or 'COMMONPLACE_BENCH is not set'}): set COMMONPLACE_BENCH"
                " to its folder, or record the repository's own inputs alone with --own"
            )
        sys.exit(
            record(
                options.out.resolve(),
                options.tree.resolve(),
                sections,
                options.jobs,
                bench and bench.resolve(),
                options.match,
            )
            > 0
        )
    lines = options.signed.read_text("utf-8").splitlines() if options.signed else []
    sys.exit(
        compare(
            options.a,
            options.b,
            [line.partition("#")[0].strip() for line in lines if line.partition("#")[0].strip()],
        )
        > 0
    )


if __name__ == "__main__":
    main()
