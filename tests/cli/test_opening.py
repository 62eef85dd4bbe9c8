"""`open` and `edit`: a note in an editor at its line, and what is said of what changed."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

from commonplace.base import editors
from commonplace.cli import session
from tests.cli.conftest import Program, Run
from tests.cli.test_terminal import ended_on_a_terminal, on_a_terminal
from tests.places import settings_file


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that notes its arguments in `seen`, and puts what lies in `text` into the file's place."""
    folder = tmp_path / "an editor"
    folder.mkdir()
    script = folder / "write.py"
    script.write_text(
        "import pathlib, sys\nhome = pathlib.Path(__file__).parent\n"
        "(home / 'seen').write_text(repr(sys.argv[1:]))\n"
        "file = pathlib.Path(sys.argv[-1])\n"
        "if (home / 'text').exists():\n    file.write_bytes((home / 'text').read_bytes())\n"
    )
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"{shlex.quote(sys.executable)} {shlex.quote(str(script))} --mine")
    return folder


# --- edited -----------------------------------------------------------------------------------------


def test_what_changed_is_said_and_found(run: Run, workspace: Path, editor: Path) -> None:
    run("sync")
    note = workspace / "memory" / "2026-02-14.md"
    (editor / "text").write_text("# 2026-02-14\n\n- Snow on the 山.\n- And sun.\n")
    result = run("open", "memory/2026-02-14.md:3")
    assert result.exit_code == 0, result.stderr
    assert (editor / "seen").read_text() == repr(["--mine", str(note)])
    assert "-- Nothing but rain." in result.stdout
    assert "+- Snow on the 山." in result.stdout
    assert "memory/2026-02-14.md: 2 lines added, 1 removed" in result.stderr
    assert "the index is up to date" in result.stderr
    assert "Snow" in run("search", "snow").stdout


def test_nothing_changed_is_said_and_nothing_written(run: Run, workspace: Path, editor: Path) -> None:
    before = (workspace / "MEMORY.md").stat().st_mtime_ns
    result = run("open", "MEMORY.md")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "MEMORY.md: nothing was changed" in result.stderr
    assert (workspace / "MEMORY.md").stat().st_mtime_ns == before


