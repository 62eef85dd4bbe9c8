"""Sentences with codes: their English is made of the values, and both are kept wherever the sentence goes."""

from __future__ import annotations

import copy
import pickle

from commonplace.base import remedies
from commonplace.base.database import FULL
from commonplace.base.errors import IndexUnavailable, NoteNotFound
from commonplace.base.messages import message
from commonplace.index.sqlite.schema import DAMAGED, UNWRITABLE


def test_a_sentence_is_its_english_and_keeps_code_and_values() -> None:
    inner = message("index.none", "there is no index yet")
    found = message("x", "{n:file} in {places}, {m:entry|entries}: {why} ({share:.0%}, {total:,})",
                    n=1, places=("a", "b"), m=2, why=inner, share=0.5, total=1234)  # fmt: skip
    assert found == "1 file in a, b, 2 entries: there is no index yet (50%, 1,234)"
    data = found.data()
    assert data["code"] == "x"
    assert data["values"]["places"] == ["a", "b"]
    assert data["values"]["why"] == {"text": "there is no index yet", "code": "index.none", "values": {}}
    for same in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert (same, same.data()) == (found, data)


def test_errors_and_remedies_are_sentences_with_codes() -> None:
    (told,) = NoteNotFound("x.md", ["y.md"]).args
    assert told == "x.md: no such note; did you mean y.md?"
    assert told.data()["values"]["reason"]["code"] == "note.missing"
    assert remedies.say("models.use", "fake").data() == {"code": "remedy.models.use", "values": {"0": "fake"}}


def test_the_remedy_of_an_index_is_that_of_the_disk_where_a_sync_would_fail_as_well() -> None:
    for reason, remedy in (
        (FULL, "disk.room"),
        (UNWRITABLE, "files.readonly"),
        (DAMAGED, "sync"),
        ("x", "sync"),
    ):
        error = IndexUnavailable("index.sqlite", reason)
        assert (error.remedy.code, error.remedied().remedy.code) == (f"remedy.{remedy}", f"remedy.{remedy}")
        assert str(error.remedied()) == f"index index.sqlite: {reason}; {error.remedy}"
