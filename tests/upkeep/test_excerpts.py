"""Text of tools: made readable, redacted whole, then cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.redaction.recalled import TAG
from commonplace.upkeep import excerpts

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


@pytest.mark.parametrize(
    ("text", "public"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m\r\nnext", "red\nnext"),
        ("10 %\r50 %\r100 %\ndone", "100 %\ndone"),
        (f"\x1b[1m{TOKEN[:9]}\x1b[0m{TOKEN[9:]}", "[REDACTED:github-token]"),
        (f"{TOKEN[:9]}\u200b{TOKEN[9:]}", "[REDACTED:github-token]"),
        ("a <private>b</private> c", "a  c"),
        (f"a <{TAG}>b</{TAG}> c", "a  c"),
        (f"a <{TAG}><private>b</{TAG}> c", "a  c"),
        ("mail ann@example.com, password: hunter2x", "mail [REDACTED:email], password: [REDACTED:password]"),
        ("\0\1\2\3\4\5 PNG", "(binary, 10 characters)"),
        ("a\0b" + "c" * 40, "ab" + "c" * 40),
    ],
)
def test_public(text: str, public: str) -> None:
    assert excerpts.public(text) == public


@pytest.mark.parametrize("shift", range(0, 60, 7))
def test_both_ends_of_a_long_text_hold_no_half_secret(shift: int) -> None:
    filler = "word " * (excerpts.WINDOW // 5)
    text = filler[: -20 - shift] + TOKEN + " middle " + filler * 3 + TOKEN + filler[: -20 - shift]
    public = excerpts.public(text)
    assert len(public) < 2 * excerpts.WINDOW
    assert not any(TOKEN[at : at + 8] in public for at in range(4, len(TOKEN) - 8))
    assert "characters …" in public


def test_private_parts_and_keys_of_any_length_are_gone_from_long_texts() -> None:
    filler = "word " * excerpts.WINDOW
    assert "diary" not in excerpts.public(f"{filler}<private>{'diary ' * 9000}")
    key = "MIIEowIBAAKCAQEA7c8Wm0xq3Vf9yG2tS5rK1uN4oP6aB8dE\n" * 900
    assert "MIIE" not in excerpts.public(f"{filler}\n-----BEGIN RSA PRIVATE KEY-----\n{key}")


def test_lines_are_whole_and_both_ends_are_there() -> None:
    lines = [f"line {number}" for number in range(100)]
    found = excerpts.lines_of("\n\n".join(lines), 100)
    assert found[0] == "line 0"
    assert found[-1] == "line 99"
    (gap,) = set(found) - set(lines)
    assert gap == f"… {100 - (len(found) - 1)} lines …"
    assert sum(len(line) + 1 for line in found if line != gap) <= 100
    assert len(excerpts.lines_of("\n".join("x" for _ in range(500)), 4000)) <= excerpts.LINES + 1


def test_a_long_line_is_cut_and_data_is_named() -> None:
    (line,) = excerpts.lines_of("a" + " b" * 500 + " z", 500)
    assert len(line) <= excerpts.LINE
    assert line.startswith("a b")
    assert line.endswith("z")
    assert excerpts.lines_of("x " + "QUJD" * 100 + "==", 500) == ["x (402 characters of data)"]
    assert excerpts.lines_of("data:image/png;base64," + "A" * 300, 500) == ["(322 characters of data)"]


@given(st.lists(st.text(alphabet="ab`~ \n", max_size=20)), st.integers(0, 200))
def test_a_fence_holds_whatever_stands_in_it(parts: list[str], most: int) -> None:
    lines = excerpts.lines_of("\n".join(parts), most)
    block = excerpts.fenced(lines, "diff")
    assert bool(block) is bool(lines)
    if block:
        mark = block[-1]
        assert block[0] == f"{mark}diff"
        assert not any(line.strip().startswith(mark) for line in block[1:-1])


@given(st.text(), st.integers(5, 50))
def test_cutting_keeps_to_the_length(text: str, most: int) -> None:
    assert len(excerpts.cut(text, most)) <= max(most, 0)


@pytest.mark.parametrize(
    "unit", ["\x1b", "\x1b[", "\x1b]", "\r", "\r\n", "a\r", "\0a", "A", "<", "\u200b", " \n"]
)
def test_a_megabyte_of_anything_ends(unit: str) -> None:
    excerpts.lines_of(excerpts.public(unit * (1_000_000 // len(unit))), 500)
