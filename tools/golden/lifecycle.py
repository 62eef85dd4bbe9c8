"""What consolidation, forgetting, correcting, rolling up and summing up do to notes."""

from __future__ import annotations

import datetime
import http.server
import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import commands
import corpora
from model import planner
from section import Section
from shell import Done, Shell, aged, changes, copied, demo, digest, files, row, written

PLANS, NIGHTS, FORGETS, CORRECTIONS, CONFLICTS = (
    60,
    8,
    240,
    100,
    16,
)  # forgets and corrections in all; conflicts of each list
SEED = 20260213
HERE = Path(__file__).resolve().parent
_TESTS = "tests/lifecycle/consolidation"


def record(section: Section) -> None:
    """Record what refines the memory: consolidation, rollups, summaries, what is said of conflicts."""
    shell = _shell(section)
    parts = {
        "plans": lambda: _plans(section, shell),
        "nights": lambda: (
            _nights(section, shell, "honest", "-", 10_000),
            _nights(section, shell, "nonsense", "4", 2_500),
        ),
        "conflicts": lambda: _conflicts(section, shell),
        "rollups": lambda: _rollups(section, shell),
        "summaries": lambda: _summaries(section, shell),
    }
    _each(shell, parts)


def record_edits(section: Section) -> None:
    """Record what edits notes: dry runs of forgetting, corrections and confirmations with their undoing."""
    shell, roots = _shell(section), _roots(section)
    _each(
        shell,
        {
            "forgets": lambda: _forgets(section, shell, roots),
            "corrections": lambda: _corrections(section, shell, roots),
        },
    )


def _shell(section: Section) -> Shell:
    shell = Shell(section.base)
    shell.environment |= {
        "COMMONPLACE_EMBEDDING_PROVIDER": "none",
        "COMMONPLACE_HISTORY_GIT": "off",
        "COMMONPLACE_USAGE_RECORD": "false",
    }
    return shell


def _each(shell: Shell, parts: dict[str, Callable[[], object]]) -> None:
    """Record parts, each from the same moment and without the settings of the one before."""
    for name, part in parts.items():
        before = sum(os.times()[:4])
        shell.configure("")
        _at(shell, datetime.datetime(2026, 6, 10))
        part()
        print(f"  {name}: {sum(os.times()[:4]) - before:.0f} s of CPU", flush=True)


def _roots(section: Section) -> dict[str, Path]:
    roots = {
        "demo": demo(section.inputs, section.base / "demo"),
        "small": written(section.base / "small", commands.FILES),
    }
    if section.bench:
        source = corpora.workspace(section.bench, "memdaily_zh")
        roots["bench"] = corpora.excerpt(source, section.base / "bench", (), 40_000, 8_000)
    return roots


