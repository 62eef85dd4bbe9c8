"""Programs cut into passages: definitions under their names, every line once, whatever is broken in them."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.chunking import passages
from commonplace.chunking.settings import DEFAULT, ChunkSettings
from commonplace.markdown.document import parse

PYTHON = '''\
#!/usr/bin/env python
import os

TIMES = 3

# --- the one class ---

@decorated(
    1)
class Server(Base):
    """Serves."""

    # about run
    @property
    def run(self):
        return 1

    def stop(self): pass

if os.name:
    def helper():
        return 1
else:
    def helper():
        return 2
'''
TYPESCRIPT = """\
import { A } from "./a";

/** Options. */
export interface Options {
  name: string;
}
export type Id = string;

@Component({ selector: "x" })
export class Service<T> extends Base {
  // About run.
  @Memo()
  async run(): Promise<void> {
    await this.x;
  }

  handler = (event: Event) => {
    log(event);
  };
}
"""
GO = """\
package main

// Server serves.
type Server[T any] struct {
\tname string
}

func (s *Server[T]) Run() error {
\treturn nil
}

type (
\tA struct {
\t\tx int
\t}
)
"""
RUST = """\
#[derive(Debug)]
pub struct Point {
    x: i32,
}

impl fmt::Display for Point {
    fn fmt(&self) -> i32 {
        1
    }
}
"""
OUTLINES = {
    "a.py": (
        PYTHON,
        [("", 1, 4), ("Server", 6, 11), ("Server › run", 13, 16), ("Server", 18, 18), ("", 20, 20), ("helper", 21, 23), ("helper", 24, 25)],
    ),
    "a.ts": (
        TYPESCRIPT,
        [("", 1, 1), ("Options", 3, 6), ("", 7, 7), ("Service", 9, 10), ("Service › run", 11, 15), ("Service › handler", 17, 20)],
    ),
    "a.go": (GO, [("", 1, 1), ("Server", 3, 6), ("Server › Run", 8, 10), ("", 12, 12), ("A", 13, 16)]),
    "a.rs": (RUST, [("Point", 1, 4), ("Point", 6, 6), ("Point › fmt", 7, 10)]),
    "a.js": (
        "exports.f = function () {\n  return 1;\n};\nlet x = 1;\nclass A {\n  m() {\n  }\n}\n",
        [("exports.f", 1, 3), ("", 4, 4), ("A", 5, 5), ("A › m", 6, 8)],
    ),
    "b.py": (  # what a string says is no definition, and a definition goes on behind its parameters
        'x = """\nclass of\n    boats\n"""\n\ndef f(\n    a,\n):\n    return """\nmore\n"""\n\ny = 1\n',
        [("", 1, 4), ("f", 6, 11), ("", 13, 13)],
    ),
    "c.py": (
        "def outer():\n    def inner():\n        pass\n\ndef large():\n    x = 1\n    def first():\n"
        + "        call()\n" * 80,
        [("outer", 1, 3), ("large", 5, 6), ("large › first", 7, 33), ("large › first", 34, 60), ("large › first", 61, 87)],
    ),
}  # fmt: skip
LINES = st.sampled_from(
    [*PYTHON.split("\n"), *TYPESCRIPT.split("\n"), *GO.split("\n"), *RUST.split("\n"), '"""', "`", "/*", "*/",
     "  ", "}" * 30, "x = (" * 300, "y = 1;" * 900, "# 很长的一句话。" * 40, "\tif x {"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=300), st.lists(LINES, max_size=60).map("\n".join))
NAMES = st.sampled_from(["a.py", "a.js", "a.jsx", "a.ts", "a.tsx", "a.go", "a.rs"])
SMALL = ChunkSettings(code=60, line=300, piece=80)


def cut(text: str, path: str = "a.py", settings: ChunkSettings = DEFAULT) -> list[tuple[str, int, int]]:
    """Names (without the file's), first and last line of the passages of a program."""
    sections, found = passages.split(parse(text, path), settings)
    assert all(sections[p.section].headings[0] == path for p in found)
    return [(" › ".join(sections[p.section].headings[1:]), p.start_line, p.end_line) for p in found]


