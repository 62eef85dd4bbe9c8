"""The table of secrets: what they look like and where they stand, from the providers' own documents.

A row is only data: for another kind, add a row here and a format in
`tests/notes/planted.py`. Expressions are ours, matched as ASCII. Every repetition but the last of a row
has a bound, so that no text makes a row slow. What follows the right prefix must also look made up:
`shapes.is_made_up`.
"""

from __future__ import annotations

from commonplace.base.tuples import NamedTuple

_ANY = r"[A-Za-z0-9]"
_HEX = r"[0-9a-fA-F]"
_BASE58 = r"[1-9A-HJ-NP-Za-km-z]"
_URL = r"[\w-]"  # base64 as addresses have it
_END = r"(?![A-Za-z0-9])"
_UUID = rf"{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}{_END}"
# For a short prefix: a digit, a capital and a small letter among the first characters.
_MIXED = rf"(?={_URL}{{0,36}}\d)(?={_URL}{{0,36}}[A-Z])(?={_URL}{{0,36}}[a-z])"


class Shape(NamedTuple):
    """Tokens that begin with one of the `prefixes`, set apart by blanks, and go on as `rest` says."""

    kind: str
    prefixes: str
    rest: str
    free: bool = False  # whether it may be all capitals: only its shape is checked


class Inside(NamedTuple):
    """Tokens known by a `mark` inside, with at most `before` characters before it; a group is the secret."""

    kind: str
    mark: str
    before: int
    expression: str


