"""What may be set, once: a named tuple a table, whose fields say their default, what they may be, and why.

Named tuples all, those of values as well: a dataclass costs a start 0.8 ms.
"""

from __future__ import annotations

from commonplace.base.tuples import NamedTuple
from commonplace.config import providers

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Literal

    Kind = Literal["integer", "number", "boolean", "text", "texts", "names"]

WORKSPACE_COLLECTION = "memory"  # the workspace's own notes; no other collection may have this name
DEFAULT_GLOBS = ("**/*.md",)
EMBEDDERS = tuple(row.name for row in providers.EMBEDDERS)
RERANKERS = (*(row.name for row in providers.RERANKERS), providers.LLM)
AUTO = "auto"  # in place of a transcript's format: each file tells its own
# The formats of transcripts by name, with their title and their module in `transcripts`, in the order in
# which they are tried: what says more of itself first.
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
LAYERS = ("full", "snippet", "index")  # of hits: whole passages, a few rows of each, rows with references
ENGINES = ("commonplace", "qmd")  # what answers a search: ours, or a program of others
READERS = ("auto", "off", "local", "model", "llm")  # who reads the best hits of a search again
# Tools of agents that write and run, and those that read the network, as hosts name them.
OBSERVED = (
    "write", "edit", "multiedit", "notebookedit", "write_*", "edit_*", "create_*", "append_*", "delete_*",
    "move_*", "rename_*", "str_replace*", "apply_patch", "patch", "insert*", "bash", "exec", "exec_*",
    "execute", "execute_*", "shell", "shell_*", "local_shell", "run_*", "terminal", "powershell", "python",
    "code_interpreter",
)  # fmt: skip
NETWORK = (
    "webfetch",
    "websearch",
    "web_*",
    "browser*",
    "browse*",
    "fetch*",
    "http*",
    "*_fetch",
    "search_web",
)
_KINDS: Mapping[str, Kind] = {  # by annotations
    "int": "integer",
    "int | None": "integer",
    "float": "number",
    "float | None": "number",
    "bool": "boolean",
    "tuple[str, ...]": "texts",
}


class Key(NamedTuple):
    """One setting: its dotted name, what it may be, and whether a workspace's file may set it."""

    name: str
    kind: Kind
    default: object
    doc: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    harmless: bool = True
    group: str = ""  # an entry point group, whose names are choices as well

    @property
    def variable(self) -> str:
        """The environment variable that sets it; lists have none."""
        if self.kind in ("texts", "names"):
            return ""
        return f"COMMONPLACE_{self.name.upper().replace('.', '_')}"

    @property
    def allowed(self) -> str:
        """What the value may be, in words."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        words = {"integer": "an integer", "number": "a number", "boolean": "true or false"}
        limits = "" if self.low is None else f" from {self.low:.15g} to {self.high:.15g}"
        return words.get(self.kind, "a text" if self.kind == "text" else "a list of texts") + limits


def _key(
    default: object,
    doc: str,
    low: float | None = None,
    high: float | None = None,
    *,
    choices: tuple[str, ...] = (),
    kind: Kind = "text",
    harmless: bool = True,
    group: str = "",
) -> Any:  # noqa: ANN401 - stands where the field's own type is declared
    """A setting that a workspace's own file may set as well; the name and most kinds come from the field."""
    return Key("", kind, default, doc, low, high, choices, harmless, group)


def _own(default: object, doc: str, low: float | None = None, high: float | None = None, **more: Any) -> Any:  # noqa: ANN401
    """A setting that only the user's own file, the environment and flags may set."""
    return _key(default, doc, low, high, harmless=False, **more)


