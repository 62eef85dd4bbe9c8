"""`models …`: listed, fetched, chosen and tried."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlsplit

import click

from commonplace import render
from commonplace.base import installation
from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.cli import failures, progress, session
from commonplace.cli.failures import ERROR
from commonplace.cli.options import Group, command, format_option, option
from commonplace.providers import http, opening
from commonplace.providers.catalog import EMBEDDERS, LLM_KEY, LLMS, RERANKERS, Catalog
from commonplace.render import reports, screen

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from commonplace.config import Settings
    from commonplace.config.settings import Embedding, Llm, Reranking
    from commonplace.providers.breaker import Opened
    from commonplace.providers.catalog import Provider, Spec
    from commonplace.providers.costs import Accounts
    from commonplace.providers.downloads import Fetched, Offer
    from commonplace.providers.probe import Trial
    from commonplace.render.screen import Look

_WIDE = 100  # cells; below this, how long vectors are is left out
_MARKS = {"active": "*", "stands in": "+", "": " "}
_STATE_CELLS = 34
_FIGURES_CELLS = 46  # beside the name of a model that was tried
_BEST_CELLS = 60  # of the text that won
_CODES = {"multi": "many", "chinese": "zh", "english": "en"}
# What is shown of a trial as JSON, by kind.
_FIELDS = {
    "embedding": "provider model dimensions scripts seconds texts_per_s trouble remedy",
    "llm": "provider model seconds tokens_in tokens_out trouble remedy",
    "reranking": "provider model seconds scores best trouble remedy",
}


@command("list")
@click.argument("provider", required=False)
@option("--llm", is_flag=True, help="The provider's language models, where it has models of both kinds.")
@format_option(("text", "json"))
@click.pass_context
def list_(ctx: click.Context, provider: str | None, llm: bool, form: str) -> None:
    """List the providers and whether each can be used here, or (PROVIDER) its models.

    Nobody is asked for the list of providers. Models are asked for where a server of yours has them; a key
    is never shown.
    """
    settings = _settings(ctx)
    look = session.look(settings)
    if provider is not None:
        _list_models(provider, settings, form, look, llm=llm)
        return
    rows = [row for row in listed(settings) if not llm or row.kind == "llm"]
    if form == "json":
        session.write(render.to_json([asdict(row) for row in rows]))
        return
    titles = {"embedding": "embedding", "reranking": "rerankers", "llm": "language models"}
    kinds = ("llm",) if llm else tuple(titles)
    blocks = [_providers(titles[kind], [row for row in rows if row.kind == kind], look) for kind in kinds]
    session.write("\n\n".join(blocks))
    session.note("\n* active  + stands in; `commonplace models list PROVIDER` lists its models")


def _providers(title: str, rows: Sequence[Listed], look: Look) -> str:
    states = [screen.one_line(row.state) for row in rows]
    if look.width is not None:
        states = [screen.shorten(state, _STATE_CELLS) for state in states]
    cells = [(f"{_MARKS[r.role]} {r.name}", state, r.about) for r, state in zip(rows, states, strict=True)]
    shown = [look.style(title, "bold")]
    for row, line in zip(rows, screen.table(cells), strict=True):
        cut = line if look.width is None else screen.shorten(line, look.width)
        shown.append(look.style(cut, "green") if row.role == "active" and row.ready else cut)
        if row.role and row.remedy:
            shown.append(f"    {look.style('→', 'cyan')} {row.remedy}")
    return "\n".join(shown)


def _list_models(provider: str, settings: Settings, form: str, look: Look, *, llm: bool) -> None:
    from commonplace.config import keys
    from commonplace.providers import downloads, opening
    from commonplace.providers.catalog import EMBEDDERS, LLMS

    if provider not in EMBEDDERS.rows and provider not in LLMS.rows:
        near = keys.near(provider, {*EMBEDDERS.rows, *LLMS.rows})
        raise ConfigError("models", f"unknown provider {keys.quoted(provider)}{near}")
    llm = llm or provider not in EMBEDDERS.rows
    if llm:
        names = downloads.llm_offers(llm_spec_of(provider, settings.llm))
        chosen = settings.llm.model if settings.llm.provider == provider else ""
        data: list[dict[str, object]] = [{"model": name, "active": name == chosen} for name in names]
        lines = [f"{'*' if name == chosen else ' '} {screen.one_line(name)}" for name in names]
    else:
        models = downloads.offers(spec_of(provider, settings.embedding))
        active = opening.specs(settings.embedding._replace(key_file="", keyring=""))[0]
        chosen = (active.model or EMBEDDERS.rows[provider].model) if active.provider == provider else ""
        data = [{**asdict(one), "active": one.model == chosen} for one in models]
        lines = _offers(models, chosen, look)
    if form == "json":
        session.write(render.to_json(data))
    elif not lines:
        session.write(f"{screen.one_line(provider)} has no models to choose from")
    else:
        session.write("\n".join(lines))
        if not llm:
            use = f"`commonplace models use {provider}/MODEL`"
            session.note(f"\n* active  + suggested  = here; {use}")


def _offers(models: Sequence[Offer], chosen: str, look: Look) -> list[str]:
    """A line a model, as wide as the terminal."""
    wide = look.width is None or look.width >= _WIDE
    cells = [_offer(one, chosen, wide=wide) for one in models]
    lines = screen.table(cells, right=(1, 2) if wide else (1,))
    return [line if look.width is None else screen.shorten(line, look.width) for line in lines]


def _offer(one: Offer, chosen: str, *, wide: bool) -> tuple[str, ...]:
    flags = ((one.model == chosen, "*"), (one.suggested, "+"), (one.here, "="))
    name = f"{''.join(mark if flag else ' ' for flag, mark in flags)} {screen.one_line(one.model)}"
    size = screen.size(one.bytes) if one.bytes else ""
    about = screen.one_line(one.languages or one.about)
    if wide:
        return name, size, str(one.dimensions or ""), about
    # The languages in a few cells, for a narrow terminal.
    return name, size, " ".join(code for word, code in _CODES.items() if word in about.lower()) or about


@command("pull")
@click.argument("name", metavar="[PROVIDER/]MODEL")
@click.pass_context
def pull(ctx: click.Context, name: str) -> None:
    """Fetch a model of fastembed (a reranker too), or (ollama/MODEL) let an Ollama server fetch one.

    Stopped with Ctrl-C, it goes on from there the next time. This is the one command that downloads models.
    """
    from commonplace.providers.catalog import EMBEDDERS, Spec

    settings = _settings(ctx)
    # The model of a provider, or one of fastembed's by itself.
    provider, _, model = name.partition("/")
    spec = Spec("fastembed", name)
    if provider in EMBEDDERS.rows:
        spec = Spec(provider, model or EMBEDDERS.rows[provider].model)
    if provider == "ollama":
        named = spec_of(f"ollama/{spec.model}", settings.embedding)
        address = settings.llm.base_url if settings.llm.provider == "ollama" else ""
        spec = named if named.base_url else Spec("ollama", spec.model, address)
    fetched = fetch(spec)
    size = f"{screen.size(fetched.bytes)} " if fetched.bytes else ""
    done = "is there already:" if fetched.before else "fetched:"
    where = "on" if "://" in fetched.place else "in"
    place = screen.one_line(fetched.place)
    session.write(f"{screen.one_line(fetched.model)} {done} {size}{where} {place}")


@command("test")
@click.argument("name", metavar="[PROVIDER[/MODEL]]", required=False)
@option("--llm", is_flag=True, help="Try the language model alone.")
@option("--reranker", is_flag=True, help="Try the reranker alone, on three texts.")
@format_option(("text", "json"))
@click.pass_context
def test(ctx: click.Context, name: str | None, llm: bool, reranker: bool, form: str) -> None:
    """Try the models that the settings name, or another, with a question, a passage and a batch of them.

    A reranker scores three texts, and the one that won is told.

    Nothing is answered from a cache; calls are recorded and capped like any other. Ends with 1 when the
    active model does not answer.
    """
    settings = _settings(ctx)
    if reranker and (name or llm):
        raise ConfigError("models", "--reranker tries the reranker that is set, and nothing else")
    tried, asked = ((), None) if reranker else _tried(ctx, name, settings, llm=llm)
    ranked = None if name or llm else _tried_reranker(ctx, settings, needed=reranker)
    if form == "json":
        data = {
            "embedding": [_data(one, "embedding") for one in tried],
            **{kind: one and _data(one, kind) for kind, one in (("llm", asked), ("reranking", ranked))},
        }
        session.write(render.to_json(data))
    else:
        text = _trials_text(tried, asked, ranked, session.look(settings))
        session.write(text or "no model is set, and nothing needs one")
    if any(one.trouble for one in (*tried[:1], asked, ranked) if one):
        ctx.exit(ERROR)


def _tried_reranker(ctx: click.Context, settings: Settings, *, needed: bool) -> Trial | None:
    """Try the reranker that is set. Raises ConfigError where one is `needed` and none is set."""
    from commonplace.providers import probe

    with accounts(session.root_for_settings(ctx)) as opened:
        ranked = probe.reranker(settings, opened)
    if ranked is None and needed:
        remedy = "`commonplace config set reranking.provider NAME` sets one"
        raise ConfigError("reranking.provider", f"no reranker is set; {remedy}")
    return ranked


def _tried(
    ctx: click.Context, name: str | None, settings: Settings, *, llm: bool
) -> tuple[Sequence[Trial], Trial | None]:
    from commonplace.providers import probe, selection

    root = session.root_for_settings(ctx)
    if llm:
        chosen = selection.select_llm(name, settings.llm) if name else settings.llm
        if chosen.provider == "none":
            raise ConfigError("llm.provider", "no language model is set; `commonplace models use --llm` does")
        return (), try_llm(root, settings._replace(llm=chosen))
    with accounts(root) as opened:
        if name is None:
            tried = probe.embedders(settings.embedding, opened, measure=True)
            return tried, try_llm(root, settings)
        other = selection.select(name, settings.embedding)._replace(fallback=())
        return probe.embedders(other, opened, measure=True)[:1], None


def _data(one: Trial, kind: str) -> dict[str, object]:
    data = {name: getattr(one, name) for name in _FIELDS[kind].split()}
    data |= {"answered": one.answered, "seconds": round(one.seconds, 4)}
    if kind == "embedding":
        data |= {"scripts": sorted(one.scripts, reverse=True), "texts_per_s": round(one.texts_per_s, 1)}
    if kind == "reranking":
        data["scores"] = [round(score, 4) for score in one.scores]
    return data


def _trials_text(tried: Sequence[Trial], asked: Trial | None, ranked: Trial | None, look: Look) -> str:
    """A table of embedding and language models, then what the reranker did."""
    return "\n".join(filter(None, (_table(tried, asked, look), _ranked(ranked, look) if ranked else "")))


def _table(tried: Sequence[Trial], asked: Trial | None, look: Look) -> str:
    """A line a model; what went wrong below it, with its remedy."""
    everyone = [*tried, *([asked] if asked else [])]
    if not everyone:
        return ""
    rows = [("model", "answered", "dims", "scripts", "ms", "texts/s")]
    for one in everyone:
        name = screen.one_line("/".join(filter(None, (one.provider, one.model))))
        name = name if look.width is None else screen.shorten(name, look.width - _FIGURES_CELLS)
        answered = "yes" if one.answered else "no"
        speed = f"{one.texts_per_s:,.0f}" if one.texts_per_s else ""
        about = (str(one.dimensions or ""), scripts(one.scripts), f"{one.seconds * 1000:,.0f}")
        rows.append((name, answered, *about, speed))
    lines = screen.table(rows, right=(2, 4, 5))
    shown = [look.style(lines[0], "dim")]
    for one, line in zip(everyone, lines[1:], strict=True):
        shown.append(look.style(line, "green" if one.answered else "red"))
        shown += trouble_lines(one.trouble, one.remedy, look)
    return "\n".join(shown)


def _ranked(one: Trial, look: Look) -> str:
    """A few lines on a reranker that was tried: the scores, and the text that won."""
    name = screen.one_line("/".join(filter(None, (one.provider, one.model))))
    if not one.answered:
        lines = [look.style(f"reranker {name} does not answer", "red")]
        return "\n".join(lines + trouble_lines(one.trouble, one.remedy, look))
    scores = " ".join(f"{score:.2f}" for score in one.scores)
    line = f"reranker {name} answers in {one.seconds * 1000:,.0f} ms: {scores}"
    best = f'    best: "{screen.shorten(one.best, _BEST_CELLS)}"'
    shown = [part if look.width is None else screen.shorten(part, look.width) for part in (line, best)]
    return "\n".join([look.style(shown[0], "green"), shown[1]])


def _settings(ctx: click.Context) -> Settings:
    from commonplace import config

    return config.load(Path(session.root_for_settings(ctx)), agent=session.agent(ctx))


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


NONE = "none"


@command("use")
@click.argument("name", metavar="PROVIDER[/MODEL]")
@option("--model", help="The model, as its provider calls it.")
@option("--dimensions", type=int, metavar="N", help="Shorter vectors, where the model can.")
@option("--base-url", metavar="URL", help="The address of the server.")
@option("--path", metavar="PATH", help="The file or folder of a local model.")
@option("--key-file", metavar="FILE", help="A file with the provider's key.")
@option("--keyring", metavar="NAME", help="The entry of the system keyring with that key.")
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
    path: str | None,
    key_file: str | None,
    keyring: str | None,
    llm: bool,
    no_test: bool,
    sync: bool,
) -> None:
    """Use another model from now on: it is fetched if need be, tried, and then set in your own file.

    A model that does not answer changes nothing. What belonged to the former provider (its model, address,
    path and key) is removed. `none` and `builtin` can be used as well.
    """
    flags = {"model": model, "base_url": base_url, "path": path, "key_file": key_file, "keyring": keyring}
    if llm:
        if sync or dimensions is not None:
            raise click.UsageError("--llm goes with neither --sync nor --dimensions", ctx)
        _use_llm(ctx, name, flags, trying=not no_test)
        return
    from commonplace.providers import selection

    settings = _of_files(ctx, "EMBEDDING")
    chosen = selection.select(name, settings.embedding, {**flags, "dimensions": dimensions})
    if chosen.provider != NONE:
        session.write(_lacking(chosen) if no_test else _try(session.root_for_settings(ctx), chosen))
        if host := _elsewhere(chosen):
            session.write(f"the text of your notes goes to {host}, secrets redacted")
    chosen, meanwhile = selection.keep_former(settings.embedding, chosen)
    names = ("provider", *selection.OWN["embedding"], "fallback")
    _write(ctx, "embedding", settings.embedding, chosen, names)
    _say_what_follows(ctx, chosen, meanwhile, sync=sync)


def _use_llm(ctx: click.Context, name: str, flags: Mapping[str, object], *, trying: bool) -> None:
    from commonplace.providers import selection

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
    from commonplace.providers import downloads, opening, probe

    spec = opening.specs(chosen)[0]
    if downloads.is_missing(spec):
        fetched = fetch(spec)
        session.write(f"fetched {screen.size(fetched.bytes)} into {screen.one_line(fetched.place)}")
    with accounts(root) as own:
        tried = probe.embedder(spec, chosen, own)
    if tried.trouble:
        raise _refused("embedding", tried)
    name = screen.one_line("/".join(filter(None, (tried.provider, tried.model))))
    about = f"{tried.dimensions} dimensions, {scripts(tried.scripts)}"
    return f"{name} answers in {tried.seconds * 1000:,.0f} ms: {about}"


def _elsewhere(chosen: Embedding) -> str:
    """The host that texts are sent to, empty if they stay on this machine."""
    from urllib.parse import urlsplit

    from commonplace.providers import http, opening
    from commonplace.providers.catalog import EMBEDDERS

    row = EMBEDDERS.find(opening.choose(chosen).provider)
    host = urlsplit(chosen.base_url or row.base_url).hostname or ""
    return "" if not host or http.is_loopback(host) else screen.one_line(host)


def _lacking(chosen: Embedding) -> str:
    """Say what a model that was not tried still needs; empty where it can be made."""
    from commonplace.providers import opening
    from commonplace.providers.catalog import EMBEDDERS

    try:
        EMBEDDERS.create(opening.specs(chosen)[0])
    except CommonplaceError as error:
        failures.warn(f"it cannot be used yet: {error}")
    return ""


def _refused(table: str, tried: Trial) -> ConfigError:
    mends = f"; {tried.remedy}" if tried.remedy and tried.remedy not in tried.trouble else ""
    return ConfigError(f"{table}.provider", f"not changed, since it does not answer: {tried.trouble}{mends}")


def _of_files(ctx: click.Context, table: str) -> Settings:
    """The settings as files have them: what a variable says would not stand in the file that is written."""
    from commonplace import config

    prefix = f"COMMONPLACE_{table}_"
    environ = {name: value for name, value in os.environ.items() if not name.startswith(prefix)}
    return config.load(session.root_for_settings(ctx), environ, agent=session.agent(ctx))


def _write(
    ctx: click.Context, table: str, former: Embedding | Llm, chosen: Embedding | Llm, names: Collection[str]
) -> None:
    """Write what has changed to the user's file, and say so if something stronger decides all the same.

    What an agent is to have unset is written as its default: the tables of everybody would decide otherwise.
    """
    from commonplace import config
    from commonplace.config import keys, loading

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
    for name in names:
        stronger = loaded.origins.get(f"{table}.{name}", "")
        differs = getattr(getattr(loaded.settings, table), name) != getattr(chosen, name)
        if stronger not in ("", place) and (not agent or differs):
            failures.warn(f"{table}.{name} is set by {stronger} all the same, which is stronger")


def _say_what_follows(ctx: click.Context, settings: Embedding, meanwhile: str, *, sync: bool) -> None:
    """Say what a sync will take and what answers until then, or do it."""
    from commonplace.base.errors import WorkspaceNotFound

    try:
        memory = session.open_memory(ctx)
    except WorkspaceNotFound:
        return
    if settings.provider == NONE and not sync:
        session.write("full text alone answers from now on; vectors that are there stay")
        return
    if sync:
        if meanwhile:
            session.note(meanwhile)
        from commonplace.cli import index

        index.tell(index.run(memory), "text")
        return
    from commonplace.memory import estimate

    try:
        with progress.shown() as shown:
            found = estimate(memory, progress=shown)
    except CommonplaceError as error:
        failures.warn(f"what a sync takes is not known ({error})")
        return
    for message in found.warnings:
        failures.warn(message)
    if found.model != NONE and not found.texts:
        session.write("every passage has its vector; there is nothing to embed")
    elif found.model != NONE:
        session.write(f"next: `commonplace sync`: {reports.estimate_text(found)}")
        if meanwhile:
            session.write(f"meanwhile: {screen.one_line(meanwhile)}")


def fetch(spec: Spec) -> Fetched:
    """Fetch a model with a bar on the terminal; stopped, say that another attempt goes on from there."""
    from commonplace.providers import downloads

    try:
        with progress.shown() as shown:
            return downloads.fetch(spec, lambda done, total: shown("MB", done // 10**6, total // 10**6))
    except KeyboardInterrupt:
        failures.warn("interrupted; run it again, it goes on from there")
        raise


def spec_of(name: str, settings: Embedding) -> Spec:
    """Return the specification of `PROVIDER[/MODEL]`, with address and key of settings that name it."""
    from commonplace.providers import opening
    from commonplace.providers.catalog import Spec

    provider, _, model = name.partition("/")
    active = opening.specs(settings)[0]
    if active.provider == provider:
        return replace(active, model=model or active.model)
    return Spec(provider, model)


def llm_spec_of(provider: str, settings: Llm) -> Spec:
    """Return the specification of a provider of language models, as `spec_of` does."""
    from commonplace.config import credentials
    from commonplace.providers.catalog import Spec

    if provider != settings.provider:
        return Spec(provider)
    key = credentials.named(settings.key_file, settings.keyring, "llm")
    return Spec(provider, settings.model, settings.base_url, key=key)


@contextmanager
def accounts(root: Path) -> Iterator[Accounts]:
    """Lend what records and caps the calls of a trial."""
    from commonplace.base.paths import Workspace
    from commonplace.providers.costs import Accounts

    with closing(Accounts(Workspace(root))) as found:
        yield found


def try_llm(root: Path, settings: Settings) -> Trial | None:
    """Try the language model of the settings, if there is one."""
    from commonplace.base.paths import Workspace
    from commonplace.providers import probe

    return probe.llm(Workspace(root), settings)


def scripts(names: Collection[str]) -> str:
    """Return the scripts that a model serves, in a fixed order."""
    return ", ".join(sorted(names, reverse=True))


def trouble_lines(trouble: str, remedy: str, look: Look) -> list[str]:
    """Return the lines below a model that did not answer: why, and what mends it."""
    lines = [("    ", trouble)] if trouble else []
    if remedy and remedy not in trouble:
        lines.append((f"    {look.style('→', 'cyan')} ", remedy))
    shown = []
    for lead, text in lines:
        line = screen.one_line(text)
        width = None if look.width is None else look.width - 6
        for number, (start, end) in enumerate(screen.rows(line, width) if width else [(0, len(line))]):
            shown.append((lead if not number else "      ") + line[start:end])
    return shown


models = Group(
    "models",
    commands=(list_, pull, use, test),
    help="List, fetch, choose and try models.",
)
