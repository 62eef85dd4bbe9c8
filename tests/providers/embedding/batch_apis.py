"""Batch interfaces as their documentation describes them: files up, a batch that takes its time, files down."""

from __future__ import annotations

import json
import re
from email.parser import BytesParser

from tests.providers.embedding import apis
from tests.providers.server import Reply, Request

BYTES = {"Content-Type": "application/octet-stream"}


class Batches:
    """OpenAI's; `looks` is how often a batch is looked at before it is over."""

    def __init__(self) -> None:
        self.looks = 1
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict] = {}
        self.refused: set[str] = set()  # texts that end as an error
        self.lost: set[str] = set()  # texts that end nowhere
        self.direct = 0  # requests to the ordinary interface

    def __call__(self, request: Request) -> Reply:
        assert request.headers["authorization"] == f"Bearer {apis.KEY}"
        if request.path == "/v1/embeddings":
            self.direct += 1
            return apis.openai(request)
        if (request.method, request.path) == ("POST", "/v1/files"):
            return self.upload(request)
        if (request.method, request.path) == ("POST", "/v1/batches"):
            wanted = {"endpoint": "/v1/embeddings", "completion_window": "24h"}
            assert request.json == wanted | {"input_file_id": request.json["input_file_id"]}
            return Reply({"id": self.started(request.json["input_file_id"]), "status": "validating"})
        assert request.method == "GET"
        if found := re.fullmatch(r"/v1/files/([\w-]+)/content", request.path):
            return Reply(self.files[found[1]], headers=BYTES)
        name = request.path.removeprefix("/v1/batches/")
        if name not in self.batches:
            return Reply({"error": "no such batch"}, 404)
        if not self.is_over(name):
            return Reply({"id": name, "status": "in_progress", "output_file_id": None})
        return Reply({"id": name, "status": "completed", "output_file_id": self.done(name)})

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

    def lines(self, file: str) -> list[dict]:
        return [json.loads(line) for line in self.files[file].splitlines()]

    def started(self, file: str) -> str:
        name = f"batch-{len(self.batches)}"
        self.batches[name] = {"file": file, "looks": 0}
        return name

    def is_over(self, name: str) -> bool:
        self.batches[name]["looks"] += 1
        return self.batches[name]["looks"] > self.looks

    def done(self, name: str) -> str:
        """Write the results of a batch, in another order; return the name of their file."""
        file = self.batches[name]["file"]
        rows = [self.result(line) for line in self.lines(file)[::-1]]
        out = file.replace("f", "out", 1) if "/" not in file else f"files/out{file.removeprefix('files/')}"
        self.files[out] = "\n".join(json.dumps(row) for row in rows if row).encode()
        return out

    def result(self, line: dict) -> dict | None:
        apis.exactly(line, {"custom_id": str, "method": str, "url": str, "body": dict})
        assert (line["method"], line["url"]) == ("POST", "/v1/embeddings")
        text = line["body"]["input"]
        body = json.dumps(line["body"] | {"input": [text]}).encode()
        reply = apis.openai(Request("POST", line["url"], {"authorization": f"Bearer {apis.KEY}"}, body))
        answer = {"error": {"message": "refused"}} if text in self.refused else reply.body
        kept = {"custom_id": line["custom_id"], "response": {"body": answer}, "error": None}
        return None if text in self.lost else kept


class GeminiBatches(Batches):
    """Gemini's."""

    def __call__(self, request: Request) -> Reply:
        assert request.headers["x-goog-api-key"] == apis.KEY
        path, headers = request.path, request.headers
        if path.endswith(":batchEmbedContents"):
            self.direct += 1
            return apis.gemini(request)
        if path == "/upload/v1/files":
            assert headers["x-goog-upload-protocol"] == "resumable"
            assert headers["x-goog-upload-command"] == "start"
            self.expected = int(headers["x-goog-upload-header-content-length"])
            where = f"http://{headers['host']}/upload/v1/files?upload_id=1"
            return Reply(b"", headers={"X-Goog-Upload-URL": where, "X-Goog-Upload-Status": "active"})
        if path == "/upload/v1/files?upload_id=1":
            assert headers["x-goog-upload-command"] == "upload, finalize"
            assert headers["x-goog-upload-offset"] == "0"
            assert len(request.body) == self.expected
            name = f"files/f{len(self.files)}"
            self.files[name] = request.body
            return Reply({"file": {"name": name, "state": "ACTIVE"}})
        if path == "/v1/models/gemini-embedding-001:asyncBatchEmbedContent":
            apis.exactly(request.json["batch"], {"displayName": str, "inputConfig": dict})
            name = self.started(request.json["batch"]["inputConfig"]["fileName"])
            return Reply({"name": f"batches/{name}", "metadata": {"state": "BATCH_STATE_PENDING"}})
        assert request.method == "GET"
        if found := re.fullmatch(r"/download/v1/(files/[\w-]+):download\?alt=media", path):
            return Reply(self.files[found[1]], headers=BYTES)
        name = path.removeprefix("/v1/batches/")
        if name not in self.batches:
            return Reply({"error": {"message": "no such batch"}}, 404)
        if not self.is_over(name):
            return Reply({"name": f"batches/{name}", "metadata": {"state": "BATCH_STATE_RUNNING"}})
        state = {"state": "BATCH_STATE_SUCCEEDED"}
        return Reply({"done": True, "metadata": state, "response": {"responsesFile": self.done(name)}})

    def result(self, line: dict) -> dict | None:
        apis.exactly(line, {"key": str, "request": dict})
        text = line["request"]["content"]["parts"][0]["text"]
        path, key = "/v1/models/gemini-embedding-001:batchEmbedContents", {"x-goog-api-key": apis.KEY}
        reply = apis.gemini(Request("POST", path, key, json.dumps({"requests": [line["request"]]}).encode()))
        found = {"response": {"embedding": reply.body["embeddings"][0]}}
        answer = {"error": {"code": 3, "message": "refused"}} if text in self.refused else found
        return None if text in self.lost else {"key": line["key"]} | answer


def api(provider: str) -> Batches:
    return GeminiBatches() if provider == "gemini" else Batches()
