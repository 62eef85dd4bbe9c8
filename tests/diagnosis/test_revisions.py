"""Generated changes that are not whole, as an examination tells of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from commonplace.base import paths
from commonplace.diagnosis import examination, stores
from commonplace.storage import journal, transaction
from commonplace.types.changes import About, Change
from tests import applying


def told(root: Path) -> dict[str, tuple[str, str, str]]:
    found = stores.history(examination.present(str(root)))
    return {one.check: (one.state, one.told, one.remedy) for one in found}


def test_runs_that_are_whole_are_fine_and_the_rest_comes_with_a_remedy(tmp_path: Path) -> None:
    assert told(tmp_path) == {}
    workspace = paths.Workspace(tmp_path)
    made = []
    for n in range(3):
        before = transaction.read(workspace, "MEMORY.md")
        run = applying.apply(workspace, [Change("MEMORY.md", before, b"%d\n" % n)], About("write", "x"))
        assert run is not None
        made.append(run)
    state, fine, _ = told(tmp_path)["stores.history"]
    assert (state, fine.partition(";")[0]) == ("ok", "3 generated changes can be read")
    left = tuple(replace(file, left="was changed") for file in made[1].files)
    journal.put(workspace, replace(made[1], state="partial", files=left))
    journal.put(workspace, replace(made[2], state="begun"))
    found = told(tmp_path)
    assert {status for status, _, _ in found.values()} == {"warning"}
    assert made[2].id in found["stores.history"][1]
    assert "commonplace sync" in found["stores.history"][2]
    assert made[1].id in found["stores.history_partial"][1]
    transaction.recover(workspace)
    assert "stores.history" not in told(tmp_path)
