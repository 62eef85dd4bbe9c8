"""The head of the encoder: Chinese texts to the vectors that the English model gives their English."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime

from commonplace.language import simplify
from commonplace.providers.embedding.builtin import BuiltinEmbedder

if TYPE_CHECKING:
    from lexicon import Entries
    from numpy.typing import NDArray
    from sources import Sources
    from tokenizers import Tokenizer

    Floats = NDArray[np.float32]
    Head = dict[str, Floats]

SEED = 20261123
JOINED = 6000  # random concatenations of 2 to 10 sentences
WORDS = 20000  # frequent words with their glosses
EPOCHS, BATCH, RATE, SHARPNESS = 8, 512, 1e-3, 0.05
INNER = 1024  # dimensions of the bent part
PENALTY = 10  # of the ridge regression that the straight part begins with
HELD = 1000  # pairs that only measure, of the first so many, which are single sentences
SINGLE = 29000
PART = 2000  # texts that the English model embeds at a time


def pairs(sources: Sources, entries: Entries) -> list[tuple[str, str]]:
    """English and simplified Chinese: sentences, several of them joined, words with their glosses."""
    single = [(english, simplify(chinese)) for english, chinese in sources.sentences()]
    chance = random.Random(SEED)
    joined: list[tuple[str, str]] = []
    for _ in range(JOINED):
        chosen = chance.sample(single, chance.randint(2, 10))
        joined.append((" ".join(english for english, _ in chosen), "".join(chinese for _, chinese in chosen)))
    glosses, frequency = entries
    order = sorted((word for word in glosses if glosses[word]), key=lambda word: (-frequency[word], word))
    return [*single, *joined, *((glosses[word], word) for word in order[:WORDS])]


def fit_to(pairs: Sequence[tuple[str, str]], body: bytes, tokenizer: Tokenizer) -> Head:
    """Fit a head to pairs; `body` is the graph without one."""
    ids = [encoding.ids for encoding in tokenizer.encode_batch([chinese for _, chinese in pairs])]
    rows = _through(body, ids)
    english = [text for text, _ in pairs]
    distinct = list(dict.fromkeys(english))
    model, known = BuiltinEmbedder(), {}
    for start in range(0, len(distinct), PART):
        part = distinct[start : start + PART]
        # Two bytes a number, as the fit was first made from vectors that were kept so.
        vectors = model.embed(part, "passage").astype(np.float16).astype(np.float32)
        known.update(zip(part, vectors, strict=True))
        print(f"English {start + len(part):,} of {len(distinct):,}", flush=True)
    return fit(rows, _unit(np.array([known[text] for text in english])))


def _through(body: bytes, ids: Sequence[Sequence[int]]) -> Floats:
    """Texts through the network without its head, two at a time: (n, 512)."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(body, options, providers=["CPUExecutionProvider"])

    def one(numbers: Sequence[int]) -> Floats:
        rows: list[Floats] = session.run(None, {"input_ids": np.array([numbers], np.int64)})
        return rows[0][0]

    with ThreadPoolExecutor(2) as pool:
        return np.array(list(pool.map(one, ids)), np.float32)


