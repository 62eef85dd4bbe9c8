"""The word lists: in the form in which questions are compared with them, and nothing that means something."""

from __future__ import annotations

import re

from commonplace.language import lexicon, stopwords
from commonplace.search import query


def test_a_chinese_stop_word_is_one_bigram() -> None:
    assert all(lexicon.bigrams(word) == [word] for word in stopwords.CHINESE)
    assert all(
        len(character) == 1 and re.fullmatch(lexicon.CJK_RUN, character)
        for character in stopwords.CHINESE_CHARACTERS
    )


def test_function_words_are_blanked() -> None:
    assert stopwords.without("我们的集群在哪里").split() == ["集群"]
    assert stopwords.without("no Chinese") == "no Chinese"


def test_words_that_say_something_are_kept() -> None:
    for word in "deploy tea never without budget name time work home birthday python".split():
        assert query.parse(f"what is the {word}").terms == (word,)


def test_bigrams_of_function_words_are_dropped() -> None:
    for question, terms in [
        ("我的生日是哪天", {"的生", "生日", "日是", "哪天"}),
        ("请问你们什么时候部署", {"候部", "部署", "么时", "时候"}),
        ("部署", {"部署"}),
        ("学", {"学"}),
    ]:
        found = set(query.parse(question).terms)
        assert terms - stopwords.CHINESE <= found
        assert not found & stopwords.CHINESE, (question, terms)


def test_a_chinese_question_of_function_words_alone_is_still_asked() -> None:
    assert query.parse("我们的").terms == ("我们", "们的")