def test_an_editor_that_fails_ends_with_1(run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", f"{shlex.quote(sys.executable)} -c 'raise SystemExit(3)'")
    result = run("open", "MEMORY.md")
    assert result.exit_code == 1
    assert "ended with 3" in result.stderr


@pytest.mark.parametrize(
    ("answer", "edited"), [("n", "- Edited by hand.\n"), ("y", "- Edited by hand.\n"), ("", ""), ("y", "")]
)
def test_what_the_editor_saved_over_is_put_back_after_a_yes(
    run: Run, workspace: Path, editor: Path, monkeypatch: pytest.MonkeyPatch, answer: str, edited: str
) -> None:
    def write(argv: list[str]) -> int:
        text = (workspace / "MEMORY.md").read_bytes()
        assert run("remember", "The gate is green.", "--long-term").exit_code == 0
        (workspace / "MEMORY.md").write_bytes(text + edited.encode())
        return 0

    monkeypatch.setattr(editors, "run", write)
    monkeypatch.setattr(session, "can_ask", lambda **_: bool(answer))
    result = run("open", "MEMORY.md", input=f"{answer}\n")
    assert "the editor saved over what was written meanwhile" in result.stderr
    assert "+- The gate is green." in result.stdout
    text = (workspace / "MEMORY.md").read_text()
    assert edited in text
    assert ("1 line added" in result.stderr) == bool(edited)
    assert ("The gate is green." in text) == (answer == "y")
    assert ("both changes stand" in result.stderr) == (answer == "y")
    if answer != "y":
        _, command = result.stderr.split("`commonplace restore ")
        assert run("restore", command.partition("`")[0]).exit_code == 0
        assert "The gate is green." in (workspace / "MEMORY.md").read_text()


def test_a_note_that_is_gone_is_said_and_what_was_written_meanwhile_kept(
    run: Run, workspace: Path, editor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def delete(argv: list[str]) -> int:
        assert run("remember", "The gate is green.", "--long-term").exit_code == 0
        (workspace / "MEMORY.md").unlink()
        return 0

    monkeypatch.setattr(editors, "run", delete)
    result = run("open", "MEMORY.md")
    assert result.exit_code == 1
    assert "no note is left there" in result.stderr
    _, command = result.stderr.split("`commonplace restore ")
    assert run("restore", command.partition("`")[0]).exit_code == 0
    assert "- The gate is green." in (workspace / "MEMORY.md").read_text()


def test_a_note_of_a_collection_is_edited_where_it_lies(run: Run, tmp_path: Path, editor: Path) -> None:
    (tmp_path / "资料").mkdir()
    note = tmp_path / "资料" / "x y.md"
    note.write_text("# 标题\n\n- 一。\n")
    run("collection", "add", str(tmp_path / "资料"), "--name", "papers")
    (editor / "text").write_text("# 标题\n\n- 二。\n")
    assert run("open", "papers/x y.md").exit_code == 0
    assert note.read_text() == "# 标题\n\n- 二。\n"


def test_a_hit_is_edited_by_its_number(workspace: Path, editor: Path) -> None:
    on_a_terminal(workspace, "search", "rain")
    (editor / "text").write_text("# 2026-02-14\n\n- Hail.\n")
    code, shown, errors = ended_on_a_terminal(workspace, "open", "1")
    assert (code, "+- Hail." in shown) == (0, True), errors
    assert (workspace / "memory" / "2026-02-14.md").read_text().endswith("- Hail.\n")


@pytest.mark.parametrize(
    "reference", ["../outside.md", "/etc/passwd", "commonplace.toml", "link.md", "none.md"]
)
def test_no_other_file_is_opened(run: Run, workspace: Path, editor: Path, reference: str) -> None:
    (workspace.parent / "outside.md").write_text("secret\n")
    settings_file(workspace).write_text("")
    (workspace / "link.md").symlink_to(workspace.parent / "outside.md")
    result = run("open", reference)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1), reference
    assert not (editor / "seen").exists()


# --- only shown -------------------------------------------------------------------------------------


@pytest.fixture
def transcript(run: Run, tmp_path: Path) -> str:
    (tmp_path / "talks").mkdir()
    (tmp_path / "talks" / "s1.jsonl").write_text('{"role": "user", "content": "Which tea?"}\n' * 2)
    assert run("sessions", "follow", str(tmp_path / "talks")).exit_code == 0
    run("sync")
    return "talks/s1.jsonl"


def test_a_transcript_is_shown_and_not_edited(program: Program, editor: Path, transcript: str) -> None:
    shown = program("open", transcript, PAGER="cat")
    assert (shown.returncode, b"Which tea?" in shown.stdout) == (0, True)
    assert b"a transcript, which only the program that writes it changes, so it is only shown" in shown.stderr
    assert not (editor / "seen").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everything")
def test_a_note_that_may_not_be_written_is_shown(program: Program, workspace: Path, editor: Path) -> None:
    (workspace / "MEMORY.md").chmod(0o444)
    shown = program("open", "MEMORY.md", PAGER="cat")
    assert (b"you may not write it" in shown.stderr, b"white tea" in shown.stdout) == (True, True)


def test_a_limited_agent_opens_no_editor(program: Program, workspace: Path, editor: Path) -> None:
    from commonplace import config

    file = config.user_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('[agents.guest]\nreads = ["here"]\n')
    refused = program("--agent", "guest", "open", "MEMORY.md")
    assert (refused.returncode, refused.stdout) == (1, b"")
    assert b"agent 'guest' opens no editor" in refused.stderr
    assert not (editor / "seen").exists()
