"""Ten nights of the demo as a model might plan them: whole lines, light edits, paraphrases, and what is false.

Each row has the end of the note's date, words of the line it cites, the text, and whether that text is
understood by itself in a year. Nobody looked at what the checks make of them while they were written.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["verbatim", "light edit", "paraphrase", "false"]


class Proposal(NamedTuple):
    """A line that is proposed in the night of a day of May 2026."""

    kind: Kind
    day: int
    line: str
    text: str
    alone: bool = True


V, L, P, X = "verbatim", "light edit", "paraphrase", "false"
PROPOSALS = [
    # --- whole lines, as they stand ---
    Proposal(V, 20, "The last P1 was on 21 April", "The last P1 was on 21 April."),
    Proposal(V, 20, "Goal of the lunar new year", "Goal of the lunar new year: ship, and not stay up on release week."),
    Proposal(V, 23, "旧盘还在保修期", "周一寄回去，运单夹在护照那个抽屉里。", alone=False),
    Proposal(V, 23, "异地那份在绍兴", "异地那份在绍兴爸妈家的小盒子里，每周日凌晨四点同步。", alone=False),
    Proposal(V, 23, "阿舟公司投标", "阿舟公司投标临平那个图书馆，周三定。"),
    Proposal(V, 24, "下次周三", "下次周三，同样的量，两周以后才可以改成跑 2 走 1。", alone=False),
    Proposal(V, 24, "书房门框上", "书房门框上开始量豆豆的身高：118.5 cm，5 月 24 日。"),
    Proposal(V, 24, "Marta 说可以发", "Marta 说可以发在团队博客，名字和客户都隐去。", alone=False),
    Proposal(V, 25, "one word instead", "*Nest* has won.", alone=False),
    Proposal(V, 25, "headcount for one more", "Lao He: headcount for one more engineer in Hangzhou is approved for the third quarter."),
    Proposal(V, 25, "The quota panel", "Fixed by Xiao Wei, KES-205.", alone=False),
    Proposal(V, 26, "认不出来的时候", "教训：认不出来的时候要往慢的方向猜。"),
    Proposal(V, 26, "replay 不收费", "7 天以上的 body 保留以后可以做成付费项，第四季度再看。"),
    Proposal(V, 26, "她六月 15", "她六月 15 到 26 日休假，去纽芬兰看冰山，期间产品问题找 Marta。", alone=False),
    Proposal(V, 26, "空调清洗约了", "空调清洗约了 6 月 6 日（周六）上午，师傅姓倪，三台 270。"),
    Proposal(V, 26, "燃气年检", "燃气年检通知贴在门上，6 月 10 日，家里要有人，阿舟在家。"),
    Proposal(V, 27, "从家走过去", "从家走过去 11 分钟，她的步子。", alone=False),
    Proposal(V, 28, "Flag is per endpoint", "Flag is per endpoint; expires by itself after 14 days, nobody has to remember it.", alone=False),
    Proposal(V, 28, "Saskia gets", "Saskia gets a staging account on Monday."),
    Proposal(V, 28, "Marta moves the capacity", "Marta moves the capacity meeting to Wednesday 3 June, 16:00 Hangzhou, since she is on a train all Thursday."),
    Proposal(V, 28, "Job advert", "Due on 5 June.", alone=False),
    Proposal(V, 29, "Xiao Wei becomes", "Xiao Wei becomes the owner of the dispatcher from June, I keep the store until the regional split, then Ines."),
    Proposal(V, 29, "Azhou's firm", "Azhou's firm won the library in Linping, the one with the reading stairs."),
    Proposal(V, 29, "parents' evening", "Sat 4 July: parents' evening at school"),
    # --- light edits that are true ---
    Proposal(L, 20, "Rolled node by node", "Kestrel 1.0.0: tagged `a90e4b7` at 16:02, rolled node by node in nine minutes."),
    Proposal(L, 23, "NAS 的第二块硬盘", "NAS 的第二块硬盘 5 月 23 日换了，4 TB，619 块。"),
    Proposal(L, 23, "旧盘还在保修期", "旧盘还在保修期（到 2027 年 1 月），运单夹在护照那个抽屉里。", alone=False),
    Proposal(L, 23, "顺手做了一次", "2026-05-23 做了一次真的恢复演练：随机抽 200 张照片从异地备份拉回来，199 张一样。"),
    Proposal(L, 23, "泳池", "1,600 米，39 分钟。", alone=False),
    Proposal(L, 24, "爸爸左眼也想做", "爸爸左眼也想做，医生：九月以后。"),
    Proposal(L, 24, "老白茶喝完了", "老白茶下单了半斤 2018 年的。"),
    Proposal(L, 24, "报警 bot 五月", "报警 bot 五月账单到 2026-05-24 24 美元，`gpt-4.1-mini`。"),
    Proposal(L, 25, "Marigold (logistics", "Marigold (logistics, Rotterdam) would bring 1,400 endpoints from their home-made sender."),
    Proposal(L, 25, "Date pencilled in", "Marigold wants to come over: Sunday 2026-06-21, not before the capacity meeting has seen their numbers."),
    Proposal(L, 25, "headcount for one more", "Headcount for one more engineer in Hangzhou is approved for the third quarter."),
    Proposal(L, 25, "Can they send both ways", "Can they send both ways for a week? Yes, with `mode: shadow`."),
    Proposal(L, 26, "两种格式都认", "`Retry-After` 写成日期：两种格式都认，认不出来的按 60 秒算。"),
    Proposal(L, 26, "replay 不收费", "replay 不收费：Noor 算过，一个月全部 replay 的成本不到 40 美元。"),
    Proposal(L, 26, "空调清洗约了", "空调清洗约了 2026-06-06 上午，师傅姓倪。"),
    Proposal(L, 26, "燃气年检", "燃气年检 2026-06-10，家里要有人。"),
    Proposal(L, 27, "15:12 阿舟转来", "豆豆被青禾小学预录取，2026 级，一年级。"),
    Proposal(L, 27, "Pinebox 想把", "Pinebox 想把 quiet period 从三个增加到五个。"),
    Proposal(L, 28, "Restored last night", "Restored the backup with the new binaries (PostgreSQL 17.5), 36 minutes."),
    Proposal(L, 28, "a shadow delivery must not", "A shadow delivery must not count for quotas."),
    Proposal(L, 28, "Marta moves the capacity", "Marta moves the capacity meeting to 2026-06-03, 16:00 Hangzhou."),
    Proposal(L, 28, "膝盖", "膝盖：跑走以后没有感觉，弹力带换成黄色那条。"),
    Proposal(L, 29, "Xiao Wei becomes", "Xiao Wei becomes the owner of the dispatcher from June."),
    Proposal(L, 29, "game days (next one", "Keep game days, next one on 2026-06-25, Xiao Wei holds the envelope."),
    Proposal(L, 29, "settings whose reason", "Stop settings whose reason has expired."),
    Proposal(L, 29, "wisdom tooth, third", "Wisdom tooth on 2026-06-12, 09:00, third floor; no meeting after."),
    # --- other words ---
    Proposal(P, 20, "And it was quiet", "Release night of Kestrel 1.0.0 was quiet: no page until midnight."),
    Proposal(P, 23, "NAS 的第二块硬盘", "NAS 的第二块硬盘因为 reallocated sectors 变成 48 而换盘，重建一共 5 小时 40 分。"),
    Proposal(P, 23, "异地那份在绍兴", "NAS 的异地备份在绍兴爸妈家，每周日凌晨四点同步。"),
    Proposal(P, 24, "整整十一周", "5 月 24 日第一次恢复跑步，跑 1 分钟走 2 分钟，右膝没有感觉。"),
    Proposal(P, 25, "one word instead", "Instead of \"home region\" the word is *Nest*, for a house called Kestrel."),
    Proposal(P, 25, "Sent the old NAS disk", "The old NAS disk was sent back on 25 May."),
    Proposal(P, 25, "Wants a job advert", "Lao He wants a job advert by 5 June, half a page without adjectives."),
    Proposal(P, 26, "她六月 15", "Noor 六月 15 到 26 日休假，产品问题找 Marta。"),
    Proposal(P, 26, "Pinebox 的新网关", "Pinebox 的网关用日期写 `Retry-After`，我们曾当成 0，一分钟打了 210 次。"),
    Proposal(P, 27, "从家走过去", "从家走到青禾小学，豆豆的步子要 10 分钟。"),
    Proposal(P, 27, "Ines 的双 region", "Ines 的双 region 草稿第一版提前两周完成。"),
    Proposal(P, 28, "switchover, writes", "PostgreSQL 17.5: the switchover stopped writes for 38 seconds, the spool drained in two minutes."),
    Proposal(P, 28, "晚上去给豆豆", "豆豆的书包买了深绿色那个，740 克，289 块。"),
    Proposal(P, 28, "Flag is per endpoint", "Shadow mode: the flag is per endpoint and expires by itself after 14 days."),
    Proposal(P, 28, "Job advert", "The first draft of the job advert has 190 words; it is due on 5 June."),
    Proposal(P, 29, "a `why:` comment", "From the retro: a `why:` comment that a linter, written by Ines, insists on."),
    Proposal(P, 29, "Azhou's firm", "Azhou's firm won the contract for the library in Linping."),
    # --- what the notes do not say ---
    Proposal(X, 20, "The last P1 was on 21 April", "The last P1 was on 12 April."),
    Proposal(X, 23, "异地那份在绍兴", "异地那份在杭州爸妈家的小盒子里，每周日凌晨四点同步。"),
    Proposal(X, 25, "headcount for one more", "Headcount for two more engineers in Hangzhou is approved for the third quarter."),
    Proposal(X, 25, "Marigold (logistics", "Marigold (logistics, Rotterdam) would bring 4,100 endpoints from their home-made sender."),
    Proposal(X, 26, "她六月 15", "Marta 六月 15 到 26 日休假，产品问题找 Noor。"),
    Proposal(X, 26, "空调清洗约了", "空调清洗约了 6 月 7 日上午，师傅姓倪。"),
    Proposal(X, 28, "a shadow delivery must not", "A shadow delivery must count for quotas."),
    Proposal(X, 28, "Marta moves the capacity", "Priya moves the capacity meeting to Wednesday 3 June."),
    Proposal(X, 28, "Saskia gets", "Saskia gets a production account on Monday and a bonus in June."),
    Proposal(X, 29, "Xiao Wei becomes", "Ines becomes the owner of the dispatcher from June."),
    Proposal(X, 29, "parents' evening", "Wen's mother has parents' evening with the mayor."),
    Proposal(X, 29, "Azhou's firm", "Azhou's firm may have won the library in Linping."),
]  # fmt: skip
