"""Mail addresses, keys and tokens are taken out of texts before they are written.

A text is scanned once, from left to right, by all rules together. A rule matches a secret as a whole (a mail address,
a key with a known prefix, a PEM block), or what stands before one (`password=`, `Bearer`); then a function finds the
value and decides whether it is a secret: it may be a word of a sentence, a type, a template, a number, or code.

The time is linear in the length of the text: a repeat without a bound is possessive, and begins only where the
character before it is none of its own; of a value that stays, only a bounded number of characters is looked at.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

TEXT_FIELDS = ("query", "context", "tool_description")
Remark = Callable[[str], object]  # told of each secret what it was

SHOWN = {"mail": "mail addresses", "key": "keys", "token": "tokens"}


def redacted(text: str, remark: Remark) -> str:
    """Return the text with [mail], [key] and [token] in the place of what looks like one; each is remarked.

    >>> redacted("mail ann@example.org, api_key=abc123def", lambda reason: None)
    'mail [mail], api_key=[token]'
    """
    parts, at = list[str](), 0
    for start, end, kind in secrets_in(text):
        remark(f"{SHOWN[kind]} replaced by [{kind}]")
        parts += [text[at:start], f"[{kind}]"]
        at = end
    return "".join([*parts, text[at:]]) if parts else text


def redact_sample(line: Mapping[str, Any], remark: Remark) -> Mapping[str, Any]:
    """Return the line of samples, and the candidates in it, with their texts redacted; ids and names of tools stay."""
    texts: dict[str, object] = {
        name: redacted(line[name], remark) for name in TEXT_FIELDS if isinstance(line.get(name), str)
    }
    candidates = line.get("candidates")
    if isinstance(candidates, list) and any(map(_is_suspect, candidates)):
        texts["candidates"] = [
            redact_sample(candidate, remark) if isinstance(candidate, Mapping) else candidate
            for candidate in candidates
        ]
    return line if all(line[name] is text for name, text in texts.items()) else {**line, **texts}


def _is_suspect(candidate: object) -> bool:
    """Whether a candidate has a text that holds a secret; the answer for a text is remembered."""
    description = candidate.get("tool_description") if isinstance(candidate, Mapping) else None
    return isinstance(description, str) and _holds_secret(description)


@lru_cache(maxsize=4096)
def _holds_secret(text: str) -> bool:
    return any(True for _ in secrets_in(text))


Span = tuple[int, int]


class Rule(NamedTuple):
    """A form of secrets: what replaces them, and what they, or the text before them, look like."""

    kind: str  # mail, key or token
    pattern: str
    value: Callable[[re.Match[str]], Span | None] | None = None  # where the secret is; None: the whole match is one


def secrets_in(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield where each secret of the text begins and ends, and its kind.

    >>> list(secrets_in("GITHUB_TOKEN=abc123def, token=next(tokens)"))
    [(13, 22, 'token')]
    """
    at = 0
    while match := FORMS.search(text, at):
        rule = RULES[match.lastgroup or ""]
        span = rule.value(match) if rule.value else match.span()
        if span:
            yield *span, rule.kind
        at = span[1] if span else match.end()


