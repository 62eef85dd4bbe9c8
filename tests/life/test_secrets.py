"""What lets somebody in is kept in no file, and what only looks like it stays as it was written."""

from __future__ import annotations

import json
from pathlib import Path

from tests.life.conftest import Owner, until

# A line that somebody says, and the part of it that may not be kept.
SECRETS = (
    ("pwd for the NAS (user: lena): 9Zebra!Moon", "9Zebra!Moon"),
    ("the root pw: it's hunter2Kestrel", "hunter2Kestrel"),
    ("ssh root@10.0.0.5, password toor4Kestrel!", "toor4Kestrel"),
    ("zip is encrypted with password kestrel-OSPREY-99", "kestrel-OSPREY-99"),
    ("changed the password from Winter2025! to Spring2026!", "Winter2025"),
    ("sudo pass on the pi -> raspberry!91", "raspberry!91"),
    ("password (for the archive): Blue!Kite42", "Blue!Kite42"),
    ("log in with the password Tr0ub4dor&3 and then", "Tr0ub4dor&3"),
    ("the passphrase (new): kite#Lagoon7", "kite#Lagoon7"),
    ("the db password: it is Sn0wflake!9", "Sn0wflake!9"),
    ("set up with user lena and password Zebra2026Kite", "Zebra2026Kite"),
    ("passcode for the shed → oak!Door77", "oak!Door77"),
    ("changed the password from Winter2025! to Spring2026!", "Spring2026"),
    ("The wifi password is maple river stone", "maple river stone"),
    ("The wifi password is sunshine99", "sunshine99"),
    ("Guest wifi password is bluewhale", "bluewhale"),
    ("our wi-fi password: correcthorse", "correcthorse"),
    ("Wi-Fi passphrase: tall green ladder", "tall green ladder"),
    ("WLAN key: kastanienbaum", "kastanienbaum"),
    ("wifi key is kastanienbaum77", "kastanienbaum77"),
    ("SSID: Kestrel / password: harbourlight", "harbourlight"),
    ("wifi: Kestrel-5G / harbour2024", "harbour2024"),
    ("My PIN is 4821", "4821"),
    ("the PIN for the bank card is 7319.", "7319"),
    ("card pin 7319", "7319"),
    ("Debit card PIN = 7319", "7319"),
    ("The pin number is 4 8 2 1", "4 8 2 1"),
    ("PUK 12345670", "12345670"),
    ("SIM PUK: 48210733", "48210733"),
    ("PUK code of the SIM is 48210733", "48210733"),
    ("the safe combination is 24-7-31", "24-7-31"),
    ("Safe combination: 12 34 56", "12 34 56"),
    ("The combination to the safe is 36-12-24", "36-12-24"),
    ("the combination of the lock is 4821", "4821"),
    ("combination for the gym locker: 17-4-33", "17-4-33"),
    ("The safe code is 482173", "482173"),
    ("door code is 4821#", "4821"),
    ("Alarm code: 9174", "9174"),
    ("gate code 5538", "5538"),
    ("the code for the garage door is 7742", "7742"),
    ("entry code for the building: 2580", "2580"),
    ("lockbox code 3391", "3391"),
    ("creds → admin:hunter2", "hunter2"),
    ("creds: admin/hunter2", "hunter2"),
    ("credentials -> root:toor99", "toor99"),
    ("login: mira / tulip-bucket", "tulip-bucket"),
    ("username: mira password: tulipbucket", "tulipbucket"),
    (
        "BitLocker recovery key: 123456-234567-345678-456789-567890-678901-789012-890123",
        "123456-234567-345678",
    ),
    ("Recovery key 123456-234567-345678-456789-567890-678901-789012-890123", "345678-456789"),
    ("FileVault recovery key: ABCD-EFGH-JKLM-NPQR-STUV-WXYZ", "EFGH-JKLM"),
    (
        "WIF: 5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ",
        "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ",
    ),
    (
        "KwDiBf89QgGbjEhKnhXJuH7LrciVrfi3qYjgd9M7rFU73sVHnoWn is the cold wallet",
        "KwDiBf89QgGbjEhKnhXJuH7LrciVrfi3qYjgd9M7rFU73sVHnoWn",
    ),
    ("Setup key: JBSW Y3DP EHPK 3PXP", "JBSW Y3DP EHPK 3PXP"),
    ("2FA setup key is jbsw y3dp ehpk 3pxp jbsw y3dp", "jbsw y3dp ehpk 3pxp"),
    ("TOTP secret: JBSW Y3DP EHPK 3PXP", "Y3DP EHPK"),
    ("authenticator key JBSWY3DPEHPK3PXP", "JBSWY3DPEHPK3PXP"),
    ("HomeKit setup code 123-45-678", "123-45-678"),
    ("lftp -u mira,tulipbucket ftp.example.org", "tulipbucket"),
    ("lftp -u 'mira,Tulip 9' ftp.example.org", "Tulip 9"),
    ("echo tulipbucket | sudo -S apt update", "tulipbucket"),
    ("echo 'tulip bucket' | sudo -S systemctl restart nginx", "tulip bucket"),
    ("smbclient //nas/share -U mira%tulipbucket", "tulipbucket"),
    ("wget --user=mira --password=tulipbucket https://example.org/x", "tulipbucket"),
    ("sshpass -p tulipbucket ssh root@10.0.0.2", "tulipbucket"),
    (
        "My recovery words: abandon ability able about above absent absorb abstract absurd abuse access accident",
        "ability able about",
    ),
    (
        "Wallet words:\n1. ocean\n2. hidden\n3. legal\n4. winner\n5. thank\n6. year\n7. wave\n8. sausage\n9. worth\n10. useful\n11. legal\n12. yellow",
        "sausage",
    ),
    (
        "seed words: letter advice cage absurd amount doctor acoustic avoid letter advice cage absurd amount doctor acoustic avoid letter advice cage absurd amount doctor acoustic bless",
        "acoustic avoid",
    ),
    (
        "my 24 words: letter advice cage absurd amount doctor acoustic avoid letter advice cage absurd amount doctor acoustic avoid letter advice cage absurd amount doctor acoustic bless",
        "acoustic avoid",
    ),
    ("voicemail pin is 55310", "55310"),
    ("phone unlock code is 258046", "258046"),
    ("the iPad passcode is 258046", "258046"),
    ("门禁密码是4821", "4821"),
    ("门禁密码：4821#", "4821"),
    ("门禁码 2580#", "2580"),
    ("大门密码是 135790", "135790"),
    ("银行卡密码 731900", "731900"),
    ("银行卡密码是七三一九零零", "七三一九零零"),
    ("建行卡的密码是731900", "731900"),
    ("取款密码：731900", "731900"),
    ("支付密码是 258046", "258046"),
    ("WiFi密码是 woaini1314", "woaini1314"),
    ("无线密码：tulipbucket", "tulipbucket"),
    ("家里wifi密码 88888888", "88888888"),
    ("wifi 密码改成 haohaoxuexi 了", "haohaoxuexi"),
    ("热点密码是haohaoxuexi", "haohaoxuexi"),
    ("保险柜密码是 24-7-31", "24-7-31"),
    ("保险箱密码：左三圈12，右两圈34，左一圈56", "左三圈12"),
    ("保险柜的密码为 482173", "482173"),
    ("手机锁屏密码是 2580", "2580"),
    ("解锁密码 258046", "258046"),
    ("SIM卡PIN码是1234", "1234"),
    ("PUK码：48210733", "48210733"),
    ("路由器后台账号 admin 密码 tulip123", "tulip123"),
    ("账号：mira 密码：tulipbucket", "tulipbucket"),
    ("账号密码：admin/hunter2", "hunter2"),
    ("用户名 admin，密码 hunter2", "hunter2"),
    ("密码箱的密码是 731", "731"),
    ("行李箱密码 731", "731"),
    ("开门密码 5538", "5538"),
    ("楼下单元门密码是 5538#", "5538"),
    ("助记词：ocean hidden legal winner thank year wave sausage worth useful legal yellow", "sausage"),
    (
        "钱包的十二个单词是 ocean hidden legal winner thank year wave sausage worth useful legal yellow",
        "sausage",
    ),
    ("助记词：的 一 是 在 不 了 有 和 人 这 中 大", "人 这 中"),
    ("BitLocker 恢复密钥：123456-234567-345678-456789-567890-678901-789012-890123", "345678-456789"),
    ("恢复码：a1b2c-d3e4f g5h6i-j7k8l", "d3e4f"),
    ("两步验证密钥 JBSW Y3DP EHPK 3PXP", "Y3DP EHPK"),
    ("邮箱密码是tulipbucket", "tulipbucket"),
    ("微信支付密码：258046", "258046"),
    ("QQ密码是haohao", "haohao"),
    ("老妈的社保卡密码是 123789", "123789"),
    ("门锁密码 0907", "0907"),
    ("报警器密码是 9174", "9174"),
)
LOOKALIKES = (
    "encrypted with password hashing in mind",
    "we moved, password managers are better",
    "use argon2 with password hashing",
    "changed the password from the old one to a new one",
    "logs in with password authentication",
    "password from 2024-01-01 to 2025-01-01",
    "the pass from Zermatt to Saas-Fee",
    "boarding pass from LH1234567 to gate",
    "with pass-through mode enabled",
    "password (min. 8 chars): required",
    "see the password -> settings",
    "pass -> fail ratio",
    "with password length>=12 characters",
    "and password policy v2.1.0-beta1 applies",
    "using password_hash() in PHP",
    "with password-protected2 zip files",
    "and passport 2026renewed",
    "using pass k3s-cluster1",
    "with passwordless-sudo2",
    "See page 482 for the PIN layout",
    "PIN code area 110001, New Delhi",
    "order 48210733 was shipped",
    "ISBN 978-0-306-40615-7",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "the combination of two drugs was studied in 24 people",
    "The combination of 3 and 4 is 7.",
    "a combination of 12 ingredients: flour, milk",
    "the combination is 20-30 percent cheaper",
    "In combination with 24-7 support it is worth it",
    "ocean hidden legal winner thank year wave sausage worth useful legal yellow",
    "The twelve words of the title were chosen with care and nobody knew who had written them down before",
    "vocabulary words: apple banana cherry dolphin elephant flower garden house island jungle kitchen lemon",
    "spelling words this week: because friend school people through thought caught bought enough tough rough cough",
    "The key words are budget, harbour, lease",
    "123e4567-e89b-12d3-a456-426614174000",
    "call +49 30 901820 or 030-901820",
    "price 1,299.00 EUR",
    "2024-05-07 14:05",
    "password = input('Password: ')",
    "password = get_password(user)",
    "if password == stored: return",
    "def login(user, password): pass",
    "the password is stored in the vault",
    "The wifi password is on the fridge",
    "wifi password is the same as before",
    "the wifi password is too long",
    "wifi password changed yesterday",
    "The wifi password is printed under the router",
    "WiFi password: see 1Password",
    "WiFi password: ask Mira",
    "wifi: 5 GHz is faster in the kitchen",
    "WiFi 6E / 2024 models",
    "the safe combination is known to Mira only",
    "error code is 4040",
    "HTTP code: 2004",
    "zip code is 94107",
    "The building code 2018 applies to both houses",
    "the phone code 0049 is Germany's",
    "The lift code of conduct 2020.",
    "The combination 10-20-30 is a fertilizer",
    "creds: read/write",
    "login: username/password",
    "our router password is changeable",
    "手机号码 13800138000",
    "The country code is 0049",
    "the dress code is casual",
    "area code 4155",
    "source code: 4821 lines",
    "the code for the parser is 4821 lines long",
    "promo code SAVE2024",
    "the exit code is 1370",
    "Credentials are rotated every 90 days",
    "creds: see 1Password",
    "creds → in the vault",
    "login: see the wiki / ask Tom",
    "login takes 200ms/request",
    "Login at 14:05/15:20",
    "PUK means Personal Unblocking Key",
    "The recovery key is kept in the drawer",
    "setup key features first",
    "Setup: KEYS MUST GLOW NEAR DOOR",
    "echo hello | sudo tee /etc/motd",
    "echo $PASSWORD | sudo -S apt update",
    "lftp -u \"$USER,$PASS\" ftp.example.org",
    "sudo -S reads the password from standard input",
    "WIF means wallet import format",
    "door 4821 is on floor 3",
    "the gate number is 5538",
    "Alarm at 0630",
    "The alarm code path is 1200 lines long",
    "entry code review on 2024-05-07",
    "the safe is 4821 kg",
    "Two words: never again",
    "recovery words of comfort were spoken by all who came to see her in the last days of the summer",
    "my twelve words about the trip: it was long, hot, loud and I loved it all",
    "login to server 10.0.0.2:8080",
    "credentials -> settings:profile",
    "密码是什么？",
    "密码是每季度更换的",
    "门禁密码每月更换",
    "门禁密码问小王",
    "门禁卡号 4821 已登记",
    "银行卡密码不要告诉别人",
    "银行卡密码是六位数字",
    "银行卡密码有6位",
    "支付密码连续输错5次会锁定",
    "WiFi密码贴在路由器背面",
    "WiFi密码是贴在冰箱上的",
    "wifi密码忘了，问妈妈",
    "保险柜密码只有老张知道",
    "保险柜 2024 年买的",
    "密码长度 8 位",
    "密码学第 3 章 128 页",
    "密码箱价格 731 元",
    "行李箱 28 寸",
    "行李箱密码锁坏了",
    "密码 2024 年改过",
    "助记词要抄在纸上",
    "助记词一共12个单词",
    "十二个单词的听写",
    "验证码 5 分钟内有效",
    "邮政编码 100080",
    "电话 010-62782345",
    "订单号 202405071234",
    "书号 978-7-111-54742-6",
    "第 128 页",
    "价格 1299 元",
    "两种药物的组合 24 小时有效",
    "代码 4821 行",
    "错误码 5003",
    "门牌号 4821",
    "航班 CA1234，登机口 24",
    "登录：2024/05/07",
    "账号：mira",
    "手机锁屏后 30 秒",
    "门锁电池 2024 年 5 月换",
    "解锁 258 个成就",
    "PUK码向运营商要",
    "开门时间 0900",
    "大门 2580 毫米宽",
)  # fmt: skip


