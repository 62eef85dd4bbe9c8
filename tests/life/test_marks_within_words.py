"""A word is one word with its vowel signs, in scripts that write them as marks, and is found as one."""

from __future__ import annotations

from tests.life.conftest import Owner

# A word, a line that holds it, and a line that holds its letters with other marks.
WORDS = {
    "Devanagari": ("चाबी", "चाबी रसोई में है", "चीबा बहुत बड़ा है"),
    "Devanagari with a conjunct": ("कुत्ता", "हमारा कुत्ता भूरा है", "कता तीता है"),
    "Bengali": ("চাবি", "চাবি রান্নাঘরে আছে", "চব চা ভালো"),
    "Tamil": ("தமிழ்", "தமிழ் எளிது", "தமழ ஒன்று"),
    "Telugu": ("తెలుగు", "తెలుగు మాట", "తలగ ఒకటి"),
    "Kannada": ("ಕನ್ನಡ", "ಕನ್ನಡ ಮಾತು", "ಕನನಡ ಒಂದು"),
    "Malayalam": ("താക്കോൽ", "താക്കോൽ ഇവിടെ", "തകകൽ ഒന്ന്"),
    "Gujarati": ("ચાવી", "ચાવી અહીં છે", "ચવ સારું છે"),
    "Gurmukhi": ("ਚਾਬੀ", "ਚਾਬੀ ਇੱਥੇ ਹੈ", "ਚਬ ਚੰਗਾ ਹੈ"),
    "Sinhala": ("යතුර", "යතුර මෙතන", "යතර එක"),
    "Tibetan": ("ཡིག", "བོད་ཡིག་ཡིན", "ཡག་པོ"),
    "Burmese": ("သော့", "သော့ရှိသည်", "သရသည"),
    "Khmer": ("សោរ", "សោរនៅទីនេះ", "សរនទន"),
    "Thai": ("กุญแจ", "กุญแจอยู่ในครัว", "กฺญจกล"),
    "Thaana": ("ތަޅު", "ތަޅު މިތަނުގައި", "ތޅ އެއް"),
}  # fmt: skip


def test_a_word_is_found_with_its_marks(owner: Owner) -> None:
    for name, (_, line, other) in WORDS.items():
        owner.note(f"memory/{name}.md", f"# Key\n\n- {line}\n")
        owner.note(f"memory/{name} other.md", f"# Other\n\n- {other}\n")
    memory = owner.memory()
    for name, (word, line, _) in WORDS.items():
        for question in (word, f'"{word}"', f"{word}?", line):
            found = [hit.path for hit in memory.search(question).hits]
            assert found[:1] == [f"memory/{name}.md"], question
            assert f"memory/{name} other.md" not in found or question == line, question
    assert memory.search("แจ").hits  # a part of a word in a script without blanks


def test_a_letter_with_its_mark_is_the_same_in_one_character_or_two(owner: Owner) -> None:
    owner.note("memory/one.md", "- \u0915\u093c\u0932\u092e is the pen of Ann.\n")
    owner.note("memory/two.md", "- \u0958\u0932\u092e writes in blue.\n")
    memory = owner.memory()
    for question in ("\u0915\u093c\u0932\u092e", "\u0958\u0932\u092e"):
        assert len(memory.search(question).hits) == 2, question


NUMBERED = {
    "①Docker安装": "docker", "②Redis": "redis", "⑴Nginx": "nginx", "㈠Kafka": "kafka", "⒋MySQL": "mysql",
    "❺Mongo": "mongo", "⓪Podman": "podman", "➊Caddy": "caddy", "⑫Kubernetes": "kubernetes", "㊂Traefik": "traefik",
    "㉑Vagrant": "vagrant", "㊱Ansible": "ansible", "⓵Grafana": "grafana", "先①后②Jenkins": "jenkins",
}  # fmt: skip


def test_a_numbered_mark_is_no_part_of_the_word_behind_it(owner: Owner) -> None:
    for number, text in enumerate(NUMBERED):
        owner.note(f"memory/{number}.md", f"# Steps\n\n{text}\n")
    memory = owner.memory()
    for number, (text, word) in enumerate(NUMBERED.items()):
        for question in (word, word.upper(), text):
            assert memory.search(question).hits[0].path == f"memory/{number}.md", question


UNITS = [("5㎏", "5kg"), ("80㎡", "80m2"), ("30㎝", "30cm"), ("250㎖", "250ml"), ("12㎞", "12km"), ("7㎐", "7Hz"),
         ("990㍱", "990hPa"), ("3㏄", "3cc")]  # fmt: skip


def test_a_sign_of_a_unit_is_its_letters(owner: Owner) -> None:
    for number, pair in enumerate(UNITS):
        for kind, text in zip(("sign", "letters"), pair, strict=True):
            owner.note(f"memory/{chr(97 + number)}-{kind}.md", f"# Box\n\nThe {kind} {text} of it.\n")
    memory = owner.memory()
    for number, pair in enumerate(UNITS):
        for question in pair:
            found = {hit.path for hit in memory.search(question).hits}
            assert found == {f"memory/{chr(97 + number)}-sign.md", f"memory/{chr(97 + number)}-letters.md"}, (
                question
            )
