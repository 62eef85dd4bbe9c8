"""`models use`: another model tried, then set, with what a sync will take and what answers until then."""

from __future__ import annotations

import os
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.cli import failures, progress, session
from commonplace.cli.options import command, option
from commonplace.render import reports, screen

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from commonplace.config import Settings
    from commonplace.config.settings import Embedding, Llm
    from commonplace.providers.costs import Accounts
    from commonplace.providers.downloads import Fetched
    from commonplace.providers.probe import Trial
    from commonplace.providers.spec import Spec
    from commonplace.render.screen import Look

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
    from commonplace.providers.spec import Spec

    provider, _, model = name.partition("/")
    active = opening.specs(settings)[0]
    if active.provider == provider:
        return replace(active, model=model or active.model)
    return Spec(provider, model)


def llm_spec_of(provider: str, settings: Llm) -> Spec:
    """Return the specification of a provider of language models, as `spec_of` does."""
    from commonplace.config import credentials
    from commonplace.providers.spec import Spec

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
