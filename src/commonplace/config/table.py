"""The one table of what may be set."""

from __future__ import annotations

from typing import Literal, NamedTuple

# The rows of `embedding.registry` and `reranking.registry`, which this may not import; tests compare them.
EMBEDDERS = (
    "builtin", "onnx", "fastembed", "gguf", "openai", "compatible", "gemini", "voyage", "mistral", "cohere",
    "ollama", "fake",
)  # fmt: skip
RERANKERS = ("fastembed", "onnx", "compatible", "cohere", "jina", "voyage", "llm", "fake")
# The rows of `transcripts.formats`, and the one that means any of them.
TRANSCRIPTS = (
    "auto", "claude-code", "codex", "openclaw", "nanobot", "commonplace", "openai", "chatgpt", "claude",
)  # fmt: skip
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
Kind = Literal["integer", "number", "boolean", "text", "texts", "names", "command"]


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
        if self.kind in ("texts", "names", "command"):
            return ""
        return f"COMMONPLACE_{self.name.upper().replace('.', '_')}"

    @property
    def allowed(self) -> str:
        """What the value may be, in words."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        words = {"integer": "an integer", "number": "a number", "boolean": "true or false"}
        limits = "" if self.low is None else f" from {self.low:.15g} to {self.high:.15g}"
        texts = (
            "a list of texts: a program and its arguments" if self.kind == "command" else "a list of texts"
        )
        return words.get(self.kind, "a text" if self.kind == "text" else texts) + limits


def _own(
    name: str, kind: Kind, default: object, doc: str, low: float | None = None, high: float | None = None
) -> Key:
    """A setting that only the user's own file, the environment and flags may set."""
    return Key(name, kind, default, doc, low, high, harmless=False)


