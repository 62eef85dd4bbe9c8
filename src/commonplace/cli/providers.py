"""Which providers of models there are, and whether each can be used here: told without asking any of them."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol
from urllib.parse import urlsplit

from commonplace import addresses, installation
from commonplace.embedding import automatic, configured
from commonplace.embedding import registry as embedders
from commonplace.errors import CommonplaceError
from commonplace.llm import registry as llms
from commonplace.reranking import registry as rerankers
from commonplace.reranking.opening import LLM

if TYPE_CHECKING:
    from commonplace.config import Settings
    from commonplace.config.settings import Embedding, Llm, Reranking
    from commonplace.embedding.breaker import Opened

Kind = Literal["embedding", "reranking", "llm"]
_MODULES: Mapping[str, str] = {"fastembed": "fastembed", "gguf": "llama_cpp", "openai": "openai"}
_CONNECT_S = 0.3
_FOR_TESTS = "fake"


class Row(Protocol):
    """What every table of providers says of one."""

    @property
    def name(self) -> str:
        """What settings call it."""

    @property
    def about(self) -> str:
        """What it is, in a few words."""

    @property
    def extra(self) -> str:
        """What to install for it."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Variables that may hold its key."""

    @property
    def model(self) -> str:
        """Its default model."""

    @property
    def base_url(self) -> str:
        """Its own address."""


class Use(NamedTuple):
    """Whether a provider can be used here, in words, and the one line that mends it if not."""

    ready: bool
    told: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Listed:
    """A provider as it is listed; `role` is `active`, `stands in` or empty, `model` what it is used with."""

    kind: Kind
    name: str
    role: str
    model: str
    ready: bool
    state: str
    remedy: str
    about: str


def listed(settings: Settings) -> list[Listed]:
    """List embedding providers, rerankers, then language models, each in the order of their table."""
    return [*_embedders(settings.embedding), *_rerankers(settings), *_llms(settings.llm)]


def _embedders(settings: Embedding) -> list[Listed]:
    active = automatic.choose(settings)
    standing = {name.partition("/")[0]: name.partition("/")[2] for name in reversed(settings.fallback)}
    opened = _left_alone(settings)
    found = []
    names = _names(embedders.PROVIDERS, embedders.GROUP, (active.provider, *standing))
    for row in _rows(names, embedders.find):
        role = "active" if row.name == active.provider else "stands in" if row.name in standing else ""
        model = active.model if role == "active" else standing.get(row.name, "")
        own: Embedding | None = settings if role == "active" else None
        use = _use(row, own, row.keys)
        if role and row.name in opened:
            use = Use(False, configured.told(opened[row.name]).partition(" is ")[2], use.remedy)
        found.append(Listed("embedding", row.name, role, model or row.model, *use, row.about))
    return found


def _rerankers(settings: Settings) -> list[Listed]:
    chosen = settings.reranking
    found = []
    names = _names(rerankers.PROVIDERS, rerankers.GROUP, (chosen.provider,))
    for row in _rows(names, rerankers.find):
        role = "active" if row.name == chosen.provider else ""
        use = _reranker(row, chosen if role else None)
        model = chosen.model if role else ""
        found.append(Listed("reranking", row.name, role, model or row.model, *use, row.about))
    role = "active" if chosen.provider == LLM else ""
    model = "/".join(filter(None, (settings.llm.provider, settings.llm.model)))
    use = Use(True, f"asks {model}")
    if settings.llm.provider == "none":
        model, use = "", Use(False, "no language model", "commonplace models use --llm PROVIDER/MODEL")
    return [*found, Listed("reranking", LLM, role, model, *use, "the language model that is set")]


def _reranker(row: Row, settings: Reranking | None) -> Use:
    """Judge a reranker; what is missing is set by `config set`, since `models use` chooses no reranker."""
    use = _use(row, settings, row.keys)
    if row.name == "fastembed" and find_spec("fastembed") is not None:
        return Use(True, "installed", "")  # which of its models are on disk, fastembed alone can tell
    if row.name == "compatible" and not (settings and settings.base_url):
        return use._replace(remedy="commonplace config set reranking.base_url ADDRESS")
    if row.name == "onnx" and not use.ready:
        return use._replace(remedy="commonplace config set reranking.path FOLDER")
    return use


