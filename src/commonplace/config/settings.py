"""The table of settings: a named tuple for each TOML table, a field for each key.

A field made by `_key` or `_own` can be set; one made by `_same` follows another setting; a plain value is
fixed. Named tuples, since a dataclass costs 0.8 ms at start.
"""

from __future__ import annotations

from functools import partial

from commonplace.base.tuples import NamedTuple
from commonplace.config import gone, providers

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Literal

    Kind = Literal["integer", "number", "boolean", "text", "texts", "names"]

WORKSPACE_COLLECTION = "memory"  # the workspace's own notes; no other collection may have this name
DEFAULT_GLOBS = ("**/*.md",)
EMBEDDERS = tuple(row.name for row in providers.EMBEDDERS)
RERANKERS = (*(row.name for row in providers.RERANKERS), providers.LLM)
AUTO = "auto"  # in place of a transcript's format: found in each file
# Formats of transcripts by name, with title and module, in the order of trial: the most explicit first.
TRANSCRIPTS = {
    "claude-code": ("Claude Code", "claude_code"),
    "codex": ("Codex", "codex"),
    "openclaw": ("OpenClaw", "openclaw"),
    "nanobot": ("nanobot", "nanobot"),
    "commonplace": ("commonplace", "ours"),
    "openai": ("OpenAI messages", "openai"),
    "chatgpt": ("ChatGPT export", "chatgpt"),
    "claude": ("Claude export", "claude"),
}
LAYERS = ("full", "snippet", "index")  # of hits: passages, some lines of each, references
CONVENTION = ("AGENTS.md", "SOUL.md", "USER.md")  # files of instructions for agents
ENGINES = ("commonplace", "qmd")  # that answer searches
TRUE, FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")  # of a boolean that is given as text
READERS = ("auto", "off", "local", "model", "llm")  # rerankers of the best hits
# Tools of agents that write and run, and those that read the network, as hosts name them.
OBSERVED = (
    "write", "edit", "multiedit", "notebookedit", "write_*", "edit_*", "create_*", "append_*", "delete_*",
    "move_*", "rename_*", "str_replace*", "apply_patch", "patch", "insert*", "bash", "exec", "exec_*",
    "execute", "execute_*", "shell", "shell_*", "local_shell", "run_*", "terminal", "powershell", "python",
    "code_interpreter",
)  # fmt: skip
NETWORK = (
    "webfetch", "websearch", "web_*", "browser*", "browse*", "fetch*", "http*", "*_fetch", "search_web",
)  # fmt: skip
_KINDS: Mapping[str, Kind] = {  # by annotations
    "int": "integer", "int | None": "integer", "float": "number", "float | None": "number", "bool": "boolean",
    "tuple[str, ...]": "texts",
}  # fmt: skip


class Key(NamedTuple):
    """One setting: default, description, limits or choices, and whether a workspace's file may set it."""

    default: object
    doc: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    harmless: bool = True
    group: str = ""  # an entry point group, whose names are choices as well
    kind: Kind = "text"
    name: str = ""  # dotted; from its table and field

    @property
    def variable(self) -> str:
        """The environment variable that sets it; empty for lists."""
        return "" if self.kind in ("texts", "names") else variable(self.name)

    @property
    def allowed(self) -> str:
        """The allowed values, in words."""
        if self.choices:
            return "one of " + ", ".join(filter(None, self.choices))
        words = {"integer": "an integer", "number": "a number", "boolean": "true or false"}
        limits = "" if self.low is None else f" from {self.low:.15g} to {self.high:.15g}"
        return words.get(self.kind, "a text" if self.kind == "text" else "a list of texts") + limits


def variable(name: str) -> str:
    """Return the environment variable of a dotted name."""
    return f"COMMONPLACE_{name.upper().replace('.', '_')}"


def _choice(choices: str, doc: str, *, harmless: bool = False, group: str = "") -> Any:  # noqa: ANN401
    """Return a setting with these choices, of which the first is the default."""
    names = tuple(choices.split())
    return Key(names[0], doc, choices=names, harmless=harmless, group=group)


