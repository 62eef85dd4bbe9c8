"""Generated changes as they may be shown, and taken back out of what a file has become."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.base import paths
from commonplace.storage import diffs, journal, state
from commonplace.types.changes import Change
from tests import applying
from tests.storage.conftest import ABOUT, Changing

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
    assert "+# M" in journal.diff(workspace, run)
    with state.writing(workspace) as connection:
        connection.execute("DELETE FROM blob")
    assert journal.diff(workspace, run) == "# MEMORY.md: is not kept"
    gone = applying.apply(workspace, [change("MEMORY.md", b"#\n")], ABOUT, keep=False)
    assert gone is not None
    assert journal.diff(workspace, gone) == "# MEMORY.md: what it was before is not kept"


# --- a change taken back --------------------------------------------------------------------------------

TEXTS = st.lists(st.sampled_from([b"a\n", b"b\n", b"\n", b"c\r\n"]), max_size=9).map(b"".join)


def text(*names: str) -> bytes:
    return "".join(f"- {name}\n" for name in names).encode()


@pytest.mark.parametrize(
    ("before", "after", "now", "wanted"),
    [
        ("a b", "a b OURS", "a b OURS later", "a b later"),  # an agent's append
        ("a b c", "a c", "new a c", "new a b c"),
        ("a b c d", "a B c D", "a B c D e", "a b c d e"),
        ("a b c", "a B c", "x a B y c", "x a b y c"),
        ("a x b x c", "a x b c", "a x b c new", "a x b x c new"),
    ],
)
def test_what_stands_is_taken_back(before: str, after: str, now: str, wanted: str) -> None:
    texts = [text(*names.split()) for names in (before, after, now)]
    assert diffs.revert(*texts) == text(*wanted.split())


@pytest.mark.parametrize(
    ("before", "after", "now", "told"),
    [
        ("a b", "a B", "a changed", "line 2"),
        ("a b c", "a c", "a between c", "line 2"),  # where it was, something else stands now
        ("a b", "a", "a later", "line 2"),
        ("a", "a OURS", "a", "line 2"),
        ("a x x x x x b", "a x x x x x x b", "n a x x x x x x n b", "cannot be told"),
        ("a b c d", "a B C d", "a B x C d", "line 3"),
    ],
)
def test_what_does_not_stand_refuses(before: str, after: str, now: str, told: str) -> None:
    with pytest.raises(diffs.Overlap, match=told):
        diffs.revert(*(text(*names.split()) for names in (before, after, now)))


def test_utf_16_is_not_taken_apart() -> None:
    with pytest.raises(diffs.Overlap, match="UTF-16"):
        diffs.revert(*(f"{words}\n".encode("utf-16") for words in ("a", "a b", "a b c")))


@given(TEXTS, TEXTS, TEXTS)
def test_no_line_is_lost_or_doubled(before: bytes, after: bytes, now: bytes) -> None:
    """Whatever texts they are: what is there afterwards is what was, less what was added, and what was removed."""
    try:
        result = diffs.revert(before, after, now)
    except diffs.Overlap:
        return
    wanted = Counter(now.splitlines())
    wanted.subtract(Counter(after.splitlines()))
    wanted.update(before.splitlines())
    found = Counter(result.splitlines())
    assert {line: n for line, n in wanted.items() if n} == dict(found)


@given(st.randoms(use_true_random=False), st.integers(1, 12))
def test_distinct_lines_come_back_exactly_or_not_at_all(rng: random.Random, length: int) -> None:
    """Of lines that differ it is known what is wanted: those from before, with what came later in its place."""
    before = [f"line {n}\n".encode() for n in range(length)]
    ours, theirs = edits(rng, length, b"ours"), edits(rng, length, b"theirs")
    after = edited(before, ours)
    now = edited(before, {**ours, **{place: edit for place, edit in theirs.items() if place not in ours}})
    wanted = edited(before, {place: edit for place, edit in theirs.items() if place not in ours})
    try:
        result = diffs.revert(*map(b"".join, (before, after, now)))
    except diffs.Overlap:
        assert now != after  # what nobody touched always comes back
    else:
        assert result == b"".join(wanted)


Edit = list[bytes] | None  # what stands before a line, the line itself, or None for its removal


def edits(rng: random.Random, length: int, who: bytes) -> dict[int, Edit]:
    found: dict[int, Edit] = {}
    for place in rng.sample(range(length), rng.randint(0, length // 2)):
        new = b"%s %d\n" % (who, place)
        found[place] = rng.choice([None, [new], [new, b"line %d\n" % place], [b"line %d\n" % place, new]])
    return found


def edited(before: list[bytes], changes: dict[int, Edit]) -> list[bytes]:
    return [new for place, line in enumerate(before) for new in (changes.get(place, [line]) or [])]


WORDS = st.lists(st.sampled_from("abcd"), max_size=6)


@settings(max_examples=2_000)
@given(WORDS, WORDS, WORDS, st.integers(0, 7))
def test_the_end_of_the_last_line_changes_nothing_else(
    before: list[str], after: list[str], now: list[str], ends: int
) -> None:
    """With or without a last line end, a change comes back as with all of them, or not at all."""

    def bare(lines: list[str], has_end: bool) -> bytes:
        return ("\n".join(lines) + "\n" * (has_end and bool(lines))).encode()

    texts = [bare(lines, bool(ends >> n & 1)) for n, lines in enumerate((before, after, now))]
    try:
        result = diffs.revert(*texts)
    except diffs.Overlap:
        return
    assert (
        result.splitlines() == diffs.revert(*(bare(one, True) for one in (before, after, now))).splitlines()
    )


@given(WORDS, WORDS)
def test_a_line_goes_where_it_stood(base: list[str], other: list[str]) -> None:
    places, changed = diffs.places(base, other), diffs.hunks(base, other)
    assert places == sorted(places)
    assert (len(places), places[-1]) == (len(base) + 1, len(other))
    for number, line in enumerate(base):
        if not any(hunk.first <= number < hunk.last for hunk in changed):
            assert other[places[number]] == line
        for hunk in changed:
            if hunk.first < number < hunk.last:
                assert places[number] == hunk.other_last
