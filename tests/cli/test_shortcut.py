"""The short way of a search reads arguments as click does, or leaves them to click."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.cli import searching, shortcut
from commonplace.cli.application import cli
from commonplace.cli.searching import Search

_ARGUMENTS = (
    "search deploy -n 3 0 --limit --limit=5 -c memory --collection=a --lexical --semantic --full --explain "
    "--format json --format=xml --layer index --layer=full --layer --min-score 0.5 -- -lin - -w /notes --workspace=/notes --workspace --debug "
    "--help --x 中文 = -n5"
)
WORDS = st.sampled_from([*_ARGUMENTS.split(), ""])


def by_click(arguments: list[str]) -> Search | None:
    """Return what click makes of the arguments, None if it is no search."""
    seen: list[Search] = []
    command = cli.get_command(None, "search")  # type: ignore[arg-type]
    assert command is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searching, "search", lambda ask: seen.append(ask) or 0)
        with suppress(SystemExit):
            cli.main(arguments)
    return seen[0] if seen else None


@given(st.lists(WORDS, max_size=7).map(lambda words: ["search", *words]) | st.lists(WORDS, max_size=6))
def test_the_short_way_agrees_with_click(arguments: list[str]) -> None:
    found = shortcut.parse(arguments)
    if found is None:
        return
    found.pop("debug", None)
    ask = Search(**found)  # type: ignore[arg-type]
    if searching.is_valid(ask):
        assert by_click(arguments) == ask


@pytest.mark.parametrize(
    "arguments",
    [
        ["-w", "/notes", "search", "--lexical", "deploy", "-n", "3"],
        ["search", "which tea", "--format=json", "-c", "memory", "--", "-coffee"],
        ["search", "deploy", "--explain", "--full", "--min-score", "0.3", "--debug"],
    ],
)
def test_plain_searches_take_the_short_way(arguments: list[str]) -> None:
    found = shortcut.parse(arguments)
    assert found is not None
    assert searching.is_valid(Search(**{k: v for k, v in found.items() if k != "debug"}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "arguments",
    [[], ["search"], ["search", "--help"], ["search", "-n"], ["search", "x", "-n", "many"], ["--version"],
     ["status"], ["searching", "x"], ["search", "x", "-n5"], ["search", "x", "--nope"]],
)  # fmt: skip
def test_everything_else_is_left_to_click(arguments: list[str]) -> None:
    assert shortcut.parse(arguments) is None
