"""A graph of Logseq is searched as its owner knows it: names, properties, tasks; what it keeps for itself is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.life.conftest import Owner

ID = "65f1c2d3-1111-4222-8333-abcdefabcdef"
FILES = {
    "logseq/config.edn": "{:meta/version 1}\n",
    "logseq/bak/pages/Old/2026-02-13T10_00_00.000Z.Desktop.md": "- The kestrel was grey in the backup.\n",
    "logseq/version-files/local/pages/Old/2026-02-13.md": "- The kestrel was grey in the version.\n",
    "logseq/.recycle/pages_Gone.md": "- The kestrel was grey in the bin.\n",
    "journals/2026_02_13.md": f"- TODO Buy rope for the kestrel\n  id:: {ID}\n  SCHEDULED: <2026-12-01 Tue>\n"
    "  :LOGBOOK:\n  CLOCK: [2026-02-13 Fri 10:00:00]--[2026-02-13 Fri 10:05:00] =>  00:05:00\n  :END:\n"
    "- DONE Paint the hull\n  collapsed:: true\n\t- with two coats of quayblue\n- CANCELLED Sell the barge\n",
    "pages/Project___Osprey.md": "- The osprey project is about nets.\n",
    "pages/a%3Ab.md": "- The page about colons.\n",
    "pages/harbour.md": "title:: Harbour Office\nalias:: HO, [[Port Office]]\ntags:: boats, #work, [[Owl House]]\n"
    "by:: someone\n\n- Opens at eight.\n",
    "pages/in a bullet.md": "- tags:: gulls\n  alias:: IB\n- Gulls are white.\n",
}


@pytest.fixture
def graph(owner: Owner, tmp_path: Path) -> Path:
    folder = tmp_path / "graph"
    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return folder


@pytest.fixture(params=["import", "import by name", "collection", "pages"])
def followed(owner: Owner, graph: Path, request: pytest.FixtureRequest) -> Path:
    """The graph, brought in by each way."""
    ways: dict[str, tuple[str | Path, ...]] = {
        "import": ("import", graph),
        "import by name": ("import", "logseq", graph),
        "collection": ("collection", "add", graph),
        "pages": ("collection", "add", graph.parent, "--name", "all"),
    }
    owner.ok(*ways[request.param])
    owner.ok("sync")
    return graph


def test_old_versions_are_no_notes(owner: Owner, followed: Path) -> None:
    memory = owner.memory()
    listed = [note.path for note in memory.notes() if not note.path.endswith("MEMORY.md")]
    assert len(listed) == 5, listed
    assert not any("grey" in hit.text for hit in memory.search("kestrel grey").hits)


def test_names_of_pages_are_those_of_logseq(owner: Owner, graph: Path) -> None:
    owner.ok("import", graph)
    memory = owner.memory()
    titles = {note.path.rpartition("/")[2]: note.title for note in memory.notes()}
    assert titles["Project___Osprey.md"] == "Project/Osprey"
    assert titles["a%3Ab.md"] == "a:b"
    assert titles["harbour.md"] == "Harbour Office"
    for link, path in [
        ("[[Project/Osprey]]", "Project___Osprey.md"),
        ("[[a:b]]", "a%3Ab.md"),
        ("[[HO]]", "harbour.md"),
        ("[[Port Office]]", "harbour.md"),
        ("[[Harbour Office]]", "harbour.md"),
        ("[[IB]]", "in a bullet.md"),
    ]:
        assert memory.get(link).path.endswith(path), link


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("50% off", "50% off"),
        ("a%20b", "a b"),
        ("a%0Ab", "a%0Ab"),
        ("__init", "__init"),
        ("x%zz", "x%zz"),
        ("100%25", "100%"),
    ],
)
def test_other_names_stay(owner: Owner, name: str, title: str) -> None:
    owner.note(f"memory/{name}.md", "Boats.\n")
    assert [note.title for note in owner.memory().notes() if name in note.path] == [title]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("task:open kestrel", "Buy rope"),
        ("task:done hull", "Paint the hull"),
        ("tag:boats office", "Opens at eight"),
        ("tag:work office", "Opens at eight"),
        ("tag:gulls white", "Gulls are white"),
        ("on:2026-02-13 rope", "Buy rope"),
    ],
)
def test_tasks_and_tags_are_filters(owner: Owner, graph: Path, question: str, text: str) -> None:
    owner.ok("import", graph)
    hits = owner.memory().search(question).hits
    assert any(text in hit.text for hit in hits), hits


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ("- TODO buy", "open"), ("- DOING buy", "open"), ("- LATER buy", "open"), ("* NOW buy", "open"),
        ("1. WAITING for Ann", "open"), ("\t- TODO buy", "open"), ("- DONE buy", "done"), ("- [ ] buy", "open"),
        ("- [x] buy", "done"), ("- CANCELLED buy", ""), ("- todo buy", ""), ("TODO buy", ""), ("- TODOS buy", ""),
        ("- TODO", ""),
    ],
)  # fmt: skip
def test_a_task_is_what_logseq_takes_for_one(owner: Owner, line: str, state: str) -> None:
    owner.note("memory/tasks.md", f"# Tasks\n\n- Things to buy.\n{line}\n")
    memory = owner.memory()
    found = [one for one in ("open", "done") if memory.search(f"task:{one} buy OR Ann").hits]
    assert found == [state] * bool(state)


def test_what_logseq_keeps_for_itself_is_not_shown(owner: Owner, graph: Path) -> None:
    owner.ok("import", graph)
    memory = owner.memory()
    path = next(note.path for note in memory.notes() if "2026_02_13" in note.path)
    shown = memory.get(path)
    assert len(shown.lines) == FILES["journals/2026_02_13.md"].count("\n")  # lines stay where they are
    for hidden in (ID, "collapsed", "LOGBOOK", "CLOCK", ":END:"):
        assert hidden not in "\n".join(shown.lines)
        assert not any(hidden in hit.text for hit in memory.search(f"rope {hidden}").hits)
    (hit, *_) = memory.search("quayblue").hits
    assert hit.start_line <= 9 <= hit.end_line
    assert "quayblue" in memory.get(f"{path}:9:1").lines[0]


def test_files_of_the_graph_stay_byte_for_byte(owner: Owner, graph: Path) -> None:
    owner.ok("import", graph)
    owner.ok("sync")
    assert {name: (graph / name).read_text("utf-8") for name in FILES} == FILES


def test_an_edit_keeps_what_logseq_needs(owner: Owner) -> None:
    owner.note("memory/boats.md", f"- The kite is red.\n  id:: {ID}\n  collapsed:: true\n\t- It leaks.\n")
    owner.ok("sync")
    owner.ok("correct", "The kite is red.", "The kite is blue.")
    text = owner.read("memory/boats.md")
    assert "The kite is blue." in text
    assert f"  id:: {ID}\n  collapsed:: true\n\t- It leaks.\n" in text


def test_a_property_says_not_who_wrote_a_page(owner: Owner) -> None:
    owner.note("memory/page.md", "by:: owner\npinned:: true\ntags:: boats\n\n- The kite is red.\n")
    (hit, *_) = owner.memory().search("kite").hits
    assert not hit.labels


def test_a_folder_that_is_no_graph_is_told(owner: Owner, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    done = owner.run("import", "logseq", tmp_path / "plain")
    assert done.code == 1
    assert "logseq/config.edn" in done.err