def _llms(settings: Llm) -> list[Listed]:
    found = []
    names = _names(llms.PROVIDERS, llms.GROUP, (settings.provider,))
    for row in _rows(names, llms.find):
        role = "active" if row.name == settings.provider else ""
        own = settings if role else None
        variables = (llms.KEY_VARIABLE, *row.keys) if row.keys else ()
        use = _program(settings) if row.name == "command" else _use(row, own, variables)
        model = settings.model if role else ""
        found.append(Listed("llm", row.name, role, model or row.model, *use, row.about))
    return found


def _names(built_in: Iterable[str], group: str, used: Collection[str]) -> list[str]:
    """The providers of a table and those that other packages bring; not the one for tests unless used."""
    from importlib.metadata import entry_points

    names = dict.fromkeys([*built_in, *(point.name for point in entry_points(group=group))])
    return [name for name in names if name != _FOR_TESTS or name in used]


def _rows(names: Iterable[str], find: Callable[[str], Row]) -> Iterator[Row]:
    for name in names:
        with suppress(CommonplaceError):
            yield find(name)


def _left_alone(settings: Embedding) -> dict[str, Opened]:
    """What the breaker leaves alone of the models that the settings name, by provider."""
    with suppress(CommonplaceError):
        names = {configured.breaker_name(spec): spec.provider for spec in configured.specs(settings)}
        return {names[one.name]: one for one in configured.breaker().opened() if one.name in names}
    return {}


def _use(row: Row, settings: Embedding | Reranking | Llm | None, variables: Collection[str]) -> Use:
    """Judge a provider by what is installed and set; `settings` only where they are about this one.

    `variables` are those that may hold its key.
    """
    if row.extra and find_spec(_MODULES.get(row.extra, row.extra)) is None:
        return Use(False, "not installed", installation.add_extra(row.extra))
    if row.name in ("onnx", "gguf"):
        return _path(settings.path if settings else "")
    if row.name == "fastembed":
        return _on_disk()
    if row.keys:
        return _key(row, settings, variables)
    base_url = (settings.base_url if settings else "") or row.base_url
    if base_url:
        use = _server(base_url)
        return (
            use._replace(remedy="start it with `ollama serve`")
            if row.name == "ollama" and use.remedy
            else use
        )
    if row.name == "compatible":
        return Use(False, "needs an address", "add --base-url to `commonplace models use`")
    return Use(True, "ready")


def _path(path: str) -> Use:
    """Whether the model's file is there, for providers of local files."""
    if not path:
        return Use(False, "needs a path", "add --path to `commonplace models use`")
    there = os.path.exists(os.path.expanduser(path))
    return Use(there, "ready" if there else "no file at its path", "" if there else "set the path again")


def _on_disk() -> Use:
    from commonplace.embedding import fastembed

    count = sum(1 for _ in fastembed.folder().glob("models--*/snapshots/*/"))
    told = f"{count} model{'' if count == 1 else 's'} on disk" if count else "no model on disk"
    return Use(bool(count), told, "" if count else "commonplace models pull fastembed")


def _key(row: Row, settings: Embedding | Reranking | Llm | None, variables: Collection[str]) -> Use:
    if settings and settings.key_file:
        return Use(True, "key in key_file")
    if settings and settings.keyring:
        return Use(True, "key in the keyring")
    found = next((name for name in variables if os.environ.get(name, "").strip()), "")
    if found:
        return Use(True, f"key in {found}")
    return Use(False, "no key", f"set {' or '.join(row.keys)}")


def _server(base_url: str) -> Use:
    """Whether somebody listens at an address of this machine; others are not asked."""
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return Use(False, "its address cannot be used", "set the address again")
    if not addresses.is_loopback(host):
        return Use(True, f"at {addresses.origin(base_url).partition('://')[2]}, not asked")
    try:
        socket.create_connection((host, port), _CONNECT_S).close()
    except OSError:
        return Use(False, f"no server at {host}:{port}", "start it")
    return Use(True, f"a server at {host}:{port}")


def _program(settings: Llm) -> Use:
    from shutil import which

    if not settings.command:
        return Use(False, "needs a program", "commonplace config set llm.command PROGRAM ARGUMENT…")
    there = which(os.path.expanduser(settings.command[0])) is not None
    return Use(there, "ready" if there else "its program is not there", "" if there else "set llm.command")
