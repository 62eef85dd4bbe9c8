"""The table of codes and passwords in everyday words: doors and cards, networks, logins, recovery keys.

A value is a short number or plain words, so a word near it must name what it opens. Words of a language are
an entry of a table. A row is matched in steps that rows share: so little is compiled for the first text.
"""

from __future__ import annotations

from commonplace.base.tuples import NamedTuple


class Told(NamedTuple):
    """A secret behind a `word`: its `name`, what `joins`, then the `value`, whose group is the secret."""

    kind: str
    word: str
    name: str
    joins: str
    value: str
    near: str = ""  # what must stand between 80 characters before the word and the value
    worded: bool = False  # whether it may be plain words, unless these say something of a password


# Things that a short number opens: between words (en), right before 密码 or 码 (zh).
LOCKS = {
    "en": r"safe|vault|strong ?box|(?:front|back|garage|main)? ?door|garage|gate|alarm|(?:dis)?arm|key ?safe"
    r"|(?:lock|key|post|mail) ?box|(?:bi(?:ke|cycle)|pad|door|dead ?bolt|smart|screen)? ?lock|lock ?screen"
    r"|locker|key ?pad|intercom|entry|entrance|lobby|elevator|lift|suitcase|luggage|briefcase|shed"
    r"|gym|unlock|voice ?mail|setup|homekit|pairing|parental",
    "zh": r"门禁|门|锁|车库|电梯|单元|小区|保险[柜箱]|密码[箱锁]|行李箱|[柜箱]子?|报警器?|安防|解锁|锁屏|开机"
    r"|手机|平板|卡|存折|取款|取现|支付|交易|转账|pin|puk",
}
_CARDS = "card|bank|debit|credit|atm|sim|phone|mobile|voice ?mail|my|our|his|her|their|tablet|locker|keypad"
# Things with a password of plain words.
NETWORKS = {
    "en": r"wi-?fi|wlan|ssid|hot ?spot|(?:guest|home|office|wireless)[ -](?:network|net)|router",
    "zh": r"wi-?fi|wlan|无线网?络?|热点|网络|宽带|路由器?|后台|邮箱|qq|微信|淘宝|微博|支付宝"
    r"|[账帐][号户]|服务器|电脑",
}
WALLETS = {
    "en": r"recovery|seed|wallet|backup|mnemonic|secret|12|15|18|21|24|twelve|fifteen|eighteen|twenty-?four",
    "zh": r"(?:钱包|恢复|备份|助记)[^\n：:是]{0,12}",
}
AUTHENTICATORS = {
    "en": r"(?:setup|set-up|2fa|mfa|totp|otp|two-factor|authenticator|manual(?: entry)?)",
    "zh": r"(?:(?:两步|二步|双重|二次|身份|谷歌)验证器?|验证器|动态口令|2fa|totp|设置)",
}
_ACCOUNT = (
    r"(?<![a-z])(?:ssid|user(?:[ _]?name)?|login|account|[账帐][号户]|用户名?)[ \t]?[:=：]?[ \t]?"
    r"[^\s,;，；]{1,40}[,;，；/| \t]{1,3}"
)
_LOGINS = r"(?:admin(?:istrator)?|root|user|guest|pi|ubuntu|sa|postgres|test|demo)"
# Words about a password, not passwords: words of a sentence, and their endings.
SAYING = (
    r"(?i)(?<![\w-])(?:(?:an?|and|are|as|ask|at|below|by|can|case|current|from|hard|here|in|is|its|long|my|no"
    r"|not|now|of|off|old|on|or|our|same|see|short|so|still|strong|that|the|them|this|to|too|under|unique|very"
    r"|was|weak|will|with|wrong|yours?|unknown|tomorrow|yesterday|everything|nothing|somewhere|nowhere"
    r"|elsewhere|upstairs|downstairs|overleaf|optional|lowercase|uppercase|default|password|required)\b"
    r"|[a-z]{2,}(?:ed|ing|ble|ent|ect|al|ful|ous|ary|ory|ly|less|ive|ic|ten|wn)\b)"
)
_QUOTE = r"[*_\"'`“「『]{0,3}"
_SIGN = r"(?:[:=：]|[-=]>|→)"
_OF = r"(?:[ \t](?:for|of|to|on|at)(?:[ \t][\w'’-]{1,16}){1,5}?)?"
_IS = rf"{_OF}(?:[ \t]{{1,3}}(?:is|was)(?:[ \t]now)?[ \t]*+:?|[ \t]{{0,3}}{_SIGN})[ \t]{{0,3}}{_QUOTE}"
_MAY = rf"(?:{_IS}|[ \t]changed[ \t]to[ \t]|[ \t]?[-–—]?[ \t]){_QUOTE}"  # a blank alone as well
_IS_ZH = (
    rf"[ \t\u3000]{{0,2}}(?:[就还仍都]?是|为|{_SIGN}|已?[改设换重置更]{{1,2}}[成为了]{{0,2}}|(?=[ \t\u3000]))"
    rf"[ \t\u3000:：]{{0,3}}{_QUOTE}"
)
_STOP = (
    r"(?=[*_\"'`”」』)]{0,3}(?:~~)?[ \t]?[了吧哦]?[ \t]{0,8}"
    r"(?:\r?\n|\Z|[.,;!?。，；！？)）、|](?!\d)|<!--|[-–—] ))"
)
_CODE = (
    r"(#?\d{3,12}[#*]?|\d(?: \d){3,7}|\d{3}-\d\d-\d{3}|[lr]?\d{1,2}(?:[-–,/ ]{1,3}[lr]?\d{1,2}){2,4}"
    r"|(?:(?:left|right|[左右])[^\d\n]{0,6}\d{1,2}[,，、 ]{0,2}){2,5}|[零〇一二三四五六七八九]{4,12})" + _STOP
)
_TURNS = r"(\d{1,2}-\d{1,2}-\d{1,2})" + _STOP
_WORDS = rf"((?=[^\n]{{8}})[a-z][\w@.!-]{{0,23}}[\w@!](?: [a-z][\w@.!-]{{0,23}}[\w@!]){{0,5}}){_STOP}"
_LETTERS = rf"([a-z][!#-&(-+./-~-]{{5,63}}?){_STOP}"  # what Chinese stands around
_VALUE = rf"([^\s\"'$<\[{{(/\u3000-\u9fff][^\s\"'&;\u3000-\u9fff]{{3,63}}?){_STOP}"
_USER = r"[a-z][\w.@+-]{0,63}[ \t]?[:/][ \t]?"
_PAIR = rf"(?:{_LOGINS}[ \t]?[:/][ \t]?|{_USER}(?=\S*[\d!@#$%^&*-])){_VALUE}"
_GROUPS = r"([a-z0-9]{4}(?:-[a-z0-9]{4}){5})" + _STOP
_BASE32 = (  # as authenticators have it
    r"((?=[a-z -]{0,64}[2-7]|(?-i:[A-Z -]{16}))[a-z2-7]{4}(?:[ -]?[a-z2-7]{4}){3,15})" + _STOP
)
_OPENS = r"(?:code|comb(?:o|ination))"
_LOCK = (
    rf"(?<![a-z])(?:{LOCKS['en']})[ -](?:lock[ -])?{_OPENS}"
    rf"|{_OPENS}[ \t](?:for|of|to|on|at)(?:[ \t][\w'’-]{{1,16}}){{0,4}}?[ \t](?:{LOCKS['en']})(?![a-z])"
)
_LOCK_ZH = rf"(?:{LOCKS['zh']})的?密?[码碼]"
_CALLED = r"(?:pass\w*|pwd?|key|psk)"
_NETWORK = (
    rf"(?<![a-z])(?:{NETWORKS['en']})(?:['’]s)?[ _-]{_CALLED}"
    rf"|{_CALLED}[ \t](?:for|of|to|on)(?:[ \t][\w'’-]{{1,16}}){{0,4}}?[ \t](?:{NETWORKS['en']})(?![a-z])"
)
_LETTERED = rf"(?:{LOCKS['zh']}|{NETWORKS['zh']})[的 ]?密[码碼]"
_WORD = r"pass(?:wor[dt]|phrase|code|wd)"
_NAMED = rf"(?:{_WORD}|pass)"
_COLON = r"[ \t]?[:=：]?[ \t]?"
_DRAWN = (  # no word: letters, and digits or signs among them
    r"((?=\S{0,40}[a-z])(?=\S{0,40}(?:\d|[!@#$%^&*][a-z\d]))[^\s,;()\"'<$\[{]{8,63}?)" + _STOP
)
_BEFORE_TO = r"((?=\S{0,40}[a-z])(?=\S{0,40}[\d!@#$%^&*])\S{8,63})(?=[ \t]to[ \t])"
_BESIDE = r"[ \t]\([^()\n]{1,40}\)"
_USERS = r"[^\n|;&]{0,80}?(?<= )(?:-u|--user)[ =]?"
_SUDO = r"[ ]?\|[ ]?sudo[ ](?:-\w{1,8}[ ])*?-(?-i:\w{0,4}S)"

