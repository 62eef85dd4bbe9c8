"""Notes as they are read: what CommonMark says, what Obsidian adds, and the lines that each statement stands on."""

from __future__ import annotations

import pytest

from tests.page.conftest import Open

READ = """async (text) => {
  const { render } = await import('/page/markdown.js');
  const box = document.createElement('div');
  box.append(...render(text.split('\\n')));
  return { html: box.innerHTML.replace(/ (data|tabindex|aria|role|target|rel|title)[^ >=]*="[^"]*"/g, '').replace(/ class="line"/g, ''),
    lines: [...box.querySelectorAll('.line')].map((one) => [one.textContent.trim(), one.dataset.start, one.dataset.end].join(' ')) };
}"""
CASES = {
    "Setext\n---\n\nText": "<h3>Setext</h3><p>Text</p>",
    "**重要：**请看 **a*b*c**": "<p><strong>重要：</strong>请看 <strong>a<em>b</em>c</strong></p>",
    "见 https://example.com/a，然后 <https://b.org>": '<p>见 <a href="https://example.com/a">https://example.com/a</a>，然后 <a href="https://b.org">https://b.org</a></p>',
    "[a][r] [b](other.md#x) [c](file:///etc)\n\n[r]: https://c.org": '<p><a href="https://c.org">a</a> <a href="#/note?ref=other.md%23x">b</a>'
    ' <span class="nolink">c</span></p><p>[r]: https://c.org</p>',
    "==a **b**== `==c==` \\==d==": "<p><mark>a <strong>b</strong></mark> <code>==c==</code> ==d==</p>",
    "[[N|as]] #12 #a/b $x_1$ &amp; <b>&lt;": '<p><a href="#/note?ref=%5B%5BN%5D%5D">as</a> #12 <a class="hashtag" href="#/search?q=tag%3Aa%2Fb">#a/b</a>'
    ' <span class="formula">x_1</span> &amp; &lt;b&gt;&lt;</p>',
    "- ```sh\n  x\n```\nafter": '<ul><li><pre class="code"><code>x</code></pre></li></ul><p>after</p>',
    "3. a\n\n   b\n4. c": '<ol start="3"><li><div>a</div><p>b</p></li><li><div>c</div></li></ol>',
    "> [!tip] Ti\n> - x": '<blockquote class="callout"><p class="titled line">Ti</p><ul><li><div>x</div></li></ul></blockquote>',
    "- [ ] a\n- [x] b": '<ul><li class="task"><div><span class="box">☐</span> a</div></li><li class="task"><div><span class="box">☑</span> b</div></li></ul>',
    "a  \nb\nc": "<p>a<br>b\nc</p>",
}  # fmt: skip
LINES = "---\ntitle: x\n---\n# H\n\nOne\ntwo\n\n- a\n  b\n  - c\n\n| h |\n|---|\n| d |\n\n> e\n"


@pytest.mark.slow
def test_notes_are_read_as_commonmark_and_obsidian_do(opened: Open) -> None:
    here = opened()
    read = {text: here.page.evaluate(READ, text) for text in [*CASES, LINES]}
    assert {text: read[text]["html"] for text in CASES} == CASES
    assert read[LINES]["lines"] == ["One\ntwo 6 7", "a\nb 9 10", "c 11 11", "d 15 15", "e 17 17"]
