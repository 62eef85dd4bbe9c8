"""What docs/http-api.md shows with curl is what the server answers."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.servers.api.conftest import Api
from tests.servers.api.test_events import listening

PAGE = Path(__file__).parents[3] / "docs" / "http-api.md"


def test_every_command_of_the_page_works(api: Api) -> None:
    shown = [
        line
        for block in re.findall(r"```sh\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
        for line in block.splitlines()
    ]
    asked = [shlex.split(line) for line in shown if line.startswith("ask ")]
    assert len(asked) > 15
    last: dict[str, Any] = {}
    for words in asked:
        if "-N" in words:
            with listening(api) as stream:
                assert stream.next() == ("ready", {})
            continue
        options = dict(pairwise(words[1:]))
        address = next(word for word in words if word.startswith("$URL")).removeprefix("$URL")
        body = options.get("-d")
        method = options.get("-X", "POST" if body else "GET")
        headers = {}
        if "-H" in options:
            name, _, value = options["-H"].partition(": ")
            headers[name.replace("-", "_")] = value.replace("DIGEST", str(last.get("digest")))
        data = body and body.replace("CODE", str(last.get("preview"))).encode()
        status, answer, _ = api.raw(method, address, data or None, **headers)
        assert status in (200, 201), (words, answer)
        last = answer if isinstance(answer, dict) else {}
