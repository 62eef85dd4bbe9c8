"""A value that is called a password, token or key once is kept nowhere in the same text."""

from __future__ import annotations

import pytest

from tests.life.conftest import Owner, until
from tests.life.test_secrets import kept

WORD = "hunter2-Kestrel9"
REPEATED = {
    "later": f"password = {WORD}\n\nthen I typed {WORD} again",
    "before": f"I typed {WORD} first.\n\nThe password: {WORD}",
    "in an address": f"export API_TOKEN={WORD}\n\ncurl https://goat.example/v1/{WORD}/x",
    "in brackets": f"password: {WORD}\n\n({WORD}), “{WORD}”, `{WORD}`, {WORD}.",
    "in Chinese": f"密码：{WORD}\n\n后来又输入{WORD}一次",
    "of a table": f"| user | password |\n|---|---|\n| bo | {WORD} |\n\nI typed {WORD}",
    "of a sentence": f"The password for the goat is {WORD}.\n\nI typed {WORD}",
    "below": f"The password is:\n\n`{WORD}`\n\n- typed {WORD}",
    "of German": f"Passwort: {WORD}\n\nich tippte {WORD}",
    "of a setting": f'api_key = "{WORD}"\n\nx-goat: {WORD}',
    "of a flag": f"goat --password {WORD}\n\ngoat login {WORD}",
    "of a header": "Authorization: Bearer ab12cd34ef56ab12cd34\n\nthe token: ab12cd34ef56ab12cd34, ab12cd34ef56ab12cd34",
    "with a sign": "password: Kestrel!Harbour\n\ntyped Kestrel!Harbour twice",
    "on one line": f"password={WORD} and {WORD} and {WORD}",
}  # fmt: skip
STAYS = (
    f"password = {WORD}\n\nthe host {WORD}9 and my{WORD} stay",
    "PASSWORD='Welcome!'\n\nWelcome! said Bo",
    "password: correct-horse-battery\n\ncorrect-horse-battery is a joke",
    "password: 84729104\n\nOrder 84729104 was shipped",
    "password = get_password(user)\n\nget_password(user) is slow",
    "password: abc12\n\nthe room abc12 is free",
)
RESIDENTS = {
    "身份证号码：11010519491231002X": False,
    "身份证号是 11010519491231002x。": False,
    "身份证 110105 19491231 002X": False,
    "身份證號碼:11010519491231002X": False,
    "身份证号码：110105194912310021": True,  # another check digit
    "身份证号码：11010519491331002X": True,  # a thirteenth month
    "订单号码：11010519491231002X": True,
}


def test_a_password_is_kept_nowhere_in_its_text(owner: Owner) -> None:
    memory = owner.memory()
    for name, text in REPEATED.items():
        memory.remember(f"{text} ({name})")
    written = kept(owner)
    for word in (WORD, "ab12cd34ef56ab12cd34", "Kestrel!Harbour"):
        assert word not in written, written[max(0, written.find(word) - 200) :][:300]
    owner.note("memory/by-hand.md", "# By hand\n\n- password = kiwi7-Falcon3\n\nI typed kiwi7-Falcon3.\n")
    owner.ok("sync")
    for command in (["search", "typed"], ["get", "memory/by-hand.md"]):
        assert "kiwi7-Falcon3" not in owner.ok(*command)


def test_what_only_resembles_it_stays(owner: Owner) -> None:
    memory = owner.memory()
    for text in STAYS:
        memory.remember(text)
    written = kept(owner)
    for text in STAYS:
        assert text.rpartition("\n")[2] in written, text


@pytest.mark.parametrize("number", RESIDENTS)
def test_the_number_of_a_resident_goes_from_what_tools_brought(owner: Owner, number: str) -> None:
    owner.environment["COMMONPLACE_SERVER_START"] = "never"
    response = {"stdout": "", "stderr": "", "interrupted": False}
    command = {"command": f"echo 'Mind the goat. {number}' >> goats.txt"}
    owner.hook("PostToolUse", tool_name="Bash", tool_input=command, tool_response=response)

    def noted() -> str:
        owner.hook("Stop")
        return kept(owner)

    until(lambda: "Mind the goat" in noted())
    assert ("10519491" in kept(owner) or "19491231 " in kept(owner)) is RESIDENTS[number]
