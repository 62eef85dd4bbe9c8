"""The pictures of notes are shown on the page: from the notes' own folders alone, and nothing that could run."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.life.conftest import Http, Owner

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
KINDS = {
    "a.png": (PNG, "image/png"),
    "a.jpeg": (b"\xff\xd8\xff\xe0" + b"\0" * 20, "image/jpeg"),
    "a.gif": (b"GIF89a" + b"\0" * 20, "image/gif"),
    "a.webp": (b"RIFF\n\0\0\0WEBPVP8 " + b"\0" * 20, "image/webp"),
    "named.txt": (PNG, "image/png"),
}
# Where a picture lies, and how the note memory/trips/quay.md names it.
NAMED = {
    "memory/trips/img/a.png": ["img/a.png", "./img/a.png", "a.png", "memory/trips/img/a.png"],
    "assets/b.png": ["../../assets/b.png", "assets/b.png", "/assets/b.png", "b.png", "B.PNG"],
    "c.png": ["c.png", "/c.png", "../../c.png"],
    "memory/trips/my quay (1).png": ["my quay (1).png", "my%20quay%20(1).png"],
    "附件/图 片.png": ["图 片.png", "%E5%9B%BE%20%E7%89%87.png", "附件/图 片.png"],
    "附件/50%25.png": ["50%25.png"],
    "assets/Kaffeeku\u0308che.png": ["Kaffeeküche.png", "assets/Kaffeeküche.png"],
}
REFUSED = [
    ".commonplace/secret.png", "../../.commonplace/secret.png", "secret.png", "hidden.png", "%2e%2e/%2e%2e/.commonplace/secret.png",
    "out.png", "below/out.png", "../../../outside/out.png", "inner/secret.png", "private/p.png", "p.png", "pipe.png", "trips", ".", "..",
    "page.png", "drawing.svg", "large.png", "gone.png", "nul\0.png", "https://127.0.0.1/a.png", "file:///etc/passwd", "/etc/passwd",
]  # fmt: skip


@pytest.fixture
def served(owner: Owner, tmp_path: Path) -> Http:
    owner.note("memory/trips/quay.md", "# Quay\n\n![quay](img/a.png)\n")
    outside = tmp_path / "outside"
    (outside / "books").mkdir(parents=True)
    (outside / "out.png").write_bytes(PNG)
    (outside / "books" / "book.md").write_text("# Book\n\n![cover](cover.png)\n")
    (outside / "books" / "cover.png").write_bytes(PNG)
    owner.ok("collection", "add", outside / "books", "--name", "books")
    owner.ok("config", "set", "index.ignore", '["memory/private/**"]')
    owner.ok("sync")
    folder = owner.folder / "memory" / "trips"
    for place in (*NAMED, "memory/private/p.png", ".commonplace/secret.png"):
        owner.note(place, PNG)
    owner.note("memory/trips/page.png", "<script>1</script>")
    owner.note("memory/trips/drawing.svg", "<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>")
    owner.note("memory/trips/large.png", PNG + b"\0" * (16 << 20))
    (folder / "out.png").symlink_to(outside / "out.png")
    (folder / "below").symlink_to(outside)
    (folder / "inner").symlink_to(owner.folder / ".commonplace")
    (folder / "hidden.png").symlink_to(owner.folder / ".commonplace" / "secret.png")
    os.mkfifo(folder / "pipe.png")
    return owner.serve()


def picture(served: Http, name: str, note: str = "memory/trips/quay.md", **more: str) -> tuple[int, object]:
    return served.request("GET", f"/api/picture?{urlencode({'note': note, 'name': name})}", **more)


def test_a_picture_is_found_as_notes_name_it(owner: Owner, served: Http) -> None:
    done = {"type": "image/png", "data": base64.b64encode(PNG).decode()}
    for names in NAMED.values():
        for name in names:
            assert picture(served, name) == (200, done), name
    assert picture(served, "cover.png", "books/book.md") == (200, done)
    assert picture(served, "a.png", "MEMORY.md") == (200, done)
    for name, (data, kind) in KINDS.items():
        owner.note(f"kinds/{name}", data)
        status, answer = picture(served, f"kinds/{name}", "MEMORY.md")
        assert (status, answer["type"]) == (200, kind), name  # type: ignore[index]


def test_nothing_else_is_handed_out(owner: Owner, served: Http) -> None:
    for name in REFUSED:
        status, answer = picture(served, name)
        assert status in (403, 404, 409), (name, answer)
        assert "data" not in answer, name  # type: ignore[operator]
        assert str(owner.folder) not in str(answer)
    for name in ("../out.png", "out.png", "../../notes/c.png"):
        assert picture(served, name, "books/book.md")[0] in (403, 404), name
    assert picture(served, "img/a.png", token="wrong")[0] == 401
