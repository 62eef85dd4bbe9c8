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
from commonplace.markdown import turns
from commonplace.transcripts import formats
from commonplace.transcripts.rendering import cleaned
from commonplace.types import Note
from tests.notes.test_planting import SECRETS
from tests.transcripts import conversations
from tests.transcripts.conversations import ANSWERED, ASKED, LOOKED, SAMPLES, Sample

SPOKEN = [
    f"**User:** {' '.join(ASKED.split())}",
    f"**Assistant:** {LOOKED}",
    "[exec cat deploy.md]",
    f"**Assistant:** {ANSWERED}",
]
NAMES = [AUTO, *TRANSCRIPTS]


def read(sample: Sample, data: bytes | None = None, name: str = "auto") -> Note:
    given = sample.data if data is None else data
    return formats.note(io.BytesIO(given), f"logs/s1{sample.ending}", name)


@pytest.fixture(params=SAMPLES)
def sample(request: pytest.FixtureRequest) -> Sample:
    return SAMPLES[request.param]()


def test_every_format_is_tried_here() -> None:
    assert {made().format for made in SAMPLES.values()} == {row.name for row in formats.known()}


def test_a_format_is_told_from_the_content(sample: Sample) -> None:
    found = formats.format_of(io.BytesIO(sample.data), f"x{sample.ending}")
    assert found is not None
    assert found.name == sample.format


def test_the_conversation_is_that_of_every_other(sample: Sample) -> None:
    text = "\n".join(read(sample).lines)
    places = [text.find(line) for line in SPOKEN]
    assert -1 not in places
    assert places == sorted(places)


def test_named_outright_it_reads_the_same(sample: Sample) -> None:
    assert read(sample, name=sample.format) == read(sample)


def test_nothing_but_what_was_said_is_there(sample: Sample) -> None:
    text = "\n".join(read(sample).lines)
    for unwanted in (conversations.THOUGHT, conversations.FOUND, "said by nobody", "be brief", "untrusted"):
        assert unwanted not in text
    for unwanted in (
        "Runtime Context",
        "environment_context",
        "sub-agent",
        "thrown away",
        "NO_REPLY",
        "Caveat",
    ):
        assert unwanted not in text
    assert text.count(ANSWERED) == text.count("I forgot") == 1


def test_the_day_is_that_of_the_first_message(sample: Sample) -> None:
    expected = None if sample.values == conversations.codex_first().values else "2026-02-13"
    assert read(sample).date == expected


def test_it_is_a_session_with_a_title(sample: Sample) -> None:
    note = read(sample)
    assert note.kind == "session"
    assert note.title == ("s1" if note.headings else "Where does the kestrel service run? I forgot.")
    assert note.path == f"logs/s1{sample.ending}"


def test_who_speaks_is_recognised(sample: Sample) -> None:
    said = [line for line in read(sample).lines if line and not line.startswith("#")]
    assert {turns.speaker(line) for line in said} == {"user", "assistant"}


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


def test_each_line_of_the_note_is_that_of_the_file(sample: Sample) -> None:
    if sample.archive:
        return
    note, rows = read(sample), sample.data.decode().splitlines()
    assert len(note.lines) == len(rows)
    for line, row in zip(note.lines, rows, strict=True):
        assert not line or any(said.split("\n")[0][:20] in row for said in (ASKED, LOOKED, ANSWERED, "exec"))


def test_damaged_lines_cost_nothing_but_themselves(sample: Sample) -> None:
    if sample.archive:
        return
    rows = sample.data.splitlines()
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
    made = random.Random(7)
    mixed = [row for line in rows for row in (line, made.choice(damage))]
    data = b"".join(row + b"\n" for row in [damage[1], *mixed])
    note, found = read(sample, data), formats.Damage()
    formats.note(io.BytesIO(data), "s1.jsonl", sample.format, None, found)
    first, *others = found.lines
    assert (first, str(found)) == (1, f"line 1 and {len(others)} more are damaged and left out")
    assert all(number % 2 and mixed[number - 2] in damage for number in others)
    assert len(note.lines) == len(mixed) + 1
    assert [line for line in note.lines if line] == [line for line in read(sample).lines if line]


