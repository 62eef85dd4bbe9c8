"""Generated changes as they may be shown."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from commonplace import Memory, paths
from commonplace.history import applying, diffs, runs
from commonplace.types.revisions import Change

from .conftest import ABOUT, Changing

SECRET = "ghp_" + "a1B2" * 9


def diff(before: bytes | None, after: bytes | None) -> str:
    return diffs.of_changes([Change("memory/a.md", before, after)])


def test_a_change_is_a_unified_diff() -> None:
    before = b"".join(b"%d\n" % n for n in range(20))
    assert diff(before, before.replace(b"10\n", b"ten\n")) == (
        "--- a/memory/a.md\n+++ b/memory/a.md\n@@ -8,7 +8,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13"
    )
    assert diff(None, b"new") == (
        "--- /dev/null\n+++ b/memory/a.md\n@@ -0,0 +1 @@\n+new\n\\ No newline at end of file"
    )
    assert diff(b"old\n", None).startswith("--- a/memory/a.md\n+++ /dev/null\n")
    assert diff(b"same\n", b"same\n") == ""


def test_what_get_would_not_show_is_not_shown() -> None:
    before = (
        f"one <private>a\nb</private>\n- token {SECRET}\n-----BEGIN RSA PRIVATE KEY-----\n{'MIIE' * 9}\nend\n"
    )
    after = before.replace("one", "two").replace("end", "ended")
    shown = diff(before.encode(), after.encode())
    assert "+two" in shown
    assert "[REDACTED:github-token]" in shown
    assert not any(hidden in shown for hidden in (SECRET, "MIIE", "<private>", "\n b"))
    told = diff(b"<private>a</private>\n", b"<private>b</private>\n")
    assert told == "# memory/a.md: only what is not shown has changed (private parts, secrets, line ends)"


def test_no_diff_speaks_to_a_terminal() -> None:
    shown = diff(b"plain\n", "\x1b]52;c;x\x07 \u202e esc\r\n".encode())
    assert not any(c in shown for c in "\x1b\x07\u202e\r")
    assert "\x1b" not in diffs.of_changes([Change("memory/\x1b[2J.md", None, b"x\n")])


def test_what_nobody_reads_is_told_in_a_line() -> None:
    assert diff(b"\0\1\2", None) == "# memory/a.md: not a text (3 bytes, then no file)"
    assert diff(b"", b"x" * 1_000_001).startswith("# memory/a.md: too large to be shown (0 bytes, then 1 MB)")
    assert diff(None, b"") == "# memory/a.md: made empty"
    assert "+ünï" in diff(None, "ünï\n".encode("utf-16"))


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes_can_be_shown(before: bytes, after: bytes) -> None:
    assert bool(diff(before, after)) == (before != after)


def test_a_run_is_shown_as_far_as_it_is_kept(workspace: paths.Workspace, change: Changing) -> None:
    run = applying.apply(workspace, [change("MEMORY.md", b"# M\n")], ABOUT)
    assert run is not None
    assert "+# M" in diffs.of_run(workspace, run)
    (workspace.history / run.id / "0.after").unlink()
    assert diffs.of_run(workspace, run) == "# MEMORY.md: no such file or directory"
    gone = applying.apply(workspace, [change("MEMORY.md", b"#\n")], ABOUT, keep=False)
    assert gone is not None
    assert diffs.of_run(workspace, gone) == "# MEMORY.md: what it was before is not kept"


def test_copies_are_for_nobody_who_may_not_read_the_note(
    workspace: paths.Workspace, change: Changing
) -> None:
    workspace.memory_file.chmod(0o600)
    run = applying.apply(workspace, [change("MEMORY.md", b"# M\n")], ABOUT)
    assert run is not None
    for side in runs.SIDES:
        assert (workspace.history / run.id / f"0.{side}").stat().st_mode & 0o077 == 0


def test_the_copies_are_neither_searched_nor_shown(workspace: paths.Workspace, change: Changing) -> None:
    applying.apply(workspace, [change("MEMORY.md", b"# M\n")], ABOUT)
    with Memory.open(Path(workspace.root), overrides={"embedding.provider": "none"}) as memory:
        memory.sync()
        assert [note.path for note in memory.notes()] == ["MEMORY.md"]