def served(command: list[str]) -> str:
    """Answer chat completions at the returned address: a program gets the prompt and prints the answer."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt = "\n\n".join(message["content"] for message in asked["messages"])
            done = subprocess.run(command, input=prompt, capture_output=True, text=True, check=False)
            message = {"role": "assistant", "content": done.stdout.strip()}
            answer = {
                "model": "model.py",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            }
            data = json.dumps(answer).encode()
            self.send_response(200 if not done.returncode else 500)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *said: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/v1"


def _asks(shell: Shell, *arguments: str | Path) -> None:
    """Let the scripted model be the language model."""
    address = served([sys.executable, "-S", "-E", str(HERE / "model.py"), *map(str, arguments)])
    shell.configure(
        f'[llm]\nprovider = "compatible"\nbase_url = "{address}"\nmodel = "model.py"\ncache = false\n'
    )


def _at(shell: Shell, moment: datetime.datetime) -> None:
    shell.now_s = moment.replace(tzinfo=datetime.UTC).timestamp()


def _shown(done: Done, before: dict[str, bytes], root: Path) -> list[str]:
    return [*done.lines(), *changes(before, files(root))]


# --- consolidation --------------------------------------------------------------------------------------


def _plans(section: Section, shell: Shell) -> None:
    """Adversarial plans: what is accepted and rejected, and the files afterwards."""
    made = planner(section.inputs / _TESTS / "plans.py")
    random_ = random.Random(SEED)
    root, answer = section.base / "plans", section.base / "answer.json"
    for number in range(PLANS):
        shutil.rmtree(root, ignore_errors=True)
        made["write"](root)
        aged(root)
        operations = [one.operation for one in made["plan"](random_)]
        text = made["answer"](operations)
        if number % 20 == 0:
            text = made["BROKEN"][number // 20 % len(made["BROKEN"])]
        elif number % 20 == 1:
            text = made["answer"](made["overreaching"]() + operations)
        answer.write_text(text, "utf-8")
        note = random_.choice(["MEMORY.md", *made["NOTES"]])
        _asks(shell, *(("edit", answer, root / note) if number % 5 == 0 else ("answer", answer)))
        _at(shell, datetime.datetime(2026, 2, 13, 23))
        before = files(root)
        arguments = ["--dry-run"] if number % 10 == 2 else []
        done = shell.run(
            "-w", root, "consolidate", "--days", "7", *arguments, COMMONPLACE_CONSOLIDATE_MAX_CHARS="3000"
        )
        section.dump.write(f"plan-{number:03d}", [text[:3000], *_shown(done, before, root)])


def _nights(section: Section, shell: Shell, name: str, seed: str, cap: int) -> None:
    """Nights in the life of a workspace: each with its notes, its consolidation, and what taking it back leaves."""
    generated = planner(section.inputs / "tests/lifetime/generated.py")
    root = section.base / f"nights-{name}"
    written(
        root,
        {
            "MEMORY.md": "# Memory\n\n## Preferences\n\n- The user prefers tea. <!-- pinned -->\n\n## Work\n\n- The office is in Lisbon.\n"
        },
    )
    for number in range(NIGHTS):
        day = generated["FIRST"] + datetime.timedelta(days=number)
        written(root, {f"memory/{day}.md": _note(day, generated["day"](number))})
        _asks(
            shell,
            "plan",
            section.inputs / "tests/lifetime/planner.py",
            seed if seed == "-" else f"{seed}{number}",
        )
        _at(shell, datetime.datetime.combine(day, datetime.time(23, 30)))
        before = files(root)
        done = shell.run("-w", root, "consolidate", COMMONPLACE_CONSOLIDATE_MAX_CHARS=str(cap))
        lines = _shown(done, before, root)
        aged(root, shell.now_s, since_s=shell.now_s + 1)
        copy = section.base / "copy"
        shutil.copytree(root, copy, symlinks=True)
        undone = shell.run("-w", copy, "undo", "--yes")
        lines += [
            "--- taken back",
            *undone.lines(),
            row("as before", files(copy) == before),
            *changes(before, files(copy)),
        ]
        shutil.rmtree(copy)
        section.dump.write(f"night-{name}-{number:02d}", lines)


def _note(day: datetime.date, told: list) -> str:
    lines = [f"# {day}", ""]
    observed = [one for one in told if one.kind in ("observation", "error")]
    lines += [
        f"- {one.hour:%H:%M} {one.text}"
        + (f" <!-- by: agent; agent: nanobot; session: s{day.day} -->" if day.day % 3 else "")
        for one in told
        if one not in observed
    ]
    return "\n".join(
        [
            *lines,
            "",
            "## Observations",
            "",
            *(
                f"- {one.hour:%H:%M} {one.text} <!-- by: tool; agent: nanobot; session: s{day.day} -->"
                for one in observed
            ),
            "",
        ]
    )


def _conflicts(section: Section, shell: Shell) -> None:
    """Pairs of statements: what remembering the second says of the first."""
    pairs = planner(section.inputs / _TESTS / "pairs.py")
    for name in ("REPLACES", "KEEPS", "ENDS", "STAYS"):
        lines: list[str] = []
        for old, new in corpora.spread(pairs[name], CONFLICTS):
            root = section.base / "pair"
            shutil.rmtree(root, ignore_errors=True)
            written(root, {"MEMORY.md": f"# Memory\n\n## Facts\n\n- {old}\n"})
            lines += [row(old, new), *shell.run("-w", root, "remember", new).err.split("\n")]
        section.dump.write(f"conflicts-{name.lower()}", lines)


# --- forgetting and correcting --------------------------------------------------------------------------

_ITEM = re.compile(r"^\s*- (?:\d\d:\d\d )?(.{12,200})$")


def _items(root: Path) -> list[tuple[str, int, str]]:
    """The list items of a workspace's notes: path, line, text."""
    found = []
    for path, data in files(root).items():
        if path.endswith(".md"):
            for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
                if match := _ITEM.match(line):
                    found.append((path, number, match[1]))
                elif line.startswith("**") and ":** " in line and len(line) < 200:
                    found.append((path, number, line.partition(":** ")[2]))
    return found


