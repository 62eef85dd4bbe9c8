"""Lines that are asked again are not read again, but for long ones."""

from __future__ import annotations

from commonplace.base.lines import recent, remembered


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


def test_the_last_texts_are_read_once_and_none_of_them_is_kept() -> None:
    import gc

    asked: list[object] = []

    def size(text: str | bytes, *more: object) -> tuple[int, object]:
        asked.append((text[:3], *more))
        return len(text), *more

    known = recent(2, size)
    text = "".join(["one", "-" * 100])
    assert [known(text, 1), known(text, 1), known(text, 2), known(b"two\xff", 1), known(text, 2)] == [
        (103, 1), (103, 1), (103, 2), (4, 1), (103, 2),
    ]  # fmt: skip
    assert asked == [("one", 1), ("one", 2), (b"two", 1)]
    known(text, 1)  # the first of three went
    assert len(asked) == 4
    assert known("\ud83c") == (1,)
    asked.clear()
    assert [other for other in gc.get_referrers(text) if other is not locals()] == []
