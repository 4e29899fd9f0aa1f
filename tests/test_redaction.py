"""Secrets in texts: which forms are replaced, what stays, and that nothing else is touched.

The secrets are put together when the tests run, so that no scanner takes this file for a leak.
"""

import base64
import csv
import gzip
import json
from pathlib import Path

import pytest

from ltr.importers import Tally, redact_sample, redacted

LETTERS = "Zx81qVbN4cLr0Tw9KfHs3Jm7PdYg2RuEa6Wo5XiB"  # no run of them repeats
WORD = "Zx81" + "qVbN4c"
HEX = "9f3b1c7e" + "05d2a864" + "e1f07b93" + "c4a86d52"
BASE64 = base64.b64encode(b"ann:" + b"w0nder-Land").decode()
BODY = "\n".join(f"MIIE{LETTERS[place:]}{LETTERS[:place]}" for place in range(0, 32, 8))


def pem(kind, body, *, headers="", ends=True):
    end = f"\n-----END {kind} KEY-----" if ends else ""
    return f"-----BEGIN {kind} KEY-----\n{headers}{body}{end}"


def encoded(value, times=1):
    """JSON inside JSON: the value as a text of a text."""
    for _ in range(times):
        value = json.dumps(value)
    return value


FORMS = {  # the text, and the secret in it
    # Keys of the environment and of code, with the words of a key inside a longer name.
    "OPENAI_API_KEY": (f"OPENAI_API_KEY={WORD}", WORD),
    "GITHUB_TOKEN": (f"GITHUB_TOKEN={WORD}", WORD),
    "AWS_SECRET_ACCESS_KEY": (f"export AWS_SECRET_ACCESS_KEY={LETTERS[:18]}/{LETTERS[18:]}", LETTERS),
    "DB_PASSWORD": (f"DB_PASSWORD={WORD}", WORD),
    "PGPASSWORD": (f"PGPASSWORD={WORD} psql -h db", WORD),
    "token": (f"token={WORD}", WORD),
    "access_token": (f"access_token={WORD}", WORD),
    "auth_token": (f"auth_token: {WORD}", WORD),
    "client_secret": (f"client_secret={WORD}", WORD),
    "secret_key": (f"secret_key = {WORD}", WORD),
    "private_key": (f"private_key={WORD}", WORD),
    "accessToken": (f"accessToken={WORD}", WORD),
    "clientSecret": (f"clientSecret: {WORD}", WORD),
    "dbPassword": (f"dbPassword={WORD}", WORD),
    "a number": (f"API_KEY_2={WORD}", WORD),
    "two words": (f"API key: {WORD}", WORD),
    "pass": (f"pass={WORD}", WORD),
    "passphrase": (f"passphrase={WORD}", WORD),
    "passphrase of words": ("passphrase: correct " + "horse battery staple.", "horse battery staple"),
    "type": (f'password: str = "{WORD}"', WORD),
    # Quotes of every kind, and none.
    "double quotes": (f'password="{WORD}"', WORD),
    "single quotes": (f"password='{WORD}'", WORD),
    "dict": (f"{{'password': '{WORD}', 'city': 'Oslo'}}", WORD),
    "api_key in single quotes": (f"api_key='{WORD}'", WORD),
    "JSON": (json.dumps({"password": WORD, "city": "Oslo"}), WORD),
    "refresh_token in JSON": (json.dumps({"refresh_token": WORD}), WORD),
    "JSON in JSON": (encoded(json.dumps({"password": WORD, "city": "Oslo"})), WORD),
    "JSON in JSON in JSON": (encoded(json.dumps({"apiKey": WORD}), 2), WORD),
    "quotes in quotes": (json.dumps({"password": f'{WORD}"{WORD[::-1]}'}), WORD[::-1]),
    "spaces in quotes": (f'password: "{WORD} {WORD[::-1]}"', WORD[::-1]),
    "curly quotes": (f"password: “{WORD}”", WORD),
    "bold": (f"**Password:** {WORD}", WORD),
    "XML": (f"<password>{WORD}</password>", WORD),
    "two words of a password": ("Password: p@ss" + " WORD8", "p@ss WORD8"),
    "comma": (f"password={WORD},{WORD[::-1]}", WORD[::-1]),
    "semicolon": (f"password={WORD};{WORD[::-1]}", WORD[::-1]),
    "bracket": (f"password=abcd({WORD}", WORD),
    "said": (f"my password is {WORD}", WORD),
    "named": (f"log in as ann with password '{WORD}'", WORD),
    # Addresses.
    "user and password": (f"postgres://ann:{WORD}@localhost:5432/db", WORD),
    "password without user": (f"redis://:{WORD}@redis:6379", WORD),
    "host with a dot": (f"mongodb+srv://ann:{WORD}@cluster0.example.net/db", WORD),
    "password with @": (f"https://ann:{WORD}@{WORD[::-1]}@example.org/", WORD[::-1]),
    "password with a slash": (f"postgres://ann:{WORD}/{WORD[::-1]}@localhost/db", WORD[::-1]),
    "?access_token=": (f"https://example.org/x?access_token={WORD}&page=2", WORD),
    "&key=": (f"https://example.org/x?q=1&key={LETTERS}", LETTERS),
    "sig": (f"https://a.example.net/b?sv=2024-01-01&sig={LETTERS}%3D", LETTERS),
    "AccountKey": (f"AccountName=ann;AccountKey={LETTERS}==;EndpointSuffix=core.example.net", LETTERS),
    "connection string": (f"Server=db;User Id=sa;Password={WORD};Database=shop", WORD),
    # Headers.
    "Bearer": (f"Authorization: Bearer {LETTERS}", LETTERS),
    "Bearer alone": (f"curl -H 'x: Bearer {LETTERS}' https://example.org", LETTERS),
    "Basic": (f"Authorization: Basic {BASE64}", BASE64),
    "Basic alone": (f"send Basic {BASE64}", BASE64),
    "Token": (f"Authorization: Token {LETTERS}", LETTERS),
    "x-api-key": (f"x-api-key: {WORD}", WORD),
    "Cookie": (f"Cookie: a=b; theme=dark; session={LETTERS}", LETTERS),
    "Set-Cookie": (f"Set-Cookie: sid={LETTERS}; Path=/; HttpOnly", LETTERS),
    "headers as a dict": (json.dumps({"Authorization": f"Bearer {LETTERS}"}), LETTERS),
    # Command lines.
    "--password X": (f"tool --password {WORD} --verbose", WORD),
    "--password=X": (f"tool --password={WORD}", WORD),
    "--token X": (f"tool --token {WORD}", WORD),
    "--api-key 'X'": (f"tool --api-key '{WORD}'", WORD),
    "curl -u": (f"curl -u ann:{WORD} https://example.org", WORD),
    "curl -u quoted": (f"curl -u 'ann:{WORD} {WORD[::-1]}' https://example.org", WORD[::-1]),
    "mysql -p": (f"mysql -u root -p{WORD} shop", WORD),
    "sshpass -p": (f"sshpass -p '{WORD}' ssh ann@db", WORD),
    # Known prefixes.
    "OpenAI": ("sk-" + "proj-" + LETTERS, LETTERS),
    "Anthropic": ("sk-" + "ant-api03-" + LETTERS, LETTERS),
    "Stripe": ("sk_" + "live_" + LETTERS, LETTERS),
    "GitHub": ("ghp" + "_" + LETTERS, LETTERS),
    "GitHub, fine": ("github" + "_pat_" + LETTERS, LETTERS),
    "GitLab": ("glpat" + "-" + LETTERS[:20], LETTERS[:20]),
    "Slack": ("xoxb" + "-1234567890-" + LETTERS, LETTERS),
    "Amazon": ("AKIA" + "Q3EGR7XD52LMNOPZ", "Q3EGR7XD52LMNOPZ"),
    "Google": ("AIza" + LETTERS[:35], LETTERS[:35]),
    "Google OAuth": ("ya29" + ".a0" + LETTERS, LETTERS),
    "Google client": ("GOCSPX" + "-" + LETTERS[:28], LETTERS[:28]),
    "Hugging Face": ("hf" + "_" + LETTERS[:34], LETTERS[:34]),
    "npm": ("npm" + "_" + LETTERS[:36], LETTERS[:36]),
    "PyPI": ("pypi" + "-AgEI" + LETTERS * 5, LETTERS),
    "webhook secret": ("whsec" + "_" + LETTERS[:32], LETTERS[:32]),
    "SendGrid": ("SG" + f".{LETTERS[:22]}.{LETTERS}xyz", LETTERS),
    "Vault": ("hvs" + "." + LETTERS, LETTERS),
    "Databricks": ("dapi" + HEX, HEX),
    "Shopify": ("shpat" + "_" + HEX, HEX),
    "Linear": ("lin_api" + "_" + LETTERS, LETTERS),
    "DigitalOcean": ("dop_v1" + "_" + HEX * 2, HEX),
    "age": ("AGE-SECRET-" + "KEY-1" + LETTERS.upper(), LETTERS.upper()),
    "JWT": ("ey" + f"JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{LETTERS}", LETTERS),
    "Slack webhook": ("https://hooks.slack.com/" + f"services/T0ABCDEFG/B0HIJKLMN/{LETTERS[:24]}", LETTERS[:24]),
    "Discord webhook": ("https://discord.com/api/" + f"webhooks/112233445566778899/{LETTERS}", LETTERS),
    "Discord": ("MTk4" + f"NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.{LETTERS[:27]}", LETTERS[:27]),
    "Telegram": ("123456789" + f":AAF{LETTERS[:32]}", LETTERS[:32]),
    "Telegram in an address": ("https://api.telegram.org/bot" + f"123456789:AAF{LETTERS[:32]}/getMe", LETTERS[:32]),
    # Private keys.
    "PEM": (pem("RSA PRIVATE", BODY), BODY),
    "PEM in one line": (pem("PRIVATE", BODY).replace("\n", "\\n"), BODY.replace("\n", "\\n")),
    "OpenSSH": (pem("OPENSSH PRIVATE", BODY), BODY),
    "encrypted PEM": (
        pem("RSA PRIVATE", BODY, headers=f"Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{HEX}\n\n"),
        BODY + HEX,
    ),
    "PGP": (pem("PGP PRIVATE", BODY).replace("KEY-----", "KEY BLOCK-----"), BODY),
    "PEM without its end": (pem("EC PRIVATE", BODY, ends=False), BODY),
    "private key in JSON": (json.dumps({"private_key": pem("PRIVATE", BODY)}), json.dumps(BODY)),
    "mail": ("ann.lee+x@mail.example.co.uk", "ann.lee+x@mail"),
}
TO_THE_END = {"PEM without its end", "passphrase of words"}

