"""What holds for every format: told from its content, read as the same conversation, never an error."""

from __future__ import annotations

import io
import json
import random
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.base.errors import NoteUnreadable
from commonplace.config.settings import AUTO, TRANSCRIPTS
from commonplace.transcripts import formats
from commonplace.transcripts.rendering import cleaned
from commonplace.types import Note
from tests.notes.test_planting import SECRETS
from tests.transcripts import conversations
from tests.transcripts.conversations import ANSWERED, ASKED, LOOKED, SAMPLES, Sample

SPOKEN = [
    f"**User:** {' '.join(ASKED.split())}", f"**Assistant:** {LOOKED}", "[exec cat deploy.md]", f"**Assistant:** {ANSWERED}",
]  # fmt: skip
NAMES = [AUTO, *TRANSCRIPTS]


def read(sample: Sample, data: bytes | None = None, name: str = "auto") -> Note:
    given = sample.data if data is None else data
    return formats.note(io.BytesIO(given), f"logs/s1{sample.ending}", name)


@pytest.fixture(params=SAMPLES)
def sample(request: pytest.FixtureRequest) -> Sample:
    return SAMPLES[request.param]()


def test_the_conversation_is_that_of_every_other_format(sample: Sample) -> None:
    assert formats.format_of(io.BytesIO(sample.data), f"x{sample.ending}") == sample.format
    note = read(sample)
    assert note == read(sample, name=sample.format)
    text = "\n".join(note.lines)
    places = [text.find(line) for line in SPOKEN]
    assert -1 not in places
    assert places == sorted(places)
    for unwanted in (
        conversations.THOUGHT, conversations.FOUND, "said by nobody", "be brief", "untrusted", "Runtime Context", "environment_context",
        "sub-agent", "thrown away", "NO_REPLY", "Caveat",
    ):  # fmt: skip
        assert unwanted not in text
    assert text.count(ANSWERED) == text.count("I forgot") == 1
    assert note.date == (None if sample.values == conversations.codex_first().values else "2026-02-13")
    assert (note.kind, note.path) == ("session", f"logs/s1{sample.ending}")
    assert note.title == ("s1" if note.headings else "Where does the kestrel service run? I forgot.")


@pytest.mark.parametrize("name", ["auto", "codex"])
@pytest.mark.parametrize(
    "source", [{"subagent": {"thread_spawn": {"parent_thread_id": "s1"}}}, {"subagent": "review"}]
)
def test_the_file_of_a_sub_agent_of_codex_is_left_out(source: object, name: str) -> None:
    head, *items = conversations.codex().values
    data = Sample("codex", [{**head, "payload": {"id": "s2", "source": source}}, head, *items]).data
    note = read(conversations.codex(), data, name)
    assert not any(note.lines)
    assert len(note.lines) == 2 + len(items)
    assert not list(formats.turns(io.BytesIO(data), "s2.jsonl", name))


def test_messages_come_with_their_tools(sample: Sample) -> None:
    places = list(formats.turns(io.BytesIO(sample.data), f"s1{sample.ending}", "auto"))
    calls = [call for place in places for call in place.turn.calls]
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [("exec", conversations.ARGUMENTS)]
    if sample.archive:
        return
    results = [place.turn for place in places if place.turn.role == "tool"]
    assert [turn.text for turn in results] == [conversations.FOUND]
    rows = sample.data.split(b"\n")
    for place in places:
        assert json.loads(rows[place.line - 1])