TOLD = (
    Told("access-code", "code", "code", _MAY, _CODE, _LOCK),
    Told("access-code", "comb", "comb(?:o|ination)", _MAY, _CODE, _LOCK),
    Told("access-code", "comb", "comb(?:o|ination)", _IS, _TURNS),
    *(Told("access-code", word, word, _IS_ZH, _CODE, _LOCK_ZH) for word in "码碼"),
    Told("pin", "pin", "pin(?:[ -]?(?:code|number))?", _MAY, _CODE, rf"(?<![a-z])(?:{_CARDS})[ -]pin"),
    Told("pin", "pin", "pin(?:[ -]?number)?", _IS, r"(\d(?: \d){3,7})(?! ?\d)", r"(?<![a-z])pin"),
    Told("pin", "puk", r"puk\d?(?:[ -]?(?:code|number))?", _MAY, r"(\d{8})(?!\d)", r"(?<![a-z])puk"),
    Told("password", "pass", _NAMED, _IS, _WORDS, _NETWORK, worded=True),
    Told("password", "pw", "(?<![a-z])pwd?", _IS, _WORDS, _NETWORK, worded=True),
    Told("password", "key", "key", _IS, _WORDS, _NETWORK, worded=True),
    Told("password", "pass", _NAMED, _COLON, _VALUE, rf"{_ACCOUNT}pass\w*[ \t]?[:=：]", worded=True),
    *(Told("password", word, word, _IS_ZH, _LETTERS, _LETTERED, worded=True) for word in ("密码", "密碼")),
    *(Told("password", word, word, _COLON, _VALUE, _ACCOUNT + word, True) for word in ("密码", "密碼")),
    # encrypted with password X, password from X to X, pw (user: lena): X, pw: it's X
    Told("password", "pass", _WORD, "[ \t]", _DRAWN,
         r"(?:,|;|\(|with|and|using|by)[ \t](?:the[ \t])?pass\w*"),
    Told("password", "pass", _WORD, r"[ \t]from[ \t]", _BEFORE_TO),
    Told("password", "pass", _WORD, r"[ \t]from[ \t]\S{4,63}[ \t]to[ \t]", _DRAWN),
    *(
        Told("password", word, name, joins, _DRAWN)
        for word, name in (("pass", _NAMED), ("pw", "(?<![a-z])pwd?"))
        for joins in (
            rf"{_OF}{_BESIDE}[ \t]?:[ \t]", r"[ \t]?:[ \t]it(?:['’]s|[ ]is)[ \t]",
            rf"{_OF}[ \t]{{0,3}}(?:[-=]>|→)[ \t]{{0,3}}",
        )
    ),
    # creds → admin:X, login: admin / X, 账号密码：admin/X, wifi: NAME / X
    Told("password", "cred", "cred(?:s|entials?)", _IS, _PAIR),
    Told("password", "cred", "creds", _IS, rf"{_USER}(?<=:)(?=\S{{6}}){_VALUE}"),
    Told("password", ":", "", r":[ \t]{0,3}", _PAIR, r"(?<![a-z])log[io]n:"),
    Told("password", "密码", "密码", _IS_ZH, _PAIR, "[账帐][号户]密"),
    Told("password", ":", "", r":[ \t]?[^\s/,|]{1,32}[ \t]?[/,|][ \t]?", rf"(?=\S*\d)(?=\S{{8}}){_VALUE}",
         r"(?<![a-z])(?:wi-?fi|wlan):"),
    # Keys in groups.
    Told("recovery-key", "key", "key", _MAY, _GROUPS, "recovery[ _-]key"),
    Told("otp-secret", "key", "key", _MAY, _BASE32, rf"{AUTHENTICATORS['en']}[ _-]key"),
    Told("otp-secret", "secret", "secret", _MAY, _BASE32, rf"{AUTHENTICATORS['en']}[ _-]secret"),
    Told("otp-secret", "密钥", "密钥", _IS_ZH, _BASE32, rf"{AUTHENTICATORS['zh']}[的 ]?密钥"),
    # Commands that are handed a password.
    Told("password", "echo ", "echo ", "(?:-n )?", rf"[\"']([^\"'$\n]{{4,64}})[\"']{_SUDO}"),
    Told("password", "echo ", "echo ", "(?:-n )?", rf"([^\s\"'$`|&;]{{4,64}}){_SUDO}"),
    Told("password", "lftp ", "lftp ", _USERS, r"[\"'][^\"',]{1,64},([^\"'$\n]{4,})[\"']"),
    Told("password", "lftp ", "lftp ", _USERS, r"[^\s,\"']{1,64},([^\s\"'$]{4,})"),
    Told("password", "smbclient", "smbclient ", r"[^\n|;&]{0,80}?-(?-i:U)[ ]?[\"']?",
         r"[^\s%\"']{1,64}%([^\s\"'$]{4,})"),
    Told("password", "pass", _NAMED, "=", r"([^\s\"'$<{]{6,})(?=\s|\Z)",
         r"\b(?:wget|curl|mysql\w*|smb\w*)[^\n|;&]{0,64} --\w*-?pass"),
)  # fmt: skip
