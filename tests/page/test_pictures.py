"""Pictures beside the notes are shown as Obsidian shows them; of what cannot be shown stand its text and name."""

from __future__ import annotations

import struct
import zlib

from tests.page.conftest import PHONE, WIDE, Open

LOADED = (
    "names => names.every((name) => [...document.images].some((one) => one.alt === name && one.naturalWidth))"
)
SIZES = "() => [...document.querySelectorAll('main img')].map((one) => [one.alt, one.naturalWidth, one.offsetWidth])"


def png(width: int, height: int) -> bytes:
    """A PNG of one colour, a bit a pixel."""
    rows = zlib.compressobj()
    body = b"".join(rows.compress(bytes(1 + (width + 7) // 8)) for _ in range(height)) + rows.flush()
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)),
        (b"IDAT", body),
        (b"IEND", b""),
    ]
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


NOTE = """# Quay

![one](img/quay.png) and ![[quay 2.png]], as wide as ![[quay 2.png|80]], ![small|40](<../附件/图 片.png>).

> [!note] A callout
> ![in a callout](img/quay.png)

- ![in a list](img/quay.png)

| a | b |
|---|---|
| ![in a table](img/quay.png) | ![encoded](%E5%9B%BE%20%E7%89%87.png "titled") |

![gone](img/gone.png) ![broken](broken.png) ![bomb](bomb.png) ![[drawing.svg]] ![web](https://attacker.invalid/a.png)
![mail](mailto:a@example.org) ![script](javascript:window.hit=1) ![](img/gone.png"onerror="window.hit=1)
"""


def test_pictures_of_the_notes_are_shown_and_nothing_of_the_web(opened: Open) -> None:
    here = opened()
    files = {
        "memory/img/quay.png": png(1600, 400), "attachments/quay 2.png": png(200, 100), "附件/图 片.png": png(120, 60),
        "memory/broken.png": png(10, 10)[:40], "memory/bomb.png": png(30_000, 30_000),
        "memory/drawing.svg": b"<svg xmlns='http://www.w3.org/2000/svg'><script>parent.hit = 1</script></svg>",
    }  # fmt: skip
    for name, data in files.items():
        (here.root / name).parent.mkdir(parents=True, exist_ok=True)
        (here.root / name).write_bytes(data)
    (here.root / "memory" / "quay.md").write_text(NOTE, encoding="utf-8")
    here.go("note?ref=memory/quay.md", ".prose :text('Quay')")
    seen = ["one", "quay 2.png", "small", "in a callout", "in a list", "in a table", "encoded"]
    here.page.wait_for_function(LOADED, arg=seen)
    here.page.wait_for_function("() => document.querySelectorAll('.image[title]').length === 3")
    shown = here.page.evaluate(SIZES)
    assert [(name, width) for name, _, width in shown if name in ("quay 2.png", "small")] == [
        ("quay 2.png", 200), ("quay 2.png", 80), ("small", 40),
    ]  # fmt: skip
    assert sorted({name for name, *_ in shown}) == sorted(seen)
    told = here.page.locator(".image").all_inner_texts()
    assert told == [
        "Image: gone · img/gone.png", "Image: broken · broken.png", "Image: bomb · bomb.png", "Image: drawing.svg",
        "Image: web", "Image: mail", "Image: script", 'Image: img/gone.png"onerror="window.hit=1',
    ]  # fmt: skip
    assert here.page.evaluate("() => window.hit") is None
    for size in (WIDE, PHONE):
        here.look(size, "light")
        assert here.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), size
    # A hit shows them too.
    here.go("search?q=callout", ".hit")
    here.page.wait_for_function(LOADED, arg=["in a callout"])


def test_a_long_note_asks_for_the_pictures_that_come_near(opened: Open) -> None:
    here = opened()
    (here.root / "memory" / "a.png").write_bytes(png(40, 40))
    (here.root / "memory" / "long.md").write_text("# Long\n\n" + "![dot](a.png)\n\nA line.\n\n" * 190)
    here.go("note?ref=memory/long.md", ".prose :text('Long')")
    here.page.wait_for_function(LOADED, arg=["dot"])
    assert 0 < sum("/api/picture" in one for one in here.requests) < 100
    here.page.evaluate("() => scrollTo(0, document.body.scrollHeight)")
    here.page.wait_for_function("() => document.querySelectorAll('main img').length > 15")