class Search(NamedTuple):
    """Settings of search; the deadline is in milliseconds."""

    limit: int = _key(10, "How many hits a search returns.", 1, 1000)
    min_score: float | None = _key(None, "Hits below this score are left out; unset: calibrated.", 0, 1)
    project: str = _key("", "The project at hand: its notes stand a little higher, others lower.")
    recency: float = _key(0, "How much score a dated note loses as it grows old.", 0, 1)
    half_life_days: float = _key(30, "Days after which half of that is lost.", 0.1, 100_000)
    fusion: Literal["calibrated", "scores", "ranks"] = _key(
        "calibrated", "How words and meaning become one score.", choices=("calibrated", "scores", "ranks")
    )
    rerank: str = _own(
        "auto", "Who reads the best hits again; auto: local where the bundled model embeds.", choices=READERS
    )
    blend: Literal["scores", "positions"] = _key(
        "scores",
        "What a reranker's answer is weighed with: the score, or 1 / rank.",
        choices=("scores", "positions"),
    )
    expand: str = _own(
        "off",
        "Whether a language model widens questions; auto: unless the best hit is clear.",
        choices=("off", "auto", "on"),
    )
    expand_deadline_ms: int = _own(2500, "Milliseconds a search waits for that.", 50, 60_000)
    diversity: float = _key(
        1.0, "What relevance counts beside variety in the order of hits; 1: relevance alone.", 0, 1
    )


class Recall(NamedTuple):
    """Settings of recall; the budget is in tokens, the scores and counts are those of mixed layers."""

    budget: int = _key(1000, "How many tokens a recalled block may have.", 50, 100_000)
    layer: str = _key("full", "Full text alone, or mixed layers by score.", choices=("full", "mixed"))
    full_score: float = _key(0.6, "Mixed: full text for hits from this score on.", 0, 1)
    full_count: int = _key(3, "Mixed: for how many hits at most.", 0, 1000)
    snippet_score: float = _key(0.4, "Mixed: snippets from this score on, rows below.", 0, 1)
    snippet_count: int = _key(5, "Mixed: for how many hits at most.", 0, 1000)
    tentative: bool = _key(False, "Whether what is marked tentative is recalled.")


class Index(NamedTuple):
    """Settings of the index; globs are relative to the workspace."""

    include: tuple[str, ...] = _key(("MEMORY.md", "memory/**/*.md"), "Globs of the workspace's own notes.")
    ignore: tuple[str, ...] = _key((), "Globs of notes that are not indexed.")
    sync_on_search: bool = _key(True, "Whether a search re-reads changed files first.")


class Remember(NamedTuple):
    """Settings of remember."""

    times: bool = _key(True, "Whether entries of daily notes start with the time.")
    redact: bool = _own(True, "Whether secrets are redacted before writing.")


class Embedding(NamedTuple):
    """Settings of embedding; deadlines in seconds, caps for a day or a run, None for no cap."""

    provider: str = _own(
        "auto",
        "What turns text into vectors; auto: what the other keys name, else the bundled model.",
        choices=("auto", *EMBEDDERS, "none"),
        group="commonplace.embedders",
    )
    model: str = _own("", "Which of the provider's models; empty: its default.")
    dimensions: int | None = _own(None, "Shorter vectors, where a model can.", 1, 65_536)
    base_url: str = _own("", "Where the provider is; empty: its own address.")
    key_file: str = _own("", "A file with the provider's key; else its variable.")
    keyring: str = _own("", "The entry of the system keyring with that key.")
    fallback: tuple[str, ...] = _own(
        (), "Providers that stand in, first to last: NAME or NAME/MODEL.", kind="names"
    )
    deadline_s: float = _own(120, "Seconds for passages, retries included.", 1, 3600)
    query_deadline_s: float = _own(5, "Seconds a question waits for its vector.", 0.1, 60)
    cache_entries: int = _own(50_000, "Vectors kept of remote models.", 0, 10**7)
    contexts: bool = _own(False, "Whether contexts are embedded with passages.")
    batch: bool = _own(False, "Whether sync uses batches: cheaper, and up to an hour.")
    max_tokens_a_day: int | None = _own(None, "Tokens embedding may take a day.", 0, 10**10)
    max_tokens_a_run: int | None = _own(None, "Tokens embedding may take a run.", 0, 10**10)
    max_dollars_a_day: float | None = _own(None, "US dollars it may cost a day.", 0, 10**6)
    max_dollars_a_run: float | None = _own(None, "US dollars it may cost a run.", 0, 10**6)