# A setting for every file; one for the user's file, environment and flags; one that follows another.
_key: Any = Key
_own: Any = partial(Key, harmless=False)
_same: Any = str  # its name

_URL = _own("", "Address of the provider; empty: its own.")
_KEY = _own("", "File with its key; empty: its environment variable.")
_MODEL = _own("", "Model of the provider; empty: its default.")
_EMBEDS = "Who embeds text; auto: the provider of the other keys, else the bundled model."


class Search(NamedTuple):
    """Settings of search."""

    limit: int = _key(10, "Hits that a search returns.", 1, 1000)
    min_score: float | None = _key(None, "Lowest score of a hit; unset: calibrated.", 0, 1)
    project: str = _key("", "Current project: its notes rank a little higher, others lower.")
    recency: float = _key(0, "Score that a dated note loses as it grows old, half of it in 30 days.", 0, 1)
    fusion: str = _choice("calibrated qmd openclaw nanobot nanocrab", "How scores are made.", harmless=True)
    rerank: str = _choice(" ".join(READERS), "Who reranks the best hits; auto: what the models allow.")
    expand: str = _choice("off auto on", "Expand questions by a language model; auto: if no hit is clear.")


class Recall(NamedTuple):
    """Settings of recall."""

    budget: int = _key(1000, "Tokens of a recalled block.", 50, 100_000)
    tentative: bool = _key(False, "Recall statements marked tentative.")


class Index(NamedTuple):
    """Settings of the index; globs are relative to the workspace."""

    include: tuple[str, ...] = _key(("MEMORY.md", "memory/**/*.md"), "Globs of the workspace's own notes.")
    ignore: tuple[str, ...] = _key((), "Globs of notes that are not indexed.")
    sync_on_search: bool = _key(True, "Read changed files again before each search.")
    url: str = _own("", "Server of the index: postgresql:// or milvus://, without a password; empty: a file.")
    key: str = _own("", "File with the password of that server.")


class Remember(NamedTuple):
    """Settings of remember."""

    times: bool = _key(True, "Begin entries of daily notes with the time.")
    redact: bool = _own(True, "Redact secrets before writing.")
    writes: str = _choice("free review", "Entries of agents: recalled at once, or when confirmed.")
    review_days: int = _own(30, "Days until what is not confirmed is struck; 0: never.", 0, 36_500)


class Embedding(NamedTuple):
    """Settings of embedding."""

    provider: str = _choice(f"auto {' '.join(EMBEDDERS)} none", _EMBEDS, group="commonplace.embedders")
    model: str = _MODEL
    dimensions: int | None = _own(None, "Shorter vectors, if the model can.", 1, 65_536)
    base_url: str = _URL
    key: str = _KEY
    fallback: tuple[str, ...] = _own((), "Substitutes in order: NAME or NAME/MODEL.", kind="names")
    deadline_s: float = _same("limits.deadline_s")
    query_deadline_s: float = _same("limits.wait_s")
    contexts: bool = _own(False, "Embed the contexts of a passage with it.")
    batch: bool = _own(False, "Use batches in sync: cheaper, and up to an hour.")
    max_tokens_a_day: int | None = _same("limits.max_tokens_a_day")
    max_dollars_a_day: float | None = _same("limits.max_dollars_a_day")


class Reranking(NamedTuple):
    """Settings of reranking."""

    provider: str = _choice(
        f"none {' '.join(RERANKERS)}", "Who reranks; llm: the language model.", group="commonplace.rerankers"
    )
    model: str = _MODEL
    base_url: str = _URL
    key: str = _KEY
    timeout_s: float = _same("limits.wait_s")
    max_tokens_a_day: int | None = _same("limits.max_tokens_a_day")
    max_dollars_a_day: float | None = _same("limits.max_dollars_a_day")


class Llm(NamedTuple):
    """Settings of language models."""

    provider: str = _own("none", "Provider of the language model, which is optional.")
    model: str = _own("", "Language model, by its provider's name.")
    base_url: str = _URL
    key: str = _KEY
    input_tokens: int = _own(12_000, "Tokens of notes or conversation in one request.", 500, 1_000_000)
    cache: bool = _own(True, "Keep answers for 30 days.")
    max_tokens_a_day: int | None = _same("limits.max_tokens_a_day")
    max_dollars_a_day: float | None = _same("limits.max_dollars_a_day")


