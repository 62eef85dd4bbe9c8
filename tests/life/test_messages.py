"""A message to an agent is words, whatever stands in it; only `search` reads operators, and says so."""

from __future__ import annotations

import pytest

from commonplace import Memory
from tests.life.conftest import Owner

FACTS = """# Facts

- Kestrel is deployed on Thursdays at ten.

- The staging and prod servers of Osprey share one database called mudflat.

- We chose npm over yarn for the web client.

- The office in Portland opens at seven.

- Clear the build with rm -rf node_modules before a release.

- Start the mirror with docker run --rm -it kite.

- Compile the driver with gcc -O2 -Wall -march=native.

- Restart the pump by hand when the fuse is out.

- The path src/foo.py holds the parser of invoices.
"""

MESSAGES = [
    ("Do NOT touch the config. When is Kestrel deployed?", "Thursdays"),
    ("Please do NOT restart anything: when is kestrel deployed", "Thursdays"),
    ("staging AND prod", "mudflat"),
    ("which database do staging AND prod share", "mudflat"),
    ("npm OR yarn", "npm over yarn"),
    ("NEAR(staging prod) database", "mudflat"),
    ("see path:src/foo.py for the parser of invoices", "src/foo.py"),
    ("tag:v1.2 when is Kestrel deployed", "Thursdays"),
    ("by:me when is Kestrel deployed?", "Thursdays"),
    ("task:open when is Kestrel deployed?", "Thursdays"),
    ("in:nowhere when is Kestrel deployed?", "Thursdays"),
    ("after:never when is Kestrel deployed?", "Thursdays"),
    ("type:daily kestrel deployed", "Thursdays"),
    ("status:done is Kestrel deployed", "Thursdays"),
    ("Kestrel is deployed on Fridays -Thursdays", "Thursdays"),
    ("when is Kestrel deployed\n- NOT the fuse\n- NOT the pump", "Thursdays"),
    ('he said "Kestrel flies home" when is Kestrel deployed', "Thursdays"),
    ("WHEN IS KESTREL DEPLOYED AND WHO DECIDES", "Thursdays"),
    ("the office in Portland OR", "seven"),
    ("$ docker run --rm -it kite", "mirror"),
    ("how do I clear the build, rm -rf?", "node_modules"),
    ("lex: when is Kestrel deployed?", "Thursdays"),
    ("vec: when is Kestrel\nwhen is Kestrel deployed", "Thursdays"),
    ("(when is Kestrel deployed", "Thursdays"),
    ("kestr* Kestrel deployed", "Thursdays"),
    ("ｐａｔｈ：x when is Kestrel deployed?", "Thursdays"),
    ("session:abc by:tool -in:memory Kestrel deployed?", "Thursdays"),
]


OTHERS = """heron anchor|barley soup|cedar fence|dahlia bulbs|ember stove|ferry ticket|gravel road|harbour fee|indigo paint
jasmine tea|kettle lid|lantern oil|marble floor|nutmeg cake|orchid pot|pepper mill|quilt cover|rowing club|saffron rice
tulip vase|umbrella stand|violin string|walnut shelf|xylophone case|yarrow salve|zinc bucket""".replace(
    "\n", "|"
)


def write_facts(owner: Owner) -> None:
    """One note a fact, among others that have nothing to do with them."""
    for number, fact in enumerate(FACTS.split("\n\n")[1:]):
        owner.note(f"memory/fact-{number}.md", f"# Fact\n\n{fact}\n")
    for name in OTHERS.split("|"):
        owner.note(
            f"memory/{name}.md", f"# {name.title()}\n\n- The {name} stands beside the door since May.\n"
        )


@pytest.fixture
def asked(owner: Owner) -> Memory:
    write_facts(owner)
    return owner.memory()


def test_a_message_is_words(owner: Owner, asked: Memory) -> None:
    for message, answer in MESSAGES:
        assert answer in asked.recall(message).text, message


def test_every_door_takes_a_message_as_words(owner: Owner, asked: Memory) -> None:
    message = MESSAGES[0][0]
    assert "Thursdays" in owner.hook("UserPromptSubmit", prompt=message)
    assert "Thursdays" in owner.hook("UserPromptSubmit", session_id="s-2", prompt="by:me " + message)
    assert "Thursdays" in owner.ok("prompt", message)
    assert "Thursdays" in owner.ok("recall", "task:open " + message)
    client = owner.mcp()
    for text in (
        message,
        "see path:src/foo.py: when is Kestrel deployed?",
        "by:me when is Kestrel deployed?",
    ):
        assert "Thursdays" in client.call("memory_search", query=text), text


def test_a_model_has_phrases_exclusions_and_filters_of_its_own(owner: Owner, asked: Memory) -> None:
    client = owner.mcp()
    assert "is deployed on" not in client.call("memory_search", query="Kestrel Osprey -Thursdays")
    assert "mudflat" in client.call("memory_search", query='"staging and prod"', path="memory/**")
    assert "mudflat" not in client.call("memory_search", query="staging and prod", path="elsewhere/**")


