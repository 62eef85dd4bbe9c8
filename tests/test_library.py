"""What a program imports: every name that a caller guesses, tried at its door, and the same for event loops."""

from __future__ import annotations

import asyncio
import inspect
import io
import json
import pydoc
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

import commonplace
from commonplace import AsyncMemory, Memory, NoteNotFound, PreviewOutdated, StatementNotFound
from commonplace.base.errors import ConfigError
from commonplace.memory import Memory as Core
from commonplace.providers import fake
from commonplace.providers.fake import FakeModel

LONG_TERM = """# Memory

## Preferences

- Tea after lunch, never coffee.

## People

- Mira owns billing and mail.
- Mira owns the billing and the mail.
""" + "".join(f"- Person{n} owns service number {n}.\n" for n in range(6))
WORDS = {"embedding.provider": "none"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "MEMORY.md").write_text(LONG_TERM)
    return tmp_path / "notes"


@pytest.fixture
def memory(root: Path) -> Iterator[Memory]:
    with Memory.open(root, overrides=WORDS) as opened:
        yield opened


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if name[0] != "_"}


def today(root: Path) -> str:
    return (root / "memory" / f"{date.today():%Y-%m-%d}.md").read_text()


# --- what a shell shows ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Memory, AsyncMemory, Core])
def test_a_constructor_names_open(kind: type) -> None:
    name = kind.__name__
    with pytest.raises(TypeError, match=rf'; use {name}\.open\("my notes"\)$'):
        kind("my notes")
    with pytest.raises(TypeError):
        kind()


def test_help_begins_with_open() -> None:
    head, body = pydoc.plain(pydoc.render_doc(Memory)).split(" |  ", 2)[:2]
    assert head.strip().endswith("class Memory(commonplace.memory.Memory)")
    assert 'Memory.open("notes")' in body
    for kind in (Memory, AsyncMemory):
        text = pydoc.plain(pydoc.render_doc(kind))
        missing = {name for name in public(kind) if not text.count(f"{name}(")}
        assert missing == set()


def test_every_method_says_what_it_does_and_what_it_takes() -> None:
    for name in public(Memory):
        method = getattr(Memory, name)
        first = (inspect.getdoc(method) or "").split("\n")[0]
        assert first.endswith("."), name
        signature = inspect.signature(method)
        untyped = {
            parameter.name
            for parameter in signature.parameters.values()
            if parameter.annotation is parameter.empty and parameter.name != "self"
        }
        assert untyped == set(), name
        assert signature.return_annotation is not signature.empty, name


def test_the_workspace_is_shown(memory: Memory, root: Path) -> None:
    assert repr(memory) == f"Memory.open({str(root)!r})"
    assert repr(AsyncMemory(memory)) == f"AsyncMemory.open({str(root)!r})"


@pytest.mark.parametrize(
    ("theirs", "ours"), [("get_all", "notes"), ("update", "correct"), ("delete", "forget")]
)
def test_names_of_other_memories_lead_to_ours(memory: Memory, theirs: str, ours: str) -> None:
    with pytest.raises(AttributeError, match=f"^Memory has no '{theirs}'; use '{ours}'$"):
        getattr(memory, theirs)
    assert callable(getattr(memory, ours))
    assert not hasattr(memory, theirs)


def test_a_misspelt_name_is_an_attribute_error(memory: Memory) -> None:
    with pytest.raises(AttributeError, match=r"^Memory has no 'serch'$") as caught:
        memory.serch  # type: ignore[attr-defined]  # noqa: B018
    assert (caught.value.name, caught.value.obj) == ("serch", memory)  # by which Python says what was meant


# --- results --------------------------------------------------------------------------------------------


def test_a_result_is_its_hits(memory: Memory) -> None:
    for found in (memory.search("tea after lunch"), memory.recall("tea after lunch")):
        assert found
        assert len(found) == len(found.hits) > 0
        assert [*found] == [*found.hits]
        assert found[0] is found.hits[0]
    for nothing in (memory.search("zeppelin", strict=True), memory.recall("zeppelin", strict=True)):
        assert not nothing
        assert [*nothing] == []


# --- a conversation -------------------------------------------------------------------------------------

TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "I am a vegetarian. My key is ghp_" + "a1B2" * 9},
    {"role": "assistant", "content": "Noted."},
    {"role": "user", "content": "What is on the menu?"},
    {"role": "user", "content": [{"type": "text", "text": "I sit by the window."}]},
]


def test_without_a_model_what_the_user_said_is_written_down(memory: Memory, root: Path) -> None:
    written = memory.add(TALK, agent="waiter")
    assert len(written) == 2
    text = today(root)
    assert "I am a vegetarian." in text
    assert "I sit by the window." in text
    assert "ghp_" not in text
    assert not {"menu", "Noted", "brief"} & set(text.replace(".", " ").replace("?", " ").split())
    assert "agent: waiter" in text
    assert memory.search("vegetarian")
    assert [one.again for one in memory.add(TALK, agent="waiter")] == [True, True]
    assert today(root) == text


