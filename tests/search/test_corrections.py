"""Corrections of every kind in two languages: the replacement is found first, the old one only by who asks for it.

Everything is generated from a seed, among some hundred other notes; the bundled model and the settings are
those that every workspace begins with.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from commonplace import Memory
from commonplace.types import Hit, Provenance

DAY, EVE = date(2026, 3, 2), date(2026, 3, 1)


class Kind(NamedTuple):
    """What is told of a subject, how it is told when it has changed, the question, the values it may have."""

    told: str
    changed: str
    question: str
    values: tuple[str, ...]


ENGLISH = (
    Kind("The {} gateway listens on port {}.", "The {} gateway listens on port {}.", "Which port does the {} gateway listen on?", ("4101", "4217", "8080", "9443", "7070", "6543")),
    Kind("Deploys of {} go out on {}.", "Deploys of {} go out on {} now.", "On which day do deploys of {} go out?", ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Sundays")),
    Kind("{} is maintained by {}.", "The maintainer of {} is {}.", "Who maintains {}?", ("Mira", "Jonas", "Priya", "Tomás", "Ingrid", "Wei")),
    Kind("The weekly {} meeting is in room {}.", "The weekly {} meeting has moved to room {}.", "Which room is the weekly {} meeting in?", ("Aspen", "Birch", "Cedar", "Larch", "Maple", "Rowan")),
    Kind("The budget of {} for this year is {} euros.", "The budget of {} for this year was raised to {} euros.", "What is the budget of {} for this year?", ("12,000", "18,500", "24,000", "31,000", "45,250", "60,000")),
    Kind("{} runs on PostgreSQL {}.", "{} runs on PostgreSQL {} since the upgrade.", "Which PostgreSQL version does {} run on?", ("13", "14", "15", "16", "17", "18")),
    Kind("The on-call phone of {} is extension {}.", "The on-call phone of {} is extension {}.", "What is the on-call extension of {}?", ("301", "322", "347", "358", "364", "399")),
    Kind("Backups of {} are kept for {} days.", "Backups of {} are kept for {} days instead.", "How long are backups of {} kept?", ("7", "14", "30", "45", "60", "90")),
    Kind("{} is licensed under {}.", "{} has been relicensed under {}.", "What licence is {} under?", ("Apache-2.0", "MIT", "MPL-2.0", "BSD-3-Clause", "AGPL-3.0", "ISC")),
    Kind("The launch party of {} takes place in {}.", "The launch party of {} takes place in {}, not where we said.", "Where does the launch party of {} take place?", ("Lisbon", "Ghent", "Turin", "Aarhus", "Porto", "Graz")),
)  # fmt: skip
CHINESE = (
    Kind("{}网关监听{}端口。", "{}网关监听{}端口。", "{}网关监听哪个端口？", ("4101", "4217", "8080", "9443", "7070", "6543")),
    Kind("{}每{}发布。", "{}改到每{}发布。", "{}每周几发布？", ("周一", "周二", "周三", "周四", "周五", "周日")),
    Kind("{}由{}负责维护。", "{}的维护人是{}。", "{}由谁负责维护？", ("陈晓", "林涛", "赵敏", "周凯", "吴静", "郑伟")),
    Kind("{}周会在{}会议室开。", "{}周会改在{}会议室开。", "{}周会在哪个会议室？", ("白杨", "银杏", "红枫", "青松", "翠竹", "雪莲")),
    Kind("{}今年的预算是{}元。", "{}今年的预算提高到{}元。", "{}今年的预算是多少？", ("12000", "18500", "24000", "31000", "45250", "60000")),
    Kind("{}的数据库版本是{}。", "{}的数据库已升级到版本{}。", "{}的数据库是什么版本？", ("13.1", "14.2", "15.4", "16.3", "17.0", "18.1")),
    Kind("{}的值班分机号是{}。", "{}的值班分机号是{}。", "{}的值班分机号是多少？", ("301", "322", "347", "358", "364", "399")),
    Kind("{}的备份保留{}天。", "{}的备份改为保留{}天。", "{}的备份保留多少天？", ("7", "14", "30", "45", "60", "90")),
    Kind("{}采用{}许可证。", "{}已改用{}许可证。", "{}采用什么许可证？", ("Apache-2.0", "MIT", "MPL-2.0", "BSD-3-Clause", "AGPL-3.0", "ISC")),
    Kind("{}的庆功会在{}举行。", "{}的庆功会改在{}举行。", "{}的庆功会在哪里举行？", ("苏州", "扬州", "厦门", "大理", "青岛", "桂林")),
)  # fmt: skip
NAMES = "Kestrel Heron Osprey Plover Curlew Dunlin Avocet Godwit Lapwing Skua Turnstone Whimbrel".split()
PARTS = "billing search mail ledger portal".split()
CHINESE_NAMES = "红隼 苍鹭 鱼鹰 金鸻 朱鹮 黑鹳 云雀 画眉 杜鹃 海燕 鸳鸯 银鸥".split()
CHINESE_PARTS = "账单 搜索 邮件 账本 门户".split()
OTHERS = (
    "Talked to {} about the {} of the {} until lunch.",
    "{} reviewed the {} and found nothing against the {}.",
    "Wrote to {} that the {} needs another look before the {}.",
    "和{}一起看了{}，{}还要再等等。",
    "{}说{}的事情先放一放，{}更要紧。",
)
THINGS = "report draft contract invoice release survey photo schedule 报告 草稿 合同 发票 问卷 照片 日程 方案".split()
PEOPLE = "Ada Bruno Chiara Dmitri 小王 老李 阿珍 小周".split()


class Correction(NamedTuple):
    """A statement, what replaced it, and the question that both answer."""

    old: str
    new: str
    question: str


def corrections(rng: random.Random, each: int) -> list[Correction]:
    """So many in each language, each of another subject."""
    found = []
    for kinds, names, parts, joint in (
        (ENGLISH, NAMES, PARTS, " "),
        (CHINESE, CHINESE_NAMES, CHINESE_PARTS, ""),
    ):
        names, parts = rng.sample(names, len(names)), rng.sample(parts, len(parts))
        for number in range(each):
            at, kind = number // len(kinds), kinds[number % len(kinds)]
            subject = f"{names[(number % len(kinds) + at) % len(names)]}{joint}{parts[at]}"
            old, new = rng.sample(kind.values, 2)
            question = kind.question.format(subject)
            found.append(
                Correction(kind.told.format(subject, old), kind.changed.format(subject, new), question)
            )
    return found


def told(one: Correction, number: int) -> str:
    """The old statement as an entry, in either manner of the daily notes."""
    return f"- {('', '14:05 ')[number % 2]}{one.old}"


def write(root: Path, found: list[Correction], rng: random.Random) -> None:
    """Half of the old statements into MEMORY.md, half into the notes of their days, all among others."""
    (root / "memory").mkdir(parents=True)
    curated = [told(one, n) for n, one in enumerate(found) if n % 2]
    (root / "MEMORY.md").write_text("\n".join(["# Memory", "", "## Facts", "", *curated, ""]), "utf-8")
    daily = [(n, one) for n, one in enumerate(found) if not n % 2]
    for day in range(1, 29):
        entries = [
            f"- {rng.randrange(8, 20):02}:{rng.randrange(60):02} {other}"
            for other in (
                rng.choice(OTHERS).format(rng.choice(PEOPLE), *rng.sample(THINGS, 2)) for _ in range(12)
            )
        ]
        entries += [told(one, n) for n, one in daily[day - 1 :: 28]]
        rng.shuffle(entries)
        lines = [f"# 2026-02-{day:02}", "", *entries, ""]
        (root / "memory" / f"2026-02-{day:02}.md").write_text("\n".join(lines), "utf-8")


@pytest.fixture(scope="module", params=[10, pytest.param(50, marks=pytest.mark.slow)])
def found(request: pytest.FixtureRequest) -> list[Correction]:
    """One of each kind in either language; with --slow five of each."""
    return corrections(random.Random(6), request.param)


@pytest.fixture(scope="module")
def memory(found: list[Correction], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    root = tmp_path_factory.mktemp("corrected")
    write(root, found, random.Random(7))
    with Memory.open(root, overrides={"usage.record": False, "index.sync_on_search": False}) as opened:
        for number, one in enumerate(found):
            who = Provenance("agent", "nano") if number % 3 == 0 else None
            opened.correct(one.old, one.new, now=datetime(2026, 3, 2, 12), provenance=who)
        opened.sync()
        yield opened


def place(hits: tuple[Hit, ...], text: str) -> int:
    """Where a statement stands among hits, from 1; 0 where it does not."""
    return next((at for at, hit in enumerate(hits, 1) if text in hit.text), 0)


def test_each_is_of_another_subject(found: list[Correction]) -> None:
    assert len({one.old for one in found} | {one.new for one in found}) == 2 * len(found)
    assert len({one.question for one in found}) == len(found) >= len(ENGLISH + CHINESE)


def test_the_replacement_comes_first_and_nothing_struck_is_found(
    memory: Memory, found: list[Correction]
) -> None:
    missed = []
    for one in found:
        hits = memory.search(one.question, now=DAY).hits
        gone = [hit for hit in hits if "struck" in hit.labels or "~~" in hit.text or one.old in hit.text]
        assert not gone
        if place(hits, one.new) != 1:
            missed.append((one, [hit.text for hit in hits[:3]]))
    assert len(missed) <= len(found) // 50, missed  # one stands behind its like in the other language


def test_history_finds_the_old_one_below(memory: Memory, found: list[Correction]) -> None:
    missed = []
    for one in found:
        hits = memory.search(one.question, now=DAY, history=True).hits
        old, new = place(hits, one.old), place(hits, one.new)
        gone = hits[old - 1] if old else None
        labelled = gone is not None and "struck" in gone.labels and gone.until == DAY.isoformat()
        if not (0 < new < old and labelled):
            missed.append((one, old, new, [hit.text for hit in hits[:3]]))
    assert missed == []


def test_the_day_before_the_old_one_held(memory: Memory, found: list[Correction]) -> None:
    missed = []
    for one in found:
        hits = memory.search(one.question, now=DAY, as_of=EVE).hits
        if place(hits, one.old) != 1 or place(hits, one.new):
            missed.append((one, [hit.text for hit in hits[:3]]))
    assert missed == []
