"""The tables of secrets: what they look like and where they stand, from the providers' own documents.

For another kind, add a row to a file of `rules/` and a format to `tests/notes/planted.py`. Expressions are
ours, matched as ASCII. Every repetition but the last of a row has a bound, so that no text makes a row slow.
What follows the right prefix must also look made up: `shapes.is_made_up`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from commonplace.base.root import Root
from commonplace.base.tuples import NamedTuple

_FOLDER = Path(__file__).parent / "rules"


def _read(name: str) -> Iterator[list[str]]:
    """Yield the rows of a table as columns; `<NAME>` stands for the expression that a line above names so."""
    parts: dict[str, str] = {}  # by name, in angles
    for line in Root(_FOLDER).read(f"{name}.txt").decode("utf-8").splitlines():
        for part in parts if "<" in line else ():
            line = line.replace(part, parts[part])
        before, _, expression = line.partition(" = ")
        if before.isupper() and before.isalnum():
            parts[f"<{before}>"] = expression
        elif line[0] != "#":
            yield line.split("\t")


class Shape(NamedTuple):
    """Tokens that begin with one of the `prefixes`, set apart by blanks, and go on as `rest` says."""

    kind: str
    prefixes: str
    rest: str
    free: bool = False  # whether it may be all capitals: only its shape is checked


class Inside(NamedTuple):
    """Tokens known by a `mark` inside, with at most `before` characters before it; a group is the secret."""

    kind: str
    mark: str
    before: int
    expression: str


SHAPES = tuple(Shape(kind, prefixes, rest, bool(free)) for kind, prefixes, rest, *free in _read("shapes"))
INSIDE = tuple(Inside(kind, mark, int(before), found) for kind, mark, before, found in _read("inside"))
# Expressions behind :// in an address; the group is the secret.
ADDRESSES = tuple((kind, expression) for kind, expression in _read("addresses"))
# Secrets in a fixed place behind a word: kind, word in lower case, expression of which the group is the
# secret, what stands before the word.
PLACES = tuple((kind, word, found, "".join(before)) for kind, word, found, *before in _read("places"))

# Services whose keys have no shape of their own: before "key" their name says that it is a secret.
SERVICES = frozenset(
    "abuseipdb ably adyen algolia amadeus amplitude anthropic apollo assemblyai auth0 aws azure baseten"
    " binance bing bitfinex braintree bybit chargebee clarifai clearbit cloudflare cloudinary codecov"
    " cohere coinbase coingecko coveralls dashscope datadog deepgram deepinfra deepl deepseek doubao"
    " dropbox elevenlabs etherscan exa fastly figma flickr freshdesk gemini giphy gitea gladia grafana"
    " groq helius heroku hetzner infura intercom ipinfo kimi kraken kucoin linode loggly mailchimp mailgun"
    " mapbox messagebird minimax mistral mixpanel moonshot nomic novita nytimes okta okx openai opencage"
    " openrouter openweather openweathermap opsgenie ovh pagerduty perplexity pexels pinecone plivo"
    " postmark pusher qdrant qiniu qwen rapidapi recurly rollbar scaleway sendbird sendgrid serpapi serper"
    " shodan siliconflow snyk spotify stytch sumologic supabase telnyx tmdb tomtom twilio twitch typesense"
    " unsplash upstash virustotal vonage vultr wandb weatherapi weaviate xai youtube zendesk zhipu"
    " zilliz".split()
)

# Lower-case words before a secret, and the kind of each.
WORDS = {
    "pass": "password",
    "pw": "password",
    "密码": "password",
    "密碼": "password",
    "口令": "password",
    "secret": "secret",
    "token": "token",
    "key": "key",
    "authorization": "",  # only with a place
    "令牌": "token",
    "密钥": "key",
    "密鑰": "key",
    "秘钥": "key",
    "私钥": "key",
}
# Words before "key" where it names a secret.
KEYS = tuple(
    "api access secret private auth signing encryption master account shared license app consumer deploy"
    " storage admin client webhook pass subscription recovery fernet session cookie cipher crypt hmac"
    " jwt".split()
)

# The word for "password" elsewhere, one row a language: the words, and what stands for "is" behind them.
PASSWORD_WORDS = {
    "cs": (("heslo",), "je"),
    "da": (("adgangskode",), "er"),
    "de": (("kennwort",), "ist|lautet"),
    "es": (("contraseña", "contrasena"), "es"),
    "fi": (("salasana",), "on"),
    "it": (("parola",), "è"),
    "ja": (("パスワード",), "は"),
    "ko": (("비밀번호",), "는|은"),
    "nl": (("wachtwoord",), "is"),
    "pl": (("hasło",), "to"),
    "pt": (("senha",), "é"),
    "ru": (("пароль",), "это"),
    "sv": (("lösenord",), "är"),
    "uk": (("пароль",), "це"),
}
