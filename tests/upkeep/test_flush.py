"""The silent turn before a conversation is shortened: what a model may do in it, and what it may not."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from commonplace import Memory
from commonplace.base.errors import ConfigError, ProviderError
from commonplace.markdown.document import parse
from commonplace.providers.fake import FakeModel
from commonplace.providers.llm.base import Completion, Request, ToolCall
from commonplace.providers.llm.client import Client
from commonplace.types.events import Turn
from commonplace.upkeep import flush as flushing
from commonplace.upkeep.flush import Flushed, flush
from tests.providers.conftest import server  # noqa: F401
from tests.providers.llm.conftest import answer, model_at
from tests.providers.server import Reply, Server
from tests.upkeep.conversations import CHINESE, ENGLISH, RECALLED, SECRET, asked, model, note, turns

NOW = datetime(2026, 2, 13, 14, 30)
FACTS = "- The deploy of kestrel is on Thursday, because the vendor is late.\n- schema.py: id is a uuid."


def calls(*made: tuple[str, object]) -> Completion:
    """An answer that calls tools."""
    written = (ToolCall(f"c{n}", name, json.dumps(arguments)) for n, (name, arguments) in enumerate(made))
    return Completion("", "fake", calls=tuple(written), finish="tool_calls")


def flushed(memory: Memory, llm: Client, said: list[Turn] | None = None) -> Flushed:
    return flush(memory, said or turns(ENGLISH), llm, session="s1", agent="kestrel", now=NOW)


def test_what_the_tool_is_given_goes_to_todays_note(memory: Memory) -> None:
    done = flushed(memory, model(calls(("append_today", {"text": FACTS}))))
    assert [written.path for written in done.written] == ["memory/2026-02-13.md"] * 2
    assert (
        "- 14:30 The deploy of kestrel is on Thursday, because the vendor is late. <!-- by: agent;"
        in note(memory)
    )
    assert "- 14:30 schema.py: id is a uuid. <!-- by: agent; agent: kestrel; session: s1;" in note(memory)


def test_plain_text_does_as_well(memory: Memory) -> None:
    done = flushed(
        memory, model(f"<think>hm, the secret plan</think># Facts\n```\n{FACTS}\n```\n14:05 Tell Lin.")
    )
    assert len(done.written) == 3
    assert "secret plan" not in note(memory)
    assert "- 14:30 Tell Lin." in note(memory)


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ("These facts about the deploy of kestrel are worth keeping:\n\n" + FACTS, 2),
        ("Facts about kestrel\n" + FACTS + "\n\nAnd of the deploy:\n1. The vendor is late.", 3),
        ("The deploy of kestrel is on Thursday.\nThe vendor is late.", 2),
        ("关于 kestrel：\n" + FACTS, 2),
    ],
)
def test_list_items_are_kept_and_what_leads_in_to_them_is_not(memory: Memory, said: str, facts: int) -> None:
    for completion in (said, calls(("append_today", {"text": said}))):
        assert (
            len(
                flushing.wanted(
                    completion if isinstance(completion, Completion) else Completion(said, "m")
                ).texts
            )
            == facts
        )
    flushed(memory, model(said))
    assert "worth keeping" not in note(memory)
    assert note(memory).count("- 14:30 ") == facts


@pytest.mark.parametrize(
    "said", ["NO_REPLY", " no_reply.", "**NO_REPLY**", "<think>nothing?</think>\nNO_REPLY\n"]
)
def test_nothing_is_nothing(memory: Memory, said: str) -> None:
    assert flushed(memory, model(said)) == Flushed()
    assert note(memory) == ""


def test_anything_else_is_refused(memory: Memory) -> None:
    memory.remember("Mira maintains kestrel.", long_term=True)
    before = memory.workspace.memory_file.read_bytes()
    wanted = calls(
        ("write_file", {"path": "MEMORY.md", "text": "Lin deploys kestrel."}),
        ("append_today", {"text": "schema.py: id is a uuid."}),
        ("memory_write", {"text": "The deploy is on Friday.", "long_term": True}),
        ("append_today", {"text": 42}),
    )
    done = flushed(memory, model(wanted))
    assert done.refused == ("write_file", "memory_write")
    assert len(done.written) == 1
    assert memory.workspace.memory_file.read_bytes() == before
    assert "Friday" not in note(memory)


def test_arguments_that_are_no_json_are_nothing(memory: Memory) -> None:
    bad = Completion(
        "", "fake", calls=(ToolCall("c", "append_today", "{cut"), ToolCall("d", "append_today", "[1]"))
    )
    assert flushed(memory, model(bad)) == Flushed()


def test_what_the_note_says_is_not_said_again(memory: Memory) -> None:
    memory.remember("The deploy of kestrel is on Thursday because the vendor is late", now=NOW)
    before = note(memory)
    llm = model(calls(("append_today", {"text": f"{FACTS}\n- schema.py: id is a uuid"})))
    done = flushed(memory, llm)
    assert (len(done.written), done.repeated) == (1, 2)
    assert note(memory).startswith(before)
    assert "The deploy of kestrel" in asked(llm)[0].split("<note>")[-1].split("</note>")[0]
    assert flushed(memory, model(FACTS)).repeated == 2


def test_secrets_comments_private_parts_and_recalled_notes_stay_out(memory: Memory) -> None:
    said = turns(ENGLISH)
    said[0] = Turn("user", f"{RECALLED}Move the deploy <private>to my therapist</private>", said[0].at)
    llm = model(f"The token for the push is {SECRET} <!-- by: owner --><!-- importance: 10 -->")
    flushed(memory, llm, said)
    (sent,) = asked(llm)
    for hidden in (SECRET, "walnut", "therapist"):
        assert hidden not in sent
        assert hidden not in note(memory)
    (given,) = parse(note(memory), "memory/2026-02-13.md").annotations.values()
    assert (given["by"], "importance" in given) == ("agent", False)


def test_what_the_conversation_does_not_speak_of_is_left_out(memory: Memory) -> None:
    assert flushed(memory, model("You are a wonderful, amazing person!\nBuy giraffes.")).written == ()


def test_a_flood_is_dammed(memory: Memory) -> None:
    flood = "\n".join(
        f"- The deploy of kestrel number {number} {'is on Thursday ' * 60}" for number in range(50)
    )
    done = flushed(memory, model(flood))
    assert len(done.written) == flushing.MOST_ENTRIES
    assert len(note(memory)) < 8000


def test_in_chinese(memory: Memory) -> None:
    llm = model("- 部署改到周四，因为供应商晚了。\n- 还需要轮换令牌。")
    assert len(flushed(memory, llm, turns(CHINESE)).written) == 2
    assert "Write in Chinese." in asked(llm)[0]


def test_a_model_that_calls_no_tools_is_asked_for_text(memory: Memory) -> None:
    def rule(request: Request) -> str | Exception:
        return ConfigError("llm.provider", "a command cannot call tools") if request.tools else FACTS

    assert len(flushed(memory, Client(FakeModel(rule))).written) == 2


def test_a_failure_is_told(memory: Memory) -> None:
    with pytest.raises(ProviderError):
        flushed(memory, model(ProviderError("fake", "down")))
    assert note(memory) == ""


def test_over_http_only_one_tool_is_offered(memory: Memory, server: Server) -> None:  # noqa: F811
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "append_today", "arguments": json.dumps({"text": FACTS})},
    }
    server.script = [Reply(answer(None, "tool_calls", message={"tool_calls": [call]}))]
    assert len(flushed(memory, Client(model_at(server))).written) == 2
    sent = server.requests[0].json
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["append_today"]
    assert SECRET not in json.dumps(sent)
