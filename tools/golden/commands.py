"""What commands print and change: the command line over four workspaces, MCP, HTTP."""

from __future__ import annotations

import fnmatch
import http.client
import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import corpora
from section import Section
from shell import START_S, STEP_S, Done, Shell, aged, changes, demo, digest, files, row, written

GROUPS = {
    "": "search recall prompt get multi-get timeline ls chat init remember summarize consolidate rollup correct confirm forget log undo "
    "restore mcp serve sessions sync watch status trust doctor collection context config models cache costs usage demo eval schedule",
    "schedule": "print status", "serve": "status stop", "sessions": "follow list show unfollow",
    "collection": "add exclude include list remove rename show update-cmd", "context": "add check list remove",
    "config": "edit get key list path set unset", "models": "list pull test use", "cache": "clear stats",
    "eval": "init reject show",
}  # fmt: skip

# With the bundled model, in two languages; nothing but the record of use is written.
DEMO = """
search --now 2026-06-10 What filled the disk of the primary database?
search --now 2026-06-10 豆豆上哪所小学，哪天报到？
search --format json --now 2026-06-10 -n 3 Kestrel 的队列为什么从 SQLite 换成 PostgreSQL？
search --format json -n 4 certificate expiry
search --format md -n 3 膝盖 跑步
search --format md -n 3 flight to Berlin
search --format files -n 5 deploy
search --full -n 2 老白茶
search --layer index -n 8 runbook rollback
search --lexical -n 3 KES-126
search --semantic -n 3 "what wakes me up at night"
search --min-score 0.9 tea
search -c kestrel -n 3 queue
search -c nowhere queue
search --as-of 2026-03-01 -n 3 database of the queue
search --history -n 3 database of the queue
search --now 2026-03-20 last week
search --rerank off --explain -n 2 --now 2026-06-10 tea after lunch
search --explain --format json -n 1 --now 2026-06-10 tea after lunch
search "who is the king of France"
search --limit 0 tea
search --min-score 2 tea
search --now yesterday tea
search --as-of never tea
search
search "type:session tea"
search "NEAR(tea"
search "after:2026-04-01 before:2026-05-01 disk"
recall --budget 300 tea after lunch
recall --format json --budget 400 豆豆的学校
recall --layer mixed --budget 500 --now 2026-06-10 replication slot
recall --as-of 2026-02-01 queue database
recall "who is the king of France"
recall --budget 3 tea
prompt --budget 600 --now 2026-05-29 "what did we decide on the queue?"
prompt --json --budget 400 --now 2026-05-29 豆豆报到
prompt --report --no-files --now 2026-05-29 tea
prompt --instructions zh --session s1 --now 2026-05-29 老白茶
prompt --session s1 --now 2026-05-29 老白茶
prompt --forget --session s1
get MEMORY.md
get MEMORY.md:5-12
get MEMORY.md#L5-L8 --no-numbers
get memory/2026-04-21.md:3:4 --format json
get kestrel/runbook.md:1-10
get memory/nothing.md
get ../etc/passwd
get MEMORY.md:900
multi-get MEMORY.md:1-3,kestrel/api.md:1-4 memory/2026-05-2*.md --max-bytes 1500
multi-get --format json memory/2026-01-1*.md nothing.md
timeline 2026-03-12
timeline memory/2026-04-21.md --before 1 --after 2 --format json
timeline kestrel/api.md
ls
ls kestrel --format json
ls memory/2026-05
ls nowhere
status --format json
usage
usage --never --format json
usage --days 7
doctor --offline --format json
costs
costs --by day --format json
cache stats
models list
models list openai
models list --llm --format json
config list
config list --origin
config get search.limit --origin
config get no.such
config path --format json
schedule status
schedule print --with cron --at 03:30
schedule print --with systemd
schedule print --with launchd
consolidate --dry-run
consolidate --estimate
rollup --dry-run
rollup --dry-run --older-than 30d
rollup --older-than x
log
undo
summarize
eval reject --help
eval
eval reject 99
serch tea
--agent helper status
--version
"""

