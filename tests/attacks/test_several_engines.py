"""Several memories on one server of indexes: nothing of one leaks into another there either."""

from __future__ import annotations

import pytest

from tests.attacks.realm import DAY, EVERYWHERE, LIMITED, Realm, enter
from tests.attacks.realm import built as built
from tests.cli.conftest import called
from tests.index.servers import milvus_url, postgres_url

__all__ = ["milvus_url", "postgres_url"]
PLAIN = [
    f"search {EVERYWHERE} --history", f"--all-workspaces search {EVERYWHERE} -n 100 --format json",
    f"search on:{DAY}", f"recall {EVERYWHERE}", f"timeline {DAY}", "ls",
]  # fmt: skip
AIMED = ["search {told}", "search {named} --format json", "search harbour -c {named}:memory", "recall {told}"]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["postgres_url", "milvus_url"])
def test_nothing_of_what_is_closed_is_told_from_a_server(
    built: Realm, engine: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = request.getfixturevalue(engine)
    enter(built, monkeypatch)
    monkeypatch.setenv("COMMONPLACE_INDEX_URL", url)
    for agent in LIMITED:
        own = built.readable(agent)[0]
        lines = [(line, []) for line in PLAIN]
        for place in built.forbidden(agent):
            words = {"named": place.named, "told": place.told}
            lines += [(line.format(**words), [place.named, place.told]) for line in AIMED]
        for line, said in lines:
            done = called("--agent", agent, *line.split(), cwd=own.root)
            assert b"server is not used" not in done.stderr, done.stderr
            assert built.leaks(agent, done.stdout, done.stderr, echoed=said) == [], (line, done.stdout)
        done = called("--agent", agent, "search", EVERYWHERE, "-n", "100", cwd=own.root)
        assert own.told in done.stdout.decode()
