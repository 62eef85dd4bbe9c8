"""Questions into the past: what an ordinary one does not find, what history and a day do, and in which order."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import date
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base.errors import ConfigError
from commonplace.markdown import struck
from commonplace.markdown.document import parse
from commonplace.types import Hit, Mode
from tests.copies import Template

DAY, EVE = date(2026, 3, 2), date(2026, 3, 1)
FILLER = {
    f"memory/2026-01-{day:02}.md": f"# 2026-01-{day:02}\n\n- Watered the {plant} and fed the cat.\n- {wide}浇了水。\n"
    for day, plant, wide in zip(
        range(1, 9), "fern palm cactus ivy basil mint thyme sage".split(), "一二三四五六七八", strict=True
    )
}
NOTES = {
    "MEMORY.md": (
        "# Memory\n\n## Facts\n\n"
        "- ~~Deploys of kestrel go out on Tuesdays.~~ <!-- cp: until=2026-03-02 by=owner --> <!-- trigger: kestrel -->\n"
        "- Deploys of kestrel go out on Thursdays. <!-- cp: since=2026-03-02 -->\n"
        "- The pager of kestrel is 301. <!-- cp: since=2026-01-05 -->\n"
    ),
    "memory/2026-02-10.md": (
        "# 2026-02-10\n\n- 10:00 Talked about the harbour.\n"
        "- 14:05 ~~The harbour closes at six.~~ <!-- cp: until=2026-03-02 -->\n"
        "- The harbour closes at eight. <!-- cp: since=2026-03-02 -->\n"
        "- ~~奶奶住在苏州。~~ <!-- cp: until=2026-03-02 -->\n- 奶奶住在扬州。 <!-- cp: since=2026-03-02 -->\n"
    ),
    "memory/2026-03-20.md": "# 2026-03-20\n\n- The harbour is painted green.\n",
    **FILLER,
}
Open = Callable[..., AbstractContextManager[Memory]]


def write(root: Path, notes: dict[str, str]) -> None:
    for path, text in notes.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """The notes that most tests ask, with their index, which each copies."""
    root = tmp_path_factory.mktemp("indexed")
    write(root, NOTES)
    with Memory.open(root, overrides={"usage.record": False}) as memory:
        memory.sync()
    return Template(root)


@pytest.fixture
def opened(tmp_path: Path, indexed: Template) -> Open:
    @contextmanager
    def make(notes: dict[str, str], **overrides: object) -> Iterator[Memory]:
        if notes is NOTES:
            indexed.copied(tmp_path)
        write(tmp_path, {path: text for path, text in notes.items() if not (tmp_path / path).exists()})
        with Memory.open(tmp_path, overrides={"usage.record": False, **overrides}) as memory:
            memory.sync()
            yield memory

    return make


def texts(hits: tuple[Hit, ...]) -> list[str]:
    return [hit.text for hit in hits]


def place(hits: tuple[Hit, ...], text: str) -> int:
    return next((at for at, hit in enumerate(hits, 1) if text in hit.text), 0)


QUESTIONS = ["When do deploys of kestrel go out?", "Tuesdays", "harbour closes six", '"奶奶住在苏州"', "奶奶住在哪里？",
             "kestrel", "type:daily", "closes*", "deploys -Thursdays"]  # fmt: skip


def rest(path: str, text: str) -> str:
    """A note as if its struck text had never been, all other lines where they were."""
    lines = text.split("\n")
    note = parse(text, path)
    for number in struck.of_note(note):
        lines[number - 1] = struck.rest(note, struck.of_note(note)).lines[number - 1]
    return "\n".join(lines)


def test_an_ordinary_search_is_that_of_notes_without_struck_text(tmp_path: Path) -> None:
    """Nothing of it is counted, weighed or beside anything; only vectors differ in their last digits."""
    modes: list[Mode] = ["hybrid", "lexical", "semantic"]
    found: dict[tuple[str, Mode, int], list[Hit]] = {}
    for name in ("with", "without"):
        for path, text in NOTES.items():
            (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
            told = rest(path, text) if name == "without" else text
            (tmp_path / name / path).write_text(told, "utf-8")
        with Memory.open(tmp_path / name, overrides={"usage.record": False}) as memory:
            memory.sync()
            # The first question of vectors goes another way than the next ones.
            for mode, turn in itertools.product(modes, (1, 2)):
                asked = (memory.search(one, mode=mode, limit=50, now=DAY).hits for one in QUESTIONS)
                found[name, mode, turn] = [hit for hits in asked for hit in hits]
    for mode, turn in itertools.product(modes, (1, 2)):
        one, other = found["with", mode, turn], found["without", mode, turn]
        assert one, mode
        assert [(h.citation, h.text, h.date, h.labels) for h in one] == [
            (h.citation, h.text, h.date, h.labels) for h in other
        ], (mode, turn)
        exact = 0 if mode == "lexical" else 0.02
        assert [h.score for h in one] == pytest.approx([h.score for h in other], abs=exact, rel=exact), mode
        assert not any("~~" in hit.text for hit in one), mode


def test_struck_text_stands_below_what_replaced_it(opened: Open) -> None:
    modes: list[Mode] = ["hybrid", "lexical", "semantic"]
    pairs = (
        ("Deploys of kestrel go out on Tuesdays", "on Tuesdays", "on Thursdays"),
        ("The harbour closes at six", "closes at six", "closes at eight"),
        ("奶奶住在苏州", "苏州", "扬州"),
    )
    with opened(NOTES) as memory:
        for mode, rerank, (question, old, new) in itertools.product(modes, ("off", "local"), pairs):
            if mode == "semantic" and not question.isascii():
                continue
            asked = memory.search(question, mode=mode, history=True, rerank=rerank, now=DAY, min_score=0).hits
            assert 0 < place(asked, new) < place(asked, old), (question, mode, rerank)
            told = asked[place(asked, old) - 1]
            assert ("struck" in told.labels, told.until) == (True, "2026-03-02")
            assert told.score <= asked[place(asked, new) - 1].score


def test_as_of_a_day_what_held_then_is_told_as_it_was_told(opened: Open) -> None:
    with opened(NOTES) as memory:
        found = memory.search("harbour closes painted", as_of=EVE, now=DAY, min_score=0).hits
        assert place(found, "- 14:05 The harbour closes at six.") == 1
        assert not place(found, "eight")
        assert not place(found, "green")
        then = memory.search("harbour closes painted", as_of=DAY, min_score=0).hits
        assert place(then, "eight")
        assert not place(then, "six")
        assert not place(then, "green")
        early = memory.search("pager of kestrel harbour", as_of=date(2026, 1, 4), min_score=0).hits
        assert not place(early, "pager")
        assert not place(early, "harbour")
        assert place(memory.search("kestrel pager", as_of=date(2026, 1, 5)).hits, "pager")


def test_history_up_to_a_day(opened: Open) -> None:
    with opened(NOTES) as memory:
        found = memory.search("harbour closes", history=True, as_of=date(2026, 3, 5), min_score=0).hits
        assert place(found, "six")
        assert place(found, "eight")
        assert not place(found, "green")
        assert not place(memory.search("harbour closes", history=True, as_of=EVE).hits, "eight")


def test_a_filter_asks_for_a_day_in_any_form(opened: Open) -> None:
    with opened(NOTES) as memory:
        for told in ("as-of:2026-03-01", "as-of:2026-02", "as-of:昨天", "as-of:yesterday"):
            hits = memory.search(f"when do deploys of kestrel go out {told}", now=DAY).hits
            assert (place(hits, "on Tuesdays"), place(hits, "on Thursdays")) == (1, 0), told
        assert place(memory.search("kestrel deploys as-of:today", now=DAY).hits, "Tuesdays") == 0
        listed = memory.search("as-of:2026-02 type:long-term", now=DAY).hits
        assert place(listed, "on Tuesdays")
        assert not place(listed, "on Thursdays")
        for mistake in ("as-of:never", "-as-of:2026-02"):
            with pytest.raises(ConfigError, match="as-of"):
                memory.search(f"kestrel {mistake}", now=DAY)


def test_what_must_match_is_found_in_struck_text(opened: Open) -> None:
    with opened(NOTES) as memory:
        now = memory.search('"on Tuesdays"', now=DAY)
        assert now.warnings == ('nothing holds "on Tuesdays": found by the words',)
        assert not place(now.hits, "Tuesdays")
        assert texts(memory.search('"on Tuesdays"', history=True, now=DAY).hits) == [
            "- ~~Deploys of kestrel go out on Tuesdays.~~"
        ]
        assert place(memory.search("Tues*", history=True).hits, "Tuesdays")
        assert not place(memory.search("deploys kestrel -Tuesdays", history=True).hits, "Tuesdays")


def test_struck_by_hand_it_belongs_to_history_alone(opened: Open) -> None:
    notes = {"MEMORY.md": "# M\n\n- ~~The bus number is 4711.~~\n- The bus number is 9087.\n", **FILLER}
    with opened(notes) as memory:
        found = memory.search("bus number", history=True).hits
        assert texts(found[:2]) == ["- The bus number is 9087.", "- ~~The bus number is 4711.~~"]
        assert (found[1].labels, found[1].until) == (("struck",), None)
        for day in (date(2000, 1, 1), date(2099, 1, 1)):
            assert not place(memory.search("bus number", as_of=day).hits, "4711")


def test_the_next_entry_is_not_lifted_where_it_is_about_something_else(opened: Open) -> None:
    notes = {"MEMORY.md": "# M\n\n- ~~Buy oat milk for the office.~~\n- Renew the passport.\n", **FILLER}
    with opened(notes) as memory:
        found = memory.search("oat milk for the office", history=True, min_score=0).hits
        assert found[0].text == "- ~~Buy oat milk for the office.~~"


def test_the_replacement_may_stand_elsewhere_and_be_replaced_in_turn(opened: Open) -> None:
    notes = {
        "memory/2026-02-01.md": (
            "# 2026-02-01\n\n- ~~The lamp is lit at four.~~ <!-- cp: until=2026-02-05 to=memory/2026-02-05.md#L3 -->\n"
        ),
        "memory/2026-02-05.md": (
            "# 2026-02-05\n\n- ~~Light comes on at five.~~ <!-- cp: until=2026-02-09 -->\n"
            "- From now on half past five. <!-- cp: since=2026-02-09 -->\n"
        ),
        **FILLER,
    }
    with opened(notes) as memory:
        found = memory.search("The lamp is lit at four", history=True, now=DAY).hits
        places = [place(found, part) for part in ("half past five", "comes on at five", "lit at four")]
        assert places == sorted(places)
        assert 0 not in places
        assert place(memory.search("lamp light", as_of=date(2026, 2, 6)).hits, "comes on at five")


def test_circles_end(opened: Open) -> None:
    notes = {
        "MEMORY.md": (
            "# M\n\n- ~~The lamp is red.~~ <!-- cp: until=2026-02-05 to=MEMORY.md#L5 -->\n\n"
            "- ~~The lamp is blue.~~ <!-- cp: until=2026-02-06 to=MEMORY.md#L3 -->\n"
        ),
        **FILLER,
    }
    with opened(notes) as memory:
        assert {hit.labels for hit in memory.search("lamp red blue", history=True).hits[:2]} == {("struck",)}


def test_what_ends_and_what_supersedes_is_judged_as_of_the_day(opened: Open) -> None:
    notes = {
        "memory/2026-01-10.md": "# 2026-01-10\n\n- The well is deep. <!-- superseded-by: memory/2026-02-10.md -->\n"
        "- The well is old. <!-- valid-until: 2026-01-31 -->\n- The well is dry. <!-- superseded-by: gone.md -->\n",
        "memory/2026-02-10.md": "# 2026-02-10\n\n- The well is shallow.\n",
        **FILLER,
    }
    with opened(notes) as memory:
        then = {
            hit.text: hit.labels for hit in memory.search("well", as_of=date(2026, 1, 20), min_score=0).hits
        }
        assert then["- The well is deep."] == then["- The well is old."] == ()
        assert then["- The well is dry."] == ("superseded",)
        now = {
            hit.text: hit.labels for hit in memory.search("well", as_of=date(2026, 2, 20), min_score=0).hits
        }
        assert now["- The well is deep."] == ("superseded",)
        assert now["- The well is old."] == ("expired",)


def test_recall_tells_nothing_struck_but_what_held_on_the_day(opened: Open) -> None:
    with opened(NOTES) as memory:
        block = memory.recall("When do deploys of kestrel go out?", now=DAY).text
        assert "Thursdays" in block
        assert "Tuesdays" not in block
        assert "~~" not in block
        then = memory.recall("When do deploys of kestrel go out?", now=DAY, as_of=EVE)
        assert "Tuesdays" in then.text
        assert "Thursdays" not in then.text
        assert "~~" not in then.text
        assert "(struck 2026-03-02, " in then.text


def test_a_fact_has_the_day_since_which_it_holds(opened: Open) -> None:
    with opened(NOTES) as memory:
        (fact,) = (hit for hit in memory.search("pager of kestrel").hits if "pager" in hit.text)
        assert fact.date == "2026-01-05"
        assert place(memory.search("kestrel on:2026-01-05").hits, "pager")
        assert not place(memory.search("kestrel after:2026-01-06").hits, "pager")
        assert place(memory.search("kestrel after:2026-03-01").hits, "Thursdays")
        assert place(memory.search("harbour -before:2026-03-01", min_score=0).hits, "eight")
        assert place(memory.search("what happened on 5 January 2026?", limit=50).hits, "pager")
        moments = memory.timeline("2026-01-05", before=0, after=0).moments
        assert "- The pager of kestrel is 301." in [moment.text for moment in moments]
        around = memory.timeline("2026-03-02", before=0, after=0).moments
        assert [(moment.path, moment.start_line) for moment in around] == [
            ("MEMORY.md", 6), ("memory/2026-02-10.md", 5), ("memory/2026-02-10.md", 7)
        ]  # fmt: skip
        anchored = memory.timeline("MEMORY.md:7", before=0, after=0).moments
        assert [moment.date for moment in anchored] == ["2026-01-05"]
