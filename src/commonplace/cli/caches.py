"""`cache stats|clear`: what is kept of models' answers for all workspaces, and forgetting it."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from commonplace import render, screen
from commonplace.cli import session
from commonplace.cli.groups import Group
from commonplace.cli.options import command, format_option, option

if TYPE_CHECKING:
    from commonplace.embedding.cache import VectorCache
    from commonplace.llm.cache import Cache

# `openai-1:text-embedding-3-small:full:0123456789ab`, with `@host:port` behind the provider of some.
_FINGERPRINT = re.compile(r"(?P<provider>\w+)-\d+(?:@(?P<place>[^\s/]+?:\d+))?:(?P<model>.+):[^:]+:[0-9a-f]+")
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Kept:
    """A cache as it is told: its name, its file, how many entries and bytes, what bounds it, by model.

    `limit` is in words; `oldest` a date, empty where nothing is kept.
    """

    cache: str
    path: str
    entries: int
    bytes: int
    limit: str
    oldest: str
    models: Mapping[str, int]


def _which(vectors: bool, answers: bool) -> tuple[bool, bool]:
    return (vectors, answers) if vectors or answers else (True, True)


@command("stats")
@option("--vectors", is_flag=True, help="The vectors of models behind a server alone.")
@option("--answers", is_flag=True, help="The answers of language models alone.")
@format_option(("text", "json"))
@click.pass_context
def stats(ctx: click.Context, vectors: bool, answers: bool, form: str) -> None:
    """Show what is kept of models' answers: how much, what bounds it, from which models.

    Both are kept for all workspaces of yours, by a hash of what was asked, which is not in them.
    """
    wanted = _which(vectors, answers)
    found = [told for told, take in zip((_vectors, _answers), wanted, strict=True) if take]
    kept = [tell(ctx) for tell in found]
    if form == "json":
        session.write(render.to_json([_data(one) for one in kept]))
    else:
        session.write("\n\n".join(map(_shown, kept)))


@command("clear")
@option("--vectors", is_flag=True, help="The vectors of models behind a server alone.")
@option("--answers", is_flag=True, help="The answers of language models alone.")
@option("--yes", is_flag=True, help="Do not ask, which happens on a terminal alone.")
@format_option(("text", "json"))
@click.pass_context
def clear(ctx: click.Context, vectors: bool, answers: bool, yes: bool, form: str) -> None:
    """Forget what is kept of models' answers; what is needed again is asked, and paid for, again.

    Indexes keep the vectors that they have. A program that uses a cache meanwhile goes on with it.
    """
    of_vectors, of_answers = _which(vectors, answers)
    if session.is_terminal(sys.stdin) and not yes:
        kept = [tell(ctx) for tell, take in ((_vectors, of_vectors), (_answers, of_answers)) if take]
        told = " and ".join(render.count(one.entries, one.cache.removesuffix("s")) for one in kept)
        click.confirm(f"Forget {told}?", abort=True, err=True)
    gone = {}
    if of_vectors:
        gone["vectors"] = _vector_cache(ctx).clear()
    if of_answers:
        gone["answers"] = _answer_cache().clear()
    if form == "json":
        session.write(render.to_json(gone))
    else:
        went = " and ".join(render.count(count, name.removesuffix("s")) for name, count in gone.items())
        session.write(f"forgot {went}")


def _vectors(ctx: click.Context) -> Kept:
    cache = _vector_cache(ctx)
    found = cache.stats()
    cache.close()
    limit = f"at most {render.count(found.limit, 'entry')}".replace("entrys", "entries")
    models: dict[str, int] = {}
    for fingerprint, count in found.models.items():
        name = _model(fingerprint)
        models[name] = models.get(name, 0) + count
    return Kept("vectors", cache.path, found.entries, found.bytes, limit, _date(found.oldest_s), models)


def _answers(ctx: click.Context) -> Kept:
    cache = _answer_cache()
    found = cache.stats()
    cache.close()
    limit = f"at most {screen.size(found.limit)} and {found.max_age_s / _DAY_S:.0f} days"
    path = str(cache.path)
    return Kept("answers", path, found.entries, found.bytes, limit, _date(found.oldest_s), found.models)


def _vector_cache(ctx: click.Context) -> VectorCache:
    from commonplace import config, paths
    from commonplace.embedding.cache import VectorCache

    settings = config.load(session.root_for_settings(ctx), agent=session.agent(ctx))
    return VectorCache(str(paths.user_cache_dir() / "vectors.sqlite"), settings.embedding.cache_entries)


def _answer_cache() -> Cache:
    from commonplace.llm.cache import Cache

    return Cache()


def _model(fingerprint: str) -> str:
    """The model that a fingerprint tells of, as settings name it; the fingerprint itself if none."""
    found = _FINGERPRINT.fullmatch(fingerprint)
    if found is None:
        return fingerprint
    place = f" at {found['place']}" if found["place"] else ""
    return f"{found['provider']}/{found['model']}{place}"


def _date(moment: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(moment)) if moment else ""


def _data(kept: Kept) -> dict[str, object]:
    from dataclasses import asdict

    return asdict(kept)


def _shown(kept: Kept) -> str:
    size = screen.size(kept.bytes)
    rows = [(kept.cache, f"{kept.entries:,} in {size}, {kept.limit}"), ("file", screen.one_line(kept.path))]
    if kept.oldest:
        rows.append(("oldest", kept.oldest))
    rows += [("model" if not n else "", told) for n, told in enumerate(_by_model(kept.models))]
    return "\n".join(screen.table(rows))


def _by_model(models: Mapping[str, int]) -> list[str]:
    ordered = sorted(models.items(), key=lambda pair: (-pair[1], pair[0]))
    return screen.table([(screen.one_line(n) or "-", f"{count:,}") for n, count in ordered], right=(1,))


cache = Group("cache", commands=(stats, clear), help="Show and clear what is kept of models' answers.")
