"""`models list|pull|use|test`: which models there are and can be used here, and trying them for real."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace import render, screen
from commonplace.cli import rerankers, selecting, session
from commonplace.cli.failures import ERROR
from commonplace.cli.groups import Group
from commonplace.cli.options import command, format_option, option
from commonplace.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from commonplace.cli.providers import Listed
    from commonplace.config import Settings
    from commonplace.embedding.base import Spec
    from commonplace.embedding.downloads import Fetched
    from commonplace.embedding.offers import Offer
    from commonplace.embedding.trial import Trial
    from commonplace.llm.trial import Trial as LlmTrial
    from commonplace.reranking.trial import Trial as RerankerTrial
    from commonplace.screen import Look

_WIDE = 100  # cells; below this, how long vectors are is left out
_MARKS = {"active": "*", "stands in": "+", "": " "}
_STATE_CELLS = 34
_FIGURES_CELLS = 46  # beside the name of a model that was tried
_CODES = {"multi": "many", "chinese": "zh", "english": "en"}


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
    found = [row for row in providers.listed(settings) if not llm or row.kind == "llm"]
    if form == "json":
        session.write(render.to_json([asdict(row) for row in found]))
        return
    titles = {"embedding": "embedding", "reranking": "rerankers", "llm": "language models"}
    kinds = ("llm",) if llm else tuple(titles)
    blocks = [_providers(titles[kind], [row for row in found if row.kind == kind], look) for kind in kinds]
    session.write("\n\n".join(blocks))
    session.note("\n* active  + stands in; `commonplace models list PROVIDER` lists its models")


def _providers(title: str, rows: Sequence[Listed], look: Look) -> str:
    lines = screen.table([(f"{_MARKS[row.role]} {row.name}", _state(row, look), row.about) for row in rows])
    shown = [look.style(title, "bold")]
    for row, line in zip(rows, lines, strict=True):
        cut = line if look.width is None else screen.shorten(line, look.width)
        shown.append(look.style(cut, "green") if row.role == "active" and row.ready else cut)
        if row.role and row.remedy:
            shown.append(f"    {look.style('→', 'cyan')} {row.remedy}")
    return "\n".join(shown)


def _state(row: Listed, look: Look) -> str:
    state = screen.one_line(row.state)
    return state if look.width is None else screen.shorten(state, _STATE_CELLS)


def _list_models(provider: str, settings: Settings, form: str, look: Look, *, llm: bool) -> None:
    from commonplace.config import keys
    from commonplace.embedding import registry
    from commonplace.llm import registry as llms

    if provider not in registry.PROVIDERS and provider not in llms.PROVIDERS:
        near = keys.near(provider, {*registry.PROVIDERS, *llms.PROVIDERS})
        raise ConfigError("models", f"unknown provider {keys.quoted(provider)}{near}")
    if llm or provider not in registry.PROVIDERS:
        _list_language_models(provider, settings, form)
        return
    from commonplace.embedding import configured, offers

    spec = selecting.spec_of(provider, settings.embedding)
    found = offers.offers(spec)
    active = configured.specs(settings.embedding._replace(key_file="", keyring=""))[0]
    chosen = (active.model or registry.PROVIDERS[provider].model) if active.provider == provider else ""
    if form == "json":
        session.write(render.to_json([{**asdict(one), "active": one.model == chosen} for one in found]))
    elif not found:
        session.write(f"{provider} has no models to choose from")
    else:
        session.write(_offers(found, chosen, look))
        session.note("\n* active  + suggested  = here; `commonplace models use " + provider + "/MODEL`")


def _list_language_models(provider: str, settings: Settings, form: str) -> None:
    from commonplace.llm.offers import offers

    found = offers(selecting.llm_spec_of(provider, settings.llm))
    chosen = settings.llm.model if settings.llm.provider == provider else ""
    if form == "json":
        session.write(render.to_json([{"model": name, "active": name == chosen} for name in found]))
    elif not found:
        session.write(f"{screen.one_line(provider)} has no models to choose from")
    else:
        session.write("\n".join(f"{'*' if n == chosen else ' '} {screen.one_line(n)}" for n in found))


def _offers(found: Iterable[Offer], chosen: str, look: Look) -> str:
    wide = look.width is None or look.width >= _WIDE
    lines = screen.table([_offer(one, chosen, wide=wide) for one in found], right=(1, 2) if wide else (1,))
    return "\n".join(line if look.width is None else screen.shorten(line, look.width) for line in lines)


def _offer(one: Offer, chosen: str, *, wide: bool) -> tuple[str, ...]:
    flags = ((one.model == chosen, "*"), (one.suggested, "+"), (one.here, "="))
    marks = "".join(mark if flag else " " for flag, mark in flags)
    name = f"{marks} {screen.one_line(one.model)}"
    size = screen.size(one.bytes) if one.bytes else ""
    about = screen.one_line(one.languages or one.about)
    return (name, size, str(one.dimensions or ""), about) if wide else (name, size, _brief(about))


def _brief(languages: str) -> str:
    """The languages of a model in a few cells, for a narrow terminal."""
    found = [code for word, code in _CODES.items() if word in languages.lower()]
    return " ".join(found) or languages


@command("pull")
@click.argument("name", metavar="[PROVIDER/]MODEL")
@click.pass_context
def pull(ctx: click.Context, name: str) -> None:
    """Fetch a model of fastembed (a reranker too), or (ollama/MODEL) let an Ollama server fetch one.

    Stopped with Ctrl-C, it goes on from there the next time. This is the one command that downloads models.
    """
    settings = _settings(ctx)
    spec = _pullable(name, settings)
    session.write(_fetched(rerankers.pulled(spec) or selecting.fetch(spec)))


def _pullable(name: str, settings: Settings) -> Spec:
    """What a name to pull means: the model of a provider, or one of fastembed's by itself."""
    from commonplace.embedding import registry
    from commonplace.embedding.base import Spec

    provider, _, model = name.partition("/")
    if provider not in registry.PROVIDERS:
        return Spec("fastembed", name)
    model = model or registry.PROVIDERS[provider].model
    if provider != "ollama":
        return Spec(provider, model)
    address = settings.llm.base_url if settings.llm.provider == "ollama" else ""
    spec = selecting.spec_of(f"ollama/{model}", settings.embedding)
    return spec if spec.base_url else Spec("ollama", model, base_url=address)