class Reranking(NamedTuple):
    """Settings of reranking; caps are for a day or a run, None for no cap."""

    provider: str = _own(
        "none",
        "Which model reads question and text together; llm: the language model.",
        choices=("none", *RERANKERS),
        group="commonplace.rerankers",
    )
    model: str = _own("", "Which of the provider's models; empty: its default.")
    base_url: str = _own("", "Where the provider is; empty: its own address.")
    key_file: str = _own("", "A file with the provider's key; else its variable.")
    keyring: str = _own("", "The entry of the system keyring with that key.")
    timeout_s: float = _own(5, "Seconds that scoring may take, retries included.", 0.1, 300)
    max_tokens_a_day: int | None = _own(None, "Tokens reranking may take a day.", 0, 10**10)
    max_tokens_a_run: int | None = _own(None, "Tokens reranking may take a run.", 0, 10**10)
    max_dollars_a_day: float | None = _own(None, "US dollars it may cost a day.", 0, 10**6)
    max_dollars_a_run: float | None = _own(None, "US dollars it may cost a run.", 0, 10**6)


class Llm(NamedTuple):
    """Settings of language models; caps are for a day or a run, None for no cap."""

    provider: str = _own("none", "Who provides the language model; nothing needs one.")
    model: str = _own("", "The language model, as its provider calls it.")
    base_url: str = _own("", "The address of its server; empty: the provider's own.")
    key_file: str = _own("", "A file with its provider's key; else its variable.")
    keyring: str = _own("", "The entry of the system keyring with that key.")
    cache: bool = _own(True, "Whether answers of language models are kept for 30 days.")
    max_tokens_a_day: int | None = _own(None, "Tokens language models may take a day.", 0, 10**9)
    max_tokens_a_run: int | None = _own(None, "Tokens language models may take a run.", 0, 10**9)
    max_dollars_a_day: float | None = _own(None, "US dollars they may cost a day.", 0, 10**6)
    max_dollars_a_run: float | None = _own(None, "US dollars they may cost a run.", 0, 10**6)


class Output(NamedTuple):
    """Settings of what the command line prints."""

    color: str = _own("auto", "Whether output is coloured.", choices=("auto", "always", "never"))
    links: bool = _own(True, "Whether paths can be clicked on a terminal.")
    editor_uri: str = _own("file://{path}", "Where a click leads: {path}, {line}.")
    frame: str = _own(
        "auto",
        "Whether passages are framed as data, as text: auto where output is no terminal.",
        choices=("auto", "always", "never"),
    )


class Usage(NamedTuple):
    """Settings of the record of use."""

    record: bool = _own(True, "Whether questions and what was opened are recorded, locally.")
    keep_days: int = _own(90, "Days after which such a record is deleted.", 1, 10_000)


class Watch(NamedTuple):
    """Settings of watch, in seconds."""

    debounce_s: float = _key(1.5, "Seconds of quiet before a change is taken up.", 0.05, 60)
    interval_s: float = _key(300, "Seconds between two looks without any event.", 1, 86_400)


class Hooks(NamedTuple):
    """Settings of hooks, and of what they submit; `disabled` are globs of names of entry points."""

    deadline_s: float = _own(5, "Seconds a host waits for one hook at one event.", 0.01, 600)
    suspend_after: int = _own(3, "Failures in a row after which a hook is left out.", 1, 1000)
    resume_after_s: float = _own(300, "Seconds for which it is.", 0, 10**6)
    load: bool = _own(True, "Whether hooks of installed packages are loaded.")
    disabled: tuple[str, ...] = _own((), "Globs of names of those that are not.")
    capacity: int = _own(1000, "Entries that wait in memory on their way to disk.", 1, 10**6)
    spool_mb: float = _own(64, "Megabytes that may wait on disk for the notes.", 0.01, 10**5)
    sync_after_s: float = _own(1, "Seconds of quiet before new entries are indexed.", 0, 3600)


class Observe(NamedTuple):
    """Settings of what is observed of tools; sizes in characters."""

    enabled: bool = _own(True, "Whether tools of agents are observed, where a host tells of them.")
    tools: tuple[str, ...] = _own(
        OBSERVED, "Names of tools that are kept, as globs; those that write and run."
    )
    network_tools: tuple[str, ...] = _own(
        NETWORK, "Names of tools whose output comes from strangers, as globs."
    )
    read_chars: int = _own(4000, "Characters above which what a tool read is kept.", 0, 10**9)
    excerpt_chars: int = _own(500, "Characters of a result or change in an entry.", 0, 4000)
    argument_chars: int = _own(300, "Characters of arguments in an entry.", 0, 4000)


