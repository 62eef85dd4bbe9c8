"""Forms in which people write credentials down, and texts of the same forms that hold none.

A form is data: its kind and a text in which «{a12}» stands for a secret of twelve characters (the alphabets
are those of `tests.notes.planted`); to try one more form, add a text. Texts of a kind are parted by a line
of their own.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from tests.notes.planted import Draw, Planted, filled

_SECRET = re.compile("«(.*?)»", re.DOTALL)
# Words of BIP39's English list, and what it may stand between.
_SEED_WORDS = (
    "abandon ability absent absorb abstract absurd account achieve acid acoustic adapt admit aerobic afford ahead"
    " banana barely bean bench bicycle blanket cabin canvas castle cereal chalk cherry cricket dolphin dragon"
    " eagle ecology embrace fabric fiction galaxy garlic hammer helmet insect island jaguar kitchen ladder"
    " magnet napkin oyster pencil quantum rabbit saddle tackle umbrella vacuum walnut zebra zone"
).split()

FORMS = r"""
= table
| user | password |
|------|----------|
| root | «{a10}» |
| deploy | «{p12}» |
=
| Host | User | Token |
| :--- | :--: | ----: |
| ci | bot | «{a32}» |
=
| 服务 | 账号 | 密码 |
| --- | --- | --- |
| 路由器 | admin | «{a9}» |
| NAS | lin | `«{a10}»` |
=
system | login | Passwort
---|---|---
erp | meier | «{a11}»
=
| | wifi password | notes |
|-|-|-|
| home | **«{a10}»** | guests too |
= word-before
password (root): «{a10}»
=
Password (for the NAS, admin): «{a12}»
=
password for root: «{a10}»
=
password — «{a10}»
=
Password - «{a12}»
=
wifi password – «{a11}».
=
密码（root）：«{a10}»
=
密码 - «{a10}»
=
密码——«{a10}»
=
login with user lin, pass «{a10}»
=
user: lin, pass «{p11}»
=
账号 lin，密码 «{a9}»
=
the old pw «{a12}», leaked.
=
changed pw «{a10}», it had leaked
= next-line
The password is:
«{a12}»
=
The password is:

`«{a10}»`
=
Router password:
- «{a11}»
=
密码是：
«{a9}»
=
Password:

```
«{p14}»
```
=
- the admin password is:
  - `«{a10}»`
= command
mysql -u root -p«{a12}» shop
=
mysqldump -h db -u app -p'«{p12}»' shop > dump.sql
=
mariadb -uroot -p"«{a14}»"
=
redis-cli -h cache -a «{a16}» ping
=
redis-cli -a '«{p12}»' --no-auth-warning
=
sshpass -p «{a10}» ssh root@10.0.0.7
=
sshpass -p'«{p12}»' scp a b:
=
curl -u deploy:«{a12}» https://ci.example.com
=
curl -s --user "ann:«{p12}»" https://ci.example.com
=
psql postgresql://app:«{a14}»@db:5432/app
=
psql "host=db user=app password=«{a12}» dbname=app"
=
docker login -u ann -p «{a16}» registry.example.com
=
echo x | docker login registry.example.com -u ann --password «{a14}»
=
helm registry login --password «{a12}» example.com
=
gh auth login --with-token «{a40}»
=
vault login -token=«{a24}»
=
deploy --token «{a20}» --env prod
=
PGPASSWORD=«{a10}» psql -U app
=
PGPASSWORD='«{p12}»' pg_dump app
=
MYSQL_PWD=«{a10}» mysql -u root
=
export MYSQL_PWD="«{p12}»"
= pgpass
localhost:5432:shop:app:«{a12}»
=
# ~/.pgpass
db.internal:5432:*:admin:«{p14}»
*:6432:main:ro:«{a9}»
= netrc
machine api.example.com
  login deploy
  password «{a16}»
