"""Draw the pictures of the page in the READMEs: a question over the demonstration notes, and why its first hit is first.

    python tools/make_page_pictures.py

It needs what the tests of the page need (playwright and a Chromium); a Chinese font for the Chinese one.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

IMAGES = Path(__file__).parents[1] / "docs" / "images"
PICTURES = (
    ("page.png", "en-GB", "when did we move the queue to PostgreSQL?"),
    ("page.zh.png", "zh-CN", "豆豆什么时候开学？"),
)
SIZE = {"width": 1000, "height": 640}
SETTLED_MS = 1500  # after the last key: the stream of events never lets the network be idle
ADDRESS = re.compile(r"http://\S+#code=\S+")
_PROGRAM = (sys.executable, "-P", "-m", "commonplace")


def draw(browser: Browser, address: str, language: str, question: str, target: Path) -> None:
    """Ask a question, unfold why the first hit is first, and keep what is seen."""
    context = browser.new_context(viewport=SIZE, color_scheme="light", locale=language)
    page = context.new_page()
    page.goto(address)
    page.fill("#question", question)
    why = page.locator(".hit summary").first
    why.wait_for()
    page.wait_for_timeout(SETTLED_MS)
    why.click()
    page.screenshot(path=target, animations="disabled")
    context.close()


def main() -> int:
    """Serve the demonstration notes, and draw every picture."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("there is no Chromium; install the package chromium")
    with tempfile.TemporaryDirectory() as folder:
        environ = {**os.environ, "HOME": folder, "XDG_RUNTIME_DIR": folder}
        notes = str(Path(folder, "notes"))

        def run(*arguments: str) -> str:
            done = subprocess.run(
                [*_PROGRAM, *arguments], env=environ, capture_output=True, text=True, check=True
            )
            return done.stdout

        run("demo", "--keep", notes)
        run("-w", notes, "sync")
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                for name, language, question in PICTURES:
                    told = ADDRESS.search(run("-w", notes, "web", "--no-browser"))
                    assert told is not None
                    draw(browser, told[0], language, question, IMAGES / name)
                browser.close()
        finally:
            run("-w", notes, "serve", "stop")
    return 0


if __name__ == "__main__":
    sys.exit(main())