class Limits(NamedTuple):
    """Limits of calls to models, services and hooks, retries included."""

    deadline_s: float = _own(120, "Seconds in the background, such as for a summary.", 0.1, 3600)
    wait_s: float = _own(5, "Seconds while a search, an answer or a host waits.", 0.01, 600)
    max_tokens_a_day: int | None = _own(None, "Tokens that all models together may take a day.", 0, 10**10)
    max_dollars_a_day: float | None = _own(None, "US dollars that they may cost a day.", 0, 10**6)


class Output(NamedTuple):
    """Settings of the command line's output."""

    editor_uri: str = _own("file://{path}", "Target of a click on a path: {path}, {line}; empty: none.")
    frame: str = _choice("auto always never", "Frame passages as data; auto: unless on a terminal.")


class Usage(NamedTuple):
    """Settings of the record of use."""

    record: bool = _own(True, "Record questions and opened notes, on this machine.")


class Hooks(NamedTuple):
    """Settings of hooks."""

    disabled: tuple[str, ...] = _own((), "Globs of names of hooks that are not loaded; *: none is.")


class Observe(NamedTuple):
    """Settings of observations of tools."""

    enabled: bool = _own(True, "Observe tools of agents, if their host reports them.")
    tools: tuple[str, ...] = _own(OBSERVED, "Globs of tools that write or run, to be kept.")
    network_tools: tuple[str, ...] = _own(NETWORK, "Globs of tools whose output comes from strangers.")


class Prompt(NamedTuple):
    """Settings of the block for a prompt, in tokens."""

    budget: int = _key(1600, "Tokens of the block for a prompt.", 50, 100_000)
    long_term: int = _key(350, "Of these, at most for the head of MEMORY.md.", 0, 100_000)
    daily: int = _key(250, "Of these, at most for the notes of the last days.", 0, 100_000)
    days: int = _key(2, "Number of these days, today included.", 0, 31)
    file_names: tuple[str, ...] = _key((), "Files of convention to add, such as AGENTS.md.")
    message: int = _key(400, "Tokens that a hook adds to a message.", 50, 100_000)


class Server(NamedTuple):
    """Settings of the server."""

    host: str = _own("127.0.0.1", "Address of `serve`.")
    port: int = _own(7412, "Its port; 0: any free one.", 0, 65_535)
    token_file: str = _own("", "File with the token to require; else COMMONPLACE_SERVER_TOKEN.")
    require_token: bool = _own(True, "Let `serve` make a token if none is set.")
    hosts: str = _own("", "Further names of this machine for clients, separated by commas.")
    start: Literal["agents", "never", "always"] = _choice(
        "agents never always", "Who starts a server: `mcp` and hooks, nobody, or searches as well."
    )


class Sessions(NamedTuple):
    """Settings of transcripts."""

    index: bool = _key(False, "Search the workspace's own transcripts.")  # type: ignore[assignment]  # a method of tuples


class Summary(NamedTuple):
    """Settings of summaries of sessions."""

    enabled: bool = _own(True, "Sum up sessions in the notes when they rest.")
    idle_s: float = _own(600, "Seconds without a message until a session rests.", 1, 86_400)
    max_tokens: int = _same("llm.input_tokens")
    deadline_s: float = _same("limits.deadline_s")


class Compaction(NamedTuple):
    """Settings of shortening a long conversation."""

    window: int = _own(128_000, "Tokens that the model of a conversation takes.", 512, 10**7)
    flush: bool = _own(True, "Let the model write to today's note first.")
    deadline_s: float = _same("limits.deadline_s")


class Chat(NamedTuple):
    """Settings of the loop of an agent."""

    deadline_s: float = _same("limits.deadline_s")
    tools_deadline_s: float = _same("limits.deadline_s")
    recall_wait_s: float = _same("limits.wait_s")
    read_files: bool = _own(True, "Let the model read text files of the workspace.")


