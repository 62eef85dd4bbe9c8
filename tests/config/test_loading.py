"""Reading settings files while others change them."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from commonplace.base.errors import ConfigError
from commonplace.config import files


def test_a_file_that_is_replaced_all_the_time_is_read_whole(tmp_path: Path) -> None:
    file, enough = tmp_path / "config.toml", threading.Event()
    texts = [f"[search]\nlimit = {limit}\n".encode() + b"#" * limit for limit in (7, 70)]
    file.write_bytes(texts[0])

    def replace() -> None:
        number = 0
        while not enough.is_set():
            number += 1
            (tmp_path / "next").write_bytes(texts[number % 2])
            os.replace(tmp_path / "next", file)

    writer = threading.Thread(target=replace)
    writer.start()
    try:
        assert {files.content(file) for _ in range(5000)} <= set(texts)
    finally:
        enough.set()
        writer.join()


def test_what_is_no_file_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a folder, not a regular file"):
        files.content(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="no such note"):
        files.content(tmp_path / "link")
    assert files.content(tmp_path / "missing") == b""