def _forgets(section: Section, shell: Shell, roots: dict[str, Path]) -> None:
    for name, root in roots.items():
        shell.run("-w", root, "sync")
        asked = list(_erasures(root))
        for number, arguments in enumerate(asked[: FORGETS // len(roots)]):
            done = shell.run("-w", root, "forget", *arguments, "--dry-run", "--format", "json")
            section.dump.write(f"forget-{name}-{number:03d}", [row(arguments), *done.lines()])


def _erasures(root: Path) -> Iterator[list[str]]:
    """What to forget: by place, words, name, question and session, in turn."""
    items = corpora.spread(_items(root), 40)
    text = " ".join(item for _, _, item in items)
    names = sorted(set(re.findall(r"\b[A-Z][a-z]{3,9}\b|[\u4e00-\u9fff]{2,3}", text)))
    notes = sorted({path for path, _, _ in items})
    for number, (path, line, words) in enumerate(items):
        name = names[number * 7 % len(names)]
        yield [f"{path}:{line}"]
        yield ["--text", words[: len(words) // 2].strip() or words]
        yield ["--person", name]
        yield ["--query", " ".join(words.split()[:4])]
    for path, line, words in items:
        yield [f"{path}#L{line}-L{line + 3}"]
        yield ["--text", words]
        yield [path] if line % 2 else [f"{path}:{line}-"]
    yield ["--session", "s1"]
    yield [notes[0], notes[-1]]


def _corrections(section: Section, shell: Shell, roots: dict[str, Path]) -> None:
    for name, root in roots.items():
        _guess(root)
        items = _items(root)
        tentative = [one for one in items if "<!-- tentative -->" in one[2]]
        plain = corpora.spread([one for one in items if "<!--" not in one[2]], CORRECTIONS // len(roots))
        for number, (path, line, text) in enumerate(plain):
            new = (
                re.sub(r"\d+", lambda match: str(int(match[0]) + 1), text)
                if re.search(r"\d", text)
                else f"{text.rstrip('.。')} no longer."
            )
            place = f"{path}:{line}" if number % 2 else text
            arguments = [place, "--nothing"] if number % 5 == 4 else [place, new, "--why", "golden"]
            session = ["--session", "s9"] if number % 7 == 3 else []
            _undone(
                section,
                shell,
                root,
                f"correct-{name}-{number:03d}",
                ["correct", *arguments, *session, "--yes"],
            )
        for number, (path, line, text) in enumerate(tentative):
            place = f"{path}:{line}" if number % 2 else text.partition(" <!--")[0]
            _undone(
                section,
                shell,
                root,
                f"confirm-{name}-{number:02d}",
                ["confirm", place, *(["--reject", "--why", "no"] if number % 3 == 2 else [])],
            )


def _guess(root: Path) -> None:
    """Mark some items of a workspace as tentative."""
    for path, line, text in corpora.spread([one for one in _items(root) if "<!--" not in one[2]], 9):
        lines = (root / path).read_text("utf-8").split("\n")
        assert text in lines[line - 1]
        lines[line - 1] += " <!-- tentative -->"
        (root / path).write_text("\n".join(lines), "utf-8")
    aged(root)


def _undone(section: Section, shell: Shell, root: Path, item: str, arguments: list[str]) -> None:
    """Change notes, and take it back: what changed, and whether all is as before."""
    before = files(root)
    done = shell.run("-w", root, *arguments)
    changed = files(root)
    lines = ["$ " + row(arguments), *done.lines(), *changes(before, changed)]
    if changed != before:
        undone = shell.run("-w", root, "undo", "--yes")
        lines += [f"undo {undone.code}", *undone.err.split("\n"), row("as before", files(root) == before)]
        if files(root) != before:
            lines += changes(before, files(root))
    aged(root, shell.now_s, since_s=shell.now_s + 1)
    section.dump.write(item, lines)


# --- months and summaries -------------------------------------------------------------------------------

ROLLED = ("locomo", "tcem_zh", "realtalk", "chat_slack", "memdaily_zh", "madial_zh", "beam_100k")


def _rollups(section: Section, shell: Shell) -> None:
    sources: list[tuple[str, Path, datetime.datetime]] = []
    for month in (3, 4, 5, 6):
        sources.append(
            (
                f"demo-{month}",
                demo(section.inputs, section.base / f"rollup-demo-{month}"),
                datetime.datetime(2026, month, 28, 4),
            )
        )
    generated = planner(section.inputs / "tests/lifetime/generated.py")
    life = {}
    for number in range(40):
        day = generated["FIRST"] + datetime.timedelta(days=number)
        life[f"memory/{day}.md"] = _note(day, generated["day"](number))
    sources.append(("life", written(section.base / "rollup-life", life), datetime.datetime(2026, 7, 1, 4)))
    for name in ROLLED if section.bench else ():
        root = corpora.excerpt(
            corpora.workspace(section.bench, name), section.base / f"rollup-{name}", (), 24_000, 6_000
        )
        sources.append((name, root, datetime.datetime(2026, 7, 1, 4)))
    for name, root, moment in sources:
        _at(shell, moment)
        before = files(root)
        done = shell.run("-w", root, "rollup", "--older-than", "30d")
        after = files(root)
        moved = [
            row(path, digest(after[path])) if path in after else row(path, "gone")
            for path in sorted(before.keys() | after.keys())
            if before.get(path) != after.get(path)
        ]
        months = [
            line
            for path in sorted(after.keys() - before.keys())
            if re.fullmatch(r"memory/\d{4}-\d\d\.md", path)
            for line in (f"--- {path}", *after[path].decode("utf-8", "replace").split("\n"))
        ]
        undone = shell.run("-w", root, "undo", "--yes")
        lines = [*done.lines(), *moved, *months, *undone.lines(), row("as before", files(root) == before)]
        section.dump.write(f"rollup-{name}", lines)
    root = copied(section.inputs / "src/commonplace/demo/workspace", section.base / "demo")
    _at(shell, datetime.datetime(2026, 4, 1))
    both = [
        *shell.run("-w", root, "rollup", "--older-than", "5d").lines(),
        *shell.run("-w", root, "rollup", "--confirm", "--yes").lines(),
    ]
    section.dump.write("rollup-confirmed", [*both, *files(root)])


def _summaries(section: Section, shell: Shell) -> None:
    talks = {
        "en": ["Move the deploy of kestrel to Thursday, because the vendor is late.", "Moved it; Lin signs it off.", "Rotate the token of the billing service too.", "The token is rotated.", "And tell Mira that we decided on the green tent.", "Told her, she agrees."],
        "zh": ["把猎鹰的部署改到周四，因为供应商晚了。", "改好了，林签字。", "计费服务的密钥也换一下。", "密钥换好了。", "告诉米拉我们决定用绿色的帐篷。", "告诉她了，她同意。"],
        "short": ["Hello there.", "Hello."],
        "secret": ["The key is sk-proj-4f9aQ7LmZ2xW8vB3nT6yR1cK5dH0jP, keep it.", "I will not repeat it.", "<private>not this</private> but the tent is green.", "Noted.", "Anything else?", "No."],
    }  # fmt: skip
    for name, said in talks.items():
        turns = [
            {
                "role": ("user", "assistant")[number % 2],
                "content": text,
                "at": f"2026-06-03T10:{number:02d}:00+00:00",
            }
            for number, text in enumerate(said)
        ]
        for model in ("none", "summary", "broken"):
            root = section.base / f"summary-{name}-{model}"
            written(
                root,
                {
                    "MEMORY.md": "# Memory\n",
                    f"sessions/{name}.jsonl": "".join(
                        json.dumps(turn, ensure_ascii=False) + "\n" for turn in turns
                    ),
                },
            )
            (section.base / "broken.json").write_text("no summary at all", "utf-8")
            shell.configure("")
            if model != "none":
                _asks(
                    shell, *(("summary",) if model == "summary" else ("answer", section.base / "broken.json"))
                )
            before = files(root)
            lines = (
                shell.run("-w", root, "summarize", name, "--dry-run").lines()
                + shell.run("-w", root, "summarize", name).lines()
                + shell.run("-w", root, "summarize", name).lines()
            )
            section.dump.write(f"summary-{name}-{model}", [*lines, *changes(before, files(root))])
    shell.configure("")
