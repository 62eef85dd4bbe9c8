"""Several memories, each open to some agents alone: nothing of one leaks into another, by any door."""

from __future__ import annotations

import re

import pytest

from tests.attacks.realm import DAY, EVERYWHERE, LIMITED, READS, Realm, enter
from tests.attacks.realm import built as built
from tests.cli.conftest import called

# Commands that name no workspace: whatever an agent is told is of its own and of what it reads beside that.
PLAIN = [
    f"search {EVERYWHERE}", f"search {EVERYWHERE} --explain --full", f"search {EVERYWHERE} --history",
    f"search {EVERYWHERE} --as-of {DAY}", f"search on:{DAY}", "search last week --now 2026-02-15",
    f"search {EVERYWHERE} --layer index", f"--all-workspaces search {EVERYWHERE} -n 100",
    *(f"search {EVERYWHERE} --format {form}" for form in ("json", "md", "files")),
    "search nothing-of-this-kind-anywhere", f"search {EVERYWHERE} in:nowhere", f"search {EVERYWHERE} -c nowhere",
    f"recall {EVERYWHERE}", f"recall {EVERYWHERE} --format json", f"--all-workspaces recall {EVERYWHERE}",
    f"prompt {EVERYWHERE}", f"prompt {EVERYWHERE} --report", f"prompt {EVERYWHERE} --json",
    f"prompt {EVERYWHERE} --session s1", "prompt --instructions en",
    "get MEMORY.md", "get MEMORY", "get memory/", "get [[plan]]", "get plan.md", "get #000000", "get MEMORY.md:12",
    "get MEMORY.md#people", "get nowhere:MEMORY.md", "multi-get **/*.md", "multi-get MEMORY.md,memory/*.md,*:*",
    f"timeline {DAY}", "timeline 2026-02", f"timeline memory/{DAY}.md", "timeline 1999-01-01", "timeline plan.md",
    "ls", "ls memory", "ls --format json", "ls *", "ls *:*",
    "status", "status --format json", "--all-workspaces status", "usage", "usage --never", "usage --format json",
    "sessions list", "log", "log --diff", "log --format json", "undo --dry-run", "restore", "confirm x y",
    "context list", "context check", "collection list", "config show", "config list", "config get search.limit",
    "workspaces", "workspaces list --format json", "serve status", "serve status --show-token", "schedule status",
    "costs", "cache stats", "consolidate --dry-run", "rollup --dry-run", "summarize --dry-run",
    f"correct {EVERYWHERE} nothing --dry-run", f"forget --text {EVERYWHERE} --dry-run", "import --dry-run",
    "doctor --offline -v", "-w nowhere search x", "-w plan search x", "--agent", "search",
]  # fmt: skip
# Commands that name what is somebody else's: by its name, its folder, or words of it.
AIMED = [
    "get {named}:MEMORY.md", "get {named}:memory/{named}-plan.md", "get {named}:memory/2026-02-13.md:1",
    "get {root}/MEMORY.md", "get ../{named}-home/MEMORY.md", "get memory/../../{named}-home/MEMORY.md",
    "get {named}:../{named}-home/MEMORY.md", "get {team}:{named}:MEMORY.md", "get {team}:../{named}-home/MEMORY.md",
    "get [[{named}-plan]]", "get [[{named}:{named}-plan]]", "get {named}-plan.md", "get {named}-plam",
    "get {named}-shelf/{named}-book.md", "get {team}:{named}-shelf/{named}-book.md",
    "multi-get {named}:*", "multi-get {named}:memory/*.md,{root}/memory/*.md", "multi-get ../{named}-home/**",
    "ls {named}:", "ls {named}:memory", "ls {named}-shelf", "ls {named}:{named}-shelf", "ls ../{named}-home",
    "timeline {named}:memory/2026-02-13.md", "timeline {root}/memory/2026-02-13.md", "timeline {named}:2026-02-13",
    "search harbour in:{named}-shelf", "search harbour -c {named}-shelf", "search harbour -c {named}:{named}-shelf",
    "search harbour -c {named}:memory", "search harbour path:{named}:memory", "search harbour path:{root}",
    "search {told}", "search {told} --history", "search {told}x", "search {named}", "search #{told}",
    "search --all-workspaces {told}", "search {told} --all-workspaces --format json", "recall {told}",
    "prompt {told}", "prompt {named} --report", "recall {named} --all-workspaces --format json",
    "-w {root} search harbour", "-w {named} search harbour", "-w {root} recall harbour", "-w {root} prompt harbour",
    "-w {root} get MEMORY.md", "-w {root} ls", "-w {root} timeline 2026-02-13", "-w {root} status", "-w {root} usage",
    "-w {root} log --diff", "-w {root} sessions list", "-w {root} config show", "-w {root} doctor --offline",
    "-w {root} context list", "-w {root} collection list", "-w {root} restore", "-w {root} costs",
    "-w {root} multi-get **/*.md", "-w {root} consolidate --dry-run", "-w {root} serve status --show-token",
    "-w {root} summarize --dry-run", "-w {root} forget harbour --dry-run", "-w {root} correct harbour x --dry-run",
    "-w {own} -w {root} search harbour", "-w {own} -w {named} search harbour", "-w {root} -w {own} search harbour",
    "-w {named} -w {own} search harbour", "-w {own} -w {root} recall harbour", "-w {own} -w {root} get MEMORY.md",
    "-w {own} -w {root} ls", "-w {own} -w {root} status", "-w {own} -w {root} timeline 2026-02-13",
    "-w {own} -w {root} prompt harbour", "-w {own} -w {root} multi-get *",
    "correct {told} nothing --dry-run", "correct {named}:MEMORY.md:5 nothing --dry-run", "confirm {named}:MEMORY.md:5",
    "forget --text {told} --dry-run", "forget {named}:MEMORY.md --dry-run", "forget {named}:MEMORY.md:5 --dry-run",
    "sessions show {named}-talk", "sessions show sessions/{named}-talk.jsonl", "workspaces remove {named} --help",
]  # fmt: skip


