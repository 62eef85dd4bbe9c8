"""Chinese in the bundled English model's space: a lexicon that glosses text, and an encoder of its own.

Built by `tools/build_chinese`. The lexicon turns Chinese into pseudo-English for the English model to
embed; the encoder reads the characters. The two err in different places, so the mean of both vectors is
nearer than either (`docs/quality.md`).
"""

from __future__ import annotations

import lzma
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace import language
from commonplace.base import heap
from commonplace.base.tuples import NamedTuple
from commonplace.language import rules, scripts
from commonplace.providers import runtime

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from commonplace.providers.embedding.base import Floats

FOLDER = Path(__file__).parent / "chinese"
MODEL, TOKENIZER, LEXICON = "encoder.onnx", "pieces.json", "lexicon.xz"
FILES = {
    MODEL: "bc22209821f9ab51732716e3f7d7568358d339195ce4085b82f01f3ac1706b08",
    TOKENIZER: "b1aaab0dea633e62aac8367d862761367941c5465d70a69ad7bc5286f836e422",
    LEXICON: "7b3086c23544c5d6bb20323bba27c897f773f4d149399638b2a843326848e96a",
}
# The encoder reads 256 pieces and the English model as many, which are rarely more than 1,500 characters.
MAX_CHARACTERS = 2048
_VERSION = 1  # raise it when the same text would give another vector
FINGERPRINT = f"chinese-{_VERSION}:{':'.join(file[:12] for file in FILES.values())}:{MAX_CHARACTERS}"

LONGEST = 8  # characters of a word
# Frequencies are letters from `!` (once) on, four to a unit of natural logarithm; together they are TOTAL.
FIRST, STEP, TOTAL = 33, 4.0, 60_000_000
_COSTS = {chr(FIRST + step): math.log(TOTAL) - step / STEP for step in range(94)}
_UNLISTED = math.log(TOTAL / 2)  # a character that the lexicon lacks counts as if it came twice
_SIGNS = str.maketrans(
    {
        "，": ", ", "。": ". ", "？": "? ", "！": "! ", "、": ", ", "；": "; ", "：": ": ",
        "（": " (", "）": ") ", "【": " [", "】": "] ", "《": ' "', "》": '" ', "“": ' "', "”": '" ',
        "「": ' "', "」": '" ', "『": ' "', "』": '" ', "·": " ", "—": "-", "…": "... ", "～": "~",
        "％": "%", "　": " ",
    }
)  # fmt: skip


class Lexicon:
    """Chinese words with their frequencies and English glosses.

    The file holds a line a word: how many characters it shares with the word before, the rest of it, its
    frequency as one letter, a tab, its gloss.
    """

    def __init__(self, data: bytes) -> None:
        """Read the compressed file."""
        self._words: dict[str, str] = {}
        word = ""
        for line in lzma.decompress(data).decode("utf-8").split("\n"):
            head, gloss = line.split("\t")
            word = word[: int(head[0])] + head[1:-1]
            self._words[word] = head[-1] + gloss
        self._particles = frozenset(rules.listed("zh", "particles"))
        self._run = re.compile(scripts.HAN_RUN)

    def english(self, text: str) -> str:
        """Gloss the Chinese of a text word by word; what else it holds stays."""
        glossed = self._run.sub(self._glosses, language.simplify(text)).translate(_SIGNS)
        return re.sub(r" (?=[,.?!;:)\]%])", "", re.sub(r"\s+", " ", glossed)).strip()

    def segment(self, run: str) -> list[str]:
        """Cut simplified characters into words: the cut of the highest probability, word by word."""
        best, starts = [0.0], [0]
        for end in range(1, len(run) + 1):
            entry = self._words.get(run[end - 1])
            least, start = best[-1] + (_COSTS[entry[0]] if entry else _UNLISTED), end - 1
            for earlier in range(max(0, end - LONGEST), end - 1):
                entry = self._words.get(run[earlier:end])
                if entry and best[earlier] + _COSTS[entry[0]] < least:
                    least, start = best[earlier] + _COSTS[entry[0]], earlier
            best.append(least)
            starts.append(start)
        words, end = [], len(run)
        while end:
            words.append(run[starts[end] : end])
            end = starts[end]
        return words[::-1]

    def _glosses(self, run: re.Match[str]) -> str:
        words = (word for word in self.segment(run[0]) if word not in self._particles)
        return f" {' '.join(filter(None, (self._words.get(word, '')[1:] for word in words)))} "


class Chinese(NamedTuple):
    """The lexicon and the encoder, opened."""

    lexicon: Lexicon
    session: Any
    tokenizer: Tokenizer

    def gloss(self, text: str) -> str:
        """Return a text as the English model is to read it; empty where no word of it is known."""
        return self.lexicon.english(runtime.clean(text, MAX_CHARACTERS))

    def encode(self, text: str) -> Floats:
        """Embed a text by its characters, as a unit vector of (384,) float32. Raises ProviderError."""
        import numpy as np

        ids = self.tokenizer.encode(language.simplify(runtime.clean(text, MAX_CHARACTERS))).ids
        feed = {"input_ids": np.array([ids], np.int64)}
        rows: list[Floats] = runtime.run("builtin", lambda: self.session.run(["sentence_embedding"], feed)[0])
        return rows[0]


def load(folder: Path = FOLDER) -> Chinese:
    """Open lexicon and encoder. Raises ProviderError."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        session = pool.submit(runtime.session, "builtin", folder / MODEL)
        words = runtime.read(folder / LEXICON)
        lexicon = runtime.run("builtin", lambda: Lexicon(words), f"{LEXICON} is damaged", permanent=True)
        tokenizer = runtime.tokenizer("builtin", folder / TOKENIZER)
        loaded = Chinese(lexicon, session.result(), tokenizer)
    heap.trim()  # the encoder's weights were unpacked: 100 MB of steps in between
    return loaded