def test_damaged_lines_cost_nothing_but_themselves(sample: Sample) -> None:
    if sample.archive:
        return
    rows, made = sample.data.splitlines(), random.Random(7)
    damage = [
        b"",
        b"{",
        b"\0\0\0",
        b"[" * 100_000,
        b'"text"',
        b"3",
        b"\xff\xfe",
        rows[0][: len(rows[0]) // 2],
    ]
    mixed = [row for line in rows for row in (line, made.choice(damage))]
    data = b"".join(row + b"\n" for row in [damage[1], *mixed])
    note, found = read(sample, data), formats.Damage()
    formats.note(io.BytesIO(data), "s1.jsonl", sample.format, None, found)
    first, *others = found.lines
    assert (first, str(found)) == (1, f"line 1 and {len(others)} more are damaged and left out")
    assert all(number % 2 and mixed[number - 2] in damage for number in others)
    assert len(note.lines) == len(mixed) + 1
    assert list(note.lines[1::2]) == list(read(sample).lines)


def test_an_archive_may_be_packed(sample: Sample) -> None:
    if not sample.archive:
        return
    inner = conversations.packed(sample.data)
    assert formats.note(io.BytesIO(inner), "logs/s1.zip", "auto").lines == read(sample).lines
    for broken, told in (
        (conversations.packed(sample.data, "other.json"), "holds no conversations.json"),
        (inner[:-30], "is damaged; export or copy it again"), (b"PK\x03\x04", "is damaged"), (b"", "is damaged"),
    ):  # fmt: skip
        with pytest.raises(NoteUnreadable, match=f"logs/s1.zip: the archive {told}"):
            formats.note(io.BytesIO(broken), "logs/s1.zip", "auto")
        with pytest.raises(NoteUnreadable, match=told):
            list(formats.turns(io.BytesIO(broken), "logs/s1.zip", "auto"))
        assert formats.format_of(io.BytesIO(broken), "logs/s1.zip") == ""


def test_a_large_export_comes_in_several_files() -> None:
    sample, file = conversations.chatgpt(), io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number, name in ((1, "export/conversations-001.json"), (0, "export/conversations-000.json")):
            values = [{**sample.values[0], "title": f"Part {number}"}]
            archive.writestr(name, json.dumps(values))
    note = formats.note(file, "x.zip", "auto")
    assert [heading.text for heading in note.headings] == ["2026-02-13 Part 0", "2026-02-13 Part 1"]


@given(st.binary(max_size=400), st.sampled_from([".jsonl", ".json", ".zip"]), st.sampled_from(NAMES))
def test_bytes_are_read_or_a_damaged_archive(data: bytes, ending: str, name: str) -> None:
    if ending == ".zip":
        with pytest.raises(NoteUnreadable):
            formats.note(io.BytesIO(data), f"x{ending}", name)
        return
    note = formats.note(io.BytesIO(data), f"x{ending}", name)
    assert all("\n" not in line for line in note.lines)
    list(formats.turns(io.BytesIO(data), f"x{ending}", name))


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8) | st.sampled_from(["user", "message"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(
            "type role content message payload text mapping current_node parent author parts name chat_messages sender tool_calls"
            " function arguments timestamp create_time version suffix blocks uuid".split()
        ),
        inner,
        max_size=5,
    ),
    max_leaves=30,
)  # fmt: skip


@given(values=st.lists(VALUES, max_size=4), name=st.sampled_from(NAMES))
def test_no_value_of_another_shape_is_an_error(values: list[object], name: str) -> None:
    rows = "\n".join(map(json.dumps, values)).encode()
    assert len(formats.note(io.BytesIO(rows), "x.jsonl", name).lines) == len(values)
    formats.note(io.BytesIO(json.dumps(values).encode()), "x.json", name)


@pytest.mark.parametrize("name", SECRETS)
def test_no_secret_and_nothing_private_is_in_the_note(sample: Sample, name: str) -> None:
    secret, part = SECRETS[name]
    hidden = json.dumps(f"I forgot. <private>the plan</private>\n\n{secret}\n\nfurther", ensure_ascii=False)[
        1:-1
    ]
    data = sample.data.decode().replace("I forgot.", hidden).encode()
    text = "\n".join(read(sample, data).lines) + read(sample, data).title
    assert part not in text
    assert "the plan" not in text
    assert "further" in text
    data = sample.data.decode().replace("I forgot.", "<private> I forgot.").encode()
    text = "\n".join(read(sample, data).lines)
    assert "I forgot" not in text
    assert ANSWERED in text


def test_conversations_are_sections_of_their_days() -> None:
    first = conversations.claude().values[0]
    second = json.loads(json.dumps(first).replace("2026-02-13", "2026-03-01").replace("Kestrel", "Heron"))
    note = read(Sample("claude", [first, {**first, "chat_messages": []}, second], True, ".json"))
    assert [heading.text for heading in note.headings] == [
        "2026-02-13 Kestrel's region",
        "2026-03-01 Heron's region",
    ]
    assert [note.lines[heading.line - 1] for heading in note.headings] == [
        f"## {h.text}" for h in note.headings
    ]
    assert note.date is None  # of no day: it holds several


def test_elements_of_large_lists_are_found_whatever_their_size() -> None:
    sample = conversations.openai_list()
    long = {"role": "user", "content": "x" * 300_000 + " the end"}
    values = [long, *sample.values] * 3
    for indent in (None, 2):
        data = json.dumps(values, indent=indent).encode()
        lines = [line for line in read(sample, data).lines if line]
        assert len(lines) == 12
        assert lines[0].endswith("the end")


def test_a_line_too_long_for_a_message_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = conversations.openai()
    long = json.dumps({"role": "user", "content": "x" * 5000}).encode()
    data = sample.data + long + b"\n" + sample.data
    monkeypatch.setattr("commonplace.transcripts.content.forwards.__defaults__", (None, 4096))
    note = read(sample, data)
    assert len(note.lines) == 2 * len(sample.values) + 1
    assert "xxx" not in "".join(note.lines)
    assert "".join(note.lines).count(ANSWERED) == 2


def test_calls_nested_deeply_are_read_and_written_down_without_an_error() -> None:
    for depth in (700, 950, 990):
        arguments = '{"a":' * depth + "1" + "}" * depth
        value = {"role": "assistant", "content": [{"type": "tool_use", "name": "x", "input": 0}]}
        event = json.dumps({"type": "assistant", "uuid": "1", "message": value}).replace(
            " 0}", f" {arguments}}}"
        )
        for place in formats.turns(io.BytesIO(event.encode()), "x.jsonl", "auto"):
            assert cleaned(place.turn).calls[0].name == "x"
