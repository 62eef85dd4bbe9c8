"""The files of the page: each text in both languages, nothing that parses HTML, nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

from commonplace.servers import page

FOLDER = Path(page.__file__).parent
SCRIPTS = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.js")}
PAIR = re.compile(r'(?:^|[\s,{])(\w+): "((?:[^"\\]|\\.)*)"')
USED = re.compile(r'\bt\(\s*"(\w+)"')
NAMED = ("http://www.w3.org", "https://github.com")  # a namespace, and where markdown-it is from
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
        addresses = [one for one in re.findall(r"https?://[\w.]+", script) if one not in NAMED]
        assert addresses == [], name
        for module in re.findall(r'(?:from |import\()"(\./[^"]+)"', script):
            assert (FOLDER / module.removeprefix("./")).is_file(), (name, module)


SAID = re.compile(r'\b(?:message|said|warn)\(\s*"([\w.]+)",\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
MESSAGE = re.compile(r'(?:^|[\s,{])"?([\w.]+)"?: "((?:[^"\\]|\\.)*)"')


def test_what_the_server_says_with_a_code_has_chinese_words_and_no_values_of_its_own() -> None:
    chinese = dict(MESSAGE.findall(SCRIPTS["messages.zh.js"]))
    sources = "\n".join(path.read_text("utf-8") for path in FOLDER.parents[1].rglob("*.py"))
    english = dict(SAID.findall(sources))
    assert len(english) > 150
    assert english.keys() - chinese.keys() == set()
    for code, text in english.items():
        values = set(re.findall(r"\{(\w+)", text))
        assert set(re.findall(r"\{(\w+)", chinese[code])) <= values | {"more"}, code