def test_an_archive_may_be_packed(sample: Sample) -> None:
    if not sample.archive:
        return
    inner = conversations.packed(sample.data)
    assert formats.note(io.BytesIO(inner), "logs/s1.zip", "auto").lines == read(sample).lines
    for broken, told in (
        (conversations.packed(sample.data, "other.json"), "holds no conversations.json"),
        (inner[:-30], "is damaged; export or copy it again"),
        (b"PK\x03\x04", "is damaged"),
        (b"", "is damaged"),
    ):
        with pytest.raises(NoteUnreadable, match=f"logs/s1.zip: the archive {told}"):
            formats.note(io.BytesIO(broken), "logs/s1.zip", "auto")
        with pytest.raises(NoteUnreadable, match=told):
            list(formats.turns(io.BytesIO(broken), "logs/s1.zip", "auto"))
        assert formats.format_of(io.BytesIO(broken), "logs/s1.zip") is None


def test_a_large_export_comes_in_several_files() -> None:
    sample, file = conversations.chatgpt(), io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number, name in ((1, "export/conversations-001.json"), (0, "export/conversations-000.json")):
            values = [{**sample.values[0], "title": f"Part {number}"}]
            archive.writestr(name, json.dumps(values))
    note = formats.note(file, "x.zip", "auto")
    assert [heading.text for heading in note.headings] == ["2026-02-13 Part 0", "2026-02-13 Part 1"]


def test_a_damaged_package_is_told() -> None:
    sample = conversations.claude()
    many = [
        {**sample.values[0], "uuid": str(n), "name": random.Random(n).randbytes(2000).hex()}
        for n in range(200)
    ]
    inner = bytearray(conversations.packed(json.dumps(many).encode()))
    inner[len(inner) // 2] ^= 0xFF
    with pytest.raises(NoteUnreadable, match="damaged"):
        formats.note(io.BytesIO(bytes(inner)), "s1.zip", "auto")


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.999])
def test_what_is_cut_off_is_read_as_far_as_it_goes(sample: Sample, share: float) -> None:
    data = sample.data * 5 if not sample.archive else sample.data
    note = read(sample, data[: int(len(data) * share)])
    assert set(note.lines) <= {*read(sample).lines, *read(sample, data).lines}


@given(
    data=st.binary(max_size=400),
    ending=st.sampled_from([".jsonl", ".json", ".zip"]),
    name=st.sampled_from(NAMES),
)
def test_bytes_are_read_or_a_damaged_archive(data: bytes, ending: str, name: str) -> None:
    if ending == ".zip":
        with pytest.raises(NoteUnreadable):
            formats.note(io.BytesIO(data), f"x{ending}", name)
        return
    note = formats.note(io.BytesIO(data), f"x{ending}", name)
    assert all("\n" not in line for line in note.lines)
    list(formats.turns(io.BytesIO(data), f"x{ending}", name))


VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.floats(), st.text(max_size=8), st.sampled_from(["user", "message"])
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                "type role content message payload text mapping current_node parent author parts name chat_messages"
                " sender tool_calls function arguments timestamp create_time version suffix blocks uuid".split()
            ),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=30,
)


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


def test_what_is_private_hides_no_other_message(sample: Sample) -> None:
    data = sample.data.decode().replace("I forgot.", "<private> I forgot.").encode()
    text = "\n".join(read(sample, data).lines)
    assert "I forgot" not in text
    assert ANSWERED in text


def test_a_further_day_is_told() -> None:
    rows = [
        {"role": "user", "text": "Tea?", "at": "2026-02-13T10:00:00"},
        {"role": "assistant", "text": "Yes.", "at": "2026-02-13T11:00:00"},
        {"role": "user", "text": "And now?", "at": "2026-02-15T11:00:00"},
        {"role": "assistant", "text": "No."},
    ]
    note = read(Sample("commonplace", rows))
    assert note.date == "2026-02-13"
    told = ["**User:** Tea?", "**Assistant:** Yes.", "**User:** (2026-02-15) And now?", "**Assistant:** No."]
    assert list(note.lines) == told


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


def test_an_object_that_is_the_whole_file_is_read() -> None:
    sample = conversations.openai_list()
    for values in ({"messages": sample.values}, {"model": "m", "messages": sample.values}):
        assert read(sample, json.dumps(values, indent=1).encode()).lines == read(sample).lines
    one = conversations.chatgpt()
    assert read(one, json.dumps(one.values[0], indent=1).encode()).lines == read(one).lines


def test_calls_nested_deeply_are_read_and_written_down_without_an_error() -> None:
    for depth in (700, 950, 990):
        arguments = '{"a":' * depth + "1" + "}" * depth
        value = {"role": "assistant", "content": [{"type": "tool_use", "name": "x", "input": 0}]}
        event = json.dumps({"type": "assistant", "uuid": "1", "message": value}).replace(
            " 0}", f" {arguments}}}"
        )
        for place in formats.turns(io.BytesIO(event.encode()), "x.jsonl", "auto"):
            assert cleaned(place.turn).calls[0].name == "x"
