"""The page of a served workspace in a real Chromium, and what it must never do there."""

from __future__ import annotations

import os
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
    from playwright.sync_api import Browser, Page

WIDE, PHONE = (1280, 900), (390, 844)
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
EXPECTED = "Failed to load resource"  # what Chromium says of every answer that is no 2xx


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium; for one module alone, since its loop stays in this thread."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="the page is tested with playwright, which is not there"
    )
    if not CHROMIUM:
        pytest.skip("the page is tested in Chromium, which is not there (Debian: apt install chromium)")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


class Opened:
    """A page that is let in, with its memory; no error may stand in its console, no request may leave the server."""

    def __init__(
        self, browser: Browser, server: Served, root: Path, size: tuple[int, int], **more: Any
    ) -> None:
        self.server, self.root = server, root
        self.base = f"http://127.0.0.1:{server.port}"
        viewport = {"width": size[0], "height": size[1]}
        self.context = browser.new_context(viewport=viewport, **{"locale": "en-GB", **more})  # type: ignore[arg-type]
        self.context.set_default_timeout(15_000)
        self.page: Page = self.context.new_page()
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        self.page.on(
            "console", lambda one: self.errors.append(one.text) if one.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda one: self.errors.append(str(one)))
        self.page.on("dialog", lambda one: (self.dialogs.append(one.message), one.accept()))
        self.context.on("request", lambda one: self.requests.append(one.url))
        self.page.goto(f"{self.base}/#code={server.site.visitors.code()}")
        self.page.wait_for_selector("#question")

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
        self.context.close()
        assert [one for one in self.errors if EXPECTED not in one] == []
        assert [one for one in self.requests if not one.startswith(f"{self.base}/")] == []


Open = Callable[..., Opened]


@pytest.fixture
def opened(browser: Browser, serve: Callable[..., Served], workspace: Path) -> Iterator[Open]:
    """Open the page of the workspace, in a browser of that size."""
    pages: list[Opened] = []

    def start(size: tuple[int, int] = WIDE, **more: Any) -> Opened:
        server = pages[0].server if pages else serve(Access(Secret("correct-horse-battery")))
        pages.append(Opened(browser, server, workspace, size, **more))
        return pages[-1]

    yield start
    for one in pages:
        one.close()
