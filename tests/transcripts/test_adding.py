"""What it takes to add a format of transcripts: a module, and one row that settings and readers share."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from commonplace.base.errors import ConfigError
from commonplace.config.collections import FORMAT, option
from commonplace.config.settings import TRANSCRIPTS
from commonplace.transcripts import content, formats
from commonplace.transcripts.content import Value
from commonplace.types.events import Turn


class Acme(ModuleType):
    @staticmethod
    def knows(value: Value) -> bool:
        return "acme" in value

    @staticmethod
    def turn(value: Value) -> Turn | None:
        return Turn("user", content.text(value, "acme"))


@pytest.fixture
def row(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(TRANSCRIPTS, "acme-chat", ("Acme's chat", "acme"))
    monkeypatch.setitem(sys.modules, "commonplace.transcripts.acme", Acme("acme"))
    formats.known.cache_clear()
    yield
    formats.known.cache_clear()


@pytest.mark.usefixtures("row")
@pytest.mark.parametrize("name", ["auto", "acme-chat"])
def test_a_format(name: str) -> None:
    note = formats.note(io.BytesIO(b'{"acme": "Where is the kestrel?"}\n'), "a.jsonl", name)
    assert note.lines == ("**User:** Where is the kestrel?",)


def test_settings_take_each_row() -> None:
    assert [option(FORMAT, name) for name in TRANSCRIPTS] == list(TRANSCRIPTS)


def test_one_without_a_row_is_none() -> None:
    with pytest.raises(ConfigError, match="one of auto, claude-code"):
        option(FORMAT, "acme-chat")
    assert formats.find("acme-chat") is None
