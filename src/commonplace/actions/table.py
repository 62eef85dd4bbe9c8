"""The table of all actions."""

from __future__ import annotations

from commonplace.actions import clients, incoming, statements
from commonplace.actions.action import Action

ADDED: list[Action] = []  # of programs that extend this one


def every() -> tuple[Action, ...]:
    """Return all actions."""
    return (*statements.ACTIONS, *incoming.ACTIONS, *clients.ACTIONS, *ADDED)
