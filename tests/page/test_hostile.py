"""Notes that attack the page that shows them: nothing in them runs, styles or loads anything."""

from __future__ import annotations

import pytest

from tests.page.conftest import Open

OUT = "http://attacker.invalid"
ATTACKS = {
    "script": "<script>window.hit = 1</script>\n\n<script src='OUT/x.js'></script>",
    "handler": "<img src=x onerror='window.hit = 1'>\n\n<svg onload='window.hit = 1'></svg> <details open ontoggle=window.hit=1>",
    "links": "[a](javascript:window.hit=1) [b](JaVaScRiPt:window.hit=1) [c](data:text/html,<script>window.hit=1</script>) "
    "[d](vbscript:x) <javascript:window.hit=1> [e](java\tscript:x) [f](&#106;avascript:x) [[javascript:x]] [g](//attacker.invalid/x.md)",
    "images": "![x](OUT/x.png) ![y](data:image/svg+xml;base64,PHN2Zz4=) ![][ref]\n\n[ref]: OUT/y.png\n\n![z](x\"onerror=\"window.hit=1)",
    "style": "<style>* { display: none }</style> <link rel=stylesheet href=OUT/x.css> <p style='background: url(OUT/p)'>",
    "frames": "<iframe src='OUT/f'></iframe> <object data='OUT/o'></object> <embed src='OUT/e'> <base href='OUT/'>"
    " <meta http-equiv=refresh content='0;url=OUT/m'> <form action='OUT/p'><button>x</button></form>",
    "markup": "**<b onclick=window.hit=1>x</b>** `</code><script>window.hit=1</script>`\n\n```\"><script>window.hit=1</script>\nx\n```\n\n"
    "| a | b |\n|---|---|\n| <script>window.hit=1</script> | <img src=x onerror=window.hit=1> |",
    "comment": "- x <!-- by: <img src=x onerror=window.hit=1>; agent: \"><script>window.hit=1</script> -->\n- y <!-- cp: from=javascript:window.hit=1 -->",
}  # fmt: skip
# What a note has done to the page: scripts that ran, elements that load, links that run, handlers.
HARM = """() => [
  ...(window.hit ? ['ran'] : []),
  ...[...document.querySelectorAll('main :is(script, img, iframe, object, embed, base, meta, style, link, form[action])')].map((one) => one.outerHTML),
  ...[...document.links].map((one) => one.href).filter((one) => !/^(https?|mailto):/.test(one)),
  ...[...document.querySelectorAll('*')].filter((one) => [...one.attributes].some(({ name }) => name.startsWith('on'))).map((one) => one.outerHTML),
]"""
HEAD = "# <img src=x onerror='window.hit = 1'> attack\n\n"


def test_nothing_runs_or_loads(opened: Open) -> None:
    here = opened()
    for name, attack in ATTACKS.items():
        note = here.root / "memory" / f"{name}.md"
        note.write_text(f"{HEAD}{attack.replace('OUT', OUT)}\n\nThe end of {name}.\n", encoding="utf-8")
        here.go(f"note?ref=memory/{name}.md", f".prose :text('The end of {name}')")
        assert here.page.evaluate(HARM) == [], name
    here.page.get_by_role("button", name="Both").click()
    here.page.wait_for_selector(".sourceline")
    assert here.page.evaluate(HARM) == []
    here.go("search?q=attack", ".hit")
    assert here.page.evaluate(HARM) == []
    # And the policy stops what a note cannot even try.
    tried = here.page.evaluate(
        """async () => {
          const said = [];
          try { document.body.innerHTML = '<b>x</b>'; said.push('innerHTML'); } catch (error) { said.push(error.name); }
          try { await fetch('http://attacker.invalid/'); said.push('fetch'); } catch (error) { said.push(error.name); }
          return said;
        }"""
    )
    assert tried == ["TypeError", "TypeError"]
    assert here.errors
    here.errors.clear()
    here.requests[:] = [one for one in here.requests if "attacker" not in one]


MONSTERS = {
    "line": "x" * 1_000_000,
    "stars": "*a _b ~~c `d [e](" * 30_000,
    "brackets": "[" * 200_000 + "\n\n" + ">" * 100_000 + "\n\n" + "<!--" * 50_000,
    "nested": "\n".join("  " * depth + "- x" for depth in range(400)),
    "lines": "- a line\n\n" * 40_000,
    "table": "|" * 5000 + "\n" + "|-" * 5000 + "|\n" + "|" * 5000,
    "fences": "```\n" * 20_001,
}


@pytest.mark.slow
def test_monsters_are_shown_and_the_page_goes_on(opened: Open) -> None:
    here = opened()
    for name, monster in MONSTERS.items():
        (here.root / "memory" / f"{name}.md").write_text(f"# A {name}\n\n{monster}\n", encoding="utf-8")
        here.go(f"note?ref=memory/{name}.md", f".prose h2:text('A {name}')")
    here.page.get_by_role("button", name="Source").click()
    here.page.wait_for_selector(".sourceline")


# Lines that an expression goes back over, blank by blank or mark by mark, as long as it can.
MANY = 1_000_000
BACKWARD = [
    "##" + " " * MANY + "a" + " " * MANY + "b\u2028c",
    "- " + " " * MANY + "b\u2028c",
    "x" + " " * MANY + "y",
    " " * MANY + "x",
    "- a <!--" + " " * MANY + "tentative",
    "<!-- " * (MANY // 5),
    "## " + "# " * (MANY // 2) + "x",
    "1" * MANY + "x",
    "> [!" + "a" * MANY,
    ("[a](" + " " * 7000 + "x\n\n") * 1000,
    "[a" * 4000,
    ("`" * 100 + "x") * 10_000,
    "|" + "\\|" * (MANY // 2),
    "@@ " + "+" * MANY,
    "\n" * MANY,
]
READING = """async (text) => {
  const [{ render }, { bare, isTentative, headingsIn }, { diff, worded }, { mark, plain }] =
    await Promise.all(['markdown', 'statements', 'diff', 'dom'].map((one) => import(`/page/${one}.js`)));
  const lines = text.split('\\n');
  for (const one of lines.slice(0, 3)) [bare(one), isTentative(one), plain(one), worded(one, `${one} `), diff(`+${one}`)];
  bare(text), isTentative(text), headingsIn(text), diff(text);
  for (const one of render(lines)) mark(one, ['steep', '茶']);
  window.reads = (window.reads ?? 0) + 1;
}"""


def test_no_line_keeps_the_page_from_going_on(opened: Open) -> None:
    here = opened()
    for number, line in enumerate(BACKWARD, 1):
        here.page.evaluate(f"text => {{ setTimeout(() => ({READING})(text)); }}", line)
        here.page.wait_for_function("number => window.reads === number", arg=number)
    assert here.page.evaluate(
        "async () => (await import('/page/statements.js')).headingsIn('# A\\n## B c ##\\n###  D #\\n#x\\n## B c')"
    ) == ["B c", "D"]
    said = "- 09:10 Oolong  <!-- by: agent --> in winter. <!-- a --><!-- b -->"
    assert here.page.evaluate("async text => (await import('/page/statements.js')).bare(text)", said) == (
        "Oolong in winter."
    )
