"""A folder with an exported model: which file is the graph, how tokens become a vector, where a text is cut.

The layout is what sentence-transformers saves and optimum exports to ONNX: `modules.json` names the stages,
`1_Pooling/config.json` the pooling, `sentence_bert_config.json` the length, and
`config_sentence_transformers.json` the prompts (https://sbert.net, "Creating Custom Models").
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeGuard

from commonplace.base import paths
from commonplace.base.errors import ProviderError
from commonplace.base.root import read_named
from commonplace.providers.embedding import families
from commonplace.providers.embedding.families import Family

GRAPHS = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
TOKENIZER = "tokenizer.json"
MAX_TOKENS = 8192  # attention over more takes gigabytes; a passage has about 60
UNKNOWN_TOKENS = 512  # of a model that neither its files nor its name tell; most were trained with as many
# Position embeddings of these begin behind the padding token: two fewer can be used.
_OFFSET_POSITIONS = {"roberta", "xlm-roberta", "camembert", "mpnet", "longformer", "data2vec-text"}
Pooling = Literal["mean", "cls", "last"]
_POOLINGS: Mapping[str, Pooling] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean",  # another length, and every vector is scaled to 1
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "last",
    "mean": "mean",
    "mean_sqrt_len_tokens": "mean",
    "cls": "cls",
    "lasttoken": "last",
}
# Families whose re-exports often come without `1_Pooling`; everything else without it is averaged.
_UNSAID: tuple[tuple[str, Pooling], ...] = (
    (r"qwen3-embedding|e5-mistral|gte-qwen", "last"),
    (r"\bbge-|arctic-embed|mxbai-embed|gte-[a-z]+-en-v1\.5|multilingual-gte", "cls"),
)


@dataclass(frozen=True, slots=True)
class Exported:
    """What a folder says of its model; `dense` if a layer follows the pooling: only a graph can hold that."""

    name: str
    graph: Path
    tokenizer: Path
    pooling: Pooling
    dense: bool
    max_tokens: int
    scripts: frozenset[str]
    query_prefix: str
    passage_prefix: str


def read(provider: str, path: Path, model: str = "") -> Exported:
    """Read the folder of a model, or the one around a graph. Raises ProviderError with what is missing."""
    graph = _graph(provider, path)
    folder = path if path.is_dir() else graph.parent
    if not (folder / "config.json").is_file() and folder.name == "onnx":
        folder = folder.parent
    tokenizer = next((at / TOKENIZER for at in (folder, graph.parent) if (at / TOKENIZER).is_file()), None)
    config = _json(provider, folder / "config.json", {})
    snapshot, owner = folder.parent, folder.parent.parent.name
    own = folder.name  # of a snapshot in the cache of Hugging Face, the model's
    if snapshot.name == "snapshots" and owner.startswith("models--"):
        own = owner.removeprefix("models--").replace("--", "/")
    name = model or str(config.get("_name_or_path") or "") or own
    family = families.find(name)
    # Folders of the stages by the last part of their type: Transformer, Pooling, Dense, Normalize.
    rows = [row for row in _json(provider, folder / "modules.json", []) if isinstance(row, dict)]
    stages = {str(row.get("type", "")).rpartition(".")[2]: str(row.get("path", "")) for row in rows}
    saved = _json(provider, folder / "config_sentence_transformers.json", {}).get("prompts")
    prompts = (
        {key: value for key, value in saved.items() if isinstance(value, str)}
        if isinstance(saved, dict)
        else {}
    )
    if tokenizer is None:
        message = f"{paths.shown(folder)}: no {TOKENIZER}; save it there with `AutoTokenizer.save_pretrained`"
        raise ProviderError(provider, message, permanent=True)
    return Exported(
        name=name,
        graph=graph,
        tokenizer=tokenizer,
        pooling=_pooling(provider, folder / stages.get("Pooling", "1_Pooling") / "config.json", name),
        dense="Dense" in stages,
        max_tokens=_max_tokens(provider, folder, config, family),
        scripts=family.scripts,
        query_prefix=prompts.get("query", family.query),
        passage_prefix=prompts.get("passage", prompts.get("document", family.passage)),
    )


def _graph(provider: str, path: Path) -> Path:
    if path.is_file():
        return path
    known = [path / name for name in GRAPHS if (path / name).is_file()]
    graphs = known or sorted([*path.glob("*.onnx"), *path.glob("onnx/*.onnx")])
    if known or len(graphs) == 1:
        return graphs[0]
    message = "several graphs, none of them model.onnx; give the path of one of the files"
    if not graphs:
        message = "no model.onnx; export it with `optimum-cli export onnx`"
    raise ProviderError(provider, f"{paths.shown(path)}: {message}", permanent=True)


def _pooling(provider: str, path: Path, name: str) -> Pooling:
    config = _json(provider, path, {})
    modes = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    if isinstance(config.get("pooling_mode"), str):  # as releases from 5.3 on may write it
        modes = [config["pooling_mode"]]
    if not modes:
        return next((mode for pattern, mode in _UNSAID if re.search(pattern, name.lower())), "mean")
    if len(modes) > 1 or modes[0] not in _POOLINGS:
        remedy = "export the model with its sentence_embedding"
        message = f"pooling by {', '.join(modes)} is not supported; {remedy}"
        raise ProviderError(provider, message, permanent=True)
    return _POOLINGS[modes[0]]


def _max_tokens(provider: str, folder: Path, config: Mapping[str, object], family: Family) -> int:
    """Where a text is cut: what the sentence model says, or the least of what its parts can read."""
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and config.get("model_type") in _OFFSET_POSITIONS:
        positions -= 2
    said = _json(provider, folder / "sentence_bert_config.json", {}).get("max_seq_length")
    tokens = _json(provider, folder / "tokenizer_config.json", {}).get("model_max_length")
    limits = [said, positions] if _is_length(said) else [tokens, positions]
    usable = [limit for limit in limits if _is_length(limit)]
    named = UNKNOWN_TOKENS if family is families.UNKNOWN else family.max_tokens
    return min([*usable, MAX_TOKENS]) if usable else named


def _is_length(value: object) -> TypeGuard[int]:
    """Whether a limit is one; transformers writes 1e30 where it knows none."""
    return isinstance(value, int) and 0 < value < 1 << 31


def _json(provider: str, path: Path, default: Any) -> Any:  # noqa: ANN401 - of the type of the default
    """What a file holds, the default where there is none. Raises ProviderError for what is no JSON."""
    try:
        value = json.loads(read_named(path))
    except FileNotFoundError:
        return default
    except (OSError, ValueError) as error:
        message = f"{paths.shown(path)} cannot be read ({error})"
        raise ProviderError(provider, message, permanent=True) from error
    return value if isinstance(value, type(default)) else default