# Without a model; much is written.
SMALL = """
init
status
sync
sync --format json
search deploy on Thursday
remember "The deploy moved to Friday."
remember --heading Deploy "The deploy needs Lin and a key sk-proj-4f9aQ7LmZ2xW8vB3nT6yR1cK5dH0jP."
remember --long-term --section People "Mira maintains the billing service."
remember --long-term "周会在每周一下午三点。"
remember --tentative "Yuki may leave in May."
remember "<private>nothing else</private>"
remember "Deploys go out on Mondays."
remember "password = hunter2Xq9" --no-redact
remember ""
remember -
search --format json Friday
recall billing
correct "Deploys go out on Tuesdays." "Deploys go out on Thursdays." --why "moved by the team" --dry-run
correct "Deploys go out on Tuesdays." "Deploys go out on Thursdays." --why "moved by the team"
correct MEMORY.md:8 --nothing --format json
correct "Deploys go out on Sundays." "x y z"
correct "Eve lives in Oslo." "Eve lives in Bergen." --session s1
correct MEMORY.md:8
confirm "Yuki may leave in May."
confirm "The vendor is late." --reject --why "it came"
confirm "Bob is allergic"
log
log --format json -n 2
log --diff -n 1
undo --dry-run
undo --yes
undo --yes --format json
undo nothing
undo --since
forget --text "老白茶" --dry-run
forget --person Tomas --also "Herr Lindqvist" --dry-run --format json
forget memory/2026-05-30.md#L5 --dry-run
forget memory/2026-05-30.md:5 --yes
forget --query "lease of the office" --dry-run
forget --session s1 --dry-run
forget --session s1 --yes --format json
forget --text billing --yes
forget memory/2026-05-29.md
forget nothing.md --yes
forget
forget --resume
forget --pending
forget --approve 12345678
sessions
sessions list --format json
sessions follow logs --name chats --format openai
sessions follow export.json --format chatgpt
sessions follow nothing
sync
sessions list
sessions show ann --last 1
sessions show ann --format json
sessions show nobody
search -c chats kestrel Frankfurt
search "type:session kestrel"
sessions unfollow chats
sessions unfollow chats
collection
collection add papers --name docs --glob "**/*.md" --ignore "drafts/**"
collection add papers --name docs
collection list --format json
collection show docs
collection exclude docs
search quarterly figures
collection include docs
search quarterly figures
collection update-cmd docs true
collection update-cmd docs --clear
collection rename docs texts
collection remove texts
collection remove texts
context add / "Notes of a small team."
context add memory/ "What happened day by day."
context list
context list --format json
context check
context remove memory/
context remove nowhere
config set search.limit 5 --in-workspace
config set search.limit many
config set embedding.provider none --in-workspace
config set search.recency 0.2
config get search.limit
config unset search.limit --in-workspace
config unset search.limit
config list --format json
config key embedding
summarize --dry-run
summarize s2
summarize --pending
consolidate --dry-run
consolidate --accept
consolidate --if-due
consolidate --days 400
rollup --dry-run --older-than 20d
rollup --older-than 20d
rollup 2026-04 --confirm
rollup 2026-04 --confirm --yes
undo --yes
restore
restore nothing
trust
trust nothing
cache clear
cache clear --answers --yes
usage
usage --clear --yes
costs --since 2026-06-01
status --format json
doctor --offline --verbose
models test
models use nothing
models pull nothing
chat --once hello
serve status
serve stop
watch --nothing
multi-get memory/*.md
ls
timeline 2026-05-30
prompt --json "who signs off the deploy?"
"""

# Other people's chats: what a stranger's folder looks like.
BENCH = """
sync --no-embed
status
ls
search "what happened at the weekend"
search --format json -n 3 --now 2024-01-01 last summer
recall --budget 400 birthday
timeline 2023-01-31 --before 1 --after 1
forget --query "birthday party" --dry-run
forget --person PERSON --dry-run --format json
correct "nothing of this kind" "x"
consolidate --dry-run
rollup --dry-run
rollup
log
undo --yes
usage
doctor --offline
"""

# A folder in which much is wrong.
BROKEN = """
status
sync
search deploy
ls
get latin.md
get MEMORY.md
doctor --offline
consolidate --dry-run
rollup --dry-run --older-than 1d
remember --long-term --section People "Zoe joined."
correct "Deploys go out on Tuesdays." "Deploys go out on Thursdays."
forget --text Tuesdays --yes
config list
config set search.limit 7 --in-workspace
log
trust
restore
"""

# As processes of their own, so that nothing depends on the harness's children.
REAL = """
--version
--help
search --now 2026-06-10 -n 2 KES-126
search --lexical --format json -n 1 老白茶
recall --budget 200 tea
get MEMORY.md:1-4
ls kestrel
status --format json
nothing
search
remember "A line of a process."
log
"""

