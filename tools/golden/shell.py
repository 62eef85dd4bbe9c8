"""Where the sections of the golden harness work: dumps, inputs, workspaces, and commands of a source tree."""

from __future__ import annotations

import difflib
import hashlib
import importlib
import io
import json
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import clock

REPOSITORY = Path(__file__).resolve().parents[2]
# Inputs (sample workspace, fixtures, documentation) are those of this commit, whatever a tree holds by now.
INPUTS = "83e82e744c2aa66fb33c9c9bcb66193bc2db85f2"
INPUT_PATHS = ("docs", "src/commonplace/demo/workspace", "tests", "README.md")
START_S = 1_781_085_600.0  # 2026-06-10 10:00 UTC, when the first command is run
STEP_S = 420.0  # between two commands
OLD_S = 1_775_000_000  # when the files of a workspace were written
TIMEOUT_S = 120

# What there is no stable door for: places where it may be, tried in order. Add yours in front.
DOORS = {
    "redact": ("commonplace.redaction.redact:redact", "commonplace.notes.redact:redact"),
    "redact_personal": (
        "commonplace.redaction.redact:redact_personal",
        "commonplace.notes.redact:redact_personal",
    ),
}


def door(name: str):
    """Import what stands behind one of DOORS; None where no place has it."""
    for place in DOORS[name]:
        module, _, attribute = place.partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError):
            continue
    return None


# --- dumps ----------------------------------------------------------------------------------------------


class Dump:
    """Writes the items of a section, a file each."""

    def __init__(self, folder: Path, base: Path, tree: Path) -> None:
        self.folder, self.count = folder, 0
        replaced = [
            (str(base), "<TMP>"),
            (str(tree), "<TREE>"),
            (sys.executable, "<PYTHON>"),
            (str(REPOSITORY), "<HARNESS>"),
        ]
        self._replaced = sorted(replaced, key=lambda pair: -len(pair[0]))
        folder.mkdir(parents=True, exist_ok=True)

    def plain(self, text: str) -> str:
        """Take out of a text what differs between two runs of the same code."""
        for what, mark in self._replaced:
            text = text.replace(what, mark)
        for pattern, mark in _VOLATILE:
            text = pattern.sub(mark, text)
        return text

    def write(self, item: str, lines: Iterable[str] | str) -> None:
        """Write an item; a name that is taken already is a mistake of the section."""
        text = lines if isinstance(lines, str) else "".join(f"{line}\n" for line in lines)
        path = self.folder / f"{item}.txt"
        assert not path.exists(), path
        path.write_bytes(self.plain(text).encode("utf-8", "surrogateescape"))
        self.count += 1


_VOLATILE = [
    (re.compile(r"(^ ?\"id\": \")[0-9a-f]{16}\"", re.M), r'\1<ID>"'),  # of a server, as /health tells it
    (re.compile(r"((?:· |\()process )\d+"), r"\1<PID>"),
    (re.compile(r"(\"approve\": \")[0-9a-f]{8}\b"), r"\1<CODE>"),
    (re.compile(r"\b\d+\.\d [GM]B free at"), "<SIZE> free at"),
    (re.compile(r"\broom for [\d,]+ more files"), "room for <COUNT> more files"),
    (
        re.compile(r"(\"told\": \"[A-Za-z][\w-]*) \d+(\.\d+)+"),
        r"\1 <VERSION>",
    ),  # of packages, in doctor --format json
    (re.compile(r"(✓ [\w.-]+) \d+(\.\d+)+"), r"\1 <VERSION>"),
    (re.compile(r"\b((?:PYTHON)?PATH)=\S+"), r"\1=<PATH>"),
    (re.compile(r"uv pip install --python <PYTHON>|<PYTHON> -m pip install"), "<INSTALL>"),
    (re.compile(r"\b(writes/)[0-9a-f]{16}(-[0-9a-f]+)?"), r"\1<ID>"),  # named by the path of the workspace
    (re.compile(r"\b(\d{8}-\d{6}-)[0-9a-f]{4,8}\b"), r"\1<ID>"),
    (re.compile(r"\bcommonplace \d+\.\d+\.\d+\b"), "commonplace <VERSION>"),
    (re.compile(r"\bclaimed-\d{20}-\d+"), "claimed-<ID>"),
    (re.compile(r"(127\.0\.0\.1|localhost):\d{4,5}\b"), r"\1:<PORT>"),
    (re.compile(r"(\bpid\b\W{0,4})\d+"), r"\1<PID>"),
    (re.compile(r"(--approve |--reject |approve )[0-9a-f]{8}\b"), r"\1<CODE>"),
]


def row(*cells: object) -> str:
    """One line of a dump."""
    return json.dumps(cells if len(cells) > 1 else cells[0], ensure_ascii=False, sort_keys=True, default=str)


def digest(data: bytes | str) -> str:
    """A short digest."""
    return hashlib.sha256(
        data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    ).hexdigest()[:16]


# --- inputs ---------------------------------------------------------------------------------------------


def inputs(folder: Path) -> Path:
    """Put the repository's own inputs into a folder, as they were at the commit INPUTS."""
    folder.mkdir(parents=True)
    made = subprocess.run(["git", "-C", REPOSITORY, "archive", INPUTS, *INPUT_PATHS], capture_output=True)
    if made.returncode == 0:
        with tarfile.open(fileobj=io.BytesIO(made.stdout)) as archive:
            archive.extractall(folder, filter="data")
    else:  # a shallow clone: what lies here is the next best
        print(
            f"golden: commit {INPUTS[:7]} is not here, so inputs are those of the working tree",
            file=sys.stderr,
        )
        for path in INPUT_PATHS:
            source = REPOSITORY / path
            (shutil.copytree if source.is_dir() else shutil.copy)(source, _parent(folder / path))
    return folder


