"""Mail addresses, keys and tokens are taken out of texts before they are written."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ltr.data.importers.tally import Tally

TEXT_FIELDS = ("query", "context", "tool_description")
SECRETS = re.compile(
    r"(?P<mail>(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})"
    r"|(?P<key>-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----[^-]{0,10000}(?:-----END [A-Z ]{0,20}PRIVATE KEY-----)?"
    r"|\b(?:sk|pk|rk)[-_](?=[\w-]{0,200}\d|[a-zA-Z]{16})[\w-]{16,200}"  # random letters, not words between hyphens
    r"|\bgh[opsur]_\w{20,255}|\bgithub_pat_\w{20,255}|\bglpat-[\w-]{16,100}"
    r"|\bxox[a-z]-[\w-]{10,200}|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{30,60}|\bhf_\w{20,100}|\bnpm_\w{30,60})"
    r"|(?P<token>\beyJ[\w-]{8,4096}\.[\w-]{4,8192}(?:\.[\w-]{0,4096})?|(?i:\bbearer)\s{1,4}[\w.~+/=-]{12,4096}"
    r"|(?i:\b(?:api[_-]?key|access[_-]?key|secret|token|passw(?:or)?d|pwd))\"?\s{0,4}[:=]"
    r"\s{0,4}+(?![A-Za-z_][\w.]{0,200}+[(\[])\"?[^\s\"',;]{6,4096})"
)
HINT = re.compile(r"[@:=_-]|eyJ|AKIA|ASIA|AIza|(?i:bearer)")
NAMES = {"mail": "mail addresses", "key": "keys", "token": "tokens"}


def redacted(text: str, tally: Tally) -> str:
    """The text with [mail], [key] and [token] in the place of what looks like one; the tally counts them.

    >>> redacted("mail ann@example.org, api_key=abc123def", Tally())
    'mail [mail], [token]'
    """

    def replacement(match: re.Match[str]) -> str:
        kind = match.lastgroup or ""
        tally.remark(f"{NAMES[kind]} replaced by [{kind}]")
        return f"[{kind}]"

    return SECRETS.sub(replacement, text) if HINT.search(text) else text


def redact_sample(line: Mapping[str, Any], tally: Tally) -> Mapping[str, Any]:
    """The line of samples, and the candidates in it, with their texts redacted; ids and names of tools stay."""
    texts: dict[str, object] = {
        name: redacted(line[name], tally) for name in TEXT_FIELDS if isinstance(line.get(name), str)
    }
    candidates = line.get("candidates")
    if isinstance(candidates, list) and any(map(_is_suspect, candidates)):
        texts["candidates"] = [
            redact_sample(candidate, tally) if isinstance(candidate, Mapping) else candidate for candidate in candidates
        ]
    return line if all(line[name] is text for name, text in texts.items()) else {**line, **texts}


def _is_suspect(candidate: object) -> bool:
    """Whether a candidate has a text that may hold a secret; the answer for a text is remembered."""
    description = candidate.get("tool_description") if isinstance(candidate, Mapping) else None
    return isinstance(description, str) and _may_hold_secret(description)


@lru_cache(maxsize=4096)
def _may_hold_secret(text: str) -> bool:
    return SECRETS.search(text) is not None
