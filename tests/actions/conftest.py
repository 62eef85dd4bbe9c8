"""A further action in the table, and a workspace that is served."""

from __future__ import annotations

import pytest

from commonplace.actions import table
from tests.actions.sample import STAMP
from tests.servers.conftest import client as client
from tests.servers.conftest import serve as serve
from tests.servers.conftest import service as service
from tests.servers.conftest import workspace as workspace


@pytest.fixture(autouse=True)
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the action."""
    monkeypatch.setattr(table, "ADDED", [STAMP])
