"""Settings of former versions, each with its successor: data alone."""

from __future__ import annotations

_SERVE_IT = 'serve it with llama.cpp or another server, provider = "compatible"'
_FIXED = "it is fixed now"
_MODELS = ("embedding", "reranking", "llm")
SETTINGS = {
    **{f"{model}.{one}": f"use {model}.key, a file" for model in _MODELS for one in ("keyring", "key_file")},
    **{f"{model}.max_tokens_a_run": "use limits.max_tokens_a_day" for model in _MODELS},
    **{f"{model}.max_dollars_a_run": "use limits.max_dollars_a_day" for model in _MODELS},
    "output.links": 'use output.editor_uri = ""',
    "hooks.load": 'use hooks.disabled = ["*"]',
    "prompt.files": "use prompt.file_names",
    "embedding.path": _SERVE_IT,
    "reranking.path": _SERVE_IT,
    "llm.path": _SERVE_IT,
    "llm.command": 'give the program the form of a server, provider = "compatible"',
    "llm.context": "the server of the model decides",
    "observe.enrich": "leave it out; observations keep their own titles",
    "sessions.fsync": "transcripts are forced to the disk",
    "server.structured": "use `commonplace mcp --structured` or `commonplace serve --structured`",
    "hooks.deadline_s": "hooks.disabled leaves a slow hook out",
    "hooks.suspend_after": "hooks.disabled leaves a failing hook out",
    "output.color": "set NO_COLOR=1 or FORCE_COLOR=1 in the environment",
    "recall.layer": "passages come whole; `search --layer index` lists rows",
    "search.expand_deadline_ms": "use limits.wait_s, in seconds",
    "search.diversity": "leave it out; hits that say the same are one",
    "search.blend": 'search.fusion = "qmd" weighs a reranker by ranks as well',
} | dict.fromkeys(
    (
        "observe.enrich_batch", "observe.enrich_deadline_s", "observe.read_chars", "observe.excerpt_chars",
        "observe.argument_chars", "recall.full_score", "recall.full_count",
        "recall.snippet_score", "recall.snippet_count", "watch.debounce_s",
        "watch.interval_s", "hooks.resume_after_s", "hooks.capacity", "hooks.spool_mb", "hooks.sync_after_s",
        "prompt.file_tokens", "prompt.open_matters", "server.idle_minutes", "server.workers",
        "sessions.growth_bytes", "sessions.growth_messages", "sessions.idle_s", "summary.min_user_turns",
        "summary.max_words", "summary.writers", "summary.wait_s", "compaction.reserve", "compaction.margin",
        "compaction.keep_tokens", "compaction.summary_tokens", "chat.max_tokens", "chat.max_rounds",
        "search.half_life_days", "embedding.cache_entries", "usage.keep_days", "history.keep_days",
    ),
    _FIXED,
)  # fmt: skip
PROVIDERS = {
    "gguf": _SERVE_IT,
    "onnx": f'provider = "fastembed", or {_SERVE_IT}',
    "command": SETTINGS["llm.command"],
}