SHAPES = (
    Shape("adafruit-key", "aio_", rf"{_ANY}{{28}}{_END}"),
    Shape("adobe-secret", "p8e-", rf"{_URL}{{32}}{_END}"),
    Shape("age-key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{20,}"),
    Shape("airtable-token", "pat", rf"{_ANY}{{14}}\.{_HEX}{{64}}"),
    Shape("aiven-password", "AVNS_", rf"{_URL}{{16,}}"),
    Shape("alchemy-key", "alcht_", rf"{_ANY}{{28,}}"),
    Shape("alibaba-key", "LTAI", rf"{_ANY}{{12,26}}{_END}"),
    Shape("amazon-refresh-token", "Atzr|", rf"{_URL}{{80,}}"),
    Shape("amazon-secret", "amzn1.oa2-cs.v1.", rf"{_HEX}{{60,}}"),
    Shape("amazon-mws-token", "amzn.mws.", _UUID),
    Shape("anyscale-key", "esecret_", rf"{_ANY}{{20,}}"),
    Shape("apify-token", "apify_api_", rf"{_ANY}{{30,}}"),
    # Up to four vendor words, then a run with a digit: `sk-learn-something` is prose.
    Shape("api-key", "sk-", r"(?:[a-z0-9]{1,12}-|(?!)){0,4}+(?=[A-Za-z_]{0,60}\d)\w{16,}[\w-]*"),
    Shape("api-key", "sk-", r"(?:proj|svcacct|admin|ant-(?:api|admin|oat|sid)\d\d)-[\w-]{40,}"),
    Shape("api-key", "sk-lf-", _UUID),
    Shape("api-key", "pplx- tvly-", rf"(?:dev-|prod-)?{_ANY}{{24,}}"),
    Shape("artifactory-key", "AKCp", rf"{_ANY}{{60,}}"),
    Shape("artifactory-token", "cmVmdGtu", rf"{_ANY}{{48,}}"),
    Shape("asana-token", "0/ 1/ 2/", rf"\d{{10,20}}(?:/\d{{10,20}})?:{_HEX}{{32}}"),
    Shape("atlassian-token", "ATATT3 ATCTT3 ATSTT3", r"[\w=-]{40,}"),
    Shape("aws-access-key", "AKIA ASIA ABIA ACCA", rf"[A-Z0-9]{{16}}{_END}", free=True),
    Shape("aws-bedrock-key", "ABSK", r"[A-Za-z0-9+/]{90,}={0,2}"),
    Shape("aws-bedrock-key", "bedrock-api-key-", r"[A-Za-z0-9+/]{30,}={0,2}"),
    Shape("axiom-token", "xaat- xapt- xait-", _UUID),
    Shape("azure-key", "AccountKey=", r"[A-Za-z0-9+/]{40,}={0,2}"),
    Shape("backblaze-key", "K00", rf"\d[A-Za-z0-9/+]{{27}}{_END}"),
    Shape("baidu-key", "bce-v3/ALTAK-", rf"{_URL}{{10,40}}/{_HEX}{{30,}}"),
    Shape("bitbucket-password", "ATBB", rf"{_ANY}{{24,}}"),
    Shape("bitcoin-key", "xprv", rf"{_ANY}{{100,}}"),
    Shape("bitcoin-key", "5H 5J 5K", rf"{_MIXED}{_BASE58}{{49}}{_END}"),  # WIF
    Shape("bitcoin-key", "K L", rf"{_MIXED}{_BASE58}{{51}}{_END}"),
    Shape("bitwarden-token", "0.", rf"{_UUID}\.{_ANY}{{30}}:[\w+/]{{22,}}={{0,2}}"),
    Shape("brave-key", "BSA", rf"{_MIXED}{_URL}{{28}}{_END}"),
    Shape("brevo-key", "xkeysib- xsmtpsib-", rf"{_HEX}{{40,}}[\w-]*"),
    Shape("browserbase-key", "bb_live_", rf"{_URL}{{20,}}"),
    Shape("buildkite-token", "bkua_ bkaj_ bkct_ bkpt_", rf"{_ANY}{{30,}}"),
    Shape("cal-key", "cal_live_", rf"{_HEX}{{30,}}"),
    Shape("cerebras-key", "csk-", r"[a-z0-9]{40,}"),
    Shape("checkly-key", "cu_", rf"{_HEX}{{32}}{_END}"),
    Shape("circleci-token", "CCIPAT_ CCIPRJ_", rf"{_ANY}{{10,40}}_{_HEX}{{30,}}"),
    Shape("clickhouse-key", "4b1d", rf"{_MIXED}{_ANY}{{38}}{_END}"),
    Shape("clickup-token", "pk_", rf"\d{{5,10}}_[A-Z0-9]{{32}}{_END}"),
    Shape("clojars-token", "CLOJARS_", r"[a-z0-9]{50,}"),
    Shape("cloudflare-token", "cfk_ cfut_ cfat_", rf"{_URL}{{40,}}"),
    Shape("cloudflare-ca-key", "v1.0-", rf"{_HEX}{{24}}-{_HEX}{{100,}}"),
    Shape("cockroachdb-key", "CCDB1_", r"\w{40,}"),
    Shape("confluent-secret", "cflt", r"[A-Za-z0-9+/]{56,}"),
    Shape("contentful-token", "CFPAT-", rf"{_URL}{{40,}}"),
    Shape("coze-token", "pat_ sat_", rf"{_ANY}{{60,}}"),
    Shape("crates-io-token", "cio", rf"{_ANY}{{32}}{_END}"),
    Shape("cursor-key", "crsr_", rf"{_HEX}{{40,}}"),
    Shape("databricks-token", "dapi dkea dose", rf"{_HEX}{{32}}(?:-\d)?{_END}"),
    Shape("defined-key", "dnkey-", rf"{_URL}{{26}}-{_URL}{{52}}"),
    Shape("deno-token", "ddp_ ddo_ ddw_", rf"{_ANY}{{30,}}"),
    Shape("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", rf"{_HEX}{{64,}}"),
    Shape("digitalocean-spaces-key", "DO00", rf"[A-Z0-9]{{16}}{_END}"),
    Shape("discord-token", "MT Mj Mz MD ND NT Nj Nz OD OT", rf"{_URL}{{21,26}}\.{_URL}{{6}}\.{_URL}{{27,}}"),
    Shape("docker-token", "dckr_pat_ dckr_oat_", rf"{_URL}{{20,}}"),
    Shape(
        "doppler-token",
        "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. dp.said.",
        rf"(?:[\w-]{{1,40}}\.)?{_ANY}{{40,}}",
    ),
    Shape("dropbox-token", "sl.", rf"(?:u\.)?{_URL}{{80,}}"),
    Shape("dub-key", "dub_", rf"{_ANY}{{24}}{_END}"),
    Shape("duffel-token", "duffel_live_ duffel_test_", r"[\w=-]{40,}"),
    Shape("dynatrace-token", "dt0c01. dt0s01. dt0s02. dt0s16.", rf"{_ANY}{{8,24}}\.{_ANY}{{60,}}"),
    Shape("e2b-key", "e2b_", rf"{_HEX}{{40,}}"),
    Shape("easypost-key", "EZAK EZTK", rf"{_ANY}{{54}}"),
    Shape("elastic-key", "essu_", r"[A-Za-z0-9+/]{50,}={0,2}"),
    Shape("elevenlabs-key", "sk_", rf"{_HEX}{{48}}{_END}"),
    Shape("facebook-token", "EAA", rf"{_ANY}{{90,}}"),
    Shape("fauna-key", "fnA", rf"{_MIXED}{_URL}{{37}}{_END}"),
    Shape("figma-token", "figd_ figu_ figo_", rf"{_URL}{{30,}}"),
    Shape("firecrawl-key", "fc-", rf"{_HEX}{{32}}{_END}"),
    Shape("fireworks-key", "fw_", rf"{_ANY}{{20,}}"),
    Shape("flagsmith-key", "ser.", rf"{_ANY}{{20,}}"),
    Shape("flutterwave-key", "FLWSECK- FLWSECK_TEST-", rf"{_ANY}{{12,}}(?:-X)?"),
    Shape("fly-token", "fm1_ fm1r_ fm1a_ fm2_ fo1_", r"[\w+/-]{40,}={0,3}"),
    Shape("frame-io-token", "fio-u-", r"[\w=-]{60,}"),
    Shape("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"{_ANY}{{30,}}"),
    Shape("github-token", "github_pat_", r"\w{30,}"),
    Shape(
        "gitlab-token",
        "glpat- gldt- glft- glrt- glcbt- glimt- glptt- gloas- glsoat- glffct- glwt- glrtr-",
        r"[\w-]{20,}(?:\.[\w-]{2}\.[\w-]{9,})?",
    ),
    Shape("gitlab-token", "glagent-", rf"{_URL}{{40,}}"),
    Shape("gitlab-session", "_gitlab_session=", rf"{_ANY}{{32}}{_END}"),
    Shape("gitlab-token", "GR1348941", rf"{_URL}{{20,}}"),
    Shape("gocardless-token", "live_ sandbox_", rf"{_MIXED}{_URL}{{40}}{_END}"),
    Shape("google-api-key", "AIza", rf"{_URL}{{35,}}"),
    Shape("google-oauth-secret", "GOCSPX-", rf"{_URL}{{20,}}"),
    Shape("google-oauth-token", "ya29.", rf"{_URL}{{30,}}"),
    Shape("google-oauth-token", "1//0", rf"{_URL}{{40,}}"),
    Shape("google-oauth-code", "4/0A", rf"{_URL}{{50,}}"),
    Shape("grafana-token", "glsa_", rf"{_ANY}{{32}}_{_HEX}{{8}}"),
    Shape("grafana-token", "glc_", r"[A-Za-z0-9+/]{32,}={0,2}"),
    Shape("grafana-key", "eyJrIjoi", r"[A-Za-z0-9+/]{40,}={0,2}"),
    Shape("groq-key", "gsk_", rf"{_ANY}{{40,}}"),
    Shape("harness-token", "pat. sat.", rf"{_URL}{{22}}\.{_ANY}{{24}}\.{_ANY}{{20}}"),
    Shape("heroku-key", "HRKU-", rf"{_URL}{{30,}}"),
    Shape("honeycomb-key", "hcaik_ hcbik_ hcxik_ hcalk_ hcamk_ hcxmk_", rf"{_ANY}{{26,}}"),
    Shape("hubspot-token", "pat-na1- pat-na2- pat-eu1- pat-ap1-", _UUID),
    Shape("huggingface-token", "hf_ api_org_", rf"{_ANY}{{30,}}"),
    Shape("infisical-token", "st.", rf"{_HEX}{{24}}\.{_HEX}{{32}}\.{_HEX}{{32}}"),
    Shape("infracost-key", "ico-", rf"{_ANY}{{32}}{_END}"),
    Shape("inngest-key", "signkey-prod- signkey-test- signkey-branch-", rf"{_HEX}{{30,}}"),
    Shape("instagram-token", "IGQV IGAA", rf"{_URL}{{100,}}"),
    Shape("intercom-token", "dG9r", r"[A-Za-z0-9+/]{50,}={0,2}"),
    Shape("intra42-secret", "s-s4t2ud- s-s4t2af-", rf"{_HEX}{{64}}"),
    Shape("jina-key", "jina_", rf"{_URL}{{50,}}"),
    Shape("jwt", "ZXlK", r"[A-Za-z0-9+/]{80,}={0,2}"),
    Shape("kaggle-token", "KGAT_", rf"{_HEX}{{32}}"),
    Shape("langchain-key", "ls__", rf"{_HEX}{{32}}"),
    Shape("langsmith-key", "lsv2_pt_ lsv2_sk_", rf"{_HEX}{{32}}_{_HEX}{{10}}"),
    Shape("launchdarkly-key", "sdk- api-", _UUID),
    Shape("linear-key", "lin_api_ lin_oauth_ lin_wh_", rf"{_ANY}{{30,}}"),
    Shape("lob-key", "live_ test_", rf"{_HEX}{{35}}{_END}"),
    Shape("mailersend-token", "mlsn.", rf"{_HEX}{{60,}}"),
    Shape("mailgun-key", "key-", rf"(?=[a-z]{{0,31}}\d)[a-z0-9]{{32}}{_END}"),
    Shape("mandrill-key", "md-", rf"{_MIXED}{_URL}{{22}}{_END}"),
    Shape("mapbox-token", "sk. tk.", rf"eyJ{_URL}{{20,500}}\.{_URL}{{20,}}"),
    Shape("matrix-token", "syt_", r"[A-Za-z0-9+/=]{1,120}_[A-Za-z]{20}_[A-Za-z0-9]{6}"),
    Shape("mem0-key", "m0-", rf"{_ANY}{{36,}}"),
    Shape("modal-token", "ak- as-", rf"{_MIXED}{_ANY}{{22}}{_END}"),
    Shape("mongodb-atlas-secret", "mdb_sa_sk_", rf"{_URL}{{30,}}"),
    Shape("neon-key", "napi_", rf"{_ANY}{{40,}}"),
    Shape("netlify-token", "nfp_ nfo_ nfc_ nfu_ nfb_", rf"{_ANY}{{30,}}"),
    Shape("new-relic-key", "NRAK-", r"[A-Z0-9]{27}"),
    Shape("new-relic-key", "NRIQ- NRSP- NRII-", rf"{_URL}{{30,}}"),
    Shape("nightfall-key", "NF-", rf"{_ANY}{{32}}{_END}"),
    Shape("notion-token", "ntn_", rf"{_ANY}{{40,}}"),
    Shape("notion-token", "secret_", rf"{_ANY}{{43}}{_END}"),
    Shape("npm-token", "npm_", rf"{_ANY}{{30,}}"),
    Shape("nuget-key", "oy2", rf"[a-z0-9]{{43}}{_END}"),
    Shape("nvidia-key", "nvapi-", rf"{_URL}{{40,}}"),
    Shape("octopus-key", "API-", rf"(?=[A-Z]{{0,24}}\d)[A-Z0-9]{{25,32}}{_END}", free=True),
    Shape(
        "onepassword-key",
        "A3-",
        rf"[A-Z0-9]{{6}}-[A-Z0-9]{{6}}-?[A-Z0-9]{{5}}(?:-[A-Z0-9]{{5}}){{3}}{_END}",
        free=True,
    ),
    Shape("onepassword-token", "ops_", r"eyJ[\w+/-]{100,}={0,2}"),
    Shape("openshift-token", "sha256~", rf"{_URL}{{43}}{_END}"),
    Shape("packagist-token", "packagist_", rf"[a-z]{{2}}t_{_HEX}{{30,}}"),
    Shape("paddle-key", "pdl_live_apikey_ pdl_sdbx_apikey_", r"\w{40,}"),
    Shape("pagerduty-key", "u+", rf"{_MIXED}[\w+-]{{18}}(?![\w/+=])"),
    Shape("pinecone-key", "pcsk_", r"\w{40,}"),
    Shape("pinterest-token", "pina_", rf"{_ANY}{{32,}}"),
    Shape("plaid-token", "access-sandbox- access-development- access-production-", _UUID),
    Shape("planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w=.-]{31,}[\w=-]"),
    Shape("polar-token", "polar_oat_ polar_pat_", rf"{_ANY}{{30,}}"),
    Shape("posthog-key", "phx_ phs_", rf"{_ANY}{{30,}}"),
    Shape("postman-key", "PMAK-", rf"{_HEX}{{24}}-{_HEX}{{34}}"),
    Shape("postman-key", "PMAT-", r"[A-Z0-9]{26}"),
    Shape("prefect-key", "pnu_ pnb_", rf"{_ANY}{{30,}}"),
    Shape("pulumi-token", "pul-", rf"{_HEX}{{40}}{_END}"),
    Shape("pypi-token", "pypi-", rf"AgE{_URL}{{30,}}"),
    Shape("rancher-token", "token-", r"[a-z0-9]{5}:[a-z0-9]{50,}"),
    Shape("readme-key", "rdme_", rf"{_ANY}{{60,}}"),
    Shape("render-key", "rnd_", rf"{_ANY}{{28,}}"),
    Shape("replicate-token", "r8_", rf"{_ANY}{{30,}}"),
    Shape("resend-key", "re_", rf"{_ANY}{{8}}_{_ANY}{{20,}}"),
    Shape("rootly-key", "rootly_", rf"{_HEX}{{60,}}"),
    Shape("rubygems-key", "rubygems_", rf"{_HEX}{{48}}"),
    Shape("runpod-key", "rpa_", rf"{_ANY}{{40,}}"),
    Shape("salesforce-token", "00D", rf"{_ANY}{{12,15}}![\w.]{{80,}}"),
    Shape("samsara-token", "samsara_api_", rf"{_ANY}{{24,}}"),
    Shape("sanity-token", "sk", rf"{_ANY}{{78,}}"),
    Shape("scaleway-key", "SCW", rf"(?=[A-Z]{{0,16}}\d)[A-Z0-9]{{17}}{_END}", free=True),
    Shape("scalingo-token", "tk-us-", rf"{_URL}{{48}}"),
    Shape("sendgrid-key", "SG.", r"[\w-]{16,64}\.[\w-]{20,}"),
    Shape("sentry-token", "sntrys_", r"[\w+/=-]{60,}"),
    Shape("sentry-token", "sntryu_ sntrya_", rf"{_HEX}{{60,}}"),
    Shape("serverchan-key", "SCT", rf"\d{{3,7}}T{_ANY}{{20,}}"),
    Shape("settlemint-token", "sm_aat_ sm_pat_ sm_sat_", rf"{_ANY}{{16,}}"),
    Shape("shippo-token", "shippo_live_ shippo_test_", rf"{_HEX}{{40}}"),
    Shape("shopify-token", "shpat_ shpca_ shppa_ shpss_ shpua_", rf"{_HEX}{{32,}}"),
    Shape(
        "slack-token",
        "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs-",
        r"(?=[\w%-]{0,20}\d)[\w%-]{15,}",
    ),
    Shape("slack-token", "xapp-", r"\d-[\w-]{13,}"),
    Shape("snyk-token", "snyk_uat. snyk_sat.", rf"[\w.-]{{30,}}{_URL}"),
    Shape("sonar-token", "squ_ sqp_ sqa_", rf"{_HEX}{{40}}"),
    Shape("sourcegraph-token", "sgp_", rf"(?:{_HEX}{{16}}_|local_)?{_HEX}{{40}}"),
    Shape("sourcegraph-token", "slk_ sgd_", rf"{_HEX}{{64}}"),
    Shape("square-token", "sq0atp- sq0csp-", rf"{_URL}{{20,}}"),
    Shape("square-token", "EAAA", rf"{_URL}{{60}}{_END}"),
    Shape("statsig-key", "secret-", rf"{_ANY}{{38,}}"),
    Shape("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ sk_dev_", rf"{_ANY}{{16,}}"),
    Shape("stripe-key", "whsec_", r"[A-Za-z0-9+/]{24,}={0,2}"),
    Shape("stytch-secret", "secret-live- secret-test-", rf"{_URL}{{30,}}"),
    Shape("supabase-token", "sbp_", rf"(?:v0_|oauth_)?{_HEX}{{40}}"),
    Shape("supabase-key", "sb_secret_", rf"{_URL}{{20,}}"),
    Shape("tailscale-key", "tskey-", rf"(?:[a-z]{{2,10}}-)?{_ANY}{{8,40}}-{_ANY}{{20,}}"),
    Shape("tencent-key", "AKID", rf"{_ANY}{{32}}{_END}"),
    Shape("thunderstore-token", "tss_", rf"{_ANY}{{30,}}"),
    Shape("tinybird-token", "p.", rf"eyJ{_URL}{{20,500}}\.{_URL}{{20,}}"),
    Shape("together-key", "tgp_v1_", rf"{_URL}{{40,}}"),
    Shape("trello-token", "ATTA", rf"{_HEX}{{60,}}"),
    Shape("trigger-key", "tr_prod_ tr_dev_ tr_stg_ tr_pat_", rf"{_ANY}{{20,}}"),
    Shape("twilio-key", "SK AC", rf"{_HEX}{{32}}{_END}"),
    Shape("twitch-token", "oauth:", rf"[a-z0-9]{{30}}{_END}"),
    Shape("twitter-token", "AAAAAAAAAAAAAAAAAAAA", rf"[A-Za-z0-9%]{{60,120}}{_END}"),
    Shape("typeform-token", "tfp_", r"[\w.=-]{39,}[\w=-]"),
    Shape("ubidots-token", "BBFF-", rf"{_ANY}{{30}}"),
    Shape("unkey-key", "unkey_", rf"{_ANY}{{16,}}"),
    Shape("vault-token", "hvs. hvb. hvr.", rf"{_URL}{{20,}}"),
    Shape("vault-token", "s. b. r.", rf"{_MIXED}{_ANY}{{24}}{_END}"),
    Shape("vercel-token", "vcp_ vci_ vca_ vcr_ vck_", rf"{_ANY}{{24,}}"),
    Shape("volcengine-key", "AKLT", r"[\w-]{30,}={0,2}"),
    Shape("voyage-key", "pa-", rf"{_MIXED}{_URL}{{43}}{_END}"),
    Shape("wandb-key", "wandb_v1_", r"\w{40,}"),
    Shape("xai-key", "xai-", rf"{_ANY}{{60,}}"),
    Shape("xata-key", "xau_", rf"{_ANY}{{30,}}"),
    Shape("yandex-key", "AQVN", rf"{_URL}{{35,}}"),
    Shape("yandex-token", "y0_ y1_ y2_ y3_", rf"{_URL}{{50,}}"),
    Shape("yandex-token", "t1.", rf"{_URL}{{16,500}}={{0,2}}\.{_URL}{{80,}}={{0,2}}"),
    Shape("yandex-key", "YC", rf"{_MIXED}{_URL}{{38}}{_END}"),
    Shape("zoho-token", "1000.", rf"{_HEX}{{32}}\.{_HEX}{{32}}"),
    Shape("zuplo-key", "zpka_", r"\w{30,}"),
)

INSIDE = (
    Inside("azure-client-secret", "Q~", 4, r"(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}(?![\w~-])"),
    Inside("azure-devops-token", "AZDO", 80, rf"(?<!{_ANY}){_ANY}{{52,80}}AZDO{_ANY}{{4}}{_END}"),
    Inside("azure-key", "JQQJ99", 60, rf"(?<!{_ANY}){_ANY}{{20,60}}JQQJ99{_ANY}{{20,40}}{_END}"),
    Inside("azure-key", "AzSe", 42, rf"(?<!{_ANY}){_ANY}{{42}}AzSe[A-D]{_ANY}{{5}}{_END}"),
    Inside("firebase-key", ":APA91b", 24, rf"(?<!{_URL}){_URL}{{7,24}}:APA91b{_URL}{{100,200}}"),
    Inside("mailchimp-key", "-us", 32, rf"(?<!{_ANY}){_HEX}{{32}}-us\d{{1,2}}{_END}"),
    Inside("maxmind-key", "_mmk", 36, rf"(?<!{_ANY}){_ANY}{{6}}_{_ANY}{{29}}_mmk{_END}"),
    Inside("new-relic-key", "NRAL", 40, rf"(?<!{_ANY})[0-9a-fA-F]{{32,40}}NRAL{_END}"),
    Inside("okta-token", "SSWS ", 0, rf"SSWS (00{_URL}{{40}}){_END}"),
    Inside(
        "paypal-token", "$production$", 12, rf"access_token\$production\$[a-z0-9]{{16}}\${_HEX}{{32}}{_END}"
    ),
    Inside(
        "rapidapi-key",
        "jsn",
        36,
        rf"(?<!{_ANY})[0-9a-z]{{10}}msh[0-9a-z]{{15}}p1[0-9a-z]{{6}}jsn[0-9a-z]{{12}}{_END}",
    ),
    Inside("telegram-token", ":AA", 10, rf"(?<!{_ANY})\d{{8,10}}:AA{_URL}{{32,33}}(?!{_URL})"),
    Inside("terraform-token", ".atlasv1.", 14, rf"(?<!{_ANY}){_ANY}{{14}}\.atlasv1\.[\w=-]{{60,100}}"),
)

# Expressions behind :// in an address; the group is the secret.
ADDRESSES = (
    (
        "basic-auth",
        r"[^\s/:@?#'\"<>]{0,128}:(?![${<%]|\*+@|\[REDACTED|(?:(?<=//user:)|(?<=//username:))pass(?:word|wd)?@)"
        r"([^\s/?'\"<>]{1,256})(?=@[\w\[])",
    ),
    ("slack-webhook", r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/([\w+/-]{20,})"),
    ("discord-webhook", r"(?:ptb\.|canary\.)?discord(?:app)?\.com/api/webhooks/\d{1,20}/([\w-]{30,})"),
    ("feishu-webhook", r"open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/(?:v2/)?hook/([\w-]{20,})"),
    ("wecom-webhook", r"qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=([\w-]{20,})"),
    ("dingtalk-webhook", r"oapi\.dingtalk\.com/robot/send\?access_token=(\w{20,})"),
    ("teams-webhook", r"[\w-]{1,63}\.webhook\.office\.com/webhookb2/([\w@/-]{60,})"),
    ("zapier-webhook", r"hooks\.zapier\.com/hooks/catch/(\d{4,12}/\w{5,})"),
    ("ifttt-key", r"maker\.ifttt\.com/(?:trigger/[\w-]{1,64}/(?:json/)?with/key|use)/([\w-]{20,})"),
)

# Services whose keys have no shape of their own: before "key" their name says that it is a secret.
SERVICES = frozenset(
    "abuseipdb ably adyen algolia amadeus amplitude anthropic apollo assemblyai auth0 aws azure baseten"
    " binance bing bitfinex braintree bybit chargebee clarifai clearbit cloudflare cloudinary codecov"
    " cohere coinbase coingecko coveralls dashscope datadog deepgram deepinfra deepl deepseek doubao"
    " dropbox elevenlabs etherscan exa fastly figma flickr freshdesk gemini giphy gitea gladia grafana"
    " groq helius heroku hetzner infura intercom ipinfo kimi kraken kucoin linode loggly mailchimp mailgun"
    " mapbox messagebird minimax mistral mixpanel moonshot nomic novita nytimes okta okx openai opencage"
    " openrouter openweather openweathermap opsgenie ovh pagerduty perplexity pexels pinecone plivo"
    " postmark pusher qdrant qiniu qwen rapidapi recurly rollbar scaleway sendbird sendgrid serpapi serper"
    " shodan siliconflow snyk spotify stytch sumologic supabase telnyx tmdb tomtom twilio twitch typesense"
    " unsplash upstash virustotal vonage vultr wandb weatherapi weaviate xai youtube zendesk zhipu"
    " zilliz".split()
)

# Secrets in a fixed place behind a word: kind, word in lower case, expression of which the group is the
# secret, what stands before the word.
_HEADER = r"authorization[\"'\\]{0,2}[ \t]{0,2}[:=, ][ \t]{0,2}[\"'\\]{0,2}"
_SCHEMES = r"(?:token|api-?key|api-token|key|bot|genie-?key|ssws|splunk|sso-key)"
_LONG = r"(?=[a-z._~+/-]{0,60}\d)[\w.~+/:-]{16,}={0,2}"
_COOKIE = r"cookie[\"']?[ \t]{0,2}[:=]"
_WORD = r"([^\s\"'$<{-][^\s\"']{3,})"
_NAMED = r"pass(?:wor[dt]|wd|phrase|code)?"
_QUOTED = r"[\"']([^\s\"'$<{\\][^\s\"'\\]{3,127})[\"']"
_DIGIT = r"(?=[^\s\"']{0,60}\d)"
_EXPORT = r"(?:\bset[ \t]{1,2}-[a-z]{0,4}x[a-z]{0,2}|\bsetx)[ \t]{1,3}\w{0,60}\Z"  # fish, Windows
_SETENV = r"(?:setenv|putenv)\([ \t]?[\"']\w{0,60}\Z"
_ROLE = (
    r"\b(?:create|alter)[ \t]{1,3}(?:user|role|login)\b[^;\n]{0,60}\Z"
    r"|\b(?:with|encrypted|identified[ \t]by)[ \t]{1,3}\Z"
)
_SESSION = r"(?:session|sid|auth|token|csrf|xsrf|jwt)[\w.-]{0,30}"
PLACES = (
    ("bearer-token", "bearer ", r"bearer[ \t]{1,3}((?=[a-z._~+/-]{0,60}\d)[\w.~+/-]{16,}={0,2})", ""),
    ("basic-auth", "authorization", rf"{_HEADER}basic[ \t]{{1,3}}([a-z0-9+/]{{8,}}={{0,2}})", ""),
    ("token", "authorization", rf"{_HEADER}(?:{_SCHEMES}[ =]{{1,3}}(?:token=)?[\"']?)?({_LONG})", ""),
    ("azure-signature", "sig=", r"sig=([a-z0-9+/%_-]{40,90}(?:%3d|=){1,2})", r"(?:\A|[^a-z0-9])\Z"),
    ("signature", "signature=", r"signature=([a-z0-9+/%=_~-]{24,})", r"[?&](?:x-[a-z]{2,5}-)?\Z"),
    ("basic-auth", "_auth", r"_auth[ \t]{0,3}=[ \t]{0,3}[\"']?([a-z0-9+/]{12,}={0,2})", ""),
    ("basic-auth", '"auth"', r"\"auth\"[ \t]{0,3}:[ \t]{0,3}\"([a-z0-9+/]{12,}={0,2})\"", ""),
    (
        "password",
        "curl ",
        r"curl [^\n]{0,120}?(?<=[ \t])(?:-u|--user)[ =]?[\"']?[^\s:\"'$<{]{1,64}:([^\s:\"'$<{][^\s\"']{2,})",
        "",
    ),
    ("password", "pass", r"pass[ \t]{1,3}-p[ \t]?[\"']?([^\s\"'$<{-][^\s\"']{2,})", r"ssh\Z"),
    # mysql reads -pX, a registry's login -p X
    ("password", " -p", rf" -p[\"']?(?!\d{{1,5}}\b){_WORD}", r"\b(?:mysql|mariadb)[^\n|;&]{0,64}\Z"),
    ("password", " -p", rf" -p[ =][\"']?{_WORD}", r"\blogin\b[^\n|;&]{0,64}\Z"),
    ("password", "redis-cli", rf"redis-cli[^\n|;&]{{0,64}}? -a[ =]?[\"']?{_WORD}", ""),
    # user lin, pass X
    (
        "password",
        "pass",
        r"pass[ \t]{1,2}((?=[^\s\"']{0,40}\d)(?=[^\s\"']{0,40}[a-z])[^\s\"'$<{]{6,128}?)(?=[.,;]?(?:\s|\Z))",
        r"(?<![a-z])(?:user|username|login|account|name)[ \t]{0,2}[:= ][ \t]{0,2}[^\s,;]{1,40}[,;/ ]{1,3}\Z",
    ),
    # .netrc
    (
        "password",
        "pass",
        r"password[ \t]{1,4}([^\s\"'$<{][^\s]{3,})",
        r"login[ \t]{1,4}\S{1,64}[ \t\r\n>]{1,16}\Z",
    ),
    # SQL
    ("password", "pass", r"password[ \t]{1,3}(?:=[ \t]?)?'([^'\n$<{][^'\n]{3,127})'", _ROLE),
    (
        "password",
        "tified ",
        r"tified[ \t](?:with[ \t][\w'\"]{1,40}[ \t])?by[ \t]{1,3}"
        r"(?:password[ \t])?'([^'\n$<{][^'\n]{3,127})'",
        r"iden\Z",
    ),
    # keytool, nmcli
    (
        "password",
        "pass",
        rf"pass(?:wd|word)?[ \t]{{1,2}}[\"']?{_WORD}",
        r"[ \t]-(?:src|dest|new)?(?:store|key)\Z",
    ),
    ("password", "pass", rf"password[ \t]{{1,2}}[\"']?{_WORD}", r"\bwifi[ \t]connect[ \t][^\n|;&]{1,60}\Z"),
    # ds.setPassword("X"), #define WIFI_PASS "X", os.Setenv("DB_PASS", "X")
    (
        "password",
        "pass",
        rf"{_NAMED}\([ \t]?(?=[\"'][^\s\"']{{0,60}}[\d!@#%^&*]){_QUOTED}[ \t]?\)",
        r"(?:set|with)_?\Z",
    ),
    (
        "password",
        "pass",
        rf"{_NAMED}[ \t]{{1,8}}(?=\"[^\s\"']{{0,60}}\d){_QUOTED}",
        r"#define[ \t]{1,4}\w{0,40}\Z",
    ),
    ("password", "pass", rf"{_NAMED}[\"'],[ \t]{{0,3}}{_QUOTED}", _SETENV),
    *(
        (
            kind,
            word,
            rf"{word}[ \t]{{1,8}}(?=\"[^\s\"']{{15,}}){_QUOTED}",
            r"#define[ \t]{1,4}(?:\w{0,40}_)?(?:api|access|auth|private|client|app)?_?\Z",
        )
        for kind, word in (("key", "key"), ("token", "token"), ("secret", "secret"))
    ),
    *(
        (kind, word, rf"{word}\w{{0,20}}[ \t]{{1,3}}[\"']?{_DIGIT}{_WORD}", _EXPORT)
        for kind, word in (
            ("password", "pass"),
            ("password", "pw"),
            ("key", "key"),
            ("token", "token"),
            ("secret", "secret"),
        )
    ),
    *(
        (
            "password",
            word,
            rf"{word}(?:d|wor[dt]|wd)?[ \t]{{0,3}}=[ \t]{{0,3}}\(?convertto-securestring"
            rf"[ \t]{{1,3}}(?:-string[ \t]{{1,3}})?{_QUOTED}",
            "",
        )
        for word in ("pass", "pw", "secret")
    ),
    (
        "password",
        "psk",
        r"psk[ \t]{0,2}=[ \t]{0,2}[\"']?([^\s\"'$<{]{8,64})(?=[\"']?(?:\s|\Z))",
        r"(?:\A|[\s>;#`])\Z",
    ),
    # aws configure set aws_secret_access_key X
    (
        "key",
        "key",
        r"key[ \t]{1,3}[\"']?((?=[a-z/+]{0,40}\d)[a-z0-9/+]{40})(?![\w/+=])",
        r"secret[ _-]access[ _-]\Z",
    ),
    ("key", "key", r"key[ \t]{1,2}[\"'`]?((?:0x)?[0-9a-f]{64})(?!\w)", r"private[ _-]\Z"),
    (
        "secret",
        "secret",
        rf"secret[ \t]set[ \t][\w-]{{1,60}}[ \t]{{1,3}}(?:--body|-b)[ =][\"']?{_WORD}",
        r"\bgh[ \t]\Z",
    ),
    # Of the pairs of a header the first, and one whose name says that it is a session.
    ("cookie", "cookie", rf"{_COOKIE}[ \t]{{0,2}}[\"']?[^\s=;\"']{{1,64}}=([^\s;,\"']{{16,}})", ""),
    ("cookie", "cookie", rf"{_COOKIE}[^\n\"']{{1,400}}?[; ]{_SESSION}=([^\s;,\"']{{16,}})", ""),
)

# Lower-case words before a secret, and the kind of each.
WORDS = {
    "pass": "password",
    "pw": "password",
    "密码": "password",
    "密碼": "password",
    "口令": "password",
    "secret": "secret",
    "token": "token",
    "key": "key",
    "authorization": "",  # only with a place
    "令牌": "token",
    "密钥": "key",
    "密鑰": "key",
    "秘钥": "key",
    "私钥": "key",
}
# Words before "key" where it names a secret.
KEYS = tuple(
    "api access secret private auth signing encryption master account shared license app consumer deploy"
    " storage admin client webhook pass subscription recovery fernet session cookie cipher crypt hmac"
    " jwt".split()
)

# The word for "password" elsewhere, one row a language: the words, and what stands for "is" behind them.
PASSWORD_WORDS = {
    "cs": (("heslo",), "je"),
    "da": (("adgangskode",), "er"),
    "de": (("kennwort",), "ist|lautet"),
    "es": (("contraseña", "contrasena"), "es"),
    "fi": (("salasana",), "on"),
    "it": (("parola",), "è"),
    "ja": (("パスワード",), "は"),
    "ko": (("비밀번호",), "는|은"),
    "nl": (("wachtwoord",), "is"),
    "pl": (("hasło",), "to"),
    "pt": (("senha",), "é"),
    "ru": (("пароль",), "это"),
    "sv": (("lösenord",), "är"),
    "uk": (("пароль",), "це"),
}