def _fetched(fetched: Fetched) -> str:
    size = f"{screen.size(fetched.bytes)} " if fetched.bytes else ""
    done = "is there already:" if fetched.before else "fetched:"
    where = "on" if "://" in fetched.place else "in"
    return f"{screen.one_line(fetched.model)} {done} {size}{where} {screen.one_line(fetched.place)}"


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
        ranked = rerankers.tried(session.root_for_settings(ctx), settings, needed=reranker)
    if form == "json":
        session.write(_all_data(tried, asked, ranked))
    else:
        session.write(_all_told(tried, asked, ranked, session.look(settings)))
    if any(one.trouble for one in (*tried[:1], asked, ranked) if one):
        ctx.exit(ERROR)


def _all_data(tried: Sequence[Trial], asked: LlmTrial | None, ranked: RerankerTrial | None) -> str:
    data = {
        "embedding": [_data(one) for one in tried],
        "llm": _data(asked) if asked else None,
        "reranking": rerankers.data(ranked) if ranked else None,
    }
    return render.to_json(data)


def _all_told(
    tried: Sequence[Trial], asked: LlmTrial | None, ranked: RerankerTrial | None, look: Look
) -> str:
    shown = [_table(tried, asked, look), rerankers.told(ranked, look) if ranked else ""]
    return "\n".join(filter(None, shown)) or "no model is set, and nothing needs one"


def _tried(
    ctx: click.Context, name: str | None, settings: Settings, *, llm: bool
) -> tuple[Sequence[Trial], LlmTrial | None]:
    from commonplace.embedding import trial

    root = session.root_for_settings(ctx)
    if llm:
        from commonplace.llm.selection import select as select_llm

        chosen = select_llm(name, settings.llm) if name else settings.llm
        if chosen.provider == "none":
            raise ConfigError("llm.provider", "no language model is set; `commonplace models use --llm` does")
        return (), selecting.try_llm(root, settings._replace(llm=chosen))
    accounts = selecting.accounts(root, settings.embedding)
    if name is None:
        tried = trial.attempts(settings.embedding, accounts, measure=True)
        return tried, selecting.try_llm(root, settings)
    from commonplace.embedding.selection import select

    chosen_one = select(name, settings.embedding)._replace(fallback=())
    return trial.attempts(chosen_one, accounts, measure=True)[:1], None


def _data(one: Trial | LlmTrial) -> dict[str, object]:
    data = {**asdict(one), "answered": one.answered, "seconds": round(one.seconds, 4)}
    if "scripts" in data:
        data["scripts"] = sorted(data["scripts"], reverse=True)
        data["texts_per_s"] = round(data["texts_per_s"], 1)
    return data


def _table(tried: Sequence[Trial], asked: LlmTrial | None, look: Look) -> str:
    """A line a model; what went wrong below it, with its remedy."""
    width = None if look.width is None else look.width - _FIGURES_CELLS
    rows = [_row(one, width, str(one.dimensions or ""), one.scripts, one.texts_per_s) for one in tried]
    rows += [_row(asked, width)] if asked else []
    if not rows:
        return ""
    head = ("model", "answered", "dims", "scripts", "ms", "texts/s")
    lines = screen.table([head, *rows], right=(2, 4, 5))
    shown = [look.style(lines[0], "dim")]
    everyone: list[Trial | LlmTrial] = [*tried, *([asked] if asked else [])]
    for one, line in zip(everyone, lines[1:], strict=True):
        shown.append(look.style(line, "green" if one.answered else "red"))
        shown += selecting.told_trouble(one.trouble, one.remedy, look)
    return "\n".join(shown)


def _row(
    one: Trial | LlmTrial,
    width: int | None,
    dimensions: str = "",
    scripts: Collection[str] = (),
    speed: float = 0.0,
) -> tuple[str, ...]:
    answered = "yes" if one.answered else "no"
    told = f"{one.seconds * 1000:,.0f}"
    name = screen.one_line("/".join(filter(None, (one.provider, one.model))))
    return (
        name if width is None else screen.shorten(name, width),
        answered,
        dimensions,
        selecting.scripts(scripts),
        told,
        f"{speed:,.0f}" if speed else "",
    )


def _settings(ctx: click.Context) -> Settings:
    from commonplace import config

    return config.load(Path(session.root_for_settings(ctx)), agent=session.agent(ctx))


models = Group(
    "models",
    commands=(list_, pull, selecting.use, test),
    help="List, fetch, choose and try models.",
)
