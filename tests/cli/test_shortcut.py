"""The short way of a search reads arguments as click does, or leaves them to click."""

from __future__ import annotations

import inspect
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import Memory
from commonplace.agent import tools
from commonplace.cli import flags, searching, shortcut
from commonplace.cli.application import cli
from commonplace.search.request import Request

_ARGUMENTS = (
    "search deploy -n 3 0 --limit --limit=5 -c memory --collection=a --lexical --semantic --full --explain "
    "--format json --format=md --layer index --layer=full --layer --min-score 0.5 -- -lin - -w /notes "
    "--workspace=/notes --workspace --all-workspaces --debug --expand --no-expand --no-expand=1 --rerank off --history "
    "--now 2026-02-13 --as-of 2026-02 mcp --help --x 中文 = -n5"
)
WORDS = st.sampled_from([*_ARGUMENTS.split(), ""])


def by_click(arguments: list[str]) -> dict[str, object] | None:
    """Return what click makes of the arguments, None if it is no search."""
    seen: list[dict[str, object]] = []
    command = cli.get_command(None, "search")  # type: ignore[arg-type]
    assert command is not None

    def search(
        words: tuple[str, ...],
        workspace: tuple[str, ...],
        agent: str | None,
        everything: bool,
        **options: object,
    ) -> int:
        shared = {"workspace": workspace or None, "agent": agent, "everything": everything or None}
        seen.append({"words": words, **shared, **options})
        return 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searching, "search", search)
        with suppress(SystemExit):
            cli.main(arguments)
    return seen[0] if seen else None


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--lexical", "--semantic"], "--lexical and --semantic exclude each other"),
        (["--semantic", "--full", "--lexical"], "--lexical and --semantic exclude each other"),
        (["--min-score", "nan"], "--min-score"),
        (["--min-score", "inf"], "--min-score"),
    ],
)
def test_what_contradicts_itself_and_what_is_no_number_are_wrong_usage(
    options: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shortcut.parse(["search", "deploy", *options], "search") is None
    assert by_click(["search", "deploy", *options]) is None
    assert reason in capsys.readouterr().err
    twice = ["search", "deploy", "--lexical", "--lexical"]
    assert shortcut.parse(twice, "search") == {"mode": "lexical", "words": ("deploy",)}
    assert (by_click(twice) or {}).get("mode") == "lexical"


@given(st.lists(WORDS, max_size=7).map(lambda words: ["search", *words]) | st.lists(WORDS, max_size=6))
def test_the_short_way_agrees_with_click(arguments: list[str]) -> None:
    options = shortcut.parse(arguments, "search")
    if options is None or not options["words"]:
        return
    options.pop("debug", None)
    clicked = by_click(arguments)
    assert clicked is not None
    unsaid = {name: value for name, value in clicked.items() if name not in options}
    assert {**unsaid, **options} == clicked
    assert unsaid.pop("form", "text") == "text"
    assert not any(unsaid.values())


@pytest.mark.parametrize(
    "arguments",
    [
        ["-w", "/notes", "search", "--lexical", "deploy", "-n", "3"],
        ["search", "which tea", "--format=json", "-c", "memory", "--", "-coffee"],
        ["search", "deploy", "--explain", "--full", "--min-score", "0.3", "--debug"],
    ],
)
def test_plain_searches_take_the_short_way(arguments: list[str]) -> None:
    assert shortcut.parse(arguments, "search") is not None


@pytest.mark.parametrize(
    "arguments",
    [[], ["search", "--help"], ["search", "-n"], ["search", "x", "-n", "many"], ["--version"],
     ["status"], ["searching", "x"], ["search", "x", "-n5"], ["search", "x", "--nope"], ["search", "x", "-n", "0"],
     ["search", "x", "--min-score", "nan"], ["search", "x", "--format", "yaml"], ["--lexical", "search", "x"]],
)  # fmt: skip
def test_everything_else_is_left_to_click(arguments: list[str]) -> None:
    assert shortcut.parse(arguments, "search") is None
    assert shortcut.parse(arguments, "mcp") is None


def test_serving_takes_options_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shortcut.parse(["mcp", "--structured"], "mcp") == {"structured": True, "words": ()}
    assert shortcut.parse(["-w", "x", "mcp", "--structured"], "mcp") == {
        "workspace": ("x",), "structured": True, "words": (),
    }  # fmt: skip
    for elsewhere in (["--structured", "mcp"], ["mcp", "--lexical"], ["mcp", "--structured=1"]):
        assert shortcut.parse(elsewhere, "mcp") is None
    assert shortcut.parse(["search", "x", "--structured"], "search") is None
    seen: list[object] = []
    monkeypatch.setattr(shortcut, "connect", lambda *options, **named: seen.append((options, named)) or 0)
    assert shortcut.run(["mcp", "--structured"]) == 0
    with suppress(SystemExit):
        cli.main(["mcp", "--structured"])
    assert seen == [((), {"structured": True}), (((), None, True, False), {})]


def test_every_caller_names_what_a_request_holds() -> None:
    """The question and its lines are no options; a recall has a number of hits and a threshold of its own."""
    fields = {*Request._fields} - {"text", "lines", "complete", "since", "without_session"}
    assert {*inspect.signature(Memory.search).parameters} == fields | {"self", "text"}
    assert {
        name: one.default or None
        for name, one in inspect.signature(Memory.search).parameters.items()
        if name in fields
    } == {name: Request._field_defaults[name] or None for name in fields}
    own = {"self", "text", "budget", "sparing", "without_session"}
    recalled = {*inspect.signature(Memory.recall).parameters} - own
    assert recalled < fields
    shown = {"layer", "full", "unfolded", "explain", "form", "engine"}
    assert {flag.field for flag in flags.FLAGS} == fields | shown
    tool = tools.find("memory_search")
    assert tool is not None
    filters = {"query", "after", "before", "path"}
    assert {*tool.schema["properties"]} - filters - {"layer", "budget"} < fields