KEYS = (
    Key("search.limit", "integer", 10, "How many hits a search returns.", 1, 1000),
    Key("search.min_score", "number", None, "Hits below this score are left out; unset: calibrated.", 0, 1),
    Key("search.project", "text", "", "The project at hand: its notes stand a little higher, others lower."),
    Key("search.recency", "number", 0, "How much score a dated note loses as it grows old.", 0, 1),
    Key("search.half_life_days", "number", 30, "Days after which half of that is lost.", 0.1, 100_000),
    Key(
        "search.fusion",
        "text",
        "calibrated",
        "How words and meaning become one score.",
        choices=("calibrated", "scores", "ranks"),
    ),
    Key(
        "search.rerank",
        "text",
        "auto",
        "Who reads the best hits again; auto: local where the bundled model embeds.",
        choices=READERS,
        harmless=False,
    ),
    Key(
        "search.blend",
        "text",
        "scores",
        "What a reranker's answer is weighed with: the score, or 1 / rank.",
        choices=("scores", "positions"),
    ),
    Key(
        "search.expand",
        "text",
        "off",
        "Whether a language model widens questions; auto: unless the best hit is clear.",
        choices=("off", "auto", "on"),
        harmless=False,
    ),
    _own("search.expand_deadline_ms", "integer", 2500, "Milliseconds a search waits for that.", 50, 60_000),
    Key(
        "search.diversity",
        "number",
        1.0,
        "What relevance counts beside variety in the order of hits; 1: relevance alone.",
        0,
        1,
    ),
    Key("recall.budget", "integer", 1000, "How many tokens a recalled block may have.", 50, 100_000),
    Key(
        "recall.layer",
        "text",
        "full",
        "Full text alone, or mixed layers by score.",
        choices=("full", "mixed"),
    ),
    Key("recall.full_score", "number", 0.6, "Mixed: full text for hits from this score on.", 0, 1),
    Key("recall.full_count", "integer", 3, "Mixed: for how many hits at most.", 0, 1000),
    Key("recall.snippet_score", "number", 0.4, "Mixed: snippets from this score on, rows below.", 0, 1),
    Key("recall.snippet_count", "integer", 5, "Mixed: for how many hits at most.", 0, 1000),
    Key("recall.tentative", "boolean", False, "Whether what is marked tentative is recalled."),
    Key("index.include", "texts", ("MEMORY.md", "memory/**/*.md"), "Globs of the workspace's own notes."),
    Key("index.ignore", "texts", (), "Globs of notes that are not indexed."),
    Key("index.sync_on_search", "boolean", True, "Whether a search re-reads changed files first."),
    Key("remember.times", "boolean", True, "Whether entries of daily notes start with the time."),
    Key("remember.redact", "boolean", True, "Whether secrets are redacted before writing.", harmless=False),
    Key(
        "embedding.provider",
        "text",
        "auto",
        "What turns text into vectors; auto: what the other keys name, else the bundled model.",
        choices=("auto", *EMBEDDERS, "none"),
        harmless=False,
        group="commonplace.embedders",
    ),
    _own("embedding.model", "text", "", "Which of the provider's models; empty: its default."),
    _own("embedding.dimensions", "integer", None, "Shorter vectors, where a model can.", 1, 65_536),
    _own("embedding.base_url", "text", "", "Where the provider is; empty: its own address."),
    _own("embedding.path", "text", "", "The file or folder of a local model."),
    _own("embedding.key_file", "text", "", "A file with the provider's key; else its variable."),
    _own("embedding.keyring", "text", "", "The entry of the system keyring with that key."),
    _own("embedding.fallback", "names", (), "Providers that stand in, first to last: NAME or NAME/MODEL."),
    _own("embedding.deadline_s", "number", 120, "Seconds for passages, retries included.", 1, 3600),
    _own("embedding.query_deadline_s", "number", 5, "Seconds a question waits for its vector.", 0.1, 60),
    _own("embedding.cache_entries", "integer", 50_000, "Vectors kept of remote models.", 0, 10**7),
    _own("embedding.contexts", "boolean", False, "Whether contexts are embedded with passages."),
    _own("embedding.batch", "boolean", False, "Whether sync uses batches: cheaper, and up to an hour."),
    _own("embedding.max_tokens_a_day", "integer", None, "Tokens embedding may take a day.", 0, 10**10),
    _own("embedding.max_tokens_a_run", "integer", None, "Tokens embedding may take a run.", 0, 10**10),
    _own("embedding.max_dollars_a_day", "number", None, "US dollars it may cost a day.", 0, 10**6),
    _own("embedding.max_dollars_a_run", "number", None, "US dollars it may cost a run.", 0, 10**6),
    Key(
        "reranking.provider",
        "text",
        "none",
        "Which model reads question and text together; llm: the language model.",
        choices=("none", *RERANKERS),
        harmless=False,
        group="commonplace.rerankers",
    ),
    _own("reranking.model", "text", "", "Which of the provider's models; empty: its default."),
    _own("reranking.base_url", "text", "", "Where the provider is; empty: its own address."),
    _own("reranking.path", "text", "", "The folder of a local model."),
    _own("reranking.key_file", "text", "", "A file with the provider's key; else its variable."),
    _own("reranking.keyring", "text", "", "The entry of the system keyring with that key."),
    _own("reranking.timeout_s", "number", 5, "Seconds that scoring may take, retries included.", 0.1, 300),
    _own("reranking.max_tokens_a_day", "integer", None, "Tokens reranking may take a day.", 0, 10**10),
    _own("reranking.max_tokens_a_run", "integer", None, "Tokens reranking may take a run.", 0, 10**10),
    _own("reranking.max_dollars_a_day", "number", None, "US dollars it may cost a day.", 0, 10**6),
    _own("reranking.max_dollars_a_run", "number", None, "US dollars it may cost a run.", 0, 10**6),
    _own("llm.provider", "text", "none", "Who provides the language model; nothing needs one."),
    _own("llm.model", "text", "", "The language model, as its provider calls it."),
    _own("llm.base_url", "text", "", "The address of its server; empty: the provider's own."),
    _own("llm.path", "text", "", "The model file of the provider gguf."),
    _own("llm.command", "command", (), "The program of the provider command; it never passes a shell."),
    _own(
        "llm.key_file",
        "text",
        "",
        "A file with its provider's key; else its variable.",
    ),
    _own("llm.keyring", "text", "", "The entry of the system keyring with that key."),
    _own("llm.context", "integer", 8192, "Tokens a model in this process has room for.", 512, 1_000_000),
    _own("llm.cache", "boolean", True, "Whether answers of language models are kept for 30 days."),
    _own("llm.max_tokens_a_day", "integer", None, "Tokens language models may take a day.", 0, 10**9),
    _own("llm.max_tokens_a_run", "integer", None, "Tokens language models may take a run.", 0, 10**9),
    _own("llm.max_dollars_a_day", "number", None, "US dollars they may cost a day.", 0, 10**6),
    _own("llm.max_dollars_a_run", "number", None, "US dollars they may cost a run.", 0, 10**6),
    Key(
        "output.color",
        "text",
        "auto",
        "Whether output is coloured.",
        choices=("auto", "always", "never"),
        harmless=False,
    ),
    Key("output.links", "boolean", True, "Whether paths can be clicked on a terminal.", harmless=False),
    Key("output.editor_uri", "text", "file://{path}", "Where a click leads: {path}, {line}.", harmless=False),
    _own("usage.record", "boolean", True, "Whether questions and what was opened are recorded, locally."),
    _own("usage.keep_days", "integer", 90, "Days after which such a record is deleted.", 1, 10_000),
    Key("watch.debounce_s", "number", 1.5, "Seconds of quiet before a change is taken up.", 0.05, 60),
    Key("watch.interval_s", "number", 300, "Seconds between two looks without any event.", 1, 86_400),
    _own("hooks.deadline_s", "number", 5, "Seconds a host waits for one hook at one event.", 0.01, 600),
    _own("hooks.suspend_after", "integer", 3, "Failures in a row after which a hook is left out.", 1, 1000),
    _own("hooks.resume_after_s", "number", 300, "Seconds for which it is.", 0, 10**6),
    _own("hooks.load", "boolean", True, "Whether hooks of installed packages are loaded."),
    Key("hooks.disabled", "texts", (), "Globs of names of those that are not.", harmless=False),
    _own("hooks.capacity", "integer", 1000, "Entries that wait in memory on their way to disk.", 1, 10**6),
    _own("hooks.spool_mb", "number", 64, "Megabytes that may wait on disk for the notes.", 0.01, 10**5),
    _own("hooks.sync_after_s", "number", 1, "Seconds of quiet before new entries are indexed.", 0, 3600),
    _own(
        "observe.enabled",
        "boolean",
        True,
        "Whether tools of agents are observed, where a host tells of them.",
    ),
    _own(
        "observe.tools",
        "texts",
        OBSERVED,
        "Names of tools that are kept, as globs; those that write and run.",
    ),
    _own(
        "observe.network_tools",
        "texts",
        NETWORK,
        "Names of tools whose output comes from strangers, as globs.",
    ),
    _own("observe.read_chars", "integer", 4000, "Characters above which what a tool read is kept.", 0, 10**9),
    _own("observe.excerpt_chars", "integer", 500, "Characters of a result or change in an entry.", 0, 4000),
    _own("observe.argument_chars", "integer", 300, "Characters of arguments in an entry.", 0, 4000),
    _own(
        "observe.enrich",
        "boolean",
        False,
        "Whether the language model gives entries types and better titles.",
    ),
    _own("observe.enrich_batch", "integer", 10, "Entries that it is asked about at once.", 1, 50),
    _own("observe.enrich_deadline_s", "number", 20, "Seconds it may take for them.", 1, 300),
    Key("prompt.budget", "integer", 1600, "How many tokens the block for a prompt may have.", 50, 100_000),
    Key("prompt.long_term", "integer", 350, "Of these, most for the head of MEMORY.md.", 0, 100_000),
    Key("prompt.daily", "integer", 250, "And for the notes of the last days.", 0, 100_000),
    Key("prompt.days", "integer", 2, "How many days that are, today included.", 0, 31),
    Key("prompt.files", "boolean", False, "Whether files of convention are added."),
    Key("prompt.file_names", "texts", ("AGENTS.md", "SOUL.md", "USER.md"), "Which files these are."),
    Key("prompt.file_tokens", "integer", 400, "Most tokens for these files.", 0, 100_000),
    _own("server.host", "text", "127.0.0.1", "Where `serve` listens."),
    _own("server.port", "integer", 7412, "On which port; 0: any that is free.", 0, 65_535),
    _own("server.token_file", "text", "", "A file with the token to ask for; else COMMONPLACE_SERVER_TOKEN."),
    _own("server.require_token", "boolean", True, "Whether `serve` makes a token where none is set."),
    _own("server.hosts", "text", "", "Further names clients may use for this machine, with commas between."),
    Key(
        "sessions.fsync",
        "text",
        "turn",
        "When a transcript is forced to the disk: at each message, at each turn of the user, or never.",
        choices=("always", "turn", "never"),
    ),
    Key("sessions.index", "boolean", False, "Whether the workspace's own transcripts are searched."),
    Key(
        "sessions.growth_bytes",
        "integer",
        100_000,
        "Bytes a transcript grows by before a search reads it again.",
        *(0, 10**9),
    ),
    Key(
        "sessions.growth_messages",
        "integer",
        50,
        "Messages after which it does so as well.",
        *(1, 10**6),
    ),
    Key("sessions.idle_s", "number", 600, "Seconds of rest after which it is read anyway.", 0, 10**6),
    _own("summary.enabled", "boolean", True, "Whether sessions are summed up in the notes when they rest."),
    _own(
        "summary.idle_s", "number", 600, "Seconds without a message after which a session rests.", 1, 86_400
    ),
    Key("summary.min_user_turns", "integer", 3, "Messages of the user that are worth a summary.", 1, 1000),
    Key("summary.max_words", "integer", 200, "Words of a summary; two Chinese characters are one.", 30, 2000),
    Key(
        "summary.writers",
        "texts",
        ("*memory_write", "*remember", "*append_today", "*write_long_term"),
        "Tools, as globs, with which an agent writes memory itself: no summary of such a stretch.",
        harmless=False,
    ),
    _own("summary.max_tokens", "integer", 12_000, "Tokens of a conversation that are sent.", 500, 1_000_000),
    _own("summary.deadline_s", "number", 60, "Seconds a language model has for it.", 0.1, 600),
    _own("summary.wait_s", "number", 10, "Seconds the end of a session waits for its summary.", 0, 600),
    _own("compaction.window", "integer", 128_000, "Tokens the model of a conversation takes.", 512, 10**7),
    _own(
        "compaction.reserve", "integer", 20_000, "Tokens left for answers; a quarter of it at most.", 0, 10**6
    ),
    _own("compaction.margin", "integer", 4000, "Tokens before that; a twentieth of it at most.", 0, 10**6),
    _own("compaction.keep_tokens", "integer", 20_000, "Tokens of newest messages that stay.", 100, 10**6),
    _own("compaction.summary_tokens", "integer", 1500, "Tokens of what stands for the rest.", 50, 100_000),
    _own("compaction.flush", "boolean", True, "Whether the model may first write to today's note."),
    _own("compaction.deadline_s", "number", 60, "Seconds a language model has for each of both.", 0.1, 600),
    _own(
        "chat.max_rounds",
        "integer",
        8,
        "How often one answer may call tools before it must be given.",
        1,
        100,
    ),
    _own("chat.max_tokens", "integer", 2048, "Tokens that the model may say at a time.", 64, 100_000),
    _own("chat.deadline_s", "number", 120, "Seconds that the model may take each time.", 1, 3600),
    _own(
        "chat.tools_deadline_s", "number", 60, "Seconds that the tool calls of a round may take.", 0.1, 3600
    ),
    _own("chat.recall_wait_s", "number", 5, "Seconds that an answer waits for what is recalled.", 0, 60),
    _own("chat.read_files", "boolean", True, "Whether the model may read text files of the workspace."),
    Key("consolidate.days", "integer", 7, "How many days of notes are refined, today's included.", 1, 366),
    Key(
        "consolidate.max_chars",
        "integer",
        10_000,
        "Most characters of MEMORY.md; what does not fit goes to memory/archive.md.",
        500,
        1_000_000,
    ),
    Key("consolidate.every_hours", "number", 24, "Hours between two runs of the schedule.", 0.1, 8760),
    _own("consolidate.max_tokens", "integer", 12_000, "Most tokens sent to the model.", 500, 1_000_000),
    _own("consolidate.deadline_s", "number", 120, "Seconds the model may take.", 1, 3600),
    Key("rollup.older_than_days", "integer", 60, "Daily notes older than this become monthly.", 7, 36_500),
    Key(
        "history.git",
        "text",
        "auto",
        "Whether generated changes are committed where the workspace is in a git repository.",
        choices=("auto", "off"),
    ),
    Key("history.keep_days", "integer", 365, "Days that generated changes can be undone.", 1, 36_500),
    Key(
        "forget.by_agents",
        "text",
        "ask",
        "Whether agents may have things erased: once a person agrees, alone, or not at all.",
        choices=("ask", "allow", "never"),
        harmless=False,
    ),
)
