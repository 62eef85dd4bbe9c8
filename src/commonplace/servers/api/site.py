"""The routes of a server apart from the protocol: `/api`, the page, and how browsers get in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute, Route

from commonplace.base.tuples import NamedTuple
from commonplace.servers import page
from commonplace.servers.api import events, routes
from commonplace.servers.api.visits import VISITS
from commonplace.servers.visitors import Visitors

if TYPE_CHECKING:
    from commonplace.servers.api.operations import Examine
    from commonplace.servers.methods import Service


class Site(NamedTuple):
    """Routes, the paths that need no token, the browsers that are in, and the feed of events."""

    routes: Sequence[BaseRoute]
    open_to_all: Sequence[str]
    visitors: Visitors
    feed: events.Feed


def build(
    service: Service,
    *,
    examine: Examine = lambda online: (),
    cookie: str = "commonplace",
    key: str = "",
    seal: str = "",
) -> Site:
    """Make it for a memory; see `routes.build` and `Visitors`."""
    visitors, feed = Visitors(cookie, key, seal), events.Feed(service)
    below = routes.build(service, visitors, examine=examine, described={events.PATH: events.described()})
    listen = Route(events.PATH, feed.serve, methods=["GET"])
    return Site([listen, *below, *page.build()], [VISITS, *page.files()], visitors, feed)
