"""Filters: what they keep and leave out, alone and with words, in full text and vectors; what is none."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from commonplace import Memory, config
from commonplace.base.errors import ConfigError
from commonplace.config import Reach
from commonplace.config.settings import Collection
from commonplace.memory import Lab, reaching
from commonplace.search import query
from commonplace.search.filters import Filter

NOW = date(2026, 3, 18)
NOTES = {
    "notes/MEMORY.md": "# Memory\n\n- Tea is drunk after lunch.\n",
    "notes/memory/2026-02-13.md": "# 2026-02-13\n\n- Tea with Lin, and coffee.\n",
    "notes/memory/2026-03-17.md": "# 2026-03-17\n\n- Tea was out.\n",
    "notes/projects/kestrel.md": (
        "---\nstatus: Done\npriority: 5\ntags: [Garden, home]\ndue: 2026-05-01\n---\n# Kestrel\n\n- Tea in the hut.\n"
    ),
    "notes/projects/old/owl.md": "---\nStatus: open\npriority: 2\ntags: garden, work\n类型: 会议\n---\n# Owl\n\n- Tea for the owl.\n",
    "docs/guide/tea.md": "---\ntype: manual\ndate: 2025-10-05\nlinks: yes\n---\n# Tea\n\n- Tea needs water.\n",
    "docs/index.md": "# Index\n\n- Tea is a chapter.\n",
}
SHORT = {  # a word of each note, to name it by
    "lunch": "memory", "Lin": "feb", "out": "mar", "hut": "kestrel", "owl": "owl", "water": "guide", "chapter": "index",
}  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("filters")
    for path, text in NOTES.items():
        (made / path).parent.mkdir(parents=True, exist_ok=True)
        (made / path).write_text(text, "utf-8")
    return made / "notes"


@pytest.fixture(scope="module", params=["none", "fake"])
def memory(root: Path, request: pytest.FixtureRequest) -> Memory:
    settings = config.load(root, {}, {"embedding.provider": request.param, "index.include": ["**/*.md"]})
    settings = settings._replace(collections={"docs": Collection("docs", str(root.parent / "docs"))})
    made = reaching(
        Reach(root, "", {}), "", settings=settings, lab=Lab(root.parent / f"{request.param}.sqlite")
    )
    made.sync()
    return made


def found(memory: Memory, text: str) -> set[str]:
    hits = memory.search(text, min_score=0.0001, limit=50, now=NOW).hits
    return {name for hit in hits for word, name in SHORT.items() if word in hit.text}


EVERYTHING = set(SHORT.values())
CASES = [
    ("in:docs", {"guide", "index"}),
    ("-in:docs", EVERYTHING - {"guide", "index"}),
    ("NOT in:docs", EVERYTHING - {"guide", "index"}),
    ("in:docs in:memory", EVERYTHING),
    ("in:docs -path:guide", {"index"}),
    ("path:projects/*.md", {"kestrel"}),
    ("path:projects", {"kestrel", "owl"}),
    ("path:projects/**/*.md", {"kestrel", "owl"}),
    ("path:projects path:MEMORY.md", {"kestrel", "owl", "memory"}),
    ("path:docs/guide/*.md", {"guide"}),
    ('path:"guide/tea.md"', {"guide"}),
    ("type:daily", {"feb", "mar"}),
    ("type:long-term", {"memory"}),
    ("type:daily type:long-term", {"feb", "mar", "memory"}),
    ("-type:note", {"feb", "mar", "memory"}),
    ("type:session", set()),
    ("type:manual", {"guide"}),
    ("after:2026-02-13", {"feb", "mar"}),
    ("after:2026-02-14", {"mar"}),
    ("before:2026-02-13", {"feb", "guide"}),
    ("before:2025", {"guide"}),
    ("after:2025-10 before:2026-02", {"feb", "guide"}),
    ("on:yesterday", {"mar"}),
    ('on:"last Tuesday"', {"mar"}),
    ("on:“last Tuesday”", {"mar"}),
    ("on:去年十月", {"guide"}),
    ("after：上周一", {"mar"}),
    ("-after:2026", EVERYTHING - {"feb", "mar"}),
    ("-on:february", EVERYTHING - {"feb"}),
    ("status:done", {"kestrel"}),
    ("STATUS:open", {"owl"}),
    ("status:done status:open", {"kestrel", "owl"}),
    ("-status:done", EVERYTHING - {"kestrel"}),
    ("priority>=3", {"kestrel"}),
    ("priority:<3", {"owl"}),
    ("priority=5.0", {"kestrel"}),
    ("priority>1 priority<5", {"owl"}),
    ("priority>=low", set()),
    ("due>2026-03-01", {"kestrel"}),
    ("tag:garden", {"kestrel", "owl"}),
    ("tag:#home", {"kestrel"}),
    ("tag:work -tag:home", {"owl"}),
    ("tags:HOME", {"kestrel"}),
    ("links:yes", {"guide"}),
    ("类型:会议", {"owl"}),
    ("类型：会议", {"owl"}),
]


def test_filters_keep_to_what_they_say(memory: Memory) -> None:
    for text, names in CASES:
        assert found(memory, f"tea {text}") == names
        assert found(memory, f"{text} tea") == names
        assert found(memory, text) == names


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("tag:gardn tea", "no note has tag:gardn; did you mean tag:garden (1)?"),
        ("status:opne", "no note has status:opne; did you mean status:open (1)?"),
        ("tga:garden tea", '"tga:" is no filter; did you mean tag:?'),
        ("taks:open", '"taks:" is no filter; did you mean task:?'),
        ("tag:garden", ""),
        ("-tag:garden tea", ""),
        ("tag:zzz", ""),
        ("see http://tga.example/ and std::vector at 12:30", ""),
    ],
)
def test_a_misspelt_filter_is_named_with_the_nearest(memory: Memory, text: str, meant: str) -> None:
    assert list(memory.search(text).warnings) == ([meant] if meant else [])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("tag:garden AND status:done", {"kestrel"}),
        ("tag:garden AND tag:work", {"owl"}),
        ("tag:garden AND tag:work AND tag:home", set()),
        ("tag:home OR tag:work", {"kestrel", "owl"}),
        ("(tag:home OR tag:work)", {"kestrel", "owl"}),
        ("(tag:home OR tag:work) AND status:open", {"owl"}),
        ("tag:garden AND NOT status:done", {"owl"}),
        ("tag:garden NOT hut", {"owl"}),
        ("tag:garden AND tea", {"kestrel", "owl"}),
        ("(tag:home OR tag:work) tea -owl", {"kestrel"}),
        ("(in:docs OR in:memory) type:daily", {"feb", "mar"}),
    ],
)
def test_operators_between_filters(memory: Memory, text: str, names: set[str]) -> None:
    assert found(memory, text) == names
    warnings = memory.search(text, now=NOW, limit=20).warnings
    assert [one for one in warnings if not one.startswith("read as an exclusion: ")] == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("tag:home OR status:open", set()),
        ("tag:home OR tea", {"kestrel"}),
        ("tea OR tag:home", {"kestrel"}),
        ("(tea OR (tag:home))", {"kestrel"}),
        ("on:2026-02-13 OR on:2026-03-17", set()),
    ],
)
def test_or_between_filters_and_anything_else_counts_for_nothing(
    memory: Memory, text: str, names: set[str]
) -> None:
    assert found(memory, text) == names
    assert memory.search(text, now=NOW).warnings == ()


def test_filters_and_everything_else(memory: Memory) -> None:
    assert found(memory, 'tea AND (in:docs OR "a chapter")') == {"index"}
    assert found(memory, 'type:daily "tea with"') == {"feb"}
    assert found(memory, "type:daily -coffee") == {"mar"}
    assert found(memory, "type:daily wat*") == set()
    hits = memory.search("path:**/tea.md", collections=["docs"], now=NOW).hits
    assert {hit.path for hit in hits} == {"docs/guide/tea.md"}
    assert memory.search("in:docs", collections=["memory"], now=NOW).hits == ()


def test_filters_alone_list_the_newest_first(memory: Memory) -> None:
    hits = memory.search("before:2026-03-17", now=NOW).hits
    assert list(dict.fromkeys(hit.date for hit in hits)) == ["2026-03-17", "2026-02-13", "2025-10-05"]
    assert [hit.start_line for hit in hits[2:]] == sorted(hit.start_line for hit in hits[2:])
    assert {hit.score for hit in hits} == {0.0}
    assert len(memory.search("before:2026-03-17", limit=2, now=NOW).hits) == 2
    assert memory.search("before:2026-03-17", now=NOW).listing
    assert not memory.search("tea before:2026-03-17", now=NOW).listing


@pytest.mark.parametrize("text", ["", "  ", "?!", '""', "()"])
def test_a_question_without_a_word_says_so(memory: Memory, text: str) -> None:
    result = memory.search(text, now=NOW)
    assert result.hits == ()
    assert result.warnings == ("the question holds no word to look for",)


@pytest.mark.parametrize(
    ("text", "key", "told"),
    [
        ("tea in:nowhere", "in", "nowhere"),
        ("tea type:letter", "type", "letter"),
        ("tea after:soon", "after", "soon"),
        ("on:2026-02-30", "on", "2026-02-30"),
        ('path:""', "path", "missing"),
        ("-in:nowhere", "in", "nowhere"),
    ],
)
def test_an_unusable_value_is_one_clear_line(root: Path, text: str, key: str, told: str) -> None:
    with Memory.open(
        root, overrides={"embedding.provider": "none"}, lab=Lab(root.parent / "p.sqlite")
    ) as memory:
        if key == "type":
            (root.parent / "plain").mkdir(exist_ok=True)
            memory = Memory.open(root.parent / "plain", overrides={"embedding.provider": "none"})
        with pytest.raises(ConfigError, match=told) as caught:
            memory.search(text, now=NOW)
    assert caught.value.key == key
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    """Two notes, one of them with a key of its own."""
    root = tmp_path_factory.mktemp("plain")
    (root / "MEMORY.md").write_text(
        "# Memory\n\n- Deploys are done on Thursdays, with a tag.\n- Foo is a host.\n"
    )
    (root / "memory").mkdir()
    (root / "memory" / "plan.md").write_text(
        "---\nstatus: done\nfood: rice\n---\n# Plan\n\n- Deploys of foo.\n"
    )
    memory = Memory.open(root, overrides={"embedding.provider": "none"})
    memory.sync()
    return memory


@pytest.mark.parametrize("key", ["tag", "tags", "by", "agent", "session", "project"])
def test_a_named_key_that_no_note_has_finds_nothing_and_says_so(plain: Memory, key: str) -> None:
    for text in (f"{key}:foo deploy", f"{key.upper()}:foo"):
        result = plain.search(text, min_score=0)
        assert result.hits == ()
        assert [warning.split(";")[0] for warning in result.warnings] == [f'no note has the key "{key}"']
        assert f'"{key}:foo" in quotation marks' in result.warnings[0]
    assert plain.search(f"-{key}:foo deploys").hits


@pytest.mark.parametrize(
    "text",
    [
        "deploys localhost:8080",
        "FOO=bar deploys",
        "STAUTS=bar deploys TAG=v1 PROJECT=foo",
        "http://foo/x deploys",
        "status://foo deploys",
        "deploys at 12:30",
        "error: deploys failed",
        "std::vector deploys project::Foo agent::Foo",
        "C:\\foo deploys",
        "foo:bar deploys",
        'deploys "stauts:done"',
        "请问：deploys 什么时候部署",
        "if (session->id) deploys",
    ],
)
def test_what_only_looks_like_a_filter_is_words_without_a_warning(plain: Memory, text: str) -> None:
    result = plain.search(text, min_score=0)
    assert result.hits
    assert not any("key" in warning for warning in result.warnings)
    assert query.parse(text, lambda: frozenset({"status", "food"})).filters == ()


def test_what_is_tentative_is_listed_until_it_is_confirmed_or_struck(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "MEMORY.md").write_text(
        "# Memory\n\n- The proxy is slow. <!-- tentative -->\n- Deploys go out on Thursdays.\n- 暂定：三月搬家。\n"
        "- The old pump is ours. <!-- superseded -->\n"
        "- ~~The leak is in the pool.~~ <!-- tentative --> <!-- cp: until=2026-03-10 by=owner -->\n",
        "utf-8",
    )
    (tmp_path / "memory" / "plan.md").write_text(
        "---\nstatus: Done\n---\n# Plan\n\n- Ship it. <!-- tentative -->\n\nShipped.\n", "utf-8"
    )
    (tmp_path / "memory" / "guess.md").write_text("---\ntentative: true\n---\n# Guess\n\n- It may rain.\n")

    def said(text: str, **how: Any) -> set[str]:
        hits = memory.search(text, min_score=0, limit=50, now=NOW, **how).hits
        words = ("proxy", "Deploys", "三月", "pump", "pool", "Ship it", "Shipped", "rain")
        return {word for hit in hits for word in words if word in hit.text}

    for provider in ("none", "fake"):
        with Memory.open(tmp_path, overrides={"embedding.provider": provider}) as memory:
            memory.sync()
            guesses = {"proxy", "三月", "Ship it", "rain"}
            for text in ("status:tentative", "Status：Tentative", "status:tentative status:tentative"):
                assert said(text) == guesses
            assert memory.search("status:tentative", now=NOW).listing
            assert "proxy" in said("status:tentative proxy") <= guesses
            assert "三月" in memory.search("三月搬家 status:tentative", now=NOW).hits[0].text
            assert said("-status:tentative") == {"Deploys", "pump", "Shipped"}
            assert said("status:superseded") == {"pump"}
            assert said("status:done") == {"Ship it", "Shipped"}
            assert said("status:tentative as-of:2026-03-01 path:MEMORY.md") == {"proxy", "三月", "pool"}
            assert said("status:tentative path:MEMORY.md", history=True) == {"proxy", "三月", "pool"}
            recalled = memory.recall("proxy", now=NOW)
            assert ("proxy" in recalled.text, recalled.tentative > 0) == (False, True)
    with Memory.open(tmp_path, overrides={"embedding.provider": "none"}) as memory:
        memory.confirm("The proxy is slow.")
        memory.confirm("三月搬家", reject=True)
        assert said("status:tentative") == {"Ship it", "rain"}


def test_filters_are_taken_out_of_the_words() -> None:
    parsed = query.parse('tea -in:docs after:"last Monday" "green tea"')
    assert parsed.filters == (Filter("in", "docs", ":", True), Filter("after", "last Monday"))
    assert parsed.words == "tea green tea"
    assert parsed.required == '"green tea"'
