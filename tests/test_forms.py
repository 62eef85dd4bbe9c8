"""Golden answers: what every format makes of the same hits, written down.

After a change that is meant, `python -m tests.test_forms` writes the expected files anew: read the difference.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace import render
from commonplace.base import remedies
from commonplace.cli.remedies import WORDS
from commonplace.render import hits, reports
from commonplace.render.screen import Look
from commonplace.types import CollectionInfo, Excerpt, Factor, Hit, Recall, SearchResult, Status, SyncReport

FOLDER = Path(__file__).parent / "golden" / "forms"
HITS = (
    Hit(
        "memory/2026-02-13.md", 12, 13, "- The deploy moved to Thursday, said Lin.\n- 周五下午不部署。",
        0.82349, "2026-02-13", ("2026-02-13 Friday", "Deploy"), "2026-02-13", "memory", "a1b2c3",
        (Factor("meaning", 0.60004), Factor("words", 0.25, "2 of 3"), Factor("age", -0.02655)),
        ("Daily notes", "of an engineer"),
    ),
    Hit(
        'docs/a "b", <c>&d`e.md', 1, 1, 'He said "no", <b>&amp;</b> \\ | `code`\ttab \x1b[31m\u202eend <!-- importance: 7 -->',
        0.5, "", (), None, "docs", "0f0f0f",
    ),
    Hit("docs/long.md", 3, 10, "\n".join(f"row {n} of a long passage about the deploy" for n in range(8)),
        0.049951, "Long", ("Long",), None, "docs", "123456", (Factor("words", 0.9),)),
)  # fmt: skip
FOUND = SearchResult("deploy", HITS, 1, 3, ("one warning",), {"full text": 2.04, "vectors": 10.0}, 1234)
STATUS = Status(
    "/home/ann/notes", "/home/ann/notes/.commonplace/index.sqlite", 0,
    (CollectionInfo("memory", "/home/ann/notes", ("MEMORY.md", "memory/**/*.md"), (), 1234, 56789),
     CollectionInfo("docs", "/srv/文档", ("**/*.md",), ("drafts/",), 2, 3)),
    1236, 8000, 56792, 50000, 6792, 1, 123_456_789, "builtin",
)  # fmt: skip
REPORT = SyncReport(1, 2, 3, 4, 5, (), 6, 7, 8, "the model changed", ("one warning",), 1.23456)
RECALL = Recall(
    "deploy", "<recalled-notes>…</recalled-notes>", 480, 500, HITS[:1], 2, 3, 1, ("one warning",), 1234
)
EXCERPT = Excerpt("memory/2026-02-13.md", 9, ("# 九", "", "ten\x1b"), 120, "a1b2c3")
TERMINAL = Look(color=True, links=True, width=72)


def locate(hit: Hit) -> str:
    return f"/home/ann/notes/{hit.path}"


FORMS: dict[str, Callable[[], str]] = {
    "hits.json": lambda: hits.in_form(FOUND.hits, "json"),
    "hits-explained.json": lambda: hits.in_form(FOUND.hits, "json", explain=True),
    "hits.md": lambda: hits.in_form(FOUND.hits, "md"),
    "hits.files": lambda: hits.in_form(FOUND.hits, "files"),
    "hits.txt": lambda: hits.as_text(FOUND, words=("deploy",)),
    "hits-explained.txt": lambda: hits.as_text(FOUND, words=("deploy",), explain=True, rows=2),
    "hits-full.txt": lambda: hits.as_text(FOUND, rows=None),
    "hits-narrow.txt": lambda: hits.as_text(FOUND, Look(width=44), words=("deploy",)),
    "hits-terminal.txt": lambda: hits.as_text(FOUND, TERMINAL, words=("deploy", "部署"), locate=locate),
    "footers.txt": lambda: "\n".join(
        [hits.footer(FOUND), hits.timings(FOUND), reports.recall_footer(RECALL)]
    ),
    "recall.json": lambda: render.to_json(reports.recall_data(RECALL)),
    "excerpt.txt": lambda: reports.excerpt_text(EXCERPT),
    "excerpt.json": lambda: render.to_json(EXCERPT),
    "status.txt": lambda: reports.status_text(STATUS),
    "status.json": lambda: render.to_json(STATUS),
    "sync.txt": lambda: reports.sync_text(REPORT),
    "sync.json": lambda: render.to_json(REPORT),
}


@pytest.mark.parametrize("name", FORMS)
def test_as_written_down(name: str) -> None:
    with remedies.spoken(WORDS):  # as the command line prints it
        assert FORMS[name]() == (FOLDER / name).read_bytes().decode("utf-8")


def test_nothing_is_written_down_that_is_not_compared() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(FORMS)


if __name__ == "__main__":
    with remedies.spoken(WORDS):
        for name, form in FORMS.items():
            (FOLDER / name).write_bytes(form().encode("utf-8"))