class Prompt(NamedTuple):
    """Settings of the block for a prompt; budget and caps are in tokens."""

    budget: int = _key(1600, "How many tokens the block for a prompt may have.", 50, 100_000)
    long_term: int = _key(350, "Of these, most for the head of MEMORY.md.", 0, 100_000)
    daily: int = _key(250, "And for the notes of the last days.", 0, 100_000)
    days: int = _key(2, "How many days that are, today included.", 0, 31)
    files: bool = _key(False, "Whether files of convention are added.")
    file_names: tuple[str, ...] = _key(("AGENTS.md", "SOUL.md", "USER.md"), "Which files these are.")
    file_tokens: int = _key(400, "Most tokens for these files.", 0, 100_000)
    open_matters: int = _key(150, "Most tokens for open matters, at the start of a session.", 0, 100_000)
    message: int = _key(400, "Most tokens that a hook adds to a message.", 50, 100_000)


class Server(NamedTuple):
    """Settings of the server; the names of hosts stand with commas between them."""

    host: str = _own("127.0.0.1", "Where `serve` listens.")
    port: int = _own(7412, "On which port; 0: any that is free.", 0, 65_535)
    token_file: str = _own("", "A file with the token to ask for; else COMMONPLACE_SERVER_TOKEN.")
    require_token: bool = _own(True, "Whether `serve` makes a token where none is set.")
    hosts: str = _own("", "Further names clients may use for this machine, with commas between.")
    start: Literal["never", "agents", "always"] = _own(
        "agents",
        "Who starts a server where none runs: nobody, `mcp` and hooks, or searches as well.",
        choices=("never", "agents", "always"),
    )
    idle_minutes: float = _own(20, "Minutes of rest after which such a server ends.", 0.01, 10**5)
    structured: bool = _own(False, "Whether tools answer clients of MCP with JSON beside the text.")
    workers: int = _own(2, "Processes that answer searches beside `serve` where many wait; 0: none.", 0, 64)


class Sessions(NamedTuple):
    """Settings of transcripts; what one must grow by, or how long rest, before a search reads it again."""

    fsync: str = _key(
        "turn",
        "When a transcript is forced to the disk: at each message, at each turn of the user, or never.",
        choices=("always", "turn", "never"),
    )
    index: bool = _key(False, "Whether the workspace's own transcripts are searched.")  # type: ignore[assignment]  # hides a method of tuples that nobody misses
    growth_bytes: int = _key(100_000, "Bytes a transcript grows by before a search reads it again.", 0, 10**9)
    growth_messages: int = _key(50, "Messages after which it does so as well.", 1, 10**6)
    idle_s: float = _key(600, "Seconds of rest after which it is read anyway.", 0, 10**6)


class Summary(NamedTuple):
    """Settings of summaries of sessions; `writers` are globs of tools that write memory."""

    enabled: bool = _own(True, "Whether sessions are summed up in the notes when they rest.")
    idle_s: float = _own(600, "Seconds without a message after which a session rests.", 1, 86_400)
    min_user_turns: int = _key(3, "Messages of the user that are worth a summary.", 1, 1000)
    max_words: int = _key(200, "Words of a summary; two Chinese characters are one.", 30, 2000)
    writers: tuple[str, ...] = _own(
        ("*memory_write", "*remember", "*append_today", "*write_long_term"),
        "Tools, as globs, with which an agent writes memory itself: no summary says that again.",
    )
    max_tokens: int = _own(12_000, "Tokens of a conversation that are sent.", 500, 1_000_000)
    deadline_s: float = _own(60, "Seconds a language model has for it.", 0.1, 600)
    wait_s: float = _own(10, "Seconds the end of a session waits for its summary.", 0, 600)


