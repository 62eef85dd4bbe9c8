"""Words are found as a reader sees them, whatever markup and unseen characters stand within them."""

from __future__ import annotations

import pytest

from tests.life.conftest import Owner

# What is written in a note, what is looked for, and the last of the lines that hold it.
WRITTEN: dict[str, tuple[str, str, int]] = {
    "broken Chinese": ("今年的部门预\n算还没有批。", "预算", 4),
    "broken Chinese in an item": ("- 新的冰\n  箱放在厨房。", "冰箱", 4),
    "broken Chinese in a quotation": ("> 旧的窗\n> 帘卖掉了。", "窗帘", 4),
    "bold": ("每周一交周**报**给老板。", "周报", 3),
    "highlight": ("护照在抽==屉==里。", "抽屉", 3),
    "tag": ("备用<u>钥</u>匙在鞋柜。", "钥匙", 3),
    "link": ("五月去[[青]]岛旅行。", "青岛", 3),
    "link with a text": ("坐[[trains|火]]车回家。", "火车", 3),
    "inline link": ("看了[电](https://film.example)影。", "电影", 3),
    "bold letter": ("Goals must be **M**easurable.", "measurable", 3),
    "italic beginning": ("The word is *un*likely here.", "unlikely", 3),
    "highlighted letter": ("The word is ==b==agpipes.", "bagpipes", 3),
    "tag in a word": ("The <b>no</b>tary signs on Friday.", "notary", 3),
    "tag with a colour": ('A <span style="color:red">wal</span>rus on the ice.', "walrus", 3),
    "break that may be": ("The Donau<wbr>dampfer leaves at nine.", "Donaudampfer", 3),
    "entity": ("Frau M&uuml;ller called.", "Müller", 3),
    "numbered entity": ("Herr K&#246;nig called.", "König", 3),
    "hexadecimal entity": ("Se&#xF1;or Pardo called.", "señor", 3),
    "ligature": ("The \ufb01nal bill came.", "final", 3),
    "other ligature": ("A shu\ufb04e of the cards.", "shuffle", 3),
    "soft hyphen": ("The insu\u00adrance was paid.", "insurance", 3),
    "zero width blank": ("The pass\u200bword manager is old.", "password", 3),
    "word joiner": ("The tele\u2060scope is at home.", "telescope", 3),
    "byte order mark within": ("\ufeffThe cara\ufeffvan is for sale.", "caravan", 3),
    "phrase over a link": ("Ask [the dentist](https://x.example/d) about gold.", '"the dentist about gold"', 3),
    "phrase over bold": ("The **blue** kayak leaks.", '"blue kayak leaks"', 3),
    "Polish": ("Dom w Łomży.", "Lomzy", 3),
    "Danish": ("Skærbæk æblegrød.", "aeblegrod", 3),
    "French": ("La sœur de Paul.", "soeur", 3),
    "Icelandic": ("Þorvaldur came by.", "Thorvaldur", 3),
    "German": ("Sie wohnt in der Gießerei.", "giesserei", 3),
    "Greek": ("Το αυτοκίνητο είναι κόκκινο.", "αυτοκινητο", 3),
    "Greek in capitals": ("Ο γιατρός τηλεφώνησε.", "ΓΙΑΤΡΟΣ", 3),
    "Russian": ("Куплен новый самолёт.", "самолет", 3),
    "Russian apart": ("Синии\u0306 чайник.", "синий", 3),
    "Arabic": ("هٰذَا كِتَابٌ جَدِيد.", "كتاب", 3),
    "Arabic hamza": ("قال أحمد نعم.", "احمد", 3),
    "Hebrew": ("קָנִינוּ שֻׁלְחָן.", "שלחן", 3),
    "Thai": ("ร้านกาแฟอยู่ใกล้สถานี", "กาแฟ", 3),
    "Thai question": ("แม่ชอบดอกกุหลาบสีแดง", "กุหลาบ", 3),
}  # fmt: skip


