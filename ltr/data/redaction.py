"""Mail addresses, keys and tokens are taken out of texts before they are written."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ltr.data.importers.tally import Tally
from ltr.data.secret_forms import secrets_in

TEXT_FIELDS = ("query", "context", "tool_description")
NAMES = {"mail": "mail addresses", "key": "keys", "token": "tokens"}


def redacted(text: str, tally: Tally) -> str:
    """Return the text with [mail], [key] and [token] in the place of what looks like one; the tally counts them.

    >>> redacted("mail ann@example.org, api_key=abc123def", Tally())
    'mail [mail], api_key=[token]'
    """
    parts, at = list[str](), 0
    for start, end, kind in secrets_in(text):
        tally.remark(f"{NAMES[kind]} replaced by [{kind}]")
        parts += [text[at:start], f"[{kind}]"]
        at = end
    return "".join([*parts, text[at:]]) if parts else text


def redact_sample(line: Mapping[str, Any], tally: Tally) -> Mapping[str, Any]:
    """Return the line of samples, and the candidates in it, with their texts redacted; ids and names of tools stay."""
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
    """Whether a candidate has a text that holds a secret; the answer for a text is remembered."""
    description = candidate.get("tool_description") if isinstance(candidate, Mapping) else None
    return isinstance(description, str) and _holds_secret(description)


@lru_cache(maxsize=4096)
def _holds_secret(text: str) -> bool:
    return any(True for _ in secrets_in(text))
