"""Which words of a question are looked for, and what a full match would be worth."""

from __future__ import annotations

import pytest

from commonplace.chunking.settings import DEFAULT
from commonplace.index import rules, sync
from commonplace.index.sqlite.index import SqliteIndex
from commonplace.notes.scan import CollectionFiles, scan
from commonplace.search import query, terms
from commonplace.search.terms import Terms, idf, weigh

LINES = ["the walnut desk", "the brass lamp", "the walnut chair", "数据库迁移", "数据库备份", "plain"]


def weighed(index: SqliteIndex, asked: query.Query) -> Terms:
    return weigh(asked, *index.frequencies(terms.sought(asked)))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> SqliteIndex:
    folder = tmp_path_factory.mktemp("terms")
    for number, line in enumerate(LINES):
        (folder / f"{number}.md").write_text(f"{line}\n", "utf-8")
    made = SqliteIndex(":memory:", rules.identity(DEFAULT))
    sync.sync_text(made, scan([CollectionFiles("memory", str(folder))]), DEFAULT)
    return made


def test_the_rarest_stand_first(index: SqliteIndex) -> None:
    found = weighed(index, query.parse("Where is the walnut lamp?"))
    assert list(found.wanted) == ["lamp", "walnut"]
    assert found.ideal == pytest.approx(idf(1, 6) + idf(2, 6))
    assert found.passages == 6


def test_what_is_not_there_weighs_and_is_not_looked_for(index: SqliteIndex) -> None:
    found = weighed(index, query.parse("walnut zeppelin"))
    assert found.wanted == {"walnut": 2}
    assert found.ideal == pytest.approx(idf(2, 6) + idf(0, 6))
    assert found.missing == {"zeppelin"}


def test_bigrams_across_function_words_weigh_nothing(index: SqliteIndex) -> None:
    asked = query.parse("数据库在迁移")
    assert {"库在", "在迁"} <= set(asked.terms)
    found = weighed(index, asked)
    assert set(found.wanted) == {"数据", "据库", "迁移"}
    assert found.ideal == pytest.approx(idf(2, 6) * 2 + idf(1, 6))


def test_the_ideal_is_made_of_a_few(index: SqliteIndex) -> None:
    found = weighed(index, query.parse(" ".join(f"unknown{n}" for n in range(20))))
    assert found.ideal == pytest.approx(terms.IDEAL_TERMS * idf(0, 6))


def test_common_words_are_left_out_where_they_cost_too_much(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terms, "LEAST_TERMS", 1)
    monkeypatch.setattr(terms, "POSTINGS", 1)
    assert weighed(index, query.parse("walnut lamp")).wanted.keys() == {"lamp"}
    monkeypatch.setattr(terms, "POSTINGS", 99)
    assert weighed(index, query.parse("walnut lamp")).wanted.keys() == {"lamp", "walnut"}


def test_no_terms_weigh_nothing(index: SqliteIndex) -> None:
    assert weighed(index, query.parse("")) == Terms()
    assert weighed(index, query.parse("brass AND lamp")) == Terms()