@pytest.fixture
def realm(built: Realm, monkeypatch: pytest.MonkeyPatch) -> Realm:
    enter(built, monkeypatch)
    return built


@pytest.mark.parametrize("agent", LIMITED)
@pytest.mark.parametrize("line", PLAIN)
def test_a_command_tells_nothing_of_what_is_closed(realm: Realm, agent: str, line: str) -> None:
    folder = realm["owner"].root  # where none of them may read
    done = called("--agent", agent, *line.split(), cwd=folder)
    assert realm.leaks(agent, done.stdout, done.stderr, echoed=[str(folder)]) == []


@pytest.mark.parametrize("agent", LIMITED)
@pytest.mark.parametrize("line", AIMED)
def test_a_command_that_names_what_is_closed_is_told_nothing(realm: Realm, agent: str, line: str) -> None:
    own = realm.readable(agent)[0]
    for place in realm.forbidden(agent):
        words = {"root": place.root, "named": place.named, "told": place.told, "own": own.root}
        arguments = line.format(**words, team=realm["team"].named).split()
        done = called("--agent", agent, *arguments, cwd=own.root)
        said = [part for one in arguments for part in (one, *re.split(r"[:,#]|\[\[|\]\]", one)) if part]
        assert realm.leaks(agent, done.stdout, done.stderr, echoed=said) == [], (done.stdout, done.stderr)


@pytest.mark.parametrize("agent", READS)
def test_an_agent_finds_what_it_may_read(realm: Realm, agent: str) -> None:
    beside = ["--all-workspaces"] if not agent else []
    done = called(
        "--agent", agent, *beside, "search", EVERYWHERE, "-n", "100", cwd=realm.readable(agent)[0].root
    )
    text = done.stdout.decode()
    for place in realm.readable(agent):
        assert all(word in text for word in place[1:])