FILES = {
    "MEMORY.md": "# Memory\n\n## Deploy\n\n- Deploys go out on Tuesdays.\n- Lin signs off the deploy.\n\n- The lease of the office ends in 2027.\n- The vendor is late. <!-- tentative -->\n\n## People\n\n"
    "- Eve lives in Oslo. <!-- pinned -->\n- Bob is allergic to peanuts.\n- Bob is allergic to peanuts and nuts.\n- 阿舟喜欢喝老白茶。\n- The visa of Ann expires. <!-- valid-until: 2026-05-01 -->\n- <private>the code of the safe is 4711</private>\n",
    "memory/2026-04-02.md": "# 2026-04-02\n\n- 09:00 Ran pytest: 3 failed <!-- by: tool -->\n- 10:00 Tomas joined the storage team.\n- 10:30 Tomas joined the storage team.\n\n## 茶\n\n- 11:00 老白茶到了。\n",
    "memory/2026-04-09.md": "# 2026-04-09\n\n- 09:00 Deploys go out on Tuesdays. Mira owns them.\n- 12:00 The certificate of kes-api expires on 2026-11-30. <!-- importance: 8 -->\n",
    "memory/2026-05-29.md": "# 2026-05-29\n\n- 09:00 We decided that deploys go out on Thursdays.\n- 09:30 Herr Lindqvist called about billing.\n- 10:00 The gym was cancelled.\n",
    "memory/2026-05-30.md": "# 2026-05-30\n\n- 08:00 Tomas prefers mail to calls.\n- 09:00 The dentist appointment is on 20 June at 09:00.\n- 10:00 api_key = sk-proj-4f9aQ7LmZ2xW8vB3nT6yR1cK5dH0jP\n\n## Observations\n\n- 16:00 Fetched the page of Vendor. <!-- by: tool; agent: nanobot; session: s1 -->\n",
    "memory/2026-06-08.md": "# 2026-06-08\n\n- 09:00 Lesson: a temporary number outlives its reason.\n- 10:00 Priya is vegetarian.\n- 11:00 豆豆对芒果过敏，不能吃。\n- 12:00 Deploys now go out on Thursdays.\n",
    "papers/figures.md": "# Figures\n\nThe quarterly figures are good: 40 endpoints, 25 users.\n",
    "papers/drafts/no.md": "# Draft\n\nThe quarterly figures are bad.\n",
    "logs/ann.jsonl": '{"role": "user", "content": "Where does the kestrel service run?", "timestamp": "2026-06-01T14:05:00"}\n{"role": "assistant", "content": "In Frankfurt, since January.", "timestamp": "2026-06-01T14:05:09"}\n',
    "logs/bo.jsonl": '{"role": "user", "content": "谁负责计费？", "timestamp": "2026-06-02T14:05:00"}\n{"role": "assistant", "content": "Mira. <private>and more</private>", "timestamp": "2026-06-02T14:05:09"}\nnot json\n',
    "export.json": '[{"title": "A tent", "create_time": 1780300000, "mapping": {"a": {"id": "a", "message": {"author": {"role": "user"}, "create_time": 1780300000, "content": {"content_type": "text", "parts": ["Which tent for the lake?"]}}, "parent": null, "children": ["b"]}, "b": {"id": "b", "message": {"author": {"role": "assistant"}, "create_time": 1780300009, "content": {"content_type": "text", "parts": ["The green one."]}}, "parent": "a", "children": []}}, "current_node": "b"}]',
    "sessions/s1.jsonl": '{"role": "user", "content": "Move the deploy to Thursday.", "at": "2026-06-03T10:00:00+00:00"}\n{"role": "assistant", "content": "Done; Lin signs it off.", "at": "2026-06-03T10:00:05+00:00"}\n',
    "sessions/s2.jsonl": "".join(
        f'{{"role": "{role}", "content": "{text}", "at": "2026-06-04T10:0{number}:00+00:00"}}\n'
        for number, (role, text) in enumerate(
            [
                ("user", "Book the flight to Berlin."),
                ("assistant", "Booked for 9 May."),
                ("user", "And the hotel near the station."),
                ("assistant", "We decided on the Larkspur."),
                ("user", "Thanks, file the invoice too."),
                ("assistant", "Filed."),
            ]
        )
    ),
}
FAULTS = {
    "MEMORY.md": "# Memory\n\n<private>never closed\n\n## People\n\n- Deploys go out on Tuesdays.\n",
    "memory/2026-05-01.md": "# 2026-05-01\n\n<<<<<<< HEAD\n- Deploys go out on Tuesdays.\n=======\n- Deploys go out on Mondays.\n>>>>>>> branch\n",
    "memory/2026-05-02.md": "---\ntitle: [unclosed\n---\n- Deploys go out on Tuesdays.\n",
    "memory/2026-05-03.md": "```\nnever closed\n- Deploys go out on Tuesdays.\n",
    "memory/2026-13-45.md": "- No such day.\n",
    "memory/empty.md": "",
    ".commonplace/config.toml": '[search]\nlimit = "many"\nunknown = 3\n\n[embedding]\nprovider = "openai"\n\n[collections.gone]\npath = "nowhere"\n',
}


