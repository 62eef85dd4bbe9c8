"""What the index holds after a rebuild and after edits: rows, tokens, vectors."""

from __future__ import annotations

import shutil
from pathlib import Path

import corpora
from section import Section
from shell import Shell, aged, demo, digest, row

CORPORA = ("memdaily_zh", "tcem_zh", "madial_en", "chat_whatsapp", "realtalk")
MOST, MOST_OF_FILE = 70_000, 20_000  # bytes of a corpus and of a file of it
# What is arbitrary, or says when and where an index was made.
_VOLATILE = {
    "mtime_ns",
    "first_section",
    "last_section",
    "first_passage",
    "last_passage",
    "note_id",
    "section_id",
    "vector_id",
    "id",
}
_VOLATILE_META = {"signature", "scan"}


def record(section: Section) -> None:
    """Record a rebuilt index, and the same index after edits, for each corpus."""
    shell = Shell(section.base)
    roots = {"demo": demo(section.inputs, section.base / "demo")}
    for name in CORPORA if section.bench else ():
        roots[name] = corpora.excerpt(
            corpora.workspace(section.bench, name), section.base / name, (), MOST, MOST_OF_FILE
        )
        (roots[name] / ".commonplace").mkdir(exist_ok=True)
        (roots[name] / ".commonplace" / "config.toml").write_text('[index]\ninclude = ["**/*.md"]\n')
    for name, root in roots.items():
        first = shell.run("-w", root, "sync", "--format", "json")
        section.dump.write(f"{name}-sync", first.lines())
        _dump(section, f"{name}-built", root)
        _edit(root)
        again = shell.run("-w", root, "sync", "--format", "json")
        section.dump.write(f"{name}-sync-again", again.lines())
        _dump(section, f"{name}-edited", root)
        section.dump.write(f"{name}-status", shell.run("-w", root, "status", "--format", "json").lines())
        section.dump.write(f"{name}-ls", shell.run("-w", root, "ls", "--format", "json").lines())


def _edit(root: Path) -> None:
    """The same edits in every workspace: lines added, taken, moved; files added, removed, renamed, copied."""
    notes = sorted(path for path in root.rglob("*.md") if ".commonplace" not in path.parts)
    for place, path in enumerate(notes[:24:2]):
        lines = path.read_text("utf-8", "surrogateescape").split("\n")
        if place % 6 == 0:
            lines += [
                "",
                "## Edited",
                "",
                f"- 10:{place:02d} The edit number {place} moved the deploy to Thursday. <!-- importance: 7; by: agent -->",
            ]
        elif place % 6 == 1:
            del lines[len(lines) // 2 : len(lines) // 2 + 3]
        elif place % 6 == 2:
            lines = [
                f"~~{line}~~ <!-- cp: until=2026-02-13 by=owner -->"
                if number == len(lines) // 2 and line
                else line
                for number, line in enumerate(lines)
            ]
        elif place % 6 == 3:
            lines[3:3] = [
                "```python",
                "def deploy(day: str) -> None:",
                '    """Deploy on a day."""',
                "```",
                "",
                "| a | b |",
                "|---|---|",
                "| 1 | 2 |",
                "",
            ]
        elif place % 6 == 4:
            lines = [
                "---",
                "title: Edited by hand",
                "tags: [edited, 测试]",
                "date: 2026-03-01",
                "---",
                *lines,
            ]
        else:
            lines = [line.replace("e", "é", 1) for line in lines]
        path.write_text("\n".join(lines), "utf-8", "surrogateescape")
    notes[1].unlink()
    notes[3].rename(notes[3].with_name("renamed.md"))
    shutil.copy(notes[5], notes[5].with_name("copied.md"))
    new = root / "memory" / "2026-06-01.md"
    new.parent.mkdir(exist_ok=True)
    new.write_text(
        "# 2026-06-01\n\n- 09:00 Hash 3f9a2c1 fixed KES-126. <private>not this</private>\n- 周五下午不部署。 <!-- tentative -->\n\n**User:** Where is it?\n**Assistant:** In Frankfurt.\n",
        "utf-8",
    )
    aged(root, 1_776_000_000, since_s=1_775_000_001)


def _dump(section: Section, name: str, root: Path) -> None:
    """Write what each table of an index says."""
    import apsw

    for path in sorted((root / ".commonplace").rglob("*.sqlite")):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        tables = [
            table
            for (table,) in connection.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
            )
        ]
        full_text = [
            table
            for (table,) in connection.execute(
                "SELECT name FROM sqlite_schema WHERE sql LIKE '%USING fts5%' ORDER BY name"
            )
        ]
        if path.stem != "index":
            section.dump.write(f"{name}-{path.stem}", tables)
            continue
        schema = [
            f"{kind} {one}: {' '.join((sql or '').split())}"
            for kind, one, sql in connection.execute(
                "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name"
            )
        ]
        section.dump.write(f"{name}-schema", schema)
        places = _places(connection, tables)
        for table in tables:
            if not any(table == one or table.startswith(f"{one}_") for one in full_text):
                section.dump.write(f"{name}-table-{table}", sorted(_rows(connection, table, places)))
        for table in full_text:
            section.dump.write(f"{name}-tokens-{table}", sorted(_tokens(connection, table, places)))
        connection.close()


def _places(connection, tables: list[str]) -> dict[str, dict[int, str]]:
    """What ids stand for, as far as the tables are those known."""
    places: dict[str, dict[int, str]] = {"notes": {}, "passages": {}, "vectors": {}}
    if {"notes", "passages", "vectors"} <= set(tables):
        places["notes"] = {
            id_: f"{collection}/{path}"
            for id_, collection, path in connection.execute("SELECT id, collection, path FROM notes")
        }
        of_passages = connection.execute("SELECT id, note_id, start_line, end_line FROM passages").fetchall()
        places["passages"] = {
            id_: f"{places['notes'].get(note)}:{start}-{end}#{id_}" for id_, note, start, end in of_passages
        }
        places["vectors"] = {id_: key.hex() for id_, key in connection.execute("SELECT id, key FROM vectors")}
    return places


def _rows(connection, table: str, places: dict[str, dict[int, str]]):
    """The rows of a table; ids as what they stand for, blobs as digests."""
    named = [column[1] for column in connection.execute(f'PRAGMA table_info("{table}")')]
    for values in connection.execute(f'SELECT * FROM "{table}"'):
        cells = dict(zip(named, values, strict=True))
        if table == "meta" and cells.get("key") in _VOLATILE_META:
            continue
        note, vector = cells.get("note_id"), cells.get("vector_id")
        shown = {
            column: f"blob {len(value)} {digest(value)}" if isinstance(value, bytes) else value
            for column, value in cells.items()
            if column not in _VOLATILE
        }
        if note is not None:
            shown["note"] = places["notes"].get(note, "?")
        if vector is not None:
            shown["vector"] = places["vectors"].get(vector, "?")
        yield row(shown)


def _tokens(connection, table: str, places: dict[str, dict[int, str]]):
    """The tokens of each passage, in their order."""
    connection.execute(
        f'CREATE VIRTUAL TABLE temp."words_{table}" USING fts5vocab(main, "{table}", instance)'
    )
    found: dict[tuple[int, str], list[tuple[int, str]]] = {}
    for term, document, column, offset in connection.execute(
        f'SELECT term, doc, col, "offset" FROM temp."words_{table}"'
    ):
        found.setdefault((document, column), []).append((offset, term))
    for (document, column), terms in found.items():
        yield row(
            places["passages"].get(document, "?").partition("#")[0],
            column,
            " ".join(term for _, term in sorted(terms)),
        )
