"""A hub of models on loopback, as the library that fetches for fastembed asks it; one tiny model in it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.providers.server import Reply, Request, Server, serving

NAME = "BAAI/bge-small-zh-v1.5"  # as fastembed's table has it
SOURCE = "Qdrant/bge-small-zh-v1.5"
REVISION = "0123456789abcdef0123456789abcdef01234567"


def files(folder: Path) -> dict[str, bytes]:
    """What the model's files are made of: a real graph that fastembed opens."""
    from tests.providers.embedding.graphs import write_model

    write_model(folder, width=512)  # as fastembed's table has it
    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    found["model_optimized.onnx"] = found.pop("model.onnx")
    return found


class Hub:
    """Answers as the hub's interface does; `slow_s` is a pause between two bytes of the weights' first part."""

    def __init__(self, content: Mapping[str, bytes]) -> None:
        self.content = content
        self.delay_s = 0.0

    def __call__(self, request: Request) -> Reply:
        path = request.path.partition("?")[0]
        if path in ("", "/"):
            return Reply({})
        if path.startswith(f"/api/models/{SOURCE}/tree"):
            return Reply([self._listed(name, data) for name, data in self.content.items()])
        if path.startswith(f"/api/models/{SOURCE}"):
            siblings = [{"rfilename": name} for name in self.content]
            return Reply({"id": SOURCE, "modelId": SOURCE, "sha": REVISION, "siblings": siblings})
        name = path.removeprefix(f"/{SOURCE}/resolve/{REVISION}/")
        if name not in self.content:
            return Reply({"error": "Entry not found"}, 404, {"X-Error-Code": "EntryNotFound"})
        headers = {"ETag": f'"{_oid(self.content[name])}"', "X-Repo-Commit": REVISION}
        data = self.content[name]
        if request.method == "HEAD":
            return Reply(b"", headers=headers | {"Content-Length": str(len(data))})
        return Reply(data, headers=headers, delay_s=self.delay_s if name.endswith(".onnx") else 0.0)

    def _listed(self, name: str, data: bytes) -> dict[str, object]:
        return {"type": "file", "path": name, "size": len(data), "oid": _oid(data)}


def _oid(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


@contextmanager
def hub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Server, Hub]]:
    """Run a hub, and let this process and every one started from here look for models there."""
    from huggingface_hub import constants, hf_api  # which read the environment once, when first imported

    folder.mkdir(parents=True, exist_ok=True)
    answers = Hub(files(folder))
    with serving(answers) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
        form = f"{server.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", form)
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(hf_api.api, "endpoint", server.url)
        yield server, answers
