"""Every parser takes a time that grows with its text, whatever the text is."""

from __future__ import annotations

import contextlib
import zlib
from pathlib import Path

import pytest

from commonplace.redaction import redact
from tests.attacks import commands, growth
from tests.attacks.__main__ import refusing
from tests.attacks.hostile import FAMILIES, GENERATORS
from tests.attacks.parsers import PARSERS, REFUSALS, Parser

# Read whatever a note is made of: these see every text, the others those that were once bad for any.
BROAD = (
    "markdown.document.parse", "notes.recalled.strip_blocks", "markdown.comments.take", "markdown.statements.read",
    "markdown.struck.plain", "search.wording.read", "revision.sentences.spans", "erasure.cutting.cut",
    "transcripts.injected.without_injected",
)  # fmt: skip
ONCE_BAD = (
    "comment opened", "comment opened, no blank", "heading pinned", "number item", "recalled opened",
    "reminder opened", "wide stop", "stops", "backslashes", "underscore", "nested strikes", "items of guesses",
    "blank lines, indented", "blank lines between items", "comments on lines of their own", "struck", "front bases of 60",
    "fence in an item", "items of words", "items of words that begin alike",
)  # fmt: skip
SIZE, LONGEST_S = 16 << 10, 0.5
# What is doubled: of a family one text, and one more for every so many that it has.
MORE = 40
LARGEST, PER_MB_S = 128 << 10, 60.0  # characters; seconds that tell a square rather than a slow machine


def _seconds(parser: Parser, text: str, longest_s: float) -> float:
    def call() -> None:
        with contextlib.suppress(REFUSALS):
            parser(text)

    taken = growth.seconds(call, 2 * longest_s)
    return taken if taken < longest_s else min(taken, growth.seconds(call, 2 * longest_s))


def _met(name: str, text: str, share: int) -> bool:
    """Whether a parser meets a text where each meets one in so many, other ones than another parser."""
    return zlib.crc32(f"{name} {text}".encode()) % share == 0


# By default each parser meets a part of the texts, and each text a part of the parsers; with --slow all of them.
SHARE = pytest.mark.parametrize("share", [6, pytest.param(1, marks=pytest.mark.slow)])


def test_there_is_enough_to_try() -> None:
    assert len(GENERATORS) >= 150
    assert set(BROAD) <= PARSERS.keys()
    assert set(ONCE_BAD) <= GENERATORS.keys()


@SHARE
@pytest.mark.parametrize("name", BROAD)
def test_any_text(name: str, share: int) -> None:
    late = [
        text
        for text, of in GENERATORS.items()
        if _met(name, text, share) and _seconds(PARSERS[name], of(SIZE), LONGEST_S) >= LONGEST_S
    ]
    assert not late


@SHARE
@pytest.mark.parametrize("name", ONCE_BAD)
def test_any_parser(name: str, share: int) -> None:
    text = GENERATORS[name](SIZE)
    late = [
        parser
        for parser, call in PARSERS.items()
        if _met(parser, name, share) and _seconds(call, text, LONGEST_S) >= LONGEST_S
    ]
    assert not late


@pytest.mark.parametrize("command", commands.COMMANDS)
def test_commands(tmp_path: Path, command: str) -> None:
    for name in ("items", "heading pinned", "item of openers", "number item", "front brackets"):
        memory = commands.workspace(tmp_path / name, GENERATORS[name](32 << 10))
        taken = growth.seconds(lambda: commands.run(commands.COMMANDS[command], memory), 8.0)  # noqa: B023
        assert taken < 4.0, name


def test_forty_eight_characters_take_no_time() -> None:
    text = ("+" + "1" * 46 + "x") * 20
    assert growth.seconds(lambda: redact.redact_personal(text)) < 1


def _texts(name: str) -> list[str]:
    """The generators that a function meets: some of every family, and all of them for what sees every text."""
    if name in BROAD:
        return list(GENERATORS)
    return [
        text
        for family in FAMILIES.values()
        for text in sorted(family, key=lambda text: zlib.crc32(f"{name} {text}".encode()))[
            : 1 + len(family) // MORE
        ]
    ]


def test_every_family_and_every_text_is_met() -> None:
    assert sum(map(len, FAMILIES.values())) == len(GENERATORS)
    assert len(FAMILIES) >= 15
    for name in PARSERS:
        texts = set(_texts(name))
        assert all(texts.intersection(family) for family in FAMILIES.values()), name
        assert name not in BROAD or texts == GENERATORS.keys()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("render.hits.passage", "newline"),
        ("upkeep.rollup.compose", "fence in an item"),
        ("upkeep.rollup.compose", "items of words that begin alike"),
        ("lifecycle.consolidation.standing.read", "nested list of tabs"),
    ],
)
def test_once_the_square(name: str, text: str) -> None:
    parser = refusing(PARSERS[name])
    assert not growth.measure(parser, GENERATORS[text], largest=LARGEST, per_mb_s=PER_MB_S).fault


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", PARSERS)
def test_doubling(name: str) -> None:
    """Double texts of every family: no time grows with the square, whatever else the machine does.

    `python -m tests.attacks parsers NAME` doubles all texts, up to a megabyte, and minds the seconds as well.
    """
    parser = refusing(PARSERS[name])
    tried = {
        text: growth.measure(parser, GENERATORS[text], largest=LARGEST, per_mb_s=PER_MB_S)
        for text in _texts(name)
    }
    assert not {text: one.fault for text, one in tried.items() if one.fault}