class Consolidate(NamedTuple):
    """Settings of consolidation into long-term memory."""

    days: int = _key(7, "Days of notes that are consolidated, today included.", 1, 366)
    max_chars: int = _key(10_000, "Characters of MEMORY.md; the rest goes to memory/archive.md.", 500, 10**6)
    every_hours: float = _key(24, "Hours between two runs of the schedule.", 0.1, 8760)
    max_tokens: int = _same("llm.input_tokens")
    deadline_s: float = _same("limits.deadline_s")


class Rollup(NamedTuple):
    """Settings of monthly notes."""

    older_than_days: int = _key(60, "Age in days at which daily notes become monthly.", 7, 36_500)


class History(NamedTuple):
    """Settings of the record of generated changes."""

    git: str = _choice("off auto", "Commit generated changes (auto), in a git repository.")
    keep_mb: int = _own(200, "Megabytes of that record; beyond it the oldest go.", 1, 1_000_000)


class Forget(NamedTuple):
    """Settings of forgetting."""

    by_agents: Literal["ask", "allow", "never"] = _choice(
        "ask allow never", "Let agents erase: once a person agrees, alone, or never."
    )


def is_one_file(globs: tuple[str, ...]) -> bool:
    """Tell if globs name one file, such as an imported export."""
    return len(globs) == 1 and not any(sign in globs[0] for sign in "*?[{") and not globs[0].endswith("/")


class Collection(NamedTuple):
    """A further folder of notes, code or transcripts; `path` is absolute.

    Without `by_default` only a search that names it looks there; `update` is the command that a sync may run
    in it first, and `format` that of the transcripts in it, `auto` for whichever each is of. The owner's own
    notes go before a `reference` that says the same.
    """

    name: str
    path: str
    glob: tuple[str, ...] = DEFAULT_GLOBS
    ignore: tuple[str, ...] = ()
    by_default: bool = True
    update: tuple[str, ...] = ()
    format: str = ""
    weight: Literal["own", "reference"] = "reference"

    @property
    def place(self) -> str:
        """The folder, or the only file in it that belongs to the collection."""
        return f"{self.path}/{self.glob[0]}" if is_one_file(self.glob) else self.path


class Settings(NamedTuple):
    """Everything that may be set, validated."""

    search: Search
    recall: Recall
    index: Index  # type: ignore[assignment]  # hides a method of tuples
    remember: Remember
    embedding: Embedding
    reranking: Reranking
    llm: Llm
    output: Output
    usage: Usage
    limits: Limits
    chat: Chat
    prompt: Prompt
    summary: Summary
    compaction: Compaction
    sessions: Sessions
    hooks: Hooks
    server: Server
    observe: Observe
    consolidate: Consolidate
    rollup: Rollup
    history: History
    forget: Forget
    collections: Mapping[str, Collection]
    contexts: Mapping[str, str]
    warnings: tuple[str, ...] = ()


GROUPS: Mapping[str, Callable[..., Any]] = {
    name: globals()[table]
    for name, table in Settings.__annotations__.items()
    if name not in ("collections", "contexts", "warnings")
}


_FIELDS = {
    f"{group}.{field}": value
    for group, table in GROUPS.items()
    for field, value in table._field_defaults.items()  # type: ignore[attr-defined]
}


def _named(name: str, key: Key) -> Key:
    """Return a key with the name of its field, and the kind of its annotation."""
    group, _, field = name.partition(".")
    kind = key.kind if key.kind != "text" else _KINDS.get(GROUPS[group].__annotations__[field], "text")
    return key._replace(name=name, kind=kind)


KEYS = tuple(_named(name, key) for name, key in _FIELDS.items() if isinstance(key, Key))
SAME = {name: same for name, same in _FIELDS.items() if isinstance(same, str)}
GONE = gone.SETTINGS | {name: f"use {same}" for name, same in SAME.items()}
for _table in GROUPS.values():
    _own_keys = {name: _FIELDS.get(key, key) for name, key in _table._field_defaults.items()}  # type: ignore[attr-defined]
    _table._field_defaults = {name: key.default for name, key in _own_keys.items()}  # type: ignore[attr-defined]