=
machine ftp.example.com login ann password «{p10}»
=
default login anonymous password «{a10}»
= hash
root:$6$«{a16}$»«{a86}»:19000:0:99999:7:::
=
ann:$apr1$«{a8}$»«{a22}»
=
ann:{SHA}«{b27}»=
=
bob:$2y$10$«{a53}»
=
the bcrypt hash is $2b$12$«{a53}»
=
lin:$y$j9T$«{a22}$»«{a43}»:19500:0:99999:7:::
=
$1$«{a8}$»«{a22}»
=
$5$rounds=5000$«{a16}$»«{a43}»
=
$argon2id$v=19$m=65536,t=3,p=4$«{b22}$»«{b43}»
=
ann:{SSHA}«{b32}»
= aws
User name,Access key ID,Secret access key
ann,AKIA«{U16}»,«{b40}»
=
AKIA«{U16}»,«{b40}»
=
AWS secret access key for the backup bucket is «{b40}»
=
the secret access key of the CI user: «{b40}»
=
AWS 的 secret access key 是 «{b40}»
= framework
FERNET_KEY=«{u43}»=
=
fernet_key = «{u43}»=
=
AIRFLOW__CORE__FERNET_KEY: «{u43}»=
=
secret_key_base: «{h128}»
=
SECRET_KEY_BASE=«{h128}»
=
SECRET_KEY = 'django-insecure-«{l50}»'
=
SECRET_KEY = "«{p50}»"
=
APP_KEY=base64:«{b43}»=
=
JWT_SECRET=«{a32}»
= terraform
variable "db_password" {
  type    = string
  default = "«{a12}»"
}
=
variable "api_token" {
  description = "of the CI"
  default     = "«{a24}»"
}
=
variable "client_secret" { default = "«{a20}»" }
= kubernetes
apiVersion: v1
kind: Secret
metadata:
  name: shop
type: Opaque
data:
  username: YWRtaW4=
  db-pass: «{b23}»=
  tls.key: «{b60}»
=
kind: Secret
stringData:
  admin: «{a12}»
  url: "«{p16}»"
=
apiVersion: v1
data:
  cookie: «{b22}»==
kind: Secret
=
data:
  .dockerconfigjson: eyJhdXRo«{b80}»
