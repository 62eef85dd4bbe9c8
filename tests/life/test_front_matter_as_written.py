"""Front matter says what its writer meant, also where a line of it is no YAML."""

from __future__ import annotations

from tests.life.conftest import Owner

# A line that is no YAML, or that older YAML takes for something else, and what finds its note.
LINES = {
    "colon": ("title: Notes: harbour", 'title:"Notes: harbour"'),
    "colon in a value": ("summary: a: b", 'summary:"a: b"'),
    "at": ("assignee: @home", "assignee:@home"),
    "star": ("person: *Lin", "person:*Lin"),
    "tab": ("crew:\n\t- Ann\n\t- Bo", "crew:Bo"),
    "tags": ("tags: [#abc, def]", "tag:abc"),
    "template": ("created_by: {{date}}", 'created_by:"{{date}}"'),
    "backtick": ("command: `ls -l`", 'command:"`ls -l`"'),
    "percent": ("share: %20", 'share:"%20"'),
    "quotation": ('saying: "Never say: never', 'saying:"Never say: never"'),
    "bracket": ("choice: [open", 'choice:"[open"'),
    "exclamation": ("mood: !great day", 'mood:"!great day"'),
    "no such day": ("due_day: 2024-02-30", "due_day:2024-02-30"),
    "zip": ("zip: 01234", "zip:01234"),
    "hour": ("start: 12:30", "start:12:30"),
    "yes": ("draft_state: yes", "draft_state:yes"),
    "no": ("country: NO", "country:no"),
    "on": ("heating: on", "heating:on"),
    "hexadecimal": ("mask: 0xFF", "mask:0xFF"),
    "octal": ("mode: 0o17", "mode:0o17"),
    "underscores": ("serial: 1_000", 'serial:"1_000"'),
    "version": ("release: 1.10", "release:1.10"),
    "exponent": ("hash: 1e5", "hash:1e5"),
    "plus": ("phone: +491234", "phone:+491234"),
}  # fmt: skip
DAMAGED = [name for name in list(LINES)[:12] if name != "exclamation"]  # a tag, which is text


def test_every_line_counts(owner: Owner) -> None:
    for name, (line, _) in LINES.items():
        owner.note(f"memory/{name}.md", f"---\nkind_of: boat\n{line}\nstage: 7\n---\n\nThe kayak.\n")
    memory = owner.memory()
    for question in ("kind_of:boat", "stage:7"):
        assert len(memory.search(question, limit=60).hits) >= len(LINES), question
    for name, (_, question) in LINES.items():
        assert {hit.path for hit in memory.search(question, limit=60).hits} == {f"memory/{name}.md"}, name
    assert memory.search("tag:def").hits
    assert memory.search("crew:Ann").hits
    assert "Notes: harbour" in {note.title for note in memory.notes()}


def test_a_code_is_no_number(owner: Owner) -> None:
    owner.note("memory/a.md", "---\nzip: 01234\nrooms: 3\nprice: 1.50\n---\n\nThe flat.\n")
    memory = owner.memory()
    assert not memory.search("zip:1234").hits
    assert memory.search("rooms>2").hits
    assert memory.search("price<2").hits
    assert not memory.search("price>2").hits


def test_the_line_is_named(owner: Owner) -> None:
    for name, (line, _) in LINES.items():
        owner.note(f"memory/{name}.md", f"---\nstage: 7\n{line}\n---\n\nThe kayak.\n")
    told = owner.run("sync").err + owner.run("sync").out
    assert told.count(".md:3") == 5, told  # and how many more
    assert f"{len(DAMAGED) - 5} more like this" in told
    examined = owner.run("doctor").out
    assert "YAML" in examined
    assert any(f"memory/{name}.md:3" in examined for name in DAMAGED)
    owner.note("memory/fine.md", "---\nzip: 01234\ndraft: yes\nstart: 12:30\n---\n\nThe kayak.\n")
    assert "fine.md" not in owner.run("sync").err


def test_what_is_pinned_stays_pinned(owner: Owner) -> None:
    owner.note("memory/a.md", "---\npinned: yes\nowner: @home\n---\n\n- The boat is red.\n")
    done = owner.run("--agent", "somebody", "correct", "The boat is red.", "The boat is blue.")
    assert done.code != 0
    assert "The boat is red." in owner.read("memory/a.md")


# Lines that are no YAML and stand below a good one.
STRAY = {
    "full-width colon": "标题：中文", "no blank": "key:nospace", "list item": "- stray", "tab": "\tkey: x",
    "words": "just some words", "bracket": "}", "quotation mark": "'open", "star": "*Lin", "indented": "  deeper: x",
    "two lines": "标题：中文\n- stray",
}  # fmt: skip
ABOVE = {
    "text": ("project: kite", "project:kite"), "list": ("crew: [Ann, Bo]", "crew:Bo"),
    "lines": ("crew:\n  - Ann\n  - Bo", "crew:Ann"), "number": ("stage: 7", "stage>6"),
}  # fmt: skip


def test_a_bad_line_takes_no_good_one_along(owner: Owner) -> None:
    for name, line in STRAY.items():
        for kind, (above, _) in ABOVE.items():
            owner.note(f"memory/{name} {kind}.md", f"---\n{above}\n{line}\nboat: red\n---\n\nThe kayak.\n")
    memory = owner.memory()
    report = memory.sync()
    for kind, (_, question) in ABOVE.items():
        found = {hit.path for hit in memory.search(question, limit=60).hits}
        assert found >= {f"memory/{name} {kind}.md" for name in STRAY}, question
    assert len(memory.search("boat:red", limit=60).hits) == len(STRAY) * len(ABOVE)
    assert any("YAML" in one for one in report.warnings)


def test_the_bad_line_is_named(owner: Owner) -> None:
    for name in ("full-width colon", "no blank", "list item", "tab"):
        owner.note(f"memory/{name}.md", f"---\nproject: kite\n{STRAY[name]}\nboat: red\n---\n\nThe kayak.\n")
    told = owner.run("sync").err
    assert told.count(".md:3") == 4, told


def test_marks_within_a_value_stay(owner: Owner) -> None:
    for name, line in {
        "dune": 'title: "Dune" review', "both": "title: 'this' and 'that'", "link": "author: [[Ann]]",
        "alias": "author: [[Bo|Bob]]", "links": "author:\n  - [[Cy]]\n  - [[Di]]",
    }.items():  # fmt: skip
        owner.note(f"memory/{name}.md", f"---\n{line}\n---\n\nThe kayak.\n")
    memory = owner.memory()
    titles = {note.path: note.title for note in memory.notes()}
    assert titles["memory/dune.md"] == '"Dune" review'
    assert titles["memory/both.md"] == "'this' and 'that'"
    for question, name in {
        'author:"[[Ann]]"': "link", 'author:"[[Bo|Bob]]"': "alias", 'author:"[[Cy]]"': "links", 'author:"[[Di]]"': "links",
    }.items():  # fmt: skip
        assert [hit.path for hit in memory.search(question).hits] == [f"memory/{name}.md"], question