def test_a_text_alone_is_said_by_the_user(memory: Memory, root: Path) -> None:
    (written,) = memory.add("The gate code changes on Fridays. Who told you? 密码改了吗？")
    assert "The gate code changes" in today(root)
    assert memory.add("Who told you? 密码改了吗？") == ()
    assert memory.get(f"{written.path}#L{written.start_line}").lines


@pytest.mark.parametrize(
    "messages",
    [[{"content": "x"}], ["x"], [{"role": "user", "content": "x"}, 3], [None], None, 3,
     [{"role": "user", "content": {"text": "x"}}]],
)  # fmt: skip
def test_messages_of_another_form_are_one_clear_line(memory: Memory, root: Path, messages: Any) -> None:
    with pytest.raises(ConfigError, match=r'^messages: must be a text or a list of \{"role"'):
        memory.add(messages)
    assert not (root / "memory").exists()


def test_a_model_picks_the_facts(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = FakeModel(lambda request: "- The user is a vegetarian.")
    monkeypatch.setattr(fake, "FakeModel", lambda *_: model)
    with Memory.open(root, overrides={**WORDS, "llm.provider": "fake", "llm.model": "facts"}) as memory:
        (written,) = memory.add(TALK)
        assert "The user is a vegetarian." in memory.get(f"{written.path}#L{written.start_line}").lines[0]
    assert "window" not in today(root)
    assert len(model.requests) == 1


def test_a_model_that_fails_costs_no_word(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    away = FakeModel([], "away")
    monkeypatch.setattr(fake, "FakeModel", lambda *_: away)
    with Memory.open(root, overrides={**WORDS, "llm.provider": "fake", "llm.model": "away"}) as memory:
        assert len(memory.add(TALK)) == 2
    assert "I sit by the window." in today(root)


def test_a_session_is_summed_up(memory: Memory, root: Path) -> None:
    with pytest.raises(NoteNotFound, match="no session has a transcript"):
        memory.summarize()
    talk = [
        {"role": "user", "content": "Which database do we take?"},
        {"role": "assistant", "content": "We decided to use PostgreSQL for the queue."},
    ]
    memory.add(talk, session="tuesday")
    assert (root / "sessions" / "tuesday.jsonl").is_file()
    written = memory.summarize()
    assert written is not None
    assert "PostgreSQL" in "".join(
        memory.get(f"{written.path}:{written.start_line}-{written.end_line}").lines
    )
    assert memory.summarize("tuesday") is None
    with pytest.raises(NoteNotFound) as caught:
        memory.summarize("tuesdya")
    assert caught.value.suggestions == ("tuesday",)


# --- statements -----------------------------------------------------------------------------------------


def test_a_guess_holds_once_it_is_confirmed(memory: Memory, root: Path) -> None:
    memory.remember("The certificate may be the cause.", tentative=True)
    shown = memory.confirm("The certificate may be the cause.", dry_run=True)
    assert "tentative" in today(root)
    done = memory.confirm("The certificate may be the cause.", preview=shown)
    assert done.run
    assert "tentative" not in today(root)
    assert memory.recall("certificate cause")
    with pytest.raises(StatementNotFound, match="is not tentative"):
        memory.confirm("The certificate may be the cause.")


def test_a_guess_is_rejected_by_an_agent_in_its_name(memory: Memory, root: Path) -> None:
    memory.remember("The disk is full.", tentative=True)
    by = commonplace.types.Provenance("agent", "codex", "s1")
    done = memory.confirm("The disk is full.", reject=True, why="it was the network", provenance=by)
    assert done.rejected
    assert "~~The disk is full.~~" in today(root)
    (run,) = [one for one in memory.log() if one.id == done.run]
    assert (run.about.by, run.about.agent, run.about.why) == ("agent", "codex", "it was the network")


def test_the_history_of_a_statement_is_found_by_any_version(memory: Memory) -> None:
    texts = [
        "Tea after lunch, never coffee.",
        "Tea after lunch, green.",
        "Tea after lunch, white, not green.",
    ]
    for old, new in pairwise(texts):
        memory.correct(old, new)
    for named in (*texts, "MEMORY.md#L5", "MEMORY.md#L6"):
        found = memory.history(named)
        assert [one.text for one in found] == texts[::-1], named
    day = f"{date.today():%Y-%m-%d}"
    assert [one.struck for one in found] == [False, True, True]
    assert [(one.said.get("since"), one.said.get("until")) for one in found] == [
        (day, None),
        (day, day),
        (None, day),
    ]
    assert memory.get(found[0].citation).lines[0].startswith("- Tea after lunch, white")
    (alone,) = memory.history("Mira owns billing and mail.")
    assert not alone.struck


def test_what_nobody_stated_has_no_history(memory: Memory) -> None:
    with pytest.raises(StatementNotFound):
        memory.history("There is a zeppelin.")


def test_what_was_struck_for_nothing_has_a_history(memory: Memory) -> None:
    memory.correct("Tea after lunch, never coffee.", "")
    (gone,) = memory.history("Tea after lunch, never coffee.")
    assert gone.struck


# --- refined --------------------------------------------------------------------------------------------


def test_what_is_consolidated_is_what_was_shown(memory: Memory, root: Path) -> None:
    shown = memory.consolidate(dry_run=True)
    assert len(shown.accepted) == 1
    assert (root / "MEMORY.md").read_text() == LONG_TERM
    assert memory.consolidate().run is None  # a proposal without a model waits for a word
    none = memory.consolidate(preview=replace(shown, accepted=()))
    assert none.run is None
    done = memory.consolidate(preview=shown)
    assert done.run is not None
    assert done.diff == shown.diff
    assert "~~Mira owns billing and mail.~~" in (root / "MEMORY.md").read_text()
    memory.undo(done.run.id)
    assert (root / "MEMORY.md").read_text() == LONG_TERM
    assert memory.consolidate(accept=True).run is not None
    with pytest.raises(PreviewOutdated):
        memory.consolidate(preview=shown)


def test_old_months_are_rolled_up(memory: Memory, root: Path) -> None:
    long_ago = datetime(2025, 1, 5, 12)
    memory.remember("The first of all.", now=long_ago)
    memory.remember("The second.", now=long_ago + timedelta(1))
    (month,) = memory.rollup(dry_run=True).months
    assert (month.month, len(month.notes), month.run) == ("2025-01", 2, None)
    assert not memory.rollup(older_than_days=36_500).months
    (month,) = memory.rollup().months
    assert month.run is not None
    assert "The second." in (root / "memory" / "2025-01.md").read_text()
    assert not (root / "memory" / "2025-01-05.md").exists()


# --- carried --------------------------------------------------------------------------------------------


def test_an_export_is_imported(memory: Memory, root: Path, tmp_path: Path) -> None:
    memory.remember("The gateway listens on port 8443. <private>8444</private>")
    exported = memory.export()
    assert "Mira owns billing" in exported.data.decode()
    assert exported.files == 2
    target = tmp_path / "all.json"
    assert json.loads(memory.export(target).data)["notes"]
    assert target.read_bytes() == memory.export(form="json").data
    with pytest.raises(ConfigError, match="is there already"):
        memory.export(target)
    memory.export(target, force=True)
    assert ZipFile(io.BytesIO(memory.export(form="zip").data)).namelist()
    (tmp_path / "other").mkdir()
    with Memory.open(tmp_path / "other", overrides=WORDS) as other:
        shown = other.import_(target, dry_run=True)
        assert shown.dry_run
        assert not (tmp_path / "other" / "MEMORY.md").exists()
        done = other.import_(str(target), kind="commonplace")
        assert done.files == shown.files
        assert other.search("gateway port")
        assert other.import_(target).run == ""  # a second time there is nothing new
        other.undo(done.run)
        assert not other.search("gateway port", strict=True)


def test_an_import_that_is_none_is_one_clear_line(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not recognised; name its kind"):
        memory.import_(tmp_path)
    with pytest.raises(ConfigError, match="is not known; there are"):
        memory.import_(tmp_path, kind="diary")
    with pytest.raises(ConfigError, match="say what is to be imported"):
        memory.import_()


# --- event loops ----------------------------------------------------------------------------------------


def test_the_asynchronous_memory_has_every_method_of_the_other() -> None:
    assert public(AsyncMemory) == public(Memory)
    for name in public(Memory) - {"open"}:
        ours, theirs = getattr(Memory, name), getattr(AsyncMemory, name)
        assert inspect.iscoroutinefunction(theirs), name
        assert inspect.signature(theirs) == inspect.signature(ours), name
        assert inspect.getdoc(theirs) == inspect.getdoc(ours), name
    assert inspect.signature(AsyncMemory.open).parameters == inspect.signature(Memory.open).parameters


def test_an_event_loop_asks_and_writes(root: Path) -> None:
    async def told() -> list[str]:
        async with AsyncMemory.open(root, overrides=WORDS) as memory:
            await memory.remember("The gateway listens on port 8443.")
            found, noted = await asyncio.gather(memory.search("gateway port"), memory.notes())
            assert len(noted) == 2
            with pytest.raises(NoteNotFound):
                await memory.get("MEMROY.md")
            with pytest.raises(TypeError, match="unexpected keyword argument 'k'"):
                await memory.search("gateway", k=3)  # type: ignore[call-arg]
            return [hit.text for hit in found]

    assert "port 8443" in asyncio.run(told())[0]
    with Memory.open(root, overrides=WORDS) as memory:
        assert asyncio.run(AsyncMemory(memory).history("The gateway listens on port 8443."))


def test_a_program_of_ours_takes_both(memory: Memory) -> None:
    """Hosts and contexts are given the memory that a program opened."""
    from commonplace.agent.attachment import opened

    assert opened(memory) is memory
    assert isinstance(memory, Core)