LOG = [f"2026-05-06 12:00:{n:02} INFO  worker-{n} connected to 10.0.0.{n}:5432 in {n} ms" for n in range(24)]
PASTED = {
    "log": LOG,
    "long log": LOG * 20,
    "very long log": LOG * 60,
    "trace": ["Traceback (most recent call last):", *['  File "/srv/app/run.py", line 3, in run', "    self.go(x)"] * 12],
    "plain log": [f"INFO worker {word} is ready and waits for more work" for word in "one two three four".split()] * 8,
    "diff": ["--- a/x.py", "+++ b/x.py", "@@ -1,3 +1,4 @@", *["+    total = total + price"] * 20],
    "fence": ["```json", *['  {"name": "gull", "size": 3},'] * 20, "```"],
    "mail": ["> I will be there at noon.", "> Bring the boat."] * 10,
    "table": ["| gull | 3 | 4 |"] * 25,
    "prose": ["The gulls of the north came early this year. They sat on the roof all day long."] * 25,
}  # fmt: skip


@pytest.mark.parametrize("kind", PASTED)
def test_what_is_pasted_does_not_drown_the_question(owner: Owner, asked: Memory, kind: str) -> None:
    rows = PASTED[kind]
    question = "When is Kestrel deployed?"
    half = len(rows) // 2 if kind != "fence" else len(rows)
    for lines in (
        [*rows, "", question],
        [*rows, question],
        [question, *rows],
        [*rows[:half], "", question, "", *rows[half:]],
    ):
        found = asked.recall("\n".join(lines), strict=True)
        assert "Thursdays" in "".join(hit.text for hit in found.hits[:1]), lines[-2:]
    assert (
        "Thursdays"
        in asked.recall("\n".join([*rows, "", "I need the day Kestrel is deployed."])).hits[0].text
    )


def test_what_is_pasted_counts_where_nothing_else_is_said(owner: Owner, asked: Memory) -> None:
    for message in ("What is this?\n\n```\ngcc -O2 -Wall -march=native\n```", "$ docker run --rm -it kite"):
        assert asked.recall(message).hits, message
    assert "gcc" in asked.recall("Why?\n\n```\ngcc -O2 -Wall -march=native\n```").hits[0].text


def test_a_path_opens_a_message_and_a_command_is_none(owner_with_model: Owner) -> None:
    owner = owner_with_model
    write_facts(owner)
    owner.ok("sync")
    said = "when is Kestrel deployed?"
    for opening in ("/home/mira/src/foo.py", "/srv/app:", "/tmp", "/usr is full,", "/data/", "//share/x"):
        session = "s-" + "".join(filter(str.isalnum, opening + str(len(opening))))
        given = owner.hook("UserPromptSubmit", session_id=session, prompt=f"{opening} {said}")
        assert "Thursdays" in given, opening
    for command in ("/review", "/plugin:deploy", "/my-command", "/clear\n"):
        assert owner.hook("UserPromptSubmit", session_id="s-0", prompt=f"{command} {said}") == "", command


OPTIONS = [
    ("rm -rf", "node_modules"), ("rm -rf node_modules", "node_modules"), ("how do I rm -rf", "node_modules"),
    ("docker run --rm -it", "mirror"), ("docker run -it", "mirror"), ("gcc -Wall", "gcc"),
    ("gcc -march=native", "gcc"), ("compile driver -Wall -march=native", "gcc"),
]  # fmt: skip


def test_an_option_that_a_note_holds_is_no_exclusion(owner: Owner, asked: Memory) -> None:
    for question, answer in OPTIONS:
        found = asked.search(question)
        assert answer in found.hits[0].text, question
        assert not [one for one in found.warnings if "exclusion" in one], question


def test_search_says_what_it_reads_as_an_operator(owner: Owner, asked: Memory) -> None:
    for question, said in [
        ("Kestrel -Thursdays", "read as an exclusion: -Thursdays"),
        ("ps -ef", "read as an exclusion: -ef"),
        ('Kestrel -"on Thursdays"', 'read as an exclusion: -"on Thursdays"'),
        ("Kestrel NOT Thursdays", "read as an exclusion: NOT Thursdays"),
        ("staging AND prod", "read as operators: AND"),
        ("npm OR kestrel", "read as operators: OR"),
    ]:
        assert said in asked.search(question).warnings, question
    assert "read as an exclusion: -Thursdays" in owner.run("search", "--", "Kestrel", "-Thursdays").err


def test_capitals_in_a_sentence_are_words(owner: Owner, asked: Memory) -> None:
    for question, answer in [
        ("WHEN IS KESTREL DEPLOYED AND WHO DECIDES", "Thursdays"),
        ("KESTREL DEPLOYED OR OSPREY DEPLOYED", "Thursdays"),
        ("office Portland OR", "seven"),
        ("When does the office in Portland OR open?", "seven"),
        ("Do NOT touch the config. When is Kestrel deployed?", "Thursdays"),
        ("is it NOT Kestrel that is deployed on Thursdays", "Thursdays"),
        ("AND Kestrel", "Thursdays"),
        ("Kestrel NOT", "Thursdays"),
    ]:
        found = asked.search(question)
        assert answer in "".join(hit.text for hit in found.hits[:1]), question
        assert not [one for one in found.warnings if one.startswith("read as")], question
    assert not [hit for hit in asked.search("Kestrel NOT Thursdays").hits if "Thursdays" in hit.text]
