"""A fact written through one door is found through every other."""

from __future__ import annotations

from tests.life.conftest import Owner


def test_a_fact_is_found_through_every_door(owner: Owner) -> None:
    owner.ok("remember", "The harbour master is Ines Okafor.")
    assert "Ines Okafor" in owner.ok("search", "harbour master")
    assert "Ines Okafor" in owner.ok("prompt", "Who is the harbour master?")
    assert "Ines Okafor" in owner.hook("UserPromptSubmit", prompt="Who is the harbour master?")
    assert any("Ines Okafor" in hit.text for hit in owner.memory().search("harbour master").hits)
    assert "Ines Okafor" in owner.mcp().call("memory_search", query="harbour master")
    web = owner.serve()
    assert "Ines Okafor" in str(web.get("/api/search?q=harbour+master"))
