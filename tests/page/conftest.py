"""The page of a served workspace in a real Chromium, and what it must never do there."""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from commonplace.config.credentials import Secret
from commonplace.servers.access import Access
from tests.servers.conftest import Served
from tests.servers.conftest import serve as serve
from tests.servers.conftest import service as service
from tests.servers.conftest import workspace as workspace

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from commonplace.servers.methods import Service

WIDE, PHONE = (1280, 900), (390, 844)
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
EXPECTED = "Failed to load resource"  # what Chromium says of every answer that is no 2xx


def chromium() -> Iterator[Page]:
    """A page of a Chromium; for some tests alone, since its loop stays in this thread."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="the page is tested with playwright, which is not there"
    )
    if not CHROMIUM:
        pytest.skip("the page is tested in Chromium, which is not there (Debian: apt install chromium)")
    with sync_api.sync_playwright() as playwright:
        # Fonts are looked through once, not for each home of a test.
        fonts = {**os.environ, "XDG_CACHE_HOME": str(Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache")}
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], env=fonts)
        context = started.new_context(locale="en-GB", reduced_motion="reduce")
        context.set_default_timeout(60_000)
        yield context.new_page()
        started.close()


tab = pytest.fixture(scope="package")(chromium)


class Opened:
    """A page that is let in, with its memory; no error may stand in its console, no request may leave the server."""

    def __init__(
        self, tab: Page, server: Served, root: Path, size: tuple[int, int] = WIDE, theme: str = "light"
    ) -> None:
        self.page, self.server, self.root = tab, server, root
        self.base = f"http://127.0.0.1:{server.port}"
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        self.heard: dict[Any, Callable[[Any], object]] = {
            "console": lambda one: self.errors.append(one.text) if one.type in ("error", "warning") else None,
            "pageerror": lambda one: self.errors.append(str(one)),
            "dialog": lambda one: (self.dialogs.append(one.message), one.accept()),
            "request": lambda one: self.requests.append(one.url),
        }
        for event, hear in self.heard.items():
            tab.on(event, hear)
        self.look(size, theme)
        visitors = server.site.visitors
        tab.goto(f"{self.base}/#code={visitors.code(visitors.key)}")
        tab.wait_for_selector("#question")

    def look(self, size: tuple[int, int], theme: str) -> None:
        """Look at it on another screen, in other colours."""
        self.page.set_viewport_size({"width": size[0], "height": size[1]})
        self.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]

    def go(self, view: str, shown: str) -> None:
        """Show a view, until something of it is there."""
        self.page.evaluate("to => { location.hash = to; }", f"#/{view}")
        self.page.wait_for_selector(shown)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def note(self, name: str) -> str:
        return (self.root / name).read_text(encoding="utf-8")

    def questions(self) -> int:
        """How many are recorded."""
        return self.server.service.memory.usage().questions

    def close(self) -> None:
        self.page.goto("about:blank")
        for event, hear in self.heard.items():
            self.page.remove_listener(event, hear)
        assert [one for one in self.errors if EXPECTED not in one] == []
        own = (f"{self.base}/", f"blob:{self.base}/", "about:")
        assert [one for one in self.requests if not one.startswith(own)] == []


Open = Callable[..., Opened]


@pytest.fixture
def opened(tab: Page, serve: Callable[..., Served], workspace: Path) -> Iterator[Open]:
    """Open the page of the workspace, or of what another service serves, on a screen of that size."""
    pages: list[Opened] = []

    def close() -> None:
        if pages:
            pages.pop().close()

    def start(size: tuple[int, int] = WIDE, theme: str = "light", *, of: Service | None = None) -> Opened:
        close()
        pages.append(Opened(tab, serve(Access(Secret("correct-horse-battery")), of), workspace, size, theme))
        return pages[-1]

    yield start
    close()
