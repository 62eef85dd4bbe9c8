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
from typing import Any

from commonplace import paths
from commonplace.errors import CommonplaceError, ConfigError

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
        found = self._of(provider, model)
        if found is None:
            return None
        price = tokens_in * found[0] + tokens_out * found[1]
        percent = self.batches.get(provider, 100) if batched else 100
        return -(-price * percent // 100_000_000)

    def _of(self, provider: str, model: str) -> tuple[int, int] | None:
        if (provider, model) in self.models:
            return self.models[provider, model]
        bases = [
            name
            for owner, name in self.models
            if owner == provider and model.startswith(name) and _VERSION.fullmatch(model[len(name) :])
        ]
        return self.models[provider, max(bases, key=len)] if bases else None


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
    if not isinstance(batches, dict) or not all(map(_is_percent, batches.values())):
        raise ConfigError(paths.shown(path), "batches must be a table of percents, 0 to 100, by provider")
    models = {
        (provider, model): _price(price, f'{provider}."{model}"', path)
        for provider, table in content.items()
        for model, price in _table(table, provider, path).items()
    }
    return Prices(frozenset(free), models, batches)


def _table(value: object, name: str, path: Path) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(paths.shown(path), f"{paths.shown(name)} must be a table of models")
    return value


def _price(value: object, name: str, path: Path) -> tuple[int, int]:
    """Read `{ in = 0.4, out = 1.6 }`."""
    if isinstance(value, Mapping) and value.keys() == {"in", "out"} and all(map(_is_price, value.values())):
        # Dollars per million tokens, times a billion: exact for any price of nine places.
        return int(Decimal(value["in"]) * NANO), int(Decimal(value["out"]) * NANO)
    raise ConfigError(paths.shown(path), f"{paths.shown(name)} must be {{ in = DOLLARS, out = DOLLARS }}")


def _is_percent(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 100


def _is_price(value: object) -> bool:
    if not isinstance(value, int | Decimal) or isinstance(value, bool):
        return False
    return Decimal(value).is_finite() and 0 <= value < 1_000_000
