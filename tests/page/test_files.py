"""The files of the page: each text in both languages, nothing that parses HTML, nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

from commonplace.servers import page

FOLDER = Path(page.__file__).parent
SCRIPTS = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.js")}
PAIR = re.compile(r'(?:^|[\s,{])(\w+): "((?:[^"\\]|\\.)*)"')
USED = re.compile(r'\bt\(\s*"(\w+)"')
PARSERS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|setHTML|eval\(|new Function"
)


def texts(name: str) -> dict[str, str]:
    lines = [line for line in SCRIPTS[name].splitlines() if not line.lstrip().startswith("//")]
    return dict(PAIR.findall("\n".join(lines)))


def test_every_text_is_there_in_both_languages_with_the_same_values() -> None:
    english, chinese = texts("words.en.js"), texts("words.zh.js")
    assert english.keys() == chinese.keys()
    for name, text in english.items():
        assert sorted(re.findall(r"\{\w+\}", text)) == sorted(re.findall(r"\{\w+\}", chinese[name])), name
    used = {name for script in SCRIPTS.values() for name in USED.findall(script)}
    assert used - english.keys() == set()


def test_no_text_becomes_html_and_nothing_is_from_elsewhere() -> None:
    for name, script in SCRIPTS.items():
        assert not PARSERS.search(script), name
        assert 'setAttribute("style"' not in script
        addresses = [one for one in re.findall(r"https?://[\w.]+", script) if one != "http://www.w3.org"]
        assert addresses == [], name
        for module in re.findall(r'(?:from |import\()"(\./[^"]+)"', script):
            assert (FOLDER / module.removeprefix("./")).is_file(), (name, module)