kind: Secret
= docker
{"auths": {"ghcr.io": {"auth": "YWNtZTo«{a20}»"}}}
=
{
  "auths": {
    "registry.example.com": {
      "auth": "ZGVwbG95Om«{a18}»"
    }
  }
}
= program
define('DB_PASSWORD', '«{p14}»');
=
define( "AUTH_KEY", "«{p40}»" );
=
define('AUTH_KEY',         '«{p40}»');
define('SECURE_AUTH_SALT', '«{p40}»');
=
'password' => '«{p12}»',
=
:password => "«{a12}»"
=
"password" => "«{L10}»",
=
config.password = '«{L12}»'
= encoded
https://example.com/login?next=%2Fhome%3Ftoken%3Dghp_«{a36}»
=
redirect=https%3A%2F%2Fa.test%2F%3Fpassword%3D«{a12}»%26x%3D1
=
access_token%3D«{a40}»%26scope%3Dall
=
body: "{\"user\": \"lin\", \"password\": \"«{L12}»\"}"
=
{\\\"password\\\": \\\"«{a12}»\\\"}
=
{\"password\":\"«{d8}»\"}
=
log: {\"api_key\":\"«{a24}»\",\"n\":1}
= passphrase
passphrase: «{w} {w} {w} {w}»
=
The passphrase is «{w} {w} {w} {w} {w}».
=
passphrase of the backup: "«{w} {w} {w} {w}»"
=
口令：«{w} {w} {w} {w}»
=
密码短语：«{w} {w} {w} {w} {w}»
=
SSH key passphrase = «{w} {w} {w} {w}»
= seed
seed phrase: «{w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w}»
=
My recovery phrase is «{w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w}».
=
助记词：«{w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w}»
=
Seed phrase of the wallet:
«{w} {w} {w} {w} {w} {w}»
«{w} {w} {w} {w} {w} {w}»
=
## Recovery phrase

1. «{w}»
2. «{w}»
3. «{w}»
4. «{w}»
5. «{w}»
6. «{w}»
7. «{w}»
8. «{w}»
9. «{w}»
10. «{w}»
11. «{w}»
12. «{w}»
=
mnemonic: «{w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w}»
= codes
Recovery codes:
- «{d4}-{d4}»
- «{d4}-{d4}»
- «{d4}-{d4}»
=
GitHub recovery codes: «{h5}-{h5}», «{h5}-{h5}», «{h5}-{h5}»
=
## Backup codes

1. «{d8}»
2. «{d8}»
3. «{d8}»
=
恢复码：«{d8}» «{d8}» «{d8}»
=
备用码
«{d4} {d4}»
«{d4} {d4}»
«{d4} {d4}»
=
My backup codes are:

```
«{h10}»
«{h10}»
```
= pin
PIN: «{d4}»
=
- SIM PIN: «{d4}», PUK: «{d8}»
=
door PIN = «{d6}»
=
PIN码：«{d6}»
= language
contraseña: «{a10}»
=
La contraseña es «{a10}».
=
Contraseña = «{p12}»
=
mot de passe : «{a10}»
=
Le mot de passe est «{a11}»
=
Passwort: «{a10}»
=
Kennwort: «{a10}»
=
Das Kennwort lautet: «{a10}»
=
senha: «{a9}»
=
SENHA=«{a10}»
=
"senha": "«{p10}»",
=
пароль: «{a10}»
=
Пароль — «{a10}»
=
パスワード：«{a10}»
=
パスワードは«{a10}»です
=
비밀번호: «{a10}»
=
비밀번호는 «{a10}»
=
hasło: «{a10}»
=
Hasło=«{a11}»
=
wachtwoord: «{a10}»
=
**Wachtwoord:** «{a12}»
=
lösenord: «{a10}»
=
Lösenord = «{a12}»
=
heslo: «{a10}»
=
salasana: «{a10}»
=
adgangskode: «{a10}»
=
parola: «{a10}»
= sentence
password: «{a12}»
=
密码　«{a12}»
=
密码： «{a12}»
=
password -> «{p12}»
=
密码→«{a12}»
=
数据库密码已改为«{a12}»
=
邮箱密码重置为 «{a12}»，请尽快修改
=
root 密码改成 «{a12}»
=
【密码】«{a12}»
=
I changed the root password to «{a12}» yesterday.
=
We set the admin password as «{a12}»
=
Reset the Jenkins password, it is now «{p12}»
=
The database password, which is «{a12}», must be rotated.
=
the pw for both is the same: «{p12}»
=
Le mot de passe du wifi est «{a12}»
=
访问令牌：«{a40}»
= separated
name,url,username,password,note
acme.test,https://acme.test/login,lin,«{a12}»,
=
"Title","Username","Password"
"Acme","lin","«{a12}»"
=
folder,name,login_uri,login_username,login_password,login_totp
,Acme,https://acme.test,lin,«{a12}»,
=
host	user	pwd
db1	root	«{a12}»
=
系统	用户名	口令
OA	lin	«{a12}»
= markup
<tr><th>User</th><td>lin</td></tr><tr><th>Password</th><td>«{a12}»</td></tr>
=
<b>Password</b>: <code>«{a12}»</code>
= sql
CREATE USER app WITH PASSWORD '«{p12}»';
=
ALTER USER 'root'@'%' IDENTIFIED BY '«{p12}»';
= flags
keytool -importkeystore -storepass «{a12}» -alias x
=
openssl rsa -passin pass:«{a12}» -in k.pem
=
echo "lin:«{a12}»" | sudo chpasswd
=
nmcli dev wifi connect Home password «{a12}»
=
gh secret set DEPLOY_KEY --body "«{a32}»"
=
aws configure set aws_secret_access_key «{b40}»
=
set -x OPENAI_API_KEY «{a40}»
=
setx DB_PASSWORD "«{p12}»"
= source
$pw = ConvertTo-SecureString "«{p12}»" -AsPlainText -Force
=
ds.setPassword("«{a12}»");
=
#define WIFI_PASS "«{a12}»"
=
os.Setenv("DB_PASS", "«{a12}»")
=
network={
  ssid="Home"
  psk="«{a12}»"
}
=
psk=«{a12}»
= manifest
here it is: kind: Secret
stringData:
  smtp: «{a12}»
=
see db.acme.test:5432:erp:app:«{a12}»
= broken
sk-proj-«{a60}»
«{a64}»
=
> sk-ant-api03-«{a40}»
> «{a40}»
""".strip("\n")

LOOKALIKES = r"""
password: see 1Password
=
the pw rotation of 2026-02-13; pw reset by Ann; ask pw team42 of IT
=
password: 8-16 characters
=
senha: 8-16 caracteres
=
the password is stored in the vault
=
密码：找小王要
=
password: none
=
token: 482 tokens
=
pass: 12 of 15 tests
=
pass 3 of 4, fail 1
=
PIN 14 of the chip
=
The pin: GPIO17
=
PIN: 4-digit
=
ICSP pin 1 and pin: 13
=
password: `<your-password>`
=
password - required
=
password — stored in 1Password since 2024-05-01
=
Password - see RFC2617
=
password – changed 2026-02-13
=
密码 - 见保险柜
=
密码——每90天更换一次
=
The password is:
- at least 12 characters
- changed every 90 days
=
The password is:
stored in the vault of team42
=
Password:

Ask Ann, she has it since 2024.
=
密码是：
由8位以上数字组成
=
- token:
  - refreshed at 14:05
=
| feature | password | token |
|---|---|---|
| login | required | optional |
| reset | e-mail | none |
=
| user | password |
|------|----------|
| root | see 1Password |
| lin | ****** |
| bot | — |
=
| id | password policy |
|---|---|
| 1 | 12 characters |
| 2 | rotated 2026-02-13 |
=
| model | tokens | cost |
|---|---|---|
| gpt-4o | 128000 | $2.50 |
| claude-3-5-sonnet-20241022 | 200000 | $3.00 |
=
| word | token count |
|---|---|
| the | 48213 |
=
| Type | Token | Example |
|---|---|---|
| color | primary-500 | #3f51b5 |
| space | space-4 | 16px |
=
| 项目 | 密码要求 |
|---|---|
| 登录 | 8位以上 |
| 支付 | 6位数字 |
=
| 字段 | 密码 | 更新 |
|---|---|---|
| 路由器 | 见保险柜 | 2026-02-13 |
| NAS | 问小王 | v2.3.1 |
=
| id | key |
|---|---|
| 123e4567-e89b-12d3-a456-426614174000 | PROJ-1234 |
=
| commit | pass | fail |
|---|---|---|
| 9fceb02 | 1204 | 3 |
| a1b2c3d | 1207 | 0 |
=
password (hashed), token (JWT), secret (optional)
=
password (8-64 characters): required
=
password (min. 12 chars): yes
=
login: lin / see the vault
=
user lin, pass rate 98%
=
user: ann, pass: none
=
mysql -u root -p shop
=
mysql -p3306 and mysql -P 3306
=
mysqldump -u root -p --all-databases
=
mysql -u root -p$MYSQL_ROOT_PASSWORD shop
=
ssh -p 2222 root@10.0.0.7 and mkdir -p /srv/data2026
=
docker run -p 8080:80 nginx; cp -a /srv/a1 /srv/b2; ls -a
=
redis-cli -a "$REDIS_PASSWORD" ping
=
redis-cli -h 10.0.0.7 -p 6379
=
sshpass -f /etc/pass2026 ssh root@host
=
docker login -u ann --password-stdin registry.example.com
=
curl -u "$USER:$PASS" https://example.com
=
PGPASSWORD=$DB_PASS psql; PGPASSFILE=/etc/pgpass2
=
12:30:45:10:05 and 00:1B:44:11:3A:B7
=
host:port:db:user:pass is the order of a line
=
localhost:5432:database:username:password
=
src/a.py:5432:main:warning:unused import
=
fe80:1234:abcd:ef01:2345
=
machine learning, login page and password reset by e-mail
=
$6 per month, $12.50 a year, $1$ in Perl
=
$2y$ is bcrypt's prefix, {SHA} that of htpasswd
=
root:x:0:0:root:/root:/bin/bash
=
root:!:19000:0:99999:7:::
=
secret_key_base, FERNET_KEY and SECRET_KEY come from the environment
=
SECRET_KEY = os.environ["SECRET_KEY2"]
=
SECRET_KEY_BASE=<generate with rails secret>
=
variable "db_password" {
  type      = string
  sensitive = true
}
=
variable "db_password" {
  default = ""
}
=
variable "secret_name" {
  default = "prod/db/main"
}
=
variable "password_length" {
  default = "16"
}
=
kind: ConfigMap
data:
  config: aGVsbG8gd29ybGQgMjAyNg==
=
kind: Secret
metadata:
  name: shop-v2
  namespace: prod2026
  annotations:
    checksum: 9fceb02d0ae598e95dc970b74767f19372d61af8
=
kind: Secret
type: Opaque
data: {}
=
{"auths": {"ghcr.io": {}}, "credsStore": "osxkeychain"}
=
define('DB_PASSWORD', getenv('DB_PASSWORD'));
=
define('DB_PASSWORD', 'password_here');
=
define('AUTH_KEY', 'put your unique phrase here');
=
define('TOKEN_LIMIT', 4096);
=
'password' => 'required|min:8|confirmed',
=
'password' => Hash::make($request->password),
=
?error=invalid_token%3Dtrue&state=1
=
q=password%20reset%202026
=
token%3D%24%7BTOKEN%7D
=
passphrase: ask Ann for it
=
The passphrase is four words long.
=
The passphrase is kept in the safe at home.
=
passphrase: none
=
Passphrase: see the envelope in the safe
=
a strong passphrase has five random words
=
口令：每天早上由值班的人发到群里
=
密码短语：由五个随机词组成
=
口令 to be changed by the end of the month
=
The seed phrase is in the safe, never in the notes.
=
seed phrase: see the metal plate in the safe of the bank, behind the blue folder
=
Recovery phrase: twelve words that I wrote on paper and keep in the safe, ask Ann for it
=
助记词写在纸上，放在保险柜里
=
助记词：见保险柜
=
Recovery codes: printed, in the safe since 2026-02-13.
=
## Recovery codes

- printed on 2026-02-13
- see page 12345678 of the binder
=
Backup codes are in 1Password, 10 of them, made 2024-05-01.
=
恢复码：已打印，放在抽屉里
=
备用码 10 个，2024 年生成
=
error codes: 40001, 40002, 50310
=
Zip codes: 10115, 80331; area codes: 0301-2345
=
status codes: 404, 500, 503
=
the PIN has 4 digits; PIN length: 6
=
PIN: none; PIN: see the letter
=
pin: v1.2.3, pin: 2026.1
=
pinned: 20260213; spin: 4821
=
Passwort: siehe Tresor
=
Kennwort: beim Admin erfragen
=
contraseña: pregunta a Ana
=
La contraseña es obligatoria.
=
mot de passe : voir le coffre
=
senha: pergunte ao João
=
пароль: спросить у Анны
=
Пароль — это секретное слово
=
パスワード：8文字以上
=
パスワードは12文字です
=
비밀번호: 8자 이상
=
비밀번호는 2026년에 변경
=
hasło: zapytaj Anię
=
wachtwoord: vraag het aan Ann
=
lösenord: fråga Anna
=
heslo: zeptej se Anny
=
parola: vedi sotto, 12 caratteri
=
adgangskode: 8 tegn
=
password is required
=
Password reset flow: password -> link -> form
=
password -> passwordHash, token -> tokenHash
=
We set the password to expire after 90 days
=
We changed the password to SHA256 hashes
=
密码改为扫码登录
=
密码重置为默认值
=
name, email, password
We ask for these, in 2026, once.
=
user,password
lin,varchar(255)
=
<tr><th>Password</th><th>Token2</th></tr>
=
<td>Password</td><td>required</td>
=
ALTER TABLE users ADD password varchar(255); -- 'x' IDENTIFIED BY default
=
keytool -storepass $STORE_PASS -keypass "${KEY_PASS}"
=
openssl rsa -passin pass:$PASS1 -passout env:PASS2
=
#define TEST_PASS "pass"
=
#define KEY_NAME "user_name_of_the_key_2"
=
user.setPassword(request.getPassword2());
=
set -x OPENAI_API_KEY $KEY_2026
=
postgres://user:password@localhost/db
=
postgres://user:pass@host/db
=
AKIAIOSFODNN7EXAMPLE is the key of the documents
=
1 line with what looks like a secret: memory/2026-02-13.md:12
=
bcrypt is the password hash, PBKDF2WithHmacSHA256 was the password hash of 2019
=
The password iPhone15Pro users forget
=
what was 12345678 is the password policy now
=
key-mgmt=wpa-psk
""".strip("\n")


def lookalikes() -> list[str]:
    """Return the texts that hold no secret."""
    return LOOKALIKES.split("\n=\n")


def forms(draw: Draw, seed: int) -> Iterator[Planted]:
    """Return a text of each form, its secrets filled by `draw`, its words drawn by `seed`."""
    chance = random.Random(seed)
    kind = ""
    for text in re.split(r"(?m)^(?==(?:$| ))", FORMS)[1:]:
        head, _, body = text.partition("\n")
        kind = head.lstrip("= ") or kind
        parts: list[str] = []

        def fill(secret: re.Match[str], parts: list[str] = parts) -> str:
            worded = re.sub(r"\{w\}", lambda _: chance.choice(_SEED_WORDS), secret[1])
            whole, drawn = filled(worded, draw)
            parts.extend([whole] if worded != secret[1] else drawn)
            return whole

        made = _SECRET.sub(fill, body.removesuffix("\n"))
        yield Planted(kind, made, tuple(parts))