def record(section: Section) -> None:
    """Record an item for each command, for each tool of MCP and for requests over HTTP."""
    shell, base = Shell(section.base), section.base
    for group, names in GROUPS.items():
        for name in [*([] if group else [""]), *names.split()]:
            _one(
                section,
                shell,
                f"help-{'-'.join(filter(None, ['all', group, name]))}",
                [*filter(None, [group, name]), "--help"],
                None,
            )
    roots = {"demo": _demo(section, base / "demo")}
    if section.match == "*":
        shell.run("-w", roots["demo"], "sync", "--format", "json")
    _all(section, shell, "demo", DEMO, roots["demo"])
    shell.environment["COMMONPLACE_EMBEDDING_PROVIDER"] = "none"
    _all(section, shell, "small", SMALL, written(base / "small", FILES))
    broken = written(base / "broken", FAULTS)
    (broken / "latin.md").write_bytes(b"# Latin\n\nCaf\xe9 au lait.\n")
    (broken / "memory/latin.md").write_bytes(b"# Latin\n\n- Caf\xe9 au lait.\x00\n")
    _all(section, shell, "broken", BROKEN, aged(broken))
    if section.bench:
        name = "chat_whatsapp"
        root = corpora.excerpt(corpora.workspace(section.bench, name), base / "bench", (), 60_000, 8_000)
        _all(section, shell, "bench", BENCH.replace("PERSON", _person(root)), root)
    _all(section, shell, "real", REAL, demo(section.inputs, base / "real"), real=True)
    if fnmatch.fnmatch("mcp", section.match):
        _mcp(section, shell, written(base / "served", FILES))
    if fnmatch.fnmatch("http", section.match):
        _http(section, shell, written(base / "web", FILES))
    if fnmatch.fnmatch("approving", section.match) and (base / "served").exists():
        section.dump.write("approving", _approving(shell, base / "served"))


def _person(root: Path) -> str:
    """Who is named most often in a workspace."""
    text = " ".join(data.decode("utf-8", "replace") for data in files(root).values())
    names = re.findall(r"(?<=[a-z,] )[A-Z][a-z]{3,9}\b", text)
    return max(sorted(set(names)), key=names.count)


def _demo(section: Section, root: Path) -> Path:
    demo(section.inputs, root)
    return aged(root)


def _all(section: Section, shell: Shell, name: str, commands: str, root: Path, *, real: bool = False) -> None:
    for number, line in enumerate(filter(None, commands.split("\n")), 1):
        arguments = shlex.split(line)
        words = [word for word in arguments if re.fullmatch(r"[a-z][a-z-]*", word)][:1]
        _one(section, shell, "-".join([name, f"{number:03d}", *words]), arguments, root, real=real)


def _one(
    section: Section, shell: Shell, item: str, arguments: list[str], root: Path | None, *, real: bool = False
) -> None:
    """Run a command; record what it prints, and what of the owner's files it changes."""
    if not fnmatch.fnmatch(item, section.match):
        shell.now_s += STEP_S  # those that are run have the same time whatever is left out
        return
    before = files(root) if root else {}
    stdin = "From standard input.\n" if "-" in arguments else ""
    variables = {"COMMONPLACE_WORKSPACE": str(root)} if root else {}
    done = shell.run(*arguments, cwd=root or shell.base, stdin=stdin, real=real, **variables)
    lines = ["$ " + " ".join(map(shlex.quote, arguments)), *done.lines()]
    if root:
        after = files(root)
        plain = {
            path: section.dump.plain(data.decode("utf-8", "surrogateescape")) for path, data in after.items()
        }
        lines += ["--- files " + digest(row(plain)), *changes(before, after)]
        aged(root, shell.now_s, since_s=START_S + 10_000_000)  # what is written has the real time
    section.dump.write(item, lines)


# --- MCP ------------------------------------------------------------------------------------------------

