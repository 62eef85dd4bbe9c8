"""What questions of all sets find: hits with their scores in three modes, and recalled blocks."""

from __future__ import annotations

import datetime

import corpora
from section import Section
from shell import Shell, demo, digest, row

QUESTIONS, FURTHER = 4, 2  # of the main query file of a set, and of each other one
MOST, MOST_OF_FILE = 26_000, 8_000  # bytes of a workspace, and of a file of it
NOW = datetime.date(2026, 6, 10)
LIMIT = 20
MODES = ("hybrid", "lexical", "semantic")
# Ways to rank that are not the default.
SETTINGS = {
    "scores": {"search.fusion": "scores", "search.rerank": "off"},
    "ranks": {"search.fusion": "ranks", "search.rerank": "off"},
    "recent": {"search.recency": 0.3, "search.rerank": "off"},
    "project": {"search.project": "kestrel", "search.rerank": "off"},
    "positions": {"search.fusion": "ranks"},
}
OWN = (
    "What filled the disk of the primary database?", "When does my flight to Berlin leave?", "豆豆上哪所小学，哪天报到？",
    "膝盖受伤，医生说几周不能跑步？", "Kestrel 的队列为什么从 SQLite 换成 PostgreSQL？", "KES-126", "who is the king of France",
    "what did I do last week", "tea after:2026-03-01", '"aged white tea" -oolong', "path:memory deploy OR rollback", "上周三 老白茶",
    "queue postgres why did we replace the database",
)  # fmt: skip


def record(section: Section) -> None:
    """Record an item for each query file, and the command line's own output for some questions."""
    from commonplace import Memory

    shell = Shell(section.base)
    root = demo(section.inputs, section.base / "demo")
    with Memory.open(root, overrides={"usage.record": False}) as memory:
        memory.sync()
        section.dump.write("demo", [line for question in OWN for line in _answers(memory, question)])
        dated = datetime.date(2026, 3, 1)
        section.dump.write("demo-as-of", [row(q, _hits(memory.search(q, as_of=dated, now=NOW))) for q in OWN])
        section.dump.write(
            "demo-history", [row(q, _hits(memory.search(q, history=True, now=NOW))) for q in OWN]
        )
        section.dump.write(
            "demo-mixed", [memory.recall(q, layer="mixed", budget=700, now=NOW).text for q in OWN]
        )
        section.dump.write(
            "demo-not-reranked",
            [row(q, _hits(memory.search(q, rerank="off", now=NOW, limit=LIMIT))) for q in OWN],
        )
    for name, settings in SETTINGS.items():
        with Memory.open(root, overrides={"usage.record": False, **settings}) as memory:
            section.dump.write(f"demo-{name}", [row(q, _hits(memory.search(q, now=NOW))) for q in OWN])
    for number, question in enumerate(OWN[:6]):
        section.dump.write(
            f"demo-explain-{number}",
            shell.run("-w", root, "search", "--explain", "--now", "2026-06-10", question).lines(),
        )
    for name in corpora.sets(section.bench) if section.bench else ():
        _record_set(section, name)


def _record_set(section: Section, name: str) -> None:
    from commonplace import Memory

    asked = dict(corpora.queries(section.bench, name))
    source = corpora.workspace(section.bench, name)
    chosen = {}
    for stem, questions in asked.items():
        own = [one for one in questions if one["workspace"] == source.name]
        chosen[stem] = corpora.spread(own, QUESTIONS if stem == "queries" else FURTHER)
    first = [
        place["path"]
        for questions in chosen.values()
        for one in questions
        for place in one.get("evidence", ())
    ]
    root = corpora.excerpt(source, section.base / name, first, MOST, MOST_OF_FILE)
    overrides = {"index.include": ["**/*.md"], "index.sync_on_search": False, "usage.record": False}
    with Memory.open(root, overrides=overrides) as memory:
        memory.sync()
        for stem, questions in chosen.items():
            lines = [line for one in questions for line in _answers(memory, one["question"])]
            section.dump.write(f"{name}-{stem}", lines)


def _answers(memory, question: str) -> list[str]:
    """What a question finds, and what is recalled for it."""
    lines = [row("question", question)]
    for mode in MODES:
        result = memory.search(question, mode=mode, limit=LIMIT, now=NOW)
        lines += [row(mode, result.level, list(result.warnings)), *map(row, _hits(result))]
    recalled = memory.recall(question, budget=600, now=NOW)
    return [
        *lines,
        row("recall", recalled.tokens, recalled.left_out, recalled.repeated),
        *recalled.text.split("\n"),
    ]


def _hits(result) -> list[list[object]]:
    return [
        [hit.path, hit.start_line, hit.end_line, hit.score, digest(hit.text), hit.title, list(hit.headings), hit.date, hit.collection, hit.docid, list(hit.labels),
         [list(place) for place in hit.others], hit.until, list(hit.contexts)]
        for hit in result.hits
    ]  # fmt: skip
