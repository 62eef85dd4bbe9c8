"""What is so when a task is done, whichever door it was done by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from commonplace import Memory
from commonplace.upkeep import export
from commonplace.upkeep.consolidation import consolidate

QUIET = {"embedding.provider": "none", "usage.record": False}
EDITED = "- Bread on Saturdays."
EDITOR = """import pathlib, sys
note = pathlib.Path(sys.argv[1])
text = note.read_text("utf-8")
sign = note.with_name("agent-writes")
if sign.exists():  # while the note is open
    from commonplace import Memory
    sign.unlink()
    with Memory.open(note.parent) as agents:
        agents.remember("The gate is green.", long_term=True, section="Tea")
note.write_text(text + "- Bread on Saturdays.\\n", "utf-8")
"""


@dataclass(frozen=True, slots=True)
class Check:
    """What is seen and what is not; what a note then says and what not; whether a file is there."""

    seen: Sequence[str] = ()
    unseen: Sequence[str] = ()
    note: str = ""
    says: Sequence[str] = ()
    says_not: Sequence[str] = ()
    gone: str = ""

    def of_files(self, root: Path) -> list[str]:
        """Return what is not as it should be."""
        note = self.note.replace("TODAY", date.today().isoformat())
        text = (root / note).read_text("utf-8") if note else ""
        wrong = [f"missing: {words}" for words in self.says if words not in text]
        wrong += [f"still there: {words}" for words in self.says_not if words in text]
        return wrong + ([f"still there: {self.gone}"] if self.gone and (root / self.gone).exists() else [])


def memory(root: Path, *beside: Path) -> Memory:
    """Open the workspace without a model."""
    return Memory.open(root, overrides=QUIET, beside=beside)


def _another_program(root: Path) -> None:
    (root / "memory" / "2026-01-05.md").write_text("# 2026-01-05\n\n- The ferry to Ishigaki takes an hour.\n")


def _agent(root: Path) -> None:
    with memory(root) as agents:
        agents.remember("The gate is green.", long_term=True, section="Tea")


def _agent_while_you_edit(root: Path) -> None:
    (root / "agent-writes").touch()


def _export_of_another(root: Path) -> None:
    with memory(root.parent / "old") as other:
        export.write(other, root.parent / "old.json", export.export(other, "json"))


def _consolidation(root: Path) -> None:
    with memory(root) as home:
        assert consolidate(home, None, accept=True).run


def _export(root: Path) -> None:
    with memory(root.parent / "old") as other:
        exported = export.export(other, "json")
    export.write(other, root.parent / "old.json", exported)


EVENTS: Mapping[str, Callable[[Path], None]] = {
    "another program writes": _another_program,
    "an agent writes": _agent,
    "an agent writes while you edit": _agent_while_you_edit,
    "the other memory was exported": _export_of_another,
    "a consolidation was accepted": _consolidation,
    "you edit and leave the editor": lambda root: None,
    "the other memory is exported to ../old.json": _export,
}
MEMORY = "MEMORY.md"
POSTGRESQL = "- The queue of Kestrel lives in PostgreSQL."
CHECKS: Mapping[int, Check] = {
    1: Check(["Aged white tea after lunch."]),
    2: Check(["六周不能跑步"], ["office door"]),
    3: Check(["deploys go out on Thursdays"], ["budget for tea"]),
    4: Check(["Tomas left in April", "Lin signs off", "The NAS has four disks"]),
    5: Check(["words"]),
    6: Check(["alert bot", "kestrel/runbook.md"], ["告警机器人"]),
    7: Check(["No coffee after 14:00."], ["13:00"]),
    8: Check(["No coffee after 14:00.", "struck"]),
    9: Check(["The office door code changes every quarter."]),
    10: Check(["Renew the passport.", "Order a bench", "Move the alert bot"]),
    11: Check(["2026-03-08", "2026-03-12", "2026-03-20"], ["2026-02-18"]),
    12: Check(["Larkspur got the same notice twice."]),
    13: Check(["tentative"]),
    14: Check(["slept badly", "scout", "No coffee after 14:00."]),
    15: Check(["Moved the nightly backup", "把告警机器人换成了小模型"], ["Closed the ticket"]),
    16: Check(["which tea after lunch", "scout"]),
    17: Check(["memory/2026-03-12.md"]),
    18: Check(["At 00:55 on Sunday, from Pudong."]),
    19: Check(["none"]),
    20: Check(["$0.20"]),
    21: Check(["cafe.md"]),
    22: Check(note=MEMORY, says=[POSTGRESQL, "~~The queue of Kestrel lives in SQLite files.~~"]),
    23: Check(note=MEMORY, says=["\n- No coffee after 14:00.\n"], says_not=["13:00"]),
    24: Check(note=MEMORY, says=["- Perhaps oolong in winter.\n"]),
    25: Check(note=MEMORY, says=["- ~~The queue of Kestrel lives in SQLite files.~~ <!--"]),
    26: Check(note="memory/TODAY.md", says=["Mira sails on Sundays."]),
    27: Check(note=MEMORY, says=[EDITED]),
    28: Check(note=MEMORY, says=[EDITED, "The gate is green."]),
    29: Check(["takes an hour"]),
    30: Check(note="memory/2026-02-18.md", says=["Renew the passport."], says_not=["budget"]),
    31: Check(gone="memory/2026-03-20.md"),
    32: Check(note=MEMORY, says=["Lin signs off every deploy."], says_not=["Tomas"]),
    33: Check(["record of use"]),
    34: Check(["NAS has the four disks.", "The old router is in the cellar."]),
    35: Check(note=MEMORY, says=["~~NAS has the four disks.~~"]),
    36: Check(note=MEMORY, says=["\n- NAS has the four disks.\n"], says_not=["~~NAS has"]),
    37: Check(["recipes"]),
    38: Check(["10 notes written"]),
    39: Check(note="memory/MEMORY-commonplace.md", says=["Ishigaki"]),
    40: Check(["codex"]),
}


def problems(number: int, root: Path, shown: str, main: str = "") -> list[str]:
    """Return what is not as it should be after a task: what is shown, or not in the `main` part, and what notes say."""
    check = CHECKS[number]
    words, among = (" ".join(text.split()) for text in (shown, main or shown))
    wrong = [f"not shown: {one}" for one in check.seen if one not in words]
    wrong += [f"shown: {one}" for one in check.unseen if one in among]
    return wrong + check.of_files(root)
