"""Questions that name days: listings, what is looked for within a day, and every door that takes a date."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.agent import tools
from commonplace.index.base import Candidate
from commonplace.index.sqlite.index import SqliteIndex
from commonplace.memory import days

NOW = date(2026, 11, 23)  # a Monday
NOTES = {
    "memory/2026-11-16.md": "# 2026-11-16\n\n- Talked to Rosa about the greenhouse heater; she lends us hers.\n",
    "memory/2026-11-17.md": """# 2026-11-17

## Morning

- Repaired the pump in the cellar with Ole.

## Evening

- Noodles at the station, then chess until ten.
""",
    "memory/2026-11-18.md": "# 2026-11-18\n\n- 和老周去看了新仓库，屋顶漏水。\n",
    "memory/2026-11-21.md": "# 2026-11-21\n\n- Wrote to the landlord about the cellar and the pump.\n",
    "memory/2026-11-22.md": "# 2026-11-22\n\n- 晚上和小雨包饺子。\n",
    "memory/cellar.md": "# Cellar\n\n- The pump in the cellar is from 1998; spare parts from Henrik.\n",
}
OF_THE_17TH = ["Repaired the pump", "Noodles at the station"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("days")
    for path, text in NOTES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    return root


@pytest.fixture(scope="module")
def memory(root: Path) -> Iterator[Memory]:
    with Memory.open(root) as opened:
        opened.sync()
        yield opened


def texts(memory: Memory, question: str, **options: object) -> list[str]:
    return [hit.text for hit in memory.search(question, now=NOW, **options).hits]  # type: ignore[arg-type]


# --- days alone -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question",
    [
        "what did I do last Tuesday?",
        "What happened on 17 November?",
        "on:2026-11-17 what did I do",
        'on:"last Tuesday"',
        "上周二我做了什么？",
        "上週二我做了什麼？",
        "on:2026-11-17 我做了什么",
        "on:11/17",
        "on:十月初九",
        "十月初九我做了什么？",
        "what did I do last Tuesday evening?",
        "上周二晚上我做了什么？",
    ],
)
def test_a_day_alone_is_listed_in_the_order_of_its_notes(memory: Memory, question: str) -> None:
    assert [[part in text for part in OF_THE_17TH].index(True) for text in texts(memory, question)] == [0, 1]


@pytest.mark.parametrize("question", ["第四季度做了什么？", "这个季度", "what happened in Q4 2026?"])
def test_a_quarter_is_listed(memory: Memory, question: str) -> None:
    assert memory.search(question, now=NOW).listing


def test_a_longer_time_is_listed_from_its_first_day(memory: Memory) -> None:
    days = [hit.date for hit in memory.search("what happened last week?", now=NOW).hits]
    assert days == ["2026-11-16", "2026-11-17", "2026-11-17", "2026-11-18", "2026-11-21", "2026-11-22"]


def test_of_many_passages_some_of_each_day_are_listed(memory: Memory) -> None:
    days = [hit.date for hit in memory.search("上周发生了什么", now=NOW, limit=5).hits]
    assert days == ["2026-11-16", "2026-11-17", "2026-11-18", "2026-11-21", "2026-11-22"]


def test_a_listing_holds_no_headings_alone(memory: Memory) -> None:
    assert not any(text.startswith("#") for text in texts(memory, "what did I note on 17 November?"))


def test_a_filter_with_words_that_ask_for_more_ranks(memory: Memory) -> None:
    assert "chess" in texts(memory, "on:2026-11-17 what did we play in the evening?", min_score=0)[0]


# --- days without a note --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("what did I do three days ago?", "2026-11-20"),
        ("我上周四做了什么？", "2026-11-19"),
        ("what happened the week before last?", "2026-11-09 to 2026-11-15"),
        ("明天有什么安排", "2026-11-24"),
    ],
)
def test_a_day_counted_from_today_that_has_no_note_finds_nothing(
    memory: Memory, question: str, days: str
) -> None:
    result = memory.search(question, now=NOW)
    assert result.hits == ()
    assert result.warnings == (f"no note is of {days}",)
    recalled = memory.recall(question, now=NOW, strict=True)
    assert (recalled.text, recalled.warnings) == ("", result.warnings)


@pytest.mark.parametrize(
    ("question", "days"),
    [
        (
            "what did Ole say about the pump in the cellar on 19 November or on 20 November?",
            "2026-11-19 or 2026-11-20",
        ),
        ("what did I do about the pump in the cellar 3 days ago?", "2026-11-20"),
        ("when is the pump in the cellar repaired tomorrow?", "2026-11-24"),
    ],
)
def test_other_words_find_what_they_find_where_no_note_is_of_the_days(
    memory: Memory, question: str, days: str
) -> None:
    result = memory.search(question, now=NOW)
    assert "pump" in result.hits[0].text
    assert not result.weak
    assert result.warnings == (f"no note is of {days}",)


@pytest.mark.parametrize(
    "question",
    [
        "12月",
        "周五",
        "what is on Friday?",
    ],
)
def test_what_notes_say_of_a_named_day_that_has_none_is_weak(tmp_path: Path, question: str) -> None:
    (tmp_path / "memory").mkdir()
    for path, text in {
        **NOTES,
        "memory/family.md": "# Family\n\n- Rosa comes at Christmas, and on 19 November.\n\n"
        "- 我们1998年12月搬家。\n",
        "memory/habits.md": "# 习惯\n\n- 周五下午不部署。\n\n- No deployments on a Friday.\n",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, "utf-8")
    with Memory.open(tmp_path) as memory:
        memory.sync()
        result = memory.search(question, now=NOW)
        assert result.weak
        assert result.hits[0].labels == ("weak",)
        assert any(name in result.hits[0].text for name in ("Christmas", "1998", "周五", "Friday"))
        assert result.warnings[0].startswith("no note is of ")
        assert memory.search(question, now=NOW, strict=True).hits == ()


@pytest.mark.parametrize(
    ("question", "warned"),
    [
        ("which spare parts for the pump in the cellar are from 1998?", ""),
        ("what film did I see on 10 October?", ""),
        ("which film did I see on 10 October or on 11 October?", ""),
        ("which film did I see on 11 October?", "2026-10-11"),
        ("10月3日看了什么电影？", ""),
    ],
)
def test_no_warning_speaks_of_a_day_that_a_hit_names(tmp_path: Path, question: str, warned: str) -> None:
    (tmp_path / "memory").mkdir()
    films = "# Films\n\n- 2026-10-10 Yellow Lamp\n- 2026-09-02 North\n\n看过的电影：10月3日《灯》。\n"
    for path, text in {**NOTES, "memory/films.md": films}.items():
        (tmp_path / path).write_text(text, "utf-8")
    with Memory.open(tmp_path) as memory:
        memory.sync()
        result = memory.search(question, now=NOW, min_score=0)
        assert result.warnings == ((f"no note is of {warned}",) if warned else ())


@pytest.mark.parametrize("question", ["中秋节", "中秋節", "中秋", "Mid-Autumn Festival"])
def test_a_feast_is_found_by_its_other_names(tmp_path: Path, question: str) -> None:
    (tmp_path / "memory").mkdir()
    for path, text in {**NOTES, "memory/chat.md": "# 微信\n\n- 妈妈：中秋刚过，月饼收到没有？\n"}.items():
        (tmp_path / path).write_text(text, "utf-8")
    with Memory.open(tmp_path) as memory:
        memory.sync()
        for mode in ("hybrid", "lexical"):
            assert "月饼" in memory.search(question, now=NOW, mode=mode).hits[0].text  # type: ignore[arg-type]


def test_a_day_to_come_is_answered_by_what_names_it(tmp_path: Path) -> None:
    text = "- Four days a week from summer 2027, says Farid.\n\n- 2027年3月8日体检。\n\n- The boat race is on 3 May.\n"
    (tmp_path / "MEMORY.md").write_text(text, "utf-8")
    with Memory.open(tmp_path) as memory:
        memory.sync()
        for question, weak in (
            ("2027年2月有什么", True),
            ("2027年3月有什么", False),
            ("what is on 3 May 2027?", False),
        ):
            result = memory.search(question, now=NOW)
            assert (result.weak, bool(result.warnings)) == (weak, weak), question
            assert memory.search(question, now=NOW, strict=True).hits == () or not weak


# --- a date over every door -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("anchor", "shown", "days"),
    [
        ("last Tuesday", "2026-11-17", {"2026-11-17"}),
        ("昨天", "2026-11-22", {"2026-11-22"}),
        ("前天晚上", "2026-11-21", {"2026-11-21"}),
        ("yesterday evening", "2026-11-22", {"2026-11-22"}),
        ("小雪节气", "2026-11-22", {"2026-11-22"}),
        ("农历十月初九", "2026-11-17", {"2026-11-17"}),
        ("11/18", "2026-11-18", {"2026-11-18"}),
        ("16 to 18 Nov", "2026-11-16 to 2026-11-18", {"2026-11-16", "2026-11-17", "2026-11-18"}),
    ],
)
def test_a_timeline_takes_any_expression(memory: Memory, anchor: str, shown: str, days: set[str]) -> None:
    around = memory.timeline(anchor, before=0, after=0, now=NOW)
    assert around.anchor == shown
    assert {one.date for one in around.moments} == days
    assert all(one.is_anchor for one in around.moments)


def test_a_timeline_says_that_no_note_is_of_a_day(memory: Memory) -> None:
    around = memory.timeline("3 days ago", now=NOW)
    assert around.moments
    assert around.warnings == ("no note is of 2026-11-20",)
    assert "no note is of 2026-11-20" in tools.call(memory, "memory_timeline", {"anchor": "2026-11-20"}).text


@pytest.mark.parametrize("anchor", ["2026-11-17", "memory/2026-11-17.md:9"])
def test_a_timeline_and_its_days_are_those_of_one_moment(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, anchor: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(root, copy)
    path = copy / "memory/2026-11-17.md"
    with Memory.open(copy) as memory, Memory.open(copy) as other:
        memory.sync()
        passages, before = SqliteIndex.passages, memory.timeline(anchor)

        def slow(index: SqliteIndex, ids: Iterable[int]) -> list[Candidate]:
            found = passages(index, ids)
            with monkeypatch.context() as patch:
                patch.setattr(SqliteIndex, "passages", passages)
                path.write_text(f"{path.read_text('utf-8')}\n- One more.\n", "utf-8")
                (copy / f"memory/new-{path.stat().st_size}.md").write_text("- On 2026-11-17 12:00 new.\n")
                other.sync(embed=False)
            return found

        monkeypatch.setattr(SqliteIndex, "passages", slow)
        assert memory.timeline(anchor).moments == before.moments
        assert "2026-11-17" in days(memory)
        monkeypatch.undo()
        assert memory.timeline(anchor).moments != before.moments


def test_a_note_that_is_called_like_a_day_is_a_note(tmp_path: Path) -> None:
    (tmp_path / "today").write_text("x")
    with Memory.open(tmp_path) as memory, pytest.raises(Exception, match="no note has a date"):
        memory.timeline("today")


def test_the_past_takes_any_expression(memory: Memory) -> None:
    for when in ("yesterday", "昨天", "昨天晚上", "11/22", "2026-11-22", date(2026, 11, 22)):
        assert memory.search("pump", as_of=when, now=NOW).hits, when
    for when in ("3 days ago", "立冬", "十月初九早上"):
        assert not [hit for hit in memory.search("饺子", as_of=when, now=NOW).hits if "饺子" in hit.text], (
            when
        )


def test_tools_take_any_expression(tmp_path: Path) -> None:
    today = date.today()
    with Memory.open(tmp_path) as memory:
        for days in (1, 9):
            day = (today - timedelta(days)).isoformat()
            (tmp_path / "memory").mkdir(exist_ok=True)
            (tmp_path / "memory" / f"{day}.md").write_text(f"# {day}\n\n- Pruned {days} pear trees.\n")
        memory.sync()

        def call(name: str, **arguments: object) -> str:
            answer = tools.call(memory, name, arguments)
            assert not answer.is_error, answer.text
            return answer.text

        assert "Pruned 1 pear" in call("memory_timeline", anchor="yesterday", before=0, after=0)
        assert "Pruned 1 pear" in call("memory_search", query="what did I do yesterday?")
        past = call("memory_search", query="pear trees", as_of="3 days ago")
        assert "Pruned 9" in past
        assert "Pruned 1 " not in past


# --- the days of chats ----------------------------------------------------------------------------------

CHAT = """# Family

