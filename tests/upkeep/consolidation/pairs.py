"""Lines of diaries in two languages and what a model may make of them: true, or not.

Each is a source (with the headings above it and who speaks, where it leans on them) and a statement. The
measure was fitted to every other pair of each list, the first among them; of the rest only the numbers were
looked at.
"""

from __future__ import annotations

from datetime import date

from commonplace.upkeep.consolidation.evidence import Said

DAY = date(2026, 5, 25)  # a Monday


def said(text: str, *headings: str, speaker: str = "") -> Said:
    """A line of that day."""
    return Said(text, DAY, headings, speaker)


# Small changes that say the same.
EDITS = [
    (said("Finally moved the router to the hallway, the signal reaches the balcony now."), "Moved the router to the hallway; the signal reaches the balcony."),
    (said("We decided that on-call swaps need one day of notice."), "On-call swaps need one day of notice."),
    (said("Hanna (the new vet, very kind) wants to see the cat again on 9 June."), "Hanna, the new vet, wants to see the cat again on 2026-06-09."),
    (said("Backups of the NAS really do run at 04:00 every Sunday."), "Backups of the NAS run at 04:00 every Sunday."),
    (said("Omar's bike lock code is written inside the blue notebook, second page."), "Omar's bike lock code is written inside the blue notebook."),
    (said("The lease runs until 2028-03-25, rent is 6,800 a month."), "The lease runs until 2028-03-25."),
    (said("The lease runs until 2028-03-25, rent is 6,800 a month."), "Rent is 6,800 a month."),
    (said("Lesson: never restart both replicas at the same time."), "Never restart both replicas at the same time."),
    (said("Piano lessons move to Thursday from next week on, 17:30 as before."), "Piano lessons move to Thursday from next week on, 17:30."),
    (said("Petra can't eat nuts, not even traces."), "Petra cannot eat nuts, not even traces."),
    (said("`kesctl drain` takes about forty seconds per node."), "`kesctl drain` takes about 40 seconds per node."),
    (said("The plumber comes tomorrow at 8."), "The plumber comes on 2026-05-26 at 8."),
    (said("Ravi leads the import team since April, Jo the export team."), "Ravi leads the import team since April."),
    (said("Milo prefers the window seat on long flights, aisle on short ones."), "Milo prefers the window seat on long flights."),
    (said("新的路由器终于装好了，放在玄关的柜子上。"), "新的路由器放在玄关的柜子上。"),
    (said("我们决定以后周报只写三条。"), "周报只写三条。"),
    (said("爸爸的复查约在6月9日上午，方医生。"), "爸爸的复查约在2026-06-09上午，方医生。"),
    (said("NAS 的异地备份每周日凌晨四点同步，放在绍兴。"), "NAS 的异地备份每周日凌晨四点同步。"),
    (said("教训：两台副本不能同时重启。"), "两台副本不能同时重启。"),
    (said("豆豆的钢琴课其实已经改到周四下午五点了。"), "豆豆的钢琴课改到周四下午五点。"),
    (said("空调清洗约了明天上午，师傅姓倪，三台 270。"), "空调清洗约了2026-05-26上午，师傅姓倪。"),
    (said("老何喜欢喝岩茶，不喝绿茶。"), "老何喜欢喝岩茶。"),
    (said("部署之前必须先跑一遍 `make audit`，五分钟左右。"), "部署之前必须先跑一遍 `make audit`。"),
    (said("小魏从六月起负责调度器。"), "小魏六月起负责调度器。"),
]  # fmt: skip
# Other words, as a model puts it that is asked to stay close.
PARAPHRASES = [
    (said("Headcount for one more engineer in Porto is approved for the third quarter."), "Headcount for another engineer in Porto is approved for the third quarter."),
    (said("Ines keeps the store until the regional split, then Noor takes over."), "Ines is responsible for the store until the regional split, then Noor takes over."),
    (said("Ula hates phone calls before ten, she wants a message first."), "Ula dislikes phone calls before ten and wants a message first."),
    (said("Max from the bank: the new account number arrives by post in two weeks."), "The new account number arrives by post in two weeks."),
    (said("The staging database has 14 GB left, Tom says that is two months."), "The staging database has 14 GB of space left, which Tom says is two months."),
    (said("Grandma's hearing aid batteries are size 312, the brown ones."), "Grandma's hearing aid needs batteries of size 312, the brown ones."),
    (said("Sent the proposal to Larkspur on Friday, they answer by 12 June."), "The proposal was sent to Larkspur; they answer by 2026-06-12."),
    (said("Nadia broke her left wrist skiing, cast until 20 June."), "Nadia broke her left wrist while skiing and has a cast until 2026-06-20."),
    (said("The printer only takes A4, letter jams every time."), "The printer only takes A4 because letter paper jams every time."),
    (said("From now on invoices above 500 euros need two signatures."), "Invoices above 500 euros need two signatures."),
    (said("Leo wants to be called Leonie at school from September."), "Leo would like to be called Leonie at school from September on."),
    (said("Our Wednesday call with Pinebox is now at 16:00 instead of 15:00."), "The Wednesday call with Pinebox is at 16:00 instead of 15:00."),
    (said("The spare key hangs behind the fuse box, third hook."), "The spare key is behind the fuse box on the third hook."),
    (said("Zoe switched the tests from Jenkins to Buildkite, they take six minutes now."), "Zoe moved the tests from Jenkins to Buildkite, where they take six minutes."),
    (said("阿舟的公司中标了临平的图书馆。"), "阿舟的公司拿下了临平的图书馆项目。"),
    (said("方医生说爸爸的左眼九月以后再做手术。"), "方医生建议说爸爸的左眼等九月以后再做手术。"),
    (said("旧硬盘还在保修期，到2027年1月。"), "旧硬盘的保修期到2027年1月。"),
    (said("Noor 六月15到26日休假，产品问题找 Marta。"), "Noor 六月15到26日休假，期间产品问题找 Marta。"),
    (said("小学没有午睡，早上八点十分到校。"), "小学没有午睡安排，早上八点十分到校。"),
    (said("房东五月把热水器换成了新的，花了三千二。"), "房东五月换了新的热水器，花了三千二。"),
    (said("泳池周三晚上人最少，七点以后。"), "泳池周三晚上七点以后人最少。"),
    (said("豆豆对芒果过敏，嘴边会起红疹。"), "豆豆对芒果过敏，吃了嘴边会起红疹。"),
    (said("老白茶喝完了，下单了半斤2018年的。"), "老白茶喝完了，又下单了半斤2018年的老白茶。"),
    (said("以后财务报销找刘芳，不再找何军。"), "财务报销改找刘芳，不再找何军。"),
]  # fmt: skip
# A line that leans on its heading, its day or its speaker, completed.
COMPLETED = [
    (said("*Nest* has won.", "Name of the region"), "Name of the region: Nest has won."),
    (said("Prefers tea to coffee.", "Marta"), "Marta prefers tea to coffee."),
    (said("Two coats of white, one of primer.", "Hallway ceiling"), "Hallway ceiling: two coats of white, one of primer."),
    (said("I live in Porto.", speaker="user"), "The user lives in Porto."),
    (said("I take the oat milk, always.", speaker="ann"), "Ann takes the oat milk, always."),
    (said("Filter changed, next one in a year.", "Boiler"), "Boiler: filter changed on 2026-05-25, next one in a year."),
    (said("My sister is allergic to wasps."), "The user's sister is allergic to wasps."),
    (said("Runs on the old laptop, port 8096.", "Projects", "Jellyfin"), "Jellyfin runs on the old laptop, port 8096."),
    (said("周一寄回去。", "旧硬盘"), "旧硬盘：周一寄回去。"),
    (said("每周日凌晨四点同步，放在绍兴。", "异地备份"), "异地备份每周日凌晨四点同步，放在绍兴。"),
    (said("不吃香菜。", "阿舟"), "阿舟不吃香菜。"),
    (said("我喜欢靠窗的座位。", speaker="用户"), "用户喜欢靠窗的座位。"),
    (said("月租 6800，租约到2028-03-25。", "新家"), "新家月租 6800，租约到2028-03-25。"),
    (said("改到周四下午五点。", "家里", "钢琴课"), "钢琴课改到周四下午五点。"),
]  # fmt: skip
# A number, a name, a day, a unit or code is another one.
ALTERED = [
    (said("Rent is 6,800 a month, two months of deposit."), "Rent is 6,900 a month, two months of deposit."),
    (said("Hanna wants to see the cat again on 9 June."), "Hanna wants to see the cat again on 2026-06-19."),
    (said("Ravi leads the import team since April."), "Ravi leads the import team since March."),
    (said("`kesctl drain` takes forty seconds per node."), "`kesctl drop` takes forty seconds per node."),
    (said("The pool opens at 07:00 on weekdays."), "The pool opens at 08:00 on weekdays."),
    (said("Grandma's batteries are size 312."), "Grandpa's batteries are size 312."),
    (said("The plumber comes tomorrow at 8."), "The plumber comes on 2026-05-27 at 8."),
    (said("The trip costs 400 euros each."), "The trip costs 400 dollars each."),
    (said("Larkspur pays within 30 days."), "Larkspur pays within 30 hours."),
    (said("空调清洗三台 270，师傅姓倪。"), "空调清洗三台 370，师傅姓倪。"),
    (said("周会改到每周三下午三点。"), "周会改到每周三下午四点。"),
    (said("周会改到每周三下午三点。"), "周会改到每周四下午三点。"),
    (said("爸爸的复查约在6月9日上午。"), "爸爸的复查约在2026-07-09上午。"),
    (said("备份命令是 kes-backup，每天运行。"), "备份命令是 kes-restore，每天运行。"),
]  # fmt: skip
# Nothing of it, or half of it, stands there.
INVENTED = [
    (said("Priya is vegetarian."), "Priya is allergic to peanuts and vegetarian."),
    (said("The router is in the hallway."), "The router is in the hallway and its password is on the fridge."),
    (said("Ravi leads the import team."), "Ravi leads the import team and reports to Omar."),
    (said("We had dinner at the harbour."), "The user proposed to Ann at dinner."),
    (said("The lease runs until 2028-03-25."), "The lease runs until 2028-03-25 and can be cancelled with three months of notice."),
    (said("Zoe switched the tests to Buildkite."), "Zoe was promoted to head of testing."),
    (said("Milo has a fever."), "Milo has the measles and a fever."),
    (said("豆豆学会骑车了。"), "豆豆在学校的骑车比赛得了第一名。"),
    (said("老何喜欢喝岩茶。"), "老何喜欢收集紫砂壶和字画。"),
    (said("小魏负责调度器。"), "小魏负责调度器并管理全部预算。"),
    (said("爸爸的手术很顺利。"), "爸爸的手术花了八万块。"),
    (said("新家在梧桐里。"), "新家在梧桐里，密码锁是四七一一。"),
]  # fmt: skip
# The words are there, and say it of somebody else.
SWAPPED = [
    (said("Mira pays Lin for the cleaning."), "Lin pays Mira for the cleaning."),
    (said("Saskia prefers mail to calls."), "Saskia prefers calls to mail."),
    (said("Ravi leads the import team, Jo the export team."), "Ravi leads the export team."),
    (said("Staging uses port 5433, production uses port 5432."), "Staging uses port 5432."),
    (said("The oven is from Bosch, the fridge from Smeg."), "The fridge is from Bosch, the oven from Smeg."),
    (said("Tom's brother plays the cello."), "Tom plays the cello."),
    (said("Backups go from the laptop to the NAS."), "Backups go from the NAS to the laptop."),
    (said("Ann drove, Bo paid 40 euros for the taxi."), "Ann paid 40 euros for the taxi."),
    (said("小王比小李高。"), "小李比小王高。"),
    (said("王磊喜欢茶，陈静喜欢咖啡。"), "王磊喜欢咖啡。"),
    (said("周敏的姐姐住在无锡。"), "周敏住在无锡。"),
    (said("客厅的灯是暖光，书房的灯是白光。"), "客厅的灯是白光。"),
    (said("从上海坐火车去杭州要一个小时。"), "从杭州坐火车去上海要一个小时。"),
    (said("阿舟接豆豆，我送。", "周三"), "豆豆接阿舟。"),
]  # fmt: skip
# Denied, certain, conditional or past where the source is not.
TURNED = [
    (said("Noor is not allowed to merge before the audit."), "Noor is allowed to merge before the audit."),
    (said("We may move the office to Lisbon."), "We move the office to Lisbon."),
    (said("If the bank agrees, we buy the house in June."), "We buy the house in June."),
    (said("Should we switch to Postgres?"), "We switch to Postgres."),
    (said("The office was on the third floor."), "The office is on the third floor."),
    (said("Deploys are fine on Mondays."), "Deploys are never fine on Mondays."),
    (said("Petra can eat eggs."), "Petra must eat eggs."),
    (said("Reviews take at most one day."), "Reviews take at least one day."),
    (said("豆豆不能吃芒果。"), "豆豆能吃芒果。"),
    (said("我们可能搬到成都。"), "我们搬到成都。"),
    (said("如果下雨，运动会改到周五。"), "运动会改到周五。"),
    (said("小李没有驾照。"), "小李有驾照。"),
    (said("要不要换成飞书？"), "换成飞书。"),
    (said("部署前必须跑测试。"), "部署前不必须跑测试。"),
    (said("We may move the office to Lisbon in May."), "We move the office to Lisbon in May."),
    (said("Prices went down in the second quarter."), "Prices went up in the second quarter."),
    (said("Lin failed to pass the driving test."), "Lin passed the driving test."),
    (said("Ann almost missed the train to Porto."), "Ann missed the train to Porto."),
    (said("Bo plans to sell the boat."), "Bo sells the boat."),
    (said("小李差点错过火车。"), "小李错过火车。"),
    (said("王磊打算买下隔壁的房子。"), "王磊买下隔壁的房子。"),
]  # fmt: skip
# Said, thought or wished by somebody.
ATTRIBUTED = [
    (said("Tom says that Zed owns the gateway."), "Zed owns the gateway."),
    (said("Ann thinks the lease ends in May."), "The lease ends in May."),
    (said("According to the blog, Rust compiles faster now."), "Rust compiles faster now."),
    (said("Bo hopes that the flat has a balcony."), "The flat has a balcony."),
    (said("Prefers tea to coffee.", "Marta and Lin"), "Lin prefers tea to coffee."),
    (said("Lin prefers tea.", "Marta"), "Marta prefers tea."),
    (said("听说小李要离职。"), "小李要离职。"),
    (said("老何觉得小魏适合当组长。"), "小魏适合当组长。"),
    (said("喜欢喝茶。", "阿舟和老何"), "老何喜欢喝茶。"),
    (said("小李说他住在苏州。"), "住在苏州。"),
]  # fmt: skip
TRUE = {"light edits": EDITS, "paraphrases": PARAPHRASES, "completed": COMPLETED}
FALSE = {
    "altered": ALTERED, "invented": INVENTED, "swapped": SWAPPED, "turned": TURNED, "attributed": ATTRIBUTED,
}  # fmt: skip