# A key names a secret by its last words, joined and in small letters: `AWS_SECRET_ACCESS_KEY`, `dbPassword`, "API key".
PASSWORDS = ("password", "passwd", "passwort", "passcode", "passphrase", "pwd", "pass")
OWNERS = "access account api app auth client consumer encryption license master private secret service shared signing"
COOKIE = ("cookie", "cookies")
NAMES = (
    *(name for name in PASSWORDS if name != "pass"),
    *("dbpass", "secret", "token", "credential", "credentials", "authorization", *COOKIE),
    *(f"{owner}key" for owner in OWNERS.split()),
)
WORDS = "pass auth creds jwt pw sig signature phpsessid jsessionid sessionid"
WHOLE_WORDS = frozenset(WORDS.split())  # not as the end of another word, such as compass
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
WORD_BEFORE = re.compile(r"[A-Za-z]+[ ]$")
ENDS = "|".join(  # so that few keys are looked at; a number may stand behind
    f"(?<={end})"
    for end in ["[a-z_-]\\d", "key", *WORDS.split(), *(name for name in NAMES if not name.endswith("key"))]
)
KEY = (
    rf"(?<![\w.-])(?P<key>[\w.-]++)(?i:{ENDS})"
    r"""(?:(?:\\{0,7}["'`]\]?|\*\*)?\s{0,4}"""
    r"(?::\s{0,2}[A-Za-z][A-Za-z.\[\]]{0,30}\s(?==\s))?"  # the type in `password: str = "abc"`
    r"(?P<mark>=>|:=|==?|:|>(?=[^\s<>=]))(?:\*\*)?\s{0,4}"
    r"|[ \t]{1,3}(?:(?P<verb>is|was|to|as):?[ \t]{1,3})?)"
)
COOKIES = re.compile(r"""[^\s=;,"'\\]{1,80}=[^\s;"'\\]++(?:;\s?[^\s=;"'\\]{1,80}(?:=[^\s;"'\\]*+)?)*+""")
MORE_WORDS = re.compile(  # WORD of "p@ss WORD", not Then or https://...
    r"""(?:[ ](?![A-Z]?[a-z'’]*[.,;!?]?(?:\s|$))(?=\S{0,60}[A-Z\d$!#%*^])[^\s"'`:=@/]{1,60}(?!\S)){0,3}"""
)
MORE_PLAIN_WORDS = re.compile(r"(?:[ ][a-z]{1,20}\b){0,23}")


def names_secret(key: str) -> bool:
    """Whether the last words of a key name a secret.

    >>> [names_secret(key) for key in ("GITHUB_TOKEN", "dbPass", "compass", "max_tokens")]
    [True, True, False, False]
    """
    words = WORD.findall(key)
    return "".join(words).lower().endswith(NAMES) or (bool(words) and words[-1].lower() in WHOLE_WORDS)


def _assigned(match: re.Match[str]) -> Span | None:
    """The value behind a key that names a secret."""
    text, at, key, mark = match.string, match.end(), match["key"], match["mark"] or ""
    is_parameter = key == "key" and text.startswith(("?", "&"), max(0, match.start() - 1))
    if key.lower() == "key" and (before := WORD_BEFORE.search(text, max(0, match.start() - 20), match.start())):
        key = before[0] + key
    if not is_parameter and not names_secret(key):
        return None
    name, is_flag = "".join(WORD.findall(key)).lower(), key.startswith("-")
    is_password = name.endswith(PASSWORDS)
    if name.endswith(COOKIE):
        opening = OPENING.match(text, at)
        cookies = COOKIES.match(text, opening.end() if opening else at)
        return cookies.span() if cookies else None
    value = value_at(text, at)
    is_apart = not value.is_quoted and text[at - 1].isspace()
    if is_parameter:
        is_clear = is_mixed(value.content, 16)
    elif not mark and not is_flag:  # "my password is ...", "with token ..."
        is_clear = is_mixed(value.content, 6 if is_password else 12 if match["verb"] else 20)
    elif is_apart and mark in ("", ":"):  # "Token: ..."
        is_clear = not is_plain(value.content) or (is_password and len(value.content) >= 6)
    else:
        is_clear = True
    if not is_clear or not can_be_secret(value, text, key=key, is_password=is_password):
        return None
    end = whole_end(text, value)
    if is_password and is_apart:
        more = (MORE_PLAIN_WORDS if name.endswith("phrase") else MORE_WORDS).match(text, end)
        end = more.end() if more else end
    return value.start, end


def _behind_scheme(match: re.Match[str]) -> Span | None:
    """`Bearer` or `Basic`, and the value behind it."""
    value = value_at(match.string, match.end())
    if match["scheme"].lower() == "basic":
        is_clear = is_name_and_password(value.content)
    else:
        is_clear = len(value.content) >= 12 and not (is_plain(value.content) and len(value.content) < 16)
    if value.is_quoted or not is_clear or not can_be_secret(value, match.string):
        return None
    return match.start(), whole_end(match.string, value)


