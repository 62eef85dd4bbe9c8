"""A property that answers the question is shown, of the note that the question names."""

from __future__ import annotations

from tests.life.conftest import Owner

MEETING = "Met at the conference in Oslo in the spring of that year.\n"
NOTES = {
    "memory/Anna Lindqvist.md": '---\nphone: "+46 70 123 45 67"\nbirthday: 1988-04-17\n---\n'
    "Anna keeps bees behind the café. Her daughter is called Tuva.",
    "memory/林房东.md": "---\n电话: 138-0013-8000\n生日: 1970-01-02\n---\n林房东，福建人，住在楼下，爱喝铁观音。\n",
    "memory/牙医.md": "---\n名字: 王医生\n地址: 中山路12号\n---\n每年洗牙两次。\n",
    "memory/Bo Ek.md": "---\ntitle: Bo Ek\naliases: [Bosse]\ntags: [person, sailing]\nphone_number: 040-111 22\n"
    "blood type: A+\n---\n\n# Bo Ek\n\nBo sails a lot.\n\n## Work\n\nHe is a carpenter in Lund.\n\n"
    "## Habits\n\nHe never answers before noon.\n",
    "memory/Boiler.md": "---\nmodel: Vaillant ecoTEC\ninstalled: 2019-10-02\ncontact:\n  company: Kleine & Sohn\n"
    "  telephone: 0221 555 12\nserial: 21-4567\n---\n\nIt stands in the cellar. Bleed it every autumn.\n",
    "memory/Car.md": '---\nplate: KLV 482\ninsurer: Folksam\npolicy-number: "99 1234"\n---\nA grey Volvo.\n',
    "memory/Dora.md": f"---\nphone: 0222 2\n---\n{MEETING}",
    "memory/Frida.md": f"---\r\nphone: 0333 3\r\n---\r\n{MEETING}",
    "memory/Wi-Fi.md": "---\nssid: Klabautermann\npassword hint: see the box\n---\nThe router is in the hall.\n",
}
# Question; the first note; the properties shown of it; some that are not.
ASKED = [
    ("Lindqvist phone", "Anna Lindqvist", ['phone: "+46 70 123 45 67"'], ["birthday"]),
    ("Anna phone", "Anna Lindqvist", ['phone: "+46 70 123 45 67"'], ["birthday"]),
    ("which phone has Anna", "Anna Lindqvist", ['phone: "+46 70 123 45 67"'], ["birthday"]),
    ("what is Anna's phone number", "Anna Lindqvist", ['phone: "+46 70 123 45 67"'], ["birthday"]),
    ("Anna's phones", "Anna Lindqvist", ['phone: "+46 70 123 45 67"'], ["birthday"]),
    ("when is Anna's birthday", "Anna Lindqvist", ["birthday: 1988-04-17"], ["phone"]),
    ("Anna Lindqvist birthday", "Anna Lindqvist", ["birthday: 1988-04-17"], ["phone"]),
    ("birthday and phone of Anna", "Anna Lindqvist", ["birthday: 1988", "phone: "], ["---"]),
    ("林房东的电话是多少", "林房东", ["电话: 138-0013-8000"], ["生日"]),
    ("林房东的生日是哪天", "林房东", ["生日: 1970-01-02"], ["电话"]),
    ("牙医的地址在哪里", "牙医", ["地址: 中山路12号"], ["名字"]),
    ("what is Bo's phone number", "Bo Ek", ["phone_number: 040-111 22"], ["tags", "title", "blood"]),
    ("Bosse phone", "Bo Ek", ["phone_number: 040-111 22"], ["tags", "title"]),
    ("Bo's blood type", "Bo Ek", ["blood type: A+"], ["tags", "title", "phone"]),
    ("boiler contact", "Boiler", ["contact:\n  company: Kleine & Sohn\n  telephone: 0221 555 12"], ["model"]),
    ("who installed the boiler", "Boiler", ["installed: 2019-10-02"], ["model", "serial"]),
    ("telephone of the boiler company", "Boiler", ["  telephone: 0221 555 12"], ["serial"]),
    ("what is the policy number of the car", "Car", ['policy-number: "99 1234"'], ["plate"]),
    ("which car has plate KLV 482", "Car", ["plate: KLV 482"], ["insurer"]),
    ("Folksam", "Car", ["insurer: Folksam"], ["plate"]),
    ("Dora's phone", "Dora", ["phone: 0222 2"], ["---"]),
    ("Frida phone", "Frida", ["phone: 0333 3"], ["---"]),
    ("password hint for the wi-fi", "Wi-Fi", ["password hint: see the box"], ["ssid"]),
    ("bees behind the café", "Anna Lindqvist", [], ["phone", "birthday"]),
    ("Anna", "Anna Lindqvist", [], ["phone", "birthday"]),
]  # fmt: skip


def check(owner: Owner) -> None:
    for path, text in NOTES.items():
        owner.note(path, text)
    memory = owner.memory()
    for question, name, shown, not_shown in ASKED:
        hit = memory.search(question).hits[0]
        assert hit.path == f"memory/{name}.md", (question, hit)
        assert all(line in hit.text for line in shown), (question, hit.text)
        assert not any(line in hit.text for line in not_shown), (question, hit.text)


def test_properties_that_a_question_asks_for_are_shown(owner: Owner) -> None:
    check(owner)


def test_they_are_shown_where_meaning_counts_too(owner_with_model: Owner) -> None:
    check(owner_with_model)


def test_they_are_shown_in_recall_and_on_the_command_line(owner_with_model: Owner) -> None:
    owner = owner_with_model
    for path, text in NOTES.items():
        owner.note(path, text)
    question = "what is Anna's phone number"
    first = owner.ok("search", question, "-n", "1")
    assert "+46 70 123 45 67" in first
    assert "138-0013" not in first
    assert "+46 70 123 45 67" in owner.ok("search", "which phone has Anna", "--full")
    assert "+46 70 123 45 67" in owner.ok("recall", question)
    assert "+46 70 123 45 67" in owner.mcp().call("memory_search", query=question)


def test_they_are_shown_above_the_best_passage_of_a_long_note(owner: Owner) -> None:
    """The passage below the front matter is among those that the question finds; the property stands once."""
    walks = "".join(f"## Walk {n}\n\nHarbour walk number {n} with the dog.\n\n" for n in range(12))
    owner.note(
        "memory/Harbour.md", f"---\nharbourmaster: Ines Roth\n---\n\nAn old quay and a crane.\n\n{walks}"
    )
    hits = owner.memory().search("old quay crane harbourmaster walk number 7").hits
    assert sum("harbourmaster: Ines Roth" in hit.text for hit in hits) == 1
