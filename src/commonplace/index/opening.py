"""An index on a server: which one the settings name, and the file that answers while it is away."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing
from importlib import import_module

from commonplace.base import paths
from commonplace.base.errors import ConfigError, IndexUnavailable
from commonplace.base.expressions import lazy
from commonplace.base.messages import message
from commonplace.base.tuples import NamedTuple
from commonplace.config import credentials
from commonplace.index.sqlite.index import SqliteIndex
from commonplace.index.sqlite.opening import Opened, open_index

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from commonplace.config.settings import Index as Settings

_ENGINES = {"postgresql": "postgres", "postgres": "postgres", "milvus": "milvus", "milvuss": "milvus"}
_PASSWORD = lazy(r"//[^/@]*:[^/@]+@|[?&]\w*password=")
_NAME = "index"  # the kind of the value that names a workspace on servers


class Remote(NamedTuple):
    """A server, the name of a workspace there, and its password."""

    url: str
    workspace: str
    key: credentials.Secret

    def open_index(self, path: str, identity: Mapping[str, str]) -> Opened:
        """Open the index on the server; while that is away, the one in the file at `path`.

        A new one begins with the vectors of the one at `path`. Raises ConfigError, MissingExtra.
        """
        engine = _ENGINES.get(self.url.partition("://")[0])
        if engine is None:
            raise ConfigError("index.url", "must begin with postgresql:// or milvus://")
        if _PASSWORD.search(self.url):
            raise ConfigError("index.url", "holds a password; put it into a file, named by index.key")
        module = import_module(f"commonplace.index.{engine}.index")
        try:
            index = module.open_index(self.url, identity, self.workspace, self.key, path)
            if index.begun and "model" not in index.meta and os.path.exists(path):
                from commonplace.index.vectors import carry

                with closing(SqliteIndex(path, identity, readonly=True)) as file:
                    carry(file, index)
            return Opened(index)
        except IndexUnavailable as error:
            told = "the index on the server is not used ({reason}); the one on this machine answers"
            away = message("index.not_used", told, reason=error.reason)
            local = open_index(path, identity)
            return local._replace(warnings=(away, *local.warnings), away=True, reason=error.reason)


def remote(workspace: paths.Workspace, settings: Settings) -> Remote | None:
    """Return the server that the settings name, None for a file. Raises ConfigError, NoteUnreadable."""
    if not settings.url:
        return None
    from commonplace.storage import keyvalue

    known = keyvalue.read(workspace, _NAME, "server")
    if known is None:  # by chance: two machines may have the same folder, and one server
        name = os.urandom(16).hex()
        keyvalue.update(workspace, _NAME, "server", lambda one: one or {"workspace": name})
        known = keyvalue.read(workspace, _NAME, "server") or {}
    return Remote(settings.url, known["workspace"], credentials.named(settings.key, "index.key"))
