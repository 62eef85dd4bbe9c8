"""The memory of the tasks: a person's notes in two languages, two agents' entries, a session, a project, a team beside."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path

from commonplace import Memory, config
from commonplace.base import installation, paths
from commonplace.base.errors import ConfigError
from commonplace.providers import costs
from commonplace.types import Provenance

SEEN = (
    1_770_000_000,
    1_770_000_000,
)  # a file this second old could change again unseen, so it counts as stale
OTHERS = "".join(
    f"- Shelf {tree} holds {what}.\n"
    for tree, what in zip(
        "alder ash beech birch cedar elder elm hazel larch lime maple oak".split(),
        "maps letters seeds tools paper ropes paint stones books lamps boots jars".split(),
        strict=True,
    )
)
NOTES: Mapping[str, str] = {
    "MEMORY.md": (
        "# Memory\n\n## Tea\n\n- Aged white tea after lunch.\n- No coffee after 14:00.\n"
        "- Perhaps oolong in winter. <!-- tentative -->\n\n"
        "## People\n\n- Lin signs off every deploy.\n- Tomas left in April for a bicycle workshop in Brno.\n\n"
        "## 家\n\n- 豆豆对芒果过敏。\n- 地址：梧桐里 7 幢 1102，租约到 2028-03-25。\n\n"
        "## Kestrel\n\n- The queue of Kestrel lives in SQLite files.\n- The NAS has four disks.\n"
        "- NAS has the four disks.\n- The old router is in the cellar. <!-- valid-until: 2026-01-01 -->\n\n"
        f"## Shelves\n\n{OTHERS}"
    ),
    "memory/2026-02-11.md": (
        "# 2026-02-11\n\n## Store review\n\n- Decided: deploys go out on Thursdays, never on Fridays.\n"
        "- Tomas asked for a second node.\n\n## 部署\n\n- 决定：周五下午不部署。\n"
    ),
    "memory/2026-02-18.md": "# 2026-02-18\n\n- Decided: the budget for tea is 40 a month.\n- [ ] Renew the passport.\n",
    "memory/2026-03-08.md": "# 2026-03-08\n\n- 跑步下坡时膝盖疼，医生说六周不能跑步，可以游泳。\n",
    "memory/2026-03-12.md": (
        "# 2026-03-12\n\n- 10:31 Larkspur got the same notice twice.\n- 10:44 The lease of 30 seconds was too short.\n"
    ),
    "memory/2026-03-20.md": "# 2026-03-20\n\n- [ ] Order a bench for the balcony.\n- Rain, and nothing else.\n",
    "projects/kestrel/runbook.md": (
        "# Runbook\n\n## Slots\n\n- max_in_flight is 96 per node, with three nodes.\n"
        "- [ ] Move the alert bot to its own account.\n"
    ),
    ".commonplace/config.toml": '[sessions]\nindex = true\n',
    "sessions/berlin.jsonl": (
        '{"role": "user", "text": "When does the flight to Berlin leave?", "at": "2026-04-09T14:05:00"}\n'
        '{"role": "assistant", "text": "At 00:55 on Sunday, from Pudong.", "at": "2026-04-09T14:05:02"}\n'
    ),
}  # fmt: skip
BESIDE: Mapping[str, str] = {
    "team/MEMORY.md": "# Memory\n\n## Office\n\n- The office door code changes every quarter.\n",
    "recipes/soup.md": "# Soup\n\n- Ginger, and no shrimp.\n",
    "old/MEMORY.md": "# Memory\n\n- The ferry to Ishigaki takes an hour.\n",
}
WRITTEN = (
    ("scout", "Moved the nightly backup to the new disk."),
    ("scout", "把告警机器人换成了小模型。"),
    ("kestrel", "Closed the ticket about the gate."),
)  # what agents wrote yesterday


def make(folder: Path) -> Path:
    """Make the workspace `folder/notes`, and what lies beside it; return it, indexed."""
    root = folder / "notes"
    for name, text in [*((f"notes/{name}", text) for name, text in NOTES.items()), *BESIDE.items()]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    today = date.today()
    for day in (today - timedelta(1), today):  # of both: a midnight between changes nothing
        entries = "".join(
            f"- 09:0{n} {words} <!-- by: agent; agent: {agent}; session: s{n}; at: {day}T09:0{n}:00 -->\n"
            for n, (agent, words) in enumerate(WRITTEN)
        )
        (root / "memory" / f"{day}.md").write_text(f"# {day}\n\n{entries}", "utf-8")
    (root / "memory" / "cafe.md").write_bytes("# Café\n\n- Closed on Mondays.\n".encode("latin-1"))
    for file in folder.rglob("*.*"):
        os.utime(file, SEEN)
    config.add_collection(root, "kestrel", str(root / "projects/kestrel"))
    with Memory.open(root, agent="scout", overrides={"embedding.provider": "none"}) as memory:
        memory.sync()
        memory.recall("which tea after lunch")
        memory.search("zeppelin hangar")
        memory.correct("No coffee after 14:00.", "No coffee after 13:00.", why="slept badly",
                       provenance=Provenance("agent", "scout"))  # fmt: skip
        memory.sync()
        ledger = costs.Ledger.of(memory.workspace)
        ledger.record("consolidate", "openai", "gpt-4.1-mini", 400_000, 25_000)
        ledger.close()
    return root


def main(folder: Path) -> int:
    """Make the memory of the tasks in a new folder, for somebody to try them on; return the exit code."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ConfigError("tasks", f"{folder} exists and is not empty; name a new folder")
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    root = make(folder.resolve())
    print(
        f"made {root}, and {', '.join(path.name for path in sorted(folder.iterdir()) if path != root)} beside it"
    )
    print(
        f"go there, and begin with the first task:\n  cd {root}\n  {installation.typed()} search 'tea after lunch'"
    )
    return 0


@contextmanager
def copied(made: Path, folder: Path) -> Iterator[Path]:
    """Copy a workspace and what lies beside it for one task."""
    shutil.copytree(made, folder)
    old, root = paths.Workspace(made / "notes"), folder / "notes"
    new = paths.Workspace(root)
    for one, other in ((old.state, new.state), (old.index.parent, new.index.parent)):
        shutil.copytree(one, other)
    if "kestrel" not in config.load(root).collections:
        config.add_collection(root, "kestrel", str(root / "projects/kestrel"))
    yield root
    shutil.rmtree(folder)
    paths.drop_state(root)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
