"""Prompts that ship, the owner's in their place, and every way a file can be wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.base.errors import ConfigError
from commonplace.base.paths import user_config_dir
from commonplace.providers.llm import prompting

GOOD = "---\npurpose: p\n---\n# user\n{{error}} and {{ schema }}\n"


@pytest.fixture
def own() -> Path:
    folder = user_config_dir() / "prompts"
    folder.mkdir(parents=True)
    return folder


def test_what_ships_can_be_filled_in() -> None:
    for name in prompting.names():
        prompt = prompting.load(name)
        filled = prompt.messages(**{variable: f"<{variable}>" for variable in prompt.variables})
        text = "\n".join(message.content for message in filled)
        assert "{{" not in text, name
        assert all(f"<{variable}>" in text for variable in prompt.variables), name


def test_each_prompt_is_on_the_page() -> None:
    page = (
        (Path(__file__).parents[3] / "docs" / "models.md").read_text("utf-8").split("\n## Language models")[1]
    )
    for name in prompting.names():
        prompt = prompting.load(name)
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
        purpose = (prompting.SHIPPED / f"{name}.md").read_text("utf-8").splitlines()[1]
        assert purpose.removeprefix("purpose: ") in row
        assert all(f"`{variable}`" in row for variable in prompt.variables)


def test_values_are_not_looked_at_for_markers() -> None:
    (told,) = prompting.load("repair").messages(error="{{schema}}", schema="{{error}}")
    assert "{{schema}}" in told.content
    assert "{{error}}" in told.content


def test_exactly_the_declared_variables_are_taken() -> None:
    for given in [{}, {"error": "x"}, {"error": "x", "schema": "y", "more": "z"}]:
        with pytest.raises(ConfigError, match="takes error, schema, got"):
            prompting.load("repair").messages(**given)


def test_the_owners_file_stands_in_the_place_of_what_ships(own: Path) -> None:
    (own / "repair.md").write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    prompt = prompting.load("repair")
    assert prompt.messages(error="a", schema="b")[0].content == "a and b"
    (own / "repair.md").write_text("# user\n{{error}}{{schema}}")
    assert prompting.load("repair").messages(error="a", schema="b")[0].content == "ab"


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"---\n# user\n{{error}} {{schema}}", "must stand under"),
        (GOOD.replace("# user\n", "").encode(), "must stand under"),
        (GOOD.replace("{{ schema }}", "").encode(), "variables must be error, schema, not error"),
        (GOOD.replace("{{error}}", "{{error}} {{x}}").encode(), "not error, schema, x"),
        (b"\xff\xfe", "cannot be read"),
    ],
)  # fmt: skip
def test_a_file_that_is_wrong_is_named(own: Path, content: bytes, match: str) -> None:
    (own / "repair.md").write_bytes(content)
    with pytest.raises(ConfigError, match=match) as caught:
        prompting.load("repair")
    assert str(own / "repair.md") in str(caught.value)


def test_a_file_that_cannot_be_read_is_no_reason_for_another(own: Path) -> None:
    (own / "repair.md").symlink_to(own / "gone.md")
    with pytest.raises(ConfigError, match="no such"):
        prompting.load("repair")
    (own / "repair.md").unlink()
    (own / "repair.md").mkdir()
    with pytest.raises(ConfigError, match="not a regular file"):
        prompting.load("repair")
