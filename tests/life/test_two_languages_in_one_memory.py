"""In a memory of two languages a question that nothing answers does not bring up the other language by chance."""

from __future__ import annotations

from tests.life.conftest import Owner

CHINESE = """周末和小李去公园野餐，天气很好。
在学校的绘画比赛中获得了优胜奖。
搬家到新城市，认识了新邻居。
宠物狗发烧了，带它去看了兽医。
和同学一起做了灯笼和剪纸。
在动物园看到了小熊猫，很开心。
网上买的玩具有问题，已经退货。
运动会上跑了一百米第一名。
在后院找到了一个白色的乒乓球。
妈妈教我包饺子，味道不错。
晚上和爸爸一起看星星。
图书馆的书要在月底以前归还。
把洗衣机的保修单放在蓝色文件夹里。
星期四下午三点给锅炉做保养。
新来的同事负责仓库的盘点。
钢琴课改到星期六上午。""".split("\n")
ENGLISH = """Had a picnic in the park with Lee, the weather was fine.
Won a prize at the drawing contest of the school.
Moved to a new town and met the neighbours.
The cat had a fever, so we went to see a vet.
Made lanterns from paper with the class.
Saw the penguins at the zoo and laughed a lot.
Sent the toy back, as it was broken.
Came second in the long jump.
Found an old coin behind the house.
Grandmother showed me how to bake bread.
Watched the meteors with father at night.
The dentist moved to the other side of the street.
The receipt of the dishwasher lies in the green folder.
The chimney is swept on Friday morning.
The new colleague counts the stock.
The violin lesson is on Monday now.""".split("\n")
UNANSWERED = """How do I tune a bagpipe?
Who won the chess olympiad in Tromso?
When does the ferry to Stornoway leave?
What is the password of the printer on the second floor?
How do I renew a fishing licence?
Where did I park the caravan?
How do beavers build their dams?
Who is the plumber we called last year?
What are the opening hours of the recycling yard?
What was the invoice number for the scaffolding?
When do swifts leave for Africa?
What colour is the wiring of the alarm?
Which glaze did we use for the blue bowl?
How do you splice a rope?
What is the salary of Jonas?
How do I prune an old pear tree?
Why did the Kestrel deployment fail on Tuesday?
Which trains stop at Crewe?
How long should sourdough proof in winter?
What is the maximum load of the roof rack?""".split("\n")
ANSWERED = [
    ("When is the boiler serviced?", "锅炉"), ("Where is the warranty of the washing machine?", "洗衣机"),
    ("When is the piano lesson?", "钢琴"), ("Who taught me to make dumplings?", "饺子"),
    ("When must the library books be returned?", "图书馆"), ("What happened to the dog?", "宠物狗"),
    ("Where did I see the red panda?", "小熊猫"), ("Who ran first in the hundred metres?", "一百米"),
    ("烟囱什么时候清扫？", "chimney"), ("洗碗机的收据在哪里？", "dishwasher"), ("谁教我烤面包？", "bread"),
    ("牙医搬到哪里去了？", "dentist"),
]  # fmt: skip


def fill(folder: Owner) -> None:
    for name, lines in (("zh", CHINESE), ("en", ENGLISH)):
        for number, line in enumerate(lines):
            folder.note(f"memory/{name}-{number}.md", f"# 2\n\n- {line}\n")


def is_chinese(text: str) -> bool:
    return sum("一" <= letter <= "鿿" for letter in text) > 5


def test_the_other_language_does_not_win_by_chance(owner_with_model: Owner) -> None:
    fill(owner_with_model)
    memory = owner_with_model.memory()
    memory.sync()
    firsts = {question: memory.search(question).hits[:1] for question in UNANSWERED}
    wrong = [question for question, hits in firsts.items() if hits and is_chinese(hits[0].text)]
    assert len(wrong) <= 3, wrong
    for question, answer in ANSWERED:
        assert any(answer in hit.text for hit in memory.search(question).hits[:3]), question
