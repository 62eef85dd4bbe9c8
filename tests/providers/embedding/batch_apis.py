"""Batch interfaces as their documentation describes them: files up, a batch that takes its time, files down."""

from __future__ import annotations

import json
import re
from email.parser import BytesParser

from tests.providers.embedding import apis
from tests.providers.server import Reply, Request


class Batches:
    """What both have in common; `looks` is how often a batch is looked at before it is over."""

    def __init__(self, looks: int = 1) -> None:
        self.looks = looks
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict] = {}
        self.ends: list[str] = []  # how the next batches end; "completed" after those
        self.refused: set[str] = set()  # texts that end in the error file
        self.lost: set[str] = set()  # texts that end nowhere
        self.most_running = 0
        self.direct = 0  # requests to the ordinary interface

    def lines(self, name: str) -> list[dict]:
        return [json.loads(line) for line in self.files[name].splitlines()]

    def started(self, file: str) -> dict:
        batch = {
            "file": file,
            "looks": 0,
            "end": self.ends.pop(0) if self.ends else "completed",
            "over": False,
        }
        self.batches[f"batch-{len(self.batches)}"] = batch
        self.most_running = max(self.most_running, sum(not found["over"] for found in self.batches.values()))
        return batch

    def look(self, name: str) -> dict:
        batch = self.batches[name]
        batch["looks"] += 1
        batch["over"] = batch["looks"] > self.looks and batch["end"] != "never"
        return batch


class FileBatches(Batches):
    """OpenAI."""

    def __init__(self, provider: str, looks: int = 1) -> None:
        super().__init__(looks)
        self.provider = provider

    def __call__(self, request: Request) -> Reply:
        assert request.headers["authorization"] == f"Bearer {apis.KEY}"
        if request.path == "/v1/embeddings":
            self.direct += 1
            return apis.APIS[self.provider](request)
        if (request.method, request.path) == ("POST", "/v1/files"):
            return self.upload(request)
        if (request.method, request.path) == ("POST", "/v1/batches"):
            return self.create(request.json)
        assert request.method == "GET"
        if found := re.fullmatch(r"/v1/batches/([\w-]+)", request.path):
            return (
                self.status(found[1]) if found[1] in self.batches else Reply({"error": "no such batch"}, 404)
            )
        found = re.fullmatch(r"/v1/files/([\w-]+)/content", request.path)
        assert found
        return Reply(self.files[found[1]], headers={"Content-Type": "application/octet-stream"})

    def upload(self, request: Request) -> Reply:
        head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
        parts = BytesParser().parsebytes(head + request.body).get_payload()
        names = {part.get_param("name", header="content-disposition"): part for part in parts}
        assert names.keys() == {"purpose", "file"}
        assert names["purpose"].get_payload() == "batch"
        assert names["file"].get_filename().endswith(".jsonl")
        name = f"file-{len(self.files)}"
        self.files[name] = names["file"].get_payload(decode=True)
        return Reply({"id": name, "object": "file", "purpose": "batch"})

    def create(self, body: dict) -> Reply:
        apis.exactly(body, {"input_file_id": str, "endpoint": str, "completion_window": str})
        assert body["endpoint"] == "/v1/embeddings"
        assert body["completion_window"] == "24h"
        self.started(body["input_file_id"])
        return Reply({"id": list(self.batches)[-1], "object": "batch", "status": "validating"})

    def status(self, name: str) -> Reply:
        batch = self.look(name)
        if not batch["over"]:
            state = ("validating", "in_progress", "finalizing")[min(batch["looks"] - 1, 2)]
            return Reply({"id": name, "status": state, "output_file_id": None, "error_file_id": None})
        out, bad = self.done(batch)
        return Reply({"id": name, "status": batch["end"], "output_file_id": out, "error_file_id": bad})

    def done(self, batch: dict) -> tuple[str | None, str | None]:
        if batch["end"] == "failed":
            return None, None
        good, bad = [], []
        for line in self.lines(batch["file"])[::-1]:
            body = self.body(line)
            text = body["input"][0] if isinstance(body["input"], list) else body["input"]
            if text in self.lost:
                continue
            reply = apis.APIS[self.provider](
                Request(
                    "POST",
                    "/v1/embeddings",
                    {"authorization": f"Bearer {apis.KEY}"},
                    json.dumps(body | {"input": [text]}).encode(),
                )
            )
            status = 400 if text in self.refused else 200
            answer = {"error": {"message": "refused"}} if text in self.refused else reply.body
            found = {
                "id": "x",
                "custom_id": line["custom_id"],
                "response": {"status_code": status, "body": answer},
                "error": None,
            }
            (bad if text in self.refused else good).append(json.dumps(found))
        ids = []
        for kind, found in (("output", good), ("error", bad)):
            self.files[f"{kind}-{batch['file']}"] = "\n".join(found).encode()
            ids.append(f"{kind}-{batch['file']}" if found else None)
        return ids[0], ids[1]

    def body(self, line: dict) -> dict:
        apis.exactly(line, {"custom_id": str, "method": str, "url": str, "body": dict})
        assert (line["method"], line["url"]) == ("POST", "/v1/embeddings")
        return line["body"]


