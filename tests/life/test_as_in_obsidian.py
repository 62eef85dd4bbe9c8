"""Notes look on the page and in hits as people know them from Obsidian."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.life.conftest import Owner

PAGE = Path(__file__).parents[2] / "src" / "commonplace" / "servers" / "page"
# A document without a browser: what is made of text is written down as tags.
READER = """
class Element {
  constructor(tag) { Object.assign(this, { tag, named: {}, within: [], dataset: {}, classList: { add() {} } }); }
  setAttribute(name, value) { this.named[name] = value; }
  append(...nodes) { this.within.push(...nodes); }
  prepend(...nodes) { this.within.unshift(...nodes); }
  toString() {
    const named = Object.entries(this.named).map(([name, value]) => ` ${name}="${value}"`).join("");
    return `<${this.tag}${named}>${this.within.join("")}</${this.tag}>`;
  }
}
globalThis.document = { createElement: (tag) => new Element(tag), documentElement: {}, getElementById: () => null };
globalThis.localStorage = { getItem: () => "en", setItem() {} };
const { render } = await import(process.argv[2]);
process.stdout.write(JSON.stringify(JSON.parse(process.argv[3]).map((text) => render(text.split("\\n")).join(""))));
"""
# What stands in a note, what is seen of it, and what is not.
SEEN = {
    "Look: ![[quay.png]]": ("Image: quay.png", "[["),
    "Look: ![[quay.png|200]]": ("Image: quay.png", "[["),
    "![[Boats]]": (">Boats</a>", "!"),
    "![The quay](quay.png)": ("Image: The quay", "("),
    "The ==red== kayak": ("<mark>red</mark>", "=="),
    "周==报==": ("<mark>报</mark>", "=="),
    "a == b and c == d": ("a == b and c == d", "<mark>"),
    "The kayak leaks. ^leak-1": ("The kayak leaks.", "^leak"),
    "- The kayak leaks. ^leak-1": ("The kayak leaks.", "^leak"),
    "2^10 is much": ("2^10 is much", "<a"),
    "Seen %%by me alone%% today": ("today", "%%"),
    "It costs 5%% of it": ("5%% of it", "<span"),
    "So $x^2 + y$ is": (">x^2 + y</span>", "$"),
    "$$\\\\sum_i x_i$$": ("sum_i x_i</span>", "$"),
    "It costs $5 or $6": ("It costs $5 or $6", "<span"),
    "About #boats and #a/b": ('href="#/search?q=tag%3Aa%2Fb">#a/b</a>', "@"),
    "关于 #东京": (">#东京</a>", "@"),
    "Number #12 of C#": ("Number #12 of C#", "<a"),
    "`#code` and `==x==`": ("<code>#code</code>", "<mark>"),
    "- ```sh\n  # quay\n  ```\n- after": ("<code># quay</code>", "`"),
    "1. ~~~\n   quay\n~~~\n\n# After": (">After</h2>", "~"),
}  # fmt: skip


@pytest.mark.skipif(shutil.which("node") is None, reason="the page's programs are run with node")
def test_the_page_shows_what_obsidian_shows(tmp_path: Path) -> None:
    (tmp_path / "reader.mjs").write_text(READER)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    shutil.copytree(PAGE, tmp_path / "page")
    command = [
        "node",
        str(tmp_path / "reader.mjs"),
        str(tmp_path / "page" / "markdown.js"),
        json.dumps(list(SEEN)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    for (text, (seen, unseen)), shown in zip(SEEN.items(), json.loads(done.stdout), strict=True):
        assert seen in shown, (text, shown)
        assert unseen not in shown.replace("<a", unseen if unseen == "<a" else "<a"), (text, shown)


def test_front_matter_is_no_part_of_what_a_note_says(owner: Owner) -> None:
    owner.note(
        "memory/boats.md",
        "---\ntitle: Boat book\nharbour: Whitby\ncrew:\n  - Ann\n  - Bo\nstatus: sold\n---\n\nThe kayak is red.\n",
    )
    owner.note(
        "memory/tables.md", "# Costs\n\n| Item | Price |\n|---|---|\n| Paddle | 40 |\n| Anchor | 90 |\n"
    )
    memory = owner.memory()
    assert memory.search("kayak red").hits[0].text == "The kayak is red."
    assert memory.search("Whitby").hits[0].text == "harbour: Whitby\n\nThe kayak is red."
    assert memory.search("Ann").hits[0].text == "crew:\n  - Ann\n  - Bo\n\nThe kayak is red."
    for question in ("Whitby", "kayak", "status sold"):
        assert "---" not in memory.search(question).hits[0].text, question
    assert "| Item | Price |" in memory.search("anchor").hits[0].text
