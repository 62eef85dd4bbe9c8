"""What is shown of a hit: whole sentences, items, fences and short sections, with the lines that they are."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace import Memory
from commonplace.chunking import passages
from commonplace.markdown.document import parse
from commonplace.types import Hit

Search = Callable[[str, str], list[Hit]]
FILL = (
    "Nothing of this paragraph has to do with what is asked, and it is long enough to stand for itself. " * 3
)


@pytest.fixture
def search(tmp_path: Path) -> Search:
    """Search a note of some text for the best hits by words."""

    def found(text: str, question: str) -> list[Hit]:
        root = tmp_path / "w"
        (root / "memory").mkdir(parents=True, exist_ok=True)
        (root / "memory/note.md").write_text(text, "utf-8")
        with Memory.open(root, overrides={"embedding.provider": "none"}) as memory:
            memory.sync()
            return list(memory.search(question, min_score=0.01).hits)

    return found


def test_a_sentence_over_several_lines_is_whole(search: Search) -> None:
    wrapped = (
        "The second paragraph begins here and says that the export runs on the machine in the cellar, which was\n"
        "bought in spring, because the one upstairs is too loud and the fans of it wake everybody who sleeps in\n"
        "the room beside it; the zebrafish database therefore moved, and nobody has complained about that move\n"
        "since then, although the stairs are steep.\n"
    )
    hit = search(f"# N\n\n{FILL}\n\n{wrapped}\n{FILL}\n", "zebrafish database")[0]
    assert hit.text == wrapped.rstrip()
    assert (hit.start_line, hit.end_line) == (5, 8)


def test_an_item_has_its_lines_and_what_it_stands_in(search: Search) -> None:
    nested = "\n".join(
        f"  - detail {n} of the plan, which is long enough to fill most of a line" for n in range(9)
    )
    text = f"# N\n\n- Deploys of kestrel\n{nested}\n  - the zebrafish goes\n    first, before all others\n- Other\n"
    hit = search(text, "zebrafish goes")[0]
    assert hit.text.startswith("- Deploys of kestrel\n  - ")
    assert hit.text.endswith("  - the zebrafish goes\n    first, before all others")
    assert hit.lead == 1
    assert hit.end_line == 14


def test_fences_stay_whole_and_come_with_what_announces_them(search: Search) -> None:
    lines = "\n".join(f"run step_{n} --with-an-option-that-is-long --and-another-one" for n in range(9))
    text = f"# N\n\n{FILL}\n\nTo restore the zebrafish, do this:\n\n```sh\n{lines}\n```\n\n{FILL}\n"
    for question in ["restore the zebrafish", "step_7"]:
        hit = search(text, question)[0]
        assert hit.text == f"To restore the zebrafish, do this:\n\n```sh\n{lines}\n```"
        assert (hit.start_line, hit.end_line) == (5, 17)


def test_a_fence_that_is_too_long_is_cut_and_closed(search: Search) -> None:
    lines = [f"run step_{n} --with-an-option-that-is-long --and-another-one" for n in range(90)]
    hit = search("# N\n\n```sh\n" + "\n".join(lines) + "\n```\n", "step_80")[0]
    assert hit.text.split("\n")[0] == "```sh"
    assert hit.text.split("\n")[-1] == "```"
    assert lines[80] in hit.text
    assert len(hit.text) < 1500
    assert hit.text.split("\n")[1:-1] == lines[hit.start_line - 4 : hit.end_line - 3]


def test_deep_inside_a_fence_both_marks_are_shown(search: Search) -> None:
    lines = [f"run step_{n} --with-an-option-that-is-long --and-another-one" for n in range(200)]
    hit = search("# N\n\n```sh\n" + "\n".join(lines) + "\n```\n", "step_100")[0]
    assert hit.text.split("\n") == ["```sh", *lines[hit.start_line - 4 : hit.end_line - 3], "```"]
    assert hit.lead == 1


def test_what_is_never_closed_is_no_fence(search: Search) -> None:
    code = "\n".join(
        f"    step({n}); // a comment that makes the line long enough to count" for n in range(20)
    )
    hit = search(f"# N\n\n```c\n{code}\n\nThe zebrafish is back.\n", "zebrafish back")[0]
    assert "```" not in hit.text


def test_a_row_of_a_table_has_its_header(search: Search) -> None:
    rows = "\n".join(
        f"| key_{n} | value of the key number {n}, in some more words than needed |" for n in range(40)
    )
    hit = search(f"# N\n\n| key | value |\n|---|---|\n{rows}\n", "key_30")[0]
    assert hit.text.startswith("| key | value |\n|---|---|\n| key_")
    assert hit.lead == 2


def test_a_piece_of_a_long_line_is_shown_alone(search: Search) -> None:
    hit = search(f"# N\n\n{'much to say ' * 600}of the zebrafish\nand of others\n", "zebrafish")[0]
    assert (hit.start_line, hit.end_line) == (3, 3)
    assert hit.text.endswith("of the zebrafish")


def test_a_short_section_is_whole(search: Search) -> None:
    own = (
        "First one thing is said about the zebrafish, in a line of its own that is long. " + "It is so. " * 6
    )
    more = "Then another, which nobody asked about, in a line of its own. " + "It is not. " * 6
    hit = search(f"# N\n\n## A\n\n{own}\n\n{more}\n\n## B\n\n{FILL}\n", "zebrafish")[0]
    assert hit.text == f"{own}\n\n{more}"


DAY = """# 2026-02-13