def fit(x: Floats, t: Floats, say: Callable[[str], object] = print) -> Head:
    """Fit y = xW + b + gelu(xA + a)B; the loss is 4 (1 - cosine) + half an InfoNCE of both directions.

    Adam (Kingma and Ba, 2015) with a rate that falls to zero, from the ridge regression on.
    """
    chance = np.random.default_rng(SEED)
    first_ones = min(SINGLE, len(x))
    order = chance.permutation(first_ones)
    held, kept = order[:HELD], np.concatenate([order[HELD:], np.arange(first_ones, len(x))])
    head = _ridge(x[kept], t[kept], chance)
    # A learns as in gelu(4xA + a): its steps are four times as long, as its values are.
    speed = {name: 4.0 if name == "A" else 1.0 for name in head}
    mean = {name: np.zeros_like(value) for name, value in head.items()}
    square = {name: np.zeros_like(value) for name, value in head.items()}
    steps, step = EPOCHS * (len(kept) // BATCH), 0
    say(f"ridge; {_measured(head, x[held], t[held])}")
    for epoch in range(EPOCHS):
        mixed = chance.permutation(kept)
        for start in range(0, len(mixed) - BATCH + 1, BATCH):
            some = mixed[start : start + BATCH]
            step += 1
            rate = RATE * min(1.0, 1.25 * (1 - (step - 1) / steps))
            for name, value in _gradient(head, x[some], t[some]).items():
                mean[name] += 0.1 * (value - mean[name])
                square[name] += 0.001 * (value * value - square[name])
                move = (mean[name] / (1 - 0.9**step)) / (np.sqrt(square[name] / (1 - 0.999**step)) + 1e-8)
                head[name] -= np.float32(rate * speed[name]) * move
        say(f"epoch {epoch + 1}; {_measured(head, x[held], t[held])}")
    return head


def _ridge(x: Floats, t: Floats, chance: np.random.Generator) -> Head:
    centre, aim, width = x.mean(0), t.mean(0), x.shape[1]
    near = x - centre
    straight = np.linalg.solve(near.T @ near + PENALTY * np.eye(width, dtype=np.float32), near.T @ (t - aim))
    return {
        "W": straight.astype(np.float32),
        "b": (aim - centre @ straight).astype(np.float32),
        "A": (4 * chance.standard_normal((width, INNER)) / np.sqrt(width)).astype(np.float32),
        "a": np.zeros(INNER, np.float32),
        "B": np.zeros((INNER, t.shape[1]), np.float32),
    }


def _gradient(head: Mapping[str, Floats], x: Floats, t: Floats) -> Head:
    count = len(x)
    inner = x @ head["A"] + head["a"]
    share = 0.5 * (1 + _erf(inner * np.float32(2**-0.5)))
    bent = inner * share
    y = x @ head["W"] + head["b"] + bent @ head["B"]
    length = np.linalg.norm(y, axis=1, keepdims=True)
    u = y / length
    logits = u @ t.T / SHARPNESS
    same = (t @ t.T > 0.999) & ~np.eye(count, dtype=bool)  # the same English twice is no wrong answer
    logits[same] = -1e4
    wrong = _softmax(logits, 1) + _softmax(logits, 0)
    right = np.arange(count)
    wrong[right, right] -= 2
    du = -4 * t / count + (0.25 / (count * SHARPNESS)) * (wrong @ t)
    dy = (du - u * (u * du).sum(1, keepdims=True)) / length
    bell = np.exp(-0.5 * inner * inner) * np.float32(0.3989423)
    dinner = (dy @ head["B"].T) * (share + inner * bell)
    return {"W": x.T @ dy, "b": dy.sum(0), "B": bent.T @ dy, "A": x.T @ dinner, "a": dinner.sum(0)}


def _erf(x: Floats) -> Floats:
    """Abramowitz and Stegun 7.1.26: within 1.5e-7."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    tail = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return (np.sign(x) * (1 - tail * np.exp(-x * x))).astype(np.float32)


def _softmax(rows: Floats, axis: int) -> Floats:
    rows = np.exp(rows - rows.max(axis, keepdims=True))
    return rows / rows.sum(axis, keepdims=True)


def _measured(head: Mapping[str, Floats], x: Floats, t: Floats) -> str:
    inner = x @ head["A"] + head["a"]
    bent = 0.5 * inner * (1 + _erf(inner * np.float32(2**-0.5)))
    u = _unit(x @ head["W"] + head["b"] + bent @ head["B"])
    found = (u @ t.T).argmax(1)
    right = np.mean([t[a] @ t[b] > 0.999 for a, b in enumerate(found)])
    return f"pairs that were held back: cosine {(u * t).sum(1).mean():.4f}, found first {right:.4f}"


def _unit(rows: Floats) -> Floats:
    return (rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9)).astype(np.float32)
