"""A forked child begins anew what was registered and is still alive."""

from __future__ import annotations

import os

import pytest

from commonplace.base import fork


class _Owner:
    def __init__(self) -> None:
        self.renewed = 0

    def renew(self) -> None:
        self.renewed += 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows does not fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_lives_is_renewed_in_the_child_alone() -> None:
    owner, forgotten = _Owner(), _Owner()
    fork.renew_in_child(owner, _Owner.renew)
    fork.renew_in_child(forgotten, _Owner.renew)
    del forgotten
    child = os.fork()
    if not child:
        os._exit(owner.renewed)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert owner.renewed == 0