@pytest.fixture
def notebook(owner: Owner) -> Owner:
    for name, (text, _, _) in WRITTEN.items():
        owner.note(f"memory/{name.replace(' ', '_')}.md", f"# Notebook\n\n{text}\n")
    return owner


def test_words_are_found_as_they_are_read(notebook: Owner) -> None:
    memory = notebook.memory()
    for name, (_, question, last) in WRITTEN.items():
        hits = memory.search(question).hits
        assert hits, name
        best = hits[0]
        assert best.path == f"memory/{name.replace(' ', '_')}.md", name
        assert (best.start_line in (1, 3), best.end_line) == (True, last), name
        assert best.text in notebook.read(best.path), name  # shown as it is written


def test_what_was_found_before_is_found(owner: Owner) -> None:
    kept = {
        "formula": ("The area is a*b*c and 2*3*4.", ["area", '"2 3 4"']),
        "generic": ("Use List<String> here.", ["String"]),
        "address": (
            "See [the plan](https://plan.example/kiln).",
            ["plan.example", '"https://plan.example/kiln"'],
        ),
        "code": ("```html\n<b>no</b>tary &amp; **x**y\n```", ["tary", "amp"]),
        "target": ("See [[Pottery wheel|it]].", ['"pottery wheel"']),
        "picture": ('<img src="otter.png" alt="An otter">', ["otter"]),
        "comparison": ("if a<b and c>d: stop", ["stop"]),
        "accents": ("Το αυτοκίνητο είναι κόκκινο.", ["αυτοκίνητο"]),
        "joined": ("می\u200cخواهم", ["می\u200cخواهم", "میخواهم"]),
    }
    for name, (text, _) in kept.items():
        owner.note(f"memory/{name}.md", f"# Notebook\n\n{text}\n")
    memory = owner.memory()
    for name, (_, questions) in kept.items():
        for question in questions:
            assert f"memory/{name}.md" in [hit.path for hit in memory.search(question).hits], (name, question)


def test_a_word_that_two_passages_share_is_found(owner: Owner) -> None:
    """A long paragraph is cut at the end of a line; the word that an editor broke there is one word."""
    line = "这是很长的一段文字我们只是想把它写满一行再换下一行继续写下去直到写完为止好不好呢大家都说好"
    owner.note("memory/long.md", "# 长文\n\n" + f"{line}琵\n琶" * 12 + "完\n")
    assert owner.memory().search("琵琶").hits
    owner.note("memory/long.md", "# 长文\n\n" + f"{line}琵\n琶" * 11 + f"{line}喇\n叭完\n", age=1_770_001_000)
    assert owner.memory().search("喇叭").hits


WAYS = [
    "+49 30 1234567", "+49\u00a030\u00a01234567", "+49\u202f30\u202f123\u202f45\u202f67", "+49\u200930\u20091234567",
    "+49\u201130\u20111234567", "+49\u201330\u20131234567", "+49－30－1234567", "+49·30·1234567", "030/1234567",
    "(030) 123\u00a045\u00a067", "030 123\u201145\u201167", "0049\u00a030\u00a01234567", "030\u22121234567",
    "+49\u201230\u2012123\u20124567", "030 12 345 67",
]  # fmt: skip


def test_a_telephone_number_is_one_however_it_is_written(owner: Owner) -> None:
    for place, way in enumerate(WAYS):
        owner.note(f"memory/n{place}.md", f"# Notebook\n\nCall the plumber at {way} soon.\n")
    memory = owner.memory()
    for asked in ["030 1234567", "0301234567", *WAYS]:
        hits = memory.search(asked, limit=50).hits
        found = {place.path for hit in hits for place in (hit, *hit.others)}
        assert len(found) == len(WAYS), (asked, sorted(found))


def test_the_command_line_finds_it_too(notebook: Owner) -> None:
    assert "周**报**" in notebook.ok("search", "周报")
    assert "M&uuml;ller" in notebook.ok("search", "Müller")
