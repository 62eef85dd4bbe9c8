"""Secrets to plant: their formats, from the providers' documents, and texts that they are planted in.

No secret stands here in one piece: the parts are put together when a test runs, so that no scanner takes this
file for a leak. Half of them are filled from one fixed row of characters, half at random.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple

HEX = "0123456789abcdef"
LETTERS = string.ascii_letters
ANY = LETTERS + string.digits
ALPHABETS = {
    "a": ANY, "h": HEX, "u": ANY + "-_", "b": ANY + "+/", "U": string.ascii_uppercase + string.digits,
    "l": string.ascii_lowercase + string.digits, "d": string.digits, "L": LETTERS, "X": HEX.upper(),
    "n": string.ascii_lowercase, "p": ANY + "!@#%^*",
}  # fmt: skip
FIXED = "kT7bQ2xV9mZ4fR8cN1wJ6hD3sG5pL0yA"
PIECE = re.compile(r"\{([a-zA-Z])(\d+)\}")

# Kind, and formats in which {a36} stands for 36 characters of the alphabet "a"; a space ends a format.
SHAPES = """
adafruit aio_{a28}
adobe p8e-{u32}
age AGE-SECRET-KEY-1{U58}
airtable pat{a14}.{h64}
aiven AVNS_{u19}
alchemy alcht_{a30}
alibaba LTAI5t{a18} LTAI{a12}
amazon-lwa amzn1.oa2-cs.v1.{h64}
amazon-mws amzn.mws.{h8}-{h4}-{h4}-{h4}-{h12}
anthropic sk-ant-api03-{u93}AA sk-ant-admin01-{u93}AA
anyscale esecret_{a30}
apify apify_api_{a36}
artifactory AKCp{a69}
artifactory-reference cmVmdGtu{a56}
asana 1/{d16}:{h32} 2/{d16}/{d16}:{h32}
atlassian ATATT3xFfGF0{u160}={X8}
aws-access AKIA{U16} ASIA{U16}
aws-bedrock ABSK{b100}
axiom xaat-{h8}-{h4}-{h4}-{h4}-{h12}
azure-client {a3}8Q~{a34}
azure-devops {a76}AZDO{a4}
azure-openai {a52}JQQJ99{a26}
azure-search {a42}AzSeA{a5}
azure-storage AccountKey={b86}==
backblaze K001{b27}
baidu bce-v3/ALTAK-{a21}/{h40}
bitbucket ATBB{a32}
bitcoin xprv{a107}
bitwarden 0.{h8}-{h4}-{h4}-{h4}-{h12}.{a30}:{b22}==
brave BSA{a28}
brevo xkeysib-{h64}-{a16}
browserbase bb_live_{a27}
buildkite bkua_{h40}
cal cal_live_{h32}
cerebras csk-{l48}
circleci CCIPAT_{a22}_{h40}
clickhouse 4b1d{a38}
clickup pk_{d8}_{U32}
clojars CLOJARS_{l60}
cloudflare cfut_{a48} cfat_{a48}
cloudflare-ca v1.0-{h24}-{h146}
cockroachdb CCDB1_{a22}_{a40}
confluent cflt{b60}
contentful CFPAT-{u43}
coze pat_{a64}
crates-io cio{a32}
cursor crsr_{h64}
databricks dapi{h32} dapi{h32}-2
deepseek sk-{h32}
defined-networking dnkey-{U26}-{U52}
deno ddp_{a36}
digitalocean dop_v1_{h64} doo_v1_{h64}
digitalocean-spaces DO00{U16}
discord MTk4NjIyNDgzNDcxOTI1MjQ4.{u6}.{u38} NzkyNzE1NDU0MTk2MDg4ODQy.{u6}.{u27}
docker dckr_pat_{u27}
doppler dp.pt.{a43} dp.st.production.{a43}
dropbox sl.{u138} sl.u.{u140}
dub dub_{a24}
duffel duffel_live_{u43}
dynatrace dt0c01.{U24}.{U64}
e2b e2b_{h40}
easypost EZAK{a54}
elastic essu_{b70}
elevenlabs sk_{h48}
facebook EAAC{a170}
fauna fnA{u37}
figma figd_{u40}
firebase AAAA{a7}:APA91b{u134}
firecrawl fc-{h32}
fireworks fw_{a24}
flagsmith ser.{a22}
flutterwave FLWSECK-{a32}-X FLWSECK_TEST-{h32}-X
fly fo1_{u43} fm2_{b130}==
frame-io fio-u-{u64}
github ghp_{a36} gho_{a36} ghs_{a36}
github-fine github_pat_{a22}_{a59}
gitlab glpat-{u20} gldt-{u20} glptt-{h40} glpat-{u27}.01.{l9}
gitlab-runner glrt-{u20} GR1348941{u20}
gocardless live_{u40}
google-api AIza{u35}
google-oauth ya29.{u120}
google-refresh 1//0{u100}
google-secret GOCSPX-{u28}
grafana glsa_{a32}_{h8} glc_{b80}==
grafana-legacy eyJrIjoi{a70}==
groq gsk_{a52}
harness pat.{a22}.{h24}.{a20}
heroku HRKU-{u58}
honeycomb hcaik_{l58}
hubspot pat-na1-{h8}-{h4}-{h4}-{h4}-{h12}
hugging-face hf_{L34} hf_{a34} hf_{n34}
infisical st.{h24}.{h32}.{h32}
infracost ico-{a32}
inngest signkey-prod-{h64}
instagram IGQV{u140}
intercom dG9r{b56}=
jina jina_{u60}
jwt eyJhbGciOiJIUzI1NiJ9.eyJ{a60}.{u43}
kaggle KGAT_{h32}
langfuse sk-lf-{h8}-{h4}-{h4}-{h4}-{h12}
langsmith lsv2_pt_{h32}_{h10}
launchdarkly sdk-{h8}-{h4}-{h4}-{h4}-{h12} api-{h8}-{h4}-{h4}-{h4}-{h12}
linear lin_api_{a40} lin_oauth_{h64}
lob live_{h35}
mailchimp {h32}-us12
mailersend mlsn.{h64}
mailgun key-{h32} key-{l32}
mandrill md-{u22}
mapbox sk.eyJ{a70}.{u22}
matrix syt_{a24}_{L20}_{a6}
mem0 m0-{a40}
modal ak-{a22}
mongodb-atlas mdb_sa_sk_{u40}
neon napi_{a64}
netlify nfp_{a36}
new-relic NRAK-{U27}
new-relic-license {h36}NRAL
maxmind {a6}_{a29}_mmk
nightfall NF-{a32}
notion ntn_{a46} secret_{a43}
npm npm_{L36} npm_{a36} npm_{n36}
nuget oy2{l43}
nvidia nvapi-{u64}
octopus API-{U27}
okta SSWS 00{u40}
onepassword ops_eyJ{b250}
onepassword-secret A3-{U6}-{U11}-{U5}-{U5}-{U5}
openai sk-{a48} sk-proj-{u74}T3BlbkFJ{u74}
openai-service sk-svcacct-{u74}T3BlbkFJ{u74} sk-admin-{u74}T3BlbkFJ{u74}
openrouter sk-or-v1-{h64}
openshift sha256~{u43}
packagist packagist_out_{h68}
paddle pdl_live_apikey_{l26}_{a22}_{a3}
pagerduty u+{a18}
paypal access_token$production${l16}${h32}
perplexity pplx-{a48}
pinecone pcsk_{a5}_{a63}
pinterest pina_{U60}
plaid access-production-{h8}-{h4}-{h4}-{h4}-{h12}
planetscale pscale_tkn_{u43} pscale_pw_{u43}
polar polar_oat_{a43}
posthog phx_{a43}
postman PMAK-{h24}-{h34}
prefect pnu_{a36}
pulumi pul-{h40}
pypi pypi-AgEIcHlwaS5vcmc{u150}
rancher token-{l5}:{l54}
rapidapi {l10}msh{l15}p1{l6}jsn{l12}
readme rdme_{l70}
render rnd_{a28}
replicate r8_{a37}
resend re_{a8}_{a24}
rootly rootly_{h64}
rubygems rubygems_{h48}
runpod rpa_{U40}
salesforce 00D{a12}!{a90}
samsara samsara_api_{a28}
sanity sk{a80}
scaleway SCW{U17}
scalingo tk-us-{u48}
sendgrid SG.{u22}.{u43}
sentry sntrys_eyJ{b100}= sntryu_{h64}
serverchan SCT{d6}T{a28}
settlemint sm_aat_{a16}
shippo shippo_live_{h40}
shopify shpat_{h32} shpss_{h32}
slack xoxb-{d12}-{d13}-{a24} xoxp-{d12}-{d12}-{d12}-{h32}
slack-app xapp-1-A{U10}-{d13}-{h64}
snyk snyk_uat.{h8}.{u120}
sonar squ_{h40} sqp_{h40}
sourcegraph sgp_{h16}_{h40} sgp_{h40}
square sq0atp-{u22} sq0csp-{u43} EAAA{u60}
statsig secret-{a43}
stripe-live sk_live_{a24} rk_live_{a99}
stripe-test sk_test_{a24} rk_test_{a24}
stripe-webhook whsec_{b32}
stytch secret-live-{u35}=
supabase sbp_{h40}
supabase-secret sb_secret_{u22}_{a8}
tailscale tskey-auth-{a17}-{a32} tskey-api-{a12}-{a32}
tavily tvly-dev-{a32}
telegram {d10}:AA{u33}
tencent AKID{a32}
terraform {a14}.atlasv1.{u67}
thunderstore tss_{a40}
tinybird p.eyJ{a70}.{u43}
together tgp_v1_{u43}
trello ATTA{h72}
trigger tr_prod_{a24}
twilio SK{h32} AC{h32}
twitch oauth:{l30}
twitter AAAAAAAAAAAAAAAAAAAAA{a80}
typeform tfp_{u59}
ubidots BBFF-{a30}
unkey unkey_{a22}
vault s.{a24} hvs.{u90} hvs.{a24} hvb.{u140}
vercel vcp_{a56}
volcengine AKLT{a40}
voyage pa-{u43}
wandb wandb_v1_{a70}
xai xai-{a80}
xata xau_{a38}
yandex YC{a38} AQVN{u36} y0_{u55}
zoho 1000.{h32}.{h32}
zuplo zpka_{l32}_{h8}
"""

# Kind, and a text in which the secret alone is made up: |{a32}| stands between bars.
PLACED = r"""
aws-secret aws_secret_access_key = |{b40}|
aws-secret "SecretAccessKey": "|{b40}|"
aws-session export AWS_SESSION_TOKEN=|IQoJb3JpZ2luX2Vj{b200}|
algolia ALGOLIA_ADMIN_KEY=|{h32}|
algolia the Algolia key is |{h32}|, write access
azure-sas https://acme.blob.core.windows.net/c?sv=2024-08-04&sr=c&sig=|{a40}%2B%3D|&se=2026-12-01
azure-sas SharedAccessSignature=sv=2023-01-03&ss=b&sig=|{b43}=|
azure-bus Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=|{b43}=|
azure-apim Ocp-Apim-Subscription-Key: |{h32}|
basic Authorization: Basic |dXNlcjpw{a16}|
bearer curl -H "Authorization: Bearer |{a32}|" https://api.example.com
basic-curl curl -u deploy:|{a14}| https://ci.example.com/job
cohere COHERE_API_KEY=|{a40}|
cookie Cookie: sessionid=|{l32}|; theme=dark
cookie Set-Cookie: auth=|{u40}|; HttpOnly
datadog DD_API_KEY=|{h32}|
datadog Our Datadog key: |{h32}|
deepgram deepgram key is |{h40}|
dingtalk https://oapi.dingtalk.com/robot/send?access_token=|{h64}|
discord-webhook https://discord.com/api/webhooks/1234567890123456/|{u68}|
docker-config {"auths": {"ghcr.io": {"auth": "|YWNtZTo{a20}|"}}}
feishu https://open.feishu.cn/open-apis/bot/v2/hook/|{h8}-{h4}-{h4}-{h4}-{h12}|
feishu 飞书 App Secret：|{a32}|
google-chat https://chat.googleapis.com/v1/spaces/AAAA/messages?key=x&token=|{u43}|
gcp "private_key": "|-----BEGIN PRIVATE KEY-----\n{b64}\n{b64}\n-----END PRIVATE KEY-----|\n"
heroku heroku key: |{h8}-{h4}-{h4}-{h4}-{h12}|
ifttt https://maker.ifttt.com/trigger/door/with/key/|{u43}|
jenkins JENKINS_API_TOKEN=|11{h32}|
mistral the Mistral key is |{a32}|
mongodb mongodb+srv://app:|{a16}|@cluster0.example.mongodb.net/main
mysql mysql://root:|{p12}|@10.0.0.5:3306/shop
postgres DATABASE_URL=postgres://admin:|{a20}|@db.internal:5432/app
redis redis://:|{a24}|@cache:6379/0
amqp amqps://svc:|{a20}|@mq.example.com/vhost
odbc Server=tcp:db,1433;Database=x;Uid=sa;Pwd=|{a14}|;Encrypt=yes
ado Data Source=db;User ID=sa;Password=|{a14}|;
jdbc jdbc:postgresql://db/app?user=app&password=|{a16}|
netrc machine api.example.com login deploy password |{a16}|
npmrc //registry.npmjs.org/:_authToken=|{h8}-{h4}-{h4}-{h4}-{h12}|
npmrc //npm.example.com/:_auth=|YWRtaW46{a16}|
mixpanel MIXPANEL_API_SECRET: |{h32}|
okta OKTA_CLIENT_SECRET=|{u40}|
presigned https://b.s3.amazonaws.com/k?X-Amz-Expires=3600&X-Amz-Signature=|{h64}|
railway RAILWAY_TOKEN=|{h8}-{h4}-{h4}-{h4}-{h12}|
slack-webhook https://hooks.slack.com/services/|T{U8}/B{U10}/{a24}|
snyk SNYK_TOKEN=|{h8}-{h4}-{h4}-{h4}-{h12}|
sshpass sshpass -p '|{p12}|' ssh root@10.0.0.7
teams https://acme.webhook.office.com/webhookb2/|{h8}-{h4}-{h4}-{h4}-{h12}@{h8}-{h4}-{h4}-{h4}-{h12}/IncomingWebhook/{h32}|
twitter-secret consumer_secret = '|{a50}|'
vultr VULTR_API_KEY=|{U36}|
wechat 微信小程序 AppSecret 是 |{h32}|
wechat WECHAT_APP_SECRET=|{h32}|
wecom https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=|{h8}-{h4}-{h4}-{h4}-{h12}|
wireguard PrivateKey = |{b43}=|
zapier https://hooks.zapier.com/hooks/catch/123456/|{l7}|
zhipu ZHIPUAI_API_KEY=|{h32}.{a16}|
password-is My password's |{a10}|
password-is The root password is |{a12}|.
password-pw pw: |{a8}|
password-pw wifi PW=|{a10}|
password-env DB_PASSWORD=|{p14}|
password-yaml   password: "|{p14}|"
password-zh 密码：|{a10}|
password-zh 服务器的口令 |{a10}|
password-zh 口令是 |{a9}|，别外传
password-zh 路由器密码改成了|{a10}|。
password-hant 密碼：|{a10}|
password-de Das Passwort lautet |{a12}|.
password-fr mot de passe : |{a12}|
password-table | admin | password | |{a10}| |
password-kubernetes - name: DB_PASSWORD  value: "|{p14}|"
password-nuget <add key="ClearTextPassword" value="|{p12}|"/>
password-flag mysqldump --password=|{a14}| shop
key-openssh |-----BEGIN OPENSSH PRIVATE KEY-----%{b70}%{b70}%-----END OPENSSH PRIVATE KEY-----|
key-rsa |-----BEGIN RSA PRIVATE KEY-----%{b64}%{b64}%-----END RSA PRIVATE KEY-----|
key-ec |-----BEGIN EC PRIVATE KEY-----%{b64}%{b60}==%-----END EC PRIVATE KEY-----|
key-pgp |-----BEGIN PGP PRIVATE KEY BLOCK-----%%{b64}%{b64}%-----END PGP PRIVATE KEY BLOCK-----|
key-putty |Private-Lines: 2%{b64}%{b40}|
key-openvpn |-----BEGIN OpenVPN Static key V1-----%{h32}%{h32}%-----END OpenVPN Static key V1-----|
"""

# Sentences and files in which a token stands without a word that says what it is.
AROUND = (
    "{}", "push it with {} from the laptop", "- 14:05 rotated {}, works again", "把{}换掉，周五之前", "新的是 {}。",
    "export DEPLOY={}", '{{"value": "{}", "n": 1}}', "deploy:\n  with: '{}'\n", "| prod | {} | ok |", "`{}`",
    "curl -s https://api.example.com/v1?k={}&n=1", "$ login {}\nok", "client = Client(\"{}\")", "> said: {}.",
    "```\nX={}\n```", "1. ({})", "see {}; then restart", "它是“{}”吗？", "old\t{}\tnew", "<b>{}</b>",
)  # fmt: skip


class Planted(NamedTuple):
    """A secret in a text: what must be gone are the `parts` that were made up."""

    kind: str
    text: str
    parts: tuple[str, ...]


Draw = Callable[[str, int], str]


def fixed(alphabet: str, length: int) -> str:
    """Fill a format from one row of characters, those of other alphabets by the next of their own."""
    allowed = ALPHABETS[alphabet]
    row = [letter if letter in allowed else allowed[ord(letter) % len(allowed)] for letter in FIXED]
    return "".join(row[(place + place // len(row)) % len(row)] for place in range(length))


def drawn(seed: int) -> Draw:
    """Return what fills a format at random."""
    chance = random.Random(seed)

    def draw(alphabet: str, length: int) -> str:
        while True:
            value = "".join(chance.choices(ALPHABETS[alphabet], k=length))
            # What people choose and what services hand out has a digit, and ends in a letter or digit.
            if value[-1].isalnum() and (
                alphabet not in "ap" or length > 16 or set(value) & set(string.digits)
            ):
                return value

    return draw


def planted(draw: Draw) -> Iterator[Planted]:
    """Return a secret of each format, filled by `draw`, each in one of the texts around."""
    number = 0
    for line in SHAPES.strip().splitlines():
        kind, *formats = line.replace("SSWS ", "SSWS\0").split(" ")
        for form in formats:
            secret, parts = filled(form.replace("\0", " "), draw)
            yield Planted(kind, AROUND[number % len(AROUND)].format(secret), parts)
            number += 1
    for line in PLACED.strip("\n").splitlines():
        kind, _, text = line.partition(" ")
        before, form, after = re.fullmatch(r"(.*?)\|(.*\{[a-zA-Z]\d+\}[^|]*)\|(.*)", text).groups()  # type: ignore[union-attr]
        if kind == "password-table":
            before, form = before + "|" + form.rpartition("|")[0] + "|", form.rpartition("|")[2]
        secret, parts = filled(form.replace("%", "\n") if kind.startswith("key-") else form, draw)
        yield Planted(kind, before + secret + after, parts)


def filled(form: str, draw: Draw) -> tuple[str, tuple[str, ...]]:
    """Fill the pieces of a format; return it and what was made up in it."""
    parts: list[str] = []

    def fill(piece: re.Match[str]) -> str:
        parts.append(draw(piece[1], int(piece[2])))
        return parts[-1]

    return PIECE.sub(fill, form), tuple(part for part in parts if len(part) >= 7) or tuple(parts)