- 14:05 Deploys go out on Tuesdays, never on Fridays.
- 14:06 Mira maintains the billing service;
  her backup is Tomas.
- 14:07 车牌：BE 482 913，白色的斯柯达。
"""


@pytest.mark.parametrize(
    ("question", "lines"),
    [
        ("when do we deploy?", (3, 3)),
        ("who is the backup for billing?", (4, 5)),
        ("我们的车牌号是多少", (6, 6)),
        ("Mira and the deploys", (3, 6)),  # two items
        ("what happened", None),
    ],
)
def test_of_a_list_the_item_that_answers_is_shown(
    search: Search, question: str, lines: tuple[int, int] | None
) -> None:
    hits = search(DAY, question)
    assert [(hit.start_line, hit.end_line) for hit in hits] == ([lines] if lines else [])
    for hit in hits:
        assert hit.text == "\n".join(DAY.split("\n")[hit.start_line - 1 : hit.end_line])


@pytest.mark.parametrize(
    "text",
    [
        "# N\n\n- The harbour crane lifts forty tonnes.\n- The zebrafish eats near the harbour crane.\n",  # one matter
        "# N\n\n1. Open the valve.\n2. Feed the zebrafish.\n3. Close it.\n",  # steps
        "# N\n\nThe plan:\n\n- Open the valve.\n- Feed the zebrafish.\n",  # announced
        "# N\n\n- Ann: Did you feed them?\n- Bob: The zebrafish, yes.\n- Ann: Good.\n- Bob: Sure.\n",  # talk
        "# Zebrafish\n\n- Two of the zebrafish are striped.\n- The others hide all day.\n",  # the title says it of all
    ],
)
def test_what_belongs_together_is_shown_together(search: Search, text: str) -> None:
    assert text.endswith(f"\n{search(text, 'feed zebrafish')[0].text}\n")


def test_of_a_table_the_row_that_answers_is_shown_below_its_header(search: Search) -> None:
    table = "| who | phone |\n|---|---|\n| Zgraggen | 031 555 |\n| Beat | 079 444 |"
    (hit,) = search(f"# People\n\n{table}\n", "Beat's phone")
    assert hit.text.split("\n") == [table.split("\n")[at] for at in (0, 1, 3)]
    assert (hit.start_line, hit.end_line, hit.lead) == (6, 6, 2)


def test_what_a_better_hit_shows_is_no_hit(search: Search) -> None:
    items = "\n".join(
        f"- point {n} about the zebrafish that is kept in the cellar of the house" for n in range(5)
    )
    hits = search(
        f"# N\n\n{FILL}\n\nThe zebrafish needs five things:\n\n{items}\n\n{FILL}\n", "zebrafish things"
    )
    told = [line for hit in hits for line in hit.text.split("\n") if line.startswith("- point")]
    assert sorted(told) == items.split("\n")


def test_a_passage_that_a_better_hit_shows_whole_is_no_hit(search: Search) -> None:
    lines = "\n".join(f"feed the zebrafish of tank_{n} --with-an-option-that-is-long" for n in range(9))
    hits = search(f"# N\n\n{FILL}\n\n```sh\n{lines}\n```\n", "zebrafish")
    assert [hit.text for hit in hits] == [f"```sh\n{lines}\n```"]


def test_what_runs_over_the_end_of_a_better_hit_is_shown_without_it(search: Search) -> None:
    fence = """```python
def retry_delay(attempt: int) -> float:
    \"\"\"Back off exponentially, capped at 90 seconds.\"\"\"
    return min(90.0, 1.5 ** attempt)

def poll_meter(client, meter_id):
    for attempt in range(8):
        reply = client.read(meter_id)
        if reply.ok:
            return reply.kwh
        time.sleep(retry_delay(attempt))
    raise MeterUnreachable(meter_id)
```"""
    text = f"# N\n\n{fence}\n\nA snippet for polling the meters.\n"
    hits = search(text, "retry_delay back off exponentially, capped")
    assert [hit.text for hit in hits] == [fence, "A snippet for polling the meters."]
    assert [(hit.start_line, hit.end_line) for hit in hits] == [(3, 15), (17, 17)]


def test_turns_are_whole_as_they_are(search: Search) -> None:
    turns = "\n".join(
        f"{who}: we spoke of {n} and other things for a good while, and then"
        for n in range(20)
        for who in ("Ann", "Bo")
    )
    hit = search(f"# N\n\n{turns}\n", "spoke of 7")[0]
    assert hit.end_line - hit.start_line < 5


@pytest.mark.parametrize(
    "question",
    [
        "tea -coffee",
        "tea NOT coffee",
        'tea -"black coffee"',
        'tea NOT "black coffee"',
        "tea AND cellar NOT coffee",
        "lex: tea -coffee",
        "lex: tea NOT coffee\nlex: tea",
    ],
)
def test_what_the_question_excludes_completes_nothing(question: str, tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    tea, dark = (
        f"- the {what} is kept in the cellar of the house, where nobody who comes through the kitchen sees it"
        for what in ("green tea from the hills behind the harbour", "black coffee from the island")
    )
    (tmp_path / "memory/note.md").write_text(f"# N\n\n{tea}\n{dark}\n", "utf-8")
    with Memory.open(tmp_path, overrides={"embedding.provider": "none"}) as memory:
        memory.sync()
        assert [hit.text for hit in memory.search(question).hits] == [tea]
        for other in ("tea", '"green tea"', "tea -cocoa", "tea NOT cocoa", "tea OR cocoa NOT milk"):
            assert [hit.text for hit in memory.search(other).hits] == [f"{tea}\n{dark}"], other


@pytest.mark.parametrize(
    "line",
    ["- tea {0}", "| tea {0} | x |", "tea {0} goes on and on", "```\ntea {0}", "- tea {0}\n  and more"],
)
def test_sections_take_work_by_their_length(line: str) -> None:
    def calls(count: int) -> int:
        """How many calls it takes to cut a section and complete its passages."""
        note = parse("\n".join(map(line.format, range(count))), "n.md")
        number = 0

        def counted(frame: object, event: str, argument: object) -> None:
            nonlocal number
            number += event in ("call", "c_call")

        before = sys.getprofile()
        sys.setprofile(counted)
        try:
            passages.split(note)
        finally:
            sys.setprofile(before)
        return number

    assert calls(1200) < 2.5 * calls(600)


LINES = st.lists(
    st.one_of(
        st.sampled_from(
            ["", "```", "```py", "~~~", "- a", "  - b", "    c", "> q", "| a | b |", "|---|---|", "## H", "---",
             "A line that ends here.", "A line that goes on,", "text: zebrafish", "1. one", "zebrafish " * 30,
             "斑马鱼在地下室，", "斑马鱼在这里。", "\tx", "<!-- note -->", "=="]
        ),
        st.text(alphabet="ab `|-#>:.\t测", max_size=40),
    ),
    max_size=60,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(lines=LINES)
def test_what_is_shown_is_lines_of_the_note(
    lines: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("w")
    text = "\n".join([*lines, "the zebrafish"])
    (root / "note.md").write_text(text, "utf-8", newline="")
    with Memory.open(root, overrides={"embedding.provider": "none", "index.include": ["**/*.md"]}) as memory:
        memory.sync()
        hits = memory.search("zebrafish OR 斑马 OR line", min_score=0.0, limit=30).hits
    written = memory.get("note.md").lines if hits else ()
    for hit in hits:
        own = [line.rstrip() for line in written[hit.start_line - 1 : hit.end_line]]
        shown = [line.rstrip() for line in hit.text.split("\n")][hit.lead :]
        assert shown[: len(own)] == own or re.sub(r"\s", "", hit.text) in re.sub(r"\s", "", "".join(own))
        assert len(shown) - len(own) in (0, 1)  # the mark that closes a fence


def test_a_part_of_a_fence_has_both_marks(search: Search) -> None:
    lines = [
        f"{word} of the boats that go along the northern shore of the lake each morning before others are awake"
        for word in ("drimp", "flort", "skrell")
    ]
    note = (
        "# Log\n\n## Run\n\n```sh\n"
        + "\n".join(f"{one}\n{one} again" for one in lines)
        + "\n```\n\n## B\n\n- rain\n"
    )
    for wanted, *others in (("drimp", "flort", "skrell"), ("flort", "drimp", "skrell"), ("skrell", "flort")):
        hit = search(note, f"{wanted} {' '.join(f'-{other}' for other in others)}")[0]
        first, *inside, last = hit.text.split("\n")
        assert (first[:3], last) == ("```", "```"), hit
        assert inside
        assert all(wanted in line for line in inside), hit
        assert note.split("\n")[hit.start_line - 1 + (not hit.lead)] == inside[0], hit


def test_entries_of_another_second_are_shown_as_one_text(search: Search) -> None:
    entry = "- 08:35 {} <!-- by: tool; at: 2026-11-26T08:35:{} -->\n  exec, 1 ms\n  ```diff\n{}  ```\n"
    lines = "".join(f"  + line {number} of what make said, which is rather long\n" for number in range(9))
    text = (
        "# 2026-11-26\n\n"
        + entry.format("Ran make", 55, lines)
        + entry.format("Wrote plan.md", 56, "  + Freeze it.\n")
    )
    for question in ("freeze", "make line"):
        hits = [hit for hit in search(text, question) if "Freeze it" in hit.text]
        assert len(hits) == 1
        assert hits[0].text.count("```") % 2 == 0
        assert "Wrote plan.md" in hits[0].text
