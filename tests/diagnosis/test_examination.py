"""The whole examination: every row leads to a check, the order is kept, and nothing is changed by it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import apsw
import pytest

from commonplace.base.messages import message
from commonplace.base.paths import Workspace
from commonplace.base.root import Unsafe
from commonplace.diagnosis import examination
from commonplace.diagnosis.examination import Case, present
from commonplace.types import Finding
from tests.diagnosis.conftest import Present
from tests.places import settings_file

GROUPS = list(dict.fromkeys(check.partition(".")[0] for check in examination.CHECKS))


def whole(case: Case) -> list[Finding]:
    return [finding for _, found in examination.examine(case) for finding in found]


def test_every_row_leads_to_a_check() -> None:
    for check, entry in examination.CHECKS.items():
        module, _, function = entry.partition(":")
        assert callable(getattr(import_module(f"commonplace.diagnosis.{module}"), function)), check


def test_findings_come_by_group_in_the_order_of_the_table(case: Present, indexed: Path) -> None:
    found = list(examination.examine(case()))
    assert [group for group, _ in found] == GROUPS
    assert all(finding.group == group for group, findings in found for finding in findings)


def test_everything_is_fine_with_a_workspace_that_is(case: Present, indexed: Path) -> None:
    assert [f for f in whole(case()) if f.state in ("warning", "wrong")] == []


def test_whatever_is_not_fine_has_a_remedy_and_all_is_one_line(case: Present) -> None:
    for finding in whole(case()):
        assert finding.told or finding.state == "ok"
        assert "\n" not in finding.told + finding.remedy
        assert finding.remedy or finding.state in ("ok", "skipped")


def tree(root: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Everything below a folder: inode, mode, time of change, content."""
    found = {}
    for folder, names, files in os.walk(root):
        for name in (*names, *files):
            path = Path(folder, name)
            status = path.lstat()
            content = path.read_bytes() if path.is_file() else b""
            found[str(path)] = (status.st_ino, status.st_mode, status.st_mtime_ns, content)
    return found


def test_nothing_is_changed(case: Present, indexed: Path, private_home: Path) -> None:
    places = (indexed, private_home)
    before = [tree(place) for place in places]
    assert len(before[1]) > 5
    whole(case())
    assert [tree(place) for place in places] == before


def test_nothing_is_changed_where_much_is_broken(case: Present, indexed: Path, private_home: Path) -> None:
    Workspace(indexed).index.write_bytes(os.urandom(9000))
    Workspace(indexed).ledger.write_bytes(b"x")
    settings_file(indexed).write_text("[search\n")
    places = (indexed, private_home)
    before = [tree(place) for place in places]
    states = {finding.check: finding.state for finding in whole(case())}
    assert [tree(place) for place in places] == before
    assert states["index.file"] == states["settings.workspace"] == states["stores.ledger"] == "wrong"


def test_nothing_is_changed_beside_a_writer(case: Present, indexed: Path, private_home: Path) -> None:
    writer = apsw.Connection(str(Workspace(indexed).index))
    writer.execute("PRAGMA journal_mode=wal").fetchall()
    writer.execute("INSERT INTO meta VALUES('late', 'yes')")
    before = tree(private_home)
    whole(case())
    assert tree(private_home) == before
    writer.close()


def test_a_check_that_fails_hides_no_other(
    case: Present, indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(case: Case) -> Iterator[Finding]:
        raise RuntimeError("no")
        yield

    monkeypatch.setattr("commonplace.diagnosis.machine.space", broken)
    found = whole(case())
    assert [f.check for f in found if f.state == "wrong"] == ["disk.space"]
    assert len(found) >= len(examination.CHECKS)


def test_a_module_that_cannot_be_imported_is_a_finding(
    case: Present, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "CHECKS", {"disk.space": "no_such:thing"})
    (found,) = whole(case())
    assert (found.check, found.state) == ("disk.space", "wrong")


def test_without_a_workspace(nobody: Path) -> None:
    found = whole(present(None))
    assert [f.check for f in found if f.state == "wrong"] == []
    assert "workspace.folder" in [f.check for f in found if f.state == "warning"]


def test_without_a_home(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, "/dev/null/none")
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name)
    found = whole(present(str(indexed)))
    assert [f.check for f in found if f.state == "wrong"] == []


def test_a_workspace_that_goes_away_meanwhile(case: Present, indexed: Path) -> None:
    examined = case()
    shutil.rmtree(indexed)
    assert not [f for f in whole(examined) if "the check itself failed" in f.told]


# --- a check by itself ----------------------------------------------------------------------------------


def test_a_check_without_findings_is_fine() -> None:
    assert examination.guarded("a.check", list) == [Finding("a.check", "ok", "")]


def test_what_was_found_before_an_error_stays() -> None:
    def check() -> Iterator[Finding]:
        yield Finding("a.first", "warning", "odd")
        raise ZeroDivisionError("division\nby \x1b[31mzero" + "x" * 5000)

    first, second = examination.guarded("a.check", check)
    assert first == Finding("a.first", "warning", "odd")
    assert (second.check, second.state) == ("a.check", "wrong")
    assert second.told.startswith("the check itself failed (ZeroDivisionError: division by \ufffd[31mzero")
    assert len(second.told) < 400
    assert second.remedy


def test_an_interrupt_ends_an_examination() -> None:
    def check() -> Iterator[Finding]:
        raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt):
        examination.guarded("a.check", check)


def test_listed() -> None:
    assert examination.listed(["a", "b"]) == "a, b"
    assert examination.listed([str(n) for n in range(1005)]) == "0, 1, 2, 3, 4 and 1,000 more"
    assert examination.listed(["a\x1b[2J"]) == "a\ufffd[2J"


def test_a_link_in_the_way_is_a_finding_with_its_remedy() -> None:
    def check() -> Iterator[Finding]:
        raise Unsafe(message("unsafe.link", "a symlink, which is not followed here"), "/notes/.commonplace")
        yield

    (finding,) = examination.guarded("stores.spool", check)
    assert (finding.state, finding.told) == (
        "wrong", "/notes/.commonplace is a symlink, which is not followed here",
    )  # fmt: skip
    assert finding.remedy == "delete /notes/.commonplace: nothing is read or written through it"
