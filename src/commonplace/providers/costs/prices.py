"""What a call costs, from a table that ships and one of the owner's.

Money is counted in billionths of a US dollar, so that sums of many small calls are exact.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from pathlib import Path

from commonplace.base import paths
from commonplace.base.errors import CommonplaceError, ConfigError

SHIPPED = Path(__file__).with_name("prices.toml")
FILE = "prices.toml"
NANO = 1_000_000_000  # of a dollar
# A dated or numbered version of a model costs what the model costs.
_VERSION = re.compile(r"[-@:](?:\d{4,}[\d-]*|\d{3}|latest|preview(?:-[\d-]+)?)")


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices in billionths of a dollar per million tokens, in and out, by provider and model.

    `batches` are the percents of the price that batches of a provider cost, all of it where none are known.
    """

    free: frozenset[str]
    models: Mapping[tuple[str, str], tuple[int, int]]
    batches: Mapping[str, int] = field(default_factory=dict)

    def cost(
        self, provider: str, model: str, tokens_in: int, tokens_out: int = 0, *, batched: bool = False
    ) -> int | None:
        """Return what a call costs in billionths of a dollar, rounded up, or None where no price is known."""
        if provider in self.free:
            return 0
        names = [model] if (provider, model) in self.models else []
        names = names or [
            name
            for owner, name in self.models
            if owner == provider and model.startswith(name) and _VERSION.fullmatch(model[len(name) :])
        ]
        if not names:
            return None
        price_in, price_out = self.models[provider, max(names, key=len)]
        percent = self.batches.get(provider, 100) if batched else 100
        return -(-(tokens_in * price_in + tokens_out * price_out) * percent // 100_000_000)


def load(environ: Mapping[str, str] | None = None) -> Prices:
    """Read the prices that ship and the owner's over them. Raises ConfigError, naming the file."""
    shipped = _shipped()
    own = paths.user_config_dir(environ) / FILE
    if not own.exists():
        return shipped
    mine = _read(own)
    return Prices(
        shipped.free | mine.free, {**shipped.models, **mine.models}, {**shipped.batches, **mine.batches}
    )


@cache
def _shipped() -> Prices:
    return _read(SHIPPED)


def _read(path: Path) -> Prices:
    try:
        content = tomllib.loads(
            paths.read_contained(path, [path.resolve().parent]).decode("utf-8-sig"), parse_float=Decimal
        )
    except (CommonplaceError, ValueError) as error:
        raise ConfigError(paths.shown(path), f"not readable: {str(error).splitlines()[0]}") from error
    free = content.pop("free", [])
    if not isinstance(free, list) or not all(isinstance(name, str) for name in free):
        raise ConfigError(paths.shown(path), "free must be a list of providers")
    batches = content.pop("batches", {})
    percents = batches.values() if isinstance(batches, dict) else [None]
    if not all(type(percent) is int and 0 <= percent <= 100 for percent in percents):
        raise ConfigError(paths.shown(path), "batches must be a table of percents, 0 to 100, by provider")
    models = {}
    for provider, table in content.items():
        if not isinstance(table, Mapping):
            raise ConfigError(paths.shown(path), f"{paths.shown(provider)} must be a table of models")
        for model, price in table.items():  # { in = 0.4, out = 1.6 }
            whole = isinstance(price, Mapping) and price.keys() == {"in", "out"}
            if not whole or not all(map(_is_price, price.values())):
                name = paths.shown(f'{provider}."{model}"')
                raise ConfigError(paths.shown(path), f"{name} must be {{ in = DOLLARS, out = DOLLARS }}")
            # Dollars per million tokens, times a billion: exact for any price of nine places.
            models[provider, model] = int(Decimal(price["in"]) * NANO), int(Decimal(price["out"]) * NANO)
    return Prices(frozenset(free), models, batches)


def _is_price(value: object) -> bool:
    if not isinstance(value, int | Decimal) or isinstance(value, bool):
        return False
    return Decimal(value).is_finite() and 0 <= value < 1_000_000
