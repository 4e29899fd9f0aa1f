"""What the text of a tool is, and how an encoder reads it."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ltr.arrays import IntArray
from ltr.data.integer_codes import Codes, recoded


class ToolText(NamedTuple):
    """The texts that describe a tool."""

    description: str = ""
    inputs: str = ""


def replace_texts(
    names: tuple[IntArray, tuple[str, ...]],
    texts: tuple[IntArray, tuple[ToolText, ...]],
    text_of: Callable[[str, ToolText], ToolText],
) -> tuple[IntArray, tuple[ToolText, ...]]:
    """A text code for each row, and the texts: `text_of` the name and the present text of the row.

    Names and texts come as codes and the table that they point into.
    """
    pairs, distinct = recoded(names[0] * len(texts[1]) + texts[0])
    codes = Codes()
    of_pair = [
        codes[text_of(names[1][name], texts[1][text])]
        for name, text in zip(*(part.tolist() for part in np.divmod(distinct, len(texts[1]))), strict=True)
    ]
    return np.array(of_pair)[pairs], tuple(codes)


def tool_text(name: str, description: str = "", inputs: str = "") -> str:
    """What an encoder reads of a tool; parts it does not have are left out.

    >>> tool_text("get_weather", "Weather of a city", "city")
    'Tool: get_weather. Description: Weather of a city Inputs: city'
    >>> tool_text("get_weather")
    'Tool: get_weather.'
    """
    parts = (("Description", description), ("Inputs", inputs))
    return " ".join([f"Tool: {name}.", *(f"{part}: {text}" for part, text in parts if text)])
