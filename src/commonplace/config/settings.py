"""The settings as values: a named tuple a table, all of them together, and one for a collection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

WORKSPACE_COLLECTION = "memory"  # the workspace's own notes; no other collection may have this name
DEFAULT_GLOBS = ("**/*.md",)


class Search(NamedTuple):
    """Settings of search; the deadline is in milliseconds."""

    limit: int
    min_score: float | None
    project: str
    recency: float
    half_life_days: float
    fusion: Literal["calibrated", "scores", "ranks"]
    rerank: str
    blend: Literal["scores", "positions"]
    expand: str
    expand_deadline_ms: int
    diversity: float


class Recall(NamedTuple):
    """Settings of recall; the budget is in tokens, the scores and counts are those of mixed layers."""

    budget: int
    layer: str
    full_score: float
    full_count: int
    snippet_score: float
    snippet_count: int
    tentative: bool


class Index(NamedTuple):
    """Settings of the index; globs are relative to the workspace."""

    include: tuple[str, ...]
    ignore: tuple[str, ...]
    sync_on_search: bool


class Remember(NamedTuple):
    """Settings of remember."""

    times: bool
    redact: bool


class Embedding(NamedTuple):
    """Settings of embedding; deadlines in seconds, caps for a day or a run, None for no cap."""

    provider: str
    model: str
    dimensions: int | None
    base_url: str
    path: str
    key_file: str
    keyring: str
    fallback: tuple[str, ...]
    deadline_s: float
    query_deadline_s: float
    cache_entries: int
    contexts: bool
    batch: bool
    max_tokens_a_day: int | None
    max_tokens_a_run: int | None
    max_dollars_a_day: float | None
    max_dollars_a_run: float | None


class Reranking(NamedTuple):
    """Settings of reranking; caps are for a day or a run, None for no cap."""

    provider: str
    model: str
    base_url: str
    path: str
    key_file: str
    keyring: str
    timeout_s: float
    max_tokens_a_day: int | None
    max_tokens_a_run: int | None
    max_dollars_a_day: float | None
    max_dollars_a_run: float | None


class Llm(NamedTuple):
    """Settings of language models; caps are for a day or a run, None for no cap."""

    provider: str
    model: str
    base_url: str
    path: str
    command: tuple[str, ...]
    key_file: str
    keyring: str
    context: int
    cache: bool
    max_tokens_a_day: int | None
    max_tokens_a_run: int | None
    max_dollars_a_day: float | None
    max_dollars_a_run: float | None


class Output(NamedTuple):
    """Settings of what the command line prints."""

    color: str
    links: bool
    editor_uri: str


class Usage(NamedTuple):
    """Settings of the record of use."""

    record: bool
    keep_days: int


class Watch(NamedTuple):
    """Settings of watch, in seconds."""

    debounce_s: float
    interval_s: float


class Chat(NamedTuple):
    """Settings of the loop of an agent; deadlines in seconds."""

    max_rounds: int
    max_tokens: int
    deadline_s: float
    tools_deadline_s: float
    recall_wait_s: float
    read_files: bool


class Prompt(NamedTuple):
    """Settings of the block for a prompt; budget and caps are in tokens."""

    budget: int
    long_term: int
    daily: int
    days: int
    files: bool
    file_names: tuple[str, ...]
    file_tokens: int


class Summary(NamedTuple):
    """Settings of summaries of sessions; `writers` are globs of tools that write memory."""

    enabled: bool
    idle_s: float
    min_user_turns: int
    max_words: int
    writers: tuple[str, ...]
    max_tokens: int
    deadline_s: float
    wait_s: float


class Compaction(NamedTuple):
    """Settings of how a long conversation is shortened; sizes in tokens."""

    window: int
    reserve: int
    margin: int
    keep_tokens: int
    summary_tokens: int
    flush: bool
    deadline_s: float


class Sessions(NamedTuple):
    """Settings of transcripts; what one must grow by, or how long rest, before a search reads it again."""

    fsync: str
    index: bool  # type: ignore[assignment]  # hides a method of tuples that nobody misses
    growth_bytes: int
    growth_messages: int
    idle_s: float


class Hooks(NamedTuple):
    """Settings of hooks, and of what they submit; `disabled` are globs of names of entry points."""

    deadline_s: float
    suspend_after: int
    resume_after_s: float
    load: bool
    disabled: tuple[str, ...]
    capacity: int
    spool_mb: float
    sync_after_s: float


class Server(NamedTuple):
    """Settings of the server; the names of hosts stand with commas between them."""

    host: str
    port: int
    token_file: str
    require_token: bool
    hosts: str


class Observe(NamedTuple):
    """Settings of what is observed of tools; sizes in characters."""

    enabled: bool
    tools: tuple[str, ...]
    network_tools: tuple[str, ...]
    read_chars: int
    excerpt_chars: int
    argument_chars: int
    enrich: bool
    enrich_batch: int
    enrich_deadline_s: float


class Consolidate(NamedTuple):
    """Settings of what is refined into long-term memory."""

    days: int
    max_chars: int
    every_hours: float
    max_tokens: int
    deadline_s: float


class Rollup(NamedTuple):
    """Settings of daily notes that become monthly ones."""

    older_than_days: int


class Forget(NamedTuple):
    """Settings of forgetting."""

    by_agents: Literal["ask", "allow", "never"]


class History(NamedTuple):
    """Settings of the record of generated changes."""

    git: str
    keep_days: int


class Collection(NamedTuple):
    """A further folder of notes, code or transcripts; `path` is absolute.

    Without `by_default` only a search that names it looks there; `update` is the command that a sync may run
    in it first, and `format` that of the transcripts in it, `auto` for whichever each is of.
    """

    name: str
    path: str
    glob: tuple[str, ...] = DEFAULT_GLOBS
    ignore: tuple[str, ...] = ()
    outside: bool = False
    by_default: bool = True
    update: tuple[str, ...] = ()
    format: str = ""


class Settings(NamedTuple):
    """Everything that may be set, validated. Named tuples all: a dataclass costs a start 0.8 ms."""

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
    warnings: tuple[str, ...] = ()  # what the workspace's own file may not set, a line each


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
    "chat": Chat,
    "prompt": Prompt,
    "summary": Summary,
    "compaction": Compaction,
    "sessions": Sessions,
    "hooks": Hooks,
    "server": Server,
    "observe": Observe,
    "consolidate": Consolidate,
    "rollup": Rollup,
    "history": History,
    "forget": Forget,
}