[05/03/2026, 20:10:00] Rosa: The lemon cake is in the oven.
[05/03/2026, 20:12:00] Ole: I bring the tea.
[14/03/2026, 09:00:00] Ole: The second cake had walnuts in it.
"""


def test_turns_are_found_by_the_day_of_their_stamp(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2026-03-20.md").write_text(f"{CHAT}\n# Own\n\n- Bought a cake tin.\n", "utf-8")
    with Memory.open(tmp_path) as memory:
        memory.sync()
        (first,) = memory.search("on:2026-03-05 cake", now=NOW).hits
        assert (first.date, first.start_line, first.end_line) == ("2026-03-05", 3, 4)
        (second,) = memory.search("which cake was there on 14 March 2026?", now=NOW, limit=1).hits
        assert (second.date, second.start_line) == ("2026-03-14", 5)
        assert [hit.date for hit in memory.search("on:2026-03-20 cake", now=NOW).hits] == ["2026-03-20"]
        then = memory.search("walnuts cake", now=NOW, as_of="2026-03-10", min_score=0).hits
        assert [hit.date for hit in then] == ["2026-03-05"]
        assert memory.timeline("2026-03-05")


@pytest.mark.parametrize("written", ["8月9日", "八月九号", "August 9", "9th of August", "2026-08-09"])
@pytest.mark.parametrize("asked", ["八月九日去了哪里？", "where was I on 9 August?"])
def test_notes_of_other_days_may_write_a_day_in_another_way(tmp_path: Path, written: str, asked: str) -> None:
    (tmp_path / "memory").mkdir()
    texts = [f"Water meter read, {count} units." for count in range(60)]
    texts[40] = f"Trip: {written}, 杭州 / Hangzhou."
    (tmp_path / "memory/2026-11-20.md").write_text("\n\n".join(texts), "utf-8")
    with Memory.open(tmp_path) as memory:
        memory.sync()
        assert "Hangzhou" in memory.search(asked, now=NOW).hits[0].text


# --- days that texts name -------------------------------------------------------------------------------

PLANS = {
    "memory/2026-11-12.md": "# 2026-11-12\n\n- 牙疼，约了王医生，12 月 3 日上午十点。\n\n## Evening\n\n- Quiet.\n",
    "memory/2026-11-19.md": "# 2026-11-19\n\n- The boiler is inspected next Friday.\n",
    "memory/2026-11-20.md": "# 2026-11-20\n\n- 下周三家长会，晚上七点。\n\n## Money\n\n- Invoice due on 24 November.\n",
    "memory/2026-11-21.md": "# 2026-11-21\n\n- The hut is ours in February, deposit paid.\n",
    "memory/2025-12-09.md": "# 2025-12-09\n\n- Snow up to the windows.\n",
}


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    root = tmp_path_factory.mktemp("planned")
    for path, text in PLANS.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    with Memory.open(root, overrides={"embedding.provider": "none"}) as opened:
        opened.sync()
        yield opened


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("what happens this week?", ["2026-11-24", "2026-11-25"]),
        ("what is due tomorrow?", ["2026-11-24"]),
        ("周三有什么安排", ["2026-11-25"]),
        ("下个月有什么安排", ["2026-12-03"]),
        ("what happens in February?", ["2027-02-01 to 2027-02-28"]),
        ("what is planned in the next two weeks", ["2026-11-24", "2026-11-25", "2026-12-03"]),
    ],
)
def test_days_to_come_list_what_names_them(planned: Memory, question: str, named: list[str]) -> None:
    result = planned.search(question, now=NOW)
    assert result.listing
    assert not result.warnings
    assert [hit.labels for hit in result.hits] == [(f"names {day}",) for day in named]


def test_a_day_without_a_year_is_one_that_notes_know(planned: Memory) -> None:
    assert [hit.date for hit in planned.search("what happened on 9 December?", now=NOW).hits] == [
        "2025-12-09"
    ]
    assert planned.search("12月3日要做什么", now=NOW).hits[0].labels == ("names 2026-12-03",)
    (warning,) = planned.search("what happens on 10 December?", now=NOW).warnings
    assert warning == "no note is of 2026-12-10"


def test_months_of_other_years_hide_no_plan(tmp_path: Path) -> None:
    for day in range(250):
        said = "in February we skied, as every year" if day else "The lease ends in February 2027"
        note = tmp_path / "memory" / f"{date(2023, 5, 1) + timedelta(3 * day)}.md"
        note.parent.mkdir(exist_ok=True)
        note.write_text(f"- {said}.\n", "utf-8")
    with Memory.open(tmp_path, overrides={"embedding.provider": "none"}) as memory:
        memory.sync()
        [hit] = memory.search("what happens in February?", now=NOW).hits
    assert hit.text == "- The lease ends in February 2027."


def test_a_day_to_come_goes_before_in_a_question_with_other_words(planned: Memory) -> None:
    result = planned.search("is there an invoice tomorrow?", now=NOW)
    assert "Invoice due" in result.hits[0].text
    assert not result.warnings


def test_a_timeline_of_days_to_come(planned: Memory) -> None:
    around = planned.timeline("next month", before=0, after=0, now=NOW)
    assert [moment.labels for moment in around.moments] == [("names 2026-12-03",)]


@pytest.mark.parametrize(
    "question",
    [
        "what happened at Christmas?",
        "what did I do in 1998?",
        "1998年发生了什么？",
        "what did I do on 19 November?",
    ],
)
def test_what_notes_of_other_days_say_of_a_named_day_is_listed(tmp_path: Path, question: str) -> None:
    (tmp_path / "memory").mkdir()
    text = "# Family\n\n- Rosa comes at Christmas, and on 19 November.\n\n- 我们1998年12月搬家。\n"
    (tmp_path / "memory/family.md").write_text(text, "utf-8")
    with Memory.open(tmp_path) as memory:
        memory.sync()
        result = memory.search(question, now=NOW)
    assert (result.listing, result.weak) == (True, False)
    assert all(label.startswith("names ") for hit in result.hits for label in hit.labels)