STATES = {"completed": "SUCCEEDED", "failed": "FAILED", "expired": "EXPIRED", "cancelled": "CANCELLED"}


class GeminiBatches(Batches):
    """Gemini."""

    def __call__(self, request: Request) -> Reply:
        assert request.headers["x-goog-api-key"] == apis.KEY
        path = request.path
        if path.endswith(":batchEmbedContents"):
            self.direct += 1
            return apis.gemini(request)
        if path == "/upload/v1/files":
            assert request.headers["x-goog-upload-protocol"] == "resumable"
            assert request.headers["x-goog-upload-command"] == "start"
            self.expected = int(request.headers["x-goog-upload-header-content-length"])
            apis.exactly(request.json, {"file": dict})
            where = f"http://{request.headers['host']}/upload/v1/files?upload_id=1"
            return Reply(b"", headers={"X-Goog-Upload-URL": where, "X-Goog-Upload-Status": "active"})
        if path == "/upload/v1/files?upload_id=1":
            assert request.headers["x-goog-upload-command"] == "upload, finalize"
            assert request.headers["x-goog-upload-offset"] == "0"
            assert len(request.body) == self.expected
            name = f"files/f{len(self.files)}"
            self.files[name] = request.body
            return Reply({"file": {"name": name, "state": "ACTIVE"}})
        if path == "/v1/models/gemini-embedding-001:asyncBatchEmbedContent":
            apis.exactly(request.json, {"batch": dict})
            apis.exactly(request.json["batch"], {"displayName": str, "inputConfig": dict})
            self.started(request.json["batch"]["inputConfig"]["fileName"])
            return Reply(
                {"name": f"batches/{list(self.batches)[-1]}", "metadata": {"state": "BATCH_STATE_PENDING"}}
            )
        return self.read(request)

    def read(self, request: Request) -> Reply:
        assert request.method == "GET"
        if found := re.fullmatch(r"/download/v1/(files/[\w-]+):download\?alt=media", request.path):
            return Reply(self.files[found[1]], headers={"Content-Type": "application/octet-stream"})
        found = re.fullmatch(r"/v1/batches/([\w-]+)", request.path)
        assert found
        if found[1] not in self.batches:
            return Reply({"error": {"message": "no such batch"}}, 404)
        batch = self.look(found[1])
        name = f"batches/{found[1]}"
        if not batch["over"]:
            return Reply({"name": name, "metadata": {"state": "BATCH_STATE_RUNNING"}})
        metadata = {"state": f"BATCH_STATE_{STATES[batch['end']]}"}
        out = self.done(batch)
        return Reply(
            {"name": name, "done": True, "metadata": metadata}
            | ({"response": {"responsesFile": out}} if out else {})
        )

    def done(self, batch: dict) -> str | None:
        if batch["end"] == "failed":
            return None
        good = []
        for line in self.lines(batch["file"]):
            apis.exactly(line, {"key": str, "request": dict})
            text = line["request"]["content"]["parts"][0]["text"]
            if text in self.lost:
                continue
            one = json.dumps({"requests": [line["request"]]}).encode()
            reply = apis.gemini(
                Request(
                    "POST",
                    "/v1/models/gemini-embedding-001:batchEmbedContents",
                    {"x-goog-api-key": apis.KEY},
                    one,
                )
            )
            answer = (
                {"error": {"code": 3, "message": "refused"}}
                if text in self.refused
                else {"response": {"embedding": reply.body["embeddings"][0]}}
            )
            good.append(json.dumps({"key": line["key"]} | answer))
        name = f"files/out{batch['file'].removeprefix('files/')}"
        self.files[name] = "\n".join(good).encode()
        return name


def api(provider: str, looks: int = 1) -> Batches:
    return GeminiBatches(looks) if provider == "gemini" else FileBatches(provider, looks)
