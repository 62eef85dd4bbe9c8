"""Texts that look like secrets and are none: not one of them may be altered."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator

HEX = "0123456789abcdef"

LINES = """
pip install sk-learn; sk-learn-contrib-extras-and-more is a package
from huggingface_hub import hf_hub_download, hf_raise_for_status
npm_config_registry=https://registry.npmjs.org/ and npm_package_version, npm_lifecycle_event
pk_live_51HqLyjWDarjtT1zdp7dcG8hYbQ2xV9mZ4fR8cN1wJ6hD is publishable
pk_test_TYooMQauvdEDq54NiTphI7jx is in every page
VITE_SUPABASE=sb_publishable_ACJWlzQHlZjBrEguHvfOxg_3BJgxAaH
POSTHOG=phc_kT7bQ2xV9mZ4fR8cN1wJ6hD3sG5pL0yAkT7bQ2xV9mZ
OPENAI_API_KEY=sk-...
OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
api_key: YOUR_API_KEY
api_key="<your-api-key>"
token: <token>
GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
GITHUB_TOKEN=${{ secrets.GITHUB_TOKEN }}
HF_TOKEN=hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
glpat-your-access-token-goes-here
SLACK_TOKEN=xoxb-your-token
stripe.api_key = "sk_test_..."
export ANTHROPIC_API_KEY=$(pass show anthropic)
export VAULT_TOKEN=$VAULT_DEV_TOKEN
password: ${DB_PASSWORD:-}
password: changeme
password: '********'
the password policy changed in March
The password must have 12 characters, one of them a digit.
The password is longer than it was; passwords are hashed with argon2id.
our password's length is 12 characters
My password's too old. My password's 12 characters long. The password's been changed.
My password manager's called Bitwarden.
Where's the password? Ask Ann.
The wifi password is on the fridge
password reset flow, password-protected, passwordless login, PasswordField2
pw: see 1Password
pw: ask Ann
upward: 12345678a, helpwanted: abc12345
口令已更改
口令 8 位以上
口令 不能与上次相同
密码很长
密码 至少8位
密码已经改了，问小王
密码：见保险柜
密码是 8 位数字
密码长度为12位，每90天更换
密码学 sha256 与 md5 的区别
口令卡 2024 年停用
密码本在抽屉里；口令红包 88 元
全角：ＡＢＣ１２３，型号ＸＹＺ－２０２４
电话：１３８００１３８０００
价格是￥１２３４５６．７８
家人👨‍👩‍👧‍👦在一起，❤️很好，✔️完成
نص عربي\u200f مع علامات\u200f ٢٠٢٤
soft\u00adhyphen\u00adated Donau\u00addampf\u00adschiff\u00adfahrt
zero\u200bwidth\u200bspace in a long line of Thai ภาษา\u200bไทย
token count: 4096, max_tokens: 128000, tokens_per_second=83.2
tokenizer: cl100k_base; token_type_ids; tokens: 1,234
NextToken: a1b2c3d4e5f6a7b8c9d0e1f2
secret santa is on 2026-12-20; Victoria's Secret; the secret's out
secret: keep it simple
key: value; primary key: id; foreign key (user_id); the key is under the mat
key findings: 3; key-value store; keyboard: Keychron K2V2; keynote2026
The Jira key is PROJ-12345678
cache key: users:v2:1234567890; sort key = created_at#2026
map key 1234567890abcdef is the id of a tile
API key rotation runs every 90 days; API keys are in 1Password
the API key's scope is read-only
Bearer tokens expire after 3600 seconds
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
Authorization: Basic auth is off
Authorization: required for all endpoints, see RFC7235
Cookie: theme=dark; lang=en
Cookie policy: last updated 2026-01-02; cookies are required
Set-Cookie: theme=dark_high_contrast; Path=/
curl -u $USER:$PASSWORD https://example.com
curl -u user:<password> https://example.com
curl -X POST -u admin: https://example.com
ssh -p 2222 deploy@10.0.0.7; sshpass -p "$PASS" ssh root@host
https://user@example.com/path and https://example.com:8443/a@b
postgres://user:${PGPASS}@host/db
postgres://user:<password>@host/db
redis://localhost:6379/0 and amqp://rabbit:5672
git@github.com:owner/repository-with-a-long-name-2026.git
https://example.com/design=signature&signal=12 significant=0.05
signature: v1 of the contract; sig=none; assigned=2026
commit 9fceb02d0ae598e95dc970b74767f19372d61af8
Signed-off-by: Ann Lee <ann.lee@example.com>
index 3f2a1b9..8d7e6f5 100644
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==
integrity sha384-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC
"resolved": "https://registry.npmjs.org/lodash/-/lodash-4.17.21.tgz#679591c564c3bffaae8454cf0b3df370c3d6911c"
name = "regex" checksum = "4697edbbf3fd1bd8ab4ddc8f3ebd3c9d1e2f5e5a8f0a6f3cd8ca1e9a4a9f4c11"
md5 = d41d8cd98f00b204e9800998ecf8427e
ETag: "33a64df551425fcc55e4d42a148795d9f25f89d4"
Content-MD5: Q2hlY2sgSW50ZWdyaXR5IQ==
docker pull nginx@sha256:0047b729188a15da49380d9506d65959cce6d40291ccfb4e039f5dc7efd33286
![dot](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==)
data:font/woff2;base64,d09GMgABAAAAAAKwAAoAAAAABKQAAAJnAAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAABmAALAqBTIFFATYCJAMICwYABCAF
ISBN 978-3-16-148410-0, ISSN 2049-3630, DOI 10.1000/xyz123, arXiv:2405.12345v2
EAN 4006381333931, IBAN-free invoice 2026-000123456
call 138-0013-8000 or +49 170 1234567, office (212) 555-0134
flight LH2026, train ICE 1234, booking XK7Q2P
order 202611220001234567, parcel 1Z999AA10123456784
SN C02XG2JHJGH5, IMEI 490154203237518, MAC 00:1B:44:11:3A:B7
IPv6 2001:0db8:85a3:0000:0000:8a2e:0370:7334
v1.0-beta, v1.0-20260213-nightly, python-3.11.7-macos11.pkg
kernel 5.15.0-1051-azure, ubuntu-22.04.3-live-server-amd64.iso
numpy-1.26.4-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl
llama-3.1-70b-instruct-q4_K_M.gguf, Qwen2.5-Coder-32B-Instruct-AWQ
meta-llama/Meta-Llama-3.1-8B-Instruct-GGUF, all-MiniLM-L6-v2, text-embedding-3-large
claude-3-5-sonnet-20241022, gpt-4o-mini-2024-07-18, gemini-1.5-pro-002
IMG_20260213_102233_HDR.jpg, Screenshot_2026-02-13_at_10.22.33.png, DSC_0001.NEF
src/commonplace/notes/redact.py:281 and tests/notes/test_redact.py::test_innocent_stays
/home/ann/Documents/Projects2026/Report_Final_v2.docx
C:\\Users\\Ann\\AppData\\Local\\Temp\\tmpa1b2c3d4
node_modules/.pnpm/react-dom@18.2.0_react@18.2.0/node_modules/react-dom
class="md-grid-cols-2 btn-primary-2xl md-toolbar-container-fixed"
.css-1q2w3e4r5t6y { } .sc-bdVaJa .MuiButton-root-123 .jss12345
getElementById, XMLHttpRequest2, AbstractSingletonProxyFactoryBean, WebGLRenderingContext2D
CamelCaseIdentifierWithManyWords2, snake_case_identifier_with_many_words_2
KUBERNETES_SERVICE_PORT_HTTPS_2, MAX_CONNECTIONS_PER_HOST_2026
Donaudampfschifffahrtsgesellschaftskapitän, Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz
supercalifragilisticexpialidocious, internationalization2, i18n, k8s
pneumonoultramicroscopicsilicovolcanoconiosis
methionylthreonylthreonylglutaminylarginyl, 2-(4-isobutylphenyl)propanoic-acid
SCWALLACE, AKIATROPHY, ASIANINVASION, LTAIPEI, PMAK is short
AC/DC, SK Telecom, EAA meeting, MTB ride, SG.de
live_view, test_redact_keeps_lines_and_is_done_once_for_all, sandbox_mode
secret_santa_list_for_the_whole_family_2026, secret_key_base, secret-manager-v2
key-value-store-benchmark-results-2026, key-based-authentication-setup1
token-bucket-rate-limiter2, token-classification-base-uncased
pa-siggraph-2026, pat-a-cake, pul-over, fc-barcelona-2026-season-tickets
sm_86, sm_90a, re_path, re_compile_cached2, cu_seqlens_q, r8_quantized, fw_update_v2
dp.pt.md, sl.com, st.gallen, sk.wikipedia.org/wiki/Bratislava_2026_Mesto, p.s.
hvs.example.com, ser.vice, pat.com/abc, sat.2026
api-gateway-v2-production-eu-central-1, sdk-tools-linux-4333796.zip
oauth:login, oauth: see RFC6749
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
0123456789 0123456789 0123456789
abcdefghijklmnopqrstuvwxyz0123456789
ABCDEFGHIJKLMNOPQRSTUVWXYZ
=====================================
-------------------------------------------------------
| --- | ------------------------------------ | --- |
x0x0x0x0x0x0x0x0x0x0x0x0
eyJust a word; eyJ is how tokens begin
AGE-SECRET-KEY-1 is the prefix; whsec_ too
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGk7bQ2xV9mZ4fR8cN1wJ6hD3sG5pL0yAkT7bQ2xV9mZ ann@laptop
SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8
https://www.youtube.com/watch?v=dQw4w9WgXcQ
https://docs.google.com/document/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit
https://drive.google.com/file/d/0B7bQ2xV9mZ4fR8cN1wJ6hD3sG5pL/view
https://stackoverflow.com/questions/12345678/how-to-do-a-thing-in-python-3
https://example.com/p/V1StGXR8_Z5jdHi6B-myT
https://www.amazon.de/dp/B0CHX1W1XY/ref=sr_1_3?crid=2M096C61O4MLT
https://open.spotify.com/track/11dFghVXANMlKmJXsNCbNl
https://figma.com/file/kT7bQ2xV9mZ4fR8cN1wJ6h/Design-System
https://notion.so/acme/Roadmap-2026-0a1b2c3d4e5f67890a1b2c3d4e5f6789
https://hooks.slack.com/services/ is where webhooks are
https://discord.com/channels/123456789012345678/123456789012345679
https://trello.com/b/kT7bQ2xV/board, https://linear.app/acme/issue/ENG-1234
https://maps.app.goo.gl/kT7bQ2xV9mZ4fR8c7
https://github.com/owner/repo/commit/9fceb02d0ae598e95dc970b74767f19372d61af8
https://pan.baidu.com/s/1vX30kJMGSG_AgHwMxmAJ7Q
magnet:?xt=urn:btih:c12fe1c06bba254a9dc9f519b335aa7c1367a88a
bitcoin:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa is an address
0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045 is one too
arn:aws:iam::123456789012:role/AdminRole2026
projects/acme-prod-1234/secrets/db-password/versions/3
op://Private/GitHub/token and vault kv get secret/prod/db
AWS_PROFILE=production2 AWS_REGION=eu-central-1
client_id=1234567890-abcdefghijklmnop.apps.googleusercontent.com
tenant id 72f988bf-86f1-41af-91ab-2d7cd011db47
sq0idp-kT7bQ2xV9mZ4fR8cN1wJ6h is an application id
pubkey-0a1b2c3d4e5f67890a1b2c3d4e5f6789
G-KT7BQ2XV9M, UA-12345678-1, GTM-K7BQ2XV, ca-pub-1234567890123456
price_1KT7bQ2xV9mZ4fR8cN1wJ6hD, cus_KT7bQ2xV9mZ4fR, pi_3KT7bQ2xV9mZ4fR8cN1wJ6hD
msg_01XFDUDYJgAACzvnptvVoYEL, run_kT7bQ2xV9mZ4fR8cN1wJ6hD3, call_kT7bQ2xV9mZ4fR8cN1wJ6hD3
chatcmpl-9kT7bQ2xV9mZ4fR8cN1wJ6hD3sG5p, asst_kT7bQ2xV9mZ4fR8cN1wJ6hD3
order-uid 01HZX3V5T8Q9M2K4N6P7R8S9T0, snowflake 1234567890123456789
traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
X-Request-Id: 4bf92f3577b34da6a3ce929d0e0e4736
PIN the post; pinned 2026; the pin is 13; spinning 4821
My PIN pad's model is 4821X
two 5500-0000 parts, tolerance 0.0001, 4111-1111-1111-1112
"""


def innocents() -> Iterator[str]:
    """Return texts of the kinds that notes are full of, some of them drawn at random."""
    yield from (
        line.encode().decode("unicode_escape").encode("latin-1").decode() if "\\u" in line else line
        for line in LINES.strip().splitlines()
    )
    chance = random.Random(14)
    for number in range(12):
        digest = "".join(chance.choices(HEX, k=64))
        letters = "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=10))
        identity = uuid.UUID(int=chance.getrandbits(128), version=4)
        yield f"id {identity}, see /v1/items/{identity}?page={number}"
        yield f"commit {digest[:40]} and {digest[:7]} of {letters}"
        yield f"sha256 {digest}  {letters}-{number}.tar.gz"
        yield f"ENG-{chance.randrange(10**6)} took {chance.random():.15f} s at {chance.randrange(10**12, 2 * 10**12)}"
        yield f"https://example.com/{letters}/{digest[:24]}?ref={letters}_{number}#L{number}"
        yield f"{letters}@{number}.{number}.{number}: {letters}_{digest[:8]}.js {letters}-{digest[:12]}.css"
