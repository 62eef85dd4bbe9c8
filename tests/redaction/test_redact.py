"""Planted secrets go, innocents stay, line numbers are kept, and time stays linear."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.notes.forms import forms, lookalikes
from tests.notes.planted import fixed

from commonplace.redaction.redact import holds_secret, redact, strip_private, unclosed_line

# Put together here, so that no scanner takes this file for a leak.
LETTERS = "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8" * 10
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "ZZXAMPLEK9"
KEY_BODY = "MIIEpAIBAAKCAQEA7bq0xJ3f9yqk2c1Zp0Hh8Yw5tR4sV6uX/+aB1cD2eF3gH4iJ"

# (kind, the secret, the text around it)
TOKENS = [
    ("aws-access-key", "AKIA" + "IOSFODNN7SAMPLE2", "the key is {} here"),
    ("slack-webhook", "T00000000/B00000000/" + LETTERS[:24], "https://hooks.slack.com/services/{}"),
    ("api-key", "sk-proj-" + LETTERS[:60], "密钥{}"),
    ("azure-key", "AccountKey=" + LETTERS[:86] + "==", "DefaultEndpointsProtocol=https;{};EndpointSuffix=x"),
    ("jwt", JWT, "cookie {}; path=/"),
    ("basic-auth", "pass", "https://lin:{}@host/path"),
    ("basic-auth", "p%40ss:word", "postgres://admin:{}@db.internal:5432/main"),
    ("basic-auth", "hunter2", "redis://:{}@cache"),
    ("basic-auth", "dXNlcjpodW50ZXIy", "Authorization: Basic {}"),
    ("bearer-token", "abcdef1234567890", "Authorization: Bearer {}"),
    ("bearer-token", LETTERS[:40], "curl -H 'authorization: bearer {}'"),
]
ASSIGNED = [
    ("password", "hunter2", "password: {}"),
    ("password", "hunter2", "Password = {}"),
    ("password", "hunter2", "**Password:** {}"),
    ("password", "hunter2", "- password: `{}`"),
    ("password", "hunter2", "| password | {} |"),
    ("password", "hunter2", "<password>{}</password>"),
    ("password", "hunter2", "the wifi password is {}, guests may use it"),
    ("password", "hunter2", "mysqldump --password {} db"),
    ("password", "hunter2", "mysqldump --db-password={} db"),
    ("password", "Tr0ub4dor&3", "passwd: {}"),
    ("password", "letmein", "DB_PASSWORD={}"),
    ("password", "letmein", "export PGPASSWORD={}"),
    ("password", "letmein", '"password": "{}",'),
    ("password", "letmein", "{{'password': '{}'}}"),
    ("password", "letmein", r"{{\"password\": \"{}\"}}"),
    ("password", "correct horse battery", 'password = "{}"'),
    ("password", "p@ssw!ord", "pwd: {}"),
    ("password", "123456", "密码：{}"),
    ("password", "abc123", "数据库密码是 {}，请保密"),
    ("password", "x9-Kq2", "口令: {}"),
    ("password", "hunter2", "Server=db;User=sa;Password={};Encrypt=yes"),
    ("password", "hunter2", "https://x.test/login?password={}&next=home"),
    ("password", "hunter22", "dbPass: {}"),
    ("key", "abcd1234efgh", "api_key: {}"),
    ("key", "abcd1234efgh", "apikey={}"),
    ("key", "abcd1234efgh", "API key: {}"),
    ("key", "abcd1234efgh", "app.config['SECRET_KEY'] = '{}'"),
    ("key", "abcd1234efgh", "密钥：{}"),
    ("mailgun-key", "key-3ax6xnjp29jd6fds4gc373sgvjxteol0", "MAILGUN_API_KEY={}"),
    ("key", AWS_SECRET, "aws_secret_access_key = {}"),
    ("key", AWS_SECRET, '"SecretAccessKey": "{}"'),
    ("key", "9f8e7d6c5b4a3210", "private_key = {}"),
    ("secret", "9f8e7d6c5b4a3210", "client_secret: {}"),
    ("secret", "9f8e7d6c5b4a3210", "--client-secret {}"),
    ("token", "9f8e7d6c5b4a3210", "access_token={}"),
    ("token", "9f8e7d6c5b4a3210", "auth_token: '{}'"),
    ("token", "9f8e7d6c5b4a3210f", "token: {}"),
]
TOLD = [
    ("password", "hunter2secret!", "The password for the router is {}"),
    ("password", "829134", "我的银行卡密码是 {}"),
    ("password", "135790", "手机密码改成了 {}，别忘了"),
    ("password", "Xk29vTq81z", "The password for the NAS is {}"),
    ("password", "Abc12345", "登录密码是 {}"),
    ("password", "sunflower2024", "My wifi password is {}."),
    ("password", "correct-horse-battery", "Kim's laptop password is {}"),
    ("password", "HunterSecret", "my password is {}, don't tell"),
    ("password", "kaffee99", "Das Passwort für das WLAN lautet {}."),
    ("password", "90210#", "The passcode to the office door is now {}"),
    ("pin", "4821", "My PIN is {}."),
    ("pin", "48213377", "PUK: {}"),
    ("key", "Xk29vTq81zAb12Cd34Ef", "The API key for the map is {}"),
    ("password", "Xk29vTq81z", "{} 是密码"),
    ("pin", "4821", "我的PIN码是{}。"),
    ("pin", "482193", "PIN code for the garage: {}"),
    ("card-number", "4111 1111 1111 1111", "My card is {}, expires 12/27"),
    ("card-number", "3782-822463-10005", "{}"),
    ("card-number", "4111111111111111", "信用卡号 {}"),
]
INNOCENTS = """
password: see the vault
the secret: be kind
password=None
password: ${VAR}
token: string
password: <your password>
password: "your-password-here"
password = get_password()
password = os.environ["DB_PASSWORD"]
password=settings.DB_PASSWORD
password: {{ vault_password }}
secret: prod/db/main
password: op://vault/item/field
"label": "Enter your password"
password: ********
password: at least 8 characters, one digit
The password is base64-encoded; the hash is sha256.
Passwords: 3 leaked. Secret santa: 24 December. Token count: 4096. max_tokens: 1000
api_key: OPENAI_API_KEY
"api_key": "OPENAI_API_KEY"
--password-stdin and --password to be asked
def login(password: str, token: str | None = None) -> Token:
primary key: id2023field; the key: value pair; monkey: banana123split; keyboard=qwerty1234
密码：请看保险柜
密码是很重要的；密码：8 位以上
口令：无
bypass: 12ab34cd; compass=north1234
password changed on 2026-02-13
password: 2026-02-13
private_key: ./keys/id_rsa.pem
alice@example.com wrote to bob.smith+tag@example.co.uk, +49 170 1234567, 138-0013-8000
commit 5f2b8c1e9d7a6b4c3f2e1d0c9b8a7f6e5d4c3b2a fixes it; see a1b2c3d
id 123e4567-e89b-12d3-a456-426614174000
![x](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk)
https://example.com/a/b?c=d#e and http://localhost:8080/x@y and ssh://git@github.com:22/x
mailto:me@example.com, git@github.com:owner/name.git, https://user@host/
sk-learn-something-very-long-with-words and task-management-system-for-everyone
the file begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----
responsibilities, internationalization-and-localization, src/commonplace/notes/redact.py
Bearer of good news: authentication-and-authorization
basic training; Basic auth is used
arn:aws:secretsmanager:us-west-2:123456789012:secret:MyTestSecret-a1b2c3
"encryptionKey": "arn:aws:kms:us-west-2:111122223333:key/a1b2c3d4-5678-90ab-cdef-EXAMPLE11111"
"NextToken": "a1b2c3d4e5f6a7b8c9d0", page_token: a1b2c3d4e5f6a7b8c9d0
AKIA is a prefix, ghp_ too, and so is xoxb-
The password is stored in the vault. The password policy is strict. The password was changed in 2024.
密码是每季度更换的；密码是什么；密码是8-16位字符；密码是 2024 年设的；密码是 AES-256 加密
My PIN is blocked. PIN is 4 digits long. The LED pin is 13; the pin for numpy is 1.26.4
The password for the app is case-sensitive, for prod up-to-date. The password is one-time-use.
my keyboard is Xk29vTq81zAb12Cd34Ef; Abc12345 passed the check; the password is sunset.
The password for the wiki is on LastPass now. The password of the demo is 12-characters long
password = db.Column(db.String(120)) and hashed_password = argon2.hash_password(password)
order 4111111111111111, 4111 1111 1111 1112, 1718000000000, ISBN 9784567890123
""".strip().splitlines()


def test_secrets_are_replaced_and_the_rest_stays() -> None:
    wrong = []
    for kind, secret, text in TOKENS + ASSIGNED + TOLD:
        redacted, kinds = redact(text.format(secret))
        right = redacted == text.format(f"[REDACTED:{kind}]") and kinds == (kind,)
        if not right or not holds_secret(text.format(secret)) or holds_secret(redacted):
            wrong.append((kind, text, redacted, kinds))
    assert wrong == []


def test_innocents_stay() -> None:
    assert [redact(text) for text in INNOCENTS] == [(text, ()) for text in INNOCENTS]


@pytest.mark.parametrize("prefix", ["", "> ", "    ", "- "])
def test_key_block_is_blanked_line_by_line(prefix: str) -> None:
    for kind in ("RSA PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"):
        inside = ["Proc-Type: 4,ENCRYPTED", "", KEY_BODY, KEY_BODY, "abcd=="]
        block = [f"-----BEGIN {kind}-----", *inside, f"-----END {kind}-----"]
        text = "\n".join(["before", *(prefix + line for line in block), "after"])
        redacted, kinds = redact(text)
        assert redacted.split("\n") == ["before", f"{prefix}[REDACTED:private-key]", *[""] * 6, "after"], kind
        assert kinds == ("private-key",), kind


def test_unterminated_key_ends_where_the_key_ends() -> None:
    text = f"-----BEGIN RSA PRIVATE KEY-----\n{KEY_BODY}\n{KEY_BODY}\nand then we had lunch\n"
    assert redact(text)[0] == "[REDACTED:private-key]\n\n\nand then we had lunch\n"


def test_key_in_json_is_found() -> None:
    text = f'"private_key": "-----BEGIN PRIVATE KEY-----\\n{KEY_BODY}\\n-----END PRIVATE KEY-----\\n", "x": 1'
    assert redact(text)[0] == '"private_key": "[REDACTED:private-key]\\n", "x": 1'


PIECES = st.one_of(
    st.text(max_size=12),
    st.sampled_from([secret for _, secret, _ in TOKENS + ASSIGNED + TOLD]),
    st.sampled_from([*":='\"`@]\n\u2028İ：", "password", "\r\n", "[REDACTED:", "密码", "://"]),
    st.sampled_from(["<private>", "</private>"]),
    st.sampled_from(["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", KEY_BODY, "--token "]),
    st.sampled_from([text.text for text in forms(fixed, 1)] + lookalikes()),
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_redacting_keeps_lines_and_is_done_once(text: str) -> None:
    redacted, _ = redact(text)
    for line_break in "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029":
        assert redacted.count(line_break) == text.count(line_break)
    assert redact(redacted) == (redacted, ())


@given(st.lists(PIECES, max_size=12).map("".join))
def test_stripping_keeps_lines_and_is_done_once(text: str) -> None:
    public = strip_private(text)
    assert public.count("\n") == text.count("\n")
    assert strip_private(public) == public
    assert "<private>" not in public


UNITS = [
    *"a=-_.:'\"\n", "://", "://a:", "sk-", "sk-a1-", "eyJ", ".eyJ", "eyJa.", "AKIA", "bearer a1", "a/b",
    "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n", "Proc-Type:\n", "xoxb-1-", "AA1:AA",
    f"-----BEGIN PRIVATE KEY-----\n{KEY_BODY}\n", "<private>", "<private ", "</private>", "[REDACTED:",
]  # fmt: skip
NAMES = [
    "password=", "password: ", "password is ", "密码：", "key=", "api_key=a1,", "password=your-",
    "password=a.a", "password=[REDACTED:", 'password="', "password='\\", "authorization: basic ",
    "password for a ", "password for a is ", "pin is ", "密码是", "4111 1111 1111 1", "41111111111111",
]  # fmt: skip


@pytest.mark.parametrize("size", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_long_texts_of_one_unit_end(size: int) -> None:
    for unit in [*UNITS, *NAMES]:
        text = unit * (size // len(unit))
        assert redact(text)[0], unit
        assert len(strip_private(text)) <= len(text), unit


def test_private_parts_are_blanked() -> None:
    for text, public in (
        ("a <private>b</private> c", "a  c"), ("a\n<private>b\nc</private>\nd", "a\n\n\nd"),
        ("<PRIVATE reason='x'>b</Private >c", "c"),
        ("a<private>b<private>c</private>d</private>e", "ae"), ("a <private>never\nclosed", "a \n"),
        ("`<private>code</private>`", "``"),
        ("```\n<private>\nx\n</private>\n```", "```\n\n\n\n```"),
        ("a </private> b", "a </private> b"),
        ("a <privateer> b <private/> c", "a <privateer> b <private/> c"), ("1 < 2", "1 < 2"),
        ("<pri<private>x</private>vate>y</private>z", "z"),
        ("a <pri\u200bvate>b</pri\u200bvate> c", "a  c"),
        ("a <\u2060private>b\nc</private\ufeff> d", "a \n d"), ("a ＜private＞b＜／private＞ c", "a  c"),
        ("a ＜ｐｒｉｖａｔｅ＞b</private> c", "a  c"), ("a <pri\u200bvate>never\nclosed", "a \n"),
        ("é <privateer> b <private/> c", "é <privateer> b <private/> c"),
    ):  # fmt: skip
        assert strip_private(text) == public


def test_the_line_of_a_private_part_that_nobody_closes() -> None:
    for text, line in (("a\n`<private>`\n", 2), ("<private>x</private>\n\n<private>", 3), ("a", 0)):
        assert unclosed_line(text) == line


MARKUP = st.sampled_from([
    "<private>", "</private>", "`", "``", "```", "\n```\n", "\n~~~\n", "\n", "a ", " ", "- ", "  ", "<!--", "-->",
    "\n---\n", "\\", "x",
])  # fmt: skip


@given(st.lists(MARKUP, max_size=16).map("".join))
def test_what_is_closed_is_hidden_whatever_is_around_it(text: str) -> None:
    assert "SECRET" not in strip_private(f"{text}<private>SECRET</private>{text}")
