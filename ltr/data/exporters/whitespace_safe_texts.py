"""Ids and numbers as texts of formats that separate columns by white space."""

import re

from ltr.data.candidates import Candidates

UNSAFE = re.compile(r"[\s#\x00-\x20\x7f-\x9f]|%(?=[0-9A-F]{2})")


def column_text(text: str) -> str:
    """The text with white space, # and a % that looks like an escape written as the %XX of their bytes.

    Different texts stay different.

    >>> column_text("New York"), column_text("100%"), column_text("%20"), column_text("")
    ('New%20York', '100%', '%2520', '%')
    """
    return UNSAFE.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), text) or "%"


def number_text(value: float) -> str:
    """The number with every digit, a whole one without a point: readers of qrels take no other.

    >>> number_text(2.0), number_text(1234567.0), number_text(0.1)
    ('2', '1234567', '0.1')
    """
    return repr(value).removesuffix(".0")


def topic_texts(candidates: Candidates) -> list[str]:
    """One id for each query: TRACE/NODE, or its trace alone where the node has no name.

    Where that is the same for two queries, every / inside an id is written as %2F.
    """
    traces = [column_text(candidates.trace_ids[code]) for code in candidates.traces.tolist()]
    nodes = [column_text(node) if node else "" for node in candidates.node_ids]
    plain = _joined(traces, nodes)
    if len(set(plain)) == len(plain):
        return plain
    return _joined([text.replace("/", "%2F") for text in traces], [text.replace("/", "%2F") for text in nodes])


def _joined(traces: list[str], nodes: list[str]) -> list[str]:
    return [f"{trace}/{node}" if node else trace for trace, node in zip(traces, nodes, strict=True)]
