"""Pictures and attachments that are written into a note as letters are no text of it."""

from __future__ import annotations

import base64
import random

from tests.life.conftest import Owner

_BYTES = random.Random(3).randbytes(900_000)
_ONE_LINE = base64.b64encode(_BYTES[:60_000]).decode()
_LINES = base64.encodebytes(_BYTES[:20_000]).decode()
# What stands in a note, with `{data}` in a line, `{lines}` over many.
NOTES = {
    "picture": "![The quay](data:image/png;base64,{data})",
    "picture without a text": "![](data:image/jpeg;base64,{data})",
    "picture in a list": "- ![The quay](data:image/webp;base64,{data}) at dusk",
    "tag": '<img alt="quay" src="data:image/gif;base64,{data}">',
    "reference": "![The quay][image1]\n\n[image1]: <data:image/png;base64,{data}>",
    "bare reference": "![The quay][image1]\n\n[image1]: data:image/png;charset=utf-8;base64,{data}",
    "link": "[plan.pdf](data:application/pdf;base64,{data})",
    "style": "@font-face {{ src: url(data:font/woff2;base64,{data}) }}",
    "drawing": "![](data:image/svg+xml;utf8,{percent})",
    "attachment": 'Content-Type: image/png; name="quay.png"\nContent-Transfer-Encoding: base64\n\n{lines}',
    "quoted attachment": "> Content-Transfer-Encoding: base64\n>\n{quoted}",
    "indented": "    Content-Transfer-Encoding: base64\n\n{indented}",
    "certificate": "-----BEGIN CERTIFICATE-----\n{lines}-----END CERTIFICATE-----",
    "message": "-----BEGIN PGP MESSAGE-----\n\n{lines}=aBcD\n-----END PGP MESSAGE-----",
    "in code": "```\nContent-Transfer-Encoding: base64\n\n{lines}```",
    "json": '{{"encoding": "base64", "content": "{data}"}}',
    "without a word": "{many}",
    "Windows": "Content-Transfer-Encoding: base64\r\n\r\n{windows}",
}  # fmt: skip


def _filled(text: str) -> str:
    lines = _LINES.splitlines()
    return text.format(
        data=_ONE_LINE, lines=_LINES, many=base64.encodebytes(_BYTES[:60_000]).decode(), windows="\r\n".join(lines),
        quoted="".join(f"> {line}\n" for line in lines), indented="".join(f"    {line}\n" for line in lines),
        percent="%3Csvg%20xmlns=%22http://www.w3.org/2000/svg%22%3E" * 200,
    )  # fmt: skip


def test_encoded_data_is_no_text(owner: Owner) -> None:
    for name, text in NOTES.items():
        owner.note(
            f"memory/{name}.md", f"# Harbour\n\nThe kayak {name}.\n\n{_filled(text)}\n\nThe lantern {name}.\n"
        )
    memory = owner.memory()
    memory.sync()
    assert memory.status().passages < 12 * len(NOTES)
    pieces = [_ONE_LINE[:40], _ONE_LINE[5_000:5_040], _LINES[:40], "3Csvg"]
    for name in NOTES:
        path = f"memory/{name}.md"
        last = len(owner.read(path).splitlines())
        for word, line in (("kayak", 3), ("lantern", last)):
            hit = next(
                hit
                for hit in memory.search(f"{word} {name}", limit=60).hits
                if hit.path == path and word in hit.text
            )
            assert hit.start_line <= line <= hit.end_line, (name, word)
            assert memory.get(f"{path}:{line}-{line}").lines == (f"The {word} {name}.",), (name, word)
        shown = "\n".join(
            [*memory.get(path).lines, *(hit.text for hit in memory.search(name, limit=60).hits)]
        )
        assert not any(piece in shown for piece in pieces), name
    for piece in pieces[:3]:
        assert not memory.search(f'"{piece}"').hits
    assert "quay" in "".join(hit.text for hit in memory.search("quay dusk").hits)


def test_what_only_looks_like_it_is_text(owner: Owner) -> None:
    kept = {
        "hash": "\n".join(f"{number:064x}" for number in range(3**80, 3**80 + 6)),
        "address": "https://harbour.example/" + "/".join(["boats", "kayaks", "lanterns"] * 20) + "?data=1",
        "words": "Use base64 to encode it.\n\n" + "\n".join(["Donaudampfschifffahrtsgesellschaftskapitaensmuetzenabzeichen"] * 5),
        "sequence": "base64\n\n" + "\n".join(["GATTACAGATTACAGATTACAGATTACAGATTACAGATTACAGATTACAGATTACAGATTACA"] * 5),
        "data": "The data: see image/png, base64, and so on.",
        "token": "base64 dG9rZW4gb2YgdGhlIGhhcmJvdXI=",
    }  # fmt: skip
    for name, text in kept.items():
        owner.note(f"memory/{name}.md", f"# Harbour\n\n{text}\n")
    memory = owner.memory()
    for name, text in kept.items():
        assert memory.get(f"memory/{name}.md").lines[2:] == tuple(text.splitlines()), name


def test_a_large_picture_takes_no_longer_than_its_bytes(owner: Owner) -> None:
    picture = base64.b64encode(_BYTES).decode()
    owner.note(
        "memory/big.md",
        f"# Harbour\n\n![The quay](data:image/png;base64,{picture})\n\n- The lantern is lit.\n",
    )
    owner.note(
        "memory/mail.md",
        "# Mail\n\nContent-Transfer-Encoding: base64\n\n" + base64.encodebytes(_BYTES).decode(),
    )
    assert "lantern is lit" in owner.ok("search", "lantern")
    assert owner.memory().status().passages < 12