def _behind_flag(match: re.Match[str]) -> Span | None:
    """The password of `-u name:password`, or of `mysql -ppassword`."""
    value = value_at(match.string, match.end(), quote=match["user_quote"] or match["login_quote"] or "")
    is_id = value.content.isdigit() or value.content.startswith("//")  # `docker -u 1000:1000`, `-u https://...`
    if is_id or not can_be_secret(value, match.string, is_password=True):
        return None
    return value.start, whole_end(match.string, value)


def _in_address(match: re.Match[str]) -> Span | None:
    """Name and password before the host of an address, unless a template stands there."""
    return None if STAND_IN.match(match.string, match.start("password")) else match.span()


# Behind a known prefix stand random letters, not words between hyphens.
PREFIXES = r"""
    (?:sk|pk|rk)[-_] gh[opsur]_ github_pat_ gl(?:pat|rt|dt|ptt|ft|soat|cbt)- xox[a-z][-.] xapp- hf_ npm_ pypi- GOCSPX-
    ya29\. 1//0 AIza whsec_ SG\.(?:[\w-]{6,40}\.)? dapi hv[sbr]\. shp(?:at|ca|pa|ss)_ lin_api_ do[opr]_v1_
    AGE-SECRET-KEY- dckr_pat_ gl(?:sa|c)_ rubygems_ sntrys_ sbp_ nvapi- gsk_ r8_ pplx- tvly- figd_ PMAK- NRAK- ATATT3
    ATBB xkeysib- sq0(?:atp|csp)- ntn_ dp\.pt\. pscale_(?:tkn|pw)_
"""
KEYS = (
    rf"(?:{'|'.join(PREFIXES.split())})(?=[\w-]{{0,60}}\d|[A-Za-z]{{16}})[\w-]{{16,}}+(?:\.[\w-]{{16,}}+){{0,3}}",
    r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}(?![0-9A-Za-z])",  # Amazon
    r"(?:key-|AC|SK)[0-9a-z]{32}(?![0-9A-Za-z])",  # Mailgun, Twilio
    r"EAA[A-Za-z0-9]{60,}+",  # Facebook
    r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}+",  # Discord
    r"(?:bot)?\d{8,10}:[\w-]{30,}+",  # Telegram
    r"\w{3}8Q~[\w.~-]{30,}+",  # Entra
)
WEBHOOKS = ("hooks.slack.com/services/", "hooks.slack.com/workflows/", "/api/webhooks/", "/webhookb2/")