def _parent(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def copied(source: Path, target: Path) -> Path:
    """Copy a workspace; its files are old, so that no moment of copying is seen."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(".commonplace"))
    return aged(target)


def demo(source: Path, target: Path) -> Path:
    """Make the sample workspace, with its collection."""
    copied(source / "src/commonplace/demo/workspace", target)
    text = 'collections.kestrel]\npath = "{}projects/kestrel"\n'
    _parent(target / ".commonplace/config.toml").write_text(
        "[" + text.format(""), "utf-8"
    )  # where older trees read it
    own = _parent(Path(os.environ["XDG_CONFIG_HOME"]) / "commonplace/config.toml")
    with own.open("a", encoding="utf-8") as file:
        file.write(f'[workspaces."{target}".{text.format(f"{target}/")}')
    return aged(target)


def aged(root: Path, at_s: float = OLD_S, since_s: float = 0) -> Path:
    """Set the times of the files of a workspace that were changed since a moment."""
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in (".commonplace", ".git")]
        for path in (os.path.join(folder, name) for name in names):
            if not os.path.islink(path) and os.stat(path).st_mtime >= since_s:
                os.utime(path, (at_s, at_s))
    return root


def written(root: Path, files: dict[str, str]) -> Path:
    """Make a workspace of files."""
    for path, text in files.items():
        _parent(root / path).write_text(text, "utf-8")
    return aged(root)


# --- trees ----------------------------------------------------------------------------------------------


def files(root: Path) -> dict[str, bytes]:
    """The owner's files of a folder and what JSONL the derived folder has, by path."""
    found = {}
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        derived = ".commonplace" in parts
        if (
            ".git" in parts
            or not path.is_file()
            or path.is_symlink()
            or (derived and path.suffix != ".jsonl")
        ):
            continue
        found["/".join(parts)] = path.read_bytes()
    return found


def changes(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    """What changed between two states of a folder, as a diff."""
    lines: list[str] = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old != new:
            texts = [
                ("" if data is None else data.decode("utf-8", "surrogateescape")).split("\n")
                for data in (old, new)
            ]
            lines += difflib.unified_diff(
                *texts,
                f"a/{path}" if old is not None else "none",
                f"b/{path}" if new is not None else "none",
                n=0,
                lineterm="",
            )
    return lines


# --- commands -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Done:
    """What a command left: its exit code and what it printed."""

    code: int
    out: str
    err: str

    def lines(self) -> list[str]:
        """As lines of a dump."""
        shown = [f"exit {self.code}"]
        for name, text in (("out", self.out), ("err", self.err)):
            shown += [f"--- {name}", *text.split("\n")] if text else []
        return shown


class Shell:
    """Runs commands of the tree: each in a child of this process that has its modules already."""

    def __init__(self, base: Path) -> None:
        self.base, self.now_s = base, START_S
        self.environment = {"COLUMNS": "100"}
        for module in _MODULES:
            try:
                importlib.import_module(module)
            except ImportError:
                continue

    def configure(self, text: str) -> None:
        """Write the user's own settings, without the collections of `demo`."""
        _parent(Path(os.environ["XDG_CONFIG_HOME"]) / "commonplace/config.toml").write_text(text, "utf-8")

    def run(
        self,
        *arguments: str | Path,
        cwd: Path | None = None,
        stdin: str = "",
        real: bool = False,
        **variables: str,
    ) -> Done:
        """Run a command, a moment after the one before; `real` as a process of its own."""
        self.now_s += STEP_S
        environment = {**os.environ, **self.environment, **variables, "GOLDEN_NOW": str(self.now_s)}
        command = [str(one) for one in arguments]
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            given.write(stdin.encode("utf-8", "surrogateescape"))
            given.seek(0)
            if real:
                code = subprocess.run(
                    [sys.executable, "-m", "commonplace", *command],
                    stdin=given, stdout=out, stderr=err, cwd=cwd or self.base, env=environment, timeout=TIMEOUT_S, check=False,
                ).returncode  # fmt: skip
            else:
                child = os.fork()
                if child == 0:
                    self._become(command, environment, cwd or self.base, [given, out, err])
                code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode("utf-8", "surrogateescape"))
        return Done(code, *texts)

    def _become(self, command: list[str], environment: dict[str, str], cwd: Path, streams: Sequence) -> None:
        """Be the program, in a child; never returns."""
        import atexit

        code = 99
        try:
            signal.alarm(TIMEOUT_S)
            atexit._clear()
            for number, file in enumerate(streams):
                os.dup2(file.fileno(), number)
            sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
            sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
            os.fsync = lambda descriptor: None  # thousands of changes are made here, and no power is cut
            if "doctor" in command:  # some of its checks end when they take long
                real_monotonic = time.monotonic
                time.monotonic = lambda: real_monotonic() / 50
            os.chdir(cwd)
            os.environ.clear()
            os.environ.update(environment)
            clock.put(float(environment["GOLDEN_NOW"]))
            sys.argv = ["commonplace", *command]
            try:
                runpy.run_module("commonplace", run_name="__main__", alter_sys=True)
                code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
            sys.stdout.flush()
            sys.stderr.flush()
            atexit._run_exitfuncs()
        except BaseException:  # noqa: BLE001 - whatever it is, it is shown, and the child ends
            import traceback

            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(code)


# Loaded once before any child is made; those that a tree does not have are passed over.
_MODULES = (
    "click", "apsw", "json", "difflib", "sqlite3", "dataclasses", "inspect", "numpy",
    "commonplace.memory", "commonplace.cli.main", "commonplace.cli.application",
)  # fmt: skip
