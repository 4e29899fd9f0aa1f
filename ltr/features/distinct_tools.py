"""The tools of candidates: each name with each of its texts, once."""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import IntArray, distinct
from ltr.data.candidates import Candidates
from ltr.features.feature_context import Context
from ltr.features.plain_tool_text import plain_tool_text


@dataclass(frozen=True, slots=True)
class Tools:
    """The distinct pairs of a name and a text among the rows."""

    codes: IntArray  # (rows,) into the two below
    names: IntArray  # (tools,) codes into the candidates' name_texts
    texts: tuple[str, ...]  # (tools,) as plain_tool_text makes them


def distinct_tools(candidates: Candidates, context: Context) -> Tools:
    """The tools of the rows."""
    pairs = candidates.names * len(candidates.tool_texts) + candidates.texts
    first, codes = distinct(pairs)
    names, texts = np.divmod(pairs[first], max(len(candidates.tool_texts), 1))
    described = zip(names.tolist(), texts.tolist(), strict=True)
    return Tools(
        codes,
        names,
        tuple(plain_tool_text(candidates.name_texts[n], candidates.tool_texts[t].description) for n, t in described),
    )
