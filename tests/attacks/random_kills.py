"""Commands killed at a moment by chance, one after the other in one workspace, and what became of every line.

python -m tests.attacks.random_kills FOLDER KILLS SEED

Prints what `Account` holds as JSON. Each command runs in a process forked from one that has loaded the program,
and is killed (SIGKILL) within the time that the same command took before; until so many kills have struck.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path

from commonplace import Memory
from commonplace.base import paths
from commonplace.base.errors import CommonplaceError
from commonplace.memory import Lab
from commonplace.providers.fake import FakeModel
from commonplace.providers.llm.client import Client
from commonplace.storage import journal, undo
from commonplace.types import Selection
from commonplace.upkeep import rollup
from commonplace.upkeep.consolidation import consolidate, sources
from tests.upkeep.consolidation import plans, verifier

_LINE = re.compile(
    r"- (?:\d\d:\d\d )?(?:~~)?(?:entry \d+ walnut|secret \d+ larch|rule \d+ says (?:one|two)|"
    r"We moved shelf \d+ to the cellar)\.(?:~~)?(?: <!-- .* -->| \[.*\]\(.*\))*"
)
_OPEN = {"embedding.provider": "none", "usage.record": False}


@dataclass
class Account:
    """What a run of kills did: how many struck in which command, and what was lost, torn or left over."""

    struck: Counter[str] = field(default_factory=Counter)
    finished: Counter[str] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


class Bench:
    """A workspace, the commands that are killed in it, and what has to stand in it."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root, self.random, self.account = root, random.Random(seed), Account()
        self.number = 0
        self.kept: set[str] = set()  # what was acknowledged and nobody forgets
        self.gone: set[str] = set()  # what was forgotten
        self.took: dict[str, float] = {}
        memory = root / "memory"
        memory.mkdir(parents=True)
        lines = [f"- We moved shelf {n} to the cellar." for n in range(6)]
        for n in range(3):
            day = f"2025-03-1{n}"
            (memory / f"{day}.md").write_text(f"# {day}\n\n" + "\n".join(lines[2 * n : 2 * n + 2]) + "\n")
        self.shelves = list(range(100, 160))  # of yesterday: what consolidation takes over
        (memory / f"{date.today() - timedelta(1)}.md").write_text(
            "# Day\n\n" + "".join(f"- We moved shelf {n} to the cellar.\n" for n in self.shelves)
        )
        self.rules, self.secrets = list(range(40)), list(range(300))
        (memory / "rules.md").write_text(
            "# Rules\n\n" + "".join(f"- rule {n} says one.\n" for n in self.rules)
        )
        (memory / "keys.md").write_text(
            "# Keys\n\n" + "".join(f"- secret {n} larch.\n" for n in self.secrets)
        )
        self.kept |= {f"shelf {n} " for n in [*range(6), *self.shelves]} | {f"rule {n} " for n in self.rules}

    def commands(self) -> dict[str, tuple[Callable[[Memory], object], Callable[[], object]]]:
        """Return each command, and what is known once it has come to its end."""
        self.number += 1
        line, secret, rule = f"entry {self.number} ", self.secrets[0], self.random.choice(self.rules)
        old, new = self.random.sample(["one", "two"], 2)

        def forgotten() -> None:
            self.secrets.remove(secret)
            self.gone.add(f"secret {secret} ")

        def refined(memory: Memory) -> None:
            now, text = (
                datetime.now().astimezone(),
                f"We moved shelf {self.random.choice(self.shelves)} to the cellar.",
            )
            labels = [one.label for one in sources.read(memory, 7, now) if one.text == text]
            plan = plans.answer([plans.op("add", [], labels, text, "Facts")])
            consolidate(memory, Client(FakeModel(verifier.scripted(plan))), days=7, now=now)

        def nothing() -> None: ...

        return {
            "remember": (lambda memory: memory.remember(f"{line}walnut."), lambda: self.kept.add(line)),
            "sync": (lambda memory: memory.sync(), nothing),
            "correct": (
                lambda memory: memory.correct(f"rule {rule} says {old}.", f"rule {rule} says {new}."), nothing
            ),
            "undo": (_undo_generated, nothing),
            "forget": (lambda memory: memory.forget(Selection("text", f"secret {secret} larch.")), forgotten),
            "consolidate": (refined, nothing),
            "rollup": (lambda memory: rollup.rollup(memory, now=datetime.now().astimezone()), nothing),
        }  # fmt: skip

    def round(self) -> None:
        """Run one command by chance, kill it at a moment by chance, and look at everything."""
        commands = self.commands()
        name = self.random.choice([*commands, "remember", "forget"])
        command, known = commands[name]
        began = time.monotonic()
        child = os.fork()
        if not child:
            self._carry_out(command)
        if name in self.took:
            time.sleep(self.random.random() * self.took[name])
            os.kill(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code == -signal.SIGKILL:
            self.account.struck[name] += 1
        else:
            self.account.finished[name] += 1
            self.took[name] = min(time.monotonic() - began, 0.5)
            if code == 0:
                known()
            elif code != 3:
                self.account.refused.append(name)
        self.check(name)

    def _carry_out(self, command: Callable[[Memory], object]) -> None:
        code = 70
        try:
            with Memory.open(self.root, overrides=_OPEN) as memory:
                try:
                    command(memory)
                    code = 0
                except CommonplaceError:  # nothing to undo, or to correct
                    code = 3
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)

    def check(self, command: str) -> None:
        """Look whether every line is whole, and what was acknowledged there."""
        files = self.root.rglob("*.md")
        text = "\n".join(path.read_text("utf-8") for path in files)
        lost = [line for line in self.kept if line not in text]
        torn = [line for line in text.split("\n") if line.startswith("-") and not _LINE.fullmatch(line)]
        back = [line for line in self.gone if line in text]
        twice = [f"entry {n} " for n in range(self.number + 1) if text.count(f"entry {n} ") > 1]
        for kind, lines in {"lost": lost, "torn": torn, "back": back, "twice": twice}.items():
            self.account.lost += [f"{kind} after {command}: {line}" for line in lines]
        self.kept -= set(lost)
        self.gone -= set(back)

    def end(self) -> None:
        """Let a last program carry on, and compare what it makes of the index with one made anew."""
        with Memory.open(self.root, overrides=_OPEN) as memory:
            memory.forget([])
            memory.sync()
            after = self._answers(memory)
        lab = Lab(index_path=self.root.parent / "new.sqlite")
        with Memory.open(self.root, overrides=_OPEN, lab=lab) as memory:
            memory.sync()
            if self._answers(memory) != after:
                self.account.lost.append("the index is not what a new one is")
        workspace = paths.Workspace(self.root)
        ours = (self.root, workspace.state, workspace.index.parent)
        for path in (path for folder in ours for path in folder.rglob("*")):
            data = path.read_bytes() if path.is_file() else b""
            self.account.lost += [f"{one}in {path.name}" for one in self.gone if one.encode() in data]

    @staticmethod
    def _answers(memory: Memory) -> list[tuple[str, int, str]]:
        hits = memory.search("walnut larch rule shelf", limit=1000, min_score=0.0).hits
        return sorted((hit.path, hit.start_line, hit.text) for hit in hits)


def _undo_generated(memory: Memory) -> None:
    """Take back the newest change that is no entry: the entries are counted."""
    names = [run.id for run in journal.newest_first(memory.workspace) if run.about.kind != "remember"]
    if names:
        undo.undo(memory.workspace, names[0])


def main(root: Path, kills: int, seed: int) -> None:
    """Kill until so many have struck, then look at everything once more."""
    bench = Bench(root, seed)
    until = time.monotonic() + 10 + 3 * kills
    while sum(bench.account.struck.values()) < kills and time.monotonic() < until:
        bench.round()
    bench.end()
    print(json.dumps(vars(bench.account)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