FORMS_BY_BEGINNING: Mapping[str, Mapping[str, Rule]] = {  # so that most characters are passed at one look
    r"(?<=/)": {
        "webhook": Rule("key", rf"(?:{'|'.join(f'(?<={re.escape(place)})' for place in WEBHOOKS)})[\w@/-]{{20,}}+"),
        "address": Rule(
            "token",
            r"""(?<=://)[^\s/:@"'`<>]{0,128}:(?P<password>(?!\d{1,5}[/?\#])[^\s"'`<>]{1,256})(?=@)""",
            _in_address,
        ),
    },
    r"(?<![A-Za-z0-9])": {
        "mail": Rule("mail", r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"),
        "known": Rule("key", "|".join(KEYS)),
        "jwt": Rule("token", r"(?<![\w-])eyJ[\w-]{8,}+(?:\.[\w-]*+){1,4}"),
        "authorization": Rule("token", r"(?P<scheme>(?i:bearer|basic))\s{1,4}(?=\S{8})", _behind_scheme),
        "user": Rule(
            "token",
            r"""(?<!\S)(?:-u|-U|--user|--proxy-user)[ =]{0,2}(?P<user_quote>["']?)[^\s:"'/@]{0,64}:""",
            _behind_flag,
        ),
        "login": Rule(
            "token",
            r"(?:mysql\w{0,10}[^\n|;&]{0,120}?\s-p|sshpass\s-p\s?|docker\slogin[^\n|;&]{0,120}?\s-p\s?"
            r"""|redis-cli[^\n|;&]{0,120}?\s-a\s?)(?P<login_quote>["']?)(?=\S)""",
            _behind_flag,
        ),
        "assigned": Rule("token", KEY, _assigned),
    },
    "": {
        "pem": Rule(  # to its end, or to that of the text
            "key",
            r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
            r"(?:[^-]++|-(?!-{3,4} ?END [A-Z0-9 ]{0,40}PRIVATE KEY))*+"
            r"(?:-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5})?",
        ),
    },
}
RULES = {name: rule for rules in FORMS_BY_BEGINNING.values() for name, rule in rules.items()}
FORMS = re.compile(
    "|".join(
        f"{beginning}(?:{'|'.join(f'(?P<{name}>{rule.pattern})' for name, rule in rules.items())})"
        for beginning, rules in FORMS_BY_BEGINNING.items()
    )
)


OPENING = re.compile(r"[bfruBFRU]{0,2}(\\{0,7})([\"'`“‘«])")
CLOSING = {"“": "”", "‘": "’", "«": "»"}
LONGEST_QUOTED = 2000
LOOKED_AT = 200  # characters of a value without quotes
SCHEME = re.compile(r"(?i)(?:basic|bearer|token|bot|[a-z]{0,9}-?key|digest|negotiate|oauth|splunk)\s{1,4}(?=\S{6})")
BARE = re.compile(  # up to a space, a quote that closes, or the next pair of `name=value;name=value`
    r"""(?:[^\s"'`”’»,;&<\\]++
        |[,;&](?![\s"']|$|[\w.-]{1,40}\\{0,7}["']?\s?[=:])
        |\\{0,7}["'`”’»](?=\w)
        |\\++(?!["'`])
        |<(?!/)
    )*+""",
    re.VERBOSE,
)
AROUND = ".,:;?)]}>*"  # of the sentence, or of the brackets, in which a value stands

LETTERS = re.compile(r"[A-Za-z]+(?:[-'’/][A-Za-z]+)*+")
PLAIN = re.compile(r"[A-Za-z]?[a-z]{0,18}+(?:[A-Z][a-z]{2,18}+){0,3}(?:[-'’/][A-Za-z]?[a-z]{1,18}+){0,9}")
NUMBER = re.compile(r"(?!\d{6})[-+$€£¥]?\d{0,12}(?:[.,:/]\d{1,12}){0,5}(?:[kKmMbB%]|ms)?")
MIXED = re.compile(r"(?=.*[A-Za-z])(?=.*[\d!@#$%^&*+=~])", re.DOTALL)
NOTHING = """
    str string text int integer bool boolean bytes float number any object array list dict optional required none null
    nil true false undefined missing invalid unknown empty default hidden secret password token cookie type file field
    value option parameter argument prompt please forgotten reset change redacted base64 sha256 sha512 oauth2 bcrypt
    secretstr
"""
NO_SECRETS = frozenset(NOTHING.split())
STAND_IN = re.compile(  # a template, a variable, dots, a list or an object, a price, a share, an address, a path
    r"""\$?\{\{?[^{}\n]{0,80}\} | <[^<>\n]{1,80}> | \$\([^()\n]{0,80}\) | %\(\w{0,40}\)s | %\w{1,40}%
    | [*•.…xX]{3,}+(?!\w) | \$(?:[A-Z_]{1,60}|[a-z_]{1,60})(?![\w!#$%*]) | \[[\w .-]{0,40}\](?!\w) | (?i:your)[ _-]
    | [\[{(]\s{0,4}(?:["'\[{(]|[\w.-]{0,40}\s{0,2}(?:[:,\]})]|$))
    | [$€£¥]\d{1,9}(?:[.,]\d{1,9}){0,3}(?![\w!#$%*@^+=]) | \d{1,9}(?:\.\d{1,9})?%(?!\w)
    | https?:// | -----BEGIN | (?:~|\.{0,2})(?:/[a-z0-9._-]{1,60}){1,9}(?![\w+/=])
    """,
    re.VERBOSE,
)
CALL = re.compile(  # or an index; one that does not close, as in `abcd(efgh`, is a value
    r"[A-Za-z_$][\w.$]{0,100}+(?:\((?:[^()\n]|\([^()\n]{0,80}+\)){0,120}+\)|\[[^\[\]\n]{0,120}+\])"
    r"(?![\w!#$%*@^+=/-])"
)
ATTRIBUTE = re.compile(r"[A-Za-z_]\w{0,60}(?:\.[A-Za-z_]\w{0,60}){1,9}")
ROOTS = ("self.", "this.", "os.", "process.", "env.", "config.", "settings.", "request.", "response.", "args.")


class Value(NamedTuple):
    """What stands at a place of a text, without its quotes; of one without quotes, the first characters."""

    start: int
    content_at: int  # behind the name of a scheme, as in "Bearer abc"
    end: int
    content: str
    is_quoted: bool


def value_at(text: str, at: int, *, quote: str = "") -> Value:
    """Return the value that begins at this place of the text, behind `quote` if one was opened before it."""
    opening = None if quote else OPENING.match(text, at)
    slashes, mark = opening.groups() if opening else ("", quote)
    at = opening.end() if opening else at
    scheme = SCHEME.match(text, at)
    content_at = scheme.end() if scheme else at
    if mark:
        closing = _closing(len(slashes), mark).search(text, content_at, content_at + LONGEST_QUOTED)
        if closing and closing[0] != "\n":
            return Value(at, content_at, closing.start(), text[content_at : closing.start()], is_quoted=True)
    end = _bare_end(text, content_at, content_at + LOOKED_AT)
    return Value(at, content_at, end, text[content_at:end], is_quoted=False)


def whole_end(text: str, value: Value) -> int:
    """Return where the value ends, however long it is."""
    return value.end if value.is_quoted else _bare_end(text, value.content_at, len(text))


@lru_cache(maxsize=64)
def _closing(slashes: int, mark: str) -> re.Pattern[str]:
    r"""What ends a text that a quote began: the quote behind at most as many \; or the line."""
    return re.compile(rf"(?<!\\)\\{{0,{slashes}}}{CLOSING.get(mark, mark)}|\n")


def _bare_end(text: str, at: int, most: int) -> int:
    match = BARE.match(text, at, most)
    end = match.end() if match else at
    while end > at and text[end - 1] in AROUND:
        end -= 1
    return end


def can_be_secret(value: Value, text: str, *, key: str = "", is_password: bool = False) -> bool:
    """Whether a value is none of what is no secret: too short, a number, a word for a type, a template, prose, code."""
    content = value.content
    if len(content) < (4 if is_password else 6) or content.lower() in (key.lower(), *NO_SECRETS):
        return False
    if STAND_IN.match(text, value.content_at) or (not is_password and NUMBER.fullmatch(content)):
        return False
    if not value.is_quoted:
        return not _is_attribute(content, key) and not CALL.match(text, value.content_at)
    words = content.split()
    return "phrase" in key.lower() or len(words) < 3 or not all(LETTERS.fullmatch(word.strip(AROUND)) for word in words)


def _is_attribute(content: str, key: str) -> bool:
    """Whether a value is code such as `self.name`, or `user.password` behind `password=`."""
    is_dotted = ATTRIBUTE.fullmatch(content) is not None
    return is_dotted and (content.startswith(ROOTS) or content.lower().endswith(f".{key.lower()}"))


def is_plain(content: str) -> bool:
    """Whether a value is a word of a sentence, or several with hyphens between."""
    return PLAIN.fullmatch(content) is not None


def is_mixed(content: str, least: int) -> bool:
    """Whether a value has so many characters, letters and others among them."""
    return len(content) >= least and MIXED.match(content) is not None


def is_name_and_password(content: str) -> bool:
    """Whether a text is `name:password` in base64.

    >>> is_name_and_password("YW5uOmh1bnRlcjI="), is_name_and_password("understanding")
    (True, False)
    """
    try:
        decoded = b64decode(content, validate=True)
    except binascii.Error:
        return False
    return b":" in decoded and decoded.isascii()