class Compaction(NamedTuple):
    """Settings of how a long conversation is shortened; sizes in tokens."""

    window: int = _own(128_000, "Tokens the model of a conversation takes.", 512, 10**7)
    reserve: int = _own(20_000, "Tokens left for answers; a quarter of it at most.", 0, 10**6)
    margin: int = _own(4000, "Tokens before that; a twentieth of it at most.", 0, 10**6)
    keep_tokens: int = _own(20_000, "Tokens of newest messages that stay.", 100, 10**6)
    summary_tokens: int = _own(1500, "Tokens of what stands for the rest.", 50, 100_000)
    flush: bool = _own(True, "Whether the model may first write to today's note.")
    deadline_s: float = _own(60, "Seconds a language model has for each of both.", 0.1, 600)


class Chat(NamedTuple):
    """Settings of the loop of an agent; deadlines in seconds."""

    max_rounds: int = _own(8, "How often one answer may call tools before it must be given.", 1, 100)
    max_tokens: int = _own(2048, "Tokens that the model may say at a time.", 64, 100_000)
    deadline_s: float = _own(120, "Seconds that the model may take each time.", 1, 3600)
    tools_deadline_s: float = _own(60, "Seconds that the tool calls of a round may take.", 0.1, 3600)
    recall_wait_s: float = _own(5, "Seconds that an answer waits for what is recalled.", 0, 60)
    read_files: bool = _own(True, "Whether the model may read text files of the workspace.")


class Consolidate(NamedTuple):
    """Settings of what is refined into long-term memory."""

    days: int = _key(7, "How many days of notes are refined, today's included.", 1, 366)
    max_chars: int = _key(
        10_000, "Most characters of MEMORY.md; what does not fit goes to memory/archive.md.", 500, 1_000_000
    )
    every_hours: float = _key(24, "Hours between two runs of the schedule.", 0.1, 8760)
    max_tokens: int = _own(12_000, "Most tokens sent to the model.", 500, 1_000_000)
    deadline_s: float = _own(120, "Seconds the model may take.", 1, 3600)


class Rollup(NamedTuple):
    """Settings of daily notes that become monthly ones."""

    older_than_days: int = _key(60, "Daily notes older than this become monthly.", 7, 36_500)


class History(NamedTuple):
    """Settings of the record of generated changes."""

    git: str = _own(
        "off",
        "Whether generated changes are committed (auto) where the workspace is in a git repository.",
        choices=("auto", "off"),
    )
    keep_days: int = _key(
        365, "Days that generated changes can be undone; the newest 200 can at any age.", 1, 36_500
    )
    keep_mb: int = _own(200, "Megabytes that they may take on disk; beyond it the oldest go.", 1, 1_000_000)


class Forget(NamedTuple):
    """Settings of forgetting."""

    by_agents: Literal["ask", "allow", "never"] = _own(
        "ask",
        "Whether agents may have things erased: once a person agrees, alone, or not at all.",
        choices=("ask", "allow", "never"),
    )


def is_one_file(globs: tuple[str, ...]) -> bool:
    """Whether globs name one file, such as an export that was imported."""
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
    outside: bool = False
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
    index: Index  # type: ignore[assignment]  # hides a method of tuples that nobody misses
    remember: Remember
    embedding: Embedding
    reranking: Reranking
    llm: Llm
    output: Output
    usage: Usage
    watch: Watch
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
    "search": Search,
    "recall": Recall,
    "index": Index,
    "remember": Remember,
    "embedding": Embedding,
    "reranking": Reranking,
    "llm": Llm,
    "output": Output,
    "usage": Usage,
    "watch": Watch,
    "hooks": Hooks,
    "observe": Observe,
    "prompt": Prompt,
    "server": Server,
    "sessions": Sessions,
    "summary": Summary,
    "compaction": Compaction,
    "chat": Chat,
    "consolidate": Consolidate,
    "rollup": Rollup,
    "history": History,
    "forget": Forget,
}


def _keys() -> tuple[Key, ...]:
    """Name the keys of all tables, give each its kind, and leave real defaults in their places."""
    keys = []
    for group, table in GROUPS.items():
        fields: Mapping[str, Key] = table._field_defaults  # type: ignore[attr-defined]
        for name, key in fields.items():
            kind = key.kind if key.kind != "text" else _KINDS.get(table.__annotations__[name], "text")
            keys.append(Key(f"{group}.{name}", kind, *key[2:]))
        table.__new__.__defaults__ = tuple(key.default for key in fields.values())
    return tuple(keys)


KEYS = _keys()
