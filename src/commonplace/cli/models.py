"""`models list|pull|use|test`: which models there are and can be used here, and trying them for real."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace import render
from commonplace.base.errors import ConfigError
from commonplace.cli import selecting, session
from commonplace.cli.failures import ERROR
from commonplace.cli.options import Group, command, format_option, option
from commonplace.render import screen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.cli.providers import Listed
    from commonplace.config import Settings
    from commonplace.providers.downloads import Offer
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
    from commonplace.cli import providers

    settings = _settings(ctx)
    look = session.look(settings)
    if provider is not None:
        _list_models(provider, settings, form, look, llm=llm)
        return
    rows = [row for row in providers.listed(settings) if not llm or row.kind == "llm"]
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
    if llm or provider not in EMBEDDERS.rows:
        names = downloads.llm_offers(selecting.llm_spec_of(provider, settings.llm))
        chosen = settings.llm.model if settings.llm.provider == provider else ""
        data: list[dict[str, object]] = [{"model": name, "active": name == chosen} for name in names]
        lines = [f"{'*' if name == chosen else ' '} {screen.one_line(name)}" for name in names]
    else:
        models = downloads.offers(selecting.spec_of(provider, settings.embedding))
        active = opening.specs(settings.embedding._replace(key_file="", keyring=""))[0]
        chosen = (active.model or EMBEDDERS.rows[provider].model) if active.provider == provider else ""
        data = [{**asdict(one), "active": one.model == chosen} for one in models]
        wide = look.width is None or look.width >= _WIDE
        cells = [_offer(one, chosen, wide=wide) for one in models]
        lines = screen.table(cells, right=(1, 2) if wide else (1,))
        lines = [line if look.width is None else screen.shorten(line, look.width) for line in lines]
    if form == "json":
        session.write(render.to_json(data))
    elif not lines:
        session.write(f"{screen.one_line(provider)} has no models to choose from")
    else:
        session.write("\n".join(lines))
        if not llm and provider in EMBEDDERS.rows:
            use = f"`commonplace models use {provider}/MODEL`"
            session.note(f"\n* active  + suggested  = here; {use}")


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
    from commonplace.providers.catalog import EMBEDDERS
    from commonplace.providers.spec import Spec

    settings = _settings(ctx)
    # The model of a provider, or one of fastembed's by itself.
    provider, _, model = name.partition("/")
    spec = Spec("fastembed", name)
    if provider in EMBEDDERS.rows:
        spec = Spec(provider, model or EMBEDDERS.rows[provider].model)
    if provider == "ollama":
        named = selecting.spec_of(f"ollama/{spec.model}", settings.embedding)
        address = settings.llm.base_url if settings.llm.provider == "ollama" else ""
        spec = named if named.base_url else Spec("ollama", spec.model, address)
    fetched = selecting.fetch(spec)
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
    ranked = None
    if reranker or not (name or llm):
        from commonplace.providers import probe

        with selecting.accounts(session.root_for_settings(ctx)) as accounts:
            ranked = probe.reranker(settings, accounts)
        if ranked is None and reranker:
            remedy = "`commonplace config set reranking.provider NAME` sets one"
            raise ConfigError("reranking.provider", f"no reranker is set; {remedy}")
    if form == "json":
        data = {
            "embedding": [_data(one, "embedding") for one in tried],
            "llm": _data(asked, "llm") if asked else None,
            "reranking": _data(ranked, "reranking") if ranked else None,
        }
        session.write(render.to_json(data))
    else:
        look = session.look(settings)
        shown = [_table(tried, asked, look), _ranked(ranked, look) if ranked else ""]
        session.write("\n".join(filter(None, shown)) or "no model is set, and nothing needs one")
    if any(one.trouble for one in (*tried[:1], asked, ranked) if one):
        ctx.exit(ERROR)


def _tried(
    ctx: click.Context, name: str | None, settings: Settings, *, llm: bool
) -> tuple[Sequence[Trial], Trial | None]:
    from commonplace.providers import probe, selection

    root = session.root_for_settings(ctx)
    if llm:
        chosen = selection.select_llm(name, settings.llm) if name else settings.llm
        if chosen.provider == "none":
            raise ConfigError("llm.provider", "no language model is set; `commonplace models use --llm` does")
        return (), selecting.try_llm(root, settings._replace(llm=chosen))
    with selecting.accounts(root) as accounts:
        if name is None:
            tried = probe.embedders(settings.embedding, accounts, measure=True)
            return tried, selecting.try_llm(root, settings)
        other = selection.select(name, settings.embedding)._replace(fallback=())
        return probe.embedders(other, accounts, measure=True)[:1], None


def _data(one: Trial, kind: str) -> dict[str, object]:
    data = {name: getattr(one, name) for name in _FIELDS[kind].split()}
    data |= {"answered": one.answered, "seconds": round(one.seconds, 4)}
    if kind == "embedding":
        data |= {"scripts": sorted(one.scripts, reverse=True), "texts_per_s": round(one.texts_per_s, 1)}
    if kind == "reranking":
        data["scores"] = [round(score, 4) for score in one.scores]
    return data


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
        about = (str(one.dimensions or ""), selecting.scripts(one.scripts), f"{one.seconds * 1000:,.0f}")
        rows.append((name, answered, *about, speed))
    lines = screen.table(rows, right=(2, 4, 5))
    shown = [look.style(lines[0], "dim")]
    for one, line in zip(everyone, lines[1:], strict=True):
        shown.append(look.style(line, "green" if one.answered else "red"))
        shown += selecting.trouble_lines(one.trouble, one.remedy, look)
    return "\n".join(shown)


def _ranked(one: Trial, look: Look) -> str:
    """A few lines on a reranker that was tried: the scores, and the text that won."""
    name = screen.one_line("/".join(filter(None, (one.provider, one.model))))
    if not one.answered:
        lines = [look.style(f"reranker {name} does not answer", "red")]
        return "\n".join(lines + selecting.trouble_lines(one.trouble, one.remedy, look))
    scores = " ".join(f"{score:.2f}" for score in one.scores)
    line = f"reranker {name} answers in {one.seconds * 1000:,.0f} ms: {scores}"
    best = f'    best: "{screen.shorten(one.best, _BEST_CELLS)}"'
    shown = [part if look.width is None else screen.shorten(part, look.width) for part in (line, best)]
    return "\n".join([look.style(shown[0], "green"), shown[1]])


def _settings(ctx: click.Context) -> Settings:
    from commonplace import config

    return config.load(Path(session.root_for_settings(ctx)), agent=session.agent(ctx))


models = Group(
    "models",
    commands=(list_, pull, selecting.use, test),
    help="List, fetch, choose and try models.",
)
