"""Statements struck on the lines of the raw file, and new ones in their manner."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.markdown import statements, struck
from commonplace.markdown.document import Document, Strike, parse
from commonplace.types import Statement

FOLDER = Path(__file__).parents[1] / "golden" / "struck"
NOTES = sorted(path for path in FOLDER.glob("*.md") if not path.stem.endswith(".struck"))
PATH = "memory/2026-02-13.md"


def read(text: str) -> list[Statement]:
    return statements.read(parse(text, PATH))


def strike(lines: Sequence[str], statement: Statement, **marks: str) -> list[str]:
    return list(Document.of("".join(lines), PATH).strike_all([Strike(statement, **marks)]).document.lines)


def struck_all(text: str) -> str:
    """A note with every statement struck that is not nested in another one and not struck yet."""
    lines = list(Document.of(text).lines)
    end = 0
    for statement in read(text):
        if statement.first > end and not statement.struck:
            lines = strike(lines, statement, until="2026-03-02")
            end = statement.end
    return "".join(lines)


@pytest.mark.parametrize("path", NOTES, ids=lambda path: path.stem)
def test_as_written_down(path: Path) -> None:
    wanted = path.with_suffix(".struck.md").read_bytes()
    assert struck_all(path.read_bytes().decode()).encode() == wanted


@pytest.mark.parametrize("path", NOTES, ids=lambda path: path.stem)
def test_it_reads_back_struck(path: Path) -> None:
    text = path.read_bytes().decode()
    before, after = read(text), read(struck_all(text))
    assert [s.first for s in before] == [s.first for s in after]
    assert all(s.struck for s in after)
    assert [plain(s.text) for s in before] == [s.text for s in after]


def plain(text: str) -> str:
    return struck.STRUCK.sub(lambda found: struck.unescaped(found[1]), text)


WORDS = st.text(st.sampled_from("ab ~\\.x部署`*<>-:!"), min_size=1, max_size=12).filter(
    lambda text: "<!" not in text and "<p" not in text
)
LINE = st.one_of(
    st.builds("{}{}{}".format, st.sampled_from(["- ", "  - ", "1. ", "- 14:05 ", "", "- [ ] ", "> ", "Ann: "]), WORDS,
              st.sampled_from(["", " <!-- note -->", " <!-- importance: 8 -->", " <private>p ~~ q</private>"])),
    st.sampled_from(["", "# Head", "```", "| t |", "---", "<private>", "</private>", "word", "~~gone~~ stays"]),
)  # fmt: skip


@given(st.lists(LINE, max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.data())
def test_striking_changes_the_lines_of_the_statement_alone(
    lines: list[str], newline: str, ended: bool, data: st.DataObject
) -> None:
    text = newline.join(lines) + (newline if ended and lines else "")
    stated = [s for s in read(text) if not s.struck]
    if not stated:
        return
    one = data.draw(st.sampled_from(stated))
    raw = list(Document.of(text).lines)
    after = strike(raw, one, until="2026-03-02", by="agent", agent="nano bot")
    assert "".join(raw) == text
    assert len(after) == len(raw)
    for number, (old, new) in enumerate(zip(raw, after, strict=True), 1):
        if not one.first <= number <= one.end:
            assert new == old
        assert new[len(new.rstrip("\r\n")) :] == old[len(old.rstrip("\r\n")) :]
        assert hidden(new) == hidden(old)


def hidden(line: str) -> str:
    """What stands in the private part of a line."""
    _, found, rest = line.partition("<private>")
    return found + rest.partition("</private>")[0]


PLAIN = st.text(st.sampled_from("ab ~\\.x部署``*"), min_size=1, max_size=16).filter(
    lambda text: "~~" not in struck.STRUCK.sub("", text) or "~~" not in text.replace("~~ ", "")
)


@given(st.lists(PLAIN, min_size=1, max_size=3), st.sampled_from(["- ", "  - ", "- 14:05 ", "* [x] ", "2. "]))
def test_it_reads_back_with_the_same_words(words: list[str], mark: str) -> None:
    text = f"{mark}a{words[0]}\n" + "".join(f"     b{more}\n" for more in words[1:])
    (one, *rest) = read(text)
    if rest or struck.STRUCK.search(one.text):
        return
    (back,) = read("".join(strike(list(Document.of(text).lines), one, until="2026-03-02")))
    assert back.struck
    assert back.text == one.text
    assert (back.item, back.hour) == (one.item, one.hour)
    assert back.said["until"] == "2026-03-02"


def test_who_struck_it_and_what_stands_instead() -> None:
    (one,) = read("- Old.\n")
    (line,) = strike(["- Old."], one, until="2026-03-02", by="agent", agent="nano", to="MEMORY.md#L4")
    assert line == "- ~~Old.~~ <!-- cp: until=2026-03-02 by=agent agent=nano to=MEMORY.md#L4 -->"


def test_some_sentences_of_a_statement() -> None:
    (one,) = read("- 14:05 We deploy. Deploys go\n  out on Tuesdays. Mira owns them.\n")
    lines = ["- 14:05 We deploy. Deploys go\n", "  out on Tuesdays. Mira owns them.\n"]
    done = strike(lines, one, until="2026-03-02", only="Deploys go\nout on Tuesdays.")
    assert done == [
        "- 14:05 We deploy. ~~Deploys go~~ <!-- cp: until=2026-03-02 by=owner -->\n",
        "  ~~out on Tuesdays.~~ Mira owns them.\n",
    ]
    assert not read("".join(done))[0].struck


@pytest.mark.parametrize(
    "secret",
    [
        "the password: hunter2Xx91a",
        "key sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD",
        "Authorization: Bearer abcdef0123456789abcdef",
        "postgres://ann:s3cretPass9@host/db",
    ],
)
def test_a_secret_stays_in_the_file_and_out_of_sight(secret: str) -> None:
    text = f"- {secret}\n"
    (one,) = read(text)
    assert "REDACTED" in one.text
    (line,) = strike([text], one, until="2026-03-02")
    assert secret in line
    (back,) = read(line)
    assert (back.struck, back.text) == (True, one.text)


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("- 14:05 Old.", "New.", ["- New. <!-- cp: since=2026-03-02 -->"]),
        ("  * Old.", "One\ntwo", ["  * One <!-- cp: since=2026-03-02 -->", "    two"]),
        ("9. Old.", "One\ntwo", ["10. One <!-- cp: since=2026-03-02 -->", "    two"]),
        ("- [x] Old.", "New.", ["- [x] New. <!-- cp: since=2026-03-02 -->"]),
        ("Old paragraph.", "New.", ["New. <!-- cp: since=2026-03-02 -->"]),
        ("Old paragraph.", "# New", ["- # New <!-- cp: since=2026-03-02 -->"]),
        ("Old paragraph.", "a\nb", ["- a <!-- cp: since=2026-03-02 -->", "  b"]),
    ],
)
def test_a_new_entry_in_the_manner_of_the_old(old: str, new: str, wanted: list[str]) -> None:
    one = read(f"- above\n{old}\n" if old.startswith("  ") else f"{old}\n")[-1]
    assert statements.beside(one, new, since="2026-03-02") == wanted


def test_what_a_new_entry_rests_on() -> None:
    (one,) = read("- Old.\n")
    (line,) = statements.beside(one, "New.", since="2026-03-02", from_=["memory/a b.md#L1", "MEMORY.md#L2"])
    (back,) = read(line)
    assert back.said["from"] == "memory/a b.md#L1,MEMORY.md#L2"
