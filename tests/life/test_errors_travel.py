"""Every public error goes to another process and comes back as it was."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

import commonplace
from commonplace import CommonplaceError, Memory
from tests.life.conftest import Owner

ERRORS: list[CommonplaceError] = [
    commonplace.AccessDenied("scout", "may not read this"),
    commonplace.BudgetExceeded("llm.daily_tokens", "is used up", cap=10, spent=9.5, asked=2),
    CommonplaceError("something", "and more"),
    commonplace.ConfigError("search.limit", "0 is not allowed"),
    commonplace.InUse("session s1", "another process has it open"),
    commonplace.IndexUnavailable("/tmp/index.sqlite", "is damaged"),
    commonplace.IndexUnavailable("/tmp/index.sqlite", "is damaged").remedied(),
    commonplace.MissingExtra("the panel", "panel"),
    commonplace.NoModel("ask"),
    commonplace.NotUndone("20260213-123000", "it was changed since"),
    commonplace.NoteNotFound("memory/a.md", ["memory/b.md", "memory/c.md"]),
    commonplace.NoteUnreadable("memory/a.md", "permission denied"),
    commonplace.NothingToUndo(),
    commonplace.OutsideRoots("../secret"),
    commonplace.PreviewOutdated(["a.md", "b.md", "c.md", "d.md"]),
    commonplace.ProviderError("openai", "over quota", 3.5, permanent=True, status=429),
    commonplace.Running(),
    commonplace.StatementNotFound("Tea is at four", [], "no note says so"),
    commonplace.TextLost("memory/a.md", "would lose 2 lines"),
    commonplace.UnknownCollection("boats", ["memory", "papers"]),
    commonplace.UnknownCollection("boats", []),
    commonplace.WorkspaceNotFound("/tmp/x", missing=True),
    commonplace.WorkspaceNotFound("/tmp/x/y", "/tmp/x"),
]


def test_all_public_errors_are_here() -> None:
    public = {getattr(commonplace, name) for name in commonplace.__all__}
    kinds = {one for one in public if isinstance(one, type) and issubclass(one, CommonplaceError)}
    assert kinds == {type(error) for error in ERRORS}


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_comes_back_as_it_was(error: CommonplaceError) -> None:
    error.add_note("seen in the shed")
    for again in (
        *(pickle.loads(pickle.dumps(error, n)) for n in range(2, 6)),
        copy.copy(error),
        copy.deepcopy(error),
    ):
        assert type(again) is type(error)
        assert (str(again), repr(again), again.args) == (str(error), repr(error), error.args)
        assert vars(again) == vars(error)
        assert getattr(again.args[0], "code", "") == getattr(error.args[0], "code", "")


def _correct(folder: str) -> None:
    with Memory.open(folder) as memory:
        memory.correct("Nobody ever said this sentence.", "Or this.")


def test_a_worker_tells_what_went_wrong(owner: Owner) -> None:
    with pytest.raises(commonplace.StatementNotFound) as here:
        _correct(str(owner.folder))
    pool = ProcessPoolExecutor(1, get_context("spawn"))
    with pool, pytest.raises(commonplace.StatementNotFound) as there:
        pool.submit(_correct, str(owner.folder)).result()
    assert str(there.value) == str(here.value)
    assert vars(there.value).keys() >= vars(here.value).keys() - {"__notes__"}
