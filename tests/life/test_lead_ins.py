"""A sentence that ends with a colon is recalled with what it introduces."""

from __future__ import annotations

from tests.life.conftest import Owner

PAD = "\n\n".join(
    f"A paragraph about {word} and what was said of it on the lake that day by many people."
    for word in "anchor barley cedar dahlia ember ferry".split()
)
NOTES = [
    ("Why was Osprey cancelled?", "Why Osprey was cancelled in spring by the board:",
     "- The supplier went bankrupt.\n- Nobody could certify the rotor.", "rotor"),
    ("Why did we choose Postgres for Heron?", "Why we chose Postgres for the Heron service:",
     "It handles the geometry columns that the maps need.", "geometry"),
    ("How is the Kite relay restarted?", "The Kite relay is restarted like this:",
     "1. Open the cabinet.\n2. Press the red switch.\n3. Wait for the green lamp.", "green lamp"),
    ("What does Mira pack for the Alps?", "What Mira packs for the Alps is this:",
     "A rope, the blue tent and two stoves.", "stoves"),
    ("为什么选择青岛仓库？", "我们选择青岛仓库，是因为下面这些原因：", "租金低，离港口只有十分钟。", "租金"),
    ("How do I flash the Gull board?", "Flash the Gull board so:", "```sh\ngullctl flash --port 7\n```", "gullctl"),
    ("Which colours has the Tern logo?", "The colours of the Tern logo are:",
     "| name | code |\n|---|---|\n| sea | 1f7a8c |", "1f7a8c"),
]  # fmt: skip


def test_a_lead_in_comes_with_what_it_introduces(owner: Owner) -> None:
    for number, (_, lead, text, _) in enumerate(NOTES):
        owner.note(
            f"memory/{number}.md", f"# Note\n\n{PAD}\n\n{lead}\n\n{text}\n\n{PAD.replace('lake', 'moor')}\n"
        )
    memory = owner.memory()
    for question, lead, _, answer in NOTES:
        found = memory.search(question).hits[0].text
        assert lead in found, question
        assert answer in found, question
        assert answer in memory.recall(question, budget=400).text, question