def test_definitions_stand_by_themselves() -> None:
    for path in OUTLINES:
        text, expected = OUTLINES[path]
        assert cut(text, path) == expected


@given(data=st.data(), text=TEXTS, path=NAMES)
def test_every_line_is_in_one_passage(data: st.DataObject, text: str, path: str) -> None:
    for _ in range(data.draw(st.integers(0, 4))):
        at, length = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 40))
        text = text[:at] + data.draw(st.text("(){}[]\"'`:;#/*\n x", max_size=4)) + text[at + length :]
    check(text, path, data.draw(st.sampled_from([DEFAULT, SMALL])))


def check(text: str, path: str, settings: ChunkSettings) -> None:
    note = parse(text, path)
    sections, found = passages.split(note, settings)
    seen: dict[int, int] = {}
    for passage in found:
        section = sections[passage.section]
        assert section.start_line <= passage.start_line <= passage.end_line <= section.end_line
        assert passage.text.strip()
        cut_inside = passage.start_line == passage.end_line
        assert cut_inside or passage.text == "\n".join(note.lines[passage.start_line - 1 : passage.end_line])
        for line in range(passage.start_line, passage.end_line + 1):
            assert seen.setdefault(line, passage.start_line) == passage.start_line
    assert [n for n, line in enumerate(note.lines, 1) if line.strip() and n not in seen] == []
    assert [p.start_line for p in found] == sorted(p.start_line for p in found)


def test_passages_hold_what_settings_say() -> None:
    body = "".join(f"    if wanted({n}):\n        call_number({n})\n" for n in range(60))
    _, found = passages.split(parse(f"def f():\n{body}", "a.py"))
    assert len(found) > 3
    assert all(DEFAULT.code // 4 < len(p.text) <= DEFAULT.code for p in found)
    assert all(p.text.lstrip().startswith(("def", "if")) for p in found)  # never between an if and its body


def test_a_cut_falls_above_a_comment_and_outside_of_a_string() -> None:
    assert [a for _, a, _ in cut("x = 1\n" * 90 + "# why\n" + "y = 2\n" * 90)] == [1, 91]
    text = "x = 1\n" * 80 + 'y = """\n' + "word word\n" * 40 + '"""\n' + "z = 1\n" * 80
    assert sum(a <= 81 and b >= 122 for _, a, b in cut(text)) == 1


def test_secrets_and_private_parts_of_code_are_taken_out() -> None:
    key = "sk-" + "a1B2c3D4" * 5
    text = f'KEY = "{key}"\n# <private>\nx = 1\n# </private>\nlist: Array<Private> = []\ny = 2\n'
    _, found = passages.split(parse(text, "a.ts"))
    told = "\n".join(p.text for p in found)
    assert key not in told
    assert "[REDACTED:" in told
    assert "x = 1" not in told
    assert "Array<Private>" in told
    assert "y = 2" in told


def test_a_minified_file_is_cut_in_pieces() -> None:
    text = "var a=1;function b(){return 'x'};" * 3000
    _, found = passages.split(parse(text, "a.js"))
    assert {(p.start_line, p.end_line) for p in found} == {(1, 1)}
    assert all(len(p.text) <= DEFAULT.piece for p in found)
    assert "".join(p.text for p in found).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize("lines", [2_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_large_or_deep_file_is_cut(lines: int) -> None:
    for path, text in [
        ("a.py", "def f(x):\n    return [x,\n        1]\n\n\n" * 2 * lines),
        ("a.py", "x = [\n" + "  1,\n" * 10 * lines + "]\n"), ("a.py", "x = (" + "a +\n" * 5 * lines + "b)\n"),
        ("a.js", "f(\n" * 5 * lines), ("a.js", "class A { m() {\n" * lines + "}}\n" * lines), ("a.rs", "'\"`\n" * 2 * lines),
        ("a.go", random.Random(1).randbytes(20 * lines).decode("utf-8", "replace")),
    ]:  # fmt: skip
        note = parse(text, path)
        sections, found = passages.split(note)
        assert all(len(section.headings) <= 7 for section in sections), text[:20]
        covered = sum(p.text.count("\n") + 1 for p in found)
        assert covered >= sum(1 for line in note.lines if line.strip()), text[:20]
