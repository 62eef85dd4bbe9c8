"""Which providers of models there are, and whether each can be used here; none of them is asked."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlsplit

from commonplace.base import installation
from commonplace.base.errors import CommonplaceError
from commonplace.providers import http, opening
from commonplace.providers.catalog import EMBEDDERS, LLM_KEY, LLMS, RERANKERS, Catalog

if TYPE_CHECKING:
    from commonplace.config import Settings
    from commonplace.config.settings import Embedding, Llm, Reranking
    from commonplace.providers.breaker import Opened
    from commonplace.providers.spec import Provider

Kind = Literal["embedding", "reranking", "llm"]
_MODULES = {"fastembed": "fastembed", "gguf": "llama_cpp"}
_CONNECT_S = 0.3
_FOR_TESTS = "fake"


class Use(NamedTuple):
    """Whether a provider can be used here, in words, and the one line that mends it if not."""

    ready: bool
    state: str
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


def _embedders(settings: Embedding) -> Iterator[Listed]:
    active = opening.choose(settings)
    others = {name.partition("/")[0]: name.partition("/")[2] for name in reversed(settings.fallback)}
    # What the breaker leaves alone of the models that the settings name, by provider.
    opened: dict[str, Opened] = {}
    with suppress(CommonplaceError):
        names = {opening.breaker_name(spec): spec.provider for spec in opening.specs(settings)}
        opened = {names[one.name]: one for one in opening.breaker().opened() if one.name in names}
    for row in _rows(EMBEDDERS, (active.provider, *others)):
        role = "active" if row.name == active.provider else "stands in" if row.name in others else ""
        model = active.model if role == "active" else others.get(row.name, "")
        use = _use(row, settings if role == "active" else None, row.keys)
        if role and row.name in opened:
            use = Use(False, str(opened[row.name]).partition(" is ")[2], use.remedy)
        yield Listed("embedding", row.name, role, model or row.model, *use, row.about)


def _rerankers(settings: Settings) -> Iterator[Listed]:
    """What is missing is set by `config set`, since `models use` chooses no reranker."""
    chosen = settings.reranking
    for row in _rows(RERANKERS, (chosen.provider,)):
        role = "active" if row.name == chosen.provider else ""
        use = _use(row, chosen if role else None, row.keys)
        if row.name == "fastembed" and find_spec("fastembed") is not None:
            use = Use(True, "installed")  # which of its models are on disk, fastembed alone can tell
        elif row.name == "compatible" and not (role and chosen.base_url):
            use = use._replace(remedy="commonplace config set reranking.base_url ADDRESS")
        elif row.name == "onnx" and not use.ready:
            use = use._replace(remedy="commonplace config set reranking.path FOLDER")
        model = (chosen.model if role else "") or row.model
        yield Listed("reranking", row.name, role, model, *use, row.about)
    role = "active" if chosen.provider == opening.LLM else ""
    model = "/".join(filter(None, (settings.llm.provider, settings.llm.model)))
    use = Use(True, f"asks {model}")
    if settings.llm.provider == opening.NONE:
        model, use = "", Use(False, "no language model", "commonplace models use --llm PROVIDER/MODEL")
    yield Listed("reranking", opening.LLM, role, model, *use, "the language model that is set")


def _llms(settings: Llm) -> Iterator[Listed]:
    for row in _rows(LLMS, (settings.provider,)):
        role = "active" if row.name == settings.provider else ""
        variables = (LLM_KEY, *row.keys) if row.keys else ()
        use = (
            _program(settings) if row.name == "command" else _use(row, settings if role else None, variables)
        )
        model = (settings.model if role else "") or row.model
        yield Listed("llm", row.name, role, model, *use, row.about)


def _rows(catalog: Catalog[Any], used: Collection[str]) -> Iterator[Provider]:
    """The rows of a table and of other packages; not the one for tests unless used."""
    from importlib.metadata import entry_points

    for name in dict.fromkeys([*catalog.rows, *(point.name for point in entry_points(group=catalog.group))]):
        if name != _FOR_TESTS or name in used:
            with suppress(CommonplaceError):
                yield catalog.find(name)


def _use(row: Provider, settings: Embedding | Reranking | Llm | None, variables: Collection[str]) -> Use:
    """Judge a provider by what is installed and set; `settings` only where they are about this one.

    `variables` are those that may hold its key.
    """
    if row.extra and find_spec(_MODULES.get(row.extra, row.extra)) is None:
        return Use(False, "not installed", installation.add_extra(row.extra))
    if row.name in ("onnx", "gguf"):
        path = settings.path if settings else ""
        if not path:
            return Use(False, "needs a path", "add --path to `commonplace models use`")
        if os.path.exists(os.path.expanduser(path)):
            return Use(True, "ready")
        return Use(False, "no file at its path", "set the path again")
    if row.name == "fastembed":
        return _on_disk()
    if row.keys:
        return _key(row, settings, variables)
    base_url = (settings.base_url if settings else "") or row.base_url
    if base_url:
        return _server(row.name, base_url)
    if row.name == "compatible":
        return Use(False, "needs an address", "add --base-url to `commonplace models use`")
    return Use(True, "ready")


def _on_disk() -> Use:
    from commonplace.providers import fastembed

    count = sum(1 for _ in fastembed.folder().glob("models--*/snapshots/*/"))
    if not count:
        return Use(False, "no model on disk", "commonplace models pull fastembed")
    return Use(True, f"{count} model{'' if count == 1 else 's'} on disk")


def _key(row: Provider, settings: Embedding | Reranking | Llm | None, variables: Collection[str]) -> Use:
    if settings and (settings.key_file or settings.keyring):
        return Use(True, "key in key_file" if settings.key_file else "key in the keyring")
    variable = next((name for name in variables if os.environ.get(name, "").strip()), "")
    if variable:
        return Use(True, f"key in {variable}")
    return Use(False, "no key", f"set {' or '.join(row.keys)}")


def _server(provider: str, base_url: str) -> Use:
    """Whether somebody listens at an address of this machine; others are not asked."""
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        remedy = "set the address again" if provider != "ollama" else "start it with `ollama serve`"
        return Use(False, "its address cannot be used", remedy)
    if not http.is_loopback(host):
        return Use(True, f"at {http.origin(base_url).partition('://')[2]}, not asked")
    try:
        socket.create_connection((host, port), _CONNECT_S).close()
    except OSError:
        remedy = "start it with `ollama serve`" if provider == "ollama" else "start it"
        return Use(False, f"no server at {host}:{port}", remedy)
    return Use(True, f"a server at {host}:{port}")


def _program(settings: Llm) -> Use:
    from shutil import which

    if not settings.command:
        return Use(False, "needs a program", "commonplace config set llm.command PROGRAM ARGUMENT…")
    if which(os.path.expanduser(settings.command[0])) is not None:
        return Use(True, "ready")
    return Use(False, "its program is not there", "set llm.command")