STAYS = (  # docs/privacy.md says so
    "call +44 20 7946 0958",
    "my card is 4111 1111 1111 1111",
    "IBAN DE89 3704 0044 0532 0130 00",
    "social security number 078-05-1120",
    "the server 192.168.178.24",
    "legal winner thank year wave sausage worth useful legal winner thank yellow",
    "correct horse battery staple",
)

FALSE_ALARMS = (
    "my password is not working",
    "reset the password for the user",
    "I forgot my password: please help",
    "Password: how do I change it?",
    "generate a password that is 16 characters long",
    "fill the field password with the word \"hello\"",
    "what does the --token option of this command do?",
    "is the --password flag required?",
    "a token of thanks; task-list of the desk-top",
    "price per token: $0.000015, max_tokens=4096, max_token: 128",
    "Season pass: $120 And the parking: $15", "the pass mark: 60%, bypass=always, compass: north",
    "USDT token: what is its price in EUR?",
    "Secret Santa: who gives what to whom?",
    "get the balance of 0xAb5801a2D30460f05f67c55E310aF1b9b3f2d1c7",
    "revert commit 3f786850e387550fdab836ed7e6dc881de23001b and a167d510",
    "order 550e8400-e29b-41d4-a716-446655440000 for $1,299.00, was €1.499,00",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "token=next()",
    "token = self.get_token()",
    "token = next(iter(tokens), None)",
    "password = getpass.getpass(\"Password: \")",
    "secret = os.environ[\"SECRET\"]",
    "api_key = settings.OPENAI_API_KEY",
    "login(user, password=user.password)",
    "secret: Optional[str]",
    "def login(user: str, password: str, token: str | None = None)",
    "if password == None or token is None: return False",
    "password: ${DB_PASSWORD}",
    "export TOKEN=$GITHUB_TOKEN",
    "Authorization: Bearer <your token>",
    "Authorization: Bearer ${TOKEN}",
    "api_key=YOUR_API_KEY, password=********",
    '{"password": {"type": "string"}, "token": null, "secret": true}',
    '{"properties": {"api_key": "The API key of the service", "token": "string"}}',
    "bearer authentication or basic authentication?",
    "basic understanding of JavaScript",
    "cookie: chocolate chip, 12 pieces",
    "bake cookies: flour, butter, sugar",
    "the author: Ann; authentication: required",
    "docker run -u 1000:1000 image",
    "git push -u origin main",
    "mysql -h localhost -P 3306 -p shop",
    "https://example.org:8080/path?q=tokens&page=2#top",
    "git clone https://github.com/example/password-manager.git",
    "pk-command-not-found.c, sk-learn-pipeline-for-beginners",
    "hf_transformers and npm_config",
    "rain @ noon? 1+1=2; mail: Ann; a:b=c",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "the primary key: customer, the foreign key=order",
    "press the key: F5, key=value",
    "ratio 12345678:90, at 10:30, 2024-01-31T10:00:00",
)  # fmt: skip


