"""Lines that are asked again are not read again, but for long ones."""

from __future__ import annotations

from commonplace.base.lines import remembered


def test_a_line_is_read_once_and_a_long_one_each_time() -> None:
    asked: list[str] = []

    @remembered
    def size(line: str) -> int:
        """Measure it."""
        asked.append(line)
        return len(line)

    assert [size("one"), size("one"), size("x" * 10_000), size("x" * 10_000)] == [3, 3, 10_000, 10_000]
    assert [len(line) for line in asked] == [3, 10_000, 10_000]
    assert size.__doc__ == "Measure it."
