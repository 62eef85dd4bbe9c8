"""Where a note is cut hides nothing: rows are shown below the head of their table, quotations are found."""

from __future__ import annotations

import textwrap

from tests.life.conftest import Owner


def test_a_row_far_down_has_the_head_of_its_table(owner: Owner) -> None:
    rows = "\n".join(
        f"| part{n} | {n * 7} | shelf {n} | a description of part {n}, which is rather long |"
        for n in range(800)
    )
    head = "| part | price | place | what it is |\n|---|---|---|---|\n"
    owner.note("memory/parts.md", f"# Parts\n\n{head}{rows}\n")
    owner.note("memory/inner.md", f"# Inner\n\nSome words before.\n\n{head}{rows.replace('part', 'bolt')}\n")
    memory = owner.memory()
    for name in (
        "part3",
        "part60",
        "part300",
        "part420",
        "part600",
        "part790",
        "bolt10",
        "bolt500",
        "bolt780",
    ):
        found = memory.search(name).hits[0].text
        assert f"| {name} |" in found, name
        assert found.startswith(head) or head in found, name
        assert head in memory.recall(name).text, name


def test_a_quotation_across_two_passages_is_found(owner: Owner) -> None:
    """However a note is cut into passages, each quotation of six words of it is found, and said to be."""
    plain = " ".join(f"word{n}" for n in range(400))
    lines = "\n".join(textwrap.wrap(plain, 70))
    bullets = "\n".join(f"- **{first}** and {first}b with {first}c" for first in plain.split())
    chinese = "春眠不觉晓处处闻啼鸟夜来风雨声花落知多少白日依山尽黄河入海流欲穷千里目更上一层楼"
    wrapped = "\n".join(chinese[at : at + 5] for at in range(0, len(chinese), 5))
    owner.note("memory/wrapped.md", f"# Wrapped\n\n{lines}\n")
    owner.note("memory/bullets.md", f"# Bullets\n\n{bullets}\n")
    owner.note("memory/poems.md", "# 诗\n\n" + "\n".join(f"{wrapped}\n第{n}遍" for n in range(9)) + "\n")
    memory = owner.memory()
    words = plain.split()
    for at in range(0, 390, 7):
        quoted = " ".join(words[at : at + 6])
        answer = memory.search(f'"{quoted}"')
        assert (bool(answer.hits), answer.hits[0].path, answer.warnings) == (True, "memory/wrapped.md", ())
        assert len(answer.hits) <= 2, quoted
    for at in range(0, 390, 13):
        answer = memory.search(f'"{words[at]}c {words[at + 1]} and"')
        assert (answer.hits[0].path, answer.warnings) == ("memory/bullets.md", ()), words[at]
    for at in range(0, len(chinese) - 7, 3):
        answer = memory.search(f'"{chinese[at : at + 7]}"')
        assert (answer.hits[0].path, answer.warnings) == ("memory/poems.md", ()), chinese[at : at + 7]
    nowhere = memory.search('"word5 word9 word2"')
    assert nowhere.hits
    assert "nothing holds" in str(nowhere.warnings[0])
