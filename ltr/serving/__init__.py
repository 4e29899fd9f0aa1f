"""A trained run put to work: queries in, ranked candidates out; and what became of them, back in.

>>> from ltr.serving import search
>>> tools = [{"name": "get_weather", "description": "Weather of a city"}, {"name": "send_mail"}]
>>> search(tools, "hash").rank("will the weather be good?")[0].candidate
'get_weather'
"""

from typing import TYPE_CHECKING, Final

DEFAULT_K: Final = 5  # choices of an answer; here, where it costs no command line an import

if TYPE_CHECKING:
    from ltr.serving.answers import Answer as Answer
    from ltr.serving.answers import Choice as Choice
    from ltr.serving.catalogue import MOST_SCORED as MOST_SCORED
    from ltr.serving.journal import Update as Update
    from ltr.serving.mcp import serve as serve
    from ltr.serving.outcomes import Outcome as Outcome
    from ltr.serving.outcomes import read_outcomes as read_outcomes
    from ltr.serving.packs import pack as pack
    from ltr.serving.router import Router as Router
    from ltr.serving.router import load as load
    from ltr.serving.zero_shot import search as search
    from ltr.serving.zero_shot import zero_shot_router as zero_shot_router
else:
    from ltr.lazy import attach

    __getattr__, __dir__, __all__ = attach(__name__, "DEFAULT_K")
