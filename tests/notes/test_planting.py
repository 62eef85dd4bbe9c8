"""Secrets planted in any surroundings do not survive; what is around them does."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from commonplace.markdown.document import parse
from commonplace.redaction.redact import redact, strip_private

LETTERS = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2"
BODY = "MIIEowIBAAKCAQEA7c8Wm0xq3Vf9yG2tS5rK1uN4oP6aB8dE"
# A secret, and the part of it that must be gone.
SECRETS = {
    "aws": ("AKIAIOSFODNN7SAMPLE2", "IOSFODNN7"),
    "github": (f"ghp_{LETTERS[:36]}", LETTERS[:36]),
    "slack": (f"xoxb-123456789012-{LETTERS[:24]}", LETTERS[:24]),
    "openai": (f"sk-proj-{LETTERS}", LETTERS[:20]),
    "google": (f"AIza{LETTERS[:35]}", LETTERS[:35]),
    "jwt": (f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3.{LETTERS}", "eyJzdWIiOiIxMjM0NTY3"),
    "url": ("postgres://admin:s3cr3tPa55@db.example.com/main", "s3cr3tPa55"),
    "password": ("password: hunter2-Tr0ub4dor", "hunter2-Tr0ub4dor"),
    "environment": ("DB_PASSWORD=hunter2-Tr0ub4dor", "hunter2-Tr0ub4dor"),
    "chinese": ("密码：hunter2-Tr0ub4dor", "hunter2-Tr0ub4dor"),
    "flag": ("mysql --password hunter2-Tr0ub4dor", "hunter2-Tr0ub4dor"),
    "json": ('{"api_key": "a1b2c3d4e5f6a7b8"}', "a1b2c3d4e5f6a7b8"),
    "bearer": (f"Authorization: Bearer {LETTERS}", LETTERS),
    "key": (f"-----BEGIN PRIVATE KEY-----\n{BODY}\n{BODY}\n-----END PRIVATE KEY-----", BODY),
}
# Where text ends and a secret may begin: not in the middle of a word, of a quotation or of a tag.
AROUND = st.lists(
    st.one_of(
        st.text(st.characters(exclude_characters="\"'`<>“”", exclude_categories=["Cs"]), max_size=20),
        st.sampled_from(
            ["the walnut desk", "# Heading", "- item", "```", "password", "密码", "key:", "=", "İß"]
        ),
        st.sampled_from([secret for secret, _ in SECRETS.values()]),
    ),
    max_size=4,
).map("\n".join)


@pytest.mark.parametrize("name", SECRETS)
@given(before=AROUND, after=AROUND)
def test_a_secret_between_any_lines_is_gone(name: str, before: str, after: str) -> None:
    secret, part = SECRETS[name]
    redacted, kinds = redact(f"{before}\n\n{secret}\n\n{after}")
    assert part not in redacted
    assert kinds


LINES = [
    "{}", "- {}", "> {}", "    {}", "1. {}", "| {} |", "**{}**", "({})", "{}.", "see: {}", "`{}`", "我的{}。",
]  # fmt: skip


def test_a_secret_is_gone_in_every_kind_of_line() -> None:
    for name, (secret, part) in SECRETS.items():
        for line in LINES:
            shown = redact("\n".join(line.format(row) for row in secret.split("\n")))[0]
            assert part not in shown, (name, line)


def test_a_secret_is_gone_where_lines_end_as_on_windows() -> None:
    for name, (secret, part) in SECRETS.items():
        text = f"before\n{secret}\nafter".replace("\n", "\r\n")
        redacted, _ = redact(text)
        assert part not in redacted, name
        assert redacted.startswith("before\r\n"), name
        assert redacted.endswith("\r\nafter"), name
        assert redacted.count("\r\n") == text.count("\r\n"), name


def test_a_secret_in_front_matter_heading_and_comment_reaches_no_note() -> None:
    for name, (secret, part) in SECRETS.items():
        secret = secret.replace("\n", "\n  ")
        text = f"---\nabout: |\n  {secret}\n---\n\n# Title\n\n<!-- project: x -->\n{secret}\n"
        note = parse(text, "a.md")
        seen = [
            "\n".join(note.lines),
            str(note.metadata),
            note.title,
            str(note.headings),
            str(note.annotations),
        ]
        assert not [one for one in seen if part in one], name


WORDS = st.lists(
    st.sampled_from(
        "the walnut desk passes every test with 42 words; see README.md, 周五 不部署 keyboard token".split()
    ),
    max_size=30,
)


@given(WORDS.map(" ".join))
def test_prose_is_left_as_it_is(text: str) -> None:
    assert redact(text) == (text, ())


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
@example("a", "b\n```\nc", "d")
def test_what_is_private_is_gone_and_what_is_around_stays(before: str, hidden: str, after: str) -> None:
    before, hidden, after = (part.replace("<", "").replace(">", "") for part in (before, hidden, after))
    found = strip_private(f"{before}<private>S3{hidden}S3</private>{after}")
    assert "S3" not in found.removeprefix(before).removesuffix(after)
    assert found.startswith(before)
    assert found.endswith(after)


@given(
    st.lists(
        st.sampled_from(["<private>", "</private>", "<PRIVATE x='1'>", "x", "\n", "<private/>"]), max_size=12
    )
)
def test_nothing_stays_between_an_opening_and_its_closing(parts: list[str]) -> None:
    depth, public = 0, []
    for part in parts:
        if part.lower().startswith("<private") and part != "<private/>":
            depth += 1
        elif part == "</private>":
            public += [part] * (depth == 0)
            depth = max(0, depth - 1)
        elif depth == 0 or part == "\n":
            public.append(part)
    assert strip_private("".join(parts)) == "".join(public)