def kept(owner: Owner) -> str:
    """Return all that the notes of a memory hold."""
    return "\n".join(path.read_text("utf-8") for path in sorted(owner.folder.rglob("*.md")))


def test_no_secret_in_the_words_of_people_is_kept(owner: Owner) -> None:
    memory = owner.memory()
    for start in range(0, len(SECRETS), 20):
        memory.remember("\n\n".join(text for text, _ in SECRETS[start : start + 20]))
    written = kept(owner)
    assert [text for text, secret in SECRETS if secret in written] == []


def test_what_only_looks_like_a_secret_stays(owner: Owner) -> None:
    memory = owner.memory()
    for start in range(0, len(LOOKALIKES), 20):
        memory.remember("\n\n".join(LOOKALIKES[start : start + 20]))
    written = kept(owner)
    assert [text for text in LOOKALIKES if text not in written] == []


def test_no_door_keeps_them(owner: Owner, tmp_path: Path) -> None:
    owner.environment["COMMONPLACE_SERVER_START"] = "never"
    said = "Mind the goat. The safe combination is 24-7-31.\n\ncreds → admin:hunter2\n\n保险柜密码是 48217。"
    owner.ok("remember", said)
    owner.mcp().call("memory_write", text=said + " By a model.")
    source = tmp_path / "memories.json"
    source.write_text(
        json.dumps({"results": [{"id": "1", "memory": said, "created_at": "2026-01-05T10:00:00Z"}]})
    )
    owner.ok("import", "mem0", source)
    response = {"stdout": said, "stderr": "", "interrupted": False}
    owner.hook(
        "PostToolUse",
        tool_name="Bash",
        tool_input={"command": "lftp -u mira,tulipbucket goat"},
        tool_response=response,
    )

    def noted() -> str:
        owner.hook("Stop")
        return kept(owner)

    until(lambda: "lftp" in noted())
    assert kept(owner).count("Mind the goat") >= 3
    assert [
        secret for secret in ("24-7-31", "hunter2", "48217", "tulipbucket") if secret in kept(owner)
    ] == []