def imported(cli, queries):
    """The queries after `ltr import`, and the lines of its summary below "also"."""
    with Path("log.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["query", "tool"], *([query, "t"] for query in queries)])
    cli.good("import", "csv", "log.csv", "-o", "out.jsonl", "--overwrite", "--format", "human")
    lines = Path("out.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["query"] for line in lines], cli.out.partition("also\n")[2].splitlines()


def parts_of(secret, length=5):
    """Every run of so many characters."""
    return {secret[at : at + length] for at in range(len(secret) - length + 1)}


def test_no_part_of_a_secret_of_a_known_form_is_imported_and_the_words_around_it_are(cli):
    texts = [f"please use {text} thanks" for text, _ in FORMS.values()]
    queries, remarks = imported(cli, texts)
    kept = {
        name: query
        for (name, (_, secret)), query in zip(FORMS.items(), queries, strict=True)
        if any(part in query for part in parts_of(secret))
    }
    assert kept == {}
    lost = {
        name: query
        for name, query in zip(FORMS, queries, strict=True)
        if not query.startswith("please use ") or (not query.endswith(" thanks") and name not in TO_THE_END)
    }
    assert lost == {}
    counts = dict(line.split(maxsplit=1)[::-1] for line in remarks)
    assert sum(map(int, counts.values())) >= len(FORMS)
    assert {reason.rpartition(" ")[2] for reason in counts} == {"[mail]", "[key]", "[token]"}


def test_every_secret_of_a_text_with_many_is_replaced(cli):
    (query,), _ = imported(cli, ["\n".join(text for name, (text, _) in FORMS.items() if name not in TO_THE_END)])
    secrets = [secret for name, (_, secret) in FORMS.items() if name not in TO_THE_END]
    assert [secret for secret in secrets if any(part in query for part in parts_of(secret))] == []


def test_what_privacy_md_says_stays_and_what_only_looks_like_a_secret_stays(cli):
    queries, remarks = imported(cli, [*STAYS, *FALSE_ALARMS])
    assert queries == [*STAYS, *FALSE_ALARMS]
    assert remarks == []


def test_our_own_queries_lose_nothing_and_of_our_log_only_the_addresses_and_keys_that_stand_in_it(cli):
    data = Path(__file__).parents[1] / "data"
    for file in (*data.glob("tools/*.jsonl.gz"), *data.glob("graphs/*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            queries = [*dict.fromkeys(json.loads(line)["query"] for line in lines)]
        assert imported(cli, queries) == (queries, [])
    cli.good("import", data / "log" / "chats.jsonl.gz", "-o", "log.jsonl", "--format", "json")
    remarks = {count["reason"]: count["number"] for count in json.loads(cli.out)["remarks"]}
    replaced = {reason: number for reason, number in remarks.items() if "replaced by" in reason}
    assert set(replaced) == {"mail addresses replaced by [mail]", "keys replaced by [key]"}


def test_what_is_redacted_already_stays_as_it_is(cli):
    once, _ = imported(cli, [text for text, _ in FORMS.values()])
    queries = [*dict.fromkeys(once)]
    assert imported(cli, queries) == (queries, [])


@pytest.mark.parametrize(
    "text, expected",
    [
        ("write to ann.lee+x@mail.example.co.uk, today", "write to [mail], today"),
        (f"my key is {FORMS['OpenAI'][0]}", "my key is [key]"),
        (f"{FORMS['Amazon'][0]} and {FORMS['GitHub'][0]}", "[key] and [key]"),
        (f"{FORMS['encrypted PEM'][0]} done", "[key] done"),
        (f"Authorization: Bearer {WORD}-{WORD}", "Authorization: [token]"),
        (FORMS["JWT"][0], "[token]"),
        (FORMS["JSON"][0], '{"password": "[token]", "city": "Oslo"}'),
        (FORMS["JSON in JSON"][0], '"{\\"password\\": \\"[token]\\", \\"city\\": \\"Oslo\\"}"'),
        (FORMS["user and password"][0], "postgres://[token]@localhost:5432/db"),
        (FORMS["?access_token="][0], "https://example.org/x?access_token=[token]&page=2"),
        (FORMS["connection string"][0], "Server=db;User Id=sa;Password=[token];Database=shop"),
        (FORMS["--password X"][0], "tool --password [token] --verbose"),
        (FORMS["curl -u"][0], "curl -u ann:[token] https://example.org"),
        (f"(the password is {WORD}!), or", "(the password is [token]), or"),
    ],
)
def test_the_secret_alone_is_replaced_and_the_text_keeps_its_form(text, expected):
    assert redacted(text, Tally().remark) == expected


def test_what_was_replaced_is_counted_and_other_fields_stay():
    tally = Tally()
    line = {"trace_id": "a@b.org", "query": "mail a@b.org and c@d.org", "context": "user: sk-abcdefghijklmnopqrstuv"}
    assert redact_sample(line, tally.remark) == {
        "trace_id": "a@b.org",
        "query": "mail [mail] and [mail]",
        "context": "user: [key]",
    }
    assert [(count.reason, count.number) for count in tally.remarks()] == [
        ("mail addresses replaced by [mail]", 2),
        ("keys replaced by [key]", 1),
    ]


BEGINNINGS = (
    *("a@", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "eyJ-", "sk-", "&key=", "key: ", 'password="', "token=a(("),
    *("://:", "token is a1", "cookie: a=", "mysql -", "-u 'a:b", "Password: p@ss W", "token=\\", "token: token: ", "-"),
)


@pytest.mark.parametrize("unit", BEGINNINGS)
def test_a_long_text_of_beginnings_takes_time_in_proportion_to_its_length(unit):
    text = unit * (200_000 // len(unit))  # a square of it would take hours
    assert len(redacted(text, Tally().remark)) <= 2 * len(text)
