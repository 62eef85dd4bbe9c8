"""What was changed through a server is what its next answer says, while a sync still embeds other notes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.life.conftest import Http, Owner, until

FACTS = (
    "The regatta starts at nine",
    "The dog is called Pip",
    "The ferry costs three crowns",
    "Lin paints the fence",
)


@pytest.fixture
def web(owner_with_model: Owner) -> Iterator[Http]:
    """A server beside a sync that embeds for a long time."""
    owner = owner_with_model
    for n in range(60):
        rows = (
            f"## Part {n}.{k}\n\n- The {k}th crate of shed {n} holds {n * k} tins.\n\n" for k in range(40)
        )
        owner.note(f"memory/shed-{n}.md", "".join(rows))
    owner.note(
        "MEMORY.md", "# Memory\n\n" + "".join(f"## Fact {n}\n\n- {one}.\n\n" for n, one in enumerate(FACTS))
    )
    web = owner.serve()
    sync = subprocess.Popen(
        owner._command("sync"), cwd=owner.folder, env=owner._environment(),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        until(lambda: web.get("/api/status")["passages"] > 2000 and web.get("/api/status")["syncing"])
        yield web
        assert web.get("/api/status")["pending"] > 0  # it was embedding all the while
    finally:
        sync.kill()
        sync.wait()


def _answers(web: Http, question: str) -> Iterator[list[dict[str, Any]]]:
    for draft in ("true", "false"):
        yield web.get("/api/search?" + urlencode({"q": question, "draft": draft, "limit": 20}))["hits"]
    yield web.get("/api/recall?" + urlencode({"q": question}))["hits"]


def _change(web: Http, path: str, **body: str) -> Any:
    code = web.post(f"/api/{path}/preview", body)["preview"]
    return web.post(f"/api/{path}", {"preview": code})


def test_the_next_answer_says_it(web: Http) -> None:
    done = _change(web, "corrections", old=f"{FACTS[0]}.", new="The regatta starts at ten.")
    for hits in _answers(web, "when does the regatta start"):
        assert "starts at ten" in hits[0]["text"], hits[0]
        assert "starts at nine" not in hits[0]["text"]
    _change(web, "undo", run=done["run"])
    for hits in _answers(web, "when does the regatta start"):
        assert "starts at nine" in hits[0]["text"], hits[0]
    _change(web, "corrections", old=f"{FACTS[1]}.", new="")
    for hits in _answers(web, "what is the dog called"):
        said = [(hit["text"], hit["labels"]) for hit in hits if "called Pip" in hit["text"]]
        assert all("struck" in labels for _, labels in said), said
    assert web.request("POST", "/api/entries", {"text": "The lighthouse keeper is Ines Okafor."})[0] == 201
    for hits in _answers(web, "who is the lighthouse keeper"):
        assert "Ines Okafor" in hits[0]["text"]