CALLS: list[tuple[str, dict]] = [
    ("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "golden", "version": "1"}}),
    ("tools/list", {}), ("resources/list", {}), ("resources/templates/list", {}), ("prompts/list", {}), ("ping", {}),
    ("resources/read", {"uri": "commonplace://memory/MEMORY.md"}), ("resources/read", {"uri": "commonplace://memory/nothing.md"}),
    ("prompts/get", {"name": "recall", "arguments": {"query": "deploy"}}), ("prompts/get", {"name": "reflect", "arguments": {}}), ("prompts/get", {"name": "nothing"}),
    *(("tools/call", {"name": f"memory_{name}", "arguments": arguments}) for name, arguments in [
        ("search", {"query": "deploy on Thursday", "limit": 3}), ("search", {"query": "老白茶", "layer": "index", "budget": 200}),
        ("search", {"query": "deploy", "after": "2026-05-01", "before": "2026-06-30", "path": "memory/*"}), ("search", {"query": "deploy", "as_of": "2026-05-01", "history": True}),
        ("search", {"query": "deploy", "collections": ["nowhere"]}), ("search", {"question": "deploy"}), ("search", {}),
        ("get", {"path": "MEMORY.md", "from": 3, "lines": 4}), ("get", {"path": "memory/2026-05-30.md#L3-L5"}), ("get", {"path": "nothing.md"}), ("get", {"path": "../x"}),
        ("timeline", {"anchor": "2026-05-30", "before": 1, "after": 1}), ("timeline", {"anchor": "nothing"}), ("status", {}),
        ("write", {"text": "The deploy is on Friday, says the client."}), ("write", {"text": "Key sk-proj-4f9aQ7LmZ2xW8vB3nT6yR1cK5dH0jP", "heading": "Keys"}),
        ("write", {"text": "Ida owns docs.", "long_term": True}), ("write", {"text": "Zed may go.", "tentative": True}), ("write", {"text": ""}),
        ("correct", {"old": "Deploys go out on Tuesdays.", "new": "Deploys go out on Thursdays.", "why": "moved"}), ("correct", {"old": "Eve lives in Oslo.", "new": "Eve lives in Bergen."}),
        ("correct", {"old": "nothing like it", "new": "x"}), ("correct", {"old": "Bob is allergic to peanuts.", "new": ""}),
        ("forget", {"what": "老白茶", "kind": "text"}), ("forget", {"what": "memory/2026-05-30.md#L4", "kind": "lines"}), ("forget", {"what": "nothing.md", "kind": "note"}),
        ("forget", {"what": "Tomas", "kind": "person"}), ("nothing", {}),
    ]),
    ("no/such", {}),
]  # fmt: skip


def _mcp(section: Section, shell: Shell, root: Path) -> None:
    """Ask a server over its standard streams, one request after the other."""
    environment = {
        **os.environ,
        **shell.environment,
        "COMMONPLACE_WORKSPACE": str(root),
        "GOLDEN_NOW": str(START_S),
    }
    server = subprocess.Popen(
        [sys.executable, "-m", "commonplace", "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=root,
    )
    assert server.stdin
    assert server.stdout
    assert server.stderr
    for number, (method, parameters) in enumerate(CALLS):
        before = files(root)
        server.stdin.write(
            json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}).encode()
            + b"\n"
        )
        server.stdin.flush()
        lines = [row(method, parameters), *_pretty(server.stdout.readline())]
        if method == "initialize":
            server.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        name = parameters.get("name", "")
        section.dump.write(
            f"mcp-{number:02d}-{(name or method).replace('/', '-')}", [*lines, *changes(before, files(root))]
        )
    server.stdin.write(b"not json\n")
    server.stdin.flush()
    wrong = _pretty(server.stdout.readline())
    server.stdin.close()
    code = server.wait(30)
    section.dump.write("mcp-end", Done(code, "\n".join(wrong), server.stderr.read().decode()).lines())


def _pretty(line: bytes) -> list[str]:
    try:
        return json.dumps(json.loads(line), ensure_ascii=False, indent=1, sort_keys=True).split("\n")
    except ValueError:
        return [line.decode("utf-8", "replace")]


