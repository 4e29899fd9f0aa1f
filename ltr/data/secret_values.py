"""What stands behind `password=` or `Bearer`, where it ends, and whether it can be a secret.

A value may be a word of a sentence, the name of a type, a template, a number, or code. What is looked at to decide has
a bounded length, so that a text full of values that stay costs time in proportion to its length.
"""

import binascii
import re
from base64 import b64decode
from functools import lru_cache
from typing import NamedTuple

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
WORDS = """
    str string text int integer bool boolean bytes float number any object array list dict optional required none null
    nil true false undefined missing invalid unknown empty default hidden secret password token cookie type file field
    value option parameter argument prompt please forgotten reset change redacted base64 sha256 sha512 oauth2 bcrypt
    secretstr
"""
NO_SECRETS = frozenset(WORDS.split())
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
