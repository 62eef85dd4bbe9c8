"""A row of a long table is shown below its head, however far down it stands."""

from __future__ import annotations

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