def _approving(shell: Shell, root: Path) -> list[str]:
    """What agents asked to have forgotten: listed, refused, approved of; by code, and codes are random."""
    listed = shell.run("-w", root, "forget", "--pending").out
    codes = {about: code for code, about in re.findall(r"\b([0-9a-f]{8})\b.* by (\w+: .*)", listed)}
    lines = _pending(listed)
    for option, about in (
        ("--reject", "text: 老白茶"),
        ("--approve", "person: Tomas"),
        ("--approve", "lines: memory/2026-05-30.md#L4"),
    ):
        done = shell.run("-w", root, "forget", option, codes.get(about, "none"))
        lines += [
            f"$ forget {option} {about}",
            *_pending("\n".join(done.lines())),
            *_pending(shell.run("-w", root, "forget", "--pending").out),
        ]
    return lines


def _pending(text: str) -> list[str]:
    """A list of requests without their codes, sorted: all were made in one moment of the clock."""
    return sorted(
        re.sub(r"^ +\d+  (?=[0-9a-f]{8} )", "", line)
        for line in re.sub(r"\b[0-9a-f]{8}\b", "0" * 8, text).split("\n")
    )


# --- HTTP -----------------------------------------------------------------------------------------------

REQUESTS: list[tuple[str, str, dict[str, str], object]] = [
    ("GET", "/health", {}, None), ("GET", "/mcp", {}, None), ("DELETE", "/mcp", {}, None), ("GET", "/nothing", {}, None), ("POST", "/mcp", {}, CALLS[1]),
    *(("POST", "/mcp", {"token": "yes"}, call) for call in (CALLS[0], CALLS[1], CALLS[4], CALLS[6], CALLS[11], CALLS[18], CALLS[24], CALLS[25], CALLS[-1])),
    ("POST", "/mcp", {"token": "wrong"}, CALLS[1]), ("POST", "/mcp", {"token": "yes", "Content-Type": "text/plain"}, CALLS[1]),
    ("POST", "/mcp", {"token": "yes", "Origin": "https://evil.example"}, CALLS[1]), ("POST", "/mcp", {"token": "yes", "Host": "evil.example"}, CALLS[1]),
    ("POST", "/mcp", {"token": "yes"}, b"not json"), ("POST", "/mcp", {"token": "yes", "MCP-Protocol-Version": "1999-01-01"}, CALLS[1]),
]  # fmt: skip
_TOKEN = "correct-horse-battery-staple"
_CHANGING = {"date", "server", "mcp-session-id"}  # headers


def _http(section: Section, shell: Shell, root: Path) -> None:
    """Ask a server over HTTP, and stop it."""
    environment = {
        **os.environ,
        **shell.environment,
        "COMMONPLACE_WORKSPACE": str(root),
        "COMMONPLACE_SERVER_TOKEN": _TOKEN,
        "GOLDEN_NOW": str(START_S),
    }
    with open(section.base / "server.txt", "wb+") as said:
        server = subprocess.Popen(
            [sys.executable, "-m", "commonplace", "serve", "--port", "0"],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            env=environment,
            cwd=root,
        )
        try:
            port = next(_ports(section.base / "server.txt", server))
            for number, (method, path, headers, call) in enumerate(REQUESTS):
                before = files(root)
                section.dump.write(
                    f"http-{number:02d}",
                    [
                        row(method, path, headers, str(call)),
                        *_answer(port, method, path, headers, call),
                        *changes(before, files(root)),
                    ],
                )
            section.dump.write("http-status", shell.run("-w", root, "serve", "status").lines())
            section.dump.write("http-stop", shell.run("-w", root, "serve", "stop").lines())
            code = server.wait(30)
        finally:
            server.kill()
        section.dump.write(
            "http-end", Done(code, (section.base / "server.txt").read_text("utf-8"), "").lines()
        )


def _ports(path: Path, server: subprocess.Popen) -> Iterator[int]:
    for _ in range(600):
        if found := re.search(r"http://127\.0\.0\.1:(\d+)", path.read_text("utf-8")):
            yield int(found[1])
        if server.poll() is not None:
            break
        time.sleep(0.1)
    raise SystemExit(f"golden: no server: {path.read_text('utf-8')}")


def _answer(port: int, method: str, path: str, headers: dict[str, str], call: object) -> list[str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    if token := sent.pop("token", ""):
        sent["Authorization"] = f"Bearer {_TOKEN if token == 'yes' else token * 5}"
    body = (
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": call[0], "params": call[1]}).encode()
        if isinstance(call, tuple)
        else call
    )
    connection.request(method, path, body, sent)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    shown = sorted(
        f"{name.lower()}: {value}" for name, value in answer.getheaders() if name.lower() not in _CHANGING
    )
    return [str(answer.status), *shown, *_pretty(data)]
