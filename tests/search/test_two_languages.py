"""Traditional and simplified Chinese, and questions that mix Chinese and English, over real memories."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.render import screen
from commonplace.search import query

SIMPLIFIED = [
    "我们计划下周三在台湾开会",
    "项链放在卧室抽屉里",
    "头发剪短了，发现显得年轻",
    "他回复说已经了解合同的内容",
    "面条要煮八分钟",
]
TRADITIONAL = [
    "我們計畫下週三在臺灣開會",
    "項鍊放在臥室抽屜裡",
    "頭髮剪短了，發現顯得年輕",
    "他回覆說已經瞭解合約的內容",
    "麵條要煮八分鐘",
]
QUESTIONS = [
    ("台湾", "臺灣", 0),
    ("计划", "計畫", 0),
    ("项链在哪里", "項鍊在哪裡", 1),
    ("头发", "頭髮", 2),
    ("发", "髮", 2),
    ("什么时候开会", "什麼時候開會", 0),
    ("有没有回复", "有沒有回覆", 3),
    ("了解内容了吗", "瞭解內容了嗎", 3),
    ('"放在卧室"', '"放在臥室"', 1),
    ("卧室抽*", "臥室抽*", 1),
    ("项链 AND 抽屉", "項鍊 AND 抽屜", 1),
    ("面条煮几分钟", "麵條煮幾分鐘", 4),
]


def memory_of(root: Path, texts: list[str], provider: str = "none") -> Memory:
    (root / "memory").mkdir(parents=True)
    for number, text in enumerate(texts):
        (root / "memory" / f"n{number}.md").write_text(f"- {text}\n", "utf-8")
    memory = Memory.open(root, overrides={"embedding.provider": provider})
    memory.sync()
    return memory


def found(memory: Memory, question: str) -> list[str]:
    return [hit.text.removeprefix("- ") for hit in memory.search(question).hits]


@pytest.fixture(scope="module", params=["simplified", "traditional"])
def memory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Memory:
    texts = SIMPLIFIED if request.param == "simplified" else TRADITIONAL
    return memory_of(tmp_path_factory.mktemp("zh") / request.param, texts)


def test_each_finds_the_other(memory: Memory) -> None:
    for simplified, traditional, number in QUESTIONS:
        results = [memory.search(question).hits for question in (simplified, traditional)]
        for hits in results:
            assert hits[0].text.removeprefix("- ") in (SIMPLIFIED[number], TRADITIONAL[number])
        assert [(hit.path, hit.score) for hit in results[0]] == [
            (hit.path, hit.score) for hit in results[1]
        ], (simplified, traditional, number)


def test_exclusions_exclude_either(memory: Memory) -> None:
    for question in ["分钟 -台湾 -开会 -面条", "分鐘 -臺灣 -開會 -麵條", "分钟 －面条", "分鐘 -麵*"]:
        assert found(memory, question) == []


def test_a_hit_shows_the_text_as_it_stands(tmp_path: Path) -> None:
    memory = memory_of(tmp_path / "w", TRADITIONAL)
    assert found(memory, "台湾") == [TRADITIONAL[0]]


def test_either_is_marked() -> None:
    for question, line, expected in [
        ("台湾", "在臺灣開會", ["臺灣"]),
        ("臺灣", "在台湾开会", ["台湾"]),
        ("ＧＰＴ", "用gpt写", ["gpt"]),
        ("gpt", "用ＧＰＴ写", ["ＧＰＴ"]),
        ('"項鍊"', "新的项链", ["项链"]),
    ]:
        pattern = screen.matcher(query.parse(question).marked)
        assert [line[start:end] for start, end in screen.matches(line, pattern)] == expected


def test_questions_in_either_have_the_same_terms() -> None:
    for one, other in [
        ("这是什么东西", "這是什麼東西"),
        ("你们在哪里见面的", "你們在哪裡見面的"),
        ("有没有买票吗", "有沒有買票嗎"),
        ("怎么办理护照呢", "怎麼辦理護照呢"),
        ("请问哪个医生还可以", "請問哪個醫生還可以"),
    ]:
        assert query.parse(one).terms == query.parse(other).terms


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("ｶﾞｽの点検は火曜日", "ガス"),
        ("ガスの点検は火曜日", "ｶﾞｽ"),
        ("한국어 수업은 금요일", "한국어"),
        ("会议室在三楼　靠窗", "会议室　靠窗"),
        ("文件在ｓｒｃ／ｓｔｏｒｅ．ｔｓ", "src/store.ts"),
        ("see src/store.ts", "ｓｒｃ／ｓｔｏｒｅ．ｔｓ"),
        ("價格是３５元", "价格 35"),
        ("\uf9d1月的安排", "六月"),
    ],
)
def test_other_forms_of_the_same_characters(tmp_path: Path, text: str, question: str) -> None:
    assert found(memory_of(tmp_path / "w", [text, "别的事情", "something else"]), question)[0] == text


MIXED = [
    "The staging cluster runs in Frankfurt since the move.",
    "Postgres backups are kept for thirty days in cold storage.",
    "The login token expires after fifteen minutes.",
    "Invoices go out on the first working day.",
    "Anna prefers oat milk in her coffee.",
    "我们的集群部署在法兰克福。",
    "数据库备份保留三十天。",
    "Kubernetes 集群的 region 是 eu-central-1。",
    "支付网关超时的时候用 jitter 重试。",
    "妈妈的生日是五月三号。",
]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with memory_of(tmp_path_factory.mktemp("mixed") / "w", MIXED, "builtin") as memory:
        yield memory


def test_a_mixed_question_finds_either_language(mixed: Memory) -> None:
    for question, numbers in [
        ("我的 Kubernetes cluster 在哪个 region", (0, 7)),
        ("database backup 保留多久", (1, 6)),
        ("這個 cluster 在哪裡", (0,)),
        ("credential expiry 是几分钟", (2,)),
        ("billing 什么时候 send", (3,)),
        ("Anna 早上 breakfast drink 喜欢什么", (4,)),
        ("jitter 重试", (8,)),
    ]:
        assert set(numbers) <= {MIXED.index(text) for text in found(mixed, question)[:3]}


def test_the_share_of_chinese_is_that_of_what_is_asked_about() -> None:
    for question, share in [
        ("where is the cluster", 0.0),
        ("集群在哪里", 1.0),
        ("我们的", 1.0),
        ("我的 cluster 在哪里", 0.0),
        ("cluster 集群", 0.5),
        ("what is 数据库", 1.0),
        ("staging 部署在什么地方", pytest.approx(2 / 3)),
    ]:
        assert query.parse(question).wide == share


def test_the_part_that_a_latin_model_reads() -> None:
    assert query.latin("我的 Kubernetes cluster，在哪个 region？") == "Kubernetes cluster region"
    assert query.latin("plain English") == "plain English"
    assert query.latin("只有中文") == "只有中文"
