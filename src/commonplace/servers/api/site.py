"""The routes of a server apart from the protocol: `/api`, the page, and how browsers get in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute

from commonplace.base.tuples import NamedTuple
from commonplace.servers import page
from commonplace.servers.api import routes
from commonplace.servers.api.events import Events, Feed
from commonplace.servers.api.visits import VISITS, Codes, Visits
from commonplace.servers.visitors import Visitors

if TYPE_CHECKING:
    from commonplace.servers.api.operations import Examine
    from commonplace.servers.methods import Service


class Site(NamedTuple):
    """Routes, the paths that need no token, the browsers that are in, and the feed of events."""

    routes: Sequence[BaseRoute]
    open_to_all: Sequence[str]
    visitors: Visitors
    feed: Feed


def build(
    service: Service,
    *,
    examine: Examine = lambda online: (),
    cookie: str = "commonplace",
    key: str = "",
) -> Site:
    """Make it for a memory; see `routes.build` and `Visitors`."""
    visitors = Visitors(cookie, key)
    feed = Feed(service)
    resources = [Codes(visitors), Visits(visitors), Events(feed, agent=service.agent)]
    below = routes.build(service, examine=examine, more=resources)
    return Site([*below, *page.build()], [VISITS, *page.files()], visitors, feed)
